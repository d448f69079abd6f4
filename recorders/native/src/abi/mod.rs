//! What the compiler calls: before each access, in place of each atomic operation, at the beginning and end of each
//! function.

pub mod access;
mod assembly;
mod atomics;
mod calls;
mod wide_atomics;
