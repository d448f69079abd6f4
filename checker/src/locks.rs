//! Locks: exclusive, recursive, shared; failed attempts.
//!
//! A *failed attempt as a reader* needs a thread that holds the lock exclusively: a reader among readers would have
//! succeeded.

use crate::disabled::Disabled;
use std::collections::BTreeMap;
use trace_format::{EventId, ObjectId, ThreadId};

/// A lock that a thread holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldLock {
    /// The lock.
    pub lock: ObjectId,
    /// The event that took it first; `None` if it was held before the trace began.
    pub since: Option<EventId>,
    /// Whether it is held as a reader.
    pub shared: bool,
    /// How often it must be given back.
    pub depth: u32,
}

#[derive(Clone, Copy, Debug)]
struct Hold {
    since: Option<EventId>,
    depth: u32,
}

/// The state of one lock. At most one of `owner` and `readers` is in use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lock {
    owner: Option<(ThreadId, Hold)>,
    readers: BTreeMap<ThreadId, Hold>,
}

impl Lock {
    /// Adds one level that is held before the first event.
    pub(crate) fn hold_from_start(&mut self, thread: ThreadId, shared: bool) {
        let hold = if shared {
            self.readers.entry(thread).or_insert(Hold { since: None, depth: 0 })
        } else {
            &mut self.owner.get_or_insert((thread, Hold { since: None, depth: 0 })).1
        };
        hold.depth += 1;
    }

    fn excluded(&self, lock: ObjectId) -> Result<(), Disabled> {
        if let Some((by, _)) = self.owner {
            return Err(Disabled::Held { lock, by });
        }
        match self.readers.keys().next() {
            Some(&by) => Err(Disabled::HeldShared { lock, by }),
            None => Ok(()),
        }
    }

    /// Takes the lock, or with `again` one level more of it, if `thread` holds it already.
    pub(crate) fn acquire(
        &mut self,
        lock: ObjectId,
        thread: ThreadId,
        event: EventId,
        again: bool,
    ) -> Result<(), Disabled> {
        if let Some((_, hold)) = self.owner.as_mut().filter(|(owner, _)| again && *owner == thread) {
            hold.depth += 1;
            return Ok(());
        }
        self.take_free(lock, thread, event, 1)
    }

    /// Takes the lock at `depth`, which needs it to be free even of `thread` itself.
    pub(crate) fn take_free(
        &mut self,
        lock: ObjectId,
        thread: ThreadId,
        event: EventId,
        depth: u32,
    ) -> Result<(), Disabled> {
        self.excluded(lock)?;
        let since = Some(event);
        self.owner = Some((thread, Hold { since, depth }));
        Ok(())
    }

    pub(crate) fn acquire_shared(&mut self, lock: ObjectId, thread: ThreadId, event: EventId) -> Result<(), Disabled> {
        if let Some((by, _)) = self.owner {
            return Err(Disabled::Held { lock, by });
        }
        let since = Some(event);
        self.readers.entry(thread).or_insert(Hold { since, depth: 0 }).depth += 1;
        Ok(())
    }

    /// Gives back one level. With `foreign`, a thread that does not hold the lock gives back a
    /// level of whoever does.
    pub(crate) fn release(&mut self, lock: ObjectId, thread: ThreadId, foreign: bool) -> Result<(), Disabled> {
        let held_by_other = self.holder_other_than(thread);
        let holder = match held_by_other {
            _ if self.holds(thread) => thread,
            Some(other) if foreign => other,
            by => return Err(Disabled::NotHeld { lock, by }),
        };
        if let Some((_, hold)) = self.owner.as_mut().filter(|(owner, _)| *owner == holder) {
            hold.depth -= 1;
            if hold.depth == 0 {
                self.owner = None;
            }
        } else if let Some(hold) = self.readers.get_mut(&holder) {
            hold.depth -= 1;
            if hold.depth == 0 {
                self.readers.remove(&holder);
            }
        }
        Ok(())
    }

    /// Gives back all levels of the exclusive owner, and returns how many.
    pub(crate) fn release_all(&mut self, lock: ObjectId, thread: ThreadId) -> Result<u32, Disabled> {
        match self.owner {
            Some((owner, hold)) if owner == thread => {
                self.owner = None;
                Ok(hold.depth)
            }
            _ => Err(Disabled::NotHeld {
                lock,
                by: self.holder_other_than(thread),
            }),
        }
    }

    pub(crate) fn fail(&self, lock: ObjectId, thread: ThreadId, shared: bool, recursive: bool) -> Result<(), Disabled> {
        let owned = self.owner.is_some_and(|(owner, _)| owner != thread || !recursive);
        let read = !self.readers.is_empty();
        if owned || (read && !shared) {
            Ok(())
        } else {
            Err(Disabled::WouldSucceed { lock })
        }
    }

    /// The threads whose hold keeps another thread from taking it, perhaps as a reader.
    pub(crate) fn holders_in_the_way(&self, thread: ThreadId, shared: bool) -> impl Iterator<Item = ThreadId> + '_ {
        let owner = self.owner.map(|(owner, _)| owner);
        let readers = self.readers.keys().copied().filter(move |_| !shared);
        owner.into_iter().chain(readers).filter(move |&holder| holder != thread)
    }

    fn holds(&self, thread: ThreadId) -> bool {
        self.held(ObjectId(0), thread).is_some()
    }

    fn holder_other_than(&self, thread: ThreadId) -> Option<ThreadId> {
        let owner = self.owner.map(|(owner, _)| owner);
        owner
            .into_iter()
            .chain(self.readers.keys().copied())
            .find(|&holder| holder != thread)
    }

    pub(crate) fn held(&self, lock: ObjectId, thread: ThreadId) -> Option<HeldLock> {
        let owned = self.owner.filter(|(owner, _)| *owner == thread).map(|(_, hold)| hold);
        let shared = owned.is_none();
        let Hold { since, depth } = owned.or_else(|| self.readers.get(&thread).copied())?;
        Some(HeldLock {
            lock,
            since,
            shared,
            depth,
        })
    }
}
