//! `witness explore`: runs a program along one schedule after another, until every schedule of its input is covered or
//! a bound is reached.

use super::ExitCode;
use super::aim::{Aim, Aimed};
use super::analyze::AnalysisArgs;
use super::explored::{Ends, result, unproven};
use super::live::CompanionArgs;
use super::merged::Merged;
use super::output::{Color, print, say};
use super::record::{seconds, split};
use super::reports::ReportArgs;
use super::runs;
use super::watch;
use super::watched::Watched;
use anyhow::{Context, ensure};
use hashbrown::HashSet;
use indicatif::{ProgressBar, ProgressStyle};
use safe_files::ScratchFolder;
use std::cell::RefCell;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use witness::analyze::{Beginning, Options as AnalysisOptions};
use witness::explore::{
    Engine, Exploration, FailsIf, Found, Learnt, Limits, MOST_OF_A_SEARCH, Options, Program, Progress,
    RUNS_BEFORE_LOOKING_AHEAD, Reason, Sharing, at_places_first, explore, folder_of_shared, shared_environment,
};
use witness::session::Bounds;
use witness::session::{EndsWhenAsked, Launch, StandardInput, asked_to_end};
use witness::warnings::Format;

/// Cover every schedule of a program, on the input that it is given.
///
/// Runs the program again and again, each time along a schedule that shows something that no run has shown: another
/// value of a read, another result of an attempt. Races, deadlocks, failures and hangs are reported with the trace of a
/// run that shows each; a race only if the analysis of that trace proves it. When nothing is left that a run could
/// show, every schedule is covered: *exhausted*. What was not found is then impossible on this input, under sequential
/// consistency. Otherwise the report says why it is not exhausted. The folder keeps a journal: the same command again
/// goes on where an exploration ended, or was killed.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  witness explore -- ./test_queue
  witness explore -o runs --runs 5000 --time-limit 600 --jobs 4 -- ./app --threads 3
  witness explore --fails-if status=3 --fails-if output='lost update' -- ./test_counter
  witness explore --for queue.c:17 queue.c:29 -- ./test_queue
  witness explore --join runs -- ./test_queue & witness explore --join runs -- ./test_queue; wait
  witness explore -o runs -- ./test_queue
  witness explore --warnings tsan.log -- ./app
  witness explore --report html=every.html --report junit=every.xml -- ./test_queue

Exit status: 66 a race witnessed; without a race 67 if threads can wait for one another forever, 68 if the program can fail,
124 if it can run until --timeout; 0 exhausted and nothing found; 3 not exhausted and nothing found; 2 a program that cannot be
recorded, or a folder that holds the exploration of another one.")]
pub struct ExploreArgs {
    /// The folder for the journal, and for the traces of the runs that show something: 1.bin, 2.bin, …
    #[arg(short, long, env = "WITNESS_OUTPUT", value_name = "DIR", default_value = "runs")]
    output: PathBuf,
    /// Be one of any number of workers on the exploration in this folder, which all of them share: make runs that nobody
    /// else makes, until nothing is open. What they show tells the same command with -o DIR in place of --join DIR.
    #[arg(long, env = "WITNESS_JOIN", value_name = "DIR",
        conflicts_with_all = ["output", "anew", "shorten", "pairs", "warnings", "report", "suppressions", "baseline", "store"])]
    join: Option<PathBuf>,
    /// Seconds after which a run is made by another worker than the one that has shown no sign of life: the same for all
    /// workers.
    #[arg(long, env = "WITNESS_LEASE", value_name = "SECONDS", default_value = "30",
        value_parser = clap::value_parser!(u32).range(1..))]
    lease: u32,
    /// Begin anew, also if the folder holds an exploration, of this program or of another one. Its traces are removed.
    #[arg(long, env = "WITNESS_ANEW")]
    anew: bool,
    /// Maximum number of runs, those of earlier sessions included.
    #[arg(long, env = "WITNESS_RUNS", value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Runs to make at the same time. Programs that write the same files disturb one another.
    #[arg(short, long, env = "WITNESS_JOBS", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: u16,
    /// What each run does beyond its schedule depends on this seed.
    #[arg(long, env = "WITNESS_SEED", value_name = "N", default_value_t = 0)]
    seed: u64,
    /// A run fails if this holds; repeat for several, of which any is enough: status (any but 0), status=N, signal,
    /// signal=NAME, output=REGEX (in what it prints), command=COMMAND (by `sh -c`, with what the run printed as its
    /// input and the run's status in WITNESS_EXIT_STATUS; the run fails if the command succeeds) [default: status and
    /// signal].
    #[arg(long, env = "WITNESS_FAILS_IF", value_name = "CONDITION")]
    fails_if: Vec<FailsIf>,
    /// Look for the shortest run that ends as each failure, deadlock and hang that is found, with fewest context
    /// switches: its trace is written beside the other, 7.short.bin for 7.bin.
    #[arg(long, env = "WITNESS_SHORTEN")]
    shorten: bool,
    /// End each run after so many events [default: 100000; twice as many as the first run makes, and 10000, if that does
    /// not wait in a loop then].
    #[arg(long, env = "WITNESS_MAX_EVENTS", value_name = "N")]
    max_events: Option<u64>,
    /// End each run after S seconds: it hangs.
    #[arg(long, env = "WITNESS_TIMEOUT", value_name = "S", value_parser = seconds, default_value = "10")]
    timeout: Duration,
    /// What finds the branches that are still open: a search of states where there are few of them and else the solver,
    /// or one of them alone. What is found is the same.
    #[arg(long, env = "WITNESS_ENGINE", value_name = "ENGINE", value_enum, default_value_t = EngineArg::Auto)]
    engine: EngineArg,
    /// Explore until it is decided whether these two accesses race: each is file:line, a function or a variable, as for
    /// `witness explain`. Repeat for several pairs. What may have to do with them is tried first.
    #[arg(long = "for", env = "WITNESS_FOR", value_names = ["A", "B"], num_args = 2)]
    pairs: Vec<String>,
    /// Explore until the warnings of this report are decided: any that `witness confirm` reads. Repeat for several
    /// reports.
    #[arg(long, env = "WITNESS_WARNINGS", value_name = "REPORT")]
    warnings: Vec<PathBuf>,
    /// The kind of these reports, as for `witness confirm` [default: recognized by their content].
    #[arg(long, env = "WITNESS_REPORT_FORMAT", value_name = "KIND", requires = "warnings")]
    format: Option<Format>,
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

/// The part of the time limit that is left for the analysis of what runs have shown: one in so many.
const PART_FOR_REPORTS: u32 = 10;

/// The engines of exploration.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum EngineArg {
    Auto,
    States,
    Solver,
}

pub fn run(args: &ExploreArgs, color: Color) -> anyhow::Result<ExitCode> {
    let filters = args.reports.filters()?;
    // A mistake there is better known before an earlier exploration is removed.
    let aim = Aim::of(&args.pairs, &args.warnings, args.format, &args.analysis)?;
    let scratch = args.join.is_some().then(|| ScratchFolder::new("witness-worker"));
    let scratch = scratch.transpose().context("cannot make a folder for the first run")?;
    let mut program = program(args, scratch.as_ref().map_or(&*args.output, ScratchFolder::path))?;
    if aim.is_some() {
        program = program.without_haste();
    }
    let (limit, find) = (args.analysis.time_limit(), args.analysis.options().find);
    let begun = Instant::now();
    let until = limit.and_then(|limit| begun.checked_add(limit));
    // What was found is still to be analyzed then.
    let explores_until = limit.and_then(|limit| begun.checked_add(limit - limit / PART_FOR_REPORTS));
    program = program.ending_by(explores_until);
    let options = Options {
        limits: Limits {
            until: explores_until,
            stop: Some(asked_to_end),
            ..Limits::default()
        },
        engine: match args.engine {
            EngineArg::Auto => Engine::Auto,
            EngineArg::States => Engine::States,
            EngineArg::Solver => Engine::Solver,
        },
        runs: args.runs as usize,
        show_goals: true,
        // Workers find out among themselves who makes which.
        jobs: match program.made_here() {
            Some(_) => MOST_OF_A_SEARCH,
            None => args.jobs.into(),
        },
        failures_first: true,
        looks_ahead_after: aim.is_none().then_some(RUNS_BEFORE_LOOKING_AHEAD),
        find,
        ..Options::default()
    };
    if args.analysis.options().beginning.events.is_some() {
        anyhow::bail!(
            "explore searches whole runs, which --max-events bounds: --first-events is for analyze, run, test and confirm"
        );
    }
    watch::is_explored(Vec::new(), ExitCode::Nothing);
    let mut watch = Watch::new(explores_until)?;
    if let Some(aim) = aim {
        let aimed = Aimed::new(&mut program, &aim);
        return aimed.explore(
            options,
            &mut |progress| watch.see(progress),
            args.shorten,
            &args.reports,
            &args.analysis,
            color,
        );
    }
    let mut races = Merged::new(None, &filters, args.reports.clone());
    let near = RefCell::new(HashSet::<u64>::new());
    let is_near = |place| near.borrow().contains(&place);
    let order = at_places_first(&is_near);
    let options = Options {
        order: &order,
        ..options
    };
    let mut look = |program: &Program, run: usize, learnt: &Learnt| {
        let path = program.trace_of(run);
        // Which races one shows that was not searched, only its analysis tells; and of the first one, what excludes
        // them.
        let is_worker = args.join.is_some();
        if run == 0 || (program.is_unsearched() && !is_worker && path.exists()) {
            let keep = run == 0 || !learnt.shows.is_empty();
            if !keep && !races.is_worthwhile(&path)? {
                return Ok(());
            }
            let analysis = args.analysis.of_run(run as u32 + 1).ending(explores_until);
            match run {
                0 => races.add(&path, &analysis, None, keep)?,
                _ => races.add_proofs(&path, &analysis, None, keep)?,
            }
            near.borrow_mut().extend(races.near());
        }
        Ok(())
    };
    let mut watched = Watched::from_the_first(&mut program, &mut look);
    let mut explored = explore(&mut watched, &options, &mut |progress| watch.see(progress))?;
    watch.bar.finish_and_clear();
    ensure!(
        explored.runs > 0,
        "interrupted before the first run had ended: nothing is known"
    );

    if let Some(folder) = &args.join {
        return has_joined(folder, &explored, &program);
    }
    if let Some(made) = program.made_here() {
        say!(
            "witness: of {} runs, {made} were made here: the others are those of workers (--join)",
            explored.runs
        );
    }
    let mut ends = Ends::of(&explored, &program)?;
    if args.shorten {
        ends.shorten(&program)?;
    }
    // Their traces are there, however long the analyses take that follow.
    watch::is_explored(ends.lines(), ends.code);
    // Those that show something else stay, whatever they add to the races.
    let others: HashSet<usize> = runs_of(&explored, false).collect();
    let of_races = runs_of(&explored, true).filter(|&run| run > 0);
    for (number, run) in (2..).zip(of_races) {
        races.add(
            &program.trace_of(run),
            &args.analysis.of_run(number).ending(until),
            None,
            others.contains(&run),
        )?;
    }
    let is_proved = |race| races.witnessed().contains(&race);
    explored.settle(is_proved);
    ends.found.extend(unproven(&explored, &program, find, is_proved)?);
    let mut all = result(&explored, &program, find, ends.found)?;
    all.not_exhausted.extend(races.left_open());
    let code = races.report_of_all(&args.reports, &args.analysis, false, Some(&all), color)?;
    Ok(match ends.code.or_worse(code) {
        ExitCode::Nothing if !all.exhausted || all.has_unproven_race() => ExitCode::OnlyUnknowns,
        code => code,
    })
}

/// What a worker tells when it ends.
fn has_joined(folder: &Path, explored: &Exploration, program: &Program) -> anyhow::Result<ExitCode> {
    let (runs, made) = (explored.runs, program.made_here().unwrap_or_default());
    let is_over = !explored.not_exhausted.contains(&Reason::Stopped);
    print(|out| {
        let state = match is_over {
            false => "ended before the exploration",
            true if explored.not_exhausted.contains(&Reason::Runs) => "no more are allowed (--runs)",
            true => "nothing is left to run",
        };
        writeln!(out, "{runs} runs, {made} of them made here: {state}")?;
        let folder = folder.display();
        Ok(writeln!(
            out,
            "next: the same command with `-o {folder}` in place of `--join {folder}` tells what they show"
        )?)
    })?;
    Ok(if is_over {
        ExitCode::Nothing
    } else {
        ExitCode::OnlyUnknowns
    })
}

/// Options that change which runs are made, or how they are told apart: workers must agree.
fn terms(args: &ExploreArgs) -> String {
    let options = AnalysisOptions {
        until: None,
        beginning: Beginning::default(),
        ..args.analysis.options()
    };
    format!(
        "--seed {} --max-events {:?} --timeout {:?} --engine {:?}, aimed at {:?} {:?}, {options:?}",
        args.seed, args.max_events, args.timeout, args.engine, args.pairs, args.warnings
    )
}

/// The program, ready to be explored where that ended last, with its traces in a folder.
fn program(args: &ExploreArgs, traces: &Path) -> anyhow::Result<Program> {
    let (program, arguments) = split(&args.command)?;
    let input = StandardInput::here();
    ensure!(
        args.jobs == 1 || !input.is_file(),
        "runs cannot read one file as their standard input at the same time: leave out --jobs, or give the program the file's name"
    );
    let exploration = args.join.as_ref().unwrap_or(&args.output);
    folder(exploration)?;
    let shared = folder_of_shared(exploration);
    if args.anew && shared.symlink_metadata().is_ok_and(|about| about.is_dir()) {
        fs::remove_dir_all(&shared).with_context(|| format!("cannot remove {}", shared.display()))?;
    }
    // Whoever tells what workers have shown takes their runs, and makes those that they have left.
    let is_shared = args.join.is_some() || shared.symlink_metadata().is_ok();
    let launch = Launch {
        output: false,
        environment: is_shared.then(shared_environment),
        input,
        companions: args.companions.to_companions(),
        ..Launch::here(program.clone(), arguments.to_vec())
    };
    let bounds = Bounds {
        timeout: Some(args.timeout),
        max_events: args.max_events,
        usual: Some(Duration::ZERO),
        ..Bounds::default()
    };
    let program = Program::new(&launch, bounds, traces, args.seed)?.with_jobs(args.jobs.into())?;
    let program = match args.max_events {
        Some(_) => program,
        None => program.limited_by_first(),
    };
    let program = match &args.fails_if[..] {
        [] => program,
        conditions => program.failing_if(conditions.to_vec()),
    };
    let program = match is_shared {
        true => program.sharing(
            exploration,
            &Sharing {
                terms: terms(args),
                lease: Duration::from_secs(args.lease.into()),
                only_runs: args.join.is_some(),
            },
        )?,
        false => program,
    };
    if args.join.is_some() {
        return Ok(program);
    }
    let program = program.keeping_a_journal(args.anew)?;
    if program.begins() {
        remove_traces(&args.output)?;
    }
    Ok(program)
}

/// Makes the folder, if it is not there.
fn folder(path: &Path) -> anyhow::Result<()> {
    ensure!(
        !path.exists() || path.is_dir(),
        "{} is a file, not a folder: name a folder for the traces with --output",
        path.display()
    );
    safe_files::make_folder(path).with_context(|| format!("cannot create the folder {}", path.display()))
}

/// Removes the traces of an earlier exploration.
fn remove_traces(folder: &Path) -> anyhow::Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read the folder {}", folder.display()))?;
    for entry in entries.flatten() {
        let path = entry.path();
        let numbered = path.file_stem().is_some_and(|stem| {
            let stem = stem.as_encoded_bytes();
            let number = stem.strip_suffix(b".short").unwrap_or(stem);
            number.iter().all(u8::is_ascii_digit)
        });
        if numbered && path.extension().is_some_and(|extension| extension == "bin") {
            runs::remove(&path, Some(&witness::results::folder_of(&path)));
        }
    }
    Ok(())
}

/// The runs that show what their analysis tells of, or those that show something else; each once, whatever else it shows.
fn runs_of(explored: &Exploration, for_analysis: bool) -> impl Iterator<Item = usize> {
    let found = explored.found.iter();
    let found = found.filter(move |Found { what, .. }| what.is_for_analysis() == for_analysis);
    let mut seen = HashSet::new();
    found.filter_map(|found| found.run).filter(move |&run| seen.insert(run))
}

/// Tells progress on a terminal, and ends the exploration when its time is over or somebody asks for it.
struct Watch {
    until: Option<Instant>,
    bar: ProgressBar,
    _ends: EndsWhenAsked,
    /// Whether it was said that an earlier session is gone on with.
    greeted: bool,
}

impl Watch {
    fn new(until: Option<Instant>) -> anyhow::Result<Watch> {
        let bar = ProgressBar::new_spinner();
        bar.set_style(ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}").expect("a valid template"));
        bar.enable_steady_tick(Duration::from_millis(200));
        let ends = EndsWhenAsked::new().context("cannot install signal handlers")?;
        Ok(Watch {
            until,
            bar,
            _ends: ends,
            greeted: false,
        })
    }

    fn see(&mut self, progress: &Progress) -> ControlFlow<()> {
        let Progress {
            runs,
            earlier,
            branches,
            open,
            states,
            found,
        } = progress;
        if !self.greeted && *earlier > 0 {
            self.bar
                .suspend(|| say!("witness: goes on after {earlier} runs of an earlier session"));
        }
        self.greeted = true;
        self.bar.set_message(format!(
            "{runs} runs, {branches} branches closed, {open} open, {found} found ({states} states)"
        ));
        if asked_to_end() {
            self.bar
                .suspend(|| say!("witness: interrupted: run {runs} is the last; the same command goes on from here"));
            return ControlFlow::Break(());
        }
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}
