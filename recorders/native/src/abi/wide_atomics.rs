//! Atomic operations on 128 bits.
//!
//! The trace's accesses are of at most 8 bytes, so one of these is two, inside a critical section of a
//! lock that only they use: no other thread's comes between the halves, in any reordering. Programs also operate on the
//! halves, once they know that there are such words: from the first operation on both at once, those on a part are
//! recorded in a section, too. (A plain access of a part is none: it races with what operates on the whole.)

use crate::abi::access::{is_of_caller, not_recorded};
use crate::events::lock::{ALONE, Lock};
use crate::events::pending;
use crate::events::variable::SEQUENTIALLY_CONSISTENT;
use crate::platform::export::export;
use crate::platform::memory::NOBODYS;
use crate::runtime::guard::RuntimeGuard;
use core::arch::asm;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;
use recorder_ring::{ObjectClass, Record};
use recorder_scheduler::intent::Intent;

/// One operation: `new` gives the value to store, or nothing for a load; `orders` are those of the two.
/// Returns what was there.
fn operate(addr: usize, orders: (i32, i32), pc: usize, new: impl Fn(u128) -> Option<u128>) -> u128 {
    let inside = RuntimeGuard::enter();
    // A load is an exchange that changes nothing: the place must be writable, as for the compiler's own.
    // SAFETY: the program's own atomic object, aligned as the ABI demands; every processor that runs
    // its code has the instruction.
    let (old, written) = unsafe {
        let mut expected = compare_exchange(addr, 0, 0);
        loop {
            let Some(value) = new(expected) else {
                break (expected, None);
            };
            let found = compare_exchange(addr, expected, value);
            if found == expected {
                break (found, Some(value));
            }
            expected = found;
        }
    };
    if inside.is_none() {
        not_recorded();
        return old;
    }
    let order = if written.is_some() { orders.0 } else { orders.1 };
    record(addr, (order & 7) as u8, pc, old, written);
    old
}

/// Where words were operated on that have 128 bits: a bit for each, by a hash of its address. Two that share one are taken
/// for such words, both.
static WIDE: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];

/// The bit of the word that an address lies in.
fn bit(addr: usize) -> (&'static AtomicU64, u64) {
    let hash = (addr as u64 >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
    (&WIDE[(hash >> 6) as usize], 1 << (hash & 63))
}

/// Whether an address may be of a part of such a word.
#[inline(always)]
fn is_of_wide(addr: usize) -> bool {
    let (bits, bit) = bit(addr);
    bits.load(Relaxed) & bit != 0
}

/// The lock of the word that an address lies in.
fn lock_of(addr: usize) -> Lock {
    Lock {
        class: ObjectClass::SpinLock,
        addr: (addr & !15) as u64 | NOBODYS,
    }
}

/// Enters for an operation on at most 64 bits.
#[inline(always)]
pub(super) fn enter_for_part(addr: usize, intent: impl FnOnce() -> Intent) -> Option<RuntimeGuard> {
    match is_of_wide(addr) {
        true => RuntimeGuard::enter(),
        false => RuntimeGuard::enter_to_record(intent),
    }
}

/// Records one, whose thread has entered for it.
#[inline(always)]
pub(super) fn push_part(addr: usize, pc: usize, operation: Record) {
    match is_of_wide(addr) {
        true => push_section(addr, pc, [operation]),
        false => pending::push(operation),
    }
}

/// Records what nobody else's operation on the same word comes between.
#[cold]
fn push_section<const N: usize>(addr: usize, pc: usize, operations: [Record; N]) {
    let lock = lock_of(addr);
    lock.taken(ALONE, pc);
    operations.into_iter().for_each(pending::push);
    lock.given_back(pc);
}

/// Records an operation that found `old`, and stored what was `written`, if anything.
fn record(addr: usize, order: u8, pc: usize, old: u128, written: Option<u128>) {
    let (bits, bit) = bit(addr);
    bits.fetch_or(bit, Relaxed);
    let half = |half: u64| {
        let part = |value: u128| (value >> (8 * half)) as u64;
        let (pc, addr) = (pc as u64, addr as u64 + half);
        match written {
            None => Record::AtomicLoad {
                pc,
                addr,
                size: 8,
                order,
                value: part(old),
            },
            Some(written) => Record::AtomicRmw {
                pc,
                addr,
                size: 8,
                order,
                read: part(old),
                written: part(written),
            },
        }
    };
    push_section(addr, pc, [half(0), half(8)]);
}

/// `lock cmpxchg16b` in assembly, which the program is about to perform itself.
pub(super) fn announced(addr: usize, expected: u128, new: u128, pc: usize) {
    let Some(_inside) = RuntimeGuard::enter() else {
        return not_recorded();
    };
    // SAFETY: the program is about to do the same.
    let old = unsafe { compare_exchange(addr, 0, 0) };
    let written = (old == expected).then_some(new);
    record(addr, SEQUENTIALLY_CONSISTENT, pc, old, written);
}

/// Stores `new` if the 16 bytes are `expected`; what they were.
///
/// # Safety
/// `addr` is an aligned object of 16 bytes that may be written.
unsafe fn compare_exchange(addr: usize, expected: u128, new: u128) -> u128 {
    let (low, high): (u64, u64);
    // SAFETY: promised by the caller. rbx belongs to the compiler and is put back.
    unsafe {
        asm!(
            "xchg rbx, rsi",
            "lock cmpxchg16b [rdi]",
            "mov rbx, rsi",
            in("rdi") addr,
            inout("rsi") new as u64 => _,
            in("rcx") (new >> 64) as u64,
            inout("rax") expected as u64 => low,
            inout("rdx") (expected >> 64) as u64 => high,
            options(nostack),
        );
    }
    u128::from(high) << 64 | u128::from(low)
}

unsafe extern "C-unwind" fn load(addr: usize, order: i32, pc: usize) -> u128 {
    operate(addr, (order, order), pc, |_| None)
}

unsafe extern "C-unwind" fn store(addr: usize, value: u128, order: i32, pc: usize) {
    operate(addr, (order, order), pc, |_| Some(value));
}

macro_rules! modify {
    ($($name:ident = |$old:ident, $value:ident| $new:expr;)*) => { $(
        unsafe extern "C-unwind" fn $name(addr: usize, $value: u128, order: i32, pc: usize) -> u128 {
            operate(addr, (order, order), pc, |$old| Some($new))
        }
    )* };
}

modify! {
    exchange = |_old, value| value;
    fetch_add = |old, value| old.wrapping_add(value);
    fetch_sub = |old, value| old.wrapping_sub(value);
    fetch_and = |old, value| old & value;
    fetch_or = |old, value| old | value;
    fetch_xor = |old, value| old ^ value;
    fetch_nand = |old, value| !(old & value);
}

/// The variable that `expected` points to is read, and written on failure.
unsafe extern "C-unwind" fn compare_flag(
    addr: usize,
    expected: *mut u128,
    new: u128,
    success: i32,
    failure: i32,
    pc: usize,
) -> i32 {
    // As far as the end of the block: what is recorded may have to wait for room, and only inside may the thread sleep.
    if !is_of_caller(expected as usize)
        && let Some(_inside) = RuntimeGuard::enter()
    {
        pending::read_range_now(expected as usize, 16, pc);
    }
    // SAFETY: the caller's own variable.
    let wanted = unsafe { expected.read_unaligned() };
    let old = operate(addr, (success, failure), pc, |old| (old == wanted).then_some(new));
    if old != wanted {
        // SAFETY: as above.
        unsafe { expected.write_unaligned(old) };
        if let Some(_inside) = RuntimeGuard::enter_and_stay() {
            pending::write_range_now(expected as usize, 16, pc);
        }
    }
    (old == wanted).into()
}

unsafe extern "C-unwind" fn compare_value(
    addr: usize,
    expected: u128,
    new: u128,
    success: i32,
    failure: i32,
    pc: usize,
) -> u128 {
    operate(addr, (success, failure), pc, |old| (old == expected).then_some(new))
}

/// The arguments of these take all registers: the return address goes behind those on the stack.
macro_rules! export_by_stack {
    ($($name:ident = $body:path;)*) => { $(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name() {
            core::arch::naked_asm!(
                "sub rsp, 8",
                "push [rsp + 8]",
                "push [rsp + 24]",
                "call {body}",
                "add rsp, 24",
                "ret",
                body = sym $body,
            )
        }
    )* };
}

/// This one takes six registers.
#[unsafe(naked)]
unsafe extern "C-unwind" fn compare_flag_by_stack() {
    core::arch::naked_asm!(
        "push qword ptr [rsp]",
        "call {body}",
        "add rsp, 8",
        "ret",
        body = sym compare_flag,
    )
}

#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __tsan_atomic128_compare_exchange_strong() {
    core::arch::naked_asm!("jmp {body}", body = sym compare_flag_by_stack)
}

#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __tsan_atomic128_compare_exchange_weak() {
    core::arch::naked_asm!("jmp {body}", body = sym compare_flag_by_stack)
}

export_by_stack! {
    __tsan_atomic128_compare_exchange_val = compare_value;
}

export! {
    __tsan_atomic128_load = load, "rdx";
    __tsan_atomic128_store = store, "r8";
    __tsan_atomic128_exchange = exchange, "r8";
    __tsan_atomic128_fetch_add = fetch_add, "r8";
    __tsan_atomic128_fetch_sub = fetch_sub, "r8";
    __tsan_atomic128_fetch_and = fetch_and, "r8";
    __tsan_atomic128_fetch_or = fetch_or, "r8";
    __tsan_atomic128_fetch_xor = fetch_xor, "r8";
    __tsan_atomic128_fetch_nand = fetch_nand, "r8";
}
