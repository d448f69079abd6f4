//! Which blocks of memory exist.

use std::collections::BTreeMap;

/// The blocks that were allocated and not freed: lengths by address.
pub struct Heap(BTreeMap<u64, u64>);

impl Heap {
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// A block starts. Blocks in its place are gone: whoever ended them did so unseen.
    pub fn begin(&mut self, addr: u64, size: u64) {
        let end = addr.saturating_add(size);
        while let Some((&start, &len)) = self.0.range(..end).next_back()
            && start + len > addr
        {
            self.0.remove(&start);
        }
        self.0.insert(addr, size);
    }

    /// Its blocks and those of another one that they do not cover, in order; empty afterwards.
    pub fn take_with(&mut self, older: &mut Heap) -> Heap {
        for (addr, size) in std::mem::take(&mut self.0) {
            older.begin(addr, size);
        }
        Heap(std::mem::take(&mut older.0))
    }

    /// All blocks: addresses and lengths.
    pub fn blocks(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().map(|(&addr, &size)| (addr, size))
    }

    /// The block at `addr` ends; its size, if there is one.
    pub fn end(&mut self, addr: u64) -> Option<u64> {
        self.0.remove(&addr)
    }
}
