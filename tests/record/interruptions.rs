//! What comes in between: signal handlers, cancellation, threads that end while they hold locks.

use crate::count;
use crate::program::Program;
use std::collections::HashMap;
use trace_format::{Op, ThreadId, WaitOutcome};

#[test]
fn signal_handlers_run_between_two_accesses() {
    for recorded in Program::instrumented("signals", "signal-handlers").record_often() {
        assert!(
            recorded.tables.meta.degraded.is_empty(),
            "{:?}",
            recorded.tables.meta.degraded
        );
        // The handler that runs often writes 64 numbers and twice as many sums each time.
        assert!(count(&recorded, |op| matches!(op, Op::Write { .. })) >= 20 * 128);
    }
}

#[test]
fn signals_that_come_on_the_way_into_a_wait_are_handled_in_it() {
    const ROUNDS: usize = 300;
    for recorded in Program::instrumented("arrivals", "arrivals").record_often() {
        // Of the handlers: one each time; and the second waiter's.
        assert_eq!(count(&recorded, |op| matches!(op, Op::SemPost { .. })), 3 * ROUNDS);
        assert!(recorded.tables.meta.degraded.is_empty());
    }
}

#[test]
fn waits_for_channels_end_as_the_calls_would() {
    for recorded in Program::instrumented("interrupted_calls", "interrupted-calls").record_often() {
        assert!(recorded.tables.meta.degraded.is_empty());
    }
}

#[test]
fn handlers_that_run_late_say_where_the_program_goes_on() {
    for recorded in Program::instrumented("contexts", "contexts").record_often() {
        // The program goes on in another function, six times, and neither side of that is lost.
        let adds = |op: &Op| matches!(op, Op::Write { value, mem } if mem.size == 8 && *value == 6);
        assert!(count(&recorded, adds) >= 2);
        assert_eq!(count(&recorded, |op| matches!(op, Op::Join { .. })), 5);
    }
}

#[test]
fn handlers_are_recorded_however_they_were_set() {
    const KINDS: u64 = 6;
    for recorded in Program::instrumented("handlers", "handlers").record_often() {
        for kind in 1..=KINDS {
            let writes = |op: &Op| matches!(op, Op::Write { value, mem } if mem.size == 4 && *value == 0x7700 + kind);
            assert_eq!(count(&recorded, writes), 1, "{kind}");
        }
        assert!(recorded.tables.meta.degraded.is_empty());
    }
}

#[test]
fn no_handler_runs_where_a_thread_has_ended() {
    const ROUNDS: u64 = 20;
    for recorded in Program::instrumented("last_signals", "last-signals").record_often() {
        for round in 1..=ROUNDS {
            let writes = |op: &Op| matches!(op, Op::Write { value, mem } if mem.size == 4 && *value == round);
            assert!(count(&recorded, writes) >= 1, "{round}");
        }
        assert!(recorded.tables.meta.degraded.is_empty());
    }
}

#[test]
fn threads_that_are_cancelled_anywhere_end_between_two_accesses() {
    const ROUNDS: usize = 5;
    const KINDS: usize = 9;
    for recorded in Program::instrumented("asynchronous", "asynchronous").record_often() {
        assert_eq!(count(&recorded, |op| matches!(op, Op::End)), ROUNDS * KINDS + 1);
        // Each has run its cleanup under the lock; one had it once more, and main has two that others wait for.
        let taken = count(&recorded, |op| matches!(op, Op::Acquire { .. }));
        assert_eq!(taken, ROUNDS * (KINDS + 1) + 2);
        assert!(recorded.tables.meta.degraded.is_empty());
    }
}

#[test]
fn cancelled_threads_run_their_cleanup_and_end() {
    for recorded in Program::instrumented("cancel", "cancel").record_often() {
        assert_eq!(count(&recorded, |op| matches!(op, Op::End)), 7);
        assert_eq!(count(&recorded, |op| matches!(op, Op::Join { .. })), 6);
        let by_itself = WaitOutcome::TimedOut;
        assert_eq!(
            count(
                &recorded,
                |op| matches!(op, Op::WaitEnd { outcome, .. } if *outcome == by_itself)
            ),
            1
        );
    }
}

#[test]
fn robust_mutexes_pass_to_the_next_owner() {
    for recorded in Program::instrumented("robust", "robust").record_often() {
        let taken = count(&recorded, |op| matches!(op, Op::Acquire { .. }));
        assert_eq!(taken, count(&recorded, |op| matches!(op, Op::Release { .. })));
        assert!(taken >= 6);
    }
}

#[test]
fn another_thread_may_give_a_lock_back() {
    for recorded in Program::instrumented("unlock", "unlock").record_often() {
        assert_eq!(count(&recorded, |op| matches!(op, Op::Release { .. })), 2);
    }
}

#[test]
fn handlers_run_within_waits_and_wait_themselves() {
    for recorded in Program::instrumented("waits", "handlers-in-waits").record_often() {
        // Both partners wait when the handler comes, each time; its own wait ends by itself.
        let mut waits: HashMap<ThreadId, usize> = HashMap::new();
        let mut nested = 0;
        for event in &recorded.events {
            let depth = waits.entry(event.thread).or_default();
            match event.op {
                Op::WaitBegin { .. } => *depth += 1,
                Op::WaitEnd { outcome, .. } => {
                    nested += usize::from(*depth == 2 && outcome == WaitOutcome::TimedOut);
                    *depth -= 1;
                }
                _ => {}
            }
        }
        assert_eq!(nested, 4);
    }
}

#[test]
fn what_a_thread_blocks_waits_although_it_was_put_off() {
    for recorded in Program::instrumented("masks", "masks").record_often() {
        assert!(recorded.tables.meta.degraded.is_empty());
    }
}

#[test]
fn a_signal_put_off_before_the_baton_is_taken_is_handled_in_the_call() {
    for recorded in Program::instrumented("put_off", "put-off").record_often() {
        assert_eq!(count(&recorded, |op| matches!(op, Op::End)), 2);
    }
}
