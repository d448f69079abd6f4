//! Accesses by spot: one thread, one code position, one kind, whichever cells they touch.
//!
//! Threads hand arrays to each other as a whole, so of most pairs of spots every access at the one must happen before,
//! or after, every access at the other that shares a cell with it. The accesses at a spot are in program order: what
//! precedes them only grows. So whole stretches of them are passed at once, in all cells together, and only cells with
//! two accesses that may be concurrent are looked at.

use super::positions_of;
use super::site::{Held, Key};
use crate::prune::{InAll, LockContextId, LockContexts};
use crate::trace::{CellId, CodePosition, EventId, Marks, ThreadId, Trace};
use columns::{Column, Excerpt};
use hashbrown::{HashMap, HashSet};
use std::ops::{ControlFlow, Range};

/// Accesses by one thread at one position, all of one kind, in program order.
pub(super) struct Spot {
    pub(super) key: Key,
    of: Of,
    /// The accesses, if they are of several cells.
    accesses: Column<EventId>,
    /// The locks that its thread holds at all of them.
    held: InAll,
    /// What it holds at each, until pairs are found: only if there are too many locks to tell these apart by that.
    contexts: Vec<LockContextId>,
}

/// Whose accesses a spot has, of the cells that are shared and not crowded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Nobody,
    /// One cell's: those of this row. To have them twice would take as much again where each place accesses one variable.
    One(u32),
    Several,
}

impl Spot {
    /// Without accesses yet.
    pub(super) fn new(key: Key) -> Spot {
        Spot {
            key,
            of: Of::Nobody,
            accesses: Column::default(),
            held: InAll::default(),
            contexts: Vec::new(),
        }
    }

    /// Goes on by an access, the next one, and by what its thread holds.
    pub(super) fn push(&mut self, access: EventId, contexts: &LockContexts, held: LockContextId) {
        if self.of == Of::Several {
            self.accesses.push(access);
        }
        self.held = contexts.and(self.held, held);
        if !contexts.is_exact() && self.contexts.last() != Some(&held) {
            self.hold(held);
        }
    }

    /// Adds to what is held. There are few contexts, but they change with nearly each access.
    fn hold(&mut self, held: LockContextId) {
        let room = self.contexts.capacity();
        if self.contexts.len() == room {
            self.contexts.sort_unstable();
            self.contexts.dedup();
            if self.contexts.len() > room / 2 {
                self.contexts.reserve_exact(room.max(4));
            }
        }
        self.contexts.push(held);
    }

    /// Whether it has accesses.
    pub(super) fn is_there(&self) -> bool {
        self.of != Of::Nobody
    }

    /// No access follows.
    pub(super) fn end(&mut self) {
        self.accesses.end();
        self.contexts.sort_unstable();
        self.contexts.dedup();
        self.contexts.shrink_to_fit();
    }

    pub(super) fn thread(&self) -> ThreadId {
        self.key.0
    }

    fn conflicts(&self, other: &Spot) -> bool {
        self.thread() != other.thread() && self.key.2.conflicts(other.key.2)
    }
}

/// Two spots with accesses that conflict.
pub(super) struct SpotPair {
    /// The smaller number first.
    pub(super) spots: (u32, u32),
    /// How many pairs of accesses share a cell, counted for each.
    pub(super) instances: u64,
    /// The first accesses of a cell at both: of the cell in which these come first.
    pub(super) first: (EventId, EventId),
    pub(super) cell: u32,
    /// How many cells have accesses at both.
    pub(super) cells: u32,
    /// The number of its candidate.
    pub(super) candidate: u32,
    /// Whether a lock that is held at all accesses of the one spot and one at all of the other exclude all instances.
    pub(super) all_clash: bool,
}

/// The accesses of all cells that more than one thread accesses and somebody writes.
#[derive(Default)]
pub(super) struct Spots {
    pub(super) list: Vec<Spot>,
    /// The cells of the trace that are shared and not crowded: these have numbers.
    numbered: Marks,
    /// By the number of a cell, where its rows of `parts` begin; at the end, where the last one's end.
    starts: Column,
    /// Cell by cell, the spots of its accesses, and where those at each are.
    parts: Parts,
    /// Cell by cell, and for each spot by spot, in the order of π; once for neighbors with the same ones at a spot.
    accesses: Column<EventId>,
    /// Until no cell follows.
    neighbor: Neighbor,
    pub(super) pairs: Vec<SpotPair>,
    numbers: HashMap<(u32, u32), u32>,
    /// Whether pairs count only the cells that are freed at one of the two.
    freed: bool,
}

const NONE: u32 = u32::MAX;

/// Rows: a spot, where its accesses end, and how many there are. Ends of neighbors are near to each other, though some
/// have many accesses.
#[derive(Default)]
struct Parts {
    spots: Column,
    ends: Column,
    counts: Column,
}

impl Parts {
    fn push(&mut self, spot: u32, end: u32, count: u32) {
        self.spots.push(spot);
        self.ends.push(end);
        self.counts.push(count);
    }

    fn end(&mut self) {
        self.spots.end();
        self.ends.end();
        self.counts.end();
    }

    fn len(&self) -> usize {
        self.spots.len()
    }

    /// The accesses of a row.
    fn accesses(&self, row: usize) -> Range<usize> {
        let end = self.ends.at(row) as usize;
        end - self.counts.at(row) as usize..end
    }
}

/// The cell that came last. What copies or clears a block touches many cells in one step, while few accesses of other
/// spots do: at the former, neighbors have the same accesses.
#[derive(Default)]
struct Neighbor {
    /// Its spots, where the accesses at each end among those of all cells, and where they are among its own.
    parts: Vec<(u32, u32, Range<usize>)>,
    accesses: Vec<EventId>,
    /// Room for those of the next one.
    next: Vec<(u32, u32, Range<usize>)>,
}

/// How far back among all accesses those of a neighbor may end to be told of again: farther ends would take more bits
/// than a few accesses do.
const NEAR: usize = if cfg!(test) { 8 } else { 1 << 10 };

/// So many are told of again however far back they are.
const MANY: usize = if cfg!(test) { 4 } else { 64 };

/// Is given a cell, and its accesses at two spots.
type EachCell<'e> = dyn FnMut(u32, Excerpt<'_, EventId>, Excerpt<'_, EventId>) -> ControlFlow<()> + 'e;

/// The accesses of one cell at one spot.
struct Part {
    spot: u32,
    count: u32,
    first: EventId,
    last: EventId,
}

impl Spots {
    /// None yet.
    pub(super) fn none() -> Spots {
        Spots {
            starts: [0].into_iter().collect(),
            ..Spots::default()
        }
    }

    /// Goes on by a later cell of the trace: the spots of its accesses, rising, how many each has there, and all of these
    /// accesses, spot by spot, and at each in the order of π.
    pub(super) fn push_cell(&mut self, cell: usize, parts: &[(u32, u32)], accesses: &[EventId]) {
        self.numbered.skip_to(cell as u32);
        self.numbered.push(true);
        let Neighbor {
            parts: before,
            accesses: there,
            next,
        } = &mut self.neighbor;
        let mut others = before.drain(..).peekable();
        let mut until = 0;
        for &(spot, count) in parts {
            let of = &mut self.list[spot as usize].of;
            *of = match *of {
                Of::Nobody => Of::One(self.parts.len() as u32),
                Of::One(_) | Of::Several => Of::Several,
            };
            let places = until..until + count as usize;
            until = places.end;
            let here = &accesses[places.clone()];
            while others.next_if(|(other, ..)| *other < spot).is_some() {}
            let other = others.next_if(|(other, ..)| *other == spot);
            let same = other.filter(|(_, end, places)| {
                let is_near = here.len() >= MANY || self.accesses.len() - *end as usize <= NEAR;
                is_near && there[places.clone()] == *here
            });
            let end = same.map_or_else(
                || {
                    here.iter().for_each(|&access| self.accesses.push(access));
                    u32::try_from(self.accesses.len()).expect("a trace has fewer accesses of cells")
                },
                |(_, end, _)| end,
            );
            self.parts.push(spot, end, count);
            next.push((spot, end, places));
        }
        drop(others);
        std::mem::swap(before, next);
        there.clear();
        there.extend_from_slice(accesses);
        self.starts.push(self.parts.len() as u32);
    }

    /// No cell follows.
    pub(super) fn end_cells(&mut self) {
        self.neighbor = Neighbor::default();
        self.parts.end();
        self.accesses.end();
        self.starts.end();
        tracing::debug!(
            cells = self.cells(),
            parts = self.parts.len(),
            spots = self.list.len(),
            accesses = self.accesses.len(),
            "spots"
        );
    }

    /// The accesses at a spot of cells that are shared and not crowded.
    pub(super) fn accesses(&self, spot: u32) -> Excerpt<'_, EventId> {
        let spot = &self.list[spot as usize];
        match spot.of {
            Of::One(row) => self.accesses.excerpt(self.parts.accesses(row as usize)),
            Of::Nobody | Of::Several => spot.accesses.all(),
        }
    }

    /// How many cells there are, crowded ones apart.
    pub(super) fn cells(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    /// The rows of a cell.
    fn rows(&self, cell: u32) -> Range<usize> {
        self.starts.at(cell as usize) as usize..self.starts.at(cell as usize + 1) as usize
    }

    /// The accesses of a cell, spot by spot.
    fn of_cell(&self, cell: u32) -> impl Iterator<Item = (u32, Excerpt<'_, EventId>)> {
        let rows = self.rows(cell);
        rows.map(|row| {
            (
                self.parts.spots.at(row),
                self.accesses.excerpt(self.parts.accesses(row)),
            )
        })
    }

    /// The accesses of a cell at a spot.
    fn at(&self, cell: u32, spot: u32) -> Excerpt<'_, EventId> {
        let rows = self.rows(cell);
        let before = self
            .parts
            .spots
            .excerpt(rows.clone())
            .partition_point(|other| other < spot);
        let row = rows.start + before;
        match row < rows.end && self.parts.spots.at(row) == spot {
            true => self.accesses.excerpt(self.parts.accesses(row)),
            false => Excerpt::default(),
        }
    }

    /// The number of a cell of the trace.
    fn number(&self, cell: CellId) -> Option<u32> {
        self.numbered.has(cell.0).then(|| self.numbered.before(cell.0))
    }

    /// The code positions of two spots, the smaller first.
    pub(super) fn positions(&self, (a, b): (u32, u32)) -> (CodePosition, CodePosition) {
        positions_of(self.list[a as usize].key.1, self.list[b as usize].key.1)
    }

    /// What the accesses of a cell are, spot by spot.
    fn parts(&self, cell: u32, parts: &mut Vec<Part>) {
        parts.clear();
        parts.extend(self.of_cell(cell).map(|(spot, accesses)| Part {
            spot,
            count: accesses.len() as u32,
            first: accesses.at(0),
            last: accesses.at(accesses.len() - 1),
        }));
    }

    /// Whether the accesses of a cell at two spots conflict; `freed`: and some at one of them frees the cell, or destroys
    /// it as an object that is used before that in π.
    fn is_pair(&self, a: &Part, b: &Part, freed: bool) -> bool {
        let spot = |part: &Part| &self.list[part.spot as usize];
        let ends = |ending: &Part, used: &Part| {
            let part = spot(ending).key.2;
            part.ends(spot(used).key.2) && (part.frees || ending.last > used.first)
        };
        spot(a).conflicts(spot(b)) && (!freed || ends(a, b) || ends(b, a))
    }

    /// Calls `each` with any two spots at which a cell has accesses that [are a pair](Self::is_pair).
    fn each_conflict(&self, parts: &[Part], freed: bool, mut each: impl FnMut(&Part, &Part)) {
        let mut look = |a: &Part, b: &Part| {
            if self.is_pair(a, b, freed) {
                each(a, b);
            }
        };
        // Many read a flag that one writes: two that read are not looked at.
        let writes = |at: &usize| self.list[parts[*at].spot as usize].key.2.writes;
        let writing: Vec<usize> = (0..parts.len()).filter(writes).collect();
        for at in 0..parts.len() {
            if writes(&at) {
                parts[at + 1..].iter().for_each(|other| look(&parts[at], other));
            } else {
                let after = writing.partition_point(|&other| other < at);
                writing[after..]
                    .iter()
                    .for_each(|&other| look(&parts[at], &parts[other]));
            }
        }
    }

    /// Finds the pairs of spots, but for those that `candidate` has no number for.
    pub(super) fn pair(
        &mut self,
        contexts: &LockContexts,
        freed: bool,
        mut candidate: impl FnMut((CodePosition, CodePosition), (EventId, EventId)) -> Option<u32>,
    ) {
        let (mut pairs, mut numbers) = (Vec::<SpotPair>::new(), HashMap::new());
        let mut parts = Vec::new();
        for cell in 0..self.cells() {
            self.parts(cell, &mut parts);
            self.each_conflict(&parts, freed, |a, b| {
                let first = (a.first.min(b.first), a.first.max(b.first));
                let spots = (a.spot, b.spot);
                let number = *numbers.entry(spots).or_insert_with(|| {
                    let Some(candidate) = candidate(self.positions(spots), first) else {
                        return NONE;
                    };
                    let [a, b] = [a, b].map(|part| &self.list[part.spot as usize]);
                    let all_clash = contexts.clash_in_all(a.held, b.held).unwrap_or_else(|| {
                        let [a, b] = [a, b].map(|spot| spot.contexts.iter().copied());
                        contexts.all_clash(a, b)
                    });
                    pairs.push(SpotPair {
                        spots,
                        instances: 0,
                        first,
                        cell,
                        cells: 0,
                        candidate,
                        all_clash,
                    });
                    pairs.len() as u32 - 1
                });
                if let Some(pair) = pairs.get_mut(number as usize) {
                    pair.instances += u64::from(a.count) * u64::from(b.count);
                    pair.cells += 1;
                    if first < pair.first {
                        (pair.first, pair.cell) = (first, cell);
                    }
                }
            });
        }
        self.list.iter_mut().for_each(|spot| spot.contexts = Vec::new());
        numbers.retain(|_, number| *number != NONE);
        (self.pairs, self.numbers, self.freed) = (pairs, numbers, freed);
    }

    /// The candidate of two spots; none, if the locks held exclude all instances.
    pub(super) fn open_candidate(&self, a: u32, b: u32) -> Option<u32> {
        let number = self.numbers.get(&(a.min(b), a.max(b)))?;
        let pair = &self.pairs[*number as usize];
        (!pair.all_clash).then_some(pair.candidate)
    }

    /// Calls `each` with the cell and the number of each spot that it has accesses at.
    pub(super) fn each_part(&self, mut each: impl FnMut(u32, u32)) {
        for cell in 0..self.cells() {
            self.of_cell(cell).for_each(|(spot, _)| each(cell, spot));
        }
    }

    /// Calls `each` with the position of each spot at which a cell has accesses that conflict with those at this one.
    pub(super) fn each_partner(&self, (cell, spot): (u32, u32), freed: bool, mut each: impl FnMut(CodePosition)) {
        let mut parts = Vec::new();
        self.parts(cell, &mut parts);
        let Some(at) = parts.iter().position(|part| part.spot == spot) else {
            return;
        };
        let others = parts.iter().filter(|other| self.is_pair(&parts[at], other, freed));
        others.for_each(|other| each(self.list[other.spot as usize].key.1));
    }

    /// All accesses of a cell in the order of π, each with its spot's number among the spots of that cell, which are
    /// put into `spots`.
    pub(super) fn in_order(&self, cell: u32, spots: &mut Vec<u32>, accesses: &mut Vec<(EventId, u32)>) {
        spots.clear();
        accesses.clear();
        for (spot, of_spot) in self.of_cell(cell) {
            of_spot.for_each(|id| accesses.push((id, spots.len() as u32)));
            spots.push(spot);
        }
        // Each is there once, and one number is compared faster than two.
        accesses.sort_unstable_by_key(|&(id, _)| id);
    }

    /// Calls `each` with the cells of which two accesses, one at each spot of a pair, may be concurrent, and with the
    /// accesses of the cell at the two, until it breaks. `count`: how many events of a thread precede an access; `cells`:
    /// how many cells have accesses at both.
    pub(super) fn each_open_cell(
        &self,
        trace: &Trace,
        count: &dyn Fn(EventId, ThreadId) -> u32,
        ((a, b), cells): ((u32, u32), u32),
        each: &mut EachCell<'_>,
    ) -> ControlFlow<()> {
        let [spot, other] = [a, b].map(|spot| &self.list[spot as usize]);
        let (mine, theirs) = (self.accesses(a), self.accesses(b));
        if mine.len() > theirs.len() {
            return self.each_open_cell(trace, count, ((b, a), cells), &mut |cell, b, a| each(cell, a, b));
        }
        let place = |id: EventId| trace.place(id);
        let mut found: HashSet<u32> = HashSet::new();
        let (mut low, mut high, mut at) = (0, 0, 0);
        while let Some(id) = mine.get(at) {
            // Both ends only move on: from where they were, mostly not far.
            let (before, own) = (count(id, other.thread()), place(id));
            low = first_from(theirs.len(), low, |at| place(theirs.at(at)) >= before);
            high = first_from(theirs.len(), high.max(low), |at| {
                count(theirs.at(at), spot.thread()) > own
            });
            let near = theirs.excerpt(low..high.max(low));
            let Some((first, last)) = near.first().zip(Excerpt::last(&near)) else {
                // So it is of all up to the first one that the next of the others does not come after.
                at = match theirs.get(low) {
                    Some(next) => {
                        let count = count(next, spot.thread());
                        first_from(mine.len(), at + 1, |at| place(mine.at(at)) >= count)
                    }
                    None => mine.len(),
                };
                continue;
            };
            let Some(access) = trace.access(id) else {
                at += 1;
                continue;
            };
            let mut look = |cell: CellId| {
                let Some(cell) = self.number(cell).filter(|cell| !found.contains(cell)) else {
                    return ControlFlow::Continue(());
                };
                let there = self.at(cell, b);
                let next = there.partition_point(|access| access < first);
                if there.get(next).is_some_and(|access| access <= last) {
                    found.insert(cell);
                    return each(cell, self.at(cell, a), there);
                }
                ControlFlow::Continue(())
            };
            // A free of a large block touches more cells than there are accesses to look at.
            if access.cells() > high - low {
                let mut touched = near.flat_map(|id| trace.cell_uses(id));
                touched.try_for_each(|used| match access.touches(used.cell) {
                    true => look(used.cell),
                    false => ControlFlow::Continue(()),
                })?;
            } else {
                trace.uses(access).try_for_each(|used| look(used.cell))?;
            }
            if found.len() == cells as usize && !self.freed {
                break;
            }
            at += 1;
        }
        ControlFlow::Continue(())
    }

    /// An instance of a pair in a cell that is not among some.
    pub(super) fn first_but_in(
        &self,
        trace: &Trace,
        pair: &SpotPair,
        cells: &HashSet<u32>,
    ) -> Option<(EventId, EventId)> {
        if !cells.contains(&pair.cell) {
            return Some(pair.first);
        }
        let (a, b) = pair.spots;
        self.accesses(a).find_map(|id| {
            trace.cell_uses(id).find_map(|used| {
                let cell = self.number(used.cell).filter(|cell| !cells.contains(cell))?;
                let other = self.at(cell, b).first()?;
                Some((id.min(other), id.max(other)))
            })
        })
    }

    /// Calls `each` with those of some accesses at a spot, in order, that share a cell with what frees or destroys it,
    /// until it breaks: some more than once.
    pub(super) fn each_of_ended(
        &self,
        trace: &Trace,
        ending: EventId,
        (spot, accesses): (u32, Excerpt<'_, EventId>),
        each: &mut dyn FnMut(EventId) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let bounds = accesses.first().zip(Excerpt::last(&accesses));
        let (Some((first, last)), Some(ending)) = (bounds, trace.access(ending)) else {
            return ControlFlow::Continue(());
        };
        if accesses.len() < ending.cells() {
            let is_shared = |&id: &EventId| {
                let mut touched = trace.cell_uses(id);
                touched.any(|used| ending.touches(used.cell) && self.number(used.cell).is_some())
            };
            return accesses.filter(is_shared).try_for_each(each);
        }
        trace.uses(ending).try_for_each(|used| {
            let there = self
                .number(used.cell)
                .map(|cell| self.at(cell, spot))
                .unwrap_or_default();
            let from = there.partition_point(|access| access < first);
            let until = there.partition_point(|access| access <= last);
            there.excerpt(from..until).try_for_each(&mut *each)
        })
    }
}

/// The accesses of a cell at a spot, each with what its thread holds: those that were asked about last, since a spot is
/// looked at with one after the other.
#[derive(Default)]
pub(super) struct HeldAt {
    /// The cell and the spot.
    of: Option<(u32, u32)>,
    held: Vec<Held>,
}

impl HeldAt {
    /// Those of a cell at a spot.
    fn of(&mut self, of: (u32, u32), contexts: &LockContexts, accesses: Excerpt<'_, EventId>) -> &[Held] {
        if self.of != Some(of) {
            self.held.clear();
            self.held.reserve(accesses.len());
            accesses.for_each(|id| self.held.push((id, contexts.of_access(id))));
            self.of = Some(of);
        }
        &self.held
    }

    /// Those at two spots.
    pub(super) fn of_both<'h>(
        [mine, theirs]: &'h mut [HeldAt; 2],
        contexts: &LockContexts,
        (cell, (a, b)): (u32, (u32, u32)),
        accesses: (Excerpt<'_, EventId>, Excerpt<'_, EventId>),
    ) -> (&'h [Held], &'h [Held]) {
        (
            mine.of((cell, a), contexts, accesses.0),
            theirs.of((cell, b), contexts, accesses.1),
        )
    }
}

/// The first place of a list from `from` on at which something holds that holds from there on; its length if there is
/// none. Takes time by how far that is from `from`.
pub(super) fn first_from(len: usize, from: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut step) = (from, 1);
    while low + step <= len && !holds(low + step - 1) {
        low += step;
        step *= 2;
    }
    let mut high = len.min(low + step);
    while low < high {
        let middle = low + (high - low) / 2;
        match holds(middle) {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::{Spot, Spots};
    use crate::trace::{AccessKind, EventId, ThreadId};

    #[test]
    fn neighbors_with_the_same_accesses_have_them_once() {
        const SPOTS: u32 = 6;
        let mut random = fastrand::Rng::with_seed(1);
        let mut spots = Spots::none();
        let key = |spot| (ThreadId(spot), 1, AccessKind::Write.part());
        spots.list.extend((0..SPOTS).map(|spot| Spot::new(key(spot))));
        // Some of a cell's accesses are not those of its neighbor; many are, and many again farther back.
        let mut lists = [(); SPOTS as usize].map(|()| Vec::new());
        let (mut cells, mut all) = (Vec::new(), 0);
        for cell in 0..500 {
            for list in &mut lists {
                if random.u32(0..4) == 0 {
                    let count = random.u32(0..12);
                    let first = random.u32(0..1000);
                    *list = (0..count).map(|at| EventId(first + at * at)).collect();
                }
            }
            let there = (0..SPOTS).zip(&lists).filter(|(_, list)| !list.is_empty());
            let parts: Vec<(u32, u32)> = there.map(|(spot, list)| (spot, list.len() as u32)).collect();
            let accesses = lists.concat();
            spots.push_cell(2 * cell, &parts, &accesses);
            all += accesses.len();
            cells.push(lists.clone());
        }
        spots.end_cells();
        for (cell, lists) in (0..).zip(&cells) {
            for (spot, list) in (0..SPOTS).zip(lists) {
                assert!(
                    spots.at(cell, spot).eq(list.iter().copied()),
                    "spot {spot} of cell {cell}"
                );
            }
        }
        let kept = spots.accesses.len();
        assert!(kept < all / 2 && kept > all / 8, "{kept} of {all}");
    }
}
