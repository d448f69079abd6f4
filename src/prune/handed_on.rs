//! What happens before what in every prefix that keeps the order of π, and so the write that each read saw.
//!
//! Such prefixes leave events out, but none that an event in them rests on. So must-happen-before holds in all of them,
//! and a read comes behind the write that it saw. Where one of the two is plain, or the write releases and the read
//! acquires, that synchronizes them, or is a race of its own (`docs/SEMANTICS.md`, section 3). The order in which a lock
//! is taken is not part of it: who had the lock before may be left out.

use super::{Clocks, MustHappenBefore};
use crate::trace::{Access, AccessKind, EventId, MemoryOrder, Trace};

/// The closure of must-happen-before, on grounds without pins, and of what reads synchronize with.
#[must_use]
pub fn handed_on(trace: &Trace, must: &MustHappenBefore) -> Clocks {
    // The last write of each cell.
    let mut last: Vec<Option<EventId>> = vec![None; trace.cells().len()];
    let accesses = trace.contested().filter(|access| access.kind != AccessKind::Use);
    let asked = accesses.map(|access| access.event);
    let extended = must
        .clone()
        .extended(trace, Vec::new(), asked, &mut |clocks, event, sources| {
            let Some(access) = trace.access(event) else { return };
            for used in trace.uses(access) {
                let last = &mut last[used.cell.index()];
                if let Some(write) = last.filter(|_| access.kind.reads())
                    && !clocks.before(write, event)
                    && trace.access(write).is_some_and(|write| synchronize(write, access))
                {
                    sources.push(write);
                }
                if access.kind.writes() {
                    *last = Some(event);
                }
            }
        });
    extended.into_clocks()
}

/// Whether a read synchronizes with the write that it saw, or races with it.
fn synchronize(write: Access, read: Access) -> bool {
    let releases = matches!(
        write.order,
        MemoryOrder::Release | MemoryOrder::AcqRel | MemoryOrder::SeqCst
    );
    let acquires = !matches!(read.order, MemoryOrder::Relaxed | MemoryOrder::Release);
    write.kind.writes_value() && (!write.kind.is_atomic() || !read.kind.is_atomic() || releases && acquires)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::{Event, MemRange, Op, StackId, Tables, ThreadId};

    const FLAG: MemRange = MemRange { addr: 0x10, size: 4 };
    const DATA: MemRange = MemRange { addr: 0x20, size: 4 };

    fn write(mem: MemRange, value: u64) -> Op {
        Op::Write { mem, value }
    }

    fn store(order: MemoryOrder) -> Op {
        Op::AtomicStore {
            mem: FLAG,
            value: 1,
            order,
        }
    }

    fn load(order: MemoryOrder) -> Op {
        Op::AtomicLoad {
            mem: FLAG,
            value: 1,
            order,
        }
    }

    /// Whether the write of the data by thread 0 is known to happen before the last event of thread 1.
    fn is_handed_on(by: [(u32, Op); 2]) -> bool {
        let mut events = vec![(0, write(DATA, 7))];
        events.extend(by);
        events.push((1, write(DATA, 8)));
        let events: Vec<Event> = events
            .into_iter()
            .map(|(thread, op)| Event {
                thread: ThreadId(thread),
                pc: 1,
                stack: StackId::EMPTY,
                op,
            })
            .collect();
        let trace = Trace::from_events(Tables::default(), &events);
        let order = handed_on(&trace, &MustHappenBefore::of(&trace));
        order.before(EventId(0), EventId(3))
    }

    #[test]
    fn what_is_released_and_acquired_is_handed_on() {
        use MemoryOrder::{Acquire, Relaxed, Release, SeqCst};
        assert!(is_handed_on([(0, store(Release)), (1, load(Acquire))]));
        assert!(is_handed_on([(0, store(SeqCst)), (1, load(SeqCst))]));
        assert!(!is_handed_on([(0, store(Relaxed)), (1, load(Acquire))]));
        assert!(!is_handed_on([(0, store(Release)), (1, load(Relaxed))]));
        // What another thread stores does not tell of it.
        assert!(!is_handed_on([(2, store(Release)), (1, load(Acquire))]));
    }

    #[test]
    fn a_plain_access_is_another_race_and_hands_on() {
        let relaxed = MemoryOrder::Relaxed;
        let read = Op::Read { mem: FLAG, value: 1 };
        assert!(is_handed_on([(0, write(FLAG, 1)), (1, load(relaxed))]));
        assert!(is_handed_on([(0, store(relaxed)), (1, read)]));
    }

    #[test]
    fn locks_alone_hand_nothing_on() {
        let lock = trace_format::ObjectId(0);
        assert!(!is_handed_on([
            (0, Op::Release { lock }),
            (1, Op::Acquire { lock, attempt: false })
        ]));
    }
}
