//! What threads show of themselves, before operations that others can tell.

use crate::program::Program;
use std::path::Path;
use witness::session::plan::kind;
use witness::session::{Bounds, Launch, Ran, Session, Settings, Step};
use witness::trace::{ThreadId, Trace};

const CLOCKS_STAND_AT: u64 = 1_767_225_600_000_000_000;

fn run(words: u32) -> (Ran, Trace) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session/programs/kept_in_a_register.c");
    let program = Program::compile(&format!("session-pictures-{words}"), &source, &["-O2".to_owned()]);
    let launch = Launch {
        output: false,
        ..Launch::here(program.file().into(), Vec::new())
    };
    let mut session = Session::new(&launch, Bounds::default()).unwrap();
    let settings = Settings {
        clocks_stand_at: CLOCKS_STAND_AT,
        pictures: words,
        ..Settings::fifo()
    };
    let ran = session.run(&[], settings).unwrap();
    let trace = Trace::from_file(&ran.trace().unwrap()).unwrap();
    (ran, trace)
}

#[test]
fn a_thread_shows_its_registers_and_its_stack_before_what_others_can_tell() {
    let (ran, trace) = run(32);
    for (kind, what) in [(kind::ATOMIC_RMW, "an atomic operation"), (kind::ACQUIRE, "a lock")] {
        let own = trace.program_order(ThreadId(1));
        let mut own = own.filter(|&event| Step::of(&trace, event, None).kind == kind);
        let event = own.next().expect("the thread does that");
        let mut shown = ran.pictures.iter().filter(|picture| {
            // A lock's memory is used before it is taken.
            let before = picture.before..=picture.before + 1;
            picture.thread == ThreadId(1) && before.contains(&(event.0 as u64))
        });
        let words = &shown
            .next_back()
            .unwrap_or_else(|| panic!("nothing before {what}"))
            .words;
        assert_eq!(words[0], trace.pc(event), "where {what} returns to");
        let (registers, stack) = words[2..].split_at(6);
        assert!(registers.contains(&0x4e915), "before {what}: {registers:x?}");
        assert!(
            stack.contains(&0x5ac5) && stack.len() == 32,
            "before {what}: {stack:x?}"
        );
    }
}

#[test]
fn who_is_not_asked_shows_nothing() {
    assert_eq!(run(0).0.pictures, []);
}
