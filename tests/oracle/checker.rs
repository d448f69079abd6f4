//! The checker against the oracle's own machine, prefix by prefix.
//!
//! Both go along every feasible prefix of a small trace side by side. After each, the checker is offered every event of
//! the trace, whether it is next or not, and every thread that a notify could be told to wake, waiting or not: it
//! has to accept what the oracle's machine can do, and nothing else. Whole schedules are compared at the same time: a
//! walk with both accesses of a conflict next is a schedule that it accepts, and the same schedule with a slice too
//! few, too many or out of place is one that it accepts only if the oracle finds the race there. Others ask for a race
//! of two events that do not conflict, for another value of a read, or list a wake too many; others again begin with
//! events as recorded, and are checked together and alone.

use super::execution::Execution;
use super::machine::State;
use super::other_values::{about_to_see, shown};
use super::{environment, event_kind, random_trace, stored};
use checker::{Checker, Events, Recording};
use schedule_format::{Goal, Schedule, Slice};
use std::collections::{BTreeMap, HashSet};
use trace_format::{Event, ObjectKind, Op, Tables};
use trace_format::{EventId, ThreadId, TraceId};
use witness::trace::Trace;

/// States of one trace that are compared; the walk is in a random order, so that longer prefixes are among them.
const STATES: usize = 150;

/// An event and whom it wakes.
pub type Taken = (EventId, Option<u32>);

#[derive(Default)]
struct Counts {
    accepted: u64,
    rejected: u64,
    schedules: u64,
    refused_schedules: u64,
    /// Schedules that end in another value.
    other_values: u64,
    refused_values: u64,
    /// Accepted schedules that begin with events as recorded.
    recorded_beginnings: u64,
    /// Events that were rejected though next in their threads, by kind.
    kinds: BTreeMap<&'static str, u64>,
}

#[test]
fn the_checker_accepts_what_is_feasible_and_nothing_else() {
    let traces = environment("WITNESS_ORACLE_TRACES", 1_000);
    let first = environment("WITNESS_ORACLE_SEED", 1);
    let mut counts = Counts::default();
    for seed in first..first + traces {
        let (tables, events) = random_trace::generate(seed);
        let mut random = fastrand::Rng::with_seed(seed);
        if let Err(what) = compare(&tables, &events, &mut random, &mut counts) {
            let file = stored::leave_behind(&format!("checker-{seed}"), &tables, &events);
            panic!("seed {seed}: {what}\n{}{file}", event_kind::describe(&events));
        }
    }
    println!(
        "{} steps accepted, {} rejected; {} schedules accepted, {} rejected; {} that begin as recorded; rejected though next: {:#?}",
        counts.accepted,
        counts.rejected,
        counts.schedules,
        counts.refused_schedules,
        counts.recorded_beginnings,
        counts.kinds
    );
    assert!(counts.accepted > 0 && counts.schedules > 0 && counts.refused_schedules > 0);
    println!(
        "{} other values accepted, {} rejected",
        counts.other_values, counts.refused_values
    );
    assert!(counts.other_values > traces / 4 && counts.refused_values > traces / 4);
    assert!(counts.recorded_beginnings > traces / 4);
    for kind in [
        "read",
        "write",
        "join",
        "acquire",
        "acquire shared",
        "acquire failed",
        "wait end, notified",
        "wait end, timed out",
        "barrier enter",
        "barrier exit",
        "semaphore wait",
        "once wait",
        "input",
        "branch",
        "fork",
        "end",
        "output",
        "atomic load",
        "atomic read-modify-write",
        "free",
        "release",
        "notify",
    ] {
        assert!(counts.kinds.contains_key(kind), "no {kind} was ever rejected");
    }
}

/// Whether the checker and the oracle's machine agree on a trace.
pub fn agrees(tables: &Tables, events: &[Event], seed: u64) -> Result<(), String> {
    let mut random = fastrand::Rng::with_seed(seed);
    compare(tables, events, &mut random, &mut Counts::default())
}

fn compare(tables: &Tables, events: &[Event], random: &mut fastrand::Rng, counts: &mut Counts) -> Result<(), String> {
    let execution = Execution::new(tables, events);
    let recorded = in_memory(tables, events);
    let checker = Checker::new(&recorded);
    same_events(tables, events)?;
    let start = State::start(&execution);
    let mut visited = HashSet::from([start.clone()]);
    let mut open = vec![(start, checker.start(), Vec::<Taken>::new())];
    let mut compared = 0;
    while !open.is_empty() && compared < STATES {
        compared += 1;
        let (state, beside, path) = open.swap_remove(random.usize(..open.len()));
        let mut feasible: BTreeMap<Taken, State> = BTreeMap::new();
        for thread in 0..execution.threads() {
            let next = state.next(&execution, thread);
            for (event, after) in next.into_iter().flat_map(|event| {
                state
                    .step(&execution, event)
                    .into_iter()
                    .map(move |after| (event, after))
            }) {
                feasible.insert((event, after.wakes), after.state);
            }
        }
        let nobody_and_each = || std::iter::once(None).chain((0..execution.threads()).map(Some));
        for event in execution.ids() {
            for wakes in nobody_and_each() {
                let mut then = beside.clone();
                let step = then.step(event, wakes.map(ThreadId));
                match (step, feasible.get(&(event, wakes))) {
                    (Ok(_), Some(after)) => {
                        counts.accepted += 1;
                        if visited.insert(after.clone()) {
                            let mut path = path.clone();
                            path.push((event, wakes));
                            open.push((after.clone(), then, path));
                        }
                    }
                    (Err(violation), None) => {
                        counts.rejected += 1;
                        let told_nobody = wakes.is_none();
                        let thread = execution.thread(event);
                        if told_nobody && beside.next(ThreadId(thread)) == Some(event) {
                            *counts.kinds.entry(event_kind::kind(execution.op(event))).or_default() += 1;
                        }
                        drop(violation);
                    }
                    (Ok(_), None) => {
                        return Err(format!(
                            "after {path:?} the checker accepts {event:?}, waking {wakes:?}"
                        ));
                    }
                    (Err(violation), Some(_)) => {
                        return Err(format!(
                            "after {path:?}, waking {wakes:?}, the checker rejects: {violation}"
                        ));
                    }
                }
            }
        }
        schedules(&execution, &checker, &state, &path, random, counts)?;
        other_values(&execution, &checker, &state, &path, random, counts)?;
    }
    recorded_beginnings(&execution, &checker, random, counts)
}

fn in_memory(tables: &Tables, events: &[Event]) -> Events {
    Events::new(TraceId([0; 16]), tables.clone(), events.to_vec())
}

/// The analysis hands the checker the events that it was given itself.
fn same_events(tables: &Tables, events: &[Event]) -> Result<(), String> {
    let trace = Trace::from_events(tables.clone(), events);
    let handed_on: &dyn Recording = &trace;
    for (event, recorded) in (0..).map(EventId).zip(events) {
        let now = (handed_on.thread(event), handed_on.op(event), handed_on.pc(event));
        if now != (recorded.thread, recorded.op, recorded.pc) {
            return Err(format!("{event:?} is {recorded:?}, and the checker is told {now:?}"));
        }
    }
    let all = handed_on.events() == events.len();
    all.then_some(()).ok_or_else(|| "some events are missing".to_owned())
}

/// Compares whole schedules: one that ends in this state, and one that was damaged.
fn schedules(
    execution: &Execution,
    checker: &Checker<'_>,
    state: &State,
    path: &[Taken],
    random: &mut fastrand::Rng,
    counts: &mut Counts,
) -> Result<(), String> {
    let conflicts: Vec<(EventId, EventId)> = execution
        .ids()
        .flat_map(|a| execution.ids().map(move |b| (a, b)))
        .filter(|&(a, b)| a < b && execution.conflict(a, b))
        .collect();
    if conflicts.is_empty() {
        return Ok(());
    }
    let is_next = |state: &State, event| state.next(execution, execution.thread(event)) == Some(event);
    let racing = |state: &State, (a, b)| is_next(state, a) && is_next(state, b) && a != b && execution.conflict(a, b);
    // What comes next in its thread, whether that and the memory are there or not.
    let comes_next = |event: EventId| {
        let thread = execution.of_thread(execution.thread(event));
        let mut before = thread.iter().take(execution.place(event) as usize);
        before.all(|&before| state.is_done(execution, before)) && !state.is_done(execution, event)
    };
    let next: Vec<EventId> = execution.ids().filter(|&event| comes_next(event)).collect();
    let race = if random.u32(..4) == 0 && !next.is_empty() {
        // Any two, or one twice, conflict or no conflict.
        let mut some = || next[random.usize(..next.len())];
        let (a, b) = (some(), some());
        (a.min(b), a.max(b))
    } else {
        let both_come = |&&(a, b): &&(EventId, EventId)| comes_next(a) && comes_next(b);
        let absent = conflicts.iter().filter(both_come).find(|&&race| !racing(state, race));
        let there = conflicts.iter().find(|&&race| racing(state, race));
        let first = if random.bool() {
            there.or(absent)
        } else {
            absent.or(there)
        };
        *first.unwrap_or_else(|| &conflicts[random.usize(..conflicts.len())])
    };
    let mut damaged = path.to_vec();
    let mut wake_too_many = None;
    match random.u32(..5) {
        0 => drop(damaged.pop()),
        1 if damaged.len() > 1 => {
            let at = random.usize(1..damaged.len());
            damaged.swap(at - 1, at);
        }
        2 if !damaged.is_empty() => drop(damaged.remove(random.usize(..damaged.len()))),
        3 => damaged.extend(
            execution
                .ids()
                .nth(random.usize(..execution.events.len()))
                .map(|event| (event, None)),
        ),
        4 => {
            let event = random.usize(..execution.events.len());
            let thread = ThreadId(random.u32(..execution.threads()));
            wake_too_many = execution.ids().nth(event).map(|event| (event, thread));
        }
        _ => {}
    }
    for (steps, wake) in [(path, None), (&damaged[..], wake_too_many)] {
        let mut schedule = schedule_of(execution, steps, Goal::Race(race.0, race.1));
        schedule.wakes.extend(wake);
        let reached = walk(execution, &schedule);
        let expected = reached.is_some_and(|state| racing(&state, race));
        let said = checker.check(&schedule);
        match (expected, said) {
            (true, Ok(_)) => counts.schedules += 1,
            (false, Err(_)) => counts.refused_schedules += 1,
            (true, Err(rejection)) => return Err(format!("{schedule:?} is a witness, and rejected: {rejection}")),
            (false, Ok(_)) => return Err(format!("{schedule:?} is no witness, and accepted")),
        }
    }
    Ok(())
}

/// Compares schedules that end in another value: of what is next or is not, reads or does not, with the value that is
/// there, that of the trace, and others.
fn other_values(
    execution: &Execution,
    checker: &Checker<'_>,
    state: &State,
    path: &[Taken],
    random: &mut fastrand::Rng,
    counts: &mut Counts,
) -> Result<(), String> {
    let any = execution.ids().nth(random.usize(..execution.events.len()));
    let next = (0..execution.threads()).filter_map(|thread| state.next(execution, thread));
    for read in next.chain(any) {
        let is_next = state.next(execution, execution.thread(read)) == Some(read);
        let there = about_to_see(execution, state, read);
        let recorded = match *execution.op(read) {
            Op::Read { value, .. } | Op::AtomicLoad { value, .. } | Op::AtomicRmw { read: value, .. } => Some(value),
            _ => None,
        };
        // The last has the same low bytes, and more than fit.
        let values = [
            there,
            recorded,
            None,
            Some(random.u64(..4)),
            recorded.map(|value| value | 1 << 63),
        ];
        for value in values {
            let goal = Goal::OtherValue { read, value };
            let expected = is_next && shown(execution, state, read) == Some(value);
            match (expected, checker.check(&schedule_of(execution, path, goal.clone()))) {
                (true, Ok(_)) => counts.other_values += 1,
                (false, Err(_)) => counts.refused_values += 1,
                (_, said) => {
                    return Err(format!(
                        "after {path:?}, {goal:?} is {expected}, and the checker says {said:?}"
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Compares schedules that begin with events as recorded: executed together or each alone they get the same answer, and
/// an accepted one is a witness when written out event by event.
fn recorded_beginnings(
    execution: &Execution,
    checker: &Checker<'_>,
    random: &mut fastrand::Rng,
    counts: &mut Counts,
) -> Result<(), String> {
    let notifies: Vec<EventId> = execution
        .ids()
        .filter(|&event| matches!(execution.op(event), Op::Notify { .. }))
        .collect();
    let conflicts = execution
        .ids()
        .flat_map(|a| execution.ids().map(move |b| (a, b)))
        .filter(|&(a, b)| a < b && execution.conflict(a, b));
    let mut some = Vec::new();
    for (a, b) in conflicts {
        let unordered = random.u32(..4) == 0;
        let begin = if unordered { b.0 } else { a.0 };
        let begin = begin - random.u32(..=begin.min(3)) * u32::from(random.bool());
        // Thread by thread, what comes before the accesses in π.
        let missing = |thread: u32, until: EventId| {
            let events = execution.of_thread(thread).iter();
            let events = events.filter(|&&event| event.0 >= begin && event < until).count() as u32;
            (events > 0).then_some(Slice {
                thread: ThreadId(thread),
                events,
            })
        };
        let (of_a, of_b) = (execution.thread(a), execution.thread(b));
        let mut slices: Vec<Slice> = missing(of_b, b).into_iter().collect();
        let until = if unordered { EventId(a.0 + 1) } else { a };
        slices.extend(missing(of_a, until));
        let other_wakes = notifies.iter().filter_map(|&notify| {
            let thread = random.u32(..6 * execution.threads());
            (thread < execution.threads()).then_some((notify, ThreadId(thread)))
        });
        let wakes = other_wakes.collect();
        some.push(Schedule {
            trace: TraceId([0; 16]),
            first_events: None,
            goal: if unordered {
                Goal::UnorderedRace(a, b)
            } else {
                Goal::Race(a, b)
            },
            as_recorded: begin,
            slices,
            wakes,
        });
    }
    let together = checker.check_all(&some.iter().collect::<Vec<_>>());
    for (schedule, together) in some.iter().zip(together) {
        let mut steps: Vec<Taken> = Vec::new();
        let alone = checker.follow(schedule, &mut |executed| {
            let notify = matches!(execution.op(executed.event), Op::Notify { .. });
            let woken = executed.step.woken.first().filter(|_| notify);
            steps.push((executed.event, woken.map(|thread| thread.0)));
        });
        let alone = alone.map(|(accepted, _)| accepted);
        if alone != together {
            return Err(format!("{schedule:?}: alone {alone:?}, with others {together:?}"));
        }
        if let (Ok(_), &Goal::Race(a, b)) = (&alone, &schedule.goal) {
            counts.recorded_beginnings += 1;
            let reached = walk(execution, &schedule_of(execution, &steps, schedule.goal.clone()));
            let is_next = |state: &State, event| state.next(execution, execution.thread(event)) == Some(event);
            if !reached.is_some_and(|state| is_next(&state, a) && is_next(&state, b)) {
                return Err(format!("{schedule:?} is no witness, and accepted"));
            }
        }
    }
    Ok(())
}

/// The steps as a schedule: which threads take their next event one after the other, and whom each notify wakes.
pub fn schedule_of(execution: &Execution, steps: &[Taken], goal: Goal) -> Schedule {
    let slice = |&(event, _): &Taken| Slice {
        thread: ThreadId(execution.thread(event)),
        events: 1,
    };
    let mut slices: Vec<Slice> = Vec::new();
    for next in steps.iter().map(slice) {
        match slices.last_mut() {
            Some(last) if last.thread == next.thread => last.events += 1,
            _ => slices.push(next),
        }
    }
    let wakes = steps
        .iter()
        .filter_map(|&(event, wakes)| Some((event, ThreadId(wakes?))));
    Schedule {
        trace: TraceId([0; 16]),
        first_events: None,
        goal,
        as_recorded: 0,
        slices,
        wakes: wakes.collect(),
    }
}

/// Where a schedule leads; `None` if some event of it is not enabled, or a wake is not due.
fn walk(execution: &Execution, schedule: &Schedule) -> Option<State> {
    let mut state = State::start(execution);
    let mut wakes = schedule.wakes.clone();
    for slice in &schedule.slices {
        for _ in 0..slice.events {
            let event = state.next(execution, slice.thread.0)?;
            let told = wakes
                .iter()
                .position(|&(notify, _)| notify == event)
                .map(|at| wakes.remove(at).1.0);
            let after = state
                .step(execution, event)
                .into_iter()
                .find(|after| after.wakes == told)?;
            state = after.state;
        }
    }
    wakes.is_empty().then_some(state)
}

/// Whether the events in their own order are an execution, whomever each notify woke.
fn is_execution(execution: &Execution) -> bool {
    let mut states = HashSet::from([State::start(execution)]);
    for event in execution.ids() {
        let next = |state: State| {
            let ready = state.next(execution, execution.thread(event)) == Some(event);
            if ready {
                state.step(execution, event)
            } else {
                Vec::new()
            }
        };
        states = states.into_iter().flat_map(next).map(|after| after.state).collect();
    }
    let lock = |object: u32| {
        let kinds = [
            ObjectKind::Mutex,
            ObjectKind::RecursiveMutex,
            ObjectKind::RwLock,
            ObjectKind::SpinLock,
        ];
        kinds.contains(&execution.tables.objects[object as usize].kind)
    };
    let is = |object: u32, kind| execution.tables.objects[object as usize].kind == kind;
    let fits = |event: EventId| match *execution.op(event) {
        Op::Acquire { lock: object, .. }
        | Op::AcquireShared { lock: object, .. }
        | Op::AcquireFailed { lock: object, .. }
        | Op::Release { lock: object } => lock(object.0),
        Op::WaitBegin {
            condition,
            lock: object,
        }
        | Op::WaitEnd {
            condition,
            lock: object,
            ..
        } => is(condition.0, ObjectKind::Condition) && lock(object.0),
        Op::Notify { condition } | Op::NotifyAll { condition } => is(condition.0, ObjectKind::Condition),
        Op::BarrierEnter { barrier, .. } | Op::BarrierExit { barrier, .. } => is(barrier.0, ObjectKind::Barrier),
        Op::SemPost { semaphore }
        | Op::SemWait { semaphore, .. }
        | Op::SemWaitFailed { semaphore }
        | Op::SemValue { semaphore, .. } => is(semaphore.0, ObjectKind::Semaphore),
        Op::OnceBegin { once } | Op::OnceEnd { once } | Op::OnceWait { once } => is(once.0, ObjectKind::Once),
        Op::Input { source, .. } | Op::Output { source } => is(source.0, ObjectKind::Source),
        _ => true,
    };
    let torn = |event: EventId| match *execution.op(event) {
        Op::Begin => execution.place(event) > 0,
        Op::End => execution.next_in_thread(event).is_some(),
        Op::Fork { child } => execution.fork_of(child.0) != Some(event),
        _ => false,
    };
    !states.is_empty() && execution.overlapping.is_empty() && execution.ids().all(|event| fits(event) && !torn(event))
}

/// Traces with an event too many, one too few, two exchanged, or an object of another kind: are they executions?
#[test]
fn traces_are_refused_that_are_no_executions() {
    let traces = environment("WITNESS_ORACLE_TRACES", 4_000);
    let first = environment("WITNESS_ORACLE_SEED", 1);
    let (mut valid, mut invalid) = (0_u64, 0_u64);
    for seed in first..first + traces {
        let (mut tables, mut events) = random_trace::generate(seed);
        let mut random = fastrand::Rng::with_seed(seed ^ 0x5eed);
        let at = random.usize(..events.len().max(1));
        match random.u32(..7) {
            _ if events.len() < 2 => {}
            0 => drop(events.remove(at)),
            1 => events.insert(at, events[random.usize(..events.len())]),
            2 if at > 0 => events.swap(at - 1, at),
            3 => events[at].thread = events[random.usize(..events.len())].thread,
            4 => {
                let object = random.usize(..tables.objects.len());
                let kind = tables.objects[random.usize(..tables.objects.len())].kind;
                (tables.objects[object].kind, tables.objects[object].initial) = (kind, 1);
            }
            5 => {
                let addr = 0x9000 + random.u64(..12);
                let size = random.u64(..10);
                let block = Event {
                    op: Op::Alloc { addr, size },
                    ..events[at]
                };
                events.insert(at, block);
            }
            _ => {}
        }
        let execution = Execution::new(&tables, &events);
        let expected = is_execution(&execution);
        let recorded = in_memory(&tables, &events);
        let said = Checker::new(&recorded).validate();
        if said.is_ok() != expected {
            let file = stored::leave_behind(&format!("execution-{seed}"), &tables, &events);
            panic!(
                "seed {seed}: an execution: {expected}; the checker: {said:?}\n{}{file}",
                event_kind::describe(&events)
            );
        }
        *if expected { &mut valid } else { &mut invalid } += 1;
    }
    println!("{valid} executions, {invalid} that are none");
    assert!(valid > 0 && invalid > 0);
}
