//! The runtime's functions that call the program: to find one on a stack does not say that the program is in a hook.

use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

/// The function that calls the program's `main`.
pub static MAIN: AtomicUsize = AtomicUsize::new(0);

/// The function that calls the routines of threads.
pub static ROUTINES: AtomicUsize = AtomicUsize::new(0);

/// Length of the code of such a function.
const BYTES: usize = 1024;

/// Whether the position is in one of them.
pub fn contain(pc: usize) -> bool {
    [&MAIN, &ROUTINES].into_iter().any(|caller| {
        let start = caller.load(Relaxed);
        start != 0 && (start..start + BYTES).contains(&pc)
    })
}
