//! Strings, blocks and numbers of wide characters, as [`strings`](super::strings) and [`numbers`](super::numbers) have
//! them of bytes.

use super::copies::copy;
use super::heap::allocate;
use super::strings::refuse_overflow;
use crate::platform::export::export;
use crate::runtime::accesses::{reads, writes};
use core::ffi::{c_double, c_float};
use libc::{c_int, c_long, c_longlong, c_ulong, c_ulonglong, wchar_t};

/// Bytes of a wide character.
pub const WIDE: usize = size_of::<wchar_t>();

/// The length of a string.
///
/// # Safety
/// `text` is a string.
pub unsafe fn wide_length(text: *const wchar_t) -> usize {
    // SAFETY: promised by the caller.
    unsafe { wcslen::wcslen(text) }
}

/// Records a read of so many characters.
pub fn reads_wide(text: *const wchar_t, count: usize, pc: usize) {
    reads(text, count * WIDE, pc);
}

/// Records a write of so many characters.
pub fn writes_wide(text: *const wchar_t, count: usize, pc: usize) {
    writes(text, count * WIDE, pc);
}

/// Records a read of a string with its end.
///
/// # Safety
/// `text` is a string.
pub unsafe fn reads_wide_text(text: *const wchar_t, pc: usize) {
    // SAFETY: promised by the caller.
    reads_wide(text, unsafe { wide_length(text) } + 1, pc);
}

/// Records a write of a string with its end.
///
/// # Safety
/// `text` is a string.
unsafe fn writes_wide_text(text: *const wchar_t, pc: usize) {
    // SAFETY: promised by the caller.
    writes_wide(text, unsafe { wide_length(text) } + 1, pc);
}

/// How many characters of a string a call looks at that looks at no more than `most`.
///
/// # Safety
/// A string, or so many characters.
pub unsafe fn looked_at(text: *const wchar_t, most: usize) -> usize {
    // SAFETY: promised by the caller.
    unsafe { wcsnlen::wcsnlen(text, most) }.saturating_add(1).min(most)
}

/// How many characters a comparison looks at: up to the first that differs, or to the end of both if they are strings.
///
/// # Safety
/// Readable up to there.
unsafe fn compared(a: *const wchar_t, b: *const wchar_t, most: usize, strings: bool) -> usize {
    let mut at = 0;
    while at < most {
        // SAFETY: promised by the caller: no character before was a difference or an end.
        let (x, y) = unsafe { (*a.add(at), *b.add(at)) };
        at += 1;
        if x != y || strings && x == 0 {
            break;
        }
    }
    at
}

/// The characters up to and with `found`, or all `len` of them.
fn up_to(start: *const wchar_t, found: *const wchar_t, len: usize) -> usize {
    if found.is_null() {
        len
    } else {
        (found as usize - start as usize) / WIDE + 1
    }
}

/// Records what a conversion read, up to the character that ended it, and the place that it reported.
macro_rules! conversion {
    ($text:ident, $end:ident, $pc:ident, $again:expr) => {{
        let mut stop = core::ptr::null_mut();
        if $end.is_null() {
            $again(&raw mut stop);
        } else {
            stop = *$end;
            writes($end, size_of::<*mut wchar_t>(), $pc);
        }
        reads_wide($text, up_to($text, stop, 0), $pc);
    }};
}

/// What copies a string: the whole string is read, and then written.
macro_rules! copies {
    ($($name:ident($($more:ident),*), $register:tt;)*) => { library! { $(
        $name(to: *mut wchar_t, from: *const wchar_t $(, $more: usize)*) -> *mut wchar_t, $register: quick {
            reads_wide_text(from, pc);
        } (result, pc) { writes_wide_text(to, pc); }
    )* } };
}

/// What copies at most so many characters, and fills up the rest.
macro_rules! copies_part {
    ($($name:ident($($more:ident),*), $register:tt;)*) => { library! { $(
        $name(to: *mut wchar_t, from: *const wchar_t, len: usize $(, $more: usize)*) -> *mut wchar_t, $register: quick {
            reads_wide(from, looked_at(from, len), pc);
        } (result, pc) { writes_wide(to, len, pc); }
    )* } };
}

/// What puts a string behind another.
macro_rules! appends {
    ($($name:ident($($more:ident),*), $register:tt;)*) => { library! { $(
        $name(to: *mut wchar_t, from: *const wchar_t $(, $more: usize)*) -> *mut wchar_t, $register: quick {
            let before = wide_length(to);
            reads_wide(to, before + 1, pc);
            reads_wide_text(from, pc);
        } (result, pc) { writes_wide_text(to.add(before), pc); }
    )* } };
}

/// What puts at most so many characters behind a string.
macro_rules! appends_part {
    ($($name:ident($($more:ident),*), $register:tt;)*) => { library! { $(
        $name(to: *mut wchar_t, from: *const wchar_t, most: usize $(, $more: usize)*) -> *mut wchar_t, $register: quick {
            let before = wide_length(to);
            reads_wide(to, before + 1, pc);
            reads_wide(from, looked_at(from, most), pc);
        } (result, pc) { writes_wide_text(to.add(before), pc); }
    )* } };
}

appends! {
    wcscat(), "rdx";
    __wcscat_chk(room), "rcx";
}

appends_part! {
    wcsncat(), "rcx";
    __wcsncat_chk(room), "r8";
}

copies! {
    wcscpy(), "rdx";
    wcpcpy(), "rdx";
    __wcscpy_chk(room), "rcx";
    __wcpcpy_chk(room), "rcx";
}

copies_part! {
    wcsncpy(), "rcx";
    wcpncpy(), "rcx";
    __wcsncpy_chk(room), "r8";
    __wcpncpy_chk(room), "r8";
}

library! {
    wcslen(text: *const wchar_t) -> usize, "rsi": quick {} (len, pc) { reads_wide(text, len + 1, pc); }
    wcsnlen(text: *const wchar_t, most: usize) -> usize, "rdx": quick {} (len, pc) {
        reads_wide(text, (len + 1).min(most), pc);
    }
    wcscmp(a: *const wchar_t, b: *const wchar_t) -> c_int, "rdx": quick {} (order, pc) {
        let len = compared(a, b, usize::MAX, true);
        reads_wide(a, len, pc);
        reads_wide(b, len, pc);
    }
    wcsncmp(a: *const wchar_t, b: *const wchar_t, most: usize) -> c_int, "rcx": quick {} (order, pc) {
        let len = compared(a, b, most, true);
        reads_wide(a, len, pc);
        reads_wide(b, len, pc);
    }
    wmemcmp(a: *const wchar_t, b: *const wchar_t, len: usize) -> c_int, "rcx": quick {} (order, pc) {
        let looked = compared(a, b, len, false);
        reads_wide(a, looked, pc);
        reads_wide(b, looked, pc);
    }
    wcschr(text: *const wchar_t, wanted: wchar_t) -> *mut wchar_t, "rdx": quick {} (found, pc) {
        reads_wide(text, if found.is_null() { wide_length(text) + 1 } else { up_to(text, found, 0) }, pc);
    }
    wcschrnul(text: *const wchar_t, wanted: wchar_t) -> *mut wchar_t, "rdx": quick {} (found, pc) {
        reads_wide(text, up_to(text, found, 0), pc);
    }
    wcsrchr(text: *const wchar_t, wanted: wchar_t) -> *mut wchar_t, "rdx": quick {} (found, pc) { reads_wide_text(text, pc); }
    wmemchr(start: *const wchar_t, wanted: wchar_t, len: usize) -> *mut wchar_t, "rcx": quick {} (found, pc) {
        reads_wide(start, up_to(start, found, len), pc);
    }
    wcsstr(text: *const wchar_t, part: *const wchar_t) -> *mut wchar_t, "rdx": quick {} (found, pc) {
        reads_wide_text(part, pc);
        if found.is_null() {
            reads_wide_text(text, pc);
        } else {
            reads_wide(text, up_to(text, found, 0) - 1 + wide_length(part), pc);
        }
    }
    wcsspn(text: *const wchar_t, set: *const wchar_t) -> usize, "rdx": quick {} (len, pc) {
        reads_wide(text, len + 1, pc);
        reads_wide_text(set, pc);
    }
    wcscspn(text: *const wchar_t, set: *const wchar_t) -> usize, "rdx": quick {} (len, pc) {
        reads_wide(text, len + 1, pc);
        reads_wide_text(set, pc);
    }
    wcspbrk(text: *const wchar_t, set: *const wchar_t) -> *mut wchar_t, "rdx": quick {} (found, pc) {
        reads_wide_text(set, pc);
        reads_wide(text, if found.is_null() { wide_length(text) + 1 } else { up_to(text, found, 0) }, pc);
    }
    wmemset(to: *mut wchar_t, wide: wchar_t, len: usize) -> *mut wchar_t, "rcx": quick {} (result, pc) {
        writes_wide(to, len, pc);
    }
    __wmemset_chk(to: *mut wchar_t, wide: wchar_t, len: usize, room: usize) -> *mut wchar_t, "r8": quick {} (result, pc) {
        writes_wide(to, len, pc);
    }
    wcstok(text: *mut wchar_t, set: *const wchar_t, rest: *mut *mut wchar_t) -> *mut wchar_t, "rcx": quick {
        reads_wide_text(set, pc);
        if text.is_null() {
            reads(rest, size_of::<*mut wchar_t>(), pc);
        }
        let from = if text.is_null() { *rest } else { text };
        if !from.is_null() {
            let token = wcsspn::wcsspn(from, set);
            reads_wide(from, token + wcscspn::wcscspn(from.add(token), set) + 1, pc);
        }
    } (token, pc) {
        // If a separator ended the token, it was overwritten.
        if !token.is_null() && !(*rest).is_null() {
            writes_wide((*rest).sub(1), 1, pc);
        }
        if !from.is_null() { writes(rest, size_of::<*mut wchar_t>(), pc); }
    }
    wcstol(text: *const wchar_t, end: *mut *mut wchar_t, base: c_int) -> c_long, "rcx": quick {} (value, pc) {
        conversion!(text, end, pc, |stop| wcstol(text, stop, base));
    }
    wcstoul(text: *const wchar_t, end: *mut *mut wchar_t, base: c_int) -> c_ulong, "rcx": quick {} (value, pc) {
        conversion!(text, end, pc, |stop| wcstoul(text, stop, base));
    }
    wcstoll(text: *const wchar_t, end: *mut *mut wchar_t, base: c_int) -> c_longlong, "rcx": quick {} (value, pc) {
        conversion!(text, end, pc, |stop| wcstoll(text, stop, base));
    }
    wcstoull(text: *const wchar_t, end: *mut *mut wchar_t, base: c_int) -> c_ulonglong, "rcx": quick {} (value, pc) {
        conversion!(text, end, pc, |stop| wcstoull(text, stop, base));
    }
    wcstod(text: *const wchar_t, end: *mut *mut wchar_t) -> c_double, "rdx": quick {} (value, pc) {
        conversion!(text, end, pc, |stop| wcstod(text, stop));
    }
    wcstof(text: *const wchar_t, end: *mut *mut wchar_t) -> c_float, "rdx": quick {} (value, pc) {
        conversion!(text, end, pc, |stop| wcstof(text, stop));
    }
}

unsafe extern "C-unwind" fn copy_wide(to: *mut wchar_t, from: *const wchar_t, len: usize, pc: usize) -> *mut wchar_t {
    // SAFETY: the program's own arguments.
    unsafe { copy(to.cast(), from.cast(), len.wrapping_mul(WIDE), pc).cast() }
}

unsafe extern "C-unwind" fn copy_wide_and_point_behind(
    to: *mut wchar_t,
    from: *const wchar_t,
    len: usize,
    pc: usize,
) -> *mut wchar_t {
    // SAFETY: the program's own arguments.
    unsafe { copy_wide(to, from, len, pc).wrapping_add(len) }
}

unsafe extern "C-unwind" fn checked_copy_wide(
    to: *mut wchar_t,
    from: *const wchar_t,
    len: usize,
    room: usize,
    pc: usize,
) -> *mut wchar_t {
    // SAFETY: the program's own arguments.
    unsafe {
        refuse_overflow(len, room);
        copy_wide(to, from, len, pc)
    }
}

unsafe extern "C-unwind" fn checked_copy_wide_and_point_behind(
    to: *mut wchar_t,
    from: *const wchar_t,
    len: usize,
    room: usize,
    pc: usize,
) -> *mut wchar_t {
    // SAFETY: the program's own arguments.
    unsafe { checked_copy_wide(to, from, len, room, pc).wrapping_add(len) }
}

unsafe extern "C-unwind" fn duplicate(text: *const wchar_t, pc: usize) -> *mut wchar_t {
    // SAFETY: the program's own string, and a block that has room for it.
    unsafe {
        let size = (wide_length(text) + 1) * WIDE;
        let block = allocate(size, pc).cast::<u8>();
        if !block.is_null() {
            copy(block, text.cast(), size, pc);
        }
        block.cast()
    }
}

export! {
    wcsdup = duplicate, "rsi";
    wmemcpy = copy_wide, "rcx";
    wmemmove = copy_wide, "rcx";
    wmempcpy = copy_wide_and_point_behind, "rcx";
    __wmemcpy_chk = checked_copy_wide, "r8";
    __wmemmove_chk = checked_copy_wide, "r8";
    __wmempcpy_chk = checked_copy_wide_and_point_behind, "r8";
}
