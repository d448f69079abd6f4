//! What the whole runtime knows of its process: whether it records, and where to.

use core::cell::UnsafeCell;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicI32, AtomicU8, AtomicU32};
use recorder_ring::Producer;
use recorder_ring::ring_broker::Client;
use std::vec::Vec;

/// The program's end of the ring.
pub static RING: Producer = Producer::detached();

/// Where processes that come of this one ask for rings.
pub static BROKER: Client = Client::nowhere();

/// How many processes came of this one: those that it forked, started or became.
pub static DESCENDANTS: AtomicU32 = AtomicU32::new(0);

/// Whether no process came of this one, nor this one of another, as far as the recorder knows.
pub fn is_alone() -> bool {
    DESCENDANTS.load(Relaxed) == 0 && RING.number() == 0
}

static PHASE: AtomicU8 = AtomicU8::new(Phase::Before as u8);
static PROCESS: AtomicI32 = AtomicI32::new(0);

/// What the runtime does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// Nothing yet: the process is being loaded.
    Before = 0,
    /// It records.
    On = 1,
    /// Nothing, for good: no ring, or a forked child.
    Off = 2,
}

pub fn phase() -> Phase {
    match PHASE.load(Acquire) {
        0 => Phase::Before,
        1 => Phase::On,
        _ => Phase::Off,
    }
}

pub fn set_phase(phase: Phase) {
    PHASE.store(phase as u8, Release);
}

/// The process that is recorded.
pub fn process() -> i32 {
    PROCESS.load(Relaxed)
}

pub fn set_process(process: i32) {
    PROCESS.store(process, Relaxed);
}

/// The folder that holds the runtime.
pub static FOLDER: Folder = Folder(UnsafeCell::new(Vec::new()));

pub struct Folder(UnsafeCell<Vec<u8>>);

// SAFETY: written before there are other threads.
unsafe impl Sync for Folder {}

impl Folder {
    pub fn get(&self) -> &[u8] {
        // SAFETY: not written to any more.
        unsafe { &*self.0.get() }
    }

    /// Says where it is.
    ///
    /// # Safety
    /// Once, before there are other threads, and before anybody has asked.
    pub unsafe fn set(&self, folder: Vec<u8>) {
        // SAFETY: promised by the caller.
        unsafe { *self.0.get() = folder };
    }
}
