//! The head of a run with its token, bit by bit, and the bytes of an item while they are put together.
//!
//! A *run* is a number of predicted events, with their literals, and the item that ends it. Its head comes first: a
//! byte with the number of predicted events, and the item's token. Both are known only when the run is over.

use crate::memory::LINE;
use crate::sites::target_mode;

/// No item has more bytes behind its token: site, stack, target, a line or a value, written.
pub const MAX_ITEM_BYTES: usize = 40 + LINE;

/// The most bytes of literals of a predicted event.
pub const MAX_LITERAL_BYTES: usize = 4 + 8;

/// Bytes of the head of a run.
pub const HEAD_BYTES: usize = 3;

/// The most predicted events of a run.
pub const MAX_RUN: u8 = 254;

/// The head of a run that is not over.
pub const OPEN_HEAD: [u8; HEAD_BYTES] = [0xff; HEAD_BYTES];

/// The head of a run that is over.
#[inline(always)]
#[must_use]
pub fn head(run: u8, token: u16) -> [u8; HEAD_BYTES] {
    let [low, high] = token.to_le_bytes();
    [run, low, high]
}

/// Which site: 2 bits.
pub(crate) mod site {
    pub const SHIFT: u32 = 0;
    pub const MASK: u16 = 3;
    pub const NEXT: u16 = 0;
    pub const OTHER: u16 = 1;
    /// Its index follows, two bytes.
    pub const KNOWN: u16 = 2;
    /// A new one: its code position follows, then its shape.
    pub const NEW: u16 = 3;
}

/// Which call stack: 2 bits.
pub(crate) mod stack {
    pub const SHIFT: u32 = 2;
    pub const MASK: u16 = 3;
    pub const PREDICTED: u16 = 0;
    /// The site's if the thread's was predicted, else the thread's.
    pub const OTHER: u16 = 1;
    /// The difference to the thread's follows.
    pub const GIVEN: u16 = 2;
}

/// Which target: 4 bits.
pub(crate) mod target {
    pub const SHIFT: u32 = 4;
    pub const MASK: u16 = 15;
    pub const PREDICTED: u16 = 0;
    /// As another mode predicts it: `BY_MODE` + the mode.
    pub const BY_MODE: u16 = 1;
    /// The difference to the site's last target follows: in so many bytes.
    pub const FROM_SITE: u16 = BY_MODE + super::target_mode::COUNT as u16;
    pub const SITE_BYTES: [u8; 6] = [1, 2, 3, 4, 6, 8];
    /// The difference to the address that the thread used last.
    pub const FROM_THREAD: u16 = FROM_SITE + SITE_BYTES.len() as u16;
    pub const THREAD_BYTES: [u8; 5] = [1, 2, 3, 4, 6];
}

/// The parts site, stack and target are all as predicted.
pub(crate) fn is_edge_predicted(token: u16) -> bool {
    token & (site::MASK << site::SHIFT | stack::MASK << stack::SHIFT | target::MASK << target::SHIFT) == 0
}

/// Which value: 5 bits.
pub(crate) mod value {
    pub const SHIFT: u32 = 8;
    pub const PREDICTED: u16 = 0;
    pub const BY_MODE: u16 = 1;
    /// The difference to what memory holds follows, or, for what is no access, to the site's last value: in
    /// `value − DIFFERENCE + 1` bytes.
    pub const DIFFERENCE: u16 = 5;
    /// The value follows, in `value − PLAIN + 1` bytes.
    pub const PLAIN: u16 = 13;
    /// The line of memory follows in which the target is, as it is now; the value is what it holds there.
    pub const LINE: u16 = 21;
    /// Not an event: the run is full, and goes on.
    pub const FULL: u16 = 30;
    /// Not an event: another thread runs from here on. Its number is the target's 4 bits; 15 if
    /// four bytes follow with it.
    pub const THREAD: u16 = 31;
}

/// What follows a token, put together where it is to be.
#[derive(Debug)]
pub(crate) struct Item<'a> {
    bytes: &'a mut [u8; MAX_ITEM_BYTES],
    len: usize,
}

impl<'a> Item<'a> {
    #[inline(always)]
    pub(crate) fn new(bytes: &'a mut [u8; MAX_ITEM_BYTES]) -> Self {
        Self { bytes, len: 0 }
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Appends the lowest `len` bytes of `number`, at most 8.
    #[inline(always)]
    pub(crate) fn put(&mut self, number: u64, len: usize) {
        // Eight bytes at once, of which the next ones overwrite those that are too many.
        if let Some(to) = self.bytes.get_mut(self.len..self.len + 8) {
            to.copy_from_slice(&number.to_le_bytes());
        }
        self.len += len;
    }

    /// Appends a length, 1 to 8, and a number with a sign.
    pub(crate) fn put_sized(&mut self, number: u64) {
        let len = crate::number::signed_len(number);
        self.put(len as u64, 1);
        self.put(number, len);
    }

    /// Appends a line of memory.
    pub(crate) fn put_line(&mut self, line: &[u8; LINE]) {
        if let Some(to) = self.bytes.get_mut(self.len..self.len + LINE) {
            to.copy_from_slice(line);
        }
        self.len += LINE;
    }
}
