//! The errors of reading and of writing a trace file.
//!
//! Each names the file, the place in it where there is one, and what the user can do about it.

use crate::fault::{BlockFault, EncodingFault, EventFault, TablesFault};
use crate::header::FormatVersion;
use std::io;
use std::path::PathBuf;

/// Why a trace file could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The operating system could not open or map the file.
    #[error("{file}: cannot be read: {source}")]
    Io {
        /// The file.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// The file is something else.
    #[error("{file}: not a witness trace (bytes 0 to 8 are not the mark of one); make one with `witness record`")]
    NotATrace {
        /// The file.
        file: String,
    },
    /// The tables are larger than any recording's are, for a file of that length.
    #[error(
        "{file}: its tables take {raw} bytes once they are decompressed, and a file of {length} bytes may have {most}: no recorder writes such a file"
    )]
    TablesTooLarge {
        /// The file.
        file: String,
        /// Bytes of the tables before compression.
        raw: u64,
        /// Length of the file.
        length: u64,
        /// The limit.
        most: u64,
    },
    /// The file ends inside its header: the recording was killed before its first event.
    #[error("{file}: ends after {length} bytes, inside the header: nothing was recorded; record again")]
    NoHeader {
        /// The file.
        file: String,
        /// Its length in bytes.
        length: u64,
    },
    /// The header does not match its checksum.
    #[error("{file}: the header (bytes 0 to 20) is damaged; restore the file from a copy or record again")]
    DamagedHeader {
        /// The file.
        file: String,
    },
    /// Written by a newer version: the reader is the side that is too old.
    #[error(
        "{file}: has format version {found}, and this program reads up to {newest}: this program is too old; \
         update it"
    )]
    TooNew {
        /// The file.
        file: String,
        /// Version of the file.
        found: FormatVersion,
        /// The newest version that this reader knows.
        newest: FormatVersion,
    },
    /// Written by a version that is no longer read: the file is the side that is too old.
    #[error(
        "{file}: has format version {found}, and this program reads from {oldest} on: the file is too old; \
         record again"
    )]
    TooOld {
        /// The file.
        file: String,
        /// Version of the file.
        found: FormatVersion,
        /// The oldest version that this reader knows.
        oldest: FormatVersion,
    },
    /// The header has flags that this version does not define.
    #[error("{file}: the header has unknown flags {flags:#06x}: this program is too old; update it")]
    UnknownFlags {
        /// The file.
        file: String,
        /// All flags of the header.
        flags: u16,
    },
    /// The header names a compression that this version does not have.
    #[error("{file}: is compressed with method {codec}, which this program does not know; update it")]
    UnknownCodec {
        /// The file.
        file: String,
        /// Number of the method.
        codec: u32,
    },
    /// The bytes after the footer, which say where the footer is, are damaged or are not the last ones.
    #[error(
        "{file}: the end mark at byte {offset} is damaged, or other bytes follow it; \
         restore the file from a copy or record again"
    )]
    DamagedTrailer {
        /// The file.
        file: String,
        /// Where the trailer is, or should be.
        offset: u64,
    },
    /// The file is marked as complete and its footer (the index of its blocks) is damaged.
    #[error("{file}: the index at byte {offset} is damaged: {fault}; restore the file from a copy or record again")]
    DamagedFooter {
        /// The file.
        file: String,
        /// Where the footer block begins.
        offset: u64,
        /// What is wrong with it.
        fault: FooterFault,
    },
    /// A block that is damaged, in a complete file or with good blocks after it.
    #[error("{file}: block {block} at byte {offset} is damaged: {fault}; restore the file from a copy or record again")]
    DamagedBlock {
        /// The file.
        file: String,
        /// Number of the block in the file, from 0, counting blocks of every kind.
        block: u64,
        /// Where it begins.
        offset: u64,
        /// What is wrong with it.
        fault: BlockFault,
    },
    /// The caller asked for a block of events that the file does not have.
    #[error("{file}: has {blocks} blocks of events, there is no block {index}")]
    NoSuchBlock {
        /// The file.
        file: String,
        /// The index asked for.
        index: usize,
        /// How many there are.
        blocks: usize,
    },
}

/// What is wrong with the footer of a complete file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FooterFault {
    /// The block that holds it.
    #[error(transparent)]
    Block(#[from] BlockFault),
    /// The footer is not where the end mark says, or does not reach up to it.
    #[error("it is not where the end mark says")]
    Misplaced,
    /// Its length is not that of its entries.
    #[error("its length of {0} bytes is not that of an index")]
    Length(usize),
    /// Its way of saying how the program ended is not defined.
    #[error("it gives an unknown program end {0}")]
    UnknownEnd(u32),
    /// Its entries do not follow one another without a gap from the header to the footer.
    #[error("its entry {entry} does not begin where the block before ends")]
    Gap {
        /// Number of the entry.
        entry: u64,
    },
    /// One of its entries is not a valid frame of a table or event block.
    #[error("its entry {entry} is not a block: {fault}")]
    Entry {
        /// Number of the entry.
        entry: u64,
        /// What is wrong with it.
        fault: BlockFault,
    },
}

/// Why a trace could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The operating system could not create, write or rename the file.
    #[error("{}: cannot be written: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// An earlier write failed: what is on file up to there stays readable, nothing can be added.
    #[error("{}: an earlier write failed, and the trace ends there", .path.display())]
    Stopped {
        /// The file.
        path: PathBuf,
    },
    /// The event cannot stand in a trace. It was not written; the next one can be.
    #[error("event {number} cannot be written: {fault}")]
    InvalidEvent {
        /// The number it would have had.
        number: u64,
        /// What is wrong with it.
        fault: EventFault,
    },
    /// A block that was encoded elsewhere is none.
    #[error("the block of events from number {number} on cannot be written: {fault}")]
    InvalidBlock {
        /// The number of its first event.
        number: u64,
        /// What is wrong with it.
        fault: EncodingFault,
    },
    /// Rows of the tables contradict one another.
    #[error("the tables cannot be written: {0}")]
    InvalidTables(#[from] TablesFault),
    /// One row of the tables is larger than a block can be.
    #[error("a row of the tables takes {bytes} bytes, and at most {limit} are possible")]
    RowTooLarge {
        /// Size of the block that holds it.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The trace has more blocks than its index can hold; use larger blocks.
    #[error("{}: has more blocks than an index can hold; write larger blocks", .path.display())]
    TooManyBlocks {
        /// The file.
        path: PathBuf,
    },
}
