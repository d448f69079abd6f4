//! What a live run says when the program does what it did, and when it does not.

use crate::command::{run, witness};
use crate::program::{Program, field};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

/// What a library waits for comes in a live run when it came in the recorded one, whatever the client does now.
#[test]
fn events_come_as_recorded() {
    let server = Program::of("events", "events.c");
    let mut gcc = Command::new("gcc");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/programs/events_part.c");
    gcc.args(["-fPIC", "-shared", source, "-o", "events.so"]);
    run(&server.folder, &mut gcc).unwrap().expect(&[0]).unwrap();
    server.record(&["--with", "./program patient"], &[]);
    let analysis = run(&server.folder, witness().args(["analyze", "trace.bin"])).unwrap();
    analysis.expect(&[66]).unwrap();
    for client in ["patient", "hasty"] {
        let live = server.live(&["--attempts", "1", "--with", &format!("./program {client}")]);
        live.expect(&[66]).unwrap();
    }
}

/// What a library makes of clocks and random numbers for its callers is what it was in the recorded run.
#[test]
fn seeds_of_libraries_are_the_recorded_ones() {
    let program = Program::of("seeds", "seeds.c");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/programs/seeds_part.c");
    let mut gcc = Command::new("gcc");
    gcc.args(["-fPIC", "-shared", source, "-o", "seeds.so"]);
    run(&program.folder, &mut gcc).unwrap().expect(&[0]).unwrap();
    program.record(&[], &[]);
    let analysis = run(&program.folder, witness().args(["analyze", "trace.bin"])).unwrap();
    analysis.expect(&[66]).unwrap();
    program.live(&["--attempts", "1"]).expect(&[66]).unwrap();
}

/// Who came to a barrier last does so again, wherever its schedule has that: another one would go on otherwise.
#[test]
fn the_same_thread_is_told_that_it_came_last() {
    let program = Program::of("serial", "serial.c");
    for seed in ["1", "2", "3", "4"] {
        program.record(&["--policy", "random", "--seed", seed], &[]);
        let analysis = run(&program.folder, witness().args(["analyze", "trace.bin"])).unwrap();
        analysis.expect(&[66]).unwrap();
        program.live(&["--attempts", "1"]).expect(&[66]).unwrap();
    }
}

/// Descriptors that come with a message have the numbers that they had in the recorded run.
#[test]
fn received_descriptors_keep_their_numbers() {
    let program = Program::of("received_descriptor", "received_descriptor.c");
    program.record(&["--policy", "fifo"], &[]);
    let analysis = run(&program.folder, witness().args(["analyze", "trace.bin"])).unwrap();
    analysis.expect(&[66]).unwrap();
    program.live(&["--attempts", "1"]).expect(&[66]).unwrap();
}

fn variants(name: &str) -> Program {
    let program = Program::of(name, "variants.c");
    program.record(&[], &["same"]);
    program
}

/// What a run uses up is put back before each run, and what a server waits for comes from beside it.
#[test]
fn commands_run_before_and_beside_each_run() {
    let server = Program::of("companions", "server.c");
    server.record(&["--setup", "touch todo", "--with", "./program client"], &[]);
    let analysis = run(&server.folder, witness().args(["analyze", "trace.bin"])).unwrap();
    analysis.expect(&[66]).unwrap();

    let alone = server.live(&["--patience", "2"]);
    assert!(alone.status != 66, "the file is gone: {}", alone.stdout);
    let with = ["--with", "./program client"];
    let lacks_file = server.live(&[&["--patience", "2"][..], &with].concat());
    assert!(lacks_file.status != 66, "{}", lacks_file.stdout);
    let both = server.live(&[&["--setup", "touch todo"][..], &with].concat());
    both.expect(&[66]).unwrap();
    let failing = server.live(&["--setup", "exit 9"]).expect(&[2]).unwrap();
    assert!(failing.stderr.contains("exit 9"), "{}", failing.stderr);

    let not_recorded = run(
        &server.folder,
        witness().args(["record", "--setup", "exit 9", "-o", "none.bin", "--", "./program"]),
    );
    not_recorded.unwrap().expect(&[2]).unwrap();
    let left = fs::read_dir(&server.folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with("none")).collect();
    assert!(left.is_empty(), "{left:?}");

    let mut whole = witness();
    whole.args([
        "run",
        "--runs",
        "2",
        "--setup",
        "touch todo && echo >> runs",
        "-o",
        "run.bin",
    ]);
    let whole = run(&server.folder, whole.args(with).args(["--", "./program"])).unwrap();
    let whole = whole.expect(&[66]).unwrap();
    assert!(whole.stdout.contains("1 confirmed live"), "{}", whole.stdout);
    let runs = fs::read_to_string(server.folder.join("runs")).unwrap();
    assert!(runs.lines().count() >= 2, "one is recorded, another live");
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

/// What another process on the same machine says and takes comes from outside, also to a program that has bound a port.
#[test]
fn a_server_is_told_again_what_it_was_told_by_another() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        client.write_all(b"A").unwrap();
        client.read_to_end(&mut Vec::new()).unwrap();
        // Of the live run, nobody takes anything.
        listener.incoming().for_each(drop);
    });
    let program = Program::of("proxy", "proxy.c");
    program.record(&[], &[&port]);
    let outcome = program.live(&[]);
    assert_eq!(outcome.status, 66, "{}", outcome.stdout);
}

#[test]
fn the_result_of_a_function_that_has_none_is_always_the_same() {
    let program = Program::of("no-result", "no_result.c");
    for policy in [&[][..], &["--policy=random", "--seed=1"]] {
        program.record(policy, &[]);
        for _ in 0..3 {
            let outcome = program.live(&[]);
            assert_eq!(outcome.status, 66, "{policy:?}: {}", outcome.stdout);
        }
    }
}

/// Neither those who fill such structures nor those who read them touch what lies between the fields.
#[test]
fn what_lies_between_the_fields_of_the_systems_structures_is_nobodys() {
    let program = Program::of("dates", "dates.c");
    program.record(&[], &["0"]);
    for options in [&[][..], &["--as-recorded"]] {
        let other = program.live_with(options, &["5"]);
        let expected = if options.is_empty() { 66 } else { 0 };
        assert_eq!(other.status, expected, "{}", other.stdout);
        assert!(!other.stdout.contains("no recorded code had set"), "{}", other.stdout);
    }
}

#[test]
fn padding_that_was_never_set_may_have_other_values() {
    let program = Program::of("padding", "padding.c");
    program.record(&[], &["0"]);
    let same = program.live(&[]);
    assert_eq!(same.status, 66, "{}", same.stdout);
    assert!(!same.stdout.contains("no recorded code had set"), "{}", same.stdout);
    let read = program.line("read");
    // The padding, and its copies.
    let noted = |report: &str| {
        let (_, first) = report.split_once("which no recorded code had set:\n").unwrap();
        first.lines().next().unwrap().contains(&read)
    };
    let other = program.live_with(&[], &["5"]);
    assert_eq!(other.status, 66, "{}", other.stdout);
    assert!(noted(&other.stdout), "{}", other.stdout);
    let again = program.live_with(&["--as-recorded"], &["5"]);
    assert_eq!(again.status, 0, "{}", again.stdout);
    assert!(noted(&again.stdout), "{}", again.stdout);
    // What a thread does otherwise because of it is a divergence.
    let decisive = program.live_with(&[], &["9"]);
    assert_eq!(decisive.status, 4, "{}", decisive.stdout);
    assert!(
        field(&decisive.stdout, "actual:").contains(&program.line("extra")),
        "{}",
        decisive.stdout
    );
    assert!(noted(&decisive.stdout), "{}", decisive.stdout);
}

#[test]
fn what_a_thread_leaves_on_its_own_stack_unset_may_have_other_values() {
    let program = Program::of("copied", "copied.c");
    program.record(&[], &["7"]);
    let same = program.live(&[]);
    assert_eq!(same.status, 66, "{}", same.stdout);
    let other = program.live_with(&[], &["5"]);
    assert_eq!(other.status, 66, "{}", other.stdout);
    let (_, first) = other.stdout.split_once("which no recorded code had set:\n").unwrap();
    assert!(first.contains(&program.line("read")), "{}", other.stdout);
}

#[test]
fn copies_of_what_unrecorded_code_left_may_have_other_values() {
    // Left in the recorded run, as the trace shows; and in the live run alone, where the trace has a write of 0.
    for (name, recorded, live) in [
        ("padding-left", &["7"][..], &["5"][..]),
        ("padding-left-in-the-live-run", &["0", "clear"], &["5", "clear"]),
    ] {
        let program = Program::of(name, "padding.c");
        program.record(&[], recorded);
        let other = program.live_with(&[], live);
        assert_eq!(other.status, 66, "{name}: {}", other.stdout);
        assert!(
            other.stdout.contains("which no recorded code had set"),
            "{name}: {}",
            other.stdout
        );
        let again = program.live_with(&["--as-recorded"], live);
        assert_eq!(again.status, 0, "{name}: {}", again.stdout);
    }
    // What a thread does otherwise because of it is a divergence here, too.
    let program = Program::of("padding-left-decides", "padding.c");
    program.record(&[], &["0", "clear"]);
    let decisive = program.live_with(&[], &["9", "clear"]);
    assert_eq!(decisive.status, 4, "{}", decisive.stdout);
    let actual = field(&decisive.stdout, "actual:");
    assert!(actual.contains(&program.line("extra")), "{}", decisive.stdout);
}

#[test]
fn signals_from_outside_come_again() {
    for how in ["call", "run", "wait", "sigwait"] {
        let program = Program::of(&format!("from-outside-{how}"), "from_outside.c");
        program.record(&["--with", "sleep 0.3; kill -TERM $WITNESS_PROCESS"], &[how]);
        for _ in 0..3 {
            let outcome = program.live(&["--patience=3"]);
            assert_eq!(outcome.status, 66, "{how}: {}", outcome.stdout);
        }
        // Nobody else has to send them, and one that somebody sends is none.
        let twice = program.live(&[
            "--with",
            "sleep 0.1; kill -TERM $WITNESS_PROCESS; sleep 0.1; kill -TERM $WITNESS_PROCESS",
        ]);
        assert_eq!(twice.status, 66, "{how}: {}", twice.stdout);
        let again = program.live(&["--as-recorded"]);
        assert_eq!(again.status, 0, "{how}: {}", again.stdout);
    }
}

/// Whoever sends a signal as well does not use up a handler that runs once, nor end the program by it.
#[test]
fn a_handler_that_runs_once_is_not_used_up_by_others() {
    const READY: &str = "until [ -e ready ]; do sleep 0.002; done";
    let program = Program::of("runs-once", "runs_once.c");
    let once = format!("{READY}; sleep 0.2; kill -TERM $WITNESS_PROCESS");
    program.record(&["--setup", "rm -f ready", "--with", &once], &[]);
    program.witness(&["analyze", "trace.bin"]).expect(&[66]).unwrap();
    let often = format!("{READY}; for n in $(seq 200); do kill -TERM $WITNESS_PROCESS; done");
    let live = program.live(&["--attempts", "1", "--setup", "rm -f ready", "--with", &often]);
    assert_eq!(live.status, 66, "{}", live.stdout);
    let again = program.live(&["--as-recorded", "--setup", "rm -f ready", "--with", &often]);
    assert_eq!(again.status, 0, "{}", again.stdout);
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

/// That a mapping or a stack goes away is an access of all of it.
#[test]
fn memory_that_goes_away_beside_its_use_is_shown() {
    let program = Program::of("given_back", "given_back.c");
    program.record(&["--policy", "fifo"], &[]);
    let outcome = program.live(&[]).expect(&[66]).unwrap();
    let confirmed = outcome.stdout.matches("CONFIRMED: ").count();
    assert_eq!(confirmed, 3, "{}", outcome.stdout);
    let places = ["mapping", "munmap", "stack", "moving", "mremap"].map(|mark| program.line(mark));
    for place in places {
        assert!(outcome.stdout.contains(&place), "{place}\n{}", outcome.stdout);
    }
}

#[test]
fn a_program_that_does_something_else_diverges_there() {
    let program = variants("diverged");
    // Argument, where the event that was due is, where the one that came is, what is said of it.
    for (argument, expected, actual, said) in [
        ("object", "object", "object", "other_lock"),
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
    // It returned, which frees nothing: the first thing that the recorder sees of that is the thread's end.
    assert!(field(&outcome.stdout, "actual:").starts_with("thread 0 (main) ends"));
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
fn addresses_are_compared_as_what_they_point_to() {
    let program = Program::of("addresses", "addresses.c");
    for policy in [
        &[][..],
        &["--policy=random", "--seed=1"],
        &["--policy=random", "--seed=2"],
    ] {
        program.record(policy, &[]);
        for options in [&[][..], &["--aslr"]] {
            let outcome = program.live(options);
            assert_eq!(outcome.status, 66, "{policy:?} {options:?}: {}", outcome.stdout);
        }
    }
}

/// Runs `witness replay --live -- OTHER`, which says that it does not run another build.
fn refuses(program: &Program, other: &Path, says: &str) {
    let mut command = witness();
    command.args(["replay", "trace.bin", "--live", "--"]).arg(other);
    let outcome = run(&program.folder, &mut command).unwrap();
    assert_eq!(outcome.status, 2, "{}{}", outcome.stdout, outcome.stderr);
    assert!(
        outcome.stdout.is_empty() && outcome.stderr.contains(says),
        "{}{}",
        outcome.stdout,
        outcome.stderr
    );
    for word in [
        "not the build that was recorded",
        "Record it again",
        &*other.to_string_lossy(),
    ] {
        assert!(outcome.stderr.contains(word), "{word}: {}", outcome.stderr);
    }
}

#[test]
fn another_build_is_not_run() {
    let program = variants("rebuilt");
    let other = program.folder.join("other");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/programs/variants.c");
    for (flags, says) in [
        (&["-O1"][..], "build id is "),
        (&["-Wl,--build-id=none"], "build id is none"),
    ] {
        let mut gcc = Command::new("gcc");
        gcc.args(["-g", "-fsanitize=thread", "-pthread"]).args(flags);
        gcc.arg(source).arg("-o").arg(&other);
        run(&program.folder, &mut gcc).unwrap().expect(&[0]).unwrap();
        refuses(&program, &other, says);
    }
    // A copy is the same build.
    fs::copy(program.file(), &other).unwrap();
    assert_eq!(live_of_other(&program, &other).status, 66);
}

fn live_of_other(program: &Program, other: &Path) -> crate::command::Outcome {
    let mut command = witness();
    command.args(["replay", "trace.bin", "--live", "--"]).arg(other);
    run(&program.folder, &mut command).unwrap()
}

#[test]
fn another_build_of_a_library_is_named() {
    let library = |folder: &Path, flags: &[&str]| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/programs/plugin.c");
        let mut gcc = Command::new("gcc");
        gcc.args(["-g", "-fsanitize=thread", "-fPIC", "-shared"]).args(flags);
        gcc.args([source, "-o", "plugin.so"]);
        run(folder, &mut gcc).unwrap().expect(&[0]).unwrap();
    };
    let program = Program::of("library", "plugin_host.c");
    library(&program.folder, &[]);
    // Where the library is found.
    let mut record = witness();
    record.args(["record", "-o", "trace.bin", "--"]).arg(program.file());
    run(&program.folder, &mut record).unwrap().expect(&[0]).unwrap();
    assert_eq!(program.live(&[]).status, 66);

    library(&program.folder, &["-O2", "-falign-functions=4096"]);
    let rebuilt = program.live(&[]);
    assert_eq!(rebuilt.status, 4, "{}", rebuilt.stdout);
    let said = "  ./plugin.so is not the build that was recorded: put that back, or record again.";
    assert!(rebuilt.stdout.lines().any(|line| line == said), "{}", rebuilt.stdout);

    fs::remove_file(program.folder.join("plugin.so")).unwrap();
    let missing = program.live(&[]);
    assert_ne!(missing.status, 66, "{}", missing.stdout);
    let said = "  ./plugin.so is not there any more: put that back, or record again.";
    assert!(missing.stdout.lines().any(|line| line == said), "{}", missing.stdout);
}

#[test]
fn a_program_that_is_not_where_it_was_is_named_with_the_place() {
    let program = Program::of("moved", "variants.c");
    let folder = program.folder.join("there");
    fs::create_dir_all(&folder).unwrap();
    fs::copy(program.file(), folder.join("moved_program")).unwrap();
    let record = |name: &str| {
        let mut command = witness();
        command.args(["record", "-o", "../trace.bin", "--", name, "same"]);
        command.env("PATH", format!("{}:/usr/bin:/bin", folder.display()));
        run(&folder, &mut command).unwrap().expect(&[0]).unwrap();
        let _ = fs::remove_dir_all(program.folder.join("trace.bin.witnesses"));
    };
    // By its name, it is looked for where the recorded run found it.
    for name in ["./moved_program", "moved_program"] {
        record(name);
        assert_eq!(program.live(&[]).status, 66, "{name}");
        let away = program.folder.join("away");
        fs::rename(folder.join("moved_program"), &away).unwrap();
        let missing = program.live(&[]);
        assert_eq!(missing.status, 2, "{}", missing.stdout);
        let place = if name.starts_with('.') {
            "there"
        } else {
            "the recorded PATH"
        };
        let said = format!("{place}: if it has moved, name it after `--`");
        assert!(
            missing.stderr.contains(&format!("{name}: not found in ")) && missing.stderr.contains(&said),
            "{}",
            missing.stderr
        );
        fs::rename(&away, folder.join("moved_program")).unwrap();
    }
    record("./moved_program");
    fs::rename(&folder, program.folder.join("elsewhere")).unwrap();
    let missing = program.live(&[]);
    assert!(
        missing.stderr.contains("there, which does not exist"),
        "{}",
        missing.stderr
    );
    let outcome = program.live_with(&[], &["same"]);
    assert_eq!(outcome.status, 66, "{}{}", outcome.stdout, outcome.stderr);
}

#[test]
fn a_file_as_input_is_read_by_each_run() {
    let program = Program::of("input", "input.c");
    let input = program.folder.join("numbers");
    fs::write(&input, "21\n").unwrap();
    let from_file = |arguments: &[&str]| {
        let mut command = witness();
        command.args(arguments).current_dir(&program.folder);
        command.stdin(fs::File::open(&input).unwrap());
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (status, stdout, stderr) = from_file(&["run", "-o", "run.bin", "--", "./program"]);
    assert_eq!(status, Some(66), "{stdout}{stderr}");
    assert!(
        !stdout.contains("diverged") && stdout.contains(" 0 witnessed only"),
        "{stdout}"
    );
    assert!(
        stdout.matches("confirmed live").count() > 2,
        "several witnesses: {stdout}"
    );
    let (status, stdout, _) = from_file(&["replay", "run.bin", "--live", "--first", "a"]);
    assert_eq!(status, Some(66), "{stdout}");
    assert!(stdout.contains("total 42") || stdout.contains("total 21"), "{stdout}");
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
fn what_is_said_to_a_debugger_lets_the_program_go_on() {
    if Command::new("gdb").arg("--version").output().is_err() {
        println!("there is no gdb");
        return;
    }
    let program = variants("gdb");
    let mut parked = Parked::new(&program);
    let set = field(&parked.report, "to continue with a first:")
        .split(", then ")
        .next()
        .unwrap();
    assert!(set.ends_with("=1"), "{set}");
    let mut gdb = Command::new("gdb");
    gdb.args([
        "-q",
        "-batch",
        "-nx",
        "-p",
        parked.process(),
        "-ex",
        &set.replace("=1", "=2"),
        "-ex",
        "detach",
    ]);
    let gdb = gdb.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&gdb.stderr).into_owned();
    if said.contains("ptrace") {
        kill("-9", parked.process());
        println!("gdb may not attach here: {said}");
        return;
    }
    let mut rest = String::new();
    parked.stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(parked.witness.wait().unwrap().code(), Some(66));
    assert!(
        rest.contains("seen 0") && rest.contains("ended with exit status: 0"),
        "{rest}{said}"
    );
}

#[test]
fn of_an_unordered_race_only_one_access_is_left_to_go() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/relaxed_flag.c");
    let program = Program::compile("unordered", &source, &[]);
    program.record(&[], &[]);
    for first in ["a", "b"] {
        let outcome = program.live(&["--first", first]);
        assert_eq!(outcome.status, 66, "{}", outcome.stdout);
        let said = "went on with b (a was already done): the program ended with exit status: 0";
        assert!(outcome.stdout.contains(said), "{}", outcome.stdout);
    }
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
    // A report of another kind is not mixed with text.
    let json = run(
        &program.folder,
        witness().args(["run", "--report", "json", "--"]).arg(program.file()),
    )
    .unwrap();
    assert_eq!(json.status, 66);
    assert!(
        json.stdout.trim_end().ends_with('}') && json.stderr.contains("SUMMARY: witness: 1 confirmed live"),
        "{}{}",
        json.stdout,
        json.stderr
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

#[test]
fn what_is_printed_to_a_file_in_the_recorded_run_may_go_elsewhere_in_a_live_one() {
    let program = Program::of("prints-to-a-file", "logs.c");
    // Its standard error is a file then, and nothing in live runs.
    program.record(&[], &[]);
    let live = program.live(&[]);
    assert!(live.stdout.contains("CONFIRMED: "), "{}", live.stdout);
    assert_eq!(live.status, 66, "{}", live.stdout);
}

/// A call that fails only in the live run leaves `errno` as it was, as the one that succeeded did.
#[test]
fn what_did_not_fail_leaves_no_error() {
    let program = Program::of("errors", "errors.c");
    program.record(&["--policy", "fifo", "--setup", "touch target"], &[]);
    let analysis = program.witness(&["analyze", "trace.bin"]);
    analysis.expect(&[66]).unwrap();
    // What is no file cannot be flushed.
    let live = program.live(&["--attempts", "1", "--setup", "rm -f target; mkfifo target"]);
    live.expect(&[66]).unwrap();
}
