//! What synchronizes two accesses: the checker beside the oracle, on random walks; and asked from the first access on,
//! beside a whole schedule.

use super::execution::Execution;
use super::machine::State;
use super::unordered::{Step, ordered};
use super::{environment, event_kind, random_trace, stored};
use witness::check::{Checker, Rejection};
use witness::schedule::{Goal, Schedule, slices_of};
use witness::trace::{EventId, ObjectId, Sections, ThreadId, Trace, Wakes};

/// Who holds which lock as a reader before an event of π.
fn readers(trace: &Trace, sections: &Sections, before: EventId) -> Vec<(ObjectId, ThreadId)> {
    let threads = (0..trace.threads() as u32).map(ThreadId);
    let open = threads.flat_map(|thread| sections.open_after(thread, trace.events_before(thread, before)));
    let open = open.map(|id| sections.get(id)).filter(|section| section.shared);
    open.map(|section| (section.lock, section.thread)).collect()
}

#[test]
fn what_synchronizes_from_the_first_access_on_is_what_a_whole_schedule_has() {
    let traces = environment("WITNESS_ORACLE_TRACES", 2_000);
    let first = environment("WITNESS_ORACLE_SEED", 1);
    let (mut chains, mut none, mut missed) = (0_u64, 0_u64, 0_u64);
    for seed in first..first + traces {
        let (tables, events) = random_trace::generate(seed);
        let trace = Trace::from_events(tables, &events);
        let checker = Checker::new(&trace);
        let (sections, wakes) = (Sections::of(&trace), Wakes::of(&trace, trace.events()));
        let accesses: Vec<EventId> = trace.events().filter(|&event| trace.access(event).is_some()).collect();
        for (at, &a) in accesses.iter().enumerate() {
            for &b in accesses[at + 1..]
                .iter()
                .filter(|&&b| trace.thread(a) != trace.thread(b))
            {
                // The recorded run itself, up to the second access.
                let schedule = Schedule {
                    trace: trace.id(),
                    first_events: None,
                    goal: Goal::UnorderedRace(a, b),
                    as_recorded: b.0,
                    slices: Vec::new(),
                    wakes: Vec::new(),
                };
                let whole = match checker.check(&schedule) {
                    Ok(_) | Err(Rejection::NoConflict { .. }) => false,
                    Err(Rejection::Synchronized { .. }) => true,
                    Err(_) => continue,
                };
                let found = checker.synchronizes(
                    (a.0..b.0).map(EventId),
                    readers(&trace, &sections, a),
                    &wakes.woken,
                    trace.thread(b),
                    true,
                );
                assert!(whole || !found, "seed {seed}: nothing synchronizes {a:?} and {b:?}");
                // A wait that began before the stretch is not followed.
                missed += u64::from(whole && !found);
                chains += u64::from(whole);
                none += u64::from(!whole);
            }
        }
    }
    println!(
        "{chains} pairs synchronized, {missed} of them not seen from the first access on; {none} not synchronized"
    );
    assert!(none > traces && chains > traces && missed * 50 < chains);
}

/// A random walk through the feasible prefixes, and whom its notifies wake.
fn walk(execution: &Execution, random: &mut fastrand::Rng) -> (Vec<Step>, Vec<(EventId, ThreadId)>) {
    let mut state = State::start(execution);
    let (mut steps, mut wakes) = (Vec::new(), Vec::new());
    loop {
        let next = (0..execution.threads()).filter_map(|thread| state.next(execution, thread));
        let mut after: Vec<_> = next
            .flat_map(|event| {
                state
                    .step(execution, event)
                    .into_iter()
                    .map(move |after| (event, after))
            })
            .collect();
        if after.is_empty() {
            return (steps, wakes);
        }
        let (event, after) = after.swap_remove(random.usize(..after.len()));
        wakes.extend(after.wakes.map(|thread| (event, ThreadId(thread))));
        let before = std::mem::replace(&mut state, after.state.clone());
        let after = after.state;
        steps.push(Step { event, before, after });
    }
}

/// Whatever order the threads run in, and not only where a schedule is proposed.
#[test]
fn the_checker_orders_what_the_page_orders() {
    let traces = environment("WITNESS_ORACLE_TRACES", 2_000);
    let first = environment("WITNESS_ORACLE_SEED", 1);
    let (mut ordered_pairs, mut unordered_pairs) = (0_u64, 0_u64);
    for seed in first..first + traces {
        let (tables, events) = random_trace::generate(seed);
        let mut random = fastrand::Rng::with_seed(seed ^ 0x0a1c);
        let execution = Execution::new(&tables, &events);
        let trace = Trace::from_events(tables.clone(), &events);
        let checker = Checker::new(&trace);
        let (steps, wakes) = walk(&execution, &mut random);
        for until in 1..=steps.len() {
            let (part, state) = (&steps[..until], &steps[until - 1].after);
            let order: Vec<EventId> = part.iter().map(|step| step.event).collect();
            let next = (0..execution.threads()).filter_map(|thread| state.next(&execution, thread));
            for b in next.collect::<Vec<_>>() {
                for &a in order.iter().filter(|&&a| execution.conflict(a, b)) {
                    let schedule = Schedule {
                        trace: trace.id(),
                        first_events: None,
                        goal: Goal::UnorderedRace(a, b),
                        as_recorded: 0,
                        slices: slices_of(&trace, &order),
                        wakes: wakes
                            .iter()
                            .copied()
                            .filter(|(notify, _)| order.contains(notify))
                            .collect(),
                    };
                    let expected = ordered(&execution, part, a, b);
                    let said = checker.check(&schedule).map(|_| ());
                    match (expected, &said) {
                        (true, Err(Rejection::Synchronized { .. })) => ordered_pairs += 1,
                        (false, Ok(())) => unordered_pairs += 1,
                        _ => {
                            let file = stored::leave_behind(&format!("synchronizes-{seed}"), &tables, &events);
                            panic!(
                                "seed {seed}: after {order:?}, are {a:?} and {b:?} ordered: {expected}; the checker: {said:?}\n{}{file}",
                                event_kind::describe(&events)
                            );
                        }
                    }
                }
            }
        }
    }
    println!("{ordered_pairs} pairs that something orders, {unordered_pairs} that nothing does");
    assert!(ordered_pairs > traces / 2 && unordered_pairs > traces / 2);
}
