//! The accesses of a cell, by thread, code position and kind.

use super::Scope;
use super::groups::Cell;
use crate::prune::{LockContextId, LockContexts};
use crate::semantics::conflict::Part;
use crate::trace::{Access, AccessId, CodePosition, EventId, ThreadId, Trace};
use hashbrown::HashMap;

/// Sites of a cell up to which one is found by a look at each.
const FEW: usize = 8;

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
    fn key(&self) -> (ThreadId, CodePosition, Part) {
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
}

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

/// The sites of each cell that more than one thread accesses and somebody writes; if only what is `freed` counts,
/// frees.
pub(super) fn sites_by_cell(trace: &Trace, contexts: &LockContexts, scope: Option<&Scope>, freed: bool) -> Vec<Cell> {
    let mut seen = vec![Seen::default(); trace.cells().len()];
    let in_scope = |access: &Access| scope.is_none_or(|scope| scope.positions.contains_key(&access.event));
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
            let accesses = &accesses[bounds[0] as usize..bounds[1] as usize];
            Cell::new(contexts, sites(trace, contexts, scope, accesses))
        })
        .collect()
}

/// Where an access is. What the program wants left out of reports is elsewhere than the rest, so that neither speaks
/// for the other.
pub(crate) fn place(trace: &Trace, access: Access) -> CodePosition {
    const EXCUSED: CodePosition = 1 << 63;
    let pc = trace.pc(access.event);
    if trace.is_excused(access) { pc | EXCUSED } else { pc }
}

/// The sites of one cell, in the order of their first accesses.
fn sites(trace: &Trace, contexts: &LockContexts, scope: Option<&Scope>, accesses: &[AccessId]) -> Vec<Site> {
    // Most cells have few sites, and real programs have millions of cells: a table is made where it pays.
    let mut numbers: HashMap<(ThreadId, CodePosition, Part), usize> = HashMap::new();
    let mut sites: Vec<Site> = Vec::new();
    for &id in accesses {
        let access = trace.access_by_id(id);
        let thread = trace.thread(access.event);
        let pc = scope.map_or_else(|| place(trace, access), |scope| scope.positions[&access.event]);
        let part = access.kind.part();
        let known = match sites.len() > FEW {
            false => sites.iter().position(|site| site.key() == (thread, pc, part)),
            true => numbers.get(&(thread, pc, part)).copied(),
        };
        let site = known.unwrap_or_else(|| {
            sites.push(Site {
                thread,
                pc,
                part,
                events: Vec::new(),
            });
            if sites.len() > FEW {
                let new = numbers.len()..sites.len();
                numbers.extend(new.map(|site| (sites[site].key(), site)));
            }
            sites.len() - 1
        });
        sites[site].events.push((access.event, contexts.of_access(id)));
    }
    sites
}
