//! What the end of the recorded program means for the exit status of `witness run`, in one place.
//!
//! A verdict is about the run up to its end. If the program died at its start, or its threads deadlocked, finding no
//! race says little, and must not look like success.

use super::ExitCode;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use trace_format::ProgramEnd;
use witness::record::Recorded;
use witness::session::{asks_to_end, signal_name};
use witness::standstill::Standstill;

/// Of a run, whatever was found in its trace.
pub fn code(recorded: &Recorded) -> ExitCode {
    let processes = recorded.processes.iter();
    let traces = processes
        .map(|process| &process.summary.path)
        .chain([&recorded.summary.path]);
    if recorded.deadlock || traces.into_iter().any(|path| waits_for_ever(path)) {
        ExitCode::Deadlock
    } else if recorded.timed_out {
        ExitCode::TimedOut
    } else if recorded.stopped.is_none() && failure(recorded).is_some() {
        ExitCode::Failed
    } else {
        ExitCode::Nothing
    }
}

/// Of a run of which there is only the trace.
pub fn code_of(end: ProgramEnd, trace: &Path) -> ExitCode {
    match end {
        ProgramEnd::Deadlock => ExitCode::Deadlock,
        _ if waits_for_ever(trace) => ExitCode::Deadlock,
        ProgramEnd::TimeLimit => ExitCode::TimedOut,
        ProgramEnd::Exited(status) if status != 0 => ExitCode::Failed,
        ProgramEnd::Signaled(signal) if !asks_to_end(signal) => ExitCode::Failed,
        ProgramEnd::Exited(_) | ProgramEnd::Signaled(_) | ProgramEnd::EventLimit | ProgramEnd::Unknown => {
            ExitCode::Nothing
        }
    }
}

/// Whether threads wait at the end of a trace that nobody can wake. (What cannot be read is said where it is analyzed.)
pub fn waits_for_ever(trace: &Path) -> bool {
    let standstill = Standstill::of_path(trace);
    standstill.is_ok_and(|standstill| standstill.is_deadlock())
}

/// That the program failed, after *the program*; `None` if it did not.
pub fn failure(recorded: &Recorded) -> Option<String> {
    match (recorded.status.code(), recorded.status.signal()) {
        (Some(0), _) | (None, None) => None,
        (Some(code), _) => Some(format!("exited with status {code}")),
        (None, Some(signal)) => (!asks_to_end(signal)).then(|| format!("was killed by {}", signal_name(signal))),
    }
}
