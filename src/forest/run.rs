//! What one run of the program showed, in the run's own names: what the forest is grown from.
//!
//! A recorded trace becomes one ([`Run::of_trace`](super::Run::of_trace)), and so does what an interpreter does.

use super::operation::Patience;
use super::reservation::Reservation;
use crate::semantics::{Action, Turned};
use crate::trace::MemoryOrder;

/// A block of memory in one run: the number of its allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunBlock(pub u32);

/// An address of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunPlace {
    /// The block; `None` for memory that was always there, whose offset is its address, the same in all runs.
    pub block: Option<RunBlock>,
    /// Bytes from its start.
    pub offset: u64,
}

/// A value of one run, of at most 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunValue {
    /// A number.
    Number(u64),
    /// An address in a block of this run, which another run may have elsewhere.
    Address(RunPlace),
}

/// A block that others know before it is allocated, so that it is named otherwise: by a thread and a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownBlock {
    /// The block.
    pub block: RunBlock,
    /// The thread that it is named by: a row of [`Run::threads`].
    pub by: u32,
    /// Its number among those of that thread, the same in all runs in which the thread does the same.
    pub ordinal: u32,
}

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunObjectKind {
    /// A lock of any kind; whether its holder may take it again.
    Lock {
        /// Whether it may.
        recursive: bool,
    },
    /// A condition.
    Condition,
    /// A barrier, and how many threads make a round, where that is known.
    Barrier {
        /// How many.
        parties: Option<u32>,
    },
    /// A semaphore, and its first count.
    Semaphore {
        /// The count.
        initial: u32,
    },
    /// A once cell.
    Once,
    /// A source or sink of the outside.
    Source,
}

/// An object of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunObject {
    /// What it is.
    pub kind: RunObjectKind,
    /// Where it is.
    pub at: RunPlace,
}

/// What a thread did or was about to do. Objects are rows of [`Run::objects`], threads rows of [`Run::threads`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the fields are those of the operation of the same name")]
pub enum RunOperation {
    Begin,
    End,
    Fork {
        child: u32,
    },
    Join {
        child: u32,
        gave_up: bool,
    },
    Read {
        at: RunPlace,
        size: u8,
        saw: RunValue,
    },
    Write {
        at: RunPlace,
        size: u8,
        value: RunValue,
    },
    AtomicLoad {
        at: RunPlace,
        size: u8,
        saw: RunValue,
    },
    AtomicStore {
        at: RunPlace,
        size: u8,
        value: RunValue,
    },
    AtomicRmw {
        at: RunPlace,
        size: u8,
        saw: RunValue,
        wrote: RunValue,
    },
    Use {
        at: RunPlace,
        size: u8,
    },
    On(Action<u32>, Turned),
    Count {
        semaphore: u32,
        value: u32,
    },
    Fence,
    Branch,
    Alloc {
        block: RunBlock,
        size: u64,
    },
    Free {
        block: RunBlock,
    },
    Input {
        source: u32,
        value: RunValue,
    },
    Output {
        source: u32,
    },
}

impl RunOperation {
    /// Whether it is an attempt that failed, or a wait that timed out.
    #[must_use]
    pub fn gave_up(&self) -> bool {
        matches!(
            self,
            RunOperation::On(_, Turned::GaveUp) | RunOperation::Join { gave_up: true, .. }
        )
    }
}

/// One operation of a run.
#[derive(Clone, Copy, Debug)]
pub struct RunStep {
    /// Whose it is: a row of [`Run::threads`].
    pub thread: u32,
    /// What it did. An operation that a thread stands before says nothing by what it saw, or whether it gave up.
    pub operation: RunOperation,
    /// Where in the code; equal positions are equal in all runs.
    pub position: u64,
    /// Whether it waits where it cannot go on.
    pub patience: Patience,
    /// The memory order of an atomic operation or a fence. One that the thread stands before has none yet.
    pub order: Option<MemoryOrder>,
    /// A digest of all that the thread's future depends on besides memory that others may access (registers, its
    /// stack), before this operation, if the run knows it: two histories with equal digests at equal operations go on
    /// alike. `None` if it does not.
    pub own_state: Option<u64>,
    /// What the thread shows of itself before this operation, if it does: a row of [`Run::pictures`].
    pub picture: Option<u32>,
}

/// Where a thread of a run was when the run ended.
#[derive(Clone, Copy, Debug)]
pub enum Stands {
    /// It has ended.
    Ended,
    /// The program ended there, by what this thread did: it has no next operation.
    Stopped,
    /// Before this operation.
    Before(RunStep),
    /// Nobody knows what would have come next.
    Unknown,
}

/// One run.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Where each thread stood at the end. Thread 0 is there from the start.
    pub threads: Vec<Stands>,
    /// The objects.
    pub objects: Vec<RunObject>,
    /// Blocks that are known before they are allocated: the stacks of threads that are yet to run.
    pub known_blocks: Vec<KnownBlock>,
    /// What happened, in order.
    pub steps: Vec<RunStep>,
    /// What threads show of themselves: the words of registers and of the nearest part of the stack, so that equal ones
    /// are equal in all runs, as far as is known, and those of threads with the same code are, too. Not all that a
    /// thread's future depends on is there, and it need not depend on all that is there.
    pub pictures: Vec<Box<[u64]>>,
    /// What the run itself cannot vouch for.
    pub reservations: Vec<Reservation>,
}
