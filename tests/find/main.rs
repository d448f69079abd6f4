//! `--find`: what is looked for is found, and of the rest nothing is said, whatever the command.

#[path = "../end_to_end/command.rs"]
mod command;
#[path = "../live/program.rs"]
#[allow(dead_code, reason = "shared with the tests of live replay")]
mod program;

use program::{Program, place};
use std::collections::BTreeSet;
use std::fs;

/// Every choice of kinds, and what each has to find in `all_three.c`.
const CHOICES: [&[&str]; 7] = [
    &["races"],
    &["deadlocks"],
    &["use-after-free"],
    &["races", "deadlocks"],
    &["races", "use-after-free"],
    &["deadlocks", "use-after-free"],
    &["races", "deadlocks", "use-after-free"],
];

fn recorded(test: &str) -> Program {
    let program = Program::of_tests("find", test, "all_three");
    program.record(&[], &[]);
    program
}

/// The kinds of what is witnessed in a results object, and whether anything else is said.
fn kinds(results: &serde_json::Value) -> BTreeSet<&'static str> {
    let pairs = results["pairs"].as_array().unwrap().iter();
    let mut kinds: BTreeSet<&str> = pairs
        .filter_map(|pair| match pair["kind"].as_str()? {
            "co-enabled" => Some("races"),
            "use-after-free" => Some("use-after-free"),
            other => panic!("{other}"),
        })
        .collect();
    let deadlocks = results["deadlocks"].as_array().into_iter().flatten();
    if deadlocks.into_iter().any(|deadlock| deadlock["verdict"] == "witnessed") {
        kinds.insert("deadlocks");
    }
    kinds
}

fn wanted(choice: &[&'static str]) -> BTreeSet<&'static str> {
    choice.iter().copied().collect()
}

#[test]
fn an_analysis_finds_what_it_looks_for_and_says_nothing_of_the_rest() {
    let program = recorded("analyze");
    for choice in CHOICES {
        let find = choice.join(",");
        let outcome = program.witness(&["analyze", "trace.bin", "--find", &find, "--json"]);
        let results: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert_eq!((kinds(&results), outcome.status), (wanted(choice), 66), "{find}");
        let pairs = results["pairs"].as_array().unwrap();
        if !choice.contains(&"races") {
            let places: BTreeSet<_> = [program.line("use"), program.line("free")].into();
            for pair in pairs {
                assert!(places.is_superset(&[place(&pair["a"])].into()), "{find}: {pair}");
            }
        }
        assert_eq!(pairs.is_empty(), choice == ["deadlocks"], "{find}");
        assert_eq!(results["deadlocks"].is_array(), choice.contains(&"deadlocks"), "{find}");
        // What was stored before does not answer for another choice, and schedules are accepted.
        for number in 1..=choice.len() {
            program.check(number);
        }
        let text = program.witness(&["analyze", "trace.bin", "--find", &find]).stdout;
        let summary = text.lines().last().unwrap();
        for (kind, words) in [
            ("races", "data race"),
            ("deadlocks", "deadlock"),
            ("use-after-free", "after free"),
        ] {
            assert_eq!(text.contains(words), choice.contains(&kind), "{find}: {words}: {text}");
            assert_eq!(summary.contains(words), choice.contains(&kind), "{find}: {summary}");
        }
    }
}

#[test]
fn nothing_is_asked_for_as_little_as_it_is() {
    let program = recorded("default");
    let default = program.witness(&["analyze", "trace.bin", "--json"]);
    let all = program.witness(&[
        "analyze",
        "trace.bin",
        "--json",
        "--find",
        "use-after-free,deadlocks,races",
    ]);
    assert_eq!(default.stdout, all.stdout);
    let results: serde_json::Value = serde_json::from_str(&default.stdout).unwrap();
    assert!(results["options"]["find"].is_null());
}

#[test]
fn shards_look_for_what_their_plan_says() {
    let program = recorded("shards");
    for choice in CHOICES {
        let find = choice.join(",");
        let whole = program.witness(&["analyze", "trace.bin", "--find", &find, "--json"]);
        let _ = fs::remove_dir_all(program.folder.join("trace.bin.witnesses"));
        assert_eq!(program.witness(&["plan", "trace.bin", "--find", &find]).status, 0);
        for shard in ["1/2", "2/2"] {
            assert_eq!(program.witness(&["analyze", "trace.bin", "--shard", shard]).status, 0);
        }
        let merged = program.witness(&["merge", "trace.bin", "--json"]);
        assert_eq!((merged.stdout, merged.status), (whole.stdout, 66), "{find}");
    }
}

#[test]
fn runs_and_explorations_look_for_the_same() {
    let program = recorded("runs");
    let file = program.file().to_str().unwrap();
    for (find, said, unsaid) in [
        ("deadlocks", "deadlock", ["data race", "after free"]),
        ("races", "data race", ["SUMMARY: witness: 1 deadlock", "after free"]),
        ("use-after-free", "after free", ["data race", "deadlock"]),
    ] {
        let run = program.witness(&["run", "-o", "run.bin", "--find", find, "--runs", "1", "--", file]);
        assert_eq!(run.status, 66, "{find}: {}", run.stdout);
        let explored = program.witness(&["explore", "--anew", "--find", find, "--", file]);
        assert_eq!(explored.status, 66, "{find}: {} {}", explored.stdout, explored.stderr);
        for outcome in [run, explored] {
            assert!(outcome.stdout.contains(said), "{find}: {}", outcome.stdout);
            for unsaid in unsaid {
                assert!(!outcome.stdout.contains(unsaid), "{find}: {unsaid}: {}", outcome.stdout);
            }
        }
    }
}

#[test]
fn warnings_of_what_is_not_looked_for_are_left_out() {
    let program = recorded("confirm");
    program.witness(&["analyze", "trace.bin"]);
    let report = "trace.bin.witnesses/results.json";
    let races = program.witness(&["confirm", "trace.bin", report, "--find", "races"]);
    assert_eq!(races.status, 66, "{}", races.stdout);
    assert!(races.stdout.contains("WITNESSED"), "{}", races.stdout);
    let deadlocks = program.witness(&["confirm", "trace.bin", report, "--find", "deadlocks"]);
    assert!(!deadlocks.stdout.contains("WITNESSED"), "{}", deadlocks.stdout);
    assert_eq!(deadlocks.status, 0, "{}", deadlocks.stdout);
}

#[test]
fn other_kinds_are_refused_with_those_that_there_are() {
    let program = recorded("refused");
    let outcome = program.witness(&["analyze", "trace.bin", "--find", "races,livelocks"]);
    assert_eq!(outcome.status, 2);
    for kind in ["invalid value 'livelocks'", "races", "deadlocks", "use-after-free"] {
        assert!(outcome.stderr.contains(kind), "{}", outcome.stderr);
    }
    let explain = ["explain", "trace.bin", "serve", "close_all", "--find", "deadlocks"];
    let outcome = program.witness(&explain);
    assert_eq!(outcome.status, 2, "{}", outcome.stdout);
    let file = program.file().to_str().unwrap();
    let explore = [
        "explore",
        "--for",
        "serve",
        "close_all",
        "--find",
        "deadlocks",
        "--",
        file,
    ];
    assert_eq!(program.witness(&explore).status, 2);
}
