//! Functions of an instrumented module that are not instrumented, and how these may pass something on: those of an
//! archive or an object file that was built without `-fsanitize=thread`, or written in assembly.
//!
//! Compilers leave some stores and loads of instrumented code unrecorded, too: of their own frames, of what a function
//! returns by value, of constants. So a function without a call of the runtime is not suspected for touching memory
//! alone. What it stores counts if other such functions load the same variable, or if it stands among functions of which
//! some have atomic instructions: those are a lock's, say, of which nothing but taking it needs one.
//!
//! Whether *all* of a module is instrumented is another question, and stricter: see [`uninstrumented`].

use super::machine_code::{MachineCode, is_atomic};
use super::module::demangled;
use super::read_file;
use addr2line::gimli;
use hashbrown::{HashMap, HashSet};
use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess, Register};
use object::{Object, ObjectSection, ObjectSymbol, SectionKind};
use std::borrow::Cow;
use trace_format::Tables;

/// What a function may do that threads synchronize by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Passing {
    /// It may tell others of what its thread did before.
    pub tells: bool,
    /// It may learn what others did.
    pub learns: bool,
}

impl Passing {
    /// What an atomic instruction may do.
    pub const BOTH: Passing = Passing {
        tells: true,
        learns: true,
    };

    /// What either of two may do.
    #[must_use]
    pub fn or(self, other: Passing) -> Passing {
        Passing {
            tells: self.tells || other.tells,
            learns: self.learns || other.learns,
        }
    }

    /// Whether it may do anything.
    #[must_use]
    pub fn any(self) -> bool {
        self.tells || self.learns
    }
}

/// What the instructions of a function do.
#[derive(Debug, Default)]
struct Function {
    /// It calls the instrumentation's runtime.
    is_instrumented: bool,
    has_atomics: bool,
    /// It changes memory outside its frame, or reads some.
    touches: Passing,
    /// Also such of which the instructions do not name the address.
    follows_pointers: bool,
    /// The variables among it whose addresses they name.
    stored: Vec<u64>,
    loaded: Vec<u64>,
    /// Its frame pointer points into its frame.
    has_frame_pointer: bool,
}

/// The functions of a module, as their instructions are gone over.
pub(super) struct Functions<'f> {
    /// By address: the first byte and the first behind it.
    ranges: &'f [(u64, u64)],
    found: Vec<Function>,
    /// Of the last instruction.
    current: usize,
    infos: InstructionInfoFactory,
}

impl<'f> Functions<'f> {
    pub(super) fn new(ranges: &'f [(u64, u64)]) -> Functions<'f> {
        Functions {
            ranges,
            found: ranges.iter().map(|_| Function::default()).collect(),
            current: 0,
            infos: InstructionInfoFactory::new(),
        }
    }

    /// Takes note of an instruction, and whether it calls the instrumentation's runtime.
    pub(super) fn see(&mut self, instruction: &Instruction, calls_runtime: bool) {
        let at = instruction.ip();
        let has = |&(start, end): &(u64, u64)| start <= at && at < end;
        if !self.ranges.get(self.current).is_some_and(has) {
            let below = self.ranges.partition_point(|&(start, _)| start <= at);
            match below.checked_sub(1).filter(|&last| has(&self.ranges[last])) {
                Some(last) => self.current = last,
                None => return,
            }
        }
        let function = &mut self.found[self.current];
        function.is_instrumented |= calls_runtime;
        if function.is_instrumented {
            return;
        }
        function.has_atomics |= is_atomic(instruction);
        function.has_frame_pointer |= instruction.mnemonic() == Mnemonic::Mov
            && (instruction.op0_register(), instruction.op1_register()) == (Register::RBP, Register::RSP);
        if instruction.mnemonic() == Mnemonic::Lea || instruction.mnemonic() == Mnemonic::Nop {
            return;
        }
        for used in self.infos.info(instruction).used_memory() {
            let is_frame = used.base() == Register::RSP || (function.has_frame_pointer && used.base() == Register::RBP);
            let is_thread_local = matches!(used.segment(), Register::FS | Register::GS);
            if is_frame || is_thread_local {
                continue;
            }
            let (loads, stores) = match used.access() {
                OpAccess::Read | OpAccess::CondRead => (true, false),
                OpAccess::Write | OpAccess::CondWrite => (false, true),
                OpAccess::ReadWrite | OpAccess::ReadCondWrite => (true, true),
                _ => continue,
            };
            function.touches = function.touches.or(Passing {
                tells: stores,
                learns: loads,
            });
            // One relative to the instruction is added to it already.
            let is_named = matches!(used.base(), Register::None | Register::RIP) && used.index() == Register::None;
            function.follows_pointers |= !is_named;
            if is_named {
                function.stored.extend(stores.then_some(used.displacement()));
                function.loaded.extend(loads.then_some(used.displacement()));
            }
        }
    }

    /// Where the functions without instrumentation are.
    pub(super) fn uninstrumented(&self) -> impl Iterator<Item = (u64, u64)> {
        let functions = self.ranges.iter().zip(&self.found);
        functions
            .filter(|(_, function)| !function.is_instrumented)
            .map(|(&range, _)| range)
    }

    /// Those that may pass something on, by their first bytes.
    pub(super) fn passing(self) -> HashMap<u64, Passing> {
        let plain = || self.found.iter().filter(|function| !function.is_instrumented);
        let stored: HashSet<u64> = plain().flat_map(|function| &function.stored).copied().collect();
        let loaded: HashSet<u64> = plain().flat_map(|function| &function.loaded).copied().collect();
        let mut passing = HashMap::new();
        let functions: Vec<(&(u64, u64), &Function)> = self.ranges.iter().zip(&self.found).collect();
        // What was built together stands together.
        for together in functions.chunk_by(|(_, one), (_, next)| one.is_instrumented == next.is_instrumented) {
            if together[0].1.is_instrumented {
                continue;
            }
            let by_atomics = together.iter().any(|(_, function)| function.has_atomics);
            for &(&(start, _), function) in together {
                let by_variable = Passing {
                    tells: function.stored.iter().any(|variable| loaded.contains(variable)),
                    learns: function.loaded.iter().any(|variable| stored.contains(variable)),
                };
                let may = match by_atomics {
                    true => by_variable.or(function.touches),
                    false => by_variable,
                };
                if may.any() {
                    passing.insert(start, may);
                }
            }
        }
        passing
    }
}

/// The functions of instrumented modules that may access memory that others see, and are not instrumented; `None` if a
/// module cannot be read.
///
/// What compilers leave out of instrumented code does not count. That is told by the units of the debug information: a
/// unit of which something is instrumented was compiled so, and of its other functions only what they do to variables
/// that are not constant counts (functions may be exempted, one by one). Code without debug information has no such unit.
#[must_use]
pub fn uninstrumented(tables: &Tables) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for module in tables.modules.iter().filter(|module| module.path.starts_with('/')) {
        let bytes = read_file(&module.path).ok()?;
        let file = object::File::parse(&*bytes).ok()?;
        let code = MachineCode::of(&file);
        if code.is_instrumented() {
            names.extend(of_module(&file, &code));
        }
    }
    names.sort_unstable();
    names.dedup();
    Some(names)
}

/// Those of one module.
fn of_module(file: &object::File<'_>, code: &MachineCode<'_>) -> Vec<String> {
    let mut seen = Functions::new(&code.functions);
    code.each(&mut |instruction, calls_runtime| seen.see(instruction, calls_runtime));
    let units = units(file).unwrap_or_default();
    let unit_of = |at: u64| {
        let below = units.partition_point(|&(start, ..)| start <= at);
        units[..below]
            .last()
            .filter(|&&(_, end, _)| at < end)
            .map(|&(.., unit)| unit)
    };
    let functions: Vec<(&(u64, u64), &Function)> = seen.ranges.iter().zip(&seen.found).collect();
    let instrumented = functions.iter().filter(|(_, function)| function.is_instrumented);
    let instrumented: HashSet<usize> = instrumented.filter_map(|(range, _)| unit_of(range.0)).collect();
    let changes = variables(file);
    let may_change = |address: &u64| changes.iter().any(|&(start, end)| (start..end).contains(address));
    let found = functions.into_iter().filter(|(range, function)| {
        let by_name = function.stored.iter().chain(&function.loaded).any(may_change);
        let left_out = unit_of(range.0).is_some_and(|unit| instrumented.contains(&unit));
        !function.is_instrumented && (by_name || (function.follows_pointers && !left_out))
    });
    let found: HashSet<u64> = found.map(|(range, _)| range.0).collect();
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let named = symbols.filter(|symbol| found.contains(&symbol.address()));
    let names: HashSet<&str> = named.filter_map(|symbol| symbol.name().ok()).collect();
    names.into_iter().map(demangled).collect()
}

/// The sections of variables that are not constant.
pub(super) fn changing<'d, 'f>(file: &'f object::File<'d>) -> impl Iterator<Item = object::Section<'d, 'f>> {
    file.sections()
        .filter(|section| matches!(section.kind(), SectionKind::Data | SectionKind::UninitializedData))
        // The linker's own.
        .filter(|section| {
            section
                .name()
                .is_ok_and(|name| !name.starts_with(".got") && !name.starts_with(".data.rel.ro"))
        })
}

/// Where a module has variables that are not constant: the first bytes, and the first behind them.
pub(super) fn variables(file: &object::File<'_>) -> Vec<(u64, u64)> {
    changing(file)
        .map(|section| (section.address(), section.address() + section.size()))
        .collect()
}

/// The stretches of code that were compiled together, ascending: the first byte, the first behind it, and a number for
/// each unit.
fn units(file: &object::File<'_>) -> gimli::Result<Vec<(u64, u64, usize)>> {
    let load = |section: gimli::SectionId| -> gimli::Result<Cow<'_, [u8]>> {
        let found = file.section_by_name(section.name());
        Ok(found
            .and_then(|section| section.uncompressed_data().ok())
            .unwrap_or_default())
    };
    let sections = gimli::DwarfSections::load(load)?;
    let dwarf = sections.borrow(|section| gimli::EndianSlice::new(section, gimli::LittleEndian));
    let mut found = Vec::new();
    let mut headers = dwarf.units();
    let mut number = 0;
    while let Some(header) = headers.next()? {
        let unit = dwarf.unit(header)?;
        let mut ranges = dwarf.unit_ranges(&unit)?;
        while let Some(range) = ranges.next()? {
            found.push((range.begin, range.end, number));
        }
        number += 1;
    }
    found.sort_unstable();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions};

    /// Functions side by side, each of 16 bytes; of each, whether it is instrumented.
    fn passing(functions: &[(&[u8], bool)]) -> Vec<(bool, bool)> {
        let starts = (0..functions.len() as u64).map(|number| 0x1000 + 16 * number);
        let ranges: Vec<(u64, u64)> = starts.map(|start| (start, start + 16)).collect();
        let mut seen = Functions::new(&ranges);
        for (&(start, _), &(code, is_instrumented)) in ranges.iter().zip(functions) {
            for instruction in Decoder::with_ip(64, code, start, DecoderOptions::NONE) {
                seen.see(&instruction, is_instrumented);
            }
        }
        let found = seen.passing();
        let of = |(start, _): &(u64, u64)| found.get(start).copied().unwrap_or_default();
        ranges.iter().map(|range| (of(range).tells, of(range).learns)).collect()
    }

    /// mov %edi, 0x2000; mov 0x2000, %eax; mov 0x3000, %eax.
    const STORE: &[u8] = &[0x89, 0x3c, 0x25, 0x00, 0x20, 0x00, 0x00, 0xc3];
    const LOAD: &[u8] = &[0x8b, 0x04, 0x25, 0x00, 0x20, 0x00, 0x00, 0xc3];
    const OTHER: &[u8] = &[0x8b, 0x04, 0x25, 0x00, 0x30, 0x00, 0x00, 0xc3];
    /// xchg %eax, (%rdi); movl $0, (%rdi); mov (%rdi), %eax.
    const EXCHANGE: &[u8] = &[0x87, 0x07, 0xc3];
    const CLEAR: &[u8] = &[0xc7, 0x07, 0x00, 0x00, 0x00, 0x00, 0xc3];
    const LOOK: &[u8] = &[0x8b, 0x07, 0xc3];
    /// push %rbp; mov %rsp, %rbp; mov %edi, -4(%rbp); mov 8(%rsp), %eax; mov %fs:0x28, %rax.
    const FRAME: &[u8] = &[0x55, 0x48, 0x89, 0xe5, 0x89, 0x7d, 0xfc, 0x8b, 0x44, 0x24, 0x08, 0xc3];

    #[test]
    fn who_stores_a_variable_tells_who_loads_it() {
        assert_eq!(
            passing(&[(STORE, false), (OTHER, false), (LOAD, false)]),
            [(true, false), (false, false), (false, true)]
        );
        // What instrumented code stores has an event.
        assert_eq!(passing(&[(STORE, true), (LOAD, false)]), [(false, false); 2]);
        assert_eq!(passing(&[(STORE, false), (LOAD, true)]), [(false, false); 2]);
    }

    #[test]
    fn what_stands_beside_atomic_instructions_may_belong_to_the_same_lock() {
        let nothing = (false, false);
        assert_eq!(
            passing(&[(EXCHANGE, false), (CLEAR, false), (LOOK, false), (FRAME, false)]),
            [(true, true), (true, false), (false, true), nothing]
        );
        // What a compiler left out, beside what it has instrumented.
        assert_eq!(
            passing(&[(CLEAR, false), (LOOK, false), (STORE, true), (EXCHANGE, false)]),
            [nothing, nothing, nothing, (true, true)]
        );
    }
}
