//! The shared memory between a recorded program and `witness record`.
//!
//! The recorder's runtime lets one thread of the program run at a time, so one ring with a single
//! producer holds the total order of the run: the runtime appends [`Record`]s, the parent process
//! takes them out and writes the trace file. The memory belongs to neither process alone: whatever
//! was published is still there after the program has died, however it died.
//!
//! - [`record`]: what is sent, both directions side by side;
//! - [`layout`]: the header page, with the run's settings, the two indices and the flags;
//! - [`consumer`]: the parent's end, a safe interface;
//! - [`producer`]: the program's end, which allocates nothing and makes no system call unless the
//!   ring is full;
//! - [`futex`]: sleeping on a word of memory;
//! - [`addresses`]: the same addresses in every run.
#![no_std]
extern crate std;

pub mod addresses;
pub mod consumer;
pub mod futex;
pub mod layout;
pub mod producer;
pub mod record;

pub use consumer::{Corrupt, Ring};
pub use layout::{Flag, Note, Policy, Settings};
pub use producer::Producer;
pub use record::{ObjectClass, Record};
