//! Keys of what each thread has for itself. The number of a new one depends on which there are, so on the order in which
//! threads create keys and give them up. That is the order of what changes a variable of the runtime's own: how often
//! that was done.

use crate::events::pending;
use crate::events::variable::Turns;
use crate::platform::export::export;
use crate::platform::memory::NOBODYS;
use crate::platform::real;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::plan;
use core::ffi::c_void;
use libc::{c_int, pthread_key_t};
use recorder_ring::plan::kind;

/// What glibc calls with a thread's value at the thread's end.
type Destructor = Option<unsafe extern "C-unwind" fn(*mut c_void)>;

/// How often a key has come or gone.
static CHANGES: Turns = Turns::at(NOBODYS | 1 << 54);

/// In a forked child, whose trace begins here.
pub fn start_over() {
    CHANGES.start_over();
}

unsafe extern "C-unwind" fn create(key: *mut pthread_key_t, destructor: Destructor, pc: usize) -> c_int {
    let inside = RuntimeGuard::enter();
    if inside.is_some() {
        plan::before_call(pc, &[kind::WRITE], &[(key as usize, size_of::<pthread_key_t>())]);
    }
    // SAFETY: the program's own arguments.
    let result = unsafe { real::pthread_key_create(key, destructor) };
    if inside.is_some() && result == 0 {
        CHANGES.take(pc);
        pending::write_range_now(key as usize, size_of::<pthread_key_t>(), pc);
    }
    result
}

unsafe extern "C-unwind" fn delete(key: pthread_key_t, pc: usize) -> c_int {
    let inside = RuntimeGuard::enter();
    // SAFETY: any number will do.
    let result = unsafe { real::pthread_key_delete(key) };
    if inside.is_some() {
        // Whether there is such a key depends on who came first, too.
        match result {
            0 => CHANGES.take(pc),
            _ => CHANGES.look(pc),
        }
    }
    result
}

/// `thrd_success`, or `thrd_error`.
fn result(errno: c_int) -> c_int {
    if errno == 0 { 0 } else { 2 }
}

unsafe extern "C-unwind" fn c11_create(key: *mut pthread_key_t, destructor: Destructor, pc: usize) -> c_int {
    // SAFETY: the program's own arguments.
    result(unsafe { create(key, destructor, pc) })
}

unsafe extern "C-unwind" fn c11_delete(key: pthread_key_t, pc: usize) {
    // SAFETY: any number will do.
    unsafe { delete(key, pc) };
}

export! {
    pthread_key_create = create, "rdx";
    pthread_key_delete = delete, "rsi";
    tss_create = c11_create, "rdx";
    tss_delete = c11_delete, "rsi";
}
