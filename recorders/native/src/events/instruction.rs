//! Whether a store lies between two hooks: a small look at the program's machine code.
//!
//! gcc announces both sides of a struct copy before it copies: `write(a)`, `read(b)`, then the
//! moves. The same two hooks in `*a = 1; … = *b` have the store in between. In the first case the
//! read comes first and the write's value must wait one hook longer. What tells the two apart is
//! the code between the calls: with nothing but moves into registers, no store can have happened.

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
        match register_move(code) {
            Some(length) if length < code.len() => code = &code[length..],
            _ => return false,
        }
    }
}

/// The length of the instruction at the start of `code` if it only writes a register.
fn register_move(code: &[u8]) -> Option<usize> {
    let mut at = 0;
    // Padding: 66 prefixes and long nops.
    while *code.get(at)? == 0x66 {
        at += 1;
    }
    if (0x40..=0x4f).contains(code.get(at)?) {
        at += 1;
    }
    let wide = at > 0 && code[at - 1] & 0x48 == 0x48;
    let opcode = *code.get(at)?;
    at += 1;
    match opcode {
        // mov/add/sub/… register from register or memory; lea; movsxd; imul; xor; test.
        0x8b | 0x8d | 0x03 | 0x0b | 0x13 | 0x1b | 0x23 | 0x2b | 0x33 | 0x3b | 0x63 | 0x39 | 0x38 | 0x84 | 0x85 => {
            Some(at + operand(code, at)?)
        }
        0x69 => Some(at + operand(code, at)? + 4),
        0x6b => Some(at + operand(code, at)? + 1),
        // The same with the register on the other side: only if that is a register too.
        0x89 | 0x01 | 0x09 | 0x21 | 0x29 | 0x31 if is_register(code, at)? => Some(at + 1),
        // Immediates into a register.
        0x83 | 0xc1 if is_register(code, at)? => Some(at + 2),
        0x81 | 0xc7 if is_register(code, at)? => Some(at + 5),
        0xd1 if is_register(code, at)? => Some(at + 1),
        0xb8..=0xbf => Some(at + if wide { 8 } else { 4 }),
        // cdqe, nop.
        0x98 | 0x90 => Some(at),
        0x0f => match *code.get(at)? {
            // movzx, movsx, long nop, cmov, loads into xmm.
            0xb6 | 0xb7 | 0xbe | 0xbf | 0x1f | 0x10 | 0x28 | 0x40..=0x4f => Some(at + 1 + operand(code, at + 1)?),
            _ => None,
        },
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
