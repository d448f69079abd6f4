//! What the reports under `tests/confirm` do not show: other dialects, and damage.

use super::*;

fn one(text: &str) -> Warning {
    let warnings = read("log", text.as_bytes(), None).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    warnings.into_iter().next().expect("one warning")
}

fn tops(warning: &Warning) -> [String; 2] {
    [0, 1].map(|side| {
        let side: &Side = &warning.sides[side];
        side.frames()
            .first()
            .map_or_else(|| format!("{:?}", side.stack), Frame::to_string)
    })
}

#[test]
fn colours_collected_logs_and_forgotten_stacks() {
    let warning = one("12:01 app | starting
12:01 app | \u{1b}[1m\u{1b}[31mWARNING: ThreadSanitizer: data race (pid=5)\u{1b}[0m
12:01 app | \u{1b}[1m\u{1b}[34m  Atomic write of size 4 at 0x5581 by thread T3 'w' (mutexes: write M0):\u{1b}[0m
12:01 app |     #0 put /src/a.c:3:7 (app+0x12) (BuildId: ab12)
12:01 app |
12:02 app | \u{1b}[1m\u{1b}[34m  Previous read of size 1 at 0x5581 by main thread:\u{1b}[0m
12:02 app |     [failed to restore the stack]
12:02 app |
12:02 app |   Location is heap block of size 16 at 0x5580 allocated by main thread:
12:02 app |     #0 malloc <null> (app+0x1)
12:02 app |     #1 main /src/a.c:9 (app+0x2)
");
    assert_eq!((warning.line, warning.kind), (2, Kind::Race));
    assert_eq!(warning.sides[0].atomic, Some(true));
    assert_eq!(warning.sides[0].thread.as_deref(), Some("thread T3 'w'"));
    assert_eq!(warning.sides[0].frames()[0].build_id.as_deref(), Some("ab12"));
    assert_eq!(warning.sides[0].frames()[0].column, Some(7));
    assert_eq!(warning.sides[1].stack, Stack::NotRestored);
    let Some(Location::Heap { stack }) = &warning.location else {
        panic!("{:?}", warning.location);
    };
    assert_eq!(stack[1].to_string(), "main /src/a.c:9");
}

#[test]
fn other_kinds_are_classified() {
    for (title, kind) in [
        ("data race on vptr (ctor/dtor vs virtual call)", Kind::Race),
        ("heap-use-after-free", Kind::Race),
        ("race on external object", Kind::Race),
        ("Swift access race", Kind::Race),
        ("lock-order-inversion (potential deadlock)", Kind::LockOrder),
        ("thread leak", Kind::ThreadLeak),
        ("signal-unsafe call inside of a signal", Kind::Signal),
        ("signal handler spoils errno", Kind::Signal),
        ("destroy of a locked mutex", Kind::LockMisuse),
        ("unlock of an unlocked mutex (or by a wrong thread)", Kind::LockMisuse),
    ] {
        let warning = one(&format!("WARNING: ThreadSanitizer: {title} (pid=1)\n"));
        assert_eq!((warning.title.as_str(), warning.kind), (title, kind));
    }
    let crash = one("==77==ERROR: ThreadSanitizer: SEGV on unknown address 0x0 (pc 0x1 bp 0x2 sp 0x3 T1)\n");
    assert_eq!(crash.kind, Kind::Other);
    let descriptor = one("WARNING: ThreadSanitizer: data race (pid=1)
  Write of size 8 at 0x7b by thread T1:
    #0 close <null> (a+0x1)
  Location is file descriptor 3 created by main thread at:
    #0 open <null> (a+0x2)
");
    assert_eq!(descriptor.kind, Kind::Descriptor);
}

#[test]
fn acquisitions_of_a_lock_order_are_those_that_wait() {
    let warning = one(
        "WARNING: ThreadSanitizer: lock-order-inversion (potential deadlock) (pid=1)
  Cycle in lock order graph: M0 (0x7b) => M1 (0x7c) => M0

  Mutex M1 acquired here while holding mutex M0 in thread T1 'worker':
    #0 pthread_mutex_lock <null> (libtsan.so.2+0x1)
    #1 first a.c:10 (a+0x2)

  Mutex M0 previously acquired by the same thread here:
    #0 pthread_mutex_lock <null> (libtsan.so.2+0x1)
    #1 first a.c:9 (a+0x3)

  Mutex M0 acquired here while holding mutex M1 in main thread:
    #0 pthread_mutex_lock <null> (libtsan.so.2+0x1)
    #1 second a.c:20 (a+0x4)

  Thread T1 (tid=2, running) created by main thread at:
    #0 pthread_create <null> (libtsan.so.2+0x1)
    #1 main a.c:30 (a+0x5)
",
    );
    let inner: Vec<String> = warning.sides.iter().map(|side| side.frames()[1].to_string()).collect();
    assert_eq!(inner, ["first a.c:10", "second a.c:20"]);
    let threads: Vec<Option<&str>> = warning.sides.iter().map(|side| side.thread.as_deref()).collect();
    assert_eq!(threads, [Some("thread T1 'worker'"), Some("main thread")]);
    // Suppressions look at all stacks.
    assert_eq!(warning.stacks.len(), 3);
    // Without its stacks, nothing is known of where.
    let cut = one(
        "WARNING: ThreadSanitizer: lock-order-inversion (potential deadlock) (pid=1)
  Mutex M1 acquired here while holding mutex M0 in thread T1:
",
    );
    assert_eq!(cut.sides, []);
}

#[test]
fn reports_follow_each_other_without_an_end() {
    let cut = "WARNING: ThreadSanitizer: data race (pid=1)
  Write of size 4 at 0x1 by thread T1:
    #0 f a.c:1 (a+0x1)
WARNING: ThreadSanitizer: thread leak (pid=1)
    #0 g a.c:2 (a+0x1)
SUMMARY: ThreadSanitizer: thread leak
    #0 h a.c:3 (a+0x1)
";
    let warnings = read("log", cut.as_bytes(), None).expect("a report");
    assert_eq!(warnings.len(), 2);
    assert_eq!(tops(&warnings[0]), ["f a.c:1", "NotGiven"]);
}

#[test]
fn go() {
    let warning = one("==================
WARNING: DATA RACE
Write at 0x00c0000a4010 by goroutine 7:
  main.(*counter).add()
      /tmp/demo/main.go:10 +0x44
  main.main.func1()
      /tmp/demo/main.go:20 +0x2a

Previous atomic read at 0x00c0000a4010 by main goroutine:
  main.main()
      /tmp/demo/main.go:13 +0x88

Goroutine 7 (running) created at:
  main.main()
      /tmp/demo/main.go:9 +0x7a
==================
Found 1 data race(s)
");
    assert_eq!(
        tops(&warning),
        [
            "main.(*counter).add /tmp/demo/main.go:10",
            "main.main /tmp/demo/main.go:13"
        ]
    );
    assert_eq!(warning.sides[0].frames().len(), 2);
    assert_eq!(
        (warning.sides[1].writes, warning.sides[1].atomic),
        (Some(false), Some(true))
    );
    let forgotten = one("WARNING: DATA RACE
Read at 0x1 by goroutine 1:
  [failed to restore the stack]

Previous write at 0x1 by goroutine 2:
  f()
      a.go:1 +0x1
");
    assert_eq!(tops(&forgotten), ["NotRestored", "f a.go:1"]);
}

#[test]
fn lists() {
    let list = "# two suspects\n\na.c:3 b.c:4:2\n/my dir/a.c:1, /my dir/b.c:2 # why\n";
    let warnings = read("list", list.as_bytes(), None).expect("a list");
    assert_eq!(warnings.iter().map(|warning| warning.line).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(tops(&warnings[1]), ["/my dir/a.c:1", "/my dir/b.c:2"]);
}

#[test]
fn valgrind_keeps_processes_apart_and_counts_what_is_no_race() {
    let log = "==1== Helgrind, a thread error detector
program output
==1== Possible data race during read of size 4 at 0x10C0CC by thread #3
==2== Possible data race during write of size 4 at 0x10C0CC by thread #2
==1== Locks held: none
==1==    at 0x1091F0: f (a.c:28)
==2== Locks held: none
==2==    at 0x1091F0: g (a.c:29)
==1==
==1== This conflicts with a previous write of size 4 by thread #2
==1==    at 0x1091AC: h (a.c:19)
==1==  Address 0x10c0cc is 0 bytes inside data symbol \"nested\"
==2==
==2== Thread #2: Exiting thread still holds 1 lock
==2==    at 0x1: start_thread (p.c:1)
==2==
==2== ERROR SUMMARY: 2 errors from 2 contexts
==2== 1 errors in context 1 of 2:
==2== Possible data race during write of size 4 at 0x10C0CC by thread #2
==2==    at 0x1091F0: g (a.c:29)
";
    let warnings = read("log", log.as_bytes(), None).expect("a report");
    let kinds: Vec<_> = warnings.iter().map(|warning| (warning.line, warning.kind)).collect();
    assert_eq!(kinds, [(3, Kind::Race), (4, Kind::Race), (14, Kind::LockMisuse)]);
    assert_eq!(tops(&warnings[0]), ["f a.c:28", "h a.c:19"]);
    assert_eq!(tops(&warnings[1]), ["g a.c:29", "NotGiven"]);
    assert_eq!(
        warnings[0].location,
        Some(Location::Global {
            name: "nested".to_owned()
        })
    );
}

#[test]
fn what_cannot_be_read_is_named_with_its_line() {
    let refusal = |text: &str, format: Option<Format>| {
        let error = read("in", text.as_bytes(), format).expect_err(text).to_string();
        assert!(error.starts_with("in:") || error.starts_with("in has"), "{error}");
        error
    };
    assert!(refusal("hello\nworld\n", None).contains("--format"));
    assert!(refusal("", None).contains("--format"));
    assert!(refusal("a.c:1 b.c:2\nnonsense\n", None).starts_with("in:2:"));
    assert!(refusal("a.c:1 b.c\n", Some(Format::Pairs)).contains("'b.c' is not file:line"));
    assert!(refusal("<?xml version=\"1.0\"?>\n<valgrindoutput>\n<error>", None).starts_with("in:3:"));
    assert!(refusal("<?xml version=\"1.0\"?>\n<html></html>", None).contains("<html>"));
    let old = "<valgrindoutput><protocolversion>3</protocolversion></valgrindoutput>";
    assert!(refusal(old, None).contains("version 3"));
    let memcheck =
        "<valgrindoutput><protocolversion>4</protocolversion><protocoltool>memcheck</protocoltool></valgrindoutput>";
    assert!(refusal(memcheck, None).contains("memcheck"));
    assert!(refusal("{\"schema\": \"witness-results/2\",\n]", None).starts_with("in:2:"));
    assert!(refusal("{\"schema\": \"witness-results/1\"}", None).contains("witness-results/2"));
    assert!(refusal("{}", Some(Format::Witness)).contains("witness analyze"));
}

/// A program prints among its reports whatever it likes, before the first one, too.
#[test]
fn what_a_program_prints_first_does_not_hide_its_reports() {
    let report = include_str!("../../tests/confirm/reports/atomic_and_plain.gcc.tsan");
    for printed in ["<Hash Test>", "{\"seed\": 7}", "iteration 1:"] {
        let warnings = read("log", format!("{printed}\n\n{report}").as_bytes(), None);
        assert!(warnings.is_ok_and(|warnings| !warnings.is_empty()), "{printed}");
    }
}

#[test]
fn every_format_has_a_name_that_is_read_back() {
    for (format, name) in Format::ALL {
        assert_eq!(name.parse(), Ok(format));
    }
    assert!("xml".parse::<Format>().is_err());
}

/// Stacks meet in one table, and one that leads round in a circle ends.
#[test]
fn stacks_of_results_are_looked_up() {
    let access = |event: u32, stack: usize| {
        format!(
            r#"{{"thread": 1, "thread_name": null, "event": {event}, "op": "read", "address": "0x10", "size": 4,
            "file": null, "line": null, "function": null, "stack": {stack}}}"#
        )
    };
    let frame = |function: &str, line: u32, caller: &str| {
        format!(
            r#"{{"function": "{function}", "file": "/src/a.c", "line": {line}, "module": "/app", "offset": "0x12",
            "caller": {caller}}}"#
        )
    };
    let text = format!(
        r#"{{"schema": "witness-results/2", "tool": "witness", "options": {{"instances": null, "explanations": null,
        "budget": 1, "solver": "both", "model": "prefix"}}, "trace": {{"id": "0", "path": "t", "events": 9,
        "threads": 2, "ending": "complete", "cut": null}}, "pairs": [{{
        "verdict": "witnessed", "kind": "co-enabled", "reason": null, "explanation": [], "a": {}, "b": {},
        "instances": {{"total": 1, "ordered": 0, "locked": 0, "tried": 1}}, "schedule": null}}],
        "frames": [{}, {}, {}, {}], "summary": {{"witnessed": 1, "refuted": 0, "unknown": 0}}}}"#,
        access(3, 2),
        access(5, 3),
        frame("main", 9, "null"),
        frame("put", 5, "0"),
        frame("store", 3, "1"),
        frame("load", 4, "3"),
    );
    let warning = one(&text);
    let lines = |side: usize| -> Vec<_> { warning.sides[side].frames().iter().map(|frame| frame.line).collect() };
    assert_eq!(lines(0), [Some(3), Some(5), Some(9)]);
    assert_eq!(lines(1), [Some(4)]);
}
