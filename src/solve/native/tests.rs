//! Questions about small traces with what can come about in several ways.

use super::search::{Search, View};
use super::state::{Clocks, Contradiction};
use super::{MAX_ORDERS, MAX_WORK, Native, NativeAnswer, Steps};
use crate::analyze::{Options, Solver, analyze};
use crate::generate::{Generator, Shape};
use crate::prune::{MustHappenBefore, Needs};
use crate::trace::{EventId, Sections, ThreadId, Trace, Wakes};
use std::sync::atomic::{AtomicUsize, Ordering};
use trace_format::{Event, MemRange, MemoryOrder, ObjectId, ObjectInfo, ObjectKind, Op, StackId, Tables, WaitOutcome};

const LOCK: ObjectId = ObjectId(0);
const CONDITION: ObjectId = ObjectId(1);
const SEMAPHORE: ObjectId = ObjectId(2);
const ONCE: ObjectId = ObjectId(3);

const ACQUIRE: Op = Op::Acquire {
    lock: LOCK,
    attempt: false,
};
const RELEASE: Op = Op::Release { lock: LOCK };
const FOUND_HELD: Op = Op::AcquireFailed {
    lock: LOCK,
    shared: false,
};
const NOTIFY: Op = Op::Notify { condition: CONDITION };
const NOTIFY_ALL: Op = Op::NotifyAll { condition: CONDITION };
const WAIT: Op = Op::WaitBegin {
    condition: CONDITION,
    lock: LOCK,
};
const WOKEN: Op = Op::WaitEnd {
    condition: CONDITION,
    lock: LOCK,
    outcome: WaitOutcome::Notified,
    attempt: false,
};
const POST: Op = Op::SemPost { semaphore: SEMAPHORE };
const TAKE: Op = Op::SemWait {
    semaphore: SEMAPHORE,
    attempt: false,
};
const TAKE_FAILED: Op = Op::SemWaitFailed { semaphore: SEMAPHORE };
const ONCE_BEGIN: Op = Op::OnceBegin { once: ONCE };
const ONCE_END: Op = Op::OnceEnd { once: ONCE };
const ONCE_WAIT: Op = Op::OnceWait { once: ONCE };

const fn write(cell: u64, value: u64) -> Op {
    let mem = MemRange {
        addr: 0x100 * cell,
        size: 4,
    };
    Op::Write { mem, value }
}

const fn read(cell: u64, value: u64) -> Op {
    let mem = MemRange {
        addr: 0x100 * cell,
        size: 4,
    };
    Op::Read { mem, value }
}

/// The variable whose accesses are to race: its first and its last write in each trace.
const X: Op = write(1, 1);

/// Our own solver of a trace, and the first and the last write of `x`.
fn with_native<T>(events: &[(u32, Op)], ask: impl FnOnce(&Trace, &Native<'_>, [EventId; 2]) -> T) -> T {
    let object = |kind| ObjectInfo {
        kind,
        addr: 0,
        name: None,
        initial: 0,
    };
    let kinds = [
        ObjectKind::Mutex,
        ObjectKind::Condition,
        ObjectKind::Semaphore,
        ObjectKind::Once,
    ];
    let tables = Tables {
        objects: kinds.map(object).to_vec(),
        ..Tables::default()
    };
    let event = |&(thread, op): &(u32, Op)| Event {
        thread: ThreadId(thread),
        pc: 1,
        stack: StackId::EMPTY,
        op,
    };
    let trace = Trace::from_events(tables, &events.iter().map(event).collect::<Vec<_>>());
    crate::check::validate(&trace).expect("an execution");
    let at = |place: Option<usize>| EventId(place.expect("an access of x") as u32);
    let accesses = [
        at(events.iter().position(|&(_, op)| op == X)),
        at(events.iter().rposition(|&(_, op)| op == X)),
    ];
    let (must, sections) = (MustHappenBefore::of(&trace), Sections::of(&trace));
    let needs = Needs::of(&trace, &must, &sections);
    let wakes = Wakes::of(&trace, trace.events());
    ask(&trace, &Native::new(&trace, &needs, &sections, &wakes), accesses)
}

/// Whether a prefix brings the first and the last write of `x` next, by our own solver alone. What a prefix performs is
/// for the checker to judge; here it must not go beyond either.
fn can_race(events: &[(u32, Op)]) -> bool {
    with_native(events, |trace, native, accesses| {
        let answer = native.ask(&accesses, &mut Steps::unbounded());
        let refuted = native.refutes(&accesses);
        match answer {
            NativeAnswer::Feasible(as_recorded, then) => {
                let performed: Vec<EventId> = trace.events().take(as_recorded as usize).chain(then).collect();
                assert!(!refuted && accesses.iter().all(|access| !performed.contains(access)));
                true
            }
            NativeAnswer::Infeasible => {
                assert!(refuted);
                false
            }
            NativeAnswer::Unknown => panic!("not decided"),
        }
    })
}

/// Whether one order suffices to find that no prefix brings these next.
fn refuted_by_one_order(events: &[(u32, Op)]) -> bool {
    with_native(events, |_, native, accesses| {
        let view = View::Based { as_in_trace: false };
        let mut search = Search::new(native, EventId(0), view, (&accesses).into(), (1, MAX_WORK), None);
        search.run() == Some(None)
    })
}

/// Thread 0 raises cell 3 and takes that back, sees cell 2 as thread 1 left it twice, and accesses x; thread 1 changes
/// cell 2, perhaps to what it was, and accesses x when it has seen cell 3 raised.
fn raised_and_taken_back(then: u64) -> Vec<(u32, Op)> {
    vec![
        (1, write(2, 7)),
        (1, write(2, 7)),
        (0, write(3, 5)),
        (0, write(3, 5)),
        (0, write(3, 0)),
        (0, read(2, 7)),
        (0, X),
        (0, write(3, 5)),
        (1, write(2, then)),
        (1, read(3, 5)),
        (1, X),
    ]
}

#[test]
fn a_read_precedes_what_would_hide_all_that_it_may_see() {
    assert!(refuted_by_one_order(&raised_and_taken_back(8)));
    assert!(!can_race(&raised_and_taken_back(8)));
}

#[test]
fn a_write_of_the_same_value_hides_nothing_from_a_read() {
    assert!(!refuted_by_one_order(&raised_and_taken_back(7)));
    assert!(can_race(&raised_and_taken_back(7)));
}

/// Thread 0 sees in its section what thread 1 wrote in its own one, and in cell 2 the value of a thread before both
/// sections, or that which thread 2 writes behind its access of x: thread 1 has left another one there.
fn overwritten_before(by: u32) -> Vec<(u32, Op)> {
    vec![
        (by, write(2, 7)),
        (1, ACQUIRE),
        (1, write(5, 1)),
        (1, write(2, 8)),
        (1, RELEASE),
        (2, X),
        (2, write(2, 7)),
        (0, ACQUIRE),
        (0, read(5, 1)),
        (0, read(2, 7)),
        (0, X),
        (0, RELEASE),
    ]
}

/// Whether no prefix brings these next, as a window tells that begins with the second event.
fn refuted_behind_the_first(events: &[(u32, Op)]) -> bool {
    with_native(events, |_, native, accesses| {
        let limits = (MAX_ORDERS, MAX_WORK);
        let mut search = Search::new(native, EventId(1), View::Relaxed, (&accesses).into(), limits, None);
        search.run() == Some(None)
    })
}

#[test]
fn what_a_thread_wrote_before_a_window_is_hidden_by_what_it_writes_there() {
    assert!(refuted_behind_the_first(&overwritten_before(1)));
    assert!(!can_race(&overwritten_before(1)));
}

#[test]
fn what_a_thread_wrote_before_a_window_may_come_behind_what_another_writes_there() {
    assert!(!refuted_behind_the_first(&overwritten_before(3)));
    assert!(can_race(&overwritten_before(3)));
}

/// Thread 1 waits; threads 0 and 2 notify, thread 0 behind its access of x, and thread 2 perhaps as well, since it has
/// read what thread 0 wrote then. Thread 1 accesses x when it is woken.
fn two_notifies(both_behind: bool) -> Vec<(u32, Op)> {
    let mut events = vec![(1, ACQUIRE), (1, WAIT), (0, X), (0, write(2, 7)), (0, NOTIFY)];
    events.extend(both_behind.then_some((2, read(2, 7))));
    events.extend([(2, NOTIFY), (1, WOKEN), (1, X)]);
    events
}

#[test]
fn what_precedes_all_notifies_precedes_the_end_of_a_wait() {
    assert!(!can_race(&two_notifies(true)));
}

#[test]
fn another_notify_than_in_the_trace_may_end_a_wait() {
    assert!(can_race(&two_notifies(false)));
}

/// Two threads wait, and thread 4 accesses x when it has seen that both were woken; thread 3 wakes one of them, or all,
/// and thread 0 notifies behind its access of x.
fn two_waits(by_thread_3: Op) -> Vec<(u32, Op)> {
    let mut events = Vec::new();
    for thread in [1, 2] {
        events.extend([(thread, ACQUIRE), (thread, WAIT)]);
    }
    events.extend([(3, by_thread_3), (0, X), (0, NOTIFY)]);
    for (thread, cell) in [(1, 6), (2, 7)] {
        events.extend([(thread, WOKEN), (thread, write(cell, 1)), (thread, RELEASE)]);
    }
    events.extend([(4, read(6, 1)), (4, read(7, 1)), (4, X)]);
    events
}

#[test]
fn a_notify_ends_one_wait_and_a_broadcast_all() {
    assert!(!can_race(&two_waits(NOTIFY)));
    assert!(can_race(&two_waits(NOTIFY_ALL)));
}

#[test]
fn a_notify_before_a_wait_begins_ends_it_not() {
    // Thread 2 has notified before thread 1 takes the lock, as thread 1 has seen.
    let early = [
        (2, NOTIFY),
        (2, write(2, 7)),
        (1, read(2, 7)),
        (1, ACQUIRE),
        (1, WAIT),
        (0, X),
        (0, NOTIFY),
        (1, WOKEN),
        (1, X),
    ];
    assert!(!can_race(&early));
    let later = [
        (1, ACQUIRE),
        (1, WAIT),
        (2, NOTIFY),
        (0, X),
        (0, NOTIFY),
        (1, WOKEN),
        (1, X),
    ];
    assert!(can_race(&later));
}

/// Thread 1 takes a permit that thread 0 has posted behind its access of x; thread 2 posts as well, perhaps behind it.
fn two_posts(both_behind: bool, takes: usize) -> Vec<(u32, Op)> {
    let mut events = vec![(0, X), (0, write(2, 7)), (0, POST)];
    events.extend(both_behind.then_some((2, read(2, 7))));
    events.push((2, POST));
    events.extend(std::iter::repeat_n((1, TAKE), takes));
    events.push((1, X));
    events
}

#[test]
fn a_permit_comes_from_any_post() {
    assert!(can_race(&two_posts(false, 1)));
    assert!(!can_race(&two_posts(true, 1)));
    assert!(!can_race(&two_posts(false, 2)));
}

#[test]
fn an_attempt_fails_only_when_all_permits_are_taken() {
    // Thread 1 finds no permit left of those whose posts it has seen; thread 0 took the last one behind its access of x.
    let seen = |posts: usize| {
        let mut events = vec![(3, POST); posts];
        events.extend([(3, write(2, 7)), (1, read(2, 7))]);
        events
    };
    let mut both = seen(2);
    both.extend([(2, TAKE), (0, X), (0, TAKE), (1, TAKE_FAILED), (1, X)]);
    assert!(!can_race(&both));
    // That of thread 0 is posted again, and thread 2 takes it: it may have come earlier.
    let mut other = seen(1);
    other.extend([(0, X), (0, TAKE), (1, TAKE_FAILED), (0, POST), (2, TAKE), (1, X)]);
    assert!(can_race(&other));
}

#[test]
fn any_section_may_keep_an_attempt_from_its_lock() {
    // Thread 1 finds the lock held; threads 0 and 2 hold it one after the other, thread 0 behind its access of x.
    let events = |also_behind: bool| {
        let mut events = vec![(0, X), (0, write(2, 7)), (0, ACQUIRE), (1, FOUND_HELD), (0, RELEASE)];
        events.extend(also_behind.then_some((2, read(2, 7))));
        events.extend([(2, ACQUIRE), (2, RELEASE), (1, X)]);
        events
    };
    assert!(can_race(&events(false)));
    assert!(!can_race(&events(true)));
}

#[test]
fn any_initialization_ends_the_wait_for_one() {
    let events = |also_behind: bool| {
        let mut events = vec![(0, X), (0, write(2, 7)), (0, ONCE_BEGIN), (0, ONCE_END)];
        events.extend(also_behind.then_some((2, read(2, 7))));
        events.extend([(2, ONCE_BEGIN), (2, ONCE_END), (1, ONCE_WAIT), (1, X)]);
        events
    };
    assert!(can_race(&events(false)));
    assert!(!can_race(&events(true)));
}

/// A step of an atomic word.
const fn step(read: u64, written: u64) -> Op {
    let mem = MemRange { addr: 0x800, size: 4 };
    Op::AtomicRmw {
        mem,
        read,
        written,
        order: MemoryOrder::SeqCst,
    }
}

/// Between two other threads, many take a lock made of a word and give it back, as often as they like.
fn with_others(first: &[(u32, Op)], last: &[(u32, Op)], taken: u64) -> Vec<(u32, Op)> {
    let mut events = first.to_vec();
    for thread in (2..9).cycle().take(28) {
        events.extend([(thread, step(0, taken)), (thread, step(taken, 0))]);
    }
    events.extend_from_slice(last);
    events
}

#[test]
fn a_lock_made_of_a_word_is_held_by_one_thread_whoever_had_it_before() {
    let own = |thread| [(thread, step(0, 1)), (thread, X), (thread, step(1, 0))];
    assert!(!can_race(&with_others(&own(0), &own(1), 1)));
}

#[test]
fn nobody_reads_under_a_word_that_a_thread_has_for_itself() {
    // Bit 0: somebody writes. Above it: how many read. A writer comes in first, and waits until nobody reads.
    let word = MemRange { addr: 0x800, size: 4 };
    let wait = Op::AtomicLoad {
        mem: word,
        value: 1,
        order: MemoryOrder::Acquire,
    };
    let writes = [(0, step(0, 1)), (0, wait), (0, X), (0, step(1, 0))];
    let reads = [
        (1, step(0, 2)),
        (1, step(2, 4)),
        (1, step(4, 2)),
        (1, X),
        (1, step(2, 0)),
    ];
    assert!(!can_race(&with_others(&writes, &reads, 2)));
    assert!(!can_race(&with_others(&reads, &writes, 2)));
}

#[test]
fn who_finds_a_word_in_use_may_find_another_thread_there() {
    // Thread 1 comes in while thread 9 is there: it may have been thread 0.
    let first = [(0, step(0, 2)), (0, X), (0, step(2, 0))];
    let last = [
        (9, step(0, 2)),
        (1, step(2, 4)),
        (1, X),
        (1, step(4, 2)),
        (9, step(2, 0)),
    ];
    assert!(can_race(&with_others(&first, &last, 2)));
}

#[test]
fn a_store_may_free_a_lock_that_another_thread_has() {
    let own = |thread| [(thread, step(0, 1)), (thread, X), (thread, step(1, 0))];
    let mem = MemRange { addr: 0x800, size: 4 };
    let store = Op::AtomicStore {
        mem,
        value: 0,
        order: MemoryOrder::SeqCst,
    };
    let mut events = own(0).to_vec();
    events.push((2, store));
    events.extend(own(1));
    assert!(can_race(&events));
    // What comes after the lock is given back does not.
    let mut events = own(0).to_vec();
    events.extend([(0, write(7, 1)), (2, read(7, 1)), (2, store)]);
    events.extend(own(1));
    assert!(!can_race(&events));
}

/// Orders that began as an earlier one and were compared with the same ones made afresh.
static COMPARED: AtomicUsize = AtomicUsize::new(0);

/// Compares an order that begins as an earlier one with the same one made afresh: every test of our own solver does so.
pub(super) fn must_be_same(
    made: &Result<Option<Clocks>, Contradiction>,
    afresh: &Result<Option<Clocks>, Contradiction>,
) {
    match (made, afresh) {
        (Ok(Some(made)), Ok(Some(afresh))) => assert_eq!(made.said(), afresh.said()),
        (Ok(None), Ok(None)) | (Err(Contradiction), Err(Contradiction)) => {}
        _ => panic!("an order that begins as an earlier one is another one than afresh"),
    }
    COMPARED.fetch_add(1, Ordering::Relaxed);
}

/// Thread 2 changes cells 3 and 4 together, again and again; then thread 0 accesses x, finds 1 in both and leaves `left` in
/// cell 4, and thread 1 finds that, and accesses x.
fn changed_together(left: u64, by_thread_1: impl Fn(Vec<Op>) -> Vec<Op>) -> Vec<(u32, Op)> {
    let section = |body: &[Op]| [&[ACQUIRE], body, &[RELEASE]].concat();
    let change = |from, to| section(&[read(3, from), read(4, from), write(3, to), write(4, to)]);
    let changes = (0..40).map(|at| change(at % 2, 1 - at % 2));
    let mut first: Vec<Op> = changes.chain([change(0, 1)]).flatten().collect();
    let last = [X]
        .into_iter()
        .chain(section(&[read(3, 1), read(4, 1), write(4, left)]));
    let own = by_thread_1(vec![read(3, 1), read(4, left)]).into_iter().chain([X]);
    let mut events: Vec<(u32, Op)> = first.drain(..).map(|op| (2, op)).collect();
    events.extend(last.map(|op| (0, op)));
    events.extend(own.map(|op| (1, op)));
    events
}

fn refuted_by_one_lock(events: &[(u32, Op)]) -> bool {
    with_native(events, |_, native, accesses| {
        native.locks_refute((&accesses).into(), &mut Steps::unbounded())
    })
}

#[test]
fn who_finds_what_a_section_has_left_comes_behind_it() {
    let under_lock = |body: Vec<Op>| [vec![ACQUIRE], body, vec![RELEASE]].concat();
    assert!(refuted_by_one_lock(&changed_together(0, under_lock)));
    let as_before = changed_together(1, under_lock);
    assert!(can_race(&as_before) && !refuted_by_one_lock(&as_before));
}

#[test]
fn what_is_read_outside_of_a_lock_it_does_not_guard() {
    assert!(!refuted_by_one_lock(&changed_together(0, |body| body)));
}

#[test]
fn an_order_that_begins_as_an_earlier_one_is_the_same_as_afresh() {
    for seed in 0..12 {
        let shape = Shape {
            events: 600,
            threads: 3 + seed as u32 % 6,
            variables: 12,
            locks: 4,
            unprotected: 0.02,
            waits: if seed % 2 == 0 { 0.3 } else { 0.0 },
            values: if seed % 3 == 0 { 1_000_000 } else { 3 },
            seed,
        };
        let generator = Generator::new(shape);
        let tables = Tables {
            threads: generator.threads(),
            objects: generator.objects(),
            ..Tables::default()
        };
        let event = |(thread, pc, op)| Event {
            thread,
            pc,
            stack: StackId::EMPTY,
            op,
        };
        let trace = Trace::from_events(tables, &generator.map(event).collect::<Vec<_>>());
        let options = Options {
            solver: Solver::Native,
            explanations: Some(0),
            ..Options::default()
        };
        assert!(!analyze(&trace, &options).pairs.is_empty());
    }
    let compared = COMPARED.load(Ordering::Relaxed);
    assert!(compared > 1_000, "only {compared} orders went on");
}
