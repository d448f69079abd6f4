//! `witness replay --live`: the program itself, forced along its witnesses.

use super::output::{Color, print, say};
use super::{ExitCode, ask};
use anyhow::Context;
use safe_files::Readers;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use witness::check::Checker;
use witness::escape::printable;
use witness::own::{self, Origin};
use witness::replay::live::{self, BadPointer, Deadlocked, Outcome, Planner, Run, Sameness, Shown};
use witness::report::{Live, Paint, Words, letters};
use witness::schedule::{Goal, Schedule};
use witness::session::{self, Companions, Decision, Launch, PATIENCE};
use witness::symbols::Symbols;
use witness::trace::Trace;

/// How to run a program along its witnesses.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Live replay")]
pub struct LiveArgs {
    /// Which of the two accesses goes first, once both are pending: `a` or `b`, as the report names them (in an
    /// unordered race, a is already done). The program then runs on by itself; without this flag it is ended there.
    #[arg(long, env = "WITNESS_FIRST", value_name = "a|b", requires = "live")]
    first: Option<First>,
    /// Stop before the two accesses for a debugger: run gdb if there is a terminal, otherwise print how to attach, and
    /// wait for the program's end.
    #[arg(long, env = "WITNESS_GDB", requires = "live", conflicts_with = "first")]
    gdb: bool,
    /// Force the whole recorded run again, event by event, instead of a witness: a run that failed fails again. Says
    /// whether it did the same and ended in the same way, or where it first did something else. What the program prints
    /// is shown.
    #[arg(long, env = "WITNESS_AS_RECORDED", requires = "live", conflicts_with_all = ["first", "gdb", "witness"])]
    as_recorded: bool,
    /// Look for the shortest run that still fails as the recorded one did, with fewest changes of threads, by running
    /// the program along simpler and simpler orders. Its trace is written beside the recorded one: TRACE.short.bin for
    /// TRACE.bin.
    #[arg(long, env = "WITNESS_SHORTEN", requires = "as_recorded")]
    shorten: bool,
    /// With --shorten: the maximum number of runs.
    #[arg(long, env = "WITNESS_RUNS", value_name = "N", default_value_t = 300, requires = "shorten", value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Runs for each witness that is not confirmed at once; later runs change the schedule a little where the program
    /// departed from it.
    #[arg(long, env = "WITNESS_ATTEMPTS", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    attempts: u32,
    /// Run what the trace names without asking, though it was not recorded here by you.
    #[arg(long, env = "WITNESS_YES", requires = "live")]
    yes: bool,
    /// Leave the kernel's address randomization on.
    #[arg(long, env = "WITNESS_ASLR", requires = "live")]
    aslr: bool,
    /// Give up a run after this many seconds in which nothing happens.
    #[arg(long, env = "WITNESS_PATIENCE", value_name = "SECONDS", default_value_t = PATIENCE.as_secs(), value_parser = clap::value_parser!(u64).range(1..))]
    patience: u64,
    #[command(flatten)]
    companions: CompanionArgs,
    /// The program and its arguments, in place of the recorded ones.
    #[arg(last = true, value_name = "PROGRAM", requires = "live")]
    command: Vec<OsString>,
}

/// Commands around each run of a program.
#[derive(Debug, clap::Args)]
pub struct CompanionArgs {
    /// Run this before each run of the program, by `sh -c` in the program's directory: to restore the files that it
    /// changes.
    #[arg(long, env = "WITNESS_SETUP", value_name = "COMMAND")]
    setup: Option<OsString>,
    /// Run this beside each run of the program, by `sh -c` in the program's directory, with the program's process
    /// number in `WITNESS_PROCESS`: the client of a server. It ends with the run.
    #[arg(long, env = "WITNESS_WITH", value_name = "COMMAND")]
    with: Option<OsString>,
}

impl CompanionArgs {
    /// As who runs the program takes them.
    pub fn to_companions(&self) -> Companions {
        Companions {
            setup: self.setup.clone(),
            with: self.with.clone(),
        }
    }
}

/// One of the two accesses.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum First {
    A,
    B,
}

impl LiveArgs {
    /// Whether the recorded run itself is wanted, and no witness.
    pub fn is_as_recorded(&self) -> bool {
        self.as_recorded
    }

    fn launch(&self, path: &Path, trace: &Trace) -> anyhow::Result<Launch> {
        let origin = Origin::of(path);
        let launch = live::launch(trace, &self.command, origin)?;
        ask::before_running(path, origin, &launch, &trace.tables().meta, self.yes)?;
        for name in session::unset(&trace.tables().meta.environment) {
            say!(
                "witness: {} was set when this was recorded, and is not now; record with --keep-env to keep its value",
                printable(&name)
            );
        }
        Ok(Launch {
            output: self.first.is_some() || self.gdb || self.as_recorded,
            same_addresses: !self.aslr,
            patience: Duration::from_secs(self.patience),
            companions: self.companions.to_companions(),
            ..launch
        })
    }
}

/// Runs the program as it was recorded.
pub fn again(path: &Path, trace: Trace, args: &LiveArgs, color: Color) -> anyhow::Result<ExitCode> {
    let launch = args.launch(path, &trace)?;
    let trace = if args.shorten {
        shorten(path, trace, &launch, args.runs, color)?
    } else {
        trace
    };
    let again = live::as_recorded(&trace, &launch)?;
    let trace = &trace;
    let symbols = Symbols::new(trace.tables());
    let report = Live {
        words: Words {
            trace,
            symbols: &symbols,
        },
        paint: Paint { on: color.for_stdout() },
    };
    print(|out| Ok(report.write_again(&again, out)?))?;
    Ok(match again.outcome {
        Sameness::Reproduced(_) => ExitCode::Nothing,
        Sameness::Diverged(_) | Sameness::More(_) | Sameness::OtherEnd { .. } => ExitCode::Diverged,
        Sameness::NotReached { .. } => ExitCode::NotReached,
    })
}

/// Looks for the shortest run that still fails, and tells of it; its trace.
fn shorten(path: &Path, trace: Trace, launch: &Launch, runs: u32, color: Color) -> anyhow::Result<Trace> {
    let quiet = Launch {
        output: false,
        ..launch.clone()
    };
    let before = (live::stretches(&trace).len(), trace.len());
    let shortest = live::shortest(trace, &quiet, runs as usize)?;
    let file = path.with_extension("short.bin");
    if let Some(bytes) = &shortest.bytes {
        safe_files::write(&file, bytes, Readers::Owner).with_context(|| format!("cannot write {}", file.display()))?;
        own::remember(&file);
    }
    let symbols = Symbols::new(shortest.trace.tables());
    let report = Live {
        words: Words {
            trace: &shortest.trace,
            symbols: &symbols,
        },
        paint: Paint { on: color.for_stdout() },
    };
    let written = shortest.bytes.as_ref().map(|_| file.as_path());
    print(|out| Ok(report.write_shortest(&shortest, before, written, out)?))?;
    drop(symbols);
    Ok(shortest.trace)
}

/// Whether a schedule shows that a read can see 0, or an address of what was freed: if it is one of a pointer, the program
/// uses what is not there.
pub fn is_bad_pointer(goal: &Goal) -> bool {
    matches!(
        goal,
        Goal::OtherValue { value: Some(0), .. } | Goal::StalePointer { .. }
    )
}

/// Runs the program along each of the witnesses.
pub fn confirm(
    path: &Path,
    trace: &Trace,
    shown: &[(usize, &Schedule)],
    args: &LiveArgs,
    color: Color,
) -> anyhow::Result<ExitCode> {
    let launch = args.launch(path, trace)?;
    let checker = Checker::new(trace);
    let planner = Planner::new(&checker, shown.iter().map(|&(_, schedule)| schedule));
    let symbols = Symbols::new(trace.tables());
    let words = Words {
        trace,
        symbols: &symbols,
    };
    let report = Live {
        words,
        paint: Paint { on: color.for_stdout() },
    };
    let mut worst = ExitCode::Witnessed;
    for &(number, schedule) in shown {
        if schedule.goal.waiting().is_some() {
            let outcome = live::deadlock(&planner, schedule, &launch).with_context(|| format!("witness {number}"))?;
            print(|out| {
                report.write_deadlock(number, &schedule.goal, &outcome, out)?;
                Ok(writeln!(out)?)
            })?;
            worst = match (worst, &outcome) {
                (worst, Deadlocked::Confirmed(_)) => worst,
                (_, Deadlocked::Diverged(_)) | (ExitCode::Diverged, _) => ExitCode::Diverged,
                (_, Deadlocked::NotReached { .. }) => ExitCode::NotReached,
            };
            continue;
        }
        if is_bad_pointer(&schedule.goal) {
            let outcome =
                live::bad_pointer(&planner, schedule, &launch).with_context(|| format!("witness {number}"))?;
            print(|out| {
                report.write_bad_pointer(number, &schedule.goal, &outcome, out)?;
                Ok(writeln!(out)?)
            })?;
            worst = match (worst, &outcome) {
                (worst, BadPointer::Died { .. } | BadPointer::Used { .. }) => worst,
                (_, BadPointer::Diverged(_)) | (ExitCode::Diverged, _) => ExitCode::Diverged,
                (_, BadPointer::NotReached { .. }) => ExitCode::NotReached,
            };
            continue;
        }
        // That checks the schedule first.
        let run = live::attempt(&planner, schedule, &launch, args.attempts);
        let (run, followed, attempt) = run.with_context(|| format!("witness {number}"))?;
        print(|out| {
            report.write(number, &followed, &run, out)?;
            if attempt > 1 {
                writeln!(out, "  in attempt {attempt}")?;
            }
            Ok(())
        })?;
        worst = match (worst, &run.outcome) {
            (worst, Outcome::Confirmed(_)) => worst,
            (_, Outcome::Diverged(_)) | (ExitCode::Diverged, _) => ExitCode::Diverged,
            (_, Outcome::NotReached { .. }) => ExitCode::NotReached,
        };
        if let Outcome::Confirmed(shown) = run.outcome.clone() {
            afterwards(run, &shown, args)?;
        }
        print(|out| Ok(writeln!(out)?))?;
    }
    Ok(worst)
}

/// The program stands at the race: goes on, or waits for a debugger, or is ended.
fn afterwards(run: Run, shown: &[Shown], args: &LiveArgs) -> anyhow::Result<()> {
    if args.gdb {
        return debug(run, shown);
    }
    let Some(first) = args.first else {
        return Ok(());
    };
    let status = run.stopped.go_on(match first {
        First::A => Decision::First,
        First::B => Decision::Second,
    })?;
    let how = match first {
        _ if shown.len() == 1 => "went on with b (a was still to come)",
        _ if shown.iter().any(|shown| !shown.pending) => "went on with b (a was already done)",
        First::A => "went on with a first",
        First::B => "went on with b first",
    };
    print(|out| Ok(writeln!(out, "  {how}: the program ended with {status}")?))
}

fn debug(run: Run, shown: &[Shown]) -> anyhow::Result<()> {
    let process = run.stopped.process();
    let letters = letters(shown).filter(|(_, shown)| shown.pending);
    let threads = letters.zip(run.stopped.os_threads().into_iter().flatten());
    let threads: Vec<String> = threads
        .map(|((letter, _), thread)| format!("{letter} is LWP {thread}"))
        .collect();
    print(|out| {
        writeln!(out, "  gdb -p {process}    ({})", threads.join(", "))?;
        // The runtime has no debug information, so a debugger does not know the variable's type.
        let set = "set var *(int*)&witness_first=1, then detach or continue";
        Ok(if shown.len() == 2 && shown.iter().all(|shown| shown.pending) {
            writeln!(out, "  to continue with a first: {set}; with b first: =2")
        } else {
            writeln!(out, "  to continue: {set}")
        }?)
    })?;
    if std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        // For gdb, which has the terminal.
        signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::default())?;
        let gdb = Command::new("gdb").arg("-p").arg(process.to_string()).status();
        if gdb.is_ok() {
            // Whatever the user did there, dropping the run ends the program.
            return Ok(());
        }
        say!("witness: cannot start gdb; attach another debugger");
    }
    let status = run.stopped.wait()?;
    print(|out| Ok(writeln!(out, "  the program ended with {status}")?))
}
