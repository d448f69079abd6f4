//! Random numbers whose state the caller keeps.

use crate::runtime::accesses::{reads, writes};
use core::mem::offset_of;
use libc::{c_int, c_long, c_ushort, c_void};

/// glibc's `drand48_data`.
#[repr(C)]
struct State {
    number: [c_ushort; 3],
    earlier: [c_ushort; 3],
    summand: c_ushort,
    is_set: c_ushort,
    factor: u64,
}

/// What the state says of how one number follows from another.
const STEP: usize = offset_of!(State, summand);

/// The caller asks for the next of some numbers, with this state. One that is zero is set on the way.
///
/// # Safety
/// Both are valid.
unsafe fn steps(numbers: *const c_ushort, state: *const State, pc: usize) {
    // SAFETY: promised by the caller.
    unsafe {
        reads(&raw const (*state).is_set, size_of::<c_ushort>(), pc);
        if (*state).is_set != 0 {
            reads(&raw const (*state).summand, size_of::<c_ushort>(), pc);
            reads(&raw const (*state).factor, size_of::<u64>(), pc);
        }
    }
    reads(numbers, size_of::<[c_ushort; 3]>(), pc);
}

/// It got the next: written are the numbers, the result, and the rest of a state that was not set.
fn stepped<T>(numbers: *const c_ushort, state: *const State, was_set: bool, result: *const T, pc: usize) {
    if !was_set {
        writes(state.wrapping_byte_add(STEP), size_of::<State>() - STEP, pc);
    }
    writes(numbers, size_of::<[c_ushort; 3]>(), pc);
    writes(result, size_of::<T>(), pc);
}

/// Functions with a state of their own, and functions that are given the numbers beside it.
macro_rules! numbers {
    ($($own:ident, $given:ident: $result:ty;)*) => { library! { $(
        $own(state: *mut State, to: *mut $result) -> c_int, "rdx": quick {
            let numbers = (&raw const (*state).number).cast::<c_ushort>();
            let was_set = (*state).is_set != 0;
            steps(numbers, state, pc);
        } (result, pc) { if result == 0 { stepped(numbers, state, was_set, to, pc); } }
        $given(numbers: *mut c_ushort, state: *mut State, to: *mut $result) -> c_int, "rcx": quick {
            let was_set = (*state).is_set != 0;
            steps(numbers, state, pc);
        } (result, pc) { if result == 0 { stepped(numbers, state, was_set, to, pc); } }
    )* } };
}

numbers! {
    drand48_r, erand48_r: f64;
    lrand48_r, nrand48_r: c_long;
    mrand48_r, jrand48_r: c_long;
}

library! {
    srand48_r(seed: c_long, state: *mut State) -> c_int, "rdx": quick {} (result, pc) {
        if result == 0 {
            writes(&raw const (*state).number, size_of::<[c_ushort; 3]>(), pc);
            writes(state.wrapping_byte_add(STEP), size_of::<State>() - STEP, pc);
        }
    }
    // The rest of this state, only the C library looks at.
    random_r(state: *mut c_void, to: *mut i32) -> c_int, "rdx": quick {} (result, pc) {
        if result == 0 { writes(to, size_of::<i32>(), pc); }
    }
}
