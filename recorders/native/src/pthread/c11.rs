//! C11 threads. glibc's are the POSIX ones under other names, with other results; but it calls
//! the POSIX ones inside itself, where nobody sees it.

use super::{condition, join, mutex, once, thread};
use crate::events::pending;
use crate::events::picture::export_shown;
use crate::platform::real::Routine;
use crate::runtime::guard::RuntimeGuard;
use core::ffi::c_void;
use core::ptr;
use libc::{c_int, pthread_cond_t, pthread_mutex_t, pthread_t, timespec};

/// `thrd_success` … `thrd_timedout`.
fn result(errno: c_int) -> c_int {
    match errno {
        0 => 0,
        libc::EBUSY => 1,
        libc::ENOMEM => 3,
        libc::ETIMEDOUT => 4,
        _ => 2,
    }
}

/// The routine returns an int, in the low half of the register that a pointer is returned in.
unsafe extern "C-unwind" fn create(
    handle: *mut pthread_t,
    routine: Routine,
    argument: *mut c_void,
    pc: usize,
) -> c_int {
    // SAFETY: the program's own arguments.
    result(unsafe { thread::create(handle, ptr::null(), routine, argument, pc) })
}

unsafe extern "C-unwind" fn join(handle: pthread_t, into: *mut c_int, pc: usize) -> c_int {
    let mut value = ptr::null_mut();
    // SAFETY: the program's own thread and variable.
    unsafe {
        let joined = join::join(handle, &mut value, pc);
        if joined == 0 && !into.is_null() {
            into.write(value as usize as c_int);
            if let Some(_inside) = RuntimeGuard::enter_and_stay() {
                pending::write_range_now(into as usize, size_of::<c_int>(), pc);
            }
        }
        result(joined)
    }
}

unsafe extern "C-unwind" fn lock(lock: *mut pthread_mutex_t, pc: usize) -> c_int {
    // SAFETY: the program's own mutex.
    result(unsafe { mutex::lock(lock, pc) })
}

unsafe extern "C-unwind" fn try_lock(lock: *mut pthread_mutex_t, pc: usize) -> c_int {
    // SAFETY: the program's own mutex.
    result(unsafe { mutex::try_lock(lock, pc) })
}

unsafe extern "C-unwind" fn timed_lock(lock: *mut pthread_mutex_t, limit: *const timespec, pc: usize) -> c_int {
    // SAFETY: the program's own mutex and time.
    result(unsafe { mutex::timed_lock(lock, limit, pc) })
}

unsafe extern "C-unwind" fn unlock(lock: *mut pthread_mutex_t, pc: usize) -> c_int {
    // SAFETY: the program's own mutex.
    result(unsafe { mutex::unlock(lock, pc) })
}

unsafe extern "C-unwind" fn wait(condition: *mut pthread_cond_t, lock: *mut pthread_mutex_t, pc: usize) -> c_int {
    // SAFETY: the program's own objects.
    result(unsafe { condition::wait(condition, lock, pc) })
}

unsafe extern "C-unwind" fn timed_wait(
    condition: *mut pthread_cond_t,
    lock: *mut pthread_mutex_t,
    limit: *const timespec,
    pc: usize,
) -> c_int {
    // SAFETY: the program's own objects.
    result(unsafe { condition::timed_wait(condition, lock, limit, pc) })
}

unsafe extern "C-unwind" fn initialize(control: *mut c_int, routine: unsafe extern "C-unwind" fn(), pc: usize) {
    // SAFETY: the program's own arguments.
    unsafe { once::once(control, routine, pc) };
}

export_shown! {
    thrd_create = create, "rcx";
    thrd_join = join, "rdx";
    mtx_lock = lock, "rsi";
    mtx_trylock = try_lock, "rsi";
    mtx_timedlock = timed_lock, "rdx";
    mtx_unlock = unlock, "rsi";
    cnd_wait = wait, "rdx";
    cnd_timedwait = timed_wait, "rcx";
    cnd_signal = condition::signal, "rsi";
    cnd_broadcast = condition::broadcast, "rsi";
    call_once = initialize, "rdx";
}
