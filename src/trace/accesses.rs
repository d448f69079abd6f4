//! Accesses in columns: what is the same for many of them, the memory, is kept once.

use super::cells::{Cell, CellId, CellRange, CellUse, Incarnation, IncarnationId, slice_value};
use super::ops::Form;
use super::{AccessKind, EventId};
use columns::{Column, Cursor};
use trace_format::MemoryOrder;

/// A data or atomic access.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The event that it is.
    pub event: EventId,
    /// What it does.
    pub kind: AccessKind,
    /// Memory order of an atomic access; `Relaxed` for plain ones.
    pub order: MemoryOrder,
    /// First byte.
    pub addr: u64,
    /// Length in bytes.
    pub size: u64,
    first_cell: u32,
    cells: u32,
    /// Whether its values stand apart.
    apart: bool,
}

impl Access {
    /// The number of cells that it touches.
    #[must_use]
    #[inline]
    pub fn cells(&self) -> usize {
        self.cells as usize
    }

    /// The numbers of the cells that it touches.
    #[must_use]
    #[inline]
    pub(crate) fn cell_numbers(&self) -> std::ops::Range<usize> {
        self.first_cell as usize..(self.first_cell + self.cells) as usize
    }

    /// Whether it touches a cell.
    #[must_use]
    #[inline]
    pub fn touches(&self, cell: CellId) -> bool {
        (self.first_cell..self.first_cell + self.cells).contains(&cell.0)
    }

    /// The same access, as if it touched one of its cells alone; `None` if it does not touch it.
    pub(super) fn of_cell(self, cell: CellId) -> Option<Access> {
        self.touches(cell).then_some(Access {
            first_cell: cell.0,
            cells: 1,
            ..self
        })
    }

    pub(super) fn lowest_common_cell(self, other: Access) -> Option<CellId> {
        // Cells of one access are contiguous and ascending.
        let low = self.first_cell.max(other.first_cell);
        let end = (self.first_cell + self.cells).min(other.first_cell + other.cells);
        (low < end).then_some(CellId(low))
    }
}

/// A range of memory that accesses touch: 6 bytes, since there may be one for each access. It begins where its first cell
/// does, and its incarnation is that one's.
#[derive(Clone, Debug)]
pub(super) struct Range {
    /// The halves of its number: the lower, the higher.
    first_cell: [u16; 2],
    cells: u8,
    size: u8,
}

impl Range {
    /// From at least one cell.
    pub(super) fn new(size: u8, cells: CellRange) -> Range {
        Range {
            first_cell: [cells.start as u16, (cells.start >> u16::BITS) as u16],
            cells: u8::try_from(cells.end - cells.start).expect("a cell has a byte at least"),
            size,
        }
    }

    #[inline]
    fn first_cell(&self) -> u32 {
        u32::from(self.first_cell[1]) << u16::BITS | u32::from(self.first_cell[0])
    }

    fn cells(&self) -> CellRange {
        let first = self.first_cell();
        first..first + u32::from(self.cells)
    }
}

/// What a free frees.
#[derive(Clone, Debug)]
pub(super) struct Freed {
    pub addr: u64,
    /// All of it; nothing, if nobody has allocated what is freed.
    pub block: Option<IncarnationId>,
}

impl Freed {
    fn cells(&self, incarnations: &[Incarnation]) -> CellRange {
        self.block
            .map_or(0..0, |block| incarnations[block.index()].cells.clone())
    }
}

/// The cells of a trace, and the blocks that they are of.
pub(super) type Memory<'a> = (&'a [Cell], &'a [Incarnation]);

/// The memory of a trace's accesses, and their values.
///
/// Most values are small: those of more than four bytes stand apart, once for many accesses if these are near to each
/// other, and so do the two of a read-modify-write.
#[derive(Clone, Debug, Default)]
pub(super) struct Accesses {
    ranges: Vec<Range>,
    /// By number, behind those of the ranges.
    freed: Vec<Freed>,
    /// By event: the value, or its place among those that stand apart; 0 of what is no access, or has none.
    values: Column,
    wide: Vec<u64>,
    both: Vec<(u64, u64)>,
    /// By some bits of a wide value, the place of the last one that has them.
    near: Vec<u32>,
}

/// Wide values that are looked at for one that is there already.
const NEAR: usize = 1 << 12;

impl Accesses {
    /// Goes on by an event that is no access.
    pub(super) fn push_none(&mut self) {
        self.values.push(0);
    }

    /// Goes on by an access: with one value at most, or by a read-modify-write with the two of it. Returns whether what
    /// it has stands apart.
    pub(super) fn push(&mut self, values: &[u64]) -> bool {
        let (value, apart) = match *values {
            [] => (0, false),
            [value] => match u32::try_from(value) {
                Ok(value) => (value, false),
                Err(_) => (self.place_of(value), true),
            },
            [read, written, ..] => {
                self.both.push((read, written));
                (self.both.len() as u32 - 1, true)
            }
        };
        self.values.push(value);
        apart
    }

    fn place_of(&mut self, value: u64) -> u32 {
        if self.near.is_empty() {
            self.near = vec![0; NEAR];
        }
        let hash = value.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - NEAR.ilog2());
        let near = &mut self.near[hash as usize];
        if self.wide.get(*near as usize) != Some(&value) {
            *near = self.wide.len() as u32;
            self.wide.push(value);
        }
        *near
    }

    /// No access follows: these are the ranges that they are of, and what is freed.
    pub(super) fn end(&mut self, ranges: Vec<Range>, freed: Vec<Freed>) {
        (self.ranges, self.freed) = (ranges, freed);
        self.near = Vec::new();
        self.values.end();
        self.wide.shrink_to_fit();
        self.both.shrink_to_fit();
    }

    /// By number: the cells of each range, and then what each free frees.
    pub(super) fn cells<'a>(&'a self, incarnations: &'a [Incarnation]) -> impl ExactSizeIterator<Item = CellRange> {
        let (ranges, freed) = (&self.ranges, &self.freed);
        (0..ranges.len() + freed.len()).map(move |number| match ranges.get(number) {
            Some(range) => range.cells(),
            None => freed[number - ranges.len()].cells(incarnations),
        })
    }

    /// What a range, by its number, or what is freed lies in.
    pub(super) fn incarnation(&self, number: usize, cells: &[Cell]) -> IncarnationId {
        match self.ranges.get(number) {
            Some(range) => cells[range.first_cell() as usize].incarnation,
            None => self.freed[number - self.ranges.len()]
                .block
                .unwrap_or(IncarnationId::STATIC),
        }
    }

    #[inline]
    pub(super) fn get(&self, event: EventId, form: Form, range: u32, (cells, incarnations): Memory<'_>) -> Access {
        let Some(range) = self.ranges.get(range as usize) else {
            return self.freed(event, form, range as usize - self.ranges.len(), incarnations);
        };
        // It is there. Most who ask do not want to know, and nothing is looked up for them if nothing can fail.
        let first_cell = range.first_cell();
        let addr = cells.get(first_cell as usize).map_or(0, |cell| cell.addr);
        Access {
            event,
            kind: form.kind,
            order: form.order,
            addr,
            size: range.size.into(),
            first_cell,
            cells: range.cells.into(),
            apart: form.apart,
        }
    }

    #[cold]
    fn freed(&self, event: EventId, form: Form, number: usize, incarnations: &[Incarnation]) -> Access {
        let freed = &self.freed[number];
        let cells = freed.cells(incarnations);
        Access {
            event,
            kind: form.kind,
            order: form.order,
            addr: freed.addr,
            size: freed.block.map_or(0, |block| incarnations[block.index()].size),
            first_cell: cells.start,
            cells: cells.end - cells.start,
            apart: form.apart,
        }
    }

    /// The values of an access, as they were recorded: the one read, and the one written; 0 where it has none.
    #[inline]
    pub(super) fn values_of(&self, access: Access) -> (u64, u64) {
        self.values_by(access, self.values.at(access.event.index()))
    }

    /// The values, or where they stand, for walks over most events.
    pub(super) fn values(&self) -> Cursor<'_> {
        self.values.cursor()
    }

    /// As [`values_of`](Self::values_of), on such a walk, which has found this for the event.
    #[inline]
    pub(super) fn values_by(&self, access: Access, value: u32) -> (u64, u64) {
        if access.kind == AccessKind::AtomicRmw {
            return self.both[value as usize];
        }
        let value = match access.apart {
            true => self.wide[value as usize],
            false => value.into(),
        };
        match access.kind.reads() {
            true => (value, 0),
            // What has none, has 0.
            false => (0, value),
        }
    }

    #[inline]
    pub(super) fn uses<'c>(&self, access: Access, (read, written): (u64, u64), cells: &'c [Cell]) -> Uses<'c> {
        Uses {
            cells: &cells[access.first_cell as usize..][..access.cells()],
            first: access.first_cell,
            addr: access.addr,
            read,
            written,
        }
    }
}

/// The cells that an access touches, ascending, with the values it saw and left in each.
#[derive(Clone, Debug, Default)]
pub struct Uses<'c> {
    cells: &'c [Cell],
    first: u32,
    addr: u64,
    read: u64,
    written: u64,
}

impl Iterator for Uses<'_> {
    type Item = CellUse;

    #[inline]
    fn next(&mut self) -> Option<CellUse> {
        let (cell, rest) = self.cells.split_first()?;
        let number = CellId(self.first);
        (self.cells, self.first) = (rest, self.first + 1);
        Some(CellUse {
            cell: number,
            read: slice_value(self.read, self.addr, cell),
            written: slice_value(self.written, self.addr, cell),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.cells.len(), Some(self.cells.len()))
    }
}

impl ExactSizeIterator for Uses<'_> {}
