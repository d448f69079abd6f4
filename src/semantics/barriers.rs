//! Barriers: nobody leaves a round before all have arrived.

use super::synchronizes::{Among, Passing};
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

    /// What it passes on. A round begins when those before it are full.
    pub(super) fn passing(self) -> &'static [Passing] {
        match self {
            Step::Enter(_) => &[Passing::Learns(Among::Givers), Passing::Tells(Among::Givers)],
            Step::Exit(_) => &[Passing::Learns(Among::Givers)],
        }
    }

    pub(super) fn words(self, barrier: &str) -> String {
        match self {
            Step::Enter(round) => format!("arrives at {barrier}, round {round}"),
            Step::Exit(round) => format!("leaves {barrier}, round {round}"),
        }
    }
}
