//! Rows of the trace's tables, and the ends of blocks: one to four words each, both directions side
//! by side. The first word has the kind in its lowest byte, and a number above it.

use crate::plan::MAX_THREADS;
use crate::{MarkClass, Note, ObjectClass, Waits};

/// Words of the longest row.
pub const MAX_WORDS: usize = 4;

/// What is sent beside the events, always before an event that needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// There are at least so many threads.
    Threads {
        /// How many.
        count: u32,
    },
    /// A thread runs for the first time.
    Begun {
        /// Its number.
        thread: u32,
        /// The kernel's number of it.
        os_id: u32,
    },
    /// A thread was created by another.
    Parent {
        /// Its number.
        thread: u32,
        /// Who created it.
        parent: u32,
    },
    /// The text before it is this thread's name.
    ThreadName {
        /// Its number.
        thread: u32,
    },
    /// The next object.
    Object {
        /// What it is.
        class: ObjectClass,
        /// Where.
        addr: u64,
        /// A semaphore's count.
        count: u32,
    },
    /// The next call stack, the first one being number 1.
    Stack {
        /// The stack below.
        parent: u32,
        /// Where it was called from.
        call_site: u64,
    },
    /// Up to 16 bytes of text for the next row that wants some.
    Bytes {
        /// How many.
        len: u8,
        /// The bytes, little-endian.
        words: [u64; 2],
    },
    /// The text before it is the build id (`build_id` bytes), then the path, of a module.
    Module {
        /// Bytes of the build id.
        build_id: u8,
        /// The difference between its addresses and those in its file.
        base: u64,
        /// Its first byte of code.
        start: u64,
        /// The byte behind its code.
        end: u64,
    },
    /// Memory holds the text before this, then zeros; or what nothing in the process can change.
    Image {
        /// First byte.
        addr: u64,
        /// Length in bytes.
        size: u64,
        /// Whether it is of the second sort.
        constant: bool,
        /// The number of events before that moment.
        before: u64,
    },
    /// A thread is parked right before an access.
    Parked {
        /// Its call stack.
        stack: u32,
        /// Its number, below 2^24.
        thread: u32,
        /// The code position.
        pc: u64,
        /// The first byte of the whole operation.
        addr: u64,
        /// Its length in bytes, below 2^40.
        size: u64,
    },
    /// A thread begins to wait, without a limit in time.
    Waits {
        /// What for.
        what: Waits,
        /// Its number, below 2^24.
        thread: u32,
        /// Its call stack.
        stack: u32,
        /// The code position, below 2^56.
        pc: u64,
        /// The address of the object, or the number of the thread.
        addr: u64,
        /// The number of events before, below 2^40.
        before: u64,
    },
    /// A thread says something of the program's races; the text before it is what it says.
    Mark {
        /// What.
        class: MarkClass,
        /// Its number, below 2^24.
        thread: u32,
        /// The number of events before, below 2^40.
        before: u64,
        /// The first byte of the memory that it is about.
        addr: u64,
        /// Its length in bytes.
        size: u64,
    },
    /// The text before it is what a thread shows of itself before its next event: words of 8 bytes, little-endian.
    Picture {
        /// Its number.
        thread: u32,
        /// The number of events before.
        before: u64,
    },
    /// A thread ends, with the next event: it does not wait any more.
    Ended {
        /// Its number.
        thread: u32,
        /// The number of events before.
        before: u64,
    },
    /// See [`Note`].
    Note(Note),
    /// A process that came of this one has ended, and was waited for.
    Reaped {
        /// Its number.
        process: u32,
        /// As `wait` tells it.
        status: u32,
    },
    /// A block of events ends.
    Block {
        /// Where, in bytes of the stream.
        end: u64,
        /// How many events it has.
        events: u32,
    },
}

impl Row {
    /// The row's words and how many of them count.
    #[must_use]
    pub fn encode(self) -> ([u64; MAX_WORDS], usize) {
        let head = |kind: u8, number: u32| u64::from(kind) | u64::from(number) << 8;
        match self {
            Row::Threads { count } => ([head(1, count), 0, 0, 0], 1),
            Row::Begun { thread, os_id } => ([head(2, thread), os_id.into(), 0, 0], 2),
            Row::Parent { thread, parent } => ([head(3, thread), parent.into(), 0, 0], 2),
            Row::ThreadName { thread } => ([head(4, thread), 0, 0, 0], 1),
            Row::Object { class, addr, count } => ([head(5, (class as u8).into()), addr, count.into(), 0], 3),
            Row::Stack { parent, call_site } => ([head(6, parent), call_site, 0, 0], 2),
            Row::Bytes { len, words } => ([head(7, len.into()), words[0], words[1], 0], 3),
            Row::Module {
                build_id,
                base,
                start,
                end,
            } => ([head(8, build_id.into()), base, start, end], 4),
            Row::Note(note) => ([head(9, (note as u8).into()), 0, 0, 0], 1),
            Row::Image {
                addr,
                size,
                constant,
                before,
            } => ([head(11, constant.into()), addr, size, before], 4),
            Row::Parked {
                stack,
                thread,
                pc,
                addr,
                size,
            } => ([head(12, stack), pc, addr, size | u64::from(thread) << 40], 4),
            Row::Waits {
                what,
                thread,
                stack,
                pc,
                addr,
                before,
            } => {
                let what = u64::from(what as u8) << 56;
                ([head(14, stack), pc | what, addr, before | u64::from(thread) << 40], 4)
            }
            Row::Mark {
                class,
                thread,
                before,
                addr,
                size,
            } => (
                [
                    head(15, (class as u8).into()),
                    addr,
                    size,
                    before | u64::from(thread) << 40,
                ],
                4,
            ),
            Row::Reaped { process, status } => ([head(13, process), status.into(), 0, 0], 2),
            Row::Picture { thread, before } => ([head(16, thread), before, 0, 0], 2),
            Row::Ended { thread, before } => ([head(17, thread), before, 0, 0], 2),
            Row::Block { end, events } => ([head(10, events), end, 0, 0], 2),
        }
    }

    /// Reads a row from `words`, which may reach beyond its end; `None` if no runtime writes this.
    #[must_use]
    pub fn decode(words: [u64; MAX_WORDS]) -> Option<(Row, usize)> {
        let [first, a, b, c] = words;
        let number = u32::try_from(first >> 8).ok()?;
        let byte = || u8::try_from(number).ok();
        Some(match first as u8 {
            // Whoever reads it makes room for each of them.
            1 if number <= MAX_THREADS => (Row::Threads { count: number }, 1),
            2 => {
                let (thread, os_id) = (number, a as u32);
                (Row::Begun { thread, os_id }, 2)
            }
            3 => {
                let (thread, parent) = (number, a as u32);
                (Row::Parent { thread, parent }, 2)
            }
            4 => (Row::ThreadName { thread: number }, 1),
            5 => {
                let (class, addr, count) = (ObjectClass::from_code(byte()?)?, a, b as u32);
                (Row::Object { class, addr, count }, 3)
            }
            6 => {
                let (parent, call_site) = (number, a);
                (Row::Stack { parent, call_site }, 2)
            }
            7 if number <= 16 => {
                let (len, words) = (number as u8, [a, b]);
                (Row::Bytes { len, words }, 3)
            }
            8 => {
                let (build_id, base, start, end) = (byte()?, a, b, c);
                (
                    Row::Module {
                        build_id,
                        base,
                        start,
                        end,
                    },
                    4,
                )
            }
            9 => (Row::Note(Note::from_code(byte()?)?), 1),
            10 => {
                let (events, end) = (number, a);
                (Row::Block { end, events }, 2)
            }
            14 => {
                let (what, pc) = (Waits::from_code((a >> 56) as u8)?, a & ((1 << 56) - 1));
                let (thread, before) = ((c >> 40) as u32, c & ((1 << 40) - 1));
                let (stack, addr) = (number, b);
                (
                    Row::Waits {
                        what,
                        thread,
                        stack,
                        pc,
                        addr,
                        before,
                    },
                    4,
                )
            }
            15 => {
                let (class, addr, size) = (MarkClass::from_code(byte()?)?, a, b);
                let (thread, before) = ((c >> 40) as u32, c & ((1 << 40) - 1));
                (
                    Row::Mark {
                        class,
                        thread,
                        before,
                        addr,
                        size,
                    },
                    4,
                )
            }
            16 => {
                let (thread, before) = (number, a);
                (Row::Picture { thread, before }, 2)
            }
            17 => {
                let (thread, before) = (number, a);
                (Row::Ended { thread, before }, 2)
            }
            13 => {
                let (process, status) = (number, a as u32);
                (Row::Reaped { process, status }, 2)
            }
            12 => {
                let (stack, thread, size) = (number, (c >> 40) as u32, c & ((1 << 40) - 1));
                (
                    Row::Parked {
                        stack,
                        thread,
                        pc: a,
                        addr: b,
                        size,
                    },
                    4,
                )
            }
            11 if number <= 1 => {
                let (addr, size, constant, before) = (a, b, number != 0, c);
                (
                    Row::Image {
                        addr,
                        size,
                        constant,
                        before,
                    },
                    4,
                )
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_comes_back_as_it_was() {
        let (addr, words) = (0xffff_8000_1234_5678, [u64::MAX, 7]);
        let all = [
            Row::Threads { count: MAX_THREADS },
            Row::Begun {
                thread: 3,
                os_id: u32::MAX,
            },
            Row::Parent { thread: 4, parent: 3 },
            Row::ThreadName { thread: 2 },
            Row::Object {
                class: ObjectClass::Semaphore,
                addr,
                count: 9,
            },
            Row::Stack {
                parent: 8,
                call_site: addr,
            },
            Row::Bytes { len: 16, words },
            Row::Module {
                build_id: 20,
                base: 1,
                start: 2,
                end: 3,
            },
            Row::Note(Note::Executed),
            Row::Image {
                addr,
                size: 1 << 30,
                constant: true,
                before: u64::MAX,
            },
            Row::Parked {
                stack: 5,
                thread: (1 << 24) - 1,
                pc: addr,
                addr,
                size: (1 << 40) - 1,
            },
            Row::Waits {
                what: Waits::Spin,
                thread: (1 << 24) - 1,
                stack: u32::MAX,
                pc: (1 << 56) - 1,
                addr,
                before: (1 << 40) - 1,
            },
            Row::Mark {
                class: MarkClass::Suppressions,
                thread: (1 << 24) - 1,
                before: (1 << 40) - 1,
                addr,
                size: u64::MAX,
            },
            Row::Picture {
                thread: 3,
                before: 1 << 40,
            },
            Row::Ended {
                thread: u32::MAX,
                before: 1 << 41,
            },
            Row::Reaped {
                process: u32::MAX,
                status: 9,
            },
            Row::Block {
                end: 1 << 44,
                events: 1 << 20,
            },
        ];
        for row in all {
            let (words, len) = row.encode();
            assert_eq!(Row::decode(words), Some((row, len)));
        }
    }

    #[test]
    fn words_that_no_runtime_writes_are_refused() {
        let too_many = u64::from(MAX_THREADS) + 1;
        for first in [
            0,
            200,
            7 | 17 << 8,
            5 | 99 << 8,
            9 | 99 << 8,
            1 | 1 << 40,
            1 | too_many << 8,
        ] {
            assert_eq!(Row::decode([first, 0, 0, 0]), None, "{first:#x}");
        }
    }
}
