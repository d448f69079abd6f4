//! Whether a store lies between two hooks: a small look at the program's machine code.
//!
//! gcc announces both sides of a struct copy before it copies: `write(a)`, `read(b)`, then the
//! moves. The same two hooks in `*a = 1; … = *b` have the store in between. In the first case the
//! read comes first and the write's value must wait one hook longer. What tells the two apart is
//! the code between the calls: with nothing but moves into registers, and calls that find a thread-local variable, no
//! store can have happened. (`tests/instruction.rs` runs the tests of this file.)

use core::cell::Cell;

/// Most bytes of code that gcc puts between the two calls of a copy.
const LONGEST: usize = 96;
const CACHE: usize = 256;

/// Recent answers, by the two return addresses. Used by the holder of the baton.
static ANSWERS: Answers = Answers([const { Cell::new((0, 0, false)) }; CACHE]);

struct Answers([Cell<(usize, usize, bool)>; CACHE]);

// SAFETY: only the thread with the baton looks or stores.
unsafe impl Sync for Answers {}

fn slot(from: usize, to: usize) -> &'static Cell<(usize, usize, bool)> {
    &ANSWERS.0[(from ^ to >> 3) % CACHE]
}

/// Whether the code from return address `from` to the call that returns to `to` only moves values
/// into registers.
#[inline(always)]
pub fn only_moves_registers(from: usize, to: usize) -> bool {
    if !is_near(from, to) {
        return false;
    }
    let slot = slot(from, to);
    let (known_from, known_to, answer) = slot.get();
    if (known_from, known_to) == (from, to) {
        return answer;
    }
    look(from, to)
}

/// The same for a thread that may have lost the baton, in the handler of a fault.
pub fn only_moves_registers_for_anyone(from: usize, to: usize) -> bool {
    is_near(from, to) && decode(code(from, to))
}

/// Whether the code between is a call at least, and no more than what gcc puts there.
#[inline(always)]
fn is_near(from: usize, to: usize) -> bool {
    to > from && (5..=LONGEST).contains(&(to - from))
}

/// The code between two positions that are at most [`LONGEST`] apart.
fn code(from: usize, to: usize) -> &'static [u8] {
    // SAFETY: the thread comes back to the first byte, and was at the last one, so their pages are the program's code;
    // there is no page between the two.
    unsafe { core::slice::from_raw_parts(from as *const u8, to - from) }
}

/// The same up to the instruction at `to`, which did not come to its end.
pub fn only_moves_registers_before(from: usize, to: usize) -> bool {
    if to < from || to - from > LONGEST {
        return false;
    }
    let mut code = code(from, to);
    while !code.is_empty() {
        match register_move(code) {
            Some(length) if length <= code.len() => code = &code[length..],
            _ => return false,
        }
    }
    true
}

/// Looks at the code, and remembers what it is.
#[cold]
fn look(from: usize, to: usize) -> bool {
    let slot = slot(from, to);
    let answer = decode(code(from, to));
    slot.set((from, to, answer));
    answer
}

/// Reads instructions up to the final call; any that is not known to leave memory alone ends it.
fn decode(mut code: &[u8]) -> bool {
    loop {
        // call rel32; call [rip+disp32], which a program without a PLT uses.
        if matches!(code, [0xe8, _, _, _, _] | [0xff, 0x15, _, _, _, _]) {
            return true;
        }
        match register_move(code).or_else(|| call_for_address(code)) {
            Some(length) if length < code.len() => code = &code[length..],
            _ => return false,
        }
    }
}

/// The length of the call that finds thread-local variables of a library. One kind has prefixes, of which it has no use:
/// they make room for what the linker may put in its place, and no other call has them. The call has been made.
fn call_for_address(code: &[u8]) -> Option<usize> {
    let number = |at: usize| Some(i32::from_le_bytes(code.get(at..at + 4)?.try_into().ok()?) as isize);
    let behind = |length: usize, distance: isize| code.as_ptr().wrapping_add(length).wrapping_offset(distance);
    match code {
        // data16 data16 rex.W call rel32; data16 rex.W call [rip+disp32].
        [0x66, 0x66, 0x48, 0xe8, _, _, _, _, ..] | [0x66, 0x48, 0xff, 0x15, _, _, _, _, ..] => Some(8),
        // SAFETY: what was called is code.
        [0xe8, ..] => unsafe { leads_to_it(behind(5, number(1)?)) }.then_some(5),
        // SAFETY: what a call takes its target from is readable.
        [0xff, 0x15, ..] => unsafe { holds_it(behind(6, number(2)?)) }.then_some(6),
        _ => None,
    }
}

/// Whether a function is a stub of the linker's for that which finds thread-local variables.
///
/// # Safety
/// There is code.
unsafe fn leads_to_it(mut stub: *const u8) -> bool {
    // SAFETY: of each instruction, the first byte says how many follow; what a stub jumps by is readable.
    unsafe {
        // endbr64, bnd.
        if stub.read() == 0xf3 && stub.add(1).read() == 0x0f {
            stub = stub.add(4);
        }
        if stub.read() == 0xf2 {
            stub = stub.add(1);
        }
        if stub.read() != 0xff || stub.add(1).read() != 0x25 {
            return false;
        }
        let distance = stub.add(2).cast::<i32>().read_unaligned();
        holds_it(stub.wrapping_add(6).wrapping_offset(distance as isize))
    }
}

/// # Safety
/// There are eight bytes to read.
unsafe fn holds_it(slot: *const u8) -> bool {
    unsafe extern "C" {
        fn __tls_get_addr();
    }
    // SAFETY: promised by the caller.
    unsafe { slot.cast::<usize>().read_unaligned() == __tls_get_addr as *const () as usize }
}

/// The length of the instruction at the start of `code` if it only writes registers and flags, and goes to the next.
fn register_move(code: &[u8]) -> Option<usize> {
    let mut at = 0;
    let (mut half, mut repeats) = (false, false);
    // Of the size, of a segment, and what makes other instructions of those behind 0f.
    while let 0x64..=0x66 | 0xf2 | 0xf3 = *code.get(at)? {
        half |= code[at] == 0x66;
        repeats |= code[at] >= 0xf2;
        at += 1;
    }
    let mut wide = false;
    if (0x40..=0x4f).contains(code.get(at)?) {
        wide = code[at] & 8 != 0;
        at += 1;
    }
    let opcode = *code.get(at)?;
    at += 1;
    if opcode == 0x0f {
        return after_0f(code, at, half, repeats);
    }
    if repeats {
        return None;
    }
    // The bytes of a number that is no address.
    let number = if half { 2 } else { 4 };
    let kind = || code.get(at).map(|modrm| modrm >> 3 & 7);
    match opcode {
        // add, or, adc, sbb, and, sub, xor, cmp, mov into a register; movsxd; lea; test; cmp of memory.
        0x02
        | 0x03
        | 0x0a
        | 0x0b
        | 0x12
        | 0x13
        | 0x1a
        | 0x1b
        | 0x22
        | 0x23
        | 0x2a
        | 0x2b
        | 0x32
        | 0x33
        | 0x38..=0x3b
        | 0x63
        | 0x84
        | 0x85
        | 0x8a
        | 0x8b
        | 0x8d => Some(at + operand(code, at)?),
        // The same with the register on the other side, xchg: only if that is a register too.
        0x00
        | 0x01
        | 0x08
        | 0x09
        | 0x10
        | 0x11
        | 0x18
        | 0x19
        | 0x20
        | 0x21
        | 0x28
        | 0x29
        | 0x30
        | 0x31
        | 0x86..=0x89
            if is_register(code, at)? =>
        {
            Some(at + 1)
        }
        // With a number: imul, and what changes the accumulator, or compares it.
        0x69 => Some(at + operand(code, at)? + number),
        0x6b => Some(at + operand(code, at)? + 1),
        0x04 | 0x0c | 0x14 | 0x1c | 0x24 | 0x2c | 0x34 | 0x3c | 0xa8 => Some(at + 1),
        0x05 | 0x0d | 0x15 | 0x1d | 0x25 | 0x2d | 0x35 | 0x3d | 0xa9 => Some(at + number),
        // Arithmetic of an operand and a number: of memory, only comparisons.
        0x80 | 0x83 if is_register(code, at)? || kind()? == 7 => Some(at + operand(code, at)? + 1),
        0x81 if is_register(code, at)? || kind()? == 7 => Some(at + operand(code, at)? + number),
        // Shifts; mov of a number.
        0xc0 | 0xc1 if is_register(code, at)? => Some(at + 2),
        0xd0..=0xd3 if is_register(code, at)? => Some(at + 1),
        0xc6 if is_register(code, at)? && kind()? == 0 => Some(at + 2),
        0xc7 if is_register(code, at)? && kind()? == 0 => Some(at + 1 + number),
        0xb0..=0xb7 => Some(at + 1),
        0xb8..=0xbf => Some(at + if wide { 8 } else { number }),
        // test, not, neg, mul, div; inc and dec.
        0xf6 if kind()? < 2 => Some(at + operand(code, at)? + 1),
        0xf7 if kind()? < 2 => Some(at + operand(code, at)? + number),
        0xf6 | 0xf7 if is_register(code, at)? || kind()? >= 4 => Some(at + operand(code, at)?),
        0xfe | 0xff if is_register(code, at)? && kind()? < 2 => Some(at + 1),
        // xchg with the accumulator, of which one is nop; cdqe and cqo.
        0x90..=0x99 => Some(at),
        _ => None,
    }
}

/// The same behind the byte 0f, up to which it is given.
fn after_0f(code: &[u8], at: usize, half: bool, repeats: bool) -> Option<usize> {
    let opcode = *code.get(at)?;
    let at = at + 1;
    match opcode {
        // movzx, movsx, imul, bit scans, cmov, long nop.
        0xb6 | 0xb7 | 0xbe | 0xbf | 0xaf | 0xbc | 0xbd | 0x40..=0x4f => Some(at + operand(code, at)?),
        0x1f if !repeats => Some(at + operand(code, at)?),
        0xb8 if repeats => Some(at + operand(code, at)?),
        // Into vector registers: moves of 16 bytes, or of a number.
        0x10 | 0x28 | 0x6e => Some(at + operand(code, at)?),
        0x6f if half || repeats => Some(at + operand(code, at)?),
        0x7e if repeats => Some(at + operand(code, at)?),
        // Out of them into a register.
        0x11 | 0x29 | 0x7e | 0x7f | 0xd6 if is_register(code, at)? => Some(at + 1),
        // Arithmetic, conversions and comparisons of numbers with a fraction; bits of vectors.
        0x2a | 0x2c..=0x2f | 0x51 | 0x54..=0x5f => Some(at + operand(code, at)?),
        0x14 | 0x15 if !repeats => Some(at + operand(code, at)?),
        0x60..=0x66 | 0x68..=0x6d | 0xd4 | 0xdb | 0xdf | 0xeb | 0xef | 0xfa..=0xfe if half && !repeats => {
            Some(at + operand(code, at)?)
        }
        0x70 | 0xc6 => Some(at + operand(code, at)? + 1),
        // bt; shld and shrd; setcc; bswap.
        0xa3 | 0xa5 | 0xad | 0x90..=0x9f if is_register(code, at)? => Some(at + 1),
        0xa4 | 0xac | 0xba if is_register(code, at)? => Some(at + 2),
        0xc8..=0xcf => Some(at),
        _ => None,
    }
}

fn is_register(code: &[u8], at: usize) -> Option<bool> {
    Some(code.get(at)? >> 6 == 3)
}

/// The length of a ModRM byte with what belongs to it.
fn operand(code: &[u8], at: usize) -> Option<usize> {
    let modrm = *code.get(at)?;
    let (mode, base) = (modrm >> 6, modrm & 7);
    let scaled = mode != 3 && base == 4;
    let displacement = match mode {
        0 if base == 5 => 4,
        0 if scaled && code.get(at + 1)? & 7 == 5 => 4,
        1 => 1,
        2 => 4,
        _ => 0,
    };
    Some(1 + usize::from(scaled) + displacement)
}

#[cfg(test)]
mod tests {
    use super::{decode, register_move};
    use iced_x86::{Decoder, DecoderOptions, FlowControl, InstructionInfoFactory, Mnemonic, OpAccess};
    use object::{Object, ObjectSection};
    use std::{env, fs};

    /// Compared with a decoder that knows all instructions, on those of this program.
    #[test]
    fn what_only_writes_registers_is_told_from_everything_else() {
        let file = fs::read(env::current_exe().expect("its own name")).expect("itself");
        let file = object::File::parse(&*file).expect("an executable");
        let text = file.section_by_name(".text").expect("code");
        let code = text.data().expect("bytes");
        let mut infos = InstructionInfoFactory::new();
        let (mut known, mut unknown) = (0_usize, 0_usize);
        for instruction in Decoder::with_ip(64, code, 0, DecoderOptions::NONE) {
            let at = instruction.ip() as usize;
            let stores = infos.info(&instruction).used_memory().iter().any(|used| {
                !matches!(
                    used.access(),
                    OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess
                )
            });
            let only_registers = !stores && instruction.flow_control() == FlowControl::Next;
            let bytes = &code[at..];
            match register_move(bytes) {
                Some(length) => {
                    assert!(only_registers, "{:x?}: {:?}", &bytes[..16], instruction.mnemonic());
                    assert_eq!(
                        length,
                        instruction.len(),
                        "{:x?}: {:?}",
                        &bytes[..16],
                        instruction.mnemonic()
                    );
                    known += 1;
                }
                // Vectors of longer registers, and what pops.
                None if only_registers && instruction.mnemonic() != Mnemonic::Pop => unknown += 1,
                None => {}
            }
        }
        assert!(
            known > 100_000 && unknown < known / 100,
            "{unknown} are unknown, {known} are not"
        );
    }

    #[test]
    fn a_copy_has_no_store_between_its_two_hooks() {
        const CALL: [u8; 5] = [0xe8, 1, 2, 3, 4];
        let between = |code: &[u8]| decode(&[code, &CALL].concat());
        assert!(between(&[]));
        // mov x@gottpoff(%rip), %rbp; mov %fs:0, %rdi; add %rbp, %rdi
        assert!(between(&[
            0x48, 0x8b, 0x2d, 1, 2, 3, 4, 0x64, 0x48, 0x8b, 0x3c, 0x25, 0, 0, 0, 0, 0x48, 0x01, 0xef
        ]));
        // data16 lea x@tlsgd(%rip), %rdi; data16 data16 rex.W call __tls_get_addr; mov %rax, %rdi
        let found = [
            0x66, 0x48, 0x8d, 0x3d, 1, 2, 3, 4, 0x66, 0x66, 0x48, 0xe8, 1, 2, 3, 4, 0x48, 0x89, 0xc7,
        ];
        assert!(between(&found));
        // Another call, a store, and a jump.
        assert!(!between(&[0xe8, 0, 0, 0, 0]));
        assert!(!between(&[0x48, 0x89, 0x3b]));
        assert!(!between(&[0x64, 0x48, 0x89, 0x3c, 0x25, 0, 0, 0, 0]));
        assert!(!between(&[0x0f, 0x11, 0x03]));
        assert!(!between(&[0x74, 0x05]));
    }
}
