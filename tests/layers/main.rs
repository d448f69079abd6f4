//! Data flows one way through the analysis (ARCHITECTURE.md): a folder of `src` uses those before it here. Within a
//! folder, files that use each other are parts of one idea.

mod arrows;

use arrows::{Arrows, arrows, in_circles, upward};
use std::path::Path;

/// The folders of `src` in an order in which each uses only those before it. A trace is made of operations, and what
/// these mean makes its waits and sections, so model and meaning are one layer.
const LAYERS: [&str; 32] = [
    "assembly",
    "escape",
    "parallel",
    "own",
    "lease",
    "semantics trace",
    "check",
    "schedule",
    "verdict",
    "symbols",
    "design",
    "forest",
    "session",
    "standstill",
    "record",
    "replay",
    "prune",
    "encode",
    "solve",
    "explore",
    "predict",
    "shorten",
    "candidates",
    "analyze",
    "results",
    "warnings",
    "report",
    "confirm",
    "store",
    "import",
    "generate",
    "cli",
];

/// Files that use themselves through others, and the one idea that they are.
const ONE_IDEA: [(&str, &[&str]); 7] = [
    (
        "cells are cut out of the ranges that are accessed",
        &["trace::accesses", "trace::cells"],
    ),
    (
        "a lock context is what a thread holds, and what it held before",
        &["prune::histories", "prune::lock_history", "prune::lockset"],
    ),
    (
        "how a pair is put to everybody who may decide it",
        &[
            "analyze::after_free",
            "analyze::case",
            "analyze::decider",
            "analyze::exclude",
        ],
    ),
    (
        "an order is replayed, locks that are handed over apart",
        &["solve::handed_over", "solve::replay"],
    ),
    (
        "asking, and asking again what a refusal rests on",
        &["solve::core", "solve::refine"],
    ),
    ("an analysis in parts is one", &["cli::analyze", "cli::plan"]),
    ("recording a suite is recording", &["cli::record", "cli::suite"]),
];

/// The crates beside it, each one layer, and the files there that use themselves through others.
const CRATES: [(&str, &[&str]); 8] = [
    ("safe-files", &[]),
    // What is accepted is what the state after a prefix shows, and a state knows when a trace that is validated strays.
    (
        "checker",
        &["accept", "happens_before", "outside", "prefix", "state", "validate"],
    ),
    ("event-coding", &[]),
    // An error says which version was found.
    ("trace-format", &["error", "header"]),
    ("schedule-format", &[]),
    ("recorders/ring", &[]),
    // One scheduler, with everything behind its one lock: a file for each of its methods' subjects.
    (
        "recorders/scheduler",
        &[
            "exiting",
            "hand_over",
            "plan_follower",
            "policy",
            "scheduler",
            "spin",
            "thread",
            "waits",
            "watch",
        ],
    ),
    ("fuzz", &[]),
];

fn of_analysis() -> Arrows {
    arrows(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
}

#[test]
fn every_folder_uses_only_those_before_it() {
    let arrows = of_analysis();
    assert!(arrows.len() > 250, "the analysis has more files than {}", arrows.len());
    let up = upward(&arrows, &LAYERS);
    assert!(up.is_empty(), "upward arrows:\n{}", up.join("\n"));
}

#[test]
fn files_that_use_each_other_are_one_idea() {
    let mut known: Vec<&str> = ONE_IDEA.iter().flat_map(|(_, files)| files.iter().copied()).collect();
    known.sort_unstable();
    assert_eq!(in_circles(&of_analysis()), known, "files in circles");
}

#[test]
fn other_crates_have_no_circles_but_those_that_are_known() {
    for (name, one_idea) in CRATES {
        let arrows = arrows(&Path::new(env!("CARGO_MANIFEST_DIR")).join(name).join("src"));
        assert!(!arrows.is_empty(), "{name} has files");
        assert_eq!(in_circles(&arrows), one_idea, "files of {name} in circles");
    }
}
