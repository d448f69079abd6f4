//! The rings of a run.

use super::error::RunError;
use recorder_ring::plan::Words;
use recorder_ring::{Ring, Settings};
use std::path::Path;

/// Words in the ring of rows: 512 KiB.
const ROW_WORDS: u64 = 64 << 10;
/// Bytes in the ring of events: little enough to stay in the processor's cache on the way from one process to the
/// other.
const EVENT_BYTES: u64 = 2 << 20;

/// Of a run whose trace nobody would look for if this process were killed.
pub(super) fn in_memory(settings: Settings, plan: &[&[Words]]) -> Result<Ring, RunError> {
    Ring::with_plan(ROW_WORDS, EVENT_BYTES, settings, plan).map_err(RunError::Ring)
}

/// Of a run that is recorded: the file stays if not all of it could be written to the trace.
pub(crate) fn on_file(path: &Path, settings: Settings) -> Result<Ring, RunError> {
    Ring::create_at(path, ROW_WORDS, EVENT_BYTES, settings).map_err(RunError::Ring)
}
