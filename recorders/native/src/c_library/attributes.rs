//! What the system keeps of a file beside its contents: permissions, owner, times, and extended attributes.

use crate::c_library::channels::attributes::{looks_by_path, looks_of, sets_by_path, sets_of};
use crate::runtime::accesses::{arrives, passes};

use super::library::passes_text;
use core::ffi::c_void;
use libc::{
    AT_FDCWD as HERE, AT_SYMLINK_NOFOLLOW as OF_LINK, c_char, c_int, gid_t, mode_t, ssize_t, timespec, timeval, uid_t,
    utimbuf,
};

/// When a file was last read, and when it was written; null for now.
fn passes_both<T>(times: *const T, pc: usize) {
    passes(times, 2 * size_of::<T>(), pc);
}

/// What a call has told that returns how much that is, or a negative number. Without room it tells nothing else.
fn came<T>(to: *const T, len: ssize_t, room: usize, pc: usize) {
    arrives(to, usize::try_from(len).unwrap_or(0).min(room), pc);
}

library! {
    chmod(path: *const c_char, mode: mode_t) -> c_int, "rdx": system {
        passes_text(path, pc);
        sets_by_path(HERE, path, 0, pc);
    } (result, pc) {}
    fchmod(file: c_int, mode: mode_t) -> c_int, "rdx": (slow file) { sets_of(file, pc); } (result, pc) {}
    fchmodat(folder: c_int, path: *const c_char, mode: mode_t, flags: c_int) -> c_int, "r8": system {
        passes_text(path, pc);
        sets_by_path(folder, path, flags, pc);
    } (result, pc) {}
    chown(path: *const c_char, owner: uid_t, group: gid_t) -> c_int, "rcx": system {
        passes_text(path, pc);
        sets_by_path(HERE, path, 0, pc);
    } (result, pc) {}
    lchown(path: *const c_char, owner: uid_t, group: gid_t) -> c_int, "rcx": system {
        passes_text(path, pc);
        sets_by_path(HERE, path, OF_LINK, pc);
    } (result, pc) {}
    fchown(file: c_int, owner: uid_t, group: gid_t) -> c_int, "rcx": (slow file) { sets_of(file, pc); } (result, pc) {}
    fchownat(folder: c_int, path: *const c_char, owner: uid_t, group: gid_t, flags: c_int) -> c_int, "r9": system {
        passes_text(path, pc);
        sets_by_path(folder, path, flags, pc);
    } (result, pc) {}
    utime(path: *const c_char, times: *const utimbuf) -> c_int, "rdx": system {
        passes_text(path, pc);
        passes(times, size_of::<utimbuf>(), pc);
        sets_by_path(HERE, path, 0, pc);
    } (result, pc) {}
    utimes(path: *const c_char, times: *const timeval) -> c_int, "rdx": system {
        passes_text(path, pc);
        passes_both(times, pc);
        sets_by_path(HERE, path, 0, pc);
    } (result, pc) {}
    lutimes(path: *const c_char, times: *const timeval) -> c_int, "rdx": system {
        passes_text(path, pc);
        passes_both(times, pc);
        sets_by_path(HERE, path, OF_LINK, pc);
    } (result, pc) {}
    futimes(file: c_int, times: *const timeval) -> c_int, "rdx": (slow file) {
        passes_both(times, pc);
        sets_of(file, pc);
    } (result, pc) {}
    futimens(file: c_int, times: *const timespec) -> c_int, "rdx": (slow file) {
        passes_both(times, pc);
        sets_of(file, pc);
    } (result, pc) {}
    futimesat(folder: c_int, path: *const c_char, times: *const timeval) -> c_int, "rcx": system {
        passes_text(path, pc);
        passes_both(times, pc);
        if path.is_null() { sets_of(folder, pc) } else { sets_by_path(folder, path, 0, pc) }
    } (result, pc) {}
    utimensat(folder: c_int, path: *const c_char, times: *const timespec, flags: c_int) -> c_int, "r8": system {
        passes_text(path, pc);
        passes_both(times, pc);
        if path.is_null() { sets_of(folder, pc) } else { sets_by_path(folder, path, flags, pc) }
    } (result, pc) {}
}

/// Extended attributes of what a path leads to; `0`, or `OF_LINK` if a link is not followed.
macro_rules! of_path {
    ($($set:ident $remove:ident $get:ident $list:ident: $flags:expr;)*) => { library! { $(
        $set(path: *const c_char, name: *const c_char, from: *const c_void, len: usize, how: c_int) -> c_int, "r9": system {
            passes_text(path, pc);
            passes_text(name, pc);
            passes(from, len, pc);
            sets_by_path(HERE, path, $flags, pc);
        } (result, pc) {}
        $remove(path: *const c_char, name: *const c_char) -> c_int, "rdx": system {
            passes_text(path, pc);
            passes_text(name, pc);
            sets_by_path(HERE, path, $flags, pc);
        } (result, pc) {}
        $get(path: *const c_char, name: *const c_char, to: *mut c_void, room: usize) -> ssize_t, "r8": (means system path) {
            passes_text(name, pc);
        } (len, pc) {
            looks_by_path(HERE, path, $flags, pc);
            came(to, len, room, pc);
        }
        $list(path: *const c_char, to: *mut c_char, room: usize) -> ssize_t, "rcx": (means system path) {} (len, pc) {
            looks_by_path(HERE, path, $flags, pc);
            came(to, len, room, pc);
        }
    )* } };
}

of_path! {
    setxattr removexattr getxattr listxattr: 0;
    lsetxattr lremovexattr lgetxattr llistxattr: OF_LINK;
}

library! {
    fsetxattr(file: c_int, name: *const c_char, from: *const c_void, len: usize, how: c_int) -> c_int, "r9": (slow file) {
        passes_text(name, pc);
        passes(from, len, pc);
        sets_of(file, pc);
    } (result, pc) {}
    fremovexattr(file: c_int, name: *const c_char) -> c_int, "rdx": (slow file) {
        passes_text(name, pc);
        sets_of(file, pc);
    } (result, pc) {}
    fgetxattr(file: c_int, name: *const c_char, to: *mut c_void, room: usize) -> ssize_t, "r8": (slow file) {
        passes_text(name, pc);
    } (len, pc) {
        looks_of(file, pc);
        came(to, len, room, pc);
    }
    flistxattr(file: c_int, to: *mut c_char, room: usize) -> ssize_t, "rcx": (slow file) {} (len, pc) {
        looks_of(file, pc);
        came(to, len, room, pc);
    }
}
