//! `witness record`: runs a program and records what its threads do.

use anyhow::Context;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};
use witness::record::{self, Options, Policy, Recorded};

/// Record one run of a program.
///
/// The program must be built with ThreadSanitizer's instrumentation (gcc -g -fsanitize=thread, or
/// clang with -shared-libsan as well). Its input, output, signals and exit status pass through.
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// The trace file.
    #[arg(
        short,
        long,
        env = "WITNESS_OUTPUT",
        value_name = "FILE",
        default_value = "trace.bin"
    )]
    output: PathBuf,
    /// How the thread that runs next is chosen.
    #[arg(long, env = "WITNESS_POLICY", value_enum, default_value = "fifo")]
    policy: PolicyName,
    /// Seed of the policy: the same seed gives the same run, as far as the program lets it.
    #[arg(long, env = "WITNESS_SEED", value_name = "N", default_value_t = 0)]
    seed: u64,
    /// The program, and its arguments.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PolicyName {
    /// A thread runs until it blocks, yields or ends.
    Fifo,
    /// Switches between threads at random events.
    Random,
}

impl RecordArgs {
    /// Where the trace goes.
    pub fn output(&self) -> &Path {
        &self.output
    }
}

/// Records; ends with the program's exit status, 128 + n if signal n killed it.
pub fn run(args: &RecordArgs) -> anyhow::Result<ExitCode> {
    let (program, arguments) = args.command.split_first().context("no program given")?;
    let options = Options {
        program: program.clone(),
        arguments: arguments.to_vec(),
        output: args.output.clone(),
        policy: match args.policy {
            PolicyName::Fifo => Policy::Fifo,
            PolicyName::Random => Policy::Random,
        },
        seed: args.seed,
    };
    let recorded = record::record(&options)?;
    eprintln!("{}", summary(&recorded));
    Ok(ExitCode::from(status_code(recorded.status)))
}

/// What was recorded, in one line.
fn summary(recorded: &Recorded) -> String {
    let written = &recorded.summary;
    let mut line = format!(
        "witness: {} thread{}, {} events, {} bytes, {:.2} bytes/event, {:.2} s: {}",
        written.threads,
        if written.threads == 1 { "" } else { "s" },
        written.events,
        written.bytes,
        written.bytes as f64 / written.events.max(1) as f64,
        recorded.elapsed.as_secs_f64(),
        written.path.display(),
    );
    if recorded.deadlock {
        line += " (ended in a deadlock)";
    }
    if !recorded.degraded.is_empty() {
        line += &format!(" (incomplete: {})", recorded.degraded.join("; "));
    }
    line
}

/// As a shell reports it.
fn status_code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => code as u8,
        (None, Some(signal)) => 128_u8.wrapping_add(signal as u8),
        (None, None) => 1,
    }
}
