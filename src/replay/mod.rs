//! Replaying witnesses: stepping a schedule on its trace, and driving the program itself along it.

pub mod live;
mod step;

pub use step::{PendingAccess, Replay};
