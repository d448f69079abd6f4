//! Sets of holds that grow by one at a time: what a thread has acquired since it took a lock.
//!
//! A thread that holds one lock while it takes and gives back thousands of others has as many histories, each with one
//! hold more than the last. They share all but a path: a set is a big-endian Patricia trie (Okasaki, Gill: Fast
//! Mergeable Integer Maps, ML 1998) over the numbers of its holds, with 64 of them in a leaf, and equal tries are one.
//! The shape follows from the elements alone, so two sets are equal exactly if they have the same number, whatever the
//! order in which they came about.

use super::lockset::Hold;
use hashbrown::HashMap;

/// The number of a set of holds: equal numbers, equal sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HistoryId(u32);

impl HistoryId {
    /// Nothing.
    pub const EMPTY: HistoryId = HistoryId(0);
}

/// Holds in a leaf, as a power of 2: its index is what their numbers have in common, the bits above these.
const LEAF_BITS: u32 = u64::BITS.ilog2();

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Node {
    /// The holds of one index, as bits.
    Leaf { index: u32, holds: u64 },
    /// Those whose indices agree with `index` above the highest bit of `span`: without that bit on the left, with it on
    /// the right.
    Branch {
        index: u32,
        span: u32,
        left: HistoryId,
        right: HistoryId,
    },
}

/// The sets of holds that occur, none of them twice.
#[derive(Clone, Debug)]
pub struct Histories {
    /// By number; the first is no node, but the empty set.
    nodes: Vec<Node>,
    /// Bits for the locks of each set, as the caller gives them.
    masks: Vec<u64>,
    numbers: HashMap<Node, HistoryId>,
}

impl Default for Histories {
    fn default() -> Histories {
        Histories {
            nodes: vec![Node::Leaf { index: 0, holds: 0 }],
            masks: vec![0],
            numbers: HashMap::new(),
        }
    }
}

/// Where a hold is: in which leaf, and at which bit.
fn place_of((lock, shared): Hold) -> (u32, u64) {
    let number = u64::from(lock.0) << 1 | u64::from(shared);
    ((number >> LEAF_BITS) as u32, 1 << (number % u64::from(u64::BITS)))
}

impl Histories {
    /// The set with a hold more, whose lock has a bit in masks.
    pub(super) fn with(&mut self, set: HistoryId, hold: Hold, mask: u64) -> HistoryId {
        let (index, bit) = place_of(hold);
        self.insert(set, index, bit, mask)
    }

    /// Whether a hold is in a set.
    #[must_use]
    pub fn contains(&self, mut set: HistoryId, hold: Hold) -> bool {
        let (wanted, bit) = place_of(hold);
        loop {
            match self.nodes[set.0 as usize] {
                Node::Leaf { index, holds } => return index == wanted && holds & bit != 0,
                Node::Branch { span, left, right, .. } => set = if wanted & span == 0 { left } else { right },
            }
        }
    }

    /// The bits of the locks in a set.
    pub(super) fn mask(&self, set: HistoryId) -> u64 {
        self.masks[set.0 as usize]
    }

    fn insert(&mut self, set: HistoryId, index: u32, bit: u64, mask: u64) -> HistoryId {
        let leaf = Node::Leaf { index, holds: bit };
        if set == HistoryId::EMPTY {
            return self.number(leaf, mask);
        }
        let all = self.mask(set) | mask;
        match self.nodes[set.0 as usize] {
            Node::Leaf { index: there, holds } if there == index => {
                let holds = holds | bit;
                self.number(Node::Leaf { index, holds }, all)
            }
            Node::Branch {
                index: there,
                span,
                left,
                right,
            } if (there ^ index) < span << 1 => {
                let (left, right) = if index & span == 0 {
                    (self.insert(left, index, bit, mask), right)
                } else {
                    (left, self.insert(right, index, bit, mask))
                };
                let index = there;
                self.number(
                    Node::Branch {
                        index,
                        span,
                        left,
                        right,
                    },
                    all,
                )
            }
            Node::Leaf { index: there, .. } | Node::Branch { index: there, .. } => {
                let new = self.number(leaf, mask);
                let span = 1 << (there ^ index).ilog2();
                let (left, right) = if index & span == 0 { (new, set) } else { (set, new) };
                // What is common to both: nothing below `span`, nor that bit.
                let index = index & !(span - 1) & !span;
                self.number(
                    Node::Branch {
                        index,
                        span,
                        left,
                        right,
                    },
                    all,
                )
            }
        }
    }

    fn number(&mut self, node: Node, mask: u64) -> HistoryId {
        let Histories { nodes, masks, numbers } = self;
        *numbers.entry(node).or_insert_with(|| {
            nodes.push(node);
            masks.push(mask);
            HistoryId(nodes.len() as u32 - 1)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use trace_format::ObjectId;

    /// The set of these holds, put in one after the other.
    fn set(histories: &mut Histories, holds: impl IntoIterator<Item = Hold>) -> HistoryId {
        holds.into_iter().fold(HistoryId::EMPTY, |set, hold| {
            histories.with(set, hold, 1 << (hold.0.0 % 64))
        })
    }

    fn numbers(seed: u64, count: usize, below: u32) -> Vec<Hold> {
        let mut state = seed;
        let next = |_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (ObjectId((state >> 40) as u32 % below), state >> 33 & 1 != 0)
        };
        (0..count).map(next).collect()
    }

    #[test]
    fn a_set_has_what_was_put_in_and_nothing_else() {
        for (seed, below) in [(1, 10), (2, 100), (3, 10_000), (4, u32::MAX)] {
            let mut histories = Histories::default();
            let holds = numbers(seed, 300, below);
            let expected: BTreeSet<Hold> = holds.iter().copied().collect();
            let found = set(&mut histories, holds);
            for hold in expected.iter().copied().chain(numbers(seed + 10, 1_000, below)) {
                assert_eq!(histories.contains(found, hold), expected.contains(&hold), "{hold:?}");
            }
            let mask = expected.iter().fold(0, |mask, hold| mask | 1_u64 << (hold.0.0 % 64));
            assert_eq!(histories.mask(found), mask);
        }
    }

    #[test]
    fn sets_are_equal_exactly_if_their_numbers_are() {
        let mut histories = Histories::default();
        let holds = numbers(7, 200, 5_000);
        let backwards = set(&mut histories, holds.iter().rev().copied());
        assert_eq!(set(&mut histories, holds.iter().copied()), backwards);
        assert_eq!(set(&mut histories, holds.iter().chain(&holds).copied()), backwards);
        let last = holds[199];
        let without = holds[..199].iter().copied().filter(|&hold| hold != last);
        assert_ne!(set(&mut histories, without), backwards);
    }

    #[test]
    fn a_hold_more_costs_a_path() {
        let mut histories = Histories::default();
        set(&mut histories, (0..20_000).map(|lock| (ObjectId(lock), false)));
        assert!(histories.nodes.len() < 20_000 * 12, "{} nodes", histories.nodes.len());
    }
}
