//! What a search looks for on the way: how a prefix may end.

use serde::{Deserialize, Serialize};

/// How a prefix ends. Two that are told in the same words are one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Goal {
    /// Two accesses that conflict are next in their threads (`docs/SEMANTICS.md`, section 3), at these positions, the
    /// lower one first.
    Race(Side, Side),
    /// Nobody can go on, and somebody waits.
    Deadlock {
        /// Where threads stand that have not ended, in order.
        waiting: Vec<Waiting>,
        /// Whether the first thread has ended: then the program ends, whoever waits.
        main_ended: bool,
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
    /// A race of these two.
    #[must_use]
    pub fn race(a: Side, b: Side) -> Goal {
        Goal::Race(a.min(b), a.max(b))
    }
}
