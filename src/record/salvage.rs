//! What a recorder that was killed has left: a trace without an end, and the ring beside it.
//!
//! A ring is a file as long as a program is recorded ([`ring_path`]), and what is released from it is on file. So
//! nothing that the program did until its recorder died is lost, nor what it did afterwards until the ring was full.

use crate::session::process::is_running;
use crate::session::{RunError, Translator, WRITER};
use recorder_ring::{Flag, Reopen, Ring};
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use trace_format::{TraceFile, TraceWriter, WriteError};

/// Where the ring of a process is whose trace will be at `trace`.
pub(super) fn ring_path(trace: &Path) -> PathBuf {
    let mut name = OsString::from(trace);
    name.push(".ring");
    PathBuf::from(name)
}

/// What became of the ring beside a trace without an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Salvage {
    /// There is none, or it is in use: the trace is as it is.
    Nothing,
    /// The program that fills it still runs.
    Running {
        /// The process.
        process: u32,
    },
    /// The trace has all of it now.
    Done {
        /// Events that were appended.
        events: u64,
        /// The ring was full once: the program did more than that.
        overflowed: bool,
        /// With what status the program ended, if it did so in good order and nothing is missing.
        ended: Option<u8>,
    },
}

/// Appends to a cut trace, `….partial`, what its recorder could not write any more.
///
/// # Errors
/// If the trace cannot be read or written, or the program has written over the ring.
pub fn salvage(partial: &Path) -> Result<Salvage, RunError> {
    let Some(ring_file) = partial
        .extension()
        .filter(|extension| *extension == "partial")
        .map(|_| ring_path(&partial.with_extension("")))
        .filter(|ring| ring.exists())
    else {
        return Ok(Salvage::Nothing);
    };
    let (mut ring, len) = match Ring::reopen(&ring_file) {
        Ok(found) => found,
        Err(Reopen::InUse | Reopen::NoRing) => return Ok(Salvage::Nothing),
        Err(Reopen::Io(error)) => return Err(RunError::Ring(error)),
    };
    let done = append(partial, &mut ring, len);
    if matches!(done, Ok(Salvage::Running { .. })) {
        // Dropping it would tell the program that it was full.
        std::mem::forget(ring);
        return done;
    }
    // Only a ring of which everything is on file is not needed any more.
    if !matches!(done, Ok(Salvage::Done { .. })) {
        ring.leave();
    }
    done
}

fn append(partial: &Path, ring: &mut Ring, len: u64) -> Result<Salvage, RunError> {
    if let Some(process) = ring.process().filter(|&process| is_running(process)) {
        return Ok(Salvage::Running { process });
    }
    let io = |source| WriteError::Io {
        path: partial.to_owned(),
        source,
    };
    let file = OpenOptions::new().write(true).open(partial).map_err(io)?;
    if file.metadata().map_err(io)?.len() < len {
        // Something else has changed it: it cannot be said what is missing.
        return Ok(Salvage::Nothing);
    }
    // What is behind was not released: it is in the ring.
    file.set_len(len).map_err(io)?;
    let trace = TraceFile::open(partial).map_err(RunError::Read)?;
    let (before, tables) = (trace.len(), trace.tables().clone());
    let writer = TraceWriter::resume(partial, trace, &WRITER)?;
    let mut translator = Translator::resume(writer, &tables);
    translator.follow(ring)?;
    translator.follow_to_end(ring)?;
    let overflowed = ring.has(Flag::Abandoned);
    // How a program ended that did not say so is known to nobody any more.
    let ended = ring.exit().filter(|_| translator.is_finished() && !overflowed);
    Ok(Salvage::Done {
        events: translator.close(ring)? - before,
        overflowed,
        ended,
    })
}
