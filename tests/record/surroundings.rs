//! Objects that other processes could share, code that is loaded while the program runs, and many threads.

use crate::count;
use crate::program::Program;
use std::collections::BTreeMap;
use std::process::Command;
use trace_format::{ObjectKind, Op, TraceFile, WaitOutcome};

#[test]
fn named_and_shared_objects() {
    for recorded in Program::instrumented("shared", "shared").record_often() {
        assert_eq!(count(&recorded, |op| matches!(op, Op::SemPost { .. })), 80);
        assert_eq!(count(&recorded, |op| matches!(op, Op::SemWait { .. })), 80);
        let semaphores = recorded
            .tables
            .objects
            .iter()
            .filter(|object| object.kind == ObjectKind::Semaphore);
        assert_eq!(semaphores.count(), 2);
    }
}

#[test]
fn a_program_that_changes_its_user_is_recorded_to_its_end() {
    let program = Program::instrumented("changes_user", "changes_user");
    let (output, recorded) = program.record("once", &["--policy=fifo"], &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(count(&recorded, |op| matches!(op, Op::End)), 2, "{output:?}");
}

#[test]
fn sets_of_descriptors_are_as_long_as_the_program_says() {
    Program::instrumented("large_set", "large-set").record_often();
}

#[test]
fn what_threads_ask_of_the_c_library_they_get() {
    let program = Program::instrumented("as_natively", "as_natively");
    for case in ["0", "1", "2", "3", "4", "5", "6", "7"] {
        for flags in [&["--policy=fifo"][..], &["--policy=random", "--seed=1"]] {
            let flags: Vec<&str> = flags.iter().chain(&["--timeout=20"]).copied().collect();
            let (mut record, trace) = program.recorder(&format!("case-{case}"), &flags, &[case]);
            let output = record.output().expect("witness runs");
            assert_eq!(output.status.code(), Some(0), "case {case}: {output:?}");
            let analyzed = Command::new(env!("CARGO_BIN_EXE_witness"))
                .arg("analyze")
                .arg(&trace)
                .output();
            let analyzed = analyzed.expect("witness runs");
            assert_eq!(analyzed.status.code(), Some(0), "case {case}: {analyzed:?}");
        }
    }
}

#[test]
fn code_that_is_loaded_later() {
    let part = Program::compile("plugin_part", "plugin", &["-fsanitize=thread", "-shared", "-fPIC"]);
    let program = Program::instrumented("plugin", "plugin");
    let path = part.path.to_str().expect("a path in UTF-8");
    for flags in [&["--policy=fifo"][..], &["--policy=random", "--seed=1"]] {
        let (output, recorded) = program.record("plugin", flags, &[path]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let modules = &recorded.tables.modules;
        let part = modules.iter().find(|module| module.path.ends_with("/plugin_part"));
        let part = part.expect("the loaded part is a module");
        let own = |op: &Op| matches!(op, Op::Write { .. });
        let inside = recorded
            .events
            .iter()
            .filter(|event| (part.start..part.end).contains(&event.pc));
        assert!(inside.filter(|event| own(&event.op)).count() >= 21);
    }
}

#[test]
fn a_thousand_threads() {
    let program = Program::instrumented("many", "many");
    for flags in [&["--policy=fifo"][..], &["--policy=random", "--seed=1"]] {
        let (output, recorded) = program.record("many", flags, &[]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(recorded.tables.threads.len(), 1001);
        assert_eq!(count(&recorded, |op| matches!(op, Op::BarrierExit { .. })), 1001);
    }
}

#[test]
fn a_c_library_that_keeps_its_data_elsewhere_is_refused() {
    let kinds = [
        ("BARRIER", "pthread_barrier_t"),
        ("CONDITION", "pthread_cond_t"),
        ("MUTEX", "pthread_mutex_t"),
        ("RWLOCK", "pthread_rwlock_t"),
        ("SEMAPHORE", "sem_t"),
        ("SPIN", "pthread_spinlock_t or pthread_once_t"),
        ("NOTHING", ""),
    ];
    for (differs, name) in kinds {
        let test = format!("other_library_{differs}");
        let define = format!("-D{differs}");
        let library = Program::compile("other_library", &test, &["-shared", "-fPIC", &define]);
        let library = library.path.to_str().unwrap();
        let program = Program::compile(
            "increments",
            &test,
            &["-fsanitize=thread", "-Wl,--no-as-needed", library],
        );
        let (mut witness, trace) = program.recorder(differs, &[], &["adds"]);
        let output = witness.output().expect("witness runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(trace.exists(), name.is_empty(), "{differs}: {output:?}");
        if name.is_empty() {
            continue;
        }
        assert_eq!(output.status.code(), Some(2), "{differs}: {output:?}");
        let runtime = format!("keeps its data elsewhere than the recorder expects: {name}; nothing is recorded");
        assert!(said.contains(&runtime), "{differs}: {said}");
        assert!(
            said.contains("does not know the program's C library"),
            "{differs}: {said}"
        );
    }
}

#[test]
fn another_process_wakes_who_waits_for_what_processes_share() {
    let program = Program::instrumented("processes", "processes");
    for flags in [
        &["--policy=fifo"][..],
        &["--policy=random", "--seed=1"],
        &["--policy=random", "--seed=2"],
    ] {
        let (mut recorder, trace) = program.recorder("processes", flags, &[]);
        let output = recorder.output().expect("witness runs");
        assert_eq!(output.status.code(), Some(0), "{flags:?}: {output:?}");
        let file = TraceFile::open(&trace).expect("a trace");
        let ops: Vec<Op> = file.events().map(|event| event.expect("an event").op).collect();
        // Its own two threads meet five times, with those of the other process.
        let mut rounds: BTreeMap<u32, usize> = BTreeMap::new();
        for op in &ops {
            if let Op::BarrierEnter { round, .. } = op {
                *rounds.entry(*round).or_default() += 1;
            }
        }
        assert_eq!(rounds, (0..5).map(|round| (round, 2)).collect());
        // It waited for its turn, and nobody of its own process notified it.
        let is_wait = |op: &&Op| matches!(op, Op::WaitEnd { outcome, .. } if *outcome == WaitOutcome::TimedOut);
        assert!(ops.iter().filter(is_wait).count() > 0);
    }
}
