//! Which blocks were freed and not given out again, so that freeing one of them once more is seen. Only what is sure
//! counts: a block of no bytes, one that the C library or the runtime got for itself, is no block in the trace, and
//! freeing it is nothing special.

use crate::platform::hash::{Build, Table};
use core::cell::RefCell;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Addresses that are remembered; of a program that frees more, all are forgotten then.
const MOST: usize = 1 << 18;

/// Words of the filter of addresses that were given out without anybody looking.
const WORDS: usize = 1 << 12;

static FREED: Freed = Freed(RefCell::new(Table::with_hasher(Build)));

struct Freed(RefCell<Table<usize, ()>>);

// SAFETY: used with the baton.
unsafe impl Sync for Freed {}

static UNSEEN: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];

/// The word and the bit of an address.
fn slot(block: usize) -> (&'static AtomicU64, u64) {
    let number = (block >> 4) as u64;
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    (&UNSEEN[mixed as usize / 64 % WORDS], 1 << (mixed % 64))
}

/// A block was given out. With the baton.
pub(super) fn begins(block: usize) {
    FREED.0.borrow_mut().remove(&block);
}

/// A block was given out outside of the recording: it may be freed inside of it.
pub(super) fn begins_unseen(block: usize) {
    let (word, bit) = slot(block);
    word.fetch_or(bit, Relaxed);
}

/// A block is freed; whether it was before, and nobody has got it since. With the baton.
pub(super) fn ends_again(block: usize) -> bool {
    let mut freed = FREED.0.borrow_mut();
    if freed.len() >= MOST {
        freed.clear();
    }
    let (word, bit) = slot(block);
    freed.insert(block, ()).is_some() && word.load(Relaxed) & bit == 0
}
