//! Calls that sleep or wait for the outside world.
//!
//! Sleeping is a wait for a deadline in the scheduler, so that the order of threads that sleep
//! does not depend on the machine's speed. Calls that wait for the outside first see whether there
//! is anything to wait for; if so, they give the baton away. Calls that are not listed here work
//! as well, a little later: the watcher takes the baton from a thread that sleeps in one.

use crate::platform::{memory, real, socket_options, sys};
use crate::runtime::guard::{RuntimeGuard, restore_errno, save_errno};
use crate::scheduling::thread::Woken;
use crate::scheduling::{baton, clocks, plan};
use core::ptr;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::SeqCst;
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

/// How a call is made that may wait for a file to become readable or writable.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// With the baton: it need not wait, or fails instead.
    Now,
    /// Without: it may wait.
    Outside,
    /// Not at all: a signal's handler has ended the wait for it.
    Interrupted,
}

/// A call on a descriptor that may wait, by what its waiting depends on.
#[derive(Clone, Copy)]
pub struct Asked {
    /// The descriptor.
    pub file: c_int,
    /// For what it waits: `POLLIN` or `POLLOUT`.
    pub wanted: c_short,
    /// Its flags, those of `recv`.
    pub flags: c_int,
}

impl Asked {
    /// Whether it could be made now without waiting.
    fn is_ready(self) -> bool {
        let mut state = pollfd {
            fd: self.file,
            events: self.wanted,
            revents: 0,
        };
        // SAFETY: one valid entry.
        unsafe { real::poll(&mut state, 1, 0) != 0 }
    }

    /// Whether it fails where it would wait, by the file's flags or its own.
    fn fails(self) -> bool {
        const NEVER_WAITS: c_int = libc::MSG_DONTWAIT | libc::MSG_OOB | libc::MSG_ERRQUEUE;
        // SAFETY: no memory is involved.
        let of_file = unsafe { sys::call(libc::SYS_fcntl, self.file as usize, libc::F_GETFL as usize, 0, 0) };
        self.flags & NEVER_WAITS != 0 || (of_file > 0 && of_file as c_int & libc::O_NONBLOCK != 0)
    }

    /// How many threads wait for it and are not awake yet. (Others whose number falls in with it are counted as well.)
    fn asleep(self) -> &'static AtomicU32 {
        static ASLEEP: [AtomicU32; 256] = [const { AtomicU32::new(0) }; 256];
        let is_for_room = usize::from(self.wanted == libc::POLLOUT);
        &ASLEEP[(self.file as usize * 2 + is_for_room) % ASLEEP.len()]
    }

    /// Waits without the baton until it is ready, or a signal ends the wait.
    fn wait(self, inside: &RuntimeGuard) {
        let mut state = pollfd {
            fd: self.file,
            events: self.wanted,
            revents: 0,
        };
        self.asleep().fetch_add(1, SeqCst);
        inside.outside(|| {
            // SAFETY: one valid entry.
            unsafe { real::poll(&mut state, 1, -1) };
            let _ = self.asleep().fetch_update(SeqCst, SeqCst, |count| count.checked_sub(1));
        });
    }

    /// It is ready, and so those who wait for it are about to wake up: gives them the time to ask for the baton, too.
    fn lets_others_wake_up(self, inside: &RuntimeGuard) {
        const PAUSES: usize = 20;
        let pause = timespec {
            tv_sec: 0,
            tv_nsec: 10_000,
        };
        inside.outside(|| {
            for _ in 0..PAUSES {
                // SAFETY: a valid time, and nobody asks what was left of it.
                unsafe { real::nanosleep(&pause, ptr::null_mut()) };
                if self.asleep().load(SeqCst) == 0 {
                    return;
                }
            }
            // They have ended there, perhaps, or stayed in the process that this one is the child of.
            self.asleep().store(0, SeqCst);
        });
    }
}

/// Waits until a call need not: then it is made with the baton, unless it may sleep all the same (there may be less room
/// than it needs). That it fails instead of waiting depends on what others have done by then, and not on what they do
/// until this thread has the baton again.
///
/// On a *channel*, the kernel serves those who wait in an order that nobody sees: who was served first would have the
/// baton, and so its event, later than one who came later. So nobody waits there in the call itself, but before it,
/// looks again with the baton, and is served with it: the order of the events is that in which the kernel served.
///
/// A thread that has the baton would always be faster than those who wait, and one worker of several do all the work; so
/// who comes while others wait asks for the baton beside them, once.
pub fn await_turn_of_call(inside: &RuntimeGuard, asked: Asked, is_channel: bool) -> Turn {
    inside.may_be_cancelled();
    let errno = save_errno();
    inside.call_ended.set(false);
    let mut is_new = is_channel && !plan::is_there();
    let turn = loop {
        if asked.fails() {
            break Turn::Now;
        }
        if asked.is_ready() {
            if !core::mem::take(&mut is_new) || asked.asleep().load(SeqCst) == 0 {
                break Turn::Now;
            }
            asked.lets_others_wake_up(inside);
            continue;
        }
        is_new = false;
        // The call itself knows how long it may wait, and whether at all.
        if !is_channel || socket_options::has_limit(asked.file, asked.wanted) {
            break Turn::Outside;
        }
        asked.wait(inside);
        if inside.call_ended.get() && !asked.is_ready() {
            break Turn::Interrupted;
        }
    };
    restore_errno(errno);
    turn
}

/// Makes a call in its turn.
pub fn in_turn<R: From<i8>>(inside: &RuntimeGuard, turn: Turn, call: impl FnOnce() -> R) -> R {
    match turn {
        Turn::Now => inside.in_program(call),
        Turn::Outside => inside.outside(call),
        Turn::Interrupted => {
            restore_errno(libc::EINTR);
            R::from(-1)
        }
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
