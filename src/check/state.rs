//! The state machine: what holds after the events executed so far, and what the next one does.

use super::conditions::{Condition, Waiter};
use super::disabled::{Disabled, Violation};
use super::facts::Facts;
use super::locks::{HeldLock, Lock};
use super::memory::Memory;
use super::outside::Outside;
use super::rounds::Rounds;
use crate::trace::{Access, AccessKind, CellId, EventId, IncarnationId, ObjectId, Op, ThreadId, Trace, WaitOutcome};
use std::collections::BTreeMap;
use trace_format::ObjectKind;

/// How far each thread has come.
#[derive(Clone, Debug)]
pub(super) struct Progress<'a> {
    trace: &'a Trace,
    /// By thread: how many of its events have happened.
    done: Vec<u32>,
}

impl Progress<'_> {
    pub(super) fn executed(&self, event: EventId) -> bool {
        self.trace.place(event) < self.done[self.trace.thread(event).index()]
    }

    fn next(&self, thread: ThreadId) -> Option<EventId> {
        let done = *self.done.get(thread.index())?;
        self.trace.program_order(thread).get(done as usize).copied()
    }
}

/// What an event did, beyond what the trace says of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The threads that it woke; empty for a notify that was lost.
    pub woken: Vec<ThreadId>,
}

/// The state after some events of a trace.
#[derive(Clone, Debug)]
pub struct State<'a> {
    trace: &'a Trace,
    facts: &'a Facts,
    progress: Progress<'a>,
    ended: Vec<bool>,
    /// By thread: its first read that saw another value than in π. Only in traces that free reads.
    strayed: Vec<Option<EventId>>,
    // Ordered, so that what is listed from it does not depend on hashing.
    locks: BTreeMap<ObjectId, Lock>,
    conditions: BTreeMap<ObjectId, Condition>,
    rounds: Rounds,
    memory: Memory<'a>,
    outside: Outside,
}

impl<'a> State<'a> {
    pub(super) fn new(trace: &'a Trace, facts: &'a Facts) -> State<'a> {
        let mut state = State {
            trace,
            facts,
            progress: Progress {
                trace,
                done: vec![0; trace.threads()],
            },
            ended: vec![false; trace.threads()],
            strayed: vec![None; trace.threads()],
            locks: BTreeMap::new(),
            conditions: BTreeMap::new(),
            rounds: Rounds::default(),
            memory: Memory::new(trace),
            outside: Outside::default(),
        };
        for (number, object) in trace.tables().objects.iter().enumerate() {
            if object.kind == ObjectKind::Semaphore {
                state.rounds.grant(ObjectId(number as u32), object.initial);
            }
        }
        for &(lock, thread, shared) in &facts.held {
            state.lock(lock).hold_from_start(thread, shared);
        }
        for wait in &facts.waiting {
            let (thread, end) = (wait.thread, Some(wait.end));
            let timed_out = wait.outcome == WaitOutcome::TimedOut;
            let condition = state.condition(wait.condition);
            if wait.woken {
                condition.woken_before(Waiter { thread, end }, 1);
            } else {
                condition.wait(Waiter { thread, end }, 1, timed_out);
            }
        }
        state
    }

    /// The same state, to go on from without touching this one.
    pub(super) fn branch(&self) -> State<'_> {
        State {
            trace: self.trace,
            facts: self.facts,
            progress: self.progress.clone(),
            ended: self.ended.clone(),
            strayed: self.strayed.clone(),
            locks: self.locks.clone(),
            conditions: self.conditions.clone(),
            rounds: self.rounds.clone(),
            memory: self.memory.branch(),
            outside: self.outside.clone(),
        }
    }

    /// Executes the next event of the trace, which all events before it precede. A notify wakes the waiter
    /// whose wait ends first in the trace.
    ///
    /// # Errors
    /// As [`step`](State::step).
    pub(super) fn step_as_recorded(&mut self, event: EventId, wakes: Option<ThreadId>) -> Result<Step, Violation> {
        let wakes = wakes.or_else(|| match self.trace.op(event) {
            Op::Notify { condition } => super::validate::earliest_deadline(self, condition),
            _ => None,
        });
        self.step(event, wakes)
    }

    /// Executes the next event of a thread.
    ///
    /// `wakes` is for a notify: the waiter that it wakes, which must be given exactly if somebody
    /// waits.
    ///
    /// # Errors
    /// [`Violation`] if the event is not enabled; the state is then unchanged.
    pub fn step(&mut self, event: EventId, wakes: Option<ThreadId>) -> Result<Step, Violation> {
        let thread = self.trace.thread(event);
        let step = self
            .ready(event, thread)
            .and_then(|()| self.perform(event, thread, wakes));
        match step {
            Ok(step) => {
                self.progress.done[thread.index()] += 1;
                Ok(step)
            }
            Err(why) => Err(Violation { event, thread, why }),
        }
    }

    /// Whether an event is the next one of its thread, and the thread is there.
    fn ready(&self, event: EventId, thread: ThreadId) -> Result<(), Disabled> {
        let next = self.progress.next(thread);
        if next != Some(event) {
            return Err(Disabled::NotNext { next });
        }
        if self.ended[thread.index()] {
            return Err(Disabled::AfterEnd);
        }
        match self.facts.fork_of(thread) {
            Some(fork) if !self.progress.executed(fork) => Err(Disabled::NotForked { fork }),
            _ => Ok(()),
        }
    }

    /// Whether an access could happen now, whatever value it would see: it is the next event of
    /// its thread, the thread is there, and so is the memory.
    ///
    /// # Errors
    /// [`Violation`] if not.
    pub fn pending(&self, event: EventId) -> Result<(), Violation> {
        let thread = self.trace.thread(event);
        let allocated = || {
            self.trace
                .access(event)
                .map_or(Ok(()), |access| self.allocated(access.incarnation))
        };
        let pending = self.ready(event, thread).and_then(|()| allocated());
        pending.map_err(|why| Violation { event, thread, why })
    }

    fn perform(&mut self, event: EventId, thread: ThreadId, wakes: Option<ThreadId>) -> Result<Step, Disabled> {
        let op = self.trace.op(event);
        if let (Some(read), Op::Branch | Op::Fork { .. } | Op::End | Op::Output { .. }) =
            (self.strayed[thread.index()], op)
        {
            return Err(Disabled::Strayed { read });
        }
        if let (Some(thread), false) = (wakes, matches!(op, Op::Notify { .. })) {
            let waiting = Vec::new();
            return Err(Disabled::WakesOther { thread, waiting });
        }
        match op {
            Op::Begin if self.trace.place(event) > 0 => return Err(Disabled::BegunTwice),
            Op::Begin | Op::Branch | Op::Fence { .. } | Op::OnceBegin { .. } => {}
            Op::Alloc { .. } | Op::Output { .. } => {}
            Op::End => self.ended[thread.index()] = true,
            Op::Fork { child } => match self.facts.fork_of(child) {
                Some(by) if by != event => return Err(Disabled::ForkedTwice { child, by }),
                _ => {}
            },
            Op::Join { child } => self.join(child)?,
            Op::Access(_) => self.access(event, thread)?,
            Op::Acquire { lock } => self.lock(lock).acquire(lock, thread, event)?,
            Op::AcquireShared { lock } => self.lock(lock).acquire_shared(lock, thread, event)?,
            Op::AcquireFailed { lock, shared } => {
                let recursive = self.trace.is_recursive(lock);
                self.lock(lock).fail(lock, thread, shared, recursive)?;
            }
            Op::Release { lock } => {
                let foreign = self.trace.tables().meta.foreign_unlock;
                self.lock(lock).release(lock, thread, foreign)?;
            }
            Op::WaitBegin { condition, lock } => self.wait_begin(event, thread, condition, lock)?,
            Op::WaitEnd { condition, lock, .. } => {
                let depth = self.condition(condition).can_end(condition, event)?;
                self.lock(lock).take_free(lock, thread, event, depth)?;
                self.condition(condition).end(event);
            }
            Op::Notify { condition } => {
                self.condition(condition).notify(wakes)?;
                let woken = wakes.into_iter().collect();
                return Ok(Step { woken });
            }
            Op::NotifyAll { condition } => {
                let woken = self.condition(condition).notify_all();
                return Ok(Step { woken });
            }
            Op::BarrierEnter { barrier, round } => self.rounds.enter(self.facts, barrier, round)?,
            Op::BarrierExit { barrier, round } => self.rounds.exit(self.facts, barrier, round)?,
            Op::SemPost { semaphore } => self.rounds.post(semaphore),
            Op::SemWait { semaphore } => self.rounds.take(semaphore)?,
            Op::SemWaitFailed { semaphore } => self.rounds.fail(semaphore)?,
            Op::OnceEnd { once } => self.rounds.initialize(once),
            Op::OnceWait { once } => self.rounds.initialized(once)?,
            Op::Input { source, .. } => self.outside.input(self.facts, &self.progress, source, event)?,
        }
        Ok(Step::default())
    }

    fn join(&self, child: ThreadId) -> Result<(), Disabled> {
        // A child without a recorded event has ended once it was created.
        let end = self.facts.end_of(child);
        let last = end.or_else(|| self.facts.fork_of(child));
        if last.is_some_and(|event| !self.progress.executed(event)) {
            return Err(Disabled::NotEnded { child });
        }
        // Its end is not recorded, so nothing else has kept it from getting there.
        match self.strayed.get(child.index()).copied().flatten() {
            Some(read) if end.is_some_and(|end| self.trace.op(end) != Op::End) => Err(Disabled::Strayed { read }),
            _ => Ok(()),
        }
    }

    fn access(&mut self, event: EventId, thread: ThreadId) -> Result<(), Disabled> {
        let Some(access) = self.trace.access(event) else {
            return Ok(());
        };
        self.allocated(access.incarnation)?;
        self.in_place(event)?;
        let strayed = &mut self.strayed[thread.index()];
        if access.kind.reads()
            && let Err(other_value) = self.memory.read(self.trace, access)
        {
            if !self.trace.frees_reads() {
                return Err(other_value);
            }
            // It may see anything, until something depends on it.
            strayed.get_or_insert(event);
        }
        if access.kind.writes() {
            self.memory.write(self.trace, access, strayed.is_some());
        }
        Ok(())
    }

    /// Whether a pinned access has its place among the events of the other threads.
    fn in_place(&self, event: EventId) -> Result<(), Disabled> {
        let Some(pin) = self.trace.pin(event) else {
            return Ok(());
        };
        for (number, &done) in self.progress.done.iter().enumerate() {
            let thread = ThreadId(number as u32);
            let order = self.trace.program_order(thread);
            let next = order.get(done as usize).copied();
            let last = (done as usize).checked_sub(1).map(|last| order[last]);
            if thread == self.trace.thread(event) {
                continue;
            }
            if let Some(other) = next.filter(|&next| next < pin.from) {
                return Err(Disabled::Unpinned {
                    thread,
                    other,
                    early: false,
                });
            }
            if let Some(other) = last.filter(|&last| last > pin.until) {
                return Err(Disabled::Unpinned {
                    thread,
                    other,
                    early: true,
                });
            }
        }
        Ok(())
    }

    fn allocated(&self, incarnation: IncarnationId) -> Result<(), Disabled> {
        match self.trace.incarnation(incarnation).alloc {
            Some(alloc) if !self.progress.executed(alloc) => Err(Disabled::NotAllocated { alloc }),
            _ => Ok(()),
        }
    }

    fn wait_begin(
        &mut self,
        event: EventId,
        thread: ThreadId,
        condition: ObjectId,
        lock: ObjectId,
    ) -> Result<(), Disabled> {
        let end = self.trace.wait_end(event);
        let depth = self.lock(lock).release_all(lock, thread)?;
        let timed_out = end.is_some_and(|end| self.trace.op(end).times_out());
        self.condition(condition).wait(Waiter { thread, end }, depth, timed_out);
        Ok(())
    }

    fn lock(&mut self, lock: ObjectId) -> &mut Lock {
        self.locks.entry(lock).or_default()
    }

    fn condition(&mut self, condition: ObjectId) -> &mut Condition {
        self.conditions.entry(condition).or_default()
    }

    /// The next event of a thread; `None` at its end.
    #[must_use]
    pub fn next(&self, thread: ThreadId) -> Option<EventId> {
        self.progress.next(thread)
    }

    /// How many events of a thread have happened.
    #[must_use]
    pub fn done(&self, thread: ThreadId) -> usize {
        self.progress.done.get(thread.index()).map_or(0, |&done| done as usize)
    }

    /// Whether an event has happened.
    #[must_use]
    pub fn executed(&self, event: EventId) -> bool {
        self.progress.executed(event)
    }

    /// The locks that a thread holds, by object.
    #[must_use]
    pub fn locks_held(&self, thread: ThreadId) -> Vec<HeldLock> {
        let held = self.locks.iter().filter_map(|(&id, lock)| lock.held(id, thread));
        held.collect()
    }

    /// Those that a notify of the condition can wake now, in the order in which they began to wait.
    #[must_use]
    pub fn waiting(&self, condition: ObjectId) -> Vec<Waiter> {
        let condition = self.conditions.get(&condition);
        condition.map_or_else(Vec::new, |condition| condition.waiting().collect())
    }

    /// The value that a cell holds; `None` if it is freed, or the trace does not show it.
    #[must_use]
    pub fn value(&self, cell: CellId) -> Option<u64> {
        self.memory.value(cell)
    }

    /// The value at an access, as the little-endian number that it would read now; `None` if some
    /// byte of it is not known.
    #[must_use]
    pub fn value_at(&self, access: Access) -> Option<u64> {
        if access.kind == AccessKind::Free {
            return None;
        }
        self.trace.uses(access).try_fold(0, |value, used| {
            let shift = 8 * (self.trace.cell(used.cell).addr - access.addr) as u32;
            Some(value | self.memory.value(used.cell)?.checked_shl(shift).unwrap_or(0))
        })
    }
}
