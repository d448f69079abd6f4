//! Deadlocks, against exhaustive search.
//!
//! In every state that a feasible prefix of a small trace can reach, section 3 of `docs/SEMANTICS.md` says which of the
//! operations that are next then wait for each other for ever. The analysis has to witness those cycles of positions,
//! and no other; the checker accepts each schedule, and each set of operations in each state exactly if it is a
//! deadlock there. What is refuted, the operations alone must not reach. Of standstills, those that are witnessed
//! have to be there, and the checker accepts exactly these; how many the analysis finds is counted. The same holds of
//! partial deadlocks.

use super::checker::{Taken, schedule_of};
use super::execution::Execution;
use super::machine::State;
use super::states::{Each, each_state};
use super::{LIMIT, environment, every_instance, random_trace, stored, structure};
use std::collections::{BTreeMap, BTreeSet};
use trace_format::{Event, EventId, MemRange, ObjectId, ObjectKind, Op, StackId, Tables, ThreadId, ThreadInfo};
use witness::analyze::analyze;
use witness::check::{Checker, validate};
use witness::schedule::{Goal, Schedule};
use witness::trace::Trace;
use witness::verdict::{Deadlock, DeadlockKind, Unknown, Verdict};

/// Who holds which lock, and how.
pub trait Holders {
    fn owner(&self, lock: u32) -> Option<u32>;
    fn reads(&self, lock: u32, thread: u32) -> bool;
}

impl Holders for State {
    fn owner(&self, lock: u32) -> Option<u32> {
        self.owner.get(&lock).map(|&(owner, _)| owner)
    }

    fn reads(&self, lock: u32, thread: u32) -> bool {
        self.readers.contains_key(&(lock, thread))
    }
}

/// The threads that are there and have not ended: all that may do something.
fn left(execution: &Execution, state: &State) -> Vec<u32> {
    let last = execution.ids().last();
    let ended = |thread: u32| {
        let mut own = execution.of_thread(thread).iter();
        own.any(|&event| *execution.op(event) == Op::End && state.is_done(execution, event) && Some(event) != last)
    };
    let there = |thread: u32| match execution.fork_of(thread) {
        Some(fork) => state.is_done(execution, fork),
        None => !execution.of_thread(thread).is_empty(),
    };
    let threads = 0..execution.threads();
    threads.filter(|&thread| there(thread) && !ended(thread)).collect()
}

/// Whether an operation that is next can only go on when some thread has done something, one of these being in the
/// middle of the initialization that it waits for.
fn waits_for_anybody(execution: &Execution, state: &State, threads: &BTreeSet<u32>, event: EventId) -> bool {
    match *execution.op(event) {
        Op::SemWait { attempt: false, .. } | Op::BarrierExit { attempt: false, .. } => {
            state.step(execution, event).is_empty()
        }
        Op::WaitEnd { attempt: false, .. } => state.is_asleep(execution, event),
        Op::OnceWait { once } => {
            let begun = |&thread: &u32| {
                let own = execution.of_thread(thread).iter();
                let done = own.filter(|&&event| state.is_done(execution, event));
                let mut steps = done.filter_map(|&event| match *execution.op(event) {
                    Op::OnceBegin { once: of } if of == once => Some(true),
                    Op::OnceEnd { once: of } if of == once => Some(false),
                    _ => None,
                });
                steps.next_back() == Some(true)
            };
            state.step(execution, event).is_empty() && threads.iter().any(begun)
        }
        _ => false,
    }
}

/// Whether these operations that are next are those of all threads that are left, and none of them can ever go on.
fn stand_still(execution: &Execution, handed_over: &BTreeSet<u32>, state: &State, next: &[EventId]) -> bool {
    let all = left(execution, state);
    let threads: BTreeSet<u32> = next.iter().map(|&event| execution.thread(event)).collect();
    let waits = |&event: &EventId| {
        let mut others = threads.iter();
        waits_for_anybody(execution, state, &threads, event)
            || others.any(|&other| waits_for(execution, handed_over, state, event, other))
    };
    !next.is_empty() && all.iter().all(|thread| threads.contains(thread)) && next.iter().all(waits)
}

/// Whether an event of a thread gives what an operation waits for that any thread may let go on.
fn gives(execution: &Execution, given: EventId, awaited: EventId) -> bool {
    match (*execution.op(given), *execution.op(awaited)) {
        (Op::SemPost { semaphore: one }, Op::SemWait { semaphore: other, .. })
        | (Op::Notify { condition: one } | Op::NotifyAll { condition: one }, Op::WaitEnd { condition: other, .. })
        | (Op::BarrierEnter { barrier: one, .. }, Op::BarrierExit { barrier: other, .. })
        | (Op::OnceEnd { once: one }, Op::OnceWait { once: other }) => one == other,
        _ => false,
    }
}

/// Whether an operation that a thread has not performed yet is next, and waits.
fn waits_itself(execution: &Execution, state: &State, event: EventId) -> bool {
    let waits = matches!(
        execution.op(event),
        Op::Acquire { attempt: false, .. }
            | Op::AcquireShared { attempt: false, .. }
            | Op::Join { attempt: false, .. }
            | Op::WaitEnd { attempt: false, .. }
            | Op::SemWait { attempt: false, .. }
            | Op::BarrierExit { attempt: false, .. }
            | Op::OnceWait { .. }
    );
    let is_next = state.next(execution, execution.thread(event)) == Some(event);
    waits && is_next && state.step(execution, event).is_empty()
}

/// Whether these operations that are next wait for each other's threads, or for what nobody else gives in the trace,
/// while others are left.
fn is_partial(execution: &Execution, handed_over: &BTreeSet<u32>, state: &State, next: &[EventId]) -> bool {
    let threads: BTreeSet<u32> = next.iter().map(|&event| execution.thread(event)).collect();
    let mut forkers = Vec::new();
    let mut may_come = |of: u32| {
        forkers.clear();
        let mut thread = of;
        while let Some(fork) = execution
            .fork_of(thread)
            .filter(|&fork| !state.is_done(execution, fork))
        {
            thread = execution.thread(fork);
            if threads.contains(&thread) || forkers.contains(&thread) {
                return false;
            }
            forkers.push(thread);
        }
        true
    };
    let mut others: Vec<u32> = (0..execution.threads())
        .filter(|thread| !threads.contains(thread) && may_come(*thread))
        .filter(|&thread| {
            let mut own = execution.of_thread(thread).iter();
            own.any(|&event| *execution.op(event) != Op::End && !state.is_done(execution, event))
        })
        .collect();
    let place = |event: EventId| {
        let event = &execution.events[event.index()];
        (event.pc, event.stack)
    };
    for other in others.clone() {
        let own = execution.of_thread(other).iter().copied();
        let left: Vec<EventId> = own.filter(|&event| !state.is_done(execution, event)).collect();
        let stands = left.iter().map(|&event| place(event)).find(|&(pc, _)| pc != 0);
        if let Some(stands) = stands.filter(|_| !waits_itself(execution, state, left[0])) {
            let there = execution.ids().filter(|&event| place(event) == stands);
            others.extend(there.map(|event| execution.thread(event)));
        }
    }
    let for_a_thread = |event: EventId| {
        let mut some = threads.iter();
        some.any(|&other| waits_for(execution, handed_over, state, event, other))
    };
    let waits = |&event: &EventId| {
        let given = |&other: &u32| {
            let mut own = execution.of_thread(other).iter();
            own.any(|&given| gives(execution, given, event))
        };
        for_a_thread(event) || (waits_for_anybody(execution, state, &threads, event) && !others.iter().any(given))
    };
    let is_needed = |&event: &EventId| for_a_thread(event) || !matches!(execution.op(event), Op::WaitEnd { .. });
    let is_left = left(execution, state).iter().any(|thread| !threads.contains(thread));
    is_left && next.iter().all(waits) && next.iter().any(is_needed)
}

/// All sets of these operations that are partial deadlocks, and have no deadlock in them.
fn partial_deadlocks(
    execution: &Execution,
    handed_over: &BTreeSet<u32>,
    state: &State,
    next: &[EventId],
) -> Vec<Vec<EventId>> {
    let sets = (1..1_u32 << next.len()).map(|set| {
        let inside = next.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1);
        inside.map(|(_, &event)| event).collect::<Vec<EventId>>()
    });
    sets.filter(|set| is_partial(execution, handed_over, state, set))
        .filter(|set| deadlocks(execution, handed_over, state, set).is_empty())
        .collect()
}

/// The positions of those that wait otherwise than for locks and threads.
fn key(execution: &Execution, next: &[EventId]) -> BTreeSet<u64> {
    let others = next.iter().filter(|&&event| {
        matches!(
            execution.op(event),
            Op::SemWait { .. } | Op::WaitEnd { .. } | Op::BarrierExit { .. } | Op::OnceWait { .. }
        )
    });
    others.map(|&event| execution.pc(event)).collect()
}

/// What is found in all states: the cycles, by positions, and the standstills and partial deadlocks that have none, by
/// their keys.
#[derive(Default)]
struct All {
    cycles: BTreeSet<Vec<u64>>,
    standstills: BTreeSet<BTreeSet<u64>>,
    partial: BTreeSet<BTreeSet<u64>>,
}

/// Whether an operation that is next waits for a certain other thread, as long as that one does not move.
fn waits_for(
    execution: &Execution,
    handed_over: &BTreeSet<u32>,
    holders: &dyn Holders,
    event: EventId,
    other: u32,
) -> bool {
    if execution.thread(event) == other {
        return false;
    }
    let held = |lock: u32, shared: bool| {
        !handed_over.contains(&lock) && (holders.owner(lock) == Some(other) || (!shared && holders.reads(lock, other)))
    };
    match *execution.op(event) {
        Op::Acquire { lock, attempt: false } | Op::WaitEnd { lock, .. } => held(lock.0, false),
        Op::AcquireShared { lock, attempt: false } => held(lock.0, true),
        Op::Join { child, attempt: false } => child.0 == other,
        _ => false,
    }
}

/// The smallest sets of these operations that wait for each other for ever, each in the order in which they wait.
pub fn deadlocks(
    execution: &Execution,
    handed_over: &BTreeSet<u32>,
    holders: &dyn Holders,
    next: &[EventId],
) -> Vec<Vec<EventId>> {
    let waits = |set: &[EventId], event: EventId| {
        let mut others = set.iter().map(|&other| execution.thread(other));
        others.any(|other| waits_for(execution, handed_over, holders, event, other))
    };
    let mut sets: Vec<Vec<EventId>> = (1..1_u32 << next.len())
        .map(|set| {
            let inside = next.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1);
            inside.map(|(_, &event)| event).collect()
        })
        .filter(|set: &Vec<EventId>| set.iter().all(|&event| waits(set, event)))
        .collect();
    sets.sort_by_key(Vec::len);
    let mut smallest: Vec<Vec<EventId>> = Vec::new();
    for set in sets {
        let within = |smaller: &Vec<EventId>| smaller.iter().all(|event| set.contains(event));
        if !smallest.iter().any(within) {
            smallest.push(set);
        }
    }
    for set in &mut smallest {
        // Where no smaller one is, each waits for one other.
        let mut order = vec![set[0]];
        while order.len() < set.len() {
            let last = order[order.len() - 1];
            let next = set
                .iter()
                .copied()
                .find(|&other| waits_for(execution, handed_over, holders, last, execution.thread(other)));
            order.extend(next);
        }
        *set = order;
    }
    smallest
}

/// Its positions, beginning with the smallest.
pub fn positions(execution: &Execution, cycle: &[EventId]) -> Vec<u64> {
    let rotated = |by: usize| cycle[by..].iter().chain(&cycle[..by]).map(|&event| execution.pc(event));
    let all = (0..cycle.len()).map(|by| rotated(by).collect::<Vec<u64>>());
    all.min().unwrap_or_default()
}

/// The deadlocks of all feasible prefixes, by positions, with a way to each state. `None` if there are too many states.
fn searched(execution: &Execution, each: &mut Each<'_>) -> Option<Result<All, String>> {
    let handed_over = structure::handed_over(execution);
    let mut found = All::default();
    let all = each_state(execution, LIMIT / 4, &mut |state, path, next| {
        let cycles = deadlocks(execution, &handed_over, state, next);
        if cycles.is_empty() && stand_still(execution, &handed_over, state, next) {
            found.standstills.insert(key(execution, next));
        }
        for set in partial_deadlocks(execution, &handed_over, state, next) {
            found.partial.insert(key(execution, &set));
        }
        for cycle in cycles {
            found.cycles.insert(positions(execution, &cycle));
        }
        each(state, path, next)
    });
    match all {
        Ok(true) => Some(Ok(found)),
        Ok(false) => None,
        Err(wrong) => Some(Err(wrong)),
    }
}

#[derive(Default)]
struct Counts {
    compared: u64,
    witnessed: u64,
    of_three: u64,
    joins: u64,
    refuted: u64,
    not_in_trace: u64,
    unknown: u64,
    standstills: u64,
    not_found: u64,
    partial: u64,
    partial_of_several: u64,
    partial_not_found: u64,
    partial_accepted: u64,
    partial_rejected: u64,
    accepted: u64,
    rejected: u64,
}

/// Marks some of the operations that took effect as attempts.
fn with_attempts(events: &mut [Event], random: &mut fastrand::Rng) {
    let percent = [0, 0, 15][random.usize(..3)];
    for event in events {
        if let Op::Acquire { attempt, .. }
        | Op::AcquireShared { attempt, .. }
        | Op::Join { attempt, .. }
        | Op::WaitEnd { attempt, .. }
        | Op::SemWait { attempt, .. }
        | Op::BarrierExit { attempt, .. } = &mut event.op
        {
            *attempt = random.u64(..100) < percent;
        }
    }
}

/// Adds a thread that goes on beside the others, and sometimes reads what one of them writes, or gives what they wait
/// for; nothing if the run then is none any more.
fn with_bystander(tables: &mut Tables, events: &mut Vec<Event>, random: &mut fastrand::Rng) {
    let thread = tables.threads.len() as u32;
    let mut with = events.clone();
    let mut add = |at: usize, op: Op| {
        let pc = 0xb00 + at as u64 % 4;
        let (thread, stack) = (ThreadId(thread), StackId::EMPTY);
        with.insert(at, Event { thread, pc, stack, op });
    };
    let mut at = random.usize(..=events.len());
    for number in 0..random.usize(1..4) {
        let object = ObjectId(random.u32(..tables.objects.len().max(1) as u32));
        let kind = tables.objects.get(object.index()).map(|object| object.kind);
        let own = MemRange { addr: 0xb000, size: 4 };
        let value = number as u64;
        let op = match (random.u32(..4), kind) {
            (0, Some(ObjectKind::Semaphore)) => Op::SemPost { semaphore: object },
            (0, Some(ObjectKind::Condition)) => Op::Notify { condition: object },
            _ => Op::Write { mem: own, value },
        };
        add(at, op);
        at = random.usize(at + 1..=events.len() + number + 1);
    }
    if random.bool() {
        // Behind what another thread does last: where that one does not come to it, this one goes another way.
        let late = events.last().map_or(0, |event| event.thread.0);
        let flag = MemRange { addr: 0xb100, size: 4 };
        let end = with.len();
        let before_end = with
            .iter()
            .rposition(|event| event.thread.0 == late && event.op != Op::End);
        if let Some(before_end) = before_end {
            let by = Event {
                op: Op::Write { mem: flag, value: 1 },
                ..with[before_end]
            };
            with.insert(before_end + 1, by);
            let (thread, stack, pc) = (ThreadId(thread), StackId::EMPTY, 0xb08);
            let op = Op::Read { mem: flag, value: 1 };
            with.insert(end + 1, Event { thread, pc, stack, op });
        }
    }
    let mut more = tables.clone();
    more.threads.push(ThreadInfo::default());
    if validate(&Trace::from_events(more.clone(), &with)).is_ok() {
        (*tables, *events) = (more, with);
    }
}

fn compare(tables: &Tables, events: &[Event], random: &mut fastrand::Rng, counts: &mut Counts) -> Result<(), String> {
    let execution = Execution::new(tables, events);
    let trace = Trace::from_events(tables.clone(), events);
    validate(&trace).map_err(|violation| format!("the trace itself is refused: {violation}"))?;
    let checker = Checker::new(&trace);
    let handed_over = structure::handed_over(&execution);
    // In some states, what the checker says of some sets of operations.
    let mut each = |state: &State, path: &[Taken], next: &[EventId]| {
        if random.u64(..100) >= 10 {
            return Ok(());
        }
        let smallest = deadlocks(&execution, &handed_over, state, next);
        let some = next.iter().copied().filter(|_| random.bool());
        let mut asked = smallest.clone();
        asked.push(some.collect());
        asked.push(next.to_vec());
        asked.push(execution.ids().filter(|_| random.u64(..10) == 0).collect());
        asked.extend(partial_deadlocks(&execution, &handed_over, state, next));
        for set in asked {
            let inside = |event: &EventId| next.contains(event);
            let all = set.iter().all(inside) && !set.is_empty();
            let waits = |&event: &EventId| {
                set.iter()
                    .any(|&other| waits_for(&execution, &handed_over, state, event, execution.thread(other)))
            };
            let expected = all && (set.iter().all(waits) || stand_still(&execution, &handed_over, state, &set));
            match (
                expected,
                checker.check(&schedule_of(&execution, path, Goal::deadlock(set.clone()))),
            ) {
                (true, Ok(_)) => counts.accepted += 1,
                (false, Err(_)) => counts.rejected += 1,
                (_, said) => {
                    return Err(format!(
                        "after {path:?}, {set:?} is {expected}, and the checker says {said:?}"
                    ));
                }
            }
            let partial = all && is_partial(&execution, &handed_over, state, &set);
            match (
                partial,
                checker.check(&schedule_of(&execution, path, Goal::partial_deadlock(set.clone()))),
            ) {
                (true, Ok(_)) => counts.partial_accepted += 1,
                (false, Err(_)) => counts.partial_rejected += 1,
                (_, said) => {
                    return Err(format!(
                        "after {path:?}, {set:?} is a partial deadlock: {partial}, and the checker says {said:?}"
                    ));
                }
            }
        }
        Ok(())
    };
    let Some(found) = searched(&execution, &mut each) else {
        return Ok(());
    };
    let found = found?;
    counts.compared += 1;
    let analysis = analyze(&trace, &every_instance());
    if let Some(rejected) = analysis.rejected.first() {
        return Err(format!("the checker rejected a schedule: {}", rejected.reason));
    }
    let by_operations = structure::deadlocks(&execution, LIMIT / 4, &mut |cycle| positions(&execution, cycle));
    let mut said: BTreeMap<&[u64], &Verdict> = BTreeMap::new();
    let mut least: Vec<BTreeSet<u64>> = Vec::new();
    let of_kind = |kind: DeadlockKind| analysis.deadlocks.iter().filter(move |deadlock| deadlock.kind == kind);
    for deadlock in of_kind(DeadlockKind::Standstill) {
        let of = key(&execution, &deadlock.example);
        let Verdict::Witnessed(schedule) = &deadlock.verdict else {
            return Err(format!("a standstill is not witnessed: {:?}", deadlock.verdict));
        };
        if !found.standstills.contains(&of) || checker.check(schedule).is_err() {
            return Err(format!("{:x?} is no standstill", deadlock.positions));
        }
        if least.iter().any(|other| other.is_subset(&of) || of.is_subset(other)) {
            return Err(format!("{of:x?} is another one's"));
        }
        least.push(of);
        counts.standstills += 1;
    }
    let is_least = |of: &&BTreeSet<u64>| {
        let mut others = found.standstills.iter();
        !others.any(|other| other != *of && other.is_subset(of))
    };
    let missed = found
        .standstills
        .iter()
        .filter(is_least)
        .filter(|of| !least.contains(of));
    counts.not_found += missed.count() as u64;
    compare_partial(
        &execution,
        &checker,
        of_kind(DeadlockKind::Partial),
        &least,
        &found,
        counts,
    )?;
    let found = found.cycles;
    for deadlock in of_kind(DeadlockKind::Cycle) {
        if said.insert(&deadlock.positions, &deadlock.verdict).is_some() {
            return Err(format!("{:x?} twice", deadlock.positions));
        }
        let there = found.contains(&deadlock.positions);
        let wrong = |what: &str| Err(format!("{:x?} is {what}: {:?}", deadlock.positions, deadlock.verdict));
        match &deadlock.verdict {
            Verdict::Witnessed(schedule) => {
                let goal = Goal::deadlock(deadlock.example.clone());
                if !there || schedule.goal != goal || checker.check(schedule).is_err() {
                    return wrong("no deadlock");
                }
                counts.witnessed += 1;
                counts.of_three += u64::from(deadlock.positions.len() > 2);
                let joins = deadlock
                    .example
                    .iter()
                    .any(|&event| matches!(execution.op(event), Op::Join { .. }));
                counts.joins += u64::from(joins);
            }
            Verdict::Refuted(_) => {
                if there
                    || by_operations
                        .as_ref()
                        .is_some_and(|all| all.contains(&deadlock.positions))
                {
                    return wrong("a deadlock of the operations");
                }
                counts.refuted += 1;
            }
            Verdict::NotInTrace(_) if there => return wrong("a deadlock"),
            Verdict::NotInTrace(_) => counts.not_in_trace += 1,
            Verdict::Unknown(Unknown::Unrecorded(_)) if there => return wrong("a deadlock"),
            Verdict::Unknown(Unknown::Unrecorded(_)) => counts.unknown += 1,
            Verdict::Unknown(_) => return wrong("not decided"),
        }
    }
    match found.iter().find(|positions| !said.contains_key(positions.as_slice())) {
        Some(positions) => Err(format!("{positions:x?} is a deadlock, and no candidate")),
        None => Ok(()),
    }
}

/// Each partial deadlock that the analysis reports is one, has none within it, and no standstill or other one is of some
/// of its waits.
fn compare_partial<'d>(
    execution: &Execution,
    checker: &Checker<'_>,
    reported: impl Iterator<Item = &'d Deadlock>,
    standstills: &[BTreeSet<u64>],
    found: &All,
    counts: &mut Counts,
) -> Result<(), String> {
    let mut known: Vec<BTreeSet<u64>> = Vec::new();
    for deadlock in reported {
        let of = key(execution, &deadlock.example);
        let wrong = |what: &str| Err(format!("{:x?} is {what}: {:?}", deadlock.positions, deadlock.verdict));
        let Verdict::Witnessed(schedule) = &deadlock.verdict else {
            return wrong("not witnessed");
        };
        let goal = Goal::partial_deadlock(deadlock.example.clone());
        if !found.partial.contains(&of) || schedule.goal != goal || checker.check(schedule).is_err() {
            return wrong("no partial deadlock");
        }
        let within = (1..(1_u32 << deadlock.example.len()) - 1).map(|set| {
            let inside = deadlock.example.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1);
            inside.map(|(_, &event)| event).collect::<Vec<EventId>>()
        });
        for smaller in within {
            for goal in [Goal::partial_deadlock(smaller.clone()), Goal::deadlock(smaller)] {
                let smaller = Schedule {
                    goal,
                    ..schedule.clone()
                };
                if checker.check(&smaller).is_ok() {
                    return wrong("not the least");
                }
            }
        }
        if standstills.iter().any(|other| other.is_subset(&of))
            || known.iter().any(|other| other.is_subset(&of) || of.is_subset(other))
        {
            return wrong("another one's");
        }
        counts.partial += 1;
        counts.partial_of_several += u64::from(deadlock.example.len() > 1);
        known.push(of);
    }
    let is_least = |of: &&BTreeSet<u64>| {
        let mut others = found.partial.iter().chain(&found.standstills);
        !others.any(|other| other != *of && other.is_subset(of)) && !found.standstills.contains(*of)
    };
    let missed = found.partial.iter().filter(is_least).filter(|of| !known.contains(of));
    counts.partial_not_found += missed.count() as u64;
    Ok(())
}

#[test]
fn deadlocks_are_found_exactly() {
    let (first, traces) = (
        environment("WITNESS_ORACLE_SEED", 0),
        environment("WITNESS_ORACLE_TRACES", 2_000),
    );
    let mut counts = Counts::default();
    for seed in first..first + traces {
        let (mut tables, mut events) = match seed % 4 {
            0 => random_trace::generate(seed),
            1 => random_trace::standing::generate_standing(seed).unwrap_or_else(|| random_trace::generate(seed)),
            _ => random_trace::generate_nested(seed),
        };
        let mut random = fastrand::Rng::with_seed(seed);
        with_attempts(&mut events, &mut random);
        if random.u32(..3) == 0 {
            with_bystander(&mut tables, &mut events, &mut random);
        }
        if let Err(wrong) = compare(&tables, &events, &mut random, &mut counts) {
            let file = stored::leave_behind(&format!("deadlock-{seed}"), &tables, &events);
            panic!("seed {seed}: {wrong}; the trace is {file}");
        }
    }
    let Counts {
        compared,
        witnessed,
        of_three,
        joins,
        refuted,
        not_in_trace,
        unknown,
        standstills,
        not_found,
        partial,
        partial_of_several,
        partial_not_found,
        partial_accepted,
        partial_rejected,
        accepted,
        rejected,
    } = counts;
    println!(
        "{compared} traces: {witnessed} deadlocks ({of_three} of three and more, {joins} with joins), {refuted} cycles refuted, \
         {not_in_trace} not in the trace, {unknown} unknown; {standstills} standstills, {not_found} not found; \
         {partial} partial deadlocks ({partial_of_several} of several threads), {partial_not_found} not found; the checker \
         accepted {accepted} and rejected {rejected}, of partial ones {partial_accepted} and {partial_rejected}"
    );
    if traces >= 2_000 {
        let least = [
            compared,
            witnessed,
            of_three,
            joins,
            refuted,
            not_in_trace,
            standstills,
            partial,
            partial_of_several,
            partial_accepted,
            partial_rejected,
            accepted,
            rejected,
        ];
        assert!(least.iter().all(|&count| count > 0), "some kind never came up");
        assert!(not_found * 10 < standstills, "too many standstills are not found");
    }
}
