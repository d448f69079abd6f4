//! The process as a whole: fork, exec, exit.

use crate::inside::Inside;
use crate::start::{self, Phase};
use crate::thread::{UNRECORDED, set_slot, slot};
use crate::{modules, pending, pthread, real, sys};
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use libc::{c_char, c_int};
use recorder_ring::{Note, Record};

/// Watches forks.
pub fn prepare() {
    // SAFETY: the three functions have the right type and need nothing.
    unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork_in_parent), Some(after_fork_in_child)) };
}

/// The forking thread stays inside the runtime during the fork, with its last write settled.
unsafe extern "C" fn before_fork() {
    if let Some(inside) = Inside::enter_and_stay() {
        pending::push(Record::Note { note: Note::Forked });
        inside.forget();
    }
}

unsafe extern "C" fn after_fork_in_parent() {
    let thread = slot();
    if !thread.is_null() && !ptr::eq(thread, &raw const UNRECORDED) {
        // SAFETY: a slot holds a thread, which lives for ever.
        unsafe { (*thread).busy.store(0, Relaxed) };
    }
}

/// The child is a process of its own, and not recorded: the ring is not even mapped there.
unsafe extern "C" fn after_fork_in_child() {
    start::set_phase(Phase::Off);
    set_slot(&UNRECORDED);
}

/// The last hook of a process that ends in good order.
pub fn finish() {
    // A child of `vfork` runs in its parent's memory: its end is none of ours.
    if sys::process_id() != start::process() {
        return;
    }
    if let Some(inside) = Inside::enter_and_stay() {
        inside.await_turn();
        modules::tell_new();
        pending::push(Record::Note { note: Note::Finished });
        pthread::thread::end(inside.thread());
        // Nobody else runs any more: the baton is never passed on.
        inside.forget();
    }
}

crate::real::real! {
    fn dlclose(library: *mut c_void) -> c_int;
}

#[unsafe(export_name = "dlclose")]
pub unsafe extern "C-unwind" fn close_library(library: *mut c_void) -> c_int {
    let Some(inside) = Inside::enter() else {
        // SAFETY: the program's own argument.
        return unsafe { dlclose(library) };
    };
    // SAFETY: as above. Its destructors run.
    let result = inside.in_program(|| unsafe { dlclose(library) });
    modules::forget_unloaded();
    result
}

unsafe fn leave(status: c_int) -> ! {
    finish();
    // SAFETY: ends the process.
    unsafe { real::_exit(status) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn _exit(status: c_int) -> ! {
    // SAFETY: ends the process.
    unsafe { leave(status) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Exit(status: c_int) -> ! {
    // SAFETY: ends the process.
    unsafe { leave(status) }
}

/// Before another program takes the place of this one.
fn before_exec() {
    if sys::process_id() == start::process()
        && let Some(_inside) = Inside::enter_and_stay()
    {
        pending::push(Record::Note { note: Note::Executed });
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn execve(
    path: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
) -> c_int {
    before_exec();
    // SAFETY: the program's own arguments.
    unsafe { real::execve(path, arguments, environment) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn execv(path: *const c_char, arguments: *const *const c_char) -> c_int {
    before_exec();
    // SAFETY: the program's own arguments.
    unsafe { real::execv(path, arguments) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvp(file: *const c_char, arguments: *const *const c_char) -> c_int {
    before_exec();
    // SAFETY: the program's own arguments.
    unsafe { real::execvp(file, arguments) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvpe(
    file: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
) -> c_int {
    before_exec();
    // SAFETY: the program's own arguments.
    unsafe { real::execvpe(file, arguments, environment) }
}
