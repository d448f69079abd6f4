//! Functions that are passed on untouched, in their right version.
//!
//! A program linked with `-fsanitize=thread` refers without a version to everything that libtsan
//! defines. What we do not define is bound to the C library's *oldest* version, which differs
//! from the one that the program was written for. Each of these jumps to the default version with
//! all argument registers as they were.

use crate::platform::{real, sys};
use core::arch::naked_asm;
use core::ffi::{CStr, c_void};
use core::ptr;
use core::sync::atomic::{AtomicI32, AtomicPtr, Ordering::Relaxed};

/// A function that is passed on.
#[repr(C)]
pub struct Forwarded {
    /// Null until it was looked for.
    function: AtomicPtr<c_void>,
    name: &'static str,
    /// Whether this runtime's own comes first.
    to_own: bool,
}

impl Forwarded {
    pub const fn new(name: &'static str) -> Self {
        let function = AtomicPtr::new(ptr::null_mut());
        let to_own = false;
        Self { function, name, to_own }
    }

    /// To the function of that name that a program gets which does not define it itself. The name ends with a zero.
    pub const fn to_own(name: &'static str) -> Self {
        let function = AtomicPtr::new(ptr::null_mut());
        let to_own = true;
        Self { function, name, to_own }
    }
}

/// Exports functions, each under a name and passed on to another.
macro_rules! forward {
    ($($name:expr => $forwarded:expr;)*) => { $(
        const _: () = {
            use $crate::c_library::forward::{Forwarded, keep_arguments_and_find};

            static FORWARDED: Forwarded = $forwarded;

            #[unsafe(naked)]
            #[unsafe(export_name = $name)]
            unsafe extern "C" fn pass_on() {
                core::arch::naked_asm!(
                    "lea r11, [rip + {forwarded}]",
                    "cmp qword ptr [r11], 0",
                    "jne 2f",
                    "call {find}",
                    "2: jmp qword ptr [rip + {forwarded}]",
                    forwarded = sym FORWARDED,
                    find = sym keep_arguments_and_find,
                )
            }
        };
    )* };
}
pub(crate) use forward;

macro_rules! forward_each {
    ($($name:ident)*) => { forward! { $(stringify!($name) => Forwarded::new(concat!(stringify!($name), "\0"));)* } };
}

forward_each! {
    pthread_attr_getaffinity_np pthread_sigmask glob glob64 fmemopen lgamma lgammaf
    lgammal crypt crypt_r
}

// Names that the C library does not have.
forward! {
    "sigsetjmp" => Forwarded::new("__sigsetjmp\0");
    "__isoc99_printf" => Forwarded::to_own("printf\0");
    "__isoc99_fprintf" => Forwarded::to_own("fprintf\0");
    "__isoc99_sprintf" => Forwarded::to_own("sprintf\0");
    "__isoc99_snprintf" => Forwarded::to_own("snprintf\0");
    "__isoc99_vprintf" => Forwarded::to_own("vprintf\0");
    "__isoc99_vfprintf" => Forwarded::to_own("vfprintf\0");
    "__isoc99_vsprintf" => Forwarded::to_own("vsprintf\0");
    "__isoc99_vsnprintf" => Forwarded::to_own("vsnprintf\0");
}

extern "C" fn missing() {
    sys::die("witness: the program calls a function that its libraries lack\n");
}

unsafe extern "C" fn find(forwarded: &Forwarded) {
    let found = CStr::from_bytes_with_nul(forwarded.name.as_bytes()).map(|name| match forwarded.to_own {
        true => find_own(name),
        false => real::find(name),
    });
    let found = found.ok().filter(|found| !found.is_null());
    forwarded
        .function
        .store(found.unwrap_or(missing as *mut c_void), Relaxed);
}

/// In this runtime, or else in what it depends on: the C library.
fn find_own(name: &CStr) -> *mut c_void {
    match itself() {
        // Whoever looks for the same function further out stores what it finds after us.
        None => real::find(name),
        // SAFETY: a library that is never closed, and a C string.
        Some(library) => unsafe { libc::dlsym(library, name.as_ptr()) },
    }
}

/// This runtime, as `dlsym` takes it; not while this very thread opens it. (The loader allocates, which a program's own
/// `malloc` may pass on to us.)
fn itself() -> Option<*mut c_void> {
    static ITSELF: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
    /// The kernel's number of the thread that opens it.
    static OPENS: AtomicI32 = AtomicI32::new(0);
    let known = ITSELF.load(Relaxed);
    if !known.is_null() {
        return Some(known);
    }
    let me = sys::thread_id();
    if OPENS.swap(me, Relaxed) == me {
        return None;
    }
    // SAFETY: all zeros is such a structure; the address is this function's, and the path is a C string. A library that
    // is loaded already runs no constructors.
    let library = unsafe {
        let mut here: libc::Dl_info = core::mem::zeroed();
        libc::dladdr(find_own as *const c_void, &mut here);
        real::dlopen(here.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD)
    };
    ITSELF.store(library, Relaxed);
    OPENS.store(0, Relaxed);
    Some(library)
}

/// Looks the function up whose [`Forwarded`] r11 points to, with the registers of the call that is on its way
/// preserved.
#[unsafe(naked)]
pub unsafe extern "C" fn keep_arguments_and_find() {
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
        "mov rdi, r11",
        "call {find}",
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
        find = sym find,
    )
}
