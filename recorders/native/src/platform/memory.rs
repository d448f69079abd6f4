//! The program's memory, as the runtime looks at it: values of at most 8 bytes, in pieces of that length.

use crate::platform::sys;
use core::ffi::CStr;
use core::mem::MaybeUninit;
use core::ptr::{read_unaligned, read_volatile};
use libc::{c_char, c_void, iovec};

/// Addresses from here on are nobody's: the kernel's half of memory. Variables of the runtime's own lie there.
pub const NOBODYS: u64 = 1 << 63;

/// The `size` bytes at `addr` as a little-endian number.
#[inline(always)]
pub fn load(addr: usize, size: usize) -> u64 {
    // SAFETY: the program accesses these bytes itself; only the holder of the baton gets here, so
    // nobody changes them meanwhile.
    unsafe {
        match size {
            1 => read_volatile(addr as *const u8).into(),
            2 => read_unaligned(addr as *const u16).into(),
            4 => read_unaligned(addr as *const u32).into(),
            8 => read_unaligned(addr as *const u64),
            _ => load_odd(addr, size),
        }
    }
}

#[cold]
fn load_odd(addr: usize, size: usize) -> u64 {
    let mut value = 0;
    for i in (0..size).rev() {
        // SAFETY: as in `load`.
        value = value << 8 | u64::from(unsafe { read_volatile((addr + i) as *const u8) });
    }
    value
}

/// Cuts a range at multiples of 8, where the accesses of its single fields are cut as well.
pub fn pieces(addr: usize, size: usize, mut each: impl FnMut(usize, usize)) {
    let end = addr + size;
    let mut at = addr;
    while at < end {
        let next = ((at | 7) + 1).min(end);
        each(at, next - at);
        at = next;
    }
}

/// How many of these bytes are there to be read, from the first on. What a program gives the kernel need not be: the
/// kernel then refuses the call, or stops there, and nothing else may come of it.
pub fn readable(addr: usize, len: usize) -> usize {
    const PAGE: usize = 4096;
    let end = addr.saturating_add(len);
    let mut at = addr;
    while at < end && sys::is_readable(at) {
        at = (at | (PAGE - 1)).saturating_add(1);
    }
    at.min(end) - addr
}

/// What lies at an address that a program gave the kernel, if anything does. Any bytes are a `T`.
pub fn at<T: Copy>(place: *const T) -> Option<T> {
    each(place, 1).next()
}

/// As [`at`], as many as are there of so many that lie one behind the other.
pub fn each<T: Copy>(first: *const T, count: usize) -> impl Iterator<Item = T> {
    let there = readable(first as usize, count.saturating_mul(size_of::<T>())) / size_of::<T>();
    // SAFETY: these bytes can be read; the kernel takes what the program calls a `T` wherever it lies.
    (0..there).map(move |at| unsafe { first.add(at).read_unaligned() })
}

/// The string at an address that a program gave the kernel, if all of it is there.
pub fn text<'a>(start: *const c_char) -> Option<&'a CStr> {
    const PAGE: usize = 4096;
    let first = start as usize;
    let mut at = first;
    while sys::is_readable(at) {
        let next = (at | (PAGE - 1)).saturating_add(1);
        // SAFETY: these bytes can be read, as those before them.
        let so_far = unsafe { core::slice::from_raw_parts(start.cast::<u8>(), next - first) };
        if so_far[at - first..].contains(&0) {
            return CStr::from_bytes_until_nul(so_far).ok();
        }
        at = next;
    }
    None
}

/// Writes to where a program told the kernel to, as the kernel would; whether it could.
pub fn put<T: Copy>(to: *mut T, value: T) -> bool {
    let part = |at: *mut c_void| iovec {
        iov_base: at,
        iov_len: size_of::<T>(),
    };
    let value = MaybeUninit::new(value);
    sys::read_own_memory(&part(to.cast()), &part(value.as_ptr().cast_mut().cast())) == size_of::<T>()
}
