//! From a schedule to the plan that the runtime follows.

use super::noted::{noted_by, with_calls};
use crate::check::{Checker, Rejection};
use crate::record::{Step, plan};
use crate::schedule::Schedule;
use crate::trace::{AccessKind, EventId, Op, ThreadId, Trace, WaitOutcome};
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
            all_fit &= [Some(step.thread), step.other]
                .into_iter()
                .flatten()
                .all(|thread| thread < plan::MAX_THREADS);
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

fn step(trace: &Trace, event: EventId, woken: Option<ThreadId>, race: bool) -> Step {
    Step {
        thread: trace.thread(event).0,
        kind: kind(trace, event),
        pc: (trace.pc(event) & plan::PC_MASK) as u16,
        race,
        other: match trace.op(event) {
            Op::Fork { child } => Some(child.0),
            Op::Notify { .. } => woken.map(|thread| thread.0),
            _ => noted_by(trace, event).map(|thread| thread.0),
        },
        value: written(trace, event),
    }
}

/// The value that an event leaves in memory, or gets from outside, or whether a wait ended without a notify; 0 if it has
/// none.
fn written(trace: &Trace, event: EventId) -> u64 {
    match trace.op(event) {
        Op::Input { value, .. } => return value,
        Op::WaitEnd { outcome, .. } => return (outcome == WaitOutcome::TimedOut).into(),
        _ => {}
    }
    let Some(access) = trace.access(event).filter(|access| access.kind == AccessKind::Write) else {
        return 0;
    };
    trace.uses(access).fold(0, |value, used| {
        let shift = 8 * (trace.cell(used.cell).addr - access.addr) as u32;
        value | used.written.checked_shl(shift).unwrap_or(0)
    })
}

/// An event's kind, as the runtime encodes it.
fn kind(trace: &Trace, event: EventId) -> u8 {
    use plan::kind::*;
    match trace.op(event) {
        Op::Access(_) => match trace.access(event).map(|access| access.kind) {
            Some(AccessKind::Write) => WRITE,
            Some(AccessKind::AtomicLoad) => ATOMIC_LOAD,
            Some(AccessKind::AtomicStore) => ATOMIC_STORE,
            Some(AccessKind::AtomicRmw) => ATOMIC_RMW,
            Some(AccessKind::Use) => USE,
            Some(AccessKind::Free) => FREE,
            Some(AccessKind::Read) | None => READ,
        },
        Op::Begin => BEGIN,
        Op::End => END,
        Op::Fork { .. } => FORK,
        Op::Join { .. } => JOIN,
        Op::Acquire { .. } => ACQUIRE,
        Op::AcquireShared { .. } => ACQUIRE_SHARED,
        Op::Release { .. } => RELEASE,
        Op::AcquireFailed { .. } => ACQUIRE_FAILED,
        Op::WaitBegin { .. } => WAIT_BEGIN,
        Op::WaitEnd { .. } => WAIT_END,
        Op::Notify { .. } => NOTIFY,
        Op::NotifyAll { .. } => NOTIFY_ALL,
        Op::BarrierEnter { .. } => BARRIER_ENTER,
        Op::BarrierExit { .. } => BARRIER_EXIT,
        Op::SemPost { .. } => SEM_POST,
        Op::SemWait { .. } => SEM_WAIT,
        Op::SemWaitFailed { .. } => SEM_WAIT_FAILED,
        Op::SemValue { .. } => SEM_VALUE,
        Op::OnceBegin { .. } => ONCE_BEGIN,
        Op::OnceEnd { .. } => ONCE_END,
        Op::OnceWait { .. } => ONCE_WAIT,
        Op::Fence { .. } => FENCE,
        Op::Alloc { .. } => ALLOC,
        Op::Branch => BRANCH,
        Op::Input { .. } => INPUT,
        Op::Output { .. } => OUTPUT,
    }
}
