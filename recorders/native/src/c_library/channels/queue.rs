//! What is recorded of a channel: each write is a variable of its own, in addresses that no program
//! has, which the read that gets its last byte has to find set.
//!
//! What a read gets depends on who wrote before whom, so writes stay in their order, and so do reads: each looks at the
//! one before it if that was another thread's. That is the kernel's order, since both are made with the baton, and who has
//! to wait does so before. Bytes are counted, and messages where what is left of one is gone.
//!
//! A write sets its variable before the call and a read looks after it, so that what arrived was set before. A read that
//! finds nothing, and does not wait, finds the variable of the next write not set yet. Closing the end to read from is
//! counted on a variable that writes look at.

use crate::events::pending;
use crate::events::variable::{SEQUENTIALLY_CONSISTENT, find_set, find_unset, set};
use crate::platform::memory::NOBODYS;
use crate::scheduling::thread::slot;
use recorder_ring::Record;
use std::collections::VecDeque;

/// In which pieces what is written is read, in that order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pieces {
    /// Byte by byte.
    Bytes,
    /// As messages, of which who reads less loses the rest; a write of more than so many bytes is several.
    Messages { most: usize },
    /// In none: a read may depend on all that was written before.
    None,
}

impl Pieces {
    /// How many a write or a read of so many bytes has.
    fn of(self, bytes: usize) -> u64 {
        match self {
            Pieces::Bytes => bytes as u64,
            Pieces::Messages { most } => bytes.div_ceil(most) as u64,
            Pieces::None => 0,
        }
    }

    /// The same of a read, which gets one message.
    fn of_read(self, bytes: usize) -> u64 {
        match self {
            Pieces::Messages { .. } => 1,
            _ => self.of(bytes),
        }
    }
}

/// Writes and reads of one channel in one direction.
pub struct Queue {
    pieces: Pieces,
    /// With less room than this, a call fails at once.
    least: usize,
    /// Another process may have its other end.
    leads_outside: bool,
    /// Where each write ends, in pieces, and its number, of those that were not read completely.
    unread: VecDeque<(u64, u64)>,
    written: u64,
    read: u64,
    writes: Side,
    reads: Side,
    /// Something was written whose bytes are read.
    has_contents: bool,
    /// Descriptors to read from that were closed; of what is no channel, operations.
    counted: u64,
}

/// The operations in one of the two directions.
struct Side {
    count: u64,
    /// Who made the last one.
    last: usize,
}

/// What a read has taken.
pub enum Amount {
    /// So many; some.
    Bytes(usize),
    /// Nothing; it saw that there is something.
    Look,
    /// Nothing; it may see all that there is.
    LookAtAll,
    /// It may depend on all that there was.
    All,
}

/// The variable of an operation.
fn variable(queue: u32, reads: bool, number: u64) -> u64 {
    NOBODYS | 1 << 61 | u64::from(queue) << 36 | number << 4 | u64::from(reads) << 3
}

/// Whether a variable is that of an operation on this channel.
pub fn is_of(queue: u32, addr: u64) -> bool {
    addr >> 36 == variable(queue, false, 0) >> 36
}

impl Side {
    const NONE: Side = Side { count: 0, last: 0 };

    /// One more operation, by the calling thread; its number, from 1.
    fn operate(&mut self, queue: u32, reads: bool, pc: usize) -> u64 {
        let me = slot() as usize;
        if self.count > 0 && self.last != me {
            find_set(variable(queue, reads, self.count), pc);
        }
        self.last = me;
        self.count += 1;
        set(variable(queue, reads, self.count), pc);
        self.count
    }
}

impl Queue {
    /// Of bytes, in order.
    pub const fn of_bytes() -> Self {
        Self::new(Pieces::Bytes, 1)
    }

    /// Of messages, each of which one read gets; a write of more than so many bytes is several.
    pub const fn of_messages(most: usize) -> Self {
        Self::new(Pieces::Messages { most }, 1)
    }

    /// Of changes to something that readers see as a whole.
    pub const fn of_states() -> Self {
        Self::new(Pieces::None, 1)
    }

    /// The same, of a counter that only this process has.
    pub const fn of_counter() -> Self {
        Self::new(Pieces::None, size_of::<u64>())
    }

    const fn new(pieces: Pieces, least: usize) -> Self {
        Self {
            pieces,
            least,
            leads_outside: false,
            unread: VecDeque::new(),
            written: 0,
            read: 0,
            writes: Side::NONE,
            reads: Side::NONE,
            has_contents: false,
            counted: 0,
        }
    }

    /// As if nothing had been written or read.
    pub fn start_over(&mut self) {
        let leads_outside = self.leads_outside;
        *self = Self::new(self.pieces, self.least);
        self.leads_outside = leads_outside;
    }

    /// The same, if another process may have the other end.
    pub fn or_outside(self) -> Self {
        Self {
            leads_outside: true,
            ..self
        }
    }

    /// The other end is this process's.
    pub fn stays_inside(&mut self) {
        self.leads_outside = false;
    }

    /// Whether another process may have the other end.
    pub fn leads_outside(&self) -> bool {
        self.leads_outside
    }

    /// With less room than this, a call fails at once.
    pub fn least(&self) -> usize {
        self.least
    }

    /// How much of it was written or read is not known: its bytes pass through buffers of streams, say.
    pub fn loses_count(&mut self) {
        self.pieces = Pieces::None;
        self.unread.clear();
    }

    /// The calling thread is about to write.
    pub fn put(&mut self, queue: u32, bytes: usize, pc: usize) {
        let number = self.writes.operate(queue, false, pc);
        // It succeeds, or not, by who can still read.
        pending::push(Record::AtomicLoad {
            pc: pc as u64,
            addr: variable(queue, true, 0),
            size: 8,
            order: SEQUENTIALLY_CONSISTENT,
            value: self.counted,
        });
        self.has_contents |= bytes > 0;
        if self.pieces != Pieces::None {
            self.written += self.pieces.of(bytes);
            self.unread.push_back((self.written, number));
        }
    }

    /// Counts something that the calling thread does on a variable that each counts on, and each write looks at: a
    /// descriptor to read from is closed, which comes after the writes before it only in so far as they succeeded.
    pub fn count(&mut self, queue: u32, pc: usize) {
        let read = self.counted;
        self.counted += 1;
        pending::push(Record::AtomicRmw {
            pc: pc as u64,
            addr: variable(queue, true, 0),
            size: 8,
            order: SEQUENTIALLY_CONSISTENT,
            read,
            written: self.counted,
        });
    }

    /// The calling thread's write was of so many bytes only; if it is the last one.
    pub fn was_shorter(&mut self, bytes: usize) {
        let is_last = self
            .unread
            .back()
            .is_some_and(|&(_, number)| number == self.writes.count);
        if !is_last || self.writes.last != slot() as usize {
            return;
        }
        let before = self
            .unread
            .len()
            .checked_sub(2)
            .map_or(self.read, |at| self.unread[at].0);
        if let Some((end, _)) = self.unread.back_mut() {
            *end = (*end).min(before + self.pieces.of(bytes));
            self.written = *end;
        }
    }

    /// The calling thread has found nothing to read: whoever read the last of it did so before, and the next write came
    /// later. (One that is about to write has its variable set, but may not have written yet: nothing is known then.)
    pub fn found_empty(&mut self, queue: u32, pc: usize) {
        if !self.unread.is_empty() {
            return;
        }
        if self.reads.count > 0 && self.reads.last != slot() as usize {
            find_set(variable(queue, true, self.reads.count), pc);
        }
        find_unset(variable(queue, false, self.writes.count + 1), pc);
    }

    /// The calling thread has learnt how much there is to read: that depends on all that was written and read before, and
    /// whatever is written or read next came later.
    pub fn was_counted(&mut self, queue: u32, pc: usize) {
        for (reads, side) in [(false, &self.writes), (true, &self.reads)] {
            if side.count > 0 {
                find_set(variable(queue, reads, side.count), pc);
            }
            find_unset(variable(queue, reads, side.count + 1), pc);
        }
    }

    /// Whether the next bytes, so many, were written by this process, if no other one has the channel.
    pub fn are_own(&self, bytes: usize) -> bool {
        match self.pieces {
            Pieces::None => self.has_contents,
            pieces => self.read + pieces.of_read(bytes) <= self.written,
        }
    }

    /// The calling thread has read.
    pub fn take(&mut self, queue: u32, amount: Amount, pc: usize) {
        let upto = match amount {
            Amount::Bytes(bytes) => self.read + self.pieces.of_read(bytes),
            Amount::Look => self.read + 1,
            Amount::LookAtAll | Amount::All => u64::MAX,
        };
        let holds_it = |&&(end, _): &&(u64, u64)| end >= upto;
        let number = self
            .unread
            .iter()
            .find(holds_it)
            .map_or(self.writes.count, |&(_, number)| number);
        if number > 0 {
            find_set(variable(queue, false, number), pc);
        }
        if let Amount::Bytes(_) = amount {
            self.read = upto.min(self.written);
            while self.unread.front().is_some_and(|&(end, _)| end <= self.read) {
                self.unread.pop_front();
            }
        }
        if !matches!(amount, Amount::Look | Amount::LookAtAll) {
            self.reads.operate(queue, true, pc);
        }
        // It may have got nothing of a message, which is gone, or an empty one.
        if matches!((&amount, self.pieces), (Amount::All, Pieces::Messages { .. })) {
            self.loses_count();
        }
    }
}
