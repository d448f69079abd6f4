//! Conditions: waits, what ends them, and who wakes whom.

use super::locks;
use crate::trace::{ObjectId, Op, WaitOutcome};

/// What an operation does at a condition. Its lock is [another matter](locks::Step).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Joins the wait set.
    Begin,
    /// Returns from the wait.
    End(WaitOutcome),
    /// Wakes one that waits.
    Notify,
    /// Wakes all that wait.
    NotifyAll,
}

impl Step {
    /// What an operation does at which condition.
    #[must_use]
    pub fn of(op: Op) -> Option<(ObjectId, Step)> {
        match op {
            Op::WaitBegin { condition, .. } => Some((condition, Step::Begin)),
            Op::WaitEnd { condition, outcome, .. } => Some((condition, Step::End(outcome))),
            Op::Notify { condition } => Some((condition, Step::Notify)),
            Op::NotifyAll { condition } => Some((condition, Step::NotifyAll)),
            _ => None,
        }
    }

    pub(super) fn words(self, condition: &str, lock: &str, woken: &str) -> String {
        match self {
            Step::Begin => format!("waits on {condition}, {}", locks::Step::GiveUp.words(lock)),
            Step::End(outcome) => {
                let why = match outcome {
                    WaitOutcome::Notified => "is woken on",
                    WaitOutcome::TimedOut => "gives up waiting on",
                };
                format!("{why} {condition}, {}", locks::Step::TakeAgain.words(lock))
            }
            Step::Notify => format!("signals {condition}{woken}"),
            Step::NotifyAll => format!("signals all on {condition}{woken}"),
        }
    }
}
