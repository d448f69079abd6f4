//! A page, its commands, and what they print.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command as Process, Stdio};

/// What a page asks for.
pub struct Page {
    pub files: Vec<(String, String)>,
    pub commands: Vec<Command>,
}

/// A command, and what the page says of it.
#[derive(Debug)]
pub struct Command {
    place: String,
    line: String,
    status: Option<i32>,
    output: Vec<String>,
}

impl Page {
    pub fn of(name: &str, text: &str) -> Page {
        let mut page = Page {
            files: Vec::new(),
            commands: Vec::new(),
        };
        let mut language: Option<&str> = None;
        for (number, line) in (1..).zip(text.lines()) {
            let with = line
                .strip_prefix("<!-- with ")
                .and_then(|rest| rest.strip_suffix(" -->"));
            if let Some((from, to)) = with.and_then(|with| with.split_once(" as ")) {
                page.files.push((from.to_owned(), to.to_owned()));
            }
            let first = line
                .strip_prefix("<!-- run ")
                .and_then(|rest| rest.strip_suffix(" -->"));
            page.commands
                .extend(first.map(|command| Command::of(format!("{name}:{number}"), command)));
            if let Some(fence) = line.strip_prefix("```") {
                language = if language.is_some() { None } else { Some(fence) };
                continue;
            }
            let place = format!("{name}:{number}");
            match language {
                Some("console") => match line.strip_prefix("$ ") {
                    Some(command) => page.commands.push(Command::of(place, command)),
                    None => match page.commands.last_mut() {
                        Some(command) if !line.trim().is_empty() => command.output.push(line.to_owned()),
                        _ => {}
                    },
                },
                Some("yaml") => {
                    let command = line.trim().trim_start_matches("- ");
                    if command.starts_with("witness ") {
                        page.commands.push(Command::of(place, command));
                    }
                }
                _ => {}
            }
        }
        page
    }
}

impl Command {
    fn of(place: String, line: &str) -> Command {
        let status = line
            .split_once("# exits with ")
            .map(|(_, status)| status.trim().parse().expect("a status"));
        Command {
            place,
            line: line.to_owned(),
            status,
            output: Vec::new(),
        }
    }

    pub fn run(&self, folder: &Path) {
        let bin = Path::new(env!("CARGO_BIN_EXE_witness")).parent().expect("a folder");
        let mut path = OsString::from(bin);
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut process = Process::new("bash");
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("WITNESS_") {
                process.env_remove(name);
            }
        }
        let output = process
            .args(["-o", "pipefail", "-c", &self.line])
            .current_dir(folder)
            .env("PATH", path)
            .stdin(Stdio::null())
            .output()
            .expect("bash starts");
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        let status = output.status.code().unwrap_or(-1);
        // Nothing wrong, or a race.
        let right = self
            .status
            .map_or([0, 66].contains(&status), |expected| status == expected);
        assert!(right, "{}: `{}` ends with {status}:\n{said}", self.place, self.line);
        let mut lines = said.lines().map(plain);
        for expected in &self.output {
            let expected = plain(expected);
            let found = lines.any(|line| line.starts_with(&expected));
            assert!(
                found,
                "{}: `{}` does not print, in this order: {expected}\n{said}",
                self.place, self.line
            );
        }
    }
}

/// A line without what differs from run to run: numbers, the folders of files, how far columns are apart.
fn plain(line: &str) -> String {
    let words = line.split_whitespace().map(|word| {
        let file = word.rsplit('/').next().unwrap_or(word);
        let file = if file.is_empty() { word } else { file };
        // Hexadecimal numbers first: their letters are digits too.
        if file.trim_start_matches(['(', '[']).starts_with("0x") {
            return "N".to_owned();
        }
        let mut plain = String::new();
        for letter in file.chars() {
            match letter {
                '0'..='9' if plain.ends_with('N') => {}
                '0'..='9' => plain.push('N'),
                letter => plain.push(letter),
            }
        }
        plain
    });
    words.collect::<Vec<_>>().join(" ")
}
