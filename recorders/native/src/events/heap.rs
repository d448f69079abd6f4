//! Which blocks of memory exist.
//!
//! Most blocks are small, come and go often, and lie in one page; they are found by that. The few others are in order.

use crate::platform::hash::{Build, Table};
use std::collections::BTreeMap;
use std::vec::Vec;

const PAGE: u64 = 4096;

/// The blocks that were allocated and not freed.
pub struct Heap {
    /// Those that lie in one page, by its number: address and end, in order.
    pages: Table<u64, Vec<(u64, u64)>>,
    /// Ends of the others, by address.
    wide: BTreeMap<u64, u64>,
}

impl Heap {
    pub const fn new() -> Self {
        Self {
            pages: Table::with_hasher(Build),
            wide: BTreeMap::new(),
        }
    }

    /// A block starts. Blocks in its place are gone: whoever ended them did so unseen.
    pub fn begin(&mut self, addr: u64, size: u64) {
        let end = addr.saturating_add(size);
        while let Some((&start, &other_end)) = self.wide.range(..end).next_back()
            && other_end > addr
        {
            self.wide.remove(&start);
        }
        let (first, last) = (addr / PAGE, end.saturating_sub(1).max(addr) / PAGE);
        if first == last {
            let blocks = self.pages.entry(first).or_default();
            let at = clear(blocks, addr, end);
            blocks.insert(at, (addr, end));
            return;
        }
        if last - first < self.pages.len() as u64 {
            for page in first..=last {
                if let Some(blocks) = self.pages.get_mut(&page) {
                    clear(blocks, addr, end);
                }
            }
        } else {
            self.pages.retain(|page, blocks| {
                if (first..=last).contains(page) {
                    clear(blocks, addr, end);
                }
                !blocks.is_empty()
            });
        }
        self.wide.insert(addr, end);
    }

    /// Its blocks and those of another one that they do not cover; empty afterwards.
    pub fn take_with(&mut self, older: &mut Heap) -> Heap {
        for (addr, size) in std::mem::replace(self, Heap::new()).blocks() {
            older.begin(addr, size);
        }
        std::mem::replace(older, Heap::new())
    }

    /// All blocks, in order: addresses and lengths.
    pub fn blocks(&self) -> Vec<(u64, u64)> {
        let narrow = self.pages.values().flatten().copied();
        let wide = self.wide.iter().map(|(&addr, &end)| (addr, end));
        let mut blocks: Vec<_> = narrow.chain(wide).map(|(addr, end)| (addr, end - addr)).collect();
        blocks.sort_unstable();
        blocks
    }

    /// The block at `addr` ends; its size, if there is one.
    pub fn end(&mut self, addr: u64) -> Option<u64> {
        if let Some(blocks) = self.pages.get_mut(&(addr / PAGE))
            && let Ok(at) = blocks.binary_search_by_key(&addr, |block| block.0)
        {
            let (_, end) = blocks.remove(at);
            return Some(end - addr);
        }
        self.wide.remove(&addr).map(|end| end - addr)
    }
}

/// Takes the blocks of a page away that reach into a range; where one that starts with it belongs.
fn clear(blocks: &mut Vec<(u64, u64)>, addr: u64, end: u64) -> usize {
    let from = blocks.partition_point(|block| block.1 <= addr && block.0 < addr);
    let to = blocks.partition_point(|block| block.0 < end);
    if from < to {
        blocks.drain(from..to);
    }
    from
}
