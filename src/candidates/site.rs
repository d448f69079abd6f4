//! The accesses of a crowded cell, by thread, code position and kind.

use crate::prune::LockContextId;
use crate::semantics::conflict::Part;
use crate::trace::{Access, CodePosition, EventId, ThreadId, Trace};
use hashbrown::HashMap;

/// An access, with what its thread holds.
pub(super) type Held = (EventId, LockContextId);

/// What sites are told apart by.
pub(super) type Key = (ThreadId, CodePosition, Part);

/// Accesses of one cell by one thread at one position, all of one kind, in program order.
#[derive(Clone, Debug)]
pub(super) struct Site {
    pub(super) thread: ThreadId,
    /// The position, or what the scope puts in its place.
    pub(super) pc: CodePosition,
    pub(super) part: Part,
    /// Each access, with what its thread holds.
    pub(super) events: Vec<Held>,
}

impl Site {
    pub(super) fn conflicts(&self, other: &Site) -> bool {
        self.thread != other.thread && self.part.conflicts(other.part)
    }

    /// The first access.
    pub(super) fn first(&self) -> EventId {
        self.events[0].0
    }

    /// The last access.
    pub(super) fn last(&self) -> EventId {
        self.events[self.events.len() - 1].0
    }
}

/// The candidate that each two sites of a cell, or two groups of them, belong to: a table, unless there are too many for
/// one.
pub(super) struct PairNumbers {
    count: usize,
    table: Option<Vec<u32>>,
}

impl PairNumbers {
    /// Sites or groups of a cell up to which there is a table, of a megabyte then.
    const MOST: usize = 512;

    /// No two of so many belong to any yet.
    pub(super) fn of(count: usize) -> PairNumbers {
        PairNumbers {
            count,
            table: (count <= Self::MOST).then(|| vec![u32::MAX; count * count]),
        }
    }

    pub(super) fn set(&mut self, a: u32, b: u32, number: u32) {
        if let Some(table) = &mut self.table {
            table[a as usize * self.count + b as usize] = number;
            table[b as usize * self.count + a as usize] = number;
        }
    }

    /// Sets what `number` says of each two, if there is a table.
    pub(super) fn fill(&mut self, number: impl Fn(u32, u32) -> Option<u32>) {
        if self.table.is_some() {
            let pairs = (0..self.count as u32).flat_map(|a| (0..a).map(move |b| (a, b)));
            let known = pairs.filter_map(|(a, b)| Some((a, b, number(a, b)?)));
            known.for_each(|(a, b, number)| self.set(a, b, number));
        }
    }

    /// The candidate, if there is one; without a table, `search` finds it.
    pub(super) fn get(&self, a: u32, b: u32, search: impl FnOnce() -> Option<u32>) -> Option<u32> {
        let Some(table) = &self.table else {
            return search();
        };
        let number = table[a as usize * self.count + b as usize];
        (number != u32::MAX).then_some(number)
    }
}

/// Where an access is. What the program wants left out of reports is elsewhere than the rest, so that neither speaks
/// for the other.
pub(crate) fn place(trace: &Trace, access: Access) -> CodePosition {
    place_at(trace, access, trace.pc(access.event))
}

/// The same of one at this position.
#[inline]
pub(super) fn place_at(trace: &Trace, access: Access, pc: CodePosition) -> CodePosition {
    const EXCUSED: CodePosition = 1 << 63;
    if trace.is_excused(access) { pc | EXCUSED } else { pc }
}

/// The sites of one cell, in the order of their first accesses.
pub(super) fn sites(uses: impl Iterator<Item = (Key, Held)>) -> Vec<Site> {
    let mut numbers: HashMap<Key, usize> = HashMap::new();
    let mut sites: Vec<Site> = Vec::new();
    for (key, held) in uses {
        let site = *numbers.entry(key).or_insert_with(|| {
            let (thread, pc, part) = key;
            sites.push(Site {
                thread,
                pc,
                part,
                events: Vec::new(),
            });
            sites.len() - 1
        });
        sites[site].events.push(held);
    }
    sites
}
