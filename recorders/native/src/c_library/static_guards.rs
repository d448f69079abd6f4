//! C++'s function-local statics: `__cxa_guard_acquire` and its kin, with the states of the
//! Itanium C++ ABI.
//!
//! Instrumented code reads the guard's first byte itself, as an atomic load; the store that it
//! sees is made here, so it is recorded here.

use crate::events::{in_vain, pending};
use crate::platform::export::export;
use crate::platform::real;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::baton;
use crate::scheduling::thread::NEVER;
use core::sync::atomic::AtomicU8;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use libc::c_int;
use recorder_ring::record::OnceStep;
use recorder_ring::{Record, Waits};

/// The first byte is 1 once the object is initialized; the second, while a thread initializes it.
fn bytes(guard: *mut u8) -> (&'static AtomicU8, &'static AtomicU8) {
    // SAFETY: the program's own guard variable, of eight bytes; it is there during the call, and the references go no
    // further.
    unsafe { (AtomicU8::from_ptr(guard), AtomicU8::from_ptr(guard.add(1))) }
}

fn record(guard: *mut u8, step: OnceStep, pc: usize) {
    pending::push(Record::Once {
        pc: pc as u64,
        once: guard as u64,
        step,
    });
}

/// 1 if the caller has to initialize the object.
unsafe extern "C-unwind" fn acquire(guard: *mut u8, pc: usize) -> c_int {
    let (done, started) = bytes(guard);
    let inside = RuntimeGuard::enter();
    loop {
        if done.load(Acquire) != 0 {
            if inside.is_some() {
                record(guard, OnceStep::Wait, pc);
            }
            return 0;
        }
        if started.swap(1, Acquire) == 0 {
            if inside.is_some() {
                in_vain::begins(guard as usize, pc);
                record(guard, OnceStep::Begin, pc);
            }
            return 1;
        }
        match &inside {
            Some(inside) => {
                pending::waits(inside.thread(), Waits::Once, guard as usize, pc, NEVER);
                baton::block(inside.thread(), guard as usize, NEVER);
            }
            // SAFETY: no arguments.
            None => unsafe {
                real::sched_yield();
            },
        }
    }
}

unsafe extern "C-unwind" fn release(guard: *mut u8, pc: usize) {
    let (done, started) = bytes(guard);
    let inside = RuntimeGuard::enter();
    started.store(0, Relaxed);
    done.store(1, Release);
    if inside.is_some() {
        const RELEASE: u8 = 3;
        pending::push(Record::AtomicStore {
            pc: pc as u64,
            addr: guard as u64,
            size: 1,
            order: RELEASE,
            value: 1,
        });
        record(guard, OnceStep::End, pc);
        in_vain::is_made(guard as usize);
        baton::wake(guard as usize, usize::MAX);
    }
}

/// The initialization threw: the next thread tries again.
unsafe extern "C-unwind" fn abort(guard: *mut u8, pc: usize) {
    let inside = RuntimeGuard::enter();
    bytes(guard).1.store(0, Release);
    if inside.is_some() {
        // What it did is done; a second beginning is a new once cell.
        record(guard, OnceStep::End, pc);
        pending::push(Record::Destroy { object: guard as u64 });
        in_vain::ends(guard as usize, pc);
        baton::wake(guard as usize, usize::MAX);
    }
}

export! {
    __cxa_guard_acquire = acquire, "rsi";
    __cxa_guard_release = release, "rsi";
    __cxa_guard_abort = abort, "rsi";
}
