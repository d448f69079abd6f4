//! `qsort`: the comparisons are the program's own code; the order of the elements changes at the end,
//! in one step that reads all of them and writes all of them.
//!
//! Sorting indices leaves the elements where they are while they are compared, so that what the
//! comparisons read is what the program knows to be there. libc may move them, and compare copies.

use crate::platform::export::export;
use crate::platform::real;
use crate::runtime::accesses::{enter, reads, writes};
use core::ffi::c_void;
use core::ptr;
use libc::c_int;

type Compare = unsafe extern "C-unwind" fn(*const c_void, *const c_void) -> c_int;
type CompareWith = unsafe extern "C-unwind" fn(*const c_void, *const c_void, *mut c_void) -> c_int;

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
}

real::real! {
    fn qsort(base: *mut c_void, count: usize, size: usize, compare: Compare) -> ();
    fn qsort_r(base: *mut c_void, count: usize, size: usize, compare: CompareWith, context: *mut c_void) -> ();
}

/// Sorts the numbers in `order` by merging, stably; `spare` is as long.
fn merge_sort(order: &mut [usize], spare: &mut [usize], less_or_equal: &impl Fn(usize, usize) -> bool) {
    let middle = order.len() / 2;
    if middle == 0 {
        return;
    }
    let (spare_left, spare_right) = spare.split_at_mut(middle);
    merge_sort(&mut order[..middle], spare_left, less_or_equal);
    merge_sort(&mut order[middle..], spare_right, less_or_equal);
    spare.copy_from_slice(order);
    let (mut left, mut right) = (0, middle);
    for place in order.iter_mut() {
        let from_left = right == spare.len() || left < middle && less_or_equal(spare[left], spare[right]);
        let next = if from_left { &mut left } else { &mut right };
        *place = spare[*next];
        *next += 1;
    }
}

/// Sorts elements in place; false if there is no memory for it.
unsafe fn sort(
    base: *mut u8,
    count: usize,
    size: usize,
    pc: usize,
    compare: impl Fn(*const u8, *const u8) -> c_int,
) -> bool {
    let words = 2 * count * size_of::<usize>();
    // SAFETY: the program's own elements; the block has room for two lists and a copy of all elements.
    unsafe {
        let block = __libc_malloc(words + count * size).cast::<usize>();
        if block.is_null() {
            return false;
        }
        ptr::write_bytes(block, 0, 2 * count);
        let (order, spare) = (
            core::slice::from_raw_parts_mut(block, count),
            core::slice::from_raw_parts_mut(block.add(count), count),
        );
        for (number, place) in order.iter_mut().enumerate() {
            *place = number;
        }
        merge_sort(order, spare, &|a, b| {
            compare(base.add(a * size), base.add(b * size)) <= 0
        });
        let inside = enter(pc);
        let copy = block.byte_add(words).cast::<u8>();
        if inside.is_some() {
            reads(base, count * size, pc);
        }
        ptr::copy_nonoverlapping(base, copy, count * size);
        for (to, &from) in order.iter().enumerate() {
            ptr::copy_nonoverlapping(copy.add(from * size), base.add(to * size), size);
        }
        if inside.is_some() {
            writes(base, count * size, pc);
        }
        drop(inside);
        __libc_free(block.cast());
    }
    true
}

unsafe extern "C-unwind" fn sort_by(base: *mut c_void, count: usize, size: usize, compare: Compare, pc: usize) {
    // SAFETY: the program's own arguments.
    unsafe {
        let watched = crate::events::modules::is_instrumented(pc) && count > 1 && size > 0;
        if !watched || !sort(base.cast(), count, size, pc, |a, b| compare(a.cast(), b.cast())) {
            qsort(base, count, size, compare);
        }
    }
}

unsafe extern "C-unwind" fn sort_by_with(
    base: *mut c_void,
    count: usize,
    size: usize,
    compare: CompareWith,
    context: *mut c_void,
    pc: usize,
) {
    // SAFETY: the program's own arguments.
    unsafe {
        let watched = crate::events::modules::is_instrumented(pc) && count > 1 && size > 0;
        if !watched
            || !sort(base.cast(), count, size, pc, |a, b| {
                compare(a.cast(), b.cast(), context)
            })
        {
            qsort_r(base, count, size, compare, context);
        }
    }
}

mod exported {
    use super::export;
    export! {
        qsort = super::sort_by, "r8";
        qsort_r = super::sort_by_with, "r9";
    }
}
