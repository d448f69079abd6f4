//! The signals that the program catches, as the kernel sees it.

use crate::platform::sys;
use crate::signals::death;
use crate::signals::interrupt;

/// Whether the program catches any signal that comes by itself: not only the faults of threads, of which none runs.
pub fn are_there() -> bool {
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
    let faults = death::signals().fold(0b11 << 31, |mask, signal| mask | 1_u64 << (signal - 1));
    caught & !faults & !(1 << (interrupt::SIGNAL - 1)) != 0
}
