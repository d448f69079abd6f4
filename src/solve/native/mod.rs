//! Our own solver for the pairs that the predictors leave open: partial orders, saturated, with backtracking.
//!
//! It looks at a *window*, the events of π from some event on, in two ways:
//!
//! - *relaxed:* only what holds among events of the window counts, and only for events that every prefix must
//!   contain. Each feasible prefix, restricted to the window, satisfies that; if nothing does, the pair is refuted.
//! - *based:* all events before the window are in the prefix, first, as recorded. What satisfies this is a feasible
//!   prefix, since everything that an event in the window can depend on is there.
//!
//! If neither decides, the window grows; once it is the whole trace, the two are the same. Either way,
//! the search keeps a cut (how many events of each thread are in the prefix) and edges between its events.
//! What these imply is added until nothing more follows (as Pavlogiannis, POPL 2020, saturates
//! partial orders): a section that is entered before another on its lock is left before it, a write that comes
//! before a read comes before the write that the read takes its value from. Then the cut is put in an order as
//! near to π as the edges allow. If that violates something, the search divides there.
//!
//! Knows reads, writes, atomic operations, locks, and whatever must-happen-before covers; a window with other
//! events is left to Z3. Like all solvers here, it is not trusted: its schedules go to the checker, its refutations
//! are compared with exhaustive search in the tests.

mod search;
mod state;

use crate::prune::Needs;
use crate::trace::{AccessKind, CellId, EventId, Op, Sections, Trace};
use search::Search;

/// How far before the earlier access windows begin, in events of π, one after the other.
const WINDOWS: [u32; 4] = [256, 1024, 4096, 16384];

/// Orders that one window may cost; more, and the pair goes to Z3.
const MAX_ORDERS: u32 = 400;

/// What the solver says of a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NativeAnswer {
    /// A feasible prefix that brings both next: so many events of π as recorded, then these.
    Feasible(u32, Vec<EventId>),
    /// There is none.
    Infeasible,
    /// Not decided within its limits.
    Unknown,
}

/// The solver, prepared for one trace.
pub struct Native<'t> {
    trace: &'t Trace,
    needs: &'t Needs<'t>,
    sections: &'t Sections,
    /// Per cell, its writes in the order of π, with the value left (`None`: a free).
    writers: Vec<Vec<(EventId, Option<u64>)>>,
    /// The same by value, and then in the order of π.
    by_value: Vec<Vec<(u64, EventId)>>,
}

impl<'t> Native<'t> {
    /// Prepares the solver.
    #[must_use]
    pub fn new(trace: &'t Trace, needs: &'t Needs<'t>, sections: &'t Sections) -> Native<'t> {
        let mut writers: Vec<Vec<(EventId, Option<u64>)>> = vec![Vec::new(); trace.cells().len()];
        for access in trace.accesses().filter(|access| access.kind.writes()) {
            for used in trace.uses(access) {
                let value = (access.kind != AccessKind::Free).then_some(used.written);
                writers[used.cell.index()].push((access.event, value));
            }
        }
        let valued = |writers: &Vec<(EventId, Option<u64>)>| {
            let valued = writers.iter().filter_map(|&(write, value)| Some((value?, write)));
            let mut valued: Vec<(u64, EventId)> = valued.collect();
            valued.sort_unstable();
            valued
        };
        Native {
            trace,
            needs,
            sections,
            by_value: writers.iter().map(valued).collect(),
            writers,
        }
    }

    /// Whether a feasible prefix brings `a` and `b` next.
    #[must_use]
    pub fn ask(&self, a: EventId, b: EventId) -> NativeAnswer {
        if self.trace.frees_reads() {
            return NativeAnswer::Unknown;
        }
        for before in WINDOWS {
            let from = EventId(a.min(b).0.saturating_sub(before));
            let whole = from == EventId(0);
            // At the start of the trace the two views are one.
            for based in if whole { &[true][..] } else { &[false, true] } {
                let mut search = Search::new(self, from, *based, a, b, MAX_ORDERS);
                let found = search.run();
                tracing::debug!(
                    ?a,
                    ?b,
                    before,
                    based,
                    orders = search.orders(),
                    decided = found.is_some(),
                    "window"
                );
                match found {
                    Some(Some(order)) if *based => return NativeAnswer::Feasible(from.0, order),
                    Some(None) if !based || whole => return NativeAnswer::Infeasible,
                    _ => {}
                }
            }
            if whole {
                break;
            }
        }
        NativeAnswer::Unknown
    }

    /// The value that the recorded events before `from` leave in a cell, and the write that did;
    /// `None` for a value that is not known.
    fn base_value(&self, cell: CellId, from: EventId) -> Option<u64> {
        let writers = &self.writers[cell.index()];
        match writers[..writers.partition_point(|&(write, _)| write < from)].last() {
            Some(&(_, value)) => value,
            None => self.trace.cell(cell).initial,
        }
    }

    /// The writes of a value to a cell, in the order of π.
    fn writes_of(&self, cell: CellId, value: u64) -> &[(u64, EventId)] {
        let writes = &self.by_value[cell.index()];
        let from = writes.partition_point(|&(other, _)| other < value);
        let until = writes.partition_point(|&(other, _)| other <= value);
        &writes[from..until]
    }

    /// Whether the solver knows what an event needs.
    fn knows(&self, event: EventId) -> bool {
        match self.trace.op(event) {
            Op::Acquire { lock } | Op::AcquireShared { lock } | Op::Release { lock } => {
                !self.sections.is_handed_over(lock)
            }
            Op::AcquireFailed { .. } | Op::WaitBegin { .. } | Op::WaitEnd { .. } | Op::SemWait { .. } => false,
            Op::Access(_) => {
                let mut cells = self.trace.cell_uses(event);
                self.trace.pin(event).is_none() && cells.all(|used| !self.trace.cell(used.cell).external)
            }
            _ => true,
        }
    }
}
