//! The recorder is killed: the program has run, and all it did is in the trace, or it has not.

use crate::{KILLS, Moments, command, folder, number, witness};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use trace_format::{Op, ThreadId, TraceFile};

const RECORD: [&str; 7] = ["record", "--policy", "fifo", "-o", "t.bin", "--", "./counts"];
/// What the program counts to.
const LAST: usize = 200;

/// What happened, in order.
fn events(trace: &Path) -> Vec<(ThreadId, Op)> {
    let file = TraceFile::open(trace).unwrap_or_else(|error| panic!("{}: {error}", trace.display()));
    let events = file.events().map(|event| event.expect("the trace is readable"));
    events.map(|event| (event.thread, event.op)).collect()
}

/// The numbers that the trace has, as far as they are those that the program writes down: each is written once to the
/// cell, whose address is that of the one access to which 1, 2, … are written in this order.
fn counted(events: &[(ThreadId, Op)]) -> usize {
    let mut next = 1;
    for (_, op) in events {
        if matches!(op, Op::Write { value, mem } if *value == next && mem.size == 8) {
            next += 1;
        }
    }
    next as usize - 1
}

/// Any command that reads the trace. A process that has closed its files is not over yet.
fn read(folder: &Path) -> Output {
    loop {
        let info = command(folder, &["info", "t.bin.partial"]).output().expect("witness");
        if !String::from_utf8_lossy(&info.stderr).contains("still running") {
            return info;
        }
    }
}

#[test]
fn a_recording_that_is_killed_lacks_nothing() {
    let folder = folder("record");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kills/counts.c");
    let mut gcc = Command::new("gcc");
    gcc.args(["-g", "-O1", "-pthread", "-fsanitize=thread", "-o"])
        .arg(folder.join("counts"))
        .arg(source);
    assert!(gcc.status().expect("gcc is needed").success());
    let mut moments = Moments::of(|| drop(witness(&folder, &RECORD, &[0])));
    let undisturbed = events(&folder.join("t.bin"));
    assert_eq!(counted(&undisturbed), LAST);

    let (mut ended, mut salvaged, mut not_begun) = (0, 0, 0);
    for round in 0..number("WITNESS_KILLS", KILLS) {
        for left in ["t.bin", "t.bin.partial", "t.bin.ring"] {
            let _ = fs::remove_file(folder.join(left));
        }
        let log = folder.join("log");
        let mut running = command(&folder, &RECORD)
            .stdout(File::create(&log).expect("a file"))
            .stderr(Stdio::piped())
            .spawn()
            .expect("witness starts");
        let mut errors = running.stderr.take().expect("a pipe");
        let by_itself = moments.kill(&mut running);
        // The program has it, too: its end is the program's.
        let mut said = String::new();
        errors.read_to_string(&mut said).expect("text");
        let written = fs::read_to_string(&log).expect("what it wrote down").lines().count();
        assert!(
            written == 0 || written == LAST,
            "round {round}: {written} lines; {said}"
        );

        let (trace, partial) = (folder.join("t.bin"), folder.join("t.bin.partial"));
        assert!(
            !by_itself || trace.exists(),
            "round {round}: it recorded nothing: {said}"
        );
        let found = if trace.exists() {
            ended += 1;
            events(&trace)
        } else if partial.exists() || folder.join("t.bin.ring").exists() {
            let info = read(&folder);
            // Nothing may be there but a ring that was not made to its end.
            if !partial.exists() {
                assert_eq!(written, 0, "round {round}: {info:?}; {said}");
                not_begun += 1;
                continue;
            }
            assert_eq!(info.status.code(), Some(0), "round {round}: {info:?}");
            assert!(!folder.join("t.bin.ring").exists(), "round {round}: {info:?}");
            events(&partial)
        } else {
            assert_eq!(written, 0, "round {round}: {said}");
            not_begun += 1;
            continue;
        };
        assert_eq!(counted(&found), written, "round {round}: {said}");
        if written == 0 {
            assert!(found.is_empty(), "round {round}: {said}");
            not_begun += 1;
        } else {
            assert!(found == undisturbed, "round {round}: other events; {said}");
            salvaged += usize::from(!trace.exists());
        }
    }
    println!("record: {ended} had ended, {salvaged} were salvaged, {not_begun} programs had not begun");
}
