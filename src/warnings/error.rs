//! Why a report cannot be read.

use super::Format;

/// Why a report cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Its content looks like no report that is known.
    #[error(
        "{file} has no report that is known (of ThreadSanitizer, Helgrind, DRD, Go or witness, and no list of file:line file:line), \
         from line 1 to its end; if it is one, name its kind with --format"
    )]
    UnknownFormat {
        /// The report.
        file: String,
    },
    /// It has nothing of the kind that it is said to be, and is of another.
    #[error("{file} has no warning of {format}, and is a report of {other}: leave out --format, or name that kind")]
    OtherFormat {
        /// The report.
        file: String,
        /// What it is said to be.
        format: Format,
        /// What it is.
        other: Format,
    },
    /// It is no well-formed XML.
    #[error("{file}:{line}: not well-formed XML: {reason}; if the program was killed, let it run to its end")]
    Xml {
        /// The report.
        file: String,
        /// Line, from 1.
        line: u32,
        /// What is wrong there.
        reason: String,
    },
    /// It is XML, but not of a tool or a version that is known.
    #[error("{file}:{line}: {reason}; use valgrind --tool=helgrind or --tool=drd with --xml=yes --xml-file=FILE")]
    NotValgrind {
        /// The report.
        file: String,
        /// Line, from 1.
        line: u32,
        /// What is wrong there.
        reason: String,
    },
    /// It is no results object.
    #[error("{file}:{line}: not results of witness: {reason}; `witness analyze TRACE --json` writes them")]
    Results {
        /// The report.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong there.
        reason: String,
    },
    /// A line of a list is no pair of positions.
    #[error("{file}:{line}: {reason}; each line is file:line file:line")]
    Pair {
        /// The list.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong there.
        reason: String,
    },
}
