//! Which runs count as failing: by their exit status, the signal that killed them, what they printed, or a command of
//! the user's.

use crate::session::new_output;
use crate::session::{asks_to_end, signal_name};
use regex::bytes::Regex;
use std::ffi::OsStr;
use std::fmt;
use std::io::{self, Seek, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::str::FromStr;
use trace_format::ProgramEnd;

/// Statuses with which a shell says that it could not run a command.
const NOT_RUN: [i32; 2] = [126, 127];

/// A condition on which a run fails.
#[derive(Clone, Debug)]
pub struct FailsIf {
    text: String,
    condition: Condition,
}

#[derive(Clone, Debug)]
enum Condition {
    /// This exit status, or any but 0.
    Status(Option<i32>),
    /// This signal, or any that does not ask a program to end.
    Signal(Option<i32>),
    /// Something printed matches.
    Output(Regex),
    /// A shell's command succeeds.
    Command,
}

/// Why a text is no condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FailsIfError {
    /// Nothing that is known.
    #[error("expected status, status=N, signal, signal=NAME, output=REGEX or command=COMMAND")]
    Kind,
    /// No exit status.
    #[error("an exit status is a number from 0 to 255")]
    Status,
    /// No signal.
    #[error("a signal is a number from 1 to 64, or a name such as SIGABRT")]
    Signal,
    /// No regular expression.
    #[error("{0}")]
    Output(String),
    /// Nothing to run.
    #[error("the command is empty")]
    Command,
}

impl FromStr for FailsIf {
    type Err = FailsIfError;

    fn from_str(text: &str) -> Result<FailsIf, FailsIfError> {
        let (kind, value) = match text.split_once('=') {
            Some((kind, value)) => (kind, Some(value)),
            None => (text, None),
        };
        let condition = match (kind, value) {
            ("status", None) => Condition::Status(None),
            ("status", Some(value)) => {
                let status: u8 = value.parse().map_err(|_| FailsIfError::Status)?;
                Condition::Status(Some(status.into()))
            }
            ("signal", None) => Condition::Signal(None),
            ("signal", Some(value)) => Condition::Signal(Some(signal(value).ok_or(FailsIfError::Signal)?)),
            ("output", Some(value)) => {
                let regex = Regex::new(value).map_err(|error| FailsIfError::Output(error.to_string()))?;
                Condition::Output(regex)
            }
            ("command", Some(value)) if value.trim().is_empty() => return Err(FailsIfError::Command),
            ("command", Some(_)) => Condition::Command,
            _ => return Err(FailsIfError::Kind),
        };
        Ok(FailsIf {
            text: text.to_owned(),
            condition,
        })
    }
}

impl fmt::Display for FailsIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn signal(text: &str) -> Option<i32> {
    let name = text.strip_prefix("SIG").unwrap_or(text).to_ascii_uppercase();
    (1..=64).find(|&number| {
        let known = signal_hook::low_level::signal_name(number);
        text == number.to_string() || known.and_then(|known| known.strip_prefix("SIG")) == Some(&name)
    })
}

impl FailsIf {
    /// What fails unless something else is said: an exit status other than 0, and a signal.
    #[must_use]
    pub fn usual() -> Vec<FailsIf> {
        let all = [("status", Condition::Status(None)), ("signal", Condition::Signal(None))];
        all.map(|(text, condition)| FailsIf {
            text: text.to_owned(),
            condition,
        })
        .into()
    }

    /// Whether it depends on more than how the program ended. What several threads print, and in which order, is no
    /// outcome of an operation, so exploration covers each thread's own, not each combination.
    #[must_use]
    pub fn needs_output(&self) -> bool {
        matches!(self.condition, Condition::Output(_) | Condition::Command)
    }

    /// That a run failed, after *the program*.
    ///
    /// # Errors
    /// If the command cannot be run.
    pub(super) fn judge(&self, end: ProgramEnd, output: &[u8], directory: Option<&Path>) -> io::Result<Option<String>> {
        Ok(match (&self.condition, end) {
            (Condition::Status(None), ProgramEnd::Exited(status)) if status != 0 => {
                Some(format!("exited with status {status}"))
            }
            (&Condition::Status(Some(wanted)), ProgramEnd::Exited(status)) if status == wanted => {
                Some(format!("exited with status {status}"))
            }
            (Condition::Signal(None), ProgramEnd::Signaled(signal)) if !asks_to_end(signal) => {
                Some(format!("was killed by {}", signal_name(signal)))
            }
            (&Condition::Signal(Some(wanted)), ProgramEnd::Signaled(signal)) if signal == wanted => {
                Some(format!("was killed by {}", signal_name(signal)))
            }
            (Condition::Output(regex), _) => regex.is_match(output).then(|| format!("printed what matches {regex}")),
            (Condition::Command, _) => {
                let command = self.text.split_once('=').map_or("", |(_, command)| command);
                succeeds(command, end, output, directory)?.then(|| format!("fails by {command:?}"))
            }
            _ => None,
        })
    }
}

/// Runs a shell's command on what a run printed; whether it succeeds.
fn succeeds(command: &str, end: ProgramEnd, output: &[u8], directory: Option<&Path>) -> io::Result<bool> {
    let mut input = new_output()?;
    input.write_all(output)?;
    input.rewind()?;
    let status = match end {
        ProgramEnd::Exited(status) => status.to_string(),
        ProgramEnd::Signaled(signal) => (128 + signal).to_string(),
        _ => String::new(),
    };
    let mut shell = Command::new("sh");
    shell
        .arg("-c")
        .arg(OsStr::new(command))
        .stdin(input)
        .stdout(Stdio::null());
    shell.env("WITNESS_EXIT_STATUS", status);
    if let Some(directory) = directory {
        shell.current_dir(directory);
    }
    let ended = shell.status()?;
    match ended.code() {
        Some(code) if NOT_RUN.contains(&code) => Err(io::Error::other(format!("the shell exits with status {code}"))),
        code => Ok(code == Some(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(text: &str, end: ProgramEnd, output: &str) -> Option<String> {
        let condition: FailsIf = text.parse().unwrap();
        assert_eq!(condition.to_string(), text);
        condition.judge(end, output.as_bytes(), None).unwrap()
    }

    #[test]
    fn each_condition_judges_what_it_names() {
        use ProgramEnd::{Exited, Signaled};
        for (text, end, output, fails) in [
            ("status", Exited(1), "", true),
            ("status", Exited(0), "", false),
            ("status", Signaled(11), "", false),
            ("status=3", Exited(3), "", true),
            ("status=3", Exited(1), "", false),
            ("status=0", Exited(0), "", true),
            ("signal", Signaled(11), "", true),
            ("signal", Signaled(15), "", false),
            ("signal=SIGTERM", Signaled(15), "", true),
            ("signal=abrt", Signaled(6), "", true),
            ("signal=6", Signaled(11), "", false),
            ("output=ERROR [0-9]+", Exited(0), "ok\nERROR 12\n", true),
            ("output=ERROR [0-9]+", Exited(0), "ERROR x\n", false),
            ("command=grep -q late", Exited(0), "too late\n", true),
            ("command=grep -q late", Exited(0), "in time\n", false),
            ("command=test $WITNESS_EXIT_STATUS = 139", Signaled(11), "", true),
        ] {
            assert_eq!(judged(text, end, output).is_some(), fails, "{text} {end:?} {output:?}");
        }
        let condition: FailsIf = "command=no-such-command-here".parse().unwrap();
        assert!(condition.judge(Exited(0), b"", None).is_err());
    }

    #[test]
    fn what_is_no_condition_is_refused() {
        use FailsIfError as Error;
        for (text, error) in [
            ("crash", Error::Kind),
            ("output", Error::Kind),
            ("status=256", Error::Status),
            ("status=", Error::Status),
            ("signal=65", Error::Signal),
            ("signal=SIGNAL", Error::Signal),
            ("command= ", Error::Command),
        ] {
            assert_eq!(text.parse::<FailsIf>().unwrap_err(), error, "{text}");
        }
        let error = "output=(".parse::<FailsIf>().unwrap_err();
        assert!(matches!(error, Error::Output(_)), "{error}");
    }
}
