//! `GThread`, which is made of POSIX threads: only what would depend on who comes first.

use super::library;
use crate::libraries::entry::entries;
use crate::runtime::guard::RuntimeGuard;
use core::ffi::c_void;
use libc::c_char;

/// GLib makes what its threads have for themselves when the first of them wants it. Here that is always who creates
/// one.
pub fn prepare(inside: &RuntimeGuard) {
    // SAFETY: no arguments.
    inside.in_program(|| unsafe { library::g_thread_self() });
}

entries! {
    g_thread_new(name: *const c_char, function: *mut c_void, data: *mut c_void) -> *mut c_void, reg "rcx": |inside, pc| {
        prepare(&inside);
        inside.in_program(|| library::g_thread_new(name, function, data))
    }
    g_thread_try_new(name: *const c_char, function: *mut c_void, data: *mut c_void, error: *mut c_void) -> *mut c_void, reg "r8":
        |inside, pc| {
        prepare(&inside);
        inside.in_program(|| library::g_thread_try_new(name, function, data, error))
    }
}
