//! The independent checker: does a schedule really lead to its race?
//!
//! Nobody sees a witness that this crate did not accept, so it may err on one side only: it may reject, never accept
//! wrongly. It is written from `docs/SEMANTICS.md` alone, and depends on the trace's format and on the schedule's;
//! cargo keeps it from knowing the analysis that it judges. Its models are the proof checkers of cadical and varisat:
//! small, and of another make than the solver.
//!
//! 1. It is given a [`Recording`]: each event as it stands in the file, the tables, and a list of each thread's events,
//!    which it compares with them; nothing else that follows from these.
//! 2. One walk over the events serves both `before` and `bytes`. `before` learns who creates whom, which end a wait has,
//!    and what held before the first event.
//! 3. `bytes` gives each byte of each life of an address a number, so that an access is a run of numbers. There are no
//!    cells: a read compares bytes, a write stores bytes, and two accesses conflict if they share one.
//! 4. `unrecorded` finds what each byte held at first, which bytes code that leaves no events changes, and the place
//!    that accesses of these keep.
//!    `pointers` finds the blocks that equal addresses belong to.
//! 5. A [`State`] is the table of section 1 as a machine: for each kind of event when it is enabled, and what it does;
//!    `locks`, `conditions`, `rounds`, `memory` and `outside` are its parts. Where the table leaves a choice open, the
//!    checker takes the stricter reading, and the file that does so says which.
//! 6. `accept` executes a schedule on it from the start of the trace and accepts only if its goal is there then: of a
//!    race, both accesses are next in their threads, enabled and in conflict; for an unordered race `happens_before`
//!    goes along; of another value, the read is next, and memory holds that value; of a stale pointer, that is an
//!    address that was freed. [`Checker::validate`] executes the
//!    trace itself: its operations, since `unrecorded` leaves nothing that could forbid an access there.
//!
//! `tests/oracle` compares all of it with a second reading of the same page that shares no code with this one.
//!
//! ```
//! use checker::{Checker, Events};
//! use schedule_format::{Goal, Schedule, Slice};
//! use trace_format::{Event, EventId, MemRange, Op, StackId, Tables, ThreadId, TraceId};
//!
//! let mem = MemRange { addr: 0x10, size: 4 };
//! let event = |thread, op| Event { thread: ThreadId(thread), pc: 0, stack: StackId::EMPTY, op };
//! let id = TraceId([0; 16]);
//! let trace = Events::new(id, Tables::default(), vec![
//!     event(0, Op::Fork { child: ThreadId(1) }),
//!     event(0, Op::Write { mem, value: 1 }),
//!     event(1, Op::Begin),
//!     event(1, Op::Read { mem, value: 1 }),
//! ]);
//! let slice = |thread, events| Slice { thread: ThreadId(thread), events };
//! let mut schedule = Schedule {
//!     trace: id,
//!     first_events: None,
//!     goal: Goal::Race(EventId(1), EventId(3)),
//!     as_recorded: 0,
//!     slices: vec![slice(0, 1), slice(1, 1)],
//!     wakes: Vec::new(),
//! };
//! let checker = Checker::new(&trace);
//! assert!(checker.check(&schedule).is_ok());
//!
//! schedule.slices.reverse();
//! let rejected = checker.check(&schedule).unwrap_err();
//! assert_eq!(
//!     rejected.to_string(),
//!     "slice 1: event 2 of thread 1 is not enabled: its thread is not created before event 0"
//! );
//! ```

mod accept;
mod before;
mod bits;
mod bytes;
mod conditions;
mod disabled;
mod first_thread;
mod happens_before;
mod images;
mod interrupted;
mod lives;
mod locks;
mod marked;
mod memory;
mod outside;
mod overlay;
mod own_frames;
mod pointers;
mod prefix;
mod recording;
mod rounds;
mod shadow;
mod stale;
mod state;
mod torn;
mod unrecorded;
mod validate;
mod waiting;
mod well_formed;

#[cfg(test)]
mod accept_tests;
#[cfg(test)]
mod happens_before_tests;
#[cfg(test)]
mod table_tests;
#[cfg(test)]
mod unrecorded_tests;
#[cfg(test)]
mod waiting_tests;

pub use accept::{Accepted, Executed, Pending, Rejection, Side};
pub use conditions::Waiter;
pub use disabled::{Disabled, NoWait, Violation};
pub use locks::HeldLock;
pub use prefix::Prefix;
pub use recording::{Events, OpenError, Recording};
pub use state::{State, Step};
pub use validate::Validated;

use before::Facts;
use bytes::{Bytes, Touched};
use happens_before::HappensBefore;
use hashbrown::HashMap;
use lives::Lives;
use pointers::Pointers;
use recording::{Access, all, walk};
use schedule_format::Schedule;
use std::collections::BTreeSet;
use std::sync::OnceLock;
use trace_format::{CodePosition, EventId, ObjectId, Op, StackId, ThreadId};
use unrecorded::Unrecorded;

/// A checker for one trace. Building it walks over the trace a few times; each check then costs no more than the
/// schedule is long, plus two bytes for each byte of the trace's memory.
#[derive(Debug)]
pub struct Checker<'t> {
    recording: &'t dyn Recording,
    facts: Facts,
    bytes: Bytes,
    unrecorded: Unrecorded,
    pointers: Pointers,
    lives: Lives,
    /// Found out when somebody asks.
    visitors: OnceLock<HashMap<(CodePosition, StackId), BTreeSet<ThreadId>>>,
    /// Whether a read on which nothing depends may see any value: the trace declares its control flow recorded, and no
    /// unrecorded code, whose dependences nobody knows, changes its memory.
    frees_reads: bool,
}

impl<'t> Checker<'t> {
    /// Prepares to check schedules of a trace.
    #[must_use]
    pub fn new(recording: &'t dyn Recording) -> Checker<'t> {
        let (mut facts, mut bytes) = (before::Walk::new(recording), bytes::Walk::new(recording));
        walk(recording, |event, thread, op| {
            let access = Access::of(*op);
            facts.see(event, thread, op, access.is_some());
            bytes.see(event, thread, op, access.as_ref());
        });
        let (facts, mut bytes) = (facts.end(recording), bytes.end());
        let unrecorded = Unrecorded::of(recording, &facts, &bytes);
        let pointers = Pointers::of(recording, &mut bytes, &unrecorded);
        let lives = Lives::of(recording, &bytes);
        let frees_reads = recording.tables().meta.control_flow_recorded && !unrecorded.any();
        Checker {
            recording,
            facts,
            bytes,
            unrecorded,
            pointers,
            lives,
            visitors: OnceLock::new(),
            frees_reads,
        }
    }

    /// The state before the first event, to be stepped through by hand.
    #[must_use]
    pub fn start(&self) -> State<'_> {
        State::new(self)
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

    /// No event yet; what several schedules have as recorded is added to it, and each goes on from there.
    #[must_use]
    pub fn prefix(&self) -> Prefix<'_> {
        Prefix::new(self)
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

    /// Whether something synchronizes the first event of `stretch` with what a thread does after all of it, in a
    /// feasible order that ends in this stretch of the trace: so no schedule in that order shows them unordered. Costs
    /// as much as the stretch is long, not as what comes before it, and decides nothing: what it lets pass may still be
    /// rejected.
    ///
    /// `readers` are the threads that hold locks as readers where the stretch begins; `woken` says whom its notifies
    /// wake, in the order of the events. Without `pins`, pinned accesses order nothing.
    #[must_use]
    pub fn synchronizes(
        &self,
        stretch: impl IntoIterator<Item = EventId>,
        readers: impl IntoIterator<Item = (ObjectId, ThreadId)>,
        woken: &[(EventId, ThreadId)],
        thread: ThreadId,
        pins: bool,
    ) -> bool {
        let mut stretch = stretch.into_iter().peekable();
        let Some(&first) = stretch.peek() else { return false };
        let mut order = HappensBefore::of_one(self, first, readers);
        order.pins = pins;
        for event in stretch {
            if order.is_untouched_by(event) {
                continue;
            }
            let from = woken.partition_point(|&(notify, _)| notify < event);
            let woken = woken[from..].iter().take_while(|&&(notify, _)| notify == event);
            let woken = woken.map(|&(_, thread)| thread).collect();
            let step = Step { woken };
            order.step(&Executed { slice: 0, event, step });
            // What happens before stays so, whatever comes then.
            if order.is_before_next(thread) {
                return true;
            }
        }
        false
    }

    /// Executes the trace itself: is it a sequentially consistent linearization?
    ///
    /// # Errors
    /// [`Violation`], for the first event that is not enabled when its turn comes.
    pub fn validate(&self) -> Result<Validated, Violation> {
        validate::validate(self)
    }

    fn threads(&self) -> usize {
        self.recording.threads()
    }

    /// By position and call stack: the threads that have an event there.
    fn visitors(&self) -> &HashMap<(CodePosition, StackId), BTreeSet<ThreadId>> {
        self.visitors.get_or_init(|| {
            let mut visitors: HashMap<_, BTreeSet<ThreadId>> = HashMap::new();
            for event in all(self.recording) {
                let place = (self.recording.pc(event), self.recording.stack(event));
                visitors.entry(place).or_default().insert(self.recording.thread(event));
            }
            visitors
        })
    }

    fn touched(&self, event: EventId) -> Option<Touched> {
        self.bytes.touched(event)
    }

    /// Whether an event sees the value of a byte that unrecorded code changes.
    fn reads_external(&self, event: EventId) -> bool {
        let reads = || Access::of(self.recording.op(event)).is_some_and(|access| access.sees.is_some());
        let touched = self.touched(event).filter(|_| self.unrecorded.any() && reads());
        touched.is_some_and(|mut touched| touched.bytes.any(|byte| self.unrecorded.is_external(byte)))
    }

    /// The first byte that an access touches, or that a free frees; `None` of other events.
    fn first_byte(&self, event: EventId) -> Option<u64> {
        match self.recording.op(event) {
            Op::Free { addr } => self.touched(event).map(|_| addr),
            op => Access::of(op).map(|access| access.mem.addr),
        }
    }

    /// Whether two events conflict, and the address of the first byte that they share. They come from different
    /// threads, at least one writes, and not both are atomic; a use is, and writes nothing.
    fn conflict(&self, a: EventId, b: EventId) -> Option<u64> {
        let (first, second) = (self.touched(a)?, self.touched(b)?);
        let (op, other) = (self.recording.op(a), self.recording.op(b));
        let atomic = |op| Access::of(op).is_some_and(|access| access.atomic);
        let writes = |op| match Access::of(op) {
            Some(access) => access.leaves.is_some(),
            None => matches!(op, Op::Free { .. }),
        };
        let byte = first.bytes.start.max(second.bytes.start);
        let shared = byte < first.bytes.end.min(second.bytes.end);
        let conflict = self.recording.thread(a) != self.recording.thread(b)
            && shared
            && (writes(op) || writes(other))
            && !(atomic(op) && atomic(other));
        // Of a free, only the bytes have a place in memory that is known here; two of them share a whole block.
        let (named, touched) = Access::of(op).map(|access| (access, first)).or_else(|| {
            let other = Access::of(other);
            other.map(|access| (access, second))
        })?;
        conflict.then(|| named.mem.addr + (byte - touched.bytes.start) as u64)
    }
}
