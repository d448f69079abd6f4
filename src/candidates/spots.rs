//! Accesses by spot: one thread, one code position, one kind, whichever cells they touch.
//!
//! Threads hand arrays to each other as a whole, so of most pairs of spots every access at the one must happen before,
//! or after, every access at the other that shares a cell with it. The accesses at a spot are in program order: what
//! precedes them only grows. So whole stretches of them are passed at once, in all cells together, and only cells with
//! two accesses that may be concurrent are looked at.

use super::groups::{Crowded, FEW_THREADS};
use super::site::{Held, Key, place, sites};
use super::{Scope, positions_of};
use crate::prune::{LockContextId, LockContexts};
use crate::trace::{Access, CellId, CodePosition, EventId, EventSet, ThreadId, Trace};
use columns::{Column, Excerpt};
use hashbrown::{HashMap, HashSet};
use std::ops::{ControlFlow, Range};

/// Accesses by one thread at one position, all of one kind, in program order.
pub(super) struct Spot {
    pub(super) key: Key,
    /// Those of cells that are shared and not crowded.
    pub(super) accesses: Column<EventId>,
    /// What its thread holds at them.
    contexts: Vec<LockContextId>,
}

impl Spot {
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
    /// The spot of each access and one, or 0, until that is known from the cells.
    of_access: Column,
    /// The number of each cell of the trace among those that are shared and not crowded, or [`NONE`].
    number: Vec<u32>,
    /// By the number of a cell, where its accesses begin; once they are sorted, where its rows of `parts` do.
    starts: Vec<u32>,
    /// Cell by cell, the spots of its accesses, and where those at each begin; at the end, where the last ones end.
    parts: Parts,
    /// Cell by cell, and for each spot by spot, in the order of π.
    accesses: Column<EventId>,
    pub(super) pairs: Vec<SpotPair>,
    numbers: HashMap<(u32, u32), u32>,
    /// Whether pairs count only the cells that are freed at one of the two.
    freed: bool,
}

const NONE: u32 = u32::MAX;

/// Rows: a spot, and where its accesses begin.
#[derive(Default)]
struct Parts {
    spots: Column,
    starts: Column,
}

impl Parts {
    fn push(&mut self, spot: u32, start: u32) {
        self.spots.push(spot);
        self.starts.push(start);
    }

    fn len(&self) -> usize {
        self.spots.len()
    }

    /// The accesses of a row: until those of the next one begin.
    fn accesses(&self, row: usize) -> Range<usize> {
        self.starts.at(row) as usize..self.starts.at(row + 1) as usize
    }
}

/// The spot of an access that has one.
fn spot_of(of_access: &Column, access: EventId) -> u32 {
    of_access.at(access.index()) - 1
}

/// Is given a cell, and its accesses at two spots.
type EachCell<'e> = dyn FnMut(u32, Excerpt<'_, EventId>, Excerpt<'_, EventId>) -> ControlFlow<()> + 'e;

/// What is known of a cell after a first look at its accesses.
#[derive(Clone, Copy, Default)]
struct Seen {
    accesses: u32,
    first: Option<ThreadId>,
    shared: bool,
    written: bool,
}

/// The number of each spot, and those that were asked for last by some bits of what they are told apart by.
struct Numbers {
    known: HashMap<Key, u32>,
    last: Vec<Option<(Key, u32)>>,
}

/// Spots that are found without a look at the table of all.
const LAST: usize = 1 << 12;

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers {
            known: HashMap::new(),
            last: vec![None; LAST],
        }
    }
}

impl Numbers {
    fn of(&mut self, key: Key, new: impl FnOnce() -> u32) -> u32 {
        let (thread, pc, part) = key;
        let mixed = pc ^ u64::from(thread.0) << 20 ^ u64::from(part.writes) << 40;
        let hash = mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - LAST.ilog2());
        match &mut self.last[hash as usize] {
            Some((last, number)) if *last == key => *number,
            last => {
                let number = *self.known.entry(key).or_insert_with(new);
                *last = Some((key, number));
                number
            }
        }
    }
}

/// The accesses of one cell at one spot.
struct Part {
    spot: u32,
    count: u32,
    first: EventId,
    last: EventId,
}

impl Spots {
    /// Finds them, and the cells that are crowded; if only what is `freed` counts, cells that somebody frees.
    pub(super) fn of(
        trace: &Trace,
        contexts: &LockContexts,
        scope: Option<&Scope>,
        freed: bool,
    ) -> (Spots, Vec<Crowded>) {
        let in_scope = |access: &Access| scope.is_none_or(|scope| scope.positions.contains_key(&access.event));
        let mut seen = vec![Seen::default(); trace.cells().len()];
        for access in trace.contested().filter(in_scope) {
            let thread = trace.thread(access.event);
            for used in trace.uses(access) {
                let seen = &mut seen[used.cell.index()];
                seen.accesses += 1;
                seen.shared |= *seen.first.get_or_insert(thread) != thread;
                seen.written |= match freed {
                    true => access.kind.ends(),
                    false => access.kind.writes(),
                };
            }
        }
        let mut found = Spots {
            number: vec![NONE; seen.len()],
            starts: vec![0],
            ..Spots::default()
        };
        for (cell, seen) in seen.iter().enumerate().filter(|(_, seen)| seen.shared && seen.written) {
            found.number[cell] = found.starts.len() as u32 - 1;
            found.starts.push(found.starts[found.starts.len() - 1] + seen.accesses);
        }
        drop(seen);
        let mut next = found.starts.clone();
        let mut accesses = vec![EventId(0); found.starts[found.starts.len() - 1] as usize];
        let mut known = Numbers::default();
        for access in trace.contested().filter(in_scope) {
            let id = access.event;
            let mut is_shared = false;
            for used in trace.uses(access) {
                let cell = found.number[used.cell.index()];
                if cell != NONE {
                    is_shared = true;
                    accesses[next[cell as usize] as usize] = id;
                    next[cell as usize] += 1;
                }
            }
            if is_shared {
                let pc = scope.map_or_else(|| place(trace, access), |scope| scope.positions[&access.event]);
                let key = (trace.thread(access.event), pc, access.kind.part());
                let spot = known.of(key, || {
                    found.list.push(Spot {
                        key,
                        accesses: Column::default(),
                        contexts: Vec::new(),
                    });
                    found.list.len() as u32 - 1
                });
                found.of_access.push_many(0, id.index() - found.of_access.len());
                found.of_access.push(spot + 1);
            }
        }
        found.of_access.end();
        drop(next);
        let crowded = found.take_crowded(trace, contexts, &mut accesses);
        found.order(&mut accesses);
        found.fill(contexts, &accesses);
        found.accesses = accesses.into_iter().collect();
        tracing::debug!(
            cells = found.cells(),
            parts = found.parts.len(),
            spots = found.list.len(),
            accesses = found.accesses.len(),
            "spots"
        );
        (found, crowded)
    }

    /// Takes out the cells that many threads access.
    fn take_crowded(&mut self, trace: &Trace, contexts: &LockContexts, all: &mut Vec<EventId>) -> Vec<Crowded> {
        if trace.threads() <= FEW_THREADS {
            return Vec::new();
        }
        let mut crowded = Vec::new();
        let mut threads: HashSet<ThreadId> = HashSet::new();
        for number in &mut self.number {
            let Some(until) = self
                .starts
                .get((*number).wrapping_add(1) as usize)
                .filter(|_| *number != NONE)
            else {
                continue;
            };
            let accesses = &all[self.starts[*number as usize] as usize..*until as usize];
            threads.clear();
            let key = |id: EventId| self.list[spot_of(&self.of_access, id) as usize].key;
            let is_crowded = accesses.iter().any(|&id| {
                threads.insert(key(id).0);
                threads.len() > FEW_THREADS
            });
            if is_crowded {
                let uses = accesses.iter().map(|&id| (key(id), (id, contexts.of_access(id))));
                crowded.push(Crowded::new(contexts, sites(uses)));
                *number = NONE;
            }
        }
        if !crowded.is_empty() {
            self.leave_out_crowded(all);
        }
        crowded
    }

    /// Numbers the cells anew that are left, and forgets the accesses of the others.
    fn leave_out_crowded(&mut self, accesses: &mut Vec<EventId>) {
        let (starts, all) = (std::mem::take(&mut self.starts), std::mem::take(accesses));
        self.starts.push(0);
        for number in self.number.iter_mut().filter(|number| **number != NONE) {
            let of_cell = &all[starts[*number as usize] as usize..starts[*number as usize + 1] as usize];
            *number = self.starts.len() as u32 - 1;
            accesses.extend_from_slice(of_cell);
            self.starts.push(accesses.len() as u32);
        }
    }

    /// Sorts the accesses of each cell by their spots.
    fn order(&mut self, all: &mut [EventId]) {
        // By spot: how many accesses the cell at hand has there, then where the next one goes; 0 between cells.
        let mut next: Vec<u32> = vec![0; self.list.len()];
        let (mut met, mut of_cell): (Vec<u32>, Vec<(EventId, u32)>) = (Vec::new(), Vec::new());
        let starts = std::mem::take(&mut self.starts);
        self.starts.reserve_exact(starts.len());
        for bounds in starts.windows(2) {
            self.starts.push(self.parts.len() as u32);
            let accesses = &mut all[bounds[0] as usize..bounds[1] as usize];
            of_cell.clear();
            of_cell.extend(accesses.iter().map(|&id| (id, spot_of(&self.of_access, id))));
            for &(_, spot) in &of_cell {
                let count = &mut next[spot as usize];
                if *count == 0 {
                    met.push(spot);
                }
                *count += 1;
            }
            met.sort_unstable();
            let mut from = 0;
            for &spot in &met {
                self.parts.push(spot, bounds[0] + from);
                from += std::mem::replace(&mut next[spot as usize], from);
            }
            for &(id, spot) in &of_cell {
                let next = &mut next[spot as usize];
                accesses[*next as usize] = id;
                *next += 1;
            }
            met.drain(..).for_each(|spot| next[spot as usize] = 0);
        }
        self.starts.push(self.parts.len() as u32);
        self.parts.push(0, all.len() as u32);
        self.parts.spots.end();
        self.parts.starts.end();
    }

    /// Fills in the accesses of each spot.
    fn fill(&mut self, contexts: &LockContexts, accesses: &[EventId]) {
        let mut wanted = EventSet::none_of(self.of_access.len());
        accesses.iter().for_each(|&id| wanted.insert(id));
        for id in wanted.events() {
            let spot = spot_of(&self.of_access, id);
            let spot = &mut self.list[spot as usize];
            spot.accesses.push(id);
            let held = contexts.of_access(id);
            if spot.contexts.last() != Some(&held) {
                spot.contexts.push(held);
            }
        }
        self.of_access = Column::default();
        for spot in &mut self.list {
            spot.accesses.end();
            spot.contexts.sort_unstable();
            spot.contexts.dedup();
            spot.contexts.shrink_to_fit();
        }
    }

    /// How many cells there are, crowded ones apart.
    pub(super) fn cells(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    /// The rows of a cell.
    fn rows(&self, cell: u32) -> Range<usize> {
        self.starts[cell as usize] as usize..self.starts[cell as usize + 1] as usize
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
        Some(self.number[cell.index()]).filter(|&number| number != NONE)
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
        }
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
            accesses.extend(of_spot.map(|id| (id, spots.len() as u32)));
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
        if spot.accesses.len() > other.accesses.len() {
            return self.each_open_cell(trace, count, ((b, a), cells), &mut |cell, b, a| each(cell, a, b));
        }
        let place = |id: EventId| trace.place(id);
        let (mine, theirs) = (spot.accesses.all(), other.accesses.all());
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
        self.list[a as usize].accesses.all().find_map(|id| {
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

    /// Accesses, each with what its thread holds.
    pub(super) fn held(contexts: &LockContexts, accesses: Excerpt<'_, EventId>, held: &mut Vec<Held>) {
        held.clear();
        held.extend(accesses.map(|id| (id, contexts.of_access(id))));
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
