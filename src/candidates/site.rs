//! The accesses of a cell, by thread, code position and kind.

use super::Scope;
use crate::prune::{LockContextId, LockContexts};
use crate::semantics::conflict::Part;
use crate::trace::{Access, AccessId, CodePosition, EventId, ThreadId, Trace};
use hashbrown::HashMap;

/// Accesses of one cell by one thread at one position, all of one kind, in program order.
#[derive(Clone, Debug)]
pub(super) struct Site {
    pub(super) thread: ThreadId,
    /// The position, or what the scope puts in its place.
    pub(super) pc: CodePosition,
    pub(super) part: Part,
    /// Each access, with what its thread holds.
    pub(super) events: Vec<(EventId, LockContextId)>,
}

impl Site {
    pub(super) fn conflicts(&self, other: &Site) -> bool {
        self.thread != other.thread && self.part.conflicts(other.part)
    }
}

/// Calls `each` with the numbers of any two sites of a cell that conflict, the smaller first. Many read a flag that one writes: two that
/// read are not looked at.
pub(super) fn each_conflict(sites: &[Site], mut each: impl FnMut(usize, usize)) {
    let writing: Vec<usize> = (0..sites.len()).filter(|&at| sites[at].part.writes).collect();
    for (at, a) in sites.iter().enumerate() {
        let mut look = |other: usize| {
            if a.conflicts(&sites[other]) {
                each(at, other);
            }
        };
        if a.part.writes {
            (at + 1..sites.len()).for_each(&mut look);
        } else {
            let after = writing.partition_point(|&other| other <= at);
            writing[after..].iter().copied().for_each(&mut look);
        }
    }
}

/// The candidate that each two sites of a cell belong to: a table, unless there are too many sites for one.
pub(super) struct SiteNumbers {
    sites: usize,
    table: Option<Vec<u32>>,
}

impl SiteNumbers {
    /// Sites of a cell up to which there is a table, of a megabyte then.
    const MOST: usize = 512;

    /// No two of them belong to any yet.
    pub(super) fn of(sites: &[Site]) -> SiteNumbers {
        let sites = sites.len();
        SiteNumbers {
            sites,
            table: (sites <= Self::MOST).then(|| vec![u32::MAX; sites * sites]),
        }
    }

    pub(super) fn set(&mut self, a: usize, b: usize, number: u32) {
        if let Some(table) = &mut self.table {
            table[a * self.sites + b] = number;
            table[b * self.sites + a] = number;
        }
    }

    /// The candidate, if there is one; without a table, `search` finds it.
    pub(super) fn get(&self, a: u32, b: u32, search: impl FnOnce() -> Option<u32>) -> Option<u32> {
        let Some(table) = &self.table else {
            return search();
        };
        let number = table[a as usize * self.sites + b as usize];
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

/// The sites of each cell that more than one thread accesses and somebody writes.
pub(super) fn sites_by_cell(trace: &Trace, contexts: &LockContexts, scope: Option<&Scope>) -> Vec<Vec<Site>> {
    let mut seen = vec![Seen::default(); trace.cells().len()];
    let in_scope = |access: &Access| scope.is_none_or(|scope| scope.positions.contains_key(&access.event));
    for access in trace.accesses().filter(in_scope) {
        let thread = trace.thread(access.event);
        for used in trace.uses(access) {
            let seen = &mut seen[used.cell.index()];
            seen.accesses += 1;
            seen.shared |= *seen.first.get_or_insert(thread) != thread;
            seen.written |= access.kind.writes();
        }
    }
    // The number of each such cell among them, and where its accesses begin.
    let mut number = vec![u32::MAX; seen.len()];
    let mut starts = vec![0_u32];
    for (cell, seen) in seen.iter().enumerate().filter(|(_, seen)| seen.shared && seen.written) {
        number[cell] = starts.len() as u32 - 1;
        starts.push(starts[starts.len() - 1] + seen.accesses);
    }
    let mut next = starts.clone();
    let mut accesses = vec![AccessId(0); starts[starts.len() - 1] as usize];
    let numbered = trace.accesses().enumerate();
    for (id, access) in numbered.filter(|(_, access)| in_scope(access)) {
        for used in trace.uses(access) {
            let cell = number[used.cell.index()];
            if cell != u32::MAX {
                accesses[next[cell as usize] as usize] = AccessId(id as u32);
                next[cell as usize] += 1;
            }
        }
    }
    let cells = starts.windows(2);
    cells
        .map(|bounds| {
            sites(
                trace,
                contexts,
                scope,
                &accesses[bounds[0] as usize..bounds[1] as usize],
            )
        })
        .collect()
}

/// Where an access is. What the program wants left out of reports is elsewhere than the rest, so that neither speaks for the other.
fn place(trace: &Trace, access: Access) -> CodePosition {
    const EXCUSED: CodePosition = 1 << 63;
    let pc = trace.pc(access.event);
    if trace.is_excused(access) { pc | EXCUSED } else { pc }
}

/// The sites of one cell, in the order of their first accesses.
fn sites(trace: &Trace, contexts: &LockContexts, scope: Option<&Scope>, accesses: &[AccessId]) -> Vec<Site> {
    let mut numbers: HashMap<(ThreadId, CodePosition, Part), usize> = HashMap::new();
    let mut sites: Vec<Site> = Vec::new();
    for &id in accesses {
        let access = trace.access_by_id(id);
        let thread = trace.thread(access.event);
        let pc = scope.map_or_else(|| place(trace, access), |scope| scope.positions[&access.event]);
        let part = access.kind.part();
        let site = *numbers.entry((thread, pc, part)).or_insert_with(|| {
            sites.push(Site {
                thread,
                pc,
                part,
                events: Vec::new(),
            });
            sites.len() - 1
        });
        sites[site].events.push((access.event, contexts.of_access(id)));
    }
    sites
}
