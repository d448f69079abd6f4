//! The statements of inline assembly, in the order of AT&T.

use super::operand::Operand;

/// An instruction, or something else that the assembler takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement<'t> {
    /// Where it begins in the text, with its prefix and without a label.
    pub at: usize,
    /// Where it ends.
    pub end: usize,
    /// `lock`.
    pub locked: bool,
    /// What it is, in lower case.
    pub name: String,
    pub operands: Vec<Operand<'t>>,
}

/// The statements of a text; a prefix belongs to the one behind it.
pub(super) fn statements(text: &str) -> Vec<Statement<'_>> {
    let mut all = Vec::new();
    let mut prefix: Option<(usize, bool)> = None;
    for (start, part) in parts(text) {
        let mut at = start;
        let mut rest = part;
        loop {
            let trimmed = rest.trim_start();
            at += rest.len() - trimmed.len();
            rest = trimmed;
            let (word, behind) = split_word(rest);
            if word.is_empty() {
                break;
            }
            // A label.
            if let Some(behind_label) = behind.trim_start().strip_prefix(':') {
                at += rest.len() - behind_label.len();
                rest = behind_label;
                continue;
            }
            let name = word.to_ascii_lowercase();
            if PREFIXES.contains(&&*name) {
                let (_, locked) = prefix.unwrap_or((at, false));
                prefix = Some((prefix.map_or(at, |(first, _)| first), locked || name == "lock"));
                at += word.len();
                rest = behind;
                continue;
            }
            let (at, locked) = prefix.take().unwrap_or((at, false));
            all.push(Statement {
                at,
                end: start + part.trim_end().len(),
                locked,
                name,
                operands: Operand::list(behind),
            });
            break;
        }
    }
    all
}

/// Prefixes that may stand apart; those of string operations do not change what others do.
const PREFIXES: [&str; 6] = ["lock", "rep", "repz", "repe", "repnz", "repne"];

/// What stands between newlines, semicolons and comments, with where it begins.
fn parts(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut begin = 0;
    let lines = text.split_inclusive('\n').map(move |line| {
        let at = begin;
        begin += line.len();
        (at, line.split('#').next().unwrap_or_default())
    });
    lines.flat_map(|(line_at, line)| {
        let mut begin = line_at;
        line.split(';').map(move |part| {
            let at = begin;
            begin += part.len() + 1;
            (at, part)
        })
    })
}

fn split_word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| c.is_whitespace() || c == ':' || c == ',');
    text.split_at(end.unwrap_or(text.len()))
}

impl Statement<'_> {
    /// Whether a call may be put in front of anything in the program's statement, as far as this one tells: it neither
    /// moves the stack nor goes elsewhere, and is no directive, which may mean anything.
    pub(super) fn is_harmless(&self) -> bool {
        const ELSEWHERE: [&str; 12] = [
            "call", "ret", "iret", "int", "int3", "syscall", "sysenter", "leave", "enter", "hlt", "ud2", "xbegin",
        ];
        const STACK: [&str; 4] = ["push", "pop", "xrstor", "fxrstor"];
        let name = &*self.name;
        let suffixed = |stem: &str| {
            name.strip_prefix(stem)
                .is_some_and(|rest| matches!(rest, "" | "q" | "l" | "w" | "fq"))
        };
        let known = name.chars().all(|c| c.is_ascii_alphanumeric());
        let indirect = name.starts_with('j') && self.operands.iter().any(Operand::is_indirect);
        known
            && !ELSEWHERE.iter().any(|stem| suffixed(stem))
            && !STACK.iter().any(|stem| name.starts_with(stem))
            && !indirect
            && !self.operands.iter().any(Operand::is_stack_pointer)
    }
}
