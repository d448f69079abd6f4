//! The token of an item, bit by bit, and the bytes of an item while it is put together.

use crate::sites::place_mode;

/// No item is longer: token, run, site, stack, place, value, written.
pub const MAX_ITEM_BYTES: usize = 64;

/// How many predicted events came before: 3 bits.
pub(crate) mod run {
    pub const SHIFT: u32 = 0;
    pub const MASK: u16 = 7;
    /// A byte follows, which is added; if it is [`LONG_BYTE`], four bytes follow it, which count.
    pub const LONG: u16 = 7;
    pub const LONG_BYTE: u8 = 255;
}

/// Which site: 2 bits.
pub(crate) mod site {
    pub const SHIFT: u32 = 3;
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
    pub const SHIFT: u32 = 5;
    pub const MASK: u16 = 3;
    pub const PREDICTED: u16 = 0;
    /// The site's if the thread's was predicted, else the thread's.
    pub const OTHER: u16 = 1;
    /// The difference to the thread's follows.
    pub const GIVEN: u16 = 2;
}

/// Which place: 4 bits.
pub(crate) mod place {
    pub const SHIFT: u32 = 7;
    pub const MASK: u16 = 15;
    pub const PREDICTED: u16 = 0;
    /// As another mode predicts it: `BY_MODE` + the mode.
    pub const BY_MODE: u16 = 1;
    /// The difference to the site's last place follows: in so many bytes.
    pub const FROM_SITE: u16 = BY_MODE + super::place_mode::COUNT as u16;
    pub const SITE_BYTES: [u8; 6] = [1, 2, 3, 4, 6, 8];
    /// The difference to the address that the thread used last.
    pub const FROM_THREAD: u16 = FROM_SITE + SITE_BYTES.len() as u16;
    pub const THREAD_BYTES: [u8; 5] = [1, 2, 3, 4, 6];
}

/// The parts site, stack and place are all as predicted.
pub(crate) fn is_way_predicted(token: u16) -> bool {
    token & (site::MASK << site::SHIFT | stack::MASK << stack::SHIFT | place::MASK << place::SHIFT) == 0
}

/// Which value: 5 bits.
pub(crate) mod value {
    pub const SHIFT: u32 = 11;
    pub const PREDICTED: u16 = 0;
    pub const BY_MODE: u16 = 1;
    /// The difference to what memory holds follows, or, where that is not known, to the site's
    /// last value: in `value − DIFFERENCE + 1` bytes.
    pub const DIFFERENCE: u16 = 5;
    /// The value follows, in `value − PLAIN + 1` bytes.
    pub const PLAIN: u16 = 13;
    pub const END: u16 = 21;
    /// Not an event: another thread runs from here on. Its number is the place's 4 bits; 15 if
    /// four bytes follow with it.
    pub const THREAD: u16 = 31;
}

/// An item that is put together where it is to be.
#[derive(Debug)]
pub(crate) struct Item<'a> {
    bytes: &'a mut [u8; MAX_ITEM_BYTES],
    len: usize,
}

impl<'a> Item<'a> {
    /// With room for the token.
    #[inline(always)]
    pub(crate) fn new(bytes: &'a mut [u8; MAX_ITEM_BYTES]) -> Self {
        Self { bytes, len: 2 }
    }

    /// Its length, once its token is written.
    #[inline(always)]
    pub(crate) fn finish(self, token: u16) -> usize {
        self.bytes[..2].copy_from_slice(&token.to_le_bytes());
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
}
