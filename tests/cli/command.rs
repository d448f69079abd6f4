//! Runs `witness`.

use std::path::Path;
use std::process::{Command, Stdio};

/// What a run of `witness` did.
#[derive(Debug)]
pub struct Outcome {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

/// `witness`, told nothing by the environment of the tests.
pub fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_witness"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("WITNESS_") {
            command.env_remove(name);
        }
    }
    command.env_remove("NO_COLOR").current_dir(folder).stdin(Stdio::null());
    command
}

/// Runs `witness` in a folder, so that paths in its output are short.
#[allow(dead_code, reason = "shared with the tests of hostile files")]
pub fn witness(folder: &Path, arguments: &[&str]) -> Outcome {
    run(command(folder).args(arguments))
}

pub fn run(command: &mut Command) -> Outcome {
    let output = command.output().expect("witness starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Outcome {
        status: output
            .status
            .code()
            .unwrap_or_else(|| panic!("witness was killed: {output:?}")),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}

impl Outcome {
    /// Asserts the status, and returns the run.
    #[track_caller]
    pub fn status(self, expected: i32) -> Outcome {
        assert_eq!(
            self.status, expected,
            "stdout:\n{}\nstderr:\n{}",
            self.stdout, self.stderr
        );
        self
    }
}
