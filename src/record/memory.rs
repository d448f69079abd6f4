//! Which blocks of memory exist.

use std::collections::BTreeMap;

/// The blocks that were allocated and not freed, by address.
#[derive(Debug, Default)]
pub(super) struct Blocks(BTreeMap<u64, u64>);

impl Blocks {
    /// A block starts. Blocks in its place are gone: whoever ended them did so unseen.
    pub(super) fn insert(&mut self, addr: u64, size: u64) {
        let end = addr.saturating_add(size);
        let overlapping: Vec<u64> = self
            .0
            .range(..end)
            .rev()
            .take_while(|&(&start, &len)| start + len > addr)
            .map(|(&start, _)| start)
            .collect();
        for start in overlapping {
            self.0.remove(&start);
        }
        self.0.insert(addr, size);
    }

    /// The block at `addr` ends; its size, if there is one.
    pub(super) fn remove(&mut self, addr: u64) -> Option<u64> {
        self.0.remove(&addr)
    }
}
