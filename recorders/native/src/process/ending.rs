//! The end of the process, and of what it has loaded.

use crate::events::{modules, pending};
use crate::platform::{real, sys};
use crate::runtime::callers;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::baton::SCHEDULER;
use crate::scheduling::recording::{self, Phase, RING};
use crate::{interface, pthread};
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;
use libc::{c_char, c_int};
use recorder_ring::{Note, Record};

unsafe extern "C" {
    fn on_exit(function: unsafe extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Watches how the process ends.
pub fn prepare() {
    callers::MAIN.store(run_main as *const () as usize, Relaxed);
    // SAFETY: the function has the right type and needs nothing.
    unsafe { on_exit(at_exit, ptr::null_mut()) };
}

unsafe extern "C" fn at_exit(status: c_int, _nothing: *mut c_void) {
    tell_status(status);
}

/// Tells the recorder, who is not the parent of every process and so cannot ask the kernel.
pub fn tell_status(status: c_int) {
    if recording::phase() == Phase::On && sys::process_id() == recording::process() {
        // SAFETY: attached, since it records.
        unsafe { RING.leaves(status) };
    }
}

/// The last hook of a process that ends in good order.
pub fn finish() {
    // A child of `vfork` runs in its parent's memory: its end is none of ours.
    if sys::process_id() != recording::process() {
        return;
    }
    if let Some(inside) = RuntimeGuard::enter_and_stay() {
        inside.await_turn();
        modules::tell_new();
        pending::push(Record::Note { note: Note::Finished });
        pthread::thread::end();
        // Nobody else runs any more: the baton is never passed on.
        inside.forget();
    }
}

/// The program's `main`.
static MAIN: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

type Main = unsafe extern "C-unwind" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;
type Function = *mut c_void;

/// Stands in for `main`, which returns to here before it ends the process.
unsafe extern "C-unwind" fn run_main(
    count: c_int,
    arguments: *mut *mut c_char,
    environment: *mut *mut c_char,
) -> c_int {
    interface::marks::begin();
    // SAFETY: what the program gave to `start_program`.
    let status = unsafe { core::mem::transmute::<Function, Main>(MAIN.load(Relaxed))(count, arguments, environment) };
    let_others_finish();
    status
}

/// The calling thread is about to end the process: the others run before.
fn let_others_finish() {
    // A child of `vfork` runs in its parent's memory: its end is none of ours.
    if sys::process_id() == recording::process()
        && let Some(inside) = RuntimeGuard::enter()
    {
        SCHEDULER.let_others_finish(inside.thread());
    }
}

#[unsafe(export_name = "__libc_start_main")]
pub unsafe extern "C-unwind" fn start_program(
    main: Function,
    count: c_int,
    arguments: *mut *mut c_char,
    init: Function,
    fini: Function,
    loader_fini: Function,
    stack_end: *mut c_void,
) -> c_int {
    MAIN.store(main, Relaxed);
    // SAFETY: the arguments of the program's start code, but for `main`, in whose place is a function of its type.
    unsafe {
        __libc_start_main(
            run_main as Function,
            count,
            arguments,
            init,
            fini,
            loader_fini,
            stack_end,
        )
    }
}

#[unsafe(export_name = "exit")]
pub unsafe extern "C-unwind" fn exit_with_handlers(status: c_int) -> ! {
    let_others_finish();
    // SAFETY: ends the process.
    unsafe { exit(status) }
}

#[unsafe(export_name = "quick_exit")]
pub unsafe extern "C-unwind" fn exit_quickly(status: c_int) -> ! {
    let_others_finish();
    // SAFETY: ends the process.
    unsafe { quick_exit(status) }
}

crate::platform::real::real! {
    fn __libc_start_main(main: Function, count: c_int, arguments: *mut *mut c_char, init: Function, fini: Function, loader_fini: Function, stack_end: *mut c_void) -> c_int;
    fn exit(status: c_int) -> !;
    fn quick_exit(status: c_int) -> !;
}

unsafe fn leave(status: c_int) -> ! {
    let_others_finish();
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
