//! Operations that wait for another thread for as long as it does not move: for a lock that it holds, or for its end.
//!
//! The waits of conditions, semaphores, barriers and initializations end by what any thread does ([`ends_by_anybody`]).

use super::locks::Step;
use crate::trace::{EventId, ObjectId, Op, Sections, ThreadId, Trace};

/// What an operation waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wait {
    /// A lock that another thread holds.
    Lock {
        /// The lock.
        lock: ObjectId,
        /// As a reader.
        shared: bool,
    },
    /// The end of a thread.
    End(ThreadId),
}

/// Whether an operation, if it has to wait, waits for what any thread might do.
#[must_use]
pub fn ends_by_anybody(op: Op) -> bool {
    matches!(
        op,
        Op::SemWait { .. } | Op::WaitEnd { .. } | Op::BarrierExit { .. } | Op::OnceWait { .. }
    )
}

impl Wait {
    /// Whether an operation, if it has to wait, may wait for something that is known.
    #[must_use]
    pub fn is_known(op: Op) -> bool {
        matches!(op, Op::Join { .. }) || Step::of(op).is_some_and(|(_, step)| step.takes())
    }

    /// What an operation waits for until a certain thread moves; `None` if it waits for nothing, would give up, or any
    /// thread may let it go on.
    #[must_use]
    pub fn of(trace: &Trace, sections: &Sections, event: EventId) -> Option<Wait> {
        let op = trace.op(event);
        let (lock, shared) = match (op, Step::of(op)) {
            // Whatever ends a wait at a condition, it needs its lock again.
            (_, Some((lock, Step::TakeAgain))) => (lock, false),
            _ if trace.is_attempt(event) => return None,
            (Op::Join { child }, _) => return Some(Wait::End(child)),
            (_, Some((lock, Step::Take { shared }))) => (lock, shared),
            _ => return None,
        };
        (!sections.is_handed_over(lock)).then_some(Wait::Lock { lock, shared })
    }

    /// Whether a thread that holds a lock, perhaps as a reader, keeps it waiting.
    #[must_use]
    pub fn is_for_holder(self, held: ObjectId, as_reader: bool) -> bool {
        matches!(self, Wait::Lock { lock, shared } if lock == held && !(shared && as_reader))
    }
}
