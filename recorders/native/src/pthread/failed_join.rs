//! Why joins failed.
//!
//! A join fails because the thread has been joined or detached before, or, tried or with a time limit, because the
//! thread has not ended yet. Either is recorded as the value of a variable of the runtime's own, so that a join which
//! would have succeeded is not taken for one that failed: a join or a detach makes a [`Moment`] that a failed join is
//! past, and a thread that somebody found running stores at its end.

use crate::events::moment::Moment;
use crate::events::pending;
use crate::events::variable::{SEQUENTIALLY_CONSISTENT, set};
use crate::platform::memory::NOBODYS;
use crate::scheduling::thread::Thread;
use core::cell::Cell;
use libc::pthread_t;
use recorder_ring::Record;

/// How many handles are remembered. One that is forgotten orders nothing.
const REMEMBERED: usize = 1024;

struct Settled([Cell<(pthread_t, Moment)>; REMEMBERED]);

// SAFETY: only the thread with the baton gets here.
unsafe impl Sync for Settled {}

/// Threads that were joined or detached, by their handles.
static SETTLED: Settled = Settled([const { Cell::new((0, Moment::NEVER)) }; REMEMBERED]);

impl Settled {
    fn place(&self, handle: pthread_t) -> &Cell<(pthread_t, Moment)> {
        let hash = handle.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - REMEMBERED.ilog2());
        &self.0[hash as usize]
    }
}

/// Nobody can join the thread from here on.
pub fn settle(handle: pthread_t, pc: usize) {
    SETTLED.place(handle).set((handle, Moment::now(pc)));
}

/// A join or a detach failed because of that.
pub fn was_settled(handle: pthread_t, pc: usize) {
    let (known, moment) = SETTLED.place(handle).get();
    if known == handle {
        moment.is_past(pc);
    }
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
