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
