//! Nothing but `safe-files` makes files: a writer that goes its own way follows the first link that lies there.

use std::fs;
use std::path::{Path, PathBuf};

/// How the standard library makes files and folders.
const MAKERS: [&str; 6] = [
    "File::create(",
    "File::create_new(",
    "OpenOptions::new(",
    "fs::write(",
    "fs::copy(",
    "fs::create_dir",
];

/// Files that do, and why they may.
const KNOWN: [(&str, &str); 3] = [
    ("src/cli/doctor.rs", "inside of a scratch folder"),
    (
        "src/cli/reports.rs",
        "a pipe or terminal that the user names is opened, not made",
    ),
    (
        "src/session/runtime.rs",
        "inside of a scratch folder, which takes its name then",
    ),
];

fn sources(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            all.push(path);
        }
    }
}

#[test]
fn files_are_made_in_one_room() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    for folder in [
        "src",
        "trace-format/src",
        "schedule-format/src",
        "checker/src",
        "event-coding/src",
    ] {
        sources(&root.join(folder), &mut all);
    }
    assert!(all.len() > 250);
    let mut makers = Vec::new();
    for path in all {
        let text = fs::read_to_string(&path).expect("a source");
        let (code, _) = text.split_once("#[cfg(test)]\nmod tests").unwrap_or((&text, ""));
        let code = code.replace("PartialFile::create(", "");
        if MAKERS.iter().any(|maker| code.contains(maker)) {
            makers.push(path.strip_prefix(root).expect("below it").display().to_string());
        }
    }
    makers.sort();
    assert_eq!(makers, KNOWN.map(|(path, _)| path), "use safe_files");
}
