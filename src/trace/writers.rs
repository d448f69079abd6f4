//! Who writes each cell, and what.

use super::values::Values;
use super::{Cell, CellId, EventId, Marks, Region, ThreadId, Trace};
use columns::Column;
use std::ops::Range;

/// The writes of each [contested](super::Cell::contested) cell: in the order of π, and by the value that they leave. Of
/// others nobody asks.
#[derive(Clone, Debug, Default)]
pub struct Writers {
    /// Which cells have other writes than the one before them: what copies or clears a block writes many in one step. There
    /// is a list for each of these cells.
    lists: Marks,
    /// List by list, the writes in the order of π. A free leaves no value.
    items: Vec<EventId>,
    /// Where each list begins, and where the last one ends.
    starts: Vec<u32>,
    /// Who writes each cell: here and not by list, since most who look at accesses ask this first.
    by: Vec<By>,
    /// Cell by cell, the values that are left, ascending, each once; of a cell with [few](FEW) writes, none, if nothing but
    /// writes that leave the same value as well comes between two that do.
    values: Values,
    /// Where each cell's begin, and where the last one's end.
    value_starts: Column,
    /// Of each value, how many writes leave it, and where they are: one behind the other among the cell's own, from the
    /// half of this on, or, if it is odd, among the others.
    counts: Column,
    places: Column,
    /// Cell by cell and value by value, the writes that leave one if others of the cell come between them.
    others: Vec<EventId>,
    /// Where each cell's begin.
    other_starts: Column,
    /// Of each event, whether it writes no value, or one that some other write leaves in the same cell as well.
    repeated: Bits,
}

/// Most cells have fewer writes than these. To look at each of them takes no longer than to look for a value in columns.
const FEW: usize = 8;

/// Bits by number, 64 to a word.
#[derive(Clone, Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn none_of(count: usize) -> Bits {
        Bits(vec![0; count.div_ceil(u64::BITS as usize)])
    }

    fn set(&mut self, at: usize) {
        self.0[at / u64::BITS as usize] |= 1 << (at % u64::BITS as usize);
    }

    #[inline]
    fn has(&self, at: usize) -> bool {
        self.0[at / u64::BITS as usize] >> (at % u64::BITS as usize) & 1 != 0
    }
}

/// Who writes a cell: the number of a thread, nobody, or several. One of the threads with the highest numbers is several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct By(u16);

impl By {
    const NOBODY: By = By(u16::MAX);
    const SEVERAL: By = By(u16::MAX - 1);

    fn one(thread: ThreadId) -> By {
        By(u16::try_from(thread.0).map_or(By::SEVERAL.0, |thread| thread.min(By::SEVERAL.0)))
    }

    /// These, and a thread.
    fn and(self, thread: ThreadId) -> By {
        match self {
            By::NOBODY => By::one(thread),
            known if known == By::one(thread) => self,
            _ => By::SEVERAL,
        }
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

impl Writers {
    /// Finds the writes of a trace.
    #[must_use]
    pub fn of(trace: &Trace) -> Writers {
        let cells = trace.cells().len();
        let mut found = Writers {
            starts: vec![0],
            value_starts: [0].into_iter().collect(),
            repeated: Bits::none_of(trace.len()),
            by: Vec::with_capacity(cells),
            ..Writers::default()
        };
        let writes = trace.contested().filter(|access| access.kind.writes());
        for region in Region::all(cells, writes) {
            found.region(trace, &region);
        }
        found.items.shrink_to_fit();
        found.starts.shrink_to_fit();
        found.value_starts.end();
        found.values.end();
        found.counts.end();
        found.places.end();
        found.others.shrink_to_fit();
        found.other_starts.end();
        found
    }

    fn region(&mut self, trace: &Trace, region: &Region) {
        let contested: Vec<bool> = trace.cells()[region.cells.clone()]
            .iter()
            .map(Cell::contested)
            .collect();
        let (mut counts, mut by) = (vec![0; contested.len()], vec![By::NOBODY; contested.len()]);
        for (write, touched) in region.accesses() {
            let thread = trace.thread(write);
            for cell in touched.filter(|&cell| contested[cell]) {
                by[cell] = by[cell].and(thread);
                counts[cell] += 1;
            }
        }
        self.by.extend(by);
        for cells in Region::at_once(&counts) {
            let mut sorting = Sorting::new(&counts[cells.clone()]);
            // A block is freed once.
            let mut frees: Vec<Option<EventId>> = vec![None; cells.len()];
            for (write, touched) in region.accesses() {
                let touched = touched.start.max(cells.start)..touched.end.min(cells.end);
                if touched.is_empty() {
                    continue;
                }
                let access = trace.access(write).filter(|access| access.kind.writes_value());
                // A free may touch millions of cells, and leaves no value.
                let Some(access) = access else {
                    self.repeated.set(write.index());
                    for cell in touched.filter(|&cell| contested[cell]) {
                        frees[cell - cells.start] = Some(write);
                        sorting.push(cell - cells.start, write, 0);
                    }
                    continue;
                };
                for used in trace.uses(access) {
                    let cell = used.cell.index().wrapping_sub(region.cells.start);
                    if touched.contains(&cell) && contested[cell] {
                        sorting.push(cell - cells.start, write, used.written);
                    }
                }
            }
            self.sorted(&sorting, &frees);
        }
    }

    /// Goes on by some cells: with their writes in the order of π, and what frees them.
    fn sorted(&mut self, sorting: &Sorting, frees: &[Option<EventId>]) {
        // Each with its place among the cell's writes.
        let mut valued: Vec<(u64, u32)> = Vec::new();
        let mut begin = 0;
        for (&end, free) in sorting.next.iter().zip(frees) {
            let all = &sorting.events[begin..end];
            valued.clear();
            let left = (0..).zip(sorting.list(begin..end));
            let left = left.filter(|&(_, (_, write))| Some(write) != *free);
            valued.extend(left.map(|(at, (value, _))| (value, at)));
            valued.sort_unstable();
            let other_start = self.others.len();
            let in_stretches = |alike: &[(u64, u32)]| alike.windows(2).all(|two| two[0].1 + 1 == two[1].1);
            let is_listed = all.len() >= FEW || !valued.chunk_by(|a, b| a.0 == b.0).all(in_stretches);
            for alike in valued.chunk_by(|a, b| a.0 == b.0) {
                let (value, first) = alike[0];
                let writes = || alike.iter().map(|&(_, at)| all[at as usize]);
                if alike.len() > 1 {
                    writes().for_each(|write| self.repeated.set(write.index()));
                }
                if !is_listed {
                    continue;
                }
                let at = match in_stretches(alike) {
                    true => u64::from(first) << 1,
                    false => {
                        let at = self.others.len() - other_start;
                        self.others.extend(writes());
                        (at as u64) << 1 | 1
                    }
                };
                self.values.push(value);
                self.counts.push(alike.len() as u32);
                self.places.push(place(at as usize));
            }
            let last = self.starts.len().checked_sub(2);
            let is_new = last.is_none_or(|last| self.list(last) != all);
            self.lists.push(is_new);
            if is_new {
                self.items.extend_from_slice(all);
                self.starts.push(place(self.items.len()));
            }
            self.other_starts.push(place(other_start));
            self.value_starts.push(place(self.values.len()));
            begin = end;
        }
    }

    /// Whether a write leaves a value that no other one does in any contested cell that it writes.
    #[must_use]
    #[inline]
    pub fn is_only(&self, write: EventId) -> bool {
        !self.repeated.has(write.index())
    }

    #[inline]
    fn list(&self, list: usize) -> &[EventId] {
        &self.items[self.starts[list] as usize..self.starts[list + 1] as usize]
    }

    /// The number of a cell's list.
    #[inline]
    fn list_of(&self, cell: CellId) -> usize {
        self.lists.before(cell.0 + 1) as usize - 1
    }

    /// The writes of a contested cell, frees among them, in the order of π.
    #[must_use]
    #[inline]
    pub fn writes(&self, cell: CellId) -> &[EventId] {
        self.list(self.list_of(cell))
    }

    /// Whether no other thread writes a cell: what this one reads there is the same in every order.
    #[must_use]
    #[inline]
    pub fn none_but(&self, thread: ThreadId, cell: CellId) -> bool {
        let by = self.by[cell.index()];
        by == By::NOBODY || by != By::SEVERAL && by == By::one(thread)
    }

    /// Whether more than one thread writes a cell.
    #[must_use]
    #[inline]
    pub fn by_several(&self, cell: CellId) -> bool {
        self.by[cell.index()] == By::SEVERAL
    }

    /// The writes that leave a value in a contested cell of the trace, in the order of π.
    #[must_use]
    pub fn writes_of(&self, trace: &Trace, cell: CellId, value: u64) -> &[EventId] {
        let (starts, all) = (&self.value_starts, self.writes(cell));
        let range = starts.at(cell.index()) as usize..starts.at(cell.index() + 1) as usize;
        if range.is_empty() {
            let leaves = |&write: &EventId| trace.value_left(write, cell) == Some(value);
            let from = all.iter().position(leaves).unwrap_or(all.len());
            let further = all[from..].iter().position(|write| !leaves(write));
            return &all[from..further.map_or(all.len(), |further| from + further)];
        }
        let at = self.values.first_from(range.clone(), value);
        if at >= range.end || self.values.at(at) != value {
            return &[];
        }
        let (place, count) = (self.places.at(at), self.counts.at(at) as usize);
        let from = match place & 1 {
            0 => all,
            _ => &self.others[self.other_starts.at(cell.index()) as usize..],
        };
        &from[(place >> 1) as usize..][..count]
    }
}

/// A place in a list, of which a trace that fits into memory has no more than these.
fn place(at: usize) -> u32 {
    u32::try_from(at).expect("a trace has fewer writes of cells")
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::{Event, MemRange, Op, StackId, Tables};

    /// Reads and writes of some bytes of four blocks by three threads, of which each block may be freed.
    fn random_trace(random: &mut fastrand::Rng) -> Trace {
        let mut events: Vec<Event> = Vec::new();
        let mut push = |thread: u32, op| {
            events.push(Event {
                thread: ThreadId(thread),
                pc: 1,
                stack: StackId::EMPTY,
                op,
            });
        };
        let block = |number: u64| 0x1000 * (number + 1);
        for number in 0..4 {
            let addr = block(number);
            push(0, Op::Alloc { addr, size: 64 });
        }
        let mut freed = [false; 4];
        for _ in 0..300 {
            let (thread, number) = (random.u32(0..3), random.u64(0..4));
            let size = 1 << random.u32(0..4);
            let mem = MemRange {
                addr: block(number) + random.u64(0..16),
                size,
            };
            // Few values, some of them wide.
            let value = random.u64(0..4) * 0x0101_0101_0101_0101;
            let value = value & (u64::MAX >> (u64::BITS - 8 * u32::from(size)));
            match random.u32(0..100) {
                0 if !freed[number as usize] => {
                    freed[number as usize] = true;
                    push(thread, Op::Free { addr: block(number) });
                }
                1..60 => push(thread, Op::Write { mem, value }),
                _ => push(thread, Op::Read { mem, value }),
            }
        }
        Trace::from_events(Tables::default(), &events)
    }

    #[test]
    fn has_the_writes_that_a_look_at_every_event_finds() {
        let mut random = fastrand::Rng::with_seed(1);
        let (mut ascending, mut others, mut freed) = (0, 0, 0);
        let (mut few, mut listed, mut shared) = (0, 0, 0);
        for _ in 0..60 {
            let trace = random_trace(&mut random);
            let writers = Writers::of(&trace);
            let mut repeated: Vec<EventId> = Vec::new();
            for cell in (0..trace.cells().len() as u32).map(CellId) {
                if !trace.cell(cell).contested() {
                    continue;
                }
                let writes = |event: &EventId| {
                    let access = trace.access(*event).filter(|access| access.kind.writes());
                    access.is_some_and(|access| access.touches(cell))
                };
                let all: Vec<EventId> = trace.events().filter(writes).collect();
                assert_eq!(writers.writes(cell), all);
                let values = writers.value_starts.at(cell.index() + 1) - writers.value_starts.at(cell.index());
                few += usize::from(!all.is_empty() && values == 0);
                listed += usize::from(all.len() < FEW && values > 0);
                shared += usize::from(!all.is_empty() && !writers.lists.has(cell.0));
                for thread in (0..3).map(ThreadId) {
                    let none_but = all.iter().all(|&write| trace.thread(write) == thread);
                    assert_eq!(writers.none_but(thread, cell), none_but);
                }
                let left = |write: EventId| trace.value_left(write, cell);
                freed += all.iter().filter(|&&write| left(write).is_none()).count();
                let mut values: Vec<u64> = all.iter().filter_map(|&write| left(write)).collect();
                let rising = values.is_sorted();
                ascending += usize::from(rising);
                others += usize::from(!rising);
                values.push(77);
                for value in values {
                    let these = |write: &EventId| left(*write) == Some(value);
                    let expected: Vec<EventId> = all.iter().copied().filter(these).collect();
                    assert_eq!(writers.writes_of(&trace, cell, value), expected);
                    repeated.extend(expected.iter().filter(|_| expected.len() > 1));
                }
                repeated.extend(all.iter().filter(|&&write| left(write).is_none()));
            }
            let in_contested = |write: &EventId| {
                let access = trace.access(*write).filter(|access| access.kind.writes());
                access.is_some() && trace.cell_uses(*write).any(|used| trace.cell(used.cell).contested())
            };
            for write in trace.events().filter(in_contested) {
                assert_eq!(writers.is_only(write), !repeated.contains(&write), "{write:?}");
            }
        }
        assert!(
            ascending > 100 && others > 100 && freed > 100,
            "{ascending} {others} {freed}"
        );
        assert!(few > 100 && listed > 100 && shared > 100, "{few} {listed} {shared}");
    }
}
