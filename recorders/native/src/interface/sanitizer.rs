//! Functions of all sanitizers (`sanitizer/common_interface_defs.h`, `sanitizer/allocator_interface.h`) that answer.

use crate::abi::access;
use crate::platform::export::export;
use crate::platform::real;
use crate::runtime::faults::Put;
use core::ffi::{CStr, c_void};
use core::ptr;
use core::sync::atomic::AtomicI32;
use core::sync::atomic::Ordering::Relaxed;
use libc::{c_char, c_int};

unsafe extern "C" {
    fn malloc_usable_size(block: *mut c_void) -> usize;
}

macro_rules! unaligned {
    ($load:ident, $store:ident, $type:ty) => {
        unsafe extern "C" fn $load(from: *const $type, pc: usize) -> $type {
            // SAFETY: the program's own arguments.
            unsafe {
                access::read_sized::<{ size_of::<$type>() }>(from as usize, pc);
                from.read_unaligned()
            }
        }

        unsafe extern "C" fn $store(to: *mut $type, value: $type, pc: usize) {
            // SAFETY: the program's own arguments.
            unsafe {
                access::write_sized::<{ size_of::<$type>() }>(to as usize, pc);
                Put::put(to, pc, value);
            }
        }
    };
}

unaligned!(load16, store16, u16);
unaligned!(load32, store32, u32);
unaligned!(load64, store64, u64);

export! {
    __sanitizer_unaligned_load16 = load16, "rsi";
    __sanitizer_unaligned_load32 = load32, "rsi";
    __sanitizer_unaligned_load64 = load64, "rsi";
    __sanitizer_unaligned_store16 = store16, "rdx";
    __sanitizer_unaligned_store32 = store32, "rdx";
    __sanitizer_unaligned_store64 = store64, "rdx";
}

/// Only the first thread that asks may go on to report a crash.
#[unsafe(no_mangle)]
unsafe extern "C" fn __sanitizer_acquire_crash_state() -> c_int {
    static TAKEN: AtomicI32 = AtomicI32::new(0);
    (TAKEN.swap(1, Relaxed) == 0).into()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __sanitizer_get_allocated_size(block: *mut c_void) -> usize {
    // SAFETY: null, or a block of the program's.
    unsafe { malloc_usable_size(block) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __sanitizer_get_ownership(block: *const c_void) -> c_int {
    (!block.is_null()).into()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __sanitizer_get_estimated_allocated_size(size: usize) -> usize {
    size
}

/// The file of a code position, and the position in it; 0 if it is in none.
#[unsafe(no_mangle)]
unsafe extern "C" fn __sanitizer_get_module_and_offset_for_pc(
    pc: *const c_void,
    path: *mut c_char,
    room: usize,
    offset: *mut usize,
) -> c_int {
    // SAFETY: all zeros is such a structure; the program's own arguments.
    unsafe {
        let mut found: libc::Dl_info = core::mem::zeroed();
        if libc::dladdr(pc, &mut found) == 0 {
            return 0;
        }
        if !path.is_null() {
            put(CStr::from_ptr(found.dli_fname).to_bytes(), path, room);
        }
        if !offset.is_null() {
            offset.write((pc as usize).wrapping_sub(found.dli_fbase as usize));
        }
    }
    1
}

/// As much of a text as there is room for, and its end.
///
/// # Safety
/// `to` has so much room.
unsafe fn put(text: &[u8], to: *mut c_char, room: usize) {
    if let Some(most) = room.checked_sub(1) {
        let len = text.len().min(most);
        // SAFETY: promised by the caller.
        unsafe {
            real::memmove(to.cast(), text.as_ptr(), len);
            to.add(len).write(0);
        }
    }
}

/// The function that a code position lies in, whatever the format says.
#[unsafe(no_mangle)]
unsafe extern "C" fn __sanitizer_symbolize_pc(pc: *const c_void, _format: *const c_char, to: *mut c_char, room: usize) {
    // SAFETY: the program's own arguments.
    unsafe { symbolize(pc, to, room) };
}

/// The variable that an address lies in.
#[unsafe(no_mangle)]
unsafe extern "C" fn __sanitizer_symbolize_global(
    address: *const c_void,
    _format: *const c_char,
    to: *mut c_char,
    room: usize,
) {
    // SAFETY: the program's own arguments.
    unsafe { symbolize(address, to, room) };
}

/// # Safety
/// `to` has so much room.
unsafe fn symbolize(address: *const c_void, to: *mut c_char, room: usize) {
    // SAFETY: all zeros is such a structure; the rest is promised by the caller.
    unsafe {
        let mut found: libc::Dl_info = core::mem::zeroed();
        let name: &[u8] = match libc::dladdr(address, &mut found) {
            0 => b"??",
            _ if found.dli_sname.is_null() => b"??",
            _ => CStr::from_ptr(found.dli_sname).to_bytes(),
        };
        put(name, to, room);
    }
}

/// The path of reports, of which there are none.
#[unsafe(no_mangle)]
unsafe extern "C" fn __sanitizer_get_report_path() -> *const c_char {
    ptr::null()
}

/// How much slower the program is, for its time limits.
#[unsafe(no_mangle)]
unsafe extern "C" fn ValgrindSlowdown() -> f64 {
    10.0
}
