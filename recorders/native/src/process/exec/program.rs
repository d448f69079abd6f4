//! How a program is named, and its file.

use crate::platform::{memory, sys};
use core::ffi::CStr;
use libc::{c_char, c_int};

/// A list of strings that ends with a null.
pub type List = *const *const c_char;

unsafe extern "C" {
    pub static environ: List;
}

/// How a program is named.
#[derive(Clone, Copy)]
pub enum Named {
    ByPath(*const c_char),
    /// As in a shell.
    InSearchPath(*const c_char),
    /// By a path as seen from a folder, and the flags of `execveat`: an empty one may mean the folder's descriptor.
    From(c_int, *const c_char, c_int),
}

impl Named {
    /// Opens the file; a descriptor of its own, or a negative number.
    ///
    /// # Safety
    /// The name is a C string, or null.
    pub unsafe fn open(self) -> isize {
        // SAFETY: promised by the caller.
        unsafe {
            match self {
                Named::ByPath(path) => open_from(libc::AT_FDCWD, path, 0),
                Named::InSearchPath(name) => search(name),
                Named::From(folder, path, flags) => open_from(folder, path, flags),
            }
        }
    }
}

/// # Safety
/// `path` is a C string, or null.
unsafe fn open_from(folder: c_int, path: *const c_char, flags: c_int) -> isize {
    // SAFETY: promised by the caller; the file is the program's own.
    unsafe {
        // As the kernel: no path is an empty one.
        let empty = path.is_null() || memory::at(path) == Some(0);
        if empty && flags & libc::AT_EMPTY_PATH != 0 {
            return sys::call(libc::SYS_fcntl, folder as usize, libc::F_DUPFD_CLOEXEC as usize, 0, 0);
        }
        let follow = if flags & libc::AT_SYMLINK_NOFOLLOW != 0 {
            libc::O_NOFOLLOW
        } else {
            0
        };
        let how = (libc::O_RDONLY | libc::O_CLOEXEC | follow) as usize;
        sys::call(libc::SYS_openat, folder as usize, path as usize, how, 0)
    }
}

/// Opens what a shell would find under a name.
///
/// # Safety
/// `name` is a C string.
unsafe fn search(name: *const c_char) -> isize {
    // SAFETY: promised by the caller.
    let text = unsafe { CStr::from_ptr(name) }.to_bytes();
    if text.contains(&b'/') {
        // SAFETY: as above.
        return unsafe { open_from(libc::AT_FDCWD, name, 0) };
    }
    // SAFETY: the program's own environment.
    let search = unsafe { entries(environ) }.find_map(|entry| {
        // SAFETY: as above.
        value_of(unsafe { CStr::from_ptr(entry) }.to_bytes(), b"PATH")
    });
    for folder in search.unwrap_or(b"/bin:/usr/bin").split(|&byte| byte == b':') {
        let folder = if folder.is_empty() { b"." } else { folder };
        let path = [folder, b"/", text, &[0]].concat();
        // SAFETY: a C string.
        let answer = unsafe { sys::call(libc::SYS_access, path.as_ptr() as usize, libc::X_OK as usize, 0, 0) };
        if answer == 0 {
            // SAFETY: as above.
            return unsafe { open_from(libc::AT_FDCWD, path.as_ptr().cast(), 0) };
        }
    }
    -1
}

/// Whether a list and its strings are where the program says. Else the kernel refuses it.
pub fn are_there(list: List) -> bool {
    let entry = |at| memory::at(list.wrapping_add(at));
    let is_string = |entry: *const c_char| !entry.is_null() && memory::text(entry).is_some();
    // The first that is no string is the end.
    let last = (0..).map(entry).find(|entry| !entry.is_some_and(is_string)).flatten();
    list.is_null() || last.is_some_and(|last| last.is_null())
}

/// The entries of a list that ends with a null.
///
/// # Safety
/// `list` is null or such a list.
pub unsafe fn entries(list: List) -> impl Iterator<Item = *const c_char> {
    let place = move |at| (!list.is_null()).then(|| list.wrapping_add(at));
    (0..).map_while(move |at| {
        place(at)
            // SAFETY: entries are taken in order, and none behind the null that ends the list.
            .map(|place| unsafe { *place })
            .filter(|entry| !entry.is_null())
    })
}

/// The part of a variable's entry behind its name.
pub fn value_of<'a>(entry: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    entry.strip_prefix(name)?.strip_prefix(b"=")
}
