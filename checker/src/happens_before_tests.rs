use crate::{Checker, Events, Rejection};
use schedule_format::{Goal, Schedule, Slice};
use trace_format::{
    Event, EventId, MemRange, MemoryOrder, ObjectId, ObjectInfo, ObjectKind, Op, StackId, Tables, ThreadId, ThreadInfo,
    TraceId, WaitOutcome,
};

const DATA: MemRange = MemRange { addr: 0x10, size: 4 };
const FLAG: MemRange = MemRange { addr: 0x20, size: 4 };
const LOCK: ObjectId = ObjectId(0);

fn write() -> Op {
    Op::Write { mem: DATA, value: 42 }
}

fn read() -> Op {
    Op::Read { mem: DATA, value: 42 }
}

fn store(order: MemoryOrder) -> Op {
    Op::AtomicStore {
        mem: FLAG,
        value: 1,
        order,
    }
}

fn load(order: MemoryOrder) -> Op {
    Op::AtomicLoad {
        mem: FLAG,
        value: 1,
        order,
    }
}

fn rmw(order: MemoryOrder) -> Op {
    Op::AtomicRmw {
        mem: FLAG,
        read: 1,
        written: 1,
        order,
    }
}

/// Executes all events but the last and asks whether the first and the last are an unordered race.
fn unordered(events: &[(u32, Op)]) -> Result<(), Rejection> {
    let threads = events.iter().map(|&(thread, _)| thread + 1).max().unwrap_or(0);
    let lock = ObjectInfo {
        kind: ObjectKind::RwLock,
        addr: 0,
        name: None,
        initial: 0,
    };
    let tables = Tables {
        threads: vec![ThreadInfo::default(); threads as usize],
        objects: vec![lock],
        ..Tables::default()
    };
    let event = |&(thread, op): &(u32, Op)| Event {
        thread: ThreadId(thread),
        pc: 1,
        stack: StackId::EMPTY,
        op,
    };
    let trace = Events::new(TraceId([0; 16]), tables, events.iter().map(event).collect());
    let last = events.len() as u32 - 1;
    let before: Vec<EventId> = (0..last).map(EventId).collect();
    let schedule = Schedule {
        trace: TraceId([0; 16]),
        first_events: None,
        goal: Goal::UnorderedRace(EventId(0), EventId(last)),
        as_recorded: 0,
        slices: Slice::of(before.iter().map(|event| ThreadId(events[event.index()].0))),
        wakes: Vec::new(),
    };
    Checker::new(&trace).check(&schedule).map(|_| ())
}

fn synchronized(events: &[(u32, Op)]) -> bool {
    match unordered(events) {
        Ok(()) => false,
        Err(Rejection::Synchronized { .. }) => true,
        Err(other) => panic!("{other}"),
    }
}

use MemoryOrder::{AcqRel, Acquire, Relaxed, Release, SeqCst};

#[test]
fn release_and_acquire_synchronize_and_nothing_less_does() {
    for (stored, loaded, expected) in [
        (Release, Acquire, true),
        (SeqCst, SeqCst, true),
        (Relaxed, Acquire, false),
        (Release, Relaxed, false),
        (Relaxed, Relaxed, false),
    ] {
        let events = [(0, write()), (0, store(stored)), (1, load(loaded)), (1, read())];
        assert_eq!(synchronized(&events), expected, "{stored:?} {loaded:?}");
    }
}

#[test]
fn a_load_that_reads_another_store_learns_nothing_of_the_first() {
    let other = [
        (0, write()),
        (0, store(Release)),
        (2, store(Relaxed)),
        (1, load(Acquire)),
        (1, read()),
    ];
    assert!(!synchronized(&other));
}

#[test]
fn a_read_modify_write_continues_a_release_sequence() {
    let events = [
        (0, write()),
        (0, store(Release)),
        (2, rmw(Relaxed)),
        (1, load(Acquire)),
        (1, read()),
    ];
    assert!(synchronized(&events));
    // The one in between is not acquire, so its own thread learns nothing.
    let relaxed = [(0, write()), (0, store(Release)), (2, rmw(Relaxed)), (2, read())];
    assert!(!synchronized(&relaxed));
    let acquiring = [(0, write()), (0, store(Release)), (2, rmw(AcqRel)), (2, read())];
    assert!(synchronized(&acquiring));
}

#[test]
fn fences_lend_their_order_to_relaxed_operations() {
    let fence = |order| Op::Fence { order };
    let both = |release, acquire| {
        [
            (0, write()),
            (0, fence(release)),
            (0, store(Relaxed)),
            (1, load(Relaxed)),
            (1, fence(acquire)),
            (1, read()),
        ]
    };
    assert!(synchronized(&both(Release, Acquire)));
    assert!(!synchronized(&both(Acquire, Acquire)));
    assert!(!synchronized(&both(Release, Release)));
    // The fence has to come before the store, and after the load.
    let late = [
        (0, write()),
        (0, store(Relaxed)),
        (0, fence(Release)),
        (1, load(Acquire)),
        (1, read()),
    ];
    assert!(!synchronized(&late));
}

/// Stricter than the standard, in both cases: see the head of `happens_before`.
#[test]
fn sequentially_consistent_fences_synchronize_in_the_order_of_the_schedule() {
    let fences = |first, second| {
        let fence = |order| Op::Fence { order };
        [(0, write()), (0, fence(first)), (1, fence(second)), (1, read())]
    };
    assert!(synchronized(&fences(SeqCst, SeqCst)));
    assert!(!synchronized(&fences(SeqCst, AcqRel)));
    assert!(!synchronized(&fences(AcqRel, SeqCst)));
}

#[test]
fn a_relaxed_store_of_its_head_continues_a_release_sequence_and_a_plain_one_ends_it() {
    let between = |thread, op| {
        [
            (0, write()),
            (0, store(Release)),
            (thread, op),
            (1, load(Acquire)),
            (1, read()),
        ]
    };
    assert!(synchronized(&between(0, store(Relaxed))));
    assert!(!synchronized(&between(2, store(Relaxed))));
    // A plain store as the flag's last: what saw it is a race of its own, and knows only what its writer did.
    let Op::AtomicStore { mem, value, .. } = store(Relaxed) else {
        unreachable!()
    };
    assert!(!synchronized(&[
        (0, write()),
        (0, store(Release)),
        (2, Op::Write { mem, value }),
        (1, load(Acquire)),
        (1, read()),
    ]));
}

#[test]
fn locks_fork_and_join_synchronize() {
    let (lock, child) = (LOCK, ThreadId(1));
    let critical = |thread, op| {
        [
            (thread, Op::Acquire { lock, attempt: false }),
            (thread, op),
            (thread, Op::Release { lock }),
        ]
    };
    let [a, b, c] = critical(0, store(Relaxed));
    let locked = [
        (0, write()),
        a,
        b,
        c,
        (1, Op::Acquire { lock, attempt: false }),
        (1, read()),
    ];
    assert!(synchronized(&locked));
    let forked = [(0, write()), (0, Op::Fork { child }), (1, Op::Begin), (1, read())];
    assert!(synchronized(&forked));
    let joined = [
        (1, write()),
        (1, Op::End),
        (0, Op::Join { child, attempt: false }),
        (0, read()),
    ];
    assert!(synchronized(&joined));
}

#[test]
fn readers_of_a_lock_come_after_its_writers_and_not_after_each_other() {
    let lock = LOCK;
    let shared = |second| {
        [
            (0, write()),
            (0, Op::AcquireShared { lock, attempt: false }),
            (0, Op::Release { lock }),
            (1, second),
            (1, read()),
        ]
    };
    assert!(!synchronized(&shared(Op::AcquireShared { lock, attempt: false })));
    assert!(synchronized(&shared(Op::Acquire { lock, attempt: false })));
    // One level is from before the trace.
    assert!(!synchronized(&[
        (0, write()),
        (0, Op::AcquireShared { lock, attempt: false }),
        (0, Op::Release { lock }),
        (0, Op::Release { lock }),
        (1, Op::AcquireShared { lock, attempt: false }),
        (1, read()),
    ]));
    assert!(synchronized(&[
        (0, Op::Acquire { lock, attempt: false }),
        (0, write()),
        (0, Op::Release { lock }),
        (1, Op::AcquireShared { lock, attempt: false }),
        (1, read()),
    ]));
}

#[test]
fn what_a_plain_read_sees_is_before_it() {
    let flag = |read: bool| match read {
        true => Op::Read { mem: FLAG, value: 1 },
        false => Op::Write { mem: FLAG, value: 1 },
    };
    assert!(synchronized(&[
        (0, write()),
        (0, flag(false)),
        (1, flag(true)),
        (1, read())
    ]));
    let store = store(Relaxed);
    assert!(synchronized(&[(0, write()), (0, store), (1, flag(true)), (1, read())]));
}

#[test]
fn a_failed_acquire_comes_after_whoever_held_the_lock() {
    let acquire = Op::Acquire {
        lock: LOCK,
        attempt: false,
    };
    let failed = Op::AcquireFailed {
        lock: LOCK,
        shared: false,
    };
    assert!(synchronized(&[(0, write()), (0, acquire), (1, failed), (1, read())]));
    // And after all that the holder came after, through a reader, too.
    let (shared, release) = (
        Op::AcquireShared {
            lock: LOCK,
            attempt: false,
        },
        Op::Release { lock: LOCK },
    );
    let join = Op::Join {
        child: ThreadId(0),
        attempt: false,
    };
    assert!(synchronized(&[
        (0, write()),
        (3, shared),
        (3, join),
        (3, release),
        (2, acquire),
        (1, failed),
        (1, read())
    ]));
    // A holder that was woken came after who woke it.
    let (condition, lock, outcome) = (ObjectId(1), LOCK, WaitOutcome::Notified);
    let end = Op::WaitEnd {
        condition,
        lock,
        outcome,
        attempt: false,
    };
    assert!(synchronized(&[
        (0, write()),
        (1, acquire),
        (1, Op::WaitBegin { condition, lock }),
        (0, Op::NotifyAll { condition }),
        (1, end),
        (2, failed),
        (2, read())
    ]));
}

#[test]
fn a_failed_attempt_at_a_semaphore_comes_after_who_took_its_permits() {
    let semaphore = LOCK;
    let (post, wait) = (
        Op::SemPost { semaphore },
        Op::SemWait {
            semaphore,
            attempt: false,
        },
    );
    let failed = (1, Op::SemWaitFailed { semaphore });
    assert!(synchronized(&[(0, write()), (0, post), (0, wait), failed, (1, read())]));
    assert!(synchronized(&[(0, write()), (0, post), (2, wait), failed, (1, read())]));
    assert!(!synchronized(&[
        (0, write()),
        (2, post),
        (2, wait),
        failed,
        (1, read())
    ]));
}

#[test]
fn a_count_that_was_seen_comes_after_who_changed_it() {
    let semaphore = LOCK;
    let (post, wait) = (
        Op::SemPost { semaphore },
        Op::SemWait {
            semaphore,
            attempt: false,
        },
    );
    let seen = |value| (1, Op::SemValue { semaphore, value });
    assert!(synchronized(&[(0, write()), (0, post), seen(1), (1, read())]));
    assert!(synchronized(&[
        (0, write()),
        (2, post),
        (0, wait),
        seen(0),
        (1, read())
    ]));
    assert!(!synchronized(&[
        (0, write()),
        (2, post),
        (2, wait),
        seen(0),
        (0, post),
        (1, read())
    ]));
}

#[test]
fn the_first_access_has_to_be_performed() {
    let events = [(0, Op::Begin), (0, write()), (1, Op::Begin), (1, read())];
    let event = |&(thread, op): &(u32, Op)| Event {
        thread: ThreadId(thread),
        pc: 1,
        stack: StackId::EMPTY,
        op,
    };
    let tables = Tables {
        threads: vec![ThreadInfo::default(); 2],
        ..Tables::default()
    };
    let trace = Events::new(TraceId([0; 16]), tables, events.iter().map(event).collect());
    let order = [EventId(0), EventId(2)];
    let schedule = Schedule {
        trace: TraceId([0; 16]),
        first_events: None,
        goal: Goal::UnorderedRace(EventId(1), EventId(3)),
        as_recorded: 0,
        slices: Slice::of(order.iter().map(|event| ThreadId(events[event.index()].0))),
        wakes: Vec::new(),
    };
    let rejected = Checker::new(&trace).check(&schedule);
    assert_eq!(rejected.map(|_| ()), Err(Rejection::NotPerformed(EventId(1))));
}
