//! Which process of the recorded program a trace is of, in its description and in its file's name.

use std::fs;
use std::path::{Path, PathBuf};
use trace_format::{Meta, TraceFile};

/// The variable, in a trace's description, that says which process of the recorded program it is of.
const PROCESS_VARIABLE: &str = "WITNESS_PROCESS";
/// How a process came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// As a copy of another one.
    Forked,
    /// By executing a program.
    Executed,
}

/// Which process of the recorded program a trace is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessNumber {
    /// For each step from the first process to this one, the how manyth it was, from 1.
    pub steps: Vec<u32>,
    /// How it came about.
    pub origin: Origin,
    /// The steps to the process in which its program began; itself, if it was executed.
    pub program: Vec<u32>,
}

impl ProcessNumber {
    /// What a trace's description says; `None` if it is of the program that was recorded itself.
    #[must_use]
    pub fn of(meta: &Meta) -> Option<ProcessNumber> {
        let (name, value) = meta.environment.last()?.split_once('=')?;
        if name != PROCESS_VARIABLE {
            return None;
        }
        let mut words = value.split(' ');
        let (origin, steps) = (words.next()?, numbers(words.next()?)?);
        let origin = match origin {
            "forked" => Origin::Forked,
            "executed" => Origin::Executed,
            _ => return None,
        };
        let program = match (origin, words.next()) {
            (Origin::Executed, _) => steps.clone(),
            (Origin::Forked, Some(program)) => numbers(program).filter(|program| steps.starts_with(program))?,
            (Origin::Forked, None) => Vec::new(),
        };
        Some(ProcessNumber { steps, origin, program })
    }

    pub(super) fn put_into(&self, meta: &mut Meta) {
        let origin = match self.origin {
            Origin::Forked => "forked",
            Origin::Executed => "executed",
        };
        let mut entry = format!("{PROCESS_VARIABLE}={origin} {self}");
        if self.origin == Origin::Forked && !self.program.is_empty() {
            entry += &format!(" {}", text(&self.program));
        }
        meta.environment.push(entry);
    }

    /// Where the trace of this process is, given that of the first one: `trace.1.2.bin` beside `trace.bin`.
    #[must_use]
    pub fn beside(&self, first: &Path) -> PathBuf {
        let mut name = first.file_stem().unwrap_or_default().to_owned();
        name.push(format!(".{self}"));
        if let Some(extension) = first.extension() {
            name.push(".");
            name.push(extension);
        }
        first.with_file_name(name)
    }
}

impl std::fmt::Display for ProcessNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&text(&self.steps))
    }
}

fn text(steps: &[u32]) -> String {
    let steps: Vec<String> = steps.iter().map(u32::to_string).collect();
    steps.join(".")
}

fn numbers(text: &str) -> Option<Vec<u32>> {
    text.split('.').map(|step| step.parse().ok()).collect()
}

/// The traces of other processes beside that of the first one, in order of their numbers.
#[must_use]
pub fn traces_beside(first: &Path) -> Vec<(ProcessNumber, PathBuf)> {
    let folder = match first.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let stem = first.file_stem().unwrap_or_default();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let between = name.as_encoded_bytes().strip_prefix(stem.as_encoded_bytes())?;
            if !between.strip_prefix(b".")?.first()?.is_ascii_digit() {
                return None;
            }
            let path = first.with_file_name(&name);
            let number = ProcessNumber::of(&TraceFile::open(&path).ok()?.tables().meta)?;
            (number.beside(first) == path).then_some((number, path))
        })
        .collect();
    found.sort_by(|(a, _), (b, _)| a.steps.cmp(&b.steps));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(steps: &[u32]) -> ProcessNumber {
        ProcessNumber {
            steps: steps.to_vec(),
            origin: Origin::Forked,
            program: Vec::new(),
        }
    }

    #[test]
    fn traces_of_processes_lie_beside_that_of_the_first() {
        let beside = |first: &str, steps: &[u32]| number(steps).beside(Path::new(first));
        assert_eq!(beside("a/trace.bin", &[1]), Path::new("a/trace.1.bin"));
        assert_eq!(beside("trace.of.x.bin", &[2, 10]), Path::new("trace.of.x.2.10.bin"));
        assert_eq!(beside("/tmp/trace", &[3]), Path::new("/tmp/trace.3"));
    }

    #[test]
    fn descriptions_name_their_process() {
        for (origin, program) in [
            (Origin::Forked, vec![]),
            (Origin::Forked, vec![1, 22]),
            (Origin::Executed, vec![1, 22, 3]),
        ] {
            let number = ProcessNumber {
                steps: vec![1, 22, 3],
                origin,
                program,
            };
            let mut meta = Meta {
                environment: vec!["A=b".to_owned()],
                ..Meta::default()
            };
            assert_eq!(ProcessNumber::of(&meta), None);
            number.put_into(&mut meta);
            assert_eq!(ProcessNumber::of(&meta), Some(number));
        }
        for text in [
            "WITNESS_PROCESS=forked",
            "WITNESS_PROCESS=x 1",
            "WITNESS_PROCESS=forked 1.x",
            "WITNESS_PROCESS=forked 1.2 2",
        ] {
            let meta = Meta {
                environment: vec![text.to_owned()],
                ..Meta::default()
            };
            assert_eq!(ProcessNumber::of(&meta), None, "{text}");
        }
    }
}
