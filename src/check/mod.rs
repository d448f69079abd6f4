//! The independent checker: does a schedule really lead to its race?
//!
//! A [`State`] is a machine written straight from the table in `docs/SEMANTICS.md`, section 1: it
//! knows for each kind of event when it is enabled and what it does. [`check`] executes a schedule
//! on it from the start of the trace and accepts only if both accesses are then next in their
//! threads, enabled and in conflict. [`validate`] executes the trace itself.
//!
//! Nobody sees a witness that this module did not accept, so it may err on one side only: it may
//! reject, never accept wrongly. For that reason it reads the trace and the schedule and nothing
//! else: no critical sections, no pruner, no encoder. Where the table leaves a choice open, the
//! checker takes the stricter reading and the file that does so says which.
//!
//! ```
//! use trace_format::{Event, MemRange, Op, StackId, Tables, ThreadId};
//! use witness::check::check;
//! use witness::schedule::{RaceKind, Schedule, Slice};
//! use witness::trace::{EventId, Trace};
//!
//! let mem = MemRange { addr: 0x10, size: 4 };
//! let event = |thread, op| Event { thread: ThreadId(thread), pc: 0, stack: StackId::EMPTY, op };
//! let trace = Trace::from_events(Tables::default(), &[
//!     event(0, Op::Fork { child: ThreadId(1) }),
//!     event(0, Op::Write { mem, value: 1 }),
//!     event(1, Op::Begin),
//!     event(1, Op::Read { mem, value: 1 }),
//! ]);
//! let slice = |thread, events| Slice { thread: ThreadId(thread), events };
//! let mut schedule = Schedule {
//!     trace: trace.id(),
//!     kind: RaceKind::CoEnabled,
//!     race: (EventId(1), EventId(3)),
//!     as_recorded: 0,
//!     slices: vec![slice(0, 1), slice(1, 1)],
//!     wakes: Vec::new(),
//! };
//! assert!(check(&trace, &schedule).is_ok());
//!
//! schedule.slices.reverse();
//! let rejected = check(&trace, &schedule).unwrap_err();
//! assert_eq!(
//!     rejected.to_string(),
//!     "slice 1: event 2 of thread 1 is not enabled: its thread is not created before event 0"
//! );
//! ```

mod accept;
mod conditions;
mod disabled;
mod facts;
mod happens_before;
mod locks;
mod memory;
mod outside;
mod rounds;
mod state;
mod validate;
mod well_formed;

#[cfg(test)]
mod accept_tests;
#[cfg(test)]
mod happens_before_tests;
#[cfg(test)]
mod table_tests;

pub use accept::{Accepted, Executed, Pending, Rejection, Side};
pub use conditions::Waiter;
pub use disabled::{Disabled, Violation};
pub use locks::HeldLock;
pub use state::{State, Step};
pub use validate::Validated;

use crate::schedule::Schedule;
use crate::trace::{EventId, ObjectId, ThreadId, Trace, Wakes};
use facts::Facts;
use happens_before::HappensBefore;

/// A checker for one trace. Building it walks the trace once; each check then costs no more than
/// the schedule is long, plus one word per cell.
#[derive(Debug)]
pub struct Checker<'t> {
    trace: &'t Trace,
    facts: Facts,
}

impl<'t> Checker<'t> {
    /// Prepares to check schedules of `trace`.
    #[must_use]
    pub fn new(trace: &'t Trace) -> Checker<'t> {
        Checker {
            trace,
            facts: Facts::of(trace),
        }
    }

    /// The trace that it checks schedules of.
    #[must_use]
    pub fn trace(&self) -> &'t Trace {
        self.trace
    }

    /// The state before the first event, to be stepped through by hand.
    #[must_use]
    pub fn start(&self) -> State<'_> {
        State::new(self.trace, &self.facts)
    }

    /// Executes a schedule.
    ///
    /// # Errors
    /// [`Rejection`], which names the slice, the event and what is wrong with it.
    pub fn check(&self, schedule: &Schedule) -> Result<Accepted, Rejection> {
        let (accepted, _) = self.follow(schedule, &mut |_| {})?;
        Ok(accepted)
    }

    /// Executes many schedules, each of them as [`check`](Checker::check) does, in the time of one pass over the
    /// trace plus what each adds to the events as recorded.
    #[must_use]
    pub fn check_all(&self, schedules: &[&Schedule]) -> Vec<Result<Accepted, Rejection>> {
        accept::check_all(self, schedules)
    }

    /// Executes a schedule, hands each of its steps to `each`, and returns the state at the race.
    ///
    /// # Errors
    /// As [`check`](Checker::check); `each` has then seen the steps before the one that failed.
    pub fn follow(
        &self,
        schedule: &Schedule,
        each: &mut dyn FnMut(Executed),
    ) -> Result<(Accepted, State<'_>), Rejection> {
        accept::follow(self, schedule, each)
    }

    /// Whether something synchronizes the first event of `stretch` with what a thread does after all of it, in a feasible order
    /// that ends in this stretch of the trace: so no schedule in that order shows them unordered. Costs as much as the stretch
    /// is long, not as what comes before it, and decides nothing: what it lets pass may still be rejected.
    ///
    /// `readers` are the threads that hold locks as readers where the stretch begins; `wakes` says whom its notifies wake.
    #[must_use]
    pub fn synchronizes(
        &self,
        stretch: &[EventId],
        readers: impl IntoIterator<Item = (ObjectId, ThreadId)>,
        wakes: &Wakes,
        thread: ThreadId,
    ) -> bool {
        let mut order = HappensBefore::amid(self.trace, readers);
        for &event in stretch {
            let from = wakes.woken.partition_point(|&(notify, _)| notify < event);
            let woken = wakes.woken[from..].iter().take_while(|&&(notify, _)| notify == event);
            let woken = woken.map(|&(_, thread)| thread).collect();
            let step = Step { woken };
            order.step(&Executed { slice: 0, event, step });
        }
        stretch.first().is_some_and(|&first| order.before_next(first, thread))
    }

    /// Executes the trace itself: is it a sequentially consistent linearization?
    ///
    /// # Errors
    /// [`Violation`], for the first event that is not enabled when its turn comes.
    pub fn validate(&self) -> Result<Validated, Violation> {
        validate::validate(self)
    }
}

/// Executes `schedule` on `trace`. To check many schedules of one trace, keep a [`Checker`].
///
/// # Errors
/// As [`Checker::check`].
pub fn check(trace: &Trace, schedule: &Schedule) -> Result<Accepted, Rejection> {
    Checker::new(trace).check(schedule)
}

/// Executes `trace` itself.
///
/// # Errors
/// As [`Checker::validate`].
pub fn validate(trace: &Trace) -> Result<Validated, Violation> {
    Checker::new(trace).validate()
}
