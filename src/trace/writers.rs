//! Who writes each cell, and what.

use super::{CellId, EventId, Trace};

/// The writes of each cell: in the order of π, and by the value that they leave.
#[derive(Clone, Debug)]
pub struct Writers {
    all: Lists<EventId>,
    /// By value, then in the order of π; without frees, which leave none.
    valued: Lists<EventId>,
    values: Vec<u64>,
}

/// One list for each cell, one behind the other.
#[derive(Clone, Debug, Default)]
struct Lists<T> {
    /// Where each begins, and where the last ends.
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T> Lists<T> {
    fn range(&self, cell: CellId) -> std::ops::Range<usize> {
        self.starts[cell.index()] as usize..self.starts[cell.index() + 1] as usize
    }
}

impl Writers {
    /// Finds the writes of a trace.
    #[must_use]
    pub fn of(trace: &Trace) -> Writers {
        let mut all = Lists {
            starts: vec![0; trace.cells().len() + 1],
            items: Vec::new(),
        };
        let writes = || trace.accesses().filter(|access| access.kind.writes());
        for used in writes().flat_map(|access| trace.uses(access)) {
            all.starts[used.cell.index() + 1] += 1;
        }
        for cell in 1..all.starts.len() {
            all.starts[cell] += all.starts[cell - 1];
        }
        let mut next = all.starts.clone();
        all.items = vec![EventId(0); next[next.len() - 1] as usize];
        for access in writes() {
            for used in trace.uses(access) {
                all.items[next[used.cell.index()] as usize] = access.event;
                next[used.cell.index()] += 1;
            }
        }
        let mut valued = Lists {
            starts: Vec::with_capacity(all.starts.len()),
            items: Vec::with_capacity(all.items.len()),
        };
        let mut values = Vec::with_capacity(all.items.len());
        valued.starts.push(0);
        let mut of_cell: Vec<(u64, EventId)> = Vec::new();
        for cell in (0..trace.cells().len() as u32).map(CellId) {
            let writes = all.items[all.range(cell)].iter();
            of_cell.extend(writes.filter_map(|&write| Some((trace.value_left(write, cell)?, write))));
            of_cell.sort_unstable();
            for (value, write) in of_cell.drain(..) {
                values.push(value);
                valued.items.push(write);
            }
            valued.starts.push(values.len() as u32);
        }
        Writers { all, valued, values }
    }

    /// The writes of a cell, frees among them, in the order of π.
    #[must_use]
    pub fn writes(&self, cell: CellId) -> &[EventId] {
        &self.all.items[self.all.range(cell)]
    }

    /// The writes that leave a value in a cell, in the order of π.
    #[must_use]
    pub fn writes_of(&self, cell: CellId, value: u64) -> &[EventId] {
        let range = self.valued.range(cell);
        let values = &self.values[range.clone()];
        let from = values.partition_point(|&other| other < value);
        let until = from + values[from..].partition_point(|&other| other == value);
        &self.valued.items[range][from..until]
    }
}
