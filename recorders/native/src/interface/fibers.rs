//! Fibers: threads of which several take turns on one thread of the kernel's, as the program says
//! (`__tsan_switch_to_fiber`).
//!
//! To the trace each is a thread, forked by the one that created it. A switch hands the baton from one to the other;
//! unless the program says that it does not synchronize, the one goes on after the other has left. A fiber that is not
//! running waits in no queue: nobody but a switch can make it run.

use crate::events::moment::Moment;
use crate::platform::export::export;
use crate::pthread::fibers::go_on_as;
use crate::pthread::{fibers as threads, names};
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::thread::{Thread, slot};
use crate::scheduling::{fast_path, plan};
use core::ffi::{CStr, c_char, c_void};
use core::ptr;
use libc::c_uint;

const NO_SYNC: c_uint = 1;

unsafe extern "C-unwind" fn create(_flags: c_uint, pc: usize) -> *const c_void {
    match RuntimeGuard::enter() {
        Some(inside) => ptr::from_ref(threads::fork(&inside, pc)).cast(),
        None => ptr::null(),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __tsan_get_current_fiber() -> *const c_void {
    drop(RuntimeGuard::enter_and_stay());
    slot().cast()
}

unsafe extern "C-unwind" fn switch(fiber: *const Thread, flags: c_uint, pc: usize) {
    // Along a plan, the turn of the other fiber may come only by this, which is no event.
    let inside = match flags & NO_SYNC {
        0 => RuntimeGuard::enter(),
        _ if plan::is_followed() => RuntimeGuard::enter_and_stay(),
        _ => RuntimeGuard::enter(),
    };
    let Some(inside) = inside else { return };
    // SAFETY: null, or a record, which lives for ever.
    let Some(to) = (unsafe { fiber.as_ref() }) else { return };
    if ptr::eq(to, inside.thread()) {
        return;
    }
    let left = if flags & NO_SYNC == 0 {
        Moment::now(pc)
    } else {
        Moment::NEVER
    };
    go_on_as(inside, to);
    left.is_past(pc);
    fast_path::leave(to);
}

unsafe extern "C-unwind" fn destroy(fiber: *const Thread, _pc: usize) {
    // SAFETY: null, or a record, which lives for ever.
    let (Some(inside), Some(fiber)) = (RuntimeGuard::enter(), unsafe { fiber.as_ref() }) else {
        return;
    };
    threads::end(&inside, fiber);
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __tsan_set_fiber_name(fiber: *const Thread, name: *const c_char) {
    // SAFETY: null, or a record, which lives for ever.
    let fiber = unsafe { fiber.as_ref() };
    if let (Some(_inside), Some(fiber)) = (RuntimeGuard::enter_and_stay(), fiber) {
        // SAFETY: the program's own text.
        names::name_thread(fiber, unsafe { CStr::from_ptr(name) }.to_bytes());
    }
}

unsafe extern "C-unwind" fn name_thread(_file: *const c_char, _line: c_uint, name: *const c_char) {
    if let Some(inside) = RuntimeGuard::enter_and_stay() {
        // SAFETY: the program's own text.
        names::name_thread(&inside, unsafe { CStr::from_ptr(name) }.to_bytes());
    }
}

export! {
    __tsan_create_fiber = create, "rsi";
    __tsan_switch_to_fiber = switch, "rdx";
    __tsan_destroy_fiber = destroy, "rsi";
    AnnotateThreadName = name_thread, "rcx";
}
