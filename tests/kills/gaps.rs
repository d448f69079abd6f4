//! Killed in each gap between two changes of names, of which random moments seldom meet one: results are many files,
//! which cannot all take their names at once.

use crate::analyze::{ANALYZE, Files, MERGE, REPLAY, prepare, restore, stored};
use crate::{command, witness};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Found in the library path: what is preloaded by a path of its own must have no space in it.
const LIBRARY: &str = "killer.so";

/// Makes a library that kills at the N-th change of a name.
fn make_killer(folder: &Path) {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kills/rename.c");
    let library = folder.join(LIBRARY);
    let made = Command::new("gcc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library)
        .arg(source)
        .status();
    assert!(made.expect("gcc is needed").success());
}

/// Kills the command before each change of a name, with earlier results of other options in the folder.
fn kill_in_each_gap(folder: &Path, arguments: &[&str], shown: &[String; 2], old: &Files) {
    make_killer(folder);
    let printed = witness(folder, arguments, &[66]);
    let results = stored(folder);
    let (mut gaps, mut earlier, mut mixed) = (0, 0, 0);
    loop {
        restore(folder, old);
        let killed = command(folder, arguments)
            .env("LD_PRELOAD", LIBRARY)
            .env("LD_LIBRARY_PATH", folder)
            .env("KILL_AT_NAME", (gaps + 1).to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("witness starts");
        if killed.signal().is_none() {
            assert_eq!(killed.code(), Some(66));
            break;
        }
        gaps += 1;
        let left = stored(folder);
        mixed += usize::from(left != *old && left != results);
        // What is shown is from one analysis, whichever.
        let replayed = witness(folder, &REPLAY, &[66]);
        assert!(shown.contains(&replayed), "gap {gaps}: {replayed}");
        earlier += usize::from(replayed == shown[0]);
        assert_eq!(witness(folder, arguments, &[66]), printed, "gap {gaps}");
        assert_eq!(stored(folder), results, "gap {gaps}");
        assert!(!folder.join("t.bin.witnesses/journal").exists(), "gap {gaps}");
    }
    println!(
        "{}: killed in {gaps} gaps; {mixed} left files of two analyses, {earlier} showed earlier results",
        arguments[0]
    );
    let files = results.len();
    assert!(
        gaps > files && mixed > files,
        "{gaps} gaps, {mixed} mixed, {files} files"
    );
    assert!(earlier > 0);
}

#[test]
fn an_analysis_that_is_killed_in_a_gap_leaves_one_analysis() {
    let (folder, shown, old) = prepare("gaps-analyze");
    kill_in_each_gap(&folder, &ANALYZE, &shown, &old);
}

#[test]
fn a_merger_that_is_killed_in_a_gap_leaves_one_analysis() {
    let (folder, shown, old) = prepare("gaps-merge");
    witness(&folder, &["plan", "t.bin"], &[0]);
    for shard in ["1/2", "2/2"] {
        witness(&folder, &["analyze", "t.bin", "--shard", shard], &[0]);
    }
    kill_in_each_gap(&folder, &MERGE, &shown, &old);
}
