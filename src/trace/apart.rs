//! Pointers that are equal as numbers, and point to different blocks (`docs/SEMANTICS.md`, *Pointers*).
//!
//! An allocator gives the address of what was freed out again. In another order, in which both blocks live at once, their
//! pointers would differ; so the analysis takes them for different values. Few accesses are concerned: those of cells in
//! which several threads find the same address as a pointer to one block and to another.

use super::{Access, Cell, CellId, EventId, IncarnationId, Marks, Trace, Uses};
use columns::Column;
use hashbrown::{HashMap, HashSet};

/// Bytes of a pointer.
const POINTER: u8 = 8;

/// What stands for a number together with a block: another number, which nobody meets by chance.
fn with_block(number: u64, block: u32) -> u64 {
    number ^ u64::from(block).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// The accesses that see, or leave, a pointer that is told apart by its block.
#[derive(Clone, Debug, Default)]
pub(super) struct Apart {
    marked: Marks,
    /// Of each: the block that it saw, and the one that it leaves; 0 for a number alone.
    seen: Column,
    left: Column,
}

impl Apart {
    fn of(found: impl Iterator<Item = (EventId, u32, u32)>) -> Apart {
        let mut apart = Apart::default();
        for (event, seen, left) in found {
            apart.marked.skip_to(event.0);
            apart.marked.push(true);
            apart.seen.push(seen);
            apart.left.push(left);
        }
        apart.seen.end();
        apart.left.end();
        apart
    }

    /// What an event sees and leaves as the analysis has it, given the numbers.
    #[inline]
    pub(super) fn values(&self, event: EventId, numbers: (u64, u64)) -> (u64, u64) {
        if self.seen.is_empty() || !self.marked.has(event.0) {
            return numbers;
        }
        let at = self.marked.before(event.0) as usize;
        (
            with_block(numbers.0, self.seen.at(at)),
            with_block(numbers.1, self.left.at(at)),
        )
    }
}

/// A write of a number that is an address in memory that was given out again.
struct Written {
    cell: CellId,
    number: u64,
    event: EventId,
}

impl Trace {
    /// Tells pointers apart. Which cells are contested is known; `again` are the blocks that were allocated over bytes
    /// of older ones, ascending.
    pub(super) fn tell_pointers_apart(&mut self, again: &[IncarnationId]) {
        let mut written = self.addresses_written(again);
        written.sort_unstable_by_key(|written| (written.number, written.event));
        let blocks = self.blocks_of(&written, again);
        // By cell and number: the block of the first write, or that it is not the only one.
        let mut first: HashMap<(CellId, u64), u32> = HashMap::new();
        let mut apart: HashSet<CellId> = HashSet::new();
        for (written, &block) in written.iter().zip(&blocks) {
            let known = *first.entry((written.cell, written.number)).or_insert(block);
            let initial = self.initial(written.cell) == Some(written.number);
            if known != block || initial && block != 0 {
                apart.insert(written.cell);
            }
        }
        if apart.is_empty() {
            return;
        }
        let left = written.iter().zip(blocks);
        let left = left.filter(|(written, block)| *block != 0 && apart.contains(&written.cell));
        let left: HashMap<EventId, u32> = left.map(|(written, block)| (written.event, block)).collect();
        let mut held: HashMap<CellId, u32> = apart.into_iter().map(|cell| (cell, 0)).collect();
        let mut found = Vec::new();
        for access in self.contested() {
            let Some(held) = held.get_mut(&CellId(access.cell_numbers().start as u32)) else {
                continue;
            };
            let seen = if access.kind.reads() { *held } else { 0 };
            if access.kind.writes() {
                *held = left.get(&access.event).copied().unwrap_or(0);
            }
            let left = if access.kind.writes() { *held } else { 0 };
            if (seen, left) != (0, 0) {
                found.push((access.event, seen, left));
            }
        }
        self.apart = Apart::of(found.into_iter());
    }

    /// Whether a cell holds pointers, if it holds addresses: all of them, and nobody else's bytes.
    fn may_hold_pointers(cell: &Cell) -> bool {
        cell.size == POINTER && cell.contested() && !cell.external()
    }

    fn addresses_written(&self, again: &[IncarnationId]) -> Vec<Written> {
        let blocks = || again.iter().map(|block| &self.incarnations[block.index()]);
        let from = blocks().map(|block| block.addr).min().unwrap_or(u64::MAX);
        let until = blocks().map(|block| block.addr.saturating_add(block.size.max(1))).max();
        let between = from..until.unwrap_or(0);
        if between.is_empty() {
            return Vec::new();
        }
        let mut written = Vec::new();
        for access in self.contested().filter(|access| access.kind.writes_value()) {
            let (_, number) = self.accesses.values_of(access);
            let cell = CellId(access.cell_numbers().start as u32);
            if between.contains(&number) && Trace::may_hold_pointers(self.cell(cell)) {
                let event = access.event;
                written.push(Written { cell, number, event });
            }
        }
        written
    }

    /// The block that each of these, which ascend by number and event, belongs to where it is written, if that is one of
    /// `again`; else 0.
    fn blocks_of(&self, written: &[Written], again: &[IncarnationId]) -> Vec<u32> {
        let mut blocks = vec![0; written.len()];
        for &id in again {
            let block = &self.incarnations[id.index()];
            let end = block.addr.saturating_add(block.size.max(1));
            let from = written.partition_point(|written| written.number < block.addr);
            let len = written[from..].partition_point(|written| written.number < end);
            for (written, of) in written[from..].iter().zip(&mut blocks[from..]).take(len) {
                if block.alloc.is_some_and(|alloc| alloc < written.event) {
                    *of = id.0;
                }
            }
        }
        blocks
    }

    /// The cells that an access touches, with the numbers that it saw and left there as they were recorded: of pointers
    /// that [`uses`](Trace::uses) tells apart, the addresses.
    #[must_use]
    pub fn numbers(&self, access: Access) -> Uses<'_> {
        self.accesses.uses(access, self.accesses.values_of(access), &self.cells)
    }

    /// The number that an event leaves in a cell; `None` if it writes no value there.
    #[must_use]
    pub fn number_left(&self, event: EventId, cell: CellId) -> Option<u64> {
        let access = self.access(event).filter(|access| access.kind.writes_value())?;
        Some(self.numbers(access.of_cell(cell)?).next()?.written)
    }
}
