//! Small changes of a schedule around the place where a live run left it.

use super::plan::Plan;
use crate::check::Checker;
use crate::schedule::{self, Schedule, Slice};
use crate::trace::{EventId, Op};
use std::collections::HashSet;
use trace_format::NOBODYS;

/// How many slices away from the place another slice is tried.
const REACH: usize = 3;

/// Schedules of the same race that the checker accepts, in which the slice that holds `step` comes
/// earlier or later, the nearest first.
#[must_use]
pub fn variations(checker: &Checker<'_>, schedule: &Schedule, step: usize) -> Vec<Schedule> {
    let Ok(plan) = Plan::of(checker, schedule) else {
        return Vec::new();
    };
    let schedule = in_slices(checker, schedule);
    let mut ends = schedule.slices.iter().scan(0_usize, |sum, slice| {
        *sum += slice.events as usize;
        Some(*sum)
    });
    let last = schedule.slices.len().saturating_sub(1);
    let slice = ends.position(|end| step < end).unwrap_or(last);
    let all = |plan: &Plan| plan.events().collect::<Vec<_>>();
    let mut known = HashSet::from([all(&plan)]);
    let mut found = Vec::new();
    for distance in 1..=REACH {
        let earlier = slice.checked_sub(distance);
        let later = Some(slice + distance).filter(|&to| to <= last);
        for to in earlier.into_iter().chain(later) {
            let mut slices = schedule.slices.clone();
            let moved = slices.remove(slice);
            slices.insert(to, moved);
            let varied = Schedule {
                slices: merged(slices),
                ..schedule.clone()
            };
            if Plan::of(checker, &varied).is_ok_and(|plan| known.insert(all(&plan))) {
                found.push(varied);
            }
        }
    }
    found
}

/// The same, but that a signal is sent later: the thread that handles it first does all that it did before, but for the
/// event that it has come to. In the program, a handler begins behind that one, however many more the schedule has come
/// before it. `step` is where the run left the schedule; `None` if nothing of this kind may be the reason.
#[must_use]
pub fn with_signal_later(checker: &Checker<'_>, schedule: &Schedule, step: usize) -> Option<Schedule> {
    let plan = Plan::of(checker, schedule).ok()?;
    let trace = checker.trace();
    let events: Vec<EventId> = plan.done().map(|step| plan.event(step)).collect();
    let thread = trace.thread(*events.get(step)?);
    // The variable that says that it was sent.
    let moment = |event: EventId| {
        let access = trace.access(event).filter(|access| access.addr >= NOBODYS)?;
        Some((access.addr, access.kind.writes()))
    };
    let heard = |&at: &usize| match moment(events[at]) {
        Some((addr, false)) if trace.thread(events[at]) == thread => Some((at, addr)),
        _ => None,
    };
    let (handled, addr) = (step..events.len()).find_map(|at| heard(&at))?;
    let sent = (0..handled).rfind(|&at| moment(events[at]) == Some((addr, true)))?;
    let (first, others): (Vec<EventId>, Vec<EventId>) = events[sent..handled]
        .iter()
        .partition(|&&event| trace.thread(event) == thread);
    let order = events[..sent]
        .iter()
        .chain(&first)
        .chain(&others)
        .chain(&events[handled..]);
    let slices = order.map(|&event| Slice {
        thread: trace.thread(event),
        events: 1,
    });
    let varied = Schedule {
        slices: merged(slices.collect()),
        ..in_slices(checker, schedule)
    };
    let is_other = !first.is_empty() && sent <= step;
    (is_other && Plan::of(checker, &varied).is_ok()).then_some(varied)
}

/// The same schedule without events as recorded: every slice and every wake is named.
fn in_slices(checker: &Checker<'_>, schedule: &Schedule) -> Schedule {
    let trace = checker.trace();
    let mut wakes = Vec::new();
    let followed = checker.follow(schedule, &mut |executed| {
        if let (Op::Notify { .. }, Some(&woken)) = (trace.op(executed.event), executed.step.woken.first()) {
            wakes.push((executed.event, woken));
        }
    });
    debug_assert!(followed.is_ok(), "the schedule has a plan");
    Schedule {
        as_recorded: 0,
        slices: schedule::all_slices(schedule, trace),
        wakes,
        ..schedule.clone()
    }
}

/// Neighboring slices of one thread made one.
fn merged(slices: Vec<Slice>) -> Vec<Slice> {
    let mut merged: Vec<Slice> = Vec::with_capacity(slices.len());
    for slice in slices {
        match merged.last_mut() {
            Some(last) if last.thread == slice.thread => last.events += slice.events,
            _ => merged.push(slice),
        }
    }
    merged
}
