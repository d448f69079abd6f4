//! `witness test`: runs a test suite, records every instrumented program that it starts, and writes one report.

use super::ExitCode;
use super::analyze::AnalysisArgs;
use super::merged::{Live, Merged};
use super::output::{Color, say};
use super::record::{LimitArgs, OrderArgs, split};
use super::reports::ReportArgs;
use super::runs;
use super::suite::{Process, processes};
use anyhow::{Context, ensure};
use safe_files::Readers;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};
use witness::record::{self, Naming, PROCESSES, TraceName};
use witness::session::{Companions, StandardInput};

/// Record every instrumented program that a test suite runs, and analyze them all.
///
/// The command, and the shells, makefiles and scripts between it and the tests, need not be instrumented. Each program
/// built for recording that they start, directly or not, is recorded into a folder. When the command has ended, the
/// traces are analyzed and give one report, in which each race appears once, by its id, with the trace that shows it
/// best. Traces of programs with one thread, and those that add nothing, are removed. With --live, each program runs
/// along its witnesses, as with `witness run`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  witness test -- make check
  witness test --report junit=races.xml -- ctest --output-on-failure -j 4
  witness test -- meson test -C build
  witness test -- env LD_PRELOAD=libtsan.so.2 pytest tests
  witness test --runs 5 --live -- sh run-tests.sh

Exit status: 66 a race witnessed; else 67 if threads of a test waited for one another forever; else the
command's own, if that is not 0; else 3 only unknowns, 0 neither. 2 if no instrumented program was started.")]
pub struct TestArgs {
    /// The folder for the traces; traces of an earlier test in it are removed.
    #[arg(long, env = "WITNESS_TRACES", value_name = "DIR", default_value = "witness-test")]
    traces: PathBuf,
    /// Keep all traces, also those that add nothing.
    #[arg(long, env = "WITNESS_KEEP")]
    keep: bool,
    /// Number of times to run the command: first with --policy and --seed, then alternating among random, pos and pct
    /// with further seeds, as `witness run` does.
    #[arg(long, env = "WITNESS_RUNS", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Run each program along its witnesses, with its command line, environment and working folder, after the command
    /// has ended. What the suite sets up before a test and removes after it is missing then.
    #[arg(long, env = "WITNESS_LIVE")]
    live: bool,
    /// Live runs for each witness that is not confirmed at once.
    #[arg(long, env = "WITNESS_ATTEMPTS", value_name = "N", default_value_t = 3, requires = "live", value_parser = clap::value_parser!(u32).range(1..))]
    attempts: u32,
    #[command(flatten)]
    order: OrderArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    reports: ReportArgs,
    #[command(flatten)]
    analysis: AnalysisArgs,
    /// The command that runs the tests, and its arguments.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    command: Vec<OsString>,
}

/// How long programs that the command has left behind may go on.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs the command, then analyses what its programs did.
pub fn run(args: &TestArgs, color: Color) -> anyhow::Result<std::process::ExitCode> {
    // A mistake there is better known before than after the tests.
    let filters = args.reports.filters()?;
    let folder = empty_folder(&args.traces)?;
    let input = StandardInput::here();
    let live = args.live.then(|| Live {
        input,
        attempts: args.attempts,
        companions: Companions::default(),
    });
    let mut merged = Merged::new(None, &filters, args.reports.clone());
    let mut failed = None;
    let mut deadlock = false;
    let mut seen = 0;
    for run in 1..=args.runs {
        input.rewind();
        let status = execute(args, run, &folder)?;
        await_stragglers(&folder)?;
        let all = processes(&folder)?.split_off(seen);
        seen += all.len();
        ensure!(
            !all.is_empty(),
            "no instrumented program was started: nothing was recorded. Build the tests with `witness cc` (or -fsanitize=thread, with clang\n\
             also -shared-libsan); a command that clears the environment hides them"
        );
        tell(&all);
        ensure!(
            all.iter().any(|process| process.not_recorded.is_none()),
            "nothing was recorded"
        );
        for process in &all {
            deadlock |= process.deadlock;
            if let Some(trace) = &process.trace {
                let trace = folder.join(trace);
                // One that shows where a program died is wanted for that.
                let keep = args.keep || !process.standstill.is_empty();
                merged.add(&trace, &args.analysis.of_trace(&trace), live.as_ref(), keep)?;
            }
        }
        if !status.success() {
            failed.get_or_insert(status);
        }
    }
    let mut code = merged.report(&args.reports, &args.analysis, args.live, color)?;
    if deadlock {
        code = code.or_worse(ExitCode::Deadlock);
    }
    Ok(match (code, failed) {
        (ExitCode::Nothing | ExitCode::OnlyUnknowns, Some(status)) => {
            std::process::ExitCode::from(super::record::status_code(status))
        }
        (code, _) => code.into(),
    })
}

/// Runs the command once.
fn execute(args: &TestArgs, run: u32, folder: &Path) -> anyhow::Result<ExitStatus> {
    let (program, arguments) = split(&args.command)?;
    let mut command = Command::new(program);
    command.args(arguments);
    record::watch_suite(&mut command, folder)?;
    let (policy, seed) = match run {
        1 => (args.order.policy(), args.order.seed),
        run => {
            let (policy, seed) = runs::policy_of(run, args.order.seed);
            say!("witness: run {run} of {} ({})", args.runs, runs::name(policy, seed));
            (policy, seed)
        }
    };
    command
        .env("WITNESS_POLICY", runs::flag(policy))
        .env("WITNESS_SEED", seed.to_string());
    if let Some(most) = args.limits.max_events {
        command.env("WITNESS_MAX_EVENTS", most.to_string());
    }
    if let Some(timeout) = args.limits.timeout {
        command.env("WITNESS_TIMEOUT", timeout.as_secs_f64().to_string());
    }
    command
        .status()
        .with_context(|| format!("cannot run {}", program.display()))
}

/// The folder, without the traces of an earlier test.
fn empty_folder(folder: &Path) -> anyhow::Result<PathBuf> {
    let context = || folder.display().to_string();
    safe_files::make_folder(folder).with_context(context)?;
    let list = folder.join(PROCESSES);
    let ours = list.exists();
    for entry in fs::read_dir(folder).with_context(context)? {
        let path = entry.with_context(context)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Nothing else: the folder is one that the user named.
        let is_trace = [".bin", ".bin.witnesses"].iter().any(|end| name.ends_with(end));
        ensure!(
            ours || !is_trace,
            "{} contains {name}, which `witness test` did not write: choose another folder with --traces",
            folder.display()
        );
        if name.ends_with(".bin.witnesses") {
            fs::remove_dir_all(&path).with_context(|| path.display().to_string())?;
        } else if [".bin", ".bin.partial", ".bin.ring", ".bin.lock", ".jsonl"]
            .iter()
            .any(|end| name.ends_with(end))
        {
            fs::remove_file(&path).with_context(|| path.display().to_string())?;
        }
    }
    safe_files::write(&list, b"", Readers::AsUsual).with_context(context)?;
    fs::canonicalize(folder).with_context(context)
}

/// Waits for the recorders that still run when the command has ended.
fn await_stragglers(folder: &Path) -> anyhow::Result<()> {
    let begun = Instant::now();
    loop {
        let busy = fs::read_dir(folder)?.flatten().filter(|entry| {
            let path = entry.path();
            path.extension().is_some_and(|extension| extension == "lock")
                // A recorder that was killed has left its file, and nobody has the lock.
                && TraceName::claim(&path.with_extension(""), Naming::Exact).is_err()
        });
        let busy = busy.count();
        if busy == 0 {
            return Ok(());
        }
        if begun.elapsed() > PATIENCE {
            say!("witness: {busy} programs are still running and are not analyzed");
            return Ok(());
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Says in a few lines what was recorded, and what went wrong.
fn tell(all: &[Process]) {
    let count = |which: fn(&Process) -> bool| all.iter().filter(|process| which(process)).count();
    let recorded = count(|process| process.not_recorded.is_none());
    let traces = count(|process| process.trace.is_some());
    let events: u64 = all.iter().map(|process| process.events).sum();
    let processes = if recorded == 1 { "process" } else { "processes" };
    let lost = match all.len() - recorded {
        0 => String::new(),
        lost => format!("; {lost} not recorded"),
    };
    say!("witness: {recorded} {processes} recorded, {traces} with more than one thread, {events} events{lost}");
    for process in all {
        let command = process.command.join(" ");
        if let Some(why) = &process.not_recorded {
            say!("witness: {command}: not recorded: {why}");
        }
        if let Some(how) = &process.failed {
            say!("witness: {command}: the program {how}");
        }
        for line in &process.standstill {
            say!("witness: {command}: {line}");
        }
    }
}
