//! Programs of several processes: forked children, and programs that take a process over.

use crate::program::Program;
use crate::replay::{Recorded, replay};
use crate::{children_of, count, kill, wait_until_ready};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use trace_format::{Ending, Event, Op, ProgramEnd, TraceFile};

/// Records a program; what it printed, the trace of the first process, and those of the others by their numbers.
fn record(
    program: &Program,
    name: &str,
    flags: &[&str],
    arguments: &[&str],
) -> (Output, Recorded, Vec<(String, PathBuf)>) {
    let (mut witness, trace) = program.recorder(name, flags, arguments);
    let folder = trace.parent().expect("a folder");
    for (_, old) in others(&trace) {
        std::fs::remove_file(old).expect("an old trace");
    }
    let output = witness.output().expect("witness runs");
    let file = TraceFile::open(&trace).unwrap_or_else(|error| panic!("{error}\n{output:?}"));
    let left: Vec<_> = std::fs::read_dir(folder)
        .expect("a folder")
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .filter(|file| file.starts_with(&format!("{name}.")) && file.ends_with(".partial"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    let others = others(&trace);
    (output, replay(&file), others)
}

/// As [`record`], of a program that ends well.
fn record_well(
    program: &Program,
    name: &str,
    flags: &[&str],
    arguments: &[&str],
) -> (Output, Recorded, Vec<(String, PathBuf)>) {
    let all = record(program, name, flags, arguments);
    assert_eq!(all.0.status.code(), Some(0), "{:?}", all.0);
    all
}

/// The traces of other processes, by their names alone.
fn others(trace: &Path) -> Vec<(String, PathBuf)> {
    let stem = format!("{}.", trace.file_stem().expect("a name").to_string_lossy());
    let entries = std::fs::read_dir(trace.parent().expect("a folder")).expect("a folder");
    let mut found: Vec<_> = entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().to_string_lossy().into_owned();
            let number = name.strip_prefix(&stem)?.strip_suffix(".bin")?;
            Some((number.to_owned(), trace.with_file_name(&name)))
        })
        .collect();
    found.sort();
    found
}

fn open(path: &Path) -> (TraceFile, Recorded) {
    let file = TraceFile::open(path).expect("a trace");
    let recorded = replay(&file);
    (file, recorded)
}

fn end_of(file: &TraceFile) -> ProgramEnd {
    match file.ending() {
        Ending::Complete { program } => *program,
        cut => panic!("{cut:?}"),
    }
}

/// That the two workers' race, and no other, is witnessed in a trace.
fn assert_race_of_workers(trace: &Path) {
    let analysis = Command::new(env!("CARGO_BIN_EXE_witness"))
        .args(["analyze", "--json"])
        .arg(trace)
        .output()
        .expect("witness runs");
    assert_eq!(analysis.status.code(), Some(66), "{analysis:?}");
    let report: Value = serde_json::from_slice(&analysis.stdout).expect("JSON");
    let pairs = report["pairs"].as_array().expect("pairs");
    let witnessed: Vec<String> = pairs
        .iter()
        .filter(|pair| pair["verdict"] == "witnessed")
        .map(Value::to_string)
        .collect();
    assert!(
        !witnessed.is_empty() && witnessed.iter().all(|pair| pair.contains("race")),
        "{witnessed:?}"
    );
    assert!(pairs.iter().all(|pair| pair["verdict"] != "unknown"));
}

const POLICIES: [&[&str]; 3] = [&[], &["--policy=random", "--seed=1"], &["--policy=random", "--seed=2"]];

#[test]
fn a_forked_child_has_a_trace_of_its_own() {
    let program = Program::instrumented("family", "fork");
    for (at, policy) in POLICIES.into_iter().enumerate() {
        let (output, first, others) = record_well(&program, &format!("fork{at}"), policy, &["fork"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let [(number, path)] = &others[..] else {
            panic!("{others:?}")
        };
        assert!(number == "1" && said.contains("process 1 (forked"), "{said}");
        assert!(
            said.contains(&*path.to_string_lossy()) && !said.contains("incomplete"),
            "{said}"
        );
        let (file, child) = open(path);
        assert_eq!(end_of(&file), ProgramEnd::Exited(3));
        assert!(child.tables.meta.degraded.is_empty() && first.tables.meta.degraded.is_empty());
        assert_eq!((first.tables.threads.len(), child.tables.threads.len()), (1, 3));
        assert_eq!(count(&child, |op| matches!(op, Op::Join { .. })), 2);
        // Its first thread is the one that forked, and nothing of the parent's is there.
        assert!(matches!(child.events[0], Event { op: Op::Begin, .. }));
        assert_ne!(child.tables.threads[0].os_id, first.tables.threads[0].os_id);
        assert!(
            child
                .events
                .iter()
                .all(|event| event.pc != 0 || !matches!(event.op, Op::Write { .. }))
        );
        assert_race_of_workers(path);
    }
}

#[test]
fn locks_that_were_held_are_held_in_the_child() {
    let program = Program::instrumented("family", "fork-held");
    for (at, policy) in POLICIES.into_iter().enumerate() {
        let (_, _, others) = record_well(&program, &format!("held{at}"), policy, &["held"]);
        let (file, child) = open(&others[0].1);
        assert_eq!(end_of(&file), ProgramEnd::Exited(4));
        // Taken before its first access: the recursive one twice, the reader-writer lock shared.
        let start: Vec<_> = child.events.iter().take(5).map(|event| event.op).collect();
        let of = |wanted: fn(&Op) -> bool| start.iter().filter(|op| wanted(op)).count();
        assert_eq!(of(|op| matches!(op, Op::Acquire { .. })), 3, "{start:?}");
        assert_eq!(of(|op| matches!(op, Op::AcquireShared { .. })), 1, "{start:?}");
        let taken = count(&child, |op| matches!(op, Op::Acquire { .. } | Op::AcquireShared { .. }));
        // All but the recursive one.
        assert_eq!(taken - 2, count(&child, |op| matches!(op, Op::Release { .. })));
        // The lock of a thread that is not there.
        assert_eq!(count(&child, |op| matches!(op, Op::AcquireFailed { .. })), 0);
        assert_race_of_workers(&others[0].1);
    }
}

#[test]
fn any_thread_may_fork() {
    let program = Program::instrumented("family", "fork-thread");
    for (at, policy) in POLICIES.into_iter().enumerate() {
        let (_, _, others) = record_well(&program, &format!("thread{at}"), policy, &["thread"]);
        let (file, child) = open(&others[0].1);
        assert_eq!(end_of(&file), ProgramEnd::Exited(0));
        assert!(
            child.tables.meta.degraded.is_empty(),
            "{:?}",
            child.tables.meta.degraded
        );
        assert_eq!(count(&child, |op| matches!(op, Op::End)), 3);
        assert_race_of_workers(&others[0].1);
    }
}

#[test]
fn races_on_what_the_parent_allocated_are_found() {
    let program = Program::instrumented("family", "fork-inherited");
    let (_, _, others) = record_well(&program, "inherited", &[], &["inherited"]);
    assert_race_of_workers(&others[0].1);
    // No cell changes unexplained, which would keep its accesses in their places.
    let info = witness(&program, &["info", "--json", &others[0].1.to_string_lossy()]);
    let info: Value = serde_json::from_slice(&info.stdout).expect("JSON");
    assert_eq!(info["external_cells"], 0, "{info}");
}

#[test]
fn forks_beyond_the_library_are_forks() {
    let program = Program::instrumented("family", "fork-beyond");
    for (at, policy) in POLICIES.into_iter().enumerate() {
        let (_, _, others) = record_well(&program, &format!("beyond{at}"), policy, &["beyond"]);
        let ends: Vec<_> = others.iter().map(|(_, path)| end_of(&open(path).0)).collect();
        assert_eq!(ends, [5, 3, 4].map(ProgramEnd::Exited));
        assert_race_of_workers(&others[0].1);
    }
}

#[test]
fn processes_are_numbered_by_their_order_and_runs_are_the_same() {
    let program = Program::instrumented("family", "fork-tree");
    let run = |name: &str| {
        let (_, first, others) = record_well(&program, name, &["--policy=random", "--seed=5"], &["tree"]);
        let events = |(number, path): (String, PathBuf)| (number, open(&path).1.events);
        (first.events, others.into_iter().map(events).collect::<Vec<_>>())
    };
    let (first, others) = run("tree-a");
    let numbers: Vec<&str> = others.iter().map(|(number, _)| &**number).collect();
    assert_eq!(numbers, ["1", "1.1", "2", "2.1", "3", "3.1", "4", "4.1"]);
    let (again, others_again) = run("tree-b");
    // But for the numbers that the kernel gives to processes.
    let shape = |events: &[Event]| events.iter().map(|event| (event.thread, event.pc)).collect::<Vec<_>>();
    assert_eq!(shape(&first), shape(&again));
    for ((number, events), (_, again)) in others.iter().zip(&others_again) {
        assert_eq!(shape(events), shape(again), "{number}");
    }
    assert_ne!(
        shape(&others[0].1),
        shape(&others[2].1),
        "each has a sequence of choices of its own"
    );
}

#[test]
fn forking_in_a_loop() {
    const ROUNDS: usize = 200;
    let program = Program::instrumented("family", "fork-loop");
    let (_, _, others) = record_well(&program, "loop", &[], &["loop", &ROUNDS.to_string()]);
    assert_eq!(others.len(), ROUNDS);
    for (number, path) in &others {
        let (file, child) = open(path);
        let status = (number.parse::<i32>().expect("a number") - 1) % 100;
        assert_eq!(end_of(&file), ProgramEnd::Exited(status), "{number}");
        assert_eq!(child.tables.threads.len(), 3);
    }
    // Traces of processes that there are no more do not stay.
    let (mut witness, trace) = program.recorder("loop", &[], &["loop", "2"]);
    assert!(witness.output().expect("witness runs").status.success());
    assert_eq!(crate::family::others(&trace).len(), 2);
}

#[test]
fn a_killed_child_leaves_a_readable_trace() {
    let program = Program::instrumented("family", "fork-killed");
    for round in 0..5 {
        let (_, _, others) = record_well(&program, &format!("killed{round}"), &["--policy=random"], &["killed"]);
        let (file, child) = open(&others[0].1);
        assert_eq!(end_of(&file), ProgramEnd::Signaled(9));
        assert!(child.events.len() > 1000);
    }
}

#[test]
fn a_child_that_outlives_its_parent_is_recorded_to_its_end() {
    let program = Program::instrumented("family", "fork-left");
    let (_, first, others) = record_well(&program, "left", &[], &["left"]);
    assert!(first.tables.meta.degraded.is_empty());
    let (file, child) = open(&others[0].1);
    assert_eq!(end_of(&file), ProgramEnd::Exited(5));
    assert!(child.tables.meta.degraded.is_empty());
    assert_race_of_workers(&others[0].1);
}

#[test]
fn limits_and_signals_end_what_goes_on_for_ever() {
    let program = Program::instrumented("family", "fork-daemon");
    let (output, _, others) = record(&program, "timeout", &["--timeout=1"], &["daemon"]);
    assert_eq!(output.status.code(), Some(124), "{output:?}");
    let (file, _) = open(&others[0].1);
    assert!(matches!(end_of(&file), ProgramEnd::Signaled(9) | ProgramEnd::Unknown));

    let (mut witness, trace) = program.recorder("signal", &[], &["daemon"]);
    let begun = Instant::now();
    let mut running = witness
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("witness runs");
    wait_until_ready(&mut running);
    // The first process has ended or is about to.
    while !children_of(running.id()).is_empty() && begun.elapsed() < Duration::from_secs(20) {
        thread::sleep(Duration::from_millis(10));
    }
    kill("-TERM", &running.id().to_string());
    running.wait().expect("it ends");
    let (file, child) = open(&others_of(&trace, 1)[0].1);
    assert_eq!(end_of(&file), ProgramEnd::Unknown);
    // The daemon itself is still there, and ours to end; until then it has the pipe.
    kill("-KILL", &child.tables.threads[0].os_id.to_string());
    let output = running.wait_with_output().expect("its output");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("runs on unrecorded"), "{said}");
}

fn others_of(trace: &Path, count: usize) -> Vec<(String, PathBuf)> {
    let others = others(trace);
    assert_eq!(others.len(), count, "{others:?}");
    others
}

#[test]
fn executed_programs_have_traces_of_their_own() {
    let program = Program::instrumented("family", "exec");
    let cases: [(&str, i32, &[&str]); 13] = [
        ("exec", 7, &["1"]),
        ("execl", 7, &["1"]),
        ("execle", 8, &["1"]),
        ("fork-exec", 0, &["1", "1.1"]),
        ("vfork-exec", 0, &["1"]),
        ("spawn", 0, &["1", "2"]),
        ("exec-fails", 0, &["1"]),
        ("fexecve", 7, &["1"]),
        ("fexecve-path", 7, &["1"]),
        ("execveat", 7, &["1"]),
        ("call-execve", 7, &["1"]),
        ("call-execveat", 7, &["1"]),
        ("no-environment", 7, &["1"]),
    ];
    for (how, status, numbers) in cases {
        let (output, first, others) = record(&program, how, &[], &[how]);
        assert_eq!(output.status.code(), Some(status), "{how}: {output:?}");
        assert!(first.tables.meta.degraded.is_empty(), "{how}: {output:?}");
        let found: Vec<&str> = others.iter().map(|(number, _)| &**number).collect();
        assert_eq!(found, numbers, "{how}: {output:?}");
        let (_, last) = open(&others[others.len() - 1].1);
        assert!(last.tables.meta.degraded.is_empty(), "{how}");
        if how != "execle" {
            assert_race_of_workers(&others[others.len() - 1].1);
        }
        if how != "exec-fails" {
            // Its own command, and its own directory and environment.
            let meta = &last.tables.meta;
            let argument = if how == "execle" { "environment" } else { "workers" };
            assert_eq!(
                meta.command[..2],
                [program.path.to_string_lossy(), argument.into()],
                "{how}"
            );
            assert!(meta.environment.iter().all(|entry| !entry.starts_with("WITNESS_RING")));
        }
    }
}

#[test]
fn copies_that_begin_in_a_function_are_children() {
    let program = Program::instrumented("family", "clone");
    for (at, policy) in POLICIES.into_iter().enumerate() {
        let (output, first, others) = record_well(&program, &format!("clone{at}"), policy, &["clone"]);
        assert!(first.tables.meta.degraded.is_empty(), "{output:?}");
        let ends: Vec<_> = others.iter().map(|(_, path)| end_of(&open(path).0)).collect();
        assert!(
            [0, 4]
                .iter()
                .any(|&second| ends == [3, second, 5].map(ProgramEnd::Exited)),
            "{ends:?}"
        );
        for (number, path) in &others {
            let (_, child) = open(path);
            assert!(child.tables.meta.degraded.is_empty(), "{number}: {output:?}");
            assert_race_of_workers(path);
        }
    }
}

#[test]
fn who_shares_the_memory_is_its_caller() {
    let program = Program::instrumented("family", "clone-shares");
    for (at, policy) in POLICIES.into_iter().enumerate() {
        let (output, first, others) = record_well(&program, &format!("shares{at}"), policy, &["clone-shares"]);
        assert!(first.tables.meta.degraded.is_empty(), "{output:?}");
        // The five increments, of the worker, both sharers and the caller; no value comes from nowhere.
        let increments = |op: &Op| matches!(op, Op::Write { value, mem } if mem.size == 8 && (1..=5).contains(value));
        assert!(count(&first, increments) >= 5);
        let [(number, path)] = &others[..] else {
            panic!("{others:?}")
        };
        assert_eq!(number, "1");
        assert_race_of_workers(path);
    }
}

#[test]
fn a_child_with_another_number_is_named() {
    let program = Program::instrumented("family", "namespace");
    let (output, first, others) = record(&program, "namespace", &[], &["namespace"]);
    if output.status.code() == Some(77) {
        eprintln!("no namespaces here");
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(others.is_empty());
    assert!(
        first
            .tables
            .meta
            .degraded
            .iter()
            .any(|why| why.contains("child processes are not recorded"))
    );
}

#[test]
fn programs_without_instrumentation_run_untouched() {
    let program = Program::instrumented("family", "exec-plain");
    let (mut witness, trace) = program.recorder("execlp", &[], &["execlp"]);
    let output = witness.output().expect("witness runs");
    // The shell found neither variable of ours in its environment.
    assert_eq!(output.status.code(), Some(9), "{output:?}");
    assert!(others(&trace).is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("the new one is not recorded"));
    let (output, first, others) = record_well(&program, "others", &[], &["others"]);
    assert!(others.is_empty() && first.tables.meta.degraded.is_empty(), "{output:?}");
}

/// What `witness` says in a folder of its own.
fn witness(program: &Program, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_witness"))
        .args(arguments)
        .current_dir(program.path.parent().expect("a folder"))
        .output()
        .expect("witness runs")
}

#[test]
fn run_analyzes_every_process_and_info_names_them() {
    let program = Program::instrumented("family", "family-run");
    let path = program.path.to_string_lossy();
    let run = witness(
        &program,
        &[
            "run",
            "-o",
            "r.bin",
            "--report",
            "text",
            "--report",
            "json=r.json",
            "--",
            &path,
            "fork-exec",
        ],
    );
    let (text, said) = (
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr),
    );
    assert_eq!(run.status.code(), Some(66), "{text}{said}");
    assert!(
        said.contains("process 1: r.1.bin") && said.contains("process 1.1: r.1.1.bin"),
        "{said}"
    );
    // A program that was executed can be started again, and is.
    assert!(
        text.contains("1 confirmed live") || text.contains("2 confirmed live"),
        "{text}"
    );
    for report in ["r.json", "r.1.json", "r.1.1.json"] {
        let report = std::fs::read(program.path.with_file_name(report)).expect("a report");
        assert!(serde_json::from_slice::<Value>(&report).is_ok());
    }
    let info = witness(&program, &["info", "r.bin"]);
    let text = String::from_utf8_lossy(&info.stdout).into_owned();
    assert!(
        text.contains("1 (forked): r.1.bin") && text.contains("1.1 (executed): r.1.1.bin"),
        "{text}"
    );
    let info = witness(&program, &["info", "--json", "r.1.1.bin"]);
    let info: Value = serde_json::from_slice(&info.stdout).expect("JSON");
    assert_eq!(info["process"], "1.1 (executed)");

    let run = witness(&program, &["run", "-o", "f.bin", "--", &path, "fork"]);
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    assert_eq!(run.status.code(), Some(66), "{text}");
    assert!(
        text.contains("1 confirmed live") || text.contains("2 confirmed live"),
        "{text}"
    );
}

#[test]
fn permits_that_other_processes_give_meanwhile_are_there() {
    let program = Program::instrumented("attempts", "attempts");
    let (output, _) = program.record("attempts", &[], &[]);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn processes_that_wait_for_each_other_are_in_no_deadlock() {
    let program = Program::instrumented("between", "between");
    for how in ["mutex", "semaphore"] {
        let (output, _) = program.record(how, &[], &[how]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.stdout, b"200\n", "{how}: {said}");
        assert!(output.status.success() && !said.contains("deadlock"), "{how}: {said}");
    }
}
