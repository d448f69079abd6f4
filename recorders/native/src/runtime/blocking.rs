//! Calls that sleep or wait for the outside world.
//!
//! Sleeping is a wait for a deadline in the scheduler, so that the order of threads that sleep
//! does not depend on the machine's speed. Calls that wait for the outside first see whether there
//! is anything to wait for; if so, they give the baton away. Calls that are not listed here work
//! as well, a little later: the watcher takes the baton from a thread that sleeps in one.

use crate::platform::{memory, real, sys};
use crate::runtime::guard::{RuntimeGuard, restore_errno, save_errno};
use crate::scheduling::thread::Woken;
use crate::scheduling::{baton, clocks};
use core::ptr;
use libc::{c_int, c_short, c_uint, clockid_t, pollfd, timespec};

/// Sleeps until `deadline`; the nanoseconds that were left when a signal handler ended it.
fn sleep_for(inside: &RuntimeGuard, nanos: i64) -> Result<(), i64> {
    sleep_until(inside, after(nanos))?;
    clocks::slept(nanos);
    Ok(())
}

fn sleep_until(inside: &RuntimeGuard, deadline: i64) -> Result<(), i64> {
    loop {
        inside.may_be_cancelled();
        inside.interruptible.set(true);
        let woken = baton::block_cancellably(inside.thread(), baton::ASLEEP, deadline);
        inside.interruptible.set(false);
        match woken {
            Woken::Cancel => {}
            Woken::Signal | Woken::Restart => {
                inside.may_be_cancelled();
                return Err((deadline - clocks::now(libc::CLOCK_MONOTONIC)).max(1));
            }
            Woken::Thread | Woken::Deadline => return Ok(()),
        }
    }
}

/// The nanoseconds of a time; `None` if the kernel refuses it.
fn nanos(time: *const timespec) -> Option<i64> {
    let is_time = |time: &timespec| time.tv_sec >= 0 && (0..1_000_000_000).contains(&time.tv_nsec);
    memory::at(time).filter(is_time).map(|time| sys::nanos(&time))
}

fn after(nanos: i64) -> i64 {
    clocks::now(libc::CLOCK_MONOTONIC).saturating_add(nanos)
}

/// Reports what was left of a sleep; the C result's sign is the caller's business.
fn report(left: i64, into: *mut timespec) -> c_int {
    let left = timespec {
        tv_sec: left / 1_000_000_000,
        tv_nsec: left % 1_000_000_000,
    };
    if into.is_null() || memory::put(into, left) {
        libc::EINTR
    } else {
        libc::EFAULT
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn nanosleep(time: *const timespec, left: *mut timespec) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe {
        let nanos = nanos(time);
        let inside = RuntimeGuard::enter();
        let (Some(inside), Some(nanos)) = (inside, nanos) else {
            return real::nanosleep(time, left);
        };
        match sleep_for(&inside, nanos) {
            Ok(()) => 0,
            Err(nanos) => {
                restore_errno(report(nanos, left));
                -1
            }
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    left: *mut timespec,
) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe {
        let is_known = matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC);
        let nanos = nanos(time).filter(|_| is_known);
        let inside = RuntimeGuard::enter();
        let (Some(inside), Some(nanos)) = (inside, nanos) else {
            return real::clock_nanosleep(clock, flags, time, left);
        };
        let absolute = flags & libc::TIMER_ABSTIME != 0;
        let nanos = if absolute { clocks::ahead(clock, nanos) } else { nanos };
        match sleep_for(&inside, nanos) {
            Ok(()) => 0,
            Err(nanos) => report(nanos, if absolute { ptr::null_mut() } else { left }),
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn usleep(micros: c_uint) -> c_int {
    let Some(inside) = RuntimeGuard::enter() else {
        // SAFETY: no memory is involved.
        return unsafe { real::usleep(micros) };
    };
    match sleep_for(&inside, i64::from(micros) * 1000) {
        Ok(()) => 0,
        Err(_) => {
            restore_errno(libc::EINTR);
            -1
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sleep(seconds: c_uint) -> c_uint {
    let Some(inside) = RuntimeGuard::enter() else {
        // SAFETY: no memory is involved.
        return unsafe { real::sleep(seconds) };
    };
    match sleep_for(&inside, i64::from(seconds) * 1_000_000_000) {
        Ok(()) => 0,
        Err(left) => (left + 999_999_999).div_euclid(1_000_000_000) as c_uint,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sched_yield() -> c_int {
    match RuntimeGuard::enter() {
        Some(inside) => {
            baton::yield_now(inside.thread());
            0
        }
        // SAFETY: no arguments.
        None => unsafe { real::sched_yield() },
    }
}

/// Makes a call that waits for `file` to become readable or writable: with the baton if it is already, or if the call
/// fails instead of waiting, by the file's flags or its own (`flags`, those of `recv`). That it fails depends on what
/// others have done by then, and not on what they do until this thread has the baton again.
///
/// # Safety
/// As that of the call.
pub unsafe fn when_ready<R>(
    inside: &RuntimeGuard,
    file: c_int,
    wanted: c_short,
    flags: c_int,
    call: impl FnOnce() -> R,
) -> R {
    inside.may_be_cancelled();
    let mut state = pollfd {
        fd: file,
        events: wanted,
        revents: 0,
    };
    let errno = save_errno();
    // SAFETY: one valid entry.
    let ready = unsafe { real::poll(&mut state, 1, 0) } != 0;
    let fails = || {
        // SAFETY: no memory is involved.
        let flags_of_file = unsafe { sys::call(libc::SYS_fcntl, file as usize, libc::F_GETFL as usize, 0, 0) };
        flags & libc::MSG_DONTWAIT != 0 || (flags_of_file > 0 && flags_of_file as c_int & libc::O_NONBLOCK != 0)
    };
    let keeps_the_baton = ready || fails();
    restore_errno(errno);
    if keeps_the_baton {
        // It may sleep all the same: others may take what is there, or there may be less room than needed.
        inside.in_program(call)
    } else {
        inside.outside(call)
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pause() -> c_int {
    // SAFETY: no arguments.
    unsafe {
        match RuntimeGuard::enter() {
            Some(inside) => inside.outside(|| real::pause()),
            None => real::pause(),
        }
    }
}
