//! The command that shows a witness again, as a shell takes it.

use super::Findings;
use crate::results::folder_of;
use crate::trace::Trace;
use std::path::Path;

/// The command that shows a witness again.
pub(super) fn replay_command(findings: &Findings<'_>, number: usize) -> String {
    let trace = quoted(findings.path);
    let elsewhere = findings.folder.filter(|folder| *folder != folder_of(findings.path));
    let store = elsewhere.map_or_else(String::new, |folder| format!(" --store {}", quoted(folder)));
    format!("witness replay {trace}{store} --witness {number}")
}

/// The command that looks for what one trace cannot show in other runs of its program; `None` if that is not known.
pub(super) fn another_run(trace: &Trace) -> Option<String> {
    let command = &trace.tables().meta.command;
    let words: Vec<String> = command.iter().map(|word| quoted(Path::new(word))).collect();
    (!words.is_empty()).then(|| format!("witness run --runs 30 -- {}", words.join(" ")))
}

/// The command that forces a recorded run again.
#[must_use]
pub fn run_again(trace: &Path) -> String {
    format!("witness replay {} --live --as-recorded", quoted(trace))
}

/// A path, or another word, as a shell would take it.
#[must_use]
pub fn quoted(path: &Path) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+:@%".contains(letter);
    let Some(text) = path.to_str().filter(|text| !text.contains(char::is_control)) else {
        // What no terminal shows is written as bash and zsh read it.
        let bytes = path.as_os_str().as_encoded_bytes();
        let escaped = bytes.iter().map(|&byte| match byte {
            b'\'' | b'\\' => format!("\\{}", char::from(byte)),
            b' '..=b'~' => char::from(byte).to_string(),
            byte => format!("\\x{byte:02x}"),
        });
        return format!("$'{}'", escaped.collect::<String>());
    };
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::process::Command;

    #[test]
    fn a_shell_reads_every_path_as_it_is() {
        assert_eq!(quoted(Path::new("/a/b-1.bin")), "/a/b-1.bin");
        assert_eq!(quoted(Path::new("a b")), "'a b'");
        for path in [
            &b"it's"[..],
            b"a b",
            b"\xffx\\'y z\n",
            b"caf\xc3\xa9",
            b"$HOME`",
            b"\x1b[31m",
        ] {
            let told = quoted(Path::new(OsStr::from_bytes(path)));
            assert!(!told.contains(char::is_control), "{told:?}");
            let echo = Command::new("bash").args(["-c", &format!("printf %s {told}")]).output();
            assert_eq!(echo.expect("bash runs").stdout, path, "{told}");
        }
    }
}
