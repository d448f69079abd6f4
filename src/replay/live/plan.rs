//! From a schedule to the plan that the runtime follows.

use super::noted::{noted_by, with_calls};
use crate::check::{Checker, Rejection};
use crate::record::plan;
use crate::schedule::Schedule;
use crate::session::Step;
use crate::trace::{EventId, Op, ThreadId, Trace, Wakes};
use hashbrown::HashMap;
use std::ops::Range;

/// What a live run is to do: the schedule's events, then the accesses that it stops before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The events, in order.
    pub events: Vec<EventId>,
    /// How many at the end are only to be pending: both racing accesses, or the second one of an
    /// unordered race.
    pub pending: usize,
    /// As the runtime reads them, since they are many; `None` if they have more threads than it can name.
    steps: Option<Vec<plan::Words>>,
}

impl Plan {
    /// The plan of a schedule: what the checker executed, whom each notify woke included.
    ///
    /// # Errors
    /// [`Rejection`], if the checker does not accept it.
    pub fn of(checker: &Checker<'_>, schedule: &Schedule) -> Result<Plan, Rejection> {
        let plan = Plan::as_said(checker, schedule)?;
        // A schedule that performs the same in another order is as good.
        let otherwise = with_calls(checker.trace(), schedule, &plan.events[plan.done()]);
        let otherwise = otherwise.and_then(|schedule| Plan::as_said(checker, &schedule).ok());
        Ok(otherwise.unwrap_or(plan))
    }

    fn as_said(checker: &Checker<'_>, schedule: &Schedule) -> Result<Plan, Rejection> {
        let trace = checker.trace();
        let (mut events, mut steps) = (Vec::new(), Vec::new());
        let mut all_fit = true;
        let mut push = |event, woken, race| {
            let step = step(trace, event, woken, race);
            all_fit &= fits(step);
            events.push(event);
            steps.push(step.encode());
        };
        checker.follow(schedule, &mut |executed| {
            push(executed.event, executed.step.woken.first().copied(), false);
        })?;
        let pending = schedule.goal.pending();
        pending.clone().for_each(|event| push(event, None, true));
        Ok(Plan {
            steps: all_fit.then_some(steps),
            pending: pending.count(),
            events,
        })
    }

    /// The plan of the whole trace, as it was recorded.
    #[must_use]
    pub fn of_all(trace: &Trace) -> Plan {
        let events: Vec<EventId> = (0..trace.len()).map(|event| EventId(event as _)).collect();
        let woken: HashMap<EventId, ThreadId> = Wakes::of(trace, events.iter().copied()).woken.into_iter().collect();
        let mut all_fit = true;
        let mut encode = |&event: &EventId| {
            let step = step(trace, event, woken.get(&event).copied(), false);
            all_fit &= fits(step);
            step.encode()
        };
        let steps = events.iter().map(&mut encode).collect();
        Plan {
            steps: all_fit.then_some(steps),
            pending: 0,
            events,
        }
    }

    /// The plan in the runtime's words; `None` if it has more threads than these can name.
    #[must_use]
    pub fn steps(&self) -> Option<&[plan::Words]> {
        self.steps.as_deref()
    }

    /// The steps that are to be done.
    #[must_use]
    pub fn done(&self) -> Range<usize> {
        0..self.events.len() - self.pending
    }
}

/// Whether the runtime can name the threads of a step.
fn fits(step: plan::Step) -> bool {
    let threads = [Some(step.thread), step.other];
    threads.into_iter().flatten().all(|thread| thread < plan::MAX_THREADS)
}

fn step(trace: &Trace, event: EventId, woken: Option<ThreadId>, race: bool) -> plan::Step {
    let step = Step::of(trace, event, woken).to_plan();
    let other = match trace.op(event) {
        // Numbers are those of the trace, whoever was created before.
        Op::Fork { child } => Some(child.0),
        Op::Notify { .. } => step.other,
        _ => noted_by(trace, event).map(|thread| thread.0),
    };
    plan::Step { race, other, ..step }
}
