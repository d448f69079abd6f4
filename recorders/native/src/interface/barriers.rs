//! The barrier of ThreadSanitizer's own tests (`__tsan_testonly_barrier_init`), which brings threads into an order that
//! nobody is to know of. No events: to a trace, the threads might as well have come the other way round.

use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::baton;
use crate::scheduling::thread::NEVER;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use libc::c_uint;

/// The threads that came are below, how many a round takes is above.
fn word<'a>(barrier: *mut u64) -> &'a AtomicU64 {
    // SAFETY: the program's own variable, of eight bytes; it is there during the call, and the reference goes no
    // further.
    unsafe { AtomicU64::from_ptr(barrier) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __tsan_testonly_barrier_init(barrier: *mut u64, count: c_uint) {
    word(barrier).store(u64::from(count) << 32, Release);
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __tsan_testonly_barrier_wait(barrier: *mut u64) {
    let word = word(barrier);
    let count = (word.load(Acquire) >> 32).max(1);
    let came = word.fetch_add(1, AcqRel) & 0xffff_ffff;
    let round = came / count;
    let is_over = || (word.load(Acquire) & 0xffff_ffff) / count > round;
    let Some(inside) = RuntimeGuard::enter() else {
        while !is_over() {
            // SAFETY: no arguments.
            unsafe { crate::platform::real::sched_yield() };
        }
        return;
    };
    if is_over() {
        baton::wake(barrier as usize, usize::MAX);
        // Whoever came first has waited longest.
        baton::yield_now(inside.thread());
    }
    while !is_over() {
        baton::block(inside.thread(), barrier as usize, NEVER);
    }
}
