//! Traces that are cut, of which the rest could change what is said: a thread may come that would go on, or give back a
//! lock for another one; and rows of accesses that the program excuses, which a file excludes by its threads.

use super::compiled;
use crate::command::{run, witness};
use crate::program::POLICIES;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use trace_format::{
    MarkInfo, MarkKind, MemRange, Meta, ObjectInfo, ObjectKind, Op, ProgramEnd, ThreadId, ThreadInfo, TraceWriter,
    WriterOptions,
};

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cut").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// A trace of a thread that creates others, which do something in turn.
fn write(path: &Path, meta: Meta, names: &[&str], marks: &[MarkInfo], events: &[(u32, u64, Op)]) {
    let mut writer = TraceWriter::create(path, &WriterOptions::default()).unwrap();
    writer.set_meta(meta);
    for &name in names {
        let parent = (name != "main").then_some(ThreadId(0));
        let name = Some(name.to_owned());
        writer.define_thread(ThreadInfo { name, parent, os_id: 0 });
    }
    for addr in [0x2000, 0x2040] {
        let (kind, name, initial) = (ObjectKind::Mutex, None, 0);
        writer.define_object(ObjectInfo {
            kind,
            addr,
            name,
            initial,
        });
    }
    for mark in marks {
        writer.define_mark(mark.clone());
    }
    let mut add = |thread, position, op| writer.event(ThreadId(thread), position, op).unwrap();
    add(0, 1, Op::Begin);
    for child in 1..names.len() as u32 {
        add(0, 2, Op::Fork { child: ThreadId(child) });
    }
    for child in 1..names.len() as u32 {
        add(child, 3, Op::Begin);
    }
    for &(thread, position, op) in events {
        add(thread, position, op);
    }
    writer.finish(ProgramEnd::Exited(0)).unwrap();
}

/// The results of an analysis.
fn analyzed(folder: &Path, options: &[&str]) -> Value {
    let analyze = [&["analyze", "t.bin", "--json"], options].concat();
    let mut command = witness();
    let state = folder.join("state");
    let outcome = run(folder, command.env("XDG_STATE_HOME", state).args(analyze)).unwrap();
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome:?}"))
}

fn witnessed(results: &Value, rows: &str) -> usize {
    let rows = results[rows].as_array().map_or(&[][..], Vec::as_slice);
    rows.iter().filter(|row| row["verdict"] == "witnessed").count()
}

#[test]
fn nobody_stands_still_where_somebody_may_come() {
    for name in ["signal_lost", "semaphores"] {
        let program = compiled("cut", name);
        let mut found = 0;
        for policy in POLICIES {
            program.record(policy, &[]);
            let (whole, _) = program.analyzed();
            if whole["trace"]["ending"] == "deadlock" || witnessed(&whole, "deadlocks") == 0 {
                continue;
            }
            found += 1;
            let all_but_one = (whole["trace"]["events"].as_u64().unwrap() - 1).to_string();
            let cut = program.witness(&["analyze", "trace.bin", "--json", "--first-events", &all_but_one]);
            let cut: Value = serde_json::from_str(&cut.stdout).unwrap();
            assert_eq!(witnessed(&cut, "deadlocks"), 0, "{name} {policy:?}");
        }
        assert!(found > 0, "{name}");
    }
}

#[test]
fn no_lock_is_kept_that_another_thread_may_give_back() {
    let take = |lock: u32| Op::Acquire {
        lock: trace_format::ObjectId(lock),
        attempt: false,
    };
    let give = |lock: u32| Op::Release {
        lock: trace_format::ObjectId(lock),
    };
    let locks = |thread, one, other| {
        [take(one), take(other), give(other), give(one)].map(|op| (thread, 10 * u64::from(thread), op))
    };
    let mem = MemRange { addr: 0x1000, size: 4 };
    let last = (0, 5, Op::Read { mem, value: 0 });
    let events = [&locks(1, 0, 1)[..], &locks(2, 1, 0), &[last]].concat();
    let all_but_one = (5 + events.len() - 1).to_string();
    // By whether threads give back locks for others, how many deadlocks a whole and a cut trace have.
    for (foreign_unlock, whole, cut) in [(false, 1, 1), (true, 1, 0)] {
        let folder = folder("foreign");
        let meta = Meta {
            foreign_unlock,
            ..Meta::default()
        };
        write(&folder.join("t.bin"), meta, &["main", "a", "b"], &[], &events);
        let results = analyzed(&folder, &[]);
        assert_eq!(witnessed(&results, "deadlocks"), whole, "{results:#}");
        let results = analyzed(&folder, &["--first-events", &all_but_one]);
        assert_eq!(witnessed(&results, "deadlocks"), cut, "{foreign_unlock}: {results:#}");
    }
}

#[test]
fn what_a_file_leaves_of_excused_accesses_is_witnessed() {
    let folder = folder("excused");
    let mem = MemRange { addr: 0x1000, size: 4 };
    let benign = MarkInfo {
        kind: MarkKind::Benign,
        thread: ThreadId(0),
        before: 0,
        addr: mem.addr,
        size: mem.size.into(),
        text: "a counter".to_owned(),
    };
    let events = [1, 2, 3].map(|thread| (thread, 7, Op::Write { mem, value: 1 }));
    let names = ["main", "a", "b", "c"];
    write(&folder.join("t.bin"), Meta::default(), &names, &[benign], &events);
    assert_eq!(witnessed(&analyzed(&folder, &[]), "pairs"), 1);
    for (design, left) in [
        ("apart: a b\n", 1),
        ("apart: a b\napart: b c\n", 1),
        ("apart: a b\napart: b c\napart: a c\n", 0),
    ] {
        fs::write(folder.join("design"), design).unwrap();
        let results = analyzed(&folder, &["--design", "design"]);
        assert_eq!(witnessed(&results, "pairs"), left, "{design}: {results:#}");
    }
}
