//! Runs a command with a deadline and keeps its output.

use anyhow::{Context, Result, bail, ensure};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Far more than anything here takes; a command that is still running then hangs.
const DEADLINE: Duration = Duration::from_secs(120);

/// What a command did.
#[derive(Debug)]
pub struct Outcome {
    /// The command, as one would type it.
    pub line: String,
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Runs it in `folder`, its output in files there, so that no pipe can fill up.
pub fn run(folder: &Path, command: &mut Command) -> Result<Outcome> {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line = words
        .map(|w| w.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ");
    let (stdout, stderr) = (folder.join("stdout"), folder.join("stderr"));
    let mut child = command
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(File::create(&stdout)?)
        .stderr(File::create(&stderr)?)
        .spawn()
        .with_context(|| format!("cannot start {line}"))?;
    let started = Instant::now();
    let ended = loop {
        match child.try_wait()? {
            Some(status) => break Some(status),
            None if started.elapsed() > DEADLINE => break None,
            None => sleep(Duration::from_millis(2)),
        }
    };
    let text = |path: &Path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let (stdout, stderr) = (text(&stdout)?, text(&stderr)?);
    let Some(status) = ended else {
        child.kill()?;
        child.wait()?;
        bail!("still running after {DEADLINE:?}: {line}\n{stdout}\n{stderr}");
    };
    let Some(status) = status.code() else {
        bail!("{status}: {line}\n{stdout}\n{stderr}")
    };
    ensure!(!stderr.contains("panicked at"), "panicked: {line}\n{stderr}");
    ensure!(status != 70, "internal error: {line}\n{stdout}\n{stderr}");
    Ok(Outcome {
        line,
        status,
        stdout,
        stderr,
    })
}

impl Outcome {
    /// An error unless the status is one of those.
    pub fn expect(self, statuses: &[i32]) -> Result<Outcome> {
        ensure!(
            statuses.contains(&self.status),
            "exit status {}, expected {statuses:?}: {}\n{}\n{}",
            self.status,
            self.line,
            self.stdout,
            self.stderr
        );
        Ok(self)
    }
}

/// The `witness` under test, told nothing by the environment of the test.
pub fn witness() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_witness"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("WITNESS_") {
            command.env_remove(name);
        }
    }
    command
}
