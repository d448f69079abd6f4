//! Being inside the runtime: how a hook enters and leaves, where its program stands meanwhile, what it records of a
//! call.

pub mod accesses;
pub mod blocking;
pub mod callers;
pub mod faults;
pub mod guard;
pub mod process_numbers;
pub mod program_context;
