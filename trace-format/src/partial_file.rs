//! A file that is written under another name.
//!
//! Output goes to `<path>.partial`; only a finished trace takes the name `path`. A recording that fails never destroys
//! an older good trace, and its output stays under the partial name, where it can be read as a cut trace. Traces hold
//! what a program had in memory, so only their owner can read them.

use safe_files::{Draft, Readers, beside};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Behind the name of a trace without an end.
const SUFFIX: &str = ".partial";

/// The destination of [`TraceWriter::create`](crate::TraceWriter::create).
#[derive(Debug)]
pub struct PartialFile(Draft);

impl PartialFile {
    /// Where a trace for `path` is kept until it is finished.
    #[must_use]
    pub fn partial_path(path: &Path) -> PathBuf {
        beside(path, SUFFIX)
    }

    /// Begins a file that will be a trace at `path`.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn create(path: &Path) -> io::Result<Self> {
        Draft::create(path, SUFFIX, Readers::Owner).map(PartialFile)
    }

    /// Gives the file its final name, once its content is safely on disk.
    ///
    /// # Errors
    /// If it cannot be written or renamed.
    pub fn publish(self) -> io::Result<()> {
        self.0.publish()
    }
}

impl Write for PartialFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
