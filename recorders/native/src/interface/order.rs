//! Order that the program announces: `__tsan_release` at an address comes before every later `__tsan_acquire` there,
//! and so do `AnnotateHappensBefore` and `AnnotateHappensAfter`. Releases are not ordered among each other.

use crate::events;
use crate::events::moment::Moment;
use crate::platform::export::export;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::thread::Thread;
use libc::{c_char, c_int};

/// The thread's releases at an address so far; those of other threads stay.
pub fn released(thread: &Thread, addr: usize, pc: usize) {
    let now = Moment::now(pc).number();
    events::with_releases(|all| all.add(addr as u64, thread.index.get(), now));
}

/// The thread goes on after all releases at an address.
pub fn acquired(thread: &Thread, addr: usize, pc: usize) {
    let others = events::with_releases(|all| all.of_others(addr as u64, thread.index.get()));
    for number in others {
        Moment::of_number(number).is_past(pc);
    }
}

/// A release that others at this address mean nothing beside.
pub fn released_only(thread: &Thread, addr: usize, pc: usize) {
    let now = Moment::now(pc).number();
    events::with_releases(|all| all.replace(addr as u64, thread.index.get(), now));
}

unsafe extern "C-unwind" fn release(addr: usize, pc: usize) {
    if let Some(inside) = RuntimeGuard::enter() {
        released(&inside, addr, pc);
    }
}

unsafe extern "C-unwind" fn acquire(addr: usize, pc: usize) {
    if let Some(inside) = RuntimeGuard::enter() {
        acquired(&inside, addr, pc);
    }
}

unsafe extern "C-unwind" fn happens_before(_file: *const c_char, _line: c_int, addr: usize, pc: usize) {
    // SAFETY: any address.
    unsafe { release(addr, pc) };
}

unsafe extern "C-unwind" fn happens_after(_file: *const c_char, _line: c_int, addr: usize, pc: usize) {
    // SAFETY: any address.
    unsafe { acquire(addr, pc) };
}

export! {
    __tsan_release = release, "rsi";
    __tsan_acquire = acquire, "rsi";
    AnnotateHappensBefore = happens_before, "rcx";
    AnnotateHappensAfter = happens_after, "rcx";
    WTFAnnotateHappensBefore = happens_before, "rcx";
    WTFAnnotateHappensAfter = happens_after, "rcx";
}
