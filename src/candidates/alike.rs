//! Two sites of cells that are alike, looked at together. Threads hand arrays to each other as a whole, so of nearly all
//! elements every access at the one site must happen before, or after, every access at the other. The accesses at a
//! site are in program order whichever cells they touch: what precedes them only grows, and whole stretches fall as
//! those of one cell do. Only the cells that are then left *open* are looked at one by one.

use super::Site;
use super::site::Held;
use super::visit::first_from;
use crate::prune::MustHappenBefore;
use crate::trace::{EventId, Trace};
use std::ops::{ControlFlow, Range};

/// Accesses that may be concurrent with one, among which its own cell is searched for.
const FEW: usize = 32;

/// Which cells of a class are left open.
pub(super) struct Open {
    /// By cell, its number among the open ones, or [`CLOSED`].
    number: Vec<u32>,
    cells: u32,
}

const CLOSED: u32 = u32::MAX;

impl Open {
    fn none_of(cells: u32) -> Open {
        Open {
            number: vec![CLOSED; cells as usize],
            cells: 0,
        }
    }

    fn add(&mut self, cell: u32) {
        let number = &mut self.number[cell as usize];
        if *number == CLOSED {
            *number = self.cells;
            self.cells += 1;
        }
    }

    fn is_all(&self) -> bool {
        self.cells as usize == self.number.len()
    }

    /// Whether a cell is open.
    pub(super) fn has(&self, cell: u32) -> bool {
        self.number[cell as usize] != CLOSED
    }

    /// The first accesses, at two sites, of one of the other cells: the earlier one first.
    pub(super) fn first_of_others(&self, a: &Site, b: &Site) -> Option<(EventId, EventId)> {
        let at = a.cells.iter().position(|&cell| !self.has(cell))?;
        let there = b.cells.iter().position(|&cell| cell == a.cells[at])?;
        let (a, b) = (a.events[at].0, b.events[there].0);
        Some((a.min(b), a.max(b)))
    }
}

/// The cells of which two accesses, one at each site, may be concurrent.
pub(super) fn open_cells(trace: &Trace, order: &MustHappenBefore, cells: u32, a: &Site, b: &Site) -> Open {
    if a.events.len() > b.events.len() {
        return open_cells(trace, order, cells, b, a);
    }
    let mut open = Open::none_of(cells);
    let (mut concurrent, mut at) = (0..0, 0);
    while let Some(&(event, _)) = a.events.get(at).filter(|_| !open.is_all()) {
        let cell = a.cells[at];
        if open.has(cell) {
            at += 1;
            continue;
        }
        concurrent = stretch(trace, order, (event, a), b, &concurrent);
        if concurrent.is_empty() {
            // So it is of all up to the first one that the next of the others does not come after.
            at = match b.events.get(concurrent.start) {
                Some(&(other, _)) => {
                    let count = order.count(other, a.thread);
                    first_from(&a.events, at + 1, |&(event, _)| trace.place(event) >= count)
                }
                None => a.events.len(),
            };
            continue;
        }
        if concurrent.len() > FEW || b.cells[concurrent.clone()].contains(&cell) {
            open.add(cell);
        }
        at += 1;
    }
    open
}

/// The accesses at another site that may be concurrent with this one; `last`: with an earlier one at its site.
fn stretch(
    trace: &Trace,
    order: &MustHappenBefore,
    (event, site): (EventId, &Site),
    other: &Site,
    last: &Range<usize>,
) -> Range<usize> {
    let (count, place) = (order.count(event, other.thread), trace.place(event));
    let low = first_from(&other.events, last.start, |&(access, _)| trace.place(access) >= count);
    let high = first_from(&other.events, last.end.max(low), |&(access, _)| {
        order.count(access, site.thread) > place
    });
    low..high
}

/// The cells of which some access need not precede the free at the first site; and an access that precedes the free, of
/// another cell.
pub(super) fn open_frees(
    trace: &Trace,
    needed: &MustHappenBefore,
    cells: u32,
    frees: &Site,
    accesses: &Site,
) -> (Open, Option<(EventId, EventId)>) {
    let mut of_cell: Vec<Option<(EventId, EventId)>> = vec![None; cells as usize];
    for (&(access, _), &cell) in accesses.events.iter().zip(&accesses.cells) {
        let (_, last) = of_cell[cell as usize].get_or_insert((access, access));
        *last = access;
    }
    let (mut open, mut ordered) = (Open::none_of(cells), None);
    let mut known = None;
    for (&(free, _), &cell) in frees.events.iter().zip(&frees.cells) {
        // A free is there once for each cell of its block.
        let count = match known {
            Some((of, count)) if of == free => count,
            _ => needed.count(free, accesses.thread),
        };
        known = Some((free, count));
        match of_cell[cell as usize] {
            Some((_, last)) if trace.place(last) >= count => open.add(cell),
            Some((first, _)) => {
                ordered.get_or_insert((first, free));
            }
            None => {}
        }
    }
    (open, ordered)
}

/// The accesses of each open cell at two sites.
pub(super) struct EachCell {
    a: ByCell,
    b: ByCell,
}

/// Accesses, by cell.
struct ByCell {
    starts: Vec<u32>,
    events: Vec<Held>,
}

impl ByCell {
    fn of(open: &Open, site: &Site) -> ByCell {
        let cells = open.cells as usize;
        if cells == 0 {
            return ByCell {
                starts: vec![0],
                events: Vec::new(),
            };
        }
        let numbers = || site.cells.iter().map(|&cell| open.number[cell as usize]);
        let mut starts = vec![0; cells + 1];
        let is_open = |&number: &u32| number != CLOSED;
        numbers()
            .filter(is_open)
            .for_each(|number| starts[number as usize + 1] += 1);
        for cell in 0..cells {
            starts[cell + 1] += starts[cell];
        }
        let mut next = starts.clone();
        let mut events = match site.events.first() {
            Some(&any) => vec![any; starts[cells] as usize],
            None => Vec::new(),
        };
        for (&held, number) in site.events.iter().zip(numbers()).filter(|(_, number)| is_open(number)) {
            let at = &mut next[number as usize];
            events[*at as usize] = held;
            *at += 1;
        }
        ByCell { starts, events }
    }

    fn get(&self, cell: usize) -> &[Held] {
        &self.events[self.starts[cell] as usize..self.starts[cell + 1] as usize]
    }
}

impl EachCell {
    pub(super) fn of(open: &Open, a: &Site, b: &Site) -> EachCell {
        EachCell {
            a: ByCell::of(open, a),
            b: ByCell::of(open, b),
        }
    }

    fn cells(&self) -> impl Iterator<Item = (&[Held], &[Held])> {
        (0..self.a.starts.len() - 1).map(|cell| (self.a.get(cell), self.b.get(cell)))
    }

    /// How many pairs of accesses of one cell there are.
    pub(super) fn instances(&self) -> u64 {
        self.cells().map(|(a, b)| a.len() as u64 * b.len() as u64).sum()
    }

    /// Calls `each` with the accesses of one cell after the other, until it breaks.
    pub(super) fn try_for_each(&self, mut each: impl FnMut(&[Held], &[Held]) -> ControlFlow<()>) -> ControlFlow<()> {
        self.cells().try_for_each(|(a, b)| each(a, b))
    }
}
