//! What happens to a lock, whatever kind it is and whoever offers it.

use super::pending;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;
use libc::c_int;
use recorder_ring::{Note, ObjectClass, Record};

/// What was noted of locks already, a bit for each note.
static NOTED: AtomicU32 = AtomicU32::new(0);

/// In a forked child, whose trace begins here.
pub fn start_over() {
    NOTED.store(0, Relaxed);
}

/// Notes something of a lock, once in a run. The caller has the baton.
pub fn note_once(note: Note) {
    let bit = 1 << note as u32;
    if NOTED.load(Relaxed) & bit == 0 {
        NOTED.store(NOTED.load(Relaxed) | bit, Relaxed);
        pending::push(Record::Note { note });
    }
}

/// A lock, as the trace knows it.
#[derive(Clone, Copy)]
pub struct Lock {
    pub class: ObjectClass,
    pub addr: u64,
}

/// How a thread takes a lock.
#[derive(Clone, Copy)]
pub struct Side {
    /// Others may hold it in the same way.
    pub shared: bool,
    /// It may come back without the lock.
    pub attempt: bool,
}

/// A thread that waits until it has the lock alone.
pub const ALONE: Side = Side {
    shared: false,
    attempt: false,
};

/// A thread that tries to have the lock alone.
pub const TRIES: Side = Side {
    shared: false,
    attempt: true,
};

impl Lock {
    pub fn new(class: ObjectClass, addr: usize) -> Lock {
        Lock {
            class,
            addr: addr as u64,
        }
    }

    /// The running thread has taken it.
    pub fn taken(self, Side { shared, attempt }: Side, pc: usize) {
        pending::push(Record::Acquire {
            pc: pc as u64,
            class: self.class,
            lock: self.addr,
            shared,
            attempt,
        });
    }

    /// The running thread has tried to take it, and has not.
    pub fn not_taken(self, shared: bool, pc: usize) {
        pending::push(Record::AcquireFailed {
            pc: pc as u64,
            class: self.class,
            lock: self.addr,
            shared,
        });
    }

    /// The running thread has tried to take it, and this is what the C library's function returned.
    pub fn tried(self, shared: bool, result: c_int, pc: usize) {
        match result {
            0 | libc::EOWNERDEAD => self.taken(Side { shared, attempt: true }, pc),
            libc::EBUSY | libc::ETIMEDOUT => self.not_taken(shared, pc),
            _ => {}
        }
    }

    /// The running thread has given it back.
    pub fn given_back(self, pc: usize) {
        pending::push(Record::Release {
            pc: pc as u64,
            class: self.class,
            lock: self.addr,
        });
    }
}
