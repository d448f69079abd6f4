//! How a run ended.

use super::error::{LINKER_FAILED, RunError};
use super::signals::signal_name;
use recorder_ring::{Flag, Ring};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use trace_format::ProgramEnd;

/// Fails if the program has ended, with that status if it is known, without having found its ring.
pub(crate) fn must_be_attached(ring: &Ring, ended: Option<ExitStatus>) -> Result<(), RunError> {
    if ring.has(Flag::UnknownLibrary) {
        return Err(RunError::UnknownLibrary);
    }
    if ring.has(Flag::Attached) {
        return Ok(());
    }
    Err(match ended.map(|status| (status.code(), status.signal())) {
        Some((Some(LINKER_FAILED), _)) => RunError::NotLinked,
        Some((_, Some(signal))) => RunError::KilledBefore(signal_name(signal)),
        _ => RunError::NotAttached,
    })
}

/// How the program's first process ended.
pub(crate) fn ended(status: ExitStatus, ring: &Ring, timed_out: bool) -> ProgramEnd {
    // Others may have been ended then, after the first one had ended by itself.
    if timed_out && status.signal() == Some(rustix::process::Signal::KILL.as_raw()) {
        return ProgramEnd::TimeLimit;
    }
    ended_by_the_runtime(ring).unwrap_or_else(|| ended_by_itself(status))
}

/// How a program ended that the runtime in it has ended.
pub(crate) fn ended_by_the_runtime(ring: &Ring) -> Option<ProgramEnd> {
    if ring.has(Flag::Deadlock) {
        Some(ProgramEnd::Deadlock)
    } else {
        ring.has(Flag::Full).then_some(ProgramEnd::EventLimit)
    }
}

fn ended_by_itself(status: ExitStatus) -> ProgramEnd {
    match (status.code(), status.signal()) {
        (Some(code), _) => ProgramEnd::Exited(code),
        (None, Some(signal)) => ProgramEnd::Signaled(signal),
        (None, None) => ProgramEnd::Unknown,
    }
}
