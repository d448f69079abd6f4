//! The scheduler in this process: its threads, its clocks, its plan, and who has the baton.

pub mod baton;
pub mod clocks;
pub mod fast_path;
pub mod plan;
pub mod recording;
pub mod register;
pub mod thread;
