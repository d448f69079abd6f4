//! Waits for semaphores that a thread may have made because of what it read: in another run with other values, it might
//! not have waited (`docs/SEMANTICS.md`, section 4).
//!
//! What a thread reads since its last operation on a semaphore, in the function that waits, may decide whether it waits.
//! If each of these reads sees the same in all executions with the order that is known, the wait does not depend on them.
//!
//! Errs on the side of saying that a wait depends on what was read. A wait that depends on what was read further back, or
//! in a function that returned it, is not known as one.

use super::MustHappenBefore;
use crate::semantics::semaphores::Step;
use crate::trace::{CellId, EventId, ThreadId, Trace};
use hashbrown::{HashMap, HashSet};
use trace_format::NOBODYS;

/// Reads before one wait above which it is taken to depend on one of them, in the function that waits and in all; and
/// writes of a cell above which each read of it is taken to be open.
const MAX_READS: usize = 256;
const MAX_LOOKED_AT: usize = 1 << 16;
const MAX_WRITES: usize = 64;

/// A read, and one of its cells.
type Read = (EventId, CellId);

/// The waits of a trace that may depend on what was read.
pub(super) struct ConditionalWaits {
    /// The reads of which it is not known that they see the same in each execution.
    open: HashMap<EventId, Vec<Read>>,
    /// The writes of the cells that are read there, in the order of π.
    writes: HashMap<CellId, Vec<EventId>>,
}

impl ConditionalWaits {
    /// All waits, and what may decide about them.
    pub(super) fn of(trace: &Trace) -> ConditionalWaits {
        let mut open = HashMap::new();
        let is_wait = |op| matches!(Step::of(op), Some((_, Step::Wait)));
        if trace.has_operation(is_wait) {
            for thread in (0..trace.threads() as u32).map(ThreadId) {
                reads_before_waits(trace, thread, &mut open);
            }
        }
        let mut writes: HashMap<CellId, Vec<EventId>> = HashMap::new();
        for &(_, cell) in open.values().flatten() {
            writes.entry(cell).or_default();
        }
        if !writes.is_empty() {
            for access in trace.contested().filter(|access| access.kind.writes()) {
                for used in trace.uses(access) {
                    if let Some(of_cell) = writes.get_mut(&used.cell) {
                        of_cell.push(access.event);
                    }
                }
            }
        }
        ConditionalWaits { open, writes }
    }

    /// Forgets the reads that see the same in all executions with this order.
    pub(super) fn settle(&mut self, trace: &Trace, order: &MustHappenBefore) {
        let writes = &self.writes;
        self.open.retain(|_, reads| {
            // Where there are too many, nobody looks at each.
            if reads.len() <= MAX_READS {
                reads.retain(|&read| is_open(trace, order, read, &writes[&read.1]));
            }
            !reads.is_empty()
        });
    }

    /// The waits that are left.
    pub(super) fn waits(&self) -> HashSet<EventId> {
        self.open.keys().copied().collect()
    }
}

/// The reads of each wait of a thread since its last operation on a semaphore that others may have to do with.
fn reads_before_waits(trace: &Trace, thread: ThreadId, open: &mut HashMap<EventId, Vec<Read>>) {
    let mut since: Vec<Read> = Vec::new();
    for event in trace.program_order(thread) {
        if let Some((_, step)) = Step::of(trace.op(event)) {
            let mut reads = std::mem::take(&mut since);
            if step != Step::Wait {
                continue;
            }
            if reads.len() <= MAX_LOOKED_AT {
                reads.retain(|&(read, _)| trace.stack(read) == trace.stack(event));
            }
            reads.truncate(MAX_READS + 1);
            if !reads.is_empty() {
                open.insert(event, reads);
            }
        } else if since.len() <= MAX_LOOKED_AT && trace.is_contested(event) {
            let access = trace
                .access(event)
                .filter(|access| access.kind.reads() && access.addr < NOBODYS);
            let uses = access.into_iter().flat_map(|access| trace.uses(access));
            let cells = uses.filter(|used| trace.cell(used.cell).contested());
            since.extend(cells.map(|used| (event, used.cell)));
        }
    }
}

/// Whether a read may see another value than it saw, as far as this order tells.
fn is_open(trace: &Trace, order: &MustHappenBefore, (read, cell): Read, writes: &[EventId]) -> bool {
    if trace.cell(cell).external() || writes.len() > MAX_WRITES {
        return true;
    }
    let thread = trace.thread(read);
    let is_before = |a: EventId, b: EventId| a < b && (trace.thread(a) == trace.thread(b) || order.before(a, b));
    let seen = writes[..writes.partition_point(|&write| write < read)].last().copied();
    if seen.is_some_and(|seen| !is_before(seen, read)) {
        return true;
    }
    let left = |write: EventId| trace.number_left(write, cell);
    let value = match seen {
        Some(seen) => left(seen),
        None => trace.initial(cell),
    };
    writes.iter().any(|&write| {
        let is_hidden = || seen.is_some_and(|seen| is_before(write, seen));
        let is_other = trace.thread(write) != thread && Some(write) != seen;
        is_other && !is_before(read, write) && !is_hidden() && (value.is_none() || left(write) != value)
    })
}
