//! Is the trace itself a sequentially consistent linearization?
//!
//! The trace does not say whom each notify woke. A notify that finds several waiters is taken to
//! wake the one whose wait ends first (earliest deadline first): if any choice explains the ends
//! of all waits, this one does, by exchanging the two whenever another was woken earlier.

use crate::Checker;
use crate::disabled::Violation;
use crate::state::State;
use crate::well_formed::{of_other_kind, overlap};
use std::ops::ControlFlow;
use trace_format::{EventId, ObjectId, ThreadId};

/// A trace that is a sequentially consistent linearization.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Validated {
    /// How many reads are pinned, because they touch a byte that unrecorded code changes.
    pub pinned_reads: u64,
    /// The first read that saw a value which no recorded write explains.
    pub first_unexplained: Option<EventId>,
}

pub(crate) fn validate(checker: &Checker<'_>) -> Result<Validated, Violation> {
    let recording = checker.recording;
    let (objects, overlap) = (&recording.tables().objects, overlap(checker));
    let mut state = checker.start();
    let mut found = Validated::default();
    let mut violation = None;
    let _: ControlFlow<()> = recording.walk(0..recording.events() as u32, &mut |event, thread, op| {
        let overlaps = overlap.clone().filter(|&(at, _)| at == event).map(|(_, why)| why);
        if let Some(why) = overlaps.or_else(|| of_other_kind(objects, op)) {
            violation = Some(Violation { event, thread, why });
            return ControlFlow::Break(());
        }
        if checker.unrecorded.any() && checker.sees_external(event, op) {
            found.pinned_reads += u64::from(checker.unrecorded.pin(event).is_some());
            if found.first_unexplained.is_none() && !state.explains(event) {
                found.first_unexplained = Some(event);
            }
        }
        match state.step_as_recorded_by(event, op, None) {
            Ok(_) => ControlFlow::Continue(()),
            Err(why) => {
                violation = Some(why);
                ControlFlow::Break(())
            }
        }
    });
    violation.map_or(Ok(found), Err)
}

/// Of those that wait on a condition, the one whose wait ends first in π.
pub(crate) fn earliest_deadline(state: &State<'_>, condition: ObjectId) -> Option<ThreadId> {
    let waiting = state.waiting(condition);
    // A wait without an end in the trace comes last.
    let first = waiting
        .iter()
        .min_by_key(|waiter| waiter.end.map_or(u32::MAX, |end| end.0));
    first.map(|waiter| waiter.thread)
}
