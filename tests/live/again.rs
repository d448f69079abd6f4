//! Recorded runs, whole, once more: those that failed fail again.

use crate::command::{Outcome, run, witness};
use crate::program::Program;

/// How often each failing run is forced again.
const TIMES: usize = 20;

fn again(program: &Program, options: &[&str]) -> Outcome {
    program.live(&[&["--as-recorded"], options].concat())
}

/// Records with one seed after another until the program fails; how `record` ended then.
fn record_until(program: &Program, way: &str, policy: &str, failed: i32) {
    for seed in 0..500 {
        let mut command = witness();
        command.args([
            "record",
            "-o",
            "trace.bin",
            "--policy",
            policy,
            "--seed",
            &seed.to_string(),
            "--",
        ]);
        command.arg(program.file()).arg(way);
        let recorded = run(&program.folder, &mut command).unwrap();
        if recorded.status == failed {
            return;
        }
        assert_eq!(recorded.status, 0, "{}", recorded.stderr);
    }
    panic!("no seed makes {way} fail");
}

#[test]
fn failing_runs_fail_again() {
    let program = Program::of("again", "fails_sometimes.c");
    let ways = [
        ("assertion", 134, "signal 6 killed the program"),
        ("crash", 139, "signal 11 killed the program"),
        ("deadlock", 67, "the program's threads wait for one another for ever"),
        ("status", 7, "the program exited with status 7"),
    ];
    for (way, failed, end) in ways {
        for policy in ["random", "pos"] {
            record_until(&program, way, policy, failed);
            for time in 0..TIMES {
                let outcome = again(&program, &[]);
                let expected = format!("REPRODUCED: {end}\n");
                assert!(
                    outcome.stdout.contains(&expected),
                    "{way}, {policy}, {time}: {}",
                    outcome.stdout
                );
                assert_eq!(outcome.status, 0);
            }
        }
    }
}

#[test]
fn runs_that_succeed_are_reproduced_too_also_elsewhere_in_memory() {
    let program = Program::of("again-succeeds", "fails_sometimes.c");
    for policy in ["fifo", "random", "pct", "pos"] {
        program.record(&["--policy", policy, "--seed", "4"], &["deadlock"]);
        for options in [&[][..], &["--aslr"]] {
            let outcome = again(&program, options);
            let is_one = [
                "REPRODUCED: the program exited with status 0\n",
                "REPRODUCED: the program's threads wait",
            ];
            assert!(
                is_one.iter().any(|one| outcome.stdout.contains(one)),
                "{}",
                outcome.stdout
            );
        }
    }
}

#[test]
fn what_a_limit_ended_is_followed_up_to_there() {
    let program = Program::of("again-limit", "fails_sometimes.c");
    program.record(&["--max-events", "20"], &["status"]);
    let outcome = again(&program, &[]);
    assert!(
        outcome.stdout.contains("REPRODUCED: a limit ended the program\n"),
        "{}",
        outcome.stdout
    );
    assert_eq!(outcome.status, 0);
}

#[test]
fn a_program_that_does_something_else_is_said_to() {
    let program = Program::of("again-else", "fails_sometimes.c");
    program.record(&[], &["status"]);
    let mut command = witness();
    command.args(["replay", "trace.bin", "--live", "--as-recorded", "--"]);
    command.arg(program.file()).arg("deadlock");
    let outcome = run(&program.folder, &mut command).unwrap();
    assert_eq!(outcome.status, 4, "{}", outcome.stdout);
    assert!(
        outcome
            .stdout
            .contains("DIVERGED: the program did not do what it did when it was recorded\n"),
        "{}",
        outcome.stdout
    );
    // It went on all the same.
    assert!(
        outcome
            .stdout
            .contains("  then:     the program exited with status 0\n"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn witnesses_are_no_part_of_it() {
    let program = Program::of("again-usage", "fails_sometimes.c");
    program.record(&[], &["status"]);
    for options in [&["--first", "a"][..], &["--gdb"], &["--witness", "1"]] {
        assert_eq!(again(&program, options).status, 2);
    }
}

#[test]
fn calls_that_fail_instead_of_waiting_fail_again() {
    let program = Program::of("without-waiting", "without_waiting.c");
    for (policy, seed) in [("random", "1"), ("random", "2"), ("pos", "1"), ("pct", "1")] {
        program.record(&["--policy", policy, "--seed", seed], &[]);
        let outcome = again(&program, &[]);
        assert!(
            outcome.stdout.contains("REPRODUCED: "),
            "{policy}, {seed}: {}",
            outcome.stdout
        );
    }
}

/// A run in continuous integration is looked into elsewhere: what values the trace does not keep are others there, or
/// not set, so the environment is shorter or longer.
#[test]
fn runs_are_reproduced_in_another_environment() {
    const VARIABLE: &str = "BUILD_OF_THE_DAY";
    let program = Program::of("again-environment", "reads_arguments.c");
    let words = ["--first", "--second-argument", "the last one"];
    for recorded in [None, Some(""), Some("5"), Some("a build like no other one")] {
        let mut command = witness();
        command
            .args(["record", "-o", "trace.bin", "--"])
            .arg(program.file())
            .args(words);
        command.envs(recorded.map(|value| (VARIABLE, value)));
        let outcome = run(&program.folder, &mut command).unwrap();
        assert_eq!(outcome.status, 0, "{}", outcome.stderr);
        for value in [None, Some("x"), Some("two"), Some("a build like every other one")] {
            let mut command = witness();
            command.args(["replay", "trace.bin", "--live", "--as-recorded"]);
            command.envs(value.map(|value| (VARIABLE, value)));
            let outcome = run(&program.folder, &mut command).unwrap();
            assert!(
                outcome
                    .stdout
                    .contains("REPRODUCED: the program exited with status 0\n"),
                "{recorded:?}, {value:?}: {}",
                outcome.stdout
            );
        }
    }
}
