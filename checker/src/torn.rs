//! Which two reads of one thread, and which two writes of another, tear a pair of variables if one of the reads sees
//! what was written and the other does not (`docs/SEMANTICS.md`, section 3).

use crate::Checker;
use crate::recording::Access;
use trace_format::EventId;

/// Why two reads and two writes tear no pair.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPair {
    /// Not two reads of one thread, the first one first, and two writes of another.
    #[error(
        "events {} and {} are not two events of one thread, in this order, and events {} and {} two of another",
        first.0, second.0, writes[0].0, writes[1].0
    )]
    Threads {
        /// The first read.
        first: EventId,
        /// The writes.
        writes: [EventId; 2],
        /// The second read.
        second: EventId,
    },
    /// One that is to read does not.
    #[error("event {} does not read a value", .0.0)]
    NoRead(EventId),
    /// One that is to write does not.
    #[error("event {} does not write a value", .0.0)]
    NoWrite(EventId),
    /// A write is not of what the read reads.
    #[error("events {} and {} share no byte", read.0, write.0)]
    Apart {
        /// The read.
        read: EventId,
        /// The write.
        write: EventId,
    },
}

/// The address of the first byte that the first read shares with its write, if these can tear a pair.
pub(crate) fn read_first(
    checker: &Checker<'_>,
    first: EventId,
    writes: [EventId; 2],
    second: EventId,
) -> Result<u64, NoPair> {
    let thread = |event| checker.recording.thread(event);
    let together = thread(first) == thread(second) && thread(writes[0]) == thread(writes[1]);
    if !together || thread(first) == thread(writes[0]) || first >= second || writes[0] == writes[1] {
        return Err(NoPair::Threads { first, writes, second });
    }
    let access = |event| Access::of(checker.recording.op(event));
    for read in [first, second] {
        access(read)
            .and_then(|access| access.sees)
            .ok_or(NoPair::NoRead(read))?;
    }
    for write in writes {
        access(write)
            .and_then(|access| access.leaves)
            .ok_or(NoPair::NoWrite(write))?;
    }
    shared(checker, second, writes[1])?;
    shared(checker, first, writes[0])
}

/// The address of the first byte that two accesses share.
fn shared(checker: &Checker<'_>, read: EventId, write: EventId) -> Result<u64, NoPair> {
    let bytes = |event| checker.touched(event).map(|touched| touched.bytes.clone());
    let apart = NoPair::Apart { read, write };
    let (Some(one), Some(other)) = (bytes(read), bytes(write)) else {
        return Err(apart);
    };
    let start = one.start.max(other.start);
    if start >= one.end.min(other.end) {
        return Err(apart);
    }
    let named = Access::of(checker.recording.op(read)).ok_or(NoPair::NoRead(read))?;
    Ok(named.mem.addr + (start - one.start) as u64)
}
