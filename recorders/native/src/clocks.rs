//! The program's time: that of the system's clocks, and what was skipped.
//!
//! Under the random policies a thread that sleeps may wake at any point. Its time must be over then, so time is skipped
//! for the whole program: its clocks go on by as much, and the deadlines of others come nearer. To the program this is a
//! machine that stood still for a while. No time is skipped in a program of several processes, which the others
//! would not notice.

use crate::start::RING;
use crate::{fork, sys};
use core::sync::atomic::AtomicI64;
use core::sync::atomic::Ordering::Relaxed;
use libc::{clockid_t, timespec, timeval};

const SECOND: i64 = 1_000_000_000;

/// Nanoseconds that were skipped.
static SKIPPED: AtomicI64 = AtomicI64::new(0);

/// Nanoseconds on one of the program's clocks.
pub fn now(clock: clockid_t) -> i64 {
    sys::now(clock).saturating_add(skipped(clock))
}

/// What was skipped on a clock. Those of processors count what threads used.
fn skipped(clock: clockid_t) -> i64 {
    match clock {
        libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID => 0,
        0.. => SKIPPED.load(Relaxed),
        _ => 0,
    }
}

/// Whether time may be skipped.
pub fn may_be_skipped() -> bool {
    fork::COUNT.load(Relaxed) == 0 && RING.number() == 0
}

/// Goes on to a moment on the monotonic clock, unless it is past; how far that was.
pub fn skip_to(moment: i64) -> i64 {
    let left = moment.saturating_sub(now(libc::CLOCK_MONOTONIC)).max(0);
    // A clock may not run out of its range.
    let left = left.min(SECOND << 30);
    SKIPPED.store(SKIPPED.load(Relaxed).saturating_add(left), Relaxed);
    left
}

/// Adds to what a clock said what was skipped.
///
/// # Safety
/// `time` points to what the clock said.
pub unsafe fn correct(clock: clockid_t, time: *mut timespec) {
    let skipped = skipped(clock);
    if skipped != 0 {
        // SAFETY: promised by the caller.
        let time = unsafe { &mut *time };
        let nanos = time.tv_nsec + skipped % SECOND;
        time.tv_sec += skipped / SECOND + nanos / SECOND;
        time.tv_nsec = nanos % SECOND;
    }
}

/// The same of the time of day.
///
/// # Safety
/// As [`correct`].
pub unsafe fn correct_day(time: *mut timeval) {
    // SAFETY: promised by the caller.
    let time = unsafe { &mut *time };
    let mut exact = timespec {
        tv_sec: time.tv_sec,
        tv_nsec: time.tv_usec * 1000,
    };
    // SAFETY: a variable of our own.
    unsafe { correct(libc::CLOCK_REALTIME, &mut exact) };
    (time.tv_sec, time.tv_usec) = (exact.tv_sec, exact.tv_nsec / 1000);
}

/// The same of the second of the day.
pub fn corrected_second(second: i64) -> i64 {
    match skipped(libc::CLOCK_REALTIME) {
        0 => second,
        _ => now(libc::CLOCK_REALTIME) / SECOND,
    }
}
