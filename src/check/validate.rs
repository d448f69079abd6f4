//! Is the trace itself a sequentially consistent linearization?
//!
//! The trace does not say whom each notify woke. A notify that finds several waiters is taken to
//! wake the one whose wait ends first (earliest deadline first): if any choice explains the ends
//! of all waits, this one does, by exchanging the two whenever another was woken earlier.

use super::Checker;
use super::disabled::Violation;
use super::state::State;
use super::well_formed::well_formed;
use crate::trace::{EventId, ObjectId, ThreadId, Trace};

/// A trace that is a sequentially consistent linearization.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Validated {
    /// How many reads are pinned, because they touch a cell that unrecorded code changes.
    pub pinned_reads: u64,
    /// The first read that saw a value which no recorded write explains.
    pub first_unexplained: Option<EventId>,
}

pub(super) fn validate(checker: &Checker<'_>) -> Result<Validated, Violation> {
    let trace = checker.trace;
    well_formed(trace)?;
    let mut state = checker.start();
    let mut found = Validated::default();
    for event in trace.events() {
        if external(trace, event) {
            found.pinned_reads += u64::from(trace.pin(event).is_some());
            if found.first_unexplained.is_none() && !explained(&state, trace, event) {
                found.first_unexplained = Some(event);
            }
        }
        state.step_as_recorded(event, None)?;
    }
    Ok(found)
}

/// Of those that wait on a condition, the one whose wait ends first in π.
pub(super) fn earliest_deadline(state: &State<'_>, condition: ObjectId) -> Option<ThreadId> {
    let waiting = state.waiting(condition);
    // A wait without an end in the trace comes last.
    let first = waiting
        .iter()
        .min_by_key(|waiter| waiter.end.map_or(u32::MAX, |end| end.0));
    first.map(|waiter| waiter.thread)
}

fn external(trace: &Trace, event: EventId) -> bool {
    trace
        .access(event)
        .is_some_and(|access| access.kind.reads() && trace.uses(access).any(|used| trace.cell(used.cell).external))
}

fn explained(state: &State<'_>, trace: &Trace, event: EventId) -> bool {
    trace
        .cell_uses(event)
        .all(|used| state.value(used.cell) == Some(used.read))
}
