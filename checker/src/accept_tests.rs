//! Whole schedules, whole traces.

use super::table_tests::{C, L, X, read, trace, trace_with, write};
use crate::{Accepted, Checker, Disabled, Events, Pending, Rejection, Side, Validated, Violation};
use schedule_format::{Goal, Schedule, Slice};
use trace_format::{EventId, MemRange, Op, ThreadId, TraceId, WaitOutcome};

fn check(trace: &Events, schedule: &Schedule) -> Result<Accepted, Rejection> {
    Checker::new(trace).check(schedule)
}

fn validate(trace: &Events) -> Result<Validated, Violation> {
    Checker::new(trace).validate()
}

fn schedule(race: (u32, u32), slices: &[(u32, u32)]) -> Schedule {
    let slice = |&(thread, events): &(u32, u32)| Slice {
        thread: ThreadId(thread),
        events,
    };
    Schedule {
        trace: TraceId([0; 16]),
        first_events: None,
        goal: Goal::Race(EventId(race.0), EventId(race.1)),
        as_recorded: 0,
        slices: slices.iter().map(slice).collect(),
        wakes: Vec::new(),
    }
}

/// A race behind an unrelated critical section: 0 writes x, then locks; 1 locks, then writes x.
fn hidden_race() -> Events {
    let (acquire, release) = (
        Op::Acquire {
            lock: L,
            attempt: false,
        },
        Op::Release { lock: L },
    );
    trace(&[
        (0, write(1)),
        (0, acquire),
        (0, release),
        (1, acquire),
        (1, release),
        (1, write(2)),
    ])
}

#[test]
fn accepts_a_race() {
    let accepted = check(&hidden_race(), &schedule((0, 5), &[(1, 2)])).expect("a witness");
    assert_eq!(
        (accepted.events, accepted.goal),
        (2, Goal::Race(EventId(0), EventId(5)))
    );
}

#[test]
fn rejects_what_is_not_pending() {
    let late = check(&hidden_race(), &schedule((0, 5), &[(1, 1)]));
    assert!(matches!(
        late,
        Err(Rejection::NotPending(Pending { side: Side::Second, .. }))
    ));
    let gone = check(&hidden_race(), &schedule((0, 5), &[(0, 1), (1, 2)]));
    assert!(matches!(
        gone,
        Err(Rejection::NotPending(Pending { side: Side::First, .. }))
    ));
}

#[test]
fn rejects_a_race_before_its_thread_or_its_memory_is_there() {
    let child = ThreadId(1);
    let forks_late = trace(&[(0, write(1)), (0, Op::Fork { child }), (1, write(2))]);
    let rejected = check(&forks_late, &schedule((0, 2), &[])).expect_err("thread 1 is not there");
    assert!(
        rejected.to_string().contains("not created before event 1"),
        "{rejected}"
    );

    let allocates_late = trace(&[(0, Op::Alloc { addr: X.addr, size: 8 }), (1, write(1)), (2, write(2))]);
    let rejected = check(&allocates_late, &schedule((1, 2), &[])).expect_err("no memory");
    assert!(
        rejected.to_string().contains("not allocated before event 0"),
        "{rejected}"
    );
    assert!(check(&allocates_late, &schedule((1, 2), &[(0, 1)])).is_ok());
}

/// 0 reads x in a section, and writes it in the next one; 1 writes x in a section on the same lock.
fn interrupted() -> Events {
    let acquire = Op::Acquire {
        lock: L,
        attempt: false,
    };
    let release = Op::Release { lock: L };
    trace(&[
        (0, acquire),
        (0, read(0)),
        (0, release),
        (0, acquire),
        (0, write(1)),
        (0, release),
        (1, acquire),
        (1, write(0)),
        (1, release),
    ])
}

fn interruption(events: [u32; 3], both_next: bool, slices: &[(u32, u32)]) -> Schedule {
    let [first, between, second] = events.map(EventId);
    Schedule {
        first_events: None,
        goal: Goal::AtomicityViolation {
            first,
            between,
            second,
            both_next,
        },
        ..schedule((0, 1), slices)
    }
}

#[test]
fn accepts_what_comes_between_two_sections() {
    let trace = interrupted();
    let accepted = check(&trace, &interruption([1, 7, 4], false, &[(0, 3), (1, 3), (0, 1)])).expect("a witness");
    assert_eq!((accepted.events, accepted.addr), (7, Some(X.addr)));
}

#[test]
fn rejects_what_does_not_come_between() {
    let trace = interrupted();
    let (first, between) = (EventId(1), EventId(7));
    let of = |both_next, slices: &[(u32, u32)]| check(&trace, &interruption([1, 7, 4], both_next, slices));
    assert_eq!(
        of(false, &[(1, 3), (0, 4)]),
        Err(Rejection::TooEarly { first, between })
    );
    assert_eq!(of(false, &[(0, 4)]), Err(Rejection::NotPerformed(between)));
    assert_eq!(of(false, &[(1, 3)]), Err(Rejection::NotPerformed(first)));
    assert!(matches!(
        of(false, &[(0, 3), (1, 3)]),
        Err(Rejection::NotPending(Pending { side: Side::Second, .. }))
    ));
    // The lock keeps the two from being next at once.
    assert!(matches!(
        of(true, &[(0, 3), (1, 3), (0, 1)]),
        Err(Rejection::NotPending(Pending { side: Side::First, .. }))
    ));
    assert!(of(true, &[(0, 4), (1, 1)]).is_err());
    let other = |events, slices: &[(u32, u32)]| check(&trace, &interruption(events, false, slices));
    assert!(matches!(
        other([4, 7, 1], &[(0, 3), (1, 3)]),
        Err(Rejection::Serializable(_))
    ));
    assert!(
        matches!(other([1, 7, 3], &[]), Err(Rejection::Serializable(_))),
        "a lock is no access"
    );
    assert!(matches!(other([1, 4, 7], &[]), Err(Rejection::Serializable(_))));
    let reads = reads_between();
    let said = check(&reads, &interruption([0, 2, 1], true, &[(0, 1)]));
    assert_eq!(
        said.map_err(|rejection| rejection.to_string()),
        Err("event 2 between events 0 and 1 could as well come before or behind them".to_owned())
    );
}

/// 0 reads x twice, 1 reads it.
fn reads_between() -> Events {
    trace(&[(0, read(0)), (0, read(0)), (1, read(0))])
}

#[test]
fn rejects_what_does_not_conflict() {
    let other = MemRange { addr: 0x2000, size: 4 };
    let trace = trace(&[(0, read(0)), (1, read(0)), (2, Op::Write { mem: other, value: 0 })]);
    let (a, b) = (EventId(0), EventId(1));
    assert_eq!(
        check(&trace, &schedule((0, 1), &[])),
        Err(Rejection::NoConflict { a, b })
    );
    let b = EventId(2);
    assert_eq!(
        check(&trace, &schedule((0, 2), &[])),
        Err(Rejection::NoConflict { a, b })
    );
}

#[test]
fn names_slice_event_thread_and_reason() {
    let rejected = check(&hidden_race(), &schedule((0, 5), &[(1, 1), (0, 2)])).expect_err("the lock is held");
    assert_eq!(
        rejected.to_string(),
        "slice 2: event 1 of thread 0 is not enabled: lock 0 is held by thread 1"
    );
}

#[test]
fn rejects_schedules_of_other_traces_and_malformed_ones() {
    let trace = hidden_race();
    let mut foreign = schedule((0, 5), &[(1, 2)]);
    foreign.trace = TraceId([1; 16]);
    assert!(matches!(check(&trace, &foreign), Err(Rejection::OtherTrace { .. })));
    let checked = |race, slices: &[(u32, u32)]| check(&trace, &schedule(race, slices));
    assert!(matches!(checked((0, 99), &[]), Err(Rejection::NoSuchEvent { .. })));
    assert!(matches!(
        checked((0, 5), &[(9, 1)]),
        Err(Rejection::NoSuchThread { slice: 1, .. })
    ));
    assert!(matches!(
        checked((0, 5), &[(1, 2), (0, 0)]),
        Err(Rejection::EmptySlice { slice: 2 })
    ));
    let long = checked((0, 5), &[(1, u32::MAX)]);
    assert!(matches!(long, Err(Rejection::ThreadTooShort { slice: 1, has: 3, .. })));
}

/// Threads 1 and 2 wait, thread 0 notifies once; thread 1 is the one that returns.
fn one_notify() -> Events {
    let lock = L;
    let condition = C;
    let wait = Op::WaitBegin { condition, lock };
    let end = Op::WaitEnd {
        condition,
        lock,
        outcome: WaitOutcome::Notified,
        attempt: false,
    };
    trace(&[
        (2, Op::Acquire { lock, attempt: false }),
        (2, wait),
        (1, Op::Acquire { lock, attempt: false }),
        (1, wait),
        (0, Op::Notify { condition }),
        (0, write(1)),
        (1, end),
        (1, write(2)),
    ])
}

#[test]
fn follows_the_wakes_and_wants_each_of_them_used() {
    let slices = [(1, 2), (0, 1), (1, 1)];
    let with = |wakes: &[(u32, u32)]| {
        let wake = |&(notify, thread): &(u32, u32)| (EventId(notify), ThreadId(thread));
        Schedule {
            wakes: wakes.iter().map(wake).collect(),
            ..schedule((5, 7), &slices)
        }
    };
    let trace = one_notify();
    assert!(check(&trace, &with(&[(4, 1)])).is_ok());
    assert!(matches!(
        check(&trace, &with(&[])),
        Err(Rejection::NotEnabled { slice: 2, .. })
    ));
    assert!(matches!(
        check(&trace, &with(&[(4, 2)])),
        Err(Rejection::NotEnabled { slice: 2, .. })
    ));
    let notify = EventId(4);
    assert_eq!(
        check(&trace, &with(&[(4, 1), (4, 1)])),
        Err(Rejection::WakesTwice { notify })
    );
    // A wake of what is no notify, whether it is executed or not.
    assert!(matches!(
        check(&trace, &with(&[(4, 1), (2, 1)])),
        Err(Rejection::NotEnabled { slice: 1, .. })
    ));
    let notify = EventId(7);
    let stray = check(&trace, &with(&[(4, 1), (7, 1)]));
    assert_eq!(stray, Err(Rejection::WakeNotExecuted { notify }));
}

#[test]
fn a_lost_notify_must_not_be_listed() {
    let mut lost = schedule((5, 7), &[(0, 1)]);
    lost.wakes.push((EventId(4), ThreadId(1)));
    assert!(matches!(
        check(&one_notify(), &lost),
        Err(Rejection::NotEnabled { slice: 1, .. })
    ));
}

#[test]
fn validates_by_the_earliest_deadline() {
    // Thread 2 began to wait first, but thread 1 returns: the notify woke thread 1.
    assert_eq!(validate(&one_notify()).map(|valid| valid.pinned_reads), Ok(0));
}

#[test]
fn validation_names_the_first_event_that_is_not_enabled() {
    let (acquire, release) = (
        Op::Acquire {
            lock: L,
            attempt: false,
        },
        Op::Release { lock: L },
    );
    let overlapping = trace(&[(0, acquire), (1, acquire), (0, release), (1, release)]);
    let violation = validate(&overlapping).expect_err("the lock is held");
    assert_eq!((violation.event, violation.thread), (EventId(1), ThreadId(1)));
    let (lock, by) = (L, ThreadId(0));
    assert_eq!(violation.why, Disabled::Held { lock, by });
}

#[test]
fn validation_counts_pinned_reads() {
    let trace = trace(&[(0, write(1)), (1, read(1)), (1, read(9))]);
    let valid = validate(&trace).expect("values from outside are no violation");
    assert_eq!((valid.pinned_reads, valid.first_unexplained), (2, Some(EventId(2))));
}

#[test]
fn a_destroyed_object_is_what_is_used_as_one() {
    let destroyed = Op::Destroy { mem: X, value: 0 };
    let used = Op::Use { mem: X };
    let of = trace(&[(0, used), (1, destroyed), (2, read(0)), (2, write(1)), (3, used)]);
    let after = |free, access, slices: &[(u32, u32)]| {
        let (free, access) = (EventId(free), EventId(access));
        let goal = Goal::UseAfterFree { free, access };
        let schedule = schedule((0, 0), slices);
        check(&of, &Schedule { goal, ..schedule })
    };
    assert!(after(1, 0, &[(1, 1)]).is_ok());
    assert_eq!(after(1, 0, &[]), Err(Rejection::NotPerformed(EventId(1))));
    let (destroy, access) = (EventId(1), EventId(2));
    assert_eq!(after(1, 2, &[(1, 1)]), Err(Rejection::NoUse { destroy, access }));
    assert_eq!(after(3, 0, &[(1, 1), (2, 2)]), Err(Rejection::NoFree(EventId(3))));
    // As if it had been initialized anew.
    let access = EventId(4);
    assert_eq!(after(1, 4, &[(1, 1)]), Err(Rejection::NoUse { destroy, access }));
}

/// 0 reads x and y; 1 writes x and y, in this order.
fn two_variables() -> Events {
    let y = MemRange {
        addr: X.addr + 0x100,
        size: X.size,
    };
    trace(&[
        (0, read(0)),
        (0, Op::Read { mem: y, value: 0 }),
        (1, write(0)),
        (1, Op::Write { mem: y, value: 0 }),
    ])
}

fn torn([first, one, other, second]: [u32; 4], unfinished: bool, slices: &[(u32, u32)]) -> Schedule {
    Schedule {
        first_events: None,
        goal: Goal::TornPair {
            first: EventId(first),
            writes: [EventId(one), EventId(other)],
            second: EventId(second),
            unfinished,
        },
        ..schedule((0, 1), slices)
    }
}

#[test]
fn accepts_a_pair_of_which_one_read_alone_sees_the_writes() {
    let trace = two_variables();
    let accepted = check(&trace, &torn([0, 2, 3, 1], false, &[(0, 1), (1, 2)])).expect("both come between");
    assert_eq!((accepted.events, accepted.addr), (3, Some(X.addr)));
    assert!(check(&trace, &torn([0, 2, 3, 1], true, &[(1, 1), (0, 1)])).is_ok());
}

#[test]
fn rejects_a_pair_of_which_both_or_none_see_the_writes() {
    let trace = two_variables();
    let of = |unfinished, slices: &[(u32, u32)]| check(&trace, &torn([0, 2, 3, 1], unfinished, slices));
    let (early, late) = (EventId(0), EventId(2));
    assert_eq!(of(false, &[(1, 2), (0, 1)]), Err(Rejection::NotTorn { early, late }));
    let (early, late) = (late, early);
    assert_eq!(
        of(true, &[(0, 1), (1, 1)]),
        Err(Rejection::NotTorn { early, late }),
        "the first read has not seen it"
    );
    assert_eq!(of(true, &[(1, 2), (0, 1)]), Err(Rejection::Performed(EventId(3))));
    assert_eq!(of(false, &[(0, 1), (1, 1)]), Err(Rejection::NotPerformed(EventId(3))));
    assert_eq!(of(true, &[(0, 1)]), Err(Rejection::NotPerformed(EventId(2))));
    assert_eq!(of(true, &[(1, 1)]), Err(Rejection::NotPerformed(EventId(0))));
    assert!(matches!(
        of(false, &[(0, 2), (1, 2)]),
        Err(Rejection::NotPending(Pending { side: Side::Second, .. }))
    ));
    // What is no pair is none in any order.
    for events in [[0, 3, 2, 1], [2, 0, 1, 3], [0, 2, 2, 1], [1, 3, 2, 0], [0, 1, 3, 1]] {
        let said = check(&trace, &torn(events, false, &[(0, 1), (1, 2)]));
        assert!(matches!(said, Err(Rejection::NoPair(_))), "{events:?}: {said:?}");
    }
}

#[test]
fn rejects_a_pair_whose_writes_come_the_other_way_round() {
    // 1 writes what is read second first.
    let y = MemRange {
        addr: X.addr + 0x100,
        size: X.size,
    };
    let trace = trace(&[
        (0, read(0)),
        (0, Op::Read { mem: y, value: 0 }),
        (1, Op::Write { mem: y, value: 0 }),
        (1, write(0)),
    ]);
    for slices in [[(0, 1), (1, 1)], [(1, 1), (0, 1)]] {
        assert!(check(&trace, &torn([0, 3, 2, 1], true, &slices)).is_ok(), "{slices:?}");
        assert!(check(&trace, &torn([0, 3, 2, 1], false, &slices)).is_err());
    }
    assert!(check(&trace, &torn([0, 3, 2, 1], false, &[(1, 1), (0, 1), (1, 1)])).is_ok());
    assert!(check(&trace, &torn([0, 3, 2, 1], false, &[(1, 2), (0, 1)])).is_err());
}

/// A pointer, and two blocks that it points to one after the other.
const POINTER: MemRange = MemRange { addr: 0x2000, size: 8 };
const OLD: u64 = 0x5000;
const NEW: u64 = 0x6000;

fn pointing(value: u64) -> Op {
    Op::Write { mem: POINTER, value }
}

fn pointed(value: u64) -> Op {
    Op::Read { mem: POINTER, value }
}

fn at(addr: u64) -> Op {
    let mem = MemRange { addr, size: 8 };
    Op::Write { mem, value: 7 }
}

fn alloc(addr: u64) -> Op {
    Op::Alloc { addr, size: 16 }
}

/// 0 frees the old block and sets the pointer to the new one; 1 reads it, and then does something.
fn renewed(read: Op, then: &[Op]) -> Events {
    let free = Op::Free { addr: OLD };
    let mut events = vec![
        (0, alloc(OLD)),
        (0, pointing(OLD)),
        (0, free),
        (0, alloc(NEW)),
        (0, pointing(NEW)),
        (1, read),
    ];
    events.extend(then.iter().map(|&op| (1, op)));
    trace(&events)
}

fn with_goal(goal: Goal, slices: &[(u32, u32)]) -> Schedule {
    Schedule {
        goal,
        ..schedule((0, 0), slices)
    }
}

fn stale(free: u32, value: u64, slices: &[(u32, u32)]) -> Schedule {
    let (free, read) = (EventId(free), EventId(5));
    with_goal(Goal::StalePointer { free, read, value }, slices)
}

#[test]
fn accepts_a_pointer_to_what_was_freed() {
    for behind in [0, 8, 4095] {
        let trace = renewed(pointed(NEW), &[at(NEW + behind)]);
        let accepted = check(&trace, &stale(2, OLD, &[(0, 3)])).expect("a witness");
        assert_eq!((accepted.events, accepted.addr), (3, Some(POINTER.addr)));
    }
}

#[test]
fn rejects_a_pointer_that_is_not_there_or_not_stale() {
    let trace = renewed(pointed(NEW), &[at(NEW + 8)]);
    let rejected = |goal: &Schedule| check(&trace, goal).expect_err("no stale pointer");
    let freed = EventId(2);
    assert_eq!(rejected(&stale(2, OLD, &[(0, 2)])), Rejection::NotPerformed(freed));
    // What allocates a block, or writes into it, does not free it.
    for other in [0, 6] {
        assert_eq!(
            rejected(&stale(other, NEW, &[(0, 3)])),
            Rejection::NoFree(EventId(other))
        );
    }
    let (read, claimed, found) = (EventId(5), Some(OLD), Some(NEW));
    let other = Rejection::SeesOther { read, claimed, found };
    assert_eq!(rejected(&stale(2, OLD, &[(0, 5)])), other);
    for value in [NEW, OLD - 1, OLD + 16] {
        let no_address = Rejection::NotFreed { free: freed, value };
        assert_eq!(rejected(&stale(2, value, &[(0, 3)])), no_address);
    }
    let (claimed, found) = (Some(OLD + 15), Some(OLD));
    let other = Rejection::SeesOther { read, claimed, found };
    assert_eq!(rejected(&stale(2, OLD + 15, &[(0, 3)])), other);
    assert!(matches!(
        rejected(&stale(2, OLD, &[(0, 5), (1, 1)])),
        Rejection::NotPending(_)
    ));
}

#[test]
fn rejects_a_pointer_that_nobody_follows() {
    let half = MemRange {
        addr: POINTER.addr,
        size: 4,
    };
    let order = trace_format::MemoryOrder::SeqCst;
    let swap = Op::AtomicRmw {
        mem: POINTER,
        read: NEW,
        written: NEW,
        order,
    };
    let near = &[at(NEW)][..];
    let not_followed: [(Op, &[Op]); 7] = [
        (pointed(NEW), &[]),
        (pointed(NEW), &[at(NEW + 4096)]),
        (pointed(NEW), &[at(NEW - 8)]),
        (pointed(NEW), &[Op::Free { addr: NEW }]),
        (Op::Read { mem: half, value: NEW }, near),
        (pointing(NEW), near),
        (swap, near),
    ];
    for (read, then) in not_followed {
        let said = check(&renewed(read, then), &stale(2, OLD, &[(0, 3)]));
        assert_eq!(said, Err(Rejection::NotFollowed(EventId(5))), "{read:?}, {then:?}");
    }
    // Half of it is accessed alone elsewhere, so it is no pointer that anybody sees whole.
    let pieces = renewed(pointed(NEW), &[at(NEW), Op::Read { mem: half, value: NEW }]);
    let said = check(&pieces, &stale(2, OLD, &[(0, 3)]));
    assert_eq!(said, Err(Rejection::NotFollowed(EventId(5))));
    let null = trace(&[
        (0, alloc(OLD)),
        (0, pointing(OLD)),
        (0, Op::Free { addr: OLD }),
        (0, pointing(1)),
        (0, pointing(0)),
        (1, pointed(0)),
        (1, at(8)),
    ]);
    let said = check(&null, &stale(2, OLD, &[(0, 3)]));
    assert_eq!(said, Err(Rejection::NotFollowed(EventId(5))));
}

#[test]
fn a_copy_on_the_own_stack_is_passed() {
    const STACK: u64 = 0x90_000;
    let wide = |addr| MemRange { addr, size: 8 };
    let copied = |to: MemRange, value: u64, from: MemRange| {
        let (write, read) = (Op::Write { mem: to, value }, Op::Read { mem: from, value });
        let stack = Op::Alloc { addr: STACK, size: 64 };
        let free = Op::Free { addr: OLD };
        let events = [
            (0, Op::Fork { child: ThreadId(1) }),
            (1, Op::Begin),
            (1, stack),
            (0, alloc(OLD)),
            (0, pointing(OLD)),
            (0, free),
            (0, alloc(NEW)),
            (0, pointing(NEW)),
            (1, pointed(NEW)),
            (1, write),
            (1, read),
            (1, at(NEW)),
        ];
        let goal = Goal::StalePointer {
            free: EventId(5),
            read: EventId(8),
            value: OLD,
        };
        check(&trace(&events), &with_goal(goal, &[(0, 1), (1, 2), (0, 3)])).err()
    };
    let (one, other) = (wide(STACK + 8), wide(STACK + 16));
    assert_eq!(copied(one, NEW, one), None);
    let not_followed = Some(Rejection::NotFollowed(EventId(8)));
    assert_eq!(copied(one, NEW + 8, one), not_followed, "another value");
    assert_eq!(copied(one, NEW, other), not_followed, "read elsewhere");
    assert_eq!(copied(wide(0x400), NEW, wide(0x400)), not_followed, "no stack");
}

#[test]
fn an_address_that_was_given_out_again_is_not_stale_before_that_block_is_gone() {
    let again = |more: &[(u32, Op)]| {
        let mut events = vec![
            (0, alloc(OLD)),
            (0, pointing(OLD)),
            (0, Op::Free { addr: OLD }),
            (0, alloc(OLD)),
            (0, pointing(OLD + 8)),
            (1, pointed(OLD + 8)),
            (1, at(OLD + 8)),
        ];
        events.extend(more);
        trace(&events)
    };
    let once = again(&[]);
    assert!(check(&once, &stale(2, OLD, &[(0, 3)])).is_ok());
    let lives = Rejection::Lives {
        alloc: EventId(3),
        value: OLD,
    };
    assert_eq!(check(&once, &stale(2, OLD, &[(0, 4)])), Err(lives));
    let gone = again(&[(0, Op::Free { addr: OLD })]);
    assert!(check(&gone, &stale(2, OLD + 8, &[(0, 6)])).is_ok());
}

#[test]
fn what_unrecorded_code_changes_has_no_known_value() {
    // Nobody has written what the read saw.
    let trace = renewed(pointed(NEW + 8), &[at(NEW + 8)]);
    let read = EventId(5);
    let said = check(&trace, &stale(2, OLD, &[(0, 3)]));
    assert_eq!(said, Err(Rejection::Unrecorded(read)));
    let value = Some(OLD);
    let said = check(&trace, &with_goal(Goal::OtherValue { read, value }, &[(0, 3)]));
    assert_eq!(said, Err(Rejection::Unrecorded(read)));
}

#[test]
fn what_a_thread_writes_that_went_another_way_is_not_told() {
    let mut tables = trace_format::Tables::default();
    tables.meta.control_flow_recorded = true;
    let ops = [(0, write(1)), (1, read(1)), (1, pointing(NEW)), (2, pointed(NEW))];
    let (read, value) = (EventId(3), None);
    let strayed = with_goal(Goal::OtherValue { read, value }, &[(1, 2)]);
    assert_eq!(
        check(&trace_with(tables, &ops), &strayed),
        Err(Rejection::NotTold(read))
    );
}

#[test]
fn a_null_pointer_is_a_read_that_would_see_0() {
    let trace = trace(&[(0, pointing(0)), (0, pointing(NEW)), (1, pointed(NEW)), (1, at(NEW))]);
    let null = |read: u32, value: Option<u64>| {
        let read = EventId(read);
        Goal::OtherValue { read, value }
    };
    assert!(check(&trace, &with_goal(null(2, Some(0)), &[(0, 1)])).is_ok());
    let rejected = |goal: Goal, slices: &[(u32, u32)]| check(&trace, &with_goal(goal, slices)).expect_err("no null");
    let sees = |claimed, found| Rejection::SeesOther {
        read: EventId(2),
        claimed,
        found,
    };
    assert_eq!(rejected(null(2, Some(0)), &[(0, 2)]), sees(Some(0), Some(NEW)));
    assert_eq!(rejected(null(2, Some(0)), &[]), sees(Some(0), None));
    assert_eq!(rejected(null(2, None), &[(0, 1)]), sees(None, Some(0)));
    let same = Rejection::SameValue {
        read: EventId(2),
        value: NEW,
    };
    assert_eq!(rejected(null(2, Some(NEW)), &[(0, 2)]), same);
    assert_eq!(rejected(null(3, Some(0)), &[(0, 1)]), Rejection::NoRead(EventId(3)));
    let done = rejected(null(2, Some(0)), &[(0, 2), (1, 1)]);
    assert!(matches!(done, Rejection::NotPending(_)), "{done}");
}
