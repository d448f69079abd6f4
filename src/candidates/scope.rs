//! A part of a trace's pairs: those that somebody asks about.

use crate::trace::{CodePosition, EventId};
use hashbrown::{HashMap, HashSet};

/// Which accesses are paired, and under which positions.
///
/// A position here need not be the code position: accesses at one instruction that were reached through
/// different calls may be told apart by giving them different numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// The position that an access counts under. What is not here is left out.
    pub positions: HashMap<EventId, CodePosition>,
    /// The pairs of these positions to decide, the smaller first.
    pub pairs: HashSet<(CodePosition, CodePosition)>,
}
