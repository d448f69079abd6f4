//! A part of a trace's pairs and cycles: those that somebody asks about.

use crate::trace::{CodePosition, EventId};
use hashbrown::{HashMap, HashSet};

/// Which accesses are paired, which operations may wait for each other, and under which positions.
///
/// A position here need not be the code position: events at one instruction that were reached through
/// different calls may be told apart by giving them different numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// The position that an access, or an operation that waits, counts under. What is not here is left out.
    pub positions: HashMap<EventId, CodePosition>,
    /// The pairs of these positions to decide, the smaller first.
    pub pairs: HashSet<(CodePosition, CodePosition)>,
    /// The cycles of operations that wait to decide.
    pub cycles: Vec<AskedCycle>,
}

/// Cycles that somebody asks about: for each operation that waits for the next one's thread the positions that it may
/// have. One alone stands for all cycles that it is in, however long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskedCycle(pub Vec<HashSet<CodePosition>>);

impl AskedCycle {
    /// Whether a cycle of positions is one of them.
    #[must_use]
    pub fn has(&self, positions: &[CodePosition]) -> bool {
        let AskedCycle(asked) = self;
        if let [one] = &asked[..] {
            return positions.iter().any(|position| one.contains(position));
        }
        let fits = |by: usize| {
            let rotated = positions[by..].iter().chain(&positions[..by]);
            asked
                .iter()
                .zip(rotated)
                .all(|(asked, position)| asked.contains(position))
        };
        asked.len() == positions.len() && (0..positions.len()).any(fits)
    }
}
