//! memcpy, memmove and memset, as accesses of the instrumented code that calls them.
//!
//! gcc leaves calls of these alone, since libtsan intercepts them; clang and rustc turn copies of
//! structs into them. Without their reads and writes, values would appear from nowhere. Calls
//! from code that is not instrumented go straight to libc: nothing else of that code is seen
//! either.

use crate::events::{instruction, modules, pending};
use crate::platform::export::export;
use crate::platform::real;
use crate::runtime::faults::touch_range;
use crate::runtime::guard::RuntimeGuard;
use recorder_ring::plan::kind;
use recorder_scheduler::{Access, Intent};

/// Records an access that is to be made now; forgets a pending write that announced the same.
fn enter(to: usize, len: usize, pc: usize, intent: impl FnOnce() -> Intent) -> Option<RuntimeGuard> {
    if len == 0 || !modules::is_instrumented(pc) {
        return None;
    }
    let inside = RuntimeGuard::begin()?;
    let announced = (inside.pending.addr.get(), inside.pending.size.get());
    if announced == (to, len) && instruction::only_moves_registers(inside.pending.pc.get(), pc) {
        inside.pending.size.set(0);
    }
    inside.settle();
    inside.maybe_yield_before(intent);
    Some(inside)
}

/// memcpy is memmove: reads of all of the source, then writes of all of the destination.
pub unsafe extern "C-unwind" fn copy(to: *mut u8, from: *const u8, len: usize, pc: usize) -> *mut u8 {
    touch_range(from as usize, len, pc);
    touch_range(to as usize, len, pc);
    let inside = enter(to as usize, len, pc, || {
        let (read, write) = (
            Access::cut(pc, kind::READ, from as usize, len),
            Access::cut(pc, kind::WRITE, to as usize, len),
        );
        Intent::both(read, write)
    });
    if inside.is_some() {
        pending::read_range_now(from as usize, len, pc);
    }
    // SAFETY: the caller's own arguments.
    let result = unsafe { real::memmove(to, from, len) };
    if inside.is_some() {
        pending::write_range_now(to as usize, len, pc);
    }
    result
}

pub unsafe extern "C-unwind" fn fill(to: *mut u8, byte: i32, len: usize, pc: usize) -> *mut u8 {
    touch_range(to as usize, len, pc);
    let inside = enter(to as usize, len, pc, || {
        Intent::of(Access::cut(pc, kind::WRITE, to as usize, len))
    });
    // SAFETY: the caller's own arguments.
    let result = unsafe { real::memset(to, byte, len) };
    if inside.is_some() {
        pending::write_range_now(to as usize, len, pc);
    }
    result
}

export! {
    memcpy = copy, "rcx";
    memmove = copy, "rcx";
    memset = fill, "rcx";
    __tsan_memcpy = copy, "rcx";
    __tsan_memmove = copy, "rcx";
    __tsan_memset = fill, "rcx";
}
