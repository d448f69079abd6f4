//! What a solver is given: clauses over orders of events and choices.
//!
//! The formula of a trace is one ([`Encoder`]), and so is that of a forest, of which a trace is the case without
//! branches.

use super::{Choice, Clause, Encoder, Node};

/// Clauses that only become more.
pub trait Formula {
    /// The place of a node in the order that is tried first. It never changes.
    fn rank(&self, node: Node) -> u64;

    /// Whether a choice is made in what is tried first.
    fn is_default(&self, choice: Choice) -> bool;

    /// All clauses so far.
    fn clauses(&self) -> &[Clause];
}

impl Formula for Encoder<'_> {
    fn rank(&self, node: Node) -> u64 {
        Encoder::rank(self, node)
    }

    fn is_default(&self, choice: Choice) -> bool {
        Encoder::is_default(self, choice)
    }

    fn clauses(&self) -> &[Clause] {
        Encoder::clauses(self)
    }
}
