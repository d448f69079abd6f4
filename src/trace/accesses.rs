//! Accesses in columns: what is the same for many of them, the memory, is kept once.

use super::cells::{Cell, CellId, CellRange, CellUse, IncarnationId, slice_value};
use super::{AccessId, AccessKind, EventId};
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
    /// The incarnation that its first byte belongs to.
    pub incarnation: IncarnationId,
    /// First byte.
    pub addr: u64,
    /// Length in bytes.
    pub size: u64,
    first_cell: u32,
    cells: u32,
    /// Where its values begin: the one read, if it reads, and then the one written, if it writes any.
    values: u32,
}

impl Access {
    /// The number of cells that it touches.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.cells as usize
    }

    /// Whether it touches a cell.
    #[must_use]
    pub fn touches(&self, cell: CellId) -> bool {
        (self.first_cell..self.first_cell + self.cells).contains(&cell.0)
    }

    pub(super) fn lowest_common_cell(self, other: Access) -> Option<CellId> {
        // Cells of one access are contiguous and ascending.
        let low = self.first_cell.max(other.first_cell);
        let end = (self.first_cell + self.cells).min(other.first_cell + other.cells);
        (low < end).then_some(CellId(low))
    }
}

/// A range of memory that accesses touch.
#[derive(Clone, Debug)]
pub(super) struct Range {
    pub incarnation: IncarnationId,
    pub addr: u64,
    pub size: u64,
    pub cells: CellRange,
}

/// The number of a range.
#[derive(Clone, Copy, Debug)]
pub(super) struct RangeId(pub u32);

/// All accesses of a trace, in the order of π.
#[derive(Clone, Debug, Default)]
pub(super) struct Accesses {
    ranges: Vec<Range>,
    rows: Vec<Row>,
    values: Vec<u64>,
}

/// An access, but for what its range says.
#[derive(Clone, Copy, Debug)]
struct Row {
    event: EventId,
    range: RangeId,
    values: u32,
    kind: AccessKind,
    order: MemoryOrder,
}

impl Accesses {
    pub(super) fn new(ranges: Vec<Range>, accesses: usize) -> Accesses {
        Accesses {
            ranges,
            rows: Vec::with_capacity(accesses),
            // Few have two.
            values: Vec::with_capacity(accesses),
        }
    }

    /// The number of a further range.
    pub(super) fn add_range(&mut self, range: Range) -> RangeId {
        self.ranges.push(range);
        RangeId(self.ranges.len() as u32 - 1)
    }

    pub(super) fn push(
        &mut self,
        event: EventId,
        kind: AccessKind,
        order: MemoryOrder,
        range: RangeId,
        values: &[u64],
    ) -> AccessId {
        self.rows.push(Row {
            event,
            range,
            values: self.values.len() as u32,
            kind,
            order,
        });
        self.values.extend_from_slice(values);
        AccessId(self.rows.len() as u32 - 1)
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn get(&self, id: AccessId) -> Access {
        let row = self.rows[id.index()];
        let range = &self.ranges[row.range.0 as usize];
        Access {
            event: row.event,
            kind: row.kind,
            order: row.order,
            incarnation: range.incarnation,
            addr: range.addr,
            size: range.size,
            first_cell: range.cells.start,
            cells: range.cells.end - range.cells.start,
            values: row.values,
        }
    }

    /// What an access does to one of its cells.
    pub(super) fn use_of(&self, access: Access, cell: CellId, cells: &[Cell]) -> Option<CellUse> {
        let touched = access.first_cell..access.first_cell + access.cells;
        let one = Access {
            first_cell: cell.0,
            cells: 1,
            ..access
        };
        touched.contains(&cell.0).then(|| self.uses(one, cells).next())?
    }

    /// The values of an access, as they were recorded: the one read, and the one written; 0 where it has none.
    pub(super) fn values_of(&self, access: Access) -> (u64, u64) {
        let value = |place: u32| self.values[(access.values + place) as usize];
        let reads = access.kind.reads();
        let read = if reads { value(0) } else { 0 };
        let writes = access.kind.writes_value();
        let written = if writes { value(u32::from(reads)) } else { 0 };
        (read, written)
    }

    pub(super) fn uses<'c>(&self, access: Access, cells: &'c [Cell]) -> Uses<'c> {
        let (read, written) = self.values_of(access);
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
