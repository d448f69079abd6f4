//! Notifications that glibc brings by a thread of its own: that a timer has run down, that a message has come, that input
//! and output are done. Nobody creates that thread in sight, and it may end any wait.

use crate::events::agents::SYSTEM;
use core::cell::UnsafeCell;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;
use libc::{c_int, sigevent, siginfo_t};
use std::vec::Vec;

/// Whether the program has ever asked for one.
static ASKED_FOR: AtomicBool = AtomicBool::new(false);

/// Whether some may come.
pub fn may_come() -> bool {
    ASKED_FOR.load(Relaxed)
}

/// The program says what it wants done.
pub fn are_asked_for(event: &sigevent) {
    if event.sigev_notify == libc::SIGEV_THREAD {
        ASKED_FOR.store(true, Relaxed);
    }
}

/// Whether a timer was ever set, or something like it, so that a signal may be under way that no thread sends.
static UNDER_WAY: AtomicBool = AtomicBool::new(false);

/// Whether that may be so.
pub fn are_under_way() -> bool {
    UNDER_WAY.load(Relaxed)
}

/// The calling thread is about to have the system tell the program something about this later on.
pub fn begin(matter: u64, pc: usize) {
    UNDER_WAY.store(true, Relaxed);
    SYSTEM.tells_about(matter, pc);
}

/// Timers that the program knows by another number than the system does: in a live run it is told the recorded ones. Each
/// with that of the system.
static TIMERS: Timers = Timers(UnsafeCell::new(Vec::new()));

struct Timers(UnsafeCell<Vec<(usize, usize)>>);

// SAFETY: only the thread with the baton gets here.
unsafe impl Sync for Timers {}

fn with_timers<R>(work: impl FnOnce(&mut Vec<(usize, usize)>) -> R) -> R {
    // SAFETY: the caller has the baton, and `work` does not come back here.
    work(unsafe { &mut *TIMERS.0.get() })
}

/// The program has made a timer, which it knows by the first number, and the system by the second.
pub fn timer_is_made(seen: usize, actual: usize) {
    with_timers(|timers| {
        timers.retain(|known| known.0 != seen);
        if seen != actual {
            timers.push((seen, actual));
        }
    });
}

/// What the system knows a timer of the program's by.
pub fn actual_timer(seen: usize) -> usize {
    with_timers(|timers| {
        timers
            .iter()
            .find(|known| known.0 == seen)
            .map_or(seen, |known| known.1)
    })
}

/// What a timer of the program's own is among [`SYSTEM`]'s matters, by its number.
pub fn timer(number: c_int) -> u64 {
    1 << 32 | u64::from(number as u32)
}

/// The same of one of the three that each process has.
pub fn interval_timer(which: c_int) -> u64 {
    2 << 32 | u64::from(which as u32)
}

/// That a message has come.
pub const MESSAGES: u64 = 3 << 32;

/// That input or output is done.
pub const INPUT_AND_OUTPUT: u64 = 4 << 32;

/// Which of these a signal is about, for the thread that has the baton; `None` if the system did not send it because the program had told it to.
pub fn matter(info: &siginfo_t) -> Option<u64> {
    match (info.si_code, info.si_signo) {
        (libc::SI_TIMER, _) => {
            // SAFETY: the timer's number stands where that of a sender does.
            let number = unsafe { info.si_pid() };
            let seen = |known: &&(usize, usize)| known.1 as c_int == number;
            let seen = with_timers(|timers| timers.iter().find(seen).map(|known| known.0 as c_int));
            Some(timer(seen.unwrap_or(number)))
        }
        (libc::SI_MESGQ, _) => Some(MESSAGES),
        (libc::SI_ASYNCIO, _) => Some(INPUT_AND_OUTPUT),
        (libc::SI_KERNEL, libc::SIGALRM) => Some(interval_timer(libc::ITIMER_REAL as c_int)),
        (libc::SI_KERNEL, libc::SIGVTALRM) => Some(interval_timer(libc::ITIMER_VIRTUAL as c_int)),
        (libc::SI_KERNEL, libc::SIGPROF) => Some(interval_timer(libc::ITIMER_PROF as c_int)),
        _ => None,
    }
}
