//! GLib's own functions.

use crate::platform::real::real;
use crate::scheduling::clocks;
use core::ffi::c_void;
use libc::{c_char, c_int};

/// A function of the program that a pool calls for each item, with the pool's data.
pub type Function = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void);

real! {
    fn g_mutex_trylock(mutex: *mut c_void) -> c_int;
    fn g_mutex_unlock(mutex: *mut c_void) -> ();
    fn g_mutex_init(mutex: *mut c_void) -> ();
    fn g_mutex_clear(mutex: *mut c_void) -> ();
    fn g_cond_init(condition: *mut c_void) -> ();
    fn g_cond_clear(condition: *mut c_void) -> ();
    fn g_bit_trylock(word: *mut c_int, bit: c_int) -> c_int;
    fn g_bit_unlock(word: *mut c_int, bit: c_int) -> ();
    fn g_pointer_bit_trylock(word: *mut c_void, bit: c_int) -> c_int;
    fn g_pointer_bit_unlock(word: *mut c_void, bit: c_int) -> ();
    fn g_async_queue_new() -> *mut c_void;
    fn g_async_queue_new_full(free: *mut c_void) -> *mut c_void;
    fn g_async_queue_lock(queue: *mut c_void) -> ();
    fn g_async_queue_unlock(queue: *mut c_void) -> ();
    fn g_async_queue_push_unlocked(queue: *mut c_void, item: *mut c_void) -> ();
    fn g_async_queue_push_front_unlocked(queue: *mut c_void, item: *mut c_void) -> ();
    fn g_async_queue_push_sorted_unlocked(queue: *mut c_void, item: *mut c_void, compare: *mut c_void, data: *mut c_void) -> ();
    fn g_async_queue_try_pop_unlocked(queue: *mut c_void) -> *mut c_void;
    fn g_async_queue_remove_unlocked(queue: *mut c_void, item: *mut c_void) -> c_int;
    fn g_async_queue_length_unlocked(queue: *mut c_void) -> c_int;
    fn g_thread_self() -> *mut c_void;
    fn g_thread_new(name: *const c_char, function: *mut c_void, data: *mut c_void) -> *mut c_void;
    fn g_thread_try_new(name: *const c_char, function: *mut c_void, data: *mut c_void, error: *mut c_void) -> *mut c_void;
    fn g_thread_pool_new(call: Function, data: *mut c_void, most: c_int, own: c_int, error: *mut c_void) -> *mut c_void;
    fn g_thread_pool_new_full(call: Function, data: *mut c_void, free: *mut c_void, most: c_int, own: c_int, error: *mut c_void) -> *mut c_void;
    fn g_thread_pool_push(pool: *mut c_void, item: *mut c_void, error: *mut c_void) -> c_int;
    fn g_thread_pool_free(pool: *mut c_void, at_once: c_int, wait: c_int) -> ();
}

/// A moment in microseconds on GLib's clock, as a deadline.
pub fn at(micros: i64) -> i64 {
    clocks::deadline(libc::CLOCK_MONOTONIC, micros.saturating_mul(1000))
}

/// An interval of microseconds from now on, as a deadline.
pub fn after(micros: u64) -> i64 {
    clocks::deadline_in(i64::try_from(micros).unwrap_or(i64::MAX).saturating_mul(1000))
}
