//! Bad usage and bad files: status 2 and a message that names what is wrong.

use crate::command::witness;
use crate::traces::{folder, hidden_race, overlapping_locks, quiet};
use std::fs;

const READERS: [&str; 5] = ["analyze", "check", "dump", "info", "replay"];

#[test]
fn a_missing_file_is_named() {
    let folder = folder("missing");
    for command in READERS {
        let outcome = witness(&folder, &[command, "missing.bin"]).status(2);
        assert!(outcome.stderr.starts_with("witness: "), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("missing.bin"), "{}", outcome.stderr);
        assert_eq!(outcome.stdout, "");
    }
}

#[test]
fn what_is_no_trace_is_refused() {
    let folder = folder("no_trace");
    fs::write(folder.join("text.bin"), "This is no trace.\n".repeat(20)).expect("a file");
    fs::write(folder.join("empty.bin"), "").expect("a file");
    for command in READERS {
        for file in ["text.bin", "empty.bin", "."] {
            let outcome = witness(&folder, &[command, file]).status(2);
            assert!(outcome.stderr.contains(file), "{command} {file}: {}", outcome.stderr);
            assert_eq!(
                outcome.stderr.contains(" is a folder"),
                file == ".",
                "{}",
                outcome.stderr
            );
        }
    }
}

#[test]
fn bad_usage_ends_in_status_2() {
    let folder = folder("usage");
    for arguments in [
        &["analyse", "trace.bin"][..],
        &["analyze"],
        &["analyze", "trace.bin", "--instances", "0"],
        &["analyze", "trace.bin", "--instances", "some"],
        &["analyze", "trace.bin", "--budget", "-1"],
        &["dump", "trace.bin", "--thread", "main"],
        &["info", "trace.bin", "--colour", "never"],
        &[],
    ] {
        let outcome = witness(&folder, arguments).status(2);
        assert!(
            outcome.stderr.contains("Usage") || outcome.stderr.contains("--help"),
            "{arguments:?}: {}",
            outcome.stderr
        );
    }
}

#[test]
fn help_lists_the_exit_statuses() {
    let help = witness(&folder("help"), &["--help"]).status(0).stdout;
    for status in ["  0  ", "  1  ", "  2  ", "  3  ", "  66 ", "  70 "] {
        assert!(help.contains(status), "{status:?} is missing:\n{help}");
    }
}

#[test]
fn a_schedule_of_another_trace_is_rejected() {
    let folder = folder("foreign");
    hidden_race(&folder.join("race.bin"));
    quiet(&folder.join("quiet.bin"));
    witness(&folder, &["analyze", "race.bin"]).status(66);
    let schedule = "race.bin.witnesses/1.sched";
    let own = witness(&folder, &["check", "race.bin", schedule]).status(0);
    assert!(own.stdout.contains("1.sched: accepted: "), "{}", own.stdout);
    let foreign = witness(&folder, &["check", "quiet.bin", schedule]).status(1);
    assert!(
        foreign.stdout.contains("rejected: the schedule belongs to trace "),
        "{}",
        foreign.stdout
    );
}

#[test]
fn a_malformed_schedule_is_named_with_its_line() {
    let folder = folder("malformed");
    hidden_race(&folder.join("race.bin"));
    fs::write(folder.join("bad.sched"), "witness-schedule 1\nnonsense\n").expect("a file");
    let outcome = witness(&folder, &["check", "race.bin", "bad.sched"]).status(2);
    let expected = "witness: bad.sched: line 2: expected `trace ID`, found `nonsense`\n";
    assert_eq!(outcome.stderr, expected);
}

#[test]
fn an_infeasible_schedule_is_rejected_with_the_reason() {
    let folder = folder("infeasible");
    hidden_race(&folder.join("race.bin"));
    witness(&folder, &["analyze", "race.bin"]).status(66);
    let text = fs::read_to_string(folder.join("race.bin.witnesses/1.sched")).expect("a schedule");
    let first = text
        .lines()
        .position(|line| line.starts_with('t') && !line.starts_with("trace"))
        .expect("a slice");
    let moved: Vec<&str> = text
        .lines()
        .enumerate()
        .filter(|&(number, _)| number != first)
        .map(|(_, line)| line)
        .collect();
    fs::write(folder.join("bad.sched"), moved.join("\n")).expect("a file");
    let outcome = witness(&folder, &["check", "race.bin", "bad.sched"]).status(1);
    assert!(
        outcome.stdout.contains("rejected: slice 1: event "),
        "{}",
        outcome.stdout
    );
    assert!(
        outcome.stdout.contains("is not created before event"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn a_trace_that_is_no_execution_is_not_accepted() {
    let folder = folder("no_execution");
    overlapping_locks(&folder.join("trace.bin"));
    let outcome = witness(&folder, &["check", "trace.bin"]).status(1);
    let expected = "trace.bin: not a sequentially consistent execution: event 6 of thread 2 is not enabled: lock 0 is \
                    held by thread 1\n";
    assert_eq!(outcome.stdout, expected);
}

#[test]
fn a_cut_trace_says_so() {
    let folder = folder("cut");
    hidden_race(&folder.join("race.bin"));
    let whole = fs::read(folder.join("race.bin")).expect("the trace");
    fs::write(folder.join("cut.bin"), &whole[..whole.len() - 10]).expect("a file");
    let outcome = witness(&folder, &["analyze", "cut.bin"]).status(66);
    assert!(outcome.stderr.contains("cut.bin is cut"), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("analyzed up to event"), "{}", outcome.stdout);
    let json = witness(&folder, &["analyze", "cut.bin", "--json"]).status(66).stdout;
    assert!(json.contains("\"ending\": \"cut\""), "{json}");
}

#[test]
fn a_closed_pipe_is_a_normal_end() {
    let folder = folder("pipe");
    hidden_race(&folder.join("race.bin"));
    let script = format!("'{}' dump race.bin | head -n 1", env!("CARGO_BIN_EXE_witness"));
    let mut shell = std::process::Command::new("bash");
    let outcome = crate::command::run(shell.args(["-o", "pipefail", "-c", &script]).current_dir(&folder));
    assert_eq!((outcome.status(0).stderr).as_str(), "");
}
