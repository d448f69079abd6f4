//! What the system says of file systems.

use crate::c_library::channels::names;
use crate::runtime::accesses::arrives;
use core::mem::offset_of;
use libc::{c_char, c_int, c_ulong, statfs as Kernels, statvfs as Portable};

/// The kernel fills in all of its structure.
const KERNELS: usize = size_of::<Kernels>();

/// What lies behind the last field, later versions of the C library use.
const PORTABLE: usize = offset_of!(Portable, f_namemax) + size_of::<c_ulong>();

macro_rules! filesystems {
    ($($by_path:ident, $by_file:ident: $told:ty, $size:expr;)*) => { library! { $(
        $by_path(path: *const c_char, to: *mut $told) -> c_int, "rdx": (means slow path) {} (result, pc) {
            names::looks(libc::AT_FDCWD, path, pc);
            if result == 0 { arrives(to, $size, pc); }
        }
        $by_file(file: c_int, to: *mut $told) -> c_int, "rdx": (slow file) {} (result, pc) {
            if result == 0 { arrives(to, $size, pc); }
        }
    )* } };
}

filesystems! {
    statfs, fstatfs: Kernels, KERNELS;
    statfs64, fstatfs64: Kernels, KERNELS;
    statvfs, fstatvfs: Portable, PORTABLE;
    statvfs64, fstatvfs64: Portable, PORTABLE;
}
