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

    /// The blocks of the pointers that an event sees and leaves.
    #[inline]
    fn blocks(&self, event: EventId) -> Option<(u32, u32)> {
        if self.seen.is_empty() || !self.marked.has(event.0) {
            return None;
        }
        let at = self.marked.before(event.0) as usize;
        Some((self.seen.at(at), self.left.at(at)))
    }

    /// What an event sees and leaves as the analysis has it, given the numbers.
    #[inline]
    pub(super) fn values(&self, event: EventId, numbers: (u64, u64)) -> (u64, u64) {
        match self.blocks(event) {
            Some((seen, left)) => (with_block(numbers.0, seen), with_block(numbers.1, left)),
            None => numbers,
        }
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

    /// What allocated the block of the pointer that a read saw, if that is told apart from pointers to others.
    #[must_use]
    pub fn alloc_of_pointer(&self, read: EventId) -> Option<EventId> {
        let (seen, _) = self.apart.blocks(read)?;
        self.incarnations[seen as usize].alloc
    }

    /// The number that an event leaves in a cell; `None` if it writes no value there.
    #[must_use]
    pub fn number_left(&self, event: EventId, cell: CellId) -> Option<u64> {
        let access = self.access(event).filter(|access| access.kind.writes_value())?;
        Some(self.numbers(access.of_cell(cell)?).next()?.written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::{Event, MemRange, Op, StackId, Tables, ThreadId};

    const BLOCK: u64 = 0x10_000;
    const SLOT: u64 = 0x1000;

    fn trace(operations: &[(u32, Op)]) -> Trace {
        let event = |&(thread, op): &(u32, Op)| Event {
            thread: ThreadId(thread),
            pc: 1,
            stack: StackId::EMPTY,
            op,
        };
        Trace::from_events(Tables::default(), &operations.iter().map(event).collect::<Vec<_>>())
    }

    /// What each access sees and leaves in its first cell, and the same as numbers.
    fn values(trace: &Trace) -> Vec<((u64, u64), (u64, u64))> {
        let of = |mut uses: Uses<'_>| uses.next().map(|used| (used.read, used.written));
        let accesses = trace.accesses().filter(|access| access.addr == SLOT);
        let both = accesses.filter_map(|access| Some((of(trace.uses(access))?, of(trace.numbers(access))?)));
        both.collect()
    }

    fn slot(size: u8) -> MemRange {
        MemRange { addr: SLOT, size }
    }

    /// Thread 0 writes a pointer into a block twice, and thread 1 reads it each time.
    fn handed_over(between: &[Op]) -> Vec<(u32, Op)> {
        let (mem, value) = (slot(8), BLOCK + 8);
        let pass = [(0, Op::Write { mem, value }), (1, Op::Read { mem, value })];
        let first = [(0, Op::Alloc { addr: BLOCK, size: 16 })];
        let between = between.iter().map(|&op| (0, op));
        first.into_iter().chain(pass).chain(between).chain(pass).collect()
    }

    #[test]
    fn pointers_to_two_blocks_are_equal_as_numbers_only() {
        let again = [
            Op::Free { addr: BLOCK },
            Op::Alloc {
                addr: BLOCK - 8,
                size: 32,
            },
        ];
        let trace = trace(&handed_over(&again));
        let found = values(&trace);
        let [first_write, first_read, second_write, second_read] = found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(first_write.0.1, first_read.0.0);
        assert_eq!(second_write.0.1, second_read.0.0);
        assert_ne!(first_write.0.1, second_write.0.1);
        assert!(
            found.iter().all(|(_, numbers)| numbers.0 | numbers.1 == BLOCK + 8),
            "{found:?}"
        );
        assert_eq!(trace.alloc_of_pointer(EventId(6)), Some(EventId(4)));
        assert_eq!(trace.alloc_of_pointer(EventId(2)), None);
    }

    #[test]
    fn numbers_are_told_apart_only_where_they_are_pointers() {
        let all_are_numbers = |operations: &[(u32, Op)]| {
            let trace = trace(operations);
            values(&trace).iter().all(|(values, numbers)| values == numbers)
        };
        assert!(all_are_numbers(&handed_over(&[])), "one block");
        let elsewhere = [
            Op::Free { addr: BLOCK },
            Op::Alloc {
                addr: BLOCK + 9,
                size: 16,
            },
        ];
        assert!(all_are_numbers(&handed_over(&elsewhere)), "still of the first block");
        let again = [Op::Free { addr: BLOCK }, Op::Alloc { addr: BLOCK, size: 16 }];
        let mut in_part = handed_over(&again);
        in_part.push((
            1,
            Op::Read {
                mem: slot(4),
                value: (BLOCK + 8) & 0xffff_ffff,
            },
        ));
        assert!(all_are_numbers(&in_part), "accessed in part");
        let mut by_one = handed_over(&again);
        by_one.iter_mut().for_each(|(thread, _)| *thread = 0);
        assert!(all_are_numbers(&by_one), "one thread");
    }
}
