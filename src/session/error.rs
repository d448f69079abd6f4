//! Why there was no run.

use super::inspect::NotRecordable;
use recorder_ring::Corrupt;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use trace_format::{ReadError, WriteError};

/// The status with which the dynamic linker ends a program that lacks a library or a symbol.
pub(super) const LINKER_FAILED: i32 = 127;

/// Why a program did not run, or left no trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The program cannot be recorded.
    #[error(transparent)]
    NotRecordable(#[from] NotRecordable),
    /// The runtime cannot be unpacked.
    #[error("cannot unpack the recorder's runtime to {folder}")]
    Unpack {
        /// Where to.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// This build of `witness` holds no runtime.
    #[error("this build of witness cannot record: the recorder is for x86-64 Linux with glibc")]
    NoRuntime,
    /// Another recording has the trace's name.
    #[error("{}: another recording is writing it{holder}; name another file with -o", path.display())]
    NameTaken {
        /// The trace.
        path: PathBuf,
        /// Which process, in words, or nothing.
        holder: String,
    },
    /// A command of the user's that belongs to a run failed.
    #[error("cannot run {:?} for the program: {why}", command.display())]
    Setup {
        /// The command.
        command: OsString,
        /// Why.
        why: String,
    },
    /// No shared memory.
    #[error("cannot create the memory shared with the program")]
    Ring(#[source] io::Error),
    /// What the program prints cannot be kept.
    #[error("cannot keep what the program prints")]
    Output(#[source] io::Error),
    /// Signals cannot be passed on.
    #[error("cannot install signal handlers")]
    Signals(#[source] io::Error),
    /// The program does not start.
    #[error("cannot start {}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The program's end is not known.
    #[error("cannot wait for the program")]
    Wait(#[source] io::Error),
    /// The program wrote over the shared memory.
    #[error(transparent)]
    Corrupt(#[from] Corrupt),
    /// A trace without an end cannot be gone on with.
    #[error("cannot read the unfinished trace")]
    Read(#[source] ReadError),
    /// The trace file cannot be written.
    #[error("cannot write the trace")]
    Write(#[from] WriteError),
    /// It never began to run.
    #[error(
        "the program did not start: the dynamic linker ended it with status {LINKER_FAILED}; its message above says what is missing"
    )]
    NotLinked,
    /// The program ran without the runtime.
    #[error(
        "the program ran, but did not load the recorder's runtime (a set-user-id program? a library path built into it?)"
    )]
    NotAttached,
    /// The program was killed by a signal of this name before the runtime began.
    #[error(
        "the program was killed by {0} before anything was recorded: in a constructor of a library, or since it did not \
         load the recorder's runtime"
    )]
    KilledBefore(String),
    /// The runtime does not know the program's C library.
    #[error(
        "the recorder does not know the program's C library; the message above says what differs, and docs/limits.md which versions are supported"
    )]
    UnknownLibrary,
}
