//! What is needed before what, and our own solver, against exhaustive search.
//!
//! *Needed before* speaks of every feasible prefix that holds an event, so it is compared with all of them. Our own
//! solver is asked about each two accesses in conflict, in windows so small that most of a trace lies before them: in
//! others, it never comes to a part of what it does before the whole trace is its window.

use super::execution::{Execution, is_used_after};
use super::{LIMIT, brute_force, compare_all, hidden_writes, random_trace, states};
use std::collections::BTreeMap;
use trace_format::{Event, EventId, Tables, ThreadId, TraceId};
use witness::check::Checker;
use witness::prune::{Ending, Grounds, MustHappenBefore, Needs};
use witness::schedule::{Goal, Schedule, slices_of};
use witness::solve::{Native, NativeAnswer, Steps};
use witness::trace::{Sections, Trace, Wakes};

/// How far before the earlier access windows begin.
const WINDOWS: [u32; 5] = [1, 3, 6, 12, 10_000];

fn generate(seed: u64) -> (Tables, Vec<Event>) {
    match seed % 4 {
        0 => random_trace::generate_words(seed),
        2 => random_trace::generate(seed),
        _ => random_trace::generate_repeating(seed),
    }
}

#[test]
fn what_is_needed_always_comes_before() {
    let (mut needed, mut known, mut too_large) = (0, 0, 0);
    let mut compare = |_: u64, tables: &Tables, events: &[Event]| {
        let (trace, execution) = (
            Trace::from_events(tables.clone(), events),
            Execution::new(tables, events),
        );
        let threads = execution.threads();
        let done_in = |state: &super::machine::State, thread: u32| {
            let all = execution.of_thread(thread);
            all.iter().filter(|&&event| state.is_done(&execution, event)).count() as u32
        };
        // Of each event: how many events of each thread every prefix holds that holds the event.
        let mut least: BTreeMap<EventId, Vec<u32>> = BTreeMap::new();
        let all = states::each_state(&execution, LIMIT, &mut |state, _, _| {
            let done: Vec<u32> = (0..threads).map(|thread| done_in(state, thread)).collect();
            for event in execution.ids().filter(|&event| state.is_done(&execution, event)) {
                let least = least.entry(event).or_insert_with(|| done.clone());
                least
                    .iter_mut()
                    .zip(&done)
                    .for_each(|(least, &done)| *least = (*least).min(done));
            }
            Ok(())
        })?;
        if !all {
            too_large += 1;
            return Ok(());
        }
        let (must, sections) = (MustHappenBefore::of(&trace), Sections::of(&trace));
        let needs = Needs::of(&trace, &must, &sections);
        for (&event, least) in &least {
            for thread in (0..threads).filter(|&thread| thread != execution.thread(event)) {
                let (count, least) = (needs.relation().count(event, ThreadId(thread)), least[thread as usize]);
                if count > least {
                    return Err(format!(
                        "{event:?} needs {least} events of thread {thread}, not {count}"
                    ));
                }
                needed += u64::from(least);
                known += u64::from(count);
            }
        }
        Ok(())
    };
    let traces = compare_all("needed", generate, &mut compare).or_panic();
    println!("{traces} traces, {too_large} too large; of {needed} that events need, {known} are known");
    assert!(too_large * 20 < traces && known * 2 > needed);
}

/// What our own solver said of pairs.
#[derive(Debug, Default)]
struct Said {
    feasible: u32,
    refuted: u32,
    unknown: u32,
    /// Of the refuted ones: no schedule keeps pinned accesses in their places, others do.
    by_pins: u32,
    /// Refuted even so.
    without_pins: u32,
    /// Of the feasible ones: the trace has pinned accesses.
    beside_pins: u32,
}

impl Said {
    /// Asks about each two accesses in conflict: what is feasible the checker has to accept.
    fn ask(&mut self, tables: &Tables, events: &[Event]) -> Result<(), String> {
        let (trace, execution) = (
            Trace::from_events(tables.clone(), events),
            Execution::new(tables, events),
        );
        let has_pins = execution.ids().any(|event| execution.pin(event).is_some());
        let unpinned = Execution::new(tables, events).without_pins();
        let found = brute_force::search(&execution, LIMIT);
        let (Some(found), Some(without_pins)) = (found, brute_force::search(&unpinned, LIMIT)) else {
            return Ok(());
        };
        if execution.frees_reads() {
            return Ok(());
        }
        let (must, sections) = (MustHappenBefore::of(&trace), Sections::of(&trace));
        let needs = Needs::of(&trace, &must, &sections);
        let wakes = Wakes::of(&trace, trace.events());
        let checker = Checker::new(&trace);
        let native = Native::new(&trace, &needs, &sections, &wakes).in_windows(WINDOWS);
        let weaker = MustHappenBefore::on(&trace, Grounds::Outcomes);
        let weaker_needs = Needs::of(&trace, &weaker, &sections);
        let free = Native::new(&trace, &weaker_needs, &sections, &wakes)
            .without_pins()
            .in_windows(WINDOWS);
        let pairs = execution.ids().flat_map(|a| execution.ids().map(move |b| (a, b)));
        for (a, b) in pairs.filter(|&(a, b)| a < b && execution.conflict(a, b)) {
            let [can_race, could_race] = [&found, &without_pins].map(|found| found.races.contains(&(a, b)));
            let answer = native.ask(&[a, b], &mut Steps::unbounded());
            match answer {
                NativeAnswer::Feasible(as_recorded, then) => {
                    let order: Vec<EventId> = trace.events().take(as_recorded as usize).chain(then).collect();
                    let schedule = Schedule {
                        trace: TraceId([0; 16]),
                        first_events: None,
                        goal: Goal::race(a, b),
                        as_recorded: 0,
                        slices: slices_of(&trace, &order),
                        wakes: Wakes::of(&trace, order.iter().copied()).woken,
                    };
                    if let Err(rejection) = checker.check(&schedule) {
                        return Err(format!(
                            "{a:?} and {b:?}, can race: {can_race}: {rejection}\n{schedule}"
                        ));
                    }
                    self.feasible += 1;
                    self.beside_pins += u32::from(has_pins);
                }
                NativeAnswer::Infeasible if can_race => return Err(format!("{a:?} and {b:?} can race")),
                NativeAnswer::Infeasible => {
                    self.refuted += 1;
                    self.by_pins += u32::from(could_race);
                    let refutes = has_pins && free.refutes(&[a, b]);
                    if refutes && could_race {
                        return Err(format!("{a:?} and {b:?} can race without pins"));
                    }
                    self.without_pins += u32::from(refutes);
                }
                NativeAnswer::Unknown => self.unknown += 1,
            }
        }
        Ok(())
    }
}

#[test]
fn our_own_solver_agrees_in_small_windows() {
    let mut said = Said::default();
    let traces = compare_all("native", generate, &mut |_, tables, events| said.ask(tables, events)).or_panic();
    println!("{traces} traces: {said:?}");
    assert!(said.refuted > 0 && said.unknown * 10 < said.feasible + said.refuted);
}

#[test]
fn our_own_solver_keeps_pinned_accesses_in_their_places() {
    let mut said = Said::default();
    let generate = |seed| {
        let (tables, mut events) = generate(seed);
        // Every second one of the writes that are seen to be missing.
        let mut hidden: Vec<usize> = (0..events.len())
            .filter(|&at| hidden_writes::shows(&events, at))
            .collect();
        hidden.retain(|at| (at / 2 + seed as usize).is_multiple_of(2));
        for at in hidden.into_iter().rev() {
            events.remove(at);
        }
        (tables, events)
    };
    let traces = compare_all("pinned", generate, &mut |_, tables, events| said.ask(tables, events)).or_panic();
    println!("{traces} traces: {said:?}");
    assert!(said.beside_pins > 0 && said.by_pins > 0 && said.without_pins > 0);
    assert!(said.unknown * 10 < said.feasible + said.refuted);
}

/// How many endings the sections of one lock refute, of how many that there are, and of these how many are not plain
/// without them.
#[derive(Debug, Default)]
struct OnLocks {
    asked: u32,
    refuted: u32,
    not_plain: u32,
    after_free: u32,
}

#[test]
fn sections_of_one_lock_refute_nothing_that_can_be() {
    let mut said = OnLocks::default();
    let generate = |seed| match seed % 8 {
        0 => random_trace::generate(seed),
        1 => random_trace::generate_freeing(seed),
        _ => random_trace::generate_list(seed),
    };
    let mut compare = |_: u64, tables: &Tables, events: &[Event]| {
        let (trace, execution) = (
            Trace::from_events(tables.clone(), events),
            Execution::new(tables, events),
        );
        let unpinned = Execution::new(tables, events).without_pins();
        let found = brute_force::search(&execution, LIMIT);
        let (Some(found), Some(without_pins)) = (found, brute_force::search(&unpinned, LIMIT)) else {
            return Ok(());
        };
        let sections = Sections::of(&trace);
        let wakes = Wakes::of(&trace, trace.events());
        for (grounds, found) in [(Grounds::Pins, &found), (Grounds::Outcomes, &without_pins)] {
            let must = MustHappenBefore::on(&trace, grounds);
            let needs = Needs::of(&trace, &must, &sections);
            let native = Native::new(&trace, &needs, &sections, &wakes);
            let mut ask = |performed: &[EventId], pending: &[EventId], can_be: bool| {
                let ending = Ending {
                    performed,
                    pending,
                    awaited: &[],
                };
                let refuted = native.locks_refute(ending, &mut Steps::unbounded());
                if refuted && can_be {
                    return Err(format!("on {grounds:?}, {ending:?} can be"));
                }
                said.asked += 1;
                said.refuted += u32::from(refuted);
                said.not_plain += u32::from(refuted && !needs.exclude(ending));
                said.after_free += u32::from(refuted && !performed.is_empty());
                Ok(())
            };
            for (a, b) in execution.ids().flat_map(|a| execution.ids().map(move |b| (a, b))) {
                if a < b && execution.conflict(a, b) {
                    ask(&[], &[a, b], found.races.contains(&(a, b)))?;
                }
                if brute_force::is_free(&execution, a) && execution.conflict(a, b) && is_used_after(&execution, a, b) {
                    ask(&[a], &[b], found.after_free.contains(&(a, b)))?;
                }
            }
        }
        Ok(())
    };
    let traces = compare_all("sections of one lock", generate, &mut compare).or_panic();
    println!("{traces} traces: {said:?}");
    assert!(said.not_plain > 0 && said.after_free > 0);
}
