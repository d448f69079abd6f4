//! What the end of the recorded program means for the exit status of `witness run`, in one place.
//!
//! A verdict is about the run up to its end. If the program died at its start, or its threads deadlocked, finding no
//! race says little, and must not look like success.

use super::ExitCode;
use rustix::process::Signal;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use trace_format::TraceFile;
use witness::record::Recorded;
use witness::standstill::Standstill;

/// Signals that ask a program to end: what dies of them has not failed. A closed pipe is a normal end.
const WISHES: [Signal; 5] = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT, Signal::PIPE];

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

/// Whether threads wait at the end of a trace that nobody can wake. (What cannot be read is said where it is analyzed.)
fn waits_for_ever(trace: &Path) -> bool {
    let standstill = TraceFile::open(trace).and_then(|file| Standstill::of(&file));
    standstill.is_ok_and(|standstill| standstill.is_deadlock())
}

/// That the program failed, after *the program*; `None` if it did not.
pub fn failure(recorded: &Recorded) -> Option<String> {
    match (recorded.status.code(), recorded.status.signal()) {
        (Some(0), _) | (None, None) => None,
        (Some(code), _) => Some(format!("exited with status {code}")),
        (None, Some(signal)) => {
            let asked = WISHES.iter().any(|wish| wish.as_raw() == signal);
            (!asked).then(|| format!("was killed by {}", signal_name(signal)))
        }
    }
}

/// `SIGSEGV`, or `signal 40` where there is no name.
pub fn signal_name(signal: i32) -> String {
    let name = signal_hook::low_level::signal_name(signal);
    name.map_or_else(|| format!("signal {signal}"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::signal_name;

    #[test]
    fn signals_have_their_usual_names() {
        assert_eq!(signal_name(11), "SIGSEGV");
        assert_eq!(signal_name(40), "signal 40");
    }
}
