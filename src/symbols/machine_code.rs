//! The machine code of a module: its instructions, its functions, and where it leaves them for others.

use hashbrown::HashMap;
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use object::{Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionKind, SymbolKind, elf};
use std::cmp::Reverse;

/// An instrumented function's name.
pub(super) const INSTRUMENTATION: &str = "__tsan_";

/// Registers that a called function keeps (System V ABI, AMD64 supplement).
pub(super) const KEPT: [Register; 6] = [
    Register::RBX,
    Register::RBP,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
];

/// Whether a function of that name is called for what instrumented code does: the compiler's calls, and those that the
/// assembler puts in front of inline assembly.
pub(super) fn records(name: &str) -> bool {
    name.starts_with(INSTRUMENTATION) || name == "AnnotateNoOp"
}

/// Whether an instruction reads and writes memory as one. An operation on the top of the stack is how compilers write a
/// fence.
pub(super) fn is_atomic(instruction: &Instruction) -> bool {
    let in_memory = |operand| instruction.op_kind(operand) == OpKind::Memory;
    let exchange = instruction.mnemonic() == Mnemonic::Xchg && (in_memory(0) || in_memory(1));
    (instruction.has_lock_prefix() && instruction.memory_base() != Register::RSP) || exchange
}

/// The instructions of some code, in order, decoded anew from the start of each function: what stands between two may
/// be data.
pub(super) struct Instructions<'c> {
    start: u64,
    decoder: Decoder<'c>,
    /// Starts of functions that are still ahead.
    functions: &'c [(u64, u64)],
}

impl<'c> Instructions<'c> {
    pub(super) fn of(start: u64, code: &'c [u8], functions: &'c [(u64, u64)]) -> Instructions<'c> {
        Instructions {
            start,
            decoder: Decoder::with_ip(64, code, start, DecoderOptions::NONE),
            functions: &functions[functions.partition_point(|&(function, _)| function < start)..],
        }
    }
}

impl Iterator for Instructions<'_> {
    type Item = Instruction;

    fn next(&mut self) -> Option<Instruction> {
        loop {
            let at = self.decoder.ip();
            let passed = self.functions.partition_point(|&(function, _)| function <= at);
            self.functions = &self.functions[passed..];
            if !self.decoder.can_decode() {
                return None;
            }
            let instruction = self.decoder.decode();
            // Not beyond where a function begins.
            if let Some(&(function, _)) = self.functions.first()
                && function < instruction.next_ip()
            {
                let offset = usize::try_from(function - self.start).ok()?;
                self.decoder.set_position(offset).ok()?;
                self.decoder.set_ip(function);
                continue;
            }
            if !instruction.is_invalid() {
                return Some(instruction);
            }
        }
    }
}

/// The code of a module, and where it calls the instrumentation's runtime.
pub(super) struct MachineCode<'f> {
    pub(super) sections: Vec<(u64, &'f [u8])>,
    /// The functions, by address: the first byte and the first behind it.
    pub(super) functions: Vec<(u64, u64)>,
    pub(super) slots: HashMap<u64, String>,
    pub(super) to_runtime: HashMap<u64, String>,
}

impl<'f> MachineCode<'f> {
    pub(super) fn of(file: &'f object::File<'f>) -> MachineCode<'f> {
        let slots = slots(file);
        MachineCode {
            sections: text(file).collect(),
            functions: functions(file),
            to_runtime: stubs(file, &slots, &records),
            slots,
        }
    }

    /// Whether anything of it is instrumented.
    pub(super) fn is_instrumented(&self) -> bool {
        self.slots.values().any(|name| records(name))
    }

    /// Each instruction, and whether it calls the runtime.
    pub(super) fn each(&self, then: &mut dyn FnMut(&Instruction, bool)) {
        for &(start, code) in &self.sections {
            for instruction in Instructions::of(start, code, &self.functions) {
                let transfer = Transfer::of(&instruction, &self.slots);
                then(&instruction, transfer.calls(&self.to_runtime, &records));
            }
        }
    }
}

/// Where an instruction leads, if it is a call or a jump.
pub(super) struct Transfer<'c> {
    /// The address, if it names one.
    pub(super) direct: Option<u64>,
    /// The function whose slot holds the address.
    pub(super) slot: Option<&'c String>,
    /// It leads through a register, or other memory.
    pub(super) through_pointer: bool,
}

impl<'c> Transfer<'c> {
    pub(super) fn of(instruction: &Instruction, slots: &'c HashMap<u64, String>) -> Transfer<'c> {
        let transfers = matches!(instruction.mnemonic(), Mnemonic::Call | Mnemonic::Jmp);
        let is_direct = transfers && instruction.op0_kind() == OpKind::NearBranch64;
        let is_indirect = transfers && matches!(instruction.op0_kind(), OpKind::Register | OpKind::Memory);
        let by_slot = is_indirect && instruction.is_ip_rel_memory_operand();
        let slot = by_slot
            .then(|| slots.get(&instruction.ip_rel_memory_address()))
            .flatten();
        Transfer {
            direct: is_direct.then(|| instruction.near_branch_target()),
            slot,
            through_pointer: is_indirect && slot.is_none(),
        }
    }

    /// Whether it leads to a function of such a name, by its slot or by a stub.
    pub(super) fn calls(&self, stubs: &HashMap<u64, String>, named: &dyn Fn(&str) -> bool) -> bool {
        let by_stub = self.direct.is_some_and(|direct| stubs.contains_key(&direct));
        by_stub || self.slot.is_some_and(|name| named(name))
    }
}

pub(super) fn text<'f>(file: &'f object::File<'f>) -> impl Iterator<Item = (u64, &'f [u8])> {
    let sections = file.sections().filter(|section| section.kind() == SectionKind::Text);
    sections.filter_map(|section| Some((section.address(), section.data().ok()?)))
}

/// Slots of the offset table, by the function that the loader puts into them.
pub(super) fn slots(file: &object::File<'_>) -> HashMap<u64, String> {
    let Some(relocations) = file.dynamic_relocations() else {
        return HashMap::new();
    };
    let symbols = file.dynamic_symbol_table();
    let named = relocations.filter_map(|(slot, relocation)| {
        // Not a variable that holds a pointer at first.
        let RelocationFlags::Elf { r_type } = relocation.flags() else {
            return None;
        };
        let RelocationTarget::Symbol(symbol) = relocation.target() else {
            return None;
        };
        if r_type != elf::R_X86_64_GLOB_DAT && r_type != elf::R_X86_64_JUMP_SLOT {
            return None;
        }
        let name = object::ObjectSymbolTable::symbol_by_index(symbols.as_ref()?, symbol)
            .ok()?
            .name()
            .ok()?
            .to_owned();
        Some((slot, name))
    });
    named.collect()
}

/// Stubs that jump through these slots to functions that are wanted.
pub(super) fn stubs(
    file: &object::File<'_>,
    slots: &HashMap<u64, String>,
    wanted: &dyn Fn(&str) -> bool,
) -> HashMap<u64, String> {
    let mut found = HashMap::new();
    let tables = file
        .sections()
        .filter(|section| section.name().is_ok_and(|name| name.starts_with(".plt")));
    for section in tables {
        let Ok(code) = section.data() else { continue };
        for (offset, bytes) in code.windows(6).enumerate() {
            let [0xff, 0x25, a, b, c, d] = *bytes else { continue };
            let at = section.address() + offset as u64;
            let slot = at
                .wrapping_add(6)
                .wrapping_add_signed(i64::from(i32::from_le_bytes([a, b, c, d])));
            if let Some(name) = slots.get(&slot).filter(|name| wanted(name)) {
                // The jump stands behind a landing mark and a prefix, in entries of 8 or 16 bytes.
                found.insert(at & !7, name.clone());
                found.insert(at & !15, name.clone());
            }
        }
    }
    found
}

/// What the compiler links to each module, that runs before its own code or behind it.
const OF_THE_START: [&str; 7] = [
    "__do_global_ctors_aux",
    "__do_global_dtors_aux",
    "_dl_relocate_static_pie",
    "_start",
    "deregister_tm_clones",
    "frame_dummy",
    "register_tm_clones",
];

/// Whether a symbol is a function of the module's own.
pub(super) fn is_function<'f>(symbol: &impl ObjectSymbol<'f>, file: &object::File<'_>) -> bool {
    let is_of_the_start = symbol.name().is_ok_and(|name| OF_THE_START.contains(&name));
    let is_code = |index| {
        let section = file.section_by_index(index);
        section.is_ok_and(|section| section.kind() == SectionKind::Text)
    };
    !is_of_the_start
        && match symbol.kind() {
            SymbolKind::Text => symbol.is_definition(),
            // A name in assembly that nothing is said of.
            SymbolKind::Unknown => symbol.is_global() && symbol.section_index().is_some_and(is_code),
            _ => false,
        }
}

/// The module's own functions, by address: the first byte and the first behind it.
pub(super) fn functions(file: &object::File<'_>) -> Vec<(u64, u64)> {
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let functions = symbols.filter(|symbol| is_function(symbol, file));
    functions_of(
        functions
            .map(|symbol| (symbol.address(), symbol.address() + symbol.size()))
            .collect(),
    )
}

/// Functions in order, each once.
pub(super) fn functions_of(mut found: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    found.sort_unstable_by_key(|&(start, end)| (start, Reverse(end)));
    found.dedup_by_key(|&mut (start, _)| start);
    // Assembly seldom says how long a function is.
    for place in 1..found.len() {
        let (next, _) = found[place];
        let (start, end) = &mut found[place - 1];
        if start == end {
            *end = next;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::Instructions;

    #[test]
    fn code_is_decoded_anew_where_a_function_begins() {
        // Data that reads as the first bytes of a long instruction; then a function: xchg %eax,(%rdi); ret.
        let code = [0x48, 0xb8, 0x87, 0x07, 0xc3];
        let functions = [(0x1002, 0x1005)];
        let found: Vec<u64> = Instructions::of(0x1000, &code, &functions).map(|it| it.ip()).collect();
        assert_eq!(found, [0x1002, 0x1004]);
    }
}
