//! Which thread runs when: every thread gets its chance, at every access.

use crate::program::Program;
use crate::replay::Recorded;
use std::collections::{BTreeMap, BTreeSet};
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
fn threads_run_before_the_end_also_if_nobody_could_run_for_a_while() {
    let program = Program::instrumented("unjoined_after_a_call", "unjoined_after_a_call");
    for policy in [&["--policy=fifo"][..], &["--policy=random", "--seed=1"]] {
        let (output, recorded) = program.record("after_a_call", policy, &[]);
        assert_eq!(output.status.code(), Some(0), "{policy:?}: {output:?}");
        assert_eq!(accesses_of(&recorded, 1), 1, "{policy:?}");
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

/// The exit statuses of a run for each seed.
fn statuses(program: &Program, policy: &str, how: &str, seeds: u32) -> BTreeMap<Option<i32>, u32> {
    let mut statuses = BTreeMap::new();
    for seed in 1..=seeds {
        let flags = [&format!("--policy={policy}")[..], &format!("--seed={seed}")];
        let (output, _) = program.record(&format!("{policy}_{how}"), &flags, &[how]);
        *statuses.entry(output.status.code()).or_default() += 1;
    }
    statuses
}

#[test]
fn a_thread_is_preempted_before_every_kind_of_access() {
    let program = Program::compile("increments", "increments", &["-fsanitize=thread", "-O0"]);
    for how in ["adds", "stores", "publishes", "copies"] {
        let seen = statuses(&program, "random", how, 60);
        // Both what is seen if nobody comes between, and what is if somebody does.
        let wanted: &[_] = if how == "adds" {
            &[Some(1), Some(2)]
        } else {
            &[Some(0), Some(1)]
        };
        assert_eq!(seen.keys().copied().collect::<Vec<_>>(), wanted, "{how}");
    }
}

#[test]
fn an_update_is_lost_under_each_random_policy_also_around_a_sleep() {
    let program = Program::compile("increments", "increments_often", &["-fsanitize=thread", "-O0"]);
    for policy in ["random", "pct", "pos"] {
        let adds = statuses(&program, policy, "adds", 60);
        assert_eq!(adds.keys().copied().collect::<Vec<_>>(), [Some(1), Some(2)], "{policy}");
        // Asleep with the old value, it wakes before the other one has begun, while it adds, or after.
        let sleeps = statuses(&program, policy, "oversleeps", 30);
        assert_eq!(
            sleeps.keys().copied().collect::<Vec<_>>(),
            [Some(1), Some(2)],
            "{policy}"
        );
    }
}

#[test]
fn seeds_of_a_short_program_differ_and_each_repeats() {
    let program = Program::compile("increments", "increments_differ", &["-fsanitize=thread", "-O0"]);
    for (policy, at_least) in [("random", 6), ("pct", 3), ("pos", 8)] {
        let order = |seed: u32| {
            let flags = [&format!("--policy={policy}")[..], &format!("--seed={seed}")];
            let (_, recorded) = program.record(policy, &flags, &["adds"]);
            let threads = recorded.events.iter().map(|event| event.thread.0);
            threads.collect::<Vec<_>>()
        };
        let orders: Vec<_> = (1..=16).map(order).collect();
        assert_eq!(orders[4], order(5), "{policy}");
        let different: BTreeSet<_> = orders.iter().collect();
        assert!(different.len() >= at_least, "{policy}: {}", different.len());
    }
}

#[test]
fn a_thread_that_waits_for_a_plain_flag_rests() {
    // Ten million and more otherwise. Rests take at least as long as they are meant to, so a slow machine records less.
    const MOST: usize = 5_000_000;
    let program = Program::instrumented("spins", "spins");
    let (output, recorded) = program.record("fifo", &[], &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(recorded.events.len() < MOST, "{}", recorded.events.len());
}

#[test]
fn threads_that_hand_over_to_each_other_in_loops_do_not_wait_for_the_end_of_a_turn() {
    // 530 million if each wait lasted as long as a turn may.
    const MOST: usize = 5_000_000;
    let program = Program::instrumented("hands_over", "hands_over");
    for policy in ["fifo", "pct"] {
        let flags = ["--policy", policy, "--seed", "1", "--max-events", "10000000"];
        let (output, recorded) = program.record(policy, &flags, &[]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(recorded.events.len() < MOST, "{policy}: {}", recorded.events.len());
    }
}

#[test]
fn a_thread_that_holds_a_lock_whenever_its_turn_ends_lets_others_have_it() {
    // A turn, and what comes before the loop is looked at.
    const MOST: usize = 1_000_000;
    let program = Program::instrumented("keeps_lock", "keeps_lock");
    let more = ["more"; 6];
    for count in 0..more.len() {
        let flags = ["--policy", "fifo", "--max-events", "3000000"];
        let (output, recorded) = program.record(&format!("keeps_{count}"), &flags, &more[..count]);
        assert_eq!(output.status.code(), Some(0), "{count}: {output:?}");
        assert!(recorded.events.len() < MOST, "{count}: {}", recorded.events.len());
    }
}

#[test]
fn a_thread_that_sleeps_until_somebody_outside_answers_is_not_woken_all_the_time() {
    let program = Program::instrumented("polls_asleep", "polls_asleep");
    for policy in ["random", "pct", "pos", "fifo"] {
        let (output, recorded) = program.record(policy, &["--policy", policy], &[]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        // Tens of thousands if each sleep is over at once.
        assert!(recorded.events.len() < 1_000, "{policy}: {}", recorded.events.len());
    }
}

#[test]
fn a_thread_that_comes_to_no_hook_loses_its_turn() {
    for (optimized, policy) in [("-O0", "fifo"), ("-O2", "random")] {
        let flags = ["-fsanitize=thread", optimized];
        let program = Program::compile("spinning", &format!("spinning{optimized}"), &flags);
        // That values are explained shows that each store was done when the thread was stopped.
        let (output, recorded) = program.record(policy, &["--policy", policy], &[]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let writes = recorded.events.iter().filter(|event| event.thread == ThreadId(1));
        let values = writes.filter_map(|event| match event.op {
            Op::Write { value, .. } => Some(value),
            _ => None,
        });
        assert_eq!(values.collect::<Vec<_>>(), [10, 1, 7], "{policy}");
    }
}
