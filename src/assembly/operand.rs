//! The operands of instructions, as AT&T writes them.

/// One operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operand<'t> {
    /// `%eax`, without the sign.
    Register(&'t str),
    /// `$5`, without the sign.
    Immediate(&'t str),
    /// Anything else: an address, or a label.
    Memory(&'t str),
}

/// The general registers by their names: of 1, 2, 4 and 8 bytes.
const REGISTERS: [[&str; 4]; 16] = [
    ["al", "ax", "eax", "rax"],
    ["bl", "bx", "ebx", "rbx"],
    ["cl", "cx", "ecx", "rcx"],
    ["dl", "dx", "edx", "rdx"],
    ["sil", "si", "esi", "rsi"],
    ["dil", "di", "edi", "rdi"],
    ["bpl", "bp", "ebp", "rbp"],
    ["spl", "sp", "esp", "rsp"],
    ["r8b", "r8w", "r8d", "r8"],
    ["r9b", "r9w", "r9d", "r9"],
    ["r10b", "r10w", "r10d", "r10"],
    ["r11b", "r11w", "r11d", "r11"],
    ["r12b", "r12w", "r12d", "r12"],
    ["r13b", "r13w", "r13d", "r13"],
    ["r14b", "r14w", "r14d", "r14"],
    ["r15b", "r15w", "r15d", "r15"],
];

/// A general register of this name: the number of its bytes, and its whole.
fn general(name: &str) -> Option<(u8, &'static str)> {
    REGISTERS.iter().find_map(|names| {
        let size = names.iter().position(|&other| other == name)?;
        Some((1 << size, names[3]))
    })
}

impl<'t> Operand<'t> {
    /// Those of a text that follows the name of an instruction.
    pub(super) fn list(text: &'t str) -> Vec<Operand<'t>> {
        let mut depth = 0;
        let parts = text.split(move |c: char| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            c == ',' && depth == 0
        });
        let parts = parts.map(str::trim).filter(|part| !part.is_empty());
        parts.map(Operand::of).collect()
    }

    fn of(text: &'t str) -> Operand<'t> {
        if let Some(immediate) = text.strip_prefix('$') {
            return Operand::Immediate(immediate.trim());
        }
        match text.strip_prefix('%') {
            Some(register) if !text.contains([':', '(']) => Operand::Register(register),
            _ => Operand::Memory(text),
        }
    }

    pub(super) fn is_memory(&self) -> bool {
        matches!(self, Operand::Memory(_))
    }

    /// `*%rax`, where a jump may lead anywhere.
    pub(super) fn is_indirect(&self) -> bool {
        matches!(self, Operand::Memory(text) if text.starts_with('*'))
    }

    /// The stack pointer itself, as an operand or in the place of an index.
    pub(super) fn is_stack_pointer(&self) -> bool {
        match self {
            Operand::Register(name) => general(name).is_some_and(|(_, whole)| whole == "rsp"),
            _ => false,
        }
    }

    /// How many bytes a general register has.
    pub(super) fn register_size(&self) -> Option<u8> {
        match self {
            Operand::Register(name) => general(name).map(|(size, _)| size),
            _ => None,
        }
    }

    /// Memory on the top of the stack.
    pub(super) fn is_on_stack(&self) -> bool {
        matches!(self, Operand::Memory(text) if text.contains("(%rsp") || text.contains("(%esp"))
    }

    /// As an operand of `lea`, where the stack has grown by so many bytes. Not what a segment is added to, and nothing that
    /// `lea` would take for other than this instruction does.
    pub(super) fn address(&self, grown: i64) -> Option<String> {
        let Operand::Memory(text) = self else { return None };
        let odd = |c: char| !(c.is_ascii_alphanumeric() || "_.$@+-*()%, \t".contains(c));
        if text.contains(odd) || text.starts_with('*') || text.contains("%fs") || text.contains("%gs") {
            return None;
        }
        let Some((displacement, inside)) = text.split_once('(') else {
            return Some((*text).to_owned());
        };
        let registers: Vec<&str> = inside.trim_end().strip_suffix(')')?.split(',').map(str::trim).collect();
        let [base, index @ ..] = &*registers else { return None };
        let whole = |register: &str| {
            let name = register.strip_prefix('%')?;
            (name == "rip" || general(name).is_some_and(|(size, _)| size == 8)).then_some(())
        };
        if !base.is_empty() {
            whole(base)?;
        }
        if let Some(index) = index.first() {
            whole(index)?;
        }
        match *base {
            "%rsp" if displacement.trim().is_empty() => Some(format!("{grown}({inside}")),
            "%rsp" => Some(format!("{grown}+{displacement}({inside}")),
            _ => Some((*text).to_owned()),
        }
    }

    /// As an operand of `push`, of which this many bytes count.
    pub(super) fn pushed(&self, size: u8) -> Option<String> {
        match self {
            Operand::Register(name) => general(name).map(|(_, whole)| format!("%{whole}")),
            Operand::Immediate(text) => {
                let number = number(text)?;
                // The highest byte is extended again.
                let bits = 64 - 8 * u32::from(size.min(8));
                let extended = number << bits >> bits;
                i32::try_from(extended).ok().map(|number| format!("${number}"))
            }
            Operand::Memory(_) => None,
        }
    }
}

/// A number as the assembler reads it.
fn number(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let (base, digits) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => (16, digits),
        None if digits.len() > 1 && digits.starts_with('0') => (8, digits),
        None => (10, digits),
    };
    let magnitude = u64::from_str_radix(digits, base).ok()?;
    Some((magnitude as i64).wrapping_mul(sign))
}
