//! Whether the program compares what it has just read, before it does anything else with it: read from its machine
//! code.
//!
//! Who looks at a pointer and asks first whether it is null, or at a count and asks whether it is 0, is prepared for
//! what is there before anybody wrote it. Compilers put the comparison right behind the load, perhaps with a copy
//! between.

use super::machine_code::KEPT;
use super::read_file;
use crate::trace::{AccessKind, CodePosition, EventId, Tables, Trace};
use hashbrown::HashMap;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};
use object::{Object, ObjectSection, SectionKind};

/// Instructions behind an access that are looked at.
const LOOKED_AT: usize = 16;

/// Functions that return what was read, one to the other, that are looked behind.
const MOST_RETURNS: usize = 4;

/// Sections of code, by where they begin in the file.
type Code = Vec<(u64, Vec<u8>)>;

/// The code of a trace's modules.
pub struct Comparisons<'t> {
    tables: &'t Tables,
    /// By module.
    code: HashMap<usize, Code>,
    known: HashMap<CodePosition, bool>,
}

impl<'t> Comparisons<'t> {
    /// Of no module yet.
    #[must_use]
    pub fn of(tables: &'t Tables) -> Comparisons<'t> {
        Comparisons {
            tables,
            code: HashMap::new(),
            known: HashMap::new(),
        }
    }

    /// Whether what the read at this position got is compared before anything else is done with it. Nothing is known of
    /// modules that are gone or were rebuilt.
    pub fn follow(&mut self, pc: CodePosition) -> bool {
        if let Some(&known) = self.known.get(&pc) {
            return known;
        }
        let found = self.search(pc).unwrap_or(false);
        self.known.insert(pc, found);
        found
    }

    /// Whether the thread compares what this read got before it does anything else with it but copy it to its stack, or
    /// return it to a caller who compares it.
    pub fn follow_value(&mut self, trace: &Trace, read: EventId) -> bool {
        if self.follow(trace.pc(read)) || self.follow(trace.pc(trace.last_copy(read))) {
            return true;
        }
        let is_atomic = trace
            .access(read)
            .is_some_and(|access| access.kind == AccessKind::AtomicLoad);
        // The runtime returns what it has read.
        is_atomic && self.is_returned_and_compared(trace, read)
    }

    fn is_returned_and_compared(&mut self, trace: &Trace, read: EventId) -> bool {
        let callers = self.tables.frames(trace.stack(read)).take(MOST_RETURNS);
        for pc in std::iter::once(trace.pc(read)).chain(callers) {
            match self
                .code_at(pc)
                .map(|(at, code)| what_becomes_of(at, code, Some(Copies::returned())))
            {
                Some(Becomes::Compared) => return true,
                Some(Becomes::Returned) => {}
                Some(Becomes::Used) | None => return false,
            }
        }
        false
    }

    fn search(&mut self, pc: CodePosition) -> Option<bool> {
        let (at, code) = self.code_at(pc)?;
        Some(what_becomes_of(at, code, None) == Becomes::Compared)
    }

    /// The code behind a position, and where in its module it is.
    fn code_at(&mut self, pc: CodePosition) -> Option<(u64, &[u8])> {
        let mut modules = self.tables.modules.iter();
        let row = modules.position(|module| (module.base..module.end).contains(&pc))?;
        let module = &self.tables.modules[row];
        let code = self
            .code
            .entry(row)
            .or_insert_with(|| code_of(&module.path, &module.build_id).unwrap_or_default());
        // A position is the last byte of the call before the access.
        let at = pc.wrapping_sub(module.base).wrapping_add(1);
        let (start, bytes) = code
            .iter()
            .find(|(start, bytes)| (*start..*start + bytes.len() as u64).contains(&at))?;
        Some((at, &bytes[(at - start) as usize..]))
    }
}

fn code_of(path: &str, build_id: &[u8]) -> Option<Code> {
    let bytes = read_file(path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    if file.build_id().ok().flatten().unwrap_or_default() != build_id {
        return None;
    }
    let text = file.sections().filter(|section| section.kind() == SectionKind::Text);
    Some(
        text.filter_map(|section| Some((section.address(), section.data().ok()?.to_vec())))
            .collect(),
    )
}

/// Where the value is that was read.
#[derive(Default)]
struct Copies {
    registers: Vec<Register>,
    /// Places on the stack: base and displacement.
    slots: Vec<(Register, u64)>,
}

impl Copies {
    /// What a function has returned.
    fn returned() -> Copies {
        Copies {
            registers: vec![Register::RAX],
            slots: Vec::new(),
        }
    }

    fn has(&self, instruction: &Instruction, operand: u32) -> bool {
        match instruction.op_kind(operand) {
            OpKind::Register => self
                .registers
                .contains(&instruction.op_register(operand).full_register()),
            OpKind::Memory => self.slots.contains(&slot_of(instruction)),
            _ => false,
        }
    }

    /// Whether the value is part of an address.
    fn are_followed_by(&self, instruction: &Instruction) -> bool {
        let parts = [instruction.memory_base(), instruction.memory_index()];
        parts.iter().any(|part| self.registers.contains(&part.full_register()))
    }
}

fn slot_of(instruction: &Instruction) -> (Register, u64) {
    (instruction.memory_base(), instruction.memory_displacement64())
}

fn is_move(instruction: &Instruction) -> bool {
    matches!(
        instruction.mnemonic(),
        Mnemonic::Mov | Mnemonic::Movzx | Mnemonic::Movsx | Mnemonic::Movsxd
    )
}

/// What code does first with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Becomes {
    Compared,
    /// Its function returns it.
    Returned,
    /// Something else, or nothing is known.
    Used,
}

/// What code does first with the value that is in `copies`, or that it begins to load.
fn what_becomes_of(at: u64, code: &[u8], mut copies: Option<Copies>) -> Becomes {
    let decoder = Decoder::with_ip(64, code, at, DecoderOptions::NONE);
    for instruction in decoder.into_iter().take(LOOKED_AT) {
        let operands = instruction.op_count();
        let compares = matches!(instruction.mnemonic(), Mnemonic::Cmp | Mnemonic::Test);
        let in_memory = (0..operands).any(|operand| instruction.op_kind(operand) == OpKind::Memory);
        let Some(copies) = &mut copies else {
            match instruction.flow_control() {
                FlowControl::Next if in_memory && compares => return Becomes::Compared,
                FlowControl::Next
                    if in_memory && is_move(&instruction) && instruction.op0_kind() == OpKind::Register =>
                {
                    copies = Some(Copies {
                        registers: vec![instruction.op0_register().full_register()],
                        slots: Vec::new(),
                    });
                }
                FlowControl::Next if !in_memory => {}
                _ => return Becomes::Used,
            }
            continue;
        };
        if copies.are_followed_by(&instruction) {
            return Becomes::Used;
        }
        let uses = (0..operands).any(|operand| copies.has(&instruction, operand));
        match instruction.flow_control() {
            FlowControl::Next if compares && uses => return Becomes::Compared,
            FlowControl::Next if is_move(&instruction) && operands == 2 => {
                let copied = copies.has(&instruction, 1);
                match instruction.op0_kind() {
                    OpKind::Register => {
                        let to = instruction.op0_register().full_register();
                        copies.registers.retain(|&register| register != to);
                        if copied {
                            copies.registers.push(to);
                        }
                    }
                    // Memory that others see is no place for a copy: what becomes of it there, they know.
                    _ if copied && !matches!(instruction.memory_base(), Register::RBP | Register::RSP) => {
                        return Becomes::Used;
                    }
                    _ => {
                        let to = slot_of(&instruction);
                        copies.slots.retain(|&slot| slot != to);
                        if copied {
                            copies.slots.push(to);
                        }
                    }
                }
            }
            FlowControl::Next if !uses => {}
            FlowControl::Return if copies.registers.contains(&Register::RAX) => return Becomes::Returned,
            FlowControl::Call | FlowControl::IndirectCall => {
                // An argument is used; other registers that a call need not keep are lost.
                const ARGUMENTS: [Register; 6] = [
                    Register::RDI,
                    Register::RSI,
                    Register::RDX,
                    Register::RCX,
                    Register::R8,
                    Register::R9,
                ];
                if copies.registers.iter().any(|register| ARGUMENTS.contains(register)) {
                    return Becomes::Used;
                }
                copies.registers.retain(|register| KEPT.contains(register));
            }
            _ => return Becomes::Used,
        }
    }
    Becomes::Used
}

#[cfg(test)]
mod tests {
    use super::{Becomes, Copies, what_becomes_of};

    /// `mov 0(%rip), %rax`
    const LOAD: &[u8] = &[0x48, 0x8b, 0x05, 0, 0, 0, 0];

    fn after_load(code: &[&[u8]]) -> bool {
        let code: Vec<u8> = [LOAD]
            .iter()
            .chain(code)
            .flat_map(|bytes| bytes.iter().copied())
            .collect();
        what_becomes_of(0x1000, &code, None) == Becomes::Compared
    }

    #[test]
    fn a_comparison_behind_the_load_counts() {
        // test %rax, %rax
        assert!(after_load(&[&[0x48, 0x85, 0xc0]]));
        // mov %rax, %rbx; test %rbx, %rbx
        assert!(after_load(&[&[0x48, 0x89, 0xc3], &[0x48, 0x85, 0xdb]]));
        // mov %rax, -0x18(%rbp); cmpq $0, -0x18(%rbp)
        assert!(after_load(&[
            &[0x48, 0x89, 0x45, 0xe8],
            &[0x48, 0x83, 0x7d, 0xe8, 0x00]
        ]));
        // cmpq $0, 0(%rip), without a load
        let compares = [0x48, 0x83, 0x3d, 0, 0, 0, 0, 0];
        assert_eq!(what_becomes_of(0x1000, &compares, None), Becomes::Compared);
    }

    #[test]
    fn a_use_before_it_does_not() {
        // mov (%rax), %ecx; test %rax, %rax
        assert!(!after_load(&[&[0x8b, 0x08], &[0x48, 0x85, 0xc0]]));
        // mov %rax, %rdi; call; test %rax, %rax
        assert!(!after_load(&[
            &[0x48, 0x89, 0xc7],
            &[0xe8, 0, 0, 0, 0],
            &[0x48, 0x85, 0xc0]
        ]));
        // add $1, %rax; test %rax, %rax
        assert!(!after_load(&[&[0x48, 0x83, 0xc0, 0x01], &[0x48, 0x85, 0xc0]]));
        // test %rcx, %rcx: of something else
        assert!(!after_load(&[&[0x48, 0x85, 0xc9], &[0xc3]]));
        // mov $0, %eax; test %rax, %rax: it is gone
        assert!(!after_load(&[&[0xb8, 0, 0, 0, 0], &[0x48, 0x85, 0xc0], &[0xc3]]));
    }

    #[test]
    fn what_a_call_has_returned_is_compared_used_or_returned_again() {
        let becomes = |code: &[&[u8]]| what_becomes_of(0x1000, &code.concat(), Some(Copies::returned()));
        const RETURN: &[u8] = &[0xc3];
        // test %rax, %rax
        assert_eq!(becomes(&[&[0x48, 0x85, 0xc0]]), Becomes::Compared);
        // mov (%rax), %ecx
        assert_eq!(becomes(&[&[0x8b, 0x08], RETURN]), Becomes::Used);
        // mov %rax, %rbx; call; mov %rbx, %rax; ret
        let saved: [&[u8]; 4] = [&[0x48, 0x89, 0xc3], &[0xe8, 0, 0, 0, 0], &[0x48, 0x89, 0xd8], RETURN];
        assert_eq!(becomes(&saved), Becomes::Returned);
        // call; ret: it is gone
        assert_eq!(becomes(&[&[0xe8, 0, 0, 0, 0], RETURN]), Becomes::Used);
    }
}
