//! Accesses by regions of memory: what is wanted of each cell is gathered region by region, since to go through the
//! accesses of one cell after the other would touch all memory for each, and to sort all at once would take much.

use super::{Access, EventId};
use columns::Column;
use std::ops::Range;

/// Neighboring cells that make up a region; in tests, so few that small traces have several regions.
const CELLS: usize = if cfg!(test) { 3 } else { 1 << 14 };

/// Accesses of neighboring cells that are sorted at once however few a region has.
const FEW: usize = if cfg!(test) { 20 } else { 1 << 20 };

/// Walks over a region's accesses to sort them, at most, but for what one cell alone has.
const WALKS: usize = 4;

/// The accesses of a region, in the order of π.
pub(crate) struct Region {
    /// Its cells.
    pub(crate) cells: Range<usize>,
    events: Column<EventId>,
    /// The first cell of the region that each touches, counted from the region's first.
    first: Column,
    /// How many of its cells each touches.
    touched: Column,
}

impl Region {
    /// Divides accesses, in the order of π, among the regions of a memory of so many cells.
    pub(crate) fn all(cells: usize, accesses: impl Iterator<Item = Access>) -> Vec<Region> {
        let region = |begin: usize| Region {
            cells: begin..cells.min(begin + CELLS),
            events: Column::default(),
            first: Column::default(),
            touched: Column::default(),
        };
        let mut regions: Vec<Region> = (0..cells).step_by(CELLS).map(region).collect();
        for access in accesses {
            let mut touched = access.cell_numbers();
            while !touched.is_empty() {
                let region = &mut regions[touched.start / CELLS];
                let until = touched.end.min(region.cells.end);
                region.events.push(access.event);
                region.first.push((touched.start - region.cells.start) as u32);
                region.touched.push((until - touched.start) as u32);
                touched.start = until;
            }
        }
        regions
    }

    /// Each access, with the cells of the region that it touches, counted from the region's first.
    pub(crate) fn accesses(&self) -> impl Iterator<Item = (EventId, Range<usize>)> + '_ {
        let mut columns = (self.events.cursor(), self.first.cursor(), self.touched.cursor());
        (0..self.events.len()).map(move |at| {
            let first = columns.1.at(at) as usize;
            (columns.0.at(at), first..first + columns.2.at(at) as usize)
        })
    }

    /// Cells, counted from the region's first, the accesses of which are sorted at once, if each has so many: where few
    /// cells have most accesses of a trace, to sort all would take more memory than anything else.
    pub(crate) fn at_once(counts: &[u32]) -> impl Iterator<Item = Range<usize>> + '_ {
        let all: usize = counts.iter().map(|&count| count as usize).sum();
        let most = (all / WALKS).max(FEW);
        let mut from = 0;
        std::iter::from_fn(move || {
            let (begin, mut sum) = (from, 0);
            while let Some(&count) = counts.get(from) {
                sum += count as usize;
                if sum > most && from > begin {
                    break;
                }
                from += 1;
            }
            (begin < from).then_some(begin..from)
        })
    }
}
