//! What the compiler calls, and the memory functions of libc.

pub mod access;
mod atomics;
mod calls;
mod copies;
mod heap;
#[macro_use]
pub mod library;
mod files;
mod format;
mod kernel_objects;
mod mappings;
mod numbers;
pub mod processes;
mod sort;
mod stdio;
mod strings;
mod system;
mod temporary;
mod wide_atomics;
