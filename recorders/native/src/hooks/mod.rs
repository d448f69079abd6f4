//! What the compiler calls, and the memory functions of libc.

pub mod access;
mod annotations;
mod atomics;
mod calls;
mod copies;
mod heap;
#[macro_use]
mod library;
mod files;
mod format;
mod locks;
mod mappings;
mod numbers;
mod sort;
mod stdio;
mod strings;
mod system;
mod wide_atomics;
