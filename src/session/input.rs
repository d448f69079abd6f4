//! Standard input, for programs that run more than once.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsFd;

/// A place in standard input from which each run reads, if it is a file: one run would else leave nothing to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StandardInput {
    position: Option<u64>,
}

impl StandardInput {
    /// The place up to which it has been read now.
    #[must_use]
    pub fn here() -> StandardInput {
        StandardInput {
            position: file().and_then(|mut file| file.stream_position().ok()),
        }
    }

    /// Which file it is, and from where it is read, in words; `None` if it is no file.
    #[must_use]
    pub(crate) fn describe(self) -> Option<String> {
        use std::os::unix::fs::MetadataExt;
        let metadata = file()?.metadata().ok()?;
        let (device, inode, length) = (metadata.dev(), metadata.ino(), metadata.len());
        let (second, part) = (metadata.mtime(), metadata.mtime_nsec());
        let from = self.position?;
        Some(format!(
            "{device}:{inode}, {length} bytes of {second}.{part}, from {from}"
        ))
    }

    /// Whether each run reads the same, from a file: then two cannot read at the same time.
    #[must_use]
    pub fn is_file(self) -> bool {
        self.position.is_some()
    }

    /// Goes back to it. Of a terminal or a pipe, what was read is gone.
    pub fn rewind(self) {
        if let (Some(position), Some(mut file)) = (self.position, file()) {
            // What cannot be read again is not.
            let _ = file.seek(SeekFrom::Start(position));
        }
    }
}

/// Standard input, if it is a file.
fn file() -> Option<File> {
    let file = File::from(io::stdin().as_fd().try_clone_to_owned().ok()?);
    file.metadata().is_ok_and(|metadata| metadata.is_file()).then_some(file)
}
