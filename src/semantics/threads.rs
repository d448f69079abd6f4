//! Threads: created, begun, ended, waited for.

use crate::trace::{Op, ThreadId};

/// What an operation has to do with the life of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Its own thread begins.
    Begin,
    /// Its own thread ends.
    End,
    /// Creates a thread.
    Fork(ThreadId),
    /// Waits until a thread has ended.
    Join(ThreadId),
}

impl Step {
    /// What an operation has to do with the life of a thread.
    #[must_use]
    pub fn of(op: Op) -> Option<Step> {
        match op {
            Op::Begin => Some(Step::Begin),
            Op::End => Some(Step::End),
            Op::Fork { child } => Some(Step::Fork(child)),
            Op::Join { child } => Some(Step::Join(child)),
            _ => None,
        }
    }
}
