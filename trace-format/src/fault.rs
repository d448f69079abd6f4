//! The faults that the bytes of a trace, or an event to be written, can have.
//!
//! The faults know nothing of files: [`ReadError`](crate::ReadError) adds the file, the block and
//! the offset, [`WriteError`](crate::WriteError) the event. Both sides refuse the same things, so
//! that no writer can make a file that its reader rejects.

/// Why an event cannot stand in a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventFault {
    /// Its thread, or the thread that it creates or joins, has no row in the thread table.
    #[error("thread {id} is not among the {rows} threads of the trace")]
    UnknownThread {
        /// The number that was given.
        id: u64,
        /// How many threads there are.
        rows: usize,
    },
    /// Its object has no row in the object table.
    #[error("object {id} is not among the {rows} objects of the trace")]
    UnknownObject {
        /// The number that was given.
        id: u64,
        /// How many objects there are.
        rows: usize,
    },
    /// Its call stack has no row in the stack table.
    #[error("stack {id} is not among the {rows} stacks of the trace")]
    UnknownStack {
        /// The number that was given.
        id: u64,
        /// How many stacks there are, not counting the empty one.
        rows: usize,
    },
    /// The number of a thread or an object, or the round of a barrier, that has more than 32 bits.
    #[error("the number {number} has more than 32 bits")]
    NumberTooLarge {
        /// The number.
        number: u64,
    },
    /// An access of no byte or of more than 8.
    #[error("an access covers {size} bytes, where 1 to 8 are possible")]
    AccessSize {
        /// The size given.
        size: u8,
    },
    /// A value with bits outside the bytes of its access.
    #[error("the value {value:#x} does not fit into the access's {size} bytes")]
    ValueTooWide {
        /// The value.
        value: u64,
        /// The size of the access.
        size: u8,
    },
    /// A memory range that runs over the end of the address space.
    #[error("the {size} bytes at {addr:#x} run over the end of the address space")]
    AddressWraps {
        /// First byte.
        addr: u64,
        /// Length in bytes.
        size: u64,
    },
}

/// Why the payload of a block is not a list of events.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodingFault {
    /// It cannot be decoded.
    #[error(transparent)]
    Coding(#[from] event_coding::Fault),
    /// More events than its frame says.
    #[error("it has more events than its frame says")]
    MoreEvents,
    /// More bytes than a block can have.
    #[error("it has more bytes than a block can have")]
    TooManyBytes,
    /// More events than a block can have.
    #[error("it has more events than a block can have")]
    TooManyEvents,
    /// An event that decodes, and cannot stand in a trace.
    #[error(transparent)]
    Event(#[from] EventFault),
}

/// Why a table block cannot be added to the tables before it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TablesFault {
    /// The payload is not a serialized `TablesDelta`.
    #[error("not a list of table rows: {0}")]
    NotADelta(String),
    /// A thread row that neither replaces a known one nor is the next one.
    #[error("row {id} of the thread table comes when only {rows} are known")]
    ThreadGap {
        /// The row's number.
        id: u32,
        /// How many rows were known.
        rows: usize,
    },
    /// A thread that was created before its parent.
    #[error("thread {id} names thread {parent} as its parent, which does not come before it")]
    ThreadParent {
        /// The thread.
        id: u32,
        /// Its parent.
        parent: u32,
    },
    /// A stack whose parent is not an earlier stack.
    #[error("stack {id} stands on stack {parent}, which does not come before it")]
    StackParent {
        /// The stack.
        id: u64,
        /// The stack below.
        parent: u32,
    },
    /// An image with more bytes than its range, or a range beyond the end of memory.
    #[error("an image of memory at {addr:#x} has {bytes} bytes for a range of {size}")]
    ImageSize {
        /// Its first byte.
        addr: u64,
        /// Length of the range.
        size: u64,
        /// How many bytes it gives.
        bytes: u64,
    },
    /// A named range beyond the end of memory.
    #[error("the variable at {addr:#x} has {size} bytes, which is beyond the end of memory")]
    VariableRange {
        /// Its first byte.
        addr: u64,
        /// Length of the range.
        size: u64,
    },
    /// A marked range beyond the end of memory.
    #[error("the mark at {addr:#x} is about {size} bytes, which is beyond the end of memory")]
    MarkRange {
        /// Its first byte.
        addr: u64,
        /// Length of the range.
        size: u64,
    },
    /// A mark by a thread that has no row.
    #[error("a mark is by thread {id}, which has no row")]
    MarkThread {
        /// The thread.
        id: u32,
    },
    /// More rows than there are numbers for them.
    #[error("more than 2^32 rows in one table")]
    TooManyRows,
}

/// What is wrong with one block of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlockFault {
    /// The bytes where a block should begin are not a block's frame.
    #[error("there is no block where one should begin")]
    NoFrame,
    /// The frame does not match its checksum.
    #[error("its frame does not match its checksum")]
    FrameChecksum,
    /// The frame is not the one that the footer's index has.
    #[error("its frame is not the one in the file's index")]
    NotAsIndexed,
    /// The block is longer than what is left of the file.
    #[error("it needs {needed} bytes, and the file has {left} more")]
    Torn {
        /// Length of the block in bytes, frame included (of a frame, if not even that is there).
        needed: u64,
        /// Bytes left.
        left: u64,
    },
    /// The payload does not match its checksum.
    #[error("its payload does not match its checksum")]
    PayloadChecksum,
    /// A kind of block that this version does not have.
    #[error("block kind {0} does not exist")]
    UnknownKind(u16),
    /// A compression that this version does not have.
    #[error("compression {0} does not exist")]
    UnknownCompression(u16),
    /// A length or count in the frame that is out of bounds.
    #[error("its frame gives {what} as {value}, which is out of bounds")]
    OutOfBounds {
        /// Which number.
        what: &'static str,
        /// The number.
        value: u64,
    },
    /// The block's first event is not the one after the last event of the block before.
    #[error("it begins with event {found}, where event {expected} comes next")]
    NotInOrder {
        /// The event that comes next.
        expected: u64,
        /// The event in the frame.
        found: u64,
    },
    /// The payload cannot be decompressed to the length in the frame.
    #[error("its payload cannot be decompressed: {0}")]
    Compression(String),
    /// A bad event.
    #[error("event {event}: {fault}")]
    Encoding {
        /// Number of the event in the trace.
        event: u64,
        /// What is wrong with it.
        fault: EncodingFault,
    },
    /// Bad table rows.
    #[error(transparent)]
    Tables(#[from] TablesFault),
}
