//! The program's end of the ring.
//!
//! The records' memory is mapped twice, one mapping right behind the other, so that a record which
//! reaches over the end of the ring is written with plain stores all the same. A record is
//! published by a release store of `written` after its last word: a program killed between two
//! instructions leaves no half record behind.

use crate::futex;
use crate::layout::{Flag, HEADER_BYTES, Header, MAGIC, Policy, Settings};
use crate::record::{MAX_WORDS, Record};
use core::cell::Cell;
use core::ffi::CStr;
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The program's end. Made for a `static`: it starts detached, and is attached once.
#[derive(Debug)]
pub struct Producer {
    header: Cell<*const Header>,
    words: Cell<*mut u64>,
    mask: Cell<u64>,
    /// Words published.
    written: Cell<u64>,
    /// Up to where may be written without asking how far the consumer is.
    limit: Cell<u64>,
}

// SAFETY: all methods but `attach` demand that their callers come one at a time, ordered by
// something that synchronizes (the baton); `attach` that nobody else is there yet.
unsafe impl Sync for Producer {}

impl Producer {
    /// A producer without a ring.
    #[must_use]
    pub const fn detached() -> Self {
        Self {
            header: Cell::new(ptr::null()),
            words: Cell::new(ptr::null_mut()),
            mask: Cell::new(0),
            written: Cell::new(0),
            limit: Cell::new(0),
        }
    }

    /// Maps the ring in the file at `path`; says what is wanted of the runtime.
    ///
    /// # Safety
    /// No other thread may use `self` during this call, and it may succeed only once.
    pub unsafe fn attach(&self, path: &CStr) -> Option<Settings> {
        // SAFETY: plain system calls on memory that they allocate themselves; `path` is a C string.
        unsafe {
            let file = libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
            if file < 0 {
                return None;
            }
            let settings = self.map(file);
            libc::close(file);
            settings
        }
    }

    /// # Safety
    /// As [`attach`](Self::attach); `file` is an open file.
    unsafe fn map(&self, file: libc::c_int) -> Option<Settings> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the first mapping is checked before it is read as a header; it is page aligned,
        // and `Header` is valid for all contents. The second covers header and words; the third
        // replaces the part of the second that lies behind the words, which is nobody else's.
        unsafe {
            let page = libc::mmap(ptr::null_mut(), HEADER_BYTES, protection, libc::MAP_SHARED, file, 0);
            if page == libc::MAP_FAILED {
                return None;
            }
            let capacity = (*page.cast::<Header>()).capacity;
            let good = (*page.cast::<Header>()).magic == MAGIC && capacity.is_power_of_two();
            libc::munmap(page, HEADER_BYTES);
            if !good {
                return None;
            }
            let bytes = capacity as usize * 8;
            let whole = HEADER_BYTES + 2 * bytes;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            let start = libc::mmap(ptr::null_mut(), whole, libc::PROT_NONE, flags, -1, 0);
            if start == libc::MAP_FAILED {
                return None;
            }
            let shared = libc::MAP_SHARED | libc::MAP_FIXED;
            let words = start.byte_add(HEADER_BYTES);
            let head = libc::mmap(start, HEADER_BYTES + bytes, protection, shared, file, 0);
            let again = libc::mmap(
                words.byte_add(bytes),
                bytes,
                protection,
                shared,
                file,
                HEADER_BYTES as i64,
            );
            if head == libc::MAP_FAILED || again == libc::MAP_FAILED {
                return None;
            }
            // A forked child must not reach the ring, not even by mistake.
            libc::madvise(start, whole, libc::MADV_DONTFORK);
            let header = &*start.cast::<Header>();
            self.header.set(header);
            self.words.set(words.cast());
            self.mask.set(capacity - 1);
            self.limit.set(capacity - MAX_WORDS as u64);
            header.flags.fetch_or(Flag::Attached as u32, Relaxed);
            let policy = if header.policy.load(Relaxed) == Policy::Random as u32 {
                Policy::Random
            } else {
                Policy::Fifo
            };
            Some(Settings {
                policy,
                seed: header.seed.load(Relaxed),
            })
        }
    }

    fn header(&self) -> &Header {
        // SAFETY: set by `map` to memory that stays mapped; used only after `attach` succeeded.
        unsafe { &*self.header.get() }
    }

    /// Appends a record. Waits while the ring is full; drops the record if its consumer is gone.
    ///
    /// # Safety
    /// Attached; one caller at a time, each ordered after the one before.
    #[inline(always)]
    pub unsafe fn push(&self, record: Record) {
        let (words, len) = record.encode();
        let at = self.written.get();
        if at > self.limit.get() && !self.wait_for_room(at) {
            return;
        }
        // SAFETY: `at & mask` lies in the first mapping, the record's end at most in the second;
        // the consumer has taken what was there before (`limit`).
        unsafe {
            let to = self.words.get().add((at & self.mask.get()) as usize);
            for (i, word) in words.iter().take(len).enumerate() {
                to.add(i).write(*word);
            }
        }
        let at = at + len as u64;
        self.written.set(at);
        self.header().written.0.store(at, Release);
    }

    /// Moves the limit on; sleeps until there is room. False if no consumer is left.
    #[cold]
    #[inline(never)]
    fn wait_for_room(&self, at: u64) -> bool {
        let header = self.header();
        loop {
            let taken = header.taken.0.load(Acquire);
            self.limit.set(taken + self.mask.get() + 1 - MAX_WORDS as u64);
            if at <= self.limit.get() {
                return true;
            }
            if header.flags.load(Relaxed) & Flag::Abandoned as u32 != 0 {
                return false;
            }
            // A lost wake-up costs ten milliseconds and no more.
            header.full.0.store(1, Relaxed);
            if header.taken.0.load(Acquire) == taken {
                futex::wait(&header.full.0, 1, Some(10_000_000), true);
            }
        }
    }

    /// Says something about the whole run.
    ///
    /// # Safety
    /// Attached.
    pub unsafe fn flag(&self, flag: Flag) {
        self.header().flags.fetch_or(flag as u32, Relaxed);
    }

    /// Counts an access that could not be recorded.
    ///
    /// # Safety
    /// Attached.
    pub unsafe fn count_dropped(&self) {
        self.header().dropped.fetch_add(1, Relaxed);
    }

    /// Counts a baton taken from a sleeping thread.
    ///
    /// # Safety
    /// Attached.
    pub unsafe fn count_steal(&self) {
        self.header().steals.fetch_add(1, Relaxed);
    }
}
