//! Deadlocks of whole programs, through the command line: those of `programs` that can deadlock, and their harmless
//! twins.
//!
//! Each is recorded under several policies. A run that deadlocks itself is told as one; from every other, the deadlock
//! of the first kind is predicted at the marked lines, accepted by the checker, and shown live, and none is predicted
//! of the twins.

#[path = "../end_to_end/command.rs"]
mod command;
#[path = "../live/program.rs"]
#[allow(dead_code, reason = "shared with the tests of live replay")]
mod program;

mod by_design;
mod confirm;
mod cut;

use command::{run, witness};
use program::{POLICIES, Program, place};
use std::collections::BTreeSet;

/// The programs that can deadlock, with the marks of the operations that wait for each other, and their harmless twins.
const PROGRAMS: [(&str, &[&str], &[&str]); 17] = [
    (
        "two_locks",
        &["first", "second"],
        &["two_locks_gate", "two_locks_timed", "two_locks_handshake"],
    ),
    ("three_locks", &["first", "second", "third"], &["three_locks_ordered"]),
    ("join_under_lock", &["worker", "main"], &["join_after_lock"]),
    ("reader_and_writer", &["first", "second"], &["readers"]),
    ("recursive", &["first", "second"], &["recursive_alone"]),
    (
        "wait_keeps_outer_lock",
        &["waiter", "signaler"],
        &["wait_with_one_lock"],
    ),
    ("spin_and_mutex", &["first", "second"], &["spin_and_trylock"]),
    ("transfer", &["transfer"], &["transfer_by_address"]),
    ("nested_calls", &["inner", "outer"], &["nested_calls_ordered"]),
    // In these, nobody is left.
    (
        "signal_lost",
        &["waiter", "main"],
        &["signal_not_lost", "signal_lost_timed"],
    ),
    (
        "two_conditions",
        &["first", "second", "main"],
        &["two_conditions_flags"],
    ),
    (
        "semaphores",
        &["first", "second", "main"],
        &["semaphores_two_permits", "semaphores_timed"],
    ),
    ("one_permit_short", &["first", "second", "main"], &["one_permit_more"]),
    (
        "semaphore_under_lock",
        &["first", "second", "main"],
        &["semaphore_before_lock"],
    ),
    ("join_under_permit", &["worker", "main"], &["join_after_permit"]),
    (
        "barrier_under_lock",
        &["first", "second", "main"],
        &["barrier_before_lock"],
    ),
    ("once_and_lock", &["first", "second", "main"], &["once_before_lock"]),
];

/// Those of which two threads wait while another one goes on.
const BESIDE: [(&str, &[&str], &str); 8] = [
    ("nested_monitor", &["first", "second"], "nested_monitor_timed"),
    ("lost_beside", &["first", "main"], "lost_beside_flag"),
    ("permit_under_lock", &["first", "second"], "permit_before_lock"),
    ("permit_over_lock", &["first", "second"], "permit_then_lock"),
    ("barrier_in_lock", &["first", "second"], "barrier_behind_lock"),
    ("permits_crossed", &["first", "second"], "permits_in_order"),
    ("permit_kept", &["first"], "permit_given_back"),
    ("once_in_lock", &["first", "second"], "once_behind_lock"),
];

/// Harmless ones of which no program that can deadlock is the twin.
const ALONE: [&str; 1] = ["equal_workers"];

fn compiled(test: &str, name: &str) -> Program {
    Program::of_tests("deadlocks", test, name)
}

/// The places of each witnessed deadlock.
fn deadlocks(results: &serde_json::Value) -> Vec<BTreeSet<String>> {
    deadlocks_of(results, &["cycle", "standstill", "partial"])
}

/// The same, of these kinds.
fn deadlocks_of(results: &serde_json::Value, kinds: &[&str]) -> Vec<BTreeSet<String>> {
    let all = results["deadlocks"].as_array().cloned().unwrap_or_default();
    let of_kind = |deadlock: &&serde_json::Value| kinds.iter().any(|kind| deadlock["kind"] == *kind);
    let witnessed = all
        .iter()
        .filter(|deadlock| deadlock["verdict"] == "witnessed")
        .filter(of_kind);
    let places = witnessed.map(|deadlock| {
        let operations = deadlock["operations"].as_array().unwrap().iter();
        let place = operations.map(place);
        place.collect()
    });
    places.collect()
}

#[test]
fn deadlocks_are_predicted_and_shown_live() {
    let mut shown = 0;
    for (name, marks, _) in PROGRAMS {
        let program = compiled("found", name);
        let expected: BTreeSet<String> = marks.iter().map(|mark| program.line(mark)).collect();
        let mut hits = 0;
        for policy in POLICIES {
            program.record(policy, &[]);
            let (results, status) = program.analyzed();
            if results["trace"]["ending"] == "deadlock" {
                continue;
            }
            let found = deadlocks(&results);
            // Whether a thread waits at a condition at all depends on the run.
            hits += usize::from(found.contains(&expected));
            assert!(!found.is_empty(), "{name} {policy:?}: {results:#}");
            assert_eq!(status, 66, "{name} {policy:?}");
            for number in 1..=found.len() {
                program.check(number);
            }
            let live = program.live(&[]);
            let confirmed = live
                .stdout
                .lines()
                .filter(|line| line.starts_with("CONFIRMED: "))
                .count();
            assert_eq!(
                (confirmed, live.status),
                (found.len(), 66),
                "{name} {policy:?}: {}",
                live.stdout
            );
            shown += confirmed;
        }
        assert!(hits > 0, "{name}: {expected:?} was found in no run");
    }
    assert!(shown >= 18, "{shown} deadlocks were shown");
}

#[test]
fn partial_deadlocks_are_predicted_and_shown_live() {
    for (name, marks, _) in BESIDE {
        let program = compiled("beside", name);
        let expected: BTreeSet<String> = marks.iter().map(|mark| program.line(mark)).collect();
        let mut hits = 0;
        for policy in POLICIES {
            program.record(policy, &[]);
            let (results, status) = program.analyzed();
            if results["trace"]["ending"] == "deadlock" {
                continue;
            }
            let (found, partial) = (deadlocks(&results), deadlocks_of(&results, &["partial"]));
            hits += usize::from(partial.contains(&expected));
            assert_eq!(
                status,
                if found.is_empty() { 0 } else { 66 },
                "{name} {policy:?}: {results:#}"
            );
            for number in 1..=found.len() {
                program.check(number);
            }
            let live = program.live(&[]);
            let confirmed = live.stdout.lines().filter(|line| line.starts_with("CONFIRMED: "));
            assert_eq!(confirmed.count(), found.len(), "{name} {policy:?}: {}", live.stdout);
            let how = "the threads wait until the run ends, though others can go on";
            let beside = live.stdout.lines().filter(|line| line.ends_with(how));
            assert_eq!(beside.count(), partial.len(), "{name} {policy:?}: {}", live.stdout);
        }
        assert!(hits > 0, "{name}: {expected:?} was found in no run");
    }
}

#[test]
fn their_twins_have_none() {
    let beside = BESIDE.iter().map(|(_, _, twin)| twin);
    let alone = ALONE.iter().chain(beside);
    for twin in PROGRAMS.iter().flat_map(|(_, _, twins)| *twins).chain(alone) {
        let program = compiled("twins", twin);
        for policy in POLICIES {
            program.record(policy, &[]);
            let (results, status) = program.analyzed();
            assert_ne!(results["trace"]["ending"], "deadlock", "{twin} {policy:?}");
            assert_eq!(
                (deadlocks(&results), status),
                (Vec::new(), 0),
                "{twin} {policy:?}: {results:#}"
            );
        }
    }
}

#[test]
fn the_report_says_who_waits_for_whom() {
    let program = compiled("report", "two_locks");
    program.record(POLICIES[0], &[]);
    let report = program.witness(&["analyze", "trace.bin"]);
    for line in [
        "WARNING: witness: deadlock (witnessed)",
        "  Thread 1 waits for mutex b, which thread 2 holds:",
        "  Thread 2 waits for mutex a, which thread 1 holds:",
        "── deadlock: these wait for each other",
        "  replay: witness replay trace.bin --witness 1",
    ] {
        assert!(report.stdout.contains(line), "{line}: {}", report.stdout);
    }
    assert!(
        report.stdout.ends_with("0 unknown; 1 deadlock witnessed\n"),
        "{}",
        report.stdout
    );
    let all = run(
        &program.folder,
        witness()
            .args(["run", "--runs", "2", "-o", "run.bin", "--"])
            .arg(program.file()),
    );
    let all = all.unwrap();
    assert!(all.stdout.contains("witness 1: deadlock at "), "{}", all.stdout);
    assert!(all.stdout.contains(": confirmed live"), "{}", all.stdout);
    assert_eq!(all.status, 66, "{}", all.stdout);
}

#[test]
fn the_report_says_what_nobody_is_left_to_do() {
    let program = compiled("left", "semaphores");
    program.record(POLICIES[0], &[]);
    let report = program.witness(&["analyze", "trace.bin"]);
    for line in [
        "  Thread 0 (main) waits for the end of thread 1:",
        "  Thread 1 waits for a post of semaphore b:",
        "  Thread 2 waits for a post of semaphore a:",
        "── deadlock: these wait, and nobody else is left",
    ] {
        assert!(report.stdout.contains(line), "{line}: {}", report.stdout);
    }
    let live = program.live(&[]);
    let confirmed = "CONFIRMED: witness 1: the threads wait for ever, and nobody else is left\n";
    assert!(live.stdout.contains(confirmed), "{}", live.stdout);
}

#[test]
fn a_baseline_knows_deadlocks() {
    let program = compiled("baseline", "two_locks");
    program.record(POLICIES[0], &[]);
    let (results, status) = program.analyzed();
    assert_eq!(status, 66);
    std::fs::write(program.folder.join("known.json"), results.to_string()).unwrap();
    let report = program.witness(&["analyze", "trace.bin", "--baseline", "known.json"]);
    assert!(report.stdout.contains("1 in the baseline"), "{}", report.stdout);
    assert_eq!(report.status, 0, "{}", report.stdout);
}

#[test]
fn suppressions_of_deadlocks_hide_them() {
    let program = compiled("hidden", "two_locks");
    program.record(POLICIES[0], &[]);
    std::fs::write(program.folder.join("hide"), "deadlock:second\n").unwrap();
    let report = program.witness(&["analyze", "trace.bin", "--suppressions", "hide"]);
    assert!(report.stdout.contains("1 suppressed"), "{}", report.stdout);
    assert!(!report.stdout.contains("WARNING"), "{}", report.stdout);
    assert_eq!(report.status, 0, "{}", report.stdout);
}
