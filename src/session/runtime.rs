//! The runtime's way into the program: unpacked once, where only the caller can write, and found first.

use super::error::RunError;
use recorder_ring::layout::RING_VARIABLE;
use recorder_ring::{Ring, RingPath};
use safe_files::{ScratchFolder, is_private_file, is_private_folder};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The shared object, as the build script made it; empty on platforms without a recorder.
static RUNTIME: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/runtime.so"));

/// The file, under the name that gcc 11 and later ask for.
const FILE: &str = "libtsan.so.2";
/// The names that other compilers ask for.
const OTHER_NAMES: [&str; 4] = [
    "libtsan.so.0",
    "libtsan.so.1",
    "libclang_rt.tsan-x86_64.so",
    "libclang_rt.tsan.so",
];

/// Others may read it: a program may start another one under another user.
const FOR_ALL: u32 = 0o755;

/// The folder that holds the runtime, under the names that compilers ask for: to link against it.
///
/// # Errors
/// If it cannot be unpacked there.
pub fn runtime_folder() -> Result<PathBuf, RunError> {
    unpack()
}

/// A folder that holds nothing but a link to this program under a name, by which another program finds it.
///
/// # Errors
/// If it cannot be made.
pub fn link_folder(program: &Path, name: &str) -> Result<PathBuf, RunError> {
    let folder = format!(
        "{name}-{}",
        &blake3::hash(program.as_os_str().as_bytes()).to_hex()[..16]
    );
    let make = |draft: &Path| symlink(program, draft.join(name));
    let is_whole = |folder: &Path| {
        is_private_folder(folder)
            && fs::read_link(folder.join(name)).is_ok_and(|to| to == program)
            && fs::read_dir(folder).is_ok_and(|entries| entries.count() == 1)
    };
    kept(&folder, &make, &is_whole)
}

/// A file of this name and text, where other programs find it.
///
/// # Errors
/// If it cannot be made.
pub fn kept_file(name: &str, text: &str) -> Result<PathBuf, RunError> {
    let folder = format!("{name}-{}", &blake3::hash(text.as_bytes()).to_hex()[..16]);
    let make = |draft: &Path| fs::write(draft.join(name), text);
    let is_whole = |folder: &Path| {
        is_private_folder(folder) && fs::read(folder.join(name)).is_ok_and(|found| found == text.as_bytes())
    };
    Ok(kept(&folder, &make, &is_whole)?.join(name))
}

/// Unpacks the runtime, unless this was done before; the folder that holds it. Programs load what they find there, so it
/// is a folder that nobody but the caller can write to, or have prepared.
pub(super) fn unpack() -> Result<PathBuf, RunError> {
    if RUNTIME.is_empty() {
        return Err(RunError::NoRuntime);
    }
    let make = |draft: &Path| {
        let file = draft.join(FILE);
        fs::write(&file, RUNTIME)?;
        fs::set_permissions(&file, fs::Permissions::from_mode(FOR_ALL & 0o666))?;
        OTHER_NAMES
            .iter()
            .try_for_each(|other| symlink(FILE, draft.join(other)))
    };
    kept(concat!("runtime-", env!("WITNESS_RUNTIME_HASH")), &make, &is_whole)
}

/// Makes a folder of this name where it will be found again, unless this was done before.
fn kept(name: &str, make: Make<'_>, is_whole: IsWhole<'_>) -> Result<PathBuf, RunError> {
    let temporary = std::env::temp_dir().join(format!("witness-{}", rustix::process::getuid().as_raw()));
    let usual = cache().into_iter().chain([temporary.clone()]);
    for parent in usual {
        // No home, one that cannot be written to, or one that others can write to.
        if let Ok(folder) = kept_in(&parent, name, make, is_whole) {
            return Ok(folder);
        }
    }
    let fresh = || {
        let folder = ScratchFolder::new("witness")?.keep();
        fs::set_permissions(&folder, fs::Permissions::from_mode(FOR_ALL))?;
        kept_in(&folder, name, make, is_whole)
    };
    fresh().map_err(|source| RunError::Unpack {
        folder: temporary,
        source,
    })
}

/// Fills a folder that is there.
type Make<'m> = &'m dyn Fn(&Path) -> io::Result<()>;
/// Whether a folder holds what it should, and nothing else.
type IsWhole<'m> = &'m dyn Fn(&Path) -> bool;

/// The user's folder for what can be made again.
fn cache() -> Option<PathBuf> {
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let caches = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    caches.map(|caches| caches.join("witness"))
}

/// Makes `parent/name` in one step, so that nobody ever finds half of it.
fn kept_in(parent: &Path, name: &str, make: Make<'_>, is_whole: IsWhole<'_>) -> io::Result<PathBuf> {
    fs::DirBuilder::new().recursive(true).mode(FOR_ALL).create(parent)?;
    if !is_private_folder(parent) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let folder = parent.join(name);
    if is_whole(&folder) {
        return Ok(folder);
    }
    let draft = ScratchFolder::new_in(parent, &format!(".{name}"))?;
    fs::set_permissions(draft.path(), fs::Permissions::from_mode(FOR_ALL))?;
    make(draft.path())?;
    // Another process may have been first, or what stands there is damaged or not ours.
    if fs::rename(draft.path(), &folder).is_err() && !is_whole(&folder) {
        fs::remove_dir_all(&folder).or_else(|_| fs::remove_file(&folder))?;
        fs::rename(draft.path(), &folder)?;
    }
    if is_whole(&folder) {
        Ok(folder)
    } else {
        Err(io::ErrorKind::InvalidData.into())
    }
}

/// Whether a folder holds the runtime under all its names, and nothing else: the loader finds here first whatever
/// library a program asks for.
fn is_whole(folder: &Path) -> bool {
    let file = folder.join(FILE);
    let good = is_private_folder(folder)
        && is_private_file(&file)
        && safe_files::holds(&file, RUNTIME).is_ok_and(|holds| holds);
    let links = || {
        OTHER_NAMES
            .iter()
            .all(|name| fs::read_link(folder.join(name)).is_ok_and(|to| to.as_os_str() == FILE))
    };
    let alone = || fs::read_dir(folder).is_ok_and(|entries| entries.count() == OTHER_NAMES.len() + 1);
    good && links() && alone()
}

/// Lets a program with this environment find the runtime first, and the runtime its ring. The runtime takes both out of
/// the program's environment again.
pub(super) fn put_in_place(command: &mut Command, folder: &Path, ring: &Ring, environment: &[(OsString, OsString)]) {
    const LIBRARIES: &str = "LD_LIBRARY_PATH";
    let mut path = OsString::from(folder);
    if let Some((_, own)) = environment.iter().find(|(name, _)| name == LIBRARIES) {
        path.push(":");
        path.push(own);
    }
    let mut ring = ring.path().as_c_str().to_bytes().to_vec();
    let length = |name: &OsStr, value: usize| name.len() + value + "=\0".len();
    let others = environment
        .iter()
        .filter(|(name, _)| name != LIBRARIES && name != RING_VARIABLE);
    let others: usize = others.map(|(name, value)| length(name, value.len())).sum();
    let bytes = others + length(LIBRARIES.as_ref(), path.len()) + length(RING_VARIABLE.as_ref(), ring.len());
    ring.resize(ring.len() + RingPath::spaces(bytes), b' ');
    command.env(LIBRARIES, path);
    command.env(RING_VARIABLE, OsStr::from_bytes(&ring));
}
