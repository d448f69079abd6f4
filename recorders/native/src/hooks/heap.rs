//! Blocks of memory coming and going: the malloc family.
//!
//! A block's cells are new at each allocation, so its end is recorded before the memory is really
//! given back, and its start after it was really obtained. Every block is zero at first, also
//! where C leaves that open: then a value that no recorded write explains is known to come from
//! code that leaves no events. glibc offers its own malloc under `__libc_*` names, which work from
//! the very first instruction of the process.

use crate::export::export;
use crate::inside::{Inside, restore_errno, save_errno};
use crate::intent::Intent;
use crate::{modules, pending, real};
use core::ffi::c_void;
use core::ptr;
use libc::c_int;
use recorder_ring::Record;

unsafe extern "C" {
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
    fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn malloc_usable_size(block: *mut c_void) -> usize;
}

/// Calls from libraries never give way: libc calls malloc with its own locks held.
fn enter(pc: usize) -> Option<Inside> {
    enter_for(pc, || Intent::NONE)
}

fn enter_for(pc: usize, intent: impl FnOnce() -> Intent) -> Option<Inside> {
    if modules::is_instrumented(pc) {
        Inside::enter_for(intent)
    } else {
        Inside::enter_and_stay()
    }
}

pub(super) fn begins(block: *mut c_void, size: usize, pc: usize) -> *mut c_void {
    if !block.is_null() {
        let errno = save_errno();
        if let Some(_inside) = enter(pc) {
            pending::push(Record::Alloc {
                pc: pc as u64,
                addr: block as u64,
                size: size as u64,
            });
        }
        restore_errno(errno);
    }
    block
}

pub unsafe extern "C" fn allocate(size: usize, pc: usize) -> *mut c_void {
    // SAFETY: calloc has no preconditions. It knows which memory is zero already.
    begins(unsafe { __libc_calloc(1, size) }, size, pc)
}

unsafe extern "C" fn allocate_zeroed(count: usize, size: usize, pc: usize) -> *mut c_void {
    // SAFETY: calloc has no preconditions; if the product overflows, it fails.
    begins(unsafe { __libc_calloc(count, size) }, count.wrapping_mul(size), pc)
}

unsafe extern "C" fn allocate_aligned(alignment: usize, size: usize, pc: usize) -> *mut c_void {
    // SAFETY: memalign takes any alignment; a block that it gives has `size` bytes.
    unsafe {
        let block = __libc_memalign(alignment, size);
        if !block.is_null() {
            real::memset(block.cast(), 0, size);
        }
        begins(block, size, pc)
    }
}

unsafe extern "C" fn allocate_aligned_into(into: *mut *mut c_void, alignment: usize, size: usize, pc: usize) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    let errno = save_errno();
    // SAFETY: a good alignment; `into` is the caller's.
    let block = unsafe { allocate_aligned(alignment, size, pc) };
    restore_errno(errno);
    if block.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: as above.
    unsafe { into.write(block) };
    0
}

unsafe extern "C" fn release(block: *mut c_void, pc: usize) {
    if block.is_null() {
        return;
    }
    let errno = save_errno();
    let inside = enter_for(pc, || Intent::free(pc, block as usize));
    if inside.is_some() {
        pending::push(Record::Free {
            pc: pc as u64,
            addr: block as u64,
        });
    }
    // Still inside, with the baton: nobody gets the block before its end is on record.
    // SAFETY: the caller's own block.
    unsafe { __libc_free(block) };
    drop(inside);
    restore_errno(errno);
}

/// A new block, a copy, and the old block's end: the values move with the bytes.
unsafe extern "C" fn reallocate(block: *mut c_void, size: usize, pc: usize) -> *mut c_void {
    if block.is_null() {
        // SAFETY: malloc has no preconditions.
        return unsafe { allocate(size, pc) };
    }
    let Some(inside) = enter(pc) else {
        // SAFETY: the caller's own arguments.
        return unsafe { __libc_realloc(block, size) };
    };
    if size == 0 {
        pending::push(Record::Free {
            pc: pc as u64,
            addr: block as u64,
        });
        // SAFETY: the caller's own block; with size 0, glibc frees it.
        return unsafe { __libc_realloc(block, 0) };
    }
    // SAFETY: the block is the caller's; the new one is not shorter than what is copied into it.
    unsafe {
        let new = __libc_calloc(1, size);
        if new.is_null() {
            return new;
        }
        let kept = malloc_usable_size(block).min(size);
        if modules::is_instrumented(pc) {
            // What a library keeps in a block of its own is mostly written by itself, unseen, and may be another thing in
            // every run: libc reads the list of mappings so, before Rust's `main`.
            pending::read_range_now(block as usize, kept, pc);
        }
        pending::push(Record::Alloc {
            pc: pc as u64,
            addr: new as u64,
            size: size as u64,
        });
        real::memmove(new.cast(), block.cast(), kept);
        pending::write_range_now(new as usize, kept, pc);
        pending::push(Record::Free {
            pc: pc as u64,
            addr: block as u64,
        });
        __libc_free(block);
        drop(inside);
        new
    }
}

unsafe extern "C" fn reallocate_array(block: *mut c_void, count: usize, size: usize, pc: usize) -> *mut c_void {
    let Some(bytes) = count.checked_mul(size) else {
        restore_errno(libc::ENOMEM);
        return ptr::null_mut();
    };
    // SAFETY: the caller's own arguments.
    unsafe { reallocate(block, bytes, pc) }
}

export! {
    malloc = allocate, "rsi";
    calloc = allocate_zeroed, "rdx";
    realloc = reallocate, "rdx";
    reallocarray = reallocate_array, "rcx";
    memalign = allocate_aligned, "rdx";
    aligned_alloc = allocate_aligned, "rdx";
    posix_memalign = allocate_aligned_into, "rcx";
    free = release, "rsi";
    cfree = release, "rsi";
}
