//! Sleeping on a word of memory until somebody changes it.
//!
//! The waits have a time limit in nanoseconds, because each caller has something to check again
//! (is the other process alive, has a deadline passed), and they may return early for no reason.

use core::sync::atomic::AtomicU32;

/// Sleeps while `*word == expected`, at most `nanos` if given.
///
/// `shared` says that the waker may be in another process. True if a signal handler ended the
/// sleep.
pub fn wait(word: &AtomicU32, expected: u32, nanos: Option<u64>, shared: bool) -> bool {
    let limit = nanos.map(|n| libc::timespec {
        tv_sec: (n / 1_000_000_000) as libc::time_t,
        tv_nsec: (n % 1_000_000_000) as libc::c_long,
    });
    let limit = limit.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
    raw(word, libc::FUTEX_WAIT | private(shared), expected, limit) == -i64::from(libc::EINTR)
}

/// Wakes up to `count` sleepers.
pub fn wake(word: &AtomicU32, count: u32, shared: bool) {
    raw(word, libc::FUTEX_WAKE | private(shared), count, core::ptr::null());
}

fn private(shared: bool) -> libc::c_int {
    if shared { 0 } else { libc::FUTEX_PRIVATE_FLAG }
}

/// The system call itself, not libc's `syscall`: that one sets the program's `errno`, and a
/// recorded program's own calls of it are intercepted.
fn raw(word: &AtomicU32, op: libc::c_int, value: u32, limit: *const libc::timespec) -> i64 {
    let answer: i64;
    // SAFETY: futex reads `word` and, for a wait, `limit`; both are valid for the whole call.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") libc::SYS_futex => answer,
            in("rdi") word.as_ptr(),
            in("rsi") i64::from(op),
            in("rdx") u64::from(value),
            in("r10") limit,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    answer
}
