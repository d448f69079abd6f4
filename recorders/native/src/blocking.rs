//! Calls that sleep or wait for the outside world.
//!
//! Sleeping is a wait for a deadline in the scheduler, so that the order of threads that sleep
//! does not depend on the machine's speed. Calls that wait for the outside first see whether there
//! is anything to wait for; if so, they give the baton away. Calls that are not listed here work
//! as well, a little later: the watcher takes the baton from a thread that sleeps in one.

use crate::export::export;
use crate::inside::{Inside, restore_errno};
use crate::thread::Woken;
use crate::{baton, modules, pending, real, sys};
use core::ffi::c_void;
use core::ptr;
use libc::{c_int, c_uint, clockid_t, nfds_t, pid_t, pollfd, ssize_t, timespec};

/// Sleeps until `deadline`; the nanoseconds that were left when a signal handler ended it.
fn sleep_until(inside: &Inside, deadline: i64) -> Result<(), i64> {
    inside.interruptible.set(true);
    let woken = baton::block(inside.thread(), 0, deadline);
    inside.interruptible.set(false);
    match woken {
        Woken::Signal => Err((deadline - sys::now(libc::CLOCK_MONOTONIC)).max(1)),
        Woken::Thread | Woken::Deadline => Ok(()),
    }
}

fn is_time(time: *const timespec) -> bool {
    // SAFETY: the program's own time, if it is one.
    !time.is_null() && unsafe { (*time).tv_sec >= 0 && (0..1_000_000_000).contains(&(*time).tv_nsec) }
}

fn after(nanos: i64) -> i64 {
    sys::now(libc::CLOCK_MONOTONIC).saturating_add(nanos)
}

/// Reports what was left of a sleep; the C result's sign is the caller's business.
unsafe fn report(left: i64, into: *mut timespec) -> c_int {
    if !into.is_null() {
        // SAFETY: the program's own variable.
        unsafe {
            into.write(timespec {
                tv_sec: left / 1_000_000_000,
                tv_nsec: left % 1_000_000_000,
            })
        };
    }
    libc::EINTR
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn nanosleep(time: *const timespec, left: *mut timespec) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe {
        let inside = Inside::enter().filter(|_| is_time(time));
        let Some(inside) = inside else {
            return real::nanosleep(time, left);
        };
        match sleep_until(&inside, after(sys::nanos(&*time))) {
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
        let known = matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC) && is_time(time);
        let inside = Inside::enter().filter(|_| known);
        let Some(inside) = inside else {
            return real::clock_nanosleep(clock, flags, time, left);
        };
        let absolute = flags & libc::TIMER_ABSTIME != 0;
        let nanos = sys::nanos(&*time) - if absolute { sys::now(clock) } else { 0 };
        match sleep_until(&inside, after(nanos)) {
            Ok(()) => 0,
            Err(nanos) => report(nanos, if absolute { ptr::null_mut() } else { left }),
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn usleep(micros: c_uint) -> c_int {
    // SAFETY: no memory is involved.
    let Some(inside) = Inside::enter() else {
        return unsafe { real::usleep(micros) };
    };
    match sleep_until(&inside, after(i64::from(micros) * 1000)) {
        Ok(()) => 0,
        Err(_) => {
            restore_errno(libc::EINTR);
            -1
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sleep(seconds: c_uint) -> c_uint {
    // SAFETY: no memory is involved.
    let Some(inside) = Inside::enter() else {
        return unsafe { real::sleep(seconds) };
    };
    match sleep_until(&inside, after(i64::from(seconds) * 1_000_000_000)) {
        Ok(()) => 0,
        Err(left) => (left + 999_999_999).div_euclid(1_000_000_000) as c_uint,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sched_yield() -> c_int {
    match Inside::enter() {
        Some(inside) => {
            baton::give_way(inside.thread());
            0
        }
        // SAFETY: no arguments.
        None => unsafe { real::sched_yield() },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn poll(files: *mut pollfd, count: nfds_t, limit: c_int) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe {
        let Some(inside) = Inside::enter() else {
            return real::poll(files, count, limit);
        };
        match real::poll(files, count, 0) {
            0 if limit != 0 => inside.outside(|| real::poll(files, count, limit)),
            result => result,
        }
    }
}

/// Makes a call that may wait for `file` to become readable; with the baton if it is already.
unsafe fn when_readable<R>(inside: &Inside, file: c_int, call: impl FnOnce() -> R) -> R {
    let mut state = pollfd {
        fd: file,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one valid entry.
    if unsafe { real::poll(&mut state, 1, 0) } == 0 {
        inside.outside(call)
    } else {
        call()
    }
}

/// What arrived is a write by the thread that asked for it.
fn arrived(to: *mut c_void, len: ssize_t, pc: usize) {
    if len > 0 && modules::is_instrumented(pc) {
        pending::write_range_now(to as usize, len as usize, pc);
    }
}

unsafe extern "C-unwind" fn read_file(file: c_int, to: *mut c_void, len: usize, pc: usize) -> ssize_t {
    // SAFETY: the program's own arguments.
    unsafe {
        let Some(inside) = Inside::enter() else {
            return real::read(file, to, len);
        };
        let result = when_readable(&inside, file, || real::read(file, to, len));
        arrived(to, result, pc);
        result
    }
}

unsafe extern "C-unwind" fn receive(file: c_int, to: *mut c_void, len: usize, flags: c_int, pc: usize) -> ssize_t {
    // SAFETY: the program's own arguments.
    unsafe {
        let Some(inside) = Inside::enter() else {
            return real::recv(file, to, len, flags);
        };
        let result = when_readable(&inside, file, || real::recv(file, to, len, flags));
        arrived(to, result, pc);
        result
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn accept(file: c_int, address: *mut c_void, len: *mut u32) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe {
        match Inside::enter() {
            Some(inside) => when_readable(&inside, file, || real::accept(file, address, len)),
            None => real::accept(file, address, len),
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn accept4(file: c_int, address: *mut c_void, len: *mut u32, flags: c_int) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe {
        match Inside::enter() {
            Some(inside) => when_readable(&inside, file, || real::accept4(file, address, len, flags)),
            None => real::accept4(file, address, len, flags),
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn waitpid(process: pid_t, status: *mut c_int, flags: c_int) -> pid_t {
    // SAFETY: the program's own arguments.
    unsafe {
        match Inside::enter() {
            Some(inside) => inside.outside(|| real::waitpid(process, status, flags)),
            None => real::waitpid(process, status, flags),
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn wait(status: *mut c_int) -> pid_t {
    // SAFETY: the program's own arguments.
    unsafe {
        match Inside::enter() {
            Some(inside) => inside.outside(|| real::wait(status)),
            None => real::wait(status),
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pause() -> c_int {
    // SAFETY: no arguments.
    unsafe {
        match Inside::enter() {
            Some(inside) => inside.outside(|| real::pause()),
            None => real::pause(),
        }
    }
}

export! {
    read = read_file, "rcx";
    recv = receive, "r8";
}
