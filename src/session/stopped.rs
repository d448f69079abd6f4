//! A run that has come to a stop along a plan.
//!
//! The program stands still before the two accesses of a race, or went another way and is no more. What it did is in
//! the run's trace, to be compared with what it was to do.

use super::error::RunError;
use super::parked::Parked;
use super::running::Processes;
use recorder_ring::{Decision, Ring, Standing};
use std::process::ExitStatus;

/// A run along a plan, come to a stop. The program is killed when this is dropped.
#[derive(Debug)]
pub struct Stopped {
    pub(super) processes: Processes,
    /// That of the process that follows the plan.
    pub(super) ring: Ring,
    /// Where it stands.
    pub standing: Standing,
    /// The first step of the plan that is not done.
    pub step: usize,
    /// Accesses that threads are stopped before, in the order in which they came there.
    pub parked: Vec<Parked>,
    /// How the program ended, if it did so by itself.
    pub ended: Option<ExitStatus>,
}

impl Stopped {
    /// The process that follows the plan.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.ring.process().unwrap_or_else(|| self.processes.first.id())
    }

    /// The kernel's numbers of the threads that are stopped, in the plan's order.
    #[must_use]
    pub fn os_threads(&self) -> [Option<u32>; 2] {
        self.ring.parked()
    }

    /// Lets the program go on, one of the accesses first, unrecorded; how it ended.
    ///
    /// # Errors
    /// [`RunError::Wait`].
    pub fn go_on(self, first: Decision) -> Result<ExitStatus, RunError> {
        self.ring.decide(first);
        self.wait()
    }

    /// Waits until the program has ended, or goes on by somebody else's doing and ends.
    ///
    /// # Errors
    /// [`RunError::Wait`].
    pub fn wait(self) -> Result<ExitStatus, RunError> {
        self.ring.abandon();
        self.processes.wait()
    }
}
