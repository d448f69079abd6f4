//! A program that a test suite starts under `witness test`: its process becomes a recorder, which starts it again.
//!
//! The command that runs the tests, and whatever stands between it and this program, are not instrumented: they only pass
//! their environment on. It leads the loader to this library, and this library to the recorder. Nothing of the program has run
//! yet when its first library is initialized, so that it starts once, as far as it can tell. A library that is loaded later
//! (a module of an interpreter that is not instrumented) finds a program at work, and leaves it alone.

use crate::sys;
use core::ffi::{CStr, c_char};
use core::ptr;
use recorder_ring::layout::RECORDER_VARIABLE;
use std::vec::Vec;

/// How far below the program's arguments the stack may have grown when the loader initializes the libraries that the program
/// needs. A program at work has come further.
const LOADERS_STACK: usize = 8 << 10;

/// Becomes the recorder, if the environment names one. Comes back if it does not, or that fails.
///
/// # Safety
/// The process's own arguments and environment, lists of C strings that end with a null.
pub unsafe fn become_recorder(arguments: *const *const c_char, environment: *mut *mut c_char) {
    // SAFETY: promised by the caller.
    let Some((_, recorder)) = (unsafe { crate::start::position(environment, RECORDER_VARIABLE.as_bytes()) }) else {
        return;
    };
    let here = ptr::from_ref(&recorder) as usize;
    if (arguments as usize).wrapping_sub(here) > LOADERS_STACK {
        return;
    }
    let mut program = [0_u8; 4096];
    // SAFETY: a C string, and writable memory of that length; one byte stays zero.
    let len = unsafe {
        sys::call(
            libc::SYS_readlink,
            c"/proc/self/exe".as_ptr() as usize,
            program.as_mut_ptr() as usize,
            program.len() - 1,
            0,
        )
    };
    if len <= 0 {
        return;
    }
    // SAFETY: stays within the list.
    let (own_name, rest) = unsafe {
        let first = *arguments;
        let rest = if first.is_null() { arguments } else { arguments.add(1) };
        let name = if first.is_null() { c"" } else { CStr::from_ptr(first) };
        (name, rest)
    };
    let flag = [b"--in-suite=", own_name.to_bytes_with_nul()].concat();
    let mut list: Vec<*const c_char> = Vec::from([
        recorder.as_ptr(),
        c"record".as_ptr(),
        flag.as_ptr().cast(),
        c"--".as_ptr(),
        program.as_ptr().cast(),
    ]);
    let mut at = rest;
    // SAFETY: stays within the list.
    unsafe {
        while !(*at).is_null() {
            list.push(*at);
            at = at.add(1);
        }
    }
    list.push(ptr::null());
    // SAFETY: a C string and two lists of them; comes back only if it fails.
    unsafe {
        sys::call(
            libc::SYS_execve,
            recorder.as_ptr() as usize,
            list.as_ptr() as usize,
            environment as usize,
            0,
        );
    }
}

/// The first process of a program that is recorded so ends with its recorder: who kills what it started means the program.
///
/// # Safety
/// The process's own environment.
pub unsafe fn end_with_recorder(environment: *mut *mut c_char) {
    // SAFETY: promised by the caller.
    if unsafe { crate::start::position(environment, RECORDER_VARIABLE.as_bytes()) }.is_some() {
        let signal = libc::SIGKILL as usize;
        // SAFETY: no memory is involved.
        unsafe { sys::call(libc::SYS_prctl, libc::PR_SET_PDEATHSIG as usize, signal, 0, 0) };
    }
}
