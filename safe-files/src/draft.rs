//! Files that are written as a whole: under another name, which nobody else can have prepared, and renamed when they
//! are complete. What has the name until then stays as it is.

use rustix::fs::OFlags;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Who may read a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Its owner: traces hold the memory and the environment of a program.
    Owner,
    /// Those that the caller's umask leaves.
    AsUsual,
}

/// How often somebody else may be quicker with a file of the same name.
const TRIES: usize = 100;

/// A file that has another name until it is complete.
#[derive(Debug)]
pub struct Draft {
    file: File,
    draft: PathBuf,
    path: PathBuf,
}

/// A name with something behind it: `trace.bin.partial`.
#[must_use]
pub fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// A file that is not there yet: whoever of several makes it first has made it.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`], also if the name is that of a link; what else the system says.
pub fn create_new(path: &Path, readers: Readers) -> io::Result<File> {
    let mode = match readers {
        Readers::Owner => 0o600,
        Readers::AsUsual => 0o666,
    };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(mode);
    options.custom_flags(OFlags::NOFOLLOW.bits() as i32);
    options.open(path)
}

/// A new file, in place of what has the name: a link is removed, not followed.
pub(crate) fn create(path: &Path, readers: Readers) -> io::Result<File> {
    for _ in 0..TRIES {
        match create_new(path, readers) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            },
            opened => return opened,
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

impl Draft {
    /// Begins a file that will be at `path`, and is at `path` with `suffix` until then.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn create(path: &Path, suffix: &str, readers: Readers) -> io::Result<Draft> {
        let draft = beside(path, suffix);
        Ok(Draft {
            file: create(&draft, readers)?,
            draft,
            path: path.to_owned(),
        })
    }

    /// Gives the file its name, once its content is safely on disk.
    ///
    /// # Errors
    /// If it cannot be written or renamed. The draft then stays where it is.
    pub fn publish(self) -> io::Result<()> {
        // Without this a power failure could leave the new name with no content behind it.
        self.file.sync_data()?;
        fs::rename(&self.draft, &self.path)
    }

    /// As [`publish`](Draft::publish) of a file that can be made again: without waiting for the disk.
    ///
    /// # Errors
    /// If it cannot be renamed.
    pub fn rename(self) -> io::Result<()> {
        fs::rename(&self.draft, &self.path)
    }

    /// Removes it.
    pub fn discard(self) {
        // What cannot be removed is only litter.
        let _ = fs::remove_file(&self.draft);
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Writes a whole file in place of what has the name.
///
/// # Errors
/// If it cannot be written.
pub fn write(path: &Path, bytes: &[u8], readers: Readers) -> io::Result<()> {
    let mut draft = Draft::create(path, ".partial", readers)?;
    match draft.write_all(bytes) {
        Ok(()) => draft.rename(),
        Err(error) => {
            draft.discard();
            Err(error)
        }
    }
}
