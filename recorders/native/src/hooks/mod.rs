//! What the compiler calls, and the memory functions of libc.

pub mod access;
mod annotations;
mod atomics;
mod calls;
mod copies;
mod heap;
