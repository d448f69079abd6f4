//! The process: its beginning, its end, what comes of it, and the world that its scheduler lives in.

mod clone;
mod ending;
mod exec;
mod fork;
pub mod futex;
mod host;
mod start;
mod suite;
mod system_calls;
