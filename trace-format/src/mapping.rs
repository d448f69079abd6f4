//! The bytes of a trace file, mapped into memory instead of read.

use memmap2::Mmap;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::os::fd::BorrowedFd;
use std::path::Path;

/// The content of a file, or bytes that stand for it.
#[derive(Debug)]
pub(crate) enum Mapping {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

impl Mapping {
    /// Maps a file. A pipe or a device cannot be mapped and is read to its end.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        if file.metadata()?.is_file() {
            return map(&file).map(Self::Mapped);
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Self::Owned(bytes))
    }
}

#[expect(unsafe_code, reason = "a mapping cannot promise that nobody else changes the file")]
fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: The mapping is private to this process and read only; what remains is that another
    // process may change the file while it is mapped. Our writers never do: they only append to a
    // partial file, beyond the length mapped here, and a finished file is put in place by a rename,
    // which leaves this mapping on the old one. Against anyone else: all bytes are `u8`, for which
    // every bit pattern is valid, and no code relies on a byte having the same value when it is
    // read again (each length and index taken from the file is checked where it is used). A file
    // that somebody truncates meanwhile ends the process with SIGBUS, not with a wrong result
    // ([`end_if_truncated`]).
    unsafe { Mmap::map(file) }
}

/// What is said when a file has become shorter.
const TRUNCATED: &[u8] =
    b"witness: a trace became shorter while it was read, or its disk cannot be read: leave it alone meanwhile\n";

/// From now on, ends the process with this status and a message should a mapped file become shorter while it is read:
/// the system sends a signal then, and what is no longer there cannot be read.
///
/// # Errors
/// If the system does not let a handler be installed.
#[expect(
    unsafe_code,
    reason = "a signal handler may do little, and cannot say so in its type"
)]
pub fn end_if_truncated(status: i32) -> io::Result<()> {
    let handler = move || {
        // SAFETY: standard error is not closed by this program.
        let stderr = unsafe { BorrowedFd::borrow_raw(2) };
        // Nobody may be there to hear it.
        let _ = rustix::io::write(stderr, TRUNCATED);
        signal_hook::low_level::exit(status);
    };
    // SAFETY: the handler makes two system calls, does not allocate, takes no lock and does not return.
    unsafe { signal_hook::low_level::register(signal_hook::consts::SIGBUS, handler) }.map(drop)
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(bytes) => bytes,
        }
    }
}
