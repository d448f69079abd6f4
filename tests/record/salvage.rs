//! The recorder itself is killed: what it had not written is found in the ring that it leaves.

use crate::program::Program;
use crate::replay::{Recorded, replay};
use crate::{child_of, kill};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;
use trace_format::{Ending, Op, TraceFile};

/// A run whose recorder was killed after a time: the process of the program, what it prints from then on, the trace.
struct Orphan {
    process: String,
    output: BufReader<std::process::ChildStdout>,
    trace: PathBuf,
}

impl Orphan {
    fn new(program: &Program, name: &str, flags: &[&str], arguments: &[&str], after: Duration) -> Orphan {
        let (mut witness, trace) = program.recorder(name, flags, arguments);
        let mut running = witness
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("witness runs");
        let mut output = BufReader::new(running.stdout.take().expect("a pipe"));
        let mut line = String::new();
        output.read_line(&mut line).expect("it prints a line");
        assert_eq!(line, "ready\n");
        let process = child_of(running.id());
        thread::sleep(after);
        running.kill().expect("it can be killed");
        running.wait().expect("it ends");
        Orphan { process, output, trace }
    }

    /// Waits until the program has ended by itself; what it printed.
    fn end(&mut self) -> String {
        let gone = (0..1000).any(|_| {
            thread::sleep(Duration::from_millis(10));
            !Path::new("/proc").join(&self.process).exists()
        });
        if !gone {
            kill("-KILL", &self.process);
            panic!("the program waits for its recorder for ever");
        }
        let mut text = String::new();
        self.output.read_to_string(&mut text).expect("its output");
        text
    }

    fn partial(&self) -> PathBuf {
        self.trace.with_extension("bin.partial")
    }

    fn ring(&self) -> PathBuf {
        self.trace.with_extension("bin.ring")
    }

    fn info(&self) -> Output {
        info(&self.partial())
    }

    /// The trace, which is cut.
    fn open(&self) -> Recorded {
        let file = TraceFile::open(&self.partial()).expect("a readable part");
        assert!(matches!(file.ending(), Ending::Cut { .. }), "{:?}", file.ending());
        replay(&file)
    }
}

fn info(trace: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_witness"))
        .arg("info")
        .arg(trace)
        .output()
        .expect("witness runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn nothing_is_lost_if_the_recorder_is_killed() {
    let program = Program::instrumented("ends", "recorder-killed");
    for round in 0..10 {
        let after = Duration::from_millis(20 + 45 * round);
        let mut orphan = Orphan::new(&program, "count", &[], &["count"], after);
        let last = orphan.end().trim().parse::<u64>().expect("a number");
        let before = orphan.open().events.len();
        let info = orphan.info();
        assert!(
            said(&info).contains(
                "that the killed recorder had not written, and nothing is missing: the program ended with status 0\n"
            ),
            "{info:?}"
        );
        assert!(!orphan.ring().exists());
        let recorded = orphan.open();
        assert!(recorded.events.len() > before);
        let is_last = |op: &Op| matches!(op, Op::Write { value, .. } if *value == last);
        assert!(recorded.events.iter().any(|event| is_last(&event.op)), "{last}");
        // Once is enough.
        let again = orphan.info();
        assert!(
            said(&again).is_empty() || !said(&again).contains("had not written"),
            "{again:?}"
        );
        assert_eq!(again.stdout, info.stdout);
    }
}

#[test]
fn a_program_that_still_runs_keeps_its_ring() {
    let program = Program::instrumented("ends", "recorder-killed-before");
    let mut orphan = Orphan::new(&program, "slowly", &[], &["slowly"], Duration::from_millis(100));
    let info = orphan.info();
    assert!(
        said(&info).contains(&format!("still running (pid {})", orphan.process)),
        "{info:?}"
    );
    assert!(orphan.ring().exists());
    kill("-KILL", &orphan.process);
    orphan.end();
    let before = orphan.open().events.len();
    assert!(said(&orphan.info()).contains("that the killed recorder had not written\n"));
    assert!(orphan.open().events.len() > before);
}

#[test]
fn a_ring_that_was_full_says_so() {
    let program = Program::instrumented("ends", "recorder-killed-full");
    for round in 0..3 {
        let after = Duration::from_millis(50 + 60 * round);
        let mut orphan = Orphan::new(&program, "noise", &["--policy=fifo"], &["noise"], after);
        orphan.end();
        let info = orphan.info();
        // Eight megabytes of noise take less than the time that it makes some.
        assert!(
            said(&info).contains("what the program did after that was not recorded"),
            "{info:?}"
        );
        assert!(orphan.open().events.len() > 100_000);
    }
}

#[test]
fn every_process_leaves_a_ring() {
    let program = Program::instrumented("family", "recorder-killed-family");
    let mut orphan = Orphan::new(&program, "pair", &[], &["pair"], Duration::from_millis(150));
    let printed = orphan.end();
    let numbers: Vec<u64> = printed.lines().map(|line| line.parse().expect("a number")).collect();
    let [child, parent] = numbers[..] else {
        panic!("{printed}")
    };
    let trace_of_child = orphan.trace.with_file_name("pair.1.bin.partial");
    for (path, last) in [(orphan.partial(), parent), (trace_of_child, child)] {
        let info = info(&path);
        assert!(
            said(&info).contains(
                "that the killed recorder had not written, and nothing is missing: the program ended with status 0\n"
            ),
            "{info:?}"
        );
        let recorded = replay(&TraceFile::open(&path).expect("a readable part"));
        let is_last = |op: &Op| matches!(op, Op::Write { value, .. } if *value == last);
        assert!(recorded.events.iter().any(|event| is_last(&event.op)), "{last}");
    }
}
