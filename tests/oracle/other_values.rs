//! The other values that reads can see, against exhaustive search.
//!
//! For every read of a small trace, section 3 of `docs/SEMANTICS.md` says which values it would see at the end of some
//! feasible prefix; the search visits all prefixes and writes them down. The encoder has to find each of them, with a
//! schedule that the checker accepts, and then say that there is no other. Asked for one value alone, it has to find
//! exactly those.

use super::execution::{Execution, Use};
use super::machine::State;
use super::{LIMIT, environment, random_trace, stored};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use trace_format::{Event, EventId, Tables};
use witness::analyze::{Options, OtherValues};
use witness::check::Checker;
use witness::prune::MustHappenBefore;
use witness::schedule::Goal;
use witness::solve::{Answer, Session};
use witness::trace::{Sections, Trace};
use witness::verdict::Unknown;

/// By read: the values that it can see, other than in the trace; `None` for what the trace does not tell.
type Seen = BTreeMap<EventId, BTreeSet<Option<u64>>>;

fn uses_that_see(execution: &Execution, event: EventId) -> Option<&[Use]> {
    let uses = execution.uses(event);
    uses.first().is_some_and(|used| used.sees.is_some()).then_some(uses)
}

/// Whether unrecorded code changes what a read sees.
fn is_external(execution: &Execution, uses: &[Use]) -> bool {
    uses.iter().any(|used| execution.cells[used.cell].external)
}

/// The number that a read is about to see; `None` if part of it is not known.
pub fn about_to_see(execution: &Execution, state: &State, read: EventId) -> Option<u64> {
    let uses = execution.uses(read);
    let first = execution.cells[uses.first()?.cell].addr;
    uses.iter().try_fold(0, |number, used| {
        let content = state.content(execution, used.cell)?;
        // A block that is freed may be longer than a number.
        let shift = 8 * (execution.cells[used.cell].addr - first);
        Some(number | content.checked_shl(shift as u32)?)
    })
}

/// What a read would show that is next now, if that is something else than in the trace.
pub fn shown(execution: &Execution, state: &State, read: EventId) -> Option<Option<u64>> {
    let uses = uses_that_see(execution, read).filter(|uses| !is_external(execution, uses))?;
    match about_to_see(execution, state, read) {
        None => (!execution.frees_reads()).then_some(None),
        Some(number) => {
            let differs = |used: &Use| state.content(execution, used.cell) != used.sees;
            uses.iter().any(differs).then_some(Some(number))
        }
    }
}

/// What every read can see, by exhaustive search. `None` if there are too many states.
fn searched(execution: &Execution) -> Option<Seen> {
    let start = State::start(execution);
    let mut seen = Seen::new();
    let mut visited = HashSet::from([start.clone()]);
    let mut stack = vec![start];
    while let Some(state) = stack.pop() {
        if visited.len() > LIMIT {
            return None;
        }
        for event in (0..execution.threads()).filter_map(|thread| state.next(execution, thread)) {
            if let Some(value) = shown(execution, &state, event) {
                seen.entry(event).or_default().insert(value);
            }
            for after in state.step(execution, event) {
                if visited.insert(after.state.clone()) {
                    stack.push(after.state);
                }
            }
        }
    }
    Some(seen)
}

#[derive(Default)]
struct Counts {
    reads: u64,
    with_others: u64,
    told: u64,
    untold: u64,
    external: u64,
    /// In traces that record their control flow.
    freed: u64,
    refused: u64,
}

fn compare(tables: &Tables, events: &[Event], random: &mut fastrand::Rng, counts: &mut Counts) -> Result<(), String> {
    let execution = Execution::new(tables, events);
    let Some(seen) = searched(&execution) else {
        return Ok(());
    };
    let trace = Trace::from_events(tables.clone(), events);
    let checker = Checker::new(&trace);
    let (order, sections) = (MustHappenBefore::of(&trace), Sections::of(&trace));
    let options = Options::default();
    let mut others = OtherValues::new(&checker, &order, &sections, &options);
    let mut session = Session::new(&trace, &order, &sections, options.budget);
    let nothing = BTreeSet::new();
    for read in execution.ids() {
        let Some(uses) = uses_that_see(&execution, read) else {
            if others.next(read, &[]) != Ok(None) {
                return Err(format!("{read:?} does not read"));
            }
            continue;
        };
        counts.reads += 1;
        let expected = seen.get(&read).unwrap_or(&nothing);
        let (found, open) = others.all(read);
        if is_external(&execution, uses) {
            counts.external += 1;
            if !found.is_empty() || open != Some(Unknown::Unrecorded(Some(read))) {
                return Err(format!(
                    "what {read:?} sees, unrecorded code changes: {found:?}, {open:?}"
                ));
            }
            let value = random.bool().then(|| random.u64(..4));
            let answer = session.ask(&Goal::OtherValue { read, value });
            if !matches!(answer, Answer::Infeasible) {
                return Err(format!("what {read:?} sees, unrecorded code changes: {answer:?}"));
            }
            continue;
        }
        let values: BTreeSet<Option<u64>> = found.iter().map(|other| other.value).collect();
        if open.is_some() || values != *expected || values.len() != found.len() {
            return Err(format!("{read:?} can see {expected:?}; found {found:?}, and {open:?}"));
        }
        for other in &found {
            let goal = Goal::OtherValue {
                read,
                value: other.value,
            };
            if other.schedule.goal != goal || checker.check(&other.schedule).is_err() {
                return Err(format!("{:?} shows {goal:?}?", other.schedule));
            }
            match other.value {
                Some(_) => counts.told += 1,
                None => counts.untold += 1,
            }
        }
        counts.with_others += u64::from(!found.is_empty());
        counts.freed += u64::from(!found.is_empty() && execution.frees_reads());
        // One value alone: one that it can see, or any.
        let some = values.iter().copied().nth(random.usize(..values.len() + 1));
        let value = some.unwrap_or_else(|| random.bool().then(|| random.u64(..4)));
        match (session.ask(&Goal::OtherValue { read, value }), values.contains(&value)) {
            (Answer::Feasible(_), true) => {}
            (Answer::Infeasible, false) => counts.refused += 1,
            (answer, can) => return Err(format!("can {read:?} see {value:?}? {can}, but {answer:?}")),
        }
    }
    Ok(())
}

#[test]
fn other_values_agree_with_exhaustive_search() {
    let traces = environment("WITNESS_ORACLE_TRACES", 1_000);
    let first = environment("WITNESS_ORACLE_SEED", 1);
    let mut counts = Counts::default();
    for (name, tables, events) in stored::all() {
        let mut random = fastrand::Rng::with_seed(0);
        if let Err(what) = compare(&tables, &events, &mut random, &mut counts) {
            panic!("{name}: {what}\n{}", super::event_kind::describe(&events));
        }
    }
    for seed in first..first + traces {
        let (tables, events) = random_trace::generate(seed);
        let mut random = fastrand::Rng::with_seed(seed);
        if let Err(what) = compare(&tables, &events, &mut random, &mut counts) {
            let file = stored::leave_behind(&format!("other-values-{seed}"), &tables, &events);
            panic!("seed {seed}: {what}\n{}{file}", super::event_kind::describe(&events));
        }
    }
    let Counts {
        reads,
        with_others,
        told,
        untold,
        external,
        freed,
        refused,
    } = counts;
    println!(
        "{reads} reads, {with_others} can see something else ({freed} with recorded control flow): {told} values, and {untold} that \
         the trace does not tell; {external} of unrecorded code; {refused} values refused"
    );
    for (count, what) in [
        (told, "other value"),
        (untold, "value that is not told"),
        (external, "read of unrecorded code"),
        (freed, "other value beside recorded control flow"),
        (refused, "value refused"),
    ] {
        assert!(count > 0, "no {what}: the generator has become too tame");
    }
}
