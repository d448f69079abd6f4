//! Barriers: nobody leaves a round before all have arrived.

use crate::trace::{ObjectId, Op};

/// What an operation does at a barrier, in which round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Arrives.
    Enter(u32),
    /// Leaves.
    Exit(u32),
}

impl Step {
    /// What an operation does at which barrier.
    #[must_use]
    pub fn of(op: Op) -> Option<(ObjectId, Step)> {
        match op {
            Op::BarrierEnter { barrier, round } => Some((barrier, Step::Enter(round))),
            Op::BarrierExit { barrier, round } => Some((barrier, Step::Exit(round))),
            _ => None,
        }
    }

    pub(super) fn words(self, barrier: &str) -> String {
        match self {
            Step::Enter(round) => format!("arrives at {barrier}, round {round}"),
            Step::Exit(round) => format!("leaves {barrier}, round {round}"),
        }
    }
}
