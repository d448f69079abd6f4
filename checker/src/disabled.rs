//! Why an event cannot happen now, in words: one case per way to miss the table's second column.

use trace_format::{EventId, ObjectId, ObjectKind, ThreadId};

/// An event whose turn came while it was not enabled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("event {} of thread {} is not enabled: {why}", event.0, thread.0)]
pub struct Violation {
    /// The event.
    pub event: EventId,
    /// Its thread.
    pub thread: ThreadId,
    /// Which condition does not hold.
    pub why: Disabled,
}

/// The condition that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Disabled {
    /// Program order.
    #[error("{}", match next {
        Some(next) => format!("the next event of its thread is {}", next.0),
        None => "its thread has no more events".to_owned(),
    })]
    NotNext {
        /// The event whose turn it is in that thread.
        next: Option<EventId>,
    },
    /// Its thread is created later.
    #[error("its thread is not created before event {}", fork.0)]
    NotForked {
        /// The event that creates the thread.
        fork: EventId,
    },
    /// A `begin` that is not its thread's first event.
    #[error("its thread has begun already")]
    BegunTwice,
    /// Its thread has ended.
    #[error("its thread has ended already")]
    AfterEnd,
    /// A thread cannot be created twice.
    #[error("thread {} is created by event {} already", child.0, by.0)]
    ForkedTwice {
        /// The thread.
        child: ThreadId,
        /// The fork that counts.
        by: EventId,
    },
    /// A join before the child's end.
    #[error("thread {} has not ended", child.0)]
    NotEnded {
        /// The thread waited for.
        child: ThreadId,
    },
    /// It depends on what its thread has read, and that was something else than in the trace.
    #[error("it depends on event {}, a read that sees another value than in the trace", read.0)]
    Strayed {
        /// The read.
        read: EventId,
    },
    /// The lock is held exclusively.
    #[error("lock {} is held by thread {}", lock.0, by.0)]
    Held {
        /// The lock.
        lock: ObjectId,
        /// Who holds it.
        by: ThreadId,
    },
    /// The lock is held by a reader.
    #[error("lock {} is held as a reader by thread {}", lock.0, by.0)]
    HeldShared {
        /// The lock.
        lock: ObjectId,
        /// A thread that does.
        by: ThreadId,
    },
    /// The lock is not held by the event's thread.
    #[error("lock {} is {}, not by this thread", lock.0, match by {
        Some(by) => format!("held by thread {}", by.0),
        None => "held by nobody".to_owned(),
    })]
    NotHeld {
        /// The lock.
        lock: ObjectId,
        /// Who holds it instead.
        by: Option<ThreadId>,
    },
    /// An attempt failed although no other thread holds the lock in a way that excludes it.
    #[error("lock {} is not held by another thread in a way that makes the attempt fail", lock.0)]
    WouldSucceed {
        /// The lock.
        lock: ObjectId,
    },
    /// A wait that did not begin.
    #[error("its thread is not waiting on condition {}", condition.0)]
    NotWaiting {
        /// The condition.
        condition: ObjectId,
    },
    /// A wait ends before a notify woke it.
    #[error("nothing has woken its wait on condition {}", condition.0)]
    NotWoken {
        /// The condition.
        condition: ObjectId,
    },
    /// A notify that finds waiters has to wake one.
    #[error(
        "threads {} wait, and the schedule does not say which of them it wakes",
        list(waiting)
    )]
    WakesNobody {
        /// Who waits.
        waiting: Vec<ThreadId>,
    },
    /// A notify is to wake a thread that it cannot wake.
    #[error("it cannot wake thread {}, {}", thread.0, match waiting.as_slice() {
        [] => "nobody waits".to_owned(),
        waiting => format!("only {} wait", list(waiting)),
    })]
    WakesOther {
        /// The thread that it is to wake.
        thread: ThreadId,
        /// Who waits.
        waiting: Vec<ThreadId>,
    },
    /// Not all have arrived at the barrier.
    #[error("{arrived} of {of} threads have arrived at round {round} of barrier {}", barrier.0)]
    BarrierClosed {
        /// The barrier.
        barrier: ObjectId,
        /// The round.
        round: u32,
        /// How many arrived.
        arrived: u32,
        /// How many have to.
        of: u32,
    },
    /// A thread that arrives now would belong to an earlier round.
    #[error("it would arrive in round {current} of barrier {}, not in round {round}", barrier.0)]
    EarlierRound {
        /// The barrier.
        barrier: ObjectId,
        /// The round of the event.
        round: u32,
        /// The round that is not complete.
        current: u32,
    },
    /// The semaphore's count is zero.
    #[error("the count of semaphore {} is 0", semaphore.0)]
    NoPermit {
        /// The semaphore.
        semaphore: ObjectId,
    },
    /// An attempt failed although the semaphore's count is not zero.
    #[error("the count of semaphore {} is {count}, so the attempt would succeed", semaphore.0)]
    PermitLeft {
        /// The semaphore.
        semaphore: ObjectId,
        /// Its count.
        count: u64,
    },
    /// A thread found out another count of the semaphore.
    #[error("the count of semaphore {} is {count}, and the thread saw {seen}", semaphore.0)]
    OtherCount {
        /// The semaphore.
        semaphore: ObjectId,
        /// Its count.
        count: u64,
        /// What the thread saw.
        seen: u32,
    },
    /// The once cell is not initialized.
    #[error("the initialization of once cell {} has not ended", once.0)]
    NotInitialized {
        /// The once cell.
        once: ObjectId,
    },
    /// An object is used as what it is not. Only of the trace itself.
    #[error("object {} is a {kind:?} in the table, and used as {used_as}", object.0)]
    OtherKind {
        /// The object.
        object: ObjectId,
        /// Its kind in the table.
        kind: ObjectKind,
        /// What the event takes it for.
        used_as: &'static str,
    },
    /// A block is allocated where another one lives. Only of the trace itself.
    #[error("it allocates memory of a block that is not freed yet, allocated {}", match alloc {
        Some(alloc) => format!("by event {}", alloc.0),
        None => "before the trace began".to_owned(),
    })]
    Overlaps {
        /// The event that allocated the block.
        alloc: Option<EventId>,
    },
    /// The block is allocated later.
    #[error("the memory is not allocated before event {}", alloc.0)]
    NotAllocated {
        /// The event that allocates it.
        alloc: EventId,
    },
    /// What it uses was there in the trace, and is destroyed or freed by now.
    #[error("what it uses has been destroyed or freed by event {}", by.0)]
    Ended {
        /// The event that did.
        by: EventId,
    },
    /// A read sees another value than it did in the trace.
    #[error("{size} bytes at {addr:#x} hold {}, and it read {expected:#x}", match found {
        Some(found) => format!("{found:#x}"),
        None => "no value that is known".to_owned(),
    })]
    OtherValue {
        /// First byte of the access.
        addr: u64,
        /// Length of the access.
        size: u8,
        /// What the read saw in the trace.
        expected: u64,
        /// What is there now; `None` if some byte is freed, or the trace does not show it.
        found: Option<u64>,
    },
    /// A read sees a pointer to another block than in the trace; they are equal there as numbers, since the address was
    /// given out again.
    #[error("the pointer {pointer:#x} at {addr:#x} belongs to {}, and the one that it read to {}",
        block_of(*found), block_of(*meant))]
    OtherBlock {
        /// First byte of the pointer in memory.
        addr: u64,
        /// The number.
        pointer: u64,
        /// What allocates the block of the pointer that the read saw in the trace; `None` if the number stood alone.
        meant: Option<EventId>,
        /// The same of the one that is there now.
        found: Option<EventId>,
    },
    /// A pinned access is not in its place among the events of another thread.
    #[error("unrecorded code changes this memory, so the access keeps its place: event {} of thread {} must come {}",
        other.0, thread.0, if *early { "after it" } else { "before it" })]
    Unpinned {
        /// The other thread.
        thread: ThreadId,
        /// Its event that is out of place.
        other: EventId,
        /// Whether that came too early; else it is missing.
        early: bool,
    },
    /// Inputs of one source keep their order.
    #[error("{}", match next {
        Some(next) => format!("the next input of source {} is event {}", source_id.0, next.0),
        None => format!("source {} has no more input", source_id.0),
    })]
    InputOrder {
        /// The source.
        source_id: ObjectId,
        /// The input whose turn it is.
        next: Option<EventId>,
    },
    /// An input may have come from an output of the program.
    #[error("event {} has not been written to source {} yet", output.0, source_id.0)]
    OutputMissing {
        /// The source.
        source_id: ObjectId,
        /// The output.
        output: EventId,
    },
}

/// Why an operation is none that waits for ever for certain threads, as long as none of them moves.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoWait {
    /// It is not its thread's turn, or the thread is not there.
    #[error("{0}")]
    NotNext(Disabled),
    /// It is no operation that waits for other threads.
    #[error("it is no operation that waits for other threads")]
    OtherOperation,
    /// It gives up, at once or when its time is over, or somebody outside ends it.
    #[error("it gives up, at once or when its time is over, or somebody outside of the trace may end it")]
    GivesUp,
    /// It does not wait at all.
    #[error("it does not have to wait")]
    Enabled,
    /// A thread that is not among these may let it go on.
    #[error("thread {} is not among those that wait, and may let it go on", .0.0)]
    AnotherMay(ThreadId),
    /// Any thread may give the lock back.
    #[error("threads give lock {} back for each other", lock.0)]
    HandedOver {
        /// The lock.
        lock: ObjectId,
    },
    /// What it waits for is not one of these threads.
    #[error("none of these threads keeps it waiting")]
    NotForThem,
}

/// The block of a pointer, by what allocates it.
fn block_of(alloc: Option<EventId>) -> String {
    alloc.map_or_else(
        || "none that got used memory".to_owned(),
        |alloc| format!("the block of event {}", alloc.0),
    )
}

fn list(threads: &[ThreadId]) -> String {
    let numbers: Vec<String> = threads.iter().map(|thread| thread.0.to_string()).collect();
    numbers.join(", ")
}
