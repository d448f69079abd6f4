//! One test per row of the table in `docs/SEMANTICS.md`, section 1: an order in which the event is
//! enabled, and one in which it is not.

use crate::{Checker, Disabled, Events};
use trace_format::{
    Event, EventId, MemRange, MemoryOrder, ObjectId, ObjectInfo, ObjectKind, Op, StackId, Tables, ThreadId, TraceId,
    WaitOutcome,
};

pub(super) const X: MemRange = MemRange { addr: 0x1000, size: 4 };
pub(super) const L: ObjectId = ObjectId(0);
pub(super) const C: ObjectId = ObjectId(1);
const ORDER: MemoryOrder = MemoryOrder::SeqCst;

pub(super) fn event(thread: u32, op: Op) -> Event {
    let (pc, stack) = (0, StackId::EMPTY);
    let thread = ThreadId(thread);
    Event { thread, pc, stack, op }
}

pub(super) fn trace(ops: &[(u32, Op)]) -> Events {
    trace_with(Tables::default(), ops)
}

pub(super) fn trace_with(tables: Tables, ops: &[(u32, Op)]) -> Events {
    let events: Vec<Event> = ops.iter().map(|&(thread, op)| event(thread, op)).collect();
    Events::new(TraceId([0; 16]), tables, events)
}

/// Executes events in the given order; all but the last must be enabled. `wakes` maps notifies to
/// the thread that each wakes.
fn last_of(trace: &Events, order: &[u32], wakes: &[(u32, u32)]) -> Result<(), Disabled> {
    let checker = Checker::new(trace);
    let mut state = checker.start();
    let (last, before) = order.split_last().expect("an order");
    let mut step = |number: u32| {
        let woken = wakes.iter().find(|(notify, _)| *notify == number);
        let woken = woken.map(|&(_, thread)| ThreadId(thread));
        state.step(EventId(number), woken).map_err(|violation| violation.why)
    };
    for &number in before {
        step(number).unwrap_or_else(|why| panic!("event {number}: {why}"));
    }
    step(*last).map(|_| ())
}

fn enabled(trace: &Events, order: &[u32]) {
    assert_eq!(last_of(trace, order, &[]), Ok(()));
}

fn disabled(trace: &Events, order: &[u32]) -> Disabled {
    last_of(trace, order, &[]).expect_err("the last event must not be enabled")
}

pub(super) fn read(value: u64) -> Op {
    Op::Read { mem: X, value }
}

pub(super) fn write(value: u64) -> Op {
    Op::Write { mem: X, value }
}

const ACQUIRE: Op = Op::Acquire {
    lock: L,
    attempt: false,
};
const SHARED: Op = Op::AcquireShared {
    lock: L,
    attempt: false,
};
const RELEASE: Op = Op::Release { lock: L };
const WAIT: Op = Op::WaitBegin { condition: C, lock: L };
const NOTIFY: Op = Op::Notify { condition: C };

fn wait_end(outcome: WaitOutcome) -> Op {
    Op::WaitEnd {
        condition: C,
        lock: L,
        outcome,
        attempt: false,
    }
}

#[test]
fn program_order() {
    let trace = trace(&[(0, write(1)), (0, write(2))]);
    enabled(&trace, &[0, 1]);
    let next = Some(EventId(0));
    assert_eq!(disabled(&trace, &[1]), Disabled::NotNext { next });
}

#[test]
fn begin_after_fork() {
    let fork = Op::Fork { child: ThreadId(1) };
    let forked = trace(&[(0, fork), (1, Op::Begin), (1, write(1))]);
    enabled(&forked, &[0, 1]);
    let fork_event = EventId(0);
    assert_eq!(disabled(&forked, &[1]), Disabled::NotForked { fork: fork_event });

    // A thread that nobody created is alive from the start.
    enabled(&trace(&[(0, write(1)), (1, Op::Begin)]), &[1]);
    // Without a `Begin`, its first event takes that part.
    let bare = trace(&[(0, fork), (1, write(1))]);
    assert_eq!(disabled(&bare, &[1]), Disabled::NotForked { fork: fork_event });
}

#[test]
fn a_thread_begins_ends_and_is_created_once() {
    assert_eq!(
        disabled(&trace(&[(0, write(1)), (0, Op::Begin)]), &[0, 1]),
        Disabled::BegunTwice
    );
    assert_eq!(
        disabled(&trace(&[(0, Op::End), (0, write(1))]), &[0, 1]),
        Disabled::AfterEnd
    );
    let fork = Op::Fork { child: ThreadId(1) };
    let twice = disabled(&trace(&[(0, fork), (0, fork)]), &[0, 1]);
    let (child, by) = (ThreadId(1), EventId(0));
    assert_eq!(twice, Disabled::ForkedTwice { child, by });
}

#[test]
fn join_after_end() {
    let child = ThreadId(1);
    let trace = trace(&[
        (0, Op::Fork { child }),
        (1, Op::Begin),
        (1, Op::End),
        (0, Op::Join { child, attempt: false }),
    ]);
    enabled(&trace, &[0, 1, 2, 3]);
    assert_eq!(disabled(&trace, &[0, 1, 3]), Disabled::NotEnded { child });
}

#[test]
fn join_of_a_thread_whose_end_is_not_recorded() {
    let child = ThreadId(1);
    let without_end = trace(&[(1, write(1)), (0, Op::Join { child, attempt: false })]);
    enabled(&without_end, &[0, 1]);
    assert_eq!(disabled(&without_end, &[1]), Disabled::NotEnded { child });

    let without_events = trace(&[
        (0, Op::Fork { child }),
        (1, Op::Branch),
        (
            2,
            Op::Join {
                child: ThreadId(3),
                attempt: false,
            },
        ),
    ]);
    enabled(&without_events, &[2]);
}

#[test]
fn read_sees_the_last_write() {
    let trace = trace(&[(0, write(1)), (1, read(1)), (0, write(2))]);
    enabled(&trace, &[0, 1]);
    let other = Disabled::OtherValue {
        addr: X.addr,
        size: X.size,
        expected: 1,
        found: Some(2),
    };
    assert_eq!(disabled(&trace, &[0, 2, 1]), other);
}

#[test]
fn read_sees_the_initial_value() {
    let first_reads = trace(&[(0, read(7)), (1, write(8))]);
    enabled(&first_reads, &[0]);
    assert!(matches!(
        disabled(&first_reads, &[1, 0]),
        Disabled::OtherValue { found: Some(8), .. }
    ));
    // π does not show what was there before the write, so no read can rely on it.
    let first_writes = trace(&[(0, write(7)), (1, read(7))]);
    assert!(matches!(
        disabled(&first_writes, &[1]),
        Disabled::OtherValue { found: None, .. }
    ));
}

#[test]
fn what_a_thread_that_strayed_has_written_explains_no_read() {
    let mut tables = Tables::default();
    tables.meta.control_flow_recorded = true;
    let other = MemRange {
        addr: X.addr + 64,
        size: 4,
    };
    let trace = trace_with(
        tables,
        &[
            (0, write(1)),
            (1, read(1)),
            (1, Op::Write { mem: other, value: 5 }),
            (0, Op::Read { mem: other, value: 5 }),
            (0, Op::Branch),
        ],
    );
    enabled(&trace, &[0, 1, 2, 3, 4]);
    // Thread 1 reads before there is anything to see, so nobody knows what it writes, nor what depends on that.
    assert_eq!(
        disabled(&trace, &[1, 2, 0, 3, 4]),
        Disabled::Strayed { read: EventId(3) }
    );
}

#[test]
fn values_are_compared_byte_by_byte() {
    let low = MemRange { addr: X.addr, size: 2 };
    let high = MemRange {
        addr: X.addr + 2,
        size: 2,
    };
    let trace = trace(&[
        (
            0,
            Op::Write {
                mem: low,
                value: 0x1111,
            },
        ),
        (
            1,
            Op::Write {
                mem: high,
                value: 0x2222,
            },
        ),
        (2, read(0x2222_1111)),
        (
            0,
            Op::Write {
                mem: low,
                value: 0x3333,
            },
        ),
        (
            1,
            Op::Write {
                mem: high,
                value: 0x4444,
            },
        ),
    ]);
    enabled(&trace, &[0, 1, 2]);
    let other = |found| Disabled::OtherValue {
        addr: X.addr,
        size: X.size,
        expected: 0x2222_1111,
        found,
    };
    assert_eq!(disabled(&trace, &[0, 3, 1, 2]), other(Some(0x2222_3333)));
    assert_eq!(disabled(&trace, &[0, 1, 4, 2]), other(Some(0x4444_1111)));
    assert_eq!(disabled(&trace, &[0, 2]), other(None));
}

#[test]
fn acquire_needs_a_free_lock() {
    let trace = trace(&[(0, ACQUIRE), (0, RELEASE), (1, ACQUIRE), (1, RELEASE)]);
    enabled(&trace, &[0, 1, 2]);
    enabled(&trace, &[2, 3, 0]);
    let (lock, by) = (L, ThreadId(0));
    assert_eq!(disabled(&trace, &[0, 2]), Disabled::Held { lock, by });
}

#[test]
fn a_recursive_lock_is_free_at_depth_zero() {
    let trace = trace(&[(0, ACQUIRE), (0, ACQUIRE), (0, RELEASE), (0, RELEASE), (1, ACQUIRE)]);
    enabled(&trace, &[0, 1, 2, 3, 4]);
    let (lock, by) = (L, ThreadId(0));
    assert_eq!(disabled(&trace, &[0, 1, 2, 4]), Disabled::Held { lock, by });
}

#[test]
fn readers_share_and_exclude_a_writer() {
    let trace = trace(&[
        (0, SHARED),
        (1, SHARED),
        (0, RELEASE),
        (1, RELEASE),
        (2, ACQUIRE),
        (2, RELEASE),
    ]);
    enabled(&trace, &[0, 1, 2, 3, 4]);
    let lock = L;
    let by = ThreadId(1);
    assert_eq!(disabled(&trace, &[0, 1, 2, 4]), Disabled::HeldShared { lock, by });
    let by = ThreadId(2);
    assert_eq!(disabled(&trace, &[4, 0]), Disabled::Held { lock, by });
}

#[test]
fn release_by_the_holder_only() {
    let ops = [(0, ACQUIRE), (0, RELEASE), (1, RELEASE)];
    let lock = L;
    let held = Disabled::NotHeld {
        lock,
        by: Some(ThreadId(0)),
    };
    assert_eq!(disabled(&trace(&ops), &[0, 2]), held);
    assert_eq!(disabled(&trace(&ops), &[0, 1, 2]), Disabled::NotHeld { lock, by: None });

    let mut tables = Tables::default();
    tables.meta.foreign_unlock = true;
    let foreign = trace_with(tables, &ops);
    enabled(&foreign, &[0, 2]);
    assert_eq!(disabled(&foreign, &[0, 1, 2]), Disabled::NotHeld { lock, by: None });
}

#[test]
fn a_lock_given_back_before_anyone_took_it_was_held_from_the_start() {
    let trace = trace(&[(0, RELEASE), (1, ACQUIRE), (1, RELEASE)]);
    enabled(&trace, &[0, 1]);
    let (lock, by) = (L, ThreadId(0));
    assert_eq!(disabled(&trace, &[1]), Disabled::Held { lock, by });
}

#[test]
fn a_reader_from_the_start_shares_with_readers() {
    let trace = trace(&[(0, SHARED), (1, RELEASE), (0, RELEASE), (2, ACQUIRE)]);
    enabled(&trace, &[0, 2, 1, 3]);
    let (lock, by) = (L, ThreadId(1));
    assert_eq!(disabled(&trace, &[0, 2, 3]), Disabled::HeldShared { lock, by });
}

#[test]
fn a_failed_attempt_needs_a_holder_in_its_way() {
    let failed = |shared| Op::AcquireFailed { lock: L, shared };
    let exclusive = trace(&[(0, ACQUIRE), (1, failed(false)), (2, failed(true)), (0, RELEASE)]);
    let lock = L;
    enabled(&exclusive, &[0, 1]);
    enabled(&exclusive, &[0, 2]);
    assert_eq!(disabled(&exclusive, &[1]), Disabled::WouldSucceed { lock });
    assert_eq!(disabled(&exclusive, &[0, 3, 1]), Disabled::WouldSucceed { lock });

    let shared = trace(&[(0, SHARED), (1, failed(false)), (2, failed(true)), (0, failed(false))]);
    enabled(&shared, &[0, 1]);
    assert_eq!(disabled(&shared, &[0, 2]), Disabled::WouldSucceed { lock });
    // A reader that tries to write finds its own hold in the way.
    enabled(&shared, &[0, 3]);
}

/// Thread 1 waits from event 1 to 5; thread 2 notifies while it holds the lock (2 to 4).
fn wait_and_notify(outcome: WaitOutcome) -> Events {
    trace(&[
        (1, ACQUIRE),
        (1, WAIT),
        (2, ACQUIRE),
        (2, NOTIFY),
        (2, RELEASE),
        (1, wait_end(outcome)),
        (1, RELEASE),
    ])
}

#[test]
fn wait_begin_needs_the_lock_and_gives_it_up() {
    let trace = wait_and_notify(WaitOutcome::Notified);
    enabled(&trace, &[0, 1, 2]);
    let without = super::table_tests::trace(&[(0, ACQUIRE), (0, RELEASE), (1, WAIT)]);
    let (lock, by) = (L, None);
    assert_eq!(disabled(&without, &[0, 1, 2]), Disabled::NotHeld { lock, by });
}

#[test]
fn wait_end_needs_a_notify_and_the_lock() {
    let trace = wait_and_notify(WaitOutcome::Notified);
    let wakes = [(3, 1)];
    assert_eq!(last_of(&trace, &[0, 1, 2, 3, 4, 5], &wakes), Ok(()));
    let condition = C;
    assert_eq!(disabled(&trace, &[0, 1, 5]), Disabled::NotWoken { condition });
    // A notify that came too early is lost.
    assert_eq!(disabled(&trace, &[2, 3, 4, 0, 1, 5]), Disabled::NotWoken { condition });
    let (lock, by) = (L, ThreadId(2));
    assert_eq!(
        last_of(&trace, &[0, 1, 2, 3, 5], &wakes),
        Err(Disabled::Held { lock, by })
    );
    // The lock is taken again.
    let after = super::table_tests::trace(&[
        (1, ACQUIRE),
        (1, WAIT),
        (2, Op::NotifyAll { condition: C }),
        (1, wait_end(WaitOutcome::Notified)),
        (2, ACQUIRE),
    ]);
    let by = ThreadId(1);
    assert_eq!(disabled(&after, &[0, 1, 2, 3, 4]), Disabled::Held { lock, by });
}

#[test]
fn a_wait_gives_up_and_restores_the_whole_depth() {
    let trace = trace(&[
        (1, ACQUIRE),
        (1, ACQUIRE),
        (1, WAIT),
        (2, ACQUIRE),
        (2, Op::NotifyAll { condition: C }),
        (2, RELEASE),
        (1, wait_end(WaitOutcome::Notified)),
        (1, RELEASE),
        (2, ACQUIRE),
        (1, RELEASE),
    ]);
    enabled(&trace, &[0, 1, 2, 3]);
    let (lock, by) = (L, ThreadId(1));
    assert_eq!(
        disabled(&trace, &[0, 1, 2, 3, 4, 5, 6, 7, 8]),
        Disabled::Held { lock, by }
    );
    enabled(&trace, &[0, 1, 2, 3, 4, 5, 6, 7, 9, 8]);
}

#[test]
fn a_wait_that_timed_out_needs_no_notify_and_takes_none() {
    let trace = wait_and_notify(WaitOutcome::TimedOut);
    enabled(&trace, &[0, 1, 5]);
    // Nobody takes part in the matching, so the notify is lost and wakes nobody.
    enabled(&trace, &[0, 1, 2, 3]);
    let (thread, waiting) = (ThreadId(1), Vec::new());
    assert_eq!(
        last_of(&trace, &[0, 1, 2, 3], &[(3, 1)]),
        Err(Disabled::WakesOther { thread, waiting })
    );
}

#[test]
fn a_notify_wakes_exactly_one_waiter() {
    let end = wait_end(WaitOutcome::Notified);
    let trace = trace(&[
        (1, ACQUIRE),
        (1, WAIT),
        (2, ACQUIRE),
        (2, WAIT),
        (0, NOTIFY),
        (0, NOTIFY),
        (1, end),
        (1, RELEASE),
        (2, end),
    ]);
    let (one, two) = (ThreadId(1), ThreadId(2));
    let both = vec![one, two];
    assert_eq!(last_of(&trace, &[0, 1, 2, 3, 4, 6], &[(4, 1)]), Ok(()));
    assert_eq!(
        disabled(&trace, &[0, 1, 2, 3, 4]),
        Disabled::WakesNobody { waiting: both.clone() }
    );
    // The other one sleeps on.
    let condition = C;
    let woke_one = last_of(&trace, &[0, 1, 2, 3, 4, 8], &[(4, 1)]);
    assert_eq!(woke_one, Err(Disabled::NotWoken { condition }));
    // Nobody is woken twice.
    let twice = last_of(&trace, &[0, 1, 2, 3, 4, 5], &[(4, 1), (5, 1)]);
    let (thread, waiting) = (one, vec![two]);
    assert_eq!(twice, Err(Disabled::WakesOther { thread, waiting }));
    let stranger = last_of(&trace, &[0, 1, 2, 3, 4], &[(4, 0)]);
    let (thread, waiting) = (ThreadId(0), both);
    assert_eq!(stranger, Err(Disabled::WakesOther { thread, waiting }));
}

#[test]
fn notify_all_wakes_those_that_wait_now() {
    let end = wait_end(WaitOutcome::Notified);
    let trace = trace(&[
        (1, ACQUIRE),
        (1, WAIT),
        (2, ACQUIRE),
        (2, WAIT),
        (0, Op::NotifyAll { condition: C }),
        (1, end),
        (1, RELEASE),
        (2, end),
    ]);
    enabled(&trace, &[0, 1, 2, 3, 4, 5, 6, 7]);
    let condition = C;
    // Thread 2 begins to wait only afterwards.
    assert_eq!(disabled(&trace, &[0, 1, 4, 2, 3, 7]), Disabled::NotWoken { condition });
}

#[test]
fn a_wait_end_without_its_begin_still_needs_a_notify() {
    let trace = trace(&[(0, NOTIFY), (1, wait_end(WaitOutcome::Notified))]);
    assert_eq!(last_of(&trace, &[0, 1], &[(0, 1)]), Ok(()));
    let condition = C;
    assert_eq!(disabled(&trace, &[1]), Disabled::NotWoken { condition });
}

#[test]
fn barrier_exit_after_all_of_the_round_arrived() {
    let barrier = L;
    let enter = |round| Op::BarrierEnter { barrier, round };
    let exit = |round| Op::BarrierExit {
        barrier,
        round,
        attempt: false,
    };
    let two = trace(&[
        (0, enter(0)),
        (1, enter(0)),
        (0, exit(0)),
        (1, exit(0)),
        (0, enter(1)),
        (2, enter(1)),
    ]);
    enabled(&two, &[0, 1, 2]);
    let (round, arrived, of) = (0, 1, 2);
    let closed = Disabled::BarrierClosed {
        barrier,
        round,
        arrived,
        of,
    };
    assert_eq!(disabled(&two, &[0, 2]), closed);
    // Thread 2 would be counted to round 0 if it came now.
    let (round, current) = (1, 0);
    let early = Disabled::EarlierRound {
        barrier,
        round,
        current,
    };
    assert_eq!(disabled(&two, &[0, 5]), early);
    enabled(&two, &[0, 1, 5]);
}

#[test]
fn semaphore_counts_from_its_initial_value() {
    let semaphore = L;
    let mut tables = Tables::default();
    let kind = ObjectKind::Semaphore;
    tables.objects.push(ObjectInfo {
        kind,
        addr: 0,
        name: None,
        initial: 1,
    });
    let (post, wait) = (
        Op::SemPost { semaphore },
        Op::SemWait {
            semaphore,
            attempt: false,
        },
    );
    let trace = trace_with(tables, &[(0, wait), (1, post), (0, wait), (0, wait)]);
    enabled(&trace, &[0, 1, 2]);
    assert_eq!(disabled(&trace, &[0, 2]), Disabled::NoPermit { semaphore });
    assert_eq!(disabled(&trace, &[0, 1, 2, 3]), Disabled::NoPermit { semaphore });
}

#[test]
fn a_failed_attempt_at_a_semaphore_needs_a_count_of_zero() {
    let semaphore = L;
    let (post, wait) = (
        Op::SemPost { semaphore },
        Op::SemWait {
            semaphore,
            attempt: false,
        },
    );
    let failed = Op::SemWaitFailed { semaphore };
    let trace = trace(&[(0, failed), (1, post), (2, wait), (3, failed), (1, post)]);
    enabled(&trace, &[0, 1, 2, 3, 4]);
    enabled(&trace, &[3]);
    let left = |count| Disabled::PermitLeft { semaphore, count };
    assert_eq!(disabled(&trace, &[1, 3]), left(1));
    assert_eq!(disabled(&trace, &[1, 4, 3]), left(2));
    assert_eq!(disabled(&trace, &[1, 2, 4, 0]), left(1));
}

#[test]
fn a_semaphore_has_the_count_that_was_seen() {
    let semaphore = L;
    let (post, wait) = (
        Op::SemPost { semaphore },
        Op::SemWait {
            semaphore,
            attempt: false,
        },
    );
    let value = |value| Op::SemValue { semaphore, value };
    let trace = trace(&[
        (0, value(0)),
        (1, post),
        (2, value(1)),
        (3, wait),
        (1, post),
        (2, value(1)),
    ]);
    enabled(&trace, &[0, 1, 2, 3, 4, 5]);
    enabled(&trace, &[1, 3, 0, 4, 2, 5]);
    let other = |count, seen| Disabled::OtherCount { semaphore, count, seen };
    assert_eq!(disabled(&trace, &[1, 0]), other(1, 0));
    assert_eq!(disabled(&trace, &[2]), other(0, 1));
    assert_eq!(disabled(&trace, &[1, 4, 2]), other(2, 1));
}

#[test]
fn all_that_is_held_from_the_start_is_held_by_readers_if_some_is() {
    let by_two = trace(&[(0, RELEASE), (1, SHARED), (2, RELEASE), (3, ACQUIRE)]);
    enabled(&by_two, &[0, 1, 2]);
    enabled(&by_two, &[1, 2, 0]);
    let lock = L;
    let held = |by| Disabled::HeldShared { lock, by: ThreadId(by) };
    assert_eq!(disabled(&by_two, &[2, 3]), held(0));
    assert_eq!(disabled(&by_two, &[0, 3]), held(2));

    let twice = trace(&[(0, RELEASE), (1, SHARED), (1, RELEASE), (0, RELEASE), (2, ACQUIRE)]);
    enabled(&twice, &[1, 0, 2, 3, 4]);
    assert_eq!(disabled(&twice, &[0, 4]), held(0));
}

#[test]
fn once_wait_after_the_initialization() {
    let once = L;
    let trace = trace(&[
        (0, Op::OnceBegin { once }),
        (0, Op::OnceEnd { once }),
        (1, Op::OnceWait { once }),
    ]);
    enabled(&trace, &[0, 1, 2]);
    assert_eq!(disabled(&trace, &[0, 2]), Disabled::NotInitialized { once });
}

#[test]
fn atomics_read_and_write_at_one_point() {
    let order = ORDER;
    let mem = X;
    let add = |read, written| Op::AtomicRmw {
        mem,
        read,
        written,
        order,
    };
    let load = |value| Op::AtomicLoad { mem, value, order };
    let trace = trace(&[
        (0, add(0, 1)),
        (1, add(1, 2)),
        (0, load(2)),
        (1, Op::AtomicStore { mem, value: 5, order }),
    ]);
    enabled(&trace, &[0, 1, 2]);
    assert!(matches!(
        disabled(&trace, &[1]),
        Disabled::OtherValue {
            expected: 1,
            found: Some(0),
            ..
        }
    ));
    assert!(matches!(
        disabled(&trace, &[0, 2]),
        Disabled::OtherValue {
            expected: 2,
            found: Some(1),
            ..
        }
    ));
    assert!(matches!(
        disabled(&trace, &[0, 1, 3, 2]),
        Disabled::OtherValue {
            expected: 2,
            found: Some(5),
            ..
        }
    ));
}

#[test]
fn accesses_and_free_after_the_allocation() {
    let addr = X.addr;
    let trace = trace(&[(0, Op::Alloc { addr, size: 16 }), (1, write(1)), (2, Op::Free { addr })]);
    let alloc = EventId(0);
    enabled(&trace, &[0, 1]);
    enabled(&trace, &[0, 2]);
    assert_eq!(disabled(&trace, &[1]), Disabled::NotAllocated { alloc });
    assert_eq!(disabled(&trace, &[2]), Disabled::NotAllocated { alloc });
}

#[test]
fn a_free_leaves_no_value() {
    let addr = X.addr;
    let trace = trace(&[
        (0, Op::Alloc { addr, size: 16 }),
        (0, write(1)),
        (1, read(1)),
        (2, Op::Free { addr }),
    ]);
    enabled(&trace, &[0, 1, 2]);
    assert!(matches!(
        disabled(&trace, &[0, 1, 3, 2]),
        Disabled::OtherValue { found: None, .. }
    ));
}

#[test]
fn incarnations_of_one_address_do_not_share_values() {
    let addr = X.addr;
    let alloc = Op::Alloc { addr, size: 16 };
    let trace = trace(&[
        (0, alloc),
        (0, write(1)),
        (0, Op::Free { addr }),
        (1, alloc),
        (1, write(2)),
        (2, read(2)),
    ]);
    enabled(&trace, &[3, 4, 0, 1, 5]);
}

#[test]
fn pinned_accesses_keep_their_places() {
    // No recorded write explains the 9: something else wrote it, in some thread, after event 2.
    let other = MemRange { addr: 0x2000, size: 4 };
    let y = |value| Op::Write { mem: other, value };
    let trace = trace(&[
        (0, write(1)),
        (1, y(5)),
        (1, write(2)),
        (0, y(6)),
        (2, read(9)),
        (1, y(7)),
        (3, read(9)),
        (0, write(3)),
        (1, y(8)),
        (2, read(3)),
    ]);
    let unpinned = |thread: u16, other: u32, early| Disabled::Unpinned {
        thread: ThreadId(thread.into()),
        other: EventId(other),
        early,
    };
    enabled(&trace, &[0, 1, 2, 3, 4]);
    // The 9 may have been written by any thread, after all that it had done.
    assert_eq!(disabled(&trace, &[0, 1, 2, 4]), unpinned(0, 3, false));
    assert_eq!(disabled(&trace, &[0, 3, 1, 4]), unpinned(1, 2, false));
    // Who read it may have done so at any time before it went away.
    enabled(&trace, &[0, 1, 2, 3, 5, 6, 4]);
    enabled(&trace, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(disabled(&trace, &[0, 1, 2, 3, 5, 8, 4]), unpinned(1, 8, true));
    assert_eq!(disabled(&trace, &[0, 1, 2, 3, 7]), unpinned(1, 5, false));
    // The order of the writes before it is that of π.
    assert_eq!(disabled(&trace, &[1, 2]), unpinned(0, 0, false));
}

#[test]
fn inputs_of_one_source_keep_their_order() {
    let (source, other) = (L, C);
    let input = |source| Op::Input { source, value: 0 };
    let trace = trace(&[(0, input(source)), (1, input(source)), (2, input(other))]);
    enabled(&trace, &[0, 1]);
    enabled(&trace, &[2]);
    let next = Some(EventId(0));
    let source_id = source;
    assert_eq!(disabled(&trace, &[1]), Disabled::InputOrder { source_id, next });
}

#[test]
fn an_input_comes_after_the_outputs_that_it_may_have_got() {
    let source = L;
    let trace = trace(&[
        (0, Op::Output { source }),
        (1, Op::Input { source, value: 0 }),
        (0, Op::Output { source }),
    ]);
    enabled(&trace, &[0, 1]);
    let output = EventId(0);
    let source_id = source;
    assert_eq!(disabled(&trace, &[1]), Disabled::OutputMissing { source_id, output });
}

#[test]
fn branches_fences_and_outputs_are_always_enabled() {
    let source = L;
    let trace = trace(&[
        (0, Op::Branch),
        (1, Op::Fence { order: ORDER }),
        (2, Op::Output { source }),
    ]);
    for event in 0..3 {
        enabled(&trace, &[event]);
    }
}

#[test]
fn what_was_destroyed_or_freed_later_is_not_used_behind_that() {
    let (used, destroyed) = (Op::Use { mem: X }, Op::Destroy { mem: X, value: 0 });
    let once = trace(&[(0, used), (1, destroyed), (0, used)]);
    enabled(&once, &[0, 1, 2]);
    assert_eq!(disabled(&once, &[1, 0]), Disabled::Ended { by: EventId(1) });
    // It found the object gone in the trace, too, and may find it there.
    enabled(&once, &[0, 2]);

    let (alloc, free) = (Op::Alloc { addr: X.addr, size: 8 }, Op::Free { addr: X.addr });
    let freed = trace(&[(0, alloc), (1, used), (0, free)]);
    enabled(&freed, &[0, 1, 2]);
    assert_eq!(disabled(&freed, &[0, 2, 1]), Disabled::Ended { by: EventId(2) });

    // Initialized again, it is another object.
    let again = trace(&[(0, used), (1, destroyed), (1, write(0)), (1, used)]);
    assert_eq!(disabled(&again, &[1, 2, 0]), Disabled::Ended { by: EventId(1) });
    enabled(&again, &[1, 2, 3]);
}

#[test]
fn a_pointer_to_another_block_is_another_value_whatever_the_number() {
    let (block, other, slot) = (0x5000, 0x6000, MemRange { addr: 0x1000, size: 8 });
    let alloc = |addr| Op::Alloc { addr, size: 16 };
    let (free, pointer) = (Op::Free { addr: block }, block + 8);
    let (write, read) = (
        Op::Write {
            mem: slot,
            value: pointer,
        },
        Op::Read {
            mem: slot,
            value: pointer,
        },
    );
    // Thread 0 stores a pointer into a block, frees that, and stores one into the next block; thread 1 reads it then.
    let ops = |second| {
        [
            (0, alloc(block)),
            (0, write),
            (0, free),
            (0, alloc(second)),
            (0, write),
            (1, read),
        ]
    };
    let again = trace(&ops(block));
    assert_eq!(last_of(&again, &[0, 1, 2, 3, 4, 5], &[]), Ok(()));
    assert_eq!(
        last_of(&again, &[0, 1, 5], &[]),
        Err(Disabled::OtherBlock {
            addr: slot.addr,
            pointer,
            meant: Some(EventId(3)),
            found: None,
        })
    );
    assert_eq!(last_of(&trace(&ops(other)), &[0, 1, 5], &[]), Ok(()), "one block");
    // What somebody accesses in part holds numbers.
    let part = Op::Read {
        mem: MemRange {
            addr: slot.addr,
            size: 4,
        },
        value: pointer,
    };
    let in_part: Vec<(u32, Op)> = ops(block).into_iter().chain([(1, part)]).collect();
    assert_eq!(last_of(&trace(&in_part), &[0, 1, 5], &[]), Ok(()));
}
