//! ThreadSanitizer's interface, but for what the compiler calls (see [`abi`](crate::abi)): what a program that was
//! linked against its runtime may refer to. All of it is here: recorded, passed on, of no effect, or refused by name;
//! `tests/record/interface.rs` compares it with the runtimes of gcc and clang.

mod barriers;
mod coverage;
pub mod fibers;
mod interceptors;
mod java;
mod locks;
pub mod marks;
mod nothing;
mod order;
mod refused;
mod sanitizer;
mod system_calls;

/// In a forked child: what other threads announced is not in its trace.
pub fn start_over() {
    barriers::start_over();
    locks::start_over();
}
