//! The handlers of overflowing stacks that Rust's standard library installs.
//!
//! Before `main`, it looks whether the program has handlers for `SIGSEGV` and `SIGBUS`. If not, it installs its own, to
//! print that a stack has overflowed; then each thread that begins finds out where its stack ends, maps another one, and
//! enters itself in a map of all threads, under a lock. That orders the beginnings of all threads by what the map holds,
//! so that few races behind it can be predicted, and makes an exploration meet every order of them. Since this runtime
//! tells itself where and of what a thread has died, the library is told that there are handlers: it leaves all that out,
//! as it does in a program that has some.

use crate::events::segments::headers;
use crate::platform::real;
use core::ffi::c_void;
use core::slice;
use libc::{c_int, dl_phdr_info, size_t};

/// What its handler prints.
const MESSAGE: &[u8] = b"has overflowed its stack";

/// Whether code of the module at this position asks how a signal is handled that tells of overflows, and is the standard
/// library, or has it linked in.
pub fn asks_for_them(signal: c_int, pc: usize) -> bool {
    let mut asked = Asked { pc, has_message: false };
    matches!(signal, libc::SIGSEGV | libc::SIGBUS) && {
        // SAFETY: `look` takes such a pointer.
        unsafe { real::dl_iterate_phdr(look, (&raw mut asked).cast()) };
        asked.has_message
    }
}

struct Asked {
    pc: usize,
    has_message: bool,
}

unsafe extern "C-unwind" fn look(info: *mut dl_phdr_info, _size: size_t, asked: *mut c_void) -> c_int {
    // SAFETY: what `dl_iterate_phdr` passes on, and the caller's variable.
    let (info, asked) = unsafe { (&*info, &mut *asked.cast::<Asked>()) };
    let loaded = headers(info).iter().filter(|header| header.p_type == libc::PT_LOAD);
    let part = |header: &libc::Elf64_Phdr| (info.dlpi_addr + header.p_vaddr, header.p_memsz);
    let has_code = |(start, size): (u64, u64)| (start..start + size).contains(&(asked.pc as u64));
    if !loaded.clone().any(|header| has_code(part(header))) {
        return 0;
    }
    let constant = loaded.filter(|header| header.p_flags == libc::PF_R);
    asked.has_message = constant.map(part).any(|(start, size)| {
        // SAFETY: a part of a module that is loaded, readable, and changed by nobody.
        let bytes = unsafe { slice::from_raw_parts(start as *const u8, size as usize) };
        bytes.windows(MESSAGE.len()).any(|found| found == MESSAGE)
    });
    1
}
