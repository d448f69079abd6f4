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
    match checked(events, slices, waiting, Goal::deadlock) {
        Ok(()) => Ok(()),
        Err(Rejection::NoWait { why, .. }) => Err(why),
        Err(other) => panic!("{other}"),
    }
}

/// Whether they are a partial one.
fn waits_partly(events: &[(u32, Op)], slices: &[(u32, u32)], waiting: &[u32]) -> Result<(), Rejection> {
    checked(events, slices, waiting, Goal::partial_deadlock)
}

fn checked(
    events: &[(u32, Op)],
    slices: &[(u32, u32)],
    waiting: &[u32],
    goal: fn(Vec<EventId>) -> Goal,
) -> Result<(), Rejection> {
    let slice = |&(thread, events): &(u32, u32)| Slice {
        thread: ThreadId(thread),
        events,
    };
    let schedule = Schedule {
        trace: TraceId([0; 16]),
        first_events: None,
        goal: goal(waiting.iter().copied().map(EventId).collect()),
        as_recorded: 0,
        slices: slices.iter().map(slice).collect(),
        wakes: Vec::new(),
    };
    Checker::new(&trace(events)).check(&schedule).map(drop)
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

/// The two threads of a nested monitor, and a third one that does something else at the same time: the first holds `L`
/// and waits for a post, and the second needs `L` before it posts.
fn nested(other: &[Op]) -> Vec<(u32, Op)> {
    let lock = L;
    let attempt = false;
    let mut events = vec![
        (1, Op::Acquire { lock, attempt }),
        (1, Op::Release { lock }),
        (1, post(S)),
        (0, Op::Acquire { lock, attempt }),
        (0, take(S)),
        (0, Op::Release { lock }),
        (0, Op::End),
        (1, Op::End),
    ];
    events.extend(other.iter().map(|&op| (2, op)));
    events
}

/// The operations of the two that wait once the first has the lock.
const NESTED: [u32; 2] = [4, 0];

fn another(thread: u32, event: u32) -> Result<(), Rejection> {
    Err(Rejection::NoWait {
        event: EventId(event),
        why: NoWait::AnotherMay(ThreadId(thread)),
    })
}

#[test]
fn who_never_gives_it_may_go_on_beside_a_partial_deadlock() {
    let idle = nested(&[post(OTHER), post(OTHER)]);
    for done in [0, 1, 2] {
        let slices = [(0, 1), (2, done)];
        let slices = &slices[..1 + usize::from(done > 0)];
        assert_eq!(waits_partly(&idle, slices, &NESTED), Ok(()), "{done}");
        assert!(matches!(
            checked(&idle, slices, &NESTED, Goal::deadlock),
            Err(Rejection::NoWait { .. })
        ));
    }
    // One of the two alone is none: the other one may do something.
    assert_eq!(waits_partly(&idle, &[(0, 1)], &[4]), another(1, 4));
}

#[test]
fn who_gives_it_somewhere_in_the_trace_may_do_so_again() {
    let posts = nested(&[post(S), take(S), post(OTHER), Op::End]);
    for done in [0, 2] {
        let slices = [(2, done), (0, 1)];
        let slices = &slices[usize::from(done == 0)..];
        assert_eq!(waits_partly(&posts, slices, &NESTED), another(2, 4), "{done}");
    }
    // Nothing but its end is left.
    assert_eq!(waits_partly(&posts, &[(2, 3), (0, 1)], &NESTED), Ok(()));
}

#[test]
fn a_thread_comes_unless_it_is_forked_by_those_that_wait() {
    let child = ThreadId(3);
    let by = |thread: u32| {
        let mut events = nested(&[post(OTHER), post(OTHER)]);
        events.insert(if thread == 2 { 8 } else { 6 }, (thread, Op::Fork { child }));
        events.extend([(3, post(S)), (3, Op::End)]);
        events
    };
    assert_eq!(waits_partly(&by(2), &[(0, 1)], &NESTED), another(3, 4));
    assert_eq!(waits_partly(&by(0), &[(0, 1)], &NESTED), Ok(()));
}

#[test]
fn each_way_to_give_counts() {
    let (condition, lock, barrier, once) = (C, L, OTHER, S);
    let attempt = false;
    let end = Op::WaitEnd {
        condition,
        lock: ObjectId(8),
        outcome: WaitOutcome::Notified,
        attempt,
    };
    let (held, begin) = (
        Op::Acquire {
            lock: ObjectId(8),
            attempt,
        },
        Op::WaitBegin {
            condition,
            lock: ObjectId(8),
        },
    );
    let notify = |other: Op| {
        vec![
            (1, Op::Acquire { lock, attempt }),
            (1, Op::Release { lock }),
            (0, Op::Acquire { lock, attempt }),
            (0, held),
            (0, begin),
            (1, Op::NotifyAll { condition }),
            (0, end),
            (2, other),
            (2, post(ObjectId(7))),
        ]
    };
    let waiting = [6, 0];
    assert_eq!(waits_partly(&notify(post(S)), &[(0, 3)], &waiting), Ok(()));
    for given in [Op::Notify { condition }, Op::NotifyAll { condition }] {
        assert_eq!(waits_partly(&notify(given), &[(0, 3)], &waiting), another(2, 6));
    }
    let at_barrier = |other: Op| {
        let enter = Op::BarrierEnter { barrier, round: 0 };
        let exit = Op::BarrierExit {
            barrier,
            round: 0,
            attempt,
        };
        vec![
            (1, Op::Acquire { lock, attempt }),
            (1, Op::Release { lock }),
            (0, Op::Acquire { lock, attempt }),
            (0, enter),
            (1, enter),
            (2, other),
            (0, exit),
            (2, post(ObjectId(7))),
        ]
    };
    assert_eq!(waits_partly(&at_barrier(post(S)), &[(0, 2)], &waiting), Ok(()));
    for round in [0, 1] {
        let arrives = at_barrier(Op::BarrierEnter { barrier, round });
        assert_eq!(waits_partly(&arrives, &[(0, 2)], &waiting), another(2, 6), "{round}");
    }
    let initialized = |other: Op| {
        vec![
            (0, Op::Acquire { lock, attempt }),
            (0, Op::Release { lock }),
            (0, Op::OnceBegin { once }),
            (0, Op::Acquire { lock, attempt }),
            (0, Op::Release { lock }),
            (0, Op::OnceEnd { once }),
            (1, Op::Acquire { lock, attempt }),
            (1, Op::OnceWait { once }),
            (2, other),
            (2, post(ObjectId(7))),
        ]
    };
    let slices = [(0, 3), (1, 1)];
    assert_eq!(waits_partly(&initialized(post(OTHER)), &slices, &[3, 7]), Ok(()));
    assert_eq!(
        waits_partly(&initialized(Op::OnceEnd { once }), &slices, &[3, 7]),
        another(2, 7)
    );
}

#[test]
fn threads_that_wait_for_notifies_alone_may_have_nothing_to_do() {
    let (condition, lock) = (C, L);
    let attempt = false;
    let events = [
        (0, Op::Acquire { lock, attempt }),
        (0, Op::WaitBegin { condition, lock }),
        (1, Op::Notify { condition }),
        (
            0,
            Op::WaitEnd {
                condition,
                lock,
                outcome: WaitOutcome::Notified,
                attempt,
            },
        ),
        (0, Op::End),
        (1, post(OTHER)),
        (
            2,
            Op::Join {
                child: ThreadId(0),
                attempt,
            },
        ),
        (2, Op::End),
        (1, Op::End),
    ];
    let lost = [(1, 2), (0, 2)];
    assert_eq!(waits_partly(&events, &lost, &[3]), Err(Rejection::NobodyNeeded));
    // Somebody waits for it.
    assert_eq!(waits_partly(&events, &lost, &[3, 6]), Ok(()));
}

#[test]
fn a_wait_that_needs_its_lock_again_is_not_for_a_notify_alone() {
    let (other_condition, other_lock) = (ObjectId(7), ObjectId(8));
    let attempt = false;
    let end = |condition, lock| Op::WaitEnd {
        condition,
        lock,
        outcome: WaitOutcome::Notified,
        attempt,
    };
    let events = [
        (0, Op::Acquire { lock: L, attempt }),
        (0, Op::WaitBegin { condition: C, lock: L }),
        (
            1,
            Op::Acquire {
                lock: other_lock,
                attempt,
            },
        ),
        (1, Op::Acquire { lock: L, attempt }),
        (
            1,
            Op::WaitBegin {
                condition: other_condition,
                lock: other_lock,
            },
        ),
        (
            2,
            Op::Notify {
                condition: other_condition,
            },
        ),
        (2, Op::Notify { condition: C }),
        (1, end(other_condition, other_lock)),
        (1, Op::Release { lock: L }),
        (0, end(C, L)),
        (2, Op::End),
        (3, post(OTHER)),
    ];
    let slices = [(2, 2), (0, 2), (1, 3)];
    assert_eq!(waits_partly(&events, &slices, &[7, 9]), Ok(()));
    // Without the lock in the way, nobody is needed.
    let slices = [(2, 2), (0, 2)];
    assert_eq!(waits_partly(&events, &slices, &[9]), Err(Rejection::NobodyNeeded));
}

#[test]
fn where_nobody_is_left_it_is_a_standstill() {
    let two = &nested(&[])[..];
    assert_eq!(waits(two, &[(0, 1)], &NESTED), Ok(()));
    assert_eq!(waits_partly(two, &[(0, 1)], &NESTED), Err(Rejection::NobodyLeft));
    let ended = nested(&[post(OTHER), Op::End]);
    assert_eq!(
        waits_partly(&ended, &[(2, 1), (0, 1)], &NESTED),
        Ok(()),
        "the last event of all may end the process"
    );
}
