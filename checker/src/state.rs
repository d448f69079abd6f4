//! The state machine: what holds after the events executed so far, and what the next one does.

use crate::Checker;
use crate::bytes::BlockId;
use crate::conditions::{Condition, Waiter};
use crate::disabled::{Disabled, Violation};
use crate::locks::{HeldLock, Lock};
use crate::memory::Memory;
use crate::outside::Outside;
use crate::pointers::Blocks;
use crate::recording::Access;
use crate::rounds::Rounds;
use crate::validate::earliest_deadline;
use columns::Excerpt;
use std::collections::BTreeMap;
use std::ops::Range;
use trace_format::{EventId, ObjectId, ObjectKind, Op, ThreadId, WaitOutcome};

/// How far each thread has come.
#[derive(Clone, Debug)]
pub(crate) struct Progress<'a> {
    checker: &'a Checker<'a>,
    /// How many events of the trace have happened, if these are the first ones in its order.
    as_recorded: Option<u32>,
    /// By thread: how many of its events have happened.
    done: Vec<u32>,
}

impl Progress<'_> {
    /// The events of a thread that have happened, and those that have not.
    pub(crate) fn split(&self, thread: usize) -> (Excerpt<'_, EventId>, Excerpt<'_, EventId>) {
        let all = self.checker.recording.program_order(ThreadId(thread as u32));
        let done = self.done[thread] as usize;
        (all.until(done), all.from(done))
    }

    pub(crate) fn executed(&self, event: EventId) -> bool {
        if let Some(events) = self.as_recorded {
            return event.0 < events;
        }
        let thread = self.checker.recording.thread(event);
        // Events of a thread ascend.
        let next = self
            .checker
            .recording
            .program_order(thread)
            .get(self.done[thread.index()] as usize);
        next.is_none_or(|next| event < next)
    }

    fn next(&self, thread: ThreadId) -> Option<EventId> {
        let done = *self.done.get(thread.index())?;
        self.checker.recording.program_order(thread).get(done as usize)
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
    pub(crate) checker: &'a Checker<'a>,
    pub(crate) progress: Progress<'a>,
    pub(crate) ended: Vec<bool>,
    /// By thread: its first read that saw another value than in π. Only in traces that free reads.
    strayed: Vec<Option<EventId>>,
    // Ordered, so that what is listed from it does not depend on hashing.
    pub(crate) locks: BTreeMap<ObjectId, Lock>,
    pub(crate) conditions: BTreeMap<ObjectId, Condition>,
    pub(crate) rounds: Rounds,
    memory: Memory<'a>,
    blocks: Blocks<'a>,
    outside: Outside,
}

impl<'a> State<'a> {
    pub(crate) fn new(checker: &'a Checker<'a>) -> State<'a> {
        let threads = checker.threads();
        let mut state = State {
            checker,
            progress: Progress {
                checker,
                as_recorded: Some(0),
                done: vec![0; threads],
            },
            ended: vec![false; threads],
            strayed: vec![None; threads],
            locks: BTreeMap::new(),
            conditions: BTreeMap::new(),
            rounds: Rounds::default(),
            memory: Memory::new(checker.unrecorded.initial.contents()),
            blocks: Blocks::default(),
            outside: Outside::default(),
        };
        for (number, object) in checker.recording.tables().objects.iter().enumerate() {
            if object.kind == ObjectKind::Semaphore {
                state.rounds.grant(ObjectId(number as u32), object.initial);
            }
        }
        for &(lock, thread, shared) in &checker.facts.held {
            state.lock(lock).hold_from_start(thread, shared);
        }
        for wait in &checker.facts.waiting {
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
    #[must_use]
    pub fn branch(&self) -> State<'_> {
        State {
            checker: self.checker,
            progress: self.progress.clone(),
            ended: self.ended.clone(),
            strayed: self.strayed.clone(),
            locks: self.locks.clone(),
            conditions: self.conditions.clone(),
            rounds: self.rounds.clone(),
            memory: self.memory.branch(),
            blocks: self.blocks.branch(),
            outside: self.outside.clone(),
        }
    }

    /// Executes the next event of the trace, which all events before it precede. A notify wakes the waiter
    /// whose wait ends first in the trace.
    ///
    /// # Errors
    /// As [`step`](State::step).
    pub fn step_as_recorded(&mut self, event: EventId, wakes: Option<ThreadId>) -> Result<Step, Violation> {
        let recording = self.checker.recording;
        self.step_as_recorded_by(event, recording.thread(event), recording.op(event), wakes)
    }

    /// The same of an event of `thread` that does `op`.
    #[inline]
    pub(crate) fn step_as_recorded_by(
        &mut self,
        event: EventId,
        thread: ThreadId,
        op: Op,
        wakes: Option<ThreadId>,
    ) -> Result<Step, Violation> {
        let wakes = wakes.or_else(|| match op {
            Op::Notify { condition } => earliest_deadline(self, condition),
            _ => None,
        });
        self.step_by(event, thread, op, wakes)
    }

    /// Executes the next event of a thread.
    ///
    /// `wakes` is for a notify: the waiter that it wakes, which must be given exactly if somebody
    /// waits.
    ///
    /// # Errors
    /// [`Violation`] if the event is not enabled; the state is then unchanged.
    pub fn step(&mut self, event: EventId, wakes: Option<ThreadId>) -> Result<Step, Violation> {
        let recording = self.checker.recording;
        self.step_by(event, recording.thread(event), recording.op(event), wakes)
    }

    fn step_by(
        &mut self,
        event: EventId,
        thread: ThreadId,
        op: Op,
        wakes: Option<ThreadId>,
    ) -> Result<Step, Violation> {
        // Where all events before it in the trace have happened, and no others, it is the next one of its thread.
        let as_recorded = self.is_as_recorded(event);
        let ready = match as_recorded {
            true => self.there(thread),
            false => self.ready(event, thread),
        };
        match ready.and_then(|()| self.perform(event, op, thread, wakes)) {
            Ok(step) => {
                self.progress.as_recorded = as_recorded.then_some(event.0 + 1);
                self.progress.done[thread.index()] += 1;
                Ok(step)
            }
            Err(why) => Err(Violation { event, thread, why }),
        }
    }

    /// Executes a read or a write of the trace itself, if that is one, of a thread that is there: nothing forbids it
    /// (`validate`), and a read changes nothing. Most events are such, so nothing else is asked of them. `touched`: the
    /// bytes.
    #[inline]
    pub(crate) fn passes(
        &mut self,
        event: EventId,
        thread: ThreadId,
        op: &Op,
        touched: impl FnOnce() -> Option<Range<usize>>,
    ) -> bool {
        let number = thread.index();
        if !self.is_as_recorded(event) || self.progress.done[number] == 0 || self.ended[number] {
            return false;
        }
        match op {
            Op::Read { .. } | Op::AtomicLoad { .. } => {}
            &(Op::Write { value, .. } | Op::AtomicStore { value, .. }) => {
                let pointers = &self.checker.pointers;
                let Some(touched) = touched().filter(|touched| !pointers.are_at(touched.start)) else {
                    return false;
                };
                if self.strayed[number].is_some() {
                    return false;
                }
                self.memory.store(touched, Some(value));
            }
            _ => return false,
        }
        self.progress.as_recorded = Some(event.0 + 1);
        self.progress.done[number] += 1;
        true
    }

    /// Whether all events before one in the trace have happened, and no others.
    fn is_as_recorded(&self, event: EventId) -> bool {
        self.progress.as_recorded == Some(event.0)
    }

    /// Goes on to an event of the trace itself, past accesses and frees that nothing forbids. What is in memory then, and
    /// how many events of a thread have happened, is not known any more.
    pub(crate) fn pass_to(&mut self, event: EventId) {
        self.progress.as_recorded = Some(event.0);
    }

    /// Looks at all that an event needs, even if the order is that of the trace.
    #[cfg(test)]
    pub(crate) fn distrust(&mut self) {
        self.progress.as_recorded = None;
    }

    /// Whether an event is the next one of its thread, and the thread is there.
    pub(crate) fn ready(&self, event: EventId, thread: ThreadId) -> Result<(), Disabled> {
        let next = self.progress.next(thread);
        if next != Some(event) {
            return Err(Disabled::NotNext { next });
        }
        self.there(thread)
    }

    /// Whether a thread is there, to do its next event.
    fn there(&self, thread: ThreadId) -> Result<(), Disabled> {
        if self.ended[thread.index()] {
            return Err(Disabled::AfterEnd);
        }
        // Whoever has done something was created before it.
        if self.progress.done[thread.index()] > 0 {
            return Ok(());
        }
        match self.checker.facts.fork_of(thread) {
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
        let thread = self.checker.recording.thread(event);
        let touched = self.checker.touched(event);
        let allocated = || touched.map_or(Ok(()), |touched| self.allocated(touched.block));
        let pending = self.ready(event, thread).and_then(|()| allocated());
        pending.map_err(|why| Violation { event, thread, why })
    }

    fn perform(&mut self, event: EventId, op: Op, thread: ThreadId, wakes: Option<ThreadId>) -> Result<Step, Disabled> {
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
            Op::Begin if self.progress.done[thread.index()] > 0 => return Err(Disabled::BegunTwice),
            Op::Begin | Op::Branch | Op::Fence { .. } | Op::OnceBegin { .. } => {}
            Op::Alloc { .. } | Op::Output { .. } => {}
            Op::End => self.ended[thread.index()] = true,
            Op::Fork { child } => match self.checker.facts.fork_of(child) {
                Some(by) if by != event => return Err(Disabled::ForkedTwice { child, by }),
                _ => {}
            },
            Op::Join { child, .. } => self.join(child)?,
            Op::Read { .. } | Op::Write { .. } | Op::AtomicLoad { .. } | Op::AtomicStore { .. } => {
                self.access(event, op, thread)?;
            }
            Op::AtomicRmw { .. } | Op::Destroy { .. } | Op::Free { .. } => self.access(event, op, thread)?,
            Op::Use { .. } => {
                let ended = self.checker.lives.ended(event, |end| self.progress.executed(end));
                if let Some(by) = ended {
                    return Err(Disabled::Ended { by });
                }
                self.access(event, op, thread)?;
            }
            Op::Acquire { lock, .. } => {
                // A thread that gives its lock back itself holds it as often in each order as in the trace, so its
                // events show whether it may take it once more. If others may give it back, only its kind does.
                let once = matches!(self.kind(lock), Some(ObjectKind::Mutex | ObjectKind::SpinLock));
                let again = !(once && self.checker.recording.tables().meta.foreign_unlock);
                self.lock(lock).acquire(lock, thread, event, again)?;
            }
            Op::AcquireShared { lock, .. } => self.lock(lock).acquire_shared(lock, thread, event)?,
            Op::AcquireFailed { lock, shared } => {
                let recursive = self.kind(lock) == Some(ObjectKind::RecursiveMutex);
                self.lock(lock).fail(lock, thread, shared, recursive)?;
            }
            Op::Release { lock } => {
                let foreign = self.checker.recording.tables().meta.foreign_unlock;
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
            Op::BarrierEnter { barrier, round } => self.rounds.enter(&self.checker.facts, barrier, round)?,
            Op::BarrierExit { barrier, round, .. } => self.rounds.exit(&self.checker.facts, barrier, round)?,
            Op::SemPost { semaphore } => self.rounds.post(semaphore),
            Op::SemWait { semaphore, .. } => self.rounds.take(semaphore)?,
            Op::SemWaitFailed { semaphore } => self.rounds.fail(semaphore)?,
            Op::SemValue { semaphore, value } => self.rounds.value(semaphore, value)?,
            Op::OnceEnd { once } => self.rounds.initialize(once),
            Op::OnceWait { once } => self.rounds.initialized(once)?,
            Op::Input { source, .. } => self.outside.input(&self.checker.facts, &self.progress, source, event)?,
        }
        Ok(Step::default())
    }

    pub(crate) fn join(&self, child: ThreadId) -> Result<(), Disabled> {
        // A child without a recorded event has ended once it was created.
        let facts = &self.checker.facts;
        let end = facts.last_of(child);
        let last = end.or_else(|| facts.fork_of(child));
        if last.is_some_and(|event| !self.progress.executed(event)) {
            return Err(Disabled::NotEnded { child });
        }
        // Its end is not recorded, so nothing else has kept it from getting there.
        match self.strayed.get(child.index()).copied().flatten() {
            Some(read) if end.is_some_and(|end| self.checker.recording.op(end) != Op::End) => {
                Err(Disabled::Strayed { read })
            }
            _ => Ok(()),
        }
    }

    fn access(&mut self, event: EventId, op: Op, thread: ThreadId) -> Result<(), Disabled> {
        let access = Access::of(op);
        // In the trace itself, nothing forbids it (`validate`).
        let as_recorded = self.is_as_recorded(event);
        if as_recorded && access.is_some_and(|access| access.leaves.is_none()) {
            return Ok(());
        }
        // A free of what was never allocated touches nothing.
        let Some((span, touched)) = self.checker.bytes.span(event) else {
            return Ok(());
        };
        if !as_recorded {
            self.allocated(self.checker.bytes.block_of(span))?;
            self.in_place(event, thread)?;
        }
        let Some(access) = access else {
            self.memory.store(touched, None);
            return Ok(());
        };
        let (strayed, pointers) = (&mut self.strayed[thread.index()], &self.checker.pointers);
        if let Some(expected) = access.sees.filter(|_| !as_recorded) {
            // What unrecorded code may have changed is not compared.
            let memory = &self.memory;
            let recorded = |byte: usize| !self.checker.unrecorded.is_external(byte);
            if !memory.holds(touched.clone(), expected) && memory.differs(touched.clone(), expected).any(recorded) {
                if !self.checker.frees_reads {
                    return Err(Disabled::OtherValue {
                        addr: access.mem.addr,
                        size: access.mem.size,
                        expected,
                        found: self.memory.value(touched),
                    });
                }
                // It may see anything, until something depends on it.
                strayed.get_or_insert(event);
            } else if pointers.are_at(touched.start) {
                let (meant, found) = (pointers.seen(event), self.blocks.at(touched.start));
                if meant != found && !self.checker.frees_reads {
                    let alloc_of = |block| self.checker.bytes.alloc_of(block);
                    return Err(Disabled::OtherBlock {
                        addr: access.mem.addr,
                        pointer: expected,
                        meant: alloc_of(meant),
                        found: alloc_of(found),
                    });
                }
                if meant != found {
                    strayed.get_or_insert(event);
                }
            }
        }
        if let Some(value) = access.leaves {
            // A thread that strayed writes something, but nobody knows what.
            let known = strayed.is_none().then_some(value);
            if pointers.are_at(touched.start) {
                self.blocks.put(touched.start, pointers.left(event));
            }
            self.memory.store(touched, known);
        }
        Ok(())
    }

    /// Whether a pinned access has its place among the events of the other threads.
    fn in_place(&self, event: EventId, own: ThreadId) -> Result<(), Disabled> {
        let Some(pin) = self.checker.unrecorded.pin(event) else {
            return Ok(());
        };
        for number in (0..self.progress.done.len()).filter(|&number| number != own.index()) {
            let (done, left) = self.progress.split(number);
            let missing = left.first().filter(|&next| next < pin.from);
            let early = done.last().filter(|&last| last > pin.until);
            if let Some(other) = missing.or(early) {
                let (thread, early) = (ThreadId(number as u32), missing.is_none());
                return Err(Disabled::Unpinned { thread, other, early });
            }
        }
        Ok(())
    }

    /// Whether a block is there.
    fn allocated(&self, block: BlockId) -> Result<(), Disabled> {
        match self.checker.bytes.alloc_of(block) {
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
        let end = self.checker.facts.wait_end(event);
        let depth = self.lock(lock).release_all(lock, thread)?;
        let timed_out = end.is_some_and(|(_, outcome)| outcome == WaitOutcome::TimedOut);
        let end = end.map(|(end, _)| end);
        self.condition(condition).wait(Waiter { thread, end }, depth, timed_out);
        Ok(())
    }

    fn kind(&self, object: ObjectId) -> Option<ObjectKind> {
        let objects = &self.checker.recording.tables().objects;
        objects.get(object.index()).map(|object| object.kind)
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

    /// The value in the memory of an access, as the little-endian number that it would read now; `None` if some byte of
    /// it is not known, or the event is no access.
    #[must_use]
    pub fn value_at(&self, event: EventId) -> Option<u64> {
        let op = self.checker.recording.op(event);
        Access::of(op)?;
        self.memory.value(self.checker.bytes.touched(event)?.bytes)
    }
}
