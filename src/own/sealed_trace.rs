//! A trace that is sealed while it is written. Reading it again for that, once it is complete, took as long as writing it.

use super::{Own, Seal, not_remembered};
use blake3::Hasher;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use trace_format::PartialFile;

/// The file of a trace that is being recorded. Its seal is that of what was written, whatever has its name by then.
#[derive(Debug)]
pub(crate) struct SealedTrace {
    file: PartialFile,
    path: PathBuf,
    /// `None` if nothing can be known to be the user's own.
    seal: Option<(&'static Own, Hasher)>,
}

impl SealedTrace {
    /// Begins a trace that will be at `path`.
    pub(crate) fn begin(path: &Path) -> io::Result<Self> {
        Self::begin_as(path, Own::of_user())
    }

    fn begin_as(path: &Path, own: Option<&'static Own>) -> io::Result<Self> {
        Ok(Self {
            file: PartialFile::create(path)?,
            path: path.to_owned(),
            seal: own.map(|own| (own, own.trace_hasher())),
        })
    }

    /// Gives the trace its name, and remembers that it was recorded here.
    pub(crate) fn publish(self) -> io::Result<()> {
        self.file.publish()?;
        if let Some((own, hasher)) = self.seal
            && let Err(error) = own.remember_seal(Seal::of(&hasher))
        {
            not_remembered(&self.path, &error);
        }
        Ok(())
    }
}

impl Write for SealedTrace {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        if let Some((_, hasher)) = &mut self.seal {
            hasher.update(&bytes[..written]);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use safe_files::ScratchFolder;
    use std::fs;

    #[test]
    fn what_was_written_is_known_and_nothing_else() {
        let folder = ScratchFolder::new("own-sealed").unwrap();
        let own: &'static Own = Box::leak(Box::new(Own::at(&folder.path().join("state")).unwrap()));
        let (trace, other) = (folder.path().join("a"), folder.path().join("b"));
        let mut file = SealedTrace::begin_as(&trace, Some(own)).unwrap();
        // In pieces that do not fit the digest's own.
        for len in [20, 36, 1 << 18, 36, 5000] {
            file.write_all(&vec![7; len]).unwrap();
        }
        assert!(!own.has_recorded(&PartialFile::partial_path(&trace)));
        file.publish().unwrap();
        assert!(own.has_recorded(&trace));

        // What takes the place of the file meanwhile is not what was written.
        let mut file = SealedTrace::begin_as(&other, Some(own)).unwrap();
        file.write_all(b"a trace").unwrap();
        let partial = PartialFile::partial_path(&other);
        fs::remove_file(&partial).unwrap();
        fs::write(&partial, "of somebody else").unwrap();
        file.publish().unwrap();
        assert!(!own.has_recorded(&other));
    }
}
