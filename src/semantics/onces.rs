//! Once cells: found initialized only after some initialization has ended.

use super::InOrder;
use super::synchronizes::{Among, Passing};
use crate::trace::{ObjectId, Op};

/// What an operation does at a once cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Starts to initialize it.
    Begin,
    /// Has initialized it.
    End,
    /// Finds it initialized.
    Wait,
}

impl Step {
    /// What an operation does at which once cell.
    #[must_use]
    pub fn of(op: Op) -> Option<(ObjectId, Step)> {
        match op {
            Op::OnceBegin { once } => Some((once, Step::Begin)),
            Op::OnceEnd { once } => Some((once, Step::End)),
            Op::OnceWait { once } => Some((once, Step::Wait)),
            _ => None,
        }
    }

    pub(super) fn in_order(self) -> InOrder {
        match self {
            Step::Begin => InOrder::WithNone,
            Step::End => InOrder::WithAll,
            Step::Wait => InOrder::WithChanges,
        }
    }

    pub(super) fn passing(self) -> &'static [Passing] {
        match self {
            Step::Begin => &[],
            Step::End => &[Passing::Tells(Among::Givers)],
            Step::Wait => &[Passing::Learns(Among::Givers)],
        }
    }

    pub(super) fn words(self, once: &str) -> String {
        match self {
            Step::Begin => format!("starts to initialize {once}"),
            Step::End => format!("has initialized {once}"),
            Step::Wait => format!("finds {once} initialized"),
        }
    }
}
