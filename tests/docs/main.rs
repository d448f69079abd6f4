//! The commands in the documentation, executed page by page.
//!
//! In a block of the language `console`, each line that begins with `$ ` is a command; it has to end with status 0, or
//! 66 for a race, or with the one that its comment `# exits with N` names. The lines below it have to be in its output, in their order; each is
//! a beginning, and numbers and folders may be others. In a block of the language `yaml`, the lines that call `witness`
//! are executed. `<!-- with FILE as NAME -->` puts a file of the repository into the folder of a page,
//! `<!-- run COMMAND -->` executes what the page takes for granted.

mod page;

use page::Page;
use std::fs;
use std::path::Path;

const PAGES: [&str; 7] = [
    "README.md",
    "docs/tutorial.md",
    "docs/commands.md",
    "docs/reports.md",
    "docs/confirm.md",
    "docs/ci.md",
    "docs/formats.md",
];

fn run(name: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join(name)).expect("a page");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("docs")
        .join(name.replace('/', "-"));
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the folder of an earlier run");
    }
    fs::create_dir_all(&folder).expect("a folder");
    let page = Page::of(name, &text);
    for (from, to) in &page.files {
        fs::copy(root.join(from), folder.join(to)).unwrap_or_else(|error| panic!("{name}: {from}: {error}"));
    }
    assert!(!page.commands.is_empty(), "{name} has no commands");
    for command in &page.commands {
        command.run(&folder);
    }
}

#[test]
fn readme() {
    run(PAGES[0]);
}

#[test]
fn tutorial() {
    run(PAGES[1]);
}

#[test]
fn commands() {
    run(PAGES[2]);
}

#[test]
fn reports() {
    run(PAGES[3]);
}

#[test]
fn confirm() {
    run(PAGES[4]);
}

#[test]
fn ci() {
    run(PAGES[5]);
}

#[test]
fn formats() {
    run(PAGES[6]);
}

#[test]
fn every_page_is_in_the_summary_and_every_link_leads_somewhere() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).expect("the summary");
    for entry in fs::read_dir(&docs).expect("docs") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        if !name.ends_with(".md") {
            continue;
        }
        assert!(
            name == "SUMMARY.md" || summary.contains(&format!("({name})")),
            "{name} is not in the summary"
        );
        let text = fs::read_to_string(docs.join(&name)).expect("a page");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            let there = file.is_empty() || file.contains("://") || docs.join(file).exists();
            assert!(there, "{name} links to {link}, which is not there");
        }
    }
}
