//! How a trace file ends: complete, or cut, and then why.
//!
//! Two types that every reader of a trace has to look at, so that a cut trace is never taken for a
//! whole one.

use crate::fault::BlockFault;
use crate::tables::ProgramEnd;
use std::fmt;

/// How a trace file ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The file was finished: it holds all that was recorded.
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

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Complete {
                program: ProgramEnd::Unknown,
            } => f.write_str("complete"),
            Self::Complete {
                program: ProgramEnd::Exited(status),
            } => {
                write!(f, "complete; the program exited with status {status}")
            }
            Self::Complete {
                program: ProgramEnd::Signaled(signal),
            } => {
                write!(f, "complete; the program was killed by signal {signal}")
            }
            Self::Complete {
                program: ProgramEnd::Deadlock,
            } => f.write_str("complete; the program ended in a deadlock"),
            Self::Complete {
                program: ProgramEnd::EventLimit,
            } => f.write_str("complete up to where --max-events ended the program"),
            Self::Complete {
                program: ProgramEnd::TimeLimit,
            } => f.write_str("complete up to where --timeout ended the program"),
            Self::Cut { events, offset, cause } => write!(f, "cut at event {events} (byte {offset}): {cause}"),
        }
    }
}

/// What the reader found where a cut file ends.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CutCause {
    /// Nothing: the file ends with a whole block, as it does while it is being written.
    NoFooter,
    /// The beginning of a block.
    TornBlock,
    /// All events, and the beginning of the footer: only how the program ended is lost.
    TornFooter,
    /// Bytes that are not a good block.
    DamagedTail {
        /// How many bytes.
        bytes: u64,
        /// What is wrong with them.
        fault: BlockFault,
    },
}

impl fmt::Display for CutCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFooter => f.write_str("the file was not finished"),
            Self::TornBlock => f.write_str("the file ends inside a block"),
            Self::TornFooter => f.write_str("the file ends inside its index; no event is missing"),
            Self::DamagedTail { bytes, fault } => {
                write!(f, "the last {bytes} bytes are not a good block: {fault}")
            }
        }
    }
}
