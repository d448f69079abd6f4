//! What an instruction does to memory, as far as that is understood.

use super::operand::Operand;
use super::statement::Statement;
use super::{Announcement, GROWN};
use recorder_ring::assembly::{Instruction, Operation};

/// What is to be told of a statement; nothing if it accesses no memory, or in a way that is not understood.
pub(super) fn of(statement: &Statement<'_>) -> Option<Announcement> {
    if statement.name == "mfence" {
        return Some(fence());
    }
    let memory = statement.operands.iter().find(|operand| operand.is_memory())?;
    if is_jump(&statement.name) {
        return None;
    }
    let (operation, size) = operation(statement)?;
    let locked = statement.locked || operation == Operation::Exchange;
    // How compilers write a fence.
    if locked && memory.is_on_stack() {
        return Some(fence());
    }
    let source = match operation {
        Operation::Load | Operation::Not | Operation::Negate => "$0".to_owned(),
        Operation::CompareExchange if size == 16 => "$0".to_owned(),
        Operation::Add | Operation::Subtract if statement.operands.len() == 1 => "$1".to_owned(),
        _ => {
            let other = statement.operands.iter().find(|operand| !operand.is_memory())?;
            other.pushed(size)?
        }
    };
    Some(Announcement {
        instruction: Instruction {
            operation,
            size,
            locked,
        },
        memory: memory.address(GROWN)?,
        source,
    })
}

fn fence() -> Announcement {
    without_memory(Operation::Fence, true)
}

fn without_memory(operation: Operation, locked: bool) -> Announcement {
    Announcement {
        instruction: Instruction {
            operation,
            size: 8,
            locked,
        },
        memory: String::new(),
        source: "$0".to_owned(),
    }
}

/// How the instructions begin that read the processor's clock.
pub(super) const CLOCK: &str = "rdtsc";

/// What is to be told behind a statement: what it read of the processor's clock.
pub(super) fn read_by(statement: &Statement<'_>) -> Option<Announcement> {
    let operation = match statement.name.strip_prefix(CLOCK)? {
        "" => Operation::Clock,
        "p" => Operation::ClockAndNumber,
        _ => return None,
    };
    Some(without_memory(operation, false))
}

/// Whether the operand that looks like memory is a label.
fn is_jump(name: &str) -> bool {
    name.starts_with('j') || name.starts_with("loop")
}

/// What an instruction with an operand in memory does to it, and the size of that.
fn operation(statement: &Statement<'_>) -> Option<(Operation, u8)> {
    let name = &*statement.name;
    let operands = &*statement.operands;
    let into_memory = operands.last()?.is_memory();
    if name == "cmpxchg16b" {
        return Some((Operation::CompareExchange, 16));
    }
    // A load of fewer bytes than it stores in its register: movzbl, movslq.
    if let Some(size) = extends(name) {
        return (operands.len() == 2 && !into_memory).then_some((Operation::Load, size));
    }
    if name.starts_with("cmov") {
        let size = operands.last()?.register_size()?;
        return (operands.len() == 2).then_some((Operation::Load, size));
    }
    let (operation, suffix) = MODIFYING
        .iter()
        .chain(&OTHER)
        .find_map(|&(stem, arguments, operation)| {
            let suffix = name.strip_prefix(stem)?;
            let fits = matches!(suffix, "" | "b" | "w" | "l" | "q") && arguments == operands.len();
            fits.then_some((operation, suffix))
        })?;
    let size = match suffix {
        "b" => 1,
        "w" => 2,
        "l" => 4,
        "q" => 8,
        _ => operands.iter().find_map(Operand::register_size)?,
    };
    // Vector registers, and control registers.
    let odd = |operand: &Operand<'_>| matches!(operand, Operand::Register(_)) && operand.register_size().is_none();
    if operands.iter().any(odd) {
        return None;
    }
    match operation {
        // Either operand may be the one in memory.
        Operation::Exchange => Some((operation, size)),
        _ if into_memory => Some((operation, size)),
        // Arithmetic with a number from memory.
        _ if statement.locked => None,
        _ => Some((Operation::Load, size)),
    }
}

/// Instructions that change the operand behind the last comma: name, operands, and what they do.
const MODIFYING: [(&str, usize, Operation); 16] = [
    ("cmpxchg", 2, Operation::CompareExchange),
    ("xchg", 2, Operation::Exchange),
    ("xadd", 2, Operation::Add),
    ("add", 2, Operation::Add),
    ("sub", 2, Operation::Subtract),
    ("and", 2, Operation::And),
    ("or", 2, Operation::Or),
    ("xor", 2, Operation::Xor),
    ("inc", 1, Operation::Add),
    ("dec", 1, Operation::Subtract),
    ("not", 1, Operation::Not),
    ("neg", 1, Operation::Negate),
    ("bts", 2, Operation::SetBit),
    ("btr", 2, Operation::ResetBit),
    ("btc", 2, Operation::ComplementBit),
    ("mov", 2, Operation::Store),
];

/// Instructions that change no operand in memory. A bit that is tested may be beyond the operand: that is left out.
const OTHER: [(&str, usize, Operation); 2] = [("cmp", 2, Operation::Load), ("test", 2, Operation::Load)];

/// The bytes that a load reads which fills its register up.
fn extends(name: &str) -> Option<u8> {
    let rest = name.strip_prefix("movz").or_else(|| name.strip_prefix("movs"))?;
    match rest {
        "bw" | "bl" | "bq" => Some(1),
        "wl" | "wq" => Some(2),
        "lq" => Some(4),
        _ => None,
    }
}
