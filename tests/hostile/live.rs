//! Traces that name what is run.

use crate::command::{Outcome, run};
use crate::place::Place;
use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

/// `replay --live` as somebody who has not recorded the trace.
fn stranger(place: &Place, more: &[&str]) -> Outcome {
    let mut command = place.command(&[&["replay", "trace.bin", "--live"], more].concat());
    run(command.env("XDG_STATE_HOME", place.path("of-somebody-else")))
}

/// A program that leaves a mark wherever it runs.
fn marked(place: &Place, flags: &[&str]) {
    let program = "#include <fcntl.h>\n#include <pthread.h>\nint shared;\n\
        static void *work(void *unused) {\n    shared = 1;\n    return unused;\n}\n\
        int main(void) {\n    pthread_t other;\n    creat(\"ran\", 0600);\n    pthread_create(&other, 0, work, 0);\n\
        \x20   shared = 2;\n    return pthread_join(other, 0);\n}\n";
    fs::write(place.path("marked.c"), program).expect("a source");
    place.gcc(&[&["-fsanitize=thread", "marked.c", "-o", "marked"], flags].concat());
    place
        .witness(&["record", "-o", "trace.bin", "--", "./marked", "an \u{1b}[2J argument"])
        .status(0);
    fs::remove_file(place.path("ran")).expect("it ran");
}

#[test]
fn a_program_that_a_trace_from_elsewhere_names_is_not_run_unasked() {
    let place = Place::new("live");
    marked(&place, &[]);
    for more in [&[][..], &["--as-recorded"], &["--", "./marked"]] {
        let outcome = stranger(&place, more).status(2);
        assert!(!place.path("ran").exists(), "{outcome:?}");
        let directory = if more.contains(&"--") { "command" } else { "directory" };
        for part in ["--yes", "./marked", directory, "PATH="] {
            assert!(outcome.stderr.contains(part), "{part}: {outcome:?}");
        }
        assert!(!outcome.stderr.contains('\u{1b}'), "{outcome:?}");
    }
    stranger(&place, &["--yes"]).status(66);
    assert!(place.path("ran").exists());
    // Whoever has recorded it is not asked, also if it lies elsewhere now.
    fs::rename(place.path("trace.bin"), place.path("moved.bin")).expect("it can be moved");
    place.witness(&["replay", "moved.bin", "--live"]).status(66);
    // Once it is changed, it is no longer theirs.
    let mut bytes = fs::read(place.path("moved.bin")).expect("the trace");
    let last = bytes.len() - 100;
    bytes.truncate(last);
    fs::write(place.path("trace.bin"), bytes).expect("a trace");
    let outcome = place.witness(&["replay", "trace.bin", "--live"]).status(2);
    assert!(outcome.stderr.contains("--yes"), "{outcome:?}");
}

#[test]
fn what_a_trace_from_elsewhere_preloads_is_not_loaded() {
    let place = Place::new("live-preload");
    let library =
        "#include <fcntl.h>\n__attribute__((constructor)) static void loaded(void) { creat(\"loaded\", 0600); }\n";
    fs::write(place.path("evil.c"), library).expect("a source");
    place.gcc(&["-shared", "-fPIC", "evil.c", "-o", "evil.so"]);
    place.compile(&[]);
    let mut record = place.command(&["record", "-o", "trace.bin", "--", "./racy"]);
    // Its list is separated by spaces, which a whole path may have.
    run(record.env("LD_PRELOAD", "./evil.so")).status(0);
    fs::remove_file(place.path("loaded")).expect("it was loaded");
    let outcome = stranger(&place, &["--yes"]);
    assert!(!place.path("loaded").exists(), "{outcome:?}");
}

#[test]
fn a_missing_build_id_matches_no_program() {
    let place = Place::new("live-build-id");
    marked(&place, &["-Wl,--build-id=none"]);
    let outcome = stranger(&place, &["--yes"]).status(2);
    assert!(outcome.stderr.contains("of which build"), "{outcome:?}");
    assert!(!place.path("ran").exists());
    place.witness(&["replay", "trace.bin", "--live"]).status(66);
}

/// `replay --live` as somebody who has not recorded the trace, at a terminal, who types this.
fn at_terminal(place: &Place, typed: &str) -> (i32, String) {
    let witness = place.command(&[]);
    let mut script = Command::new("script");
    let command = format!("'{}' replay trace.bin --live", witness.get_program().display());
    // It gives the command a terminal, passes on what it reads, and ends it as its input ends.
    script.args(["-qec", &command, "/dev/null"]);
    for (name, value) in witness.get_envs() {
        match value {
            Some(value) => script.env(name, value),
            None => script.env_remove(name),
        };
    }
    let mut running = script
        .env("XDG_STATE_HOME", place.path("of-somebody-else"))
        .current_dir(place.path("."))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("script (of util-linux) is needed");
    let mut output = running.stdout.take().expect("a pipe");
    let mut said = Vec::new();
    let mut byte = [0];
    // What is typed before the question is an answer to it, too; but this is as it would be.
    while !String::from_utf8_lossy(&said).contains("[y/N] ") && output.read(&mut byte).expect("its output") == 1 {
        said.push(byte[0]);
    }
    let mut input = running.stdin.take().expect("a pipe");
    input.write_all(typed.as_bytes()).expect("it reads");
    drop(input);
    output.read_to_end(&mut said).expect("its output");
    let status = running.wait().expect("it ends").code().expect("a status");
    (status, String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn at_a_terminal_it_asks_and_only_yes_is_yes() {
    let place = Place::new("live-terminal");
    marked(&place, &[]);
    for answer in ["n\n", "\n", "no\n", "yess\n", "", "\u{4}"] {
        let (status, said) = at_terminal(&place, answer);
        assert_eq!(status, 2, "{answer:?}: {said}");
        for part in ["run it? [y/N]", "./marked", "it was not run"] {
            assert!(said.contains(part), "{answer:?}: {said}");
        }
        assert!(!said.contains("\u{1b}[2J"), "{said}");
        assert!(!place.path("ran").exists(), "{answer:?}: {said}");
    }
    for answer in ["y\n", "yes\n"] {
        let (status, said) = at_terminal(&place, answer);
        assert_eq!(status, 66, "{answer:?}: {said}");
        assert!(place.path("ran").exists(), "{said}");
        fs::remove_file(place.path("ran")).expect("it ran");
    }
}

#[test]
fn where_nothing_can_be_known_to_be_the_user_s_the_messages_say_so() {
    let place = Place::new("live-homeless");
    marked(&place, &[]);
    let homeless = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        run(command.env_remove("HOME").env_remove("XDG_STATE_HOME"))
    };
    let refused = homeless(&["replay", "trace.bin", "--live"]).status(2);
    homeless(&["plan", "trace.bin"]).status(0);
    homeless(&["analyze", "trace.bin", "--shard", "1/1"]).status(0);
    let unmerged = homeless(&["merge", "trace.bin"]).status(2);
    for (outcome, remedy) in [(refused, "--yes"), (unmerged, "--trust")] {
        for part in ["XDG_STATE_HOME", remedy] {
            assert!(outcome.stderr.contains(part), "{part}: {outcome:?}");
        }
    }
    assert!(!place.path("ran").exists());
    homeless(&["merge", "trace.bin", "--trust"]).status(66);
    homeless(&["replay", "trace.bin", "--live", "--yes"]).status(66);
}
