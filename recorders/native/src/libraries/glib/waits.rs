//! Futex calls that GLib makes for itself: it waits in the scheduler, and leaves no events, since nobody sees what the
//! word means.

use crate::events::modules;
use crate::platform::real;
use crate::runtime::guard::{RuntimeGuard, restore_errno};
use crate::scheduling::thread::{Woken, slot, while_busy};
use crate::scheduling::{baton, clocks};
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicU32, AtomicUsize};
use libc::{c_int, c_long};

/// Where GLib's code is; the end is 1 if it is not there.
static START: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);

/// Whether a call comes from GLib itself, in a thread that is known. (A library's constructor may make one before this
/// runtime has begun.)
pub fn is_own(pc: usize) -> bool {
    if slot().is_null() {
        return false;
    }
    if END.load(Relaxed) == 0 {
        // Where nothing is found, the dynamic linker allocates: not what the program does, for whichever thread is first.
        while_busy(|| {
            let function = real::find(c"g_thread_pool_push") as usize;
            let (start, end) = if function == 0 {
                (0, 1)
            } else {
                modules::code_around(function)
            };
            START.store(start, Relaxed);
            END.store(end.max(1), Relaxed);
        });
    }
    (START.load(Relaxed)..END.load(Relaxed)).contains(&pc)
}

/// Waits while the word is as expected.
pub fn wait(word: usize, expected: u32, deadline: i64) -> Option<c_long> {
    let inside = RuntimeGuard::enter_and_stay()?;
    // SAFETY: GLib's own word, aligned.
    if unsafe { AtomicU32::from_ptr(word as *mut u32) }.load(SeqCst) != expected {
        return fail(libc::EAGAIN);
    }
    inside.in_library.set(true);
    let woken = baton::block(inside.thread(), word, deadline);
    inside.in_library.set(false);
    match woken {
        Woken::Deadline => {
            clocks::waited_until(deadline);
            fail(libc::ETIMEDOUT)
        }
        _ => Some(0),
    }
}

fn fail(errno: c_int) -> Option<c_long> {
    restore_errno(errno);
    Some(-1)
}

/// Wakes those that wait.
pub fn wake(word: usize, most: c_int) -> Option<c_long> {
    let _inside = RuntimeGuard::enter_and_stay()?;
    let mut woken = 0;
    baton::wake_each(word, most.max(0) as usize, |_| woken += 1);
    Some(woken)
}
