//! Code of gcc, made to tell the recorder what nobody else tells it of memory.
//!
//! Compilers instrument no inline assembly, and many programs make their atomic operations of it: a lock that is taken by
//! `lock cmpxchg` orders threads where no trace would show it, and the reads of what it stores would be pinned. gcc
//! marks inline assembly in the text that it gives the assembler. Here that text gets a call in front of each
//! instruction whose access of memory is understood (`operation`); the call changes no register and no flag. What is
//! not understood stays as it is: so does a whole statement that may do without a stack, goes elsewhere, or is in the
//! order of Intel. Behind an instruction that reads the processor's clock, wherever it comes from, a call tells what it
//! read, and may change it.
//!
//! So do instructions of gcc's own that it has not instrumented (`left_out`).
//!
//! The runtime's side is `recorders/native/src/abi/assembly.rs`; what passes between is defined in
//! [`recorder_ring::assembly`].

mod left_out;
mod operand;
mod operation;
mod statement;

use hashbrown::{HashMap, HashSet};
pub use left_out::{Access, By, labelled_line};
use recorder_ring::assembly::{Instruction, NAME, Operation};
use statement::{Statement, statements};
use std::fmt::Write;

/// The text with a label in front of each line of the compiler's that may access memory ([`labelled_line`]), or nothing
/// if it was not compiled with `-fsanitize=thread`, or not in a way that is understood.
#[must_use]
pub fn labelled(text: &str) -> Option<String> {
    let mut to = String::with_capacity(text.len() + text.len() / 4);
    each_line(text, &mut |part| {
        if let Part::Compilers { number, line } = part {
            left_out::label(number, line, &mut to);
        }
        to.push_str(part.text());
    })?;
    Some(to)
}

/// The text with calls in front of what inline assembly does to memory, and of the accesses that the compiler has left
/// out, by the number of their line; or nothing if there are none to be made.
#[must_use]
pub fn announced(text: &str, accesses: &HashMap<usize, Vec<Access>>) -> Option<String> {
    let mut to = String::with_capacity(text.len() + 4096);
    let mut found = false;
    each_line(text, &mut |part| match part {
        Part::Inline { text, is_within } => found |= pass(text, is_within, &mut to),
        Part::Compilers { number, line } => {
            let accesses = accesses.get(&number).into_iter().flatten();
            for announcement in accesses.flat_map(|access| left_out::announcements(line, access)) {
                announce(&announcement, &mut to);
                found = true;
            }
            found |= match line.trim_start().starts_with(operation::CLOCK) {
                true => pass(line, true, &mut to),
                false => {
                    to.push_str(line);
                    false
                }
            };
        }
        Part::Other(line) => to.push_str(line),
    })?;
    found.then(|| to + &stub())
}

/// A part of the text.
#[derive(Clone, Copy, Debug)]
enum Part<'t> {
    /// A line of the compiler's within a function.
    Compilers { number: usize, line: &'t str },
    /// A statement of inline assembly, of one line or more.
    Inline { text: &'t str, is_within: bool },
    /// Another line.
    Other(&'t str),
}

impl<'t> Part<'t> {
    fn text(self) -> &'t str {
        match self {
            Part::Compilers { line: text, .. } | Part::Inline { text, .. } | Part::Other(text) => text,
        }
    }
}

/// Goes over the parts of a text; nothing if it is not instrumented, or not understood.
fn each_line<'t>(text: &'t str, then: &mut dyn FnMut(Part<'t>)) -> Option<()> {
    // What gcc adds to every module that it instruments.
    if !text.contains("__tsan_init") {
        return None;
    }
    let mut functions = Functions::default();
    // Whether inline assembly is a function's, and where its statement begins.
    let mut within: Option<(bool, usize)> = None;
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let end = at + line.len();
        match line.trim_end() {
            // Its operands are in another order: those of all that follows.
            other if within.is_none() && is_intel(other) => return None,
            "#APP" => {
                within = Some((functions.is_within(), end));
                then(Part::Other(line));
            }
            // Each statement of the program's begins with its place, as a comment.
            marker if within.is_some() && (marker == "#NO_APP" || is_place(marker)) => {
                if let Some((is_within, begin)) = within {
                    let statement = &text[begin..at];
                    let (intel, own) = (statement.rfind(".intel_syntax"), statement.rfind(".att_syntax"));
                    if intel > own {
                        return None;
                    }
                    then(match intel {
                        Some(_) => Part::Other(statement),
                        None => Part::Inline {
                            text: statement,
                            is_within,
                        },
                    });
                    within = (marker != "#NO_APP").then_some((is_within, end));
                }
                then(Part::Other(line));
            }
            _ if within.is_some() => {}
            other => {
                functions.pass(other);
                then(match functions.is_within() {
                    true => Part::Compilers { number, line },
                    false => Part::Other(line),
                });
            }
        }
        at = end;
    }
    if let Some((is_within, begin)) = within {
        then(Part::Inline {
            text: &text[begin..],
            is_within,
        });
    }
    Some(())
}

fn is_intel(line: &str) -> bool {
    line.trim_start().starts_with(".intel_syntax")
}

/// `# 12 "file.c" 1`
fn is_place(line: &str) -> bool {
    let number = line.strip_prefix("# ").and_then(|rest| rest.split(' ').next());
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
        && line.contains('"')
}

/// The functions whose code the assembler is amid: assembly outside of them is none of the compiler's.
#[derive(Debug, Default)]
struct Functions<'t> {
    declared: HashSet<&'t str>,
    open: Vec<&'t str>,
}

impl<'t> Functions<'t> {
    fn is_within(&self) -> bool {
        !self.open.is_empty()
    }

    fn pass(&mut self, line: &'t str) {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix(".type") {
            if let Some(name) = rest.trim().strip_suffix("@function") {
                self.declared.insert(name.trim_end().trim_end_matches(','));
            }
        } else if let Some(rest) = line.strip_prefix(".size") {
            let name = rest.trim().split(',').next().unwrap_or_default();
            self.open.retain(|&open| open != name);
        } else if let Some(name) = line.strip_suffix(':')
            && self.declared.contains(name)
        {
            self.open.push(name);
        }
    }
}

/// Passes one statement of the program's, or a line of the compiler's, on; whether it announces something.
fn pass(inline: &str, is_within: bool, to: &mut String) -> bool {
    let statements: Vec<Statement<'_>> = match is_within {
        true => statements(inline),
        false => Vec::new(),
    };
    let (mut copied, mut announces) = (0, false);
    if statements.iter().all(Statement::is_harmless) {
        for statement in &statements {
            if let Some(announcement) = operation::of(statement) {
                to.push_str(&inline[copied..statement.at]);
                announce(&announcement, to);
                (copied, announces) = (statement.at, true);
            }
            if let Some(announcement) = operation::read_by(statement) {
                to.push_str(&inline[copied..statement.end]);
                to.push_str("; ");
                announce(&announcement, to);
                (copied, announces) = (statement.end, true);
            }
        }
    }
    to.push_str(&inline[copied..]);
    announces
}

/// What is to be told of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Announcement {
    instruction: Instruction,
    /// The memory, as an operand of `lea`; empty for a fence.
    memory: String,
    /// The other operand, as one of `push`.
    source: String,
}

/// Writes the call, which uses the stack below what a leaf function may use without telling. None of these instructions
/// changes a flag.
fn announce(announcement: &Announcement, to: &mut String) {
    let Announcement {
        instruction,
        memory,
        source,
    } = announcement;
    let address = match instruction.operation {
        Operation::Fence | Operation::Clock | Operation::ClockAndNumber => "",
        _ => &format!("leaq {memory}, %rdi; "),
    };
    let code = instruction.encode();
    // Not behind what stands on this line: it may be a label, or a prefix's other side.
    let _ = write!(
        to,
        "leaq -128(%rsp), %rsp; pushq {source}; pushq %rdi; {address}pushq ${code}; call {STUB}; \
         leaq 8(%rsp), %rsp; popq %rdi; leaq 136(%rsp), %rsp; "
    );
}

/// How far the stack has grown where the address is worked out.
const GROWN: i64 = 128 + 16;

/// The stub's name.
pub(crate) const STUB: &str = "__witness_assembly";

/// The function that the calls lead to: one for all modules of a program. It saves what the ABI lets a called function
/// change, and calls the annotation.
fn stub() -> String {
    let name = NAME.to_string_lossy();
    let saved = ["rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "rbx", "rbp"];
    let mut text = format!(
        "\t.section .rodata.{STUB},\"aMS\",@progbits,1\n.L{STUB}_name:\n\t.string \"{name}\"\n\
         \t.section .text.{STUB},\"axG\",@progbits,{STUB},comdat\n\
         \t.weak {STUB}\n\t.hidden {STUB}\n\t.type {STUB}, @function\n{STUB}:\n\tpushfq\n\tcld\n"
    );
    for register in saved {
        let _ = writeln!(text, "\tpushq %{register}");
    }
    text.push_str("\tmovq %rsp, %rbp\n\tsubq $256, %rsp\n\tandq $-16, %rsp\n");
    for number in 0..16 {
        let _ = writeln!(text, "\tmovups %xmm{number}, {}(%rsp)", 16 * number);
    }
    let _ = writeln!(
        text,
        "\tmovq %rdi, %rdx\n\tleaq .L{STUB}_name(%rip), %rdi\n\txorl %esi, %esi\n\tmovq %rbp, %rcx\n\
         \tcall AnnotateNoOp@PLT"
    );
    for number in 0..16 {
        let _ = writeln!(text, "\tmovups {}(%rsp), %xmm{number}", 16 * number);
    }
    text.push_str("\tmovq %rbp, %rsp\n");
    for register in saved.iter().rev() {
        let _ = writeln!(text, "\tpopq %{register}");
    }
    let _ = writeln!(text, "\tpopfq\n\tret\n\t.size {STUB}, .-{STUB}");
    text
}

#[cfg(test)]
mod tests;
