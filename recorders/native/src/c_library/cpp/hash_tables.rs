//! When `std::unordered_map` and its kin grow, which libstdc++ decides.

#![expect(non_snake_case, reason = "the names of C++'s functions are mangled")]

use crate::runtime::accesses::{reads, writes};

/// A part of each table.
#[repr(C)]
pub struct Policy {
    most_load: f32,
    /// With how many elements it grows.
    next_growth: usize,
}

/// Whether a table grows, and to how many buckets.
#[repr(C)]
pub struct Growth {
    grows: usize,
    buckets: usize,
}

library! {
    // `_Prime_rehash_policy::_M_next_bkt(size_t)`; a table that begins without buckets keeps what it has.
    _ZNKSt8__detail20_Prime_rehash_policy11_M_next_bktEm(policy: *mut Policy, least: usize) -> usize, "rdx": quick {
        if least != 0 { reads(&raw const (*policy).most_load, size_of::<f32>(), pc); }
    } (result, pc) {
        if least != 0 { writes(&raw const (*policy).next_growth, size_of::<usize>(), pc); }
    }
    // `_M_need_rehash(size_t buckets, size_t elements, size_t more)`
    _ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm(
        policy: *mut Policy, buckets: usize, elements: usize, more: usize) -> Growth, "r8": quick {
        reads(&raw const (*policy).next_growth, size_of::<usize>(), pc);
        let looks = elements + more > (*policy).next_growth;
        if looks { reads(&raw const (*policy).most_load, size_of::<f32>(), pc); }
    } (result, pc) {
        if looks { writes(&raw const (*policy).next_growth, size_of::<usize>(), pc); }
    }
}
