//! Which libraries are no longer those of the recorded run.
//!
//! Of the program itself that is known before it runs ([`crate::session::NotRecordable::OtherBuild`]); which libraries
//! it loads shows only then. A run with another build of one diverges somewhere, and where says little of why.

use crate::session::build_id;
use crate::trace::Trace;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// A module that is not what it was when the trace was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Its file, as it was recorded.
    pub path: String,
    /// Whether there is one; it is another build then.
    pub is_there: bool,
}

/// The libraries of the recorded run of which the live one has loaded, or would load, another build.
#[must_use]
pub fn changed(recorded: &Trace, live: &Trace) -> Vec<Changed> {
    let directory = PathBuf::from(&recorded.tables().meta.directory);
    let mut known = HashSet::new();
    let libraries = recorded.tables().modules.iter().skip(1);
    // The runtime is the recorder's own, and its code is no part of what is compared.
    let libraries =
        libraries.filter(|module| !module.build_id.is_empty() && name(&module.path) != name("libtsan.so.2"));
    let once = libraries.filter(|module| known.insert(&module.path));
    once.filter_map(|module| {
        let same_name = |other: &&trace_format::ModuleInfo| name(&other.path) == name(&module.path);
        let loaded = live.tables().modules.iter().find(same_name);
        let found = match loaded {
            Some(loaded) => Some(loaded.build_id.clone()),
            None => build_id(&directory.join(&module.path)),
        };
        (found.as_ref() != Some(&module.build_id)).then(|| Changed {
            path: module.path.clone(),
            is_there: found.is_some(),
        })
    })
    .collect()
}

fn name(path: &str) -> Option<&std::ffi::OsStr> {
    Path::new(path).file_name()
}
