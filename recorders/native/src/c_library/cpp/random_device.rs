//! C++'s `std::random_device`: libstdc++ asks the processor by an instruction, or the kernel, and nobody sees either. What
//! it says is recorded, and said again along a plan.

#![expect(non_snake_case, reason = "the names of C++'s functions are mangled")]

use crate::runtime::accesses::returns;
use core::ffi::{c_uint, c_void};

library! {
    // What a device has in memory, only libstdc++ looks at.
    _ZNSt13random_device9_M_getvalEv(device: *const c_void) -> c_uint, "rsi": slow {} (value, pc) {
        value = returns(value.into(), pc) as c_uint;
    }
}
