//! What comes from outside of the program, and what goes there.

use super::passing::{Among, Passing};
use crate::trace::{ObjectId, Op};

/// What an operation does with a source or a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Gets a value.
    Input(u64),
    /// Hands something over.
    Output,
}

impl Step {
    /// What an operation does with which source or destination.
    #[must_use]
    pub fn of(op: Op) -> Option<(ObjectId, Step)> {
        match op {
            Op::Input { source, value } => Some((source, Step::Input(value))),
            Op::Output { source } => Some((source, Step::Output)),
            _ => None,
        }
    }

    /// What it passes on. What comes in keeps its order, behind what went out; an output waits for nothing.
    pub(super) fn passing(self) -> &'static [Passing] {
        match self {
            Step::Input(_) => &[Passing::Learns(Among::Givers), Passing::Tells(Among::Givers)],
            Step::Output => &[Passing::Tells(Among::Givers)],
        }
    }

    pub(super) fn words(self, source: &str, number: &dyn Fn(u64) -> String) -> String {
        match self {
            Step::Input(value) => format!("gets {} from {source}", number(value)),
            Step::Output => format!("writes to {source}"),
        }
    }
}
