//! The header page of the ring: settings for the runtime, the two indices, and what one side
//! wants the other to know outside of the order of events.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// First word of the header, so that a runtime never writes into something else.
pub const MAGIC: u64 = u64::from_le_bytes(*b"witring\x01");

/// Bytes before the records: one page.
pub const HEADER_BYTES: usize = 4096;

/// The environment variable that tells the runtime where the ring is.
pub const RING_VARIABLE: &str = "WITNESS_RING";

/// A cache line of its own, so that one side's polling does not slow the other's writing.
#[repr(C, align(128))]
#[derive(Default)]
pub struct Line<T>(pub T);

/// The header page. Written by the parent before the program starts, then by both.
#[repr(C)]
pub struct Header {
    /// [`MAGIC`].
    pub magic: u64,
    /// Words of records, a power of two.
    pub capacity: u64,
    /// See [`Settings`].
    pub policy: AtomicU32,
    /// See [`Settings`].
    pub seed: AtomicU64,
    /// Words published so far. Stored by the producer, with release.
    pub written: Line<AtomicU64>,
    /// Words taken so far. Stored by the consumer, with release.
    pub taken: Line<AtomicU64>,
    /// 1 while the producer sleeps on this word because the ring is full.
    pub full: Line<AtomicU32>,
    /// A bit per [`Flag`].
    pub flags: AtomicU32,
    /// Accesses that could not be recorded (a signal handler ran inside the runtime).
    pub dropped: AtomicU64,
    /// Times that the baton was taken from a thread that slept in a call the runtime does not know.
    pub steals: AtomicU64,
}

const _: () = assert!(size_of::<Header>() <= HEADER_BYTES);

/// How the runtime chooses the thread that runs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Policy {
    /// A thread runs until it blocks, yields or ends; then the one that has waited longest.
    Fifo = 0,
    /// Pseudo-random switches, at any event.
    Random = 1,
}

/// What the parent tells the runtime.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The scheduling policy.
    pub policy: Policy,
    /// Its seed.
    pub seed: u64,
}

/// Facts about the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Flag {
    /// The runtime found the ring and records.
    Attached = 1,
    /// Every thread of the program waited for another; the runtime ended it.
    Deadlock = 2,
    /// Nobody takes records any more; the runtime stopped to record.
    Abandoned = 4,
}

/// Things worth telling the trace's reader, as they happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Note {
    /// The program forked: the child process is not recorded.
    Forked = 1,
    /// The process replaced its program: the new one is not recorded.
    Executed = 2,
    /// A thread appeared that was not made by `pthread_create`.
    ForeignThread = 3,
    /// More threads than the runtime can follow.
    TooManyThreads = 4,
    /// The program ends in good order.
    Finished = 5,
}

impl Note {
    pub(crate) fn from_code(code: u8) -> Option<Note> {
        Some(match code {
            1 => Note::Forked,
            2 => Note::Executed,
            3 => Note::ForeignThread,
            4 => Note::TooManyThreads,
            5 => Note::Finished,
            _ => return None,
        })
    }
}
