//! Order that the program announces: who has released what at an address, as long as the memory there is the same
//! block.

use std::collections::BTreeMap;
use std::vec::Vec;

/// The last release of each thread, by address: its number is for the caller to make and to understand.
pub struct Releases(BTreeMap<u64, Vec<(u32, u64)>>);

impl Releases {
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// A thread has released; those of other threads stay.
    pub fn add(&mut self, addr: u64, thread: u32, number: u64) {
        let here = self.0.entry(addr).or_default();
        match here.iter_mut().find(|(other, _)| *other == thread) {
            Some((_, last)) => *last = number,
            None => here.push((thread, number)),
        }
    }

    /// As [`add`](Self::add), but others mean nothing beside it.
    pub fn replace(&mut self, addr: u64, thread: u32, number: u64) {
        self.0.insert(addr, Vec::from([(thread, number)]));
    }

    /// What other threads have released.
    pub fn of_others(&self, addr: u64, thread: u32) -> Vec<u64> {
        let others = self.0.get(&addr).into_iter().flatten();
        others
            .filter(|(other, _)| *other != thread)
            .map(|&(_, number)| number)
            .collect()
    }

    /// A block starts or ends: it has nothing to do with what was at its addresses.
    pub fn forget(&mut self, addr: u64, size: u64) {
        let end = addr.saturating_add(size);
        while let Some((&at, _)) = self.0.range(addr..end).next() {
            self.0.remove(&at);
        }
    }
}
