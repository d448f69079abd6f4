//! Signals sent to `witness record` are meant for the program.
//!
//! The recorder itself survives them, to finish the trace. What the terminal sends (Ctrl-C) goes
//! to the program directly, since both are in the foreground; what others send is passed on. While nothing is recorded, before and
//! after, they mean this process, and end it.

use super::process_tree::ProcessTree;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::backend::Handle;
use signal_hook::iterator::exfiltrator::origin::WithOrigin;
use signal_hook::low_level::siginfo::Cause;
use std::io;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Scope;

/// Signals that ask a program to do something.
const FORWARDED: [i32; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];

/// Those of them that end a process which does not care.
const ENDING: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// Signals that ask a program to end: what dies of them has not failed. A closed pipe is a normal end.
const WISHES: [i32; 5] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE];

/// Whether a program that dies of this signal was asked to end.
#[must_use]
pub fn asks_to_end(signal: i32) -> bool {
    WISHES.contains(&signal)
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

/// Whether a signal came during a recording which ends a process that does not care: by Ctrl-C or `kill`. The program may have
/// ended by it, or not; who records it again and again should not begin another run.
#[must_use]
pub fn asked_to_end() -> bool {
    ASKED_TO_END.load(Ordering::Acquire) || SEARCHES.get().is_some_and(|asked| asked.load(Ordering::Acquire))
}

/// The same, of one who makes runs of his own.
static SEARCHES: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// While this lives, the first signal that ends a process is only [noted](asked_to_end), so that what was found is kept; the second one means
/// this process.
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

/// Catches signals, from now on.
pub(super) struct Forwarder(SignalsInfo<WithOrigin>);

/// Passes signals on, until dropped.
pub(super) struct Forwarding {
    handle: Handle,
    /// The program's first process has ended.
    over: Arc<AtomicBool>,
}

impl Forwarder {
    pub(super) fn install() -> io::Result<Forwarder> {
        // A trace that grows beyond the limit for files is a write that fails, not the recorder's death.
        signal_hook::flag::register(SIGXFSZ, Arc::default())?;
        if let Some(idle) = IDLE.get() {
            idle.store(false, Ordering::Release);
        } else {
            let idle = IDLE.get_or_init(Arc::default);
            for signal in ENDING {
                signal_hook::flag::register_conditional_default(signal, Arc::clone(idle))?;
            }
        }
        SignalsInfo::new(FORWARDED).map(Forwarder)
    }

    /// To the first process, and once that has ended, to nobody: other processes may have reasons to go on, and
    /// then the recording ends without them.
    pub(super) fn forward_to<'scope>(
        mut self,
        child: &Child,
        tree: &'scope ProcessTree<'_>,
        scope: &'scope Scope<'scope, '_>,
    ) -> Forwarding {
        let handle = self.0.handle();
        let over = Arc::new(AtomicBool::new(false));
        let (pid, is_over) = (Pid::from_child(child), Arc::clone(&over));
        scope.spawn(move || {
            for origin in &mut self.0 {
                if ENDING.contains(&origin.signal) {
                    ASKED_TO_END.store(true, Ordering::Release);
                }
                let from_terminal = matches!(origin.cause, Cause::Kernel);
                if is_over.load(Ordering::Acquire) {
                    if ENDING.contains(&origin.signal) {
                        tree.stop();
                    }
                } else if let Some(signal) = Signal::from_named_raw(origin.signal)
                    && !from_terminal
                {
                    // It may have ended meanwhile.
                    let _ = kill_process(pid, signal);
                }
            }
        });
        Forwarding { handle, over }
    }
}

impl Forwarding {
    /// The first process has ended.
    pub(super) fn is_over(&self) {
        self.over.store(true, Ordering::Release);
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(idle) = IDLE.get() {
            idle.store(true, Ordering::Release);
        }
    }
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
