//! Folders for files that are needed for a moment.

use std::fs::{self, DirBuilder};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A folder that only the caller can look into, under a name that nobody can know before. It goes when this is dropped.
#[derive(Debug)]
pub struct ScratchFolder(PathBuf);

impl ScratchFolder {
    /// Makes one where the system keeps temporary files.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new(name: &str) -> io::Result<ScratchFolder> {
        ScratchFolder::new_in(&std::env::temp_dir(), name)
    }

    /// Makes one in another folder.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new_in(parent: &Path, name: &str) -> io::Result<ScratchFolder> {
        let path = parent.join(random_name(name));
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(ScratchFolder(path))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Keeps it.
    #[must_use]
    pub fn keep(self) -> PathBuf {
        let path = self.0.clone();
        std::mem::forget(self);
        path
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        // What is left in a folder for temporary files harms nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A name with 64 random bits behind it.
#[must_use]
pub fn random_name(name: &str) -> String {
    // Seeded by the system for each process, and different for each call.
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    format!("{name}-{:016x}", hasher.finish())
}
