//! A null pointer itself: the program runs along the schedule, its thread reads 0, goes on by itself, and dies of it.

use super::beyond::beyond;
use super::{LiveError, Planner};
use crate::schedule::Schedule;
use crate::session::Launch;
use crate::trace::{EventId, LoadError};
use rustix::process::Signal;
use trace_format::{PendingKind, ProgramEnd};

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
    let ran = match beyond(planner, schedule, launch)? {
        Ok(ran) => ran,
        Err(left_at) => return Ok(Crashed::Diverged(left_at)),
    };
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
