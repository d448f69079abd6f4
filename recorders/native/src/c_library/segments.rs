//! System V segments of shared memory: a block from where a process attaches one to where it detaches it.

use crate::c_library::channels::shared::SEGMENTS;
use crate::events::pending;
use crate::runtime::accesses::{arrives, passes};
use core::ffi::c_void;
use core::mem::MaybeUninit;
use libc::{c_int, key_t, shmid_ds};
use recorder_ring::Record;

/// How many bytes a segment has, in whole pages as they are mapped.
///
/// # Safety
/// The C library is there.
unsafe fn size_of_segment(segment: c_int) -> usize {
    const PAGE: usize = 4096;
    let mut about = MaybeUninit::<shmid_ds>::zeroed();
    // SAFETY: the kernel writes there, if it writes; zeros are a description, too.
    unsafe {
        shmctl::shmctl(segment, libc::IPC_STAT, about.as_mut_ptr().cast());
        about.assume_init().shm_segsz.next_multiple_of(PAGE)
    }
}

library! {
    shmget(key: key_t, size: usize, flags: c_int) -> c_int, "rcx": system {} (segment, pc) {
        segment = SEGMENTS.given(segment, pc);
    }
    shmat(segment: c_int, at: *const c_void, flags: c_int) -> *mut c_void, "rcx": system {
        let segment = SEGMENTS.actual(segment);
    } (attached, pc) {
        if attached as isize != -1 {
            let size = size_of_segment(segment) as u64;
            pending::push(Record::Alloc { pc: pc as u64, addr: attached as u64, size });
        }
    }
    shmdt(at: *const c_void) -> c_int, "rsi": system {
        pending::push(Record::Free { pc: pc as u64, addr: at as u64 });
    } (result, pc) {}
    shmctl(segment: c_int, command: c_int, to: *const c_void) -> c_int, "rcx": system {
        let segment = SEGMENTS.actual(segment);
        if command == libc::IPC_SET { passes(to, size_of::<shmid_ds>(), pc); }
    } (result, pc) {
        if result >= 0 && command == libc::IPC_STAT { arrives(to, size_of::<shmid_ds>(), pc); }
    }
}
