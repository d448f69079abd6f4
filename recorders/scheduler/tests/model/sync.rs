//! The scheduler's atomics and cells, as `loom` has them.

pub use loom::cell::Cell;
pub use loom::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize};

/// Enough for these tests: `loom` keeps a history of each cell.
pub const MAX_THREADS: usize = 4;

#[macro_export]
macro_rules! constant {
    ($(#[$meta:meta])* pub fn $($rest:tt)*) => { $(#[$meta])* pub fn $($rest)* };
}

#[macro_export]
macro_rules! cells {
    ($cell:expr; $count:expr) => {
        core::array::from_fn::<_, { $count }, _>(|_| $cell)
    };
}
