//! Names of threads.

use crate::events::pending::{self, text};
use crate::platform::real;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::register::by_handle;
use crate::scheduling::thread::Thread;
use core::ffi::CStr;
use libc::{c_char, c_int, c_ulong, pthread_t};
use recorder_ring::Record;

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_setname_np(handle: pthread_t, name: *const c_char) -> c_int {
    // SAFETY: the program's own thread and name.
    let result = unsafe { real::pthread_setname_np(handle, name) };
    if result == 0
        && let Some(_inside) = RuntimeGuard::enter_and_stay()
        && let Some(thread) = by_handle(handle)
    {
        // SAFETY: a C string, as the call that succeeded has found.
        name_thread(thread, unsafe { CStr::from_ptr(name) });
    }
    result
}

/// The kernel's way to name the calling thread.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn prctl(option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int {
    // SAFETY: the program's own arguments.
    let result = unsafe { real::prctl(option, a, b, c, d) };
    if option == libc::PR_SET_NAME
        && result == 0
        && let Some(inside) = RuntimeGuard::enter_and_stay()
    {
        // SAFETY: a C string, as the call that succeeded has found.
        name_thread(&inside, unsafe { CStr::from_ptr(a as *const c_char) });
    }
    result
}

/// Records a thread's name.
pub fn name_thread(thread: &Thread, name: &CStr) {
    let name = name.to_bytes();
    // The kernel keeps as much.
    text(&name[..name.len().min(15)]);
    pending::push(Record::ThreadName {
        thread: thread.index.get(),
    });
}
