//! What an event is, in the model: as in the file, but with accesses resolved to cells.

use super::IncarnationId;
use crate::semantics::conflict::Part;
use crate::semantics::locks;
use trace_format::{MemoryOrder, ObjectId, Op as FileOp, ThreadId, WaitOutcome};

/// The kinds of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessKind {
    /// Plain read.
    Read,
    /// Plain write.
    Write,
    /// Atomic load.
    AtomicLoad,
    /// Atomic store.
    AtomicStore,
    /// Atomic read-modify-write.
    AtomicRmw,
    /// An operation on a synchronization object uses its memory: no value is seen or left.
    Use,
    /// A synchronization object is destroyed: a plain write of its memory.
    Destroy,
    /// End of an incarnation: writes every cell of it, with no value that a read could see.
    Free,
}

impl AccessKind {
    /// Whether it sees a value.
    #[must_use]
    #[inline]
    pub fn reads(self) -> bool {
        matches!(self, AccessKind::Read | AccessKind::AtomicLoad | AccessKind::AtomicRmw)
    }

    /// Whether it changes memory.
    #[must_use]
    #[inline]
    pub fn writes(self) -> bool {
        !matches!(self, AccessKind::Read | AccessKind::AtomicLoad | AccessKind::Use)
    }

    /// Whether it leaves a value that reads can see: a `free` leaves none.
    #[must_use]
    #[inline]
    pub fn writes_value(self) -> bool {
        self.writes() && self != AccessKind::Free
    }

    /// What matters of it for whether it conflicts with another.
    #[must_use]
    #[inline]
    pub fn part(self) -> Part {
        Part {
            writes: self.writes(),
            atomic: self.is_atomic(),
            frees: self == AccessKind::Free,
            destroys: self == AccessKind::Destroy,
            uses: self == AccessKind::Use,
        }
    }

    /// Whether a run that does the same again may have this instead: where an object is destroyed that somebody holds, the
    /// C library may refuse, and then it is a plain write.
    #[must_use]
    pub fn may_turn_out(self, again: AccessKind) -> bool {
        self == again || (self, again) == (AccessKind::Destroy, AccessKind::Write)
    }

    /// Whether what it touches is no more behind it: a block, or a synchronization object.
    #[must_use]
    #[inline]
    pub fn ends(self) -> bool {
        matches!(self, AccessKind::Free | AccessKind::Destroy)
    }

    /// Whether it is an atomic operation or the use of an object, which is one inside of the library; two of these
    /// never race.
    #[must_use]
    #[inline]
    pub fn is_atomic(self) -> bool {
        matches!(
            self,
            AccessKind::AtomicLoad | AccessKind::AtomicStore | AccessKind::AtomicRmw | AccessKind::Use
        )
    }
}

impl Op {
    /// The lock that it takes, gives back, or finds held.
    #[must_use]
    pub fn lock(self) -> Option<ObjectId> {
        locks::Step::of(self).map(|(lock, _)| lock)
    }

    /// Whether it ends a wait by itself.
    #[must_use]
    pub fn times_out(self) -> bool {
        matches!(
            self,
            Op::WaitEnd {
                outcome: WaitOutcome::TimedOut,
                ..
            }
        )
    }

    /// Whether what its thread has read decides that it happens, or leaves the thread by it other than
    /// through recorded memory: the argument of a new thread, a result, output.
    #[must_use]
    pub fn depends_on_reads(self) -> bool {
        matches!(self, Op::Branch | Op::Fork { .. } | Op::End | Op::Output { .. })
    }
}

/// What an event does. Meanings and enabling conditions: `docs/SEMANTICS.md`, section 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are those of trace_format::Op, documented there")]
pub enum Op {
    /// First event of a thread.
    Begin,
    /// Last event of a thread.
    End,
    /// Creates a thread.
    Fork { child: ThreadId },
    /// Waits for the end of a thread.
    Join { child: ThreadId },
    /// Read, write, atomic operation or free: [`Trace::access`](super::Trace::access) says of what.
    Access,
    /// Takes a lock exclusively.
    Acquire { lock: ObjectId },
    /// Takes a lock as a reader.
    AcquireShared { lock: ObjectId },
    /// Gives back one level of a lock.
    Release { lock: ObjectId },
    /// Found the lock held by another thread and gave up.
    AcquireFailed { lock: ObjectId, shared: bool },
    /// Starts to wait.
    WaitBegin { condition: ObjectId, lock: ObjectId },
    /// Ends waiting.
    WaitEnd {
        condition: ObjectId,
        lock: ObjectId,
        outcome: WaitOutcome,
    },
    /// Wakes one waiter.
    Notify { condition: ObjectId },
    /// Wakes all waiters.
    NotifyAll { condition: ObjectId },
    /// Arrives at a barrier.
    BarrierEnter { barrier: ObjectId, round: u32 },
    /// Leaves a barrier.
    BarrierExit { barrier: ObjectId, round: u32 },
    /// Semaphore up.
    SemPost { semaphore: ObjectId },
    /// Semaphore down.
    SemWait { semaphore: ObjectId },
    /// Found a semaphore at 0 and gave up.
    SemWaitFailed { semaphore: ObjectId },
    /// Found out the count of a semaphore.
    SemValue { semaphore: ObjectId, value: u32 },
    /// Starts a once-only initialization.
    OnceBegin { once: ObjectId },
    /// Ends a once-only initialization.
    OnceEnd { once: ObjectId },
    /// Finds a once-only initialization done.
    OnceWait { once: ObjectId },
    /// Memory fence.
    Fence { order: MemoryOrder },
    /// Starts an incarnation.
    Alloc { incarnation: IncarnationId },
    /// Later events of the thread may depend on what it has read.
    Branch,
    /// A value from outside.
    Input { source: ObjectId, value: u64 },
    /// A value to the outside.
    Output { source: ObjectId },
}

/// What the operations that are in the model as they are in the file have in common: after the name, the objects, then
/// all else.
macro_rules! as_in_file {
    ($($name:ident { $($object:ident),*; $($other:ident),* })*) => {
        impl Op {
            /// What an event of the file does, in the model's words; `None` if it accesses memory or begins a block.
            #[must_use]
            pub fn of_file(op: FileOp) -> Option<Op> {
                Some(match op {
                    $(FileOp::$name { $($object,)* $($other,)* } => Op::$name { $($object,)* $($other,)* },)*
                    FileOp::Join { child, .. } => Op::Join { child },
                    FileOp::Acquire { lock, .. } => Op::Acquire { lock },
                    FileOp::AcquireShared { lock, .. } => Op::AcquireShared { lock },
                    FileOp::WaitEnd { condition, lock, outcome, .. } => Op::WaitEnd { condition, lock, outcome },
                    FileOp::BarrierExit { barrier, round, .. } => Op::BarrierExit { barrier, round },
                    FileOp::SemWait { semaphore, .. } => Op::SemWait { semaphore },
                    FileOp::Read { .. }
                    | FileOp::Write { .. }
                    | FileOp::Use { .. }
                    | FileOp::Destroy { .. }
                    | FileOp::AtomicLoad { .. }
                    | FileOp::AtomicStore { .. }
                    | FileOp::AtomicRmw { .. }
                    | FileOp::Alloc { .. }
                    | FileOp::Free { .. } => return None,
                })
            }

            /// The way back, of an operation that is an attempt or is none.
            #[must_use]
            pub(super) fn to_file(self, attempt: bool) -> Option<FileOp> {
                Some(match self {
                    $(Op::$name { $($object,)* $($other,)* } => FileOp::$name { $($object,)* $($other,)* },)*
                    Op::Join { child } => FileOp::Join { child, attempt },
                    Op::Acquire { lock } => FileOp::Acquire { lock, attempt },
                    Op::AcquireShared { lock } => FileOp::AcquireShared { lock, attempt },
                    Op::WaitEnd { condition, lock, outcome } => FileOp::WaitEnd { condition, lock, outcome, attempt },
                    Op::BarrierExit { barrier, round } => FileOp::BarrierExit { barrier, round, attempt },
                    Op::SemWait { semaphore } => FileOp::SemWait { semaphore, attempt },
                    Op::Access | Op::Alloc { .. } => return None,
                })
            }

            /// The same operation on other objects.
            #[must_use]
            pub fn on_objects(self, other: impl Fn(ObjectId) -> ObjectId) -> Op {
                match self {
                    $(Op::$name { $($object,)* $($other,)* } => Op::$name { $($object: other($object),)* $($other,)* },)*
                    Op::Acquire { lock } => Op::Acquire { lock: other(lock) },
                    Op::AcquireShared { lock } => Op::AcquireShared { lock: other(lock) },
                    Op::WaitEnd { condition, lock, outcome } => {
                        Op::WaitEnd { condition: other(condition), lock: other(lock), outcome }
                    }
                    Op::BarrierExit { barrier, round } => Op::BarrierExit { barrier: other(barrier), round },
                    Op::SemWait { semaphore } => Op::SemWait { semaphore: other(semaphore) },
                    Op::Join { .. } | Op::Access | Op::Alloc { .. } => self,
                }
            }
        }
    };
}

as_in_file! {
    Begin { ; }
    End { ; }
    Fork { ; child }
    Release { lock; }
    AcquireFailed { lock; shared }
    WaitBegin { condition, lock; }
    Notify { condition; }
    NotifyAll { condition; }
    BarrierEnter { barrier; round }
    SemPost { semaphore; }
    SemWaitFailed { semaphore; }
    SemValue { semaphore; value }
    OnceBegin { once; }
    OnceEnd { once; }
    OnceWait { once; }
    Fence { ; order }
    Branch { ; }
    Input { source; value }
    Output { source; }
}
