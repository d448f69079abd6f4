//! Objects that other processes could share, code that is loaded while the program runs, and many threads.

use crate::count;
use crate::program::Program;
use trace_format::{ObjectKind, Op};

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
