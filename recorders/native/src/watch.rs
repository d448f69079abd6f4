//! What a waiting thread looks for on behalf of all: deadlines, sleeping holders, deadlock.
//!
//! *Deadlines.* Recording slows a program down, so a timed wait that would have been woken in time
//! must not time out just because everything takes longer. Its deadline takes effect when nobody
//! can run, or after a grace period. So timeouts do not depend on the machine's speed unless
//! a program runs longer than the grace period while something waits.
//!
//! *Sleeping holders.* The thread with the baton may sleep in a call that the runtime does not
//! model (a lock inside libc, a device). If it passed no hook since the last look and the kernel
//! says that it sleeps, the baton is taken from it.
//!
//! *Running holders.* If it runs, and has used a second of processor time without a hook, it is interrupted (see
//! [`interrupt`]).
//!
//! *Deadlock.* Nobody can run, nobody is outside, no deadline is left: only a signal handler could
//! change that, and only for waits that a handler may end: it posts a semaphore, notifies, wakes a futex. It does not give
//! back a lock that a waiting thread holds, nor end a thread. So the program is ended, and the parent told, if no handler is
//! installed that a signal from outside could run, or if each thread waits for a lock or another thread.

use crate::baton::{HOLDER, Scheduler};
use crate::start::RING;
use crate::thread::{NEVER, Thread};
use crate::{clocks, interrupt, schedule, sys};
use core::ffi::CStr;
use core::ptr;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use recorder_ring::Flag;

/// How long a deadline waits for threads that can run.
const GRACE_NANOS: i64 = 50_000_000;
/// Time between two looks, at first and at most.
const SHORTEST_NANOS: u64 = 1_000_000;
const LONGEST_NANOS: u64 = 16_000_000;

/// What the watcher saw last.
pub struct Watch {
    holder: *const Thread,
    far: (u64, u64),
    /// The processor time that the holder had used then.
    used: i64,
    /// When.
    at: i64,
    pause: u64,
}

impl Watch {
    pub fn new() -> Self {
        Self {
            holder: ptr::null(),
            far: (0, 0),
            used: 0,
            at: NEVER,
            pause: SHORTEST_NANOS,
        }
    }

    /// Looks; how long to sleep until the next look, or `None` to see whether the baton came.
    pub fn look(&mut self, scheduler: &Scheduler, me: &'static Thread) -> Option<u64> {
        let now = sys::now(libc::CLOCK_MONOTONIC);
        let since = now.saturating_sub(core::mem::replace(&mut self.at, now)).max(0);
        let holder = HOLDER.load(SeqCst).cast_const();
        if holder.is_null() {
            let in_program = clocks::now(libc::CLOCK_MONOTONIC);
            let next = scheduler.expire(in_program);
            let followed = schedule::is_followed();
            scheduler.dispatch();
            // If the plan is over now, deadlines count again.
            if !HOLDER.load(Relaxed).is_null() || followed && !schedule::is_followed() {
                return None;
            }
            scheduler.exiting.lose_patience(since);
            if scheduler.exit_if_alone(in_program) {
                return None;
            }
            if next == NEVER
                && scheduler.outside.get() == 0
                && !schedule::is_followed()
                && !may_be_woken_by_a_handler(scheduler)
            {
                end_of_deadlock();
            }
            self.holder = ptr::null();
            return Some(self.longer().min(next.saturating_sub(in_program) as u64));
        }
        scheduler.expire(clocks::now(libc::CLOCK_MONOTONIC) - GRACE_NANOS);
        // SAFETY: a holder is a thread, which lives for ever.
        let holder: &'static Thread = unsafe { &*holder };
        let far = how_far(holder);
        if !ptr::eq(self.holder, holder) || self.far != far {
            (self.holder, self.far, self.used) = (holder, far, interrupt::time_of(holder));
            self.pause = SHORTEST_NANOS;
            return Some(SHORTEST_NANOS);
        }
        scheduler.exiting.lose_patience(since);
        let idle = holder.busy.load(SeqCst) == 0 && scheduler.has_successor();
        if idle && sleeps(holder) {
            if scheduler.steal(holder, far, me) {
                self.holder = ptr::null();
                return None;
            }
        } else if idle && interrupt::is_due(holder, interrupt::time_of(holder) - self.used) {
            interrupt::send_to(holder);
            return Some(SHORTEST_NANOS);
        }
        Some(self.longer())
    }

    fn longer(&mut self) -> u64 {
        let pause = self.pause;
        self.pause = (pause * 2).min(LONGEST_NANOS);
        pause
    }
}

/// How far the holder has come: changes whenever it passes a hook that records something, or enters the runtime.
pub fn how_far(holder: &Thread) -> (u64, u64) {
    // SAFETY: the ring is attached while there are threads to schedule.
    (holder.ticks.load(SeqCst), unsafe { RING.how_far() })
}

/// Whether the kernel says that a thread sleeps, or is gone.
pub fn sleeps(thread: &Thread) -> bool {
    let number = thread.os_id.load(Relaxed);
    if number == 0 {
        return false;
    }
    let mut path = [0_u8; 48];
    write_path(&mut path, number);
    let Ok(path) = CStr::from_bytes_until_nul(&path) else {
        return false;
    };
    let mut stat = [0_u8; 128];
    let len = sys::read_file(path, &mut stat);
    // `number (name) S …`: the name may hold anything, also parentheses.
    let state = stat[..len]
        .iter()
        .rposition(|&byte| byte == b')')
        .and_then(|at| stat.get(at + 2));
    state.is_none_or(|&state| state == b'S' || state == b'Z' || state == b'X' || state == 0)
}

fn write_path(path: &mut [u8; 48], number: i32) {
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        path[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    put(b"/proc/self/task/");
    let mut digits = [0_u8; 10];
    let mut first = digits.len();
    let mut rest = number.unsigned_abs();
    while rest > 0 {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    put(&digits[first..]);
    put(b"/stat");
}

/// Whether a signal from outside could end one of the waits.
fn may_be_woken_by_a_handler(scheduler: &Scheduler) -> bool {
    let by_a_handler = |thread: &Thread| thread.waits_for.get().is_none_or(|(what, ..)| what.ends_by_a_handler());
    scheduler.blocked.iter().any(by_a_handler) && handles_signals()
}

/// Whether the program catches any signal that comes by itself: not only the faults of threads, of which none runs.
fn handles_signals() -> bool {
    let mut status = [0_u8; 2048];
    let len = sys::read_file(c"/proc/self/status", &mut status);
    let status = &status[..len];
    let Some(at) = status.windows(7).position(|window| window == b"SigCgt:") else {
        return true;
    };
    let digits = status[at + 7..]
        .iter()
        .skip_while(|&&byte| byte == b'\t')
        .take_while(|&&byte| byte != b'\n');
    let caught = digits.fold(0_u64, |mask, &digit| {
        mask << 4 | u64::from((digit as char).to_digit(16).unwrap_or(0))
    });
    // The runtime may handle one;
    // glibc itself handles 32 (cancellation) and 33 (setuid) once they are needed.
    let faults = crate::death::SIGNALS
        .iter()
        .fold(0b11 << 31, |mask, &signal| mask | 1_u64 << (signal - 1));
    caught & !faults & !(1 << (interrupt::SIGNAL - 1)) != 0
}

/// Ends a program of which every thread waits for another.
fn end_of_deadlock() -> ! {
    // SAFETY: the ring is attached while there are threads to schedule.
    unsafe { RING.flag(Flag::Deadlock) };
    sys::die("witness: deadlock: every thread of the program waits for another one; ending it\n")
}
