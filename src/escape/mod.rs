//! What came from a trace, as text for people: it must not move a cursor, begin a line of its own, turn letters around,
//! or give commands to the program that reads a log.
//!
//! Names go through [`printable`] where they are put into a sentence. Everything that is printed also goes through
//! [`Escaped`], whatever it is made of: only line breaks, and colors where they are wanted, come through as they are.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

/// What services that run builds take for commands to them, wherever it stands in a line.
const COMMANDS: [&str; 3] = ["##[", "##vso[", "##teamcity["];

/// Names come from whoever wrote the trace: what would move the cursor, begin another line or turn letters around is
/// shown as its escape.
#[must_use]
pub fn printable(name: &str) -> Cow<'_, str> {
    if !name.contains(is_unsafe) {
        return Cow::Borrowed(name);
    }
    let shown = name.chars().flat_map(|letter| {
        let escaped = is_unsafe(letter).then(|| letter.escape_default());
        let plain = escaped.is_none().then_some(letter);
        plain.into_iter().chain(escaped.into_iter().flatten())
    });
    Cow::Owned(shown.collect())
}

/// Control characters; those that separate lines and paragraphs; those that set the direction of letters
/// (CVE-2021-42574) or have no width.
fn is_unsafe(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Lines without what is no text. What is not shown as it is looks like an escape of JSON, so that an object in JSON
/// stays the same object.
#[derive(Debug)]
pub struct Escaped<W: Write> {
    out: W,
    /// Whether colors come through.
    colors: bool,
    /// Whether lines may be commands to a service that runs builds.
    commands: bool,
    /// A line that has no end yet.
    line: Vec<u8>,
}

impl<W: Write> Escaped<W> {
    /// Lines for `out`.
    pub fn new(out: W, colors: bool) -> Escaped<W> {
        Escaped {
            out,
            colors,
            commands: false,
            line: Vec::new(),
        }
    }

    /// Lines that may be commands (`::error …`) to a service that runs builds.
    pub fn with_commands(out: W) -> Escaped<W> {
        Escaped {
            commands: true,
            ..Escaped::new(out, false)
        }
    }

    /// Where the lines go. What is not flushed is lost.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn put(&mut self, line: &[u8]) -> io::Result<()> {
        let line = String::from_utf8_lossy(line);
        let line = escaped(&line, self.colors, self.commands);
        self.out.write_all(line.as_bytes())
    }

    /// Puts the line that has no end yet.
    fn put_rest(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        self.put(&line)
    }
}

impl<W: Write> Write for Escaped<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        if !self.line.is_empty()
            && let Some(end) = rest.iter().position(|&byte| byte == b'\n')
        {
            self.line.extend(&rest[..end]);
            self.put_rest()?;
            self.out.write_all(b"\n")?;
            rest = &rest[end + 1..];
        }
        // Where all lines are harmless, none needs a look of its own.
        if self.line.is_empty()
            && let Some(last) = rest.iter().rposition(|&byte| byte == b'\n')
            && are_harmless(&rest[..=last])
        {
            self.out.write_all(&rest[..=last])?;
            rest = &rest[last + 1..];
        }
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            self.put(&rest[..end])?;
            self.out.write_all(b"\n")?;
            rest = &rest[end + 1..];
        }
        self.line.extend(rest);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.put_rest()?;
        self.out.flush()
    }
}

/// Whether all of some lines are shown as they are, as a look at many letters at a time tells: they have no other letters
/// than plain ones, and nothing that commands begin with.
fn are_harmless(lines: &[u8]) -> bool {
    let is_plain = |byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n') & (byte != b'#');
    let plain = lines.iter().fold(true, |plain, &byte| plain & is_plain(byte));
    let neighbors = lines.iter().zip(&lines[1..]);
    plain
        && !neighbors.fold(false, |colons, (&one, &other)| {
            colons | ((one == b':') & (other == b':'))
        })
}

/// Whether one of [`COMMANDS`] is in a line.
fn has_command(line: &str) -> bool {
    // All of them have one of these.
    line.bytes().any(|byte| byte == b'#') && COMMANDS.iter().any(|begin| line.contains(begin))
}

/// Text of any number of lines, as [`Escaped`] writes it, without colors.
#[must_use]
pub fn lines(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(|line| escaped(line, false, false)).collect();
    lines.join("\n")
}

/// A line as it is shown.
fn escaped(line: &str, colors: bool, commands: bool) -> Cow<'_, str> {
    let start = line.trim_start();
    // Three of them begin no command, but the second place in a snippet of source.
    let is_command = !commands && (start.starts_with("::") && !start.starts_with(":::") || has_command(line));
    // Nearly all lines are of such letters alone, of which one can tell many at a time.
    let is_plain = line.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t'));
    if !is_command && (is_plain || !line.contains(|letter| is_unsafe(letter) && letter != '\t')) {
        return Cow::Borrowed(line);
    }
    let mut shown = String::with_capacity(line.len() + 16);
    for (at, letter) in line.char_indices() {
        let is_plain = !is_unsafe(letter) || letter == '\t' || letter == '\u{1b}' && colors && is_color(&line[at..]);
        let begins_command = is_command
            && (letter == ':' && line[..at].trim().is_empty()
                || COMMANDS.iter().any(|begin| line[at..].starts_with(begin)));
        if is_plain && !begins_command {
            shown.push(letter);
        } else {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                // Writing to a string does not fail.
                let _ = write!(shown, "\\u{unit:04x}");
            }
        }
    }
    Cow::Owned(shown)
}

/// Whether a text begins by setting a color or how letters look: it moves nothing.
fn is_color(text: &str) -> bool {
    text.strip_prefix("\u{1b}[").is_some_and(|rest| {
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != ';');
        end.is_some_and(|end| rest[end..].starts_with('m'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, colors: bool, commands: bool) -> String {
        let mut out = Escaped::new(Vec::new(), colors);
        out.commands = commands;
        // In pieces that end inside of letters.
        for piece in text.as_bytes().chunks(3) {
            out.write_all(piece).unwrap();
        }
        out.flush().unwrap();
        String::from_utf8(out.into_inner()).unwrap()
    }

    #[test]
    fn nothing_moves_the_cursor_or_turns_letters_around() {
        assert_eq!(printable("a\u{1b}[2Jb\nc\u{202e}d"), "a\\u{1b}[2Jb\\nc\\u{202e}d");
        assert_eq!(printable("größer → 1"), "größer → 1");
        let text = "a\u{1b}[2Jb\rc\u{202e}d\u{9b}1m\te\n\u{1b}[31mred\u{1b}[0m\n";
        assert_eq!(
            shown(text, true, false),
            "a\\u001b[2Jb\\u000dc\\u202ed\\u009b1m\te\n\u{1b}[31mred\u{1b}[0m\n"
        );
        assert!(!shown(text, false, false).contains('\u{1b}'));
        assert_eq!(lines(text), shown(text, false, false));
    }

    #[test]
    fn no_line_is_a_command_to_what_reads_a_log() {
        assert_eq!(
            shown("::error::x\n  ::add-mask::y\na::b\n", false, false),
            "\\u003a:error::x\n  \\u003a:add-mask::y\na::b\n"
        );
        assert_eq!(
            shown("x ##vso[task.setvariable]\n##[group]\na##b\n", false, false),
            "x \\u0023#vso[task.setvariable]\n\\u0023#[group]\na##b\n"
        );
        assert_eq!(shown("::error::x\n", false, true), "::error::x\n");
        assert_eq!(shown("   ::: a.c:1:2\n", false, false), "   ::: a.c:1:2\n");
    }

    #[test]
    fn an_object_in_json_stays_the_same() {
        let value = serde_json::json!({ "a": "x\u{202e}\u{7f}\u{9b}##[y", "::b": [1] });
        for text in [
            serde_json::to_string(&value).unwrap(),
            serde_json::to_string_pretty(&value).unwrap(),
        ] {
            let shown = shown(&text, false, false);
            assert_ne!(shown, text);
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        }
    }
}
