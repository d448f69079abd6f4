//! The fast path: a hook of the thread that owns it does nothing but record.
//!
//! The holder of the baton takes it when it leaves the runtime, until its turn is over; anybody may revoke it. Hooks
//! are not counted meanwhile, but events are, and there is about one for each.

use crate::scheduling::baton::{self, SCHEDULER};
use crate::scheduling::recording::RING;
use crate::scheduling::thread::{NOT_OWNED, Thread};
use core::ptr;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::compiler_fence;

/// The thread is no longer inside the runtime.
#[inline(always)]
pub fn leave(thread: &Thread) {
    if !ptr::eq(SCHEDULER.fast_path_owner(), thread) && baton::is_holder(thread) {
        take(thread);
    }
    compiler_fence(SeqCst);
    thread.busy.store(0, Relaxed);
}

/// Lets the hooks of the thread, which has the baton, do nothing but record until its turn is over.
#[inline(never)]
extern "C" fn take(thread: &Thread) {
    let (ticks, at) = (thread.ticks.load(Relaxed), thread.switch_at.load(Relaxed));
    if at <= ticks {
        return;
    }
    // SAFETY: the ring is attached while there is a baton, which is this thread's.
    unsafe {
        thread.fast_since.set(RING.events());
        RING.due_after(at - ticks);
    }
    SCHEDULER.give_fast_path(thread);
    // A signal may have come meanwhile.
    compiler_fence(SeqCst);
    if thread.switch_at.load(Relaxed) == 0 {
        baton::revoke_fast_path();
    }
}

/// Counts the hooks that the thread passed on the fast path: about one for each event.
#[inline(always)]
pub fn count_hooks(thread: &Thread) {
    let before = thread.fast_since.get();
    if before != NOT_OWNED {
        thread.fast_since.set(NOT_OWNED);
        baton::revoke_fast_path();
        // SAFETY: the ring is attached while there is a baton, which is this thread's.
        let passed = unsafe { RING.events() } - before;
        thread.ticks.store(thread.ticks.load(Relaxed) + passed, Relaxed);
    }
}

/// How far the holder has come: changes whenever it passes a hook that records something, or enters the runtime.
pub fn how_far(holder: &Thread) -> (u64, u64) {
    // SAFETY: the ring is attached while there are threads to schedule.
    (holder.ticks.load(SeqCst), unsafe { RING.how_far() })
}
