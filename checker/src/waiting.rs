//! Operations that wait for ever: for certain threads that do not move, because nobody is left who does, or because
//! those that are left do not let them go on in the trace.
//!
//! Stricter than the page in one point: a thread is there as soon as anything in the trace is of it, and has ended only
//! by an `end` that is not the last event of all.

use crate::disabled::NoWait;
use crate::state::State;
use std::collections::BTreeSet;
use trace_format::{CodePosition, EventId, ObjectId, Op, StackId, ThreadId};

/// Who is left beside certain threads, and what of it matters where one of these waits for what any thread might do.
#[derive(Clone, Debug)]
pub(crate) enum Others {
    /// Nobody.
    Nobody,
    /// Somebody, who may do anything.
    Somebody(ThreadId),
    /// Those that have something left to do in the trace, who do nothing but what they do somewhere in it.
    AsRecorded(Vec<ThreadId>),
}

/// By thread: the threads that come to the place in the trace at which it stands, if it does not wait.
#[derive(Debug, Default)]
pub(crate) struct Likes(Vec<BTreeSet<ThreadId>>);

impl State<'_> {
    /// Whether an operation, the next one of its thread, waits for ever if none of certain threads moves: one of these
    /// holds the lock that it wants, or is the thread that it joins. A lock is given back, and a thread ended, by
    /// nobody else. Operations wait as well that any thread may let go on, if none of the others does.
    pub(crate) fn waits_for(&self, event: EventId, among: &[ThreadId], others: &Others) -> Result<(), NoWait> {
        let thread = self.checker.recording.thread(event);
        self.ready(event, thread).map_err(NoWait::NotNext)?;
        let unless_another = |waits: bool, object: ObjectId| match (waits, others) {
            (false, _) => Err(NoWait::Enabled),
            (true, Others::Nobody) => Ok(()),
            (true, &Others::Somebody(other)) => Err(NoWait::AnotherMay(other)),
            (true, Others::AsRecorded(others)) => {
                let mut givers = others.iter().filter(|&&other| self.checker.facts.gives(other, object));
                givers.next().map_or(Ok(()), |&other| Err(NoWait::AnotherMay(other)))
            }
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
                let is_asleep = known.is_some_and(|condition| condition.is_asleep(event));
                unless_another(is_asleep, condition)
            }),
            Op::Acquire { attempt: true, .. } | Op::AcquireShared { attempt: true, .. } => Err(NoWait::GivesUp),
            Op::Join { attempt: true, .. } | Op::SemWait { attempt: true, .. } => Err(NoWait::GivesUp),
            Op::BarrierExit { attempt: true, .. } => Err(NoWait::GivesUp),
            Op::Join { child, .. } if among.contains(&child) && self.join(child).is_err() => Ok(()),
            Op::Join { .. } => Err(NoWait::NotForThem),
            Op::Acquire { lock, .. } => self.is_held(event, lock, false, among),
            Op::AcquireShared { lock, .. } => self.is_held(event, lock, true, among),
            Op::SemWait { semaphore, .. } => unless_another(self.rounds.fail(semaphore).is_ok(), semaphore),
            Op::BarrierExit { barrier, round, .. } => {
                let is_closed = self.rounds.exit(&self.checker.facts, barrier, round).is_err();
                unless_another(is_closed, barrier)
            }
            Op::OnceWait { once } => {
                let initializes = || among.iter().any(|&thread| self.initializes(thread, once));
                unless_another(self.rounds.initialized(once).is_err() && initializes(), once)
            }
            _ => Err(NoWait::OtherOperation),
        }
    }

    /// Whether an operation that waits so does for a notify alone.
    pub(crate) fn is_for_notify(&self, event: EventId, among: &[ThreadId]) -> bool {
        match self.checker.recording.op(event) {
            Op::WaitEnd { lock, .. } => self.is_held(event, lock, false, among).is_err(),
            _ => false,
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
        let of_it = done.rev().find_map(|event| match self.checker.recording.op(event) {
            Op::OnceBegin { once: begun } if begun == once => Some(true),
            Op::OnceEnd { once: ended } if ended == once => Some(false),
            _ => None,
        });
        of_it.unwrap_or(false)
    }

    /// Whether nobody but these threads can do anything; else somebody who may.
    pub(crate) fn left_beside(&self, among: &[ThreadId]) -> Others {
        let mut others = self.threads().filter(|thread| !among.contains(thread));
        others
            .find(|&thread| self.is_there(thread))
            .map_or(Others::Nobody, Others::Somebody)
    }

    /// Those beside these threads that have more than an end left to do in the trace, and are there or may come; and
    /// those that do there what these may come to do, too.
    pub(crate) fn going_on_beside(&self, among: &[ThreadId], likes: &Likes) -> Others {
        let others = self.threads().filter(|thread| !among.contains(thread));
        let goes_on = |&thread: &ThreadId| {
            let (_, left) = self.progress.split(thread.index());
            let mut left = left.map(|event| self.checker.recording.op(event));
            self.may_come(thread, among) && left.any(|op| op != Op::End)
        };
        let mut as_recorded: Vec<ThreadId> = others.filter(goes_on).collect();
        let own = as_recorded.len();
        for at in 0..own {
            let like = likes.0.get(as_recorded[at].index()).into_iter().flatten();
            as_recorded.extend(like);
        }
        Others::AsRecorded(as_recorded)
    }

    /// Whom the threads are like, as far as they do not wait.
    pub(crate) fn likes(&self) -> Likes {
        let places: Vec<Option<(CodePosition, StackId)>> = self
            .threads()
            .map(|thread| {
                let (_, left) = self.progress.split(thread.index());
                let recording = self.checker.recording;
                let mut places = left.map(|event| (recording.pc(event), recording.stack(event)));
                places.find(|&(pc, _)| pc != 0).filter(|_| !self.waits_itself(thread))
            })
            .collect();
        let who_comes_to = |place: Option<(CodePosition, StackId)>| {
            let who = place.and_then(|place| self.checker.visitors().get(&place));
            who.cloned().unwrap_or_default()
        };
        Likes(places.into_iter().map(who_comes_to).collect())
    }

    /// Whether the next event of a thread is a wait that nothing ends yet.
    fn waits_itself(&self, thread: ThreadId) -> bool {
        let waits = |&event: &EventId| {
            matches!(
                self.checker.recording.op(event),
                Op::Acquire { attempt: false, .. }
                    | Op::AcquireShared { attempt: false, .. }
                    | Op::Join { attempt: false, .. }
                    | Op::WaitEnd { attempt: false, .. }
                    | Op::SemWait { attempt: false, .. }
                    | Op::BarrierExit { attempt: false, .. }
                    | Op::OnceWait { .. }
            )
        };
        let next = self.next(thread).filter(waits);
        next.is_some_and(|event| self.ready(event, thread).is_ok() && self.branch().step(event, None).is_err())
    }

    fn threads(&self) -> impl Iterator<Item = ThreadId> + use<> {
        (0..self.checker.threads() as u32).map(ThreadId)
    }

    /// Whether a thread is there, or is forked by one that is or that may come, and not by one of these.
    fn may_come(&self, thread: ThreadId, among: &[ThreadId]) -> bool {
        let mut thread = thread;
        // No further than there are threads, if they fork each other in a circle.
        for _ in 0..=self.checker.threads() {
            match self.checker.facts.fork_of(thread) {
                Some(fork) if !self.executed(fork) => thread = self.checker.recording.thread(fork),
                _ => return true,
            }
            if among.contains(&thread) {
                return false;
            }
        }
        false
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

    fn threads_of(&self, events: &[EventId]) -> Vec<ThreadId> {
        events
            .iter()
            .map(|&event| self.checker.recording.thread(event))
            .collect()
    }

    /// Those of these operations that wait, in the end, for each other's threads, and for what none of the others does.
    fn greatest(&self, mut waiting: Vec<EventId>, others: &dyn Fn(&[ThreadId]) -> Others) -> Vec<EventId> {
        loop {
            let threads = self.threads_of(&waiting);
            let (before, others) = (waiting.len(), others(&threads));
            waiting.retain(|&event| self.waits_for(event, &threads, &others).is_ok());
            if waiting.len() == before {
                return waiting;
            }
        }
    }

    /// Whether some of these operations wait for each other's threads alone: a deadlock by itself.
    #[must_use]
    pub fn has_cycle(&self, waiting: &[EventId]) -> bool {
        // As if there was a thread that may do anything.
        let others = |_: &[ThreadId]| Others::Somebody(ThreadId(u32::MAX));
        !self.greatest(waiting.to_vec(), &others).is_empty()
    }

    /// What all threads that are there wait in for ever, if none of them can go on.
    #[must_use]
    pub fn standstill(&self) -> Option<Vec<EventId>> {
        let threads: Vec<ThreadId> = self.threads().filter(|&thread| self.is_there(thread)).collect();
        let next: Option<Vec<EventId>> = threads.iter().map(|&thread| self.next(thread)).collect();
        let waits = |&event: &EventId| self.waits_for(event, &threads, &Others::Nobody).is_ok();
        next.filter(|next| !next.is_empty() && next.iter().all(waits))
    }

    /// The least sets of operations that wait for ever, as far as the trace tells, while somebody else is left; for each
    /// operation that is in such a set, one that it is in.
    #[must_use]
    pub fn partial_deadlocks(&self) -> Vec<Vec<EventId>> {
        let next: Vec<EventId> = self.threads().filter_map(|thread| self.next(thread)).collect();
        // Whom they are like takes a look at all of the trace, and mostly nobody waits so anyway.
        let alone = Likes::default();
        let all = self.greatest(next, &|threads| self.going_on_beside(threads, &alone));
        if !self.is_partial_deadlock(&all) {
            return Vec::new();
        }
        let likes = self.likes();
        let others = |threads: &[ThreadId]| self.going_on_beside(threads, &likes);
        let all = self.greatest(all, &others);
        let mut found: Vec<Vec<EventId>> = Vec::new();
        for &kept in all.iter().filter(|_| self.is_partial_deadlock(&all)) {
            let mut least = all.clone();
            for &left_out in &all {
                let rest = least.iter().copied().filter(|&event| event != left_out).collect();
                let rest = self.greatest(rest, &others);
                if rest.contains(&kept) && self.is_partial_deadlock(&rest) {
                    least = rest;
                }
            }
            if !found.contains(&least) {
                found.push(least);
            }
        }
        found
    }

    /// Whether operations that wait so are not just threads that have nothing to do, and somebody else is left.
    fn is_partial_deadlock(&self, waiting: &[EventId]) -> bool {
        let threads = self.threads_of(waiting);
        let is_needed = |&event: &EventId| !self.is_for_notify(event, &threads);
        waiting.iter().any(is_needed) && matches!(self.left_beside(&threads), Others::Somebody(_))
    }
}
