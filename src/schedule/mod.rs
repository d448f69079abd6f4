//! Schedules of a trace's events. The type and its text are a crate of their own, [`schedule_format`], which
//! the checker depends on, too.

pub use schedule_format::{Goal, Malformed, ParseScheduleError, Schedule, Slice, VERSION, text};

use crate::trace::{EventId, Trace};

/// Makes slices of a sequence of events that respects program order.
#[must_use]
pub fn slices_of(trace: &Trace, order: &[EventId]) -> Vec<Slice> {
    Slice::of(order.iter().map(|&event| trace.thread(event)))
}

/// How many events of its file a trace has, if others were left out on purpose: what its schedules say of that.
#[must_use]
pub fn beginning_of(trace: &Trace) -> Option<u32> {
    trace.first_events().and_then(|first| u32::try_from(first).ok())
}

/// The whole schedule in slices, those of the events as recorded first.
#[must_use]
pub fn all_slices(schedule: &Schedule, trace: &Trace) -> Vec<Slice> {
    let recorded = trace.events().take(schedule.as_recorded as usize);
    let mut slices = Slice::of(recorded.map(|event| trace.thread(event)));
    let mut then = &schedule.slices[..];
    if let (Some(last), Some((first, rest))) = (slices.last_mut(), then.split_first())
        && last.thread == first.thread
    {
        last.events += first.events;
        then = rest;
    }
    slices.extend(then);
    slices
}
