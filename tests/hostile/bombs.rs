//! Small files that stand for much, and files that change while they are read.

use crate::place::Place;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use trace_format::{
    MemRange, Meta, ObjectInfo, ObjectKind, Op, ProgramEnd, SourceInfo, ThreadId, ThreadInfo, TraceFile, TraceWriter,
    VariableInfo, WriterOptions,
};

/// The strongest compression that is common.
const SMALL: WriterOptions = WriterOptions {
    block_bytes: 4 << 20,
    zstd_level: 19,
};

/// Of a native trace with one thread.
pub fn writer(place: &Place, name: &str) -> TraceWriter {
    let mut writer = TraceWriter::create(&place.path(name), &SMALL).expect("a trace");
    writer.set_meta(Meta::default());
    writer.define_thread(ThreadInfo::default());
    writer
}

#[test]
fn a_small_file_does_not_stand_for_many_rows() {
    let place = Place::new("rows");
    let mut rows = writer(&place, "rows.bin");
    for _ in 0..4_000_000 {
        rows.define_variable(VariableInfo {
            addr: 0,
            size: 1,
            name: String::new(),
        });
    }
    rows.finish(ProgramEnd::Exited(0)).expect("a trace");
    let length = fs::metadata(place.path("rows.bin")).expect("a trace").len();
    assert!(length < 200_000, "{length}");
    for command in ["info", "analyze", "dump", "check"] {
        let outcome = place.witness(&[command, "rows.bin"]).status(2);
        assert!(outcome.stderr.contains("tables take"), "{outcome:?}");
    }
}

#[test]
fn events_are_counted_before_they_are_loaded() {
    let place = Place::new("events");
    let mut events = writer(&place, "events.bin");
    let read = Op::Read {
        mem: MemRange { addr: 0x1000, size: 4 },
        value: 0,
    };
    for _ in 0..3_000_000 {
        events.event(ThreadId(0), 1, read).expect("an event");
    }
    events.finish(ProgramEnd::Exited(0)).expect("a trace");
    let length = fs::metadata(place.path("events.bin")).expect("a trace").len();
    assert!(length < 100_000, "{length}");
    for command in ["info", "analyze", "check", "replay"] {
        let outcome = place
            .witness(&[command, "events.bin", "--max-events", "2999999"])
            .status(2);
        for part in ["3000000 events", "--max-events"] {
            assert!(outcome.stderr.contains(part), "{outcome:?}");
        }
    }
    place
        .witness(&["analyze", "events.bin", "--max-events", "3000000"])
        .status(0);
    fs::write(place.path("pairs"), "a.c:14 b.c:7\n").expect("a report");
    let confirm = |most| place.witness(&["confirm", "events.bin", "pairs", "--max-events", most]);
    let outcome = confirm("2999999").status(2);
    assert!(outcome.stderr.contains("3000000 events"), "{outcome:?}");
    confirm("3000000").status(3);
}

#[test]
fn a_trace_that_becomes_shorter_while_it_is_read_is_an_error() {
    let place = Place::new("truncated");
    place
        .witness(&["generate", "--events", "3000000", "-o", "long.bin"])
        .status(0);
    let mut dump = place.command(&["dump", "long.bin"]);
    let mut running = dump
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("witness runs");
    // It has begun, and waits for its reader.
    let mut output = running.stdout.take().expect("a pipe");
    output.read_exact(&mut [0; 100]).expect("the first events");
    let file = File::options()
        .write(true)
        .open(place.path("long.bin"))
        .expect("the trace");
    file.set_len(4096).expect("it can become shorter");
    drop(file);
    std::io::copy(&mut output, &mut std::io::sink()).expect("the rest");
    let ended = running.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(2), "{ended:?}");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(said.contains("became shorter"), "{said}");
}

/// The trace without its end.
fn cut(place: &Place) -> Vec<u8> {
    let mut bytes = fs::read(place.path("trace.bin")).expect("a trace");
    bytes.truncate(bytes.len() - 20);
    bytes
}

/// A ring that claims that there is more in it than it can hold, beside a trace that was cut.
#[test]
fn a_ring_neither_fills_the_disk_nor_goes_on_for_ever() {
    let place = Place::new("endless-ring");
    place.record();
    let bytes = cut(&place);
    let mut ring = crate::links::ring(0);
    // Rows that can be read around and around: each says that there is no thread.
    let content = ring.len() - (512 * 8 + 4096);
    ring[content..content + 512 * 8]
        .chunks_exact_mut(8)
        .for_each(|row| row[0] = 1);
    for rows in [u64::MAX, 1 << 40, 1 << 20] {
        let at = std::mem::offset_of!(recorder_ring::layout::Header, rows);
        ring[at..at + 8].copy_from_slice(&rows.to_le_bytes());
        File::create(place.path("cut.bin.partial"))
            .expect("a file")
            .write_all(&bytes)
            .expect("a trace");
        fs::write(place.path("cut.bin.ring"), &ring).expect("a ring");
        let said = place.witness(&["info", "cut.bin.partial"]).status(0).stderr;
        assert!(said.contains("damaged at word 512"), "{said}");
        let length = fs::metadata(place.path("cut.bin.partial")).expect("the trace").len();
        assert!(length < 1 << 20, "{length}");
    }
}

/// A row that says that there are many threads, beside a trace that was cut: they are made one by one, or not at all.
#[test]
fn a_ring_does_not_make_threads_of_a_number() {
    let place = Place::new("ring-threads");
    place.record();
    let threads = TraceFile::open(&place.path("trace.bin")).expect("a trace");
    let threads = threads.tables().threads.len() as u32;
    for (count, is_good) in [
        (u32::MAX, false),
        (recorder_ring::plan::MAX_THREADS, false),
        (100_000, false),
        (threads + 1, true),
    ] {
        fs::write(place.path("cut.bin.partial"), cut(&place)).expect("a trace");
        let mut ring = crate::links::ring(0);
        let rows = ring.len() - (512 * 8 + 4096);
        ring[rows..rows + 8].copy_from_slice(&(1 | u64::from(count) << 8).to_le_bytes());
        let at = std::mem::offset_of!(recorder_ring::layout::Header, rows);
        ring[at..at + 8].copy_from_slice(&1u64.to_le_bytes());
        fs::write(place.path("cut.bin.ring"), &ring).expect("a ring");
        let said = place.witness(&["info", "cut.bin.partial"]).status(0).stderr;
        assert_eq!(said.contains("damaged at word 0"), !is_good, "{count}: {said}");
        let made = TraceFile::open(&place.path("cut.bin.partial")).expect("a trace");
        let expected = if is_good { count } else { threads };
        assert_eq!(made.tables().threads.len() as u32, expected, "{count}");
    }
}

/// Threads and locks of which an analysis keeps the square.
#[test]
fn many_threads_and_nested_locks_are_refused_before_they_cost_much() {
    let place = Place::new("square");
    let mut threads = writer(&place, "threads.bin");
    for _ in 0..70_000 {
        threads.define_thread(ThreadInfo::default());
    }
    threads.event(ThreadId(0), 1, Op::Begin).expect("an event");
    threads.finish(ProgramEnd::Exited(0)).expect("a trace");

    let mut locks = writer(&place, "locks.bin");
    for addr in 0..20_000 {
        let lock = locks.define_object(ObjectInfo {
            kind: ObjectKind::Mutex,
            addr,
            name: None,
            initial: 0,
        });
        let attempt = false;
        locks
            .event(ThreadId(0), 1, Op::Acquire { lock, attempt })
            .expect("an event");
    }
    locks.finish(ProgramEnd::Exited(0)).expect("a trace");
    for (trace, parts) in [
        ("threads.bin", ["70001 threads", "65536", "--max-events"]),
        ("locks.bin", ["at event 2", "locks at once", "--max-events"]),
    ] {
        let length = fs::metadata(place.path(trace)).expect("a trace").len();
        assert!(length < 219_000, "{length}");
        for arguments in [&["analyze", trace][..], &["plan", trace], &["replay", trace]] {
            let outcome = place.witness(arguments).status(2);
            for part in parts {
                assert!(outcome.stderr.contains(part), "{part}: {outcome:?}");
            }
            assert!(outcome.stderr.contains(trace), "{outcome:?}");
        }
    }
}

/// Accesses of one variable, each at a position of its own: what they conflict in grows with the square.
pub fn crowded(place: &Place, name: &str, positions: u64) {
    let mut crowd = writer(place, name);
    crowd.define_thread(ThreadInfo::default());
    let mem = MemRange { addr: 0x1000, size: 4 };
    let child = ThreadId(1);
    crowd.event(ThreadId(0), 1, Op::Begin).expect("an event");
    crowd.event(ThreadId(0), 2, Op::Fork { child }).expect("an event");
    crowd.event(child, 3, Op::Begin).expect("an event");
    for position in 0..positions {
        let thread = ThreadId((position % 2) as u32);
        let write = Op::Write { mem, value: 1 };
        crowd.event(thread, 0x10_000 + position, write).expect("an event");
    }
    crowd.finish(ProgramEnd::Exited(0)).expect("a trace");
}

#[test]
fn pairs_are_listed_up_to_a_number_and_counted_beyond() {
    let place = Place::new("pairs");
    crowded(&place, "small.bin", 40);
    let all = place.witness(&["analyze", "small.bin"]).status(66);
    assert!(all.stdout.contains(" witnessed, 0 pairs refuted, 0 unknown"), "{all:?}");
    // Of 400 pairs, each of a position of either thread.
    let few = place
        .witness(&["analyze", "small.bin", "--max-pairs", "100"])
        .status(66);
    let counts = "100 data races witnessed, 0 pairs refuted, 300 unknown (300 beyond --max-pairs)";
    assert!(few.stdout.contains(counts), "{few:?}");
    let said = "400 pairs of code positions conflict; only 100 of them are decided";
    assert!(few.stderr.contains(said), "{few:?}");
    let none = place.witness(&["analyze", "small.bin", "--max-pairs", "0"]).status(3);
    assert!(none.stdout.contains("400 unknown (400 beyond --max-pairs)"), "{none:?}");
    // In parts, too.
    place.witness(&["plan", "small.bin", "--max-pairs", "100"]).status(0);
    for shard in ["1/2", "2/2"] {
        place.witness(&["analyze", "small.bin", "--shard", shard]).status(0);
    }
    let merged = place.witness(&["merge", "small.bin"]).status(66);
    assert_eq!((&merged.stdout, &merged.stderr), (&few.stdout, &few.stderr));
    // A variable that lock sets warn of is not cleared.
    let refused = place
        .witness(&["analyze", "small.bin", "--candidates", "lockset", "--max-pairs", "100"])
        .status(2);
    assert!(
        refused.stderr.contains("more than 100 pairs of positions"),
        "{refused:?}"
    );

    crowded(&place, "large.bin", 6_000);
    let length = fs::metadata(place.path("large.bin")).expect("a trace").len();
    assert!(length < 4_000, "{length}");
    let planned = place.witness(&["plan", "large.bin", "--memory-limit", "1G"]).status(0);
    assert!(planned.stdout.contains("131072 pairs to decide"), "{planned:?}");
    let few = ["--max-pairs", "500", "--memory-limit", "1G"];
    let large = place
        .witness(&[&["analyze", "large.bin"], &few[..]].concat())
        .status(66);
    let said = "9000000 pairs of code positions conflict; only 500 of them are decided";
    assert!(large.stderr.contains(said), "{}", large.stderr);
    assert!(large.stdout.contains("(8999500 beyond --max-pairs)"));
}

/// A trace whose next byte never comes: whatever a stage waits for, the time limit ends it.
#[test]
fn a_stage_that_never_ends_is_ended() {
    let place = Place::new("never");
    let pipe = place.path("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    // Whoever reads has a writer.
    let _writer = File::options().read(true).write(true).open(&pipe).expect("a pipe");
    let report = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/confirm/reports/atomic_flag.drd");
    let report = report.to_str().expect("text");
    for arguments in [
        &["analyze", "pipe"][..],
        &["plan", "pipe"],
        &["replay", "pipe"],
        &["explain", "pipe", "a", "b"],
        &["explain", "pipe", "a", "b", "c"],
        &["confirm", "pipe", report],
    ] {
        let outcome = place.witness(&[arguments, &["--time-limit", "0"]].concat()).status(3);
        for part in ["pipe: out of time (reading)", "--time-limit"] {
            assert!(outcome.stderr.contains(part), "{arguments:?}: {outcome:?}");
        }
    }
}

/// A report of another tool that never comes, and files of the user's that are longer than any.
#[test]
fn what_is_read_beside_a_trace_has_limits_of_its_own() {
    let place = Place::new("beside");
    place.record();
    let pipe = place.path("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    let _writer = File::options().read(true).write(true).open(&pipe).expect("a pipe");
    let outcome = place
        .witness(&["confirm", "trace.bin", "pipe", "--time-limit", "0"])
        .status(3);
    assert!(
        outcome.stderr.contains("trace.bin: out of time (reading)"),
        "{outcome:?}"
    );
    for (option, limit) in [("--design", "1 MiB"), ("--suppressions", "16 MiB")] {
        let outcome = place.witness(&["analyze", "trace.bin", option, "/dev/zero"]).status(2);
        assert!(outcome.stderr.contains(&format!("longer than {limit}")), "{outcome:?}");
    }
    // A priority for each of many threads: as many comparisons as lines.
    let lines: String = (0..50_000).map(|thread| format!("priority: t{thread} 1\n")).collect();
    fs::write(place.path("design"), lines).expect("a design");
    let priorities = ["analyze", "trace.bin", "--design", "design", "--json"];
    place.witness(&priorities).status(66);
}

/// Thousands of threads in each of two functions that a file keeps apart: their pairs are millions.
#[test]
fn functions_that_are_kept_apart_cost_no_memory_for_each_pair_of_threads() {
    const THREADS: u32 = 40_000;
    let place = Place::new("apart");
    let mut many = writer(&place, "many.bin");
    for _ in 0..THREADS {
        many.define_thread(ThreadInfo::default());
    }
    for (pc, function) in [(1, "one"), (2, "other")] {
        many.define_source(SourceInfo {
            pc,
            function: Some(function.to_owned()),
            file: "a.c".to_owned(),
            line: pc as u32,
        });
    }
    many.event(ThreadId(0), 0, Op::Begin).expect("an event");
    let mem = MemRange { addr: 0x1000, size: 4 };
    for number in 1..=THREADS {
        let thread = ThreadId(number);
        let write = Op::Write { mem, value: 1 };
        many.event(thread, u64::from(1 + number % 2), write).expect("an event");
    }
    many.finish(ProgramEnd::Exited(0)).expect("a trace");
    fs::write(place.path("design"), "apart: one other\n").expect("a design");
    let outcome = place.witness(&[
        "analyze",
        "many.bin",
        "--find",
        "races",
        "--design",
        "design",
        "--max-pairs",
        "1",
        "--memory-limit",
        "400",
    ]);
    assert!(!outcome.stderr.contains("out of memory"), "{outcome:?}");
    assert!(matches!(outcome.status, 0 | 3 | 66), "{outcome:?}");
}

/// Whoever should read what is said may not: a pipe that nobody opens, or that is full.
#[test]
fn a_limit_holds_though_nobody_reads_what_is_said() {
    let place = Place::new("unread");
    crowded(&place, "crowd.bin", 60);
    let pipe = place.path("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    // Each is said to hide nothing.
    let lines: String = (0..20_000).map(|number| format!("race:f{number}\n")).collect();
    fs::write(place.path("suppressions"), lines).expect("suppressions");
    let unread = ["analyze", "crowd.bin", "--time-limit", "3"];
    for more in [
        // A report of which nobody opens the other end.
        &["--report", "html=pipe"][..],
        // Standard output that is full.
        &["--report", "json"],
        // Standard error that is full.
        &["--suppressions", "suppressions", "--report", "json=r.json"],
    ] {
        let _ = fs::remove_dir_all(place.path("crowd.bin.witnesses"));
        let mut command = place.command(&[&unread[..], more].concat());
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = command.spawn().expect("witness runs");
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = running.try_wait().expect("a child") {
                break status;
            }
            if begun.elapsed() > Duration::from_secs(60) {
                running.kill().expect("it can be killed");
                panic!("{more:?}: it waits");
            }
            sleep(Duration::from_millis(10));
        };
        // Some races were witnessed by then, whatever came of the report.
        assert_eq!(status.code(), Some(66), "{more:?}");
    }
}
