//! Semaphores: a count that posts raise and waits lower; an attempt that fails finds it 0, and a program may ask for
//! it.

use super::passing::{Among, Passing};
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
    /// Finds out the count.
    Value(u32),
}

impl Step {
    /// What an operation does to which semaphore.
    #[must_use]
    pub fn of(op: Op) -> Option<(ObjectId, Step)> {
        match op {
            Op::SemPost { semaphore } => Some((semaphore, Step::Post)),
            Op::SemWait { semaphore } => Some((semaphore, Step::Wait)),
            Op::SemWaitFailed { semaphore } => Some((semaphore, Step::FailedWait)),
            Op::SemValue { semaphore, value } => Some((semaphore, Step::Value(value))),
            _ => None,
        }
    }

    /// Whether it is enabled at a count. One below 0 is no execution; that is the fault of a wait before, of no other
    /// operation.
    #[must_use]
    pub fn is_enabled(self, count: i64) -> bool {
        match self {
            Step::Post => true,
            Step::Wait => count > 0,
            Step::FailedWait => count <= 0,
            Step::Value(value) => count == i64::from(value),
        }
    }

    /// What it adds to the count.
    #[must_use]
    pub fn adds(self) -> i64 {
        match self {
            Step::Post => 1,
            Step::Wait => -1,
            Step::FailedWait | Step::Value(_) => 0,
        }
    }

    /// The count that it is enabled at, if that is a single one.
    #[must_use]
    pub fn only_count(self) -> Option<u32> {
        match self {
            Step::Post | Step::Wait => None,
            Step::FailedWait => Some(0),
            Step::Value(value) => Some(value),
        }
    }

    /// Whether it is enabled because of what happened at the semaphore before.
    #[must_use]
    pub fn depends_on_count(self) -> bool {
        self != Step::Post
    }

    /// A wait is the same operation whether it blocked or not; an attempt that failed is not, and who saw another count
    /// might go on otherwise.
    #[must_use]
    pub fn grounds(self) -> Grounds {
        match self {
            Step::Post | Step::Wait => Grounds::Structure,
            Step::FailedWait | Step::Value(_) => Grounds::Outcomes,
        }
    }

    pub(super) fn in_order(self) -> InOrder {
        match self {
            Step::Post | Step::Wait => InOrder::WithAll,
            Step::FailedWait | Step::Value(_) => InOrder::WithChanges,
        }
    }

    /// What it passes on. Who took the permits is why none was left; whatever changed a count is why it was what a
    /// thread saw.
    pub(super) fn passing(self) -> &'static [Passing] {
        match self {
            Step::Post => &[Passing::Tells(Among::Givers)],
            Step::Wait => &[Passing::Learns(Among::Givers), Passing::Tells(Among::Takers)],
            Step::FailedWait => &[Passing::Learns(Among::Takers)],
            Step::Value(_) => &[Passing::Learns(Among::Givers), Passing::Learns(Among::Takers)],
        }
    }

    pub(super) fn words(self, semaphore: &str) -> String {
        match self {
            Step::Post => format!("posts {semaphore}"),
            Step::Wait => format!("takes {semaphore}"),
            Step::FailedWait => format!("finds {semaphore} at 0, and gives up"),
            Step::Value(value) => format!("finds {semaphore} at {value}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_decide_who_may_go_on() {
        let steps = [Step::Post, Step::Wait, Step::FailedWait, Step::Value(1)];
        let enabled = |count| steps.map(|step| step.is_enabled(count));
        assert_eq!(enabled(0), [true, false, true, false]);
        assert_eq!(enabled(1), [true, true, false, true]);
        assert_eq!(enabled(2), [true, true, false, false]);
        let after = [Step::Post, Step::Post, Step::Wait, Step::FailedWait, Step::Value(1)].map(Step::adds);
        assert_eq!(after.iter().sum::<i64>(), 1);
    }
}
