//! The runtime's way into the program: unpacked once, found first.

use super::error::RunError;
use recorder_ring::Ring;
use recorder_ring::layout::RING_VARIABLE;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{self, Command};

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

/// The folder that holds the runtime, under the names that compilers ask for: to link against it.
///
/// # Errors
/// If it cannot be unpacked there.
pub fn runtime_folder() -> Result<PathBuf, RunError> {
    unpack()
}

/// Unpacks the runtime, unless this was done before; the folder that holds it.
pub(super) fn unpack() -> Result<PathBuf, RunError> {
    if RUNTIME.is_empty() {
        return Err(RunError::NoRuntime);
    }
    let name = concat!("runtime-", env!("WITNESS_RUNTIME_HASH"));
    let cache = cache().join("witness");
    match unpack_to(&cache, name) {
        Ok(folder) => Ok(folder),
        // No home, or one that cannot be written to.
        Err(_) => {
            let folder = std::env::temp_dir().join(format!("witness-{}", rustix::process::getuid().as_raw()));
            unpack_to(&folder, name).map_err(|source| RunError::Unpack { folder, source })
        }
    }
}

fn cache() -> PathBuf {
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .unwrap_or_else(std::env::temp_dir)
}

/// Makes `parent/name` in one step, so that nobody ever finds half of it.
fn unpack_to(parent: &Path, name: &str) -> io::Result<PathBuf> {
    let folder = parent.join(name);
    if is_whole(&folder) {
        return Ok(folder);
    }
    fs::create_dir_all(parent)?;
    let draft = parent.join(format!(".{name}-{}", process::id()));
    let _ = fs::remove_dir_all(&draft);
    fs::create_dir(&draft)?;
    fs::write(draft.join(FILE), RUNTIME)?;
    for other in OTHER_NAMES {
        symlink(FILE, draft.join(other))?;
    }
    if fs::rename(&draft, &folder).is_err() {
        // Another process was first, or what stands there is damaged.
        if !is_whole(&folder) {
            fs::remove_dir_all(&folder)?;
            fs::rename(&draft, &folder)?;
        }
        let _ = fs::remove_dir_all(&draft);
    }
    Ok(folder)
}

fn is_whole(folder: &Path) -> bool {
    fs::read(folder.join(FILE)).is_ok_and(|found| found == RUNTIME)
        && OTHER_NAMES.iter().all(|name| folder.join(name).exists())
}

/// Lets a program find the runtime first, and the runtime its ring. The runtime takes both out of
/// the program's environment again.
pub(super) fn put_in_place(command: &mut Command, folder: &Path, ring: &Ring, library_path: Option<OsString>) {
    let mut path = OsString::from(folder);
    if let Some(own) = library_path {
        path.push(":");
        path.push(own);
    }
    command.env("LD_LIBRARY_PATH", path);
    command.env(RING_VARIABLE, OsStr::from_bytes(ring.path().as_c_str().to_bytes()));
}
