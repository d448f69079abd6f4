//! Variables of the runtime's own, in addresses that no program has: what one thread sets there, another one finds set.
//! So order that leaves no access of the program's becomes one that the trace explains.

use crate::events::pending;
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
    pending::push(Record::AtomicLoad {
        pc: pc as u64,
        addr,
        size: 1,
        order: SEQUENTIALLY_CONSISTENT,
        value: 1,
    });
}
