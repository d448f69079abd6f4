//! Where a search begins to add up what threads do to [words](crate::prune::Words).

use hashbrown::HashMap;
use std::cell::RefCell;
use std::rc::Rc;

/// Where the sums of a word begin in a window.
pub(super) struct Beginning {
    /// What the word holds then, if that is known: else they begin with the trace.
    pub(super) value: Option<u64>,
    /// How many writes of each thread come before the window.
    pub(super) begun: Vec<usize>,
    /// The threads whose sums are not 0 for sure: a word may have been written by thousands, one after the other.
    pub(super) open: Vec<usize>,
}

/// By word.
pub(super) type Beginnings = RefCell<HashMap<u32, Rc<Beginning>>>;
