//! What a program takes from the C library.

use super::calls::linkage;
use trace_format::Tables;

/// Whether an instrumented module takes a function with one of these names, or one with underscores before it; a module that cannot be read
/// may take any.
#[must_use]
pub fn takes_any(tables: &Tables, names: &[&str]) -> bool {
    // The kernel's own part of the process is no file.
    let mut files = tables.modules.iter().filter(|module| module.path.starts_with('/'));
    files.any(|module| {
        let bytes = std::fs::read(&module.path).unwrap_or_default();
        let is_one = |name: &String| names.contains(&name.trim_start_matches('_'));
        linkage(&bytes).is_none_or(|linkage| linkage.instrumented && linkage.imports.iter().any(is_one))
    })
}
