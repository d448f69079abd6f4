//! A command, and what its page says of it.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command as Process, Stdio};

/// A line for the shell.
#[derive(Debug)]
pub struct Command {
    pub place: String,
    line: String,
    status: Option<i32>,
    output: Vec<String>,
}

impl Command {
    pub fn new(place: &str, line: &str) -> Command {
        let status = line
            .split_once("# exits with ")
            .map(|(_, status)| status.trim().parse().expect("a status"));
        Command {
            place: place.to_owned(),
            line: line.to_owned(),
            status,
            output: Vec::new(),
        }
    }

    /// Adds a line that it has to print.
    pub fn prints(&mut self, line: &str) {
        self.output.push(line.to_owned());
    }

    /// The command without its comment.
    pub fn text(&self) -> &str {
        self.line.split(" # ").next().unwrap_or_default().trim()
    }

    /// Executes the command; it has to end with its status, or else with 0 or, for a race, 66, and to print what the
    /// page shows.
    pub fn run(&self, folder: &Path) {
        let (status, said) = shell(folder, &self.line);
        let right = self
            .status
            .map_or([0, 66].contains(&status), |expected| status == expected);
        assert!(right, "{}: `{}` ends with {status}:\n{said}", self.place, self.line);
        // A folder with a space in its name is more than one word.
        let folder = folder.display().to_string();
        let said = said.replace(&folder, "");
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

/// Runs a line in a folder, told nothing of `witness` by the environment; its status and everything that it prints.
pub fn shell(folder: &Path, line: &str) -> (i32, String) {
    let bin = Path::new(env!("CARGO_BIN_EXE_witness")).parent().expect("a folder");
    let mut path = OsString::from(bin);
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let mut process = Process::new("bash");
    for (name, _) in std::env::vars_os() {
        let told = name.to_string_lossy();
        if told.starts_with("WITNESS_") || told.starts_with("CARGO_") {
            process.env_remove(name);
        }
    }
    if line.contains("witness cargo") {
        // With its library built along, which takes minutes, a Rust program is recorded in tests/record.
        process.env("WITNESS_PLAIN_STD", "1");
    }
    let output = process
        .args(["-o", "pipefail", "-c", line])
        .current_dir(folder)
        .env("PATH", path)
        .stdin(Stdio::null())
        .output()
        .expect("bash starts");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (output.status.code().unwrap_or(-1), said.into_owned())
}

/// Whether a program is installed.
pub fn there_is(program: &str) -> bool {
    shell(Path::new("."), &format!("command -v {program}")).0 == 0
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
