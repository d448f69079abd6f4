//! The program's memory, as the runtime looks at it: values of at most 8 bytes, in pieces of that length.

use core::ptr::{read_unaligned, read_volatile};

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
