//! Ending a program that would go on for ever: after a number of events, or after a time.

use super::Options;
use std::io;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often the limits are looked at.
const PAUSE: Duration = Duration::from_millis(2);

/// The limits of one run.
pub(super) struct Limits {
    events: Option<u64>,
    until: Option<Instant>,
    time: Duration,
    /// The limit that was reached, in words.
    pub(super) reached: Option<String>,
}

impl Limits {
    pub(super) fn new(options: &Options, started: Instant) -> Limits {
        Limits {
            events: options.max_events,
            until: options.timeout.and_then(|time| started.checked_add(time)),
            time: options.timeout.unwrap_or_default(),
            reached: None,
        }
    }

    /// Waits for the program's end; brings it about when a limit is reached. What the program has
    /// sent until then is whole: it is recorded from outside of it.
    pub(super) fn wait(&mut self, child: &mut Child, recorded: &AtomicU64) -> io::Result<ExitStatus> {
        if self.events.is_none() && self.until.is_none() {
            return child.wait();
        }
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            self.reached = self.look(recorded.load(Ordering::Relaxed));
            if self.reached.is_some() {
                child.kill()?;
                return child.wait();
            }
            thread::sleep(PAUSE);
        }
    }

    fn look(&self, recorded: u64) -> Option<String> {
        if self.events.is_some_and(|most| recorded >= most) {
            return Some(format!("stopped after {recorded} events"));
        }
        let over = self.until.is_some_and(|until| Instant::now() >= until);
        over.then(|| format!("stopped after {} s", self.time.as_secs_f64()))
    }
}
