//! Regular expressions.

use super::library::{reads_text, writes_text};
use crate::runtime::accesses::writes;
use libc::{c_char, c_int, regex_t, regmatch_t};

/// The fields that come before bits of `regex_t`, of which only the C library knows which it changes.
const FIELDS: usize = size_of::<[usize; 7]>();

/// The bit of them that says that no places are asked for.
const NO_PLACES: u8 = 1 << 4;

/// What `regexec` may be asked for besides a part of the string.
const KNOWN: c_int = libc::REG_NOTBOL | libc::REG_NOTEOL;

/// Whether an expression was compiled to tell where it matches.
///
/// # Safety
/// A compiled one.
unsafe fn tells_places(expression: *const regex_t) -> bool {
    // SAFETY: promised by the caller: the bits follow the fields.
    unsafe { expression.cast::<u8>().add(FIELDS).read() & NO_PLACES == 0 }
}

library! {
    regcomp(to: *mut regex_t, pattern: *const c_char, flags: c_int) -> c_int, "rcx": slow {
        reads_text(pattern, pc);
    } (error, pc) { if error == 0 { writes(to, FIELDS, pc); } }
    regexec(expression: *const regex_t, text: *const c_char, count: usize, places: *mut regmatch_t, flags: c_int) -> c_int, "r9": slow {
        if flags & !KNOWN == 0 { reads_text(text, pc); }
    } (error, pc) {
        if error == 0 && tells_places(expression) { writes(places, count * size_of::<regmatch_t>(), pc); }
    }
    regerror(error: c_int, expression: *const regex_t, to: *mut c_char, room: usize) -> usize, "r8": slow {} (len, pc) {
        if room > 0 { writes_text(to, pc); }
    }
}
