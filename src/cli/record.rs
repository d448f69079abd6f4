//! `witness record`: runs a program and records what its threads do.

use super::ExitCode;
use super::idle_threads;
use super::live::CompanionArgs;
use super::output::say;
use super::program_end;
use super::runs;
use super::suite;
use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;
use trace_format::{Summary, TraceFile};
use witness::record::{self, Naming, Options, Origin, Process, Recorded};
use witness::session::{self, Companions, Policy};
use witness::standstill::Standstill;

/// Record one run of a program.
///
/// The program must be built with ThreadSanitizer's instrumentation (gcc -g -fsanitize=thread; clang also needs
/// -shared-libsan). Its input, output, signals and exit status pass through.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  witness record -- ./app --threads 4
  witness record --policy random --seed 7 -o run7.bin -- ./app
  witness record --max-events 1000000 -- ./server
  witness record --with './client; kill $WITNESS_PROCESS' -- ./server")]
pub struct RecordArgs {
    /// The trace file, or a folder for PROGRAM.bin [default: trace.bin]. While another recording writes a file that you
    /// did not name, the next free name is taken: trace-2.bin.
    #[arg(short, long, env = "WITNESS_OUTPUT", value_name = "PATH")]
    output: Option<PathBuf>,
    #[command(flatten)]
    order: OrderArgs,
    /// For pct: the number of ordering constraints that the bugs sought have.
    #[arg(long, env = "WITNESS_DEPTH", value_name = "D", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=64))]
    depth: u32,
    /// For pct: about how many accesses and calls the run has; priorities change within that many. Without it, each
    /// seed draws a power of two from 16 to 65,536.
    #[arg(long, env = "WITNESS_STEPS", value_name = "K", value_parser = clap::value_parser!(u64).range(1..))]
    steps: Option<u64>,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    companions: CompanionArgs,
    /// Keep the values of these environment variables in the trace; repeat, or separate names by commas. Of others only
    /// names are kept, but for those that runs are known to depend on and that hold no secret (PATH, LANG, OMP_*, …).
    #[arg(long, env = "WITNESS_KEEP_ENV", value_name = "NAME", value_delimiter = ',')]
    keep_env: Vec<String>,
    /// Why the trace lacks something, if who built the program knows.
    #[arg(long, env = "WITNESS_DEGRADED", value_name = "WHY", hide = true)]
    degraded: Option<String>,
    /// The program has taken this process for its recorder, and had this as its own name.
    #[arg(long, env = "WITNESS_IN_SUITE", value_name = "ARG0", hide = true)]
    in_suite: Option<OsString>,
    /// The program, and its arguments.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    command: Vec<OsString>,
}

/// In which order threads run.
#[derive(Debug, Args)]
pub struct OrderArgs {
    /// The policy that chooses the thread to run next.
    #[arg(long, env = "WITNESS_POLICY", value_enum, default_value = "fifo")]
    policy: PolicyName,
    /// Seed of the policy: the same seed gives the same run, as far as the program depends on its schedule alone.
    #[arg(long, env = "WITNESS_SEED", value_name = "N", default_value_t = 0)]
    pub seed: u64,
}

impl OrderArgs {
    pub fn policy(&self) -> Policy {
        match self.policy {
            PolicyName::Fifo => Policy::Fifo,
            PolicyName::Random => Policy::Random,
            PolicyName::Pct => Policy::Pct,
            PolicyName::Pos => Policy::Pos,
        }
    }
}

/// When a recorded program is ended.
#[derive(Debug, Args)]
pub struct LimitArgs {
    /// End the program once its trace has N events; the trace is complete, the exit status 0.
    #[arg(long, env = "WITNESS_MAX_EVENTS", value_name = "N")]
    pub max_events: Option<u64>,
    /// End the program after S seconds; the trace is complete, the exit status 124.
    #[arg(long, env = "WITNESS_TIMEOUT", value_name = "S", value_parser = seconds)]
    pub timeout: Option<Duration>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PolicyName {
    /// A thread runs until it blocks, yields or ends.
    Fifo,
    /// Switches between threads at random events.
    Random,
    /// The thread with the highest random priority runs; a few times, the running thread's priority drops to the lowest
    /// (Burckhardt et al., ASPLOS 2010).
    Pct,
    /// The operation with the highest random priority is next; operations that race with it draw new priorities (Yuan,
    /// Yang, Gu, CAV 2018).
    Pos,
}

impl RecordArgs {
    /// What runs before and beside each run.
    pub fn companions(&self) -> Companions {
        self.companions.to_companions()
    }

    /// Where the trace goes, and whether that is only a proposal.
    fn output(&self) -> (PathBuf, Naming) {
        let program = self.command.first().and_then(|program| Path::new(program).file_name());
        match (&self.output, program) {
            (None, _) => (PathBuf::from("trace.bin"), Naming::NextFree),
            (Some(folder), Some(program)) if folder.is_dir() => {
                let mut name = program.to_owned();
                name.push(".bin");
                (folder.join(name), Naming::NextFree)
            }
            (Some(file), _) => (file.clone(), Naming::Exact),
        }
    }
}

/// Records; ends with the program's exit status, 128 + n if signal n killed it, or with how the recording ended it.
pub fn run(args: &RecordArgs) -> anyhow::Result<std::process::ExitCode> {
    if let Some(arg0) = &args.in_suite {
        return suite::run(args, arg0);
    }
    let recorded = record(args)?;
    Ok(if recorded.deadlock {
        ExitCode::Deadlock.into()
    } else if recorded.timed_out {
        ExitCode::TimedOut.into()
    } else if recorded.stopped.is_some() {
        ExitCode::Nothing.into()
    } else {
        std::process::ExitCode::from(status_code(recorded.status))
    })
}

/// What to record, as the user says.
pub fn options(args: &RecordArgs) -> anyhow::Result<Options> {
    let (program, arguments) = split(&args.command)?;
    let (output, naming) = args.output();
    Ok(Options {
        program: program.clone(),
        arguments: arguments.to_vec(),
        output,
        naming,
        policy: args.order.policy(),
        seed: args.order.seed,
        depth: args.depth,
        steps: args.steps.unwrap_or(0),
        max_events: args.limits.max_events,
        timeout: args.limits.timeout,
        degraded: args.degraded.clone(),
        arg0: None,
        keep_env: args.keep_env.clone(),
        companions: args.companions(),
    })
}

/// Records, and says what was written.
pub fn record(args: &RecordArgs) -> anyhow::Result<Recorded> {
    let options = options(args)?;
    let recorded = record::record(&options)?;
    tell(&recorded, "");
    Ok(recorded)
}

/// Records a run after the first, whose trace is `first`.
pub fn record_again(args: &RecordArgs, first: &Path, run: u32) -> anyhow::Result<Recorded> {
    let (policy, seed) = runs::policy_of(run, args.order.seed);
    let recorded = record::record(&Options {
        output: runs::trace_of(first, run),
        naming: Naming::Exact,
        policy,
        seed,
        ..options(args)?
    })?;
    tell(&recorded, &format!("run {run} ({}): ", runs::name(policy, seed)));
    Ok(recorded)
}

fn tell(recorded: &Recorded, run: &str) {
    say!("witness: {run}{}", summary(recorded));
    for process in &recorded.processes {
        say!("witness: {}", summary_of(process));
    }
    for failure in &recorded.failures {
        say!("witness: {failure}");
    }
    say_idle(&recorded.summary.path);
    say_standstill(&recorded.summary.path, "");
    for process in &recorded.processes {
        say_standstill(&process.summary.path, &format!("process {}: ", process.number));
    }
}

/// Warns of threads that did nothing. (What cannot be read is said by whoever needs it.)
fn say_idle(trace: &Path) {
    let counted = TraceFile::open(trace).and_then(|file| {
        let short = file.len() <= idle_threads::READ_FOR_IT;
        if short { idle_threads::count(&file) } else { Ok((0, 0)) }
    });
    if let Some(warning) = counted.ok().and_then(idle_threads::warning) {
        say!("witness: warning: {warning}");
    }
}

/// Says which threads wait forever, and where the program died.
pub fn say_standstill(trace: &Path, process: &str) {
    let standstill = match TraceFile::open(trace).and_then(|file| Standstill::of(&file)) {
        Ok(standstill) => standstill,
        Err(error) => return say!("witness: {error}"),
    };
    if let Some(death) = &standstill.died {
        say!(
            "witness: {process}died of {}: {death}",
            session::signal_name(death.signal)
        );
    }
    for wait in standstill.waits.iter().filter(|wait| wait.for_ever) {
        say!("witness: {process}deadlock: {wait}");
    }
    for spin in &standstill.spins {
        say!("witness: {process}when the run was ended, {spin}");
    }
}

/// The program, and its arguments. What looks like a flag is the program only behind `--`.
pub fn split(command: &[OsString]) -> anyhow::Result<(&OsString, &[OsString])> {
    let (program, arguments) = command.split_first().context("no program given")?;
    if program.as_encoded_bytes().starts_with(b"-") {
        // The program and its arguments are the last words of the command line.
        let words: Vec<OsString> = std::env::args_os().collect();
        let before = words.len().checked_sub(command.len() + 1).and_then(|at| words.get(at));
        ensure!(
            before.is_some_and(|word| word == "--"),
            "unknown flag {}: `--help` lists the flags; put the program after `--`",
            program.display()
        );
    }
    Ok((program, arguments))
}

/// A time in seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// What was recorded of the first process, in one line.
fn summary(recorded: &Recorded) -> String {
    let time = format!(", {:.2} s", recorded.elapsed.as_secs_f64());
    let mut line = written(&recorded.summary, &time);
    match (&recorded.stopped, program_end::failure(recorded)) {
        (Some(why), _) => line += &format!(" ({why})"),
        (None, Some(how)) if !recorded.deadlock => line += &format!(" (the program {how})"),
        _ => {}
    }
    line + &remarks(recorded.deadlock, &recorded.degraded)
}

/// What was recorded of another process, in one line.
fn summary_of(process: &Process) -> String {
    let how = match process.number.origin {
        Origin::Forked => "forked",
        Origin::Executed => "executed",
    };
    let (number, os_id) = (&process.number, process.os_id);
    let mut line = format!(
        "process {number} ({how}, pid {os_id}): {}",
        written(&process.summary, "")
    );
    if process.full {
        line += &format!(" (stopped after {} events)", process.summary.events);
    }
    if process.goes_on {
        line += " (it runs on unrecorded)";
    }
    line + &remarks(process.deadlock, &process.degraded)
}

fn written(written: &Summary, time: &str) -> String {
    format!(
        "{} thread{}, {} events, {} bytes, {:.2} bytes/event{time}: {}",
        written.threads,
        if written.threads == 1 { "" } else { "s" },
        written.events,
        written.bytes,
        written.bytes as f64 / written.events.max(1) as f64,
        written.path.display(),
    )
}

fn remarks(deadlock: bool, degraded: &[String]) -> String {
    let mut text = String::new();
    if deadlock {
        text += " (ended in a deadlock)";
    }
    if !degraded.is_empty() {
        text += &format!(" (incomplete: {})", degraded.join("; "));
    }
    text
}

/// As a shell reports it.
pub fn status_code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => code as u8,
        (None, Some(signal)) => 128_u8.wrapping_add(signal as u8),
        (None, None) => 1,
    }
}
