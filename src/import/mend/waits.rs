//! Waits on conditions, from the release of the lock to its next acquire.
//!
//! Logs write a wait in two ways. As `rel(l) wait(c) … acq(l)`, the wait begins at the release, since the lock is free
//! from there, and ends at the acquire. As a `wait` by a holder of the lock, it begins there and ends at the thread's
//! next event: at an `acq(l)`, otherwise just before it. It counts as notified if a notify finds it waiting, otherwise
//! as timed out; a notify that finds several waits wakes the one that ends first, as the checker's `validate` does.

use super::Mender;
use super::locks::Held;
use crate::import::error::{ImportError, Malformed};
use crate::import::record::RecordOp;
use hashbrown::HashMap;
use std::collections::BTreeSet;
use trace_format::{Op, WaitOutcome};

/// A wait that has begun.
pub(super) struct Waiting {
    condition: u32,
    lock: u32,
    depth: u32,
    pc: u64,
    /// Line of the `wait`.
    line: u64,
    /// Line where it ends, as far as the trace has it.
    end: Option<u64>,
    /// Whether it ends with an acquire of the lock, and not just before another event.
    at_acquire: bool,
    woken: bool,
}

impl Waiting {
    /// Line of the `wait`.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// Whose turn it is to be woken: the least comes first.
    fn turn(&self, thread: u32) -> (u64, u64, u32) {
        (self.end.unwrap_or(u64::MAX), self.line, thread)
    }
}

/// By condition: who waits and was not woken, in the order in which a notify wakes them.
#[derive(Default)]
pub(super) struct Asleep(HashMap<u32, BTreeSet<(u64, u64, u32)>>);

impl Asleep {
    fn add(&mut self, thread: u32, wait: &Waiting) {
        self.0.entry(wait.condition).or_default().insert(wait.turn(thread));
    }

    fn remove(&mut self, thread: u32, wait: &Waiting) {
        if let Some(asleep) = self.0.get_mut(&wait.condition) {
            asleep.remove(&wait.turn(thread));
        }
    }
}

impl Mender {
    pub(super) fn wait(&mut self, line: u64, thread: u32, pc: u64, condition: u32) -> Result<(), ImportError> {
        let known = self.survey.waits[&line];
        let what = match known.release {
            Some((_, lock)) if known.next != 0 && known.acquires != Some(lock) => Malformed::WaitWithoutAcquire {
                thread: self.thread(thread),
                condition: self.lock(condition),
                lock: self.lock(lock),
                next: known.next,
            },
            None if self.holds(thread, condition) => return self.begin_wait(line, thread, pc, line, condition),
            None if known.released_after.is_some_and(|(lock, _)| self.holds(thread, lock)) => {
                return self.wait_before_release(line, thread, pc, condition);
            }
            None => match known.acquires.filter(|&lock| self.holds(thread, lock)) {
                Some(lock) => return self.begin_wait(line, thread, pc, line, lock),
                None => self.wait_without_lock(thread, condition),
            },
            // Its release was refused, and so is this.
            Some(_) => self.wait_without_lock(thread, condition),
        };
        self.fault(line, what)
    }

    /// A wait that stands one line before the release that it begins with.
    fn wait_before_release(&mut self, line: u64, thread: u32, pc: u64, condition: u32) -> Result<(), ImportError> {
        let known = self.survey.waits[&line];
        let Some((lock, acquire)) = known.released_after else {
            return Ok(());
        };
        let what = Malformed::WaitBeforeRelease {
            thread: self.thread(thread),
            condition: self.lock(condition),
            lock: self.lock(lock),
            release: known.next,
        };
        self.fault(line, what)?;
        self.done_before.insert(known.next);
        self.begin_wait(line, thread, pc, line, lock)?;
        if let Some(wait) = self.waiting.get_mut(&thread) {
            self.asleep.remove(thread, wait);
            (wait.end, wait.at_acquire) = (Some(acquire), true);
            self.asleep.add(thread, wait);
        }
        Ok(())
    }

    pub(super) fn wait_without_lock(&self, thread: u32, condition: u32) -> Malformed {
        Malformed::WaitWithoutLock {
            thread: self.thread(thread),
            condition: self.lock(condition),
        }
    }

    /// Starts the wait of the line `wait`, at its release or at the wait itself.
    pub(super) fn begin_wait(
        &mut self,
        line: u64,
        thread: u32,
        pc: u64,
        wait: u64,
        lock: u32,
    ) -> Result<(), ImportError> {
        self.release_before_wait(line, thread, wait)?;
        let known = self.survey.waits[&wait];
        let condition = known.condition;
        let depth = self.locks.remove(&lock).map_or(1, |held| held.depth);
        let wait = Waiting {
            condition,
            lock,
            depth,
            pc,
            line: wait,
            end: Some(known.next).filter(|&next| next != 0),
            at_acquire: known.acquires == Some(lock),
            woken: false,
        };
        self.asleep.add(thread, &wait);
        self.waiting.insert(thread, wait);
        let (condition, lock) = (self.build.condition(condition), self.build.lock(lock));
        self.build.event(line, thread, pc, Op::WaitBegin { condition, lock })
    }

    /// Ends the wait that a thread is in, if its next event is this one. Says whether the event is
    /// thereby done.
    pub(super) fn resume(&mut self, line: u64, thread: u32, pc: u64, op: RecordOp) -> Result<bool, ImportError> {
        let Some(wait) = self.waiting.get(&thread) else {
            return Ok(false);
        };
        if wait.line == line {
            return Ok(true);
        }
        let (condition, lock, depth, at_acquire) = (wait.condition, wait.lock, wait.depth, wait.at_acquire);
        debug_assert!(
            !at_acquire || op == RecordOp::Acquire(lock),
            "the survey saw the next event"
        );
        let pc = if at_acquire { pc } else { wait.pc };
        let woken = wait.woken;
        self.make_free(line, thread, lock)?;
        if let Some(wait) = self.waiting.remove(&thread) {
            self.asleep.remove(thread, &wait);
        }
        let since = line;
        self.takes(thread, lock);
        self.locks.insert(lock, Held { thread, depth, since });
        let outcome = if woken {
            WaitOutcome::Notified
        } else {
            WaitOutcome::TimedOut
        };
        let (condition, lock) = (self.build.condition(condition), self.build.lock(lock));
        let end = Op::WaitEnd {
            condition,
            lock,
            outcome,
            // These traces do not say which waits have a limit in time.
            attempt: true,
        };
        self.build.event(line, thread, pc, end)?;
        Ok(at_acquire)
    }

    pub(super) fn notify(&mut self, line: u64, thread: u32, pc: u64, condition: u32) -> Result<(), ImportError> {
        let first = self.asleep.0.get_mut(&condition).and_then(BTreeSet::pop_first);
        self.wake(first);
        let condition = self.build.condition(condition);
        self.build.event(line, thread, pc, Op::Notify { condition })
    }

    fn wake(&mut self, asleep: impl IntoIterator<Item = (u64, u64, u32)>) {
        for (_, _, thread) in asleep {
            if let Some(wait) = self.waiting.get_mut(&thread) {
                wait.woken = true;
            }
        }
    }

    pub(super) fn notify_all(&mut self, line: u64, thread: u32, pc: u64, condition: u32) -> Result<(), ImportError> {
        let all = self.asleep.0.remove(&condition);
        self.wake(all.into_iter().flatten());
        let condition = self.build.condition(condition);
        self.build.event(line, thread, pc, Op::NotifyAll { condition })
    }
}
