//! Locks: one thread at a time holds each, or several do for reading.
//!
//! A thread that takes a lock for reading while it holds it (to keep only that hold) continues to hold it exclusively
//! until it releases both: less than Java allows, so no race comes from it.

use super::Mender;
use crate::import::error::{ImportError, Malformed};
use hashbrown::HashMap;
use trace_format::Op;

/// A lock that is held.
pub(super) struct Held {
    pub(super) thread: u32,
    pub(super) depth: u32,
    pub(super) since: u64,
}

impl Mender {
    pub(super) fn holds(&self, thread: u32, lock: u32) -> bool {
        self.locks.get(&lock).is_some_and(|held| held.thread == thread)
    }

    /// Makes sure that nobody else holds a lock that a thread is about to take.
    pub(super) fn make_free(&mut self, line: u64, thread: u32, lock: u32) -> Result<(), ImportError> {
        self.without_owner(line, thread, lock)?;
        // Its own reading excludes it too.
        let readers = self.readers.remove(&lock).unwrap_or_default();
        let mut holds = readers.values().rev().flat_map(|holds| holds.iter().rev());
        holds.try_for_each(|reader| self.take_from(line, thread, lock, reader))
    }

    /// Makes sure that no other thread holds a lock alone.
    fn without_owner(&mut self, line: u64, thread: u32, lock: u32) -> Result<(), ImportError> {
        if self.locks.get(&lock).is_some_and(|held| held.thread != thread)
            && let Some(held) = self.locks.remove(&lock)
        {
            self.take_from(line, thread, lock, &held)?;
        }
        Ok(())
    }

    fn take_from(&mut self, line: u64, thread: u32, lock: u32, held: &Held) -> Result<(), ImportError> {
        let what = Malformed::LockHeld {
            thread: self.thread(thread),
            lock: self.lock(lock),
            holder: self.thread(held.thread),
            since: held.since,
        };
        self.fault(line, what)?;
        if let Some(wait) = self.waiting.get(&held.thread) {
            self.missed.insert((wait.line(), lock));
        }
        self.releases(line, held.thread, lock, held.depth)
    }

    /// With `--repair`: gives back what somebody takes while this thread waits.
    pub(super) fn release_before_wait(&mut self, line: u64, thread: u32, wait: u64) -> Result<(), ImportError> {
        let released = self.released.range((wait, 0)..=(wait, u32::MAX));
        let locks: Vec<u32> = released.map(|&(_, lock)| lock).collect();
        for lock in locks {
            let Some(depth) = self.give_up(thread, lock) else {
                continue;
            };
            let what = Malformed::HeldInWait {
                thread: self.thread(thread),
                lock: self.lock(lock),
            };
            self.fault(line, what)?;
            self.releases(line, thread, lock, depth)?;
        }
        Ok(())
    }

    /// Forgets that a thread holds a lock; returns how often.
    fn give_up(&mut self, thread: u32, lock: u32) -> Option<u32> {
        if self.holds(thread, lock) {
            return self.locks.remove(&lock).map(|held| held.depth);
        }
        let holds = self.readers.get_mut(&lock)?.remove(&thread)?;
        Some(holds.len() as u32)
    }

    /// Notes that a thread takes a lock.
    pub(super) fn takes(&mut self, thread: u32, lock: u32) {
        self.taken.entry(thread).or_default().insert(lock);
    }

    pub(super) fn releases(&mut self, line: u64, thread: u32, lock: u32, depth: u32) -> Result<(), ImportError> {
        let lock = self.build.lock(lock);
        (0..depth).try_for_each(|_| self.build.event(line, thread, 0, Op::Release { lock }))
    }

    pub(super) fn acquire(&mut self, line: u64, thread: u32, pc: u64, lock: u32) -> Result<(), ImportError> {
        self.make_free(line, thread, lock)?;
        self.takes(thread, lock);
        let (depth, since) = (0, line);
        let held = self.locks.entry(lock).or_insert(Held { thread, depth, since });
        held.depth += 1;
        let lock = self.build.lock(lock);
        self.build.event(line, thread, pc, Op::Acquire { lock, attempt: false })
    }

    pub(super) fn acquire_shared(&mut self, line: u64, thread: u32, pc: u64, lock: u32) -> Result<(), ImportError> {
        if self.holds(thread, lock) {
            return self.acquire(line, thread, pc, lock);
        }
        self.without_owner(line, thread, lock)?;
        self.takes(thread, lock);
        let (depth, since) = (1, line);
        let readers = self.readers.entry(lock).or_default();
        readers.entry(thread).or_default().push(Held { thread, depth, since });
        let lock = self.build.lock(lock);
        self.build
            .event(line, thread, pc, Op::AcquireShared { lock, attempt: false })
    }

    pub(super) fn release(&mut self, line: u64, thread: u32, pc: u64, lock: u32) -> Result<(), ImportError> {
        if let Some(readers) = self.readers.get_mut(&lock)
            && let Some(holds) = readers.get_mut(&thread)
        {
            holds.pop();
            if holds.is_empty() {
                readers.remove(&thread);
            }
            let lock = self.build.lock(lock);
            return self.build.event(line, thread, pc, Op::Release { lock });
        }
        if !self.holds(thread, lock) {
            let (thread, lock) = (self.thread(thread), self.lock(lock));
            return self.fault(line, Malformed::NotHeld { thread, lock });
        }
        if let Some(&wait) = self.survey.waiting_releases.get(&line) {
            let known = self.survey.waits[&wait];
            if known.next == 0 || known.acquires == Some(lock) {
                return self.begin_wait(line, thread, pc, wait, lock);
            }
        }
        if let Some(held) = self.locks.get_mut(&lock) {
            held.depth -= 1;
            if held.depth == 0 {
                self.locks.remove(&lock);
            }
        }
        let lock = self.build.lock(lock);
        self.build.event(line, thread, pc, Op::Release { lock })
    }

    /// With `--repair`: gives back what a thread holds at its last event and others take later.
    pub(super) fn release_rest(&mut self, line: u64, thread: u32) -> Result<(), ImportError> {
        // Who waits to the end gives nothing back.
        if !self.repair || self.waiting.contains_key(&thread) {
            return Ok(());
        }
        // Not all that anybody holds is looked at: each thread comes here.
        let taken = self.taken.remove(&thread).unwrap_or_default();
        let later = |last: &HashMap<u32, u64>, lock: u32| last.get(&lock).is_some_and(|&last| last > line);
        let mut wanted: Vec<(u32, u32)> = Vec::new();
        for lock in taken {
            if self.holds(thread, lock) && later(&self.survey.last_acquire, lock) {
                wanted.push((lock, self.locks[&lock].depth));
            }
            // Other readers do not mind.
            if later(&self.survey.last_alone, lock)
                && let Some(holds) = self.readers.get(&lock).and_then(|readers| readers.get(&thread))
            {
                wanted.extend(holds.iter().map(|held| (lock, held.depth)));
            }
        }
        for (lock, depth) in wanted {
            let what = Malformed::HeldAtEnd {
                thread: self.thread(thread),
                lock: self.lock(lock),
            };
            self.fault(line, what)?;
            if self.holds(thread, lock) {
                self.locks.remove(&lock);
            } else if let Some(readers) = self.readers.get_mut(&lock) {
                readers.remove(&thread);
            }
            self.releases(line, thread, lock, depth)?;
        }
        Ok(())
    }
}
