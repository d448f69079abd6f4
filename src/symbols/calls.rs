//! Which functions of other libraries a module calls, and where: read from its machine code.
//!
//! A call goes through a stub of the linkage table or through a slot of the offset table, and the slot's relocation
//! names the function. A function that makes such a call, directly or in a function that it calls directly, counts as a
//! place of the call for its callers. Calls through pointers count in the function that makes them. An instruction that
//! synchronizes by itself, in inline assembly or in functions that are not instrumented, counts as a call, too, and so
//! does all else that [such functions](super::uninstrumented) may synchronize by. A jump through a pointer is assumed to
//! be a `switch`.

use super::compilers::lacks_flags;
use super::machine_code::{
    INSTRUMENTATION, Instructions, MachineCode, Transfer, functions, is_atomic, records, slots, stubs, text,
};
use super::uninstrumented::{Functions, Passing};
use hashbrown::{HashMap, HashSet};
use iced_x86::{Code, Instruction, Mnemonic, OpKind, Register};
use object::read::elf::{Dyn, ElfFile64};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind, elf};
use std::collections::BTreeMap;

/// A call, by addresses in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Where it is.
    pub at: u64,
    /// The function that it lies in: its first byte, and the first behind it.
    pub within: (u64, u64),
    /// What is called in the end.
    pub target: Target,
}

/// What a call leads to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// A function of another module.
    Function(String),
    /// What a pointer points to.
    Pointer,
    /// Nothing else: the module's own code, which is not recorded there, may do so much.
    Here(Passing),
}

/// What a module says of itself.
#[derive(Clone, Debug, Default)]
pub struct Linkage {
    /// It calls the instrumentation's runtime.
    pub instrumented: bool,
    /// It is that runtime.
    pub runtime: bool,
    /// The functions that others may call.
    pub exports: HashSet<String>,
    /// What it takes from others.
    pub imports: HashSet<String>,
    /// The libraries that the loader brings with it, by the names that they give themselves.
    pub needed: HashSet<String>,
    /// The name that it gives itself.
    pub soname: Option<String>,
    /// It has instructions that read and write memory at once, for other processors to see, or calls the kernel itself.
    pub atomics: bool,
    /// gcc has instrumented it without flags that it needs to instrument all of it.
    pub lacks_flags: bool,
}

/// Reads what a module says of itself; `None` if it is no file that can be read.
#[must_use]
pub fn linkage(bytes: &[u8]) -> Option<Linkage> {
    let file = object::File::parse(bytes).ok()?;
    let mut found = Linkage::default();
    for symbol in file.dynamic_symbols() {
        let Ok(name) = symbol.name() else { continue };
        if symbol.is_undefined() {
            found.instrumented |= name.starts_with(INSTRUMENTATION);
            found.imports.insert(name.to_owned());
        } else if matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Unknown) {
            found.runtime |= name == "__tsan_func_entry";
            found.exports.insert(name.to_owned());
        }
    }
    found.atomics = text(&file).any(|(start, code)| has_atomics(start, code));
    found.lacks_flags = found.instrumented && lacks_flags(&file);
    (found.needed, found.soname) = libraries(bytes).unwrap_or_default();
    Some(found)
}

/// The libraries that a module needs, and its own name among them.
fn libraries(bytes: &[u8]) -> Option<(HashSet<String>, Option<String>)> {
    let file = ElfFile64::<Endianness>::parse(bytes).ok()?;
    let endian = file.endian();
    let (dynamic, strings) = file.elf_section_table().dynamic(endian, bytes).ok()??;
    let strings = file.elf_section_table().strings(endian, bytes, strings).ok()?;
    let names = |tag: elf::DynamicTag| {
        let entries = dynamic.iter().filter(move |entry| entry.d_tag(endian) == tag);
        entries.filter_map(|entry| {
            let name = strings.get(u32::try_from(entry.d_val(endian)).ok()?).ok()?;
            Some(String::from_utf8_lossy(name).into_owned())
        })
    };
    let own = names(elf::DT_SONAME).next();
    Some((names(elf::DT_NEEDED).collect(), own))
}

/// Whether one of these names stands, as a string, in what a module may read.
#[must_use]
pub fn mentions(bytes: &[u8], names: &HashSet<String>) -> bool {
    let Ok(file) = object::File::parse(bytes) else {
        return false;
    };
    let readable = |kind: SectionKind| {
        matches!(
            kind,
            SectionKind::ReadOnlyData | SectionKind::ReadOnlyString | SectionKind::Data
        ) || matches!(kind, SectionKind::ReadOnlyDataWithRel)
    };
    let mut sections = file.sections().filter(|section| readable(section.kind()));
    sections.any(|section| {
        let strings = section.data().unwrap_or_default().split(|&byte| byte == 0);
        strings
            .filter_map(|bytes| str::from_utf8(bytes).ok())
            .any(|name| names.contains(name))
    })
}

/// Whether code has an instruction that other processors see as one, or calls the kernel's futex.
fn has_atomics(start: u64, code: &[u8]) -> bool {
    recorded_or_not(Instructions::of(start, code, &[])).any(|(instruction, is_unrecorded)| {
        // mov $SYS_futex, %eax; or %edi, for libc's `syscall`.
        let futex = instruction.code() == Code::Mov_r32_imm32
            && instruction.immediate32() == SYS_FUTEX
            && matches!(instruction.op0_register(), Register::EAX | Register::EDI);
        is_unrecorded || futex
    })
}

/// The number of the futex call.
const SYS_FUTEX: u32 = 202;

/// Instructions, and of each whether it synchronizes unrecorded: the assembler of `witness cc` puts a call in front of
/// what inline assembly does (`src/assembly`), which ends with `pop %rdi; lea 136(%rsp), %rsp`.
fn recorded_or_not<'c>(instructions: Instructions<'c>) -> impl Iterator<Item = (Instruction, bool)> + 'c {
    let (mut ends_soon, mut announced) = (false, false);
    instructions.map(move |instruction| {
        let is_unrecorded = is_atomic(&instruction) && !announced;
        let frees_stack = instruction.code() == Code::Lea_r64_m
            && (instruction.op0_register(), instruction.memory_base()) == (Register::RSP, Register::RSP)
            && instruction.memory_displacement64() == 136;
        announced = ends_soon && frees_stack;
        ends_soon = instruction.code() == Code::Pop_r64 && instruction.op0_register() == Register::RDI;
        (instruction, is_unrecorded)
    })
}

/// Functions by which a program tells of its own locks what the runtime cannot see.
fn announces(name: &str) -> bool {
    name.starts_with("AnnotateRWLock") || name.starts_with("__tsan_mutex_")
}

/// Where a module comes back to from the calls that announce its own locks.
#[must_use]
pub fn announcements(bytes: &[u8]) -> Vec<u64> {
    let Ok(file) = object::File::parse(bytes) else {
        return Vec::new();
    };
    let slots = slots(&file);
    if !slots.values().any(|name| announces(name)) {
        return Vec::new();
    }
    let stubs = stubs(&file, &slots, &announces);
    let functions = functions(&file);
    let code = text(&file).flat_map(|(start, code)| Instructions::of(start, code, &functions));
    let announcing = code.filter(|instruction| match instruction.op0_kind() {
        _ if instruction.mnemonic() != Mnemonic::Call => false,
        OpKind::NearBranch64 => stubs.contains_key(&instruction.near_branch_target()),
        OpKind::Memory if instruction.is_ip_rel_memory_operand() => slots
            .get(&instruction.ip_rel_memory_address())
            .is_some_and(|name| announces(name)),
        _ => false,
    });
    announcing.map(|call| call.next_ip()).collect()
}

/// What a module calls.
#[derive(Debug, Default)]
pub struct Calls {
    /// The calls.
    pub list: Vec<Call>,
    /// Of the functions that are not instrumented, the first byte, the first behind it, and what they lead to.
    pub uninstrumented: Vec<((u64, u64), Vec<Target>)>,
}

/// The calls of a module: to the functions of those libraries that `library` names, by a number for each; and, if
/// pointers may lead to such, the calls through them.
#[must_use]
pub fn calls(bytes: &[u8], library: &dyn Fn(&str) -> Option<usize>, pointers: bool) -> Calls {
    let Ok(file) = object::File::parse(bytes) else {
        return Calls::default();
    };
    let MachineCode {
        sections,
        functions,
        slots,
        to_runtime,
    } = &MachineCode::of(&file);
    let to_libraries = stubs(&file, slots, &|name| library(name).is_some());
    let within = |at: u64| {
        let below = functions.partition_point(|&(start, _)| start <= at);
        functions[..below].last().copied().filter(|&(_, end)| at < end)
    };
    // What each function comes to call, one target for each library: directly at first, then by those that it calls.
    let mut reached: HashMap<u64, BTreeMap<Option<usize>, Target>> = HashMap::new();
    let mut found: Vec<Call> = Vec::new();
    let mut called: HashMap<u64, Vec<u64>> = HashMap::new();
    let mut plain = Functions::new(functions);
    let of = |target: &Target| match target {
        Target::Function(name) => library(name),
        Target::Pointer | Target::Here(_) => None,
    };
    for &(start, code) in sections {
        for (instruction, is_unrecorded) in recorded_or_not(Instructions::of(start, code, functions)) {
            let at = instruction.ip();
            let transfer = Transfer::of(&instruction, slots);
            plain.see(&instruction, transfer.calls(to_runtime, &records));
            let function = match transfer.slot {
                Some(function) => Some(function).filter(|name| library(name).is_some()),
                None => transfer.direct.and_then(|direct| to_libraries.get(&direct)),
            };
            let through_pointer = transfer.through_pointer && instruction.mnemonic() == Mnemonic::Call;
            let target = match function {
                Some(function) => Target::Function(function.clone()),
                None if is_unrecorded => Target::Here(Passing::BOTH),
                None if through_pointer && pointers => Target::Pointer,
                None => {
                    let own = |direct: &u64| functions.binary_search_by_key(direct, |&(start, _)| start).is_ok();
                    if let Some(direct) = transfer.direct.filter(own) {
                        called.entry(direct).or_default().push(at);
                    }
                    continue;
                }
            };
            if let Some(within) = within(at) {
                // Who calls a function that calls a pointer is too often far from doing so.
                if target != Target::Pointer {
                    reach(reached.entry(within.0).or_default(), of(&target), &target);
                }
                found.push(Call { at, within, target });
            }
        }
    }
    let uninstrumented: Vec<(u64, u64)> = plain.uninstrumented().collect();
    // No event lies in them, so what they do is done where they are called.
    for (function, passing) in plain.passing() {
        reach(reached.entry(function).or_default(), None, &Target::Here(passing));
    }
    let mut open: Vec<u64> = reached.keys().copied().collect();
    open.sort_unstable();
    while let Some(function) = open.pop() {
        let targets = reached[&function].clone();
        for &at in called.get(&function).into_iter().flatten() {
            let Some(caller) = within(at) else { continue };
            let reached = reached.entry(caller.0).or_default();
            let mut is_new = false;
            for (&library, target) in &targets {
                is_new |= reach(reached, library, target);
                found.push(Call {
                    at,
                    within: caller,
                    target: target.clone(),
                });
            }
            if is_new {
                open.push(caller.0);
            }
        }
    }
    found.sort_by(|a, b| (a.at, &a.target).cmp(&(b.at, &b.target)));
    found.dedup();
    let uninstrumented = uninstrumented.into_iter().filter_map(|range| {
        let targets = reached.remove(&range.0)?;
        Some((range, targets.into_values().collect()))
    });
    Calls {
        uninstrumented: uninstrumented.collect(),
        list: found,
    }
}

/// Adds what a function comes to call; whether that is new.
fn reach(reached: &mut BTreeMap<Option<usize>, Target>, library: Option<usize>, target: &Target) -> bool {
    match (reached.get_mut(&library), target) {
        (Some(Target::Here(known)), Target::Here(more)) => {
            let before = *known;
            *known = before.or(*more);
            *known != before
        }
        (Some(_), _) => false,
        (None, _) => {
            reached.insert(library, target.clone());
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::has_atomics;

    #[test]
    fn instructions_that_other_processors_see_are_told_from_others() {
        // lock cmpxchg %edx,(%rdi); lock xadd %rax,(%rdi); lock decl 8(%rax); xchg %eax,(%rdi); mov $0xca,%eax, syscall
        assert!(has_atomics(0, &[0x90, 0xf0, 0x0f, 0xb1, 0x17, 0x90]));
        assert!(has_atomics(0, &[0xf0, 0x48, 0x0f, 0xc1, 0x07]));
        assert!(has_atomics(0, &[0xf0, 0xff, 0x48, 0x08]));
        assert!(has_atomics(0, &[0x87, 0x07]));
        assert!(has_atomics(0, &[0xb8, 0xca, 0x00, 0x00, 0x00, 0x0f, 0x05]));
        // mov %rsi,%rax; movzbl (%rax),%eax; cmpxchg without the lock
        assert!(!has_atomics(0, &[0x48, 0x89, 0xf0, 0x0f, 0xb6, 0x00, 0x0f, 0xb1, 0x17]));
        // mov -0x10(%rbp),%eax; inc (%rax): the bytes of a lock, within another instruction. xchg %rax,%rbx; lock orq
        // $0,(%rsp), a fence.
        assert!(!has_atomics(0, &[0x8b, 0x45, 0xf0, 0xff, 0x00]));
        assert!(!has_atomics(0, &[0x48, 0x87, 0xc3, 0xf0, 0x48, 0x83, 0x0c, 0x24, 0x00]));
        // pop %rdi; lea 136(%rsp),%rsp; lock incl (%rdi): announced; and another one behind it.
        let announced = [0x5f, 0x48, 0x8d, 0xa4, 0x24, 0x88, 0, 0, 0, 0xf0, 0xff, 0x07];
        assert!(!has_atomics(0, &announced));
        assert!(has_atomics(0, &[&announced[..], &[0xf0, 0xff, 0x07]].concat()));
        assert!(has_atomics(0, &announced[1..]));
    }
}
