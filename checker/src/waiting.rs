//! Operations that wait for ever: for certain threads that do not move, or because nobody is left who does.
//!
//! Stricter than the page in one point: a thread is there as soon as anything in the trace is of it, and has ended only
//! by an `end` that is not the last event of all.

use crate::disabled::NoWait;
use crate::state::State;
use trace_format::{EventId, ObjectId, Op, ThreadId};

impl State<'_> {
    /// Whether an operation, the next one of its thread, waits for ever if none of certain threads moves: one of these
    /// holds the lock that it wants, or is the thread that it joins. A lock is given back, and a thread ended, by
    /// nobody else. `stands_still` says of these threads whether they are all that could do anything; if they are,
    /// operations wait as well that any thread may let go on.
    pub(crate) fn waits_for(
        &self,
        event: EventId,
        among: &[ThreadId],
        stands_still: Result<(), ThreadId>,
    ) -> Result<(), NoWait> {
        let thread = self.checker.recording.thread(event);
        self.ready(event, thread).map_err(NoWait::NotNext)?;
        let unless_another = |waits: bool| match (waits, stands_still) {
            (false, _) => Err(NoWait::Enabled),
            (true, Err(other)) => Err(NoWait::AnotherMay(other)),
            (true, Ok(())) => Ok(()),
        };
        match self.checker.recording.op(event) {
            // Notified or not, and whatever ends it, it does not end before it has the lock again.
            Op::WaitEnd {
                condition,
                lock,
                attempt,
                ..
            } => self.is_held(event, lock, false, among).or_else(|why| {
                if attempt {
                    return Err(why);
                }
                let known = self.conditions.get(&condition);
                unless_another(known.is_some_and(|condition| condition.is_asleep(event)))
            }),
            Op::Acquire { attempt: true, .. } | Op::AcquireShared { attempt: true, .. } => Err(NoWait::GivesUp),
            Op::Join { attempt: true, .. } | Op::SemWait { attempt: true, .. } => Err(NoWait::GivesUp),
            Op::BarrierExit { attempt: true, .. } => Err(NoWait::GivesUp),
            Op::Join { child, .. } if among.contains(&child) && self.join(child).is_err() => Ok(()),
            Op::Join { .. } => Err(NoWait::NotForThem),
            Op::Acquire { lock, .. } => self.is_held(event, lock, false, among),
            Op::AcquireShared { lock, .. } => self.is_held(event, lock, true, among),
            Op::SemWait { semaphore, .. } => unless_another(self.rounds.fail(semaphore).is_ok()),
            Op::BarrierExit { barrier, round, .. } => {
                unless_another(self.rounds.exit(&self.checker.facts, barrier, round).is_err())
            }
            Op::OnceWait { once } => {
                let initializes = || among.iter().any(|&thread| self.initializes(thread, once));
                unless_another(self.rounds.initialized(once).is_err() && initializes())
            }
            _ => Err(NoWait::OtherOperation),
        }
    }

    /// Whether one of certain threads holds a lock in the way of an operation, and nobody else gives it back.
    fn is_held(&self, event: EventId, lock: ObjectId, shared: bool, among: &[ThreadId]) -> Result<(), NoWait> {
        if self.checker.facts.is_handed_over(lock) {
            return Err(NoWait::HandedOver { lock });
        }
        let thread = self.checker.recording.thread(event);
        let held = self.locks.get(&lock);
        let mut holders = held
            .into_iter()
            .flat_map(|held| held.holders_in_the_way(thread, shared));
        match holders.any(|holder| among.contains(&holder)) {
            true => Ok(()),
            false => Err(NoWait::NotForThem),
        }
    }

    /// Whether a thread is between the beginning and the end of an initialization.
    fn initializes(&self, thread: ThreadId, once: ObjectId) -> bool {
        let (done, _) = self.progress.split(thread.index());
        let of_it = done
            .iter()
            .rev()
            .find_map(|&event| match self.checker.recording.op(event) {
                Op::OnceBegin { once: begun } if begun == once => Some(true),
                Op::OnceEnd { once: ended } if ended == once => Some(false),
                _ => None,
            });
        of_it.unwrap_or(false)
    }

    /// Whether nobody but these threads can do anything; else somebody who may.
    pub(crate) fn stands_still_but_for(&self, among: &[ThreadId]) -> Result<(), ThreadId> {
        let threads = (0..self.checker.threads() as u32).map(ThreadId);
        let mut others = threads.filter(|thread| !among.contains(thread) && self.is_there(*thread));
        others.next().map_or(Ok(()), Err)
    }

    /// Whether a thread is there and may do something, or wait.
    fn is_there(&self, thread: ThreadId) -> bool {
        let is_forked = match self.checker.facts.fork_of(thread) {
            Some(fork) => self.executed(fork),
            None => self.checker.facts.last_of(thread).is_some(),
        };
        let last = self.checker.recording.events().checked_sub(1);
        let ends_all = || self.checker.facts.last_of(thread).map(EventId::index) == last;
        is_forked && (!self.ended[thread.index()] || ends_all())
    }

    /// Whether some of these operations wait for each other's threads alone: a deadlock by itself.
    #[must_use]
    pub fn has_cycle(&self, waiting: &[EventId]) -> bool {
        let mut left = waiting.to_vec();
        loop {
            let threads: Vec<ThreadId> = left.iter().map(|&event| self.checker.recording.thread(event)).collect();
            let before = left.len();
            // As if there was a thread that may do anything.
            left.retain(|&event| self.waits_for(event, &threads, Err(ThreadId(u32::MAX))).is_ok());
            if left.len() == before {
                return before > 0;
            }
        }
    }

    /// What all threads that are there wait in for ever, if none of them can go on.
    #[must_use]
    pub fn standstill(&self) -> Option<Vec<EventId>> {
        let threads: Vec<ThreadId> = (0..self.checker.threads() as u32)
            .map(ThreadId)
            .filter(|&thread| self.is_there(thread))
            .collect();
        let next: Option<Vec<EventId>> = threads.iter().map(|&thread| self.next(thread)).collect();
        let waits = |&event: &EventId| self.waits_for(event, &threads, Ok(())).is_ok();
        next.filter(|next| !next.is_empty() && next.iter().all(waits))
    }
}
