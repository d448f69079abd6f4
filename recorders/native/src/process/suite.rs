//! A program that a test suite starts under `witness test`: its process becomes a recorder, which starts it again.
//!
//! The command that runs the tests, and whatever stands between it and this program, are not instrumented: they only
//! pass their environment on. It leads the loader to this library, and this library to the recorder. Nothing of the
//! program has run yet when its first library is initialized, so that it starts once, as far as it can tell. A library
//! that is loaded later (a module of an interpreter that is not instrumented) finds a program at work; it only leaves
//! word of that where the recorders leave theirs.

use crate::platform::environment::position;
use crate::platform::sys;
use core::ffi::{CStr, c_char};
use core::ptr;
use recorder_ring::layout::{PROCESSES, RECORDER_VARIABLE, SUITE_VARIABLE};
use std::vec::Vec;

/// Becomes the recorder, if the environment names one. Comes back if it does not, or that fails, or the program is at
/// work, so that it is too late.
///
/// # Safety
/// The process's own arguments and environment, lists of C strings that end with a null.
pub unsafe fn become_recorder(arguments: *const *const c_char, environment: *mut *mut c_char, late: bool) {
    // SAFETY: promised by the caller.
    let Some((_, recorder)) = (unsafe { position(environment, RECORDER_VARIABLE.as_bytes()) }) else {
        return;
    };
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
    // Who preloads this library has it in the recorder too.
    if len <= 0 || program[..len as usize] == *recorder.to_bytes() {
        return;
    }
    if late {
        // SAFETY: promised by the caller.
        let found = unsafe { position(environment, SUITE_VARIABLE.as_bytes()) };
        if let Some((_, folder)) = found {
            // SAFETY: promised by the caller.
            unsafe { say_too_late(folder, arguments) };
        }
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

/// Adds a line for this process, which cannot be recorded any more, to those of the recorders.
///
/// # Safety
/// The process's own arguments.
unsafe fn say_too_late(folder: &CStr, arguments: *const *const c_char) {
    let mut line = Vec::from(b"{\"command\":[");
    let mut at = arguments;
    // SAFETY: stays within the list.
    unsafe {
        while !(*at).is_null() {
            if at != arguments {
                line.push(b',');
            }
            quote(CStr::from_ptr(*at).to_bytes(), &mut line);
            at = at.add(1);
        }
    }
    line.extend_from_slice(b"],\"loaded_late\":true}\n");
    let path = [folder.to_bytes(), b"/", PROCESSES.as_bytes(), b"\0"].concat();
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND | libc::O_CLOEXEC;
    // SAFETY: a C string, and memory of that length; one write, since others add their lines too.
    unsafe {
        let file = sys::call(libc::SYS_open, path.as_ptr() as usize, flags as usize, 0o644, 0);
        if file >= 0 {
            sys::call(libc::SYS_write, file as usize, line.as_ptr() as usize, line.len(), 0);
            sys::call(libc::SYS_close, file as usize, 0, 0, 0);
        }
    }
}

/// Adds a string of JSON. Bytes that are no ASCII text are left to their codes, as Latin-1.
fn quote(text: &[u8], line: &mut Vec<u8>) {
    line.push(b'"');
    for &byte in text {
        match byte {
            b' '..=b'~' if byte != b'"' && byte != b'\\' => line.push(byte),
            _ => {
                let digit = |value: u8| b"0123456789abcdef"[usize::from(value)];
                line.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
            }
        }
    }
    line.push(b'"');
}

/// The first process of a program that is recorded so ends with its recorder: who kills what it started means the
/// program.
///
/// # Safety
/// The process's own environment.
pub unsafe fn end_with_recorder(environment: *mut *mut c_char) {
    // SAFETY: promised by the caller.
    if unsafe { position(environment, RECORDER_VARIABLE.as_bytes()) }.is_some() {
        let signal = libc::SIGKILL as usize;
        // SAFETY: no memory is involved.
        unsafe { sys::call(libc::SYS_prctl, libc::PR_SET_PDEATHSIG as usize, signal, 0, 0) };
    }
}
