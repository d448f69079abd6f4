//! What bounds an analysis: its time, and its memory.

use crate::command::{run, witness};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use trace_format::{
    MemRange, Meta, Op, PendingInfo, PendingKind, ProgramEnd, StackId, ThreadId, ThreadInfo, TraceWriter, WriterOptions,
};

/// A folder with a trace of some length.
fn folder(name: &str, events: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("limits").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    witness(&folder, &["generate", "-o", "t.bin", "--events", events]).status(0);
    folder
}

#[test]
fn memory_that_runs_out_is_an_error_with_a_remedy() {
    let folder = folder("memory", "600000");
    let ended = witness(&folder, &["analyze", "t.bin", "--memory-limit", "1"]).status(2);
    let summary = "SUMMARY: witness: nothing decided";
    for words in [
        "out of memory (the limit is 1 MB)",
        "--threads 1",
        "--memory-limit",
        summary,
    ] {
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    }
    let wrong = witness(&folder, &["analyze", "t.bin", "--memory-limit", "many"]).status(2);
    assert!(
        wrong.stderr.contains("expected a number of megabytes"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn memory_that_the_system_does_not_give_is_an_error_too() {
    let folder = folder("ulimit", "4000");
    let analyze = |megabytes: u32| {
        let _ = fs::remove_dir_all(folder.join("t.bin.witnesses"));
        let limited = format!("ulimit -v {}; exec \"$0\" analyze t.bin --threads 2", megabytes << 10);
        let mut shell = Command::new("sh");
        run(shell
            .args(["-c", &limited, env!("CARGO_BIN_EXE_witness")])
            .current_dir(&folder))
    };
    let whole = analyze(8 << 10);
    assert!(whole.stderr.is_empty(), "{}", whole.stderr);
    let mut ended = 0;
    // From too little to read the trace to enough. What fails first depends on a few pages, and may be a library's.
    for megabytes in (95..200).step_by(3).chain([250, 300]) {
        let outcome = analyze(megabytes);
        if outcome.status == whole.status && outcome.stdout == whole.stdout {
            continue;
        }
        let outcome = outcome.status(2);
        for words in ["out of memory", "ulimit -v"] {
            assert!(outcome.stderr.contains(words), "{megabytes} MB: {}", outcome.stderr);
        }
        for words in ["memory allocation of", "internal error"] {
            assert!(!outcome.stderr.contains(words), "{megabytes} MB: {}", outcome.stderr);
        }
        ended += 1;
    }
    assert!(ended > 0, "the limits are too large");
}

#[test]
fn reports_on_what_was_ended_are_whole_and_say_so() {
    let kinds = || witness::report::FORMS.iter().map(|(kind, _)| *kind);
    let folder = folder("reports", "600000");
    let mut arguments = vec!["analyze".to_owned(), "t.bin".to_owned(), "--memory-limit=1".to_owned()];
    for kind in kinds() {
        // What another analysis found.
        fs::write(folder.join(kind), "no races").expect("a file");
        arguments.push(format!("--report={kind}={kind}"));
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    witness(&folder, &arguments).status(2);
    let report = |kind: &str| fs::read_to_string(folder.join(kind)).expect("a report");
    for kind in kinds() {
        assert!(report(kind).contains("out of memory"), "{kind}: {}", report(kind));
        assert!(!report(kind).contains("no races"), "{kind}: {}", report(kind));
    }
    let json = |kind: &str| serde_json::from_str::<serde_json::Value>(&report(kind)).expect("JSON");
    assert_eq!(json("sarif")["runs"][0]["invocations"][0]["executionSuccessful"], false);
    assert_eq!(json("json")["schema"], "witness-unfinished/1");
    assert_eq!(json("chrome-trace")["traceEvents"].as_array().map(Vec::len), Some(0));
    assert!(report("junit").contains(r#"errors="1""#), "{}", report("junit"));
    assert!(report("html").ends_with("</html>"), "{}", report("html"));
    assert!(report("github").starts_with("::error "), "{}", report("github"));
    // It is no baseline.
    witness(&folder, &["analyze", "t.bin", "--baseline", "json"]).status(2);
    let names = fs::read_dir(&folder)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name());
    let parts: Vec<_> = names
        .filter(|name| {
            [".part", ".unfinished"]
                .iter()
                .any(|end| name.to_string_lossy().ends_with(end))
        })
        .collect();
    assert!(parts.is_empty(), "{parts:?}");
}

#[test]
fn the_time_limit_holds_while_the_trace_is_read() {
    let folder = folder("time", "1500000");
    let started = Instant::now();
    let ended = witness(
        &folder,
        &["analyze", "t.bin", "--first-events", "1500000", "--time-limit", "0"],
    )
    .status(3);
    let took = started.elapsed();
    assert!(ended.stderr.contains("out of time"), "{}", ended.stderr);
    assert!(ended.stderr.contains("SUMMARY: witness: "), "{}", ended.stderr);
    // A second, and what it takes to start and end a process beside others.
    assert!(took.as_millis() < 3_000, "{took:?}");
}

#[test]
fn a_flag_that_is_read_at_a_thousand_places_is_one_report() {
    let folder = folder("flag", "1");
    let mut lines = vec![r#"{"trace": {"version": 1}}"#.to_owned()];
    lines.extend((0..3).map(|_| r#"{"thread": {"name": "", "parent": null, "os_id": 0}}"#.to_owned()));
    let mut event = |thread: u32, pc: u32, op: &str| {
        let access = format!(r#"{{"{op}": {{"mem": {{"addr": 4096, "size": 4}}, "value": 0}}}}"#);
        lines.push(format!(
            r#"{{"event": {{"thread": {thread}, "pc": {pc}, "stack": 0, "op": {access}}}}}"#
        ));
    };
    for place in 0..1_000 {
        event(0, 10 + place, "Read");
        event(1, 10 + place, "Read");
    }
    event(2, 1, "Write");
    lines.push(r#"{"end": {"Exited": 0}}"#.to_owned());
    fs::write(folder.join("t.jsonl"), lines.join("\n")).expect("a file");
    let text = witness(&folder, &["analyze", "t.jsonl", "--explanations", "0"])
        .status(66)
        .stdout;
    assert_eq!(text.matches("WARNING: witness: data race").count(), 1, "{text}");
    assert!(
        text.contains("1000 pairs of instructions in these functions race"),
        "{text}"
    );
    let json = witness(&folder, &["analyze", "t.jsonl", "--json"]).status(66).stdout;
    assert_eq!(json.matches(r#""verdict": "witnessed""#).count(), 1_000);
}

/// A schedule of the first events is one of a trace that ends there: what later events tell, say that unrecorded code
/// writes to the memory, neither refutes it nor is passed over for the whole.
#[test]
fn a_schedule_of_the_first_events_is_checked_there() {
    let folder = folder("beginning", "1");
    let mut lines = vec![r#"{"trace": {"version": 1}}"#.to_owned()];
    lines.extend((0..3).map(|_| r#"{"thread": {"name": "", "parent": null, "os_id": 0}}"#.to_owned()));
    // One thread writes two variables, another one the same in the other order; then one holds what nobody wrote.
    let of_thread = [
        (0, 4096, "Write", 1),
        (0, 8192, "Write", 1),
        (1, 8192, "Write", 2),
        (1, 4096, "Write", 2),
        (2, 8192, "Read", 77),
    ];
    for (pc, (thread, addr, op, value)) in (1..).zip(of_thread) {
        let access = format!(r#"{{"{op}": {{"mem": {{"addr": {addr}, "size": 4}}, "value": {value}}}}}"#);
        lines.push(format!(
            r#"{{"event": {{"thread": {thread}, "pc": {pc}, "stack": 0, "op": {access}}}}}"#
        ));
    }
    lines.push(r#"{"end": {"Exited": 0}}"#.to_owned());
    fs::write(folder.join("u.jsonl"), lines.join("\n")).expect("a file");
    witness(&folder, &["convert", "u.jsonl", "u.bin"]).status(0);
    witness(&folder, &["analyze", "u.bin", "--first-events", "4"]).status(66);
    let stored = fs::read_dir(folder.join("u.bin.witnesses")).expect("results").flatten();
    let mut texts = stored.filter_map(|entry| fs::read_to_string(entry.path()).ok());
    let outer = texts.find(|text| text.contains("\nrace 0 3\n"));
    let text = outer.expect("the race of the outer accesses");
    assert!(text.contains("\nfirst-events x4\n"), "{text}");
    let check = |name: &str| witness(&folder, &["check", "u.bin", name]);
    fs::write(folder.join("first.sched"), &text).expect("a file");
    assert!(check("first.sched").status(0).stdout.contains("accepted"));
    let replay = ["replay", "u.bin", "--schedule", "first.sched"];
    let replayed = witness(&folder, &replay).status(66);
    assert!(replayed.stderr.contains("the first 4 events"), "{}", replayed.stderr);
    // Of the whole it is none: there the memory's accesses are pinned.
    fs::write(folder.join("whole.sched"), text.replace("first-events x4\n", "")).expect("a file");
    assert!(check("whole.sched").status(1).stdout.contains("rejected"));
    fs::write(
        folder.join("other.sched"),
        text.replace("first-events x4\n", "first-events x7\n"),
    )
    .expect("a file");
    let other = check("other.sched").status(1).stdout;
    assert!(other.contains("the first 7 events of the trace, this has 5"), "{other}");
    let both = [
        "replay",
        "u.bin",
        "--schedule",
        "whole.sched",
        "--schedule",
        "other.sched",
    ];
    assert!(witness(&folder, &both).status(2).stderr.contains("one at a time"));
}

/// The first events of a trace are a trace that is cut: what is witnessed there, is in the whole of it.
#[test]
fn the_first_events_can_be_analyzed_alone() {
    let folder = folder("first", "60000");
    let first = ["analyze", "t.bin", "--first-events", "5000"];
    let ended = witness(&folder, &first).status(66);
    for said in [
        "only the first 5000 of 60",
        " in the first 5000 events; the others may show the race",
    ] {
        assert!(ended.stdout.contains(said), "{said}: {}", ended.stdout);
    }
    assert!(
        ended.stderr.contains("only the first 5000 events are analyzed"),
        "{}",
        ended.stderr
    );
    assert!(ended.stdout.contains(", 0 pairs refuted"), "{}", ended.stdout);
    let replayed = witness(&folder, &["replay", "t.bin", "--witness", "1"]).status(66);
    assert!(replayed.stderr.contains("the first 5000 events"), "{}", replayed.stderr);
    let mut schedules = 0;
    for entry in fs::read_dir(folder.join("t.bin.witnesses")).expect("results").flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|ending| ending == "sched") {
            witness(&folder, &["check", "t.bin", path.to_str().expect("a name")]).status(0);
            schedules += 1;
        }
    }
    assert!(schedules > 0);
    // What was decided of the beginning is not taken for what is true of the whole.
    let after = witness(&folder, &["analyze", "t.bin", "--json"]).status(66).stdout;
    fs::remove_dir_all(folder.join("t.bin.witnesses")).expect("results");
    assert_eq!(
        after,
        witness(&folder, &["analyze", "t.bin", "--json"]).status(66).stdout
    );
    for refused in [
        &["plan", "t.bin"][..],
        &["explore", "-o", "runs"],
        &["analyze", "t.bin", "--shard", "1/2"],
    ] {
        let program = if refused[0] == "explore" {
            &["--", "/bin/true"][..]
        } else {
            &[]
        };
        let arguments = [refused, &["--first-events", "7"], program].concat();
        witness(&folder, &arguments).status(2);
    }
}

/// A pass over all of a long trace, to see who waits at its end, would cost more than its beginning.
#[test]
fn of_a_beginning_the_end_of_the_run_is_not_told() {
    let folder = folder("end", "1");
    let mut writer = TraceWriter::create(&folder.join("w.bin"), &WriterOptions::default()).expect("a trace");
    let threads = [(); 2].map(|()| writer.define_thread(ThreadInfo::default()));
    for number in 0..10 {
        let mem = MemRange {
            addr: 0x1000 + number * 8,
            size: 8,
        };
        let write = Op::Write { mem, value: 1 };
        writer.event(threads[number as usize % 2], 1, write).expect("an event");
    }
    let joins = |(thread, before): (u32, u64)| PendingInfo {
        thread: ThreadId(thread),
        before,
        kind: PendingKind::Join,
        pc: 1,
        stack: StackId::EMPTY,
        addr: u64::from(1 - thread),
    };
    writer.set_meta(Meta {
        pending: [(0, 9), (1, 10)].map(joins).to_vec(),
        ..Meta::default()
    });
    writer.finish(ProgramEnd::Deadlock).expect("a trace");
    let whole = witness(&folder, &["analyze", "w.bin", "--time-limit", "60"]).status(67);
    assert!(whole.stdout.contains("ended in a deadlock"), "{}", whole.stdout);
    let first = witness(&folder, &["analyze", "w.bin", "--first-events", "8"]).status(3);
    assert!(!first.stdout.contains("deadlock"), "{}", first.stdout);
    let json = witness(&folder, &["analyze", "w.bin", "--first-events", "8", "--json"])
        .status(3)
        .stdout;
    let results: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let waits = results["trace"]["standstill"]["waits"].as_array();
    assert!(waits.is_none_or(Vec::is_empty), "{json}");
    let json = witness(&folder, &["analyze", "w.bin", "--json"]).status(67).stdout;
    let results: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(
        results["trace"]["standstill"]["waits"].as_array().map(Vec::len),
        Some(2),
        "{json}"
    );
}

#[test]
fn of_a_trace_that_is_hopelessly_long_for_the_time_limit_the_beginning_is_decided() {
    let folder = folder("hopeless", "1200000");
    let ended = witness(&folder, &["analyze", "t.bin", "--time-limit", "1"]);
    assert!([3, 66].contains(&ended.status), "{}", ended.status);
    assert!(
        ended.stderr.contains("only the first 200000 events are analyzed"),
        "{}",
        ended.stderr
    );
}
