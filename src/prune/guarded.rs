//! Cells that threads change step by step under one lock: the flag of a mutex that a program makes itself of a lock and
//! a condition, a count of those who wait, a state.
//!
//! A thread reads such a cell and writes it again, both in one section of a lock, and nobody writes it outside the
//! sections of that lock, but for what comes first. In no feasible prefix can another thread write it between these two,
//! for it would be in a section of the same lock. So the write finds what its thread read, or wrote, last in that
//! section, and this is as in π (`docs/SEMANTICS.md`, section 2): it changes the cell as a read-modify-write would, and
//! all that follows for [words](super::words) follows for the cell.
//!
//! Where the memory is freed, nobody accesses it behind that, so a free does not come between either.
//!
//! That says nothing of runs in which reads see something else: the program need not look at what it read. So it is an
//! outcome, and no structure.

use crate::trace::{AccessKind, CellId, EventId, ObjectId, Section, Sections, Trace, Writers};
use hashbrown::HashSet;

/// A cell with fewer writes than these tells nothing: one thread takes something, gives it back, and another takes it.
const MIN_WRITES: usize = 3;

/// So many of a cell's writes are looked at to see whether it holds few values, and which are few.
const LOOKED_AT: usize = 64;
const FEW: usize = 16;

/// So many events of its thread before a write are searched for what it finds.
const SEARCHED: u32 = 64;

/// Cells that may be such ones, before their writes are all looked at.
pub(super) fn candidates<'t>(
    trace: &'t Trace,
    writers: &'t Writers,
    sections: &'t Sections,
) -> impl Iterator<Item = CellId> + 't {
    let cells = (0..trace.cells().len() as u32).map(CellId);
    let wanted = cells.filter(move |&cell| {
        let writes = match writers.by_several(cell) {
            true => writers.writes(cell),
            false => return false,
        };
        let last = writes.iter().copied().rev().find(|&write| !frees(trace, write));
        writes.len() >= MIN_WRITES
            && last.is_some_and(|last| exclusive(trace, sections, last).next().is_some())
            && holds_few_values(trace, cell, writes)
    });
    // Where a read may see another value than in π, nothing follows from what it saw.
    wanted.filter(|_| !trace.frees_reads())
}

fn holds_few_values(trace: &Trace, cell: CellId, writes: &[EventId]) -> bool {
    let looked_at = writes.iter().take(LOOKED_AT);
    let values: HashSet<u64> = looked_at.filter_map(|&write| trace.value_left(write, cell)).collect();
    values.len() <= FEW
}

/// Whether a write is the free of what its cell is in.
pub(super) fn frees(trace: &Trace, write: EventId) -> bool {
    trace
        .access(write)
        .is_some_and(|access| access.kind == AccessKind::Free)
}

/// The sections that the thread of an event is in at it, and that exclude all others on their locks.
fn exclusive<'t>(trace: &Trace, sections: &'t Sections, event: EventId) -> impl Iterator<Item = Section> + 't {
    let open = sections.open_after(trace.thread(event), trace.place(event));
    open.map(|id| sections.get(id)).filter(|section| !section.shared)
}

/// The last writes of a cell, all that store something under one lock.
pub(super) struct Guarded {
    /// How many writes come before.
    pub(super) before: usize,
    /// What each of them finds, in every feasible prefix, as far as that is known.
    pub(super) found: Vec<Option<u64>>,
}

/// As many of a cell's last writes as plain or atomic stores under one lock are; `None` if there are none.
pub(super) fn guarded(trace: &Trace, sections: &Sections, cell: CellId, writes: &[EventId]) -> Option<Guarded> {
    let (mut locks, mut before): (Option<Vec<ObjectId>>, usize) = (None, writes.len());
    for (place, &write) in writes.iter().enumerate().rev() {
        let kind = trace.access(write)?.kind;
        if kind == AccessKind::Free {
            continue;
        }
        let mut held: Vec<ObjectId> = exclusive(trace, sections, write).map(|section| section.lock).collect();
        if let Some(locks) = &locks {
            held.retain(|lock| locks.contains(lock));
        }
        if held.is_empty() || !matches!(kind, AccessKind::Write | AccessKind::AtomicStore) {
            break;
        }
        (locks, before) = (Some(held), place);
    }
    let lock = *locks?.first()?;
    let finds = |&write: &EventId| {
        let section = exclusive(trace, sections, write).find(|section| section.lock == lock)?;
        let begin = section.acquire.map_or(0, |acquire| trace.place(acquire) + 1);
        last_seen(trace, cell, write, begin)
    };
    let found = writes[before..].iter().map(finds).collect();
    Some(Guarded { before, found })
}

/// What the thread of a write has read of the cell, or written there, last before it, from one place in the thread on.
fn last_seen(trace: &Trace, cell: CellId, write: EventId, begin: u32) -> Option<u64> {
    let (order, place) = (trace.program_order(trace.thread(write)), trace.place(write));
    let searched = (begin.max(place.saturating_sub(SEARCHED))..place).rev();
    for event in searched.map(|place| order.at(place as usize)) {
        let Some(access) = trace.access(event) else {
            continue;
        };
        match trace.cell_use(event, cell) {
            Some(used) if access.kind.writes_value() => return Some(used.written),
            Some(used) if access.kind.reads() => return Some(used.read),
            // The end of what the cell is in.
            Some(_) if access.kind.writes() => return None,
            _ => {}
        }
    }
    None
}
