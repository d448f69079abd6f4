//! Locks that a program makes of a variable: a spin lock, a mutex over a futex, a mutex over a flag and a condition.
//!
//! A cell is taken for a lock that is *atomic* if one value of it means *free*, and
//!
//! - threads take it by read-modify-writes that see it free and leave it otherwise (`compare_exchange`, `exchange`,
//!   `test_and_set`), with acquire ordering;
//! - *free* is stored by nobody but the thread that has taken it last and has not given it back, with release ordering,
//!   and by writes that must happen before it is taken at all;
//! - nothing unrecorded changes it.
//!
//! *No two threads have it at once, in any feasible prefix.* Let e be the first event that takes it while another
//! thread has it. Since that one took it, nobody has stored *free*: who may, has it, and until e nobody else had. So e
//! did not see it free, which write-read consistency (`docs/SEMANTICS.md`, section 2) demands. Whatever else is
//! written, by whomever, only keeps it from being free.
//!
//! A cell that is [changed under a lock](super::guarded) is one if all this holds of what each of its writes finds there,
//! by whatever memory orders: who takes it has found it free in the section in which he takes it, and no other thread
//! takes it, nor gives it back, between these two.
//!
//! Of either, this holds of what happened in this run, and not of all runs with these operations: it is an outcome. A
//! program need not have looked at what it found, and nothing in a trace tells a spin lock that nobody had to wait for
//! from a count of threads that excludes nobody.
//!
//! *What is done under either is ordered*, also where atomics are weak: who takes it sees *free* as the one before him
//! stored it, and so synchronizes with that store, or with the release of the lock behind it. So a pair of accesses under
//! it is no unordered race either (section 3).

use super::MustHappenBefore;
use super::guarded::{self, Guarded};
use crate::semantics::synchronizes::{acquires, releases};
use crate::trace::{AccessKind, CellId, EventId, Sections, ThreadId, Trace, Writers};
use hashbrown::{HashMap, HashSet};

/// So many writes of cells under locks are looked at.
const MAX_WRITES: usize = 1 << 16;

/// What an access does to such a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Change {
    Take,
    GiveBack,
}

/// The variables of a trace that are locks.
#[derive(Clone, Debug, Default)]
pub struct VariableLocks {
    /// The accesses that take or give back one, in the order of π; locks are numbered from 0.
    changes: Vec<(EventId, u32, Change)>,
}

/// Who takes a cell that may be one: finds it free, and leaves it otherwise.
struct Taken {
    free: u64,
    /// The first one.
    by: ThreadId,
    by_several: bool,
}

/// A cell that may be one, as far as the trace has been read.
struct Cell {
    free: u64,
    changes: Vec<(EventId, Change)>,
    /// Who has taken it and not given it back, by the program order of each.
    has: HashSet<ThreadId>,
    /// The first event of each thread that takes it.
    first_taken: HashMap<ThreadId, EventId>,
    /// Events that store *free* without having it.
    freed_by_others: Vec<EventId>,
    /// It is none.
    out: bool,
}

impl VariableLocks {
    /// Finds those that are atomic.
    #[must_use]
    pub fn atomic(trace: &Trace, order: &MustHappenBefore) -> VariableLocks {
        // Where a read may see another value than in π, nothing follows from what it saw.
        if trace.frees_reads() || !trace.has_access(|kind, _| kind == AccessKind::AtomicRmw) {
            return VariableLocks::default();
        }
        // Most words are counts and states, hundreds of thousands perhaps, which take little here.
        let mut taken: HashMap<CellId, Taken> = HashMap::new();
        for access in trace.accesses().filter(|access| access.kind == AccessKind::AtomicRmw) {
            let changed = trace.uses(access).filter(|used| used.read != used.written);
            for used in changed.filter(|used| !trace.cell(used.cell).external()) {
                let thread = trace.thread(access.event);
                let cell = taken.entry(used.cell).or_insert(Taken {
                    free: used.read,
                    by: thread,
                    by_several: false,
                });
                cell.by_several |= used.read == cell.free && thread != cell.by;
            }
        }
        let several = taken.into_iter().filter(|(_, taken)| taken.by_several);
        let mut cells: HashMap<CellId, Cell> = several.map(|(cell, taken)| (cell, Cell::new(taken.free))).collect();
        if cells.is_empty() {
            return VariableLocks::default();
        }
        for access in trace.accesses().filter(|access| access.kind.writes_value()) {
            for used in trace.uses(access) {
                if let Some(cell) = cells.get_mut(&used.cell) {
                    let read = (access.kind == AccessKind::AtomicRmw).then_some(used.read);
                    let acquires = acquires(access.order);
                    let releases = access.kind.is_atomic() && releases(access.order);
                    cell.write(
                        trace.thread(access.event),
                        access.event,
                        (read, used.written),
                        acquires,
                        releases,
                    );
                }
            }
        }
        VariableLocks::among(cells.into_iter().collect(), order)
    }

    /// Finds those that are changed under a lock.
    #[must_use]
    pub fn guarded(trace: &Trace, writers: &Writers, sections: &Sections, order: &MustHappenBefore) -> VariableLocks {
        let mut cells: Vec<(CellId, Cell)> = Vec::new();
        let mut left = MAX_WRITES;
        for cell in guarded::candidates(trace, writers, sections).filter(|&cell| !trace.cell(cell).external()) {
            let writes = writers.writes(cell);
            left = match left.checked_sub(writes.len()) {
                Some(left) => left,
                None => break,
            };
            let Some(Guarded { before, found }) = guarded::guarded(trace, sections, cell, writes) else {
                continue;
            };
            let found = std::iter::repeat_n(None, before).chain(found);
            let changes = || {
                (writes.iter().zip(found.clone()))
                    .filter_map(|(&write, found)| Some((write, found, trace.value_left(write, cell)?)))
            };
            let changed = changes().find_map(|(_, found, left)| found.filter(|&found| found != left));
            if let Some(free) = changed {
                let mut state = Cell::new(free);
                // The lock that it is changed under synchronizes them.
                changes().for_each(|(write, found, left)| {
                    let guarded = found.is_some() || writes[before..].binary_search(&write).is_ok();
                    state.write(trace.thread(write), write, (found, left), guarded, guarded);
                });
                cells.push((cell, state));
            }
        }
        VariableLocks::among(cells, order)
    }

    fn among(cells: Vec<(CellId, Cell)>, order: &MustHappenBefore) -> VariableLocks {
        let mut found: Vec<(CellId, Cell)> = cells.into_iter().filter(|(_, cell)| cell.is_lock(order)).collect();
        found.sort_unstable_by_key(|&(cell, _)| cell);
        let numbered = (0..).zip(found);
        let mut changes: Vec<(EventId, u32, Change)> = numbered
            .flat_map(|(number, (_, cell))| {
                let changes = cell.changes.into_iter();
                changes.map(move |(event, change)| (event, number, change))
            })
            .collect();
        changes.sort_unstable();
        VariableLocks { changes }
    }

    pub(super) fn changes(&self) -> &[(EventId, u32, Change)] {
        &self.changes
    }

    /// The event by which the thread of `event` took the lock last before it.
    pub(super) fn taken(&self, trace: &Trace, event: EventId, lock: u32) -> Option<EventId> {
        let until = self.changes.partition_point(|&(other, ..)| other < event);
        let own = |&&(other, number, change): &&(EventId, u32, Change)| {
            number == lock && change == Change::Take && trace.thread(other) == trace.thread(event)
        };
        self.changes[..until].iter().rev().find(own).map(|&(other, ..)| other)
    }
}

impl Cell {
    fn new(free: u64) -> Cell {
        Cell {
            free,
            changes: Vec::new(),
            has: HashSet::new(),
            first_taken: HashMap::new(),
            freed_by_others: Vec::new(),
            out: false,
        }
    }

    /// A write that finds one value there, as far as that is known, and leaves another; and whether it synchronizes with
    /// who wrote the one, and with who finds the other.
    fn write(
        &mut self,
        thread: ThreadId,
        event: EventId,
        (found, left): (Option<u64>, u64),
        acquires: bool,
        releases: bool,
    ) {
        match (found == Some(self.free), left == self.free) {
            (true, false) => {
                self.out |= !acquires || !self.has.insert(thread);
                self.first_taken.entry(thread).or_insert(event);
                self.changes.push((event, Change::Take));
            }
            (false, true) if self.has.remove(&thread) => {
                self.out |= !releases;
                self.changes.push((event, Change::GiveBack));
            }
            (false, true) => self.freed_by_others.push(event),
            // It sees it free and leaves it free, or writes something else: it may, see above.
            (true, true) | (false, false) => {}
        }
    }

    fn is_lock(&self, order: &MustHappenBefore) -> bool {
        let first = |event: EventId| self.first_taken.values().all(|&taken| order.before(event, taken));
        !self.out && self.first_taken.len() > 1 && self.freed_by_others.iter().all(|&event| first(event))
    }
}
