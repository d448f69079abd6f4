//! Atomic operations: the compiler replaces each by a call that performs and records it.
//!
//! They are performed sequentially consistent whatever order was asked for, because the trace is
//! one sequentially consistent run; the order that was asked for is recorded.

use crate::abi::access::{is_of_caller, not_recorded};
use crate::abi::wide_atomics::{enter_for_part, push_part};
use crate::events::pending;
use crate::events::picture::export_shown;
use crate::runtime::faults::touch;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::baton;
use crate::scheduling::thread::Thread;
use core::sync::atomic::Ordering::SeqCst;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, fence};
use recorder_ring::Record;
use recorder_ring::plan::kind;
use recorder_scheduler::intent::{self, Access, Intent};

/// Loads of one value from one place in a row after which a thread is taken to wait for a change.
const SPINS: u32 = 3;

/// The compiler's number of a memory order. Bits above the lowest three are hints.
fn order_code(order: i32) -> u8 {
    (order & 7) as u8
}

/// A thread that loads the same value from the same place again and again gives way.
fn maybe_spinning(inside: &RuntimeGuard, addr: usize, pc: usize, value: u64) {
    note_load(inside.thread(), addr, pc, value);
    give_way_if_spinning(inside);
}

/// Counts loads of the same value from the same place.
pub(super) fn note_load(thread: &Thread, addr: usize, pc: usize, value: u64) {
    let fingerprint = (pc as u64) ^ (addr as u64).rotate_left(24) ^ value.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let same = if thread.last_load.replace(fingerprint) == fingerprint {
        thread.same_loads.get() + 1
    } else {
        0
    };
    thread.same_loads.set(same);
}

/// Whether there were so many that the thread is taken to wait for a change.
pub(super) fn is_spinning(thread: &Thread) -> bool {
    thread.same_loads.get() >= SPINS
}

/// Lets others run if the thread waits for them.
pub(super) fn give_way_if_spinning(inside: &RuntimeGuard) {
    if is_spinning(inside.thread()) {
        inside.same_loads.set(0);
        baton::yield_now(inside.thread());
    }
}

/// The operations of one width.
macro_rules! width {
    ($module:ident, $int:ty, $atomic:ty, $size:expr) => {
        mod $module {
            use super::*;

            fn at(addr: usize) -> &'static $atomic {
                // SAFETY: the program's own atomic object, aligned as the ABI demands; it is there during the
                // operation, and the reference goes no further.
                unsafe { &*(addr as *const $atomic) }
            }

            fn atomic(kind: u8, addr: usize, pc: usize) -> Intent {
                Intent::of(Access::one(pc, kind, addr, $size))
            }

            pub unsafe extern "C" fn load(addr: usize, order: i32, pc: usize) -> $int {
                touch::<{ $size }>(addr, pc);
                let inside = enter_for_part(addr, || atomic(kind::ATOMIC_LOAD, addr, pc));
                let value = at(addr).load(SeqCst);
                match &inside {
                    Some(inside) => {
                        let value = u64::from(value);
                        let order = order_code(order);
                        let (addr64, pc64) = (addr as u64, pc as u64);
                        push_part(
                            addr,
                            pc,
                            Record::AtomicLoad {
                                pc: pc64,
                                addr: addr64,
                                size: $size,
                                order,
                                value,
                            },
                        );
                        maybe_spinning(inside, addr, pc, value);
                    }
                    None => not_recorded(),
                }
                value
            }

            pub unsafe extern "C" fn store(addr: usize, value: $int, order: i32, pc: usize) {
                touch::<{ $size }>(addr, pc);
                let inside = enter_for_part(addr, || atomic(kind::ATOMIC_STORE, addr, pc));
                at(addr).store(value, SeqCst);
                if inside.is_none() {
                    return not_recorded();
                }
                let operation = Record::AtomicStore {
                    pc: pc as u64,
                    addr: addr as u64,
                    size: $size,
                    order: order_code(order),
                    value: value.into(),
                };
                push_part(addr, pc, operation);
            }

            #[inline(always)]
            fn modify(addr: usize, order: i32, pc: usize, operate: impl Fn(&$atomic) -> ($int, $int)) -> $int {
                touch::<{ $size }>(addr, pc);
                let inside = enter_for_part(addr, || atomic(kind::ATOMIC_RMW, addr, pc));
                let (old, new) = operate(at(addr));
                match &inside {
                    Some(inside) => {
                        let (read, written) = (u64::from(old), u64::from(new));
                        let order = order_code(order);
                        let (pc64, addr64) = (pc as u64, addr as u64);
                        push_part(
                            addr,
                            pc,
                            Record::AtomicRmw {
                                pc: pc64,
                                addr: addr64,
                                size: $size,
                                order,
                                read,
                                written,
                            },
                        );
                        if old == new {
                            // A test-and-set that found it set: a spin lock's loop.
                            maybe_spinning(inside, addr, pc, read);
                        }
                    }
                    None => not_recorded(),
                }
                old
            }

            pub unsafe extern "C" fn exchange(addr: usize, value: $int, order: i32, pc: usize) -> $int {
                modify(addr, order, pc, |atomic| (atomic.swap(value, SeqCst), value))
            }

            pub unsafe extern "C" fn fetch_add(addr: usize, value: $int, order: i32, pc: usize) -> $int {
                modify(addr, order, pc, |atomic| {
                    let old = atomic.fetch_add(value, SeqCst);
                    (old, old.wrapping_add(value))
                })
            }

            pub unsafe extern "C" fn fetch_sub(addr: usize, value: $int, order: i32, pc: usize) -> $int {
                modify(addr, order, pc, |atomic| {
                    let old = atomic.fetch_sub(value, SeqCst);
                    (old, old.wrapping_sub(value))
                })
            }

            pub unsafe extern "C" fn fetch_and(addr: usize, value: $int, order: i32, pc: usize) -> $int {
                modify(addr, order, pc, |atomic| {
                    let old = atomic.fetch_and(value, SeqCst);
                    (old, old & value)
                })
            }

            pub unsafe extern "C" fn fetch_or(addr: usize, value: $int, order: i32, pc: usize) -> $int {
                modify(addr, order, pc, |atomic| {
                    let old = atomic.fetch_or(value, SeqCst);
                    (old, old | value)
                })
            }

            pub unsafe extern "C" fn fetch_xor(addr: usize, value: $int, order: i32, pc: usize) -> $int {
                modify(addr, order, pc, |atomic| {
                    let old = atomic.fetch_xor(value, SeqCst);
                    (old, old ^ value)
                })
            }

            pub unsafe extern "C" fn fetch_nand(addr: usize, value: $int, order: i32, pc: usize) -> $int {
                modify(addr, order, pc, |atomic| {
                    let old = atomic.fetch_nand(value, SeqCst);
                    (old, !(old & value))
                })
            }

            /// One that fails is a load, with the order given for that case.
            #[inline(always)]
            fn compare(
                inside: &Option<RuntimeGuard>,
                addr: usize,
                expected: $int,
                new: $int,
                orders: (i32, i32),
                pc: usize,
            ) -> Result<$int, $int> {
                let result = at(addr).compare_exchange(expected, new, SeqCst, SeqCst);
                if inside.is_none() {
                    not_recorded();
                    return result;
                }
                let (pc64, addr64) = (pc as u64, addr as u64);
                let operation = match result {
                    Ok(old) => Record::AtomicRmw {
                        pc: pc64,
                        addr: addr64,
                        size: $size,
                        order: order_code(orders.0),
                        read: old.into(),
                        written: new.into(),
                    },
                    Err(old) => Record::AtomicLoad {
                        pc: pc64,
                        addr: addr64,
                        size: $size,
                        order: order_code(orders.1),
                        value: old.into(),
                    },
                };
                push_part(addr, pc, operation);
                result
            }

            pub unsafe extern "C" fn compare_value(
                addr: usize,
                expected: $int,
                new: $int,
                success: i32,
                failure: i32,
                pc: usize,
            ) -> $int {
                touch::<{ $size }>(addr, pc);
                let inside = enter_for_part(addr, || atomic(intent::COMPARISON, addr, pc));
                let result = compare(&inside, addr, expected, new, (success, failure), pc);
                if let (Err(old), Some(inside)) = (result, &inside) {
                    maybe_spinning(inside, addr, pc, u64::from(old));
                }
                result.unwrap_or_else(|old| old)
            }

            /// The variable that `expected` points to is read, and written on failure. Returns 1 on success: compilers
            /// take that for a `bool`, programs that call it by its header for an `int`.
            pub unsafe extern "C" fn compare_flag(
                addr: usize,
                expected: *mut $int,
                new: $int,
                success: i32,
                failure: i32,
                pc: usize,
            ) -> i32 {
                // Along a plan, each of the three accesses waits for its turn: a schedule may go on elsewhere between
                // them.
                touch::<{ $size }>(expected as usize, pc);
                touch::<{ $size }>(addr, pc);
                let plain = |kind| Intent::of(Access::one(pc, kind, expected as usize, $size));
                let comparison = || atomic(intent::COMPARISON, addr, pc);
                let is_compilers = is_of_caller(expected as usize);
                let inside = match is_compilers {
                    true => RuntimeGuard::enter_for(comparison),
                    false => RuntimeGuard::enter_for(|| plain(kind::READ)),
                };
                // SAFETY: the caller's own variable.
                let wanted = unsafe { *expected };
                if let Some(inside) = inside.as_ref().filter(|_| !is_compilers) {
                    pending::read_now(expected as usize, $size, pc);
                    inside.await_turn_before(comparison);
                }
                let result = compare(&inside, addr, wanted, new, (success, failure), pc);
                if let Err(old) = result {
                    if let Some(inside) = &inside {
                        inside.await_turn_before(|| plain(kind::WRITE));
                    }
                    // SAFETY: as above.
                    unsafe { *expected = old };
                    if inside.is_some() {
                        pending::write_now(expected as usize, $size, pc);
                    }
                }
                if let (Err(old), Some(inside)) = (result, &inside) {
                    maybe_spinning(inside, addr, pc, u64::from(old));
                }
                result.is_ok().into()
            }
        }
    };
}

width!(bits8, u8, AtomicU8, 1);
width!(bits16, u16, AtomicU16, 2);
width!(bits32, u32, AtomicU32, 4);
width!(bits64, u64, AtomicU64, 8);

pub(super) unsafe extern "C" fn thread_fence(order: i32, pc: usize) {
    let inside = RuntimeGuard::enter_for(|| Intent::fence(pc));
    fence(SeqCst);
    if inside.is_some() {
        pending::push(Record::Fence {
            pc: pc as u64,
            order: order_code(order),
        });
    }
}

/// Orders a thread with its own signal handlers only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_atomic_signal_fence(_order: i32) {}

export_shown! {
    __tsan_atomic_thread_fence = thread_fence, "rsi";

    __tsan_atomic8_load = bits8::load, "rdx";
    __tsan_atomic8_store = bits8::store, "rcx";
    __tsan_atomic8_exchange = bits8::exchange, "rcx";
    __tsan_atomic8_fetch_add = bits8::fetch_add, "rcx";
    __tsan_atomic8_fetch_sub = bits8::fetch_sub, "rcx";
    __tsan_atomic8_fetch_and = bits8::fetch_and, "rcx";
    __tsan_atomic8_fetch_or = bits8::fetch_or, "rcx";
    __tsan_atomic8_fetch_xor = bits8::fetch_xor, "rcx";
    __tsan_atomic8_fetch_nand = bits8::fetch_nand, "rcx";
    __tsan_atomic8_compare_exchange_val = bits8::compare_value, "r9";
    __tsan_atomic8_compare_exchange_strong = bits8::compare_flag, "r9";
    __tsan_atomic8_compare_exchange_weak = bits8::compare_flag, "r9";

    __tsan_atomic16_load = bits16::load, "rdx";
    __tsan_atomic16_store = bits16::store, "rcx";
    __tsan_atomic16_exchange = bits16::exchange, "rcx";
    __tsan_atomic16_fetch_add = bits16::fetch_add, "rcx";
    __tsan_atomic16_fetch_sub = bits16::fetch_sub, "rcx";
    __tsan_atomic16_fetch_and = bits16::fetch_and, "rcx";
    __tsan_atomic16_fetch_or = bits16::fetch_or, "rcx";
    __tsan_atomic16_fetch_xor = bits16::fetch_xor, "rcx";
    __tsan_atomic16_fetch_nand = bits16::fetch_nand, "rcx";
    __tsan_atomic16_compare_exchange_val = bits16::compare_value, "r9";
    __tsan_atomic16_compare_exchange_strong = bits16::compare_flag, "r9";
    __tsan_atomic16_compare_exchange_weak = bits16::compare_flag, "r9";

    __tsan_atomic32_load = bits32::load, "rdx";
    __tsan_atomic32_store = bits32::store, "rcx";
    __tsan_atomic32_exchange = bits32::exchange, "rcx";
    __tsan_atomic32_fetch_add = bits32::fetch_add, "rcx";
    __tsan_atomic32_fetch_sub = bits32::fetch_sub, "rcx";
    __tsan_atomic32_fetch_and = bits32::fetch_and, "rcx";
    __tsan_atomic32_fetch_or = bits32::fetch_or, "rcx";
    __tsan_atomic32_fetch_xor = bits32::fetch_xor, "rcx";
    __tsan_atomic32_fetch_nand = bits32::fetch_nand, "rcx";
    __tsan_atomic32_compare_exchange_val = bits32::compare_value, "r9";
    __tsan_atomic32_compare_exchange_strong = bits32::compare_flag, "r9";
    __tsan_atomic32_compare_exchange_weak = bits32::compare_flag, "r9";

    __tsan_atomic64_load = bits64::load, "rdx";
    __tsan_atomic64_store = bits64::store, "rcx";
    __tsan_atomic64_exchange = bits64::exchange, "rcx";
    __tsan_atomic64_fetch_add = bits64::fetch_add, "rcx";
    __tsan_atomic64_fetch_sub = bits64::fetch_sub, "rcx";
    __tsan_atomic64_fetch_and = bits64::fetch_and, "rcx";
    __tsan_atomic64_fetch_or = bits64::fetch_or, "rcx";
    __tsan_atomic64_fetch_xor = bits64::fetch_xor, "rcx";
    __tsan_atomic64_fetch_nand = bits64::fetch_nand, "rcx";
    __tsan_atomic64_compare_exchange_val = bits64::compare_value, "r9";
    __tsan_atomic64_compare_exchange_strong = bits64::compare_flag, "r9";
    __tsan_atomic64_compare_exchange_weak = bits64::compare_flag, "r9";
}
