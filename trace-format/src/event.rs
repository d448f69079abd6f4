//! The alphabet of a trace: what one visible event is.
//!
//! An event has a thread, a code position, a call stack and an [`Op`]. The table of kinds follows
//! the event vocabulary of Said, Wang, Yang, Sakallah (NFM 2011, section 2.1), extended to the
//! synchronization of C, C++ and Rust. When each kind is *enabled*, and what it does, is defined
//! by the project's `docs/SEMANTICS.md`.
//!
//! Accesses are of 1, 2, 4 or 8 bytes or any length up to 8, with the value they saw or stored as
//! a little-endian integer whose unused upper bytes are zero. A recorder splits a longer access
//! into consecutive events of at most 8 bytes, in ascending address order.

use serde::{Deserialize, Serialize};

/// Declares a dense `u32` index with a table behind it.
macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The index as a `usize`, for use with slices.
            #[must_use]
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<u32> for $name {
            #[inline]
            fn from(number: u32) -> $name {
                $name(number)
            }
        }

        impl From<$name> for u32 {
            #[inline]
            fn from(index: $name) -> u32 {
                index.0
            }
        }
    };
}

index! {
    /// A thread, numbered from 0 in order of creation; the index of its row in
    /// [`Tables::threads`](crate::Tables::threads).
    ThreadId
}
index! {
    /// A synchronization object; the index of its row in [`Tables::objects`](crate::Tables::objects).
    ///
    /// Two objects that occupy the same address one after the other have different ids.
    ObjectId
}
index! {
    /// An interned call stack; the index of its row in [`Tables::stacks`](crate::Tables::stacks).
    ///
    /// [`StackId::EMPTY`] (row 0) is the empty stack.
    StackId
}

index! {
    /// An event: its number in the trace, counted from 0.
    ///
    /// A file may hold more events than 32 bits can number; what numbers them so refuses it.
    EventId
}

impl StackId {
    /// The stack of a thread that has not entered any function yet.
    pub const EMPTY: StackId = StackId(0);
}

/// A place in the code, as the recorder saw it.
///
/// For native recordings this is the run-time *return address* of the instrumentation call, so
/// the instruction is at `pc - 1`; the module that holds it is found in
/// [`Tables::modules`](crate::Tables::modules). For imported and generated traces it is an
/// arbitrary number with a row in [`Tables::sources`](crate::Tables::sources). 0 is "not known".
pub type CodePosition = u64;

/// C11 memory order of an atomic operation, in the numbering that C compilers use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum MemoryOrder {
    /// No ordering.
    Relaxed = 0,
    /// Data-dependency ordering; treated as acquire by every compiler.
    Consume = 1,
    /// Acquire.
    Acquire = 2,
    /// Release.
    Release = 3,
    /// Acquire and release.
    AcqRel = 4,
    /// Sequentially consistent.
    SeqCst = 5,
}

impl MemoryOrder {
    /// The order with the given C number; anything out of range is the strongest order.
    #[must_use]
    pub fn from_c(number: u8) -> MemoryOrder {
        match number {
            0 => MemoryOrder::Relaxed,
            1 => MemoryOrder::Consume,
            2 => MemoryOrder::Acquire,
            3 => MemoryOrder::Release,
            4 => MemoryOrder::AcqRel,
            _ => MemoryOrder::SeqCst,
        }
    }
}

/// How a wait on a condition variable ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum WaitOutcome {
    /// A notify woke it.
    Notified = 0,
    /// Its deadline passed.
    TimedOut = 1,
}

/// From here on are addresses of no memory, the kernel's half: what stands for order that a recorder knows of (by a
/// pipe, a signal, a descriptor's number, an announcement) is a variable there. `FORMAT.md`, section 10.
pub const NOBODYS: u64 = 1 << 63;

/// The descriptor whose block lies at an address; `None` if none does. `FORMAT.md`, section 10.
#[must_use]
pub fn descriptor(addr: u64) -> Option<u64> {
    (addr >> 57 == (NOBODYS | 1 << 57) >> 57).then_some(addr >> 32 & 0x1ff_ffff)
}

/// A range of memory that one access covers: `[addr, addr + size)`, `1 <= size <= 8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MemRange {
    /// First byte.
    pub addr: u64,
    /// Length in bytes, 1 to 8.
    pub size: u8,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// What an event does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Op {
    /// The thread's first event.
    Begin,
    /// The thread's last event.
    End,
    /// Creates a thread.
    Fork {
        /// The thread created.
        child: ThreadId,
    },
    /// Waits for a thread to end.
    Join {
        /// The thread that ended.
        child: ThreadId,
        /// Whether it would have given up otherwise, at once or when its time was over.
        #[serde(default, skip_serializing_if = "is_false")]
        attempt: bool,
    },
    /// Plain read.
    Read {
        /// The bytes read.
        mem: MemRange,
        /// The value seen.
        value: u64,
    },
    /// Plain write.
    Write {
        /// The bytes written.
        mem: MemRange,
        /// The value stored.
        value: u64,
    },
    /// Takes a lock exclusively; the holder of a recursive lock takes it once more.
    Acquire {
        /// The lock.
        lock: ObjectId,
        /// Whether it would have given up otherwise, at once or when its time was over.
        #[serde(default, skip_serializing_if = "is_false")]
        attempt: bool,
    },
    /// Takes a reader-writer lock as a reader.
    AcquireShared {
        /// The lock.
        lock: ObjectId,
        /// Whether it would have given up otherwise, at once or when its time was over.
        #[serde(default, skip_serializing_if = "is_false")]
        attempt: bool,
    },
    /// Gives a lock back, one level of it.
    Release {
        /// The lock.
        lock: ObjectId,
    },
    /// An attempt to take the lock that found it held by another thread and gave up.
    AcquireFailed {
        /// The lock.
        lock: ObjectId,
        /// Whether it was wanted as a reader.
        shared: bool,
    },
    /// Starts to wait on a condition variable: releases the lock entirely and joins the wait set.
    WaitBegin {
        /// The condition variable.
        condition: ObjectId,
        /// The lock given up while waiting.
        lock: ObjectId,
    },
    /// Returns from the wait with the lock held again, at its former depth.
    WaitEnd {
        /// The condition variable.
        condition: ObjectId,
        /// The lock taken again.
        lock: ObjectId,
        /// Why it returned.
        outcome: WaitOutcome,
        /// Whether something else than a notify of this program's threads would have ended it: its time, or another
        /// process.
        #[serde(default, skip_serializing_if = "is_false")]
        attempt: bool,
    },
    /// Wakes one waiter, if there is one.
    Notify {
        /// The condition variable.
        condition: ObjectId,
    },
    /// Wakes all that wait now.
    NotifyAll {
        /// The condition variable.
        condition: ObjectId,
    },
    /// Arrives at a barrier.
    BarrierEnter {
        /// The barrier.
        barrier: ObjectId,
        /// The round, counted from 0 per barrier.
        round: u32,
    },
    /// Leaves a barrier after all of the round arrived.
    BarrierExit {
        /// The barrier.
        barrier: ObjectId,
        /// The round.
        round: u32,
        /// Whether something else than arrivals of this program's threads might have let it go on: another process,
        /// or a library whose threads do other work there.
        #[serde(default, skip_serializing_if = "is_false")]
        attempt: bool,
    },
    /// Adds one to a semaphore.
    SemPost {
        /// The semaphore; its count at its first use is in its table row.
        semaphore: ObjectId,
    },
    /// Takes one from a semaphore.
    SemWait {
        /// The semaphore.
        semaphore: ObjectId,
        /// Whether it would have given up otherwise, at once or when its time was over, or another process might have
        /// posted.
        #[serde(default, skip_serializing_if = "is_false")]
        attempt: bool,
    },
    /// An attempt to take one from a semaphore that found its count 0 and gave up, at once or when its time was over.
    SemWaitFailed {
        /// The semaphore.
        semaphore: ObjectId,
    },
    /// Finds out the count of a semaphore.
    SemValue {
        /// The semaphore.
        semaphore: ObjectId,
        /// Its count.
        value: u32,
    },
    /// Starts a once-only initialization.
    OnceBegin {
        /// The once cell.
        once: ObjectId,
    },
    /// Ends it.
    OnceEnd {
        /// The once cell.
        once: ObjectId,
    },
    /// Finds the initialization done.
    OnceWait {
        /// The once cell.
        once: ObjectId,
    },
    /// An operation on a synchronization object uses the object's memory, and sees no value there.
    Use {
        /// Its first bytes.
        mem: MemRange,
    },
    /// A synchronization object is destroyed: a plain write, behind which the object is no more.
    Destroy {
        /// Its first bytes.
        mem: MemRange,
        /// What they hold then.
        value: u64,
    },
    /// Atomic load.
    AtomicLoad {
        /// The bytes read.
        mem: MemRange,
        /// The value seen.
        value: u64,
        /// Its memory order.
        order: MemoryOrder,
    },
    /// Atomic store.
    AtomicStore {
        /// The bytes written.
        mem: MemRange,
        /// The value stored.
        value: u64,
        /// Its memory order.
        order: MemoryOrder,
    },
    /// Atomic read-modify-write that took effect. (A compare-exchange that failed is a load.)
    AtomicRmw {
        /// The bytes read and written.
        mem: MemRange,
        /// The value seen.
        read: u64,
        /// The value stored.
        written: u64,
        /// Its memory order.
        order: MemoryOrder,
    },
    /// Memory fence.
    Fence {
        /// Its memory order.
        order: MemoryOrder,
    },
    /// Starts a new incarnation of `[addr, addr + size)`: heap block, thread stack, mapping.
    Alloc {
        /// First byte.
        addr: u64,
        /// Length in bytes.
        size: u64,
    },
    /// Ends the incarnation that starts at `addr`; counts as a write of every cell of it.
    Free {
        /// First byte of the block.
        addr: u64,
    },
    /// What follows in this thread may depend on all that it has read so far.
    Branch,
    /// A value came from outside the program (clock, random source, descriptor).
    Input {
        /// Its source.
        source: ObjectId,
        /// The value, or a digest of it.
        value: u64,
    },
    /// Something was handed to the outside.
    Output {
        /// Its destination.
        source: ObjectId,
    },
}

/// One visible event of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Event {
    /// The thread that performs it.
    pub thread: ThreadId,
    /// Where in the code.
    pub pc: CodePosition,
    /// The functions that were active, outermost first.
    pub stack: StackId,
    /// What it does.
    pub op: Op,
}
