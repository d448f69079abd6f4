//! A null pointer itself: the program runs along the schedule, its thread reads 0, goes on by itself, and dies of it.

use super::{LiveError, Planner};
use crate::record::ProcessNumber;
use crate::schedule::Schedule;
use crate::session::{Bounds, Launch, Session, Settings};
use crate::trace::{EventId, LoadError};
use rustix::process::Signal;
use std::time::Duration;
use trace_format::{PendingKind, ProgramEnd};

/// How long the program may go on behind the read before the run is ended.
const GOES_ON: Duration = Duration::from_secs(10);

/// No object lies below this address.
const FIRST_PAGE: u64 = 4096;

/// What became of a run that was to die of a null pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Crashed {
    /// The thread that read it accessed memory at this address, and the program died there.
    Confirmed {
        /// The address, near 0.
        addr: u64,
    },
    /// The program left the schedule before this event.
    Diverged(EventId),
    /// It followed the schedule, and did not die so.
    NotReached {
        /// How the run ended.
        end: ProgramEnd,
    },
}

/// Runs the program of a trace along the schedule of another value of a read, 0, that is one of the read itself, and then
/// on.
///
/// # Errors
/// [`LiveError`]. That the program goes another way is a [`Crashed`].
pub fn crash(planner: &Planner<'_>, schedule: &Schedule, launch: &Launch) -> Result<Crashed, LiveError> {
    let trace = planner.checker().trace();
    if launch.descent.is_some() {
        let number = ProcessNumber::of(&trace.tables().meta);
        return Err(LiveError::ForkedProcess {
            number: number.map_or_else(String::new, |number| number.to_string()),
        });
    }
    let plan = planner.plan(schedule)?;
    let steps = plan.steps().ok_or(LiveError::TooManyThreads)?;
    let bounds = Bounds {
        timeout: Some(GOES_ON + launch.patience),
        patience: Some(launch.patience),
        max_events: None,
        usual: None,
    };
    let ran = Session::new(launch, bounds)?.follow(&steps, Settings::fifo())?;
    if let Some(diverged) = ran.diverged {
        return Ok(Crashed::Diverged(plan.event(diverged.step())));
    }
    let live = ran.trace().map_err(LoadError::Read)?;
    let readers: Vec<_> = schedule.goal.pending().map(|read| trace.thread(read)).collect();
    let mut pending = live.tables().meta.pending.iter().rev();
    let died = pending.find(|pending| {
        let by_memory = pending.kind == PendingKind::Died(Signal::SEGV.as_raw());
        by_memory && pending.addr < FIRST_PAGE && readers.contains(&pending.thread)
    });
    Ok(match died {
        Some(died) => Crashed::Confirmed { addr: died.addr },
        None => Crashed::NotReached { end: ran.end },
    })
}
