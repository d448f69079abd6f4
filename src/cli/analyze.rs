//! `witness analyze`: predicts the races of a trace and proves each of them.

use super::ExitCode;
use super::execution::must_be_execution;
use super::follow::Following;
use super::input::InputArgs;
use super::output::{Color, say};
use super::place;
use super::plan;
use super::program_end;
use super::record::seconds;
use super::reports::{ReportArgs, name_unused};
use super::watch::{self, Bytes, Watch};
use anyhow::Context;
use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};
use witness::analyze::{Beginning, Options, Order, Shard, Solver, Work, analyze_with};
use witness::candidates::{attach_pairs, lock_set_warnings, scope_of_warnings, shared_variables};
use witness::check::Checker;
use witness::confirm;
use witness::design::{Design, DesignError, Meant};
use witness::encode::Form;
use witness::record::ProcessNumber;
use witness::report::{Filters, Findings, Noise, SourceRoot, Words};
use witness::results::{self, Results, Summary};
use witness::standstill::Standstill;
use witness::store::{self, Binding};
use witness::symbols::Symbols;
use witness::trace::{Sections, Trace};
use witness::verdict::{Analysis, Find, Kind, LockSets, Pair, Regions, Unknown, Verdict};

/// Predict the data races, uses after free and deadlocks of a trace, and prove each with a schedule.
///
/// Every pair of conflicting code positions ends as witnessed (with a schedule that the checker accepted), refuted (no
/// run with these operations shows it; with the reason), not in this trace (values that reads saw exclude it: another
/// run may show it), or unknown (and why). The results are stored beside the trace, in TRACE.witnesses. An interrupted
/// analysis continues where it stopped.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  witness analyze trace.bin
  witness analyze trace.bin --instances all --budget 100000000
  witness analyze trace.bin --time-limit 60
  witness analyze trace.std --store results
  witness analyze trace.bin --report sarif=races.sarif --report junit=races.xml
  witness analyze trace.bin --suppressions tsan.supp --baseline known.json
  witness analyze trace.bin --json | jq '.pairs[] | select(.verdict == \"witnessed\")'

Exit status: 66 a race witnessed, 3 only unknowns, 0 neither (pairs that are not in this trace do
not count: correct programs have many), 2 a trace that cannot be read.")]
pub struct AnalyzeArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Print the results object (schema witness-results/2) instead of the report.
    #[arg(long, env = "WITNESS_JSON")]
    json: bool,
    /// Decide only the M-th of N shards of the plan that `witness plan` wrote; `witness merge` combines them.
    #[arg(long, env = "WITNESS_SHARD", value_name = "M/N", value_parser = shard,
        conflicts_with_all = ["json", "report", "suppressions", "baseline", "instances", "explanations", "budget", "solver", "model", "find", "regions", "order", "max_pairs", "first_events"])]
    shard: Option<Shard>,
    /// Be one of any number of workers on the plan that `witness plan` wrote: decide shards of N that nobody else works
    /// on, until all are done. All workers name the same N, some times their number.
    #[arg(long, env = "WITNESS_ANY_SHARD_OF", value_name = "N",
        conflicts_with_all = ["shard", "json", "report", "suppressions", "baseline", "instances", "explanations", "budget", "solver", "model", "find", "regions", "order", "max_pairs", "first_events"])]
    any_shard_of: Option<NonZeroU32>,
    /// Seconds after which a shard is taken from a worker that has shown no sign of life: the same for all workers.
    #[arg(long, env = "WITNESS_LEASE", value_name = "SECONDS", default_value = "30", requires = "any_shard_of",
        value_parser = clap::value_parser!(u32).range(1..))]
    lease: u32,
    /// Take shards for done that were not written here by you: those of other machines. `witness merge` asks again.
    #[arg(long, env = "WITNESS_TRUST")]
    trust: bool,
    #[command(flatten)]
    reports: ReportArgs,
    #[command(flatten)]
    analysis: AnalysisArgs,
}

fn shard(text: &str) -> Result<Shard, String> {
    let numbers = text
        .split_once('/')
        .and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
    let shard = numbers.and_then(|(number, of)| Shard::new(number, of));
    shard.ok_or_else(|| "expected M/N with M from 1 to N".to_owned())
}

fn design(path: &str) -> Result<Design, DesignError> {
    Design::read(Path::new(path))
}

/// How hard to try, and where to keep the results.
#[derive(Clone, Debug, clap::Args)]
pub struct AnalysisArgs {
    /// Dynamic instances to try first for each pair of code positions, or `all`. If none of them is feasible, more are
    /// tried while the budget of a few pairs lasts. A pair with untried instances is neither refuted nor not in this
    /// trace.
    #[arg(long, env = "WITNESS_INSTANCES", value_name = "N|all", default_value_t = Instances::default())]
    instances: Instances,
    /// Pairs for which the solver computes the facts that exclude them, or `all`; the verdicts are the same with any
    /// number, also with 0.
    #[arg(long, env = "WITNESS_EXPLANATIONS", value_name = "N|all", default_value_t = Explanations(Options::default().explanations))]
    explanations: Explanations,
    /// Solver resource units for each query; about 15 million take a second. Resources, unlike seconds, give the same
    /// verdicts on every machine.
    #[arg(long, env = "WITNESS_BUDGET", value_name = "UNITS", default_value_t = Options::default().budget)]
    budget: u32,
    /// The solver for pairs that the fast predictors leave open: our own and then Z3, or one of them alone.
    #[arg(long, env = "WITNESS_SOLVER", default_value = "both")]
    solver: SolverArg,
    /// What a schedule must order: a prefix that ends at the race, or, as in the founding paper and only for
    /// comparison, the whole trace, which finds fewer races.
    #[arg(long, env = "WITNESS_MODEL", default_value = "prefix")]
    model: Model,
    /// What to look for, with commas between. Of the rest nothing is said, and it costs no time.
    #[arg(long, env = "WITNESS_FIND", value_name = "KINDS", value_enum, value_delimiter = ',',
        default_values_t = Kind::DEFAULT.map(FindArg::of))]
    find: Vec<FindArg>,
    /// Where to look for atomicity violations, which --find asks for.
    #[arg(long, env = "WITNESS_REGIONS", default_value = "serial")]
    regions: RegionsArg,
    /// Look whether anything at B can come before the first access at A: each is file:line, a function or a variable.
    /// Repeat for several orders. `--find order` looks for reads of memory before it is initialized, without names.
    #[arg(long, env = "WITNESS_ORDER", value_names = ["A", "B"], num_args = 2)]
    order: Vec<String>,
    /// Which pairs to decide: all that conflict, or those of variables that lock sets alone warn of (Eraser's states).
    /// The warnings are listed, each with what is decided of its pairs; nothing but pairs is looked for then.
    #[arg(long, env = "WITNESS_CANDIDATES", default_value = "conflicts")]
    candidates: CandidatesArg,
    /// A file that says which code is meant to be atomic, which variables stand for the same, who can interrupt whom,
    /// and which threads never run at the same time. Atomicity violations are looked for by it, also without --find.
    #[arg(long, env = "WITNESS_DESIGN", value_name = "FILE", value_parser = design)]
    design: Option<Design>,
    /// Analyze the first events only, so many; nothing is refuted then [default: all; where --time-limit leaves less
    /// than a microsecond for each, as many as there are ten for].
    #[arg(long, env = "WITNESS_FIRST_EVENTS", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    first_events: Option<u64>,
    /// Pairs of code positions to decide, at most: their number grows with the square of that of the positions. The
    /// others are counted, and unknown.
    #[arg(long, env = "WITNESS_MAX_PAIRS", value_name = "N", default_value_t = Options::default().most_pairs)]
    max_pairs: u32,
    /// The folder in which to store and find the results [default: TRACE.witnesses].
    #[arg(long, env = "WITNESS_STORE", value_name = "DIR")]
    store: Option<PathBuf>,
    /// Threads that decide pairs [default: one per processor]. The results are the same with any number.
    #[arg(long, env = "WITNESS_THREADS", value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Seconds that the analysis of a trace may take, from reading it to the reports; kept within a second. Pairs that
    /// are undecided then are unknown: time; start `witness analyze` again to continue with them [default: no limit,
    /// since verdicts would depend on the machine; --budget bounds each question].
    #[arg(long, env = "WITNESS_TIME_LIMIT", value_name = "SECONDS", value_parser = seconds)]
    time_limit: Option<Duration>,
    /// Memory that the analysis of a trace may take, in megabytes, or with K, M or G. An analysis that needs more ends
    /// with status 2 and keeps its decisions [default: nine tenths of what is available when it begins].
    #[arg(long, env = "WITNESS_MEMORY_LIMIT", value_name = "SIZE")]
    memory_limit: Option<Bytes>,
}

/// What a part of something that has a limit may take in any case.
const LEAST_OF_PART: Duration = Duration::from_millis(200);

/// The two forms of the formula.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Model {
    Prefix,
    WholeTrace,
}

/// The solvers.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum SolverArg {
    Both,
    Native,
    Z3,
    /// Z3 without the fast arguments and without the search for unordered races: slow, to compare the others with.
    Z3Reference,
}

/// The kinds of things to look for.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum FindArg {
    /// Data races.
    Races,
    /// Threads that wait for each other for ever.
    Deadlocks,
    /// Accesses of what was freed before, in an order that locks do not prevent.
    UseAfterFree,
    /// Accesses of another thread between two that belong together: where a lock was given back too early, for example.
    Atomicity,
    /// Reads of memory that another thread initializes, before it does.
    Order,
    /// Reads of pointers that their thread follows at once, where they can be null.
    NullPointer,
    /// Reads of pointers that their thread follows at once, where they can point to what was freed.
    StalePointer,
}

/// Which pairs to decide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum CandidatesArg {
    /// All pairs of positions with conflicting accesses.
    #[default]
    Conflicts,
    /// Those of variables that no lock protects in all accesses, whatever else orders these.
    Lockset,
}

/// Where to look for atomicity violations.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum RegionsArg {
    /// In calls of functions, and between critical sections on one lock, if they are serial in most of their recorded
    /// instances, and but for checks that are made again.
    #[default]
    Serial,
    /// In all of these.
    Any,
    /// Between any two successive accesses of a thread.
    All,
}

impl FindArg {
    fn of(kind: Kind) -> FindArg {
        match kind {
            Kind::Races => FindArg::Races,
            Kind::Deadlocks => FindArg::Deadlocks,
            Kind::UseAfterFree => FindArg::UseAfterFree,
            Kind::Atomicity => FindArg::Atomicity,
            Kind::Order => FindArg::Order,
            Kind::NullPointer => FindArg::NullPointer,
            Kind::StalePointer => FindArg::StalePointer,
        }
    }

    fn kind(self) -> Kind {
        match self {
            FindArg::Races => Kind::Races,
            FindArg::Deadlocks => Kind::Deadlocks,
            FindArg::UseAfterFree => Kind::UseAfterFree,
            FindArg::Atomicity => Kind::Atomicity,
            FindArg::Order => Kind::Order,
            FindArg::NullPointer => Kind::NullPointer,
            FindArg::StalePointer => Kind::StalePointer,
        }
    }
}

/// A number of explanations, or all.
#[derive(Clone, Copy, Debug)]
struct Explanations(Option<u32>);

impl std::str::FromStr for Explanations {
    type Err = String;

    fn from_str(text: &str) -> Result<Explanations, String> {
        match text {
            "all" => Ok(Explanations(None)),
            text => text
                .parse()
                .map(|number| Explanations(Some(number)))
                .map_err(|_| "expected a number or `all`".to_owned()),
        }
    }
}

impl std::fmt::Display for Explanations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Instances(self.0).fmt(f)
    }
}

/// A number of instances, or all.
#[derive(Clone, Copy, Debug)]
struct Instances(Option<u32>);

impl Default for Instances {
    fn default() -> Instances {
        Instances(Options::default().instances)
    }
}

impl std::str::FromStr for Instances {
    type Err = String;

    fn from_str(text: &str) -> Result<Instances, String> {
        match text {
            "all" => Ok(Instances(None)),
            text => match text.parse() {
                Ok(number) if number > 0 => Ok(Instances(Some(number))),
                _ => Err("expected a positive number or `all`".to_owned()),
            },
        }
    }
}

impl std::fmt::Display for Instances {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(number) => number.fmt(f),
            None => f.write_str("all"),
        }
    }
}

impl AnalysisArgs {
    /// For the trace of another process of the program: its results have a place of their own.
    pub fn of_process(&self, number: &ProcessNumber) -> AnalysisArgs {
        AnalysisArgs {
            store: self.store.clone().map(|folder| {
                let mut name = folder.into_os_string();
                name.push(format!(".{number}"));
                name.into()
            }),
            ..self.clone()
        }
    }

    /// For the trace of a run after the first: its results have a place of their own.
    pub fn of_run(&self, run: u32) -> AnalysisArgs {
        AnalysisArgs {
            store: self.store.clone().map(|folder| match run {
                1 => folder,
                run => {
                    let mut name = folder.into_os_string();
                    name.push(format!(".run{run}"));
                    name.into()
                }
            }),
            ..self.clone()
        }
    }

    /// For a part of something that ends then.
    pub fn ending(&self, until: Option<Instant>) -> AnalysisArgs {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        AnalysisArgs {
            time_limit: left.map(|left| left.max(LEAST_OF_PART)),
            ..self.clone()
        }
    }

    /// For one of many traces: its results have a place of their own, called after it.
    pub fn of_trace(&self, trace: &Path) -> AnalysisArgs {
        AnalysisArgs {
            store: self.store.as_ref().map(|folder| {
                let own = store::folder_of(trace);
                folder.join(own.file_name().unwrap_or_default())
            }),
            ..self.clone()
        }
    }

    /// The folder of the results of `trace`.
    pub fn folder(&self, trace: &Path) -> PathBuf {
        self.store
            .as_ref()
            .map_or_else(|| store::folder_of(trace), Clone::clone)
    }

    /// The folder that was asked for.
    pub fn store(&self) -> Option<PathBuf> {
        self.store.clone()
    }

    /// Threads that decide pairs.
    pub fn threads(&self) -> NonZeroUsize {
        self.threads
            .unwrap_or_else(|| available_parallelism().unwrap_or(NonZeroUsize::MIN))
    }

    /// The flags that make another process take what this one may.
    pub fn machine_flags(&self) -> Vec<OsString> {
        let threads = self.threads.map(|threads| format!("--threads={threads}"));
        let time = self
            .time_limit
            .map(|limit| format!("--time-limit={}", limit.as_secs_f64()));
        let memory = self
            .memory_limit
            .map(|limit| format!("--memory-limit={}", limit.as_flag()));
        [threads, time, memory]
            .into_iter()
            .flatten()
            .map(OsString::from)
            .collect()
    }

    /// How hard to try.
    pub fn options(&self) -> Options {
        Options {
            instances: self.instances.0,
            explanations: self.explanations.0,
            budget: self.budget,
            solver: match self.solver {
                SolverArg::Both => Solver::Both,
                SolverArg::Native => Solver::Native,
                SolverArg::Z3 => Solver::Z3,
                SolverArg::Z3Reference => Solver::Z3Reference,
            },
            form: match self.model {
                Model::Prefix => Form::Prefix,
                Model::WholeTrace => Form::WholeTrace,
            },
            find: {
                let kinds = self.find.iter().map(|kind| kind.kind());
                let by_design = self.design.as_ref().map(|_| Kind::Atomicity);
                let of_pairs = |kind: &Kind| {
                    self.candidates == CandidatesArg::Conflicts || matches!(kind, Kind::Races | Kind::UseAfterFree)
                };
                Find::of(&kinds.chain(by_design).filter(of_pairs).collect::<Vec<Kind>>())
            },
            regions: match self.regions {
                RegionsArg::Serial => Regions::Serial,
                RegionsArg::Any => Regions::Any,
                RegionsArg::All => Regions::All,
            },
            most_pairs: self.max_pairs,
            beginning: Beginning {
                events: self.first_events,
                time: self.time_limit,
            },
            mutation: None,
            until: self.until(),
        }
    }

    /// Watches an analysis that begins now, and the reports that are to be made of it.
    pub fn watch(&self, trace: &Path, stage: &'static str, reports: Option<&ReportArgs>) -> Watch {
        Watch::begin(trace, stage, self.until(), self.memory_limit, reports)
    }

    /// Loads a trace, as far as it is analyzed.
    pub fn load(&self, input: &InputArgs) -> anyhow::Result<Trace> {
        let started = Instant::now();
        let file = input.file()?;
        let trace = input.beginning(&file, self.options().beginning.of(file.len()))?;
        tracing::info!(stage = "reading", us = started.elapsed().as_micros() as u64, "stage");
        Ok(trace)
    }

    /// How long an analysis may take.
    pub fn time_limit(&self) -> Option<Duration> {
        self.time_limit
    }

    /// When an analysis that begins now has to end.
    fn until(&self) -> Option<Instant> {
        let limit = self.time_limit()?;
        // A limit beyond what the clock can say is none.
        Instant::now().checked_add(limit)
    }

    /// Analyses a trace, stores the results, and shows them to `report`. Says on stderr what did
    /// not go as it should.
    pub fn run(
        &self,
        path: &Path,
        trace: &Trace,
        filters: &Filters,
        root: &SourceRoot,
        watch: &Watch,
        report: impl FnOnce(&Findings<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<(Analysis, ExitCode)> {
        let (analysis, checker) = self.decide(path, trace, watch)?;
        let options = self.options();
        let folder = self.folder(path);
        let target = ReportTarget {
            filters,
            root,
            folder: &folder,
        };
        let code = show(
            path,
            trace,
            Some(&checker),
            &analysis,
            to_report(&options, trace),
            &target,
            |findings| {
                watch.reports();
                report(findings)
            },
        )?;
        // An order of which the trace has nothing is not kept by it.
        let code = match code {
            ExitCode::Nothing if self.leaves_orders_open(&[&analysis]) => ExitCode::OnlyUnknowns,
            code => code,
        };
        Ok((analysis, code))
    }

    /// Whether an order is named of which none of the traces has both sides, so that no verdict is on it.
    pub fn leaves_orders_open(&self, analyses: &[&Analysis]) -> bool {
        self.order.chunks_exact(2).any(|places| {
            let name = name_of_order(places);
            let mut pairs = analyses.iter().flat_map(|analysis| &analysis.pairs);
            !pairs.any(|pair| pair.order.as_ref() == Some(&name))
        })
    }

    /// The option that names what only whole analyses ask about, if there is one.
    pub fn only_of_whole(&self) -> Option<&'static str> {
        let order = Some("--order").filter(|_| !self.order.is_empty());
        let design = || self.design.as_ref().map(|_| "--design");
        let lock_sets = || Some("--candidates lockset").filter(|_| self.candidates == CandidatesArg::Lockset);
        order.or_else(design).or_else(lock_sets)
    }

    /// The first layer, if that is to choose the candidates.
    fn lock_sets(&self, trace: &Trace) -> Option<LockSets> {
        (self.candidates == CandidatesArg::Lockset).then(|| LockSets {
            variables: shared_variables(trace),
            warnings: lock_set_warnings(trace, &Sections::of(trace)),
        })
    }

    /// Says on stderr what the design names and the trace has not.
    fn say_missing(&self, path: &Path, trace: &Trace) {
        if let Some(design) = &self.design {
            let symbols = Symbols::new(trace.tables());
            for (line, missing) in Meant::of(design, trace, &symbols).missing() {
                say!(
                    "witness: {}:{line}: {} {missing}",
                    design.path().display(),
                    path.display()
                );
            }
        }
    }

    /// The orders that are named, as far as a trace has them. Says on stderr which it has not.
    fn orders(&self, path: &Path, trace: &Trace) -> Vec<Order> {
        if self.order.is_empty() {
            return Vec::new();
        }
        let symbols = Symbols::new(trace.tables());
        let order = |places: &[String]| {
            let name = name_of_order(places);
            let sides = [place::side(&places[0]), place::side(&places[1])];
            let missing = match confirm::order(trace, &symbols, &name, sides) {
                Ok(order) => return Some(order),
                Err(missing) => missing,
            };
            for (place, _) in places.iter().zip(missing).filter(|(_, missing)| *missing) {
                say!(
                    "witness: --order {name}: {} accesses nothing at {place}",
                    path.display()
                );
            }
            None
        };
        self.order.chunks_exact(2).filter_map(order).collect()
    }

    /// Analyses a trace; returns what it was checked by, too. Says on stderr what did not go as it should.
    pub fn decide<'t>(&self, path: &Path, trace: &'t Trace, watch: &Watch) -> anyhow::Result<(Analysis, Checker<'t>)> {
        warn_if_cut(path, trace);
        if watch.until().is_some() && trace.first_events().is_none() {
            // Reports tell of the run's end, when the time may be over. (What cannot be read is said there.)
            let _ = Standstill::of_loaded(trace, path);
        }
        watch.stage("checking the trace");
        let checker = must_be_execution(path, trace)?;
        let options = Options {
            until: watch.until(),
            ..self.options()
        };
        let folder = self.folder(path);
        let journal = store::journal_path(&folder);
        let key = (trace.id(), Binding::of(path));
        let following = Following::whole(key, to_report(&options, trace), &journal, watch);
        let orders = self.orders(path, trace);
        self.say_missing(path, trace);
        let mut lock_sets = self.lock_sets(trace);
        let most = options.most_pairs as usize;
        let scope = lock_sets.as_ref().map(|sets| {
            let scope = scope_of_warnings(trace, &sets.warnings, most);
            scope.with_context(|| {
                let path = path.display();
                format!(
                    "{path}: the variables that lock sets warn of have more than {most} pairs of positions; \
                     --max-pairs allows more, a shorter recording has fewer (`witness record --max-events`)"
                )
            })
        });
        let scope = scope.transpose()?;
        let work = Work {
            scope: scope.as_ref(),
            threads: self.threads(),
            orders: &orders,
            design: self.design.as_ref(),
            checker: Some(&checker),
            ..Work::default()
        };
        let mut analysis = analyze_with(trace, &options, &work, &following)?;
        if let Some(lock_sets) = &mut lock_sets {
            let pairs: Vec<_> = analysis.pairs.iter().map(|pair| pair.positions).collect();
            attach_pairs(trace, &mut lock_sets.warnings, &pairs);
        }
        analysis.lock_sets = lock_sets;
        watch.all_decided(&analysis.pairs, "names and lines");
        say_unlisted(path, &analysis);
        let late = |pair: &&Pair| matches!(pair.verdict, Verdict::Unknown(Unknown::Time));
        let left = analysis.pairs.iter().filter(late).count();
        if left > 0 {
            say!(
                "witness: out of time: {left} of {} pairs are undecided; {}",
                analysis.pairs.len(),
                watch::again()
            );
        }
        Ok((analysis, checker))
    }
}

/// What the order of two places is called in reports.
fn name_of_order(places: &[String]) -> String {
    format!("{} before {}", places[0], places[1])
}

/// Where and how findings are reported: what is hidden, and the folders of sources and results.
pub struct ReportTarget<'a> {
    pub filters: &'a Filters,
    pub root: &'a SourceRoot,
    pub folder: &'a Path,
}

/// Stores what an analysis found, shows it to `report`, and returns the exit status. Says on stderr what did not go as
/// it should.
pub fn show(
    path: &Path,
    trace: &Trace,
    checker: Option<&Checker<'_>>,
    analysis: &Analysis,
    options: results::Options,
    target: &ReportTarget<'_>,
    report: impl FnOnce(&Findings<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<ExitCode> {
    let symbols = Symbols::new(trace.tables());
    let words = Words {
        trace,
        symbols: &symbols,
    };
    let noise = Noise::of(&words, analysis, target.filters);
    let findings = Findings {
        trace,
        checker,
        path,
        analysis,
        symbols: &symbols,
        options,
        folder: None,
        noise: &noise,
        root: target.root,
        attached_warnings: &[],
        exploration: None,
    };
    let findings = stored(findings, target.folder);
    report(&findings)?;
    name_unused(&target.filters.suppressions.unused(noise.used(), false));
    Ok(exit_code(&findings, target.folder))
}

/// The analysis options that a report states.
pub fn from_report(options: &results::Options) -> Options {
    Options {
        instances: options.instances,
        explanations: options.explanations,
        budget: options.budget,
        solver: options.solver,
        form: options.model,
        find: options.find,
        regions: options.regions,
        most_pairs: options.max_pairs,
        beginning: Beginning {
            events: options.first_events,
            time: None,
        },
        mutation: None,
        until: None,
    }
}

/// Options in the form in which reports state them.
pub fn to_report(options: &Options, trace: &Trace) -> results::Options {
    results::Options {
        instances: options.instances,
        explanations: options.explanations,
        budget: options.budget,
        solver: options.solver,
        model: options.form,
        find: options.find,
        regions: options.regions,
        max_pairs: options.most_pairs,
        first_events: trace.first_events(),
    }
}

/// Stores findings; says on stderr if that fails.
pub fn stored<'a>(findings: Findings<'a>, folder: &'a Path) -> Findings<'a> {
    let kept = Findings {
        folder: Some(folder),
        ..findings
    };
    let races = kept.rows().filter_map(|row| Some((row.number?, row.schedule()?)));
    let deadlocks = kept.deadlocks().filter_map(|row| Some((row.number?, row.schedule()?)));
    let interruptions = kept.atomicity_violations();
    let interruptions = interruptions.filter_map(|row| Some((row.number?, row.schedule()?)));
    let schedules = races.chain(deadlocks).chain(interruptions);
    match store::save(
        &Results::of(&kept),
        schedules,
        kept.analysis,
        folder,
        &Binding::of(kept.path),
    ) {
        Ok(()) => kept,
        Err(error) => {
            say!(
                "witness: cannot store the results: {error}; `witness replay` needs them: choose another folder with --store"
            );
            findings
        }
    }
}

/// Says on stderr how many pairs there were too many.
pub fn say_unlisted(path: &Path, analysis: &Analysis) {
    if analysis.unlisted > 0 {
        say!(
            "witness: {}: {} pairs of code positions conflict; only {} of them are decided, the others unknown: \
             --max-pairs decides more, a shorter recording has fewer (`witness record --max-events`)",
            path.display(),
            analysis.pairs.len() + analysis.unlisted,
            analysis.pairs.len()
        );
    }
}

/// Says on stderr that only a part of the run is there.
pub fn warn_if_cut(path: &Path, trace: &Trace) {
    if let Some(cut) = trace.cut() {
        let (events, cause) = (cut.events, &cut.cause);
        say!(
            "witness: {} is cut: {cause}; only the first {events} events are analyzed",
            path.display()
        );
    }
}

/// The status of an analysis.
pub fn exit_code(findings: &Findings<'_>, folder: &Path) -> ExitCode {
    rejected_code(findings.analysis, folder)
        .unwrap_or_else(|| verdict_code(Summary::of(findings), findings.trace.cut().is_some()))
}

/// The status if the checker rejected schedules, which is said on stderr; `None` if it did not.
pub fn rejected_code(analysis: &Analysis, folder: &Path) -> Option<ExitCode> {
    if !analysis.rejected.is_empty() {
        say!(
            "witness: internal error: the checker rejected {} schedules",
            analysis.rejected.len()
        );
        match store::save_rejected(&analysis.rejected, folder) {
            Ok(paths) => paths
                .iter()
                .for_each(|path| say!("witness: please report {}", path.display())),
            Err(error) => say!("witness: {error}"),
        }
        return Some(ExitCode::Internal);
    }
    None
}

/// The status that some verdicts give; a trace that is cut leaves open what the rest of it held.
pub fn verdict_code(summary: Summary, cut: bool) -> ExitCode {
    match summary {
        Summary { witnessed: 1.., .. }
        | Summary { deadlocks: 1.., .. }
        | Summary {
            atomicity_violations: 1..,
            ..
        } => ExitCode::Witnessed,
        Summary { unknown: 1.., .. }
        | Summary {
            unknown_cycles: 1.., ..
        }
        | Summary {
            unknown_interruptions: 1..,
            ..
        } => ExitCode::OnlyUnknowns,
        _ if cut => ExitCode::OnlyUnknowns,
        _ => ExitCode::Nothing,
    }
}

pub fn run(args: &AnalyzeArgs, color: Color) -> anyhow::Result<ExitCode> {
    let watch = args.analysis.watch(&args.input.trace, "reading", Some(&args.reports));
    let trace = match args.shard.is_some() || args.any_shard_of.is_some() {
        true => args.input.load()?,
        false => args.analysis.load(&args.input)?,
    };
    if let Some(shard) = args.shard {
        return plan::carry_out(&args.input.trace, &trace, &args.analysis, shard, &watch);
    }
    if let Some(of) = args.any_shard_of {
        let sharing = plan::Sharing {
            of,
            lease: Duration::from_secs(args.lease.into()),
            trust: args.trust,
        };
        return plan::work(&args.input.trace, &trace, &args.analysis, &sharing, &watch);
    }
    report(
        &args.input.trace,
        &trace,
        &watch,
        &args.analysis,
        &args.reports,
        args.json,
        color,
    )
}

/// Whether threads that wait for ever at the end of a run are told of: not, if only its beginning is analyzed.
fn looks_at_end(trace: &Trace, analysis: &AnalysisArgs) -> bool {
    analysis.options().find.has(Kind::Deadlocks) && trace.first_events().is_none()
}

/// Analyses a trace and writes the reports.
pub fn report(
    path: &Path,
    trace: &Trace,
    watch: &Watch,
    analysis: &AnalysisArgs,
    reports: &ReportArgs,
    json: bool,
    color: Color,
) -> anyhow::Result<ExitCode> {
    let (filters, root) = (reports.filters()?, reports.root());
    let (_, code) = analysis.run(path, trace, &filters, &root, watch, |findings| {
        reports.write_findings(findings, color, json)
    })?;
    Ok(
        match looks_at_end(trace, analysis) && program_end::waits_for_ever(path) {
            true => code.or_worse(ExitCode::Deadlock),
            false => code,
        },
    )
}
