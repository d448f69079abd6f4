//! Which accesses the order of threads can matter to.
//!
//! Most memory belongs to one thread, or is only read. What is read there is the same in every schedule, nobody races
//! for it, and no search has to look at it: these accesses are passed 64 at a time.

use super::{Access, Cell, EventId, ThreadId, Trace};

/// One bit for each event.
#[derive(Clone, Debug, Default)]
pub(super) struct Contested {
    words: Vec<u64>,
}

impl Contested {
    #[inline]
    fn has(&self, event: EventId) -> bool {
        self.words[event.index() / u64::BITS as usize] >> (event.0 % u64::BITS) & 1 != 0
    }

    /// The events that are, in the order of π.
    fn events(&self) -> impl Iterator<Item = EventId> + '_ {
        (0..).zip(&self.words).flat_map(|(word, &bits)| {
            let mut left = bits;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros();
                left &= left.wrapping_sub(1);
                (bit < u64::BITS).then_some(EventId(word * u64::BITS + bit))
            })
        })
    }
}

/// Who accesses a piece of memory.
#[derive(Clone, Copy, Default)]
struct Users {
    first: Option<ThreadId>,
    several: bool,
    written: bool,
}

impl Users {
    fn add(&mut self, other: Users) {
        if let Some(first) = other.first {
            self.several |= other.several || *self.first.get_or_insert(first) != first;
            self.written |= other.written;
        }
    }
}

impl Trace {
    /// Finds the cells, and the accesses, that are contested; which cells are external is known.
    pub(super) fn find_contested(&mut self) {
        let mut of_range = vec![Users::default(); self.accesses.ranges().len()];
        for event in self.events() {
            if let Some((form, range)) = self.ops.access(event.index()) {
                of_range[range as usize].add(Users {
                    first: Some(self.thread(event)),
                    several: false,
                    written: form.kind.writes(),
                });
            }
        }
        let cells_of = |range: &super::accesses::Range| range.cells.start as usize..range.cells.end as usize;
        let mut of_cell = vec![Users::default(); self.cells.len()];
        for (range, &users) in self.accesses.ranges().iter().zip(&of_range) {
            of_cell[cells_of(range)].iter_mut().for_each(|cell| cell.add(users));
        }
        drop(of_range);
        for (cell, users) in self.cells.iter_mut().zip(of_cell) {
            cell.set_contested(cell.external() || users.several && users.written);
        }
        let ranges = self.accesses.ranges().iter();
        let is_contested: Vec<bool> = ranges
            .map(|range| self.cells[cells_of(range)].iter().any(Cell::contested))
            .collect();
        let mut words = vec![0; self.len().div_ceil(u64::BITS as usize)];
        for event in self.events() {
            let contested = self
                .ops
                .access(event.index())
                .is_some_and(|(_, range)| is_contested[range as usize]);
            words[event.index() / u64::BITS as usize] |= u64::from(contested) << (event.0 % u64::BITS);
        }
        self.contested = Contested { words };
    }

    /// Whether an event accesses a cell that is [contested](super::Cell::contested).
    #[must_use]
    #[inline]
    pub fn is_contested(&self, event: EventId) -> bool {
        self.contested.has(event)
    }

    /// The accesses of cells that are [contested](super::Cell::contested), in the order of π.
    pub fn contested(&self) -> impl Iterator<Item = Access> + '_ {
        self.contested.events().filter_map(|event| self.access(event))
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
