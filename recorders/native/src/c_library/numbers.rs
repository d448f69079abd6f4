//! Numbers in strings: `strtol`, `atoi` and their kin read the string, and say where the number ends.

use crate::runtime::accesses::{reads, writes};
use core::ffi::{c_double, c_float};
use core::ptr;
use libc::{c_char, c_int, c_long, c_longlong, c_ulong, c_ulonglong, intmax_t, uintmax_t};

/// Records what a conversion read, up to the character that ended it, and the place that it reported.
macro_rules! conversion {
    ($text:ident, $end:ident, $pc:ident, $again:expr) => {{
        let mut stop = core::ptr::null_mut();
        if $end.is_null() {
            $again(&raw mut stop);
        } else {
            stop = *$end;
            writes($end, size_of::<*mut c_char>(), $pc);
        }
        reads($text, stop as usize - $text as usize + 1, $pc);
    }};
}

/// Records what the conversion of a whole number read.
///
/// # Safety
/// A string.
unsafe fn reads_decimal(text: *const c_char, pc: usize) {
    let end: *mut *mut c_char = ptr::null_mut();
    // SAFETY: promised by the caller.
    unsafe { conversion!(text, end, pc, |stop| strtol::strtol(text, stop, 10)) };
}

library! {
    strtol(text: *const c_char, end: *mut *mut c_char, base: c_int) -> c_long, "rcx": quick {} (value, pc) {
        conversion!(text, end, pc, |stop| strtol(text, stop, base));
    }
    strtoul(text: *const c_char, end: *mut *mut c_char, base: c_int) -> c_ulong, "rcx": quick {} (value, pc) {
        conversion!(text, end, pc, |stop| strtoul(text, stop, base));
    }
    strtoll(text: *const c_char, end: *mut *mut c_char, base: c_int) -> c_longlong, "rcx": quick {} (value, pc) {
        conversion!(text, end, pc, |stop| strtoll(text, stop, base));
    }
    strtoull(text: *const c_char, end: *mut *mut c_char, base: c_int) -> c_ulonglong, "rcx": quick {} (value, pc) {
        conversion!(text, end, pc, |stop| strtoull(text, stop, base));
    }
    strtod(text: *const c_char, end: *mut *mut c_char) -> c_double, "rdx": quick {} (value, pc) {
        conversion!(text, end, pc, |stop| strtod(text, stop));
    }
    strtof(text: *const c_char, end: *mut *mut c_char) -> c_float, "rdx": quick {} (value, pc) {
        conversion!(text, end, pc, |stop| strtof(text, stop));
    }
    strtoimax(text: *const c_char, end: *mut *mut c_char, base: c_int) -> intmax_t, "rcx": quick {} (value, pc) {
        conversion!(text, end, pc, |stop| strtoimax(text, stop, base));
    }
    strtoumax(text: *const c_char, end: *mut *mut c_char, base: c_int) -> uintmax_t, "rcx": quick {} (value, pc) {
        conversion!(text, end, pc, |stop| strtoumax(text, stop, base));
    }
    atoi(text: *const c_char) -> c_int, "rsi": quick {} (value, pc) { reads_decimal(text, pc); }
    atol(text: *const c_char) -> c_long, "rsi": quick {} (value, pc) { reads_decimal(text, pc); }
    atoll(text: *const c_char) -> c_longlong, "rsi": quick {} (value, pc) { reads_decimal(text, pc); }
    atof(text: *const c_char) -> c_double, "rsi": quick {} (value, pc) {
        let end: *mut *mut c_char = ptr::null_mut();
        conversion!(text, end, pc, |stop| strtod::strtod(text, stop));
    }
}
