//! Waits for a futex, as the recorder notes them: the comparison of the word is an atomic load, and a thread that then
//! waits adds itself to those that do, right behind it.

use crate::trace::{AccessKind, EventId, Trace};
use trace_format::NOBODYS;

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
