//! Suppression files in ThreadSanitizer's syntax.
//!
//! One `type:template` a line; `#` begins a comment. A template matches a name that contains it; `*` stands for
//! anything, `^` and `$` for the beginning and the end. `race:` looks at the function, the file and the module of every frame of both
//! accesses, and at the name of the variable; `race_top:` at the innermost frames; `called_from_lib:` at the
//! innermost frames' modules. The other types are of other reports than data races.

use crate::symbols::Frame;
use std::path::{Path, PathBuf};

/// What a suppression is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Race,
    RaceTop,
    CalledFromLib,
    /// `mutex:`, `deadlock:`, `thread:`, `signal:`: reports that are not about data races.
    Other,
}

#[derive(Clone, Debug)]
struct Suppression {
    place: String,
    text: String,
    kind: Kind,
    template: Template,
}

/// Suppressions of some files.
#[derive(Clone, Debug, Default)]
pub struct Suppressions {
    all: Vec<Suppression>,
}

/// Why a suppression file could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SuppressionError {
    /// The system says.
    #[error("cannot read the suppressions {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A line is none.
    #[error(
        "{}:{line}: '{text}' is no suppression: expected race:, race_top:, mutex:, deadlock:, thread:, signal: or called_from_lib:, and a name",
        path.display()
    )]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What it says.
        text: String,
    },
}

impl Suppressions {
    /// Adds the suppressions of a file.
    ///
    /// # Errors
    /// [`SuppressionError`] names the file and the line.
    pub fn read(&mut self, path: &Path) -> Result<(), SuppressionError> {
        let bytes = std::fs::read(path).map_err(|source| SuppressionError::Io {
            path: path.to_owned(),
            source,
        })?;
        let text = String::from_utf8_lossy(&bytes);
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let Some((kind, template)) = parse(text) else {
                return Err(SuppressionError::Malformed {
                    path: path.to_owned(),
                    line,
                    text: text.to_owned(),
                });
            };
            self.all.push(Suppression {
                place: format!("{}:{line}", path.display()),
                text: text.to_owned(),
                kind,
                template,
            });
        }
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The first suppression that hides a race with these call stacks; marks all that do as used.
    pub(super) fn find(&self, stacks: &[Vec<Frame>; 2], variable: Option<&str>, used: &mut [bool]) -> Option<String> {
        let mut first = None;
        for (suppression, used) in self.all.iter().zip(used) {
            if suppression.matches(stacks, variable) {
                *used = true;
                first.get_or_insert_with(|| suppression.text.clone());
            }
        }
        first
    }

    /// Those that could have been used and were not.
    pub(super) fn unused(&self, used: &[bool]) -> Vec<String> {
        let unused = self
            .all
            .iter()
            .zip(used)
            .filter(|(suppression, used)| !**used && suppression.kind != Kind::Other);
        unused
            .map(|(suppression, _)| format!("{}: {}", suppression.place, suppression.text))
            .collect()
    }
}

fn parse(text: &str) -> Option<(Kind, Template)> {
    let (kind, template) = text.split_once(':')?;
    let kind = match kind {
        "race" => Kind::Race,
        "race_top" => Kind::RaceTop,
        "called_from_lib" => Kind::CalledFromLib,
        "mutex" | "deadlock" | "thread" | "signal" => Kind::Other,
        _ => return None,
    };
    (!template.is_empty()).then(|| (kind, Template::of(template)))
}

impl Suppression {
    fn matches(&self, stacks: &[Vec<Frame>; 2], variable: Option<&str>) -> bool {
        let named = |frame: &Frame| {
            let module = frame.module.as_ref().map(|(path, _)| path.as_str());
            let names = [frame.function.as_deref(), frame.file.as_deref(), module];
            names.into_iter().flatten().any(|name| self.template.matches(name))
        };
        match self.kind {
            Kind::Race => {
                stacks.iter().flatten().any(named) || variable.is_some_and(|name| self.template.matches(name))
            }
            Kind::RaceTop => stacks.iter().filter_map(|stack| stack.first()).any(named),
            Kind::CalledFromLib => stacks.iter().filter_map(|stack| stack.first()).any(|frame| {
                let module = frame.module.as_ref();
                module.is_some_and(|(path, _)| self.template.matches(path))
            }),
            Kind::Other => false,
        }
    }
}

/// A pattern: its pieces come one after the other in a name that matches.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Template {
    pieces: Vec<String>,
    from_start: bool,
    to_end: bool,
}

impl Template {
    fn of(text: &str) -> Template {
        let (from_start, text) = text.strip_prefix('^').map_or((false, text), |text| (true, text));
        // What comes behind the end cannot be matched, and is ignored.
        let (to_end, text) = text.split_once('$').map_or((false, text), |(text, _)| (true, text));
        Template {
            pieces: text.split('*').map(str::to_owned).collect(),
            from_start,
            to_end,
        }
    }

    fn matches(&self, name: &str) -> bool {
        let mut rest = name;
        let last = self.pieces.len() - 1;
        for (at, piece) in self.pieces.iter().enumerate() {
            rest = if at == 0 && self.from_start {
                match rest.strip_prefix(piece.as_str()) {
                    Some(rest) if !(self.to_end && last == 0) => rest,
                    Some("") => return true,
                    _ => return false,
                }
            } else if at == last && self.to_end {
                return rest.ends_with(piece.as_str());
            } else {
                match rest.find(piece.as_str()) {
                    Some(found) => &rest[found + piece.len()..],
                    None => return false,
                }
            };
        }
        !name.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_match_as_in_thread_sanitizer() {
        let matches = |template: &str, name: &str| Template::of(template).matches(name);
        assert!(matches("push", "queue_push_back") && matches("queue*back", "queue_push_back"));
        assert!(matches("^queue", "queue_push") && !matches("^push", "queue_push"));
        assert!(matches("push$", "queue_push") && matches("push$", "push_push") && !matches("queue$", "queue_push"));
        assert!(matches("^push$", "push") && !matches("^push$", "push_push") && !matches("^push$", "pushy"));
        assert!(matches("^q*h$", "queue_push") && !matches("^q*e$", "queue_push"));
        assert!(matches("*", "anything") && !matches("*", "") && !matches("x", ""));
        assert!(!matches("back*queue", "queue_push_back"));
    }

    #[test]
    fn every_type_is_known_and_nothing_else_is() {
        for text in [
            "race:f",
            "race_top:f",
            "mutex:f",
            "deadlock:f",
            "thread:f",
            "signal:f",
            "called_from_lib:f.so",
        ] {
            assert!(parse(text).is_some(), "{text}");
        }
        for text in ["race", "race:", "races:f", "f"] {
            assert!(parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn each_type_looks_where_it_should() {
        let frame = |function: &str, module: &str| Frame {
            function: Some(function.to_owned()),
            file: Some("/src/queue.c".to_owned()),
            module: Some((module.to_owned(), 0)),
            ..Frame::default()
        };
        let stacks = [
            vec![frame("push", "/lib/libq.so"), frame("main", "/bin/app")],
            vec![frame("pop", "/bin/app")],
        ];
        let hides = |text: &str| {
            let (kind, template) = parse(text).expect("a suppression");
            let (place, text) = (String::new(), text.to_owned());
            Suppression {
                place,
                text,
                kind,
                template,
            }
            .matches(&stacks, Some("head"))
        };
        for text in [
            "race:main",
            "race:pop",
            "race:queue.c",
            "race:libq",
            "race:^head$",
            "race_top:push",
        ] {
            assert!(hides(text), "{text}");
        }
        assert!(hides("race_top:pop") && hides("race_top:queue.c") && hides("called_from_lib:libq.so"));
        for text in [
            "race:nothing",
            "race_top:main",
            "called_from_lib:push",
            "mutex:push",
            "deadlock:push",
        ] {
            assert!(!hides(text), "{text}");
        }
    }
}
