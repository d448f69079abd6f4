//! Functions that tell the numbers of processes and threads, or take them.

use crate::c_library::channels;
use crate::c_library::channels::descriptor::as_recorded;
use crate::events::agents::CHILDREN;
use crate::events::modules;
use crate::platform::sys;
use crate::runtime::accesses::{passes, writes};
use crate::runtime::guard::RuntimeGuard;
use crate::runtime::process_numbers::{actual, given};
use core::ffi::c_void;
use libc::{c_int, c_long, c_uint, id_t, pid_t};

library! {
    getpid() -> pid_t, "rdi": quick {} (process, pc) { process = given(process, pc); }
    getppid() -> pid_t, "rdi": quick {} (process, pc) { process = given(process, pc); }
    gettid() -> pid_t, "rdi": quick {} (thread, pc) { thread = given(thread, pc); }
    getpgrp() -> pid_t, "rdi": quick {} (group, pc) { group = given(group, pc); }
    getpgid(process: pid_t) -> pid_t, "rsi": quick { let process = actual(process); } (group, pc) { group = given(group, pc); }
    getsid(process: pid_t) -> pid_t, "rsi": quick { let process = actual(process); } (session, pc) { session = given(session, pc); }
    setsid() -> pid_t, "rdi": quick {} (session, pc) { session = given(session, pc); }
    setpgid(process: pid_t, group: pid_t) -> c_int, "rdx": quick {
        let (process, group) = (actual(process), actual(group));
    } (result, pc) {}
    pidfd_open(process: pid_t, flags: c_uint) -> c_int, "rdx": system { let process = actual(process); } (file, pc) {
        file = as_recorded(file, pc);
        if file >= 0 { channels::is_other(file, pc); }
    }
    pidfd_send_signal(file: c_int, signal: c_int, info: *const c_void, flags: c_uint) -> c_int, "r8": (slow file) {
        CHILDREN.tells(pc);
    } (result, pc) {}
    getpriority(which: c_uint, who: id_t) -> c_int, "rdx": quick { let who = actual(who as pid_t) as id_t; } (result, pc) {}
    setpriority(which: c_uint, who: id_t, priority: c_int) -> c_int, "rcx": quick {
        let who = actual(who as pid_t) as id_t;
    } (result, pc) {}
    sched_getaffinity(process: pid_t, size: usize, to: *mut c_void) -> c_int, "rcx": quick {
        let process = actual(process);
    } (result, pc) { if result == 0 { writes(to, size, pc); } }
    sched_setaffinity(process: pid_t, size: usize, from: *const c_void) -> c_int, "rcx": quick {
        let process = actual(process);
        passes(from, size, pc);
    } (result, pc) {}
    sched_getscheduler(process: pid_t) -> c_int, "rsi": quick { let process = actual(process); } (result, pc) {}
    sched_setscheduler(process: pid_t, policy: c_int, from: *const c_int) -> c_int, "rcx": quick {
        let process = actual(process);
        passes(from, size_of::<c_int>(), pc);
    } (result, pc) {}
    sched_getparam(process: pid_t, to: *mut c_int) -> c_int, "rdx": quick {
        let process = actual(process);
    } (result, pc) { if result == 0 { writes(to, size_of::<c_int>(), pc); } }
    sched_setparam(process: pid_t, from: *const c_int) -> c_int, "rdx": quick {
        let process = actual(process);
        passes(from, size_of::<c_int>(), pc);
    } (result, pc) {}
}

/// The system calls that ask for one's own numbers, past the C library.
pub unsafe extern "C-unwind" fn by_system_call(number: c_long, pc: usize) -> c_long {
    // SAFETY: no arguments.
    let actual = unsafe { sys::call(number, 0, 0, 0, 0) } as pid_t;
    let inside = modules::is_instrumented(pc).then(RuntimeGuard::enter).flatten();
    inside.map_or(actual, |_inside| given(actual, pc)).into()
}
