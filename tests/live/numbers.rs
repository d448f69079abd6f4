//! Numbers and names that the system gives out are those of the recorded run again, and mean what this run has instead.

use crate::command::{run, witness};
use crate::program::Program;
use std::net::TcpListener;
use std::path::Path;

/// What the program printed in the run that was recorded: its port, and everything else.
fn recorded(program: &Program) -> (u16, String) {
    let mut command = witness();
    command.args(["record", "-o", "trace.bin", "--"]).arg(program.file());
    let outcome = run(&program.folder, &mut command).unwrap().expect(&[0]).unwrap();
    let port = outcome.stdout.lines().find_map(|line| line.strip_prefix("port "));
    (port.unwrap().parse().unwrap(), outcome.stdout)
}

#[test]
fn the_program_sees_the_recorded_ones() {
    let program = Program::of("numbers", "numbers.c");
    let (_, printed) = recorded(&program);
    for options in [&["--first", "a"][..], &["--first", "a", "--aslr"], &["--first", "b"]] {
        let outcome = program.live(options).expect(&[66]).unwrap();
        assert!(outcome.stdout.contains("exit status: 0"), "{}", outcome.stdout);
        let before_race = printed.lines().filter(|line| !line.starts_with("seen"));
        for line in before_race {
            assert!(outcome.stdout.contains(line), "{line}\n{}", outcome.stdout);
        }
    }
}

#[test]
fn a_port_that_is_taken_is_another_one_for_the_system_only() {
    let program = Program::of("taken-port", "numbers.c");
    let (port, printed) = recorded(&program);
    let _taken = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let outcome = program.live(&["--first", "a"]).expect(&[66]).unwrap();
    assert!(outcome.stdout.contains("exit status: 0"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains(printed.lines().next().unwrap()));
}

/// What the recorded run left behind is not taken away for the live one.
#[test]
fn a_name_that_is_taken_is_not_given_again() {
    let program = Program::of("taken-name", "numbers.c");
    program.record(&[], &["keep"]);
    let outcome = program.live(&[]).expect(&[4]).unwrap();
    assert!(
        outcome.stdout.contains("file") || outcome.stdout.contains("folder"),
        "{}",
        outcome.stdout
    );
    program
        .live(&["--setup", "rm -r folder.* file.*"])
        .expect(&[66])
        .unwrap();
}

/// What a program reads of the processor's clock is what it read in the recorded run, where `witness cc` has compiled it.
#[test]
fn moments_of_the_processors_clock_are_the_recorded_ones() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/live/programs/processor_clock.c");
    for level in ["-O0", "-O2"] {
        let program = Program::by_witness(&format!("processor-clock{level}"), &source, &[level.to_owned()]);
        let mut command = witness();
        command.args(["record", "-o", "trace.bin", "--"]).arg(program.file());
        let recorded = run(&program.folder, &mut command).unwrap().expect(&[0]).unwrap();
        assert_eq!(recorded.stdout.lines().count(), 3, "{}", recorded.stdout);
        let outcome = program.live(&["--first", "a"]).expect(&[66]).unwrap();
        for line in recorded.stdout.lines() {
            assert!(outcome.stdout.contains(line), "{line}\n{}", outcome.stdout);
        }
    }
}

/// What streams bring from outside is what they brought in the recorded run, however long it is now.
#[test]
fn what_streams_bring_is_what_they_brought() {
    let program = Program::of("streams", "streams.c");
    let mut command = witness();
    command.args(["record", "-o", "trace.bin", "--"]).arg(program.file());
    let recorded = run(&program.folder, &mut command).unwrap().expect(&[0]).unwrap();
    assert_eq!(recorded.stdout.lines().count(), 2, "{}", recorded.stdout);
    for _ in 0..3 {
        let outcome = program.live(&["--first", "a"]).expect(&[66]).unwrap();
        assert!(
            outcome.stdout.contains(&recorded.stdout),
            "{}\n{}",
            recorded.stdout,
            outcome.stdout
        );
    }
}

/// The system names processes and threads by numbers in paths, too.
#[test]
fn entries_of_processes_are_found_by_the_recorded_numbers() {
    let program = Program::of("entries", "entries_of_processes.c");
    program.record(&[], &[]);
    for options in [&["--first", "a"][..], &["--first", "b"]] {
        let outcome = program.live(options).expect(&[66]).unwrap();
        assert!(outcome.stdout.contains("exit status: 0"), "{}", outcome.stdout);
    }
}

/// Two numbers that are given out at once may each be what the other one was.
#[test]
fn both_ends_of_a_pipe_have_the_recorded_numbers() {
    let program = Program::of("pipe", "pipe_behind_a_file.c");
    program.record(&[], &[]);
    let outcome = program.live(&["--first", "a"]).expect(&[66]).unwrap();
    assert!(outcome.stdout.contains("exit status: 0"), "{}", outcome.stdout);
}

/// A number that the run did not get may be anybody's by now.
#[test]
fn nothing_is_sent_to_strangers() {
    let program = Program::of("stranger", "stranger.c");
    let mut stranger = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let number = stranger.id().to_string();
    program.record(&[], &[&number]);
    stranger.kill().unwrap();
    stranger.wait().unwrap();

    let mut stranger = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let another = stranger.id().to_string();
    let outcome = program.live_with(&["--first", "a"], &[&another]);
    assert!(stranger.try_wait().unwrap().is_none(), "{}", outcome.stdout);
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

/// A run that dies gives its temporary files their own names back, so that the next one finds those of the recorded run
/// free.
#[test]
fn a_crash_leaves_no_recorded_names() {
    let program = Program::of("names-after-a-crash", "names_after_a_crash.c");
    program.record(&["--policy", "fifo"], &[]);
    let analysis = run(&program.folder, witness().args(["analyze", "trace.bin"])).unwrap();
    analysis.expect(&[66]).unwrap();
    for _ in 0..2 {
        let outcome = program
            .live(&["--attempts", "1", "--first", "b"])
            .expect(&[66])
            .unwrap();
        assert!(outcome.stdout.contains("SIGSEGV"), "{}", outcome.stdout);
    }
}
