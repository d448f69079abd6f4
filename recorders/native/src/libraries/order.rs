//! Order that a library makes, as atomics on variables of the runtime's own: what comes later finds set what came
//! before it has set.

use crate::events::{pending, variable};
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::thread::slot;
use recorder_ring::Record;

const RELAXED: u8 = 0;

/// Variables within a variable: see [`part`].
const PARTS: u64 = 1 << 16;

pub use crate::events::variable::fresh as variable;

/// The n-th variable that belongs to one, for what several threads have in common, of which each may be the first to
/// come.
pub fn part(of: u64, number: u64) -> u64 {
    if number < PARTS { of | number << 3 } else { variable() }
}

/// Along a plan, the next event of an operation may come much later than the one before. The caller, which is inside
/// the runtime, looks at what others change only after this.
pub fn await_turn() {
    // SAFETY: who is inside has a record, which lives for ever.
    RuntimeGuard::of(unsafe { &*slot() }).await_turn();
}

/// What the calling thread did happens before whatever finds the variable set.
pub fn set(addr: u64, pc: usize) {
    await_turn();
    variable::set(addr, pc);
}

/// What the calling thread does from here on comes after the variable was set.
pub fn find_set(addr: u64, pc: usize) {
    await_turn();
    variable::find_set(addr, pc);
}

/// The calling thread gets a number, as from an atomic counter: that orders nothing else.
pub fn count(addr: u64, read: u64, written: u64, pc: usize) {
    await_turn();
    counted(addr, read, written, pc);
}

/// As [`count`], where the turn is the caller's already.
pub fn counted(addr: u64, read: u64, written: u64, pc: usize) {
    pending::push(Record::AtomicRmw {
        pc: pc as u64,
        addr,
        size: 8,
        order: RELAXED,
        read,
        written,
    });
}

/// It sees how far the counter is.
pub fn look(addr: u64, value: u64, pc: usize) {
    await_turn();
    pending::push(Record::AtomicLoad {
        pc: pc as u64,
        addr,
        size: 8,
        order: RELAXED,
        value,
    });
}
