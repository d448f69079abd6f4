//! Memory that the runtime gives to the program, as a block of the trace.

use crate::events::pending;
use crate::platform::sys;
use recorder_ring::Record;
use std::alloc::{Layout, alloc_zeroed, dealloc};

/// No type of C's wants more.
const ALIGNMENT: usize = 16;

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size.max(ALIGNMENT), ALIGNMENT)
        .unwrap_or_else(|_| sys::die("witness: OpenMP: a task's variables are larger than memory\n"))
}

/// A block of zeros.
pub fn obtain(size: usize, pc: usize) -> *mut u8 {
    // SAFETY: the layout is not empty.
    let block = unsafe { alloc_zeroed(layout(size)) };
    pending::push(Record::Alloc {
        pc: pc as u64,
        addr: block as u64,
        size: size as u64,
    });
    block
}

/// Gives a block back.
///
/// # Safety
/// It was obtained with that size, and nobody uses it.
pub unsafe fn give_back(block: *mut u8, size: usize, pc: usize) {
    pending::push(Record::Free {
        pc: pc as u64,
        addr: block as u64,
    });
    // SAFETY: promised by the caller.
    unsafe { dealloc(block, layout(size)) };
}
