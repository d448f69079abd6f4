//! Whether only the caller can have written something.

use rustix::process::geteuid;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Others who may write.
const OTHERS: u32 = 0o022;
/// Of a folder: who can write to it can remove only what is theirs.
const STICKY: u32 = 0o1000;

/// Whether nobody but the caller, and the system's administrator, can change what is in a folder or put another one in
/// its place. `path` is absolute.
#[must_use]
pub fn is_private_folder(path: &Path) -> bool {
    let Ok(real) = fs::canonicalize(path) else { return false };
    let me = geteuid().as_raw();
    // The folder itself must be the caller's, and nobody else's to write to. Those above must not let others rename.
    let own =
        fs::symlink_metadata(path).is_ok_and(|about| about.is_dir() && about.uid() == me && about.mode() & OTHERS == 0);
    // Also along the way of links that lead there.
    own && [path, &real]
        .into_iter()
        .all(|path| above(path).iter().all(|folder| keeps_names(folder, me)))
}

/// Whether a file is the caller's, regular, and nobody else's to write to.
#[must_use]
pub fn is_private_file(path: &Path) -> bool {
    fs::symlink_metadata(path)
        .is_ok_and(|about| about.is_file() && about.uid() == geteuid().as_raw() && about.mode() & OTHERS == 0)
}

fn above(path: &Path) -> Vec<PathBuf> {
    let plain = path.components().all(|part| !matches!(part, Component::ParentDir));
    if !plain || !path.is_absolute() {
        // Such a name is not looked at: it is refused, since no folder is called so.
        return vec![PathBuf::new()];
    }
    path.ancestors().skip(1).map(Path::to_owned).collect()
}

/// Whether only the caller or the administrator can rename what is in a folder that is theirs.
fn keeps_names(folder: &Path, me: u32) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|about| {
        let trusted = about.uid() == me || about.uid() == 0;
        // A link cannot be written to; who owns it can be trusted, and where it leads is looked at, too.
        trusted && (about.is_symlink() || about.mode() & OTHERS == 0 || about.mode() & STICKY != 0)
    })
}
