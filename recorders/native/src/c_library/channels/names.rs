//! Order through the names of files: who finds a name comes after who gave it, and who misses it after who took it
//! away.
//!
//! A name in a directory is an object of its own, whatever path leads there. Lookups read it, changes read and write it
//! (of two threads that create a file exclusively, one fails). The list of names is the contents of the directory, as
//! those of a file: changes write to it, whoever lists it reads it.
//!
//! A path also leads through the names before its last one. These are looked up only where one of them is missing, or
//! once a thread has made, renamed or removed a directory: before that, no other thread's doing shows there.

use super::shared::{self, Shared, regular_in, with_object};
use super::{changes_files, is_needed};
use crate::events::once::{self, Once};
use crate::platform::hash::Build;
use crate::platform::{memory, sys};
use core::cell::Cell;
use core::ffi::CStr;
use core::hash::BuildHasher;
use core::mem::MaybeUninit;
use libc::{c_char, c_int, dev_t, ino_t, stat};

/// Whether directories have come or gone while there were several threads.
static DIRECTORIES_CHANGE: Flag = Flag(Cell::new(false));

struct Flag(Cell<bool>);

// SAFETY: only the thread with the baton gets here.
unsafe impl Sync for Flag {}

/// A name, and the directory that it is in.
#[derive(Clone, Copy)]
struct Place {
    name: Shared,
    directory: Shared,
    /// How the system knows the directory.
    at: (dev_t, ino_t),
}

/// What the system knows of what a path means, without following it if it is a link.
pub(super) fn about(folder: c_int, path: &[u8], flags: c_int) -> Option<stat> {
    let mut text = [0_u8; libc::PATH_MAX as usize];
    text.get_mut(..path.len())?.copy_from_slice(path);
    let text = CStr::from_bytes_until_nul(&text).ok()?;
    let mut about = MaybeUninit::<stat>::zeroed();
    // SAFETY: a string with its end; the kernel writes a `stat` there, if it writes; zeros are one, too.
    unsafe {
        let (path, to) = (text.as_ptr() as usize, about.as_mut_ptr() as usize);
        let result = sys::call(libc::SYS_newfstatat, folder as usize, path, to, flags as usize);
        (result == 0).then(|| about.assume_init())
    }
}

/// The path without slashes at its end.
fn trimmed(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
    &path[..end]
}

/// A path's last name, and the way to its directory.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let start = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    (&path[start..], &path[..start])
}

/// Where a name is, if its directory is there.
fn place_of(folder: c_int, name: &[u8], directory: &[u8]) -> Option<Place> {
    let directory: &[u8] = if directory.is_empty() { b"." } else { directory };
    let about = about(folder, directory, 0)?;
    Some(Place {
        name: Shared::Name(about.st_dev, about.st_ino, Build.hash_one(name)),
        directory: Shared::File(about.st_dev, about.st_ino),
        at: (about.st_dev, about.st_ino),
    })
}

/// The last name of a path, or the first one that is missing on the way.
fn place(folder: c_int, path: &[u8]) -> Option<Place> {
    let mut left = trimmed(path);
    while !left.is_empty() {
        let (name, directory) = split(left);
        let place = place_of(folder, name, directory);
        if place.is_some() {
            return place;
        }
        left = trimmed(directory);
    }
    None
}

/// A path leads somewhere: from the process's folder, perhaps.
pub(super) fn is_followed(folder: c_int, path: &[u8], pc: usize) {
    if folder == libc::AT_FDCWD && path.first().is_some_and(|&first| first != b'/') {
        once::looks(Once::Folder, pc);
    }
}

/// The calling thread has looked up what a path means.
pub fn looks(folder: c_int, path: *const c_char, pc: usize) {
    if !is_needed() {
        return;
    }
    let Some(path) = memory::text(path).map(CStr::to_bytes) else {
        return;
    };
    is_followed(folder, path, pc);
    let look = |place: Place| with_object(place.name, |name| name.contents.read(name.queue, None, pc));
    if let Some(place) = place(folder, path) {
        look(place);
    }
    if DIRECTORIES_CHANGE.0.get() {
        let mut left = trimmed(split(trimmed(path)).1);
        while !left.is_empty() {
            let (name, directory) = split(left);
            if let Some(place) = place_of(folder, name, directory) {
                look(place);
            }
            left = trimmed(directory);
        }
    }
}

/// The calling thread has listed the names in a directory, which is open.
pub fn lists(directory: c_int, pc: usize) {
    if is_needed()
        && let Some(about) = about(directory, b".", 0)
    {
        let directory = Shared::File(about.st_dev, about.st_ino);
        with_object(directory, |list| list.contents.read(list.queue, None, pc));
    }
}

/// The calling thread is about to give a name another meaning.
pub fn changes(folder: c_int, path: *const c_char, pc: usize) {
    if is_needed()
        && let Some(path) = memory::text(path).map(CStr::to_bytes)
        && let Some(place) = place(folder, path)
    {
        is_followed(folder, path, pc);
        with_object(place.name, |name| {
            name.contents.read(name.queue, None, pc);
            name.contents.write(name.queue, pc);
        });
        with_object(place.directory, |list| list.contents.write(list.queue, pc));
        // When that was changed, and how many names a file has.
        shared::changes_attributes(place.at, pc);
        if let Some(about) = about(folder, path, libc::AT_SYMLINK_NOFOLLOW) {
            shared::changes_attributes((about.st_dev, about.st_ino), pc);
        }
        changes_files(pc);
    }
}

/// The calling thread is about to write to a file, if a path leads to a regular one.
pub fn writes(path: *const c_char, pc: usize) {
    if is_needed()
        && let Some(path) = memory::text(path).map(CStr::to_bytes)
        && let Some(file) = about(libc::AT_FDCWD, path, 0).as_ref().and_then(regular_in)
    {
        is_followed(libc::AT_FDCWD, path, pc);
        with_object(file, |file| file.contents.write(file.queue, pc));
    }
}

/// Whether a path leads to something.
fn is_there(folder: c_int, path: *const c_char) -> bool {
    memory::text(path).is_some_and(|path| about(folder, path.to_bytes(), libc::AT_SYMLINK_NOFOLLOW).is_some())
}

/// What a call does with a name that it only changes if something is there already, or nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Turns {
    /// It creates what the name means.
    Into,
    /// It removes that.
    Away,
}

/// The calling thread is about to create something under a name, or to remove it; whether it will only look, since that
/// is done already.
pub fn turns(turns: Turns, folder: c_int, path: *const c_char, pc: usize) -> bool {
    if !is_needed() {
        return false;
    }
    let looks = is_there(folder, path) == (turns == Turns::Into);
    if !looks {
        changes(folder, path, pc);
    }
    looks
}

/// What is created, removed or renamed is a directory, or may be.
pub fn of_directory() {
    if is_needed() {
        DIRECTORIES_CHANGE.0.set(true);
    }
}

/// The calling thread is about to create something whose permissions the process's mask decides; whether it will only
/// look, since that is there already.
pub fn makes(folder: c_int, path: *const c_char, pc: usize) -> bool {
    let looks = turns(Turns::Into, folder, path, pc);
    if !looks {
        once::looks(Once::Mask, pc);
    }
    looks
}

/// The calling thread has created something under a name, or has only looked.
pub fn made(looked: bool, folder: c_int, path: *const c_char, pc: usize) {
    if looked {
        looks(folder, path, pc);
    } else if let Some(path) = memory::text(path)
        && let Some(about) = about(folder, path.to_bytes(), libc::AT_SYMLINK_NOFOLLOW)
    {
        shared::is_new(&about);
    }
}

/// The calling thread is about to open a file by its name; whether it will only look for it.
pub fn opens(flags: c_int, folder: c_int, path: *const c_char, pc: usize) -> bool {
    flags & libc::O_CREAT == 0 || makes(folder, path, pc)
}
