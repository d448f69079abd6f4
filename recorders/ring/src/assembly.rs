//! What the assembler of `witness cc` has a program tell the runtime: an instruction that is about to access memory, of
//! inline assembly, or of the compiler's own that it has not instrumented; and one that has read the processor's clock.
//!
//! The assembler (`src/assembly`) puts a call in front of the former, and behind the latter:
//! of `AnnotateNoOp`, which ThreadSanitizer's own runtime has as well, so that the program still runs under that. The
//! first argument tells such a call from the program's own; the third is the address; the fourth points to a [`Frame`].

use core::ffi::CStr;

/// What the first argument of the call points to.
pub const NAME: &CStr = c"witness: inline assembly";

/// What an instruction does to the memory that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Operation {
    /// Reads it.
    Load,
    /// Stores the source operand.
    Store,
    /// Stores the source operand (`xchg`).
    Exchange,
    /// Adds the source operand (`add`, `xadd`), or 1 (`inc`).
    Add,
    /// Subtracts the source operand, or 1 (`dec`).
    Subtract,
    /// Keeps the bits that the source operand has, too.
    And,
    /// Sets the bits that the source operand has.
    Or,
    /// Inverts the bits that the source operand has.
    Xor,
    /// Inverts every bit.
    Not,
    /// Subtracts it from 0.
    Negate,
    /// Stores the source operand if memory holds what the accumulator does (`cmpxchg`); of 16 bytes, `rcx:rbx` if it
    /// holds `rdx:rax`.
    CompareExchange,
    /// Sets the bit that the source operand numbers: from the address on, which may be beyond the operand.
    SetBit,
    /// Resets that bit.
    ResetBit,
    /// Inverts that bit.
    ComplementBit,
    /// Accesses no memory of others': `mfence`, or a locked operation on the top of the stack.
    Fence,
    /// Reads it, in code of the compiler's: no atomic operation. As often as the source operand says, upwards.
    Read,
    /// Writes it, in the same way.
    Write,
    /// Has read the processor's clock into `rdx:rax` (`rdtsc`). The runtime may put another moment there.
    Clock,
    /// The same, and the processor's number into `rcx` (`rdtscp`).
    ClockAndNumber,
}

const OPERATIONS: [Operation; 19] = [
    Operation::Load,
    Operation::Store,
    Operation::Exchange,
    Operation::Add,
    Operation::Subtract,
    Operation::And,
    Operation::Or,
    Operation::Xor,
    Operation::Not,
    Operation::Negate,
    Operation::CompareExchange,
    Operation::SetBit,
    Operation::ResetBit,
    Operation::ComplementBit,
    Operation::Fence,
    Operation::Read,
    Operation::Write,
    Operation::Clock,
    Operation::ClockAndNumber,
];

/// An instruction that is about to access memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// What it does.
    pub operation: Operation,
    /// To how many bytes: 1, 2, 4, 8 or 16; of the compiler's own instructions up to 64.
    pub size: u8,
    /// Other processors see its read and its write as one.
    pub locked: bool,
}

const LOCKED: u32 = 1 << 16;

impl Instruction {
    /// As one number, for [`Frame::code`].
    #[must_use]
    pub const fn encode(self) -> u32 {
        let locked = if self.locked { LOCKED } else { 0 };
        self.operation as u32 | (self.size as u32) << 8 | locked
    }

    /// The instruction of a number.
    #[must_use]
    pub fn decode(code: u32) -> Option<Instruction> {
        let [operation, size, ..] = code.to_le_bytes();
        let operation = *OPERATIONS.get(usize::from(operation))?;
        let fits = match operation {
            Operation::Read | Operation::Write => (1..=64).contains(&size),
            _ => [1, 2, 4, 8, 16].contains(&size),
        };
        Some(Instruction {
            operation,
            size: Some(size).filter(|_| fits)?,
            locked: code & LOCKED != 0,
        })
    }
}

/// How many bytes the operand that holds a bit lies behind the one that an instruction names; both have `size` bytes.
#[must_use]
pub const fn beyond(bit: u64, size: usize) -> isize {
    let bits = 8 * size as i64;
    // The number is as wide as the operand.
    let bit = (bit << (64 - bits)) as i64 >> (64 - bits);
    (bit.div_euclid(bits) * size as i64) as isize
}

/// Where the stub of the assembler has put the program's registers: on its stack, in the order of its pushes. It takes
/// them back from there.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Frame {
    /// `rbp`, which nobody asks for.
    pub base: u64,
    /// The low half of what `cmpxchg16b` stores.
    pub rbx: u64,
    /// `r11` to `r8` and `rsi`, which nobody asks for.
    pub others: [u64; 5],
    /// The high half of what `cmpxchg16b` expects, and of a moment.
    pub rdx: u64,
    /// The high half of what it stores, and the number of a processor.
    pub rcx: u64,
    /// The accumulator: what `cmpxchg` expects, and the low half of a moment.
    pub rax: u64,
    /// The flags.
    pub flags: u64,
    /// The code position: behind the call of the stub.
    pub pc: u64,
    /// What the instruction does: [`Instruction::encode`].
    pub code: u64,
    /// `rdi`, in which the stub got the address.
    pub rdi: u64,
    /// Its source operand, in the lowest bytes.
    pub source: u64,
}

#[cfg(test)]
mod tests {
    use super::{Instruction, OPERATIONS, beyond};

    #[test]
    fn instructions_are_what_they_were_behind_their_numbers() {
        for (at, operation) in OPERATIONS.into_iter().enumerate() {
            assert_eq!(operation as usize, at);
            for size in [1, 2, 4, 8, 16] {
                for locked in [false, true] {
                    let instruction = Instruction {
                        operation,
                        size,
                        locked,
                    };
                    assert_eq!(Instruction::decode(instruction.encode()), Some(instruction));
                }
            }
        }
        assert_eq!(Instruction::decode(0xff), None);
        assert_eq!(Instruction::decode(3 << 8), None);
    }
    #[test]
    fn bits_may_be_before_their_operand_and_behind_it() {
        for (bit, size, offset) in [
            (0, 4, 0),
            (31, 4, 0),
            (32, 4, 4),
            (100, 8, 8),
            (u64::from(u32::MAX), 4, -4),
            (u64::MAX, 8, -8),
            (0xffff_ffff_0000_0005, 4, 0),
        ] {
            assert_eq!(beyond(bit, size), offset, "{bit} in {size} bytes");
        }
    }
}
