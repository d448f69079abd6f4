//! A deadlock itself: the program runs along the schedule, goes on by itself, and its threads wait for each other.

use super::beyond::beyond;
use super::{LiveError, Planner};
use crate::schedule::Schedule;
use crate::session::Launch;
use crate::standstill::{Standstill, Wait};
use crate::trace::{EventId, LoadError, Op, Trace};
use trace_format::{PendingKind, ProgramEnd, TraceFile};

/// What became of a run that was to end in a deadlock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deadlocked {
    /// Each of the threads waits where it was to wait, forever.
    Confirmed(Vec<Wait>),
    /// The program left the schedule before this event.
    Diverged(EventId),
    /// It followed the schedule, and these of the threads do not wait forever.
    NotReached {
        /// The operations of these threads.
        due: Vec<EventId>,
        /// How the run ended.
        end: ProgramEnd,
    },
}

/// Runs the program of a trace along the schedule of a deadlock, and then on, until nothing happens any more.
///
/// # Errors
/// [`LiveError`]. That the program goes another way is a [`Deadlocked`].
pub fn deadlock(planner: &Planner<'_>, schedule: &Schedule, launch: &Launch) -> Result<Deadlocked, LiveError> {
    let trace = planner.checker().trace();
    let (ran, left_at) = beyond(planner, schedule, launch)?;
    if let Some(left_at) = left_at {
        return Ok(Deadlocked::Diverged(left_at));
    }
    let live = ran.trace().map_err(LoadError::Read)?;
    let standstill = Standstill::of(&live).map_err(LoadError::Read)?;
    let mut waits = Vec::new();
    let mut due = Vec::new();
    for event in schedule.goal.pending() {
        let thread = trace.thread(event).0;
        let wait = standstill
            .waits
            .iter()
            .find(|wait| wait.thread == thread && wait.for_ever);
        match wait.filter(|_| waits_there(trace, event, &live)) {
            Some(wait) => waits.push(wait.clone()),
            None => due.push(event),
        }
    }
    Ok(match due.is_empty() {
        true => Deadlocked::Confirmed(waits),
        false => Deadlocked::NotReached { due, end: ran.end },
    })
}

/// Whether a thread of the live run ended up in the operation of a deadlock.
fn waits_there(trace: &Trace, event: EventId, live: &TraceFile) -> bool {
    let kinds: &[PendingKind] = match trace.op(event) {
        Op::Join { .. } => &[PendingKind::Join],
        // Before it is notified, it does not even try to get the lock again.
        Op::WaitEnd { .. } => &[PendingKind::Acquire, PendingKind::Condition],
        Op::SemWait { .. } => &[PendingKind::Semaphore],
        Op::BarrierExit { .. } => &[PendingKind::Barrier],
        Op::OnceWait { .. } => &[PendingKind::Once],
        _ => &[PendingKind::Acquire],
    };
    let pending = &live.tables().meta.pending;
    let last = pending
        .iter()
        .rev()
        .find(|pending| pending.thread == trace.thread(event));
    last.is_some_and(|pending| kinds.contains(&pending.kind))
}
