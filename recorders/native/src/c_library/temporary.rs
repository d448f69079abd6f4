//! Names of temporary files and directories, which libc makes up.
//!
//! Along a plan the program gets the name that it had in the recorded run: what was made is given that name, unless
//! something else has it, as what the recorded run left behind.

use super::library::{length, reads_text, writes_text};
use crate::c_library::channels;
use crate::c_library::channels::descriptor::as_recorded;
use crate::c_library::channels::{names, shared};
use crate::events::modules;
use crate::platform::temporary_names;
use crate::runtime::accesses::writes;
use crate::scheduling::plan;
use core::ffi::CStr;
use core::ptr;
use libc::{c_char, c_int};

/// What a function that makes up a name does with it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Made {
    /// Something of that name, for which there may be none before.
    Object,
    /// Nothing.
    Nothing,
}

/// The characters that are made up in a template.
const MADE_UP: usize = 6;

/// Gives what was made its name of the recorded run, which the calling thread is about to record as a write of the
/// `len` bytes at `from` in the name.
///
/// # Safety
/// `name` is a string in the program's memory, and that part of it with its end.
unsafe fn rename_as_recorded(name: *mut c_char, from: usize, len: usize, made: Made, pc: usize) {
    let mut wanted = [0_u8; libc::PATH_MAX as usize];
    // SAFETY: promised by the caller; the copy has room, and what is written has that of the string.
    unsafe {
        let whole = length(name) + 1;
        if !plan::is_followed() || !modules::is_instrumented(pc) || whole > wanted.len() {
            return;
        }
        ptr::copy_nonoverlapping(name.cast(), wanted.as_mut_ptr(), whole);
        plan::recorded_writes(name as usize + from, len, pc, |addr, bytes| {
            wanted[addr - name as usize..][..bytes.len()].copy_from_slice(bytes);
        });
        let recorded = CStr::from_bytes_until_nul(&wanted).ok();
        let is_free = recorded
            .filter(|text| text.count_bytes() + 1 == whole)
            .is_some_and(|recorded| match made {
                Made::Object => temporary_names::rename(CStr::from_ptr(name), recorded),
                Made::Nothing => libc::access(recorded.as_ptr(), libc::F_OK) != 0,
            });
        if is_free {
            ptr::copy_nonoverlapping(wanted.as_ptr().cast(), name, whole);
        }
    }
}

/// A template was filled in, before a suffix of that length.
///
/// # Safety
/// As for `rename_as_recorded`.
unsafe fn filled_in(template: *mut c_char, suffix: c_int, made: Made, pc: usize) {
    // SAFETY: promised by the caller.
    unsafe {
        let Some(from) = length(template).checked_sub(suffix.max(0) as usize + MADE_UP) else {
            return;
        };
        rename_as_recorded(template, from, MADE_UP, made, pc);
        writes(template.add(from), MADE_UP, pc);
    }
}

/// A whole name was made up.
///
/// # Safety
/// As for `rename_as_recorded`, or null.
unsafe fn made_up(name: *mut c_char, pc: usize) {
    if !name.is_null() {
        // SAFETY: promised by the caller.
        unsafe {
            rename_as_recorded(name, 0, length(name) + 1, Made::Nothing, pc);
            writes_text(name, pc);
        }
    }
}

/// A file was made by a template, and is open; its descriptor.
///
/// # Safety
/// As for `rename_as_recorded`.
unsafe fn opened(file: c_int, template: *mut c_char, suffix: c_int, pc: usize) -> c_int {
    if file >= 0 {
        // SAFETY: promised by the caller.
        unsafe { filled_in(template, suffix, Made::Object, pc) };
        shared::is_new_file(file);
    }
    let file = as_recorded(file, pc);
    channels::is_other(file, pc);
    file
}

library! {
    mkdtemp(template: *mut c_char) -> *mut c_char, "rsi": system { reads_text(template, pc); } (path, pc) {
        if !path.is_null() {
            filled_in(path, 0, Made::Object, pc);
            names::made(false, libc::AT_FDCWD, path, pc);
        }
    }
    mkstemp(template: *mut c_char) -> c_int, "rsi": system { reads_text(template, pc); } (file, pc) {
        file = opened(file, template, 0, pc);
    }
    mkstemp64(template: *mut c_char) -> c_int, "rsi": system { reads_text(template, pc); } (file, pc) {
        file = opened(file, template, 0, pc);
    }
    mkostemp(template: *mut c_char, flags: c_int) -> c_int, "rdx": system { reads_text(template, pc); } (file, pc) {
        file = opened(file, template, 0, pc);
    }
    mkostemp64(template: *mut c_char, flags: c_int) -> c_int, "rdx": system { reads_text(template, pc); } (file, pc) {
        file = opened(file, template, 0, pc);
    }
    mkstemps(template: *mut c_char, suffix: c_int) -> c_int, "rdx": system { reads_text(template, pc); } (file, pc) {
        file = opened(file, template, suffix, pc);
    }
    mkstemps64(template: *mut c_char, suffix: c_int) -> c_int, "rdx": system { reads_text(template, pc); } (file, pc) {
        file = opened(file, template, suffix, pc);
    }
    mkostemps(template: *mut c_char, suffix: c_int, flags: c_int) -> c_int, "rcx": system { reads_text(template, pc); } (file, pc) {
        file = opened(file, template, suffix, pc);
    }
    mkostemps64(template: *mut c_char, suffix: c_int, flags: c_int) -> c_int, "rcx": system { reads_text(template, pc); } (file, pc) {
        file = opened(file, template, suffix, pc);
    }
    mktemp(template: *mut c_char) -> *mut c_char, "rsi": system { reads_text(template, pc); } (name, pc) {
        if length(name) > 0 { filled_in(name, 0, Made::Nothing, pc); }
    }
    tmpnam(to: *mut c_char) -> *mut c_char, "rsi": system {} (name, pc) { made_up(name, pc); }
    tmpnam_r(to: *mut c_char) -> *mut c_char, "rsi": system {} (name, pc) { made_up(name, pc); }
    tempnam(folder: *const c_char, start: *const c_char) -> *mut c_char, "rdx": slow {
        reads_text(folder, pc);
        reads_text(start, pc);
    } (name, pc) { made_up(name, pc); }
}
