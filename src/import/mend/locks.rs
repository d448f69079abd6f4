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
        while let Some(reader) = self.readers.get_mut(&lock).and_then(Vec::pop) {
            self.take_from(line, thread, lock, &reader)?;
        }
        Ok(())
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
        let readers = self.readers.get_mut(&lock)?;
        let before = readers.len();
        readers.retain(|reader| reader.thread != thread);
        let depth = (before - readers.len()) as u32;
        (depth > 0).then_some(depth)
    }

    pub(super) fn releases(&mut self, line: u64, thread: u32, lock: u32, depth: u32) -> Result<(), ImportError> {
        let lock = self.build.lock(lock);
        (0..depth).try_for_each(|_| self.build.event(line, thread, 0, Op::Release { lock }))
    }

    pub(super) fn acquire(&mut self, line: u64, thread: u32, pc: u64, lock: u32) -> Result<(), ImportError> {
        self.make_free(line, thread, lock)?;
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
        let (depth, since) = (1, line);
        self.readers
            .entry(lock)
            .or_default()
            .push(Held { thread, depth, since });
        let lock = self.build.lock(lock);
        self.build
            .event(line, thread, pc, Op::AcquireShared { lock, attempt: false })
    }

    pub(super) fn release(&mut self, line: u64, thread: u32, pc: u64, lock: u32) -> Result<(), ImportError> {
        if let Some(readers) = self.readers.get_mut(&lock)
            && let Some(at) = readers.iter().position(|reader| reader.thread == thread)
        {
            readers.swap_remove(at);
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
        let later = |last: &HashMap<u32, u64>, lock: u32| last.get(&lock).is_some_and(|&last| last > line);
        let owned = self
            .locks
            .iter()
            .filter(|&(&lock, _)| later(&self.survey.last_acquire, lock));
        let owned = owned.filter(|(_, held)| held.thread == thread);
        // Other readers do not mind.
        let read = self
            .readers
            .iter()
            .filter(|&(&lock, _)| later(&self.survey.last_alone, lock));
        let read = read.flat_map(|(lock, held)| held.iter().map(move |held| (lock, held)));
        let read = read.filter(|(_, held)| held.thread == thread);
        let mut wanted: Vec<(u32, u32)> = owned.chain(read).map(|(&lock, held)| (lock, held.depth)).collect();
        wanted.sort_unstable();
        for (lock, depth) in wanted {
            let what = Malformed::HeldAtEnd {
                thread: self.thread(thread),
                lock: self.lock(lock),
            };
            self.fault(line, what)?;
            if self.holds(thread, lock) {
                self.locks.remove(&lock);
            } else if let Some(readers) = self.readers.get_mut(&lock) {
                readers.retain(|reader| reader.thread != thread);
            }
            self.releases(line, thread, lock, depth)?;
        }
        Ok(())
    }
}
