//! What a thread does next, and how that may turn out, in names that hold across runs.
//!
//! A node of the forest is a history of one thread, so it says who did something: the block that was allocated there,
//! the thread that was forked there. Nothing here is an address or a number of one run.

use crate::semantics::{Action, Turned};

/// A history of a thread, and the operation that comes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A thread: the tree of its histories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeId(pub u32);

/// A synchronization object, by what it is and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u32);

/// A value of memory, interned: equal ids are equal values, in all runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueId(pub u32);

macro_rules! index {
    ($($name:ident)*) => {$(
        impl $name {
            /// The number as an index.
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

index!(NodeId TreeId ObjectId ValueId);

/// What a place is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Region {
    /// Memory that was always there: the offset is what the run calls the address.
    Static,
    /// The block that is allocated after this history.
    Block(NodeId),
    /// A block that is known by a number of this thread, before it is allocated.
    Known(TreeId, u32),
}

/// A byte of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The block.
    pub region: Region,
    /// Bytes from its start.
    pub offset: u64,
}

/// The bytes that an access touches: 1 to 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first.
    pub at: Place,
    /// How many.
    pub size: u8,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Datum {
    /// A number, little-endian.
    Number(u64),
    /// The address of a byte of a block, or of the end of the block.
    Address(Place),
    /// Bytes of another value, from this one on, that lie where no whole value does.
    Part {
        /// The whole value.
        of: ValueId,
        /// Its first byte here.
        from: u8,
        /// How many bytes.
        size: u8,
    },
}

/// What a thread does after a history. Meanings: `docs/SEMANTICS.md`, section 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// The thread's first event.
    Begin,
    /// Its last.
    End,
    /// Creates the thread that is known by this history.
    Fork,
    /// Waits for a thread to end; the outcome may be that it has not ended yet.
    Join(TreeId),
    /// Plain read: the outcome is the value.
    Read(Span),
    /// Plain write of a value.
    Write(Span, ValueId),
    /// Atomic load, or read-modify-write if the outcome says that it wrote: a compare-exchange is either.
    AtomicRead(Span),
    /// Atomic store.
    AtomicWrite(Span, ValueId),
    /// Uses the memory of an object, and sees no value.
    Use(Span),
    /// Does something to objects.
    On(Action<ObjectId>),
    /// Asks for the count of a semaphore; the outcome is the count.
    Count(ObjectId),
    /// Memory fence.
    Fence,
    /// Control depends on what was read.
    Branch,
    /// Starts the block that is known by this history, of so many bytes.
    Alloc(u64),
    /// Ends a block.
    Free(Region),
    /// A value comes from outside.
    Input(ObjectId),
    /// Something is handed to the outside.
    Output(ObjectId),
}

impl Operation {
    /// The memory that it reads or writes as a value, or uses.
    #[must_use]
    pub fn span(self) -> Option<Span> {
        match self {
            Operation::Read(span)
            | Operation::Write(span, _)
            | Operation::AtomicRead(span)
            | Operation::AtomicWrite(span, _)
            | Operation::Use(span) => Some(span),
            _ => None,
        }
    }
}

/// How an operation turned out, as far as its thread can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// In the only way there is; of an attempt: it succeeded; of a wait: it was notified; of a once cell: it was done.
    Done,
    /// A read saw this value; an input had it.
    Saw(ValueId),
    /// A semaphore had so many permits.
    Counted(u32),
    /// An attempt at a lock or semaphore, or to join a thread, failed; a wait timed out.
    GaveUp,
    /// The thread was the last of its round of a barrier, or the first at a once cell.
    Chosen,
}

impl From<Turned> for Outcome {
    fn from(turned: Turned) -> Outcome {
        match turned {
            Turned::Done => Outcome::Done,
            Turned::GaveUp => Outcome::GaveUp,
            Turned::Chosen => Outcome::Chosen,
        }
    }
}

impl Outcome {
    /// How an action turned out that has this outcome.
    #[must_use]
    pub fn turned(self) -> Turned {
        match self {
            Outcome::Done | Outcome::Saw(_) | Outcome::Counted(_) => Turned::Done,
            Outcome::GaveUp => Turned::GaveUp,
            Outcome::Chosen => Turned::Chosen,
        }
    }
}

/// Whether an operation that cannot go on waits until it can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Patience {
    /// It waits.
    Endless,
    /// It gives up: at once, or when its time is over.
    Bounded,
    /// No run has shown which.
    Unknown,
}
