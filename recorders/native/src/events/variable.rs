//! Variables of the runtime's own, in addresses that no program has: what one thread sets there, another one finds set.
//! So order that leaves no access of the program's becomes one that the trace explains.

use crate::events::{images, pending};
use crate::platform::memory::NOBODYS;
use crate::scheduling::thread::slot;
use core::cell::Cell;
use recorder_ring::Record;

pub const SEQUENTIALLY_CONSISTENT: u8 = 5;

/// Records that a variable of the runtime's own is set.
pub fn set(addr: u64, pc: usize) {
    pending::push(Record::AtomicStore {
        pc: pc as u64,
        addr,
        size: 1,
        order: SEQUENTIALLY_CONSISTENT,
        value: 1,
    });
}

/// Records that it is found set.
pub fn find_set(addr: u64, pc: usize) {
    find(addr, 1, pc);
}

/// Records that it is found not to be set yet.
pub fn find_unset(addr: u64, pc: usize) {
    find(addr, 0, pc);
}

fn find(addr: u64, value: u64, pc: usize) {
    pending::push(Record::AtomicLoad {
        pc: pc as u64,
        addr,
        size: 1,
        order: SEQUENTIALLY_CONSISTENT,
        value,
    });
}

/// Records that a variable of the runtime's own has this value from here on.
pub fn store(addr: u64, value: u64, pc: usize) {
    pending::push(Record::AtomicStore {
        pc: pc as u64,
        addr,
        size: 8,
        order: SEQUENTIALLY_CONSISTENT,
        value,
    });
}

/// Records that it is found to have this value, and has the next one from here on.
pub fn step(addr: u64, value: u64, pc: usize) {
    pending::push(Record::AtomicRmw {
        pc: pc as u64,
        addr,
        size: 8,
        order: SEQUENTIALLY_CONSISTENT,
        read: value,
        written: value + 1,
    });
}

/// Records that it is found to have this value.
pub fn load(addr: u64, value: u64, pc: usize) {
    pending::push(Record::AtomicLoad {
        pc: pc as u64,
        addr,
        size: 8,
        order: SEQUENTIALLY_CONSISTENT,
        value,
    });
}

/// How often something was done that any thread may do: a variable of the runtime's own, so that the order counts in which
/// threads did it.
pub struct Turns {
    addr: u64,
    taken: Cell<u64>,
}

// SAFETY: only the thread with the baton gets here.
unsafe impl Sync for Turns {}

impl Turns {
    /// The variable at an address that no program has.
    pub const fn at(addr: u64) -> Turns {
        Turns {
            addr,
            taken: Cell::new(0),
        }
    }

    /// Records that it is done once more. What is before there is a second thread is before all that others do.
    pub fn take(&self, pc: usize) {
        if images::are_taken() {
            let before = self.taken.get();
            self.taken.set(before + 1);
            step(self.addr, before, pc);
        }
    }

    /// Records that something depends on what was done so far.
    pub fn look(&self, pc: usize) {
        if images::are_taken() {
            load(self.addr, self.taken.get(), pc);
        }
    }

    /// In a forked child, whose trace begins here.
    pub fn start_over(&self) {
        self.taken.set(0);
    }
}

/// A variable that was never used. A thread's n-th is the same in every order of events.
pub fn fresh() -> u64 {
    // SAFETY: a slot holds a thread, which lives for ever, or nothing.
    let (thread, number) = match unsafe { slot().as_ref() } {
        Some(thread) => {
            let number = thread.variables.get();
            thread.variables.set(number + 1);
            (u64::from(thread.index.get()), number)
        }
        None => (0, 0),
    };
    NOBODYS | 1 << 60 | thread << 46 | number << 19
}
