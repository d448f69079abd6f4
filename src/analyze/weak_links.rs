//! Atomic writes that another thread may see without learning what their thread knew.
//!
//! An execution in which the first access of a pair has happened, the second is next, and nothing synchronizes the two
//! (`docs/SEMANTICS.md`, section 3, *unordered races*) has such a link: the second thread came to its access because of
//! what happened behind the first, or the two could be next at once. Everything else that a prefix rests on
//! synchronizes. So a pair that is never next at once, and that no weak link can lead from and to, is not unordered
//! either, and the solver need not look for an execution in which it is.
//!
//! Errs on one side: a link of which an execution makes no use, or which a fence or a release sequence makes
//! synchronize, counts.

use crate::prune::MustHappenBefore;
use crate::semantics::synchronizes::{acquires, releases};
use crate::trace::{EventId, ThreadId, Trace};
use hashbrown::HashMap;

/// The weak links of a trace.
#[derive(Debug)]
pub(super) struct WeakLinks {
    /// Of each cell: the writes of each thread that may begin such a link, and the reads that may end one.
    cells: Vec<(Threads, Threads)>,
}

/// Of each thread that has any, its events, in order.
type Threads = Vec<Vec<EventId>>;

impl WeakLinks {
    pub(super) fn of(trace: &Trace) -> WeakLinks {
        let mut atomics: HashMap<u32, Vec<Side>> = HashMap::new();
        for access in trace.accesses().filter(|access| access.kind.is_atomic()) {
            for used in trace.uses(access) {
                atomics.entry(used.cell.0).or_default().push(Side {
                    event: access.event,
                    thread: trace.thread(access.event),
                    read: access.kind.reads().then_some(used.read),
                    written: access.kind.writes().then_some(used.written),
                    releases: releases(access.order),
                    acquires: acquires(access.order),
                });
            }
        }
        // Where reads may see anything, values do not tell writes apart.
        let any_value = trace.frees_reads();
        let cells = atomics.into_values().filter_map(|sides| of_cell(&sides, any_value));
        WeakLinks { cells: cells.collect() }
    }

    /// Whether there may be an execution that performs `a` and brings `b` next, with a weak link on the way.
    pub(super) fn may_lie_between(&self, order: &MustHappenBefore, a: EventId, b: EventId) -> bool {
        let may_come_between = |threads: &Threads| {
            threads.iter().any(|events| {
                let later = events.partition_point(|&event| order.before(event, a));
                events.get(later).is_some_and(|&event| !order.before(b, event))
            })
        };
        let mut cells = self.cells.iter();
        cells.any(|(writes, reads)| may_come_between(writes) && may_come_between(reads))
    }
}

/// An atomic access of a cell.
#[derive(Clone, Copy)]
struct Side {
    event: EventId,
    thread: ThreadId,
    read: Option<u64>,
    written: Option<u64>,
    releases: bool,
    acquires: bool,
}

/// The threads that access a value in one way.
#[derive(Clone, Copy, Default)]
enum Who {
    #[default]
    None,
    One(ThreadId),
    Several,
}

impl Who {
    fn add(&mut self, thread: ThreadId) {
        *self = match *self {
            Who::None => Who::One(thread),
            Who::One(known) if known == thread => return,
            Who::One(_) | Who::Several => Who::Several,
        };
    }

    fn has_other_than(self, thread: ThreadId) -> bool {
        match self {
            Who::None => false,
            Who::One(known) => known != thread,
            Who::Several => true,
        }
    }
}

/// Who writes and who reads a value, and who does so weakly.
#[derive(Clone, Copy, Default)]
struct Value {
    writers: Who,
    weak_writers: Who,
    readers: Who,
    weak_readers: Who,
}

fn of_cell(sides: &[Side], any_value: bool) -> Option<(Threads, Threads)> {
    let key = |value: u64| if any_value { 0 } else { value };
    let mut values: HashMap<u64, Value> = HashMap::new();
    for side in sides {
        if let Some(written) = side.written {
            let value = values.entry(key(written)).or_default();
            value.writers.add(side.thread);
            if !side.releases {
                value.weak_writers.add(side.thread);
            }
        }
        if let Some(read) = side.read {
            let value = values.entry(key(read)).or_default();
            value.readers.add(side.thread);
            if !side.acquires {
                value.weak_readers.add(side.thread);
            }
        }
    }
    let (mut writes, mut reads): (HashMap<_, Vec<_>>, HashMap<_, Vec<_>>) = (HashMap::new(), HashMap::new());
    for side in sides {
        let begins = side.written.is_some_and(|written| {
            let value = values[&key(written)];
            value.weak_readers.has_other_than(side.thread)
                || !side.releases && value.readers.has_other_than(side.thread)
        });
        let ends = side.read.is_some_and(|read| {
            let value = values[&key(read)];
            value.weak_writers.has_other_than(side.thread)
                || !side.acquires && value.writers.has_other_than(side.thread)
        });
        if begins {
            writes.entry(side.thread).or_default().push(side.event);
        }
        if ends {
            reads.entry(side.thread).or_default().push(side.event);
        }
    }
    let is_linked = !writes.is_empty() && !reads.is_empty();
    is_linked.then(|| (writes.into_values().collect(), reads.into_values().collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::{Event, MemRange, MemoryOrder, Op, StackId, Tables};

    const FLAG: MemRange = MemRange { addr: 0x100, size: 4 };
    const DATA: MemRange = MemRange { addr: 0x200, size: 4 };

    /// Thread 0 writes data and sets the flag; thread 1 sees the flag set and reads the data.
    fn links(store: MemoryOrder, load: MemoryOrder, seen: u64) -> bool {
        let ops = [
            (0, Op::Write { mem: DATA, value: 1 }),
            (
                0,
                Op::AtomicStore {
                    mem: FLAG,
                    value: 1,
                    order: store,
                },
            ),
            (
                1,
                Op::AtomicLoad {
                    mem: FLAG,
                    value: seen,
                    order: load,
                },
            ),
            (1, Op::Read { mem: DATA, value: 1 }),
        ];
        let events = ops.map(|(thread, op)| Event {
            thread: ThreadId(thread),
            pc: 1,
            stack: StackId::EMPTY,
            op,
        });
        let trace = Trace::from_events(Tables::default(), &events);
        let order = MustHappenBefore::of(&trace);
        let links = WeakLinks::of(&trace);
        // Where thread 1 has read the data and thread 0 has not written it, nobody has set the flag.
        assert!(!links.may_lie_between(&order, EventId(3), EventId(0)));
        links.may_lie_between(&order, EventId(0), EventId(3))
    }

    #[test]
    fn what_a_relaxed_operation_hands_over_may_leave_two_accesses_unordered() {
        use MemoryOrder::{Acquire, Relaxed, Release, SeqCst};
        assert!(links(Relaxed, SeqCst, 1));
        assert!(links(SeqCst, Relaxed, 1));
        assert!(links(Release, Release, 1));
        assert!(links(Acquire, Acquire, 1));
        assert!(!links(Release, Acquire, 1));
        assert!(!links(SeqCst, SeqCst, 1));
    }

    #[test]
    fn who_sees_another_value_learns_nothing_of_the_write() {
        assert!(!links(MemoryOrder::Relaxed, MemoryOrder::Relaxed, 0));
    }
}
