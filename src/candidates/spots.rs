//! Accesses by spot: one thread, one code position, one kind, whichever cells they touch.
//!
//! Threads hand arrays to each other as a whole, so of most pairs of spots every access at the one must happen before,
//! or after, every access at the other that shares a cell with it. The accesses at a spot are in program order: what
//! precedes them only grows. So whole stretches of them are passed at once, in all cells together, and only cells with
//! two accesses that may be concurrent are looked at.

use super::positions_of;
use super::site::{Held, Key};
use crate::prune::{LockContextId, LockContexts};
use crate::trace::{CellId, CodePosition, EventId, Marks, ThreadId, Trace};
use columns::{Column, Excerpt};
use hashbrown::{HashMap, HashSet};
use std::ops::{ControlFlow, Range};

/// Accesses by one thread at one position, all of one kind.
pub(super) struct Spot {
    pub(super) key: Key,
    /// All that may be of cells that are shared and not crowded, in program order.
    all: Column<EventId>,
    /// Until no cell follows: a bit for each of them that is of such a cell.
    used: Vec<u64>,
    /// Those that are, if others are not.
    some: Option<Box<Column<EventId>>>,
    /// What its thread holds at them, until pairs are found.
    contexts: Vec<LockContextId>,
}

impl Spot {
    /// Without accesses yet.
    pub(super) fn new(key: Key) -> Spot {
        Spot {
            key,
            all: Column::default(),
            used: Vec::new(),
            some: None,
            contexts: Vec::new(),
        }
    }

    /// Goes on by an access: the next one.
    pub(super) fn push(&mut self, access: EventId, held: LockContextId) {
        self.all.push(access);
        if self.contexts.last() != Some(&held) {
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

    /// No access follows.
    pub(super) fn end(&mut self) {
        self.all.end();
        self.used = vec![0; self.all.len().div_ceil(u64::BITS as usize)];
    }

    /// The place of an access among all, not far behind another.
    pub(super) fn place_of(&self, access: EventId, behind: u32) -> u32 {
        let all = self.all.all();
        all.partition_point_from(behind as usize, |other| other < access) as u32
    }

    /// The access at a place among all.
    pub(super) fn access(&self, place: u32) -> EventId {
        self.all.at(place as usize)
    }

    /// The cells are known: accesses of none do not count.
    fn end_cells(&mut self, contexts: &LockContexts) {
        let used = std::mem::take(&mut self.used);
        let is_used = |place: usize| used[place / u64::BITS as usize] >> (place % u64::BITS as usize) & 1 != 0;
        let count: usize = used.iter().map(|bits| bits.count_ones() as usize).sum();
        if count < self.all.len() {
            let some: Column<EventId> = (0..self.all.len())
                .filter(|&place| is_used(place))
                .map(|place| self.all.at(place))
                .collect();
            self.contexts.clear();
            some.all().for_each(|access| self.hold(contexts.of_access(access)));
            match count {
                0 => self.all = some,
                _ => self.some = Some(Box::new(some)),
            }
        }
        self.contexts.sort_unstable();
        self.contexts.dedup();
        self.contexts.shrink_to_fit();
    }

    /// The accesses of cells that are shared and not crowded.
    fn accesses(&self) -> Excerpt<'_, EventId> {
        self.some.as_deref().unwrap_or(&self.all).all()
    }

    /// Whether it has such.
    pub(super) fn is_there(&self) -> bool {
        !self.all.is_empty()
    }

    /// Where those of them at some places, of which these are the first and the last, are among all, and what is between.
    fn among_all(&self, places: Range<usize>, (first, last): (EventId, EventId)) -> Range<usize> {
        if self.some.is_none() {
            return places;
        }
        let all = self.all.all();
        all.partition_point(|access| access < first)..all.partition_point(|access| access <= last)
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
    cells: u32,
    rows: Rows,
    /// Until no cell follows.
    group: Group,
    pub(super) pairs: Vec<SpotPair>,
    numbers: HashMap<(u32, u32), u32>,
    /// Whether pairs count only the cells that are freed at one of the two.
    freed: bool,
}

const NONE: u32 = u32::MAX;

/// Neighboring cells, in the order of their numbers, that make up a group; in tests, so few that there are several.
const GROUP: u32 = if cfg!(test) { 8 } else { 64 };

/// Which accesses of a spot are of which cell: group by group of neighboring cells, in each spot by spot, at each cell by
/// cell. A spot's accesses of neighbors are near to each other, or the same: what copies or clears a block touches many
/// cells in one step. So the numbers here take few bits, and of neighbors with the same accesses these are kept once.
#[derive(Default)]
struct Rows {
    /// By group, where its rows begin.
    starts: Vec<u32>,
    /// By row: its spot, and where its lists begin; behind the last row, where these end.
    spots: Column,
    lists: Column,
    /// By list: the first cell of the group that has it, how many next to that have it as well, and where its accesses
    /// begin; behind the last one, where these end.
    first: Column,
    further: Column,
    accesses: Column,
    /// List by list, the accesses in the order of π: their places among all of the spot.
    places: Column,
}

impl Rows {
    fn push(&mut self, group: &mut Group) {
        self.starts.push(self.spots.len() as u32);
        group
            .parts
            .sort_unstable_by_key(|part| u64::from(part.spot) << u32::BITS | u64::from(part.cell));
        for row in group.parts.chunk_by(|one, next| one.spot == next.spot) {
            self.spots.push(row[0].spot);
            self.lists.push(self.first.len() as u32);
            let alike = row.chunk_by(|one, next| {
                one.cell + 1 == next.cell && group.places[one.places()] == group.places[next.places()]
            });
            for list in alike {
                self.first.push(list[0].cell);
                self.further.push(list.len() as u32 - 1);
                let begin = u32::try_from(self.places.len()).expect("a trace has fewer accesses of cells");
                self.accesses.push(begin);
                let places = &group.places[list[0].places()];
                places.iter().for_each(|&place| self.places.push(place));
            }
        }
        group.parts.clear();
        group.places.clear();
    }

    fn end(&mut self) {
        self.starts.push(self.spots.len() as u32);
        self.starts.shrink_to_fit();
        self.lists.push(self.first.len() as u32);
        self.accesses.push(self.places.len() as u32);
        let columns = [
            &mut self.spots,
            &mut self.lists,
            &mut self.first,
            &mut self.further,
            &mut self.accesses,
            &mut self.places,
        ];
        columns.into_iter().for_each(Column::end);
    }

    /// Those of a group.
    fn of_group(&self, group: u32) -> Range<usize> {
        self.starts[group as usize] as usize..self.starts[group as usize + 1] as usize
    }

    fn lists(&self, row: usize) -> Range<usize> {
        self.lists.at(row) as usize..self.lists.at(row + 1) as usize
    }

    fn places(&self, list: usize) -> Excerpt<'_> {
        let (begin, end) = (self.accesses.at(list), self.accesses.at(list + 1));
        self.places.excerpt(begin as usize..end as usize)
    }

    /// The list of a cell at a spot.
    fn list(&self, cell: u32, spot: u32) -> Option<usize> {
        let rows = self.of_group(cell / GROUP);
        let spots = self.spots.excerpt(rows.clone());
        let before = spots.partition_point(|other| other < spot);
        spots.get(before).filter(|&other| other == spot)?;
        self.of_cell(rows.start + before, cell % GROUP)
    }

    /// The list of a row that a cell of its group has.
    fn of_cell(&self, row: usize, cell: u32) -> Option<usize> {
        let lists = self.lists(row);
        let behind = self.first.excerpt(lists.clone()).partition_point(|first| first <= cell);
        let list = lists.start + behind.checked_sub(1)?;
        (cell - self.first.at(list) <= self.further.at(list)).then_some(list)
    }
}

/// The cells that came last, until there are enough for a group.
#[derive(Default)]
struct Group {
    cells: u32,
    parts: Vec<Grouped>,
    places: Vec<u32>,
}

/// The accesses of a cell of a group at a spot: where their places are.
struct Grouped {
    spot: u32,
    cell: u32,
    begin: u32,
    end: u32,
}

impl Grouped {
    fn places(&self) -> Range<usize> {
        self.begin as usize..self.end as usize
    }
}

/// The accesses of a cell at a spot, in the order of π.
#[derive(Clone)]
pub(super) struct AtSpot<'s> {
    all: &'s Column<EventId>,
    places: Excerpt<'s>,
}

impl<'s> AtSpot<'s> {
    /// At least one.
    fn len(&self) -> usize {
        self.places.len()
    }

    fn at(&self, at: usize) -> EventId {
        self.all.at(self.places.at(at) as usize)
    }

    fn first(&self) -> EventId {
        self.at(0)
    }

    fn last(&self) -> EventId {
        self.at(self.len() - 1)
    }

    fn iter(&self) -> impl Iterator<Item = EventId> + use<'s> {
        let all = self.all;
        self.places.clone().map(move |place| all.at(place as usize))
    }

    fn partition_point(&self, is_such: impl Fn(EventId) -> bool) -> usize {
        self.places
            .partition_point(|place| is_such(self.all.at(place as usize)))
    }
}

/// Is given a cell, and its accesses at two spots.
type EachCell<'e> = dyn FnMut(u32, AtSpot<'_>, AtSpot<'_>) -> ControlFlow<()> + 'e;

/// The accesses of one cell at one spot.
#[derive(Clone, Copy)]
struct Part {
    spot: u32,
    count: u32,
    first: EventId,
    last: EventId,
}

impl Spots {
    /// Goes on by a later cell of the trace: the spots of its accesses, rising, how many each has there, and the places of
    /// all of these accesses among those of their spots, spot by spot, rising.
    pub(super) fn push_cell(&mut self, cell: usize, parts: &[(u32, u32)], places: &[u32]) {
        self.numbered.skip_to(cell as u32);
        self.numbered.push(true);
        self.cells += 1;
        let group = &mut self.group;
        let mut begin = group.places.len() as u32;
        group.places.extend_from_slice(places);
        for &(spot, count) in parts {
            let end = begin + count;
            let used = &mut self.list[spot as usize].used;
            for place in &group.places[begin as usize..end as usize] {
                used[(place / u64::BITS) as usize] |= 1 << (place % u64::BITS);
            }
            group.parts.push(Grouped {
                spot,
                cell: group.cells,
                begin,
                end,
            });
            begin = end;
        }
        group.cells += 1;
        if group.cells == GROUP {
            self.rows.push(group);
            group.cells = 0;
        }
    }

    /// No cell follows.
    pub(super) fn end_cells(&mut self, contexts: &LockContexts) {
        let mut group = std::mem::take(&mut self.group);
        if group.cells > 0 {
            self.rows.push(&mut group);
        }
        drop(group);
        self.rows.end();
        self.list.iter_mut().for_each(|spot| spot.end_cells(contexts));
        tracing::debug!(
            cells = self.cells(),
            rows = self.rows.spots.len(),
            lists = self.rows.first.len(),
            spots = self.list.len(),
            accesses = self.rows.places.len(),
            "spots"
        );
    }

    /// The accesses at a spot of cells that are shared and not crowded.
    pub(super) fn accesses(&self, spot: u32) -> Excerpt<'_, EventId> {
        self.list[spot as usize].accesses()
    }

    /// How many cells there are, crowded ones apart.
    pub(super) fn cells(&self) -> u32 {
        self.cells
    }

    /// The accesses in a list.
    fn in_list(&self, spot: u32, list: usize) -> AtSpot<'_> {
        AtSpot {
            all: &self.list[spot as usize].all,
            places: self.rows.places(list),
        }
    }

    /// The accesses of a cell, spot by spot.
    fn of_cell(&self, cell: u32) -> impl Iterator<Item = (u32, AtSpot<'_>)> {
        let rows = self.rows.of_group(cell / GROUP);
        rows.filter_map(move |row| {
            let list = self.rows.of_cell(row, cell % GROUP)?;
            let spot = self.rows.spots.at(row);
            Some((spot, self.in_list(spot, list)))
        })
    }

    /// The accesses of a cell at a spot, if there are any.
    fn at(&self, cell: u32, spot: u32) -> Option<AtSpot<'_>> {
        let list = self.rows.list(cell, spot)?;
        Some(self.in_list(spot, list))
    }

    /// The number of a cell of the trace.
    fn number(&self, cell: CellId) -> Option<u32> {
        self.numbered.has(cell.0).then(|| self.numbered.before(cell.0))
    }

    /// The code positions of two spots, the smaller first.
    pub(super) fn positions(&self, (a, b): (u32, u32)) -> (CodePosition, CodePosition) {
        positions_of(self.list[a as usize].key.1, self.list[b as usize].key.1)
    }

    /// What some accesses at a spot are.
    fn part(spot: u32, accesses: &AtSpot<'_>) -> Part {
        Part {
            spot,
            count: accesses.len() as u32,
            first: accesses.first(),
            last: accesses.last(),
        }
    }

    /// Calls `each` with each cell, and what its accesses are, spot by spot. A group at a time: neighbors share lists.
    fn each_cell(&self, mut each: impl FnMut(u32, &[Part])) {
        let mut of_cells = vec![Vec::new(); GROUP as usize];
        for begin in (0..self.cells).step_by(GROUP as usize) {
            for row in self.rows.of_group(begin / GROUP) {
                let spot = self.rows.spots.at(row);
                for list in self.rows.lists(row) {
                    let part = Spots::part(spot, &self.in_list(spot, list));
                    let first = self.rows.first.at(list) as usize;
                    let cells = first..=first + self.rows.further.at(list) as usize;
                    of_cells[cells]
                        .iter_mut()
                        .for_each(|parts: &mut Vec<Part>| parts.push(part));
                }
            }
            for (cell, parts) in (begin..self.cells).zip(&mut of_cells) {
                each(cell, parts);
                parts.clear();
            }
        }
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
        self.each_cell(|cell, parts| {
            self.each_conflict(parts, freed, |a, b| {
                let first = (a.first.min(b.first), a.first.max(b.first));
                let spots = (a.spot, b.spot);
                let number = *numbers.entry(spots).or_insert_with(|| {
                    let Some(candidate) = candidate(self.positions(spots), first) else {
                        return NONE;
                    };
                    let [a, b] = [a, b].map(|part| self.list[part.spot as usize].contexts.iter().copied());
                    pairs.push(SpotPair {
                        spots,
                        instances: 0,
                        first,
                        cell,
                        cells: 0,
                        candidate,
                        all_clash: contexts.all_clash(a, b),
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
        });
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
        self.each_cell(|cell, parts| parts.iter().for_each(|part| each(cell, part.spot)));
    }

    /// Calls `each` with the position of each spot at which a cell has accesses that conflict with those at this one.
    pub(super) fn each_partner(&self, (cell, spot): (u32, u32), freed: bool, mut each: impl FnMut(CodePosition)) {
        let parts: Vec<Part> = self
            .of_cell(cell)
            .map(|(spot, accesses)| Spots::part(spot, &accesses))
            .collect();
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
            accesses.extend(of_spot.iter().map(|id| (id, spots.len() as u32)));
            spots.push(spot);
        }
        accesses.sort_unstable();
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
            let places = other.among_all(low..high, (first, last));
            let mut look = |cell: CellId| {
                let Some(cell) = self.number(cell).filter(|cell| !found.contains(cell)) else {
                    return ControlFlow::Continue(());
                };
                let Some(there) = self.at(cell, b) else {
                    return ControlFlow::Continue(());
                };
                let next = there.places.partition_point(|place| (place as usize) < places.start);
                if there
                    .places
                    .get(next)
                    .is_some_and(|place| (place as usize) < places.end)
                    && let Some(here) = self.at(cell, a)
                {
                    found.insert(cell);
                    return each(cell, here, there);
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
                let other = self.at(cell, b)?.first();
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
            let Some(there) = self.number(used.cell).and_then(|cell| self.at(cell, spot)) else {
                return ControlFlow::Continue(());
            };
            let from = there.partition_point(|access| access < first);
            let until = there.partition_point(|access| access <= last);
            (from..until).try_for_each(|at| each(there.at(at)))
        })
    }

    /// Accesses, each with what its thread holds.
    pub(super) fn held(contexts: &LockContexts, accesses: &AtSpot<'_>, held: &mut Vec<Held>) {
        held.clear();
        held.extend(accesses.iter().map(|id| (id, contexts.of_access(id))));
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
    use super::{Part, Spot, Spots};
    use crate::prune::{LockContextId, LockContexts};
    use crate::trace::{AccessKind, EventId, Sections, ThreadId, Trace};
    use trace_format::{Event, Op, StackId, Tables};

    const SPOTS: u32 = 6;
    const ACCESSES: u32 = 400;

    /// The events of each cell at each spot.
    type Cells = Vec<Vec<Vec<EventId>>>;

    /// Spots, the accesses of which take turns, with random cells: some of a cell's accesses are not those of its neighbor;
    /// many are.
    fn random_spots(random: &mut fastrand::Rng, cells: usize) -> (Spots, Cells) {
        let branch = Event {
            thread: ThreadId(0),
            pc: 1,
            stack: StackId::EMPTY,
            op: Op::Branch,
        };
        let trace = Trace::from_events(Tables::default(), &vec![branch; (SPOTS * ACCESSES) as usize]);
        let contexts = LockContexts::of(&trace, &Sections::of(&trace));
        let mut spots = Spots::default();
        for spot in 0..SPOTS {
            let mut made = Spot::new((ThreadId(spot), 1, AccessKind::Write.part()));
            (0..ACCESSES).for_each(|place| made.push(EventId(place * SPOTS + spot), LockContextId(0)));
            made.end();
            spots.list.push(made);
        }
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); SPOTS as usize];
        let mut all = Vec::new();
        for cell in 0..cells {
            for list in &mut lists {
                if random.u32(0..4) == 0 {
                    let mut places: Vec<u32> = (0..random.u32(0..12)).map(|_| random.u32(0..ACCESSES)).collect();
                    places.sort_unstable();
                    places.dedup();
                    *list = places;
                }
            }
            // Without those at some spots, which the next cell may have again.
            let mut here = lists.clone();
            here.iter_mut().filter(|_| random.u32(0..10) == 0).for_each(Vec::clear);
            let there = (0..SPOTS).zip(&here).filter(|(_, list)| !list.is_empty());
            let parts: Vec<(u32, u32)> = there.map(|(spot, list)| (spot, list.len() as u32)).collect();
            spots.push_cell(2 * cell, &parts, &here.concat());
            let event = |spot: u32, place: u32| EventId(place * SPOTS + spot);
            let events = (0..SPOTS).zip(&here);
            all.push(
                events
                    .map(|(spot, list)| list.iter().map(|&place| event(spot, place)).collect())
                    .collect(),
            );
        }
        spots.end_cells(&contexts);
        (spots, all)
    }

    #[test]
    fn each_cell_has_its_accesses_at_each_spot() {
        let mut random = fastrand::Rng::with_seed(1);
        // The last group is full, or not.
        for cells in [1, 8, 496, 501] {
            let (spots, all) = random_spots(&mut random, cells);
            let mut seen: Cells = Vec::new();
            spots.each_cell(|cell, parts| {
                assert_eq!(cell as usize, seen.len());
                let mut lists = vec![Vec::new(); SPOTS as usize];
                for &Part {
                    spot,
                    count,
                    first,
                    last,
                } in parts
                {
                    let list = &all[cell as usize][spot as usize];
                    assert_eq!((Some(&first), Some(&last)), (list.first(), list.last()));
                    assert_eq!(count as usize, list.len());
                    lists[spot as usize] = spots.at(cell, spot).expect("it is there").iter().collect();
                }
                seen.push(lists);
            });
            assert_eq!(seen, all);
            for (cell, lists) in (0..).zip(&all) {
                for (spot, list) in (0..SPOTS).zip(lists) {
                    assert_eq!(spots.at(cell, spot).is_none(), list.is_empty());
                }
                let of_cell = spots
                    .of_cell(cell)
                    .map(|(spot, accesses)| (spot, accesses.iter().collect()));
                let expected = (0..SPOTS)
                    .zip(lists.iter().cloned())
                    .filter(|(_, list)| !list.is_empty());
                assert_eq!(
                    of_cell.collect::<Vec<(u32, Vec<EventId>)>>(),
                    expected.collect::<Vec<_>>()
                );
            }
        }
    }

    #[test]
    fn neighbors_with_the_same_accesses_have_them_once() {
        let (spots, all) = random_spots(&mut fastrand::Rng::with_seed(2), 500);
        let (kept, all) = (spots.rows.places.len(), all.concat().concat().len());
        assert!(kept < all / 2 && kept > all / 8, "{kept} of {all}");
    }

    #[test]
    fn accesses_of_no_cell_do_not_count() {
        let mut random = fastrand::Rng::with_seed(3);
        let (mut none, mut some) = (0, 0);
        for cells in [1, 1, 2, 20, 500] {
            let (spots, all) = random_spots(&mut random, cells);
            for spot in 0..SPOTS {
                let mut expected: Vec<EventId> = all.iter().flat_map(|lists| lists[spot as usize].clone()).collect();
                expected.sort_unstable();
                expected.dedup();
                let here = &spots.list[spot as usize];
                assert_eq!(here.accesses().collect::<Vec<_>>(), expected);
                assert_eq!(here.is_there(), !expected.is_empty());
                none += usize::from(expected.is_empty());
                some += usize::from(here.some.is_some());
                if let [first, .., last] = expected[..] {
                    let among_all = here.among_all(0..expected.len(), (first, last));
                    let accesses: Vec<EventId> = among_all.map(|place| here.access(place as u32)).collect();
                    assert!(expected.iter().all(|access| accesses.contains(access)));
                    assert_eq!((accesses.first(), accesses.last()), (Some(&first), Some(&last)));
                }
            }
        }
        assert!(none > 3 && some > 10, "{none} {some}");
    }
}
