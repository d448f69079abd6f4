//! Signals sent to `witness record` are meant for the program.
//!
//! The recorder itself survives them, to finish the trace. What the terminal sends (Ctrl-C) goes
//! to the program directly, since both are in the foreground; what others send is passed on. While nothing is recorded,
//! before and after, they mean this process, and end it.

use super::process_tree::ProcessTree;
use crate::session::signals;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::backend::Handle;
use signal_hook::iterator::exfiltrator::origin::WithOrigin;
use signal_hook::low_level::siginfo::Cause;
use std::io;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;

/// Signals that ask a program to do something.
const FORWARDED: [i32; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];

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
        signals::recording_begins()?;
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
                if signals::ENDING.contains(&origin.signal) {
                    signals::was_asked();
                }
                let from_terminal = matches!(origin.cause, Cause::Kernel);
                if is_over.load(Ordering::Acquire) {
                    if signals::ENDING.contains(&origin.signal) {
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
        signals::recording_is_over();
    }
}
