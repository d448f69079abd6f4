//! What `witness cc` has the program say that an instruction is about to do to memory (`src/assembly`): inline assembly,
//! and accesses of the compiler's own, which are plain ones.
//!
//! Nothing else runs between such a call and its instruction, so what it will have done is recorded at once, worked out
//! from the program's registers. Of inline assembly, the processor performs each aligned access as one, loads with acquire and stores with
//! release semantics, and what is locked sequentially consistently: so assembly makes atomics, not plain accesses.
//!
//! Of an instruction that has read the processor's clock it says so behind it. What was read comes from outside of the
//! program: along a plan, the program gets what it got in the recorded run.

use crate::abi::access::{not_recorded, read_range, write_range};
use crate::abi::atomics::{give_way_if_spinning, is_spinning, note_load, thread_fence};
use crate::abi::wide_atomics::{self, enter_for_part, push_part};
use crate::events::variable::SEQUENTIALLY_CONSISTENT;
use crate::platform::memory::load;
use crate::platform::processor;
use crate::runtime::accesses;
use crate::runtime::faults::touch_range;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::clocks;
use crate::scheduling::thread::slot;
use core::ffi::{CStr, c_char, c_int};
use recorder_ring::Record;
use recorder_ring::assembly::{Frame, Instruction, NAME, Operation, beyond};
use recorder_ring::plan::kind;
use recorder_scheduler::intent::{self, Access, Intent};

const ACQUIRE: u8 = 2;
const RELEASE: u8 = 3;

/// An ordinary call may change any vector register; one in the middle of assembly must change none. The stub has saved
/// what the oldest processors have. (0xe6: those of SSE, AVX and AVX-512, at most 2,752 bytes, of which the header is
/// to be zero at first.)
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn AnnotateNoOp() {
    core::arch::naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "cmp byte ptr [rip + {saves}], 0",
        "je 2f",
        "sub rsp, 2752",
        "and rsp, -64",
        "xor eax, eax",
        "mov qword ptr [rsp + 512], rax",
        "mov qword ptr [rsp + 520], rax",
        "mov qword ptr [rsp + 528], rax",
        "mov qword ptr [rsp + 536], rax",
        "mov qword ptr [rsp + 544], rax",
        "mov qword ptr [rsp + 552], rax",
        "mov qword ptr [rsp + 560], rax",
        "mov qword ptr [rsp + 568], rax",
        "mov r8, rdx",
        "mov eax, 0xe6",
        "xor edx, edx",
        "xsave64 [rsp]",
        "mov rdx, r8",
        "call {body}",
        "mov eax, 0xe6",
        "xor edx, edx",
        "xrstor64 [rsp]",
        "leave",
        "ret",
        "2:",
        "call {body}",
        "leave",
        "ret",
        saves = sym processor::SAVES_VECTORS,
        body = sym no_op,
    )
}

/// The annotation, which means nothing unless it comes from the assembler's stub.
unsafe extern "C" fn no_op(name: *const c_char, _line: c_int, addr: usize, frame: *mut Frame) {
    // SAFETY: a program passes the name of one of its files.
    if name.is_null() || unsafe { CStr::from_ptr(name) } != NAME {
        return;
    }
    // SAFETY: the stub's own.
    let frame = unsafe { &mut *frame };
    if let Some(instruction) = Instruction::decode(frame.code as u32) {
        announced(instruction, addr, frame);
    }
}

fn announced(instruction: Instruction, addr: usize, frame: &mut Frame) {
    let pc = frame.pc as usize;
    let size = usize::from(instruction.size);
    let addr = match instruction.operation {
        Operation::Fence => {
            // SAFETY: it orders what is done.
            return unsafe { thread_fence(SEQUENTIALLY_CONSISTENT.into(), pc) };
        }
        Operation::SetBit | Operation::ResetBit | Operation::ComplementBit => {
            addr.wrapping_add_signed(beyond(frame.source, size))
        }
        Operation::Clock => return clock_was_read(frame, false),
        Operation::ClockAndNumber => return clock_was_read(frame, true),
        // SAFETY: the program is about to do it.
        Operation::Read => return unsafe { read_range(addr, size * frame.source as usize, pc) },
        // SAFETY: as above.
        Operation::Write => return unsafe { write_range(addr, size * frame.source as usize, pc) },
        _ => addr,
    };
    // Which then is not performed as one.
    if addr % 8 + size > 8 && size != 16 {
        return;
    }
    touch_range(addr, size, pc);
    give_way_before();
    match (instruction.operation, size) {
        (Operation::CompareExchange, 16) => {
            wide_atomics::announced(addr, wide(frame.rdx, frame.rax), wide(frame.rcx, frame.rbx), pc)
        }
        (Operation::Load, _) => loads(addr, size, pc),
        (Operation::Store, _) => stores(addr, size, truncated(frame.source, size), pc),
        _ if !instruction.locked => {
            loads(addr, size, pc);
            if let Some(new) = new_value(instruction, load(addr, size), frame) {
                stores(addr, size, new, pc);
            }
        }
        _ => modifies(instruction, addr, frame, pc),
    }
}

/// The program has read the processor's clock, and its number, too.
fn clock_was_read(frame: &mut Frame, numbered: bool) {
    let pc = frame.pc as usize;
    let Some(_inside) = accesses::enter(pc) else { return };
    let moment = clocks::processors((frame.rdx << 32) as i64 | (frame.rax & u64::from(u32::MAX)) as i64);
    let moment = accesses::returns(moment, pc) as u64;
    (frame.rdx, frame.rax) = (moment >> 32, moment & u64::from(u32::MAX));
    if numbered {
        frame.rcx = accesses::returns(frame.rcx as i64, pc) as u64;
    }
}

fn wide(high: u64, low: u64) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

fn truncated(value: u64, size: usize) -> u64 {
    value & (u64::MAX >> (64 - 8 * size))
}

/// What memory holds behind an instruction; nothing if that does not store.
fn new_value(instruction: Instruction, old: u64, frame: &Frame) -> Option<u64> {
    let size = usize::from(instruction.size);
    let source = frame.source;
    let bit = || 1 << (source % (8 * size as u64));
    let new = match instruction.operation {
        Operation::Store | Operation::Exchange => source,
        Operation::Add => old.wrapping_add(source),
        Operation::Subtract => old.wrapping_sub(source),
        Operation::And => old & source,
        Operation::Or => old | source,
        Operation::Xor => old ^ source,
        Operation::Not => !old,
        Operation::Negate => old.wrapping_neg(),
        Operation::CompareExchange if truncated(frame.rax, size) == old => source,
        Operation::CompareExchange
        | Operation::Load
        | Operation::Fence
        | Operation::Read
        | Operation::Write
        | Operation::Clock
        | Operation::ClockAndNumber => return None,
        Operation::SetBit => old | bit(),
        Operation::ResetBit => old & !bit(),
        Operation::ComplementBit => old ^ bit(),
    };
    Some(truncated(new, size))
}

/// A thread that has loaded the same again and again gives way before it does so once more: not behind what is recorded,
/// since the instruction is still to come.
fn give_way_before() {
    // SAFETY: null or a thread, which lives for ever.
    let thread = unsafe { slot().as_ref() };
    if thread.is_some_and(is_spinning)
        && let Some(inside) = RuntimeGuard::enter()
    {
        give_way_if_spinning(&inside);
    }
}

fn loads(addr: usize, size: usize, pc: usize) {
    let intent = || Intent::of(Access::one(pc, kind::ATOMIC_LOAD, addr, size));
    let Some(inside) = enter_for_part(addr, intent) else {
        return not_recorded();
    };
    push_load(&inside, addr, size, ACQUIRE, pc);
}

fn push_load(inside: &RuntimeGuard, addr: usize, size: usize, order: u8, pc: usize) {
    let value = load(addr, size);
    push_part(
        addr,
        pc,
        Record::AtomicLoad {
            pc: pc as u64,
            addr: addr as u64,
            size: size as u8,
            order,
            value,
        },
    );
    note_load(inside.thread(), addr, pc, value);
}

fn stores(addr: usize, size: usize, value: u64, pc: usize) {
    let intent = || Intent::of(Access::one(pc, kind::ATOMIC_STORE, addr, size));
    if enter_for_part(addr, intent).is_none() {
        return not_recorded();
    }
    push_part(
        addr,
        pc,
        Record::AtomicStore {
            pc: pc as u64,
            addr: addr as u64,
            size: size as u8,
            order: RELEASE,
            value,
        },
    );
}

fn modifies(instruction: Instruction, addr: usize, frame: &Frame, pc: usize) {
    let size = usize::from(instruction.size);
    let kind = match instruction.operation {
        Operation::CompareExchange => intent::COMPARISON,
        _ => kind::ATOMIC_RMW,
    };
    let Some(inside) = enter_for_part(addr, || Intent::of(Access::one(pc, kind, addr, size))) else {
        return not_recorded();
    };
    let read = load(addr, size);
    let Some(written) = new_value(instruction, read, frame) else {
        return push_load(&inside, addr, size, SEQUENTIALLY_CONSISTENT, pc);
    };
    push_part(
        addr,
        pc,
        Record::AtomicRmw {
            pc: pc as u64,
            addr: addr as u64,
            size: size as u8,
            order: SEQUENTIALLY_CONSISTENT,
            read,
            written,
        },
    );
    if read == written {
        note_load(inside.thread(), addr, pc, read);
    }
}
