//! What a recorder that was killed has left: a trace without an end, and the ring beside it.
//!
//! A ring is a file as long as a program is recorded ([`ring_path`]), and what is released from it is on file. So
//! nothing that the program did until its recorder died is lost, nor what it did afterwards until the ring was full.

use crate::session::process::is_running;
use crate::session::{PRODUCER, RunError, Translator, WRITER};
use recorder_ring::{Corrupt, Flag, Reopen, Ring};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use trace_format::{Ending, Meta, TraceFile, TraceWriter, WriteError};

/// Of a trace that is made from a ring alone.
const NOT_DESCRIBED: &str = "the recorder was killed before it had written down what was run";

/// Of a process whose recorder was killed before it had its ring.
const NOT_BEGUN: &str = "the recorder was killed before it could record anything of this process";

/// Of a process that has written over its ring.
const DAMAGED: &str = "the program wrote over the memory that it shared with its recorder: its last events are lost";

/// Where the ring of a process is whose trace will be at `trace`.
pub(super) fn ring_path(trace: &Path) -> PathBuf {
    safe_files::beside(trace, ".ring")
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
    /// The recorder was killed before it had recorded anything of the process.
    NotBegun,
    /// The trace has what came before a place of the ring that makes no sense: the program has written over it.
    Damaged {
        /// Events that were appended.
        events: u64,
        /// The place: which word of its rows, from the beginning of the run.
        word: u64,
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
/// If the trace cannot be read or written.
pub fn salvage(partial: &Path) -> Result<Salvage, RunError> {
    let Some(ring_file) = partial
        .extension()
        .filter(|extension| *extension == "partial")
        .map(|_| ring_path(&partial.with_extension("")))
        .filter(|ring| ring.exists())
    else {
        return Ok(Salvage::Nothing);
    };
    let (mut ring, len) = match safe_files::open_to_change(&ring_file)
        .map_err(Reopen::Io)
        .and_then(|file| Ring::reopen(&ring_file, file))
    {
        Ok(found) => found,
        Err(Reopen::InUse | Reopen::NoRing) => return Ok(Salvage::Nothing),
        Err(Reopen::Io(error)) => return Err(RunError::Ring(error)),
    };
    let done = append(partial, &mut ring, len);
    // Only a ring of which everything that can be read is on file is not needed any more.
    if !matches!(
        done,
        Ok(Salvage::Done { .. } | Salvage::Damaged { .. } | Salvage::NotBegun)
    ) {
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
    let before = match fs::symlink_metadata(partial) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        found => Some(found.map_err(io)?.len()),
    };
    match before {
        // Nothing was released: all of it is in the ring.
        None | Some(0) if len == 0 => {
            let meta = Meta {
                producer: PRODUCER.to_owned(),
                degraded: vec![NOT_DESCRIBED.to_owned()],
                ..Meta::default()
            };
            finish(Translator::create(&partial.with_extension(""), meta)?, ring, 0)
        }
        // Something else has changed it: it cannot be said what is missing.
        None => Ok(Salvage::Nothing),
        Some(before) if before < len => Ok(Salvage::Nothing),
        Some(_) => {
            let file = safe_files::open_to_change(partial).map_err(io)?;
            // What is behind was not released: it is in the ring. If nothing was, it is only what was run.
            if len > 0 {
                file.set_len(len).map_err(io)?;
            }
            let trace = TraceFile::open(partial).map_err(RunError::Read)?;
            if !matches!(trace.ending(), Ending::Cut { .. }) {
                return Ok(Salvage::Nothing);
            }
            let (events, tables) = (trace.len(), trace.tables().clone());
            let writer = TraceWriter::resume(partial, trace, &WRITER)?;
            finish(Translator::resume(writer, &tables), ring, events)
        }
    }
}

/// Appends what is in the ring to a trace that has so many events.
fn finish<W: Write>(mut translator: Translator<W>, ring: &mut Ring, before: u64) -> Result<Salvage, RunError> {
    translator.distrust();
    if let Err(error) = translator.follow(ring).and_then(|_| translator.follow_to_end(ring)) {
        let RunError::Corrupt(Corrupt { word }) = error else {
            return Err(error);
        };
        translator.degrade(DAMAGED);
        return Ok(Salvage::Damaged {
            events: translator.close(ring)? - before,
            word,
        });
    }
    if !ring.has(Flag::Attached) {
        translator.degrade(NOT_BEGUN);
        translator.close(ring)?;
        return Ok(Salvage::NotBegun);
    }
    let overflowed = ring.has(Flag::Abandoned);
    // How a program ended that did not say so is known to nobody any more.
    let ended = ring.exit().filter(|_| translator.is_finished() && !overflowed);
    Ok(Salvage::Done {
        events: translator.close(ring)? - before,
        overflowed,
        ended,
    })
}
