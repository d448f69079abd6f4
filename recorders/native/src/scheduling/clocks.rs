//! The program's time: that of the system's clocks, and what was skipped.
//!
//! Under the random policies a thread that sleeps may wake at any point. Its time must be over then, so time is skipped
//! for the whole program: its clocks go on by as much, and the deadlines of others come nearer. To the program this is
//! a machine that stood still for a while. No time is skipped in a program of several processes, which the others would
//! not notice.
//!
//! Where every schedule of a program is explored, its clocks *stand*: what one says depends on its thread's own history
//! alone, so that the time at which a run is made changes nothing. A thread's clocks go on by what it slept or waited
//! in vain; to where those are that it synchronizes with (`events/heard.rs`); and, after it has looked often, a little
//! each time, so that a loop that waits for a moment ends.

use crate::platform::sys;
use crate::scheduling::recording;
use crate::scheduling::thread::{OwnTime, Thread, slot};
use core::sync::atomic::AtomicI64;
use core::sync::atomic::Ordering::Relaxed;
use libc::{c_int, clockid_t, timespec, timeval};

const SECOND: i64 = 1_000_000_000;

/// Nanoseconds that were skipped.
static SKIPPED: AtomicI64 = AtomicI64::new(0);

/// What clocks say that stand; 0 if they go.
static STAND_AT: AtomicI64 = AtomicI64::new(0);

/// How far the clocks of any thread are ahead of that.
static LATEST: AtomicI64 = AtomicI64::new(0);

/// So often a thread may look at clocks that stand before they go on, and by how much they do each time.
const LOOKS: u32 = 1000;
const TICK: i64 = 1_000_000;

/// From here on the program's clocks say this, unless it is 0.
pub fn stand_at(moment: u64) {
    STAND_AT.store(i64::try_from(moment).unwrap_or(0), Relaxed);
}

/// Whether clocks stand.
pub fn stand() -> bool {
    STAND_AT.load(Relaxed) != 0
}

/// The calling thread, if the runtime has one for it.
fn caller() -> Option<&'static Thread> {
    // SAFETY: a slot holds a thread, which lives for ever, or nothing.
    unsafe { slot().as_ref() }
}

/// The calling thread's own time and where its clocks stand, if they do.
fn standing() -> Option<(&'static OwnTime, i64)> {
    let moment = STAND_AT.load(Relaxed);
    if moment == 0 {
        return None;
    }
    let own = &caller()?.own_time;
    Some((own, moment.saturating_add(own.passed.get())))
}

/// The number of the thread whose clocks these are.
pub fn whose() -> u32 {
    caller().map_or(0, |thread| thread.index.get())
}

/// The moment on the monotonic clock that is one on a clock of the program's.
pub fn deadline(clock: clockid_t, limit: i64) -> i64 {
    let monotonic = now(libc::CLOCK_MONOTONIC);
    let Some((own, said)) = standing() else {
        return match clock {
            libc::CLOCK_MONOTONIC => limit,
            _ => monotonic.saturating_add(limit.saturating_sub(now(clock))),
        };
    };
    let ahead = limit.saturating_sub(said);
    let deadline = monotonic.saturating_add(ahead);
    own.deadline.set((deadline, own.passed.get().saturating_add(ahead)));
    deadline
}

/// The moment on the monotonic clock that is so many nanoseconds ahead.
pub fn deadline_in(nanos: i64) -> i64 {
    let deadline = now(libc::CLOCK_MONOTONIC).saturating_add(nanos);
    if let Some((own, _)) = standing() {
        own.deadline.set((deadline, own.passed.get().saturating_add(nanos)));
    }
    deadline
}

/// How far a moment on a clock of the program's is ahead.
pub fn ahead(clock: clockid_t, moment: i64) -> i64 {
    moment.saturating_sub(standing().map_or_else(|| now(clock), |(_, said)| said))
}

/// The calling thread has slept for so long.
pub fn slept(nanos: i64) {
    if let Some((own, _)) = standing() {
        has_passed(own.passed.get().saturating_add(nanos.max(0)));
    }
}

/// The calling thread has waited for descriptors, in vain for so long if none was `ready`. If one was, whoever made it
/// so may be later than all that the thread has heard of.
pub fn waited(ready: c_int, nanos: i64) {
    match ready {
        0 => slept(nanos),
        1.. => has_passed(LATEST.load(Relaxed)),
        _ => {}
    }
}

/// The calling thread has waited in vain until the last [`deadline`] that it asked for; not if that is another one.
pub fn waited_until(deadline: i64) {
    if let Some((own, _)) = standing() {
        let (asked_for, passed) = own.deadline.take();
        if asked_for == deadline {
            has_passed(passed);
        }
    }
}

/// How far the calling thread's clocks are ahead of where they stand.
pub fn passed() -> i64 {
    standing().map_or(0, |(own, _)| own.passed.get())
}

/// They are so far ahead at least.
pub fn has_passed(nanos: i64) {
    if let Some((own, _)) = standing() {
        own.passed.set(own.passed.get().max(nanos));
        LATEST.fetch_max(nanos, Relaxed);
    }
}

/// What clocks that stand say to the calling thread, which looks; `None` if they go.
fn look() -> Option<i64> {
    let (own, said) = standing()?;
    own.looks.set(own.looks.get().saturating_add(1));
    if own.looks.get() > LOOKS {
        has_passed(own.passed.get().saturating_add(TICK));
    }
    Some(said)
}

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
    recording::is_alone()
}

/// Goes on to a moment on the monotonic clock, unless it is past; how far that was.
pub fn skip_to(moment: i64) -> i64 {
    let left = moment.saturating_sub(now(libc::CLOCK_MONOTONIC)).max(0);
    // A clock may not run out of its range.
    let left = left.min(SECOND << 30);
    SKIPPED.store(SKIPPED.load(Relaxed).saturating_add(left), Relaxed);
    left
}

/// Adds to what a clock said what was skipped, or replaces it if clocks stand.
///
/// # Safety
/// `time` points to what the clock said.
pub unsafe fn correct(clock: clockid_t, time: *mut timespec) {
    if let Some(said) = look() {
        // SAFETY: promised by the caller.
        unsafe {
            (*time).tv_sec = said / SECOND;
            (*time).tv_nsec = said % SECOND;
        }
        return;
    }
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

/// What the processor's clock said, or the nanoseconds that clocks say that stand.
pub fn processors(moment: i64) -> i64 {
    look().unwrap_or(moment)
}

/// The same of the second of the day.
pub fn corrected_second(second: i64) -> i64 {
    if let Some(said) = look() {
        return said / SECOND;
    }
    match skipped(libc::CLOCK_REALTIME) {
        0 => second,
        _ => now(libc::CLOCK_REALTIME) / SECOND,
    }
}
