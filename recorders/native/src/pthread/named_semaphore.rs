//! Named semaphores: one that is opened is a block of memory until it is closed as often, as what other functions
//! allocate is. So the same one of two runs is known, wherever the C library maps it.

use crate::events::pending;
use crate::platform::export::export;
use crate::runtime::guard::RuntimeGuard;
use core::cell::UnsafeCell;
use libc::{c_char, c_int, c_uint, mode_t, sem_t};
use recorder_ring::Record;
use std::vec::Vec;

mod library {
    use super::{c_char, c_int, c_uint, mode_t, sem_t};
    crate::platform::real::real! {
        fn sem_open(name: *const c_char, flags: c_int, mode: mode_t, count: c_uint) -> *mut sem_t;
        fn sem_close(semaphore: *mut sem_t) -> c_int;
    }
}

/// Those that are open, and how often.
struct Opened(UnsafeCell<Vec<(usize, u32)>>);

// SAFETY: who holds the baton alone gets there.
unsafe impl Sync for Opened {}

static OPENED: Opened = Opened(UnsafeCell::new(Vec::new()));

/// As [`library::sem_open`]; the last two arguments are anything unless a semaphore is to be made.
unsafe extern "C-unwind" fn open(
    name: *const c_char,
    flags: c_int,
    mode: mode_t,
    count: c_uint,
    pc: usize,
) -> *mut sem_t {
    let inside = RuntimeGuard::enter();
    // SAFETY: the program's own arguments.
    let semaphore = unsafe { library::sem_open(name, flags, mode, count) };
    if semaphore.is_null() || inside.is_none() {
        return semaphore;
    }
    // SAFETY: the baton is the caller's, and nothing below comes back here.
    let opened = unsafe { &mut *OPENED.0.get() };
    match opened.iter_mut().find(|(address, _)| *address == semaphore as usize) {
        Some((_, times)) => *times += 1,
        None => {
            opened.push((semaphore as usize, 1));
            pending::push(Record::Alloc {
                pc: pc as u64,
                addr: semaphore as u64,
                size: size_of::<sem_t>() as u64,
            });
        }
    }
    semaphore
}

unsafe extern "C-unwind" fn close(semaphore: *mut sem_t, pc: usize) -> c_int {
    let inside = RuntimeGuard::enter();
    // SAFETY: the program's own semaphore.
    let result = unsafe { library::sem_close(semaphore) };
    if result != 0 || inside.is_none() {
        return result;
    }
    // SAFETY: as above.
    let opened = unsafe { &mut *OPENED.0.get() };
    let known = opened.iter().position(|(address, _)| *address == semaphore as usize);
    if let Some(at) = known {
        opened[at].1 -= 1;
        if opened[at].1 == 0 {
            opened.swap_remove(at);
            pending::push(Record::Free {
                pc: pc as u64,
                addr: semaphore as u64,
            });
        }
    }
    result
}

export! {
    sem_open = open, "r8";
    sem_close = close, "rsi";
}
