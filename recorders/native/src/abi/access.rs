//! Plain memory accesses: `__tsan_read4` and its kin.
//!
//! gcc and clang call one of these before each access. The order inside matters: settle the
//! pending write of before, give way if it is time, and only then look at the memory.

use crate::events;
use crate::events::{instruction, pending};
use crate::platform::export::export;
use crate::runtime::faults::{touch, touch_range};
use crate::runtime::guard::{FastPath, RuntimeGuard, fast_path};
use crate::scheduling::recording::RING;
use crate::scheduling::thread::{Thread, UNRECORDED, slot};
use core::ptr;
use recorder_ring::plan::kind;
use recorder_scheduler::{Access, Intent};

/// A read that the caller is about to do.
pub unsafe extern "C" fn read_sized<const N: usize>(addr: usize, pc: usize) {
    touch::<N>(addr, pc);
    if N > 8 {
        return read(addr, N, pc);
    }
    let Some(thread) = fast_path().filter(|_| !is_due()) else {
        return read_slow::<N>(addr, pc);
    };
    if thread.has_pending_write() {
        return read_after_write::<N>(addr, pc, thread);
    }
    events::access::<{ kind::READ }, N>(addr, pc);
}

/// Whether the turn of the thread on the fast path may be over, or there is something else to do first.
#[inline(always)]
fn is_due() -> bool {
    // SAFETY: who owns the fast path has the baton.
    unsafe { RING.is_due() }
}

/// The same once the pending write is recorded: the turn may be over before the next access, whatever it is.
#[inline(always)]
fn is_due_after_one() -> bool {
    // SAFETY: as in `is_due`.
    unsafe { RING.is_due_after_one() }
}

/// The same on the fast path, for a thread that has a pending write.
#[inline(never)]
extern "C" fn read_after_write<const N: usize>(addr: usize, pc: usize, thread: FastPath) {
    if is_of_copy(thread.thread(), N, pc) {
        if addr % 8 + N > 8 {
            return read_slow::<N>(addr, pc);
        }
    } else {
        pending::settle_fast(thread.thread());
        if is_due() {
            return read_slow::<N>(addr, pc);
        }
    }
    events::access::<{ kind::READ }, N>(addr, pc);
}

/// The same where something else is to do before.
#[inline(never)]
extern "C" fn read_slow<const N: usize>(addr: usize, pc: usize) {
    read(addr, N, pc);
}

/// A read of any length.
#[inline(never)]
extern "C" fn read(addr: usize, size: usize, pc: usize) {
    let Some(inside) = RuntimeGuard::begin() else {
        return not_recorded();
    };
    if before_read(&inside, addr, size, pc) && size <= 8 {
        pending::read_now(addr, size, pc);
    } else {
        pending::read_range_now(addr, size, pc);
    }
}

/// Settles the pending write and gives way if it is time. False if neither may be done.
#[inline(always)]
fn before_read(inside: &RuntimeGuard, addr: usize, size: usize, pc: usize) -> bool {
    if inside.pending.size.get() != 0 && !settle_before_read(inside, size, pc) {
        // Both sides of a copy that is still to come: the write stays pending, and no other
        // thread may come between, but while both wait.
        await_turn_of_copy(inside, addr, size, pc);
        return false;
    }
    inside.maybe_yield_before(|| Intent::of(Access::one(pc, kind::READ, addr, size)));
    true
}

/// Under a plan, waits for the turn of a copy whose write is announced.
#[inline(never)]
fn await_turn_of_copy(inside: &RuntimeGuard, addr: usize, size: usize, pc: usize) {
    inside.await_turn_before(|| {
        let (at, to) = (inside.pending.pc.get(), inside.pending.addr.get());
        let (read, write) = (
            Access::cut(pc, kind::READ, addr, size),
            Access::one(at, kind::WRITE, to, size),
        );
        Intent::both(read, write)
    });
}

/// Records the pending write, unless it is part of a copy that the read belongs to.
#[inline(always)]
fn settle_before_read(thread: &Thread, size: usize, pc: usize) -> bool {
    let settles = !is_of_copy(thread, size, pc);
    if settles {
        pending::settle(thread);
    }
    settles
}

/// Whether a read belongs to a copy whose write is announced.
#[inline(always)]
fn is_of_copy(thread: &Thread, size: usize, pc: usize) -> bool {
    thread.pending.size.get() == size && instruction::only_moves_registers(thread.pending.pc.get(), pc)
}

/// A write that the caller is about to do.
pub unsafe extern "C" fn write_sized<const N: usize>(addr: usize, pc: usize) {
    touch::<N>(addr, pc);
    let Some(thread) = fast_path() else {
        return write(addr, N, pc);
    };
    let pending = &thread.thread().pending;
    match pending.size.get() {
        0 if !is_due() => pending::announce(thread.thread(), addr, N, pc),
        // Mostly of the same size. Announced first, so that what is left is a jump.
        before if before == N && N <= 8 && !is_due_after_one() => {
            let (settled, settled_pc) = (pending.addr.get(), pending.pc.get());
            pending::announce(thread.thread(), addr, N, pc);
            events::access::<{ kind::WRITE }, N>(settled, settled_pc);
        }
        _ => write_after_write(addr, N, pc, thread),
    }
}

/// The same on the fast path, for a thread that has a pending write.
#[inline(never)]
extern "C" fn write_after_write(addr: usize, size: usize, pc: usize, thread: FastPath) {
    if is_due_after_one() {
        return write(addr, size, pc);
    }
    pending::settle_fast(thread.thread());
    pending::announce(thread.thread(), addr, size, pc);
}

/// A write of any length.
#[inline(never)]
extern "C" fn write(addr: usize, size: usize, pc: usize) {
    let Some(inside) = RuntimeGuard::enter_for(|| Intent::of(Access::one(pc, kind::WRITE, addr, size))) else {
        return not_recorded();
    };
    pending::announce(&inside, addr, size, pc);
}

/// A read and a write of the same bytes, as one call.
#[inline(always)]
fn read_write(addr: usize, size: usize, pc: usize) {
    touch_range(addr, size, pc);
    let intent = || {
        let (read, write) = (
            Access::cut(pc, kind::READ, addr, size),
            Access::one(pc, kind::WRITE, addr, size),
        );
        Intent::both(read, write)
    };
    let Some(inside) = RuntimeGuard::enter_for(intent) else {
        return not_recorded();
    };
    pending::read_range_now(addr, size, pc);
    pending::announce(&inside, addr, size, pc);
}

/// Bytes above a hook's own frame that are its caller's, or those of who called that one.
const FRAME: usize = 4096;

/// Whether a variable that holds what a comparison expects is near by on the thread's own stack. Then the compiler has
/// most likely put it there itself, by no instruction that is recorded (gcc does for `__sync_val_compare_and_swap`), and
/// a read would seem to see what unrecorded code has left.
#[inline(always)]
pub(super) fn is_of_caller(addr: usize) -> bool {
    let here = 0_u8;
    addr.wrapping_sub(&raw const here as usize) < FRAME
}

/// An access in a signal handler that interrupted the runtime, or of a thread that is not recorded.
#[cold]
#[inline(never)]
pub fn not_recorded() {
    let thread = slot();
    if !thread.is_null() && !ptr::eq(thread, &raw const UNRECORDED) {
        // SAFETY: a thread with a record of its own exists only once the ring is attached.
        unsafe { RING.count_dropped() };
    }
}

unsafe extern "C" fn read_write_sized<const N: usize>(addr: usize, pc: usize) {
    read_write(addr, N, pc);
}

pub unsafe extern "C" fn read_range(addr: usize, size: usize, pc: usize) {
    if size > 0 {
        touch_range(addr, size, pc);
        read(addr, size, pc);
    }
}

pub unsafe extern "C" fn write_range(addr: usize, size: usize, pc: usize) {
    if size > 0 {
        touch_range(addr, size, pc);
        write(addr, size, pc);
    }
}

/// The C++ table pointer of an object under construction or destruction. The one that is there already is not written
/// again: a destructor does so that has nothing to do.
unsafe extern "C" fn table_update(addr: usize, value: usize, pc: usize) {
    touch::<8>(addr, pc);
    // SAFETY: the program is about to write it.
    if unsafe { (addr as *const usize).read_volatile() } != value {
        write(addr, 8, pc);
    }
}

export! {
    __tsan_read1 = read_sized::<1>, "rsi";
    __tsan_read2 = read_sized::<2>, "rsi";
    __tsan_read4 = read_sized::<4>, "rsi";
    __tsan_read8 = read_sized::<8>, "rsi";
    __tsan_read16 = read_sized::<16>, "rsi";
    __tsan_write1 = write_sized::<1>, "rsi";
    __tsan_write2 = write_sized::<2>, "rsi";
    __tsan_write4 = write_sized::<4>, "rsi";
    __tsan_write8 = write_sized::<8>, "rsi";
    __tsan_write16 = write_sized::<16>, "rsi";

    __tsan_unaligned_read2 = read_sized::<2>, "rsi";
    __tsan_unaligned_read4 = read_sized::<4>, "rsi";
    __tsan_unaligned_read8 = read_sized::<8>, "rsi";
    __tsan_unaligned_read16 = read_sized::<16>, "rsi";
    __tsan_unaligned_write2 = write_sized::<2>, "rsi";
    __tsan_unaligned_write4 = write_sized::<4>, "rsi";
    __tsan_unaligned_write8 = write_sized::<8>, "rsi";
    __tsan_unaligned_write16 = write_sized::<16>, "rsi";

    __tsan_volatile_read1 = read_sized::<1>, "rsi";
    __tsan_volatile_read2 = read_sized::<2>, "rsi";
    __tsan_volatile_read4 = read_sized::<4>, "rsi";
    __tsan_volatile_read8 = read_sized::<8>, "rsi";
    __tsan_volatile_read16 = read_sized::<16>, "rsi";
    __tsan_volatile_write1 = write_sized::<1>, "rsi";
    __tsan_volatile_write2 = write_sized::<2>, "rsi";
    __tsan_volatile_write4 = write_sized::<4>, "rsi";
    __tsan_volatile_write8 = write_sized::<8>, "rsi";
    __tsan_volatile_write16 = write_sized::<16>, "rsi";

    __tsan_unaligned_volatile_read2 = read_sized::<2>, "rsi";
    __tsan_unaligned_volatile_read4 = read_sized::<4>, "rsi";
    __tsan_unaligned_volatile_read8 = read_sized::<8>, "rsi";
    __tsan_unaligned_volatile_read16 = read_sized::<16>, "rsi";
    __tsan_unaligned_volatile_write2 = write_sized::<2>, "rsi";
    __tsan_unaligned_volatile_write4 = write_sized::<4>, "rsi";
    __tsan_unaligned_volatile_write8 = write_sized::<8>, "rsi";
    __tsan_unaligned_volatile_write16 = write_sized::<16>, "rsi";

    __tsan_read_write1 = read_write_sized::<1>, "rsi";
    __tsan_read_write2 = read_write_sized::<2>, "rsi";
    __tsan_read_write4 = read_write_sized::<4>, "rsi";
    __tsan_read_write8 = read_write_sized::<8>, "rsi";
    __tsan_read_write16 = read_write_sized::<16>, "rsi";
    __tsan_unaligned_read_write2 = read_write_sized::<2>, "rsi";
    __tsan_unaligned_read_write4 = read_write_sized::<4>, "rsi";
    __tsan_unaligned_read_write8 = read_write_sized::<8>, "rsi";
    __tsan_unaligned_read_write16 = read_write_sized::<16>, "rsi";

    __tsan_read_range = read_range, "rdx";
    __tsan_write_range = write_range, "rdx";
    __tsan_vptr_read = read_sized::<8>, "rsi";
    __tsan_vptr_update = table_update, "rdx";
}

/// Exports functions whose last argument says which position of the program they speak of.
macro_rules! export_with_position {
    ($($name:ident = $body:path;)*) => { $(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name() {
            core::arch::naked_asm!("jmp {body}", body = sym $body)
        }
    )* };
}

export_with_position! {
    __tsan_read1_pc = read_sized::<1>;
    __tsan_read2_pc = read_sized::<2>;
    __tsan_read4_pc = read_sized::<4>;
    __tsan_read8_pc = read_sized::<8>;
    __tsan_read16_pc = read_sized::<16>;
    __tsan_write1_pc = write_sized::<1>;
    __tsan_write2_pc = write_sized::<2>;
    __tsan_write4_pc = write_sized::<4>;
    __tsan_write8_pc = write_sized::<8>;
    __tsan_write16_pc = write_sized::<16>;
    __tsan_read_range_pc = read_range;
    __tsan_write_range_pc = write_range;
    // A library that is not instrumented tells of accesses to its objects, of which these stand for the first byte.
    __tsan_external_read = read_sized::<1>;
    __tsan_external_write = write_sized::<1>;
}
