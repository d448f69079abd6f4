//! The end of the process, and of what it has loaded.

use crate::inside::Inside;
use crate::start::{self, Phase, RING};
use crate::{modules, pending, pthread, real, sys};
use core::ffi::c_void;
use core::ptr;
use libc::c_int;
use recorder_ring::{Note, Record};

unsafe extern "C" {
    fn on_exit(function: unsafe extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Watches how the process ends.
pub fn prepare() {
    // SAFETY: the function has the right type and needs nothing.
    unsafe { on_exit(at_exit, ptr::null_mut()) };
}

unsafe extern "C" fn at_exit(status: c_int, _nothing: *mut c_void) {
    tell_status(status);
}

/// Tells the recorder, who is not the parent of every process and so cannot ask the kernel.
pub fn tell_status(status: c_int) {
    if start::phase() == Phase::On && sys::process_id() == start::process() {
        // SAFETY: attached, since it records.
        unsafe { RING.leaves(status) };
    }
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
    tell_status(status);
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
