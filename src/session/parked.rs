//! Where a thread stands that a plan has stopped.

use trace_format::{StackId, ThreadId};

/// An access that a thread is stopped before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parked {
    /// The thread, by its number in the trace.
    pub thread: ThreadId,
    /// The code position.
    pub pc: u64,
    /// The call stack, in the trace of this run.
    pub stack: StackId,
    /// The operation's whole range; of a block that ends, only its address counts.
    pub range: (u64, u64),
}
