//! Why joins failed.
//!
//! A join fails because the thread has been joined or detached before, or, tried or with a time limit, because the
//! thread has not ended yet. Either is recorded as the value of a variable of the runtime's own, so that a join which
//! would have succeeded is not taken for one that failed: a join or a detach makes a [`Moment`] that a failed join is
//! past, and a thread that somebody found running stores at its end.

use crate::events::moment::Moments;
use crate::events::pending;
use crate::events::variable::{SEQUENTIALLY_CONSISTENT, set};
use crate::platform::memory::NOBODYS;
use crate::scheduling::thread::Thread;
use libc::pthread_t;
use recorder_ring::Record;

/// Threads that were joined or detached, by their handles.
static SETTLED: Moments = Moments::new();

/// Nobody can join the thread from here on.
pub fn settle(handle: pthread_t, pc: usize) {
    SETTLED.happens(handle, pc);
}

/// A join or a detach failed because of that.
pub fn was_settled(handle: pthread_t, pc: usize) {
    SETTLED.is_past(handle, pc);
}

/// The variable that a thread stores to at its end, if somebody looks at it before.
fn end_of(thread: &Thread) -> u64 {
    NOBODYS | 1 << 58 | u64::from(thread.index.get()) << 3
}

/// A join failed because the thread has not ended yet.
pub fn found_running(thread: &Thread, pc: usize) {
    thread.found_running.set(true);
    pending::push(Record::AtomicLoad {
        pc: pc as u64,
        addr: end_of(thread),
        size: 1,
        order: SEQUENTIALLY_CONSISTENT,
        value: 0,
    });
}

/// The thread is about to end.
pub fn ends(thread: &Thread) {
    if thread.found_running.get() {
        set(end_of(thread), 0);
    }
}
