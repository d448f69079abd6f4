//! ThreadSanitizer's text, of programs built by gcc, clang and rustc, from its first versions on.
//!
//! A report begins with `WARNING: ThreadSanitizer: TITLE (pid=N)` and consists of paragraphs, each a heading and its
//! frames. The accesses come first; creations of threads and mutexes follow and are skipped. Reports of other problems
//! have stacks without a heading, or with another one. Frames differ by version: with or without column, build id, and
//! module; `<null>` stands for an unknown name.

use super::{Format, Frame, Kind, Location, Side, Stack, Warning, lines, position};

const NAME: &str = "ThreadSanitizer: ";

pub(super) fn read(name: &str, text: &str) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = Vec::new();
    let mut report: Option<Report> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let line = lines::plain(line);
        if let Some((width, title)) = header(&line) {
            warnings.extend(report.take().map(Report::finish));
            report = Some(Report::new(name, number, width, title));
            continue;
        }
        let Some(open) = &mut report else {
            continue;
        };
        let line = lines::after(&line, open.width);
        if line.starts_with("SUMMARY: ") || line.starts_with("========") {
            warnings.extend(report.take().map(Report::finish));
        } else {
            open.line(line);
        }
    }
    warnings.extend(report.map(Report::finish));
    warnings
}

/// Where the report begins in the line, and its title.
fn header(line: &str) -> Option<(usize, &str)> {
    let before_name = line.find(NAME)?;
    let (before, title) = (&line[..before_name], &line[before_name + NAME.len()..]);
    let severity = ["WARNING: ", "FATAL: ", "ERROR: "];
    let start = severity.iter().find_map(|word| before.strip_suffix(word))?;
    // Crashes are announced as `==123==ERROR: ThreadSanitizer: SEGV on …`.
    let start = start.trim_end_matches(|letter: char| letter == '=' || letter.is_ascii_digit());
    let title = title.split(" (pid=").next().unwrap_or(title);
    Some((start.chars().count(), title.trim()))
}

/// The kind that a title says.
fn kind(title: &str) -> Kind {
    let has = |words: &str| title.contains(words);
    if has("lock-order-inversion") {
        Kind::LockOrder
    } else if has("thread leak") {
        Kind::ThreadLeak
    } else if has("mutex") {
        Kind::LockMisuse
    } else if has("signal") {
        Kind::Signal
    } else if has("race") || has("heap-use-after-free") {
        Kind::Race
    } else {
        Kind::Other
    }
}

/// What the frames that follow belong to.
enum Owner {
    Nobody,
    Side(usize),
    Heap,
    /// The last stack of what is no race.
    Deed,
}

/// A report that is being read.
struct Report {
    warning: Warning,
    /// What a log collector writes before each line, in characters.
    width: usize,
    owner: Owner,
    sides: usize,
    /// Of a lock-order inversion: which stacks are of acquisitions that would wait, and by which threads.
    waits: Vec<(usize, Option<String>)>,
}

impl Report {
    fn new(name: &str, line: usize, width: usize, title: &str) -> Report {
        let kind = kind(title);
        Report {
            warning: Warning {
                report: name.to_owned(),
                line,
                format: Format::Tsan,
                title: title.to_owned(),
                kind,
                sides: kind.unknown_sides(),
                location: None,
                stacks: vec![Vec::new()],
            },
            width,
            owner: match kind {
                Kind::Race => Owner::Nobody,
                _ => Owner::Deed,
            },
            sides: 0,
            waits: Vec::new(),
        }
    }

    fn line(&mut self, line: &str) {
        let text = line.trim();
        if let Some(frame) = frame(text) {
            match self.owner {
                Owner::Nobody => {}
                Owner::Side(side) => match &mut self.warning.sides[side].stack {
                    Stack::Frames(frames) => frames.push(frame),
                    stack => *stack = Stack::Frames(vec![frame]),
                },
                Owner::Heap => {
                    if let Some(Location::Heap { stack }) = &mut self.warning.location {
                        stack.push(frame);
                    }
                }
                Owner::Deed => {
                    if let Some(stack) = self.warning.stacks.last_mut() {
                        stack.push(frame);
                    }
                }
            }
        } else if text == "[failed to restore the stack]" {
            if let Owner::Side(side) = self.owner {
                self.warning.sides[side].stack = Stack::NotRestored;
            }
        } else if let Some(access) = access(text) {
            self.owner = Owner::Nobody;
            if self.sides < 2 && self.warning.kind != Kind::LockOrder {
                self.warning.sides.resize_with(2, Side::default);
                self.owner = Owner::Side(self.sides);
                self.warning.sides[self.sides] = access;
                self.sides += 1;
            }
        } else if let Some(words) = text.strip_prefix("Location is ") {
            let location = location(words);
            self.owner = match location {
                Some(Location::Heap { .. }) => Owner::Heap,
                _ => Owner::Nobody,
            };
            self.warning.location = location.or(self.warning.location.take());
        } else if is_deed(text, self.warning.kind) {
            self.owner = Owner::Deed;
            if let Some((_, who)) = text.split_once(" acquired here while holding ") {
                let thread = who
                    .split_once(" in ")
                    .map(|(_, thread)| thread.trim_end_matches(':').to_owned());
                self.waits.push((self.warning.stacks.len(), thread));
            }
            self.warning.stacks.push(Vec::new());
        } else if text.ends_with(':') || text.is_empty() {
            self.owner = Owner::Nobody;
        }
    }

    fn finish(mut self) -> Warning {
        if self.warning.kind == Kind::Race && self.warning.location == Some(Location::Descriptor) {
            self.warning.kind = Kind::Descriptor;
        }
        for (stack, thread) in self.waits {
            let frames = self.warning.stacks[stack].clone();
            if self.warning.kind == Kind::LockOrder && !frames.is_empty() {
                self.warning.sides.push(Side::acquisition(thread, frames));
            }
        }
        self.warning.stacks.retain(|stack| !stack.is_empty());
        self.warning
    }
}

/// Whether a heading is of a stack that says what the program did: the second lock of a pair, the end of a thread that
/// nobody joins. Its counterpart in ThreadSanitizer are the stacks at which suppressions look.
fn is_deed(text: &str, kind: Kind) -> bool {
    match kind {
        Kind::LockOrder => text.starts_with("Mutex ") && text.contains(" acquired "),
        Kind::ThreadLeak => text.starts_with("Thread ") && text.contains(" created by "),
        Kind::Race | Kind::Descriptor => false,
        Kind::LockMisuse | Kind::Signal | Kind::Other => text == "and:",
    }
}

/// `Previous atomic write of size 4 at 0x… by thread T1 'name' (mutexes: write M0):`, and what other
/// languages than C call it: `Modifying access of Swift variable at 0x… by …`.
fn access(text: &str) -> Option<Side> {
    let (head, rest) = text.split_once(" by ")?;
    let (what, address) = head.rsplit_once(" at ")?;
    if !address.starts_with("0x") {
        return None;
    }
    let (deed, of) = what.split_once(" of ")?;
    let mut words = deed.split_whitespace().map(str::to_lowercase).peekable();
    words.next_if(|word| word == "previous");
    let atomic = words.next_if(|word| word == "atomic").is_some();
    let writes = match words.next()?.as_str() {
        "write" | "modifying" => true,
        "read" | "read-only" => false,
        _ => return None,
    };
    let thread = rest.split(" (mutexes:").next().unwrap_or(rest);
    Some(Side {
        acquires: false,
        writes: Some(writes),
        atomic: Some(atomic),
        size: lines::word_after(of, "size ").and_then(lines::number),
        thread: Some(thread.trim_end_matches(':').to_owned()),
        stack: Stack::NotGiven,
    })
}

/// What follows `Location is `.
fn location(words: &str) -> Option<Location> {
    if let Some(rest) = words.strip_prefix("global ") {
        // `'x' of size 4 at 0x… (module+0x…)`; early versions wrote no quotes.
        let name = rest.split(" of size ").next()?.trim_matches('\'');
        return Some(Location::Global { name: name.to_owned() });
    }
    if words.starts_with("heap block") {
        return Some(Location::Heap { stack: Vec::new() });
    }
    if words.starts_with("stack of") {
        return Some(Location::ThreadStack);
    }
    if words.starts_with("TLS of") {
        return Some(Location::ThreadLocal);
    }
    words.starts_with("file descriptor").then_some(Location::Descriptor)
}

/// `#0 function file:line:column (module+0x1234) (BuildId: …)`, any part of which may be missing.
fn frame(text: &str) -> Option<Frame> {
    let digits = text.strip_prefix('#')?;
    let rest = digits.trim_start_matches(|letter: char| letter.is_ascii_digit());
    if rest.len() == digits.len() || !rest.starts_with(' ') {
        return None;
    }
    let mut rest = rest.trim();
    let mut frame = Frame::default();
    if let Some((before, id)) = rest.rsplit_once(" (BuildId: ") {
        frame.build_id = Some(id.trim_end_matches(')').to_owned());
        rest = before;
    }
    if let Some((before, module)) = module(rest) {
        (frame.module, frame.offset) = (Some(module.0.to_owned()), Some(module.1));
        rest = before;
    }
    // Some settings begin a frame with its address: `#0 0x4a1234 in main a.c:3`.
    if rest.starts_with("0x") {
        rest = rest.split_once(' ').map_or("", |(_, rest)| rest.trim_start());
        rest = rest.strip_prefix("in ").unwrap_or(rest);
    }
    let known = |text: &str| (!text.is_empty() && text != "<null>").then(|| text.to_owned());
    let (function, place) = split(rest);
    let (file, line, column) = position::split(place);
    frame.function = known(function);
    frame.file = known(file);
    (frame.line, frame.column) = (line, column);
    Some(frame)
}

/// What comes before `(module+0x1234)` at the end, the module, and the offset.
fn module(text: &str) -> Option<(&str, (&str, u64))> {
    let inner = text.strip_suffix(')')?;
    let (_, offset) = inner.rsplit_once("+0x")?;
    let offset = u64::from_str_radix(offset, 16).ok()?;
    let module = &inner[..inner.rfind("+0x")?];
    let (before, module) = match module.rsplit_once(" (") {
        Some(parts) => parts,
        None => ("", module.strip_prefix('(')?),
    };
    Some((before, (module, offset)))
}

/// Divides `function place`, either of which may have blanks: the place begins at the first absolute path
/// outside of brackets, else it is the last word.
fn split(text: &str) -> (&str, &str) {
    let mut depth = 0_i32;
    let mut last = None;
    let mut before = ' ';
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '<' | '[' | '{' => depth += 1,
            // An arrow closes nothing.
            '>' if before == '-' || before == '=' => {}
            ')' | '>' | ']' | '}' => depth -= 1,
            ' ' if depth <= 0 => {
                if text[at + 1..].starts_with('/') {
                    return (text[..at].trim_end(), &text[at + 1..]);
                }
                last = Some(at);
            }
            _ => {}
        }
        before = letter;
    }
    // Brackets that do not match, as in `operator<`: then any absolute path, or the last word, will do.
    match last.or_else(|| text.find(" /")).or_else(|| text.rfind(' ')) {
        Some(at) => (text[..at].trim_end(), &text[at + 1..]),
        None if position::parse(text).is_some() => ("", text),
        None => (text, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (String, String, u32, String) {
        let frame = frame(text).unwrap_or_else(|| panic!("{text}"));
        let module = frame
            .module
            .map(|module| format!("{module}+{:#x}", frame.offset.unwrap_or(0)));
        (
            frame.function.unwrap_or_default(),
            frame.file.unwrap_or_default(),
            frame.line.unwrap_or_default(),
            module.unwrap_or_default(),
        )
    }

    fn row(function: &str, file: &str, line: u32, module: &str) -> (String, String, u32, String) {
        (function.to_owned(), file.to_owned(), line, module.to_owned())
    }

    #[test]
    fn frames_of_all_versions() {
        for (text, expected) in [
            (
                "#0 main /tmp/demo/a.c:32 (a+0x12e3)",
                row("main", "/tmp/demo/a.c", 32, "a+0x12e3"),
            ),
            (
                "#0 main /tmp/demo/a.c:28:12 (a+0xd0) (BuildId: 72f9)",
                row("main", "/tmp/demo/a.c", 28, "a+0xd0"),
            ),
            (
                "#1 pthread_create <null> (a+0x51)",
                row("pthread_create", "", 0, "a+0x51"),
            ),
            ("#1 <null> <null> (a+0x51)", row("", "", 0, "a+0x51")),
            (
                "#0 foo1() simple_stack2.cc:9 (exe+0x000000003c9e)",
                row("foo1()", "simple_stack2.cc", 9, "exe+0x3c9e"),
            ),
            (
                "#0 f(int, char*) /my dir/a b.cc:3 (a b+0x1)",
                row("f(int, char*)", "/my dir/a b.cc", 3, "a b+0x1"),
            ),
            (
                "#0 void std::__invoke<void (*)(int), int>(void (*&&)(int)) /usr/include/c++/12/bits/invoke.h:61 (x+0x2)",
                row(
                    "void std::__invoke<void (*)(int), int>(void (*&&)(int))",
                    "/usr/include/c++/12/bits/invoke.h",
                    61,
                    "x+0x2",
                ),
            ),
            (
                "#2 <alloc::boxed::Box<F,A> as core::ops::function::FnOnce<Args>>::call_once::h1 /rustc/9/library/alloc/src/boxed.rs:20:9 (p+0x3)",
                row(
                    "<alloc::boxed::Box<F,A> as core::ops::function::FnOnce<Args>>::call_once::h1",
                    "/rustc/9/library/alloc/src/boxed.rs",
                    20,
                    "p+0x3",
                ),
            ),
            (
                "#0 operator<(A, B) a.cc:4 (x+0x2)",
                row("operator<(A, B)", "a.cc", 4, "x+0x2"),
            ),
            ("#0 0x4a1234 in main a.c:3", row("main", "a.c", 3, "")),
            ("#0 0x4a1234 (a.out+0x1234)", row("", "", 0, "a.out+0x1234")),
            ("#3 main", row("main", "", 0, "")),
            ("#3 main (a+0x1)", row("main", "", 0, "a+0x1")),
        ] {
            assert_eq!(parts(text), expected, "{text}");
        }
        assert_eq!(frame("#define x"), None);
        assert_eq!(frame("#12"), None);
    }

    #[test]
    fn headings_of_accesses() {
        let read =
            access("Previous atomic read of size 8 at 0x7b04 by thread T12 'a by b' (mutexes: write M1, read M2):");
        let read = read.expect("an access");
        assert_eq!(
            (read.writes, read.atomic, read.size),
            (Some(false), Some(true), Some(8))
        );
        assert_eq!(read.thread.as_deref(), Some("thread T12 'a by b'"));
        let swift = access("Modifying access of Swift variable at 0x1 by main thread:").expect("an access");
        assert_eq!((swift.writes, swift.size), (Some(true), None));
        assert_eq!(access("Thread T1 (tid=5, finished) created by main thread at:"), None);
        assert_eq!(
            access("Location is heap block of size 9 at 0x7 allocated by thread T1:"),
            None
        );
    }

    #[test]
    fn locations() {
        let global = |name: &str| Some(Location::Global { name: name.to_owned() });
        assert_eq!(location("global 'x' of size 4 at 0x1 (a+0x2)"), global("x"));
        assert_eq!(
            location("global 'ns::x of y' of size 4 at 0x1 (a+0x2)"),
            global("ns::x of y")
        );
        assert_eq!(location("stack of main thread."), Some(Location::ThreadStack));
        assert_eq!(location("TLS of thread T1."), Some(Location::ThreadLocal));
        assert_eq!(
            location("file descriptor 3 created by main thread at:"),
            Some(Location::Descriptor)
        );
        assert_eq!(location("elsewhere"), None);
    }
}
