//! Which accesses the order of threads can matter to.
//!
//! Most memory belongs to one thread, or is only read. What is read there is the same in every schedule, nobody races
//! for it, and no search has to look at it: these accesses are passed 64 at a time.

use super::event_set::EventSet;
use super::{Access, AccessKind, Cell, EventId, ThreadId, Trace};

/// Who accesses a piece of memory: the number of the first thread and one, or 0, and two bits. There is one for each
/// range and each cell of a trace.
#[derive(Clone, Copy, Default)]
pub(super) struct Users(u32);

impl Users {
    const SEVERAL: u32 = 1 << 31;
    const WRITTEN: u32 = 1 << 30;
    /// As many threads are told apart: those with higher numbers are several.
    const FIRST: u32 = Users::WRITTEN - 1;

    fn new(thread: ThreadId, written: bool) -> Users {
        let first = thread.0.saturating_add(1).min(Users::FIRST);
        let several = if first == Users::FIRST { Users::SEVERAL } else { 0 };
        Users(first | several | if written { Users::WRITTEN } else { 0 })
    }

    /// These, and a thread by one access.
    pub(super) fn see(&mut self, thread: ThreadId, kind: AccessKind) {
        self.add(Users::new(thread, kind.writes()));
    }

    fn add(&mut self, other: Users) {
        let (mine, theirs) = (self.0 & Users::FIRST, other.0 & Users::FIRST);
        self.0 |= other.0 & !Users::FIRST;
        if mine == 0 {
            self.0 |= theirs;
        } else if theirs != 0 && mine != theirs {
            self.0 |= Users::SEVERAL;
        }
    }

    fn several(self) -> bool {
        self.0 & Users::SEVERAL != 0
    }

    fn written(self) -> bool {
        self.0 & Users::WRITTEN != 0
    }

    /// Whether no thread but this one is among them, and it is.
    fn are_only(self, thread: ThreadId) -> bool {
        !self.several() && self.0 & Users::FIRST == Users::new(thread, false).0
    }
}

impl Trace {
    /// Finds the cells, and the accesses, that are contested, and those that are [linked](Self::linked). Which cells are
    /// external, which accesses pinned, and who accesses each range of memory, is known.
    pub(super) fn find_contested(&mut self, of_range: &[Users]) {
        let cells_of = || {
            let of_ranges = self.accesses.cells(&self.incarnations);
            of_ranges.map(|cells| cells.start as usize..cells.end as usize)
        };
        let mut of_cell = vec![Users::default(); self.cells.len()];
        for (cells, &users) in cells_of().zip(of_range) {
            of_cell[cells].iter_mut().for_each(|cell| cell.add(users));
        }
        for (cell, users) in self.cells.iter_mut().zip(of_cell) {
            cell.set_contested(cell.external() || users.several() && users.written());
        }
        let flags = cells_of().zip(of_range).enumerate().map(|(number, (cells, users))| {
            let contested = self.cells[cells].iter().any(Cell::contested);
            let incarnation = self.accesses.incarnation(number, &self.cells);
            let alloc = self.incarnations[incarnation.index()].alloc;
            let linked = alloc.is_some_and(|alloc| !users.are_only(self.thread(alloc)));
            (contested, linked)
        });
        let flags: Vec<(bool, bool)> = flags.collect();
        let (mut contested, mut linked) = (EventSet::none_of(self.len()), EventSet::none_of(self.len()));
        let mut numbers = self.ops.numbers();
        for event in self.events() {
            let Some((_, range)) = self.ops.access_by(&mut numbers, event.index()) else {
                continue;
            };
            let (is_contested, is_linked) = flags[range as usize];
            if is_contested {
                contested.insert(event);
            }
            if is_linked {
                linked.insert(event);
            }
        }
        let first_of_threads = self.program_order.iter().filter_map(|order| order.get(0));
        first_of_threads.for_each(|event| linked.insert(event));
        for event in self.pins.events() {
            linked.insert(event);
            self.successor(event).into_iter().for_each(|next| linked.insert(next));
        }
        (self.contested, self.linked) = (contested, linked);
    }

    /// All by which threads may have to do with each other, in the order of π: operations, and accesses of cells that
    /// are [contested](super::Cell::contested).
    pub fn interplay(&self) -> impl Iterator<Item = EventId> + Clone + '_ {
        self.operations.or(&self.contested)
    }

    /// The pinned accesses, in the order of π.
    pub fn pinned(&self) -> impl Iterator<Item = EventId> + '_ {
        self.pins.events()
    }

    /// The events that something in another thread may have to happen before because of what they are, all others
    /// follow from those before them in their threads: operations, the first event of each thread, accesses of what
    /// another thread has allocated, and what is pinned, with what follows it.
    pub(crate) fn linked(&self) -> impl Iterator<Item = EventId> + '_ {
        self.operations.or(&self.linked)
    }

    /// Whether an event accesses a cell that is [contested](super::Cell::contested).
    #[must_use]
    #[inline]
    pub fn is_contested(&self, event: EventId) -> bool {
        self.contested.has(event)
    }

    /// The accesses of cells that are [contested](super::Cell::contested), in the order of π.
    pub fn contested(&self) -> impl Iterator<Item = Access> + '_ {
        self.accesses_among(self.contested.events())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::{Event, MemRange, Op, StackId, Tables};

    #[test]
    fn what_several_threads_access_and_one_writes_is_contested_and_no_more() {
        let mem = |cell: u64| MemRange {
            addr: 0x100 * cell,
            size: 4,
        };
        let read = |cell| Op::Read {
            mem: mem(cell),
            value: 0,
        };
        let write = |cell| Op::Write {
            mem: mem(cell),
            value: 0,
        };
        let wide = Op::Read {
            mem: MemRange { addr: 0x504, size: 8 },
            value: 0,
        };
        let events = [
            (0, write(1), false), // Of one thread.
            (0, read(1), false),
            (0, read(2), false), // Nobody writes it.
            (1, read(2), false),
            (0, read(3), true),
            (1, write(3), true),
            (0, write(4), true), // What somebody else reads there later is unexplained.
            (0, Op::Read { mem: mem(4), value: 7 }, true),
            (0, wide, true), // In part.
            (
                1,
                Op::Write {
                    mem: MemRange { addr: 0x508, size: 1 },
                    value: 0,
                },
                true,
            ),
            (
                0,
                Op::Read {
                    mem: MemRange { addr: 0x504, size: 2 },
                    value: 0,
                },
                false,
            ),
            (1, Op::Branch, false),
        ];
        // Behind them, so many of one thread that there are several words.
        let many = std::iter::repeat_n((0, write(1), false), 200);
        let all: Vec<(u32, Op, bool)> = events.into_iter().chain(many).chain([(1, write(3), true)]).collect();
        let in_trace = |&(thread, op, _): &(u32, Op, bool)| Event {
            thread: ThreadId(thread),
            pc: 1,
            stack: StackId::EMPTY,
            op,
        };
        let trace = Trace::from_events(Tables::default(), &all.iter().map(in_trace).collect::<Vec<_>>());
        let found: Vec<bool> = trace.events().map(|event| trace.is_contested(event)).collect();
        assert_eq!(found, all.iter().map(|&(.., contested)| contested).collect::<Vec<_>>());
        let listed: Vec<u32> = trace.contested().map(|access| access.event.0).collect();
        let expected = (0..).zip(&found).filter(|(_, contested)| **contested);
        assert_eq!(listed, expected.map(|(event, _)| event).collect::<Vec<u32>>());
    }
}
