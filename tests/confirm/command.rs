//! Runs the tool.

use std::path::Path;
use std::process::{Command, Output};

/// What a command said.
pub struct Said {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

/// The `witness` under test in a folder, told nothing by the environment of the test.
pub fn witness(folder: &Path, arguments: &[&str]) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_witness"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("WITNESS_") {
            command.env_remove(name);
        }
    }
    said(command.current_dir(folder).args(arguments))
}

/// Runs a command to its end.
pub fn said(command: &mut Command) -> Said {
    let Output { status, stdout, stderr } = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let said = Said {
        status: status.code().unwrap_or(-1),
        stdout: text(stdout),
        stderr: text(stderr),
    };
    assert!(!said.stderr.contains("panicked at"), "{command:?}: {}", said.stderr);
    assert_ne!(said.status, 70, "{command:?}: {}", said.stderr);
    said
}

impl Said {
    /// The output, if the status is this one.
    pub fn expect(self, status: i32) -> String {
        assert_eq!(self.status, status, "{}\n{}", self.stdout, self.stderr);
        self.stdout
    }
}
