//! `std::string`, in the form that it has since C++11.
//!
//! Its short contents lie in itself, longer ones in a block. What a call may look at and what it changes, its arguments
//! say; where the contents lie afterwards, the string itself.

#![expect(non_snake_case, reason = "the names of C++'s functions are mangled")]

use crate::c_library::library::{length, reads_text};
use crate::runtime::accesses::{reads, writes};
use core::ptr;
use libc::c_char;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text {
    data: *const u8,
    len: usize,
    /// Short contents; of longer ones, how many there may be, and nothing.
    local: [usize; 2],
}

impl Text {
    unsafe fn is_short(this: *const Text) -> bool {
        // SAFETY: the program's own string.
        unsafe { ptr::eq((*this).data, (&raw const (*this).local).cast()) }
    }
}

/// What a call takes characters from.
enum Source {
    Nothing,
    /// A string.
    Text(usize),
    /// So many characters at most, from some place of it on.
    Part(usize, usize, usize),
    /// So many characters.
    Chars(usize, usize),
    /// Characters up to the first that is zero.
    CString(usize),
}
use Source::{CString, Chars, Nothing, Part};

unsafe fn reads_source(source: Source, pc: usize) {
    let part = match source {
        Nothing => return,
        Chars(chars, len) => return reads(chars as *const u8, len, pc),
        // SAFETY: the program's own characters.
        CString(chars) => return unsafe { reads_text(chars as *const c_char, pc) },
        Source::Text(text) => (text, 0, usize::MAX),
        Part(text, from, len) => (text, from, len),
    };
    let (text, from, len) = (part.0 as *const Text, part.1, part.2);
    reads(text, 2 * size_of::<usize>(), pc);
    // SAFETY: the program's own string; what lies behind its end, a call refuses.
    unsafe {
        let Text { data, len: all, .. } = *text;
        if from <= all {
            reads(data.add(from), len.min(all - from), pc);
        }
    }
}

/// A call is about to change a string, of which it looks at where the contents are, and how many there may be.
unsafe fn before_change(text: *const Text, pc: usize) -> Text {
    reads(text, 2 * size_of::<usize>(), pc);
    // SAFETY: the program's own string.
    unsafe {
        if !Text::is_short(text) {
            reads(&raw const (*text).local[0], size_of::<usize>(), pc);
        }
        *text
    }
}

/// It has changed the string from some place on, where it replaced so many characters, or moved all of it to a new block.
/// What lies behind these stays where it is if the new ones are as many.
unsafe fn changed(text: *const Text, before: &Text, (from, old): (usize, usize), pc: usize) {
    // SAFETY: the program's own string.
    let now = unsafe { *text };
    let is_new = now.data != before.data;
    // SAFETY: as above.
    unsafe {
        if is_new {
            writes(&raw const (*text).data, size_of::<usize>(), pc);
            if !Text::is_short(text) {
                writes(&raw const (*text).local[0], size_of::<usize>(), pc);
            }
        }
        let from = if is_new { 0 } else { from };
        if from <= now.len {
            writes(&raw const (*text).len, size_of::<usize>(), pc);
            let stays = !is_new && now.len == before.len;
            let many = if stays { old.min(now.len - from) } else { now.len - from };
            writes(now.data.add(from), many, pc);
            writes(now.data.add(now.len), 1, pc);
        }
    }
}

/// A string is there, where there was nothing.
unsafe fn was_made(text: *const Text, pc: usize) {
    // SAFETY: the program's own string.
    unsafe {
        writes(text, 2 * size_of::<usize>(), pc);
        if !Text::is_short(text) {
            writes(&raw const (*text).local[0], size_of::<usize>(), pc);
        }
        writes((*text).data, (*text).len + 1, pc);
    }
}

/// All that a string itself holds.
unsafe fn reads_itself(text: *const Text, pc: usize) {
    reads(text, 2 * size_of::<usize>(), pc);
    // SAFETY: the program's own string.
    unsafe {
        if Text::is_short(text) {
            reads((*text).data, (*text).len + 1, pc);
        } else {
            reads(&raw const (*text).local[0], size_of::<usize>(), pc);
        }
    }
}

/// It holds something else, or is empty.
unsafe fn wrote_itself(text: *const Text, pc: usize) {
    writes(text, 2 * size_of::<usize>(), pc);
    // SAFETY: the program's own string.
    unsafe {
        if Text::is_short(text) {
            writes((*text).data, (*text).len + 1, pc);
        } else {
            writes(&raw const (*text).local[0], size_of::<usize>(), pc);
        }
    }
}

/// Calls that change a string: what they take characters from, and from which place on they change it, and
/// how many characters they replace there, by its length and their arguments.
macro_rules! changes {
    ($($name:ident: |$len:ident, $data:ident, $a:ident, $b:ident, $c:ident, $d:ident| $source:expr, $from:expr, $old:expr;)*) => {
        library! { $(
            $name(text: *mut Text, $a: usize, $b: usize, $c: usize, $d: usize) -> usize, "r9": slow {
                let before = before_change(text, pc);
                let ($len, $data) = (before.len, before.data as usize);
                let (from, old): (usize, usize) = ($from, $old);
                reads_source($source, pc);
                let _ = ($len, $data, $a, $b, $c, $d);
            } (result, pc) {
                changed(text, &before, (from, old), pc);
            }
        )* }
    };
}

/// Calls that make a string.
macro_rules! makes {
    ($($name:ident: |$a:ident, $b:ident, $c:ident| $source:expr;)*) => {
        library! { $(
            $name(text: *mut Text, $a: usize, $b: usize, $c: usize) -> usize, "r8": slow {
                reads_source($source, pc);
                let _ = ($a, $b, $c);
            } (result, pc) {
                was_made(text, pc);
            }
        )* }
    };
}

changes! {
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_assignERKS4_: |len, data, a, b, c, d| Source::Text(a), 0, usize::MAX;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEaSERKS4_: |len, data, a, b, c, d| Source::Text(a), 0, usize::MAX;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6assignERKS4_: |len, data, a, b, c, d| Source::Text(a), 0, usize::MAX;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6assignERKS4_mm: |len, data, a, b, c, d| Part(a, b, c), 0, usize::MAX;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6assignEPKc: |len, data, a, b, c, d| CString(a), 0, usize::MAX;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6assignEPKcm: |len, data, a, b, c, d| Chars(a, b), 0, usize::MAX;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6assignEmc: |len, data, a, b, c, d| Nothing, 0, usize::MAX;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEaSEPKc: |len, data, a, b, c, d| CString(a), 0, usize::MAX;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEaSEc: |len, data, a, b, c, d| Nothing, 0, usize::MAX;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_appendEPKcm: |len, data, a, b, c, d| Chars(a, b), len, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKcm: |len, data, a, b, c, d| Chars(a, b), len, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKc: |len, data, a, b, c, d| CString(a), len, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEpLEPKc: |len, data, a, b, c, d| CString(a), len, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendERKS4_: |len, data, a, b, c, d| Source::Text(a), len, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEpLERKS4_: |len, data, a, b, c, d| Source::Text(a), len, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendERKS4_mm: |len, data, a, b, c, d| Part(a, b, c), len, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEmc: |len, data, a, b, c, d| Nothing, len, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9push_backEc: |len, data, a, b, c, d| Nothing, len, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEpLEc: |len, data, a, b, c, d| Nothing, len, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE10_M_replaceEmmPKcm: |len, data, a, b, c, d| Chars(c, d), a, b;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7replaceEmmPKcm: |len, data, a, b, c, d| Chars(c, d), a, b;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7replaceEmmPKc: |len, data, a, b, c, d| CString(c), a, b;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7replaceEmmRKS4_: |len, data, a, b, c, d| Source::Text(c), a, b;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7replaceEmmmc: |len, data, a, b, c, d| Nothing, a, b;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE14_M_replace_auxEmmmc: |len, data, a, b, c, d| Nothing, a, b;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6insertEmPKc: |len, data, a, b, c, d| CString(b), a, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6insertEmPKcm: |len, data, a, b, c, d| Chars(b, c), a, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6insertEmRKS4_: |len, data, a, b, c, d| Source::Text(b), a, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6insertEmRKS4_mm: |len, data, a, b, c, d| Part(b, c, d), a, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6insertEmmc: |len, data, a, b, c, d| Nothing, a, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE5eraseEmm: |len, data, a, b, c, d| Nothing, if b == 0 { usize::MAX } else { a }, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE8_M_eraseEmm: |len, data, a, b, c, d| Nothing, a, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE8pop_backEv: |len, data, a, b, c, d| Nothing, len.saturating_sub(1), 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE5clearEv: |len, data, a, b, c, d| Nothing, 0, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6resizeEm: |len, data, a, b, c, d| Nothing, if a == len { usize::MAX } else { len.min(a) }, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6resizeEmc: |len, data, a, b, c, d| Nothing, if a == len { usize::MAX } else { len.min(a) }, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE5eraseEN9__gnu_cxx17__normal_iteratorIPcS4_EE: |len, data, a, b, c, d| Nothing, a - data, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE5eraseEN9__gnu_cxx17__normal_iteratorIPcS4_EES8_: |len, data, a, b, c, d| Nothing, a - data, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendESt16initializer_listIcE: |len, data, a, b, c, d| Chars(a, b), len, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6assignESt16initializer_listIcE: |len, data, a, b, c, d| Chars(a, b), 0, usize::MAX;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6insertEN9__gnu_cxx17__normal_iteratorIPKcS4_EESt16initializer_listIcE: |len, data, a, b, c, d| Chars(b, c), a - data, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6insertEN9__gnu_cxx17__normal_iteratorIPcS4_EESt16initializer_listIcE: |len, data, a, b, c, d| Chars(b, c), a - data, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6insertEN9__gnu_cxx17__normal_iteratorIPcS4_EEc: |len, data, a, b, c, d| Nothing, a - data, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6insertEN9__gnu_cxx17__normal_iteratorIPcS4_EEmc: |len, data, a, b, c, d| Nothing, a - data, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6insertIN9__gnu_cxx17__normal_iteratorIPcS4_EEEEvS9_T_SA_: |len, data, a, b, c, d| Chars(b, c - b), a - data, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7replaceEN9__gnu_cxx17__normal_iteratorIPKcS4_EES9_NS6_IPcS4_EESB_: |len, data, a, b, c, d| Chars(c, d - c), a - data, b - a;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7replaceEN9__gnu_cxx17__normal_iteratorIPKcS4_EES9_PcSA_: |len, data, a, b, c, d| Chars(c, d - c), a - data, b - a;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7replaceEN9__gnu_cxx17__normal_iteratorIPKcS4_EES9_RKS4_: |len, data, a, b, c, d| Source::Text(c), a - data, b - a;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7replaceEN9__gnu_cxx17__normal_iteratorIPKcS4_EES9_S8_: |len, data, a, b, c, d| CString(c), a - data, b - a;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7replaceEN9__gnu_cxx17__normal_iteratorIPKcS4_EES9_S8_S8_: |len, data, a, b, c, d| Chars(c, d - c), a - data, b - a;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7replaceEN9__gnu_cxx17__normal_iteratorIPKcS4_EES9_S8_m: |len, data, a, b, c, d| Chars(c, d), a - data, b - a;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7replaceEN9__gnu_cxx17__normal_iteratorIPKcS4_EES9_S9_S9_: |len, data, a, b, c, d| Chars(c, d - c), a - data, b - a;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7replaceEN9__gnu_cxx17__normal_iteratorIPKcS4_EES9_St16initializer_listIcE: |len, data, a, b, c, d| Chars(c, d), a - data, b - a;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7replaceEN9__gnu_cxx17__normal_iteratorIPKcS4_EES9_mc: |len, data, a, b, c, d| Nothing, a - data, b - a;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7replaceEN9__gnu_cxx17__normal_iteratorIPcS4_EES8_NS6_IPKcS4_EESB_: |len, data, a, b, c, d| Chars(c, d - c), a - data, b - a;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7replaceEN9__gnu_cxx17__normal_iteratorIPcS4_EES8_PKc: |len, data, a, b, c, d| CString(c), a - data, b - a;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7replaceEN9__gnu_cxx17__normal_iteratorIPcS4_EES8_PKcSA_: |len, data, a, b, c, d| Chars(c, d - c), a - data, b - a;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7replaceEN9__gnu_cxx17__normal_iteratorIPcS4_EES8_PKcm: |len, data, a, b, c, d| Chars(c, d), a - data, b - a;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7replaceEN9__gnu_cxx17__normal_iteratorIPcS4_EES8_RKS4_: |len, data, a, b, c, d| Source::Text(c), a - data, b - a;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7replaceEN9__gnu_cxx17__normal_iteratorIPcS4_EES8_S7_S7_: |len, data, a, b, c, d| Chars(c, d - c), a - data, b - a;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7replaceEN9__gnu_cxx17__normal_iteratorIPcS4_EES8_S8_S8_: |len, data, a, b, c, d| Chars(c, d - c), a - data, b - a;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7replaceEN9__gnu_cxx17__normal_iteratorIPcS4_EES8_mc: |len, data, a, b, c, d| Nothing, a - data, b - a;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEaSESt16initializer_listIcE: |len, data, a, b, c, d| Chars(a, b), 0, usize::MAX;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEpLESt16initializer_listIcE: |len, data, a, b, c, d| Chars(a, b), len, 0;
    // To reserve room, or give it back.
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7reserveEm: |len, data, a, b, c, d| Nothing, usize::MAX, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7reserveEv: |len, data, a, b, c, d| Nothing, usize::MAX, 0;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE13shrink_to_fitEv: |len, data, a, b, c, d| Nothing, usize::MAX, 0;
}

makes! {
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE12_M_constructIN9__gnu_cxx17__normal_iteratorIPKcS4_EEEEvT_SB_St20forward_iterator_tag: |a, b, c| Chars(a, b - a);
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE12_M_constructIN9__gnu_cxx17__normal_iteratorIPcS4_EEEEvT_SA_St20forward_iterator_tag: |a, b, c| Chars(a, b - a);
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE18_M_construct_aux_2Emc: |a, b, c| Nothing;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC1ENS4_12__sv_wrapperERKS3_: |a, b, c| Chars(b, a);
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC1ERKS4_RKS3_: |a, b, c| Source::Text(a);
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC1ERKS4_mRKS3_: |a, b, c| Part(a, b, usize::MAX);
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC1ERKS4_mmRKS3_: |a, b, c| Part(a, b, c);
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC1ESt16initializer_listIcERKS3_: |a, b, c| Chars(a, b);
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC1IN9__gnu_cxx17__normal_iteratorIPcS4_EEvEET_SA_RKS3_: |a, b, c| Chars(a, b - a);
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC1IPKcvEET_S8_RKS3_: |a, b, c| Chars(a, b - a);
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC1IPcvEET_S7_RKS3_: |a, b, c| Chars(a, b - a);
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC2ENS4_12__sv_wrapperERKS3_: |a, b, c| Chars(b, a);
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC2ERKS4_RKS3_: |a, b, c| Source::Text(a);
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC2ERKS4_mRKS3_: |a, b, c| Part(a, b, usize::MAX);
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC2ERKS4_mmRKS3_: |a, b, c| Part(a, b, c);
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC2ESt16initializer_listIcERKS3_: |a, b, c| Chars(a, b);
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC2IN9__gnu_cxx17__normal_iteratorIPcS4_EEvEET_SA_RKS3_: |a, b, c| Chars(a, b - a);
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC2IPKcvEET_S8_RKS3_: |a, b, c| Chars(a, b - a);
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC2IPcvEET_S7_RKS3_: |a, b, c| Chars(a, b - a);
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC1ERKS4_: |a, b, c| Source::Text(a);
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC2ERKS4_: |a, b, c| Source::Text(a);
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC1ERKS4_mm: |a, b, c| Part(a, b, c);
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC2ERKS4_mm: |a, b, c| Part(a, b, c);
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC1EPKcRKS3_: |a, b, c| CString(a);
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC2EPKcRKS3_: |a, b, c| CString(a);
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC1EPKcmRKS3_: |a, b, c| Chars(a, b);
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC2EPKcmRKS3_: |a, b, c| Chars(a, b);
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC1EmcRKS3_: |a, b, c| Nothing;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC2EmcRKS3_: |a, b, c| Nothing;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC1ERKS3_: |a, b, c| Nothing;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC2ERKS3_: |a, b, c| Nothing;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC1Ev: |a, b, c| Nothing;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC2Ev: |a, b, c| Nothing;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE12_M_constructEmc: |a, b, c| Nothing;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE12_M_constructIPKcEEvT_S8_St20forward_iterator_tag: |a, b, c| Chars(a, b.wrapping_sub(a));
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE12_M_constructIPcEEvT_S7_St20forward_iterator_tag: |a, b, c| Chars(a, b.wrapping_sub(a));
}

library! {
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC1EOS4_(text: *mut Text, other: *mut Text) -> usize, "rdx": quick {
        reads_itself(other, pc);
    } (result, pc) {
        wrote_itself(text, pc);
        wrote_itself(other, pc);
    }
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC1EOS4_RKS3_(text: *mut Text, other: *mut Text, with: usize) -> usize, "rcx": quick {
        reads_itself(other, pc);
    } (result, pc) {
        wrote_itself(text, pc);
        wrote_itself(other, pc);
    }
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC2EOS4_(text: *mut Text, other: *mut Text) -> usize, "rdx": quick {
        reads_itself(other, pc);
    } (result, pc) {
        wrote_itself(text, pc);
        wrote_itself(other, pc);
    }
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC2EOS4_RKS3_(text: *mut Text, other: *mut Text, with: usize) -> usize, "rcx": quick {
        reads_itself(other, pc);
    } (result, pc) {
        wrote_itself(text, pc);
        wrote_itself(other, pc);
    }
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEaSEOS4_(text: *mut Text, other: *mut Text) -> usize, "rdx": slow {
        reads_itself(other, pc);
        reads_itself(text, pc);
    } (result, pc) {
        if text != other {
            wrote_itself(text, pc);
            wrote_itself(other, pc);
        }
    }
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6assignEOS4_(text: *mut Text, other: *mut Text) -> usize, "rdx": slow {
        reads_itself(other, pc);
        reads_itself(text, pc);
    } (result, pc) {
        if text != other {
            wrote_itself(text, pc);
            wrote_itself(other, pc);
        }
    }
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4swapERS4_(text: *mut Text, other: *mut Text) -> usize, "rdx": slow {
        reads_itself(other, pc);
        reads_itself(text, pc);
    } (result, pc) {
        if text != other {
            wrote_itself(text, pc);
            wrote_itself(other, pc);
        }
    }
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEED1Ev(text: *mut Text) -> usize, "rsi": slow {
        reads(text, size_of::<usize>(), pc);
        if !Text::is_short(text) { reads(&raw const (*text).local[0], size_of::<usize>(), pc); }
    } (result, pc) {}
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEED2Ev(text: *mut Text) -> usize, "rsi": slow {
        reads(text, size_of::<usize>(), pc);
        if !Text::is_short(text) { reads(&raw const (*text).local[0], size_of::<usize>(), pc); }
    } (result, pc) {}
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE10_M_disposeEv(text: *mut Text) -> usize, "rsi": slow {
        reads(text, size_of::<usize>(), pc);
        if !Text::is_short(text) { reads(&raw const (*text).local[0], size_of::<usize>(), pc); }
    } (result, pc) {}
    // What is made where a string's contents move: the room that is asked for, which may become more.
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_createERmm(text: *mut Text, room: *mut usize, before: usize) -> usize, "rcx": slow {
        reads(room, size_of::<usize>(), pc);
        let asked = *room;
    } (result, pc) {
        if *room != asked { writes(room, size_of::<usize>(), pc); }
    }
    // All but some characters move to a new block, with others in their place; how many there are is told later.
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_mutateEmmPKcm(text: *mut Text, from: usize, old: usize, chars: *const u8, new: usize) -> usize, "r9": slow {
        let before = before_change(text, pc);
        let behind = before.len - from - old;
        reads(before.data, from, pc);
        reads(before.data.add(from + old), behind, pc);
        if !chars.is_null() { reads(chars, new, pc); }
    } (result, pc) {
        writes(&raw const (*text).data, size_of::<usize>(), pc);
        writes(&raw const (*text).local[0], size_of::<usize>(), pc);
        let data = (*text).data;
        writes(data, from, pc);
        let with = if chars.is_null() { 0 } else { new };
        writes(data.add(from), with, pc);
        writes(data.add(from + new), behind, pc);
    }
}

// Steps of the above that unoptimized programs take themselves.
library! {
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE12_Alloc_hiderC1EPcRKS3_(text: *mut Text, data: *mut u8, from: *const u8) -> usize, "rcx": quick {

    } (result, pc) {
        writes(text, size_of::<usize>(), pc);
    }
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE12_Alloc_hiderC2EPcRKS3_(text: *mut Text, data: *mut u8, from: *const u8) -> usize, "rcx": quick {

    } (result, pc) {
        writes(text, size_of::<usize>(), pc);
    }
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7_M_dataEPc(text: *mut Text, data: *mut u8) -> usize, "rdx": quick {

    } (result, pc) {
        writes(text, size_of::<usize>(), pc);
    }
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE11_M_capacityEm(text: *mut Text, room: usize) -> usize, "rdx": quick {

    } (result, pc) {
        writes(&raw const (*text).local[0], size_of::<usize>(), pc);
    }
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_lengthEm(text: *mut Text, len: usize) -> usize, "rdx": quick {

    } (result, pc) {
        writes(&raw const (*text).len, size_of::<usize>(), pc);
    }
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE13_M_set_lengthEm(text: *mut Text, len: usize) -> usize, "rdx": quick {
        reads(text, size_of::<usize>(), pc);
    } (result, pc) {
        writes(&raw const (*text).len, size_of::<usize>(), pc); writes((*text).data.add(len), 1, pc);
    }
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE13_S_copy_charsEPcPKcS7_(to: *mut u8, from: *const u8, end: *const u8) -> usize, "rcx": quick {
        reads(from, end as usize - from as usize, pc);
    } (result, pc) {
        writes(to, end as usize - from as usize, pc);
    }
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE13_S_copy_charsEPcS5_S5_(to: *mut u8, from: *const u8, end: *const u8) -> usize, "rcx": quick {
        reads(from, end as usize - from as usize, pc);
    } (result, pc) {
        writes(to, end as usize - from as usize, pc);
    }
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7_S_copyEPcPKcm(to: *mut u8, from: *const u8, len: usize) -> usize, "rcx": quick {
        reads(from, len, pc);
    } (result, pc) {
        writes(to, len, pc);
    }
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7_S_moveEPcPKcm(to: *mut u8, from: *const u8, len: usize) -> usize, "rcx": quick {
        reads(from, len, pc);
    } (result, pc) {
        writes(to, len, pc);
    }
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_S_assignEPcmc(to: *mut u8, len: usize, of: usize) -> usize, "rcx": quick {

    } (result, pc) {
        writes(to, len, pc);
    }
}

/// Calls that look at the string itself: from which of its words on, and at how many.
macro_rules! looks {
    ($($name:ident: $from:expr, $words:expr;)*) => {
        library! { $(
            $name(text: *const Text, at: usize) -> usize, "rdx": quick {
                reads(text.cast::<usize>().add($from), $words * size_of::<usize>(), pc);
            } (result, pc) {}
        )* }
    };
}

// Where its contents are, and how many.
looks! {
    _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4sizeEv: 1, 1;
    _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6lengthEv: 1, 1;
    _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE5emptyEv: 1, 1;
    _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4dataEv: 0, 1;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4dataEv: 0, 1;
    _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE5c_strEv: 0, 1;
    _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7_M_dataEv: 0, 1;
    _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE5beginEv: 0, 1;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE5beginEv: 0, 1;
    _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE3endEv: 0, 2;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE3endEv: 0, 2;
    _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEixEm: 0, 1;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEixEm: 0, 1;
    _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE5frontEv: 0, 1;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE5frontEv: 0, 1;
    _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE2atEm: 0, 2;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE2atEm: 0, 2;
    _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4backEv: 0, 2;
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4backEv: 0, 2;
}

/// A part of a string is compared with so many characters: what both have.
unsafe fn compares(text: *const Text, from: usize, len: usize, other: *const u8, many: usize, pc: usize) {
    // SAFETY: the program's own string.
    let all = unsafe { (*text).len };
    let both = len.min(many).min(all.saturating_sub(from));
    // SAFETY: as above.
    unsafe { reads_source(Part(text as usize, from, both), pc) };
    reads(other, both, pc);
}

// What is compared, taken out or put in.
library! {
    _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7compareEPKc(text: *const Text, other: *const c_char) -> usize, "rdx": quick {
        reads_text(other, pc);
        compares(text, 0, usize::MAX, other.cast(), length(other), pc);
    } (result, pc) {}
    _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7compareERKS4_(text: *const Text, other: *const Text) -> usize, "rdx": quick {
        reads(other, 2 * size_of::<usize>(), pc);
        compares(text, 0, usize::MAX, (*other).data, (*other).len, pc);
    } (result, pc) {}
    _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7compareEmmPKc(text: *const Text, from: usize, len: usize, other: *const c_char) -> usize, "r8": quick {
        reads_text(other, pc);
        compares(text, from, len, other.cast(), length(other), pc);
    } (result, pc) {}
    _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7compareEmmRKS4_(text: *const Text, from: usize, len: usize, other: *const Text) -> usize, "r8": quick {
        reads(other, 2 * size_of::<usize>(), pc);
        compares(text, from, len, (*other).data, (*other).len, pc);
    } (result, pc) {}
    _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7compareEmmPKcm(text: *const Text, from: usize, len: usize, other: *const u8, many: usize) -> usize, "r9": quick {
        compares(text, from, len, other, many, pc);
    } (result, pc) {}
    _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4copyEPcmm(text: *const Text, to: *mut u8, len: usize, from: usize) -> usize, "r8": quick {
        reads_source(Part(text as usize, from, len), pc);
    } (copied, pc) {
        writes(to, copied, pc);
    }
    _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6substrEmm(new: *mut Text, text: *const Text, from: usize, len: usize) -> usize, "r8": slow {
        reads_source(Part(text as usize, from, len), pc);
    } (result, pc) {
        was_made(new, pc);
    }
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6insertEN9__gnu_cxx17__normal_iteratorIPKcS4_EEc(text: *mut Text, at: usize, one: usize) -> usize, "rcx": slow {
        let before = before_change(text, pc);
    } (result, pc) {
        changed(text, &before, (at - before.data as usize, 0), pc);
    }
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6insertEN9__gnu_cxx17__normal_iteratorIPKcS4_EEmc(text: *mut Text, at: usize, many: usize, one: usize) -> usize, "r8": slow {
        let before = before_change(text, pc);
    } (result, pc) {
        changed(text, &before, (at - before.data as usize, 0), pc);
    }
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE5eraseEN9__gnu_cxx17__normal_iteratorIPKcS4_EE(text: *mut Text, at: usize) -> usize, "rdx": slow {
        let before = before_change(text, pc);
    } (result, pc) {
        changed(text, &before, (at - before.data as usize, 0), pc);
    }
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE5eraseEN9__gnu_cxx17__normal_iteratorIPKcS4_EES9_(text: *mut Text, at: usize, until: usize) -> usize, "rcx": slow {
        let before = before_change(text, pc);
    } (result, pc) {
        changed(text, &before, (at - before.data as usize, 0), pc);
    }
}
