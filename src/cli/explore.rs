//! `witness explore`: runs a program along one schedule after another, until every schedule of its input is covered or a bound is reached.

use super::ExitCode;
use super::analyze::AnalysisArgs;
use super::live::CompanionArgs;
use super::merged::Merged;
use super::output::{Color, print, say};
use super::program_end::signal_name;
use super::record::{seconds, split};
use super::reports::ReportArgs;
use super::runs;
use anyhow::Context;
use hashbrown::HashSet;
use std::ffi::OsString;
use std::fs;
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use trace_format::TraceFile;
use witness::explore::{
    End, Exploration, Found, Goal, Limits, Options, Program, Progress, What, explore, fewest_context_switches,
};
use witness::record::{Launch, asked_to_end};
use witness::session::Bounds;
use witness::standstill::Standstill;

/// How often progress is told on a terminal.
const PAUSE: Duration = Duration::from_millis(500);

/// Cover every schedule of a program, on the input that it is given.
///
/// Runs the program again and again, each time along a schedule that shows something that no run has shown: another value of a
/// read, another result of an attempt. Races, deadlocks and failures are reported with the trace of a run that shows each; a race only if the
/// analysis of that trace proves it. When nothing is left that a run could show, every schedule is covered: *exhausted*. What
/// was not found is then impossible on this input, under sequential consistency. Otherwise the report says why it is not
/// exhausted.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  witness explore -- ./test_queue
  witness explore -o runs --runs 5000 --time-limit 600 -- ./app --threads 3

Exit status: 66 a race witnessed; without a race 67 if threads can wait for one another forever, 68 if the
program can fail; 0 exhausted and nothing found; 3 not exhausted and nothing found; 2 a program that cannot be recorded.")]
pub struct ExploreArgs {
    /// The folder for the traces of the runs that show something: 1.bin, 2.bin, …
    #[arg(short, long, env = "WITNESS_OUTPUT", value_name = "DIR", default_value = "runs")]
    output: PathBuf,
    /// Maximum number of runs.
    #[arg(long, env = "WITNESS_RUNS", value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// What each run does beyond its schedule depends on this seed.
    #[arg(long, env = "WITNESS_SEED", value_name = "N", default_value_t = 0)]
    seed: u64,
    /// End each run after so many events.
    #[arg(long, env = "WITNESS_MAX_EVENTS", value_name = "N", default_value_t = 100_000)]
    max_events: u64,
    /// End each run after S seconds.
    #[arg(long, env = "WITNESS_TIMEOUT", value_name = "S", value_parser = seconds, default_value = "10")]
    timeout: Duration,
    #[command(flatten)]
    companions: CompanionArgs,
    #[command(flatten)]
    reports: ReportArgs,
    #[command(flatten)]
    analysis: AnalysisArgs,
    /// The program, and its arguments.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    command: Vec<OsString>,
}

pub fn run(args: &ExploreArgs, color: Color) -> anyhow::Result<ExitCode> {
    let filters = args.reports.filters()?;
    let (program, arguments) = split(&args.command)?;
    let launch = Launch {
        output: false,
        companions: args.companions.to_companions(),
        ..Launch::here(program.clone(), arguments.to_vec())
    };
    make_room(&args.output)?;
    let bounds = Bounds {
        timeout: Some(args.timeout),
        max_events: Some(args.max_events),
        ..Bounds::default()
    };
    let mut program = Program::new(&launch, bounds, &args.output, args.seed)?;
    let limit = args.analysis.time_limit();
    let until = limit.and_then(|limit| Instant::now().checked_add(limit));
    let options = Options {
        limits: Limits {
            until,
            ..Limits::default()
        },
        runs: args.runs as usize,
        order: &fewest_context_switches,
        show_goals: true,
        ..Options::default()
    };
    let mut watch = Watch::new(until);
    let explored = explore(&mut program, &options, &mut |progress| watch.see(progress))?;
    let shown: HashSet<usize> = explored.found.iter().filter_map(|found| found.run).collect();
    for run in (1..explored.runs).filter(|run| !shown.contains(run)) {
        runs::remove(&program.trace_of(run), None);
    }
    let mut code = tell_ends(&explored, &program)?;
    let mut races = Merged::new(None, &filters);
    let runs_of = |races: bool| {
        let found = explored.found.iter();
        let found = found.filter(move |found| matches!(found.what, What::Goal(Goal::Race(..))) == races);
        found.filter_map(|found| found.run)
    };
    // The first run is told of in any case; those that show something else stay, whatever they add to the races.
    let kept: HashSet<usize> = runs_of(false).chain([0]).collect();
    let mut runs: Vec<usize> = runs_of(true).filter(|&run| run > 0).collect();
    runs.insert(0, 0);
    for (number, &run) in (1..).zip(&runs) {
        races.add(
            &program.trace_of(run),
            &args.analysis.of_run(number),
            None,
            kept.contains(&run),
        )?;
    }
    code = code.or_worse(races.report(&args.reports, &args.analysis, false, color)?);
    let all = statement(&explored);
    print(|out| Ok(writeln!(out, "{all}")?))?;
    Ok(match code {
        ExitCode::Nothing if !explored.is_exhausted() || !explored.found.is_empty() => ExitCode::OnlyUnknowns,
        code => code,
    })
}

/// The folder, without the traces of an earlier exploration.
fn make_room(folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create the folder {}", folder.display()))?;
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read the folder {}", folder.display()))?;
    for entry in entries.flatten() {
        let path = entry.path();
        let numbered = path
            .file_stem()
            .is_some_and(|stem| stem.as_encoded_bytes().iter().all(u8::is_ascii_digit));
        if numbered && path.extension().is_some_and(|extension| extension == "bin") {
            fs::remove_file(&path)
                .with_context(|| format!("cannot remove {} of an earlier exploration", path.display()))?;
        }
    }
    Ok(())
}

/// Deadlocks and failures, each once.
fn tell_ends(explored: &Exploration, program: &Program) -> anyhow::Result<ExitCode> {
    let mut code = ExitCode::Nothing;
    let mut told = HashSet::new();
    for Found { what, run, .. } in &explored.found {
        let (title, worse) = match what {
            What::Goal(Goal::Deadlock { .. }) | What::Ended(End::Deadlock) => {
                ("deadlock".to_owned(), ExitCode::Deadlock)
            }
            What::Ended(End::Failure(how)) => (format!("the program {how}"), ExitCode::Failed),
            What::Ended(End::Success | End::Limit) | What::Goal(Goal::Race(..)) => continue,
        };
        let Some(run) = *run else {
            print(|out| Ok(writeln!(out, "FOUND: {title}: no run was left to show it\n")?))?;
            code = code.or_worse(worse);
            continue;
        };
        let path = program.trace_of(run);
        let standstill = Standstill::of(&TraceFile::open(&path)?)?;
        let waits = standstill.waits.iter().filter(|wait| wait.for_ever);
        let mut lines: Vec<String> = waits.map(|wait| format!("  {wait}")).collect();
        if worse == ExitCode::Deadlock && lines.is_empty() {
            // The run made for it did otherwise.
            say!("witness: run {} was to show a deadlock, and ended otherwise", run + 1);
            code = code.or_worse(ExitCode::OnlyUnknowns);
            continue;
        }
        if let Some(death) = &standstill.died {
            lines.push(format!("  died of {}: {death}", signal_name(death.signal)));
        }
        if told.insert((title.clone(), lines.clone())) {
            let lines = lines.join("\n");
            print(|out| {
                Ok(writeln!(
                    out,
                    "FOUND: {title}, shown by {}:\n{lines}\n",
                    path.display()
                )?)
            })?;
        }
        code = code.or_worse(worse);
    }
    Ok(code)
}

/// What can be said of all schedules.
fn statement(explored: &Exploration) -> String {
    let size = format!(
        "{} runs, {} branches, {} states",
        explored.runs,
        explored.forest.branches(),
        explored.states
    );
    if explored.is_exhausted() {
        let nothing = if explored.found.is_empty() {
            "; no race, deadlock or failure"
        } else {
            ""
        };
        return format!(
            "EXHAUSTED: every schedule of this input is covered, under sequential consistency{nothing} ({size})"
        );
    }
    let mut lines = vec![format!("NOT EXHAUSTED: some schedules may show more ({size}):")];
    lines.extend(explored.not_exhausted.iter().map(|reason| format!("  {reason}")));
    lines.join("\n")
}

/// Tells progress on a terminal, and ends the exploration when its time is over.
struct Watch {
    until: Option<Instant>,
    told: Option<Instant>,
}

impl Watch {
    fn new(until: Option<Instant>) -> Watch {
        Watch {
            until,
            told: std::io::stderr().is_terminal().then(Instant::now),
        }
    }

    fn see(&mut self, progress: &Progress) -> ControlFlow<()> {
        let now = Instant::now();
        if let Some(told) = self.told.filter(|&told| now - told >= PAUSE) {
            let Progress {
                runs,
                branches,
                open,
                states,
                found,
            } = progress;
            say!("witness: {runs} runs, {branches} branches, {open} open, {states} states, {found} found");
            self.told = Some(told.max(now));
        }
        if asked_to_end() || self.until.is_some_and(|until| now >= until) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}
