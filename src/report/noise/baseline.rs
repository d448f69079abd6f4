//! A baseline: races that are known already.
//!
//! A baseline is an earlier results object, of `witness analyze` or `confirm`, or the `results.json` beside a trace.
//! Races whose id it has are known; a race that it has only as unknown, and that is witnessed now, is new.

use crate::results::{SCHEMA, Schema};
use hashbrown::HashMap;
use safe_files::read_given;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Bytes of a file at most: results are no longer.
const LONGEST: u64 = 1 << 30;

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

/// The schema of what `witness confirm` writes.
const CONFIRM_SCHEMA: &str = "witness-confirm/1";

const WITNESSED: &str = "witnessed";

/// The schema of results before the one of today: what a baseline needs is the same there.
const STACKS_AT_EACH_ACCESS: &str = "witness-results/1";

/// The part of results that a baseline needs.
#[derive(serde::Deserialize)]
struct Listed {
    pairs: Vec<Row>,
    #[serde(default)]
    deadlocks: Vec<Row>,
    #[serde(default)]
    atomicity_violations: Vec<Row>,
}

#[derive(serde::Deserialize)]
struct Row {
    #[serde(default)]
    id: String,
    verdict: String,
}

/// The part of `witness confirm`'s results that a baseline needs.
#[derive(serde::Deserialize)]
struct Confirmed {
    warnings: Vec<Warning>,
}

#[derive(serde::Deserialize)]
struct Warning {
    #[serde(default)]
    id: Option<String>,
    verdict: String,
    #[serde(rename = "beside", default)]
    related_race: Option<RelatedRace>,
}

#[derive(serde::Deserialize)]
struct RelatedRace {
    #[serde(default)]
    id: String,
}

/// A pair, a deadlock or an atomicity violation of the baseline.
struct Known {
    id: String,
    witnessed: bool,
    refuted: bool,
}

impl Known {
    fn new(id: String, verdict: &str) -> Known {
        Known {
            id,
            witnessed: verdict == WITNESSED,
            refuted: verdict == "refuted",
        }
    }
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
        let bytes = File::open(path)
            .and_then(|file| read_given(file, LONGEST))
            .map_err(io)?;
        let malformed = |source| BaselineError::Malformed {
            path: path.to_owned(),
            source,
        };
        let Schema { schema } = serde_json::from_slice(&bytes).map_err(malformed)?;
        let pairs: Vec<Known> = match schema.as_str() {
            SCHEMA | STACKS_AT_EACH_ACCESS => {
                let listed: Listed = serde_json::from_slice(&bytes).map_err(malformed)?;
                let others = listed.deadlocks.into_iter().chain(listed.atomicity_violations);
                let all = listed.pairs.into_iter().chain(others);
                all.map(|row| Known::new(row.id, &row.verdict)).collect()
            }
            CONFIRM_SCHEMA => {
                let confirmed: Confirmed = serde_json::from_slice(&bytes).map_err(malformed)?;
                let answered = confirmed.warnings.into_iter().flat_map(|warning| {
                    let own = warning.id.map(|id| Known::new(id, &warning.verdict));
                    let related = warning.related_race.map(|race| Known::new(race.id, WITNESSED));
                    own.into_iter().chain(related)
                });
                answered.collect()
            }
            _ => return Err(BaselineError::OtherVersion { path: path.to_owned() }),
        };
        if pairs.iter().any(|pair| pair.id.is_empty()) {
            return Err(BaselineError::OtherVersion { path: path.to_owned() });
        }
        let mut known = HashMap::new();
        for pair in pairs.into_iter().filter(|pair| !pair.refuted) {
            *known.entry(pair.id).or_insert(false) |= pair.witnessed;
        }
        Ok(Baseline { known })
    }

    pub(super) fn knows(&self, id: &str, witnessed: bool) -> bool {
        self.known
            .get(id)
            .is_some_and(|&was_witnessed| was_witnessed || !witnessed)
    }
}
