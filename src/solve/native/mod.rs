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
//! Knows reads, writes, atomic operations, locks, waits on conditions and semaphores, once cells, locks found held, and
//! whatever must-happen-before covers. What can come about in several ways it tries [as it was in π](conditions) first,
//! then in [any way](choices), and keeps [pinned accesses](pins) in their places. A window with locks that threads give
//! back for each other is left to Z3, and so is one with pinned accesses of a trace that has very many.
//!
//! Where no window decides, all orders are tried in which the [sections of one lock](one_lock) may have come, from the start
//! of the trace on.
//!
//! Like all solvers here, it is not trusted: its schedules go to the checker, its refutations are compared with exhaustive
//! search in the tests.

mod beginnings;
mod choices;
mod conditions;
mod joints;
mod one_lock;
mod pins;
mod search;
mod state;
#[cfg(test)]
mod tests;
mod users;
mod window;
mod words;

use crate::prune::{Ending, Needs, Words};
use crate::trace::{CellId, EventId, Op, Sections, ThreadId, Trace, Wakes, Writers};
use columns::Column;
use hashbrown::HashMap;
use joints::Joints;
use one_lock::{Locks, OnLocks};
use pins::Pinned;
use search::{Kept, Search, View};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use users::Users;
use window::Read;

/// How far before the earlier access windows begin, in events of π, one after the other. Where more events than the
/// third one has lie between two accesses, the windows before them are all about as large.
const WINDOWS: [u32; 5] = [256, 1024, 4096, 16384, 65536];

/// Orders that one window may cost; more, and the pair goes to Z3.
const MAX_ORDERS: u32 = 400;

/// So many windows are small: nothing is refuted sooner than in these, where they do.
const SMALL: usize = 2;

/// Steps that one window may cost, of some nanoseconds each.
const MAX_WORK: u64 = 4_000_000;

/// Of these, one in so many once those of the batch are spent. (Where it was looked at, what a window decides it
/// decides within 50,000 steps, and an instance within 80,000.)
const SCARCE: u64 = 32;

/// Steps that all batches of a trace may cost together before they become scarce; each batch may cost the least of
/// those below.
const STEPS: u64 = 100 * MAX_WORK;

/// Steps that one batch may cost before they become scarce, at least and at most.
const STEPS_OF_BATCH: (u64, u64) = (MAX_WORK, 64 * MAX_WORK);

/// How much work the solver puts into the questions of one batch. Where few values are written again and again, as good
/// as any write can explain a read: no window then refutes, and whether one of the exponentially many orders is
/// feasible, it does not find out. So many pairs of such a trace would take what they may, that those which begin after
/// a batch has spent its share get less each.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    left: u64,
    on_locks: OnLocks,
}

impl Steps {
    /// No limit but that of each window.
    #[must_use]
    pub fn unbounded() -> Steps {
        Steps {
            left: u64::MAX,
            on_locks: OnLocks::of_question(),
        }
    }

    /// Those of one batch, of so many.
    #[must_use]
    pub fn of_batch(batches: u32) -> Steps {
        let (least, most) = STEPS_OF_BATCH;
        Steps {
            left: (STEPS / u64::from(batches.max(1))).clamp(least, most),
            on_locks: OnLocks::of_batch(batches),
        }
    }

    /// Leaves a quarter of them.
    pub fn keep_a_quarter(&mut self) {
        self.left /= 4;
    }

    /// Counts so many.
    pub fn spend(&mut self, steps: u64) {
        self.left = self.left.saturating_sub(steps);
    }

    /// Whether the share is spent.
    #[must_use]
    pub fn are_spent(&self) -> bool {
        self.left == 0
    }

    fn of_window(&self) -> u64 {
        match self.left {
            0 => MAX_WORK / SCARCE,
            _ => MAX_WORK,
        }
    }
}

/// Writes, those of each thread together.
type ByThread = Arc<[Vec<EventId>]>;

/// What the solver says of a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NativeAnswer {
    /// A feasible prefix with the ending: so many events of π as recorded, then these.
    Feasible(u32, Vec<EventId>),
    /// There is none.
    Infeasible,
    /// Not decided within its limits.
    Unknown,
}

/// Whether the solver refutes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refuted {
    /// There is no such prefix.
    Yes,
    /// It cannot tell.
    No,
    /// Nor can it, since some window takes more steps than it may.
    Spent,
}

/// What a search of a window came to.
#[derive(Default)]
#[allow(clippy::option_option, reason = "found, refuted, or not decided")]
struct Tried {
    /// An order of the window's part of a prefix, or that there is none; `None` if it was not decided.
    found: Option<Option<Vec<EventId>>>,
    /// The search has put events as they were in π without having to.
    relied: bool,
    /// It was given up since it took more steps than it may.
    spent: bool,
    /// The steps that it took.
    work: u64,
}

/// The solver, prepared for one trace.
pub struct Native<'t> {
    trace: &'t Trace,
    needs: &'t Needs<'t>,
    sections: &'t Sections,
    writers: &'t Writers,
    /// Whom the notifies wake in π.
    wakes: &'t Wakes,
    users: Users,
    windows: [u32; 5],
    /// Per thread, the places of the events whose needs it does not know, once that is asked.
    unknown: OnceLock<Vec<Column>>,
    /// What the orders of its windows look at, once one is asked for.
    joints: OnceLock<Joints>,
    /// The words whose sums it looks at, once that is asked.
    words: OnceLock<Words>,
    /// By a cell and a value, once that is asked: the writes of it that leave the value, those of each thread together.
    fitting: Mutex<HashMap<(CellId, u64), ByThread>>,
    /// Pinned accesses may be anywhere.
    unpinned: bool,
    /// The pinned accesses that it keeps in their places, once that is asked.
    pinned: OnceLock<Option<Pinned>>,
    /// The locks whose sections were asked about last.
    on_locks: Locks,
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
            users: Users::of(trace),
            windows: WINDOWS,
            unknown: OnceLock::new(),
            joints: OnceLock::new(),
            words: OnceLock::new(),
            fitting: Mutex::default(),
            unpinned: false,
            pinned: OnceLock::new(),
            on_locks: Locks::default(),
        }
    }

    /// The same as if no access were pinned, as the order that it was given has to be made, too: what it refutes then does
    /// not rest on pins, and what it finds may not keep them.
    #[must_use]
    pub fn without_pins(self) -> Native<'t> {
        Native { unpinned: true, ..self }
    }

    /// The same with windows that begin so far before the earlier access, to be tried with small traces.
    #[must_use]
    pub fn in_windows(self, windows: [u32; 5]) -> Native<'t> {
        Native { windows, ..self }
    }

    /// Whether a feasible prefix has this ending.
    #[must_use]
    pub fn ask<'e>(&self, ending: impl Into<Ending<'e>>, steps: &mut Steps) -> NativeAnswer {
        self.search(ending.into(), false, steps).0
    }

    /// Whether no feasible prefix has this ending, as far as this solver can tell: as [`ask`](Self::ask), without a
    /// search for one.
    #[must_use]
    pub fn refutes<'e>(&self, ending: impl Into<Ending<'e>>) -> bool {
        self.refutes_within(ending, &mut Steps::unbounded())
    }

    /// The same within so many steps.
    #[must_use]
    pub fn refutes_within<'e>(&self, ending: impl Into<Ending<'e>>, steps: &mut Steps) -> bool {
        self.search(ending.into(), true, steps).0 == NativeAnswer::Infeasible
    }

    /// The same without a limit but that of each window, with whether it takes too many steps to tell, and how many it
    /// took.
    #[must_use]
    pub fn refuted<'e>(&self, ending: impl Into<Ending<'e>>) -> (Refuted, u64) {
        let mut steps = Steps::unbounded();
        let refuted = match self.search(ending.into(), true, &mut steps) {
            (NativeAnswer::Infeasible, _) => Refuted::Yes,
            (_, true) => Refuted::Spent,
            (_, false) => Refuted::No,
        };
        (refuted, u64::MAX - steps.left)
    }

    /// Also says whether some window took more steps than it may.
    fn search(&self, ending: Ending<'_>, only_refute: bool, steps: &mut Steps) -> (NativeAnswer, bool) {
        let mut is_spent = false;
        let answer = match self.search_windows(ending, only_refute, steps, &mut is_spent) {
            NativeAnswer::Unknown if self.locks_refute(ending, steps) => NativeAnswer::Infeasible,
            answer => answer,
        };
        (answer, is_spent)
    }

    fn search_windows(
        &self,
        ending: Ending<'_>,
        only_refute: bool,
        steps: &mut Steps,
        is_spent: &mut bool,
    ) -> NativeAnswer {
        let (Some(first), Some(last)) = (ending.events().min(), ending.events().max()) else {
            return NativeAnswer::Unknown;
        };
        if self.trace.frees_reads() {
            return NativeAnswer::Unknown;
        }
        // What the largest window allows, the smaller ones do. If they are nearly as large, it is asked first.
        let mut allowed = false;
        // How many events a window has that took more steps than one may: another of that size would do no better.
        let mut too_large = u32::MAX;
        let mut kept = None;
        let [.., far, largest, _] = self.windows;
        let largest = EventId(first.0.saturating_sub(largest));
        if largest > EventId(0) && last.0 - first.0 > far {
            let tried = self.try_window((largest, View::Relaxed), ending, steps, &mut kept);
            match tried.found {
                Some(None) if !tried.relied => return NativeAnswer::Infeasible,
                Some(Some(_)) if only_refute => return NativeAnswer::Unknown,
                found => allowed = matches!(found, Some(Some(_))),
            }
            if tried.spent {
                *is_spent = true;
                too_large = (last.0 - largest.0) / 2;
            }
        }
        // The steps of the last window: of the relaxed view, and of the based ones.
        let (mut relaxed, mut on_base) = (0, 0);
        for (number, before) in self.windows.into_iter().enumerate() {
            if number == SMALL && self.locks_soon_refute(ending, steps) {
                return NativeAnswer::Infeasible;
            }
            // The next one would take several times as much.
            if relaxed > MAX_WORK / 4 {
                break;
            }
            let is_costly = on_base > MAX_WORK / 4;
            let from = EventId(first.0.saturating_sub(before));
            let whole = from == EventId(0);
            let views = [
                View::Relaxed,
                View::Based { as_in_trace: true },
                View::Based { as_in_trace: false },
            ];
            // At the start of the trace the relaxed view is the based one.
            for view in views.into_iter().skip(usize::from(whole)) {
                let based = view != View::Relaxed;
                let skipped = allowed || last.0 - from.0 > too_large;
                if (!based && skipped) || (based && !whole && (only_refute || is_costly)) {
                    continue;
                }
                let tried = self.try_window((from, view), ending, steps, &mut kept);
                let relied = tried.relied;
                *is_spent |= tried.spent;
                let work = if based { &mut on_base } else { &mut relaxed };
                *work = tried.work.max(*work);
                match tried.found {
                    Some(Some(order)) if based => return NativeAnswer::Feasible(from.0, order),
                    Some(None) if (!based || whole) && !relied => return NativeAnswer::Infeasible,
                    // Without what relies on π, the same would come of it.
                    _ if based && !relied => break,
                    _ => {}
                }
            }
            if whole {
                break;
            }
        }
        NativeAnswer::Unknown
    }

    /// Searches one window. `kept`: of the search before this one, of the same ending.
    fn try_window<'s>(
        &'s self,
        (from, view): (EventId, View),
        ending: Ending<'s>,
        steps: &mut Steps,
        kept: &mut Option<Kept<'s, 't>>,
    ) -> Tried {
        let limits = (MAX_ORDERS, steps.of_window());
        let mut search = Search::new(self, from, view, ending, limits, kept.take());
        if view != View::Relaxed && from > EventId(0) && search.is_hopeless() {
            *kept = Some(search.keep());
            return Tried::default();
        }
        let found = search.run();
        let (relied, spent) = (search.relied(), search.is_spent());
        let (orders, decided) = (search.orders(), found.is_some());
        let work = search.work();
        steps.spend(work);
        tracing::debug!(?ending, ?from, ?view, relied, orders, work, decided, "window");
        *kept = Some(search.keep());
        Tried {
            found,
            relied,
            spent,
            work,
        }
    }

    /// The words whose sums it looks at.
    fn words(&self) -> &Words {
        (self.words).get_or_init(|| Words::of(self.trace, self.writers, self.sections, self.needs.relation()))
    }

    /// The writes that leave the value that a read sees, those of each thread together.
    fn fitting_by_thread(&self, cell: CellId, seen: &Read<'_>) -> ByThread {
        let mut known = self.fitting.lock().unwrap_or_else(PoisonError::into_inner);
        let find = || {
            let mut by_thread: HashMap<ThreadId, Vec<EventId>> = HashMap::new();
            for &write in self.writers.writes_of(self.trace, cell, seen.value) {
                by_thread.entry(self.trace.thread(write)).or_default().push(write);
            }
            let mut by_thread: Vec<Vec<EventId>> = by_thread.into_values().collect();
            by_thread.sort_unstable();
            by_thread.into()
        };
        known.entry((cell, seen.value)).or_insert_with(find).clone()
    }

    /// The value that the recorded events before `from` leave in a cell, and the write that did;
    /// `None` for a value that is not known.
    fn base_value(&self, cell: CellId, from: EventId) -> Option<u64> {
        let writes = self.writers.writes(cell);
        match writes[..writes.partition_point(|&write| write < from)].last() {
            Some(&write) => self.trace.value_left(write, cell),
            None => self.trace.initial(cell),
        }
    }

    /// Whether any event of a cut, from `from` on, is one whose needs the solver does not know.
    fn any_unknown(&self, from: EventId, cut: &[u32]) -> bool {
        let trace = self.trace;
        if !trace.has_pins() && !self.sections.any_handed_over() {
            return false;
        }
        let unknown = self.unknown.get_or_init(|| {
            let mut places = vec![Column::default(); trace.threads()];
            for event in trace.events().filter(|&event| !self.knows(event)) {
                places[trace.thread(event).index()].push(trace.place(event));
            }
            places.iter_mut().for_each(Column::end);
            places
        });
        let mut threads = (0..).map(ThreadId).zip(unknown).zip(cut);
        threads.any(|((thread, places), &until)| {
            let first = trace.events_before(thread, from);
            let next = places.all().partition_point(|place| place < first);
            places.get(next).is_some_and(|place| place < until)
        })
    }

    /// The pinned accesses that it keeps in their places.
    fn pinned(&self) -> Option<&Pinned> {
        let find = || Pinned::of(self.trace).filter(|_| !self.unpinned);
        self.pinned.get_or_init(find).as_ref()
    }

    /// Whether the solver knows what an event needs. (What unrecorded code changes and does not pin, program order keeps.)
    fn knows(&self, event: EventId) -> bool {
        match self.trace.op(event) {
            Op::Access => self.trace.pin(event).is_none() || self.unpinned || self.pinned().is_some(),
            op => op.lock().is_none_or(|lock| !self.sections.is_handed_over(lock)),
        }
    }
}
