//! Signals that ask a run, and whoever made it, to end.

use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use trace_format::ProgramEnd;

/// Signals that end a process which does not care.
pub(crate) const ENDING: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// Signals that ask a program to end: what dies of them has not failed. A closed pipe is a normal end.
const WISHES: [i32; 5] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE];

/// Whether a program that dies of this signal was asked to end.
#[must_use]
pub fn asks_to_end(signal: i32) -> bool {
    WISHES.contains(&signal)
}

/// That a recorded program failed, after *the program*; `None` if it did not.
#[must_use]
pub fn failure_of(end: ProgramEnd) -> Option<String> {
    match end {
        ProgramEnd::Exited(status) if status != 0 => Some(format!("exited with status {status}")),
        ProgramEnd::Signaled(signal) if !asks_to_end(signal) => Some(format!("was killed by {}", signal_name(signal))),
        _ => None,
    }
}

/// `SIGSEGV`, or `signal 40` where there is no name.
#[must_use]
pub fn signal_name(signal: i32) -> String {
    let name = signal_hook::low_level::signal_name(signal);
    name.map_or_else(|| format!("signal {signal}"), str::to_owned)
}

/// Nothing is recorded. (A handler, once installed, stays.)
static IDLE: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Somebody asked a recorded program, and so whoever records it, to end.
static ASKED_TO_END: AtomicBool = AtomicBool::new(false);

/// Whether a signal came during a recording which ends a process that does not care: by Ctrl-C or `kill`. The program
/// may have ended by it, or not; who records it again and again should not begin another run.
#[must_use]
pub fn asked_to_end() -> bool {
    ASKED_TO_END.load(Ordering::Acquire) || SEARCHES.get().is_some_and(|asked| asked.load(Ordering::Acquire))
}

/// The same, of one who makes runs of his own.
static SEARCHES: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// While this lives, the first signal that ends a process is only [noted](asked_to_end), so that what was found is
/// kept; the second one means this process.
#[derive(Debug)]
pub struct EndsWhenAsked(Vec<SigId>);

impl EndsWhenAsked {
    /// From now on.
    ///
    /// # Errors
    /// If no handlers can be installed.
    pub fn new() -> io::Result<EndsWhenAsked> {
        let asked = SEARCHES.get_or_init(Arc::default);
        let mut handlers = EndsWhenAsked(Vec::new());
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            let second = signal_hook::flag::register_conditional_default(signal, Arc::clone(asked))?;
            handlers.0.push(second);
            handlers.0.push(signal_hook::flag::register(signal, Arc::clone(asked))?);
        }
        if let Some(idle) = IDLE.get() {
            idle.store(false, Ordering::Release);
        }
        Ok(handlers)
    }
}

impl Drop for EndsWhenAsked {
    fn drop(&mut self) {
        for handler in self.0.drain(..) {
            signal_hook::low_level::unregister(handler);
        }
        if let Some(idle) = IDLE.get() {
            idle.store(true, Ordering::Release);
        }
    }
}

/// From now on, signals that end a process mean the program that is recorded.
pub(crate) fn recording_begins() -> io::Result<()> {
    if let Some(idle) = IDLE.get() {
        idle.store(false, Ordering::Release);
    } else {
        let idle = IDLE.get_or_init(Arc::default);
        for signal in ENDING {
            signal_hook::flag::register_conditional_default(signal, Arc::clone(idle))?;
        }
    }
    Ok(())
}

/// From now on, they mean this process again.
pub(crate) fn recording_is_over() {
    if let Some(idle) = IDLE.get() {
        idle.store(true, Ordering::Release);
    }
}

/// One of them came during a recording.
pub(crate) fn was_asked() {
    ASKED_TO_END.store(true, Ordering::Release);
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
