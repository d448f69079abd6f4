//! Who writes each cell, and what.

use super::{CellId, CellUse, EventId, ThreadId, Trace};
use columns::Column;
use std::ops::Range;

/// The writes of each [contested](super::Cell::contested) cell: in the order of π, and by the value that they leave. Of
/// others nobody asks.
#[derive(Clone, Debug, Default)]
pub struct Writers {
    all: Lists,
    /// By value, then in the order of π; without frees, which leave none.
    valued: Lists,
    values: Values,
    /// By event, whether it writes no value, or one that some other write leaves in the same cell as well; 64 to a word.
    repeated: Vec<u64>,
    /// Who writes each cell.
    by: Vec<By>,
}

/// Who writes a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Nobody,
    One(ThreadId),
    Several,
}

/// One list for each cell, one behind the other.
#[derive(Clone, Debug, Default)]
struct Lists {
    /// Where each begins, and where the last ends.
    starts: Vec<u32>,
    items: Vec<EventId>,
}

impl Lists {
    /// Empty lists; their lengths are to be counted in the entries behind those where they begin.
    fn new(cells: usize) -> Self {
        Lists {
            starts: vec![0; cells + 1],
            items: Vec::new(),
        }
    }

    /// Makes room, now that the lengths are counted; returns where each list begins.
    fn begin(&mut self) -> Vec<u32> {
        for cell in 1..self.starts.len() {
            self.starts[cell] += self.starts[cell - 1];
        }
        self.items = vec![EventId(0); self.starts[self.starts.len() - 1] as usize];
        self.starts.clone()
    }

    #[inline]
    fn range(&self, cell: CellId) -> Range<usize> {
        self.starts[cell.index()] as usize..self.starts[cell.index() + 1] as usize
    }
}

/// Values of 64 bits, by their halves: the higher ones are mostly alike.
#[derive(Clone, Debug, Default)]
struct Values {
    low: Column,
    high: Column,
}

impl Values {
    fn push(&mut self, value: u64) {
        self.low.push(value as u32);
        self.high.push((value >> u32::BITS) as u32);
    }

    fn end(&mut self) {
        self.low.end();
        self.high.end();
    }

    #[inline]
    fn at(&self, place: usize) -> u64 {
        u64::from(self.high.at(place)) << u32::BITS | u64::from(self.low.at(place))
    }

    /// The first of some places, whose values ascend, from which on they are not less than this; the end, if all are.
    fn first_from(&self, places: Range<usize>, value: u64) -> usize {
        let (mut low, mut high) = (places.start, places.end);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.at(middle) < value {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }
}

impl Writers {
    /// Finds the writes of a trace.
    #[must_use]
    pub fn of(trace: &Trace) -> Writers {
        let cells = trace.cells().len();
        let writes = || trace.contested().filter(|access| access.kind.writes());
        let contested = |used: &CellUse| trace.cell(used.cell).contested();
        let (mut all, mut valued) = (Lists::new(cells), Lists::new(cells));
        let mut by = vec![By::Nobody; cells];
        for access in writes() {
            let thread = trace.thread(access.event);
            for used in trace.uses(access).filter(contested) {
                let by = &mut by[used.cell.index()];
                *by = match *by {
                    By::Nobody => By::One(thread),
                    By::One(other) if other != thread => By::Several,
                    known => known,
                };
                all.starts[used.cell.index() + 1] += 1;
                valued.starts[used.cell.index() + 1] += u32::from(access.kind.writes_value());
            }
        }
        let mut repeated = vec![0; trace.len().div_ceil(u64::BITS as usize)];
        let mut repeat = |write: EventId| {
            let (word, bit) = bit_of(write);
            repeated[word] |= bit;
        };
        let (mut next, mut next_valued) = (all.begin(), valued.begin());
        // What they leave; of most traces, no value has a higher half.
        let (mut left, mut higher) = (vec![0_u32; valued.items.len()], Vec::new());
        // In the order of π: to go through the writes of one cell after the other would touch all memory for each.
        for access in writes() {
            for used in trace.uses(access).filter(contested) {
                let cell = used.cell.index();
                all.items[next[cell] as usize] = access.event;
                next[cell] += 1;
                if access.kind.writes_value() {
                    let at = next_valued[cell] as usize;
                    (valued.items[at], left[at]) = (access.event, used.written as u32);
                    if let high @ 1.. = (used.written >> u32::BITS) as u32 {
                        higher.resize(left.len(), 0);
                        higher[at] = high;
                    }
                    next_valued[cell] += 1;
                } else {
                    repeat(access.event);
                }
            }
        }
        drop((next, next_valued));
        let (mut of_cell, mut values): (Vec<(u64, EventId)>, _) = (Vec::new(), Values::default());
        for cell in (0..cells as u32).map(CellId) {
            let range = valued.range(cell);
            let events = &mut valued.items[range.clone()];
            let value = |at: usize| u64::from(higher.get(at).copied().unwrap_or(0)) << u32::BITS | u64::from(left[at]);
            of_cell.extend(range.map(value).zip(events.iter().copied()));
            of_cell.sort_unstable();
            for alike in of_cell.chunk_by(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1) {
                alike.iter().for_each(|&(_, write)| repeat(write));
            }
            for (at, (value, write)) in of_cell.drain(..).enumerate() {
                values.push(value);
                events[at] = write;
            }
        }
        values.end();
        Writers {
            all,
            valued,
            values,
            repeated,
            by,
        }
    }

    /// Whether a write leaves a value that no other one does in any contested cell that it writes.
    #[must_use]
    #[inline]
    pub fn is_only(&self, write: EventId) -> bool {
        let (word, bit) = bit_of(write);
        self.repeated.get(word).is_some_and(|word| word & bit == 0)
    }

    /// The writes of a contested cell, frees among them, in the order of π.
    #[must_use]
    #[inline]
    pub fn writes(&self, cell: CellId) -> &[EventId] {
        &self.all.items[self.all.range(cell)]
    }

    /// Whether no other thread writes a cell: what this one reads there is the same in every order.
    #[must_use]
    #[inline]
    pub fn none_but(&self, thread: ThreadId, cell: CellId) -> bool {
        match self.by[cell.index()] {
            By::Nobody => true,
            By::One(writer) => writer == thread,
            By::Several => false,
        }
    }

    /// The writes that leave a value in a contested cell, in the order of π.
    #[must_use]
    pub fn writes_of(&self, cell: CellId, value: u64) -> &[EventId] {
        let range = self.valued.range(cell);
        let from = self.values.first_from(range.clone(), value);
        // Most values are left once, if at all.
        let is_it = |place: usize| place < range.end && self.values.at(place) == value;
        let until = match (is_it(from), is_it(from + 1)) {
            (false, _) => from,
            (true, false) => from + 1,
            (true, true) => match value.checked_add(1) {
                Some(next) => self.values.first_from(from..range.end, next),
                None => range.end,
            },
        };
        &self.valued.items[from..until]
    }
}

fn bit_of(event: EventId) -> (usize, u64) {
    let bits = u64::BITS as usize;
    (event.index() / bits, 1 << (event.index() % bits))
}
