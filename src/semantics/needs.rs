//! What other events have to give an event, where more than one might: a wait may be ended by several notifies.
//!
//! What always happens before an event (its thread's creation, the enters of its round) is no need in this sense.

use super::{barriers, locks, onces, semaphores, waits};
use crate::trace::{ObjectId, Op, WaitOutcome};

/// What an event needs beyond what must happen before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Need {
    /// That a notify on the condition wakes its thread. A `notify` serves one wait, a `notify_all` all.
    Wake(ObjectId),
    /// A permit of the semaphore: an initial one or a post, which serves one wait.
    Permit(ObjectId),
    /// That the semaphore's count is what the event saw.
    Count(ObjectId),
    /// That somebody holds the lock, and is in the way of who wants it.
    Holder {
        /// The lock.
        lock: ObjectId,
        /// It was wanted as a reader.
        shared: bool,
    },
    /// That some initialization of the once cell has ended. It serves all.
    Initialization(ObjectId),
}

impl Need {
    /// What an operation needs.
    #[must_use]
    pub fn of(op: Op) -> Option<Need> {
        if let Some((condition, waits::Step::End(WaitOutcome::Notified))) = waits::Step::of(op) {
            return Some(Need::Wake(condition));
        }
        if let Some((lock, locks::Step::FindHeld { shared })) = locks::Step::of(op) {
            return Some(Need::Holder { lock, shared });
        }
        if let Some((once, onces::Step::Wait)) = onces::Step::of(op) {
            return Some(Need::Initialization(once));
        }
        semaphores::Step::of(op).and_then(|(semaphore, step)| match step {
            semaphores::Step::Post => None,
            semaphores::Step::Wait => Some(Need::Permit(semaphore)),
            semaphores::Step::FailedWait | semaphores::Step::Value(_) => Some(Need::Count(semaphore)),
        })
    }

    /// The need that a single event which does `op` can serve. A lock's holder and a count are the doing of several.
    #[must_use]
    pub fn served_by(op: Op) -> Option<Need> {
        if let Some((condition, waits::Step::Notify | waits::Step::NotifyAll)) = waits::Step::of(op) {
            return Some(Need::Wake(condition));
        }
        if let Some((once, onces::Step::End)) = onces::Step::of(op) {
            return Some(Need::Initialization(once));
        }
        match semaphores::Step::of(op) {
            Some((semaphore, semaphores::Step::Post)) => Some(Need::Permit(semaphore)),
            _ => None,
        }
    }

    /// Whether an event that does `op` serves one need at most.
    #[must_use]
    pub fn serves_one(op: Op) -> bool {
        match Need::served_by(op) {
            Some(Need::Wake(_)) => matches!(waits::Step::of(op), Some((_, waits::Step::Notify))),
            Some(Need::Permit(_)) => true,
            Some(Need::Count(_) | Need::Holder { .. } | Need::Initialization(_)) | None => false,
        }
    }
}

/// Who lets whom go on, as a picture of a schedule shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// The event lets others go on.
    Opens,
    /// The event could happen because others had opened the way.
    Passes,
}

impl Gate {
    /// What an operation does with the gate that its object is, if it is one.
    #[must_use]
    pub fn of(op: Op) -> Option<(ObjectId, Gate)> {
        use super::outside;
        if let Some((semaphore, step)) = semaphores::Step::of(op) {
            return match step {
                semaphores::Step::Post => Some((semaphore, Gate::Opens)),
                semaphores::Step::Wait => Some((semaphore, Gate::Passes)),
                semaphores::Step::FailedWait | semaphores::Step::Value(_) => None,
            };
        }
        if let Some((barrier, step)) = barriers::Step::of(op) {
            return match step {
                barriers::Step::Enter(_) => Some((barrier, Gate::Opens)),
                barriers::Step::Exit(_) => Some((barrier, Gate::Passes)),
            };
        }
        if let Some((once, step)) = onces::Step::of(op) {
            return match step {
                onces::Step::Begin => None,
                onces::Step::End => Some((once, Gate::Opens)),
                onces::Step::Wait => Some((once, Gate::Passes)),
            };
        }
        outside::Step::of(op).map(|(source, step)| match step {
            outside::Step::Output => (source, Gate::Opens),
            outside::Step::Input(_) => (source, Gate::Passes),
        })
    }
}
