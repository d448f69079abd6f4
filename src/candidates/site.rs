//! The accesses of a cell, by thread, code position and kind.

use super::Scope;
use super::groups::{ALONE, Class};
use crate::prune::{LockContextId, LockContexts};
use crate::semantics::conflict::Part;
use crate::trace::{Access, AccessId, CodePosition, EventId, ThreadId, Trace};
use hashbrown::HashMap;

/// Sites of a cell up to which one is found by a look at each.
const FEW: usize = 8;

/// An access, with what its thread holds.
pub(super) type Held = (EventId, LockContextId);

/// Accesses of one cell by one thread at one position, all of one kind, in program order; or of several cells that are
/// [alike](Class).
#[derive(Clone, Debug)]
pub(super) struct Site {
    pub(super) thread: ThreadId,
    /// The position, or what the scope puts in its place.
    pub(super) pc: CodePosition,
    pub(super) part: Part,
    /// Each access, with what its thread holds: once for each of the cells that it touches.
    pub(super) events: Vec<Held>,
    /// Of several cells, the one of each access; empty if there is one alone.
    pub(super) cells: Vec<u32>,
    /// Whether its thread holds the same at all.
    same_held: bool,
}

impl Site {
    fn new((thread, pc, part): Key) -> Site {
        Site {
            thread,
            pc,
            part,
            events: Vec::new(),
            cells: Vec::new(),
            same_held: false,
        }
    }

    fn key(&self) -> Key {
        (self.thread, self.pc, self.part)
    }

    pub(super) fn conflicts(&self, other: &Site) -> bool {
        self.thread != other.thread && self.part.conflicts(other.part)
    }

    /// The first access.
    pub(super) fn first(&self) -> EventId {
        self.events[0].0
    }

    /// The last access.
    pub(super) fn last(&self) -> EventId {
        self.events[self.events.len() - 1].0
    }

    /// What its thread holds at its accesses, some of it more than once.
    pub(super) fn contexts(&self) -> impl Iterator<Item = LockContextId> + Clone + '_ {
        let different = if self.same_held { 1 } else { self.events.len() };
        self.events[..different].iter().map(|&(_, held)| held)
    }
}

/// What sites are told apart by.
type Key = (ThreadId, CodePosition, Part);

/// What cells are alike by: their sites in the order of their first accesses, with what is held there, if that is the
/// same at all of them.
type Likeness = [(Key, Option<LockContextId>)];

/// The candidate that each two groups of a cell belong to: a table, unless there are too many groups for one.
pub(super) struct GroupNumbers {
    groups: usize,
    table: Option<Vec<u32>>,
}

impl GroupNumbers {
    /// Groups of a cell up to which there is a table, of a megabyte then.
    const MOST: usize = 512;

    /// No two of so many belong to any yet.
    pub(super) fn of(groups: usize) -> GroupNumbers {
        GroupNumbers {
            groups,
            table: (groups <= Self::MOST).then(|| vec![u32::MAX; groups * groups]),
        }
    }

    pub(super) fn set(&mut self, a: u32, b: u32, number: u32) {
        if let Some(table) = &mut self.table {
            table[a as usize * self.groups + b as usize] = number;
            table[b as usize * self.groups + a as usize] = number;
        }
    }

    /// The candidate, if there is one; without a table, `search` finds it.
    pub(super) fn get(&self, a: u32, b: u32, search: impl FnOnce() -> Option<u32>) -> Option<u32> {
        let Some(table) = &self.table else {
            return search();
        };
        let number = table[a as usize * self.groups + b as usize];
        (number != u32::MAX).then_some(number)
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

/// The place of a cell: its class, and its number there; both [`NONE`] if it is in none.
type Place = (u32, u32);

const NONE: u32 = u32::MAX;

/// The sites of each cell that more than one thread accesses and somebody writes, by classes of cells that are alike;
/// if only what is `freed` counts, frees.
pub(super) fn classes(trace: &Trace, contexts: &LockContexts, scope: Option<&Scope>, freed: bool) -> Vec<Class> {
    let in_scope = |access: &Access| scope.is_none_or(|scope| scope.positions.contains_key(&access.event));
    let key = |access: Access| {
        let pc = scope.map_or_else(|| place(trace, access), |scope| scope.positions[&access.event]);
        (trace.thread(access.event), pc, access.kind.part())
    };
    let mut seen = vec![Seen::default(); trace.cells().len()];
    for access in trace.accesses().filter(in_scope) {
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
    // The number of each such cell among them, and where its accesses begin.
    let mut number = vec![NONE; seen.len()];
    let mut starts = vec![0_u32];
    for (cell, seen) in seen.iter().enumerate().filter(|(_, seen)| seen.shared && seen.written) {
        number[cell] = starts.len() as u32 - 1;
        starts.push(starts[starts.len() - 1] + seen.accesses);
    }
    drop(seen);
    let mut next = starts.clone();
    let mut accesses = vec![AccessId(0); starts[starts.len() - 1] as usize];
    let numbered = || (0..).map(AccessId).zip(trace.accesses());
    for (id, access) in numbered().filter(|(_, access)| in_scope(access)) {
        for used in trace.uses(access) {
            let cell = number[used.cell.index()];
            if cell != NONE {
                accesses[next[cell as usize] as usize] = id;
                next[cell as usize] += 1;
            }
        }
    }
    drop(next);
    let mut found = Classes::default();
    let cells = starts.windows(2);
    let places: Vec<Place> = cells
        .map(|bounds| {
            let accesses = &accesses[bounds[0] as usize..bounds[1] as usize];
            let uses = accesses.iter().map(|&id| {
                let access = trace.access_by_id(id);
                (key(access), access.event, contexts.of_access(id))
            });
            found.place(contexts, uses)
        })
        .collect();
    drop((accesses, starts));
    found.make_room();
    for (id, access) in numbered().filter(|(_, access)| in_scope(access)) {
        for used in trace.uses(access) {
            let cell = number[used.cell.index()];
            if cell != NONE && places[cell as usize].0 != NONE {
                found.push(places[cell as usize], key(access), (access.event, contexts.of_access(id)));
            }
        }
    }
    found.classes
}

/// Where an access is. What the program wants left out of reports is elsewhere than the rest, so that neither speaks
/// for the other.
pub(crate) fn place(trace: &Trace, access: Access) -> CodePosition {
    const EXCUSED: CodePosition = 1 << 63;
    let pc = trace.pc(access.event);
    if trace.is_excused(access) { pc | EXCUSED } else { pc }
}

/// The classes found so far. Those of cells with few sites get their accesses once all are known.
#[derive(Default)]
struct Classes {
    classes: Vec<Class>,
    numbers: HashMap<Box<Likeness>, u32>,
    /// Of each class, how many accesses each of its sites will have.
    sizes: Vec<Vec<u32>>,
    /// Of the cell at hand: its sites, and how many accesses they have.
    likeness: Vec<(Key, Option<LockContextId>)>,
    lengths: Vec<u32>,
}

impl Classes {
    /// Finds the place of a cell with these accesses; makes a class of its own at once of one that has many sites, or on
    /// which an object is destroyed.
    fn place(
        &mut self,
        contexts: &LockContexts,
        uses: impl Iterator<Item = (Key, EventId, LockContextId)> + Clone,
    ) -> Place {
        self.likeness.clear();
        self.lengths.clear();
        for (key, _, held) in uses.clone() {
            match self.likeness.iter().position(|(known, _)| *known == key) {
                Some(at) => {
                    let same = &mut self.likeness[at].1;
                    *same = same.filter(|&same| same == held);
                    self.lengths[at] += 1;
                }
                None if self.likeness.len() == ALONE || key.2.destroys => {
                    self.classes.push(Class::new(contexts, sites(uses)));
                    self.sizes.push(Vec::new());
                    return (NONE, NONE);
                }
                None => {
                    self.likeness.push((key, Some(held)));
                    self.lengths.push(1);
                }
            }
        }
        let class = match self.numbers.get(&self.likeness[..]) {
            Some(&class) => class,
            None => {
                let sites = self.likeness.iter().map(|&(key, same)| Site {
                    same_held: same.is_some(),
                    ..Site::new(key)
                });
                let class = self.classes.len() as u32;
                self.classes.push(Class::of_none_yet(sites.collect()));
                self.sizes.push(vec![0; self.likeness.len()]);
                self.numbers.insert(self.likeness.as_slice().into(), class);
                class
            }
        };
        let sizes = self.sizes[class as usize].iter_mut();
        sizes.zip(&self.lengths).for_each(|(size, length)| *size += length);
        let cells = &mut self.classes[class as usize].cells;
        *cells += 1;
        (class, *cells - 1)
    }

    /// Makes room for the accesses of all cells that have a place.
    fn make_room(&mut self) {
        self.numbers = HashMap::new();
        for (class, sizes) in self.classes.iter_mut().zip(std::mem::take(&mut self.sizes)) {
            let several = class.cells > 1;
            for (site, size) in class.sites.iter_mut().zip(sizes) {
                site.events.reserve_exact(size as usize);
                site.cells.reserve_exact(if several { size as usize } else { 0 });
            }
        }
    }

    /// Adds an access of a cell that has this place.
    fn push(&mut self, (class, cell): Place, key: Key, held: Held) {
        let class = &mut self.classes[class as usize];
        let site = class.sites.iter_mut().find(|site| site.key() == key);
        let site = site.expect("its class has the sites of a cell");
        site.events.push(held);
        if class.cells > 1 {
            site.cells.push(cell);
        }
    }
}

/// The sites of one cell, in the order of their first accesses.
fn sites(uses: impl Iterator<Item = (Key, EventId, LockContextId)>) -> Vec<Site> {
    // With many sites, a table is made.
    let mut numbers: HashMap<Key, usize> = HashMap::new();
    let mut sites: Vec<Site> = Vec::new();
    for (key, event, held) in uses {
        let known = match sites.len() > FEW {
            false => sites.iter().position(|site| site.key() == key),
            true => numbers.get(&key).copied(),
        };
        let site = known.unwrap_or_else(|| {
            sites.push(Site::new(key));
            if sites.len() > FEW {
                let new = numbers.len()..sites.len();
                numbers.extend(new.map(|site| (sites[site].key(), site)));
            }
            sites.len() - 1
        });
        sites[site].events.push((event, held));
    }
    sites
}
