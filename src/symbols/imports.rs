//! What a program takes from libraries.

use super::calls::linkage;
use super::read_file;
use std::collections::BTreeSet;
use trace_format::Tables;

/// The names that instrumented modules take from others, without underscores before them; `None` if a module cannot be
/// read.
#[must_use]
pub fn imports(tables: &Tables) -> Option<BTreeSet<String>> {
    let mut taken = BTreeSet::new();
    let mut given = BTreeSet::new();
    // The kernel's own part of the process is no file.
    for module in tables.modules.iter().filter(|module| module.path.starts_with('/')) {
        let linkage = linkage(&read_file(&module.path).ok()?)?;
        if linkage.instrumented {
            taken.extend(linkage.imports);
            given.extend(linkage.exports);
        }
    }
    let from_others = taken.difference(&given);
    Some(
        from_others
            .map(|name| name.trim_start_matches('_').to_owned())
            .collect(),
    )
}
