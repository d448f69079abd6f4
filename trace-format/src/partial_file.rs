//! A file that is written under another name.
//!
//! Output goes to `<path>.partial`; only a finished trace takes the name `path`. A recording that fails never destroys
//! an older good trace, and its output stays under the partial name, where it can be read as a cut trace.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The destination of [`TraceWriter::create`](crate::TraceWriter::create).
#[derive(Debug)]
pub struct PartialFile {
    file: File,
    partial: PathBuf,
    path: PathBuf,
}

impl PartialFile {
    /// Where a trace for `path` is kept until it is finished.
    #[must_use]
    pub fn partial_path(path: &Path) -> PathBuf {
        let mut name = OsString::from(path);
        name.push(".partial");
        PathBuf::from(name)
    }

    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let partial = Self::partial_path(path);
        Ok(Self {
            file: File::create(&partial)?,
            partial,
            path: path.to_owned(),
        })
    }

    /// Gives the file its final name, once its content is safely on disk.
    pub(crate) fn publish(self) -> io::Result<()> {
        // Without this a power failure could leave the new name with no content behind it.
        self.file.sync_data()?;
        std::fs::rename(&self.partial, &self.path)
    }
}

impl Write for PartialFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
