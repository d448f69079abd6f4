//! What becomes of a run, and what `witness` says of it: exit statuses and words.

use crate::program::Program;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use trace_format::TraceFile;

fn witness(folder: &Path, arguments: &[&str]) -> Command {
    let mut witness = Command::new(env!("CARGO_BIN_EXE_witness"));
    witness.args(arguments).current_dir(folder);
    witness
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// An empty folder for what is recorded.
fn folder_of(program: &Program) -> std::path::PathBuf {
    let folder = program.path.with_file_name("traces");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for traces");
    folder
}

#[test]
fn recordings_that_run_at_once_have_traces_of_their_own() {
    let program = Program::instrumented("ends", "at_once");
    let folder = folder_of(&program);
    let path = program.path.to_str().expect("a path in UTF-8");
    let run = |_| witness(&folder, &["run", "--no-live", "--", path, "return"]).spawn();
    let runs: Vec<_> = (0..8).map(run).collect();
    for running in runs {
        assert_eq!(running.expect("witness runs").wait().expect("it ends").code(), Some(0));
    }
    let names: BTreeSet<String> = fs::read_dir(&folder)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    assert!(names.contains("trace.bin"), "{names:?}");
    // One that ends early gives its name back; nothing but traces and results is left.
    assert!(
        names
            .iter()
            .all(|name| name.ends_with(".bin") || name.ends_with(".witnesses")),
        "{names:?}"
    );
}

/// A limit that is over at once leaves nothing decided, and all that was recorded.
#[test]
fn the_time_limit_of_run_keeps_the_trace() {
    let program = Program::instrumented("ends", "time_limit");
    let (folder, path) = (folder_of(&program), program.path.to_str().unwrap());
    let run = ["run", "--no-live", "--time-limit", "0", "--", path, "races"];
    let output = witness(&folder, &run).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    for words in ["out of time", "SUMMARY: witness: "] {
        assert!(said(&output).contains(words), "{words}: {output:?}");
    }
    assert!(!said(&output).contains("WARNING: witness: data race"), "{output:?}");
    let output = witness(&folder, &["check", "trace.bin"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    // Without a limit, there is something to decide.
    let output = witness(&folder, &["analyze", "trace.bin"]).output().unwrap();
    assert_eq!(output.status.code(), Some(66), "{output:?}");
}

#[test]
fn a_thread_that_spins_is_told_with_what_it_reads() {
    let program = Program::instrumented("hangs", "hangs");
    let folder = folder_of(&program);
    let path = program.path.to_str().expect("a path in UTF-8");
    for (how, reads) in [
        ("plain", Some("plain_flag")),
        ("atomic", Some("atomic")),
        ("yield", Some("atomic")),
        ("guarded", Some("guarded_flag")),
        ("sleep", Some("plain_flag")),
        ("count", None),
        ("robust", None),
    ] {
        let most = if how == "sleep" { "500" } else { "20000" };
        let recorded = witness(&folder, &["record", "--max-events", most, "--", path, how]).output();
        let recorded = said(&recorded.expect("witness runs"));
        let spins = |text: &str| {
            text.lines()
                .any(|line| line.contains(" again and again at ") && line.contains("hangs.c:"))
        };
        let named =
            |text: &str| reads.is_none_or(|name| text.contains(&format!("thread 1 reads {name} again and again")));
        assert!(
            spins(&recorded) == reads.is_some() && named(&recorded),
            "{how}: {recorded}"
        );
        let info = said(&witness(&folder, &["info", "trace.bin"]).output().expect("witness runs"));
        assert!(spins(&info) == reads.is_some() && named(&info), "{how}: {info}");
        let json = witness(&folder, &["analyze", "--json", "trace.bin"])
            .output()
            .expect("witness runs");
        let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
        let standstill = &json["trace"]["standstill"];
        assert_eq!(standstill["spins"][0]["reads"][0].as_str(), reads, "{how}: {json}");
        assert_eq!(
            standstill["waits"][0]["waits_for"], "the end of thread 1",
            "{how}: {json}"
        );
    }
}

#[test]
fn a_trace_that_is_being_written_is_refused_to_others() {
    let program = Program::instrumented("ends", "refused");
    let (mut first, trace) = program.recorder("one", &[], &["slowly"]);
    let mut first = first
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("witness runs");
    crate::wait_until_ready(&mut first);
    let (path, trace) = (program.path.to_str().unwrap(), trace.to_str().unwrap());
    let second = witness(Path::new("."), &["record", "-o", trace, "--", path, "return"])
        .output()
        .unwrap();
    crate::kill("-TERM", &first.id().to_string());
    first.wait().expect("it ends");
    assert_eq!(second.status.code(), Some(2), "{second:?}");
    assert!(
        said(&second).contains("another recording is writing it (process "),
        "{second:?}"
    );
}

#[test]
fn what_is_no_flag_is_not_the_program() {
    let program = Program::instrumented("ends", "mistyped");
    let path = program.path.to_str().unwrap();
    for command in ["record", "run"] {
        let output = witness(&folder_of(&program), &[command, "--polciy", "random", path])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(said(&output).contains("unknown flag --polciy"), "{output:?}");
    }
    // Behind `--` stands the program, whatever it is called.
    let output = witness(&folder_of(&program), &["record", "--", "--polciy"])
        .output()
        .unwrap();
    assert!(said(&output).contains("--polciy: not found"), "{output:?}");
}

#[test]
fn a_run_that_failed_is_no_success() {
    let program = Program::instrumented("ends", "failed");
    let (folder, path) = (folder_of(&program), program.path.to_str().unwrap());
    let run = |how: &str| {
        witness(&folder, &["run", "--no-live", "--", path, how])
            .output()
            .unwrap()
    };
    for (how, words) in [
        ("status", "the program exited with status 3"),
        ("abort", "the program was killed by SIGABRT"),
        ("crash", "the program was killed by SIGSEGV"),
    ] {
        let output = run(how);
        assert_eq!(output.status.code(), Some(68), "{how}: {output:?}");
        assert!(said(&output).contains(words), "{how}: {output:?}");
        let analyzed = witness(&folder, &["analyze", "trace.bin"]).output().unwrap();
        let words = words.replace("the program", "The recorded program");
        assert!(said(&analyzed).contains(&words), "{how}: {analyzed:?}");
    }
    assert_eq!(run("return").status.code(), Some(0));
    let analyzed = witness(&folder, &["analyze", "trace.bin"]).output().unwrap();
    assert!(!said(&analyzed).contains("The recorded program"), "{analyzed:?}");
    let limited = ["run", "--no-live", "--timeout=0.2", "--", path, "slowly"];
    assert_eq!(witness(&folder, &limited).output().unwrap().status.code(), Some(124));
}

#[test]
fn a_program_that_cannot_be_linked_is_no_success() {
    let part = Program::compile("missing_part", "missing", &["-fsanitize=thread", "-shared", "-fPIC"]);
    for (binding, status, words) in [
        (
            "-Wl,-z,lazy",
            68,
            "the dynamic linker ended the process with status 127",
        ),
        (
            "-Wl,-z,now",
            2,
            "the program did not start: the dynamic linker ended it",
        ),
    ] {
        let part = part.path.to_str().unwrap();
        let compile = |flags: &[&str]| Program::compile("missing", "missing", flags);
        let program = compile(&["-fsanitize=thread", binding, part]);
        // A build of the part that lacks what the program wants.
        Program::compile(
            "missing_part",
            "missing",
            &["-fsanitize=thread", "-shared", "-fPIC", "-DWITHOUT"],
        );
        let path = program.path.to_str().unwrap();
        let output = witness(&folder_of(&program), &["run", "--", path]).output().unwrap();
        Program::compile("missing_part", "missing", &["-fsanitize=thread", "-shared", "-fPIC"]);
        assert_eq!(output.status.code(), Some(status), "{binding}: {output:?}");
        assert!(said(&output).contains(words), "{binding}: {output:?}");
    }
}

#[test]
fn threads_that_wait_for_ever_are_named_with_what_they_wait_for() {
    let program = Program::instrumented("ends", "standstill");
    let (folder, path) = (folder_of(&program), program.path.to_str().unwrap());
    // (how it ends, status of `record`, of `run`, words)
    for (how, recorded, run, lines) in [
        (
            "deadlock",
            67,
            67,
            &[
                "thread 0 waits for mutex second at ",
                "thread 1 waits for mutex first at ",
            ][..],
        ),
        (
            // Robust, and thereby as if processes shared them.
            "robust-deadlock",
            67,
            67,
            &[
                "thread 0 waits for mutex second at ",
                "thread 1 waits for mutex first at ",
            ],
        ),
        (
            "with-handler",
            67,
            67,
            &[
                "waits for mutex second",
                "which thread 1 has held since ",
                "(crosses), forever",
            ],
        ),
        (
            "partly",
            0,
            67,
            &[
                "thread 2 waits for mutex second at ",
                "thread 1 waits for mutex first at ",
            ],
        ),
        ("idle", 0, 0, &[]),
    ] {
        let output = witness(&folder, &["record", "--", path, how]).output().unwrap();
        assert_eq!(output.status.code(), Some(recorded), "{how}: {output:?}");
        assert_eq!(
            said(&output).contains("witness: deadlock: "),
            recorded != run || run != 0,
            "{how}: {output:?}"
        );
        let info = witness(&folder, &["info", "trace.bin", "--json"]).output().unwrap();
        let analyzed = [
            "analyze",
            "trace.bin",
            "--report",
            "html=trace.html",
            "--report",
            "junit=trace.xml",
        ];
        let analyzed = witness(&folder, &analyzed).output().unwrap();
        assert_eq!(analyzed.status.code(), Some(run), "{how}: {analyzed:?}");
        let report = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        let (page, xml) = (report("trace.html"), report("trace.xml"));
        assert_eq!(xml.contains("type=\"deadlock\""), run == 67, "{how}: {xml}");
        for line in lines {
            assert!(said(&output).contains(line), "{how}: {line}: {output:?}");
            assert!(said(&info).contains("\"for_ever\": true"), "{how}: {info:?}");
            for told in [&said(&analyzed), &page, &xml] {
                assert!(told.contains(line), "{how}: {line}: {told}");
            }
        }
        let output = witness(&folder, &["run", "--no-live", "--", path, how])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(run), "{how}: {output:?}");
    }
    // Whoever waits for work is told, and not as one that waits forever.
    let info = said(&witness(&folder, &["info", "trace.bin"]).output().unwrap());
    assert!(
        info.contains("waiting   thread 1 waits for semaphore work at "),
        "{info}"
    );
    assert!(!info.contains("forever"), "{info}");
}

#[test]
fn where_a_program_died_is_said() {
    let program = Program::instrumented("ends", "died");
    let (folder, path) = (folder_of(&program), program.path.to_str().unwrap());
    for (how, words) in [
        ("fault", "died of SIGSEGV: thread 1, at "),
        ("fault", "(faults), by an access of address 0x40"),
        ("crash", "(main), by an access of address 0x8"),
        ("overflow", "died of SIGSEGV: thread 1, at "),
        ("overflow", "(deeper), by an access of address 0x"),
        ("abort", "died of SIGABRT: thread 0, at "),
        ("assertion", "died of SIGABRT: thread 0, at "),
    ] {
        let output = witness(&folder, &["record", "--", path, how]).output().unwrap();
        assert!(said(&output).contains(words), "{how}: {output:?}");
        assert!(said(&output).contains("ends.c:"), "{how}: {output:?}");
        let info = said(&witness(&folder, &["info", "trace.bin"]).output().unwrap());
        assert!(info.contains("died      of SIG"), "{how}: {info}");
    }
}

#[test]
fn a_limit_is_told_by_info() {
    let program = Program::instrumented("ends", "limit_told");
    let (folder, path) = (folder_of(&program), program.path.to_str().unwrap());
    for (limit, words) in [
        (
            "--max-events=5000",
            "complete up to where --max-events ended the program",
        ),
        ("--timeout=0.3", "complete up to where --timeout ended the program"),
    ] {
        witness(&folder, &["record", limit, "--", path, "slowly"])
            .output()
            .unwrap();
        let info = said(&witness(&folder, &["info", "trace.bin"]).output().unwrap());
        assert!(info.contains(words), "{limit}: {info}");
    }
}

#[test]
fn threads_that_did_nothing_are_warned_of() {
    let program = Program::instrumented("late_threads", "idle");
    let folder = folder_of(&program);
    let path = program.path.to_str().expect("a path in UTF-8");
    let record = |limit: &[&str]| {
        let words = [&["record", "-o", "trace.bin"], limit, &["--", path]].concat();
        said(&witness(&folder, &words).output().expect("witness runs"))
    };
    let cut = record(&["--max-events", "1000"]);
    assert!(
        cut.contains("2 of 2 threads that the program created did nothing"),
        "{cut}"
    );
    let info = witness(&folder, &["info", "trace.bin"]).output().expect("witness runs");
    assert!(said(&info).contains("2 of 2 threads"), "{}", said(&info));
    let whole = record(&[]);
    assert!(!whole.contains("did nothing"), "{whole}");
}

#[test]
fn who_was_not_let_to_join_an_ended_thread_waits_not_for_ever() {
    let program = Program::instrumented("suite", "endings-join");
    // Some of these limits lie between a thread's end and the join.
    for most in (10..40).step_by(2) {
        let (mut recorder, trace) = program.recorder("join", &[&format!("--max-events={most}")], &["locks"]);
        let output = recorder.output().expect("witness runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!said.contains("forever"), "{most}: {said}");
        if said.contains("stopped after") {
            let folder = trace.parent().expect("a folder");
            let analyzed = witness(folder, &["analyze", "join.bin", "--json"]).output();
            let analyzed = analyzed.expect("witness runs");
            let results = String::from_utf8_lossy(&analyzed.stdout).into_owned();
            assert!(results.contains("\"ending\": \"event-limit\""), "{most}: {results}");
        }
    }
}

/// A hook records several events, and a turn has many hooks.
#[test]
fn a_run_is_ended_near_its_last_event() {
    let program = Program::instrumented("hangs", "endings-near");
    for most in [100, 1000] {
        let (mut recorder, trace) = program.recorder("near", &[&format!("--max-events={most}")], &["guarded"]);
        recorder.output().expect("witness runs");
        let events = TraceFile::open(&trace).expect("a trace").len();
        assert!((most..most + 20).contains(&events), "{most}: {events}");
    }
}

/// Not only the run that is on its way: there are no others.
#[test]
fn a_signal_ends_a_run_of_what_spins_and_leaves_its_trace() {
    let program = Program::instrumented("ends", "asked_to_end");
    let folder = folder_of(&program);
    let path = program.path.to_str().unwrap();
    // What it recorded has a race.
    for (command, signal, status) in [("run", "-TERM", 66), ("record", "-INT", 130), ("record", "-TERM", 143)] {
        let mut running = witness(&folder, &[command, "-o", "trace.bin", "--", path, "forever"])
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("witness runs");
        crate::wait_until_ready(&mut running);
        crate::kill(signal, &running.id().to_string());
        let output = running.wait_with_output().expect("it ends");
        assert_eq!(
            output.status.code(),
            Some(status),
            "{command} {signal}: {}",
            said(&output)
        );
        if command == "run" {
            assert!(said(&output).contains("run 1 is the last"), "{}", said(&output));
        }
        let trace = TraceFile::open(&folder.join("trace.bin")).expect("a whole trace");
        assert!(!trace.is_empty());
        assert!(!folder.join("trace.run2.bin").exists());
    }
}

#[test]
fn what_threads_of_libraries_wait_for_is_said() {
    let openmp = Program::compile("openmp_hangs", "openmp-hangs", &["-fsanitize=thread", "-fopenmp"]);
    let mut programs = vec![(
        openmp,
        [
            ("openmp_hangs.c:12 ", "which thread 0 has held since "),
            ("openmp_hangs.c:14 ", "waits for the others of its team at a barrier"),
        ],
    )];
    let flags = Command::new("pkg-config")
        .args(["--cflags", "--libs", "glib-2.0"])
        .output();
    match flags.ok().filter(|flags| flags.status.success()) {
        Some(flags) => {
            let flags = String::from_utf8(flags.stdout).expect("flags in UTF-8");
            let flags: Vec<&str> = ["-fsanitize=thread"]
                .into_iter()
                .chain(flags.split_whitespace())
                .collect();
            let glib = Program::compile("glib_hangs", "glib-hangs", &flags);
            programs.push((
                glib,
                [
                    ("glib_hangs.c:21 ", "which thread 1 has held since "),
                    ("glib_hangs.c:10 ", "waits for something in queue "),
                ],
            ));
        }
        None => println!("no GLib here: its words are not tested"),
    }
    for (program, waits) in programs {
        let folder = folder_of(&program);
        let path = program.path.to_str().expect("a path in UTF-8");
        let says = |text: &str| {
            waits
                .iter()
                .all(|(at, words)| text.lines().any(|line| line.contains(at) && line.contains(words)))
        };
        for arguments in [&["record", "--", path][..], &["run", "--runs", "1", "--", path]] {
            let output = witness(&folder, arguments).output().expect("witness runs");
            assert_eq!(output.status.code(), Some(67), "{arguments:?}: {output:?}");
            assert!(says(&said(&output)), "{arguments:?}: {output:?}");
        }
        let info = witness(&folder, &["info", "trace.bin"]).output().expect("witness runs");
        assert!(says(&said(&info)), "{info:?}");
        let json = witness(&folder, &["analyze", "--json", "trace.bin"]).output();
        let json: serde_json::Value = serde_json::from_slice(&json.expect("witness runs").stdout).expect("JSON");
        let said = json["trace"]["standstill"]["waits"].as_array().expect("waits");
        assert_eq!(said.len(), 2, "{json}");
        assert!(said.iter().all(|wait| wait["for_ever"] == true), "{json}");
    }
}
