//! A deadlock itself: the program runs along the schedule, goes on by itself, and its threads wait for each other. Of a
//! partial deadlock, others may go on; its threads are to wait until the run is ended.

use super::beyond::{GOES_ON, beyond};
use super::{LiveError, Planner};
use crate::schedule::{Goal, Schedule};
use crate::session::{Launch, Policy, Settings};
use crate::standstill::{Standstill, Wait};
use crate::trace::{EventId, LoadError, Op, Trace};
use std::time::Duration;
use trace_format::{PendingKind, ProgramEnd, TraceFile};

/// How long others may go on beside a partial deadlock before the run is ended.
const OTHERS_GO_ON: Duration = Duration::from_secs(3);

/// What became of a run that was to end in a deadlock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deadlocked {
    /// Each of the threads waits where it was to wait, forever; of a partial deadlock, at the end of the run.
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
    let is_partial = matches!(schedule.goal, Goal::PartialDeadlock(_));
    let (goes_on, settings) = match is_partial {
        // Each of the others is to come to its turn, and the run may have no end of its own.
        true => (
            OTHERS_GO_ON,
            Settings {
                policy: Policy::Random,
                ..Settings::fifo()
            },
        ),
        false => (GOES_ON, Settings::fifo()),
    };
    let (ran, left_at) = beyond(planner, schedule, launch, goes_on, settings)?;
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
            .find(|wait| wait.thread == thread && (is_partial || wait.for_ever));
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
