//! Analyses and mergers are killed; the same command goes on, and leaves the same files.

use crate::{KILLS, Moments, command, folder, number, witness};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

const GENERATE: [&str; 9] = [
    "generate",
    "-o",
    "t.bin",
    "--events",
    "1500",
    "--unprotected",
    "0.05",
    "--threads",
    "6",
];
pub const ANALYZE: [&str; 2] = ["analyze", "t.bin"];
/// With other results.
const OTHERWISE: [&str; 4] = ["analyze", "t.bin", "--model", "whole-trace"];
pub const MERGE: [&str; 2] = ["merge", "t.bin"];
pub const REPLAY: [&str; 2] = ["replay", "t.bin"];

pub type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Results, schedules, and their seal.
pub fn stored(folder: &Path) -> Files {
    let Ok(entries) = fs::read_dir(folder.join("t.bin.witnesses")) else {
        return Files::new();
    };
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let others = ["plan.json", "plan.prepared", "journal"];
    let files = paths.filter(|path| path.is_file() && !others.iter().any(|other| path.ends_with(other)));
    files
        .map(|path| (path.clone(), fs::read(path).expect("a file")))
        .collect()
}

/// Puts these files in place of all but the plan and the shards.
pub fn restore(folder: &Path, files: &Files) {
    let results = folder.join("t.bin.witnesses");
    fs::create_dir_all(&results).expect("a folder");
    for path in stored(folder).into_keys().chain([results.join("journal")]) {
        let _ = fs::remove_file(path);
    }
    for (path, bytes) in files {
        fs::write(path, bytes).expect("a file");
    }
}

/// Kills the command again and again, with nothing stored or earlier results of other options; continues it.
fn kill(folder: &Path, arguments: &[&str], shown: &[String; 2], old: &Files) {
    let printed = witness(folder, arguments, &[66]);
    let results = stored(folder);
    assert!(
        results.len() > 10 && results != *old,
        "witnesses, and others than before"
    );
    let mut moments = Moments::of(|| {
        restore(folder, &Files::new());
        witness(folder, arguments, &[66]);
    });
    let (mut ended, mut old_shown, mut left) = (0, 0, 0);
    for round in 0..number("WITNESS_KILLS", KILLS) {
        let before = if round % 2 == 0 { Files::new() } else { old.clone() };
        restore(folder, &before);
        let mut running = command(folder, arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("witness starts");
        ended += u32::from(moments.kill(&mut running));
        left += u32::from(folder.join("t.bin.witnesses/journal").exists());
        if round % 4 == 3 {
            // What is shown before that is from one analysis, whichever.
            let replayed = witness(folder, &REPLAY, &[66]);
            assert!(shown.contains(&replayed), "round {round}: {replayed}");
            old_shown += u32::from(replayed == shown[0]);
        }
        assert_eq!(witness(folder, arguments, &[66]), printed, "round {round}");
        assert_eq!(stored(folder), results, "round {round}");
        assert!(!folder.join("t.bin.witnesses/journal").exists(), "round {round}");
    }
    println!(
        "{}: {ended} had ended, {left} left a journal, {old_shown} showed earlier results",
        arguments[0]
    );
}

/// A trace, what its replay shows of other results and of those that the test is about, and the other results.
pub fn prepare(name: &str) -> (PathBuf, [String; 2], Files) {
    let folder = folder(name);
    witness(&folder, &GENERATE, &[0]);
    witness(&folder, &OTHERWISE, &[66]);
    let old = stored(&folder);
    let shown_old = witness(&folder, &REPLAY, &[66]);
    witness(&folder, &ANALYZE, &[66]);
    let shown = witness(&folder, &REPLAY, &[66]);
    assert_ne!(shown, shown_old, "other results");
    (folder, [shown_old, shown], old)
}

#[test]
fn an_analysis_that_is_killed_goes_on_to_the_same_results() {
    let (folder, shown, old) = prepare("analyze");
    kill(&folder, &ANALYZE, &shown, &old);
}

#[test]
fn a_merger_that_is_killed_goes_on_to_the_same_results() {
    let (folder, shown, old) = prepare("merge");
    witness(&folder, &["plan", "t.bin"], &[0]);
    for shard in ["1/2", "2/2"] {
        witness(&folder, &["analyze", "t.bin", "--shard", shard], &[0]);
    }
    kill(&folder, &MERGE, &shown, &old);
}
