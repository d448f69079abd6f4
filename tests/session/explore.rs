//! `witness explore` on programs whose schedules are known: what it finds, that the traces show it, and when it says that every schedule is
//! covered.

use crate::command::{Outcome, run, witness};
use crate::program::Program;
use std::path::Path;

/// Explores one of the repository's programs.
fn explore(name: &str, source: &str, options: &[&str], arguments: &[&str]) -> (Program, Outcome) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(source);
    let program = Program::compile(&format!("explore-{name}"), &source, &[]);
    let mut command = witness();
    command.args(["explore", "-o", "runs"]).args(options).arg("--");
    command.arg(program.file()).args(arguments);
    let outcome = run(&program.folder, &mut command).unwrap();
    (program, outcome)
}

fn of_program(name: &str, options: &[&str]) -> Outcome {
    explore(name, &format!("programs/{name}.c"), options, &[]).1
}

/// The trace that a report says shows something.
fn shown_by(outcome: &Outcome, what: &str) -> String {
    let line = outcome.stdout.lines().find(|line| line.starts_with(what));
    let (_, path) = line
        .and_then(|line| line.split_once("shown by "))
        .unwrap_or_else(|| panic!("{what}: {outcome:?}"));
    path.trim_end_matches(':').to_owned()
}

#[test]
fn programs_without_a_race_are_exhausted() {
    for name in [
        "destroyed_condition",
        "fork_join",
        "lock_history",
        "object_handed_back",
        "once",
        "philosophers",
        "single_thread",
        "trylock",
        "trylock_failed",
        "unrecorded_flag",
    ] {
        let outcome = of_program(name, &[]).expect(&[0]).unwrap();
        let covered = "EXHAUSTED: every schedule of this input is covered, under sequential consistency; no race, deadlock or failure (";
        assert!(outcome.stdout.contains(covered), "{name}: {}", outcome.stdout);
    }
}

#[test]
fn races_that_one_run_excludes_are_found() {
    for name in ["counter_orders", "figure3"] {
        let outcome = of_program(name, &[]).expect(&[66]).unwrap();
        assert!(
            outcome.stdout.contains("\nSUMMARY: witness: 1 data race witnessed"),
            "{}",
            outcome.stdout
        );
        assert!(outcome.stdout.contains("\nEXHAUSTED: "), "{}", outcome.stdout);
    }
}

#[test]
fn what_was_not_explored_is_not_said_to_be_covered() {
    for (source, status, why) in [
        (
            "programs/relaxed_flag.c",
            66,
            "atomics weaker than sequentially consistent",
        ),
        ("programs/interrupted_wait.c", 66, "the program handles signals"),
        ("programs/channels.c", 66, "values came from outside of the program"),
        (
            "programs/named_sections.c",
            66,
            "a library that is not recorded may synchronize unseen",
        ),
        (
            "session/programs/hidden_state.c",
            3,
            "other threads' calls, which is not recorded: strtok",
        ),
        ("live/programs/children.c", 68, "the program starts other processes"),
    ] {
        let name = Path::new(source).file_stem().unwrap().to_str().unwrap();
        let (_, outcome) = explore(name, source, &["--runs", "3", "--timeout", "2"], &[]);
        let outcome = outcome.expect(&[status]).unwrap();
        assert!(
            outcome.stdout.contains("\nNOT EXHAUSTED: "),
            "{name}: {}",
            outcome.stdout
        );
        assert!(outcome.stdout.contains(why), "{name}: {}", outcome.stdout);
    }
}

#[test]
fn bounds_leave_it_open() {
    let outcome = of_program("philosophers", &["--runs", "2"]).expect(&[3]).unwrap();
    assert!(
        outcome
            .stdout
            .contains("NOT EXHAUSTED: some schedules may show more (2 runs, "),
        "{}",
        outcome.stdout
    );
    assert!(
        outcome.stdout.contains("  the bound of runs was reached"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn deadlocks_and_failures_are_found_and_run_again() {
    let (locks, outcome) = explore("deadlock", "live/programs/fails_sometimes.c", &[], &["deadlock"]);
    let outcome = outcome.expect(&[67]).unwrap();
    assert!(
        outcome.stdout.contains("waits for mutex second at "),
        "{}",
        outcome.stdout
    );
    assert!(outcome.stdout.contains("EXHAUSTED: "), "{}", outcome.stdout);
    let (update, failed) = explore("failure", "session/programs/lost_update.c", &[], &[]);
    let failed = failed.expect(&[66]).unwrap();
    for (program, trace) in [
        (&locks, shown_by(&outcome, "FOUND: deadlock, ")),
        (&update, shown_by(&failed, "FOUND: the program exited with status 7, ")),
    ] {
        let mut command = witness();
        command.args(["replay", &trace, "--live", "--as-recorded"]);
        let again = run(&program.folder, &mut command).unwrap().expect(&[0]).unwrap();
        assert!(again.stdout.contains("REPRODUCED"), "{}", again.stdout);
    }
}

#[test]
fn what_threads_do_that_nobody_joins_is_explored() {
    let (_, outcome) = explore("never-joined", "session/programs/never_joined_failure.c", &[], &[]);
    let outcome = outcome.expect(&[68]).unwrap();
    shown_by(&outcome, "FOUND: the program was killed by signal 6, ");
    assert!(outcome.stdout.contains("\nEXHAUSTED: "), "{}", outcome.stdout);
}
