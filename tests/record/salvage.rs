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

/// Whether a process runs this file.
fn runs(program: &Path) -> bool {
    let processes = std::fs::read_dir("/proc").expect("procfs").flatten();
    let mut files = processes.filter_map(|process| std::fs::read_link(process.path().join("exe")).ok());
    files.any(|file| file == program)
}

#[test]
fn nothing_is_lost_if_the_recorder_is_killed_in_its_first_moments() {
    let program = Program::instrumented("ends", "recorder-killed-early");
    let path = std::fs::canonicalize(&program.path).expect("the program");
    let mut whole = 0;
    for round in 0..400 {
        if whole == 5 {
            break;
        }
        let (mut witness, trace) = program.recorder("early", &[], &["count"]);
        let (partial, ring) = (trace.with_extension("bin.partial"), trace.with_extension("bin.ring"));
        for left in [&partial, &ring] {
            let _ = std::fs::remove_file(left);
        }
        let printed = trace.with_extension("out");
        let out = std::fs::File::create(&printed).expect("a file");
        let mut running = witness.stdout(out).stderr(Stdio::null()).spawn().expect("witness runs");
        // Longer and longer: on a busy machine, nothing has begun for a while.
        thread::sleep(Duration::from_millis(round * round / 200));
        running.kill().expect("it can be killed");
        running.wait().expect("it ends");
        for _ in 0..2000 {
            if !runs(&path) {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
        let printed = std::fs::read_to_string(&printed).expect("what it printed");
        // The recording was over, or the program had not been started.
        if trace.exists() || !partial.exists() && printed.is_empty() {
            continue;
        }
        let info = info(&partial);
        assert_eq!(info.status.code(), Some(0), "round {round}: {info:?}");
        let recorded = replay(&TraceFile::open(&partial).expect("a readable part"));
        // A program whose recorder is gone before it begins does not begin.
        let Some(last) = printed.lines().nth(1) else {
            assert!(
                printed.is_empty() && recorded.events.is_empty(),
                "round {round}: {printed}"
            );
            continue;
        };
        let last = last.parse::<u64>().expect("a number");
        let is_last = |op: &Op| matches!(op, Op::Write { value, .. } if *value == last);
        assert!(
            recorded.events.iter().any(|event| is_last(&event.op)),
            "round {round}: {last}"
        );
        whole += 1;
    }
    assert!(whole > 0, "no program has run to its end");
}

#[test]
fn a_trace_is_made_from_a_ring_alone() {
    let program = Program::instrumented("ends", "recorder-killed-ring-alone");
    let mut orphan = Orphan::new(&program, "alone", &[], &["slowly"], Duration::from_millis(20));
    // As if it had been killed before it wrote anything: nothing is released from the ring.
    kill("-KILL", &orphan.process);
    orphan.end();
    let ring = std::fs::read(orphan.ring()).expect("the ring");
    std::fs::remove_file(orphan.partial()).expect("the trace");
    let mut header = ring.clone();
    let at = std::mem::offset_of!(recorder_ring::layout::Header, kept);
    header[at..at + 2 * size_of::<recorder_ring::layout::Kept>()].fill(0);
    std::fs::write(orphan.ring(), header).expect("a ring");
    let info = orphan.info();
    assert_eq!(info.status.code(), Some(0), "{info:?}");
    let text = String::from_utf8_lossy(&info.stdout).into_owned();
    assert!(text.contains("before it had written down what was run"), "{text}");
    assert!(!orphan.open().events.is_empty());
}

/// The recorder is gone before the program looks for its ring.
#[test]
fn a_program_without_its_recorder_does_not_begin() {
    let program = Program::instrumented("ends", "recorder-gone");
    let mut killed = Command::new("sleep").arg("100").spawn().expect("a process");
    let start = |ring: String| {
        let mut command = Command::new(&program.path);
        let folder = runtime_of(&program);
        command.arg("environment").env("LD_LIBRARY_PATH", folder);
        command.env("WITNESS_RING", ring).output().expect("it starts")
    };
    // A process that is there, but has no such file.
    let other = start(format!("/proc/{}/fd/60000", killed.id()));
    assert_eq!(other.status.code(), None, "{other:?}");
    killed.kill().expect("it can be killed");
    // It is there until somebody waits for it.
    for _ in 0..2 {
        let gone = start(format!("/proc/{}/fd/3", killed.id()));
        assert_eq!(gone.status.code(), None, "{gone:?}");
        assert!(
            said(&gone).contains("the recorder was killed before the program began"),
            "{gone:?}"
        );
        killed.wait().expect("it ends");
    }
}

/// The folder of the runtime, as a recorded program has it.
fn runtime_of(program: &Program) -> PathBuf {
    let cache = program.path.with_file_name("cache");
    let (mut witness, _) = program.recorder("runtime", &[], &["return"]);
    let done = witness.env("XDG_CACHE_HOME", &cache).output().expect("witness runs");
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let mut folders = std::fs::read_dir(cache.join("witness")).expect("a folder").flatten();
    folders.next().expect("the runtime").path()
}
