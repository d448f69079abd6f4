//! What a virtual machine for Java announces (`tsan_interface_java.h`): blocks of its heap, monitors, order.

use super::{locks, order};
use crate::events;
use crate::events::moment::Moment;
use crate::events::pending;
use crate::platform::export::export;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::register;
use crate::scheduling::thread::{Thread, state};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use libc::c_int;
use recorder_ring::Record;
use std::vec::Vec;

/// Blocks lie at multiples of it.
const ALIGNMENT: usize = 8;

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_java_init(_heap: usize, _size: usize) {}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_java_fini() -> c_int {
    0
}

/// Finalizers run after all that any thread did before. Each thread gets an event of its own for that, where it stands:
/// between two of its events, so that it comes after the one and before the other. Only one that waits at a condition
/// cannot.
unsafe extern "C-unwind" fn finalize(pc: usize) {
    let Some(inside) = RuntimeGuard::enter() else {
        return;
    };
    let me = inside.thread();
    // In the order of their numbers, which a live run gives them again: threads are listed by their handles, which are
    // addresses.
    let mut others: Vec<&Thread> = register::all().filter(|other| !ptr::eq(*other, me)).collect();
    others.sort_unstable_by_key(|other| other.index.get());
    for other in others {
        inside.await_turn();
        match other.state.load(Relaxed) {
            state::NEW => {}
            state::ENDED => pending::push(Record::Join {
                pc: pc as u64,
                child: other.index.get(),
                attempt: true,
            }),
            _ if events::is_waiting(other) => {}
            _ => {
                events::switch(Some(me), other);
                let moment = Moment::now(pc);
                events::switch(Some(other), me);
                moment.is_past(pc);
            }
        }
    }
}

fn begin(addr: usize, size: usize, pc: usize) {
    pending::push(Record::Alloc {
        pc: pc as u64,
        addr: addr as u64,
        size: size as u64,
    });
}

/// All blocks that begin in a range end.
fn end(addr: usize, size: usize, pc: usize) {
    for addr in (addr..addr.saturating_add(size)).step_by(ALIGNMENT) {
        pending::push(Record::Free {
            pc: pc as u64,
            addr: addr as u64,
        });
    }
}

unsafe extern "C-unwind" fn allocate(addr: usize, size: usize, pc: usize) {
    if let Some(_inside) = RuntimeGuard::enter() {
        begin(addr, size, pc);
    }
}

unsafe extern "C-unwind" fn free(addr: usize, size: usize, pc: usize) {
    if let Some(_inside) = RuntimeGuard::enter() {
        end(addr, size, pc);
    }
}

/// What lay in one range lies in another: one block, whose values nobody has written.
unsafe extern "C-unwind" fn relocate(from: usize, to: usize, size: usize, pc: usize) {
    if let Some(_inside) = RuntimeGuard::enter() {
        end(from, size, pc);
        begin(to, size, pc);
    }
}

unsafe extern "C-unwind" fn lock(addr: usize, pc: usize) {
    if let Some(inside) = RuntimeGuard::enter() {
        locks::acquired(&inside, addr, false, false, 1, pc);
    }
}

unsafe extern "C-unwind" fn unlock(addr: usize, pc: usize) {
    if let Some(inside) = RuntimeGuard::enter() {
        locks::released(&inside, addr, pc);
    }
}

unsafe extern "C-unwind" fn lock_shared(addr: usize, pc: usize) {
    if let Some(inside) = RuntimeGuard::enter() {
        locks::acquired(&inside, addr, true, false, 1, pc);
    }
}

unsafe extern "C-unwind" fn lock_levels(addr: usize, levels: c_int, pc: usize) {
    if let Some(inside) = RuntimeGuard::enter() {
        locks::acquired(&inside, addr, false, false, levels, pc);
    }
}

unsafe extern "C-unwind" fn unlock_levels(addr: usize, pc: usize) -> c_int {
    RuntimeGuard::enter().map_or(0, |inside| locks::released_completely(&inside, addr, pc))
}

unsafe extern "C-unwind" fn release(addr: usize, pc: usize) {
    if let Some(inside) = RuntimeGuard::enter() {
        order::released(&inside, addr, pc);
    }
}

unsafe extern "C-unwind" fn release_only(addr: usize, pc: usize) {
    if let Some(inside) = RuntimeGuard::enter() {
        order::released_only(&inside, addr, pc);
    }
}

unsafe extern "C-unwind" fn acquire(addr: usize, pc: usize) {
    if let Some(inside) = RuntimeGuard::enter() {
        order::acquired(&inside, addr, pc);
    }
}

export! {
    __tsan_java_finalize = finalize, "rdi";
    __tsan_java_alloc = allocate, "rdx";
    __tsan_java_free = free, "rdx";
    __tsan_java_move = relocate, "rcx";
    __tsan_java_mutex_lock = lock, "rsi";
    __tsan_java_mutex_unlock = unlock, "rsi";
    __tsan_java_mutex_read_lock = lock_shared, "rsi";
    __tsan_java_mutex_read_unlock = unlock, "rsi";
    __tsan_java_mutex_lock_rec = lock_levels, "rdx";
    __tsan_java_mutex_unlock_rec = unlock_levels, "rsi";
    __tsan_java_acquire = acquire, "rsi";
    __tsan_java_release = release, "rsi";
    __tsan_java_release_store = release_only, "rsi";
}
