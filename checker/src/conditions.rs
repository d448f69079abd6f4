//! Condition variables: who waits, and who has been woken.
//!
//! A notify that finds waiters wakes exactly one of them. A wait that ended by its deadline left
//! the wait set at a moment of its own between its begin and its end, so it is never in the set
//! that a notify sees. A wait whose end is not in the trace is in the set: it may be woken.

use crate::disabled::Disabled;
use trace_format::{EventId, ObjectId, ThreadId};

/// A thread in a wait set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// The thread.
    pub thread: ThreadId,
    /// The end of its wait; `None` if it is not in the trace.
    pub end: Option<EventId>,
}

/// One wait between its begin and its end.
#[derive(Clone, Copy, Debug)]
struct Wait {
    waiter: Waiter,
    /// How often the thread held the lock.
    depth: u32,
    timed_out: bool,
    woken: bool,
}

/// The wait set of one condition variable, in the order in which the waits began.
#[derive(Clone, Debug, Default)]
pub(crate) struct Condition {
    waits: Vec<Wait>,
}

impl Condition {
    pub(crate) fn wait(&mut self, waiter: Waiter, depth: u32, timed_out: bool) {
        self.waits.push(Wait {
            waiter,
            depth,
            timed_out,
            woken: false,
        });
    }

    /// Those that a notify can wake now.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = Waiter> + '_ {
        let waiting = self.waits.iter().filter(|wait| !wait.timed_out && !wait.woken);
        waiting.map(|wait| wait.waiter)
    }

    /// A wait that was woken before the first event.
    pub(crate) fn woken_before(&mut self, waiter: Waiter, depth: u32) {
        self.waits.push(Wait {
            waiter,
            depth,
            timed_out: false,
            woken: true,
        });
    }

    pub(crate) fn notify(&mut self, wakes: Option<ThreadId>) -> Result<(), Disabled> {
        let asleep = |wait: &&mut Wait| !wait.timed_out && !wait.woken;
        let threads = |condition: &Condition| condition.waiting().map(|waiter| waiter.thread).collect();
        match wakes {
            None if self.waiting().next().is_none() => Ok(()),
            None => Err(Disabled::WakesNobody { waiting: threads(self) }),
            Some(thread) => {
                // The innermost, if it waits within a wait.
                match self
                    .waits
                    .iter_mut()
                    .rev()
                    .filter(asleep)
                    .find(|wait| wait.waiter.thread == thread)
                {
                    Some(wait) => wait.woken = true,
                    None => {
                        let waiting = threads(self);
                        return Err(Disabled::WakesOther { thread, waiting });
                    }
                }
                Ok(())
            }
        }
    }

    pub(crate) fn notify_all(&mut self) -> Vec<ThreadId> {
        let woken = self.waiting().map(|waiter| waiter.thread).collect();
        for wait in &mut self.waits {
            wait.woken = true;
        }
        woken
    }

    /// Whether the wait with this end may end, and how often its thread then holds the lock again.
    pub(crate) fn can_end(&self, condition: ObjectId, end: EventId) -> Result<u32, Disabled> {
        match self.waits.iter().find(|wait| wait.waiter.end == Some(end)) {
            None => Err(Disabled::NotWaiting { condition }),
            Some(wait) if wait.woken || wait.timed_out => Ok(wait.depth),
            Some(_) => Err(Disabled::NotWoken { condition }),
        }
    }

    /// Whether the wait with this end has begun, and only a notify ends it.
    pub(crate) fn is_asleep(&self, end: EventId) -> bool {
        self.waiting().any(|waiter| waiter.end == Some(end))
    }

    pub(crate) fn end(&mut self, end: EventId) {
        self.waits.retain(|wait| wait.waiter.end != Some(end));
    }
}
