//! POSIX threads and their synchronization, modelled on the baton.
//!
//! Mutexes, reader-writer locks, spin locks and semaphores keep their real state, which is tried
//! without blocking; who has to wait does so in the scheduler. So code that is not recorded finds
//! them as they should be. Waiting on condition variables and barriers happens in the scheduler
//! alone. Every event is recorded at the moment it takes effect; with the baton, that is exact.

mod attributes;
mod barrier;
mod c11;
pub mod cancel;
mod condition;
mod failed_join;
pub mod fibers;
mod join;
pub mod keys;
mod mutex;
mod named_semaphore;
pub mod names;
pub mod object;
mod once;
pub mod robust;
mod rwlock;
mod semaphore;
mod spin;
pub mod stack;
pub mod thread;

use crate::platform::{shared_memory, sys};
use crate::runtime::accesses::reads;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::clocks;
use libc::{clockid_t, timespec};

/// How often a thread looks whether another process has given back what it waits for: nobody wakes it.
const LOOK_AGAIN: i64 = 1_000_000;

/// Up to when to wait for an object before it is tried again: if processes share it, not for long. It may say that they
/// do (every robust mutex does) and yet lie in memory that nobody else has.
fn try_again_at<T>(deadline: i64, may_be_shared: bool, object: *mut T) -> i64 {
    if may_be_shared && !shared_memory::is_private(object as usize) {
        deadline.min(clocks::now(libc::CLOCK_MONOTONIC).saturating_add(LOOK_AGAIN))
    } else {
        deadline
    }
}

/// Records that a function is about to read a time, before it enters the runtime for what it does: along a plan, that is a
/// step of its own.
fn reads_time(limit: *const timespec, pc: usize) {
    if let Some(_inside) = RuntimeGuard::enter().filter(|_| !limit.is_null()) {
        reads(limit, size_of::<timespec>(), pc);
    }
}

/// Whether anybody waits by that clock.
fn is_clock_of_waits(clock: clockid_t) -> bool {
    matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC)
}

/// An absolute time on `clock` as one on the monotonic clock; `None` if nobody waits by that clock, or
/// there is no such time.
///
/// # Safety
/// `limit` points to a time.
unsafe fn deadline(clock: clockid_t, limit: *const timespec) -> Option<i64> {
    // SAFETY: promised by the caller.
    let limit = unsafe { &*limit };
    (is_clock_of_waits(clock) && (0..1_000_000_000).contains(&limit.tv_nsec))
        .then(|| clocks::deadline(clock, sys::nanos(limit)))
}
