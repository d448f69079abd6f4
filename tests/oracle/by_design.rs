//! Races and deadlocks under a user's file, against exhaustive search: priorities, and threads that never run at the same
//! time.
//!
//! Section 4 of `docs/SEMANTICS.md` says which of the races and deadlocks that feasible prefixes show the file excludes.
//! What it leaves has to be witnessed, what it excludes must not be, and the reason has to name the file where nothing
//! else excludes all that there is. What is *refuted*, the operations alone must not show either, but for what the file
//! excludes.

use super::brute_force::{self, Found};
use super::deadlocks::{deadlocks, positions};
use super::design::Said;
use super::execution::Execution;
use super::states::each_state;
use super::{LIMIT, compare_all, every_instance, race_of, random_trace, structure};
use std::collections::{BTreeMap, BTreeSet};
use trace_format::{Event, EventId, Op, Tables};
use witness::analyze::{Unfollowed, Work, analyze_with};
use witness::check::{Checker, validate};
use witness::design::Design;
use witness::schedule::Goal;
use witness::trace::Trace;
use witness::verdict::{DeadlockKind, Refutation, Unknown, Verdict};

/// Positions of one thread's code, in random traces.
const CODE_OF_A_THREAD: u64 = 0x100;

#[derive(Default)]
struct Counts {
    compared: u64,
    races: u64,
    uses: u64,
    races_by_file: u64,
    races_partly: u64,
    deadlocks: u64,
    deadlocks_by_file: u64,
    deadlocks_partly: u64,
    refuted_by_file: u64,
    cut: u64,
}

/// Whether the file excludes a race: neither access comes between the other one and the event before it.
fn excludes_race(execution: &Execution, said: &Said, (a, b): (EventId, EventId)) -> bool {
    let keeps_out = |by: EventId, next: EventId| {
        let place = execution.place(next) as usize;
        let before = place
            .checked_sub(1)
            .map(|at| execution.of_thread(execution.thread(next))[at]);
        before.is_some_and(|before| said.keeps_out(execution, (before, next), by))
    };
    keeps_out(a, b) && keeps_out(b, a)
}

/// What a thread took last, of the locks that these operations wait for, and still holds right before one of them.
fn took_last(execution: &Execution, wanted: &BTreeSet<u32>, event: EventId) -> Option<EventId> {
    let mut held: BTreeMap<u32, (EventId, u32)> = BTreeMap::new();
    let mut waiting: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for &before in &execution.of_thread(execution.thread(event))[..execution.place(event) as usize] {
        match *execution.op(before) {
            Op::Acquire { lock, .. } | Op::AcquireShared { lock, .. } => {
                held.entry(lock.0).or_insert((before, 0)).1 += 1;
            }
            Op::Release { lock } => {
                let depth = held.get_mut(&lock.0).map(|(_, depth)| {
                    *depth -= 1;
                    *depth
                });
                if depth == Some(0) {
                    held.remove(&lock.0);
                }
            }
            Op::WaitBegin { lock, .. } => {
                let depth = held.remove(&lock.0).map_or(0, |(_, depth)| depth);
                waiting.entry(lock.0).or_default().push(depth);
            }
            Op::WaitEnd { lock, .. } => {
                let depth = waiting.get_mut(&lock.0).and_then(Vec::pop).unwrap_or(1);
                held.insert(lock.0, (before, depth));
            }
            _ => {}
        }
    }
    let wanted = held.iter().filter(|(lock, _)| wanted.contains(lock));
    wanted.map(|(_, &(acquire, _))| acquire).max()
}

/// Whether the file excludes a deadlock: whoever took its lock first, one of the others does not come between that and
/// its wait.
fn excludes_deadlock(execution: &Execution, said: &Said, waiting: &[EventId]) -> bool {
    let wanted: BTreeSet<u32> = waiting
        .iter()
        .filter_map(|&event| match *execution.op(event) {
            Op::Acquire { lock, .. } | Op::AcquireShared { lock, .. } | Op::WaitEnd { lock, .. } => Some(lock.0),
            _ => None,
        })
        .collect();
    let taken: Option<Vec<EventId>> = waiting
        .iter()
        .map(|&event| took_last(execution, &wanted, event))
        .collect();
    let Some(taken) = taken else { return false };
    (0..waiting.len()).all(|first| {
        let mut others = (0..waiting.len()).filter(|&other| other != first);
        others.any(|other| said.keeps_out(execution, (taken[first], waiting[first]), taken[other]))
    })
}

fn is_by_file(verdict: &Verdict) -> bool {
    match verdict {
        Verdict::Refuted(why) | Verdict::NotInTrace(why) => {
            matches!(why, Refutation::Priority { .. } | Refutation::Reality { .. })
        }
        _ => false,
    }
}

/// The same events, in which threads run the same code: a file excludes instances of a pair by their threads.
fn in_the_same_code(events: &[Event]) -> Vec<Event> {
    let same = |event: &Event| Event {
        pc: CODE_OF_A_THREAD + event.pc % CODE_OF_A_THREAD,
        ..*event
    };
    events.iter().map(same).collect()
}

fn compare(tables: &Tables, events: &[Event], random: &mut fastrand::Rng, counts: &mut Counts) -> Result<(), String> {
    let shared = in_the_same_code(events);
    let events = if random.bool() { &shared } else { events };
    let execution = Execution::new(tables, events);
    let said = loop {
        let said = Said::of(execution.threads(), random);
        if said.speaks() || execution.threads() < 2 {
            break said;
        }
    };
    let (mut named, mut design) = (tables.clone(), Design::default());
    said.add_to(&mut design, &mut named);
    let is_cut = random.u32(..4) == 0;
    let trace = match is_cut {
        true => Trace::of_part(named, events),
        false => Trace::from_events(named, events),
    };
    validate(&trace).map_err(|violation| format!("the trace itself is refused: {violation}"))?;
    let checker = Checker::new(&trace);
    let Some(Found { races, after_free }) = brute_force::search(&execution, LIMIT / 4) else {
        return Ok(());
    };
    let handed_over = structure::handed_over(&execution);
    // By positions: whether the file leaves, and whether it excludes, one of the deadlocks there.
    let mut cycles: BTreeMap<Vec<u64>, (bool, bool)> = BTreeMap::new();
    let all = each_state(&execution, LIMIT / 4, &mut |state, _, next| {
        for cycle in deadlocks(&execution, &handed_over, state, next) {
            let (left, excluded) = cycles.entry(positions(&execution, &cycle)).or_default();
            *match excludes_deadlock(&execution, &said, &cycle) {
                true => excluded,
                false => left,
            } = true;
        }
        Ok(())
    })?;
    let by_operations = structure::pairs(&execution, structure::Also::default(), LIMIT / 4);
    let cycles_of_operations = structure::deadlocks(&execution, LIMIT / 4, &mut |cycle| match excludes_deadlock(
        &execution, &said, cycle,
    ) {
        true => Vec::new(),
        false => positions(&execution, cycle),
    });
    if !all {
        return Ok(());
    }
    counts.compared += 1;
    let work = Work {
        design: Some(&design),
        ..Work::default()
    };
    let Ok(analysis) = analyze_with(&trace, &every_instance(), &work, &Unfollowed);
    if let Some(rejected) = analysis.rejected.first() {
        return Err(format!("the checker rejected a schedule: {}", rejected.reason));
    }
    let key = |&(a, b): &(EventId, EventId)| {
        let (a, b) = (execution.pc(a), execution.pc(b));
        (a.min(b), a.max(b))
    };
    let is_left = |race: &(EventId, EventId)| !excludes_race(&execution, &said, *race);
    for pair in &analysis.pairs {
        let here = (
            pair.positions.0.min(pair.positions.1),
            pair.positions.0.max(pair.positions.1),
        );
        let wrong = |what: &str| Err(format!("{here:x?} is {what}: {:?} by {said:?}", pair.verdict));
        let there: Vec<_> = races.iter().copied().filter(|race| key(race) == here).collect();
        let left = there.iter().any(is_left);
        let used = after_free.iter().any(|use_of| key(use_of) == here);
        match &pair.verdict {
            Verdict::Witnessed(schedule) if schedule.goal.is_unordered() => {}
            Verdict::Witnessed(schedule) if matches!(schedule.goal, Goal::UseAfterFree { .. }) => {
                if left || !after_free.contains(&race_of(schedule)) || checker.check(schedule).is_err() {
                    return wrong("no use after free, or a race that the file leaves");
                }
                counts.uses += u64::from(!there.is_empty());
            }
            Verdict::Witnessed(schedule) => {
                let race = race_of(schedule);
                if !there.contains(&race) || !is_left(&race) || checker.check(schedule).is_err() {
                    return wrong("no race that the file leaves");
                }
                counts.races += 1;
                counts.races_partly += u64::from(!there.iter().all(is_left));
            }
            _ if left || used => return wrong("left"),
            Verdict::Refuted(_) | Verdict::NotInTrace(_) if is_cut => return wrong("told of a trace that is cut"),
            Verdict::Unknown(Unknown::Cut(_)) if is_cut => counts.cut += 1,
            Verdict::Unknown(Unknown::Unrecorded(_) | Unknown::Budget) => {}
            verdict if is_by_file(verdict) == there.is_empty() => return wrong("blamed on what does not exclude it"),
            Verdict::Refuted(_) => {
                let shown = by_operations.as_ref().is_some_and(|found| {
                    let races = found.races.iter().filter(|race| is_left(race));
                    races.chain(&found.after_free).any(|race| key(race) == here)
                });
                if shown && is_by_file(&pair.verdict) {
                    return wrong("shown by the operations");
                }
                counts.refuted_by_file += u64::from(is_by_file(&pair.verdict));
                counts.races_by_file += u64::from(is_by_file(&pair.verdict));
            }
            Verdict::NotInTrace(_) => counts.races_by_file += u64::from(is_by_file(&pair.verdict)),
            Verdict::Unknown(_) => return wrong("not decided"),
        }
    }
    let rows: BTreeSet<(u64, u64)> = analysis
        .pairs
        .iter()
        .map(|pair| {
            (
                pair.positions.0.min(pair.positions.1),
                pair.positions.0.max(pair.positions.1),
            )
        })
        .collect();
    let mut missing = races
        .iter()
        .chain(&after_free)
        .map(key)
        .filter(|here| !rows.contains(here));
    if let Some(missing) = missing.next() {
        return Err(format!("{missing:x?} is a race or a use after free, and has no row"));
    }
    for deadlock in analysis
        .deadlocks
        .iter()
        .filter(|deadlock| deadlock.kind == DeadlockKind::Cycle)
    {
        let wrong = |what: &str| {
            Err(format!(
                "{:x?} is {what}: {:?} by {said:?}",
                deadlock.positions, deadlock.verdict
            ))
        };
        let (left, excluded) = cycles.get(&deadlock.positions).copied().unwrap_or_default();
        match &deadlock.verdict {
            Verdict::Witnessed(schedule) => {
                if !left || excludes_deadlock(&execution, &said, &deadlock.example) || checker.check(schedule).is_err()
                {
                    return wrong("none that the file leaves");
                }
                counts.deadlocks += 1;
                counts.deadlocks_partly += u64::from(excluded);
            }
            _ if left => return wrong("a deadlock that the file leaves"),
            Verdict::Refuted(_) | Verdict::NotInTrace(_) if is_cut => return wrong("told of a trace that is cut"),
            Verdict::Unknown(Unknown::Cut(_)) if is_cut => counts.cut += 1,
            verdict if excluded && !is_by_file(verdict) => return wrong("excluded by the file alone"),
            Verdict::Refuted(_) => {
                let shown = cycles_of_operations
                    .as_ref()
                    .is_some_and(|all| all.contains(&deadlock.positions));
                if shown {
                    return wrong("a deadlock of the operations");
                }
                counts.refuted_by_file += u64::from(is_by_file(&deadlock.verdict));
                counts.deadlocks_by_file += u64::from(excluded);
            }
            Verdict::NotInTrace(_) => counts.deadlocks_by_file += u64::from(excluded),
            Verdict::Unknown(Unknown::Unrecorded(_)) => {}
            Verdict::Unknown(_) => return wrong("not decided"),
        }
    }
    // Which locks are given back by another thread behind the cut, is not known.
    if is_cut && tables.meta.foreign_unlock {
        return Ok(());
    }
    let is_row = |positions: &Vec<u64>| analysis.deadlocks.iter().any(|row| row.positions == *positions);
    match cycles.keys().find(|positions| !is_row(positions)) {
        Some(missing) => Err(format!("{missing:x?} is a deadlock, and no candidate")),
        None => Ok(()),
    }
}

fn generate(seed: u64) -> (Tables, Vec<Event>) {
    match seed % 3 {
        0 => random_trace::generate(seed),
        1 => random_trace::generate_freeing(seed),
        _ => random_trace::generate_nested(seed),
    }
}

#[test]
fn of_a_cut_trace_nothing_is_said_of_all_instances() {
    // The race depends on what was read; that the block is freed first is excluded by structure.
    const SEED: u64 = 560_002_345;
    let ((tables, events), mut counts) = (generate(SEED), Counts::default());
    let compared = compare(&tables, &events, &mut fastrand::Rng::with_seed(SEED), &mut counts);
    assert_eq!(compared, Ok(()));
    assert!(counts.cut > 0, "the trace is cut");
}

#[test]
fn a_file_excludes_what_it_says_and_nothing_else() {
    let mut counts = Counts::default();
    let all = compare_all("design", generate, &mut |seed, tables, events| {
        compare(tables, events, &mut fastrand::Rng::with_seed(seed), &mut counts)
    });
    let Counts {
        compared,
        races,
        uses,
        races_by_file,
        races_partly,
        deadlocks,
        deadlocks_by_file,
        deadlocks_partly,
        refuted_by_file,
        cut,
    } = counts;
    println!(
        "{compared} traces: {races} races ({races_partly} of which the file excludes some), {races_by_file} excluded by \
         the file, {uses} of them uses after free; {deadlocks} deadlocks ({deadlocks_partly} of which it excludes some), \
         {deadlocks_by_file} excluded by it; {refuted_by_file} of both refuted; {cut} of traces that are cut"
    );
    let traces = all.or_panic();
    if traces >= 2_000 {
        let least = [
            races,
            races_partly,
            races_by_file,
            uses,
            deadlocks,
            deadlocks_by_file,
            refuted_by_file,
            cut,
        ];
        assert!(least.iter().all(|&count| count > 0), "some kind never came up");
    }
}
