//! The text of Helgrind and DRD, out of a log in which every line of theirs begins with `==PID==`.

use super::{Said, completes_order, explains, kind, said};
use crate::warnings::{Format, Frame, Kind, Location, Side, Stack, Warning, lines, position};
use std::collections::BTreeMap;

/// The tool whose banner a line is, or whose words it has.
pub(crate) fn tool(line: &str) -> Option<Format> {
    let (_, text) = divide(line)?;
    if text.starts_with("Helgrind, a thread error detector") || text.starts_with("Possible data race during ") {
        return Some(Format::Helgrind);
    }
    (text.starts_with("drd, a thread error detector") || text.starts_with("Conflicting ")).then_some(Format::Drd)
}

/// Divides `==PID== text`, also if a time stands before the process.
fn divide(line: &str) -> Option<(&str, &str)> {
    let start = line
        .find("==")
        .filter(|&at| line[..at].chars().all(|letter| !letter.is_alphabetic()))?;
    let rest = &line[start + 2..];
    let end = rest.find("==")?;
    let process = rest[..end].rsplit(' ').next()?;
    let numeric = !process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit());
    let text = &rest[end + 2..];
    numeric.then(|| (process, text.strip_prefix(' ').unwrap_or(text).trim_end()))
}

pub(crate) fn read(name: &str, text: &str, format: Format) -> Vec<Warning> {
    // The lines of several processes may be mixed.
    let mut processes: BTreeMap<String, Process<'_>> = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = lines::plain(line);
        let Some((process, text)) = divide(&line) else {
            continue;
        };
        let process = processes.entry(process.to_owned()).or_insert_with(|| Process {
            name,
            format,
            warnings: Vec::new(),
            owner: Owner::Nobody,
            title: None,
            ended: false,
            order: false,
        });
        process.line(number, text.trim_start());
    }
    let mut warnings: Vec<Warning> = processes.into_values().flat_map(|process| process.warnings).collect();
    warnings.sort_by_key(|warning| warning.line);
    warnings
}

/// What the frames that follow belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Nobody,
    Side(usize),
    Heap,
    /// The last stack of what is no race.
    Deed,
    /// The same, and it is that of an acquisition that would wait.
    Completion,
}

/// What one process has said.
struct Process<'n> {
    name: &'n str,
    format: Format,
    warnings: Vec<Warning>,
    owner: Owner,
    /// The first line of the paragraph, while it may be the title of a warning.
    title: Option<(usize, String)>,
    /// Whether the list of all errors once more has begun.
    ended: bool,
    /// Whether the paragraphs are of a lock order that is violated: Helgrind tells that one in several.
    order: bool,
}

impl Process<'_> {
    fn line(&mut self, number: usize, text: &str) {
        if self.ended {
            return;
        }
        if text.starts_with("ERROR SUMMARY:") {
            self.ended = true;
        } else if text.is_empty() || text.starts_with("----") {
            (self.owner, self.title) = (Owner::Nobody, None);
            self.order &= text.is_empty();
        } else if let Some(frame) = frame(text) {
            self.frame(frame);
        } else {
            match said(text) {
                Some(Said::Race(side)) => {
                    let mut warning = self.warning(number, "data race", Kind::Race);
                    warning.sides[0] = side;
                    self.warnings.push(warning);
                    (self.owner, self.title, self.order) = (Owner::Side(0), None, false);
                }
                Some(Said::Other(side)) => {
                    if let Some(race) = self.last_race() {
                        race.sides[1] = side;
                        (self.owner, self.title) = (Owner::Side(1), None);
                    }
                }
                Some(Said::Location(location)) => {
                    self.owner = match location {
                        Location::Heap { .. } => Owner::Heap,
                        _ => Owner::Nobody,
                    };
                    if let Some(race) = self.last_race() {
                        race.location.get_or_insert(location);
                    }
                }
                None => self.other(number, text),
            }
        }
    }

    /// A line that says nothing of a race: perhaps the title of a warning, whose frames will follow.
    fn other(&mut self, number: usize, text: &str) {
        // Of the access that the frames are of.
        if text.starts_with("Locks held:") {
            return;
        }
        self.owner = Owner::Nobody;
        if text.contains("lock order \"") {
            let warning = self.warning(number, text, Kind::LockOrder);
            self.warnings.push(warning);
            self.order = true;
            return;
        }
        if self.order {
            if text.contains("acquisition of lock") {
                self.begin_stack();
                self.owner = match completes_order(text) {
                    true => Owner::Completion,
                    false => Owner::Deed,
                };
            }
            return;
        }
        let heading = text.strip_prefix("Thread ").is_some_and(|rest| {
            let rest = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
            rest.starts_with(':') && rest.len() <= 1
        });
        let explains = explains(text);
        if self.title.is_none() && !heading && !explains {
            self.title = Some((number, text.to_owned()));
        } else if explains {
            // Frames after this are not a warning's.
            self.title = Some((0, String::new()));
        }
    }

    fn frame(&mut self, frame: Frame) {
        match (self.owner, self.title.take()) {
            (Owner::Nobody, Some((number, title))) if number > 0 => {
                let kind = kind(&title);
                let warning = self.warning(number, &title, kind);
                self.warnings.push(warning);
                self.title = Some((0, String::new()));
                self.begin_stack();
                self.frame(frame);
            }
            (Owner::Nobody, title) => self.title = title,
            (Owner::Side(side), _) => {
                if let Some(race) = self.last_race() {
                    match &mut race.sides[side].stack {
                        Stack::Frames(frames) => frames.push(frame),
                        stack => *stack = Stack::Frames(vec![frame]),
                    }
                }
            }
            (owner @ (Owner::Deed | Owner::Completion), title) => {
                self.title = title;
                let Some(warning) = self.warnings.last_mut() else {
                    return;
                };
                let Some(stack) = warning.stacks.last_mut() else {
                    return;
                };
                stack.push(frame);
                if owner == Owner::Completion {
                    // The last side has the last stack, as far as that has been read.
                    if stack.len() > 1 {
                        warning.sides.pop();
                    }
                    warning.sides.push(Side::acquisition(None, stack.clone()));
                }
            }
            (Owner::Heap, _) => {
                if let Some(Location::Heap { stack }) = self.last_race().and_then(|race| race.location.as_mut()) {
                    stack.push(frame);
                }
            }
        }
    }

    /// The frames that follow are of the last warning.
    fn begin_stack(&mut self) {
        self.owner = Owner::Deed;
        if let Some(warning) = self.warnings.last_mut() {
            warning.stacks.push(Vec::new());
        }
    }

    fn warning(&self, line: usize, title: &str, kind: Kind) -> Warning {
        Warning {
            report: self.name.to_owned(),
            line,
            format: self.format,
            title: title.to_owned(),
            kind,
            sides: kind.unknown_sides(),
            location: None,
            stacks: Vec::new(),
        }
    }

    fn last_race(&mut self) -> Option<&mut Warning> {
        self.warnings.last_mut().filter(|warning| warning.kind == Kind::Race)
    }
}

/// `at 0x1091F0: holds_b (wrong_lock.c:28)`, `by 0x484C7D6: ??? (in /usr/…/vgpreload_helgrind-amd64-linux.so)`.
fn frame(text: &str) -> Option<Frame> {
    let rest = text.strip_prefix("at 0x").or_else(|| text.strip_prefix("by 0x"))?;
    let (address, rest) = rest.split_once(": ")?;
    u64::from_str_radix(address, 16).ok()?;
    let (function, place) = match rest.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")) {
        Some((function, place)) => (function, place),
        None => (rest, ""),
    };
    let mut frame = Frame {
        function: (function != "???").then(|| function.to_owned()),
        ..Frame::default()
    };
    match place.strip_prefix("in ") {
        Some(module) => frame.module = Some(module.to_owned()),
        None if place.is_empty() => {}
        None => {
            let (file, line, _) = position::split(place);
            (frame.file, frame.line) = (Some(file.to_owned()), line);
        }
    }
    Some(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_and_times_before_a_line() {
        assert_eq!(divide("==12== text "), Some(("12", "text")));
        assert_eq!(divide("==00:00:00:00.123 12== text"), Some(("12", "text")));
        assert_eq!(divide("==12=="), Some(("12", "")));
        assert_eq!(divide("=================="), None);
        assert_eq!(divide("a == b == c"), None);
        assert_eq!(divide("==x== text"), None);
    }

    #[test]
    fn frames() {
        let in_module = frame("by 0x484C7D6: ??? (in /usr/lib/x.so)").expect("a frame");
        assert_eq!(
            (in_module.function, in_module.module.as_deref()),
            (None, Some("/usr/lib/x.so"))
        );
        let inner = frame("at 0x1: f(int (*)(char)) (dir/a.cc:3)").expect("a frame");
        assert_eq!(inner.function.as_deref(), Some("f(int (*)(char))"));
        assert_eq!((inner.file.as_deref(), inner.line), (Some("dir/a.cc"), Some(3)));
        assert_eq!(frame("at most 0x3"), None);
        assert_eq!(frame("by 0xzz: f (a.c:1)"), None);
    }
}
