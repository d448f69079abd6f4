//! Blocks of memory coming and going: the malloc family.
//!
//! A block's cells are new at each allocation, so its end is recorded before the memory is really
//! given back, and its start after it was really obtained. Every block is zero at first, also
//! where C leaves that open: then a value that no recorded write explains is known to come from
//! code that leaves no events. glibc offers its own malloc under `__libc_*` names, which work from
//! the very first instruction of the process.

use super::freed_blocks;
use crate::events::{modules, pending};
use crate::platform::export::export;
use crate::platform::glibc::room;
use crate::platform::real;
use crate::runtime::accesses::writes;
use crate::runtime::guard::{RuntimeGuard, restore_errno, save_errno};
use crate::scheduling::plan;
use core::ffi::c_void;
use core::ptr;
use libc::c_int;
use recorder_ring::Record;
use recorder_ring::plan::kind;
use recorder_scheduler::intent::Intent;

unsafe extern "C" {
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
    fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
}

/// Bytes behind each block that say how many were asked for. glibc knows only how many there are, and what lies between
/// the two belongs to nobody: to read it along, as `realloc` would, makes the trace speak of memory that no event
/// explains.
const SIZE_BEHIND: usize = size_of::<usize>();

/// What makes a size behind a block one that was put there.
fn sealed(block: usize, size: usize) -> usize {
    size ^ block.rotate_left(17) ^ 0x9e37_79b9_7f4a_7c15
}

/// Notes behind a new block how many bytes were asked for.
///
/// # Safety
/// The block is null, or has room for [`SIZE_BEHIND`] bytes more.
unsafe fn seal(block: *mut c_void, size: usize) -> *mut c_void {
    if !block.is_null() {
        // SAFETY: promised by the caller.
        unsafe { note_behind(block as usize).write(sealed(block as usize, size)) };
    }
    block
}

/// Where the note lies.
///
/// # Safety
/// As for [`room`].
unsafe fn note_behind(block: usize) -> *mut usize {
    // SAFETY: promised by the caller.
    ((block + unsafe { room(block) } - SIZE_BEHIND) & !(SIZE_BEHIND - 1)) as *mut usize
}

/// How many bytes of a block the program asked for; all there are, if nothing says so.
///
/// # Safety
/// As for [`room`].
unsafe fn asked_for(block: usize) -> usize {
    // SAFETY: promised by the caller.
    let (room, note) = unsafe { (room(block), note_behind(block).read()) };
    let size = note ^ sealed(block, 0);
    if size <= room.saturating_sub(SIZE_BEHIND) {
        size
    } else {
        room
    }
}

unsafe extern "C" fn usable_size(block: *mut c_void, _pc: usize) -> usize {
    if block.is_null() {
        0
    } else {
        // SAFETY: the caller's own block.
        unsafe { asked_for(block as usize) }
    }
}

/// Memory of glibc's for a block, zero at first, with the note behind it.
fn obtain(size: usize) -> *mut c_void {
    let Some(whole) = size.checked_add(SIZE_BEHIND) else {
        restore_errno(libc::ENOMEM);
        return ptr::null_mut();
    };
    // SAFETY: calloc has no preconditions, and knows which memory is zero already; the room is there.
    unsafe { seal(__libc_calloc(1, whole), size) }
}

/// Calls from libraries never give way: libc calls malloc with its own locks held.
pub(super) fn enter(pc: usize) -> Option<RuntimeGuard> {
    enter_for(pc, || Intent::NONE)
}

/// As [`enter`], before an access.
pub(super) fn enter_for(pc: usize, intent: impl FnOnce() -> Intent) -> Option<RuntimeGuard> {
    if modules::is_instrumented(pc) {
        RuntimeGuard::enter_for(intent)
    } else {
        RuntimeGuard::enter_and_stay()
    }
}

pub(super) fn begins(block: *mut c_void, size: usize, pc: usize) -> *mut c_void {
    begins_with(block, size, pc, || ())
}

/// Records the start of a block, and what comes with it.
pub(super) fn begins_with(block: *mut c_void, size: usize, pc: usize, contents: impl FnOnce()) -> *mut c_void {
    if !block.is_null() {
        let errno = save_errno();
        if let Some(_inside) = enter(pc) {
            begins_inside(block, size, pc);
            contents();
        } else {
            freed_blocks::begins_unseen(block as usize);
        }
        restore_errno(errno);
    }
    block
}

/// The same for a thread that is inside.
pub(super) fn begins_inside(block: *mut c_void, size: usize, pc: usize) {
    freed_blocks::begins(block as usize);
    pending::push(Record::Alloc {
        pc: pc as u64,
        addr: block as u64,
        size: size as u64,
    });
}

/// Records the end of a block, or that what is no block any more is freed once more: the allocator uses it all the
/// same.
fn ends(block: *mut c_void, pc: usize) {
    let (pc_of, addr) = (pc as u64, block as u64);
    pending::push(match freed_blocks::ends_again(block as usize) {
        true if modules::is_instrumented(pc) => Record::Use {
            pc: pc_of,
            object: addr,
        },
        _ => Record::Free { pc: pc_of, addr },
    });
}

pub unsafe extern "C" fn allocate(size: usize, pc: usize) -> *mut c_void {
    begins(obtain(size), size, pc)
}

unsafe extern "C" fn allocate_zeroed(count: usize, size: usize, pc: usize) -> *mut c_void {
    let Some(size) = count.checked_mul(size) else {
        restore_errno(libc::ENOMEM);
        return ptr::null_mut();
    };
    begins(obtain(size), size, pc)
}

unsafe extern "C" fn allocate_aligned(alignment: usize, size: usize, pc: usize) -> *mut c_void {
    // SAFETY: memalign takes any alignment; a block that it gives has `size` bytes.
    unsafe {
        let Some(whole) = size.checked_add(SIZE_BEHIND) else {
            restore_errno(libc::ENOMEM);
            return ptr::null_mut();
        };
        let block = __libc_memalign(alignment, whole);
        if !block.is_null() {
            real::memset(block.cast(), 0, size);
        }
        begins(seal(block, size), size, pc)
    }
}

unsafe extern "C" fn allocate_aligned_into(into: *mut *mut c_void, alignment: usize, size: usize, pc: usize) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    let errno = save_errno();
    // SAFETY: a good alignment; `into` is the caller's.
    let block = unsafe { allocate_aligned(alignment, size, pc) };
    if block.is_null() {
        restore_errno(errno);
        return libc::ENOMEM;
    }
    let inside = RuntimeGuard::enter();
    if inside.is_some() {
        plan::before_call(pc, &[kind::WRITE], &[(into as usize, size_of::<*mut c_void>())]);
    }
    // SAFETY: as above.
    unsafe { into.write(block) };
    if inside.is_some() {
        writes(into, size_of::<*mut c_void>(), pc);
    }
    drop(inside);
    restore_errno(errno);
    0
}

unsafe extern "C" fn release(block: *mut c_void, pc: usize) {
    if block.is_null() {
        return;
    }
    let errno = save_errno();
    let inside = enter_for(pc, || Intent::free(pc, block as usize));
    if inside.is_some() {
        ends(block, pc);
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
        return unsafe { resize(block, size) };
    };
    if modules::is_instrumented(pc) {
        // SAFETY: the caller's own block.
        let len = unsafe { asked_for(block as usize) };
        plan::before_call(pc, &[kind::READ, kind::FREE], &[(block as usize, len)]);
    }
    if size == 0 {
        ends(block, pc);
        // SAFETY: the caller's own block; with size 0, glibc frees it.
        return unsafe { __libc_realloc(block, 0) };
    }
    // SAFETY: the block is the caller's; the new one is not shorter than what is copied into it.
    unsafe {
        let new = obtain(size);
        if new.is_null() {
            return new;
        }
        freed_blocks::begins(new as usize);
        let kept = asked_for(block as usize).min(size);
        if modules::is_instrumented(pc) {
            // What a library keeps in a block of its own is mostly written by itself, unseen, and may be another thing
            // in every run: libc reads the list of mappings so, before Rust's `main`.
            pending::read_range_now(block as usize, kept, pc);
        }
        pending::push(Record::Alloc {
            pc: pc as u64,
            addr: new as u64,
            size: size as u64,
        });
        real::memmove(new.cast(), block.cast(), kept);
        pending::write_range_now(new as usize, kept, pc);
        ends(block, pc);
        __libc_free(block);
        drop(inside);
        new
    }
}

/// As the program would have it without being recorded.
///
/// # Safety
/// The block is the caller's.
unsafe fn resize(block: *mut c_void, size: usize) -> *mut c_void {
    let new = match size.checked_add(SIZE_BEHIND) {
        // SAFETY: the block is promised by the caller; the new one has room for the note.
        Some(whole) if size != 0 => unsafe { seal(__libc_realloc(block, whole), size) },
        // SAFETY: the block is promised by the caller.
        _ => unsafe { __libc_realloc(block, size) },
    };
    freed_blocks::begins_unseen(new as usize);
    new
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
    malloc_usable_size = usable_size, "rsi";
    free = release, "rsi";
    cfree = release, "rsi";
}
