//! Warnings of other tools, read from their reports: one file per dialect.
//!
//! A warning of a data race has two sides, each an access with as much of its call stack as the report gives. All other
//! warnings of these tools are classified and kept, so that they can be counted. Program output between the reports is
//! skipped. What a position means in a trace is not decided here.

mod detect;
mod error;
mod go;
mod lines;
mod pairs;
mod position;
mod results;
mod sanitizer;
mod valgrind;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use error::ReadError;
pub use position::parse as parse_position;

use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// The dialects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// ThreadSanitizer's text, as written by programs of gcc, clang and rustc.
    Tsan,
    /// Helgrind's text.
    Helgrind,
    /// DRD's text.
    Drd,
    /// Valgrind's XML, protocol 4, of Helgrind or DRD.
    ValgrindXml,
    /// The text of Go's race detector.
    Go,
    /// The results object of `witness analyze --json`.
    Witness,
    /// Lines of `file:line file:line`.
    Pairs,
}

impl Format {
    /// All of them, with the names that `--format` takes.
    pub const ALL: [(Format, &'static str); 7] = [
        (Format::Tsan, "tsan"),
        (Format::Helgrind, "helgrind"),
        (Format::Drd, "drd"),
        (Format::ValgrindXml, "valgrind-xml"),
        (Format::Go, "go"),
        (Format::Witness, "witness"),
        (Format::Pairs, "pairs"),
    ];
}

impl Kind {
    /// The sides of a warning of this kind before anything is known of them.
    fn unknown_sides(self) -> Vec<Side> {
        match self {
            Kind::Race => vec![Side::default(); 2],
            _ => Vec::new(),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Tsan => "ThreadSanitizer",
            Format::Helgrind => "Helgrind",
            Format::Drd => "DRD",
            Format::ValgrindXml => "Valgrind",
            Format::Go => "Go",
            Format::Witness => "witness",
            Format::Pairs => "list",
        })
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Format, String> {
        let found = Format::ALL.iter().find(|(_, name)| *name == text);
        found.map(|&(format, _)| format).ok_or_else(|| {
            let names: Vec<_> = Format::ALL.iter().map(|(_, name)| *name).collect();
            format!("not one of {}", names.join(", "))
        })
    }
}

/// One warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The report that it is in, as the user named it.
    pub report: String,
    /// The line there on which it begins, from 1.
    pub line: usize,
    /// The dialect.
    pub format: Format,
    /// What the tool calls it: `data race`, `lock-order-inversion (potential deadlock)`.
    pub title: String,
    /// What it is.
    pub kind: Kind,
    /// The two accesses of a race, in the order of the report. Of a lock-order inversion, the acquisitions that would
    /// wait, each for a lock that the thread of the next one holds; those that the report gives. Of others none.
    pub sides: Vec<Side>,
    /// What they access, or what a warning of another kind is about.
    pub location: Option<Location>,
    /// The call stacks of a warning of another kind, each with the innermost activation first: those that say what the
    /// program did wrong, and not where its threads and locks come from.
    pub stacks: Vec<Vec<Frame>>,
}

/// What a warning warns of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Two accesses to memory, among them the race of an access with `free`.
    Race,
    /// A race for a file descriptor or another thing that is no memory of the program.
    Descriptor,
    /// Locks taken in both orders.
    LockOrder,
    /// A lock used as it must not be.
    LockMisuse,
    /// A thread that nobody joins.
    ThreadLeak,
    /// Something that a signal handler must not do.
    Signal,
    /// Anything else.
    Other,
}

impl Kind {
    /// In words, with a count.
    #[must_use]
    pub fn counted(self, count: usize) -> String {
        let (one, many) = match self {
            Kind::Race => ("data race", "data races"),
            Kind::Descriptor => ("race for a file descriptor", "races for file descriptors"),
            Kind::LockOrder => ("lock-order inversion", "lock-order inversions"),
            Kind::LockMisuse => ("misuse of a lock", "misuses of locks"),
            Kind::ThreadLeak => ("thread leak", "thread leaks"),
            Kind::Signal => ("warning of a signal handler", "warnings of signal handlers"),
            Kind::Other => ("warning of another kind", "warnings of other kinds"),
        };
        format!("{count} {}", if count == 1 { one } else { many })
    }
}

/// One access of a race, or one acquisition of a lock-order inversion, as the report has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Side {
    /// Whether it takes a lock, and is no access.
    pub acquires: bool,
    /// Whether it writes; `None` if the report does not say.
    pub writes: Option<bool>,
    /// Whether it is atomic; `None` if the tool does not tell.
    pub atomic: Option<bool>,
    /// Its length in bytes.
    pub size: Option<u64>,
    /// Its thread, as the tool names it.
    pub thread: Option<String>,
    /// What is known of the place.
    pub stack: Stack,
}

/// The call stack of an access or an acquisition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Stack {
    /// The tool gives only the other side, or the report ends before this one.
    #[default]
    NotGiven,
    /// The tool had forgotten it.
    NotRestored,
    /// The activations, innermost first; not empty.
    Frames(Vec<Frame>),
}

impl Side {
    /// An acquisition that was reached through these activations, innermost first.
    fn acquisition(thread: Option<String>, frames: Vec<Frame>) -> Side {
        Side {
            acquires: true,
            thread,
            stack: Stack::Frames(frames),
            ..Side::default()
        }
    }

    /// The activations, innermost first; empty if the report has none.
    #[must_use]
    pub fn frames(&self) -> &[Frame] {
        match &self.stack {
            Stack::Frames(frames) => frames,
            Stack::NotGiven | Stack::NotRestored => &[],
        }
    }
}

/// A function activation as a report shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The function.
    pub function: Option<String>,
    /// The source file; some tools give its name without a folder.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
    /// The module: a path, or its last part.
    pub module: Option<String>,
    /// The offset in the module.
    pub offset: Option<u64>,
    /// The module's build id, in hexadecimal digits.
    pub build_id: Option<String>,
}

impl fmt::Display for Frame {
    /// `function file:line`, or what there is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.function.clone());
        match (&self.file, self.line) {
            (Some(file), Some(line)) => parts.push(format!("{file}:{line}")),
            (Some(file), None) => parts.push(file.clone()),
            (None, _) => parts.extend(self.module.as_ref().map(|module| match self.offset {
                Some(offset) => format!("({module}+{offset:#x})"),
                None => format!("(in {module})"),
            })),
        }
        if parts.is_empty() {
            return f.write_str("an unknown place");
        }
        f.write_str(&parts.join(" "))
    }
}

/// What a race is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A global variable.
    Global {
        /// Its name.
        name: String,
    },
    /// A heap block, and where it was allocated.
    Heap {
        /// The activations of the allocation, innermost first.
        stack: Vec<Frame>,
    },
    /// The stack of a thread.
    ThreadStack,
    /// A thread-local variable.
    ThreadLocal,
    /// A file descriptor.
    Descriptor,
}

/// Reads a report; `name` is how errors call it. Without a `format`, its content shows which it is.
///
/// # Errors
/// [`ReadError`] names the file, the line and what to do.
pub fn read(name: &str, bytes: &[u8], format: Option<Format>) -> Result<Vec<Warning>, ReadError> {
    let text = String::from_utf8_lossy(bytes);
    let format = match format {
        Some(format) => format,
        None => detect::detect(&text).ok_or_else(|| ReadError::UnknownFormat { file: name.to_owned() })?,
    };
    let warnings = match format {
        Format::Tsan => Ok(sanitizer::read(name, &text)),
        Format::Helgrind | Format::Drd => Ok(valgrind::text::read(name, &text, format)),
        Format::ValgrindXml => valgrind::xml::read(name, &text),
        Format::Go => Ok(go::read(name, &text)),
        Format::Witness => results::read(name, &text),
        Format::Pairs => pairs::read(name, &text),
    }?;
    // To be told the wrong kind would look as if nothing had been found.
    match detect::detect(&text).filter(|_| warnings.is_empty()) {
        Some(other) if other != format => Err(ReadError::OtherFormat {
            file: name.to_owned(),
            format,
            other,
        }),
        _ => Ok(warnings),
    }
}
