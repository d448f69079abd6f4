//! The shared memory between a recorded program and `witness record`.
//!
//! The recorder's runtime lets one thread of the program run at a time, so there is a single producer.
//! It encodes events itself, as they stand in the file (`event-coding`), into one ring, and sends the
//! rows of the trace's tables, and where blocks end, through another. The parent process takes both
//! and writes the file. The memory belongs to neither process alone: whatever was published is still
//! there after the program has died, however it died.
//!
//! - [`record`]: what the runtime's hooks say;
//! - [`row`]: what is sent beside the events, both directions side by side;
//! - [`layout`]: the header page, with the run's settings, the indices and the flags;
//! - [`plan`]: what a run is to do, for the policy that follows a schedule;
//! - [`consumer`]: the parent's end, a safe interface;
//! - [`producer`]: the program's end, which allocates nothing and makes no system call unless a
//!   ring is full or the parent sleeps;
//! - [`ring_broker`]: where the processes of a program ask for rings of their own;
//! - [`ring_path`]: how they find them;
//! - [`assembly`]: what the program tells of its inline assembly, past all of this;
//! - [`futex`]: sleeping on a word of memory;
//! - [`addresses`]: the same addresses in every run.
#![no_std]
extern crate std;

pub mod addresses;
pub mod assembly;
pub mod consumer;
pub mod futex;
pub mod layout;
mod memory;
pub mod plan;
pub mod producer;
pub mod record;
pub mod ring_broker;
pub mod ring_path;
pub mod row;

pub use consumer::{Bell, Corrupt, Ring};
pub use layout::{Death, Decision, Flag, Note, Policy, Settings, Standing, Waits};
pub use memory::Reopen;
pub use plan::Step;
pub use producer::Producer;
pub use record::{MarkClass, ObjectClass, Record};
pub use ring_broker::RingBroker;
pub use ring_path::RingPath;
pub use row::Row;
