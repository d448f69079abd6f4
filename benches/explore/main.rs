//! Exploration measured on programs whose verdicts are known, beside this file:
//! `cargo bench --bench explore -- failing`, `small`, or `long`.
//!
//! `failing` counts the runs until a program first fails, under `witness explore` and in recordings under the policies
//! `random`, `pct` and `pos`; `small` counts the runs until every schedule is covered, and compares what was found with
//! the verdict that each program names; `long` measures the tool itself on programs of a hundred thousand events and
//! more, in runs, processor time and memory. All print a table in Markdown.

mod failing;
mod long;
mod programs;
mod small;

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is measured, and how long.
struct Measurement {
    /// Which of each set; all if empty.
    names: Vec<String>,
    /// Seeds of each program.
    seeds: u64,
    /// Most runs for each seed.
    runs: usize,
    /// Longest exploration.
    seconds: Duration,
    /// Whether recordings under policies are made too.
    policies: bool,
    /// For the compiler.
    defines: Vec<String>,
    /// For programs, traces.
    folder: PathBuf,
}

impl Measurement {
    fn wants(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|wanted| name.starts_with(wanted.as_str()))
    }
}

const USAGE: &str =
    "usage: cargo bench --bench explore -- failing|small|long [--seeds N] [--runs N] [--seconds N] [--no-policies] [--items N] [NAME…]
A name stands for all programs that begin with it.";

fn main() -> Result<()> {
    let mut measurement = Measurement {
        names: Vec::new(),
        seeds: 20,
        runs: 1_000,
        seconds: Duration::from_secs(60),
        policies: true,
        defines: Vec::new(),
        folder: Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("explore-{}", std::process::id())),
    };
    let mut set = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || {
            let number = arguments
                .next()
                .with_context(|| format!("{argument} needs a number\n{USAGE}"))?;
            number
                .parse::<u64>()
                .with_context(|| format!("{argument} {number}: no number\n{USAGE}"))
        };
        match &*argument {
            // What cargo adds.
            "--bench" => {}
            "--seeds" => measurement.seeds = number()?,
            "--runs" => measurement.runs = number()? as usize,
            "--seconds" => measurement.seconds = Duration::from_secs(number()?),
            "--no-policies" => measurement.policies = false,
            // How much the long programs do.
            "--items" => measurement.defines.push(format!("-DITEMS={}", number()?)),
            "failing" | "small" | "long" if set.is_none() => set = Some(argument),
            option if option.starts_with('-') => bail!("{option}: no such option\n{USAGE}"),
            _ => measurement.names.push(argument),
        }
    }
    std::fs::create_dir_all(&measurement.folder)?;
    let measured = match set.as_deref() {
        Some("failing") => failing::measure(&measurement),
        Some("long") => long::measure(&measurement),
        Some(_) => small::measure(&measurement),
        None => bail!("{USAGE}"),
    };
    std::fs::remove_dir_all(&measurement.folder)?;
    measured
}
