//! How spots are found: one region of memory after the other, so that what its accesses are sorted in is small, and stays
//! in the processor's cache.

use super::Scope;
use super::groups::{Crowded, FEW_THREADS};
use super::site::{Key, place_at, sites};
use super::spots::{Spot, Spots};
use crate::prune::LockContexts;
use crate::trace::{EventId, EventSet, Region, ThreadId, Trace};
use columns::Column;
use hashbrown::{HashMap, HashSet};

impl Spots {
    /// Finds them, and the cells that are crowded; if only what is `freed` counts, cells that somebody frees.
    pub(super) fn of(
        trace: &Trace,
        contexts: &LockContexts,
        scope: Option<&Scope>,
        freed: bool,
    ) -> (Spots, Vec<Crowded>) {
        let mut gathering = Gathering {
            trace,
            contexts,
            freed,
            found: Spots::none(),
            crowded: Vec::new(),
            of_access: Column::default(),
            wanted: EventSet::none_of(trace.len()),
            room: Room::default(),
        };
        let regions = gathering.regions(scope);
        gathering.room.next = vec![0; gathering.found.list.len()];
        for region in regions {
            gathering.region(&region);
        }
        gathering.finish()
    }
}

/// What is known of a cell after a first look at its accesses.
#[derive(Clone, Copy, Default)]
struct Seen {
    accesses: u32,
    first: Option<ThreadId>,
    shared: bool,
    written: bool,
}

impl Seen {
    /// The accesses that are looked at.
    fn wanted(self) -> u32 {
        match self.shared && self.written {
            true => self.accesses,
            false => 0,
        }
    }
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

struct Gathering<'g> {
    trace: &'g Trace,
    contexts: &'g LockContexts,
    freed: bool,
    found: Spots,
    crowded: Vec<Crowded>,
    /// The spot of each access and one, or 0 of what is none.
    of_access: Column,
    /// The accesses of cells that are shared and not crowded.
    wanted: EventSet,
    room: Room,
}

/// Room for the cell at hand.
#[derive(Default)]
struct Room {
    /// Its accesses, each with its spot, in the order of π.
    accesses: Vec<(EventId, u32)>,
    /// The spots that it has accesses at, and how many.
    parts: Vec<(u32, u32)>,
    /// By spot: how many accesses it has there, then where the next one goes; 0 between cells.
    next: Vec<u32>,
    sorted: Vec<EventId>,
    threads: HashSet<ThreadId>,
}

impl Gathering<'_> {
    /// The accesses of each region, and their spots.
    fn regions(&mut self, scope: Option<&Scope>) -> Vec<Region> {
        let trace = self.trace;
        let in_threads = trace.in_threads();
        let (mut turns, mut pcs) = (in_threads.walk(), trace.pcs());
        let mut known = Numbers::default();
        let (list, of_access) = (&mut self.found.list, &mut self.of_access);
        let accesses = trace.contested().filter(|&access| {
            let event = access.event;
            let pc = match scope.map(|scope| scope.positions.get(&event)) {
                None => place_at(trace, access, pcs.pc(event)),
                Some(Some(&position)) => position,
                Some(None) => return false,
            };
            let key = (turns.of(event).0, pc, access.kind.part());
            let spot = known.of(key, || {
                list.push(Spot::new(key));
                list.len() as u32 - 1
            });
            of_access.push_many(0, event.index() - of_access.len());
            of_access.push(spot + 1);
            true
        });
        let regions = Region::all(trace.cells().len(), accesses);
        self.of_access.end();
        regions
    }

    fn region(&mut self, region: &Region) {
        let mut seen = vec![Seen::default(); region.cells.len()];
        let mut spots = self.of_access.cursor();
        for (event, cells) in region.accesses() {
            let (thread, _, part) = self.found.list[spots.at(event.index()) as usize - 1].key;
            for seen in &mut seen[cells] {
                seen.accesses += 1;
                seen.shared |= *seen.first.get_or_insert(thread) != thread;
                seen.written |= match self.freed {
                    true => part.frees || part.destroys,
                    false => part.writes,
                };
            }
        }
        let counts: Vec<u32> = seen.iter().map(|seen| seen.wanted()).collect();
        for cells in Region::at_once(&counts) {
            let mut count = 0;
            let begin = |accesses: &u32| {
                let begin = count;
                count += *accesses as usize;
                begin
            };
            let mut next: Vec<usize> = counts[cells.clone()].iter().map(begin).collect();
            let mut accesses = vec![EventId(0); count];
            for (event, touched) in region.accesses() {
                for cell in touched.start.max(cells.start)..touched.end.min(cells.end) {
                    if counts[cell] > 0 {
                        let next = &mut next[cell - cells.start];
                        accesses[*next] = event;
                        *next += 1;
                    }
                }
            }
            let mut begin = 0;
            for (cell, end) in cells.zip(next) {
                self.cell(region.cells.start + cell, &accesses[begin..end]);
                begin = end;
            }
        }
    }

    /// A cell, and its accesses in the order of π; none, if it is not shared.
    fn cell(&mut self, cell: usize, accesses: &[EventId]) {
        if accesses.is_empty() {
            return;
        }
        let Room {
            accesses: of_cell,
            parts,
            next,
            sorted,
            threads,
        } = &mut self.room;
        of_cell.clear();
        of_cell.extend(
            accesses
                .iter()
                .map(|&event| (event, self.of_access.at(event.index()) - 1)),
        );
        let list = &self.found.list;
        let key = |spot: u32| list[spot as usize].key;
        if self.trace.threads() > FEW_THREADS {
            threads.clear();
            let is_crowded = of_cell.iter().any(|&(_, spot)| {
                threads.insert(key(spot).0);
                threads.len() > FEW_THREADS
            });
            if is_crowded {
                let uses = of_cell
                    .iter()
                    .map(|&(event, spot)| (key(spot), (event, self.contexts.of_access(event))));
                self.crowded.push(Crowded::new(self.contexts, sites(uses)));
                return;
            }
        }
        accesses.iter().for_each(|&event| self.wanted.insert(event));
        for &(_, spot) in of_cell.iter() {
            let count = &mut next[spot as usize];
            if *count == 0 {
                parts.push((spot, 0));
            }
            *count += 1;
        }
        parts.sort_unstable();
        let mut from = 0;
        for (spot, count) in parts.iter_mut() {
            *count = std::mem::replace(&mut next[*spot as usize], from);
            from += *count;
        }
        sorted.clear();
        sorted.resize(of_cell.len(), EventId(0));
        for &(event, spot) in of_cell.iter() {
            let next = &mut next[spot as usize];
            sorted[*next as usize] = event;
            *next += 1;
        }
        self.found.push_cell(cell, parts, sorted);
        parts.drain(..).for_each(|(spot, _)| next[spot as usize] = 0);
    }

    /// Fills in the accesses of each spot.
    fn finish(mut self) -> (Spots, Vec<Crowded>) {
        self.found.end_cells();
        let (mut spots, mut held) = (self.of_access.cursor(), self.contexts.walk());
        for event in self.wanted.events() {
            let spot = spots.at(event.index()) - 1;
            self.found.list[spot as usize].push(event, self.contexts, held.at(event.index()));
        }
        self.found.list.iter_mut().for_each(Spot::end);
        (self.found, self.crowded)
    }
}
