//! Strings and blocks of bytes: `strlen`, `memcmp`, `strcpy` and their kin.
//!
//! A comparison reads up to the first difference, a search up to what it finds: what follows there
//! decides nothing.

use super::library::{length, reads_text, writes_text};
use crate::platform::export::export;
use crate::platform::real;
use crate::runtime::accesses::{reads, writes};
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::ptr;
use libc::{c_char, c_int};

/// How many bytes a comparison looks at: up to the first that differs, or to the end of both strings,
/// but never more than `most`.
///
/// # Safety
/// Readable up to there.
unsafe fn compared(a: *const c_char, b: *const c_char, most: usize, folded: bool) -> usize {
    let fold = |byte: c_char| {
        if folded {
            (byte as u8).to_ascii_lowercase()
        } else {
            byte as u8
        }
    };
    let mut at = 0;
    while at < most {
        // SAFETY: promised by the caller: no byte before was a difference or an end.
        let (x, y) = unsafe { (*a.add(at), *b.add(at)) };
        at += 1;
        if fold(x) != fold(y) || x == 0 {
            break;
        }
    }
    at
}

/// How many bytes of a block two comparisons look at.
///
/// # Safety
/// Both have `len` bytes.
unsafe fn differ_after(a: *const c_void, b: *const c_void, len: usize) -> usize {
    // SAFETY: promised by the caller.
    let same = (0..len).take_while(|&at| unsafe { *a.cast::<u8>().add(at) == *b.cast::<u8>().add(at) });
    (same.count() + 1).min(len)
}

/// The bytes up to and with `found`, or all `len` of them.
fn up_to(start: *const c_void, found: *const c_void, len: usize) -> usize {
    if found.is_null() {
        len
    } else {
        found as usize - start as usize + 1
    }
}

library! {
    strlen(text: *const c_char) -> usize, "rsi": quick {} (len, pc) { reads(text, len + 1, pc); }
    strnlen(text: *const c_char, most: usize) -> usize, "rdx": quick {} (len, pc) { reads(text, (len + 1).min(most), pc); }
    strcmp(a: *const c_char, b: *const c_char) -> c_int, "rdx": quick {} (order, pc) {
        let len = compared(a, b, usize::MAX, false);
        reads(a, len, pc);
        reads(b, len, pc);
    }
    strncmp(a: *const c_char, b: *const c_char, most: usize) -> c_int, "rcx": quick {} (order, pc) {
        let len = compared(a, b, most, false);
        reads(a, len, pc);
        reads(b, len, pc);
    }
    strcasecmp(a: *const c_char, b: *const c_char) -> c_int, "rdx": quick {} (order, pc) {
        let len = compared(a, b, usize::MAX, true);
        reads(a, len, pc);
        reads(b, len, pc);
    }
    strncasecmp(a: *const c_char, b: *const c_char, most: usize) -> c_int, "rcx": quick {} (order, pc) {
        let len = compared(a, b, most, true);
        reads(a, len, pc);
        reads(b, len, pc);
    }
    strchr(text: *const c_char, wanted: c_int) -> *mut c_char, "rdx": quick {} (found, pc) {
        reads(text, if found.is_null() { length(text) + 1 } else { found as usize - text as usize + 1 }, pc);
    }
    strchrnul(text: *const c_char, wanted: c_int) -> *mut c_char, "rdx": quick {} (found, pc) {
        reads(text, found as usize - text as usize + 1, pc);
    }
    strrchr(text: *const c_char, wanted: c_int) -> *mut c_char, "rdx": quick {} (found, pc) { reads_text(text, pc); }
    strstr(text: *const c_char, part: *const c_char) -> *mut c_char, "rdx": quick {} (found, pc) {
        reads_text(part, pc);
        if found.is_null() {
            reads_text(text, pc);
        } else {
            reads(text, found as usize - text as usize + length(part), pc);
        }
    }
    strcasestr(text: *const c_char, part: *const c_char) -> *mut c_char, "rdx": quick {} (found, pc) {
        reads_text(part, pc);
        if found.is_null() {
            reads_text(text, pc);
        } else {
            reads(text, found as usize - text as usize + length(part), pc);
        }
    }
    strspn(text: *const c_char, set: *const c_char) -> usize, "rdx": quick {} (len, pc) {
        reads(text, len + 1, pc);
        reads_text(set, pc);
    }
    strcspn(text: *const c_char, set: *const c_char) -> usize, "rdx": quick {} (len, pc) {
        reads(text, len + 1, pc);
        reads_text(set, pc);
    }
    strpbrk(text: *const c_char, set: *const c_char) -> *mut c_char, "rdx": quick {} (found, pc) {
        reads_text(set, pc);
        reads(text, if found.is_null() { length(text) + 1 } else { found as usize - text as usize + 1 }, pc);
    }
    strcpy(to: *mut c_char, from: *const c_char) -> *mut c_char, "rdx": quick { reads_text(from, pc); } (result, pc) {
        writes_text(to, pc);
    }
    stpcpy(to: *mut c_char, from: *const c_char) -> *mut c_char, "rdx": quick { reads_text(from, pc); } (result, pc) {
        writes_text(to, pc);
    }
    __strcpy_chk(to: *mut c_char, from: *const c_char, room: usize) -> *mut c_char, "rcx": quick {
        reads_text(from, pc);
    } (result, pc) { writes_text(to, pc); }
    __stpcpy_chk(to: *mut c_char, from: *const c_char, room: usize) -> *mut c_char, "rcx": quick {
        reads_text(from, pc);
    } (result, pc) { writes_text(to, pc); }
    strncpy(to: *mut c_char, from: *const c_char, len: usize) -> *mut c_char, "rcx": quick {
        reads(from, (real::strnlen(from, len) + 1).min(len), pc);
    } (result, pc) { writes(to, len, pc); }
    stpncpy(to: *mut c_char, from: *const c_char, len: usize) -> *mut c_char, "rcx": quick {
        reads(from, (real::strnlen(from, len) + 1).min(len), pc);
    } (result, pc) { writes(to, len, pc); }
    __strncpy_chk(to: *mut c_char, from: *const c_char, len: usize, room: usize) -> *mut c_char, "r8": quick {
        reads(from, (real::strnlen(from, len) + 1).min(len), pc);
    } (result, pc) { writes(to, len, pc); }
    __stpncpy_chk(to: *mut c_char, from: *const c_char, len: usize, room: usize) -> *mut c_char, "r8": quick {
        reads(from, (real::strnlen(from, len) + 1).min(len), pc);
    } (result, pc) { writes(to, len, pc); }
    strcat(to: *mut c_char, from: *const c_char) -> *mut c_char, "rdx": quick {
        let before = length(to);
        reads(to, before + 1, pc);
        reads_text(from, pc);
    } (result, pc) { writes_text(to.add(before), pc); }
    __strcat_chk(to: *mut c_char, from: *const c_char, room: usize) -> *mut c_char, "rcx": quick {
        let before = length(to);
        reads(to, before + 1, pc);
        reads_text(from, pc);
    } (result, pc) { writes_text(to.add(before), pc); }
    strncat(to: *mut c_char, from: *const c_char, most: usize) -> *mut c_char, "rcx": quick {
        let before = length(to);
        reads(to, before + 1, pc);
        reads(from, (real::strnlen(from, most) + 1).min(most), pc);
    } (result, pc) { writes_text(to.add(before), pc); }
    __strncat_chk(to: *mut c_char, from: *const c_char, most: usize, room: usize) -> *mut c_char, "r8": quick {
        let before = length(to);
        reads(to, before + 1, pc);
        reads(from, (real::strnlen(from, most) + 1).min(most), pc);
    } (result, pc) { writes_text(to.add(before), pc); }
    memcmp(a: *const c_void, b: *const c_void, len: usize) -> c_int, "rcx": quick {} (order, pc) {
        let looked = differ_after(a, b, len);
        reads(a, looked, pc);
        reads(b, looked, pc);
    }
    bcmp(a: *const c_void, b: *const c_void, len: usize) -> c_int, "rcx": quick {} (order, pc) {
        let looked = differ_after(a, b, len);
        reads(a, looked, pc);
        reads(b, looked, pc);
    }
    memchr(start: *const c_void, wanted: c_int, len: usize) -> *mut c_void, "rcx": quick {} (found, pc) {
        reads(start, up_to(start, found, len), pc);
    }
    memrchr(start: *const c_void, wanted: c_int, len: usize) -> *mut c_void, "rcx": quick {} (found, pc) {
        let from = if found.is_null() { start } else { found.cast_const() };
        reads(from, start as usize + len - from as usize, pc);
    }
    rawmemchr(start: *const c_void, wanted: c_int) -> *mut c_void, "rdx": quick {} (found, pc) {
        reads(start, up_to(start, found, 0), pc);
    }
    memmem(start: *const c_void, len: usize, part: *const c_void, part_len: usize) -> *mut c_void, "r8": quick {} (found, pc) {
        reads(part, part_len, pc);
        reads(start, if found.is_null() { len } else { found as usize - start as usize + part_len }, pc);
    }
    memccpy(to: *mut c_void, from: *const c_void, last: c_int, len: usize) -> *mut c_void, "r8": quick {
        let end = real::memchr(from, last, len);
        let len_done = up_to(from, end, len);
        reads(from, len_done, pc);
    } (result, pc) { writes(to, len_done, pc); }
    bzero(to: *mut c_void, len: usize) -> (), "rdx": quick {} (result, pc) { writes(to, len, pc); }
    explicit_bzero(to: *mut c_void, len: usize) -> (), "rdx": quick {} (result, pc) { writes(to, len, pc); }
    __explicit_bzero_chk(to: *mut c_void, len: usize, room: usize) -> (), "rcx": quick {} (result, pc) { writes(to, len, pc); }
    // GNU's: of an error that it knows, it has the text.
    strerror_r(error: c_int, to: *mut c_char, room: usize) -> *const c_char, "rcx": quick {} (text, pc) {
        if text == to.cast_const() { writes_text(text, pc); }
    }
    __xpg_strerror_r(error: c_int, to: *mut c_char, room: usize) -> c_int, "rcx": quick {} (result, pc) {
        if room > 0 { writes_text(to, pc); }
    }
    strtok_r(text: *mut c_char, set: *const c_char, rest: *mut *mut c_char) -> *mut c_char, "rcx": quick {
        reads_text(set, pc);
        if text.is_null() {
            reads(rest, size_of::<*mut c_char>(), pc);
        }
        let from = if text.is_null() { *rest } else { text };
        if !from.is_null() {
            let token = strspn::strspn(from, set);
            reads(from, token + strcspn::strcspn(from.add(token), set) + 1, pc);
        }
    } (token, pc) {
        // If a separator ended the token, it was overwritten.
        if !token.is_null() && *(*rest).sub(1) == 0 {
            writes((*rest).sub(1), 1, pc);
        }
        writes(rest, size_of::<*mut c_char>(), pc);
    }
    strsep(rest: *mut *mut c_char, set: *const c_char) -> *mut c_char, "rdx": quick {
        reads_text(set, pc);
        reads(rest, size_of::<*mut c_char>(), pc);
        let from = *rest;
        if !from.is_null() { reads(from, strcspn::strcspn(from, set) + 1, pc); }
    } (token, pc) {
        if !(*rest).is_null() {
            writes((*rest).sub(1), 1, pc);
        }
        if !from.is_null() { writes(rest, size_of::<*mut c_char>(), pc); }
    }
}

/// A copy of the first `len` bytes of a string, in a block that the caller owns.
unsafe fn copy_of(text: *const c_char, len: usize, read: usize, pc: usize) -> *mut c_char {
    // SAFETY: the program's own string; a block of `len + 1` bytes that is zero.
    unsafe {
        let block = super::heap::allocate(len + 1, pc).cast::<c_char>();
        if block.is_null() {
            return block;
        }
        let inside = crate::runtime::accesses::enter(pc);
        if inside.is_some() {
            reads(text, read, pc);
        }
        ptr::copy_nonoverlapping(text, block, len);
        if inside.is_some() {
            writes(block, len + 1, pc);
        }
        block
    }
}

unsafe extern "C-unwind" fn duplicate(text: *const c_char, pc: usize) -> *mut c_char {
    // SAFETY: the program's own string.
    unsafe {
        let len = length(text);
        copy_of(text, len, len + 1, pc)
    }
}

unsafe extern "C-unwind" fn duplicate_part(text: *const c_char, most: usize, pc: usize) -> *mut c_char {
    // SAFETY: the program's own string.
    unsafe {
        let len = real::strnlen(text, most);
        copy_of(text, len, (len + 1).min(most), pc)
    }
}

unsafe extern "C-unwind" fn copy_and_point_behind(to: *mut u8, from: *const u8, len: usize, pc: usize) -> *mut u8 {
    // SAFETY: the program's own arguments.
    unsafe { super::copies::copy(to, from, len, pc).add(len) }
}

unsafe extern "C-unwind" fn copy_backwards(from: *const u8, to: *mut u8, len: usize, pc: usize) {
    // SAFETY: the program's own arguments.
    unsafe { super::copies::copy(to, from, len, pc) };
}

/// Ends the program, as libc does, if more is copied than there is room for.
pub(super) unsafe fn refuse_overflow(len: usize, room: usize) {
    if len > room {
        // SAFETY: does not come back.
        unsafe { real::__chk_fail() };
    }
}

unsafe extern "C-unwind" fn checked_copy(to: *mut u8, from: *const u8, len: usize, room: usize, pc: usize) -> *mut u8 {
    // SAFETY: the program's own arguments.
    unsafe {
        refuse_overflow(len, room);
        super::copies::copy(to, from, len, pc)
    }
}

unsafe extern "C-unwind" fn checked_copy_and_point_behind(
    to: *mut u8,
    from: *const u8,
    len: usize,
    room: usize,
    pc: usize,
) -> *mut u8 {
    // SAFETY: the program's own arguments.
    unsafe { checked_copy(to, from, len, room, pc).add(len) }
}

unsafe extern "C-unwind" fn checked_fill(to: *mut u8, byte: c_int, len: usize, room: usize, pc: usize) -> *mut u8 {
    // SAFETY: the program's own arguments.
    unsafe {
        refuse_overflow(len, room);
        super::copies::fill(to, byte, len, pc)
    }
}

/// Where `strtok` goes on, for all threads.
struct Rest(UnsafeCell<*mut c_char>);

// SAFETY: as unsafe as `strtok`.
unsafe impl Sync for Rest {}

/// A report of a race names it.
#[unsafe(no_mangle)]
static rest_of_strtok: Rest = Rest(UnsafeCell::new(ptr::null_mut()));

unsafe extern "C-unwind" fn tokens(text: *mut c_char, set: *const c_char, pc: usize) -> *mut c_char {
    // SAFETY: the program's own arguments.
    unsafe { strtok_r::body(text, set, rest_of_strtok.0.get(), pc) }
}

export! {
    strtok = tokens, "rdx";
    strdup = duplicate, "rsi";
    strndup = duplicate_part, "rdx";
    __strdup = duplicate, "rsi";
    __strndup = duplicate_part, "rdx";
    mempcpy = copy_and_point_behind, "rcx";
    bcopy = copy_backwards, "rcx";
    __memcpy_chk = checked_copy, "r8";
    __memmove_chk = checked_copy, "r8";
    __mempcpy_chk = checked_copy_and_point_behind, "r8";
    __memset_chk = checked_fill, "r8";
}
