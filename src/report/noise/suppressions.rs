//! Suppression files in ThreadSanitizer's syntax, applied as its runtime does (`tsan_suppressions.cpp`,
//! `TemplateMatch`).
//!
//! Each line is a `type:template`; `#` begins a comment. A template matches a name that contains it; `*` matches
//! anything, `^` and `$` the beginning and the end. `race:`, `mutex:`, `deadlock:`, `thread:`, `signal:`, and our own
//! `atomicity:`, each apply to one type of report; they look at the function, the file and the module of every frame of
//! its call stacks, and at the name of the global variable. `race_top:` looks at the innermost frames of a race.
//! `called_from_lib:` makes ThreadSanitizer ignore a library's calls of functions that it intercepts; here it hides the
//! races and misused locks that come from such calls.

use safe_files::read_given;
use std::fs::File;
use std::path::{Path, PathBuf};
use trace_format::{MarkInfo, MarkKind};

/// Bytes of a file at most.
const LONGEST: u64 = 16 << 20;

/// The types of reports that suppressions tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportType {
    /// Of a data race, also one for a file descriptor.
    Race,
    /// Of a misused lock.
    Mutex,
    /// Of locks taken in both orders.
    Deadlock,
    /// Of accesses of one thread between those of another; ThreadSanitizer has none of these.
    AtomicityViolation,
    /// Of a thread that nobody joins.
    Thread,
    /// Of what a signal handler must not do.
    Signal,
}

/// What a frame is called.
#[derive(Clone, Copy, Debug, Default)]
pub struct Names<'a> {
    /// The function.
    pub function: Option<&'a str>,
    /// The source file.
    pub file: Option<&'a str>,
    /// The module.
    pub module: Option<&'a str>,
}

/// What suppressions look at in a report.
#[derive(Clone, Debug)]
pub struct Reported<'a> {
    /// Its type.
    pub of: ReportType,
    /// The call stacks, each with the innermost frame first.
    pub stacks: Vec<Vec<Names<'a>>>,
    /// The frames that called something intercepted: what `called_from_lib:` looks at.
    pub callers: Vec<Names<'a>>,
    /// The global variable that it is about.
    pub variable: Option<&'a str>,
}

/// Where a suppression looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    All(ReportType),
    RaceTop,
    CalledFromLib,
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
        "{}:{line}: '{text}' is no suppression: expected race:, race_top:, mutex:, deadlock:, atomicity:, thread:, signal: or called_from_lib:, and a name",
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
        let read = File::open(path).and_then(|file| read_given(file, LONGEST));
        let bytes = read.map_err(|source| SuppressionError::Io {
            path: path.to_owned(),
            source,
        })?;
        let text = String::from_utf8_lossy(&bytes);
        for (line, text) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
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

    /// Those that a program has built in, or was recorded with. What is none of them is passed over.
    #[must_use]
    pub fn of_program(marks: &[MarkInfo]) -> Suppressions {
        let texts = marks.iter().filter(|mark| mark.kind == MarkKind::Suppressions);
        let lines = texts.flat_map(|mark| mark.text.lines()).map(str::trim);
        let all = lines.filter(|line| !line.starts_with('#')).filter_map(|line| {
            let (kind, template) = parse(line)?;
            Some(Suppression {
                place: String::new(),
                text: line.to_owned(),
                kind,
                template,
            })
        });
        Suppressions { all: all.collect() }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The first suppression that hides a report; marks all that do as used.
    #[must_use]
    pub fn find(&self, reported: &Reported<'_>, used: &mut [bool]) -> Option<String> {
        let mut first = None;
        for (suppression, used) in self.all.iter().zip(used) {
            if suppression.matches(reported) {
                *used = true;
                first.get_or_insert_with(|| suppression.text.clone());
            }
        }
        first
    }

    /// Those that hid nothing, by whether each was used; of the types that an analysis can use, or of `all`.
    #[must_use]
    pub fn unused(&self, used: &[bool], all: bool) -> Vec<String> {
        let usable = |kind| all || matches!(kind, Kind::All(ReportType::Race) | Kind::RaceTop | Kind::CalledFromLib);
        let rows = self.all.iter().zip(used);
        rows.filter(|(suppression, used)| !**used && usable(suppression.kind))
            .map(|(suppression, _)| format!("{}: {}", suppression.place, suppression.text))
            .collect()
    }
}

fn parse(text: &str) -> Option<(Kind, Template)> {
    let (kind, template) = text.split_once(':')?;
    let kind = match kind {
        "race" => Kind::All(ReportType::Race),
        "mutex" => Kind::All(ReportType::Mutex),
        "deadlock" => Kind::All(ReportType::Deadlock),
        "atomicity" => Kind::All(ReportType::AtomicityViolation),
        "thread" => Kind::All(ReportType::Thread),
        "signal" => Kind::All(ReportType::Signal),
        "race_top" => Kind::RaceTop,
        "called_from_lib" => Kind::CalledFromLib,
        _ => return None,
    };
    (!template.is_empty()).then(|| (kind, Template::of(template)))
}

impl Suppression {
    fn matches(&self, reported: &Reported<'_>) -> bool {
        let is = |name: &str| self.template.matches(name);
        let named = |names: &Names<'_>| [names.function, names.file, names.module].into_iter().flatten().any(is);
        match self.kind {
            Kind::All(of) => {
                of == reported.of && (reported.stacks.iter().flatten().any(named) || reported.variable.is_some_and(is))
            }
            Kind::RaceTop => {
                let tops = reported.stacks.iter().filter_map(|stack| stack.first());
                reported.of == ReportType::Race && tops.into_iter().any(named)
            }
            Kind::CalledFromLib => {
                let ignorable = [ReportType::Race, ReportType::Mutex, ReportType::Deadlock].contains(&reported.of);
                ignorable && reported.callers.iter().filter_map(|names| names.module).any(is)
            }
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

    /// Each piece is where it comes first, as in ThreadSanitizer: `push$` does not match `push_push`.
    fn matches(&self, name: &str) -> bool {
        let mut rest = name;
        for (at, piece) in self.pieces.iter().enumerate() {
            match rest.find(piece.as_str()) {
                Some(found) if found == 0 || at > 0 || !self.from_start => rest = &rest[found + piece.len()..],
                _ => return false,
            }
        }
        let ends_open = self.pieces.len() > 1 && self.pieces.last().is_some_and(String::is_empty);
        !name.is_empty() && (!self.to_end || rest.is_empty() || ends_open)
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
        assert!(matches("push$", "queue_push") && !matches("push$", "push_push") && !matches("queue$", "queue_push"));
        assert!(matches("push*push$", "push_push") && matches("push*$", "push_push") && !matches("^$", "push"));
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
        let names = |function, module| Names {
            function: Some(function),
            file: Some("/src/queue.c"),
            module: Some(module),
        };
        let stacks = vec![
            vec![names("push", "/lib/libq.so"), names("main", "/bin/app")],
            vec![names("pop", "/bin/app")],
        ];
        let hides = |of: ReportType, text: &str| {
            let (kind, template) = parse(text).expect("a suppression");
            let suppression = Suppression {
                place: String::new(),
                text: text.to_owned(),
                kind,
                template,
            };
            suppression.matches(&Reported {
                of,
                stacks: stacks.clone(),
                callers: vec![stacks[0][0]],
                variable: Some("head"),
            })
        };
        let types = [
            (ReportType::Race, "race"),
            (ReportType::Mutex, "mutex"),
            (ReportType::Deadlock, "deadlock"),
            (ReportType::Thread, "thread"),
            (ReportType::Signal, "signal"),
        ];
        for (of, name) in types {
            for template in ["main", "pop", "queue.c", "libq", "^head$"] {
                for (other, _) in types {
                    assert_eq!(
                        hides(other, &format!("{name}:{template}")),
                        of == other,
                        "{name}:{template}"
                    );
                }
            }
            assert!(!hides(of, &format!("{name}:nothing")));
        }
        for text in [
            "race_top:push",
            "race_top:pop",
            "race_top:queue.c",
            "called_from_lib:libq.so",
        ] {
            assert!(
                hides(ReportType::Race, text) && !hides(ReportType::Thread, text),
                "{text}"
            );
        }
        assert!(hides(ReportType::Mutex, "called_from_lib:libq") && !hides(ReportType::Mutex, "race_top:push"));
        for text in ["race_top:main", "called_from_lib:push", "called_from_lib:app"] {
            assert!(!hides(ReportType::Race, text), "{text}");
        }
    }
}
