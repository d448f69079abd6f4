//! What the libraries in other languages ask the C library for. Z3 throws where it gets no memory, at times within what
//! must not throw, and the program aborts without a word: so these requests, too, end it as Rust's own do.
//!
//! The linker takes a function of the program before one of a library that has the same name, for the libraries'
//! own calls as well. The blocks are the C library's, whoever frees them.

#![expect(unsafe_code, reason = "functions that C calls, and calls to the C library")]

use crate::{exhausted, leave_the_rest};
use libc::{c_void, size_t};

unsafe extern "C" {
    fn __libc_malloc(size: size_t) -> *mut c_void;
    fn __libc_calloc(number: size_t, size: size_t) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: size_t) -> *mut c_void;
    fn __libc_memalign(alignment: size_t, size: size_t) -> *mut c_void;
}

/// The block, or no return.
fn given(block: *mut c_void, size: size_t) -> *mut c_void {
    if block.is_null() && size > 0 {
        exhausted(size);
    }
    block
}

// SAFETY: no other function of the program has this name, and it does what the C library's does.
#[unsafe(no_mangle)]
extern "C" fn malloc(size: size_t) -> *mut c_void {
    leave_the_rest();
    // SAFETY: any size is allowed.
    given(unsafe { __libc_malloc(size) }, size)
}

// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn calloc(number: size_t, size: size_t) -> *mut c_void {
    leave_the_rest();
    // SAFETY: any sizes are allowed.
    given(unsafe { __libc_calloc(number, size) }, number.saturating_mul(size))
}

// SAFETY: as above.
#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: *mut c_void, size: size_t) -> *mut c_void {
    leave_the_rest();
    // SAFETY: the caller keeps the contract of `realloc`.
    given(unsafe { __libc_realloc(block, size) }, size)
}

// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn aligned_alloc(alignment: size_t, size: size_t) -> *mut c_void {
    leave_the_rest();
    // SAFETY: any alignment and size are allowed.
    given(unsafe { __libc_memalign(alignment, size) }, size)
}
