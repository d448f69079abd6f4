//! Ending a program that would go on forever after a time. (After a number of events it ends itself: only inside of it
//! is that number known at every moment.)

use super::Options;
use super::process_tree::ProcessTree;
use std::io;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

/// How often the limit is looked at.
const PAUSE: Duration = Duration::from_millis(2);

/// The time limit of one run.
pub(super) struct Limits {
    until: Option<Instant>,
    time: Duration,
    /// The limit that was reached, in words.
    pub(super) reached: Option<String>,
}

impl Limits {
    pub(super) fn new(options: &Options, started: Instant) -> Limits {
        Limits {
            until: options.timeout.and_then(|time| started.checked_add(time)),
            time: options.timeout.unwrap_or_default(),
            reached: None,
        }
    }

    /// Waits for the program's end; brings it about when a limit is reached. What the program has
    /// sent until then is whole: it is recorded from outside of it.
    pub(super) fn wait(&mut self, child: &mut Child) -> io::Result<ExitStatus> {
        let Some(until) = self.until else {
            return child.wait();
        };
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            if Instant::now() >= until {
                self.reached = Some(format!("stopped after {} s", self.time.as_secs_f64()));
                child.kill()?;
                return child.wait();
            }
            thread::sleep(PAUSE);
        }
    }

    /// Waits for the end of all other processes; brings it about when the limit is reached.
    pub(super) fn wait_for(&mut self, tree: &ProcessTree<'_>) {
        while !tree.is_over() {
            if self.until.is_some_and(|until| Instant::now() >= until) || self.reached.is_some() {
                self.reached
                    .get_or_insert_with(|| format!("stopped after {} s", self.time.as_secs_f64()));
                tree.kill();
            }
            thread::sleep(PAUSE);
        }
    }
}
