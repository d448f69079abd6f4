//! What the runtime stands on: system calls, the C library's own functions, memory. Nothing here knows of threads or
//! events.

pub mod arena;
pub mod correspondence;
pub mod environment;
pub mod export;
pub mod glibc;
pub mod hash;
pub mod memory;
pub mod processor;
pub mod real;
pub mod shared_memory;
pub mod socket_options;
pub mod sys;
pub mod temporary_names;
