//! Signals that came to the recorded run from outside, sent again where a run along a plan waits for them.
//!
//! A thread that comes to a hook gives them to itself. One that sleeps in a call, or waits for another thread, cannot.

use recorder_ring::plan::{Step, Words};
use recorder_ring::{Ring, Standing};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::time::{Duration, Instant};
use trace_format::ThreadInfo;

/// How long a step has to be due: the thread may be about to give itself the signal.
const AFTER: Duration = Duration::from_millis(2);

/// When a signal is sent once more, if nothing has come of it.
const AGAIN: Duration = Duration::from_millis(500);

/// The signals of a plan.
pub(crate) struct DueSignals<'p> {
    plan: &'p [&'p [Words]],
    /// The step that was due when it was looked at last, and since when.
    step: (u64, Instant),
    sent: Option<Instant>,
}

impl<'p> DueSignals<'p> {
    /// Of the plan that a program is about to follow.
    pub(crate) fn new(plan: &'p [&'p [Words]]) -> DueSignals<'p> {
        DueSignals {
            plan,
            step: (0, Instant::now()),
            sent: None,
        }
    }

    /// Sends the signal that is due, if the thread that gets it sleeps.
    pub(crate) fn send(&mut self, ring: &Ring, process: u32, threads: &[ThreadInfo]) {
        let at = ring.step();
        if at != self.step.0 {
            self.step = (at, Instant::now());
            self.sent = None;
        }
        let waits = self.step.1.elapsed() >= AFTER && self.sent.is_none_or(|sent| sent.elapsed() >= AGAIN);
        if !waits || ring.standing() != Standing::Running {
            return;
        }
        let Some(step) = self.step_at(at) else { return };
        let Some(signal) = step.signal() else { return };
        let info = threads.get(step.thread as usize);
        let thread = info
            .map(|info| info.os_id)
            .filter(|&number| number != 0)
            .unwrap_or(process);
        // The kernel prefers the thread that is named.
        if sleeps(process, thread)
            && let (Some(signal), Some(thread)) = (
                Signal::from_named_raw(signal.number as i32),
                Pid::from_raw(thread as i32),
            )
        {
            // It may have ended.
            let _ = kill_process(thread, signal);
            self.sent = Some(Instant::now());
        }
    }

    fn step_at(&self, mut at: u64) -> Option<Step> {
        for part in self.plan {
            match part.get(at as usize) {
                Some(&words) => return Some(Step::decode(words)),
                None => at -= part.len() as u64,
            }
        }
        None
    }
}

/// Whether the kernel says that a thread waits for something.
fn sleeps(process: u32, thread: u32) -> bool {
    let stat = fs::read(format!("/proc/{process}/task/{thread}/stat")).unwrap_or_default();
    // Behind the name, which may hold anything.
    let name = stat.iter().rposition(|&byte| byte == b')');
    name.is_some_and(|end| stat.get(end + 2) == Some(&b'S'))
}
