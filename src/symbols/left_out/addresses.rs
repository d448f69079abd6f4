//! Addresses within straight code: whether an access is one that the runtime was told of right before.
//!
//! The compiler works the address out for the call and again for the access: in another register, from the same place in
//! the frame, or as an operand. So values are followed as sums of multiples of unknowns. An unknown is a random number,
//! and a sum of them one, too: two that are equal are the same value, but for a chance that does not matter.

use super::super::machine_code::KEPT;
use super::calls::{Calls, Length};
use hashbrown::{DefaultHashBuilder, HashMap};
use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, UsedMemory, UsedRegister};
use std::hash::{BuildHasher, Hash};

/// Unknowns, and a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Value {
    unknown: u64,
    number: i64,
}

impl Value {
    fn constant(number: u64) -> Value {
        Value {
            unknown: 0,
            number: number as i64,
        }
    }

    fn plus(self, other: Value) -> Value {
        Value {
            unknown: self.unknown.wrapping_add(other.unknown),
            number: self.number.wrapping_add(other.number),
        }
    }

    fn times(self, factor: i64) -> Value {
        Value {
            unknown: self.unknown.wrapping_mul(factor as u64),
            number: self.number.wrapping_mul(factor),
        }
    }
}

/// What is known at a place in a stretch of code that is gone through from its first instruction to its last.
pub(super) struct Stretch {
    registers: [Option<Value>; 16],
    /// What stands in the frame, by its address.
    kept: HashMap<Value, Value>,
    /// What the runtime was told of since another function was called: addresses, and lengths if they are known.
    told: Vec<(Value, Option<u64>)>,
    /// Another function was called in this stretch: what was told before it does not count.
    is_whole: bool,
    hash: DefaultHashBuilder,
    infos: InstructionInfoFactory,
}

impl Stretch {
    pub(super) fn new() -> Stretch {
        Stretch {
            registers: [None; 16],
            kept: HashMap::new(),
            told: Vec::new(),
            is_whole: false,
            hash: DefaultHashBuilder::default(),
            infos: InstructionInfoFactory::new(),
        }
    }

    /// Another stretch begins, before which the runtime was told of nothing, or it is not known of what.
    pub(super) fn begins(&mut self, is_whole: bool) {
        self.registers = [None; 16];
        self.kept.clear();
        self.told.clear();
        self.is_whole = is_whole;
    }

    fn unknown(&self, of: impl Hash) -> Value {
        Value {
            unknown: self.hash.hash_one(of),
            number: 0,
        }
    }

    fn of_register(&self, register: Register) -> Value {
        let number = register.full_register().number();
        self.registers[number].unwrap_or_else(|| self.unknown(("before", number)))
    }

    fn put(&mut self, register: Register, value: Value) {
        self.registers[register.full_register().number()] = Some(value);
    }

    fn sum(&self, base: Register, index: Register, scale: u32, displacement: u64) -> Value {
        let mut sum = Value::constant(displacement);
        if base.is_gpr() {
            sum = sum.plus(self.of_register(base));
        }
        if index.is_gpr() {
            sum = sum.plus(self.of_register(index).times(scale.into()));
        }
        sum
    }

    fn address(&self, instruction: &Instruction) -> Value {
        self.sum(
            instruction.memory_base(),
            instruction.memory_index(),
            instruction.memory_index_scale(),
            // What an instruction says relative to itself is added already.
            instruction.memory_displacement64(),
        )
    }

    /// Whether the runtime was told of what an instruction uses; nothing if it may have been, before the stretch.
    pub(super) fn is_told(&self, used: &UsedMemory) -> Option<bool> {
        let address = self.sum(used.base(), used.index(), used.scale(), used.displacement());
        let size = used.memory_size().size().max(1) as u64;
        let is_told = self.told.iter().any(|&(told, length)| {
            length.is_none_or(|length| {
                let distance = address.number.wrapping_sub(told.number);
                let overlaps = distance < length as i64 && distance > -(size as i64);
                told.unknown == address.unknown && overlaps
            })
        });
        (is_told || self.is_whole).then_some(is_told)
    }

    /// Goes on behind an instruction.
    pub(super) fn pass(&mut self, instruction: &Instruction, calls: Calls) {
        match calls {
            Calls::Nothing => return self.pass_own(instruction),
            Calls::Telling(length) => {
                let length = match length {
                    Length::Known(bytes) => Some(bytes),
                    Length::In(register) => {
                        let length = self.of_register(register);
                        (length.unknown == 0).then_some(length.number as u64)
                    }
                };
                self.told.push((self.of_register(Register::RDI), length));
            }
            Calls::Runtime | Calls::Operation => {}
            Calls::Other(_) | Calls::Reader(_) => {
                self.told.clear();
                self.is_whole = true;
            }
        }
        for number in 0..16 {
            let is_kept = KEPT.iter().chain(&[Register::RSP]).any(|kept| kept.number() == number);
            if !is_kept {
                self.registers[number] = Some(self.unknown(("behind", instruction.ip(), number)));
            }
        }
    }

    fn pass_own(&mut self, instruction: &Instruction) {
        let to = instruction.op0_register();
        let is_wide = instruction.op0_kind() == OpKind::Register && to.is_gpr64();
        let is_number =
            instruction.op_count() == 2 && !matches!(instruction.op1_kind(), OpKind::Register | OpKind::Memory);
        let number = || Value::constant(instruction.immediate(1));
        match instruction.mnemonic() {
            Mnemonic::Mov if is_number && instruction.op0_kind() == OpKind::Register && (is_wide || to.is_gpr32()) => {
                self.put(to, number());
            }
            Mnemonic::Mov if is_wide && instruction.op1_kind() == OpKind::Register => {
                self.put(to, self.of_register(instruction.op1_register()));
            }
            Mnemonic::Mov if is_wide && instruction.op1_kind() == OpKind::Memory => {
                let address = self.address(instruction);
                let kept = self.kept.get(&address).copied();
                let value = kept.unwrap_or_else(|| self.unknown(("at", instruction.memory_segment() as u32, address)));
                self.put(to, value);
            }
            Mnemonic::Mov if instruction.op0_kind() == OpKind::Memory => {
                let (address, from) = (self.address(instruction), instruction.op1_register());
                match from.is_gpr64() {
                    true => self.kept.insert(address, self.of_register(from)),
                    false => self.kept.remove(&address),
                };
            }
            Mnemonic::Lea if is_wide => self.put(to, self.address(instruction)),
            Mnemonic::Xor if is_wide || to.is_gpr32() => match instruction.op1_register() == to {
                true => self.put(to, Value::constant(0)),
                false => self.put_what_it_writes(instruction),
            },
            Mnemonic::Add if is_wide && is_number => self.put(to, self.of_register(to).plus(number())),
            Mnemonic::Add if is_wide && instruction.op1_kind() == OpKind::Register => {
                self.put(
                    to,
                    self.of_register(to).plus(self.of_register(instruction.op1_register())),
                );
            }
            Mnemonic::Sub if is_wide && is_number => self.put(to, self.of_register(to).plus(number().times(-1))),
            Mnemonic::Push => {
                let top = self.of_register(Register::RSP).plus(Value::constant(8).times(-1));
                self.put(Register::RSP, top);
                match to.is_gpr64() {
                    true => self.kept.insert(top, self.of_register(to)),
                    false => self.kept.remove(&top),
                };
            }
            Mnemonic::Pop => {
                let top = self.of_register(Register::RSP);
                let kept = self.kept.get(&top).copied();
                if to.is_gpr64() {
                    self.put(to, kept.unwrap_or_else(|| self.unknown(("at", 0, top))));
                }
                self.put(Register::RSP, top.plus(Value::constant(8)));
            }
            _ => self.put_what_it_writes(instruction),
        }
    }

    /// The same from the same is the same, if it is worked out from general registers and numbers alone.
    fn put_what_it_writes(&mut self, instruction: &Instruction) {
        let used = self.infos.info(instruction).used_registers().to_vec();
        let mut from = vec![Value::constant(instruction.mnemonic() as u64)];
        let mut is_pure = instruction.rflags_read() == 0;
        for used in used.iter().filter(|used| used.access() != OpAccess::Write) {
            is_pure &= used.register().is_gpr();
            if used.register().is_gpr() {
                from.push(self.of_register(used.register()));
            }
        }
        for operand in 0..instruction.op_count() {
            match instruction.op_kind(operand) {
                OpKind::Register => {}
                OpKind::Memory => is_pure = false,
                _ => from.push(Value::constant(instruction.immediate(operand))),
            }
        }
        if !is_pure {
            from.push(Value::constant(instruction.ip()));
        }
        let is_written = |used: &&UsedRegister| {
            used.register().is_gpr() && !matches!(used.access(), OpAccess::Read | OpAccess::CondRead)
        };
        for (number, used) in used.iter().filter(is_written).enumerate() {
            let value = self.unknown((&from, number));
            self.put(used.register(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Calls, Length, Stretch};
    use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory, Register};

    const TELLS: Calls = Calls::Telling(Length::Known(4));

    /// An instruction, and what is to be said of the first thing that it uses, if anything: it was told, or not, or may
    /// have been.
    type Line<'c> = (&'c [u8], Calls, Option<Option<bool>>);

    fn goes_through(stretch: &mut Stretch, code: &[Line<'_>]) {
        let mut infos = InstructionInfoFactory::new();
        let mut at = 0x1000;
        for &(bytes, calls, expected) in code {
            let instruction = Decoder::with_ip(64, bytes, at, DecoderOptions::NONE).decode();
            assert_eq!(instruction.len(), bytes.len(), "{bytes:x?}");
            let used = infos.info(&instruction).used_memory().first().copied();
            if let Some(expected) = expected {
                assert_eq!(stretch.is_told(&used.expect("an access")), expected, "{bytes:x?}");
            }
            stretch.pass(&instruction, calls);
            at = instruction.next_ip();
        }
    }

    const TOLD: Option<Option<bool>> = Some(Some(true));
    const UNTOLD: Option<Option<bool>> = Some(Some(false));
    const UNKNOWN: Option<Option<bool>> = Some(None);
    const CALL: &[u8] = &[0xe8, 0, 0, 0, 0];

    #[test]
    fn an_access_is_what_was_told_right_before_by_whatever_way_its_address_comes() {
        let mut stretch = Stretch::new();
        stretch.begins(true);
        let code: [Line<'_>; 20] = [
            (b"\x48\x89\x7c\x24\x08", Calls::Nothing, UNTOLD), // mov %rdi,0x8(%rsp)
            (b"\x48\x8d\x7b\x10", Calls::Nothing, None),       // lea 0x10(%rbx),%rdi
            (CALL, TELLS, None),
            (b"\x8b\x43\x10", Calls::Nothing, TOLD),   // mov 0x10(%rbx),%eax
            (b"\x8b\x43\x14", Calls::Nothing, UNTOLD), // mov 0x14(%rbx),%eax
            (b"\x48\x8b\x54\x24\x08", Calls::Nothing, UNTOLD), // mov 0x8(%rsp),%rdx
            (b"\x48\x89\xd7", Calls::Nothing, None),   // mov %rdx,%rdi
            (CALL, TELLS, None),
            (b"\x48\x8b\x44\x24\x08", Calls::Nothing, UNTOLD), // mov 0x8(%rsp),%rax
            (b"\x8b\x08", Calls::Nothing, TOLD),               // mov (%rax),%ecx
            (b"\x8b\x48\x04", Calls::Nothing, UNTOLD),         // mov 0x4(%rax),%ecx
            (b"\x49\x63\xc4", Calls::Nothing, None),           // movslq %r12d,%rax
            (b"\x48\x8d\x3c\xc3", Calls::Nothing, None),       // lea (%rbx,%rax,8),%rdi
            (CALL, TELLS, None),
            (b"\x49\x63\xd4", Calls::Nothing, None),     // movslq %r12d,%rdx
            (b"\x48\x8b\x04\xd3", Calls::Nothing, TOLD), // mov (%rbx,%rdx,8),%rax
            (b"\x48\x8b\x44\xd3\x08", Calls::Nothing, UNTOLD), // mov 0x8(%rbx,%rdx,8),%rax
            (CALL, Calls::Other(None), None),
            // What was told is told no longer, whatever the address.
            (b"\x48\x8b\x04\xd3", Calls::Nothing, UNTOLD), // mov (%rbx,%rdx,8),%rax
            (b"\x8b\x43\x10", Calls::Nothing, UNTOLD),     // mov 0x10(%rbx),%eax
        ];
        goes_through(&mut stretch, &code);
    }

    #[test]
    fn what_was_told_before_a_stretch_may_be_anything_until_another_function_is_called() {
        let mut stretch = Stretch::new();
        stretch.begins(false);
        let code: [Line<'_>; 6] = [
            (b"\x8b\x43\x10", Calls::Nothing, UNKNOWN),  // mov 0x10(%rbx),%eax
            (b"\x48\x8d\x7b\x10", Calls::Nothing, None), // lea 0x10(%rbx),%rdi
            (CALL, TELLS, None),
            (b"\x8b\x43\x10", Calls::Nothing, TOLD), // mov 0x10(%rbx),%eax
            (CALL, Calls::Other(None), None),
            (b"\x8b\x43\x10", Calls::Nothing, UNTOLD), // mov 0x10(%rbx),%eax
        ];
        goes_through(&mut stretch, &code);
    }

    #[test]
    fn a_range_is_as_long_as_the_register_says() {
        let mut stretch = Stretch::new();
        stretch.begins(true);
        let code: [Line<'_>; 6] = [
            (b"\xbe\x20\x00\x00\x00", Calls::Nothing, None), // mov $0x20,%esi
            (b"\x48\x89\xdf", Calls::Nothing, None),         // mov %rbx,%rdi
            (CALL, Calls::Telling(Length::In(Register::RSI)), None),
            (b"\x48\x8b\x43\x18", Calls::Nothing, TOLD), // mov 0x18(%rbx),%rax
            (b"\x48\x8b\x43\x20", Calls::Nothing, UNTOLD), // mov 0x20(%rbx),%rax
            (b"\x48\x8b\x43\xfc", Calls::Nothing, TOLD), // mov -0x4(%rbx),%rax: half of it
        ];
        goes_through(&mut stretch, &code);
    }
}
