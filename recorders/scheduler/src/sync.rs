//! The atomics and cells of the scheduler; `tests/model` has others in this file's place.

pub use core::cell::Cell;
pub use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize};

/// Most threads that may be alive at once.
pub const MAX_THREADS: usize = 1 << 14;

/// A function that is evaluated at compile time: records of threads and the scheduler itself are statics.
#[macro_export]
macro_rules! constant {
    ($(#[$meta:meta])* pub fn $($rest:tt)*) => { $(#[$meta])* #[must_use] pub const fn $($rest)* };
}

/// An array of equal cells.
#[macro_export]
macro_rules! cells {
    ($cell:expr; $count:expr) => {
        [const { $cell }; $count]
    };
}
