//! A baseline: races that are known already.
//!
//! It is an earlier results object, `witness analyze --json` or the `results.json` beside a trace. What it has under
//! the same id is known; a race that it only had as unknown and that is witnessed now is new.

use crate::report::results::{Results, SCHEMA};
use hashbrown::HashMap;
use std::path::{Path, PathBuf};

/// Races that are known already.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    /// By id: whether it was witnessed.
    known: HashMap<String, bool>,
}

/// Why a baseline could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BaselineError {
    /// The system says.
    #[error("cannot read the baseline {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// It is no results object.
    #[error("the baseline {} is no results object ({source}); `witness analyze --json` writes one", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// It is one that this version does not know, or that has no ids.
    #[error("the baseline {} is of another version of witness; `witness analyze --json` writes it anew", path.display())]
    OtherVersion {
        /// The file.
        path: PathBuf,
    },
}

impl Baseline {
    /// Reads a baseline.
    ///
    /// # Errors
    /// [`BaselineError`] names the file and the remedy.
    pub fn read(path: &Path) -> Result<Baseline, BaselineError> {
        let io = |source| BaselineError::Io {
            path: path.to_owned(),
            source,
        };
        let bytes = std::fs::read(path).map_err(io)?;
        let results: Results = serde_json::from_slice(&bytes).map_err(|source| BaselineError::Malformed {
            path: path.to_owned(),
            source,
        })?;
        if results.schema != SCHEMA || results.pairs.iter().any(|pair| pair.id.is_empty()) {
            return Err(BaselineError::OtherVersion { path: path.to_owned() });
        }
        let mut known = HashMap::new();
        for pair in results.pairs.into_iter().filter(|pair| pair.verdict != "refuted") {
            *known.entry(pair.id).or_insert(false) |= pair.verdict == "witnessed";
        }
        Ok(Baseline { known })
    }

    pub(super) fn knows(&self, id: &str, witnessed: bool) -> bool {
        self.known
            .get(id)
            .is_some_and(|&was_witnessed| was_witnessed || !witnessed)
    }
}
