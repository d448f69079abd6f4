//! Which thread runs when: every thread gets its chance, at every access.

use crate::program::Program;
use crate::replay::Recorded;
use std::collections::BTreeSet;
use trace_format::{Op, ThreadId};

/// Accesses of a thread.
fn accesses_of(recorded: &Recorded, thread: u32) -> usize {
    let own = recorded.events.iter().filter(|event| event.thread == ThreadId(thread));
    own.filter(|event| matches!(event.op, Op::Read { .. } | Op::Write { .. }))
        .count()
}

#[test]
fn threads_that_nobody_waits_for_run_before_the_process_ends() {
    let program = Program::instrumented("unjoined", "unjoined");
    for how in ["return", "exit", "quick_exit", "_exit"] {
        for policy in [
            &["--policy=fifo"][..],
            &["--policy=random", "--seed=1"],
            &["--policy=pct"],
        ] {
            let (output, recorded) = program.record(how, policy, &[how]);
            assert_eq!(output.status.code(), Some(3), "{how} {policy:?}: {output:?}");
            assert_eq!(accesses_of(&recorded, 1), 100, "{how} {policy:?}");
            assert_eq!(accesses_of(&recorded, 2), 1, "{how} {policy:?}");
        }
    }
}

#[test]
fn a_thread_that_never_ends_does_not_keep_the_process() {
    let program = Program::instrumented("unjoined", "unjoined_for_ever");
    let (output, recorded) = program.record("for_ever", &[], &["return", "loops"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert_eq!((accesses_of(&recorded, 1), accesses_of(&recorded, 2)), (100, 1));
    assert!((100_000..2_000_000).contains(&accesses_of(&recorded, 4)));
}

#[test]
fn a_thread_is_preempted_before_every_kind_of_access() {
    let program = Program::compile("increments", "increments", &["-fsanitize=thread", "-O0"]);
    for how in ["adds", "stores", "publishes", "copies"] {
        let run = |seed: u32| {
            let (seed, flags) = (seed.to_string(), ["--policy=random", "--seed"]);
            let (output, _) = program.record(how, &[flags[0], flags[1], &seed], &[how]);
            output.status.code()
        };
        let seen: BTreeSet<_> = (1..=60).map(run).collect();
        // Both what is seen if nobody comes between, and what is if somebody does.
        let wanted: &[_] = if how == "adds" {
            &[Some(1), Some(2)]
        } else {
            &[Some(0), Some(1)]
        };
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), wanted, "{how}");
    }
}
