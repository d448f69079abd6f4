//! Semaphores: a count that posts raise and waits lower; an attempt that fails finds it 0.

use super::{Grounds, InOrder};
use crate::trace::{ObjectId, Op};

/// An operation on a semaphore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Adds one.
    Post,
    /// Takes one.
    Wait,
    /// Would take one, finds none, and gives up.
    FailedWait,
}

impl Step {
    /// What an operation does to which semaphore.
    #[must_use]
    pub fn of(op: Op) -> Option<(ObjectId, Step)> {
        match op {
            Op::SemPost { semaphore } => Some((semaphore, Step::Post)),
            Op::SemWait { semaphore } => Some((semaphore, Step::Wait)),
            Op::SemWaitFailed { semaphore } => Some((semaphore, Step::FailedWait)),
            _ => None,
        }
    }

    /// Whether it is enabled at a count. One below 0 is no execution; that is the fault of a wait before, of no other operation.
    #[must_use]
    pub fn is_enabled(self, count: i64) -> bool {
        match self {
            Step::Post => true,
            Step::Wait => count > 0,
            Step::FailedWait => count <= 0,
        }
    }

    /// What it adds to the count.
    #[must_use]
    pub fn adds(self) -> i64 {
        match self {
            Step::Post => 1,
            Step::Wait => -1,
            Step::FailedWait => 0,
        }
    }

    /// Whether it is enabled because of what happened at the semaphore before.
    #[must_use]
    pub fn depends_on_count(self) -> bool {
        self != Step::Post
    }

    /// A wait is the same operation whether it blocked or not; that an attempt failed is not.
    #[must_use]
    pub fn grounds(self) -> Grounds {
        match self {
            Step::Post | Step::Wait => Grounds::Structure,
            Step::FailedWait => Grounds::Outcomes,
        }
    }

    pub(super) fn in_order(self) -> InOrder {
        match self {
            Step::Post | Step::Wait => InOrder::WithAll,
            Step::FailedWait => InOrder::WithChanges,
        }
    }

    pub(super) fn words(self, semaphore: &str) -> String {
        match self {
            Step::Post => format!("posts {semaphore}"),
            Step::Wait => format!("takes {semaphore}"),
            Step::FailedWait => format!("finds {semaphore} at 0, and gives up"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_decide_who_may_go_on() {
        let enabled = |count| [Step::Post, Step::Wait, Step::FailedWait].map(|step| step.is_enabled(count));
        assert_eq!(enabled(0), [true, false, true]);
        assert_eq!(enabled(1), [true, true, false]);
        let after = [Step::Post, Step::Post, Step::Wait, Step::FailedWait].map(Step::adds);
        assert_eq!(after.iter().sum::<i64>(), 1);
    }
}
