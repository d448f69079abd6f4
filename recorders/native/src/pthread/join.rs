//! Waiting for the end of a thread.

use super::{deadline, failed_join, is_clock_of_waits, reads_time, thread};
use crate::events::pending;
use crate::events::picture::export_shown;
use crate::platform::real;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::register::REGISTER;
use crate::scheduling::thread::{NEVER, Woken, state};
use crate::scheduling::{baton, clocks};
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use libc::{c_int, clockid_t, pthread_t, timespec};
use recorder_ring::{Record, Waits};

/// Joins once the thread is over. `None`: it did not end in time.
unsafe fn join_until(
    inside: &RuntimeGuard,
    handle: pthread_t,
    value: *mut *mut c_void,
    deadline: i64,
    pc: usize,
) -> Option<c_int> {
    let found = REGISTER.find(handle).filter(|child| !ptr::eq(*child, inside.thread()));
    let Some(child) = found else {
        // Unknown, detached or the caller itself: libc has the right answer.
        // SAFETY: the program's own arguments.
        let result = inside.outside(|| unsafe { real::pthread_join(handle, value) });
        failed_join::was_settled(handle, pc);
        return Some(result);
    };
    inside.may_be_cancelled();
    while child.state.load(Relaxed) != state::ENDED {
        let key = ptr::from_ref(child) as usize;
        pending::waits(inside.thread(), Waits::Join, child.index.get() as usize, pc, deadline);
        match baton::block_cancellably(inside.thread(), key, deadline) {
            Woken::Deadline => {
                clocks::waited_until(deadline);
                // It would not have failed after the thread's end.
                failed_join::found_running(child, pc);
                return None;
            }
            Woken::Cancel => inside.may_be_cancelled(),
            Woken::Thread | Woken::Signal | Woken::Restart => {}
        }
    }
    // The child is past its last hook: this waits only for glibc and the kernel.
    // SAFETY: the program's own arguments.
    let result = unsafe { real::pthread_join(handle, value) };
    if result == 0 {
        pending::push(Record::Join {
            pc: pc as u64,
            child: child.index.get(),
            attempt: deadline != NEVER,
        });
        if !value.is_null() {
            // SAFETY: the C library has written there.
            thread::see_result(child, unsafe { value.read() }, pc);
            pending::write_range_now(value as usize, size_of::<*mut c_void>(), pc);
        }
        failed_join::settle(handle, pc);
        REGISTER.forget(child);
    } else {
        failed_join::was_settled(handle, pc);
    }
    Some(result)
}

/// Up to when to wait; for ever, if there is no limit.
///
/// # Safety
/// `limit` is null, or points to a time.
unsafe fn limit_of(clock: clockid_t, limit: *const timespec) -> i64 {
    match limit.is_null() {
        true => NEVER,
        // SAFETY: promised by the caller.
        false => unsafe { deadline(clock, limit) }.unwrap_or(0),
    }
}

pub unsafe extern "C-unwind" fn join(handle: pthread_t, value: *mut *mut c_void, pc: usize) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe {
        match RuntimeGuard::enter() {
            Some(inside) => join_until(&inside, handle, value, NEVER, pc).unwrap_or(libc::ETIMEDOUT),
            None => real::pthread_join(handle, value),
        }
    }
}

unsafe extern "C-unwind" fn try_join(handle: pthread_t, value: *mut *mut c_void, pc: usize) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe {
        match RuntimeGuard::enter() {
            Some(inside) => join_until(&inside, handle, value, 0, pc).unwrap_or(libc::EBUSY),
            None => real::pthread_tryjoin_np(handle, value),
        }
    }
}

unsafe extern "C-unwind" fn timed_join(
    handle: pthread_t,
    value: *mut *mut c_void,
    limit: *const timespec,
    pc: usize,
) -> c_int {
    reads_time(limit, pc);
    // SAFETY: the program's own arguments.
    unsafe {
        match RuntimeGuard::enter() {
            Some(inside) => {
                let deadline = limit_of(libc::CLOCK_REALTIME, limit);
                join_until(&inside, handle, value, deadline, pc).unwrap_or(libc::ETIMEDOUT)
            }
            None => real::pthread_timedjoin_np(handle, value, limit),
        }
    }
}

unsafe extern "C-unwind" fn clock_join(
    handle: pthread_t,
    value: *mut *mut c_void,
    clock: clockid_t,
    limit: *const timespec,
    pc: usize,
) -> c_int {
    reads_time(limit, pc);
    // SAFETY: the program's own arguments.
    unsafe {
        match RuntimeGuard::enter() {
            Some(_) if !limit.is_null() && !is_clock_of_waits(clock) => libc::EINVAL,
            Some(inside) => {
                let deadline = limit_of(clock, limit);
                join_until(&inside, handle, value, deadline, pc).unwrap_or(libc::ETIMEDOUT)
            }
            None => real::pthread_clockjoin_np(handle, value, clock, limit),
        }
    }
}

unsafe extern "C-unwind" fn detach(handle: pthread_t, pc: usize) -> c_int {
    let inside = RuntimeGuard::enter();
    let found = inside.as_ref().and_then(|_| REGISTER.find(handle));
    if let Some(thread) = found {
        thread.detached.set(true);
        if thread.state.load(Relaxed) == state::ENDED {
            REGISTER.forget(thread);
        }
    }
    // SAFETY: the program's own thread.
    let result = unsafe { real::pthread_detach(handle) };
    match found {
        _ if inside.is_none() => {}
        Some(_) if result == 0 => failed_join::settle(handle, pc),
        _ => failed_join::was_settled(handle, pc),
    }
    result
}

export_shown! {
    pthread_join = join, "rdx";
    pthread_detach = detach, "rsi";
    pthread_tryjoin_np = try_join, "rdx";
    pthread_timedjoin_np = timed_join, "rcx";
    pthread_clockjoin_np = clock_join, "r8";
}
