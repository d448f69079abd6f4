//! `flockfile` and its kin: the recursive lock that each stream has, where the program takes it itself.
//!
//! The functions of streams take it, too, for the time of their call. That orders nothing by itself, and is not
//! recorded.

use crate::events::lock::{ALONE, Lock};
use crate::events::pending;
use crate::platform::export::export;
use crate::runtime::accesses::enter;
use crate::scheduling::baton;
use crate::scheduling::thread::NEVER;
use libc::{FILE, c_int};
use recorder_ring::{ObjectClass, Waits};

mod libc_own {
    use libc::{FILE, c_int};

    crate::platform::real::real! {
        fn flockfile(stream: *mut FILE) -> ();
        fn ftrylockfile(stream: *mut FILE) -> c_int;
        fn funlockfile(stream: *mut FILE) -> ();
    }
}

fn lock_of(stream: *mut FILE) -> Lock {
    Lock::new(ObjectClass::RecursiveMutex, stream as usize)
}

unsafe extern "C-unwind" fn lock(stream: *mut FILE, pc: usize) {
    let Some(inside) = enter(pc) else {
        // SAFETY: the program's own stream.
        return unsafe { libc_own::flockfile(stream) };
    };
    // SAFETY: as above.
    while unsafe { libc_own::ftrylockfile(stream) } != 0 {
        pending::waits(inside.thread(), Waits::Acquire, stream as usize, pc, NEVER);
        baton::block(inside.thread(), stream as usize, NEVER);
    }
    lock_of(stream).taken(ALONE, pc);
}

unsafe extern "C-unwind" fn try_lock(stream: *mut FILE, pc: usize) -> c_int {
    let inside = enter(pc);
    // SAFETY: the program's own stream.
    let result = unsafe { libc_own::ftrylockfile(stream) };
    if inside.is_some() {
        lock_of(stream).tried(false, if result == 0 { 0 } else { libc::EBUSY }, pc);
    }
    result
}

unsafe extern "C-unwind" fn unlock(stream: *mut FILE, pc: usize) {
    let inside = enter(pc);
    // SAFETY: the program's own stream.
    unsafe { libc_own::funlockfile(stream) };
    if inside.is_some() {
        lock_of(stream).given_back(pc);
        baton::wake(stream as usize, 1);
    }
}

export! {
    flockfile = lock, "rsi";
    ftrylockfile = try_lock, "rsi";
    funlockfile = unlock, "rsi";
}
