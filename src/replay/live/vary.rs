//! Small changes of a schedule around the place where a live run left it.

use super::plan::Plan;
use crate::check::Checker;
use crate::schedule::{self, Schedule, Slice};
use crate::trace::Op;
use std::collections::HashSet;

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
