//! Threads that are cancelled.
//!
//! The C library never cancels a thread at once, in the middle of whatever it does: that could be the runtime. A thread
//! that wants to be cancelled so (`PTHREAD_CANCEL_ASYNCHRONOUS`) ends at its next hook, which is a place between two
//! accesses of the program; the runtime's frames are skipped ([`ProgramContext`]).
//!
//! What a cancelled thread does comes after the call that cancelled it: the call stores to a variable of the runtime's
//! own, and the thread loads it when it gives in.

use crate::events::pending;
use crate::platform::export::export;
use crate::platform::memory::NOBODYS;
use crate::platform::real;
use crate::runtime::guard::RuntimeGuard;
use crate::runtime::program_context;
use crate::runtime::program_context::ProgramContext;
use crate::scheduling::baton::{self, SCHEDULER};
use crate::scheduling::register;
use crate::scheduling::thread::Thread;
use core::sync::atomic::Ordering::Relaxed;
use libc::{c_int, pthread_t};
use recorder_ring::Record;
use recorder_scheduler::plan_follower::GIVES_IN;

const DEFERRED: c_int = 0;
const ASYNCHRONOUS: c_int = 1;
const ENABLE: c_int = 0;

mod library {
    use libc::c_int;

    crate::platform::real::real! {
        fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
        fn pthread_setcanceltype(kind: c_int, old: *mut c_int) -> c_int;
    }
}

/// The variable that a call stores to which cancels the thread.
fn wish_for(thread: &Thread) -> u64 {
    // Beside those of futexes, which are below.
    NOBODYS | 1 << 62 | 1 << 40 | u64::from(thread.index.get()) << 3
}

const WISHED: u64 = 1;
const ACQUIRE: u8 = 2;
const RELEASE: u8 = 3;

/// Records that the thread gives in, if it is about to end because somebody wants it to. It is inside the runtime.
pub fn note(thread: &Thread) {
    if thread.cancelled.get() && !thread.uncancellable.get() {
        thread.cancelled.set(false);
        pending::push(Record::AtomicLoad {
            pc: GIVES_IN,
            addr: wish_for(thread),
            size: 4,
            order: ACQUIRE,
            value: WISHED,
        });
    }
}

unsafe extern "C-unwind" fn cancel(handle: pthread_t, pc: usize) -> c_int {
    let Some(inside) = RuntimeGuard::enter() else {
        // SAFETY: the program's own thread.
        return unsafe { real::pthread_cancel(handle) };
    };
    let thread = register::by_handle(handle);
    if let Some(thread) = thread {
        // First, since the thread may be waiting outside, and end at once.
        pending::push(Record::AtomicStore {
            pc: pc as u64,
            addr: wish_for(thread),
            size: 4,
            order: RELEASE,
            value: WISHED,
        });
    }
    // SAFETY: as above.
    let result = inside.in_program(|| unsafe { real::pthread_cancel(handle) });
    if result == 0
        && let Some(thread) = thread
    {
        thread.cancelled.set(true);
        if thread.ends_at_hook() {
            thread.switch_at.store(0, Relaxed);
        }
        SCHEDULER.cancel(thread);
        if inside.ends_at_hook() {
            inside.may_be_cancelled();
        }
    }
    result
}

/// All that a loop may do which waits to be cancelled, so others get a turn.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_testcancel() {
    match RuntimeGuard::enter() {
        Some(inside) => {
            baton::yield_now(inside.thread());
            inside.may_be_cancelled();
        }
        // SAFETY: no arguments.
        None => unsafe { real::pthread_testcancel() },
    }
}

unsafe extern "C-unwind" fn set_kind(kind: c_int, old: *mut c_int, pc: usize) -> c_int {
    let Some(inside) = RuntimeGuard::enter() else {
        // SAFETY: the program's own arguments.
        return unsafe { library::pthread_setcanceltype(kind, old) };
    };
    if !matches!(kind, DEFERRED | ASYNCHRONOUS) {
        return libc::EINVAL;
    }
    if kind == ASYNCHRONOUS {
        program_context::prepare_inside(&inside);
    }
    let was = inside.asynchronous.replace(kind == ASYNCHRONOUS);
    if !old.is_null() {
        // SAFETY: the program's own variable.
        unsafe { old.write(if was { ASYNCHRONOUS } else { DEFERRED }) };
        pending::write_range_now(old as usize, size_of::<c_int>(), pc);
    }
    if inside.ends_at_hook() {
        inside.may_be_cancelled();
    }
    0
}

unsafe extern "C-unwind" fn set_state(state: c_int, old: *mut c_int, pc: usize) -> c_int {
    let inside = RuntimeGuard::enter();
    // SAFETY: the program's own arguments.
    let result = unsafe { library::pthread_setcancelstate(state, old) };
    if let Some(inside) = inside.filter(|_| result == 0) {
        if !old.is_null() {
            pending::write_range_now(old as usize, size_of::<c_int>(), pc);
        }
        inside.uncancellable.set(state != ENABLE);
        if inside.ends_at_hook() {
            inside.may_be_cancelled();
        }
    }
    result
}

/// Ends the calling thread, which is inside the runtime with nothing pending, if that is wanted.
#[cold]
#[inline(never)]
pub fn end_if_wanted(thread: &'static Thread) {
    unsafe extern "C-unwind" fn test() {
        // SAFETY: no arguments.
        unsafe { real::pthread_testcancel() };
    }
    if !thread.ends_at_hook() {
        return;
    }
    // Else at the next hook.
    let Some(place) = ProgramContext::here() else { return };
    note(thread);
    // SAFETY: between two accesses, the program may be anywhere.
    RuntimeGuard::of(thread).in_program(|| unsafe { place.call(test) });
    // It ends already, and has come to its cleanup.
    thread.asynchronous.set(false);
}

export! {
    pthread_cancel = cancel, "rsi";
    pthread_setcanceltype = set_kind, "rdx";
    pthread_setcancelstate = set_state, "rdx";
}
