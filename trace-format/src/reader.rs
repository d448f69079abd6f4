//! Reads a trace file.

use crate::error::ReadError;
use crate::event::Event;
use crate::identity::TraceId;
use crate::tables::{ProgramEnd, Tables};
use std::path::Path;

/// How a trace file ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The file was finished.
    Complete {
        /// How the program ended.
        program: ProgramEnd,
    },
    /// The file was not finished, or lost its end: it holds the first events only.
    Cut {
        /// How many events it holds.
        events: u64,
        /// Where the last good block ends, in bytes.
        offset: u64,
        /// What follows there.
        cause: CutCause,
    },
}

/// What the reader found where a cut file ends.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CutCause {
    /// Nothing: the file ends with a whole block.
    NoFooter,
}

/// A block of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockInfo {
    /// Number of the block in the file, counting blocks of every kind.
    pub number: u64,
    /// Where it begins in the file, in bytes.
    pub offset: u64,
    /// Number of its first event.
    pub first_event: u64,
    /// How many events it holds.
    pub events: u32,
    /// Length on file, in bytes, frame included.
    pub stored_bytes: u64,
    /// Length of its events before compression, in bytes.
    pub raw_bytes: u32,
}

/// A trace file, open for reading.
pub struct TraceFile;

#[expect(
    unused_variables,
    missing_docs,
    clippy::missing_errors_doc,
    reason = "signatures first"
)]
impl TraceFile {
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        todo!()
    }
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Self, ReadError> {
        todo!()
    }
    pub fn tables(&self) -> &Tables {
        todo!()
    }
    pub fn len(&self) -> u64 {
        todo!()
    }
    pub fn is_empty(&self) -> bool {
        todo!()
    }
    pub fn ending(&self) -> &Ending {
        todo!()
    }
    pub fn id(&self) -> TraceId {
        todo!()
    }
    pub fn blocks(&self) -> &[BlockInfo] {
        todo!()
    }
    pub fn decode_block(&self, index: usize, out: &mut Vec<Event>) -> Result<(), ReadError> {
        todo!()
    }
    pub fn events(&self) -> impl Iterator<Item = Result<Event, ReadError>> + '_ {
        self.events_from(0)
    }
    pub fn events_from(&self, number: u64) -> impl Iterator<Item = Result<Event, ReadError>> + '_ {
        std::iter::from_fn(|| todo!())
    }
}
