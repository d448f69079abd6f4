//! What a function of libc does to memory, as accesses of the instrumented code that called it; and entering the runtime for
//! such a call.

use crate::events::{modules, pending};
use crate::platform::memory::{self, NOBODYS};
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::plan;
use crate::scheduling::thread::slot;
use recorder_ring::Record;

/// Enters for a call from instrumented code.
pub fn enter(pc: usize) -> Option<RuntimeGuard> {
    if modules::is_instrumented(pc) {
        RuntimeGuard::enter()
    } else {
        None
    }
}

/// Enters for a call that may wait for the outside or order threads through the kernel, whoever makes it:
/// libraries do so for the program. Their own accesses are not recorded.
pub fn enter_system(pc: usize) -> Option<RuntimeGuard> {
    if modules::is_instrumented(pc) {
        return RuntimeGuard::enter();
    }
    let inside = RuntimeGuard::enter_and_stay()?;
    inside.await_turn();
    Some(inside)
}

/// Records a read of `len` bytes.
pub fn reads<T>(from: *const T, len: usize, pc: usize) {
    if !from.is_null() && modules::is_instrumented(pc) {
        plan::before_read(from as usize, len, pc);
        pending::read_range_now(from as usize, len, pc);
    }
}

/// As [`reads`], of what a call is about to give the kernel, as far as it is there.
pub fn passes<T>(from: *const T, len: usize, pc: usize) {
    if !from.is_null() && modules::is_instrumented(pc) {
        reads(from, memory::readable(from as usize, len), pc);
    }
}

/// Records a write of `len` bytes that is done.
pub fn writes<T>(to: *const T, len: usize, pc: usize) {
    if !to.is_null() && modules::is_instrumented(pc) {
        pending::write_range_now(to as usize, len, pc);
    }
}

/// As [`writes`], of what came from outside of the program.
pub fn arrives<T>(to: *const T, len: usize, pc: usize) {
    if !to.is_null() {
        plan::feed(to as usize, len, pc);
    }
    writes(to, len, pc);
}

/// As [`arrives`], also of what libraries ask for on their callers' behalf, say for the time, as far as it is
/// on their stack: what else they write to may be guarded by what nobody sees.
pub fn comes<T>(to: *const T, len: usize, pc: usize) {
    let here = &raw const len as usize;
    if modules::is_instrumented(pc) {
        arrives(to, len, pc);
    } else if (to as usize).wrapping_sub(here) < 1 << 16 {
        plan::feed(to as usize, len, pc);
        pending::write_range_now(to as usize, len, pc);
    }
}

/// What a call returned that came from outside of the program: recorded, and along a plan what it returned then.
pub fn returns(value: i64, pc: usize) -> i64 {
    let thread = slot();
    if !modules::is_instrumented(pc) || thread.is_null() {
        return value;
    }
    // SAFETY: a slot holds a thread, which lives for ever.
    let thread = unsafe { &*thread };
    let value = plan::returned(pc).unwrap_or(value as u64);
    pending::push(Record::Input {
        pc: pc as u64,
        // Each thread has a source of its own, so that nothing is ordered by them.
        source: NOBODYS | 1 << 62 | 1 << 61 | u64::from(thread.index.get()) << 3,
        value,
    });
    value as i64
}
