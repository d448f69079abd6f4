//! A module before it is linked: its sections get addresses of their own, and so does what it takes from others.

use super::machine_code::{MachineCode, functions_of, records};
use hashbrown::HashMap;
use object::{
    Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionIndex, SectionKind, SymbolIndex, elf,
};

/// Where the first section stands, and where what is not in the file does: more than code can be long apart, and less
/// than an instruction can reach.
const FIRST: u64 = 0x1_0000;
const OUTSIDE: u64 = 0x4000_0000;
/// What is taken from others stands so far apart, that one name's bytes are told from another's.
const APART: u64 = 0x4000;
const END: u64 = 0x7f00_0000;

/// An object file, its parts placed and what it says of other parts filled in.
pub(super) struct Relocatable {
    sections: Vec<(u64, Vec<u8>)>,
    functions: Vec<(u64, u64)>,
    slots: HashMap<u64, String>,
    /// What it takes from others.
    pub(super) imported: HashMap<u64, String>,
    /// Where it has variables that are not constant, and where all those of others are.
    pub(super) variables: Vec<(u64, u64)>,
    /// What it names.
    pub(super) symbols: Vec<(String, u64)>,
}

impl Relocatable {
    /// `None` if there is something in it that is not understood.
    pub(super) fn of(file: &object::File<'_>) -> Option<Relocatable> {
        let mut placed: HashMap<SectionIndex, u64> = HashMap::new();
        let mut next = FIRST;
        for section in file.sections() {
            next = next.next_multiple_of(section.align().max(16));
            placed.insert(section.index(), next);
            next = next.checked_add(section.size())?;
        }
        let mut outside = (OUTSIDE..END).step_by(APART as usize);
        let mut address: HashMap<SymbolIndex, u64> = HashMap::new();
        let (mut imported, mut symbols, mut of_functions) = (HashMap::new(), Vec::new(), Vec::new());
        for symbol in file.symbols() {
            let at = match symbol.section_index() {
                Some(section) => placed.get(&section)?.wrapping_add(symbol.address()),
                None if symbol.is_undefined() || symbol.is_common() => outside.next()?,
                None => continue,
            };
            address.insert(symbol.index(), at);
            let name = symbol.name().unwrap_or_default();
            if symbol.is_undefined() {
                imported.insert(at, name.to_owned());
            } else if !name.is_empty() {
                symbols.push((name.to_owned(), at));
                of_functions
                    .extend(super::machine_code::is_function(&symbol, file).then_some((at, at + symbol.size())));
            }
        }
        let mut slots = HashMap::new();
        let mut slot_of: HashMap<u64, u64> = HashMap::new();
        let mut sections = Vec::new();
        for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
            let start = placed[&section.index()];
            let mut bytes = section.data().ok()?.to_vec();
            for (offset, relocation) in section.relocations() {
                let RelocationFlags::Elf { r_type } = relocation.flags() else {
                    return None;
                };
                let target = match relocation.target() {
                    RelocationTarget::Symbol(symbol) => *address.get(&symbol)?,
                    RelocationTarget::Section(section) => *placed.get(&section)?,
                    _ => continue,
                };
                let at = start.wrapping_add(offset);
                let value = match r_type {
                    elf::R_X86_64_PC32 | elf::R_X86_64_PLT32 => target.wrapping_sub(at),
                    elf::R_X86_64_32 | elf::R_X86_64_32S => target,
                    elf::R_X86_64_GOTPCREL | elf::R_X86_64_GOTPCRELX | elf::R_X86_64_REX_GOTPCRELX => {
                        let slot = match slot_of.get(&target) {
                            Some(&slot) => slot,
                            None => {
                                let slot = END + 8 * slot_of.len() as u64;
                                slot_of.insert(target, slot);
                                slots.extend(imported.get(&target).map(|name| (slot, name.clone())));
                                slot
                            }
                        };
                        slot.wrapping_sub(at)
                    }
                    // What is a thread's own, and numbers of 64 bits, which no access names.
                    _ => continue,
                };
                let value = value.wrapping_add_signed(relocation.addend()) as u32;
                let place = usize::try_from(offset).ok()?;
                bytes
                    .get_mut(place..place.checked_add(4)?)?
                    .copy_from_slice(&value.to_le_bytes());
            }
            sections.push((start, bytes));
        }
        let variables = super::uninstrumented::changing(file).map(|section| {
            let start = placed[&section.index()];
            (start, start + section.size())
        });
        Some(Relocatable {
            variables: variables.chain([(OUTSIDE, END)]).collect(),
            sections,
            functions: functions_of(of_functions),
            slots,
            imported,
            symbols,
        })
    }

    pub(super) fn code(&self) -> MachineCode<'_> {
        let to_runtime = self.imported.iter().filter(|(_, name)| records(name));
        MachineCode {
            sections: self.sections.iter().map(|(start, bytes)| (*start, &**bytes)).collect(),
            functions: self.functions.clone(),
            slots: self.slots.clone(),
            to_runtime: to_runtime.map(|(&at, name)| (at, name.clone())).collect(),
        }
    }
}
