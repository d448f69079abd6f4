//! Plain memory accesses: `__tsan_read4` and its kin.
//!
//! gcc and clang call one of these before each access. The order inside matters: settle the
//! pending write of before, give way if it is time, and only then look at the memory.

use crate::export::export;
use crate::inside::Inside;
use crate::intent::{Access, Intent};
use crate::start::RING;
use crate::thread::{Thread, UNRECORDED, slot};
use crate::{events, instruction, pending, schedule};
use core::ptr;
use recorder_ring::plan::kind;

/// A read that the caller is about to do.
unsafe extern "C" fn read_sized<const N: usize>(addr: usize, pc: usize) {
    if N > 8 {
        return read(addr, N, pc);
    }
    match Inside::enter_quickly() {
        Some(thread) if thread.pending.size.get() == 0 => {
            events::access::<{ kind::READ }, N, true>(thread, pc, addr, pending::load(addr, N));
        }
        Some(thread) => read_after_write::<N>(addr, pc, thread),
        None => read_slowly::<N>(addr, pc),
    }
}

/// The same of a thread inside the runtime that has a pending write.
#[inline(never)]
extern "C" fn read_after_write<const N: usize>(addr: usize, pc: usize, thread: &'static Thread) {
    if !settle_before_read(thread, N, pc) {
        return read_of_copy(addr, N, pc, thread);
    }
    events::access::<{ kind::READ }, N, true>(thread, pc, addr, pending::load(addr, N));
}

/// The same of a copy whose write is announced.
#[inline(never)]
extern "C" fn read_of_copy(addr: usize, size: usize, pc: usize, thread: &'static Thread) {
    pending::read_range_now(addr, size, pc);
    thread.leave();
}

/// The same where something else is to do before.
#[inline(never)]
extern "C" fn read_slowly<const N: usize>(addr: usize, pc: usize) {
    let Some(inside) = Inside::begin() else {
        return not_recorded();
    };
    if !before_read(&inside, addr, N, pc) {
        return pending::read_range_now(addr, N, pc);
    }
    if schedule::is_followed() {
        return pending::read_now(addr, N, pc);
    }
    let thread = inside.thread();
    inside.forget();
    events::access::<{ kind::READ }, N, true>(thread, pc, addr, pending::load(addr, N));
}

/// A read of any length.
#[inline(never)]
extern "C" fn read(addr: usize, size: usize, pc: usize) {
    let Some(inside) = Inside::begin() else {
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
fn before_read(inside: &Inside, addr: usize, size: usize, pc: usize) -> bool {
    if inside.pending.size.get() != 0 && !settle_before_read(inside, size, pc) {
        // Both sides of a copy that is still to come: the write stays pending, and no other
        // thread may come between, but while both wait.
        await_turn_of_copy(inside, addr, size, pc);
        return false;
    }
    inside.maybe_give_way_before(|| Intent::of(Access::one(pc, kind::READ, addr, size)));
    true
}

/// Under a plan, waits for the turn of a copy whose write is announced.
#[inline(never)]
fn await_turn_of_copy(inside: &Inside, addr: usize, size: usize, pc: usize) {
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
    let announced = thread.pending.size.get();
    if announced == size && instruction::only_moves_registers(thread.pending.pc.get(), pc) {
        return false;
    }
    pending::settle(thread);
    true
}

/// A write that the caller is about to do.
unsafe extern "C" fn write_sized<const N: usize>(addr: usize, pc: usize) {
    match Inside::enter_quickly() {
        Some(thread) if thread.pending.size.get() == 0 => {
            pending::announce(thread, addr, N, pc);
            thread.leave();
        }
        Some(thread) => write_after_write(addr, N, pc, thread),
        None => write(addr, N, pc),
    }
}

/// The same of a thread inside the runtime that has a pending write.
#[inline(never)]
extern "C" fn write_after_write(addr: usize, size: usize, pc: usize, thread: &'static Thread) {
    pending::settle(thread);
    pending::announce(thread, addr, size, pc);
    thread.leave();
}

/// A write of any length.
#[inline(never)]
extern "C" fn write(addr: usize, size: usize, pc: usize) {
    let Some(inside) = Inside::enter_for(|| Intent::of(Access::one(pc, kind::WRITE, addr, size))) else {
        return not_recorded();
    };
    pending::announce(&inside, addr, size, pc);
}

/// A read and a write of the same bytes, as one call.
#[inline(always)]
fn read_write(addr: usize, size: usize, pc: usize) {
    let intent = || {
        let (read, write) = (
            Access::cut(pc, kind::READ, addr, size),
            Access::one(pc, kind::WRITE, addr, size),
        );
        Intent::both(read, write)
    };
    let Some(inside) = Inside::enter_for(intent) else {
        return not_recorded();
    };
    pending::read_range_now(addr, size, pc);
    pending::announce(&inside, addr, size, pc);
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

unsafe extern "C" fn read_range(addr: usize, size: usize, pc: usize) {
    if size > 0 {
        read(addr, size, pc);
    }
}

unsafe extern "C" fn write_range(addr: usize, size: usize, pc: usize) {
    if size > 0 {
        write(addr, size, pc);
    }
}

/// The C++ table pointer of an object under construction.
unsafe extern "C" fn table_update(addr: usize, _value: usize, pc: usize) {
    write(addr, 8, pc);
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
