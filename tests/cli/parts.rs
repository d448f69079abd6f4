//! One analysis in parts: by several threads, in shards, in two attempts. The results are the same to the byte.

use crate::command::{command, witness};
use crate::traces::{figure3, folder};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

/// Options under which there is something to decide for the fast arguments, for the solvers, and to explain.
const OPTIONS: [&str; 4] = ["--solver", "z3", "--explanations", "5"];

/// A new folder with a trace of a few thousand events, some of them races.
fn with_trace(name: &str) -> PathBuf {
    let folder = folder(name);
    let generate = [
        "generate",
        "-o",
        "t.bin",
        "--events",
        "2000",
        "--unprotected",
        "0.05",
        "--threads",
        "6",
    ];
    witness(&folder, &generate).status(0);
    folder
}

/// Analyses the trace in a folder in one go, and returns what it prints.
fn in_one(folder: &Path, more: &[&str]) -> String {
    let arguments = [&["analyze", "t.bin"], &OPTIONS[..], more].concat();
    witness(folder, &arguments).status(66).stdout
}

/// The files that an analysis leaves behind.
fn stored(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder.join("t.bin.witnesses")).expect("results");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let results =
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "sched") || path.ends_with("results.json"));
    results
        .map(|path| {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            (name, fs::read(path).expect("a file"))
        })
        .collect()
}

#[test]
fn any_number_of_threads_gives_the_same_results() {
    let folder = with_trace("threads");
    let printed = in_one(&folder, &["--threads", "1"]);
    let results = stored(&folder);
    assert!(results.len() > 10, "a trace with witnesses");
    assert!(!folder.join("t.bin.witnesses/journal").exists());
    for threads in ["2", "5"] {
        assert_eq!(in_one(&folder, &["--threads", threads]), printed);
        assert_eq!(stored(&folder), results, "{threads} threads");
    }
}

#[test]
fn any_number_of_shards_gives_the_same_results() {
    let whole = with_trace("shards_whole");
    let printed = in_one(&whole, &[]);
    for of in [1, 3, 7] {
        let folder = with_trace(&format!("shards_{of}"));
        let plan = [&["plan", "t.bin"], &OPTIONS[..]].concat();
        witness(&folder, &plan).status(0);
        for number in (1..=of).rev() {
            let shard = format!("{number}/{of}");
            witness(&folder, &["analyze", "t.bin", "--shard", &shard]).status(0);
        }
        let merged = witness(&folder, &["merge", "t.bin"]).status(66);
        assert_eq!(merged.stdout, printed, "{of} shards");
        assert_eq!(stored(&folder), stored(&whole), "{of} shards");
    }
}

#[test]
fn shards_that_are_missing_or_foreign_or_damaged_are_named() {
    let folder = with_trace("shards_refused");
    let refused = |expected: &str| {
        let outcome = witness(&folder, &["merge", "t.bin"]).status(2);
        assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    };
    refused("plan.json: there is no plan; `witness plan` writes one");
    let outcome = witness(&folder, &["analyze", "t.bin", "--shard", "1/2"]).status(2);
    assert!(outcome.stderr.contains("there is no plan"), "{}", outcome.stderr);
    witness(&folder, &["plan", "t.bin"]).status(0);
    refused("there is no shard of this plan");
    witness(&folder, &["analyze", "t.bin", "--shard", "1/3"]).status(0);
    refused("missing 2/3, 3/3; run `witness analyze --shard 2/3`");

    let shard = folder.join("t.bin.witnesses/shards/1-of-3.decisions");
    let whole = fs::read(&shard).expect("a shard");
    let line = whole.iter().position(|&byte| byte == b'\n').expect("lines") + 20;
    let mut damaged = whole.clone();
    damaged[line] ^= 1;
    fs::write(&shard, &damaged).expect("a file");
    refused("1-of-3.decisions:2: the file is damaged");
    fs::write(&shard, &whole[..whole.len() - 1]).expect("a file");
    refused("1-of-3.decisions:");
    // Whole lines are missing: in the middle, and the last one, which says how many there are.
    let lines: Vec<&[u8]> = whole.split_inclusive(|&byte| byte == b'\n').collect();
    fs::write(&shard, [&lines[..1], &lines[2..]].concat().concat()).expect("a file");
    refused(&format!("1-of-3.decisions:{}: the file is damaged", lines.len() - 1));
    fs::write(&shard, lines[..lines.len() - 1].concat()).expect("a file");
    refused("the file is damaged or incomplete");

    fs::write(&shard, &whole).expect("a file");
    witness(&folder, &["plan", "t.bin", "--instances", "3"]).status(0);
    refused("ignored, since they belong to another plan: t.bin.witnesses/shards/1-of-3.decisions");
    figure3(&folder.join("t.bin"));
    refused("a plan for another trace");
}

#[test]
fn an_analysis_that_was_killed_goes_on_where_it_stopped() {
    let whole = with_trace("killed_whole");
    let printed = in_one(&whole, &[]);
    let folder = with_trace("killed");
    let journal = folder.join("t.bin.witnesses/journal");
    let arguments = [&["analyze", "t.bin"], &OPTIONS[..]].concat();
    let decided = || fs::read(&journal).map_or(0, |bytes| bytes.iter().filter(|&&byte| byte == b'\n').count());
    // Killed over and over, and each time with damage at the end of what is left, or in its middle.
    for round in 0..4 {
        let mut child = command(&folder);
        let child = child.args(&arguments).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = child.spawn().expect("witness starts");
        let before = decided();
        while decided() <= before + 130 {
            let ended = child.try_wait().expect("a child");
            assert!(ended.is_none(), "the analysis ended before it could be killed");
            sleep(Duration::from_millis(1));
        }
        child.kill().expect("it runs");
        child.wait().expect("a child");
        let mut bytes = fs::read(&journal).expect("a journal");
        match round % 3 {
            0 => bytes.truncate(bytes.len() - 7),
            1 => bytes.extend(b"0123"),
            _ => {
                let middle = bytes.len() - bytes.len() / 8;
                bytes[middle] ^= 4;
            }
        }
        fs::write(&journal, &bytes).expect("a file");
    }
    let last = witness(&folder, &arguments).status(66);
    assert!(
        last.stderr.contains("continuing an interrupted analysis"),
        "{}",
        last.stderr
    );
    assert_eq!(last.stdout, printed);
    assert_eq!(stored(&folder), stored(&whole));
    assert!(!journal.exists());
}

#[test]
fn what_there_was_no_time_for_is_unknown_until_the_analysis_is_started_again() {
    let whole = with_trace("time_whole");
    let printed = in_one(&whole, &[]);
    let folder = with_trace("time");
    let journal = folder.join("t.bin.witnesses/journal");
    let arguments = [&["analyze", "t.bin"], &OPTIONS[..]].concat();
    let without_time = [&arguments[..], &["--time-limit", "0"]].concat();
    let none = witness(&folder, &without_time).status(3);
    assert!(
        none.stdout
            .contains("the time limit ended the analysis before the pair was decided"),
        "{}",
        none.stdout
    );
    assert!(none.stderr.contains("out of time: "), "{}", none.stderr);
    let results = fs::read_to_string(folder.join("t.bin.witnesses/results.json")).expect("results");
    assert!(results.contains(r#""reason": "time""#), "{results}");

    let mut child = command(&folder);
    let child = child.args(&arguments).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = child.spawn().expect("witness starts");
    while fs::read(&journal).map_or(0, |bytes| bytes.iter().filter(|&&byte| byte == b'\n').count()) <= 400 {
        let ended = child.try_wait().expect("a child");
        assert!(ended.is_none(), "the analysis ended before it could be killed");
        sleep(Duration::from_millis(1));
    }
    child.kill().expect("it runs");
    child.wait().expect("a child");
    // What is decided stays, and counts.
    let some = witness(&folder, &without_time).status(66);
    assert!(
        some.stdout.contains("the time limit ended the analysis"),
        "{}",
        some.stdout
    );

    assert_eq!(in_one(&folder, &[]), printed);
    assert_eq!(stored(&folder), stored(&whole));
    assert!(!journal.exists());
}

#[test]
fn what_the_last_job_of_a_cluster_would_refuse_is_refused_before_the_first() {
    let folder = with_trace("cluster-flags");
    let said = witness(&folder, &["cluster", "t.bin", "--show", "--", "--bogus"]).status(2);
    assert!(said.stderr.contains("flags of `witness merge`") && said.stderr.contains("--bogus"));
    witness(&folder, &["cluster", "t.bin", "--show", "--", "--json"]).status(0);
}

/// Slurm replaces what begins with a percent sign in the names of logs.
#[test]
fn logs_of_a_cluster_lie_where_the_store_is() {
    let folder = with_trace("cluster-logs");
    let shown = witness(&folder, &["cluster", "t.bin", "--show", "--store", "100%A"]).status(0);
    assert!(shown.stdout.contains("/100%%A/cluster/%A_%a.out"), "{}", shown.stdout);
    let said = witness(&folder, &["cluster", "t.bin", "--show", "--store", r"a\b"]).status(2);
    assert!(said.stderr.contains("backslash"), "{}", said.stderr);
}
