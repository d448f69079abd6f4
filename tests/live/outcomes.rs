//! What a live run says when the program does what it did, and when it does not.

use crate::command::{run, witness};
use crate::program::{Program, field};
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

fn variants(name: &str) -> Program {
    let program = Program::of(name, "variants.c");
    program.record(&[], &["same"]);
    program
}

#[test]
fn a_race_is_confirmed_every_time() {
    let program = variants("confirmed");
    for options in [&[][..], &["--aslr"]] {
        for _ in 0..20 {
            let outcome = program.live(options);
            assert_eq!(outcome.status, 66, "{}", outcome.stdout);
            assert!(
                outcome.stdout.starts_with("CONFIRMED: witness 1: "),
                "{}",
                outcome.stdout
            );
            for mark in ["write", "read"] {
                assert!(outcome.stdout.contains(&program.line(mark)), "{}", outcome.stdout);
            }
        }
    }
}

#[test]
fn what_came_from_outside_comes_again() {
    let program = Program::of("outside", "outside.c");
    program.record(&[], &[]);
    for _ in 0..5 {
        let outcome = program.live(&[]);
        assert_eq!(outcome.status, 66, "{}", outcome.stdout);
    }
}

#[test]
fn the_access_that_is_chosen_goes_first() {
    let program = variants("first");
    for (first, seen) in [("a", "seen 1"), ("b", "seen 0")] {
        let outcome = program.live(&["--first", first]);
        assert_eq!(outcome.status, 66);
        assert!(outcome.stdout.contains(seen), "{first}: {}", outcome.stdout);
        assert!(outcome.stdout.contains("exit status: 0"), "{}", outcome.stdout);
    }
}

#[test]
fn a_program_that_does_something_else_diverges_there() {
    let program = variants("diverged");
    // Argument, where the event that was due is, where the one that came is, what is said of it.
    for (argument, expected, actual, said) in [
        ("object", "object", "object", "mutex other_lock"),
        ("extra", "value", "extra", "writes seen = 7"),
        ("memory", "value", "value", "reads seen = 0"),
        ("value", "first", "change", "reads size = 1"),
        ("dropped", "second", "join", "reads 8 bytes"),
    ] {
        let outcome = program.live_with(&[], &[argument]);
        let report = &outcome.stdout;
        assert_eq!(outcome.status, 4, "{argument}: {report}");
        assert!(
            report.starts_with("DIVERGED: witness 1: ") && !report.contains("CONFIRMED"),
            "{report}"
        );
        assert!(
            field(report, "expected:").contains(&program.line(expected)),
            "{argument}: {report}"
        );
        let field = field(report, "actual:");
        assert!(
            field.contains(&program.line(actual)) && field.contains(said),
            "{argument}: {report}"
        );
    }
    let outcome = program.live_with(&[], &["return"]);
    assert_eq!(outcome.status, 4);
    // It returned: the first thing that the recorder sees of that is the end of its stack.
    assert!(field(&outcome.stdout, "actual:").starts_with("thread 0 (main) frees"));
}

#[test]
fn the_place_of_a_divergence_is_named() {
    let program = variants("place");
    let report = program.live_with(&[], &["extra"]).stdout;
    let dump = run(&program.folder, witness().args(["dump", "trace.bin", "--json"])).unwrap();
    let place = field(&report, "at:");
    let event: usize = place.rsplit(' ').next().unwrap().parse().unwrap();
    let line = dump.stdout.lines().nth(event).unwrap();
    assert!(
        line.contains("\"read\"") && line.contains("\"thread\":2"),
        "{place}: {line}"
    );
    assert!(place.starts_with("slice 2 of 3, thread 2, event "), "{place}");
}

#[test]
fn a_program_that_stops_earlier_does_not_reach_the_race() {
    let program = variants("not_reached");
    let killed = program.live_with(&[], &["killed"]);
    assert_eq!(killed.status, 5, "{}", killed.stdout);
    assert_eq!(field(&killed.stdout, "why:"), "signal 9 killed it");
    assert!(
        field(&killed.stdout, "due:").contains(&program.line("first")),
        "{}",
        killed.stdout
    );
    let hangs = program.live_with(&["--patience", "1"], &["hangs"]);
    assert_eq!(hangs.status, 5, "{}", hangs.stdout);
    assert_eq!(field(&hangs.stdout, "why:"), "nothing happened for 1 s");
}

#[test]
fn another_build_is_named_as_such() {
    let program = variants("rebuilt");
    let other = program.folder.join("other");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/programs/variants.c");
    let mut gcc = Command::new("gcc");
    gcc.args(["-g", "-O1", "-fsanitize=thread", "-pthread", source, "-o"])
        .arg(&other);
    run(&program.folder, &mut gcc).unwrap().expect(&[0]).unwrap();
    let outcome = run(
        &program.folder,
        witness().args(["replay", "trace.bin", "--live", "--"]).arg(&other),
    );
    let outcome = outcome.unwrap();
    assert_eq!(outcome.status, 4, "{}", outcome.stdout);
    assert!(outcome.stdout.contains("build id"), "{}", outcome.stdout);
}

#[test]
fn the_recorded_directory_and_environment_are_those_of_the_live_run() {
    let program = variants("elsewhere");
    let other = program.folder.join("elsewhere");
    fs::create_dir_all(&other).unwrap();
    let outcome = run(
        &other,
        witness()
            .args(["replay", "../trace.bin", "--live"])
            .env("SOMETHING", "else"),
    );
    assert_eq!(outcome.unwrap().status, 66);
}

/// A program that stands at a race, for a debugger.
struct Parked {
    witness: Child,
    stdout: ChildStdout,
    report: String,
}

impl Parked {
    fn new(program: &Program) -> Parked {
        // What these tests inherit ignores signals under nohup, or in the background of a script.
        let mut witness = Command::new("env")
            .arg("--default-signal=HUP,INT,TERM")
            .arg(witness().get_program())
            .args(["replay", "trace.bin", "--live", "--gdb"])
            .current_dir(&program.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = witness.stdout.take().unwrap();
        let mut report = String::new();
        let mut byte = [0];
        while !report.contains("=2\n") && stdout.read(&mut byte).unwrap() == 1 {
            report.push(char::from(byte[0]));
        }
        assert!(report.contains("CONFIRMED"), "{report}");
        Parked {
            witness,
            stdout,
            report,
        }
    }

    fn process(&self) -> &str {
        field(&self.report, "gdb -p").split(' ').next().unwrap()
    }
}

#[test]
fn a_debugger_finds_both_threads_parked() {
    let program = variants("debugger");
    let mut parked = Parked::new(&program);
    let words: Vec<&str> = field(&parked.report, "gdb -p").split([' ', ',', ')']).collect();
    let after = |word: &str| words[words.iter().position(|w| *w == word).unwrap() + 1];
    let process = words[0];
    let lwps: Vec<&str> = (0..words.len())
        .filter(|&at| words[at] == "LWP")
        .map(|at| words[at + 1])
        .collect();
    assert_eq!(lwps.len(), 2, "{}", parked.report);
    assert_eq!(after("LWP"), lwps[0]);
    for lwp in lwps {
        let status = || fs::read_to_string(format!("/proc/{process}/task/{lwp}/status")).unwrap();
        // It wakes up now and then to see whether a debugger wants it to go on.
        assert!(
            (0..1000).any(|_| status().contains("State:\tS")),
            "not asleep: {}",
            status()
        );
    }
    kill("-9", process);
    let mut rest = String::new();
    parked.stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(parked.witness.wait().unwrap().code(), Some(66));
    assert!(rest.contains("the program ended with signal: 9"), "{rest}");
}

#[test]
fn a_parked_program_ends_with_witness() {
    let program = variants("left-behind");
    for signal in ["-TERM", "-INT", "-HUP", "-KILL"] {
        let mut parked = Parked::new(&program);
        let process = Path::new("/proc").join(parked.process());
        assert!(process.exists());
        kill(signal, &parked.witness.id().to_string());
        assert!(!parked.witness.wait().unwrap().success());
        let gone = (0..500).any(|_| {
            thread::sleep(Duration::from_millis(10));
            !process.exists()
        });
        if !gone {
            kill("-9", parked.process());
            panic!("{signal} left the program behind");
        }
    }
}

fn kill(signal: &str, process: &str) {
    assert!(Command::new("kill").args([signal, process]).status().unwrap().success());
}

/// A live run of another process than the first.
fn live_of(program: &Program, trace: &str, options: &[&str]) -> crate::command::Outcome {
    let mut command = witness();
    command.args(["replay", trace, "--live"]).args(options);
    run(&program.folder, &mut command).unwrap()
}

#[test]
fn races_of_forked_children_are_shown() {
    let policies: [&[&str]; 3] = [&[], &["--policy=random", "--seed=3"], &["--policy=pct", "--seed=4"]];
    for (how, trace) in [
        ("child", "trace.1.bin"),
        ("tree", "trace.2.2.bin"),
        ("executed", "trace.1.1.1.bin"),
    ] {
        let program = Program::of(&format!("children-{how}"), "children.c");
        for policy in policies {
            program.record(policy, &[how]);
            for _ in 0..3 {
                let outcome = live_of(&program, trace, &[]);
                assert_eq!(outcome.status, 66, "{how}: {}{}", outcome.stdout, outcome.stderr);
                for mark in ["a", "b"] {
                    assert!(outcome.stdout.contains(&program.line(mark)), "{}", outcome.stdout);
                }
            }
        }
    }
}

#[test]
fn a_child_goes_on_and_its_program_ends() {
    let program = Program::of("children-first", "children.c");
    program.record(&[], &["child"]);
    for first in ["a", "b"] {
        let outcome = live_of(&program, "trace.1.bin", &["--first", first]);
        assert_eq!(outcome.status, 66, "{}{}", outcome.stdout, outcome.stderr);
        assert!(outcome.stdout.contains("exit status: 0"), "{}", outcome.stdout);
    }
}

#[test]
fn a_child_that_does_not_come_is_not_reached() {
    let program = Program::of("children-none", "children.c");
    program.record(&[], &["child"]);
    let file = program.file().to_string_lossy().into_owned();
    let outcome = live_of(&program, "trace.1.bin", &["--", &file, "nothing"]);
    assert_eq!(outcome.status, 5, "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stdout.starts_with("NOT REACHED"), "{}", outcome.stdout);
    let outcome = live_of(&program, "trace.1.bin", &["--", &file, "tree"]);
    assert_eq!(outcome.status, 4, "{}{}", outcome.stdout, outcome.stderr);
}

#[test]
fn usage_errors_name_the_remedy() {
    let program = variants("usage");
    let replay = |arguments: &[&str]| run(&program.folder, witness().arg("replay").args(arguments)).unwrap();
    for arguments in [
        &["trace.bin", "--first", "a"][..],
        &["trace.bin", "--gdb"],
        &["trace.bin", "--live", "--first", "c"],
        &["trace.bin", "--live", "--attempts", "0"],
        &["trace.bin", "--", "./program"],
    ] {
        assert_eq!(replay(arguments).status, 2, "{arguments:?}");
    }
    let missing = replay(&["trace.bin", "--live", "--", "./nothing"]);
    assert_eq!(missing.status, 2);
    assert!(missing.stderr.contains("./nothing: not found"), "{}", missing.stderr);

    fs::write(
        program.folder.join("foreign.std"),
        "T0|fork(T1)|1\nT0|w(V1)|2\nT1|w(V1)|3\n",
    )
    .unwrap();
    let foreign = replay(&["foreign.std", "--live"]);
    assert_eq!(foreign.status, 2, "{}{}", foreign.stdout, foreign.stderr);
    assert!(
        foreign
            .stderr
            .contains("was not recorded from a program; name one after `--`")
    );
}

#[test]
fn run_records_analyses_and_confirms() {
    let program = variants("run");
    let outcome = run(&program.folder, witness().args(["run", "--"]).arg(program.file())).unwrap();
    assert_eq!(outcome.status, 66, "{}", outcome.stdout);
    assert!(outcome.stdout.contains("confirmed live"), "{}", outcome.stdout);
    assert!(
        outcome
            .stdout
            .contains("SUMMARY: witness: 1 confirmed live, 0 witnessed only, 0 unknown")
    );
    let without = run(
        &program.folder,
        witness().args(["run", "--no-live", "--"]).arg(program.file()),
    )
    .unwrap();
    assert_eq!(without.status, 66);
    assert!(
        !without.stdout.contains("Live:") && !without.stdout.contains("confirmed live"),
        "{}",
        without.stdout
    );
}
