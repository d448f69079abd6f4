//! Who holds which lock, as far as the events so far say.
//!
//! The trace's `AcquireFailed` says that *another* thread held the lock. A trylock also fails on a
//! lock that its own thread holds, and that is no event between threads: it is told apart here.

use hashbrown::HashMap;
use trace_format::{ObjectId, ThreadId};

/// The holders of all locks that are held.
#[derive(Debug, Default)]
pub(super) struct Held {
    locks: HashMap<ObjectId, Holders>,
    /// The depth at which a waiting thread had the lock that it gave up.
    waiting: HashMap<ThreadId, u32>,
}

#[derive(Debug, Default)]
struct Holders {
    owner: Option<ThreadId>,
    depth: u32,
    readers: Vec<ThreadId>,
}

impl Held {
    pub(super) fn acquire(&mut self, thread: ThreadId, lock: ObjectId) {
        let holders = self.locks.entry(lock).or_default();
        holders.depth = if holders.owner == Some(thread) {
            holders.depth + 1
        } else {
            1
        };
        holders.owner = Some(thread);
    }

    pub(super) fn acquire_shared(&mut self, thread: ThreadId, lock: ObjectId) {
        self.locks.entry(lock).or_default().readers.push(thread);
    }

    /// Whether the thread held it: if not, it gave back what another one had taken.
    pub(super) fn release(&mut self, thread: ThreadId, lock: ObjectId) -> bool {
        let Some(holders) = self.locks.get_mut(&lock) else {
            return false;
        };
        let own = if let Some(at) = holders.readers.iter().position(|reader| *reader == thread) {
            holders.readers.swap_remove(at);
            true
        } else {
            let own = holders.owner == Some(thread);
            holders.depth = holders.depth.saturating_sub(1);
            if holders.depth == 0 {
                holders.owner = None;
                if !own {
                    holders.readers.pop();
                }
            }
            own
        };
        if holders.owner.is_none() && holders.readers.is_empty() {
            self.locks.remove(&lock);
        }
        own
    }

    pub(super) fn begin_wait(&mut self, thread: ThreadId, lock: ObjectId) {
        let depth = self.locks.remove(&lock).map_or(1, |holders| holders.depth);
        self.waiting.insert(thread, depth);
    }

    pub(super) fn end_wait(&mut self, thread: ThreadId, lock: ObjectId) {
        let depth = self.waiting.remove(&thread).unwrap_or(1);
        self.locks.insert(
            lock,
            Holders {
                owner: Some(thread),
                depth,
                readers: Vec::new(),
            },
        );
    }

    /// Whether another thread's hold is why `thread` did not get the lock.
    pub(super) fn is_held_by_another(&self, thread: ThreadId, lock: ObjectId, shared: bool) -> bool {
        self.locks.get(&lock).is_some_and(|holders| {
            holders.owner.is_some_and(|owner| owner != thread)
                || !shared && holders.readers.iter().any(|reader| *reader != thread)
        })
    }
}
