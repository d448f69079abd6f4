//! Memory as the analysis sees it: incarnations of address ranges, cut into cells.
//!
//! The bytes of one incarnation are cut at the boundaries of all its accesses; each piece is a
//! cell, so that two accesses overlap exactly if they share a cell, and each cell holds one value
//! at a time. Accesses to different incarnations of one address never share a cell.

use super::EventId;
use super::accesses::Range;
use super::pieces::Pieces;
use super::shadow::Shadow;
use hashbrown::HashMap;

/// A cell: the number of a piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct CellId(pub u32);

impl CellId {
    /// The number as an index.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The number of an incarnation. 0 is all memory that no recorded allocation covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IncarnationId(pub u32);

impl IncarnationId {
    /// Memory that is there from the start: globals, the main thread's stack.
    pub const STATIC: IncarnationId = IncarnationId(0);

    /// The number as an index.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One life of a range of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incarnation {
    /// First byte.
    pub addr: u64,
    /// Length in bytes.
    pub size: u64,
    /// The allocation that began it; `None` for [`IncarnationId::STATIC`].
    pub alloc: Option<EventId>,
    /// The event that ended it, if that is in the trace.
    pub free: Option<EventId>,
    /// Its cells: contiguous, ascending in address.
    pub cells: CellRange,
}

/// A piece of memory that is read and written as one: 16 bytes, since there may be millions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The incarnation that it is a part of.
    pub incarnation: IncarnationId,
    /// First byte.
    pub addr: u64,
    /// Length in bytes, 1 to 8.
    pub size: u8,
    /// [`KNOWN`](Cell::KNOWN), [`EXTERNAL`](Cell::EXTERNAL), [`CONTESTED`](Cell::CONTESTED).
    flags: u8,
    /// The bytes because of which its accesses are pinned, see [`Trace::pin`](super::Trace::pin): a bit for each, the
    /// lowest for the first. All that are external, but for those that only one thread has to do with: all accesses are
    /// by it, and so is every change. Then program order alone keeps its reads right.
    pub pinned: u8,
}

impl Cell {
    const KNOWN: u8 = 1;
    const EXTERNAL: u8 = 2;
    const CONTESTED: u8 = 4;

    /// A piece of a block, of which nothing more is known yet.
    pub(super) fn new(incarnation: IncarnationId, addr: u64, size: u8) -> Cell {
        Cell {
            incarnation,
            addr,
            size,
            flags: 0,
            pinned: 0,
        }
    }

    /// Whether its [value before any event](super::Trace::initial) is known.
    #[must_use]
    #[inline]
    pub fn is_known_at_first(&self) -> bool {
        self.flags & Cell::KNOWN != 0
    }

    /// Whether π shows a value in it that no recorded write explains, so that something unrecorded changes it.
    #[must_use]
    #[inline]
    pub fn external(&self) -> bool {
        self.flags & Cell::EXTERNAL != 0
    }

    /// Whether several threads access it, and one of these accesses writes; or it is external. What is read of other cells
    /// is the same in every schedule.
    #[must_use]
    #[inline]
    pub fn contested(&self) -> bool {
        self.flags & Cell::CONTESTED != 0
    }

    pub(super) fn set_external(&mut self, external: bool) {
        self.set(Cell::EXTERNAL, external);
    }

    pub(super) fn set_contested(&mut self, contested: bool) {
        self.set(Cell::CONTESTED, contested);
    }

    fn set(&mut self, flag: u8, to: bool) {
        match to {
            true => self.flags |= flag,
            false => self.flags &= !flag,
        }
    }

    pub(super) fn set_known_at_first(&mut self) {
        self.set(Cell::KNOWN, true);
    }
}

/// What an access does to one cell. `read` is meaningful if the access reads, `written` if it
/// writes a value (a `free` writes none).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellUse {
    /// The cell.
    pub cell: CellId,
    /// The value seen.
    pub read: u64,
    /// The value left.
    pub written: u64,
}

/// The cells of one access range, as numbers.
pub(super) type CellRange = std::ops::Range<u32>;

/// Finds the incarnation of each access while the events go by, then cuts them into cells.
#[derive(Default)]
pub(super) struct CellBuilder {
    pub(super) incarnations: Vec<Incarnation>,
    /// The block that each piece of memory belongs to. A block keeps the bytes that no later one was put over, also
    /// after its free, so that an access then still belongs to it.
    pieces: Pieces<IncarnationId>,
    /// The last block that began at each address.
    begins: HashMap<u64, IncarnationId>,
    /// Allocations over bytes of a block that lives, and that block.
    pub(super) overlaps: Vec<(EventId, IncarnationId)>,
    /// Blocks that were allocated over bytes of older ones, ascending.
    pub(super) again: Vec<IncarnationId>,
    /// Distinct (incarnation, address, size), in order of first use.
    ranges: Vec<(IncarnationId, u64, u8)>,
    /// Of each range, the next one that begins at the same byte of its block, and is not as long: its number and one, or 0.
    others: Vec<u32>,
    /// By first byte, the same of what lies there now.
    by_first: Shadow,
}

impl CellBuilder {
    pub(super) fn new() -> Self {
        let whole = Incarnation {
            addr: 0,
            size: u64::MAX,
            alloc: None,
            free: None,
            cells: 0..0,
        };
        CellBuilder {
            incarnations: vec![whole],
            ..Self::default()
        }
    }

    pub(super) fn alloc(&mut self, addr: u64, size: u64, event: EventId) -> IncarnationId {
        let id = IncarnationId(self.incarnations.len() as u32);
        let end = addr.saturating_add(size.max(1));
        self.by_first.clear(addr, end);
        let (incarnations, mut lives, mut again) = (&self.incarnations, None, false);
        self.pieces.put(addr, end, id, |older| {
            again = true;
            if incarnations[older.index()].free.is_none() {
                lives = Some(older);
            }
        });
        self.overlaps.extend(lives.map(|lives| (event, lives)));
        self.again.extend(again.then_some(id));
        self.incarnations.push(Incarnation {
            addr,
            size,
            alloc: Some(event),
            free: None,
            cells: 0..0,
        });
        self.begins.insert(addr, id);
        id
    }

    /// The live block that starts at `addr`, now freed; `None` for a free of what was never allocated.
    pub(super) fn free(&mut self, addr: u64, event: EventId) -> Option<IncarnationId> {
        let id = *self.begins.get(&addr)?;
        let block = &mut self.incarnations[id.index()];
        if block.free.is_some() {
            return None;
        }
        block.free = Some(event);
        Some(id)
    }

    /// The number of an access' range.
    pub(super) fn range(&mut self, addr: u64, size: u8) -> u32 {
        let first = self.by_first.at(addr);
        let mut number = *first;
        while number != 0 {
            let at = number as usize - 1;
            if self.ranges[at].2 == size {
                return at as u32;
            }
            number = self.others[at];
        }
        let incarnation = self.pieces.at(addr).unwrap_or(IncarnationId::STATIC);
        self.ranges.push((incarnation, addr, size));
        self.others.push(std::mem::replace(first, self.ranges.len() as u32));
        self.ranges.len() as u32 - 1
    }

    /// Cuts every incarnation at the boundaries of its ranges. Returns the cells, and the ranges by number, with the cells
    /// that each covers.
    pub(super) fn cut(&mut self) -> (Vec<Cell>, Vec<Range>) {
        // What lies where nobody asks any more.
        (self.by_first, self.others) = (Shadow::default(), Vec::new());
        let mut order: Vec<u32> = (0..self.ranges.len() as u32).collect();
        order.sort_unstable_by_key(|&number| self.ranges[number as usize]);
        let mut cells: Vec<Cell> = Vec::new();
        let mut covers = vec![Range::new(0, 0..0); self.ranges.len()];
        let mut at = 0;
        while at < order.len() {
            let incarnation = self.ranges[order[at] as usize].0;
            let until = at + order[at..].partition_point(|&number| self.ranges[number as usize].0 == incarnation);
            let group = &order[at..until];
            let first_cell = cells.len() as u32;
            let mut bounds: Vec<u64> = Vec::with_capacity(2 * group.len());
            for &number in group {
                let (_, addr, size) = self.ranges[number as usize];
                bounds.extend([addr, addr.saturating_add(u64::from(size))]);
            }
            bounds.sort_unstable();
            bounds.dedup();
            // A piece between two neighboring bounds is a cell only if some range covers it.
            let mut covered_until = 0;
            let mut next = group.iter().peekable();
            for pair in bounds.windows(2) {
                while let Some(&&number) = next.peek().filter(|&&&n| self.ranges[n as usize].1 <= pair[0]) {
                    let (_, addr, size) = self.ranges[number as usize];
                    covered_until = covered_until.max(addr.saturating_add(u64::from(size)));
                    next.next();
                }
                if pair[0] < covered_until {
                    let size = (pair[1] - pair[0]) as u8;
                    cells.push(Cell::new(incarnation, pair[0], size));
                }
            }
            let made = &cells[first_cell as usize..];
            for &number in group {
                let (_, addr, size) = self.ranges[number as usize];
                let start = made.partition_point(|cell| cell.addr < addr);
                let end = made.partition_point(|cell| cell.addr < addr.saturating_add(u64::from(size)));
                let covered = first_cell + start as u32..first_cell + end as u32;
                covers[number as usize] = Range::new(size, covered);
            }
            self.incarnations[incarnation.index()].cells = first_cell..cells.len() as u32;
            at = until;
        }
        cells.shrink_to_fit();
        (cells, covers)
    }
}

/// The part of a little-endian access value that falls into `cell`.
#[inline]
pub(super) fn slice_value(value: u64, addr: u64, cell: &Cell) -> u64 {
    let shifted = value.checked_shr(8 * (cell.addr - addr) as u32).unwrap_or(0);
    if cell.size >= 8 {
        shifted
    } else {
        shifted & ((1 << (8 * u32::from(cell.size))) - 1)
    }
}
