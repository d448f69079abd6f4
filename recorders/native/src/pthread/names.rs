//! Names of threads.

use crate::events::pending::{self, text};
use crate::platform::{memory, real};
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::register::by_handle;
use crate::scheduling::thread::Thread;
use core::ffi::CStr;
use libc::{c_char, c_int, c_ulong, pthread_t};
use recorder_ring::Record;
use std::vec::Vec;

/// Bytes of a name that the kernel keeps.
const KEPT: usize = 15;

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_setname_np(handle: pthread_t, name: *const c_char) -> c_int {
    // SAFETY: the program's own thread and name.
    let result = unsafe { real::pthread_setname_np(handle, name) };
    if result == 0
        && let Some(_inside) = RuntimeGuard::enter_and_stay()
        && let Some(thread) = by_handle(handle)
    {
        // SAFETY: a C string, as the call that succeeded has found.
        name_thread(thread, unsafe { CStr::from_ptr(name) }.to_bytes());
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
        // The kernel looks no further than it keeps: there need be no end.
        let name: Vec<u8> = memory::each(a as *const u8, KEPT)
            .take_while(|&byte| byte != 0)
            .collect();
        name_thread(&inside, &name);
    }
    result
}

/// Records a thread's name.
pub fn name_thread(thread: &Thread, name: &[u8]) {
    text(&name[..name.len().min(KEPT)]);
    pending::push(Record::ThreadName {
        thread: thread.index.get(),
    });
}
