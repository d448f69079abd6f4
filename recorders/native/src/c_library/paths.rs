//! What is done with files by their names.

use crate::c_library::channels::names::{self, Turns};
use crate::c_library::channels::{attributes, shared};
use crate::c_library::process_paths;
use crate::events::once::{self, Once};
use crate::platform::memory;
use crate::runtime::accesses::{arrives, writes};

use super::files;
use super::library::{length, passes_text, reads_text, writes_text};
use core::ffi::CStr;
use core::mem::offset_of;
use libc::{
    AT_FDCWD as HERE, AT_SYMLINK_NOFOLLOW as OF_LINK, DIR, FILE, c_char, c_int, c_uint, dev_t, dirent, dirent64,
    makedev, mode_t, off_t, ssize_t, statx as Told,
};

crate::platform::real::real! {
    fn dirfd(directory: *mut DIR) -> c_int;
    fn fileno(stream: *mut FILE) -> c_int;
}

/// The calling thread has read a directory.
///
/// # Safety
/// An open one.
unsafe fn listed(directory: *mut DIR, pc: usize) {
    // SAFETY: promised by the caller.
    names::lists(unsafe { dirfd(directory) }, pc);
}

/// The calling thread got an entry of a directory; null at the end.
///
/// # Safety
/// The call wrote both.
unsafe fn entered(entry: *const dirent64, at: *const *mut dirent64, pc: usize) {
    writes(at, size_of::<*mut dirent64>(), pc);
    // SAFETY: promised by the caller.
    if let Some(known) = unsafe { entry.as_ref() } {
        // Behind the end of the name, nothing was written.
        let name = offset_of!(dirent64, d_name);
        // SAFETY: as above.
        writes(entry, name + unsafe { length(known.d_name.as_ptr()) } + 1, pc);
    }
}

/// The calling thread was told of a file, which it found by a descriptor alone if there is no path.
///
/// # Safety
/// The call wrote it there.
unsafe fn told(folder: c_int, path: *const c_char, to: *const Told, pc: usize) {
    // SAFETY: promised by the caller; the program's own may be unaligned.
    let about = unsafe { to.read_unaligned() };
    let by = Some(folder).filter(|_| memory::text(path).is_none_or(CStr::is_empty));
    let device = makedev(about.stx_dev_major, about.stx_dev_minor);
    attributes::were_told(by, (device, about.stx_ino), about.stx_mode.into(), pc);
    arrives(to, size_of::<Told>(), pc);
}

/// With what flags a stream's mode opens its file.
///
/// # Safety
/// A string.
unsafe fn flags_of(mode: *const c_char) -> c_int {
    // SAFETY: promised by the caller: what follows the first letter is there if that is.
    match unsafe { mode.cast::<u8>().read() } {
        b'w' => libc::O_CREAT | libc::O_TRUNC,
        b'a' => libc::O_CREAT,
        _ => 0,
    }
}

/// A stream was opened: what was in its file may be gone.
///
/// # Safety
/// Null, or a stream.
unsafe fn opened(stream: *mut FILE, flags: c_int, pc: usize) {
    if !stream.is_null() && flags & libc::O_TRUNC != 0 {
        // SAFETY: promised by the caller.
        shared::writes(unsafe { fileno(stream) }, pc);
    }
}

library! {
    access(path: *const c_char, mode: c_int) -> c_int, "rdx": (means system path) {} (result, pc) {
        names::looks(HERE, path, pc);
        attributes::looks_by_path(HERE, path, 0, pc);
    }
    eaccess(path: *const c_char, mode: c_int) -> c_int, "rdx": (means system path) {} (result, pc) {
        names::looks(HERE, path, pc);
        attributes::looks_by_path(HERE, path, 0, pc);
    }
    euidaccess(path: *const c_char, mode: c_int) -> c_int, "rdx": (means system path) {} (result, pc) {
        names::looks(HERE, path, pc);
        attributes::looks_by_path(HERE, path, 0, pc);
    }
    faccessat(folder: c_int, path: *const c_char, mode: c_int, flags: c_int) -> c_int, "r8": (means system path) {} (result, pc) {
        names::looks(folder, path, pc);
        attributes::looks_by_path(folder, path, flags, pc);
    }
    readlink(path: *const c_char, to: *mut c_char, room: usize) -> ssize_t, "rcx": (finds system path) {} (len, pc) {
        names::looks(HERE, path, pc);
        len = process_paths::link(path, len, room, pc);
        files::arrived(to.cast(), len, pc);
    }
    readlinkat(folder: c_int, path: *const c_char, to: *mut c_char, room: usize) -> ssize_t, "r8": (finds system path) {} (len, pc) {
        names::looks(folder, path, pc);
        len = process_paths::link(path, len, room, pc);
        files::arrived(to.cast(), len, pc);
    }
    __readlink_chk(path: *const c_char, to: *mut c_char, len: usize, room: usize) -> ssize_t, "r8": (finds system path) {} (done, pc) {
        names::looks(HERE, path, pc);
        done = process_paths::link(path, done, len, pc);
        files::arrived(to.cast(), done, pc);
    }
    __readlinkat_chk(folder: c_int, path: *const c_char, to: *mut c_char, len: usize, room: usize) -> ssize_t, "r9": (finds system path) {} (done, pc) {
        names::looks(folder, path, pc);
        done = process_paths::link(path, done, len, pc);
        files::arrived(to.cast(), done, pc);
    }
    realpath(path: *const c_char, to: *mut c_char) -> *mut c_char, "rdx": (means system path) {} (found, pc) {
        names::looks(HERE, path, pc);
        writes_text(found, pc);
    }
    __realpath_chk(path: *const c_char, to: *mut c_char, room: usize) -> *mut c_char, "rcx": (means system path) {} (found, pc) {
        names::looks(HERE, path, pc);
        writes_text(found, pc);
    }
    statx(folder: c_int, path: *const c_char, flags: c_int, mask: c_uint, to: *mut Told) -> c_int, "r9": (means system path) {} (result, pc) {
        names::looks(folder, path, pc);
        if result == 0 { told(folder, path, to, pc); }
    }
    chdir(path: *const c_char) -> c_int, "rsi": system {
        // The path is not recorded: where a live run has another name for a temporary folder, since there is one of the
        // recorded name, it goes on as long as nothing depends on that.
        names::looks(HERE, path, pc);
        once::changes(Once::Folder, pc);
    } (result, pc) {}
    fchdir(folder: c_int) -> c_int, "rsi": system { once::changes(Once::Folder, pc); } (result, pc) {}
    umask(mask: mode_t) -> mode_t, "rsi": system { once::exchanges(Once::Mask, pc); } (before, pc) {}
    mkdir(path: *const c_char, mode: mode_t) -> c_int, "rdx": system {
        passes_text(path, pc); names::of_directory();
        let looks = names::makes(HERE, path, pc);
    } (result, pc) { names::made(looks, HERE, path, pc); }
    mkdirat(folder: c_int, path: *const c_char, mode: mode_t) -> c_int, "rcx": system {
        passes_text(path, pc); names::of_directory();
        let looks = names::makes(folder, path, pc);
    } (result, pc) { names::made(looks, folder, path, pc); }
    mkfifo(path: *const c_char, mode: mode_t) -> c_int, "rdx": system {
        passes_text(path, pc);
        let looks = names::makes(HERE, path, pc);
    } (result, pc) { names::made(looks, HERE, path, pc); }
    mknod(path: *const c_char, mode: mode_t, device: dev_t) -> c_int, "rcx": system {
        passes_text(path, pc);
        let looks = names::makes(HERE, path, pc);
    } (result, pc) { names::made(looks, HERE, path, pc); }
    symlink(to: *const c_char, path: *const c_char) -> c_int, "rdx": system {
        passes_text(to, pc); passes_text(path, pc); names::of_directory();
        let looks = names::turns(Turns::Into, HERE, path, pc);
    } (result, pc) { names::made(looks, HERE, path, pc); }
    symlinkat(to: *const c_char, folder: c_int, path: *const c_char) -> c_int, "rcx": system {
        passes_text(to, pc); passes_text(path, pc); names::of_directory();
        let looks = names::turns(Turns::Into, folder, path, pc);
    } (result, pc) { names::made(looks, folder, path, pc); }
    link(of: *const c_char, path: *const c_char) -> c_int, "rdx": system {
        passes_text(of, pc); passes_text(path, pc);
        let looks = names::turns(Turns::Into, HERE, path, pc);
        if !looks { attributes::sets_by_path(HERE, of, OF_LINK, pc); }
    } (result, pc) { names::looks(HERE, of, pc); if looks { names::looks(HERE, path, pc); } }
    linkat(from: c_int, of: *const c_char, folder: c_int, path: *const c_char, flags: c_int) -> c_int, "r9": system {
        passes_text(of, pc); passes_text(path, pc);
        let looks = names::turns(Turns::Into, folder, path, pc);
        if !looks { attributes::sets_by_path(from, of, OF_LINK, pc); }
    } (result, pc) { names::looks(from, of, pc); if looks { names::looks(folder, path, pc); } }
    unlink(path: *const c_char) -> c_int, "rsi": system {
        passes_text(path, pc);
        let looks = names::turns(Turns::Away, HERE, path, pc);
    } (result, pc) { if looks { names::looks(HERE, path, pc); } }
    unlinkat(folder: c_int, path: *const c_char, flags: c_int) -> c_int, "rcx": system {
        passes_text(path, pc); names::of_directory();
        let looks = names::turns(Turns::Away, folder, path, pc);
    } (result, pc) { if looks { names::looks(folder, path, pc); } }
    rmdir(path: *const c_char) -> c_int, "rsi": system {
        passes_text(path, pc); names::of_directory();
        let looks = names::turns(Turns::Away, HERE, path, pc);
    } (result, pc) { if looks { names::looks(HERE, path, pc); } }
    remove(path: *const c_char) -> c_int, "rsi": system {
        passes_text(path, pc); names::of_directory();
        let looks = names::turns(Turns::Away, HERE, path, pc);
    } (result, pc) { if looks { names::looks(HERE, path, pc); } }
    rename(from: *const c_char, to: *const c_char) -> c_int, "rdx": system {
        passes_text(from, pc); passes_text(to, pc); names::of_directory();
        let looks = names::turns(Turns::Away, HERE, from, pc);
        names::changes(HERE, to, pc);
    } (result, pc) { if looks { names::looks(HERE, from, pc); } }
    renameat(of: c_int, from: *const c_char, folder: c_int, to: *const c_char) -> c_int, "r8": system {
        passes_text(from, pc); passes_text(to, pc); names::of_directory();
        let looks = names::turns(Turns::Away, of, from, pc);
        names::changes(folder, to, pc);
    } (result, pc) { if looks { names::looks(of, from, pc); } }
    renameat2(of: c_int, from: *const c_char, folder: c_int, to: *const c_char, flags: c_uint) -> c_int, "r9": system {
        passes_text(from, pc); passes_text(to, pc); names::of_directory();
        let looks = names::turns(Turns::Away, of, from, pc);
        names::changes(folder, to, pc);
    } (result, pc) { if looks { names::looks(of, from, pc); } }
    truncate(path: *const c_char, len: off_t) -> c_int, "rdx": system {
        passes_text(path, pc);
        names::writes(path, pc);
    } (result, pc) { names::looks(HERE, path, pc); }
    truncate64(path: *const c_char, len: off_t) -> c_int, "rdx": system {
        passes_text(path, pc);
        names::writes(path, pc);
    } (result, pc) { names::looks(HERE, path, pc); }
    opendir(path: *const c_char) -> *mut DIR, "rsi": (means system path) {} (directory, pc) {
        names::looks(HERE, path, pc);
    }
    readdir(directory: *mut DIR) -> *mut dirent, "rsi": system {} (entry, pc) { listed(directory, pc); }
    readdir64(directory: *mut DIR) -> *mut dirent64, "rsi": system {} (entry, pc) { listed(directory, pc); }
    readdir_r(directory: *mut DIR, to: *mut dirent, at: *mut *mut dirent) -> c_int, "rcx": system {} (error, pc) {
        listed(directory, pc);
        if error == 0 { entered((*at).cast(), at.cast(), pc); }
    }
    readdir64_r(directory: *mut DIR, to: *mut dirent64, at: *mut *mut dirent64) -> c_int, "rcx": system {} (error, pc) {
        listed(directory, pc);
        if error == 0 { entered(*at, at, pc); }
    }
    fopen(path: *const c_char, mode: *const c_char) -> *mut FILE, "rdx": (means system path) {
        reads_text(mode, pc);
        let flags = flags_of(mode);
        let looks = names::opens(flags, HERE, path, pc);
    } (stream, pc) {
        names::made(looks, HERE, path, pc);
        opened(stream, flags, pc);
    }
    fopen64(path: *const c_char, mode: *const c_char) -> *mut FILE, "rdx": (means system path) {
        reads_text(mode, pc);
        let flags = flags_of(mode);
        let looks = names::opens(flags, HERE, path, pc);
    } (stream, pc) {
        names::made(looks, HERE, path, pc);
        opened(stream, flags, pc);
    }
}
