//! Executes a schedule and says whether it ends in its goal.

use crate::Checker;
use crate::disabled::{NoWait, Violation};
use crate::happens_before::{Clock, HappensBefore};
use crate::interrupted;
use crate::prefix::Prefix;
use crate::recording::Access;
use crate::stale;
use crate::state::{State, Step};
use crate::torn;
use crate::waiting::Others;
use hashbrown::HashMap;
use schedule_format::{Goal, Schedule};
use trace_format::{EventId, Op, ThreadId, TraceId};

/// A schedule that the checker accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// What it shows.
    pub goal: Goal,
    /// How many events it executes before that.
    pub events: u64,
    /// The first byte that both accesses touch, or that the one that is next does; `None` of a deadlock.
    pub addr: Option<u64>,
}

/// An event that a schedule executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executed {
    /// Number of its slice, from 1; 0 among the events as recorded.
    pub slice: usize,
    /// The event.
    pub event: EventId,
    /// What it did.
    pub step: Step,
}

/// One of the two accesses of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one earlier in the trace.
    First,
    /// The other.
    Second,
}

/// An access that is not pending at the end of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Which of the two.
    pub side: Side,
    /// Why not.
    pub violation: Violation,
}

/// Why a schedule does not show its goal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// It belongs to another trace.
    #[error("the schedule belongs to trace {schedule}, this is trace {trace}")]
    OtherTrace {
        /// The trace that the schedule names.
        schedule: TraceId,
        /// The trace at hand.
        trace: TraceId,
    },
    /// It is one of a beginning of the trace, which is cut elsewhere than this one.
    #[error("the schedule belongs to the first {first_events} events of the trace, this has {events}")]
    OtherBeginning {
        /// How many events the schedule was made from.
        first_events: u32,
        /// Events at hand.
        events: usize,
    },
    /// It names an event that the trace does not have.
    #[error("event {} is not in the trace, which has {events} events", event.0)]
    NoSuchEvent {
        /// The event.
        event: EventId,
        /// Length of the trace.
        events: usize,
    },
    /// It names a thread that the trace does not have.
    #[error("slice {slice}: thread {} is not in the trace, which has {threads} threads", thread.0)]
    NoSuchThread {
        /// Number of the slice, from 1.
        slice: usize,
        /// The thread.
        thread: ThreadId,
        /// Threads of the trace.
        threads: usize,
    },
    /// A slice is empty.
    #[error("slice {slice}: it has no event")]
    EmptySlice {
        /// Number of the slice, from 1.
        slice: usize,
    },
    /// A thread has fewer events than the slices ask of it.
    #[error("slice {slice}: thread {} has only {has} events", thread.0)]
    ThreadTooShort {
        /// Number of the slice, from 1.
        slice: usize,
        /// The thread.
        thread: ThreadId,
        /// How many events it has in the trace.
        has: usize,
    },
    /// An event is not enabled when its turn comes.
    #[error("slice {slice}: {violation}")]
    NotEnabled {
        /// Number of the slice, from 1.
        slice: usize,
        /// The event, its thread, and why.
        violation: Violation,
    },
    /// One notify is listed twice.
    #[error("event {} is listed twice among the wakes", notify.0)]
    WakesTwice {
        /// The notify.
        notify: EventId,
    },
    /// A wake is listed for an event that the schedule does not execute.
    #[error("event {} is listed among the wakes, but the schedule does not execute it", notify.0)]
    WakeNotExecuted {
        /// The event.
        notify: EventId,
    },
    /// One of the accesses is not next and enabled at the end.
    #[error("at the end of the schedule, {}", .0.violation)]
    NotPending(Pending),
    /// The first access of an unordered race, or the free before a use, is not part of the schedule.
    #[error("the schedule does not perform event {}, which has to come first", .0.0)]
    NotPerformed(EventId),
    /// The other thread's access of an atomicity violation comes before the first of the two.
    #[error("event {} comes before event {}, not behind it", between.0, first.0)]
    TooEarly {
        /// The first of the two.
        first: EventId,
        /// The other thread's.
        between: EventId,
    },
    /// Three accesses that are no atomicity violation in whatever order they come.
    #[error(transparent)]
    Serializable(interrupted::Serializable),
    /// Two reads and two writes that do not tear a pair in whatever order they come.
    #[error(transparent)]
    NoPair(torn::NoPair),
    /// A read of a pair does not stand as the goal says to the write of what it reads.
    #[error("event {} comes before event {}, and has to come behind it", late.0, early.0)]
    NotTorn {
        /// What has to come first.
        early: EventId,
        /// What has to come behind it.
        late: EventId,
    },
    /// What has to come first, and is not to be in the schedule, is.
    #[error("the schedule performs event {}, which must not have happened", .0.0)]
    Performed(EventId),
    /// Of an order, nothing has to come first.
    #[error("it names nothing that has to come first")]
    NothingAwaited,
    /// An event of an order is no access.
    #[error("event {} accesses no memory", .0.0)]
    NoAccess(EventId),
    /// The event that is to free a block, or to destroy an object, does not.
    #[error("event {} frees and destroys nothing", .0.0)]
    NoFree(EventId),
    /// What accesses a destroyed object is no operation on it, or one that follows in π.
    #[error("event {} does not use the object that event {} destroys, before that in the trace", access.0, destroy.0)]
    NoUse {
        /// What destroys the object.
        destroy: EventId,
        /// The access.
        access: EventId,
    },
    /// The first access of an unordered race happens before the second.
    #[error("event {} happens before event {}: something synchronizes the two", a.0, b.0)]
    Synchronized {
        /// The first access.
        a: EventId,
        /// The second access.
        b: EventId,
    },
    /// The event whose value is asked for does not read.
    #[error("event {} does not read", .0.0)]
    NoRead(EventId),
    /// Code that leaves no events changes what the read sees.
    #[error("what event {} would see is not known: unrecorded code changes it", .0.0)]
    Unrecorded(EventId),
    /// The read would see another value than the schedule says; `None`: one that the trace does not tell.
    #[error("event {} would see {}, not {}", read.0, in_words(*found), in_words(*claimed))]
    SeesOther {
        /// The read.
        read: EventId,
        /// What the schedule says.
        claimed: Option<u64>,
        /// What it would see.
        found: Option<u64>,
    },
    /// The read would see what it saw in the trace.
    #[error("event {} would see {value}, as in the trace", read.0)]
    SameValue {
        /// The read.
        read: EventId,
        /// The value.
        value: u64,
    },
    /// The pointer is not one into the freed block.
    #[error("{value} is no address in the block that event {} frees", free.0)]
    NotFreed {
        /// The free.
        free: EventId,
        /// What the read would see.
        value: u64,
    },
    /// The address that a read would see is in a block that lives.
    #[error("what event {} allocates is at {value}, and is not freed", alloc.0)]
    Lives {
        /// What allocated the block.
        alloc: EventId,
        /// What the read would see.
        value: u64,
    },
    /// The event whose value is asked for follows no pointer in the trace.
    #[error("event {} reads no pointer that its thread follows", .0.0)]
    NotFollowed(EventId),
    /// The trace does not tell what the read would see, and declares that what threads write depends on what they read.
    #[error("what event {} would see is not known: a thread may have written it that went another way", .0.0)]
    NotTold(EventId),
    /// A deadlock of no operation.
    #[error("it names no operation that waits")]
    NobodyWaits,
    /// All operations of a partial deadlock wait for notifies.
    #[error("all of them wait for notifies alone, as threads do that have nothing to do")]
    NobodyNeeded,
    /// A partial deadlock of all threads that are left.
    #[error("nobody else is left: it is a standstill, and not partial")]
    NobodyLeft,
    /// An operation is to wait for one of the threads of a deadlock for ever, and does not.
    #[error("event {} does not wait for ever: {why}", event.0)]
    NoWait {
        /// The operation.
        event: EventId,
        /// Why not.
        why: NoWait,
    },
    /// The two events do not conflict.
    #[error("events {} and {} do not conflict", a.0, b.0)]
    NoConflict {
        /// The first event.
        a: EventId,
        /// The second event.
        b: EventId,
    },
}

/// Executes `schedule`, hands each step to `each`, and returns the state at its end.
pub(crate) fn follow<'c>(
    checker: &'c Checker<'_>,
    schedule: &Schedule,
    each: &mut dyn FnMut(Executed),
) -> Result<(Accepted, State<'c>), Rejection> {
    follow_from(checker, checker.start(), 0, schedule, each)
}

/// As [`follow`], from a state in which the first `done` events have been executed as recorded: of these, nothing is
/// handed over, and what has to be watched from the start is not seen.
pub(crate) fn follow_from<'c>(
    checker: &'c Checker<'_>,
    mut state: State<'c>,
    done: u32,
    schedule: &Schedule,
    each: &mut dyn FnMut(Executed),
) -> Result<(Accepted, State<'c>), Rejection> {
    fits(checker, schedule)?;
    let mut wakes = listed_wakes(schedule)?;
    let mut watched = Watched::new(checker, &schedule.goal);
    for event in (done..schedule.as_recorded).map(EventId) {
        let step = state.step_as_recorded(event, wakes.remove(&event));
        let step = step.map_err(|violation| Rejection::NotEnabled { slice: 0, violation })?;
        let executed = Executed { slice: 0, event, step };
        watched.step(&executed, &state);
        each(executed);
    }
    let accepted = follow_slices(checker, schedule, &mut state, wakes, watched, each)?;
    Ok((accepted, state))
}

/// Executes many schedules of one trace, and the events that they all perform as recorded once.
pub(crate) fn check_all(checker: &Checker<'_>, schedules: &[&Schedule]) -> Vec<Result<Accepted, Rejection>> {
    let mut verdicts: Vec<Option<Result<Accepted, Rejection>>> = vec![None; schedules.len()];
    let mut order: Vec<usize> = (0..schedules.len()).collect();
    order.sort_by_key(|&number| schedules[number].as_recorded);
    let mut prefix = checker.prefix();
    for number in order {
        let schedule = schedules[number];
        // What wakes another waiter on the way, or has to be watched from the start, goes alone.
        let shares = Prefix::is_shared_by(schedule) && prefix.extend(schedule.as_recorded, &mut |_| {}).is_ok();
        verdicts[number] = Some(if shares {
            prefix.follow(schedule, &mut |_| {}).map(|(accepted, _)| accepted)
        } else {
            checker.check(schedule)
        });
    }
    verdicts.into_iter().flatten().collect()
}

/// Whether a schedule is one of this trace at all.
fn fits(checker: &Checker<'_>, schedule: &Schedule) -> Result<(), Rejection> {
    let (trace, events) = (checker.recording.id(), checker.recording.events());
    if schedule.trace != trace {
        let schedule = schedule.trace;
        return Err(Rejection::OtherTrace { schedule, trace });
    }
    if let Some(first_events) = schedule.first_events
        && first_events as usize != events
    {
        return Err(Rejection::OtherBeginning { first_events, events });
    }
    for event in schedule.goal.events() {
        if event.index() >= events {
            return Err(Rejection::NoSuchEvent { event, events });
        }
    }
    if schedule.as_recorded as usize > events {
        let event = EventId(schedule.as_recorded - 1);
        return Err(Rejection::NoSuchEvent { event, events });
    }
    Ok(())
}

/// Executes what follows the events as recorded, and looks whether the goal is there then.
fn follow_slices(
    checker: &Checker<'_>,
    schedule: &Schedule,
    state: &mut State<'_>,
    wakes: HashMap<EventId, ThreadId>,
    mut watched: Watched<'_>,
    each: &mut dyn FnMut(Executed),
) -> Result<Accepted, Rejection> {
    let mut run = Run::new(schedule, wakes);
    while let Some((slice, event)) = run.next(state, checker.threads())? {
        let step = state.step(event, run.wakes.remove(&event));
        let step = step.map_err(|violation| Rejection::NotEnabled { slice, violation })?;
        let executed = Executed { slice, event, step };
        watched.step(&executed, state);
        each(executed);
    }
    if let Some(&notify) = run.wakes.keys().min() {
        return Err(Rejection::WakeNotExecuted { notify });
    }
    let addr = shown(checker, &schedule.goal, state, &watched)?;
    Ok(Accepted {
        goal: schedule.goal.clone(),
        events: schedule.len(),
        addr,
    })
}

/// Whether a goal asks what the prefix synchronizes, or in which order it performs two events, so that it has to be
/// watched from the start.
pub(crate) fn watches(goal: &Goal) -> bool {
    matches!(
        goal,
        Goal::UnorderedRace(..) | Goal::AtomicityViolation { .. } | Goal::TornPair { .. }
    )
}

/// What a goal asks of the way to the state at the end.
#[derive(Default)]
struct Watched<'c> {
    synchronized: Option<HappensBefore<'c, Clock>>,
    /// Two events, and whether the second came behind the first.
    in_order: Option<(EventId, EventId, bool)>,
}

impl<'c> Watched<'c> {
    fn new(checker: &'c Checker<'_>, goal: &Goal) -> Watched<'c> {
        match *goal {
            Goal::UnorderedRace(..) => Watched {
                synchronized: Some(HappensBefore::new(checker)),
                in_order: None,
            },
            Goal::AtomicityViolation { first, between, .. } => Watched {
                synchronized: None,
                in_order: Some((first, between, false)),
            },
            Goal::TornPair {
                first,
                writes,
                unfinished,
                ..
            } => Watched {
                synchronized: None,
                in_order: Some(match unfinished {
                    true => (writes[0], first, false),
                    false => (first, writes[0], false),
                }),
            },
            Goal::Race(..)
            | Goal::UseAfterFree { .. }
            | Goal::Order { .. }
            | Goal::OtherValue { .. }
            | Goal::StalePointer { .. }
            | Goal::Deadlock(_)
            | Goal::PartialDeadlock(_) => Watched::default(),
        }
    }

    fn step(&mut self, executed: &Executed, after: &State<'_>) {
        if let Some(synchronized) = &mut self.synchronized {
            synchronized.step(executed);
        }
        if let Some((first, second, in_order)) = &mut self.in_order
            && executed.event == *second
        {
            *in_order = after.executed(*first);
        }
    }
}

/// The first byte that a goal is about, if it is about memory and the state at the end of a schedule is what the goal
/// demands.
fn shown(
    checker: &Checker<'_>,
    goal: &Goal,
    state: &State<'_>,
    watched: &Watched<'_>,
) -> Result<Option<u64>, Rejection> {
    let pending = |side, event| {
        let pending = state.pending(event);
        pending.map_err(|violation| Rejection::NotPending(Pending { side, violation }))
    };
    let conflict = |a, b| checker.conflict(a, b).map(Some).ok_or(Rejection::NoConflict { a, b });
    match *goal {
        Goal::Race(a, b) => {
            pending(Side::First, a)?;
            pending(Side::Second, b)?;
            conflict(a, b)
        }
        Goal::UnorderedRace(a, b) => {
            if !state.executed(a) {
                return Err(Rejection::NotPerformed(a));
            }
            pending(Side::Second, b)?;
            let synchronized = watched.synchronized.as_ref();
            if synchronized.is_none_or(|order| order.before_next(a, checker.recording.thread(b))) {
                return Err(Rejection::Synchronized { a, b });
            }
            conflict(a, b)
        }
        Goal::UseAfterFree { free, access } => {
            match (checker.recording.op(free), checker.recording.op(access)) {
                (Op::Free { .. }, _) => {}
                // A later use is of an object that was initialized anew, or found it gone in π already.
                (Op::Destroy { .. }, Op::Use { .. }) if access < free => {}
                (Op::Destroy { .. }, _) => return Err(Rejection::NoUse { destroy: free, access }),
                _ => return Err(Rejection::NoFree(free)),
            }
            if !state.executed(free) {
                return Err(Rejection::NotPerformed(free));
            }
            pending(Side::Second, access)?;
            conflict(free, access)
        }
        Goal::AtomicityViolation {
            first,
            between,
            second,
            both_next,
        } => {
            let shared = interrupted::shared(checker, first, between, second);
            let shared = shared.map_err(Rejection::Serializable)?;
            if !state.executed(first) {
                return Err(Rejection::NotPerformed(first));
            }
            if both_next {
                pending(Side::First, between)?;
            } else if !state.executed(between) {
                return Err(Rejection::NotPerformed(between));
            } else if !watched.in_order.is_some_and(|(.., in_order)| in_order) {
                return Err(Rejection::TooEarly { first, between });
            }
            pending(Side::Second, second)?;
            Ok(Some(shared))
        }
        Goal::TornPair {
            first,
            writes,
            second,
            unfinished,
        } => {
            let read = torn::read_first(checker, first, writes, second).map_err(Rejection::NoPair)?;
            let [of_first, of_second] = writes;
            let (earlier, later) = (of_first.min(of_second), of_first.max(of_second));
            for event in [first, earlier].into_iter().chain(Some(later).filter(|_| !unfinished)) {
                if !state.executed(event) {
                    return Err(Rejection::NotPerformed(event));
                }
            }
            if unfinished && state.executed(later) {
                return Err(Rejection::Performed(later));
            }
            // If the first read's write is the one that has not happened, the read has not seen it.
            let is_unseen = unfinished && later == of_first;
            if !is_unseen && watched.in_order.is_none_or(|(.., in_order)| !in_order) {
                let (early, late) = if unfinished {
                    (of_first, first)
                } else {
                    (first, of_first)
                };
                return Err(Rejection::NotTorn { early, late });
            }
            pending(Side::Second, second)?;
            Ok(Some(read))
        }
        Goal::Order { ref awaited, early } => {
            if awaited.is_empty() {
                return Err(Rejection::NothingAwaited);
            }
            let first_byte = |event| checker.first_byte(event).ok_or(Rejection::NoAccess(event));
            for &event in awaited {
                first_byte(event)?;
                if state.executed(event) {
                    return Err(Rejection::Performed(event));
                }
            }
            pending(Side::Second, early)?;
            first_byte(early).map(Some)
        }
        Goal::Deadlock(ref waiting) | Goal::PartialDeadlock(ref waiting) => {
            let threads: Vec<ThreadId> = waiting.iter().map(|&event| checker.recording.thread(event)).collect();
            if threads.is_empty() {
                return Err(Rejection::NobodyWaits);
            }
            let partial = matches!(goal, Goal::PartialDeadlock(_));
            let others = match partial {
                true => state.going_on_beside(&threads, &state.likes()),
                false => state.left_beside(&threads),
            };
            for &event in waiting {
                let waits = state.waits_for(event, &threads, &others);
                waits.map_err(|why| Rejection::NoWait { event, why })?;
            }
            if partial && waiting.iter().all(|&event| state.is_for_notify(event, &threads)) {
                return Err(Rejection::NobodyNeeded);
            }
            if partial && matches!(state.left_beside(&threads), Others::Nobody) {
                return Err(Rejection::NobodyLeft);
            }
            Ok(None)
        }
        Goal::OtherValue { read, value: claimed } => {
            let access = Access::of(checker.recording.op(read));
            let (access, sees) = access
                .and_then(|access| Some((access, access.sees?)))
                .ok_or(Rejection::NoRead(read))?;
            pending(Side::First, read)?;
            if checker.reads_external(read) {
                return Err(Rejection::Unrecorded(read));
            }
            match state.value_at(read) {
                found if found != claimed => Err(Rejection::SeesOther { read, claimed, found }),
                None if checker.frees_reads => Err(Rejection::NotTold(read)),
                Some(value) if value == sees => Err(Rejection::SameValue { read, value }),
                _ => Ok(Some(access.mem.addr)),
            }
        }
        Goal::StalePointer { free, read, value } => {
            let addr = stale::pointer(checker, read).ok_or(Rejection::NotFollowed(read))?;
            if !stale::freed_by(checker, free)
                .ok_or(Rejection::NoFree(free))?
                .contains(&value)
            {
                return Err(Rejection::NotFreed { free, value });
            }
            if !state.executed(free) {
                return Err(Rejection::NotPerformed(free));
            }
            pending(Side::Second, read)?;
            if checker.reads_external(read) {
                return Err(Rejection::Unrecorded(read));
            }
            let (claimed, found) = (Some(value), state.value_at(read));
            if found != claimed {
                return Err(Rejection::SeesOther { read, claimed, found });
            }
            match stale::living(checker, state, value) {
                Some(alloc) => Err(Rejection::Lives { alloc, value }),
                None => Ok(Some(addr)),
            }
        }
    }
}

fn in_words(value: Option<u64>) -> String {
    value.map_or_else(
        || "a value that the trace does not tell".to_owned(),
        |value| value.to_string(),
    )
}

fn listed_wakes(schedule: &Schedule) -> Result<HashMap<EventId, ThreadId>, Rejection> {
    let mut wakes = HashMap::new();
    for &(notify, thread) in &schedule.wakes {
        if wakes.insert(notify, thread).is_some() {
            return Err(Rejection::WakesTwice { notify });
        }
    }
    Ok(wakes)
}

/// Walks through the slices of a schedule.
struct Run<'s> {
    schedule: &'s Schedule,
    slice: usize,
    left: u32,
    wakes: HashMap<EventId, ThreadId>,
}

impl<'s> Run<'s> {
    fn new(schedule: &'s Schedule, wakes: HashMap<EventId, ThreadId>) -> Run<'s> {
        Run {
            schedule,
            slice: 0,
            left: schedule.slices.first().map_or(0, |slice| slice.events),
            wakes,
        }
    }

    /// The next event, with the number of its slice.
    fn next(&mut self, state: &State<'_>, threads: usize) -> Result<Option<(usize, EventId)>, Rejection> {
        let Some(now) = self.schedule.slices.get(self.slice) else {
            return Ok(None);
        };
        let (slice, thread) = (self.slice + 1, now.thread);
        if thread.index() >= threads {
            return Err(Rejection::NoSuchThread { slice, thread, threads });
        }
        if now.events == 0 {
            return Err(Rejection::EmptySlice { slice });
        }
        let Some(event) = state.next(thread) else {
            let has = state.done(thread);
            return Err(Rejection::ThreadTooShort { slice, thread, has });
        };
        self.left -= 1;
        if self.left == 0 {
            self.slice += 1;
            self.left = self.schedule.slices.get(self.slice).map_or(0, |slice| slice.events);
        }
        Ok(Some((slice, event)))
    }
}
