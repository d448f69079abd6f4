//! Notifications that glibc brings by a thread of its own: that a timer has run down, that a message has come, that input
//! and output are done. Nobody creates that thread in sight, and it may end any wait.

use crate::events::agents::SYSTEM;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;
use libc::{c_int, sigevent, siginfo_t};

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

/// Which of these a signal is about; `None` if the system did not send it because the program had told it to.
pub fn matter(info: &siginfo_t) -> Option<u64> {
    match (info.si_code, info.si_signo) {
        // SAFETY: the timer's number stands where that of a sender does.
        (libc::SI_TIMER, _) => Some(timer(unsafe { info.si_pid() })),
        (libc::SI_MESGQ, _) => Some(MESSAGES),
        (libc::SI_ASYNCIO, _) => Some(INPUT_AND_OUTPUT),
        (libc::SI_KERNEL, libc::SIGALRM) => Some(interval_timer(libc::ITIMER_REAL as c_int)),
        (libc::SI_KERNEL, libc::SIGVTALRM) => Some(interval_timer(libc::ITIMER_VIRTUAL as c_int)),
        (libc::SI_KERNEL, libc::SIGPROF) => Some(interval_timer(libc::ITIMER_PROF as c_int)),
        _ => None,
    }
}
