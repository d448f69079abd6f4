//! Faults for which the program has a handler of its own: garbage collectors, memory that is filled when it is first
//! used.
//!
//! A hook fetches the value of an access before the program makes it, so the fault happens there, and the handler, with
//! hooks of its own, runs in the middle. Three rules keep everything exact:
//!
//! - The hooks of plain accesses [`touch`] the memory first, before they look at anything. The handler then runs as if
//!   it came between two hooks, and the hook begins after it.
//! - A fault inside the runtime, behind that point, happens where the encoder is at rest: whatever fetches a value
//!   there has it, or has touched the memory, before it asks the encoder. The handler runs as a part of the program,
//!   and what was interrupted goes on after it. On the fast path nothing is certain of the memory of a write that is
//!   done; if that is gone, the handler runs as code that is not recorded.
//! - A write that is announced and not done yet is put aside while the handler runs. It is done after that. A hook that
//!   also makes the write does so by [`Put`], at an instruction that is known here.
//!
//! Who leaves the handler by `siglongjmp` leaves a thread that is outside of the runtime, with nothing pending.

use crate::events::instruction::{self, only_moves_registers_before};
use crate::runtime::guard::RuntimeGuard;
use crate::runtime::program_context;
use crate::runtime::program_context::Registers;
use crate::scheduling::baton::{SCHEDULER, is_holder, revoke_fast_path};
use crate::scheduling::thread::Thread;
use core::arch::asm;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use libc::{REG_ERR, REG_RIP, REG_RSI, siginfo_t};

/// Reads `N` bytes that the program is about to access, for a hook that has done nothing yet. Addresses and registers
/// stand where the arguments of most hooks are, so that this is one instruction; [`handle`] finds the code position
/// there.
#[inline(always)]
pub fn touch<const N: usize>(addr: usize, pc: usize) {
    macro_rules! test {
        ($operand:literal) => {
            asm!($operand, in("rdi") addr, in("rsi") pc, options(nostack, readonly))
        };
    }
    // SAFETY: the program's own access follows. What the register holds does not matter.
    unsafe {
        match N {
            1 => test!("test byte ptr [rdi], al"),
            2 => test!("test word ptr [rdi], ax"),
            4 => test!("test dword ptr [rdi], eax"),
            8 => test!("test qword ptr [rdi], rax"),
            _ => touch_range(addr, N, pc),
        }
    }
}

/// The same of any number of bytes.
#[inline(always)]
pub fn touch_range(addr: usize, len: usize, pc: usize) {
    const PAGE: usize = 4096;
    let (mut at, end) = (addr, addr.saturating_add(len));
    while at < end {
        touch::<1>(at, pc);
        at = (at | (PAGE - 1)).saturating_add(1);
    }
}

/// A write of the program that a hook makes, after it has announced it. Its code position stands where [`handle`]
/// looks for it.
pub trait Put: Sized {
    /// Writes, wherever that is.
    ///
    /// # Safety
    /// The program is about to write there.
    unsafe fn put(to: *mut Self, pc: usize, value: Self);
}

macro_rules! put {
    ($name:ident, $type:ty, $instruction:literal) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name(to: *mut $type, pc: usize, value: $type) {
            core::arch::naked_asm!($instruction, "ret")
        }

        impl Put for $type {
            unsafe fn put(to: *mut $type, pc: usize, value: $type) {
                // SAFETY: promised by the caller.
                unsafe { $name(to, pc, value) }
            }
        }
    };
}

put!(put16, u16, "mov word ptr [rdi], dx");
put!(put32, u32, "mov dword ptr [rdi], edx");
put!(put64, u64, "mov qword ptr [rdi], rdx");

/// Whether the instruction is the one of a [`Put`].
fn is_put(at: usize) -> bool {
    [put16 as *const (), put32 as *const (), put64 as *const ()].contains(&ptr::with_exposed_provenance(at))
}

/// Whether the instruction is one of [`touch`].
fn is_touch(at: usize) -> bool {
    // SAFETY: an instruction of this library, which does not end with it.
    let code = unsafe { ptr::read_unaligned(at as *const [u8; 3]) };
    matches!(code, [0x84 | 0x85, 0x07, _] | [0x66, 0x85, 0x07] | [0x48, 0x85, 0x07])
}

/// Runs the program's handler for a fault of its own, which the thread cannot go on without.
///
/// # Safety
/// `registers` are those of the fault, and stay valid.
pub unsafe fn handle(thread: &'static Thread, info: &siginfo_t, registers: *const Registers, handler: impl FnOnce()) {
    // SAFETY: promised by the caller. The handler may change them.
    let registers = || unsafe { registers.read() };
    let at = registers()[REG_RIP as usize] as usize;
    let is_memory = matches!(info.si_signo, libc::SIGSEGV | libc::SIGBUS);
    let is_busy = thread.busy.load(Relaxed) != 0;
    let is_own = program_context::is_own(at);
    if is_busy && !(is_memory && is_holder(thread)) {
        return handler();
    }
    if !is_busy && is_own && !is_touch(at) && !is_put(at) {
        // The memory of a write that is done is gone, by a way that the runtime does not see. What the handler does is
        // lost: the hook may be at work on the encoder, so that those of the handler must not come there, on neither
        // path.
        thread.busy.store(1, Relaxed);
        revoke_fast_path();
        handler();
        thread.busy.store(0, Relaxed);
        return;
    }
    let position = if is_own {
        registers()[REG_RSI as usize] as usize
    } else {
        at
    };
    let is_to_come = is_busy || is_to_come(thread, info, position, &registers());
    let announced = is_to_come.then(|| thread.pending.take());
    if is_busy {
        // What the runtime was at is in one piece, unless the handler itself waits for somebody.
        SCHEDULER.lengthen_turn(thread);
        RuntimeGuard::of(thread).in_program(handler);
    } else {
        settle();
        handler();
        settle();
    }
    if let Some(announced) = announced.filter(|_| registers()[REG_RIP as usize] as usize == at) {
        thread.pending.put_back(announced);
    }
}

/// Records the pending write of the thread, which is not in the runtime.
fn settle() {
    drop(RuntimeGuard::enter_and_stay());
}

/// Whether the announced write is not done at the instruction of the fault, or at the hook that returns to `position`.
fn is_to_come(thread: &Thread, info: &siginfo_t, position: usize, registers: &Registers) -> bool {
    const WRITES: i64 = 2;
    let (addr, size) = (thread.pending.addr.get(), thread.pending.size.get());
    let from = thread.pending.pc.get();
    // SAFETY: a fault in memory says where.
    let place = unsafe { info.si_addr() } as usize;
    let is_memory = matches!(info.si_signo, libc::SIGSEGV | libc::SIGBUS);
    size != 0
        && (is_memory && registers[REG_ERR as usize] & WRITES != 0 && place.wrapping_sub(addr) < size
            || instruction::only_moves_registers_for_anyone(from, position)
            || only_moves_registers_before(from, position))
}
