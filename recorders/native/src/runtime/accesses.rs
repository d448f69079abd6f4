//! What a function of libc does to memory, as accesses of the instrumented code that called it; and entering the
//! runtime for such a call.

use crate::events::{modules, pending};
use crate::platform::memory::{self, NOBODYS};
use crate::runtime::guard::{RuntimeGuard, save_errno};
use crate::scheduling::plan;
use crate::scheduling::thread::{Thread, slot};
use core::sync::atomic::AtomicI32;
use core::sync::atomic::Ordering::Relaxed;
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

/// As [`reads`], of what a call is about to give the kernel, as far as it is there. What the call does is another
/// operation, which has a turn of its own.
pub fn passes<T>(from: *const T, len: usize, pc: usize) {
    if !from.is_null() && modules::is_instrumented(pc) {
        reads(from, memory::readable(from as usize, len), pc);
        let thread = slot();
        if !thread.is_null() {
            // SAFETY: a slot holds a thread, which lives for ever.
            RuntimeGuard::of(unsafe { &*thread }).await_turn();
        }
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
    match modules::is_instrumented(pc) {
        true => returns_to_anyone(value, pc),
        false => value,
    }
}

/// As [`returns`], also to libraries, which may ask on their callers' behalf.
pub fn returns_to_anyone(value: i64, pc: usize) -> i64 {
    let thread = slot();
    if thread.is_null() {
        return value;
    }
    // SAFETY: a slot holds a thread, which lives for ever.
    let thread = unsafe { &*thread };
    let value = plan::returned(pc).unwrap_or(value as u64);
    push_input(thread, value, pc);
    value as i64
}

/// As [`returns`], of a call that returns how much it did, or fails: along a plan it fails as it did then.
pub fn returns_or_fails(done: i64, pc: usize) -> i64 {
    let actual = if done < 0 {
        -i64::from(save_errno().max(1))
    } else {
        done
    };
    let given = returns(actual, pc);
    if given < 0 && given != actual {
        ERROR.store(-given as i32, Relaxed);
    } else if given >= 0 && actual < 0 {
        ERROR.store(NONE, Relaxed);
    }
    given.max(-1)
}

/// With what the call fails that the calling thread is at, in place of the error that it failed with; 0 for no other
/// one.
static ERROR: AtomicI32 = AtomicI32::new(0);

/// It does not fail.
const NONE: i32 = -1;

/// What is the thread's `errno` behind the call that it has been at since it entered, if this is what it was before, and
/// what the call has left.
pub fn error_of_call(before: i32, left: i32) -> i32 {
    match ERROR.swap(0, Relaxed) {
        0 => left,
        NONE => before,
        other => other,
    }
}

/// Records something that came from outside of the program, to whoever asked.
pub fn input(value: u64, pc: usize) {
    // SAFETY: null or a thread, which lives for ever.
    if let Some(thread) = unsafe { slot().as_ref() } {
        push_input(thread, value, pc);
    }
}

fn push_input(thread: &Thread, value: u64, pc: usize) {
    pending::push(Record::Input {
        pc: pc as u64,
        // Each thread has a source of its own, so that nothing is ordered by them.
        source: NOBODYS | 1 << 62 | 1 << 61 | u64::from(thread.index.get()) << 3,
        value,
    });
}
