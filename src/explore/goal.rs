//! What a search looks for on the way: how a prefix may end.

use serde::{Deserialize, Serialize};

/// How a prefix ends. Two that are told in the same words are one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Goal {
    /// Two accesses that conflict are next in their threads (`docs/SEMANTICS.md`, section 3), at these positions, the
    /// lower one first.
    Race(Side, Side),
    /// Two that conflict, at these positions, the lower one first, are never next at the same time, and nothing orders them
    /// (`docs/SEMANTICS.md`, section 3, *unordered races*), as far as the forest tells.
    Unordered(Side, Side),
    /// Nobody can go on, and somebody waits.
    Deadlock {
        /// Where threads stand that have not ended, in order.
        waiting: Vec<Waiting>,
        /// Whether the first thread has ended: then the program ends, whoever waits.
        main_ended: bool,
    },
    /// Threads wait for each other for ever while another one dies, and the program with it.
    PartialDeadlock {
        /// Where they stand, in order.
        waiting: Vec<u64>,
    },
}

/// An access of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Side {
    /// Where in the code.
    pub position: u64,
}

/// How a thread waits for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Waiting {
    /// In the operation at this position.
    At(u64),
    /// In a loop of its own.
    Spins,
}

impl Goal {
    /// Whether this is a deadlock in which all wait that do so in the other.
    #[must_use]
    pub fn includes(&self, other: &Goal) -> bool {
        let (Goal::Deadlock { waiting: all, .. }, Goal::PartialDeadlock { waiting: some }) = (self, other) else {
            return self == other;
        };
        let count = |at: u64| some.iter().filter(|&&other| other == at).count();
        let there = |at: u64| all.iter().filter(|&&waiting| waiting == Waiting::At(at)).count();
        some.iter().all(|&at| there(at) >= count(at))
    }

    /// Whether it is a race, of either kind.
    #[must_use]
    pub fn is_race(&self) -> bool {
        matches!(self, Goal::Race(..) | Goal::Unordered(..))
    }

    /// A race of these two.
    #[must_use]
    pub fn race(a: Side, b: Side) -> Goal {
        Goal::Race(a.min(b), a.max(b))
    }

    /// An unordered race of these two.
    #[must_use]
    pub fn unordered(a: Side, b: Side) -> Goal {
        Goal::Unordered(a.min(b), a.max(b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadlock_includes_as_many_threads_at_a_place_as_wait_there() {
        let partial = |waiting: &[u64]| Goal::PartialDeadlock {
            waiting: waiting.to_vec(),
        };
        let deadlock = |waiting: &[u64], others: &[Waiting]| Goal::Deadlock {
            waiting: waiting
                .iter()
                .map(|&at| Waiting::At(at))
                .chain(others.iter().copied())
                .collect(),
            main_ended: false,
        };
        assert!(deadlock(&[1, 2, 3], &[]).includes(&partial(&[1, 3])));
        assert!(deadlock(&[1, 1, 2], &[Waiting::Spins]).includes(&partial(&[1, 1])));
        assert!(!deadlock(&[1, 2], &[Waiting::Spins]).includes(&partial(&[1, 1])));
        assert!(!partial(&[1, 2]).includes(&partial(&[1])) && partial(&[1]).includes(&partial(&[1])));
    }
}
