//! Names of threads.

use crate::events::images;
use crate::events::pending::{self, text};
use crate::events::variable::{load, store};
use crate::platform::export::export;
use crate::platform::memory::{self, NOBODYS};
use crate::platform::real;
use crate::runtime::accesses::{enter_system, passes, writes};
use crate::scheduling::register::by_handle;
use crate::scheduling::thread::Thread;
use core::ffi::CStr;
use libc::{c_char, c_int, c_ulong, pthread_t};
use recorder_ring::Record;
use std::vec::Vec;

/// Bytes of a name that the kernel keeps.
const KEPT: usize = 15;

/// How often a thread was given a name is a variable of the runtime's own: who asks for its name comes after who gave
/// it, and before who gives it the next one.
fn variable_of_name(thread: &Thread) -> u64 {
    NOBODYS | 1 << 50 | u64::from(thread.index.get()) << 3
}

/// The calling thread is about to give a thread a name.
fn names(thread: &Thread, pc: usize) {
    if images::are_taken() {
        thread.named.set(thread.named.get() + 1);
        store(variable_of_name(thread), thread.named.get(), pc);
    }
}

/// It was told a thread's name.
fn was_told(thread: &Thread, pc: usize) {
    if images::are_taken() {
        load(variable_of_name(thread), thread.named.get(), pc);
    }
}

unsafe extern "C-unwind" fn set_name(handle: pthread_t, name: *const c_char, pc: usize) -> c_int {
    // SAFETY: the program's own thread and name.
    let call = || unsafe { real::pthread_setname_np(handle, name) };
    let Some(_inside) = enter_system(pc) else {
        return call();
    };
    let thread = by_handle(handle);
    // There and readable, or else the call fails in its own way.
    let text = memory::text(name).map(CStr::to_bytes);
    passes(name, text.map_or(0, |text| text.len() + 1), pc);
    if let Some(thread) = thread {
        names(thread, pc);
    }
    let result = call();
    if result == 0
        && let (Some(thread), Some(text)) = (thread, text)
    {
        name_thread(thread, text);
    }
    result
}

unsafe extern "C-unwind" fn get_name(handle: pthread_t, to: *mut c_char, room: usize, pc: usize) -> c_int {
    // SAFETY: the program's own thread and room.
    let call = || unsafe { real::pthread_getname_np(handle, to, room) };
    let Some(_inside) = enter_system(pc) else {
        return call();
    };
    let result = call();
    if let Some(thread) = by_handle(handle) {
        was_told(thread, pc);
    }
    if result == 0 {
        writes(to, memory::text(to).map_or(0, |text| text.count_bytes() + 1), pc);
    }
    result
}

/// The kernel's way to name the calling thread, and to ask for its name.
unsafe extern "C-unwind" fn control(option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong, pc: usize) -> c_int {
    // SAFETY: the program's own arguments.
    let call = || unsafe { real::prctl(option, a, b, c, d) };
    if !matches!(option, libc::PR_SET_NAME | libc::PR_GET_NAME) {
        return call();
    }
    let Some(inside) = enter_system(pc) else {
        return call();
    };
    if option == libc::PR_GET_NAME {
        let result = call();
        was_told(&inside, pc);
        if result == 0 {
            writes(a as *const u8, KEPT + 1, pc);
        }
        return result;
    }
    // The kernel looks no further than it keeps: there need be no end.
    let name = memory::each(a as *const u8, KEPT).take_while(|&byte| byte != 0);
    let name: Vec<u8> = name.collect();
    names(&inside, pc);
    let result = call();
    if result == 0 {
        name_thread(&inside, &name);
    }
    result
}

export! {
    pthread_setname_np = set_name, "rdx";
    pthread_getname_np = get_name, "rcx";
    prctl = control, "r9";
}

/// Records a thread's name.
pub fn name_thread(thread: &Thread, name: &[u8]) {
    text(&name[..name.len().min(KEPT)]);
    pending::push(Record::ThreadName {
        thread: thread.index.get(),
    });
}
