//! Atomicity violations, against exhaustive search: on traces in which threads leave critical sections, and enter
//! others on the same locks.
//!
//! Section 3 of `docs/SEMANTICS.md` says of three accesses when a feasible prefix shows that one comes between the
//! others. All successive accesses of each thread are asked about, whatever the region, so that every such triple of
//! positions has to be a candidate; it is witnessed if and only if some prefix shows one of its instances, and if it is
//! refuted, the operations alone must not show any. The checker is asked in some of all states about any three events.

use super::checker::schedule_of;
use super::execution::Execution;
use super::states::{each_state, each_state_in_order};
use super::{LIMIT, compare_all, every_instance, random_trace, solver_of, structure};
use std::collections::{BTreeMap, BTreeSet};
use trace_format::{Event, EventId, Op, Tables};
use witness::analyze::{Options, Solver, analyze};
use witness::check::{Checker, validate};
use witness::schedule::Goal;
use witness::trace::Trace;
use witness::verdict::{Find, Kind, Regions, Unknown, Verdict};

type Triple = [EventId; 3];

#[derive(Default)]
struct Counts {
    compared: u64,
    too_large: u64,
    witnessed: u64,
    both_next: u64,
    reordered: u64,
    without_race: u64,
    refuted: u64,
    not_in_trace: u64,
    unknown: u64,
    accepted: u64,
    rejected: u64,
}

/// Whether an operation sees a value, and whether it leaves one.
pub fn does(op: &Op) -> (bool, bool) {
    match op {
        Op::Read { .. } | Op::AtomicLoad { .. } => (true, false),
        Op::Write { .. } | Op::Destroy { .. } | Op::AtomicStore { .. } => (false, true),
        Op::AtomicRmw { .. } => (true, true),
        _ => (false, false),
    }
}

/// Whether three events are, in this order, one of the four patterns, on a byte that they share.
fn is_violation(execution: &Execution, [first, between, second]: Triple) -> bool {
    let thread = |event| execution.thread(event);
    let cells = |event| -> BTreeSet<usize> { execution.uses(event).iter().map(|used| used.cell).collect() };
    let (a, r, b) = (cells(first), cells(between), cells(second));
    let shared = a.iter().any(|cell| r.contains(cell) && b.contains(cell));
    let letters = |event| match does(execution.op(event)) {
        (true, true) => "RW",
        (true, false) => "R",
        (false, true) => "W",
        (false, false) => "",
    };
    let patterns = ["RWR", "WWR", "RWW", "WRW"];
    let mut found = false;
    for one in letters(first).chars() {
        for other in letters(between).chars() {
            for last in letters(second).chars() {
                found |= patterns.contains(&String::from_iter([one, other, last]).as_str());
            }
        }
    }
    thread(first) == thread(second) && thread(first) != thread(between) && first < second && shared && found
}

/// Successive accesses of each thread to a cell, with every access that would be out of place between them.
fn triples(execution: &Execution) -> BTreeSet<Triple> {
    let mut found = BTreeSet::new();
    let valued = |event: &EventId| does(execution.op(*event)) != (false, false);
    for thread in 0..execution.threads() {
        for cell in 0..execution.cells.len() {
            let touches =
                |event: &EventId| valued(event) && execution.uses(*event).iter().any(|used| used.cell == cell);
            let own: Vec<EventId> = execution.of_thread(thread).iter().copied().filter(touches).collect();
            for pair in own.windows(2) {
                let others = execution.ids().filter(touches).map(|other| [pair[0], other, pair[1]]);
                found.extend(others.filter(|&triple| is_violation(execution, triple)));
            }
        }
    }
    found
}

/// Those of the triples that some feasible prefix shows. `None` if too many states would have to be visited.
fn searched(execution: &Execution, triples: &BTreeSet<Triple>) -> Option<BTreeSet<Triple>> {
    let mut found = BTreeSet::new();
    let mut by_order: BTreeMap<(EventId, EventId), Vec<Triple>> = BTreeMap::new();
    for &triple in triples {
        by_order.entry((triple[0], triple[1])).or_default().push(triple);
    }
    for ((first, between), triples) in by_order {
        let all = each_state_in_order(execution, (first, between), LIMIT / 4, &mut |state, next| {
            let done = |event| state.is_done(execution, event);
            if done(first) && (done(between) || next.contains(&between)) {
                found.extend(triples.iter().filter(|triple| next.contains(&triple[2])));
            }
        });
        if !all {
            return None;
        }
    }
    Some(found)
}

/// Asks the checker in some of the states about some triples of events.
fn checked(
    execution: &Execution,
    checker: &Checker<'_>,
    random: &mut fastrand::Rng,
    counts: &mut Counts,
) -> Result<(), String> {
    each_state(execution, LIMIT / 100, &mut |state, path, next| {
        for &second in next {
            if random.u64(..100) >= 8 {
                continue;
            }
            for (first, between) in execution.ids().flat_map(|a| execution.ids().map(move |r| (a, r))) {
                let triple = [first, between, second];
                if !is_violation(execution, triple) && random.u64(..100) > 1 {
                    continue;
                }
                let both_next = random.bool();
                let place = |event: EventId| path.iter().position(|&(done, _)| done == event);
                let behind = match both_next {
                    true => next.contains(&between),
                    false => place(between) > place(first) && place(between).is_some(),
                };
                let expected = is_violation(execution, triple) && state.is_done(execution, first) && behind;
                let goal = Goal::AtomicityViolation {
                    first,
                    between,
                    second,
                    both_next,
                };
                let said = checker.check(&schedule_of(execution, path, goal));
                if said.is_ok() != expected {
                    return Err(format!(
                        "after {path:?}, {triple:?} (both next: {both_next}) is {expected}, and the checker says {said:?}"
                    ));
                }
                if expected {
                    counts.accepted += 1;
                } else {
                    counts.rejected += 1;
                }
            }
        }
        Ok(())
    })
    .map(drop)
}

fn compare(
    tables: &Tables,
    events: &[Event],
    solver: Solver,
    random: &mut fastrand::Rng,
    counts: &mut Counts,
) -> Result<(), String> {
    let execution = Execution::new(tables, events);
    let trace = Trace::from_events(tables.clone(), events);
    validate(&trace).map_err(|violation| format!("the trace itself is refused: {violation}"))?;
    let checker = Checker::new(&trace);
    let all = triples(&execution);
    let Some(found) = searched(&execution, &all) else {
        counts.too_large += 1;
        return Ok(());
    };
    counts.compared += 1;
    let positions = |triple: &Triple| triple.map(|event| execution.pc(event));
    let mut candidates: BTreeMap<[u64; 3], Vec<Triple>> = BTreeMap::new();
    for triple in &all {
        candidates.entry(positions(triple)).or_default().push(*triple);
    }
    let there: BTreeSet<[u64; 3]> = found.iter().map(positions).collect();
    let options = Options {
        solver,
        find: Find::of(&[Kind::Atomicity]),
        regions: Regions::All,
        ..every_instance()
    };
    let analysis = analyze(&trace, &options);
    if let Some(rejected) = analysis.rejected.first() {
        return Err(format!("the checker rejected a schedule: {}", rejected.reason));
    }
    let mut said = BTreeSet::new();
    for violation in &analysis.atomicity_violations {
        let positions: [u64; 3] = violation.positions[..].try_into().expect("three positions");
        let wrong = |what: &str| Err(format!("{positions:x?} is {what}: {:?}", violation.verdict));
        if !said.insert(positions) || !candidates.contains_key(&positions) {
            return wrong("no candidate, or one twice");
        }
        let there = there.contains(&positions);
        match &violation.verdict {
            Verdict::Witnessed(schedule) => {
                let Goal::AtomicityViolation {
                    first,
                    between,
                    second,
                    both_next,
                } = schedule.goal
                else {
                    return wrong("another goal");
                };
                let triple = [first, between, second];
                if !found.contains(&triple) || triple[..] != violation.example || checker.check(schedule).is_err() {
                    return wrong("no violation");
                }
                counts.witnessed += 1;
                counts.both_next += u64::from(both_next);
                counts.reordered += u64::from(between < first);
                counts.without_race += u64::from(!execution.conflict(between, second) || !both_next);
            }
            Verdict::Refuted(_) => {
                if there || structure::shows_any(&execution, &candidates[&positions], structure::interrupted) {
                    return wrong("shown by the operations");
                }
                counts.refuted += 1;
            }
            Verdict::NotInTrace(_) if there => return wrong("a violation"),
            Verdict::NotInTrace(_) => counts.not_in_trace += 1,
            Verdict::Unknown(Unknown::Unrecorded(_)) if there => return wrong("a violation"),
            Verdict::Unknown(Unknown::Unrecorded(_)) => counts.unknown += 1,
            Verdict::Unknown(_) => return wrong("not decided"),
        }
    }
    if let Some(missing) = candidates.keys().find(|&positions| !said.contains(positions)) {
        return Err(format!("{missing:x?} is no candidate"));
    }
    checked(&execution, &checker, random, counts)
}

#[test]
fn atomicity_violations_are_found_exactly() {
    let mut counts = Counts::default();
    let generate = |seed: u64| match seed % 4 {
        0 => random_trace::generate(seed),
        _ => random_trace::generate_interrupted(seed),
    };
    let all = compare_all("interrupted", generate, &mut |seed, tables, events| {
        let mut random = fastrand::Rng::with_seed(seed);
        compare(tables, events, solver_of(seed), &mut random, &mut counts)
    });
    let Counts {
        compared,
        too_large,
        witnessed,
        both_next,
        reordered,
        without_race,
        refuted,
        not_in_trace,
        unknown,
        accepted,
        rejected,
    } = counts;
    println!(
        "{compared} traces, {too_large} too large: {witnessed} atomicity violations ({both_next} with both next, \
         {without_race} not, {reordered} in another order), {refuted} refuted, {not_in_trace} not in the trace, {unknown} \
         unknown; the checker accepted {accepted} and rejected {rejected}"
    );
    let traces = all.or_panic();
    if traces >= 2_000 {
        let least = [
            both_next,
            reordered,
            without_race,
            refuted,
            not_in_trace,
            unknown,
            accepted,
            rejected,
        ];
        assert!(least.iter().all(|&count| count > 0), "some kind never came up");
        assert!(too_large * 10 < traces, "too many traces are too large");
    }
}
