//! Links lead somewhere, every page is in the summary, and the files that pages speak of are there.

use crate::page::{self, Page, root};
use std::collections::BTreeMap;
use std::path::Path;

#[test]
fn every_link_leads_somewhere() {
    let mut pages: BTreeMap<String, Page> = BTreeMap::new();
    let more = ["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(str::to_owned);
    for name in page::all().into_iter().chain(more) {
        pages.insert(name.clone(), Page::read(&name));
    }
    for (name, page) in &pages {
        let folder = Path::new(name).parent().expect("a folder");
        for (line, link) in &page.links {
            if link.contains("://") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() {
                root().join(name)
            } else {
                root().join(folder).join(file)
            };
            assert!(target.exists(), "{name}:{line}: {link} is not there");
            if anchor.is_empty() {
                continue;
            }
            let target = target.canonicalize().expect("a path");
            let target = target
                .strip_prefix(root().canonicalize().expect("a path"))
                .expect("in the repository");
            let there = pages
                .get(&*target.to_string_lossy())
                .is_some_and(|page| page.headings.iter().any(|heading| heading == anchor));
            assert!(there, "{name}:{line}: {link}: no such heading");
        }
    }
}

#[test]
fn every_page_is_in_the_summary() {
    let summary = Page::read("docs/SUMMARY.md");
    for name in page::all() {
        let Some(file) = name.strip_prefix("docs/").filter(|file| *file != "SUMMARY.md") else {
            continue;
        };
        assert!(
            summary.links.iter().any(|(_, link)| link == file),
            "{file} is not in the summary"
        );
    }
}

#[test]
fn files_of_the_repository_that_pages_name_are_there() {
    let folders = [
        "src/",
        "tests/",
        "benches/",
        "scripts/",
        "recorders/",
        "include/",
        "fuzz/",
        "docs/",
        "trace-format/",
    ];
    let mut named = 0;
    for name in page::all() {
        for (line, span) in Page::read(&name).spans {
            let file = span.split_whitespace().next().unwrap_or_default();
            if folders.iter().any(|folder| file.starts_with(folder)) {
                assert!(root().join(file).exists(), "{name}:{line}: {file} is not there");
                named += 1;
            }
        }
    }
    assert!(named > 10, "only {named} files are named");
}
