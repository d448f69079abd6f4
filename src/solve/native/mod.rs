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
//! Knows reads, writes, atomic operations, locks, and whatever must-happen-before covers. Waits on conditions and
//! semaphores, and locks found held, it tries [as they were in π](conditions). A window with memory that unrecorded code changes, or
//! locks that threads give back for each other, is left to Z3. Like all solvers here, it is not trusted: its schedules go to the checker, its refutations
//! are compared with exhaustive search in the tests.

mod conditions;
mod search;
mod state;

use crate::prune::Needs;
use crate::trace::{CellId, EventId, Op, Sections, Trace, Wakes, Writers};
use conditions::Semaphores;
use search::{Search, View};

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
    writers: &'t Writers,
    /// Whom the notifies wake in π.
    wakes: &'t Wakes,
    semaphores: Semaphores,
}

impl<'t> Native<'t> {
    /// Prepares the solver.
    #[must_use]
    pub fn new(trace: &'t Trace, needs: &'t Needs<'t>, sections: &'t Sections, wakes: &'t Wakes) -> Native<'t> {
        Native {
            trace,
            needs,
            sections,
            writers: needs.writers(),
            wakes,
            semaphores: Semaphores::of(trace),
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
            // At the start of the trace the two views are one, and only what relies on π is left to do without that.
            let views = match whole {
                true => [View::Based { as_in_trace: true }, View::Based { as_in_trace: false }],
                false => [View::Relaxed, View::Based { as_in_trace: true }],
            };
            for view in views {
                let mut search = Search::new(self, from, view, a, b, MAX_ORDERS);
                let found = search.run();
                let relied = search.relied();
                tracing::debug!(
                    ?a,
                    ?b,
                    before,
                    ?view,
                    relied,
                    orders = search.orders(),
                    decided = found.is_some(),
                    "window"
                );
                let based = view != View::Relaxed;
                match found {
                    Some(Some(order)) if based => return NativeAnswer::Feasible(from.0, order),
                    Some(None) if (!based || whole) && !relied => return NativeAnswer::Infeasible,
                    _ if whole && !relied => break,
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
        let writes = self.writers.writes(cell);
        match writes[..writes.partition_point(|&write| write < from)].last() {
            Some(&write) => self.trace.value_left(write, cell),
            None => self.trace.cell(cell).initial,
        }
    }

    /// Whether the solver knows what an event needs.
    fn knows(&self, event: EventId) -> bool {
        match self.trace.op(event) {
            Op::Access(_) => {
                let mut cells = self.trace.cell_uses(event);
                self.trace.pin(event).is_none() && cells.all(|used| !self.trace.cell(used.cell).external)
            }
            op => op.lock().is_none_or(|lock| !self.sections.is_handed_over(lock)),
        }
    }
}
