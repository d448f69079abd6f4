//! What a file says of threads (`--design`): deadlocks, and races as well, that priorities or reality exclude.

use super::{compiled, deadlocks};
use crate::program::{POLICIES, Program};
use serde_json::Value;
use std::path::Path;

/// The results of an analysis of the recorded run with a design, and its exit status.
fn analyzed_by(program: &Program, design: &str) -> (Value, i32) {
    analyzed_with(program, design, &[])
}

fn analyzed_with(program: &Program, design: &str, options: &[&str]) -> (Value, i32) {
    std::fs::write(program.folder.join("design"), design).unwrap();
    let analyze = ["analyze", "trace.bin", "--design", "design", "--json"];
    let outcome = program.witness(&[&analyze[..], options].concat());
    (serde_json::from_str(&outcome.stdout).unwrap(), outcome.status)
}

/// The reasons of the rows of a kind that are refuted by the file.
fn reasons<'r>(results: &'r Value, rows: &str) -> Vec<&'r str> {
    let refuted = results[rows].as_array().unwrap().iter();
    let refuted = refuted.filter(|row| row["verdict"] == "refuted");
    let reasons = refuted.filter_map(|row| row["reason"].as_str());
    reasons.filter(|reason| reason.contains("your file")).collect()
}

#[test]
fn who_does_not_interrupt_does_not_deadlock() {
    let program = compiled("design", "two_locks");
    for policy in POLICIES {
        program.record(policy, &[]);
        if program.analyzed().0["trace"]["ending"] == "deadlock" {
            continue;
        }
        for (design, reason) in [
            ("priority: first 1\npriority: second 1\n", "priority, by your file"),
            ("apart: first second\n", "reality, by your file"),
        ] {
            let (results, status) = analyzed_by(&program, design);
            assert_eq!((deadlocks(&results), status), (Vec::new(), 0), "{design} {policy:?}");
            assert_eq!(reasons(&results, "deadlocks"), [reason], "{design} {policy:?}");
        }
        // The one with the higher priority interrupts; of a thread of which nothing is said, nothing follows.
        for design in ["priority: first 2\npriority: second 1\n", "priority: first 1\n"] {
            let (results, status) = analyzed_by(&program, design);
            assert_eq!((deadlocks(&results).len(), status), (1, 66), "{design} {policy:?}");
        }
    }
}

#[test]
fn who_does_not_interrupt_does_not_race() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/wrong_lock.c");
    let program = Program::compile("design-races", &source, &[]);
    let races = |results: &Value| {
        let pairs = results["pairs"].as_array().unwrap().iter();
        pairs.filter(|pair| pair["verdict"] == "witnessed").count()
    };
    for policy in POLICIES {
        program.record(policy, &[]);
        for (design, reason) in [
            ("priority: holds_a 1\npriority: holds_b 1\n", "priority, by your file"),
            ("apart: holds_a holds_b\n", "reality, by your file"),
        ] {
            let (results, status) = analyzed_by(&program, design);
            assert_eq!((races(&results), status), (0, 0), "{design} {policy:?}");
            assert_eq!(reasons(&results, "pairs"), [reason; 2], "{design} {policy:?}");
            // In what a cut trace lacks, a thread of which the file says nothing may be there, too.
            let all_but_one = (results["trace"]["events"].as_u64().unwrap() - 1).to_string();
            let (results, status) = analyzed_with(&program, design, &["--first-events", &all_but_one]);
            assert_eq!((races(&results), status), (0, 3), "{design} {policy:?}");
            assert_eq!(reasons(&results, "pairs"), [""; 0], "{design} {policy:?}");
        }
        for design in ["priority: holds_a 1\npriority: holds_b 2\n", "priority: holds_b 2\n"] {
            let (results, status) = analyzed_by(&program, design);
            assert_eq!((races(&results), status), (2, 66), "{design} {policy:?}");
        }
    }
}
