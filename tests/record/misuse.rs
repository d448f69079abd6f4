//! What is not seen of a synchronization object, and what no program may do with one: the trace is an execution all the
//! same, and the program gets what the C library would have said.

use crate::program::Program;
use std::process::Command;

/// Records the program doing one of these things, under several policies; each trace must be an execution. What
/// `witness` printed last.
fn record(what: &str, status: i32) -> String {
    let program = Program::instrumented("misused", what);
    let mut printed = String::new();
    for policy in ["fifo", "random", "pos"] {
        let flags = [&format!("--policy={policy}"), "--seed=3", "--timeout=60"];
        let (mut recorder, trace) = program.recorder(what, &flags, &[what]);
        let output = recorder.output().expect("witness runs");
        assert_eq!(output.status.code(), Some(status), "{policy}: {output:?}");
        printed = String::from_utf8_lossy(&output.stderr).into_owned();
        let checked = Command::new(env!("CARGO_BIN_EXE_witness"))
            .arg("check")
            .arg(&trace)
            .output()
            .expect("witness runs");
        assert!(checked.status.success(), "{policy}: {checked:?}");
    }
    printed
}

#[test]
fn another_process_posts_and_waits() {
    record("family", 0);
}

#[test]
fn the_count_of_a_semaphore_is_overwritten() {
    record("overwritten", 0);
}

#[test]
fn a_wait_with_a_mutex_that_the_thread_does_not_hold() {
    record("unheld", 0);
}

#[test]
fn times_that_are_none_are_refused() {
    record("times", 0);
}

#[test]
fn a_condition_is_destroyed_only_when_nobody_waits_at_it() {
    let printed = record("destroyed", 67);
    assert!(
        printed.contains("waits for those who wait at condition condition, which it destroys"),
        "{printed}"
    );
}
