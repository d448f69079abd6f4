//! Functions that are passed on untouched, in their right version.
//!
//! A program linked with `-fsanitize=thread` refers without a version to everything that libtsan
//! defines. What we do not define is bound to the C library's *oldest* version, which differs
//! from the one that the program was written for. Each of these jumps to the default version with
//! all argument registers as they were.

use crate::{real, sys};
use core::arch::naked_asm;
use core::ffi::{CStr, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

macro_rules! forward {
    ($($name:ident $slot:ident;)*) => {
        $(
            static $slot: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name() {
                naked_asm!(
                    "cmp qword ptr [rip + {slot}], 0",
                    "jne 2f",
                    "call {resolve}",
                    "2: jmp qword ptr [rip + {slot}]",
                    slot = sym $slot,
                    resolve = sym resolve_keeping_arguments,
                )
            }
        )*

        extern "C" fn resolve_all() {
            $(
                let name = CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes());
                let found = name.map_or(ptr::null_mut(), real::find);
                $slot.store(if found.is_null() { missing as *mut c_void } else { found }, Relaxed);
            )*
        }
    };
}

forward! {
    pthread_attr_getaffinity_np PTHREAD_ATTR_GETAFFINITY_NP;
    pthread_sigmask PTHREAD_SIGMASK;
    sched_getaffinity SCHED_GETAFFINITY;
    realpath REALPATH;
    regexec REGEXEC;
    glob GLOB;
    glob64 GLOB64;
    fmemopen FMEMOPEN;
    lgamma LGAMMA;
    lgammaf LGAMMAF;
    lgammal LGAMMAL;
}

extern "C" fn missing() {
    sys::die("witness: the program calls a function that its libraries lack\n");
}

/// Resolves all slots, with the registers of the call that is on its way preserved.
#[unsafe(naked)]
unsafe extern "C" fn resolve_keeping_arguments() {
    // Entered by a call from a function that had just been entered: rsp is a multiple of 16, and
    // seven pushes and 136 bytes later it is one again.
    naked_asm!(
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "push rax",
        "sub rsp, 136",
        "movups [rsp], xmm0",
        "movups [rsp + 16], xmm1",
        "movups [rsp + 32], xmm2",
        "movups [rsp + 48], xmm3",
        "movups [rsp + 64], xmm4",
        "movups [rsp + 80], xmm5",
        "movups [rsp + 96], xmm6",
        "movups [rsp + 112], xmm7",
        "call {resolve}",
        "movups xmm0, [rsp]",
        "movups xmm1, [rsp + 16]",
        "movups xmm2, [rsp + 32]",
        "movups xmm3, [rsp + 48]",
        "movups xmm4, [rsp + 64]",
        "movups xmm5, [rsp + 80]",
        "movups xmm6, [rsp + 96]",
        "movups xmm7, [rsp + 112]",
        "add rsp, 136",
        "pop rax",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "ret",
        resolve = sym resolve_all,
    )
}
