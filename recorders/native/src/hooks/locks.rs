//! Locks of the program's own making, as ThreadSanitizer's interface announces them
//! (`sanitizer/tsan_interface.h`): what lies between the two calls is a critical section.
//!
//! The acquire is recorded after the program has its lock and the release before it gives it back, so
//! two sections of one lock never overlap, however the lock is made.

use crate::export::export;
use crate::inside::Inside;
use crate::pending;
use libc::{c_int, c_uint};
use recorder_ring::{ObjectClass, Record};

const READ_LOCK: c_uint = 1 << 3;
const TRY_LOCK_FAILED: c_uint = 1 << 5;

/// Whether it can be shared is not known in advance.
const CLASS: ObjectClass = ObjectClass::RwLock;

unsafe extern "C" fn acquired(lock: usize, flags: c_uint, _recursion: c_int, pc: usize) {
    let Some(_inside) = Inside::enter() else { return };
    if flags & TRY_LOCK_FAILED == 0 {
        pending::push(Record::Acquire {
            pc: pc as u64,
            class: CLASS,
            lock: lock as u64,
            shared: flags & READ_LOCK != 0,
        });
    }
}

unsafe extern "C" fn released(lock: usize, _flags: c_uint, pc: usize) -> c_int {
    if let Some(_inside) = Inside::enter() {
        pending::push(Record::Release {
            pc: pc as u64,
            class: CLASS,
            lock: lock as u64,
        });
    }
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_mutex_destroy(lock: usize, _flags: c_uint) {
    if let Some(_inside) = Inside::enter_and_stay() {
        pending::push(Record::Destroy { object: lock as u64 });
    }
}

export! {
    __tsan_mutex_post_lock = acquired, "rcx";
    __tsan_mutex_pre_unlock = released, "rdx";
}
