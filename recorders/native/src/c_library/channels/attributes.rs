//! Order through what the system keeps of a file beside its contents: permissions, owner, times, and extended attributes.
//! Who is told of them comes after who set them, and before who sets them next, as with [`contents`](super::contents).

use super::descriptor::is_given;
use super::names::{about, is_followed};
use super::shared::{self, Shared, with_object};
use super::{changes_files, is_needed};
use crate::platform::memory;
use core::ffi::CStr;
use libc::{c_char, c_int, dev_t, ino_t, mode_t, stat};

/// What a path leads to, if order matters and something is there. `flags` may be `AT_SYMLINK_NOFOLLOW`.
fn by_path(folder: c_int, path: *const c_char, flags: c_int, pc: usize) -> Option<stat> {
    let path = memory::text(path).map(CStr::to_bytes).filter(|_| is_needed())?;
    is_followed(folder, path, pc);
    about(folder, path, flags & libc::AT_SYMLINK_NOFOLLOW)
}

fn sets(about: &stat, pc: usize) {
    shared::changes_attributes((about.st_dev, about.st_ino), pc);
    changes_files(pc);
}

fn looks(device: dev_t, number: ino_t, pc: usize) {
    with_object(Shared::Attributes(device, number), |known| {
        known.contents.read(known.queue, None, pc);
    });
}

/// The calling thread was told what the system knows of a file of that kind, which it found by a descriptor, perhaps: how
/// long it is and when it was written, too. What the program was started with is another one in a live run.
pub fn were_told(by: Option<c_int>, (device, number): (dev_t, ino_t), mode: mode_t, pc: usize) {
    if !is_needed() || by.is_some_and(is_given) {
        return;
    }
    if mode & libc::S_IFMT == libc::S_IFREG {
        with_object(Shared::File(device, number), |file| {
            file.contents.read(file.queue, None, pc)
        });
    }
    looks(device, number, pc);
}

/// It is about to set attributes of what a path leads to.
pub fn sets_by_path(folder: c_int, path: *const c_char, flags: c_int, pc: usize) {
    if let Some(about) = by_path(folder, path, flags, pc) {
        sets(&about, pc);
    }
}

/// The same of an open file.
pub fn sets_of(file: c_int, pc: usize) {
    if is_needed() && !is_given(file) {
        sets(&shared::about(file), pc);
    }
}

/// It was told of attributes of what a path leads to, alone.
pub fn looks_by_path(folder: c_int, path: *const c_char, flags: c_int, pc: usize) {
    if let Some(about) = by_path(folder, path, flags, pc) {
        looks(about.st_dev, about.st_ino, pc);
    }
}

/// The same of an open file.
pub fn looks_of(file: c_int, pc: usize) {
    if is_needed() && !is_given(file) {
        let about = shared::about(file);
        looks(about.st_dev, about.st_ino, pc);
    }
}
