//! Standstills: who counts as left, and what waits.

use super::table_tests::{C, L, trace};
use crate::{Checker, NoWait, Rejection};
use schedule_format::{Goal, Schedule, Slice};
use trace_format::{EventId, ObjectId, Op, ThreadId, TraceId, WaitOutcome};

/// No object of the table's: a semaphore without permits at first.
const S: ObjectId = ObjectId(9);
const OTHER: ObjectId = ObjectId(10);

fn take(semaphore: ObjectId) -> Op {
    let attempt = false;
    Op::SemWait { semaphore, attempt }
}

fn post(semaphore: ObjectId) -> Op {
    Op::SemPost { semaphore }
}

/// Whether these are a deadlock after so many events of each thread.
fn waits(events: &[(u32, Op)], slices: &[(u32, u32)], waiting: &[u32]) -> Result<(), NoWait> {
    let slice = |&(thread, events): &(u32, u32)| Slice {
        thread: ThreadId(thread),
        events,
    };
    let schedule = Schedule {
        trace: TraceId([0; 16]),
        first_events: None,
        goal: Goal::deadlock(waiting.iter().copied().map(EventId).collect()),
        as_recorded: 0,
        slices: slices.iter().map(slice).collect(),
        wakes: Vec::new(),
    };
    match Checker::new(&trace(events)).check(&schedule) {
        Ok(_) => Ok(()),
        Err(Rejection::NoWait { why, .. }) => Err(why),
        Err(other) => panic!("{other}"),
    }
}

/// Two threads that each take what the other one posts behind that.
fn crossed() -> Vec<(u32, Op)> {
    vec![
        (0, post(S)),
        (1, take(S)),
        (1, post(OTHER)),
        (0, take(OTHER)),
        (0, post(S)),
        (1, take(S)),
        (0, Op::End),
        (1, Op::End),
    ]
}

#[test]
fn a_wait_for_a_post_lasts_for_ever_only_if_nobody_is_left() {
    // 0 waits for the post of 1, which has not begun.
    let early = waits(&crossed(), &[(0, 1)], &[3]);
    assert_eq!(early, Err(NoWait::AnotherMay(ThreadId(1))));
    // 0 posts two permits and takes one of them back, or posts one and takes it back.
    let left = [
        (0, post(S)),
        (1, take(S)),
        (0, post(S)),
        (0, take(S)),
        (0, Op::End),
        (1, post(S)),
        (1, Op::End),
    ];
    assert_eq!(waits(&left, &[(0, 4)], &[1]), Err(NoWait::Enabled));
    let stuck = [
        (0, post(S)),
        (1, take(S)),
        (1, post(S)),
        (0, take(S)),
        (0, Op::End),
        (1, Op::End),
    ];
    assert_eq!(waits(&stuck, &[(0, 3)], &[1]), Ok(()));
    // Before its end, 0 may still do something.
    assert_eq!(waits(&stuck, &[(0, 2)], &[1]), Err(NoWait::AnotherMay(ThreadId(0))));
}

#[test]
fn the_last_event_ends_no_thread_but_perhaps_the_process() {
    let mut events = vec![
        (0, post(S)),
        (1, take(S)),
        (1, post(S)),
        (1, Op::End),
        (0, take(S)),
        (0, Op::End),
    ];
    assert_eq!(waits(&events, &[(0, 3)], &[1]), Err(NoWait::AnotherMay(ThreadId(0))));
    events.push((2, Op::End));
    let there = waits(&events, &[(0, 3)], &[1]);
    assert_eq!(there, Err(NoWait::AnotherMay(ThreadId(2))));
}

#[test]
fn who_gives_up_does_not_wait_for_ever() {
    let attempt = Op::SemWait {
        semaphore: S,
        attempt: true,
    };
    let events = [
        (0, post(S)),
        (1, attempt),
        (1, post(S)),
        (0, take(S)),
        (0, Op::End),
        (1, Op::End),
    ];
    assert_eq!(waits(&events, &[(0, 3)], &[1]), Err(NoWait::GivesUp));
}

#[test]
fn a_signal_that_comes_before_the_wait_is_lost() {
    let (condition, lock) = (C, L);
    let attempt = false;
    let waiting = |attempt| {
        let end = Op::WaitEnd {
            condition,
            lock,
            outcome: WaitOutcome::Notified,
            attempt,
        };
        vec![
            (0, Op::Acquire { lock, attempt: false }),
            (0, Op::WaitBegin { condition, lock }),
            (1, Op::Notify { condition }),
            (1, Op::End),
            (0, end),
            (0, Op::Release { lock }),
            (0, Op::End),
        ]
    };
    assert_eq!(waits(&waiting(attempt), &[(1, 2), (0, 2)], &[4]), Ok(()));
    let early = waits(&waiting(attempt), &[(1, 1), (0, 2)], &[4]);
    assert_eq!(early, Err(NoWait::AnotherMay(ThreadId(1))));
    // With a limit in time, nothing but its lock keeps it.
    assert_eq!(waits(&waiting(true), &[(1, 2), (0, 2)], &[4]), Err(NoWait::NotForThem));
}
