//! Which three accesses are an atomicity violation if the second comes between the others (`docs/SEMANTICS.md`,
//! section 3).

use crate::Checker;
use crate::recording::Access;
use trace_format::EventId;

/// Why three accesses are no atomicity violation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Serializable {
    /// Not two accesses of one thread, the first one first, and one of another.
    #[error(
        "events {} and {} are not two events of one thread, in this order, and event {} one of another",
        first.0, second.0, between.0
    )]
    Threads {
        /// The first of the two.
        first: EventId,
        /// The other thread's.
        between: EventId,
        /// The second of the two.
        second: EventId,
    },
    /// One neither reads nor writes a value.
    #[error("event {} neither reads nor writes a value", .0.0)]
    NoAccess(EventId),
    /// No byte is accessed by all three.
    #[error("events {}, {} and {} share no byte", first.0, between.0, second.0)]
    Apart {
        /// The first of the two.
        first: EventId,
        /// The other thread's.
        between: EventId,
        /// The second of the two.
        second: EventId,
    },
    /// In this order, they do what they would do in one in which nothing comes between.
    #[error("event {} between events {} and {} could as well come before or behind them", between.0, first.0, second.0)]
    Pattern {
        /// The first of the two.
        first: EventId,
        /// The other thread's.
        between: EventId,
        /// The second of the two.
        second: EventId,
    },
}

/// What an access does, of which at least one is true.
#[derive(Clone, Copy)]
struct Does {
    read: bool,
    write: bool,
}

/// The address of the first byte that all three share, if they are unserializable when the second comes between.
pub(crate) fn shared(
    checker: &Checker<'_>,
    first: EventId,
    between: EventId,
    second: EventId,
) -> Result<u64, Serializable> {
    let thread = |event| checker.recording.thread(event);
    if thread(first) != thread(second) || thread(first) == thread(between) || first >= second {
        return Err(Serializable::Threads { first, between, second });
    }
    let does = |event| {
        let access = Access::of(checker.recording.op(event));
        let does = access.map(|access| Does {
            read: access.sees.is_some(),
            write: access.leaves.is_some(),
        });
        let does = does.filter(|does| does.read || does.write);
        does.ok_or(Serializable::NoAccess(event))
    };
    let (a, r, b) = (does(first)?, does(between)?, does(second)?);
    let bytes = |event| checker.touched(event).map(|touched| touched.bytes.clone());
    let apart = Serializable::Apart { first, between, second };
    let (Some(one), Some(two), Some(three)) = (bytes(first), bytes(between), bytes(second)) else {
        return Err(apart);
    };
    let start = one.start.max(two.start).max(three.start);
    if start >= one.end.min(two.end).min(three.end) {
        return Err(apart);
    }
    // Read–write–read and write–write–read, since the first does one of the two; then read–write–write; then
    // write–read–write.
    let unserializable = (r.write && b.read) || (a.read && r.write && b.write) || (a.write && r.read && b.write);
    if !unserializable {
        return Err(Serializable::Pattern { first, between, second });
    }
    let named = Access::of(checker.recording.op(first)).ok_or(Serializable::NoAccess(first))?;
    Ok(named.mem.addr + (start - one.start) as u64)
}
