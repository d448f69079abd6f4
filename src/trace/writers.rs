//! Who writes each cell, and what.

use super::{CellId, EventId, Region, ThreadId, Trace};
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
#[derive(Clone, Debug)]
struct Lists {
    /// Where each begins, and where the last ends.
    starts: Vec<u32>,
    items: Vec<EventId>,
}

impl Default for Lists {
    fn default() -> Lists {
        Lists {
            starts: vec![0],
            items: Vec::new(),
        }
    }
}

impl Lists {
    /// Goes on by the list of the next cell.
    fn push(&mut self, list: impl IntoIterator<Item = EventId>) {
        self.items.extend(list);
        self.starts.push(self.items.len() as u32);
    }

    fn end(&mut self) {
        self.starts.shrink_to_fit();
        self.items.shrink_to_fit();
    }

    #[inline]
    fn range(&self, cell: CellId) -> Range<usize> {
        self.starts[cell.index()] as usize..self.starts[cell.index() + 1] as usize
    }
}

/// The writes of some cells, while they are sorted: one list for each, one behind the other.
struct Sorting {
    /// Where the next write of each cell goes; at first, where its list begins.
    next: Vec<usize>,
    events: Vec<EventId>,
    /// What they leave. Of most traces, no value has a higher half.
    low: Vec<u32>,
    high: Vec<u32>,
}

impl Sorting {
    /// Of cells with so many writes each.
    fn new(counts: &[u32]) -> Sorting {
        let mut count = 0;
        let begin = |writes: &u32| {
            let begin = count;
            count += *writes as usize;
            begin
        };
        Sorting {
            next: counts.iter().map(begin).collect(),
            events: vec![EventId(0); count],
            low: vec![0; count],
            high: Vec::new(),
        }
    }

    /// The next write of a cell, and what it leaves.
    fn push(&mut self, cell: usize, write: EventId, left: u64) {
        let at = self.next[cell];
        self.next[cell] += 1;
        (self.events[at], self.low[at]) = (write, left as u32);
        if let high @ 1.. = (left >> u32::BITS) as u32 {
            self.high.resize(self.low.len(), 0);
            self.high[at] = high;
        }
    }

    /// The writes in some places, with what they leave.
    fn list(&self, places: Range<usize>) -> impl Iterator<Item = (u64, EventId)> + '_ {
        places.map(|at| {
            let high = self.high.get(at).copied().unwrap_or(0);
            (u64::from(high) << u32::BITS | u64::from(self.low[at]), self.events[at])
        })
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
        let mut found = Writers {
            repeated: vec![0; trace.len().div_ceil(u64::BITS as usize)],
            by: vec![By::Nobody; cells],
            ..Writers::default()
        };
        let writes = trace.contested().filter(|access| access.kind.writes());
        for region in Region::all(cells, writes) {
            found.region(trace, &region);
        }
        found.all.end();
        found.valued.end();
        found.values.end();
        found
    }

    fn region(&mut self, trace: &Trace, region: &Region) {
        let cells = &trace.cells()[region.cells.clone()];
        let mut counts = vec![0; cells.len()];
        for (write, touched) in region.accesses() {
            let thread = trace.thread(write);
            for cell in touched.filter(|&cell| cells[cell].contested()) {
                let by = &mut self.by[region.cells.start + cell];
                *by = match *by {
                    By::Nobody => By::One(thread),
                    By::One(other) if other != thread => By::Several,
                    known => known,
                };
                counts[cell] += 1;
            }
        }
        let mut sorting = Sorting::new(&counts);
        // A block is freed once.
        let mut frees: Vec<Option<EventId>> = vec![None; cells.len()];
        for (write, touched) in region.accesses() {
            let access = trace.access(write).filter(|access| access.kind.writes_value());
            // A free may touch millions of cells, and leaves no value.
            let Some(access) = access else {
                self.repeat(write);
                for cell in touched.filter(|&cell| cells[cell].contested()) {
                    frees[cell] = Some(write);
                    sorting.push(cell, write, 0);
                }
                continue;
            };
            for used in trace.uses(access) {
                let cell = used.cell.index().wrapping_sub(region.cells.start);
                if touched.contains(&cell) && cells[cell].contested() {
                    sorting.push(cell, write, used.written);
                }
            }
        }
        let mut valued: Vec<(u64, EventId)> = Vec::new();
        let mut begin = 0;
        for (&end, free) in sorting.next.iter().zip(&frees) {
            self.all.push(sorting.events[begin..end].iter().copied());
            valued.clear();
            valued.extend(sorting.list(begin..end).filter(|&(_, write)| Some(write) != *free));
            valued.sort_unstable();
            for alike in valued.chunk_by(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1) {
                alike.iter().for_each(|&(_, write)| self.repeat(write));
            }
            self.valued.push(valued.iter().map(|&(_, write)| write));
            valued.iter().for_each(|&(value, _)| self.values.push(value));
            begin = end;
        }
    }

    /// A write leaves no value, or one that another one leaves as well.
    fn repeat(&mut self, write: EventId) {
        let (word, bit) = bit_of(write);
        self.repeated[word] |= bit;
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
