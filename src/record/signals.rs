//! Signals sent to `witness record` are meant for the program.
//!
//! The recorder itself survives them, to finish the trace. What the terminal sends (Ctrl-C) goes
//! to the program directly, since both are in the foreground; what others send is passed on.

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::backend::Handle;
use signal_hook::iterator::exfiltrator::origin::WithOrigin;
use signal_hook::low_level::siginfo::Cause;
use std::io;
use std::process::Child;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// Signals that ask a program to do something.
const FORWARDED: [i32; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];

/// Catches signals, from now on.
pub(super) struct Forwarder(SignalsInfo<WithOrigin>);

/// Passes signals on, until dropped.
pub(super) struct Forwarding {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Forwarder {
    pub(super) fn install() -> io::Result<Forwarder> {
        // A trace that grows beyond the limit for files is a write that fails, not the recorder's death.
        signal_hook::flag::register(SIGXFSZ, Arc::default())?;
        SignalsInfo::new(FORWARDED).map(Forwarder)
    }

    pub(super) fn forward_to(mut self, child: &Child) -> Forwarding {
        let handle = self.0.handle();
        let pid = Pid::from_child(child);
        let thread = thread::spawn(move || {
            for origin in &mut self.0 {
                let from_terminal = matches!(origin.cause, Cause::Kernel);
                if let Some(signal) = Signal::from_named_raw(origin.signal)
                    && !from_terminal
                {
                    // It may have ended meanwhile; it is not waited for before this thread is.
                    let _ = kill_process(pid, signal);
                }
            }
        });
        Forwarding {
            handle,
            thread: Some(thread),
        }
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
