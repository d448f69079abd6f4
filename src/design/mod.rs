//! What somebody says of a program's design, in a file: which code is meant to be atomic, which variables stand for the
//! same, who can interrupt whom, which threads never run at the same time, and what is of interest (`docs/atomicity.md`
//! has the form).
//!
//! The kinds of statements are the inputs of Wang and Matsubara's D-FORCE: redundant variables, priorities, reality, and
//! the variable whose dependences are looked at. Nothing here knows a trace; [`Meant`] finds in one what is named.

mod meant;

pub use meant::{Meant, Threads};

use hashbrown::HashSet;
use safe_files::read_given;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A place in the code that is meant to be atomic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Atomic {
    /// Each call of a function.
    Function(String),
    /// Lines of a file, from the first to the last, in one call.
    Lines {
        /// The file, perhaps with folders before its name.
        file: String,
        /// The first line.
        first: u32,
        /// The last line.
        last: u32,
    },
}

/// A variable, perhaps a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// The byte of it that is meant; `None` for all.
    pub offset: Option<u64>,
}

/// A statement, and the line that makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stated<T> {
    /// The line, from 1.
    pub line: u32,
    /// What it says.
    pub what: T,
}

/// All that a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Design {
    path: PathBuf,
    /// What is atomic.
    pub atomic: Vec<Stated<Atomic>>,
    /// Variables that stand for the same.
    pub redundant: Vec<Stated<[Variable; 2]>>,
    /// Threads and their priorities: the higher number goes first.
    pub priorities: Vec<Stated<(String, i64)>>,
    /// Threads that never run at the same time.
    pub apart: Vec<Stated<[String; 2]>>,
    /// Variables of interest.
    pub slices: Vec<Stated<Variable>>,
    /// The threads that have a priority.
    prioritized: HashSet<String>,
}

/// Why a file is none of these.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DesignError {
    /// The system says.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A line says nothing.
    #[error("{}:{line}: `{text}`: expected {expected}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u32,
        /// What it says.
        text: String,
        /// What could stand there.
        expected: &'static str,
    },
}

/// Bytes of a file at most: people write far fewer.
const LONGEST: u64 = 1 << 20;

const KINDS: &str = "`atomic:`, `redundant:`, `priority:`, `apart:` or `slice:`";
const ATOMIC: &str = "`atomic: FUNCTION` or `atomic: FILE:FIRST-LAST`";
const REDUNDANT: &str = "`redundant: VARIABLE VARIABLE`, two different ones";
const PRIORITY: &str = "`priority: THREAD NUMBER`, once for each thread";
const APART: &str = "`apart: THREAD THREAD`, two different ones";
const SLICE: &str = "`slice: VARIABLE`";

impl Design {
    /// Reads a file.
    ///
    /// # Errors
    /// [`DesignError`] names the file and the line.
    pub fn read(path: &Path) -> Result<Design, DesignError> {
        let read = || String::from_utf8(read_given(File::open(path)?, LONGEST)?).map_err(io::Error::other);
        let text = read().map_err(|source| DesignError::Io {
            path: path.to_owned(),
            source,
        })?;
        Design::parse(path, &text)
    }

    /// Whether it says anything of threads.
    #[must_use]
    pub fn speaks_of_threads(&self) -> bool {
        !self.priorities.is_empty() || !self.apart.is_empty()
    }

    /// The file that it was read from.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn parse(path: &Path, text: &str) -> Result<Design, DesignError> {
        let mut design = Design {
            path: path.to_owned(),
            ..Design::default()
        };
        for (line, text) in (1..).zip(text.lines()) {
            let said = text.split('#').next().unwrap_or_default().trim();
            if !said.is_empty() {
                design.add(line, said).map_err(|expected| DesignError::Malformed {
                    path: path.to_owned(),
                    line,
                    text: said.to_owned(),
                    expected,
                })?;
            }
        }
        Ok(design)
    }

    /// Takes up a line, or says what it should have been.
    fn add(&mut self, line: u32, text: &str) -> Result<(), &'static str> {
        let (kind, rest) = text.split_once(':').ok_or(KINDS)?;
        // Names in C++ have spaces; where there are two of them, these have to be without.
        let rest = rest.trim();
        let mut words = rest.split_whitespace();
        let mut two = || match (words.next(), words.next(), words.next()) {
            (Some(one), Some(other), None) => Some((one, other)),
            _ => None,
        };
        match kind.trim() {
            "atomic" => {
                let what = Atomic::parse(rest).ok_or(ATOMIC)?;
                self.atomic.push(Stated { line, what });
            }
            "redundant" => {
                let (one, other) = two().filter(|(one, other)| one != other).ok_or(REDUNDANT)?;
                let what = [one, other].map(Variable::parse);
                self.redundant.push(Stated { line, what });
            }
            "priority" => {
                let (thread, number) = two().ok_or(PRIORITY)?;
                let number = number.parse().map_err(|_| PRIORITY)?;
                if !self.prioritized.insert(thread.to_owned()) {
                    return Err(PRIORITY);
                }
                let what = (thread.to_owned(), number);
                self.priorities.push(Stated { line, what });
            }
            "apart" => {
                let (one, other) = two().filter(|(one, other)| one != other).ok_or(APART)?;
                let what = [one.to_owned(), other.to_owned()];
                self.apart.push(Stated { line, what });
            }
            "slice" if !rest.is_empty() => {
                let what = Variable::parse(rest);
                self.slices.push(Stated { line, what });
            }
            "slice" => return Err(SLICE),
            _ => return Err(KINDS),
        }
        Ok(())
    }
}

impl Atomic {
    fn parse(text: &str) -> Option<Atomic> {
        if text.is_empty() {
            return None;
        }
        let lines = text
            .rsplit_once(':')
            .filter(|(file, _)| !file.is_empty() && !file.ends_with(':'));
        let Some((file, lines)) = lines.filter(|(_, lines)| lines.starts_with(|letter: char| letter.is_ascii_digit()))
        else {
            return Some(Atomic::Function(text.to_owned()));
        };
        let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        (0 < first && first <= last).then(|| Atomic::Lines {
            file: file.to_owned(),
            first,
            last,
        })
    }
}

impl fmt::Display for Atomic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Atomic::Function(name) => f.write_str(name),
            Atomic::Lines { file, first, last } => write!(f, "{file}:{first}-{last}"),
        }
    }
}

impl Variable {
    fn parse(text: &str) -> Variable {
        let offset = text
            .rsplit_once('+')
            .and_then(|(name, offset)| Some((name, offset.parse().ok()?)));
        match offset {
            Some((name, offset)) => Variable {
                name: name.to_owned(),
                offset: Some(offset),
            },
            None => Variable {
                name: text.to_owned(),
                offset: None,
            },
        }
    }
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offset {
            Some(offset) => write!(f, "{}+{offset}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Design, String> {
        Design::parse(Path::new("d"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn every_kind_of_statement_is_read() {
        let text = "# all of them\n\natomic: ns::withdraw # each call\natomic: src/bank.c:10-16\natomic: bank.c:7\n\
                    redundant: speed copies+4\npriority: control -2\napart: main parked\nslice: errflg\n";
        let design = parse(text).unwrap();
        let atomic: Vec<String> = design.atomic.iter().map(|stated| stated.what.to_string()).collect();
        assert_eq!(atomic, ["ns::withdraw", "src/bank.c:10-16", "bank.c:7-7"]);
        assert_eq!(design.atomic[0].line, 3);
        let [one, other] = &design.redundant[0].what;
        assert_eq!((one.to_string(), other.offset), ("speed".to_owned(), Some(4)));
        assert_eq!(design.priorities[0].what, ("control".to_owned(), -2));
        assert_eq!(design.apart[0].what, ["main", "parked"].map(str::to_owned));
        assert_eq!(design.slices[0].what.name, "errflg");
    }

    #[test]
    fn what_says_nothing_is_refused_with_its_line() {
        for (text, expected) in [
            ("withdraw", KINDS),
            ("regions: withdraw", KINDS),
            ("atomic:", ATOMIC),
            ("atomic: bank.c:9-3", ATOMIC),
            ("atomic: bank.c:0-3", ATOMIC),
            ("redundant: speed", REDUNDANT),
            ("redundant: speed speed", REDUNDANT),
            ("redundant: a b c", REDUNDANT),
            ("priority: control", PRIORITY),
            ("priority: control high", PRIORITY),
            ("priority: control 1\npriority: control 2", PRIORITY),
            ("apart: main", APART),
            ("apart: main main", APART),
            ("slice:", SLICE),
        ] {
            let (line, last) = (text.lines().count(), text.lines().last().unwrap());
            assert_eq!(parse(text), Err(format!("d:{line}: `{last}`: expected {expected}")));
        }
    }
}
