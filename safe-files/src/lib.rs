//! The one way in which `witness` makes, opens and replaces files.
//!
//! A folder may hold what somebody else has put there: an archive was unpacked, a bug tracker delivered it, or it is one
//! for temporary files that everybody can write to. So a name that we derive from another one (`trace.bin.partial`,
//! `trace.bin.witnesses/journal`) may already stand for a link to a file that matters, or for a pipe that never ends.
//!
//! | file | how |
//! |---|---|
//! | is written as a whole | [`Draft`]: a new file beside it, never an existing one, which then takes its name |
//! | grows, or is changed in place | [`open_log`]: a regular file of the caller's with no second name |
//! | is read, and was written by us | [`read`]: a regular file, not a link, up to a size; [`holds`] compares it |
//! | is read, and is named by a trace | [`read_named`]: a regular file of a disk, up to a size |
//! | folder | [`make_folder`]: no link |
//! | scratch | [`ScratchFolder`]: a new folder with a random name, only for the caller |
//!
//! The folder that a user names is followed wherever it leads: only the names that are derived from it are not.

mod draft;
mod log;
mod private;
mod scratch;

pub use draft::{Draft, Readers, beside, create_new, write};
pub use log::{append, holds, open_log, open_named, open_to_change, read, read_given, read_named};
pub use private::{is_private_file, is_private_folder};
pub use scratch::{ScratchFolder, random_name};

use std::fs::{self, DirBuilder};
use std::io;
use std::path::Path;

/// Makes a folder and those above it. What is there already must be a folder, not a link to one.
///
/// # Errors
/// If it cannot be made, or something else has its name.
pub fn make_folder(path: &Path) -> io::Result<()> {
    if let Err(error) = DirBuilder::new().recursive(true).create(path)
        && fs::symlink_metadata(path).is_err()
    {
        return Err(error);
    }
    let found = fs::symlink_metadata(path)?;
    if found.is_symlink() {
        return Err(refused(
            "it is a symbolic link, and links are not followed here; name the folder that it leads to",
        ));
    }
    if found.is_dir() {
        Ok(())
    } else {
        Err(io::ErrorKind::NotADirectory.into())
    }
}

/// An error that says why a file is not used.
fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}
