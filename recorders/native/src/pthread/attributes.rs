//! What the program is told of a thread's attributes. The objects themselves are glibc's, and nobody's events.

use crate::platform::{export::export, real};
use crate::runtime::accesses::writes;
use crate::runtime::guard::RuntimeGuard;
use core::ffi::c_void;
use libc::{c_int, pthread_attr_t, pthread_t, size_t};

/// Inside the runtime: glibc finds the first thread's stack in a text of the kernel's, in blocks of memory that are no
/// business of the program's.
unsafe extern "C-unwind" fn of_thread(thread: pthread_t, attr: *mut pthread_attr_t, _pc: usize) -> c_int {
    let _inside = RuntimeGuard::enter_and_stay();
    // SAFETY: the program's own arguments.
    unsafe { real::pthread_getattr_np(thread, attr) }
}

unsafe extern "C-unwind" fn stack(
    attr: *const pthread_attr_t,
    address: *mut *mut c_void,
    size: *mut size_t,
    pc: usize,
) -> c_int {
    // SAFETY: the program's own arguments.
    let result = unsafe { real::pthread_attr_getstack(attr, address, size) };
    if result == 0
        && let Some(_inside) = RuntimeGuard::enter_and_stay()
    {
        writes(address, size_of::<*mut c_void>(), pc);
        writes(size, size_of::<size_t>(), pc);
    }
    result
}

/// A function that tells one of them.
macro_rules! tells {
    ($($name:ident = $real:ident, $type:ty;)*) => { $(
        unsafe extern "C-unwind" fn $name(attr: *const pthread_attr_t, value: *mut $type, pc: usize) -> c_int {
            // SAFETY: the program's own arguments.
            let result = unsafe { real::$real(attr, value) };
            if result == 0
                && let Some(_inside) = RuntimeGuard::enter_and_stay()
            {
                writes(value, size_of::<$type>(), pc);
            }
            result
        }
    )* };
}

tells! {
    guard_size = pthread_attr_getguardsize, size_t;
    stack_size = pthread_attr_getstacksize, size_t;
    detach_state = pthread_attr_getdetachstate, c_int;
}

export! {
    pthread_getattr_np = of_thread, "rdx";
    pthread_attr_getstack = stack, "rcx";
    pthread_attr_getguardsize = guard_size, "rdx";
    pthread_attr_getstacksize = stack_size, "rdx";
    pthread_attr_getdetachstate = detach_state, "rdx";
}
