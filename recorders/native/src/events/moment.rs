//! Order that a program makes without an access, and that its calls tell: what announces a lock's release, registers a
//! handler or sends a signal comes before what it makes possible.
//!
//! A *moment* is an atomic variable in addresses that no program has, which is set once, by the call that something
//! waits for; what comes after it loads it and finds it set. Each has a variable of its own, so that nothing but these
//! two are ordered, and every prefix of the trace that keeps the value of the load can happen.

use crate::events::images;
use crate::events::variable::{find_set, set};
use crate::platform::memory::NOBODYS;
use core::cell::Cell;

/// A call that something else comes after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(u64);

static COUNT: Count = Count {
    made: Cell::new(0),
    of_parent: Cell::new(0),
};

struct Count {
    made: Cell<u64>,
    /// Those of before the trace began: it has no events of them.
    of_parent: Cell<u64>,
}

// SAFETY: only the thread with the baton gets here.
unsafe impl Sync for Count {}

/// In a forked child: what was before is not in its trace.
pub fn start_over() {
    COUNT.of_parent.set(COUNT.made.get());
}

impl Moment {
    /// Before any other.
    pub const NEVER: Moment = Moment(0);

    /// Records that it is now. The caller has the baton.
    pub fn now(pc: usize) -> Moment {
        if !images::are_taken() {
            // There was no second thread yet: what comes now is before all that these do.
            return Moment::NEVER;
        }
        let number = COUNT.made.get() + 1;
        COUNT.made.set(number);
        let moment = Moment(number);
        set(moment.variable(), pc);
        moment
    }

    /// Records that the running thread goes on after it. The caller has the baton.
    pub fn is_past(self, pc: usize) {
        if self.0 > COUNT.of_parent.get() {
            find_set(self.variable(), pc);
        }
    }

    /// A number that stands for it.
    pub fn number(self) -> u64 {
        self.0
    }

    /// The moment with a number.
    pub fn of_number(number: u64) -> Moment {
        Moment(number)
    }

    fn variable(self) -> u64 {
        NOBODYS | 1 << 59 | self.0 << 3
    }
}

/// How many keys a table of moments has places for. One that is forgotten orders nothing.
const REMEMBERED: usize = 1024;

/// Moments by what they happened to: a thread's handle, an object's address.
pub struct Moments([Cell<(u64, Moment)>; REMEMBERED]);

// SAFETY: only the thread with the baton gets here.
unsafe impl Sync for Moments {}

impl Moments {
    pub const fn new() -> Self {
        Moments([const { Cell::new((0, Moment::NEVER)) }; REMEMBERED])
    }

    fn place(&self, key: u64) -> &Cell<(u64, Moment)> {
        let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - REMEMBERED.ilog2());
        &self.0[hash as usize]
    }

    /// Records that it happens now.
    pub fn happens(&self, key: u64, pc: usize) {
        self.place(key).set((key, Moment::now(pc)));
    }

    /// Records that the running thread goes on after it, if it happened.
    pub fn is_past(&self, key: u64, pc: usize) {
        let (known, moment) = self.place(key).get();
        if known == key {
            moment.is_past(pc);
        }
    }

    /// What happened does not count any more.
    pub fn forget(&self, key: u64) {
        let place = self.place(key);
        if place.get().0 == key {
            place.set((0, Moment::NEVER));
        }
    }
}
