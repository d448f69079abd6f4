//! C++'s `std::thread`: what libstdc++, which is not instrumented, does to the program's memory when a thread is made,
//! joined or detached.
//!
//! What the thread is to run comes in a pointer that libstdc++ clears once the thread has it, and the object's handle is
//! cleared once the thread is joined or detached. Destructors, in the program's own code, look at both. Unless the stores
//! are recorded, these reads keep their places among the events of all threads. Making the thread and waiting for it are
//! `pthread_create` and `pthread_join`, which libstdc++ calls in turn.

#![expect(non_snake_case, reason = "the names of C++'s functions are mangled")]

use crate::runtime::accesses::{reads, writes};
use core::ffi::c_void;
use libc::pthread_t;

library! {
    // `std::thread::_M_start_thread(std::unique_ptr<_State>, void (*)())`: a unique_ptr is passed by its address.
    _ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(
        thread: *mut pthread_t, state: *mut *mut c_void, needed: *const c_void) -> (), "rcx": slow {
        reads(state, size_of::<*mut c_void>(), pc);
    } (result, pc) {
        writes(state, size_of::<*mut c_void>(), pc);
    }
    _ZNSt6thread4joinEv(thread: *mut pthread_t) -> (), "rsi": slow {
        reads(thread, size_of::<pthread_t>(), pc);
    } (result, pc) {
        writes(thread, size_of::<pthread_t>(), pc);
    }
    _ZNSt6thread6detachEv(thread: *mut pthread_t) -> (), "rsi": slow {
        reads(thread, size_of::<pthread_t>(), pc);
    } (result, pc) {
        writes(thread, size_of::<pthread_t>(), pc);
    }
}
