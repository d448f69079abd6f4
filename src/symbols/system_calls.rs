//! Which system calls a program makes by itself, through the C library's `syscall`.

use super::calls::linkage;
use super::machine_code::{Instructions, functions, slots, stubs, text};
use super::read_file;
use hashbrown::{HashMap, HashSet};
use iced_x86::{Code, FlowControl, Instruction, InstructionInfoFactory, OpAccess, OpKind, Register};
use std::collections::BTreeSet;
use trace_format::Tables;

const FUNCTION: &str = "syscall";

/// The numbers of the system calls that instrumented modules make. `None` if these cannot be told: a module cannot be
/// read, a number is worked out, or the function is called through a pointer.
#[must_use]
pub fn system_calls(tables: &Tables) -> Option<BTreeSet<u32>> {
    let mut found = BTreeSet::new();
    for module in tables.modules.iter().filter(|module| module.path.starts_with('/')) {
        let bytes = read_file(&module.path).ok()?;
        let linkage = linkage(&bytes)?;
        if linkage.instrumented && linkage.imports.contains(FUNCTION) {
            let file = object::File::parse(&*bytes).ok()?;
            let slots = slots(&file);
            let is_wanted = |name: &str| name == FUNCTION;
            let stubs = stubs(&file, &slots, &is_wanted);
            let functions = functions(&file);
            for (start, code) in text(&file) {
                found.extend(numbers(Instructions::of(start, code, &functions), &slots, &stubs)?);
            }
        }
    }
    Some(found)
}

/// The numbers that code calls the function with, which is behind these slots and stubs.
fn numbers(
    code: impl Iterator<Item = Instruction>,
    slots: &HashMap<u64, String>,
    stubs: &HashMap<u64, String>,
) -> Option<BTreeSet<u32>> {
    let code: Vec<Instruction> = code.collect();
    let is_slot = |addr: u64| slots.get(&addr).is_some_and(|name| name == FUNCTION);
    let by_slot = |of: &Instruction| of.is_ip_rel_memory_operand() && is_slot(of.ip_rel_memory_address());
    let by_stub =
        |of: &Instruction| of.op0_kind() == OpKind::NearBranch64 && stubs.contains_key(&of.near_branch_target());
    let is_stub = |of: &Instruction| [7_u64, 15].iter().any(|low| stubs.contains_key(&(of.ip() & !low)));
    let is_call = |of: &Instruction| matches!(of.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
    let jumps = code
        .iter()
        .filter(|of| of.op0_kind() == OpKind::NearBranch64 && !is_call(of));
    // Whoever comes from elsewhere may bring another number.
    let targets: HashSet<u64> = jumps.map(Instruction::near_branch_target).collect();
    let mut infos = InstructionInfoFactory::new();
    let mut first: Option<u32> = None;
    let mut found = BTreeSet::new();
    for instruction in &code {
        if targets.contains(&instruction.ip()) {
            first = None;
        }
        if by_stub(instruction) || by_slot(instruction) && !is_stub(instruction) {
            // Not a jump to it at a function's end, either: its number may be that function's own argument.
            found.insert(first.filter(|_| is_call(instruction))?);
        }
        if instruction.code() == Code::Mov_r32_imm32 && instruction.op0_register() == Register::EDI {
            first = Some(instruction.immediate32());
        } else if is_call(instruction) || instruction.flow_control() != FlowControl::Next {
            // A branch that is not taken leaves it.
            first = first.filter(|_| instruction.flow_control() == FlowControl::ConditionalBranch);
        } else {
            let used = infos.info(instruction).used_registers();
            let writes = |access| !matches!(access, OpAccess::None | OpAccess::Read | OpAccess::CondRead);
            let changes = used
                .iter()
                .any(|of| of.register().full_register() == Register::RDI && writes(of.access()));
            first = first.filter(|_| !changes);
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: u64 = 0x1000;
    const STUB: u64 = 0x800;

    fn numbers_of(code: &[u8]) -> Option<Vec<u32>> {
        let named = |addr| HashMap::from([(addr, FUNCTION.to_owned())]);
        let code = Instructions::of(0, code, &[]);
        numbers(code, &named(SLOT), &named(STUB)).map(|found| found.into_iter().collect())
    }

    /// What ends in a displacement from behind it, at `at`, to `target`.
    fn relative(bytes: &[u8], at: usize, target: u64) -> Vec<u8> {
        let end = (at + bytes.len() + 4) as u64;
        [bytes, &(target.wrapping_sub(end) as u32).to_le_bytes()].concat()
    }

    /// mov $number, %edi; xor %eax, %eax
    fn first(number: u8) -> Vec<u8> {
        vec![0xbf, number, 0, 0, 0, 0x31, 0xc0]
    }

    #[test]
    fn numbers_are_read_where_the_call_is_made() {
        let of_stub = [first(0xca), relative(&[0xe8], 7, STUB)].concat();
        assert_eq!(numbers_of(&of_stub), Some(vec![0xca]));
        let of_slot = [first(0xba), relative(&[0xff, 0x15], 7, SLOT)].concat();
        assert_eq!(numbers_of(&of_slot), Some(vec![0xba]));
        assert_eq!(numbers_of(&first(0xca)), Some(vec![]));
        // The stub itself.
        let code = relative(&[0xff, 0x25], 0, SLOT - STUB);
        let stub = numbers(
            Instructions::of(STUB, &code, &[]),
            &HashMap::from([(SLOT, FUNCTION.to_owned())]),
            &HashMap::from([(STUB, FUNCTION.to_owned())]),
        );
        assert_eq!(stub, Some(BTreeSet::new()));
    }

    #[test]
    fn a_number_that_may_be_another_is_not_told() {
        // mov %esi, %edi behind it.
        let other = [first(0xca), vec![0x89, 0xf7], relative(&[0xe8], 9, STUB)].concat();
        assert_eq!(numbers_of(&other), None);
        // A call in between, whatever it leaves there.
        let called = [first(0xca), relative(&[0xe8], 7, 0x400), relative(&[0xe8], 12, STUB)].concat();
        assert_eq!(numbers_of(&called), None);
        // je behind the first instruction, from in front of it.
        let jumps = [vec![0x74, 0x05], first(0xca), relative(&[0xe8], 9, STUB)].concat();
        assert_eq!(numbers_of(&jumps), None);
        // jmp *slot(%rip), and mov slot(%rip), %rax.
        assert_eq!(
            numbers_of(&[first(0xca), relative(&[0xff, 0x25], 7, SLOT)].concat()),
            None
        );
        assert_eq!(
            numbers_of(&[first(0xca), relative(&[0x48, 0x8b, 0x05], 7, SLOT)].concat()),
            None
        );
    }
}
