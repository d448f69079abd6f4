//! Waits for a futex, as the recorder notes them: the comparison of the word is an atomic load, and a thread that then
//! waits adds itself to those that do, right behind it. Meanwhile it holds the system's lock of that word, as does who
//! wakes: a lock at the address of nobody's that stands for those who wait.

use crate::trace::{AccessKind, EventId, ObjectId, Trace};
use trace_format::{NOBODYS, ObjectInfo};

/// Where a wait adds itself to those that wait, if this event is its comparison, and found what was expected. The system
/// does both at once.
#[must_use]
pub fn joins_waiters(trace: &Trace, compares: EventId) -> Option<EventId> {
    let word = trace
        .access(compares)
        .filter(|access| access.kind == AccessKind::AtomicLoad && access.addr < NOBODYS)?;
    let next = trace.successor(compares)?;
    let joins = trace.access(next).is_some_and(|access| {
        access.kind == AccessKind::AtomicRmw
            && access.addr == word.addr | NOBODYS
            && trace.pc(next) == trace.pc(compares)
    });
    joins.then_some(next)
}

/// Whether a lock is one of the system's for those who wait for a word. No memory model knows of it, so it orders nothing
/// but those operations.
#[must_use]
pub fn is_of_system(trace: &Trace, lock: ObjectId) -> bool {
    trace.tables().object(lock).is_some_and(ObjectInfo::is_lock_of_system)
}
