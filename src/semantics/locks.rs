//! Locks: taken alone or beside other readers, given back, found held. A wait gives its lock up and takes it again.

use super::synchronizes::{Among, Passing};
use super::{Grounds, InOrder};
use crate::trace::{ObjectId, Op};

/// What an operation does to a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Takes it, or one level more of it.
    Take {
        /// As a reader.
        shared: bool,
    },
    /// Gives one level back.
    GiveBack,
    /// Gives all levels back, to wait.
    GiveUp,
    /// Takes it after a wait, at the depth that it had.
    TakeAgain,
    /// Finds it held, and gives up.
    FindHeld {
        /// It was wanted as a reader.
        shared: bool,
    },
}

impl Step {
    /// What an operation does to which lock.
    #[must_use]
    pub fn of(op: Op) -> Option<(ObjectId, Step)> {
        match op {
            Op::Acquire { lock } => Some((lock, Step::Take { shared: false })),
            Op::AcquireShared { lock } => Some((lock, Step::Take { shared: true })),
            Op::Release { lock } => Some((lock, Step::GiveBack)),
            Op::WaitBegin { lock, .. } => Some((lock, Step::GiveUp)),
            Op::WaitEnd { lock, .. } => Some((lock, Step::TakeAgain)),
            Op::AcquireFailed { lock, shared } => Some((lock, Step::FindHeld { shared })),
            _ => None,
        }
    }

    /// Whether the thread has the lock after it.
    #[must_use]
    pub fn takes(self) -> bool {
        matches!(self, Step::Take { .. } | Step::TakeAgain)
    }

    /// Whether the thread has one level less after it, or none.
    #[must_use]
    pub fn gives_back(self) -> bool {
        matches!(self, Step::GiveBack | Step::GiveUp)
    }

    /// Two sections on one lock never overlap; whether an attempt meets one, and whether a thread waits, is an outcome.
    #[must_use]
    pub fn grounds(self) -> Grounds {
        match self {
            Step::Take { .. } | Step::GiveBack => Grounds::Structure,
            Step::GiveUp | Step::TakeAgain | Step::FindHeld { .. } => Grounds::Outcomes,
        }
    }

    pub(super) fn in_order(self) -> InOrder {
        match self {
            Step::Take { shared: true } => InOrder::WithChanges,
            // One that finds readers stays behind the first of them, so it does not just look as they do.
            Step::FindHeld { .. } => InOrder::WithAll,
            Step::Take { shared: false } | Step::GiveBack | Step::GiveUp | Step::TakeAgain => InOrder::WithAll,
        }
    }

    /// What it passes on, if threads give back what others hold (`for_others`), or if it gives back what it held as a reader.
    pub(super) fn passing(self, for_others: bool, by_reader: bool) -> &'static [Passing] {
        match self {
            Step::Take { shared: true } => &[Passing::Learns(Among::Givers), Passing::Tells(Among::Takers)],
            Step::Take { shared: false } | Step::TakeAgain => &[
                Passing::Learns(Among::Givers),
                Passing::Learns(Among::Readers),
                Passing::Tells(Among::Takers),
            ],
            Step::GiveBack if for_others => &[Passing::Learns(Among::Takers), Passing::Tells(Among::Givers)],
            Step::GiveBack if by_reader => &[Passing::Tells(Among::Readers)],
            Step::GiveBack | Step::GiveUp => &[Passing::Tells(Among::Givers)],
            Step::FindHeld { .. } => &[Passing::Learns(Among::Takers)],
        }
    }

    pub(super) fn words(self, lock: &str) -> String {
        match self {
            Step::Take { shared: false } | Step::TakeAgain => format!("locks {lock}"),
            Step::Take { shared: true } => format!("locks {lock} for reading"),
            Step::GiveBack | Step::GiveUp => format!("unlocks {lock}"),
            Step::FindHeld { .. } => format!("finds {lock} held, and gives up"),
        }
    }
}
