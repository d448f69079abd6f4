//! The file that holds the rings, and its mapping into the consumer.

use crate::layout::{HEADER_BYTES, Header};
use core::ptr::{self, NonNull};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

#[derive(Debug)]
pub(crate) struct Mapping {
    pub(crate) start: NonNull<u8>,
    len: usize,
}

// SAFETY: everything in the mapping is accessed as atomics.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    pub(crate) fn new(file: &File, len: usize) -> io::Result<Mapping> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping of a file of at least that length, at a place that the kernel chooses.
        let start = unsafe { libc::mmap(ptr::null_mut(), len, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::Other)?;
        Ok(Mapping { start, len })
    }

    pub(crate) fn header(&self) -> &Header {
        // SAFETY: mapped, at least so long, and valid whatever it holds; changed through atomics only.
        unsafe { &*self.start.as_ptr().cast::<Header>() }
    }

    /// All words behind the header.
    fn words(&self) -> &[AtomicU64] {
        let bytes = self.len - HEADER_BYTES;
        // SAFETY: in bounds, and 8-aligned behind the page of the header; changed through atomics only.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr().add(HEADER_BYTES).cast(), bytes / 8) }
    }

    /// A word, by its number behind the header.
    pub(crate) fn word(&self, index: usize) -> u64 {
        self.words()[index].load(Relaxed)
    }

    /// Copies whole words from the one with this number on.
    pub(crate) fn copy(&self, index: usize, out: &mut [u8]) {
        let words = &self.words()[index..][..out.len() / 8];
        for (to, from) in out.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&from.load(Relaxed).to_le_bytes());
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `new` mapped exactly this, and no reference into it outlives `self`.
        unsafe {
            libc::munmap(self.start.as_ptr().cast(), self.len);
        }
    }
}

/// Why rings cannot be found again.
#[derive(Debug)]
pub enum Reopen {
    /// Their recorder has them.
    InUse,
    /// The file holds no rings, or those of another version.
    NoRing,
    /// It cannot be opened.
    Io(io::Error),
}

/// Bytes of a file with rings.
pub(crate) fn len_of(row_words: u64, event_bytes: u64) -> u64 {
    for bytes in [row_words * 8, event_bytes] {
        assert!(
            bytes.is_power_of_two() && bytes >= 4096,
            "a ring has a power of two of pages"
        );
    }
    HEADER_BYTES as u64 + row_words * 8 + event_bytes
}

/// Gives a new file its length, with blocks for all of it, and the lock that says that somebody takes out of it.
pub(crate) fn reserve(file: &File, len: u64) -> io::Result<()> {
    // SAFETY: no memory is involved.
    if unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, len as libc::off_t) } != 0 {
        return Err(io::Error::last_os_error());
    }
    lock(file).map_err(|_| io::ErrorKind::WouldBlock.into())
}

/// The lock goes with the process that has it, however that ends.
pub(crate) fn lock(file: &File) -> Result<(), Reopen> {
    // SAFETY: no memory is involved.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.kind() {
        io::ErrorKind::WouldBlock => Err(Reopen::InUse),
        _ => Err(Reopen::Io(error)),
    }
}
