//! Before a trace decides what is run: a trace that was not recorded here may name any program.

use super::output::say;
use anyhow::bail;
use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use trace_format::Meta;
use witness::escape::printable;
use witness::own::{self, Origin};
use witness::session::Launch;

/// Asks whether to run what a trace names, unless it was recorded here or the user has said so.
pub fn before_running(trace: &Path, origin: Origin, launch: &Launch, recorded: &Meta, yes: bool) -> anyhow::Result<()> {
    if origin == Origin::Here || yes {
        return Ok(());
    }
    say!(
        "witness: {} is not known to have been recorded here by you{}; this is what it would run:",
        trace.display(),
        own::hint()
    );
    for line in described(launch, recorded) {
        say!("  {line}");
    }
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        let _ = write!(std::io::stderr(), "witness: run it? [y/N] ");
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer)?;
        if matches!(answer.trim(), "y" | "Y" | "yes") {
            return Ok(());
        }
        bail!("it was not run");
    }
    bail!("it was not run: add --yes to run it all the same")
}

/// What is run, where, and which environment the trace gives it.
fn described(launch: &Launch, recorded: &Meta) -> Vec<String> {
    let text = |word: &std::ffi::OsStr| printable(&word.to_string_lossy()).into_owned();
    let words: Vec<String> = [&launch.program]
        .into_iter()
        .chain(&launch.arguments)
        .map(|word| format!("{:?}", word.to_string_lossy()))
        .collect();
    let mut lines = vec![format!("command      {}", printable(&words.join(" ")))];
    if let Some(directory) = &launch.directory {
        lines.push(format!("directory    {}", text(directory.as_os_str())));
    }
    let given = recorded.environment.iter().filter(|entry| entry.contains('='));
    let applied = given.filter(|entry| !entry.starts_with("LD_"));
    lines.extend(applied.map(|entry| format!("environment  {}", printable(entry))));
    lines
}
