//! Accesses that the compiler makes and tells the runtime nothing of: found in the machine code, told in the text.
//!
//! gcc instruments what it compiles before it decides how structures are passed by value, and makes the atomic updates of
//! numbers with a fraction in OpenMP.
//! Which accesses these are is told from the machine code alone (`src/symbols/left_out`). So the text is assembled once
//! with a label in front of each line that may be one.

use super::operand::Operand;
use super::operation;
use super::statement::statements;
use super::{Announcement, GROWN};
use recorder_ring::assembly::{Instruction, Operation};
use std::fmt::Write;

/// How the labels begin; a line's number follows.
const LABEL: &str = "__witness_line_";

/// An access of memory by an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// By what the instruction names the memory.
    pub by: By,
    /// How many bytes it accesses, or one repetition of it does.
    pub size: usize,
    /// Whether it reads them.
    pub reads: bool,
    /// Whether it writes them.
    pub writes: bool,
    /// Whether other processors see both as one: an atomic operation.
    pub locked: bool,
}

/// How an instruction names memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// By an operand.
    Operand,
    /// By `rsi`, upwards; as often as `rcx` says, if it is repeated.
    Source {
        /// Whether it is.
        repeated: bool,
    },
    /// By `rdi`, in the same way.
    Destination {
        /// Whether it is repeated.
        repeated: bool,
    },
}

/// The greatest instructions that are told of, in bytes.
const MOST: usize = 64;

/// Writes the label of a line of the compiler's, if that may be an instruction that accesses other memory than the top of
/// the stack.
pub(super) fn label(number: usize, line: &str, to: &mut String) {
    if is_candidate(line) {
        let _ = writeln!(to, "{LABEL}{number}:");
    }
}

/// The number of the line that a label stands in front of.
#[must_use]
pub fn labelled_line(label: &str) -> Option<usize> {
    label.strip_prefix(LABEL)?.parse().ok()
}

fn is_candidate(line: &str) -> bool {
    let Some(line) = line
        .strip_prefix('\t')
        .filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()))
    else {
        return false;
    };
    const OTHERS: [&str; 4] = ["lea", "call", "j", "nop"];
    const STRINGS: [&str; 3] = ["rep", "movs", "stos"];
    let names_memory = line.contains('(') && !line.contains("(%rsp)");
    !OTHERS.iter().any(|other| line.starts_with(other))
        && (names_memory || STRINGS.iter().any(|string| line.starts_with(string)))
}

/// What is to be told of a line in front of it.
pub(super) fn announcements(line: &str, access: &Access) -> Vec<Announcement> {
    let Access {
        by,
        size,
        reads,
        writes,
        locked,
    } = *access;
    let statements = statements(line);
    let [statement] = &*statements else { return Vec::new() };
    if locked {
        return operation::of(statement).into_iter().collect();
    }
    let times = |repeated| if repeated { "%rcx" } else { "$1" };
    let (memory, source) = match by {
        By::Operand => {
            let memory = statement.operands.iter().find(|operand| operand.is_memory());
            (memory.and_then(|memory: &Operand<'_>| memory.address(GROWN)), "$1")
        }
        By::Source { repeated } => (Some("(%rsi)".to_owned()), times(repeated)),
        By::Destination { repeated } => (Some("(%rdi)".to_owned()), times(repeated)),
    };
    let Some(memory) = memory.filter(|_| (1..=MOST).contains(&size)) else {
        return Vec::new();
    };
    let announcement = |operation| Announcement {
        instruction: Instruction {
            operation,
            size: size as u8,
            locked: false,
        },
        memory: memory.clone(),
        source: source.to_owned(),
    };
    let read = reads.then(|| announcement(Operation::Read));
    read.into_iter()
        .chain(writes.then(|| announcement(Operation::Write)))
        .collect()
}
