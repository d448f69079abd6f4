//! The parent's end of the ring: a safe interface over memory that another process writes.
//!
//! The other process may scribble over the ring by accident, so every word is read as an atomic,
//! and a record that makes no sense is an error that names its place, never undefined behaviour.

use crate::futex;
use crate::layout::{Flag, HEADER_BYTES, Header, MAGIC, Settings};
use crate::record::{MAX_WORDS, Record};
use core::ptr::{self, NonNull};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::fmt;
use std::format;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::string::String;

/// A ring, and the right to take records out of it.
#[derive(Debug)]
pub struct Ring {
    file: OwnedFd,
    start: NonNull<u8>,
    capacity: u64,
    /// Words taken.
    taken: u64,
}

// SAFETY: the mapping belongs to this value; everything in it is accessed as atomics.
unsafe impl Send for Ring {}

/// The ring holds something that no runtime writes: the program wrote over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupt {
    /// Word of the stream, from 0.
    pub word: u64,
}

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the memory shared with the program is damaged at word {}", self.word)
    }
}

impl std::error::Error for Corrupt {}

impl Ring {
    /// Makes a ring for `capacity` words, a power of two.
    ///
    /// # Errors
    /// If the memory cannot be had.
    ///
    /// # Panics
    /// If `capacity` is not a power of two.
    pub fn create(capacity: u64, settings: Settings) -> io::Result<Ring> {
        assert!(capacity.is_power_of_two(), "a ring has a power of two of words");
        let bytes = HEADER_BYTES + capacity as usize * 8;
        // SAFETY: memfd_create returns a new descriptor or -1; checked before it is owned.
        let file = unsafe {
            let fd = libc::memfd_create(c"witness-ring".as_ptr(), libc::MFD_CLOEXEC);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        // SAFETY: a new mapping of a file of that length, made non-null by the check.
        let start = unsafe {
            if libc::ftruncate(file.as_raw_fd(), bytes as libc::off_t) != 0 {
                return Err(io::Error::last_os_error());
            }
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let start = libc::mmap(
                ptr::null_mut(),
                bytes,
                protection,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            );
            if start == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            // SAFETY (of the cast): page aligned, longer than a header, and zero is a valid header.
            let header = start.cast::<Header>();
            (*header).magic = MAGIC;
            (*header).capacity = capacity;
            (*header).policy.store(settings.policy as u32, Relaxed);
            (*header).seed.store(settings.seed, Relaxed);
            NonNull::new_unchecked(start.cast::<u8>())
        };
        Ok(Ring {
            file,
            start,
            capacity,
            taken: 0,
        })
    }

    /// A path by which a child process can open the ring, as long as this value lives. Always of
    /// the same length: it is part of the program's environment, which lies above its stack.
    #[must_use]
    pub fn path(&self) -> String {
        let place = format!("{}/fd/{}", std::process::id(), self.file.as_raw_fd());
        format!("/proc/{place:/>24}")
    }

    fn header(&self) -> &Header {
        // SAFETY: mapped and initialized by `create`; changed through atomics only.
        unsafe { &*self.start.as_ptr().cast::<Header>() }
    }

    fn word(&self, at: u64) -> u64 {
        let index = (at & (self.capacity - 1)) as usize;
        // SAFETY: `index` is below `capacity`, and the words lie behind the header, 8-aligned.
        unsafe { (*self.start.as_ptr().add(HEADER_BYTES).cast::<AtomicU64>().add(index)).load(Relaxed) }
    }

    /// Takes all records that are there now; how many there were.
    ///
    /// # Errors
    /// With the first error of `each`, or [`Corrupt`].
    pub fn drain<E: From<Corrupt>>(&mut self, mut each: impl FnMut(Record) -> Result<(), E>) -> Result<usize, E> {
        let end = self.header().written.0.load(Acquire);
        let mut count = 0;
        while self.taken < end {
            // Give room back early: a producer that waits for it is the whole program.
            let batch = end.min(self.taken + self.capacity / 16);
            while self.taken < batch {
                let at = self.taken;
                let words: [u64; MAX_WORDS] = core::array::from_fn(|i| self.word(at + i as u64));
                let Some((record, len)) = Record::decode(words) else {
                    return Err(Corrupt { word: at }.into());
                };
                if at + len as u64 > end {
                    return Err(Corrupt { word: at }.into());
                }
                each(record)?;
                self.taken += len as u64;
                count += 1;
            }
            let header = self.header();
            header.taken.0.store(self.taken, Release);
            if header.full.0.swap(0, Relaxed) != 0 {
                futex::wake(&header.full.0, 1, true);
            }
        }
        Ok(count)
    }

    /// Whether something was said about the whole run.
    #[must_use]
    pub fn has(&self, flag: Flag) -> bool {
        self.header().flags.load(Relaxed) & flag as u32 != 0
    }

    /// Tells the program that nobody takes its records any more, so that it never waits for room.
    pub fn abandon(&self) {
        self.header().flags.fetch_or(Flag::Abandoned as u32, Relaxed);
        futex::wake(&self.header().full.0, 1, true);
    }

    /// Accesses that the runtime could not record.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.header().dropped.load(Relaxed)
    }

    /// Times that the baton was taken from a sleeping thread.
    #[must_use]
    pub fn steals(&self) -> u64 {
        self.header().steals.load(Relaxed)
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.abandon();
        // SAFETY: `create` mapped exactly this, and no reference into it outlives `self`.
        unsafe {
            libc::munmap(self.start.as_ptr().cast(), HEADER_BYTES + self.capacity as usize * 8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Policy, Producer};
    use std::ffi::CString;
    use std::thread;
    use std::vec::Vec;

    const SETTINGS: Settings = Settings {
        policy: Policy::Random,
        seed: 42,
    };

    #[test]
    fn a_small_ring_carries_a_long_stream_in_order() {
        let mut ring = Ring::create(1 << 9, SETTINGS).unwrap();
        let path = CString::new(ring.path()).unwrap();
        let sender = thread::spawn(move || {
            let producer = Producer::detached();
            // SAFETY: this thread alone has the producer.
            unsafe {
                let settings = producer.attach(&path).unwrap();
                assert_eq!((settings.policy, settings.seed), (Policy::Random, 42));
                for i in 0..100_000_u32 {
                    producer.push(Record::Switch { thread: i });
                    producer.push(Record::Read {
                        pc: 1,
                        addr: 2,
                        size: 8,
                        value: i.into(),
                    });
                }
            }
        });
        let mut seen: Vec<Record> = Vec::new();
        while !sender.is_finished() || seen.len() < 200_000 {
            ring.drain(|record| {
                seen.push(record);
                Ok::<_, Corrupt>(())
            })
            .unwrap();
        }
        sender.join().unwrap();
        assert!(ring.has(Flag::Attached));
        for (i, pair) in (0..).zip(seen.chunks(2)) {
            assert_eq!(pair[0], Record::Switch { thread: i });
            assert_eq!(
                pair[1],
                Record::Read {
                    pc: 1,
                    addr: 2,
                    size: 8,
                    value: i.into()
                }
            );
        }
    }

    #[test]
    fn a_damaged_ring_is_an_error() {
        let mut ring = Ring::create(1 << 9, SETTINGS).unwrap();
        ring.header().written.0.store(3, Release);
        assert_eq!(ring.drain(|_| Ok::<_, Corrupt>(())), Err(Corrupt { word: 0 }));
    }
}
