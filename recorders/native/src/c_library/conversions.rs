//! Text in other encodings: `iconv`, and multibyte characters from and to wide ones.
//!
//! Of the state that a conversion keeps for its caller, only what differs afterwards is recorded, and what is pending.

use super::library::{before_writes, length, reads_text};
use super::wide::{looked_at, reads_wide, reads_wide_text, writes_wide};
use crate::platform::real;
use crate::runtime::accesses::{reads, writes};
use core::ptr;
use libc::{c_char, c_int, c_void, wchar_t};

/// What a conversion returns that failed.
const FAILED: usize = usize::MAX;

/// What `mbrtowc` returns for a character that begins here, and does not end.
const BEGINS: usize = usize::MAX - 1;

/// No multibyte character has more bytes.
const LONGEST: usize = 16;

const POINTER: usize = size_of::<*const c_void>();

/// An `mbstate_t`: how many bytes of a character are pending, and which.
type State = [u32; 2];

/// The state that a conversion finds. Where nothing is pending, it need not look at it.
///
/// # Safety
/// Null, or valid.
unsafe fn state_before(state: *const State, pc: usize) -> State {
    if state.is_null() {
        return [0; 2];
    }
    // SAFETY: promised by the caller; the program's own may be unaligned.
    let found = unsafe { state.read_unaligned() };
    if found[0] != 0 {
        reads(state, size_of::<State>(), pc);
    }
    found
}

/// The state that it leaves.
///
/// # Safety
/// Null, or valid.
unsafe fn state_after(state: *const State, before: State, pc: usize) {
    if state.is_null() {
        return;
    }
    // SAFETY: promised by the caller; the program's own may be unaligned.
    let after = unsafe { state.read_unaligned() };
    for at in 0..after.len() {
        if after[at] != before[at] {
            writes(state.cast::<u32>().wrapping_add(at), size_of::<u32>(), pc);
        }
    }
}

/// A pointer of the caller's that a call moves on.
///
/// # Safety
/// Valid.
unsafe fn moved<T>(pointer: *const *mut T, before: *mut T, pc: usize) -> *mut T {
    // SAFETY: promised by the caller.
    let after = unsafe { *pointer };
    if after != before {
        writes(pointer, POINTER, pc);
    }
    after
}

/// How many wide characters became `done` bytes, where there was room for `most`, and whether the last of them was the
/// end.
///
/// # Safety
/// The call that did it looked at so many.
unsafe fn narrowed(from: *const wchar_t, most: usize, done: usize) -> (usize, bool) {
    let (mut looked, mut sum) = (0, 0);
    while sum < done {
        let (mut bytes, mut state) = ([0; LONGEST], [0; 2]);
        // SAFETY: promised by the caller; no character is longer than this room.
        let here = unsafe { wcrtomb::wcrtomb(bytes.as_mut_ptr(), *from.add(looked), &raw mut state) };
        if here == FAILED {
            return (looked, false);
        }
        (looked, sum) = (looked + 1, sum + here);
    }
    if sum != done || done == most {
        return (looked, false);
    }
    // SAFETY: there was room for more, so the call looked at what comes next.
    (looked + 1, unsafe { *from.add(looked) } == 0)
}

/// How many characters lie between two places.
fn between<T>(from: *const T, to: *const T) -> usize {
    (to as usize - from as usize) / size_of::<T>()
}

/// `mbstowcs` made so many characters wide. It looks at a byte for each at least.
///
/// # Safety
/// The arguments and the result of the call.
unsafe fn widened(to: *const wchar_t, from: *const c_char, most: usize, count: usize, pc: usize) {
    // SAFETY: promised by the caller.
    unsafe {
        if count == FAILED {
            return;
        }
        if to.is_null() {
            reads_text(from, pc);
        } else {
            let ends = count < most;
            reads(from, if ends { length(from) + 1 } else { count }, pc);
            writes_wide(to, count + usize::from(ends), pc);
        }
    }
}

/// `wcstombs` made so many bytes of wide characters.
///
/// # Safety
/// The arguments and the result of the call.
unsafe fn made_narrow(to: *const c_char, from: *const wchar_t, most: usize, done: usize, pc: usize) {
    // SAFETY: promised by the caller.
    unsafe {
        if done == FAILED {
            return;
        }
        if to.is_null() {
            reads_wide_text(from, pc);
        } else {
            let (looked, ends) = narrowed(from, most, done);
            reads_wide(from, looked, pc);
            writes(to, done + usize::from(ends), pc);
        }
    }
}

/// `mbsrtowcs` or `mbsnrtowcs` made so many characters wide, of a text of at most `there` bytes.
///
/// # Safety
/// The arguments and the result of the call, and the text that it was given.
unsafe fn text_widened(
    to: *const wchar_t,
    from: *const *mut c_char,
    given: *mut c_char,
    there: usize,
    count: usize,
    pc: usize,
) {
    // SAFETY: promised by the caller: a conversion that comes to the end has looked at all of it.
    unsafe {
        let whole = || (real::strnlen(given, there).saturating_add(1)).min(there);
        if to.is_null() {
            reads(given, if count == FAILED { 0 } else { whole() }, pc);
            return;
        }
        let stop = moved(from, given, pc);
        let ends = stop.is_null();
        reads(given, if ends { whole() } else { between(given, stop) }, pc);
        if count != FAILED {
            writes_wide(to, count + usize::from(ends), pc);
        }
    }
}

/// `wcsrtombs` or `wcsnrtombs` made so many bytes, of at most `there` wide characters.
///
/// # Safety
/// The arguments and the result of the call, and the text that it was given.
unsafe fn text_made_narrow(
    to: *const c_char,
    from: *const *mut wchar_t,
    given: *mut wchar_t,
    there: usize,
    done: usize,
    pc: usize,
) {
    // SAFETY: promised by the caller: a conversion that comes to the end has looked at all of it.
    unsafe {
        let whole = || looked_at(given, there);
        if to.is_null() {
            reads_wide(given, if done == FAILED { 0 } else { whole() }, pc);
            return;
        }
        let stop = moved(from, given, pc);
        let ends = stop.is_null();
        reads_wide(given, if ends { whole() } else { between(given, stop) }, pc);
        if done != FAILED {
            writes(to, done + usize::from(ends), pc);
        }
    }
}

/// A multibyte character was looked at, of at most `len` bytes.
fn looked_at_character(text: *const c_char, len: usize, used: usize, pc: usize) {
    let looked = match used {
        BEGINS => len,
        // The end; or what is no character, from the first byte or a later one.
        0 | FAILED => len.min(1),
        used => used,
    };
    reads(text, looked, pc);
}

/// What makes a multibyte string wide; the `_chk` forms say how much room there is.
macro_rules! from_multibyte {
    ($($one:ident, $restartable:ident, $limited:ident($($room:ident)?), $places:tt;)*) => { $(
        from_multibyte!(@ $one, $restartable, $limited($($room)?), $places);
    )* };
    (@ $one:ident, $restartable:ident, $limited:ident($($room:ident)?), ($third:tt, $fourth:tt, $fifth:tt)) => { library! {
        $one(to: *mut wchar_t, from: *const c_char, most: usize $(, $room: usize)?) -> usize, $third: quick {} (count, pc) {
            widened(to, from, most, count, pc);
        }
        $restartable(to: *mut wchar_t, from: *mut *mut c_char, most: usize, state: *mut State $(, $room: usize)?) -> usize, $fourth: quick {
            reads(from, POINTER, pc);
            let (given, was) = (*from, state_before(state, pc));
        } (count, pc) {
            text_widened(to, from, given, usize::MAX, count, pc);
            state_after(state, was, pc);
        }
        $limited(to: *mut wchar_t, from: *mut *mut c_char, there: usize, most: usize, state: *mut State $(, $room: usize)?) -> usize, $fifth: quick {
            reads(from, if there > 0 { POINTER } else { 0 }, pc);
            let (given, was) = (*from, state_before(state, pc));
        } (count, pc) {
            if there > 0 { text_widened(to, from, given, there, count, pc); }
            state_after(state, was, pc);
        }
    } };
}

/// What makes a wide string one of multibyte characters.
macro_rules! to_multibyte {
    ($($one:ident, $restartable:ident, $limited:ident($($room:ident)?), $places:tt;)*) => { $(
        to_multibyte!(@ $one, $restartable, $limited($($room)?), $places);
    )* };
    (@ $one:ident, $restartable:ident, $limited:ident($($room:ident)?), ($third:tt, $fourth:tt, $fifth:tt)) => { library! {
        $one(to: *mut c_char, from: *const wchar_t, most: usize $(, $room: usize)?) -> usize, $third: quick {} (done, pc) {
            made_narrow(to, from, most, done, pc);
        }
        $restartable(to: *mut c_char, from: *mut *mut wchar_t, most: usize, state: *mut State $(, $room: usize)?) -> usize, $fourth: quick {
            reads(from, POINTER, pc);
            let (given, was) = (*from, state_before(state, pc));
        } (done, pc) {
            text_made_narrow(to, from, given, usize::MAX, done, pc);
            state_after(state, was, pc);
        }
        $limited(to: *mut c_char, from: *mut *mut wchar_t, there: usize, most: usize, state: *mut State $(, $room: usize)?) -> usize, $fifth: quick {
            reads(from, if there > 0 { POINTER } else { 0 }, pc);
            let (given, was) = (*from, state_before(state, pc));
        } (done, pc) {
            if there > 0 { text_made_narrow(to, from, given, there, done, pc); }
            state_after(state, was, pc);
        }
    } };
}

from_multibyte! {
    mbstowcs, mbsrtowcs, mbsnrtowcs(), ("rcx", "r8", "r9");
    __mbstowcs_chk, __mbsrtowcs_chk, __mbsnrtowcs_chk(room), ("r8", "r9", after_six);
}

to_multibyte! {
    wcstombs, wcsrtombs, wcsnrtombs(), ("rcx", "r8", "r9");
    __wcstombs_chk, __wcsrtombs_chk, __wcsnrtombs_chk(room), ("r8", "r9", after_six);
}

library! {
    mbrtowc(to: *mut wchar_t, text: *const c_char, len: usize, state: *mut State) -> usize, "r8": quick {
        let was = state_before(state, pc);
    } (used, pc) {
        looked_at_character(text, len, used, pc);
        if !text.is_null() && used < BEGINS { writes_wide(to, 1, pc); }
        state_after(state, was, pc);
    }
    mbrlen(text: *const c_char, len: usize, state: *mut State) -> usize, "rcx": quick {
        let was = state_before(state, pc);
    } (used, pc) {
        looked_at_character(text, len, used, pc);
        state_after(state, was, pc);
    }
    mbtowc(to: *mut wchar_t, text: *const c_char, len: usize) -> c_int, "rcx": quick {} (used, pc) {
        if used >= 0 && !text.is_null() {
            looked_at_character(text, len, used as usize, pc);
            writes_wide(to, 1, pc);
        }
    }
    mblen(text: *const c_char, len: usize) -> c_int, "rdx": quick {} (used, pc) {
        if used >= 0 { looked_at_character(text, len, used as usize, pc); }
    }
    wcrtomb(to: *mut c_char, wide: wchar_t, state: *mut State) -> usize, "rcx": quick {
        let was = state_before(state, pc);
    } (done, pc) {
        if done != FAILED { writes(to, done, pc); }
        state_after(state, was, pc);
    }
    __wcrtomb_chk(to: *mut c_char, wide: wchar_t, state: *mut State, room: usize) -> usize, "r8": quick {
        let was = state_before(state, pc);
    } (done, pc) {
        if done != FAILED { writes(to, done, pc); }
        state_after(state, was, pc);
    }
    wctomb(to: *mut c_char, wide: wchar_t) -> c_int, "rdx": quick {} (done, pc) {
        if done > 0 { writes(to, done as usize, pc); }
    }
    __wctomb_chk(to: *mut c_char, wide: wchar_t, room: usize) -> c_int, "rcx": quick {} (done, pc) {
        if done > 0 { writes(to, done as usize, pc); }
    }
    iconv(descriptor: usize, from: *mut *mut c_char, left: *mut usize, to: *mut *mut c_char, room: *mut usize) -> usize, "r9": quick {
        // Without a text, the state is put back, and what that takes is written.
        let text = from.as_ref().copied().unwrap_or(ptr::null_mut());
        let out = to.as_ref().copied().unwrap_or(ptr::null_mut());
        reads(from, POINTER, pc);
        reads(to, POINTER, pc);
        if !text.is_null() { reads(left, size_of::<usize>(), pc); }
        if !out.is_null() { reads(room, size_of::<usize>(), pc); }
        before_writes(pc, [Some(out as usize)]);
    } (result, pc) {
        if !text.is_null() {
            let stop = moved(from, text, pc);
            reads(text, between(text, stop), pc);
            writes(left, size_of::<usize>(), pc);
        }
        if !out.is_null() {
            let stop = moved(to, out, pc);
            writes(out, between(out, stop), pc);
            writes(room, size_of::<usize>(), pc);
        }
    }
}
