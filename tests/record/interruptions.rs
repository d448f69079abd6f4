//! What comes in between: signal handlers, cancellation, threads that end while they hold locks.

use crate::count;
use crate::program::Program;
use trace_format::{Op, WaitOutcome};

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
