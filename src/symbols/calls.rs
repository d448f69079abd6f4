//! Which functions of other libraries a module calls, and where: read from its machine code.
//!
//! A call goes through a stub of the linkage table or through a slot of the offset table, and the slot's relocation names the function. Code is
//! searched for the bytes of such calls, without decoding what lies between; what only looks like one would have to hit a stub exactly. A function that
//! makes such a call, itself or by what it calls directly, counts as a place of the call for its callers. Calls through pointers are found in the
//! function that makes them, by bytes that may also stand there by chance. An instruction that synchronizes by itself, in inline assembly or in
//! functions that are not instrumented, counts as a call, too.

use hashbrown::{HashMap, HashSet};
use object::read::elf::{Dyn, ElfFile64};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionKind, SymbolKind, elf};

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
    /// Nothing else: the instruction itself synchronizes.
    Here,
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
}

/// An instrumented function's name.
const INSTRUMENTATION: &str = "__tsan_";

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
    found.atomics = text(&file).any(|(_, code)| has_atomics(code));
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

/// Whether code compares and exchanges, or adds to, memory for other processors to see, or calls the kernel's futex. The bytes of these few
/// instructions are searched for, which hardly ever stand there by chance. Whoever makes a lock of nothing but `xchg` is not found.
fn has_atomics(code: &[u8]) -> bool {
    // mov $SYS_futex, %eax
    code.windows(5)
        .any(|bytes| is_atomic(bytes) || matches!(bytes, [0xb8, 0xca, 0, 0, 0]))
}

/// Whether code begins with a locked `cmpxchg` or `xadd`.
fn is_atomic(code: &[u8]) -> bool {
    let exchanges = |opcode: u8, modrm: u8| matches!(opcode, 0xb0 | 0xb1 | 0xc0 | 0xc1) && modrm & 0xc0 != 0xc0;
    match *code {
        [0xf0, 0x0f, opcode, modrm, ..] => exchanges(opcode, modrm),
        // With a prefix for the width, or for further registers.
        [0xf0, 0x40..=0x4f, 0x0f, opcode, modrm, ..] => exchanges(opcode, modrm),
        _ => false,
    }
}

/// Whether there is a call through a register or through memory at `offset`, other than through a slot of the offset table.
fn is_through_pointer(code: &[u8], offset: usize) -> bool {
    let (Some(0xff), Some(&modrm)) = (code.get(offset), code.get(offset + 1)) else {
        return false;
    };
    if modrm & 0x38 != 0x10 || modrm == 0x15 {
        return false;
    }
    // The last byte of how far a direct call goes back, and the instruction behind it, look the same.
    let direct = offset.checked_sub(4).and_then(|from| code.get(from..=offset));
    let Some(&[0xe8 | 0xe9, a, b, c, d]) = direct else {
        return true;
    };
    let target = (offset as i64 + 1) + i64::from(i32::from_le_bytes([a, b, c, d]));
    // Stubs stand before the code that uses them.
    target < -(MOST_STUBS as i64)
}

/// Bytes of stubs at most before a section of code.
const MOST_STUBS: usize = 1 << 20;

/// The calls of a module to the functions that `wanted` accepts; and, if pointers may lead to such, the calls through them.
#[must_use]
pub fn calls(bytes: &[u8], wanted: &dyn Fn(&str) -> bool, pointers: bool) -> Vec<Call> {
    let Ok(file) = object::File::parse(bytes) else {
        return Vec::new();
    };
    let slots = slots(&file, wanted);
    let stubs = stubs(&file, &slots);
    let functions = functions(&file);
    let within = |at: u64| {
        let below = functions.partition_point(|&(start, _)| start <= at);
        functions[..below].last().copied().filter(|&(_, end)| at < end)
    };
    // What each function comes to call: directly at first, then by those that it calls.
    let mut reached: HashMap<u64, Vec<Target>> = HashMap::new();
    let mut found: Vec<Call> = Vec::new();
    let mut local: Vec<(u64, u64)> = Vec::new();
    for (start, code) in text(&file) {
        for (offset, bytes) in code.windows(6).enumerate() {
            let at = start + offset as u64;
            let relative = |from: usize| {
                i64::from(i32::from_le_bytes([
                    bytes[from],
                    bytes[from + 1],
                    bytes[from + 2],
                    bytes[from + 3],
                ]))
            };
            let function = match bytes {
                [0xe8 | 0xe9, ..] => {
                    let target = at.wrapping_add(5).wrapping_add_signed(relative(1));
                    if !stubs.contains_key(&target)
                        && functions.binary_search_by_key(&target, |&(start, _)| start).is_ok()
                    {
                        local.push((at, target));
                    }
                    stubs.get(&target)
                }
                [0xff, 0x15 | 0x25, ..] => slots.get(&at.wrapping_add(6).wrapping_add_signed(relative(2))),
                _ => None,
            };
            let target = match function {
                Some(function) => Target::Function(function.clone()),
                None if is_atomic(bytes) => Target::Here,
                None if pointers && is_through_pointer(code, offset) => Target::Pointer,
                None => continue,
            };
            if let Some(within) = within(at) {
                // Who calls a function that calls a pointer is too often far from doing so.
                if target != Target::Pointer {
                    reached.entry(within.0).or_default().push(target.clone());
                }
                found.push(Call { at, within, target });
            }
        }
    }
    let mut called: HashMap<u64, Vec<u64>> = HashMap::new();
    for &(at, target) in &local {
        called.entry(target).or_default().push(at);
    }
    let mut open: Vec<u64> = reached.keys().copied().collect();
    open.sort_unstable();
    while let Some(function) = open.pop() {
        let target = reached[&function][0].clone();
        for &at in called.get(&function).into_iter().flatten() {
            let Some(caller) = within(at) else { continue };
            found.push(Call {
                at,
                within: caller,
                target: target.clone(),
            });
            if !reached.contains_key(&caller.0) {
                reached.insert(caller.0, vec![target.clone()]);
                open.push(caller.0);
            }
        }
    }
    found.sort_by(|a, b| (a.at, &a.target).cmp(&(b.at, &b.target)));
    found.dedup();
    found
}

fn text<'f>(file: &'f object::File<'f>) -> impl Iterator<Item = (u64, &'f [u8])> {
    let sections = file.sections().filter(|section| section.kind() == SectionKind::Text);
    sections.filter_map(|section| Some((section.address(), section.data().ok()?)))
}

/// Slots of the offset table, by the function that the loader puts into them.
fn slots(file: &object::File<'_>, wanted: &dyn Fn(&str) -> bool) -> HashMap<u64, String> {
    let Some(relocations) = file.dynamic_relocations() else {
        return HashMap::new();
    };
    let symbols = file.dynamic_symbol_table();
    let named = relocations.filter_map(|(slot, relocation)| {
        let RelocationTarget::Symbol(symbol) = relocation.target() else {
            return None;
        };
        let name = object::ObjectSymbolTable::symbol_by_index(symbols.as_ref()?, symbol)
            .ok()?
            .name()
            .ok()?
            .to_owned();
        wanted(&name).then_some((slot, name))
    });
    named.collect()
}

/// Stubs that jump through these slots.
fn stubs(file: &object::File<'_>, slots: &HashMap<u64, String>) -> HashMap<u64, String> {
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
            if let Some(name) = slots.get(&slot) {
                // The jump stands behind a landing mark and a prefix, in entries of 8 or 16 bytes.
                found.insert(at & !7, name.clone());
                found.insert(at & !15, name.clone());
            }
        }
    }
    found
}

/// The functions, by address: the first byte and the first behind it.
fn functions(file: &object::File<'_>) -> Vec<(u64, u64)> {
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let functions = symbols.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
    let mut found: Vec<(u64, u64)> = functions
        .map(|symbol| (symbol.address(), symbol.address() + symbol.size()))
        .collect();
    found.sort_unstable();
    found.dedup_by_key(|&mut (start, _)| start);
    found
}

#[cfg(test)]
mod tests {
    use super::{has_atomics, is_through_pointer};

    #[test]
    fn calls_through_pointers_are_told_from_direct_ones() {
        // call *%rax; call *%r12; call *0x18(%rax); call *(%rbx)
        assert!(is_through_pointer(&[0xff, 0xd0], 0));
        assert!(is_through_pointer(&[0x41, 0xff, 0xd4], 1));
        assert!(is_through_pointer(&[0xff, 0x50, 0x18], 0));
        assert!(is_through_pointer(&[0xff, 0x13], 0));
        // call *0x2fe2(%rip), jmp *%rax, push (%rax)
        assert!(!is_through_pointer(&[0xff, 0x15, 0xe2, 0x2f, 0, 0], 0));
        assert!(!is_through_pointer(&[0xff, 0xe0], 0));
        assert!(!is_through_pointer(&[0xff, 0x30], 0));
        // A direct call some bytes back, and push %rax behind it.
        assert!(!is_through_pointer(&[0xe8, 0xe0, 0xfd, 0xff, 0xff, 0x50], 4));
    }

    #[test]
    fn instructions_that_other_processors_see_are_told_from_others() {
        // lock cmpxchg %edx,(%rdi); lock xadd %rax,(%rdi); mov $0xca,%eax
        assert!(has_atomics(&[0x90, 0xf0, 0x0f, 0xb1, 0x17, 0x90]));
        assert!(has_atomics(&[0xf0, 0x48, 0x0f, 0xc1, 0x07]));
        assert!(has_atomics(&[0xb8, 0xca, 0x00, 0x00, 0x00, 0x0f, 0x05]));
        // mov %rsi,%rax; movzbl (%rax),%eax; cmpxchg without the lock
        assert!(!has_atomics(&[0x48, 0x89, 0xf0, 0x0f, 0xb6, 0x00, 0x0f, 0xb1, 0x17]));
    }
}
