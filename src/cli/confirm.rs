//! `witness confirm`: decides other tools' warnings from a trace.

use super::ExitCode;
use super::analyze::{AnalysisArgs, rejected_code, stored, to_report, verdict_code, warn_if_cut};
use super::answers::{Answers, Asked, findings, used};
use super::execution::must_be_execution;
use super::guided::Guided;
use super::input::InputArgs;
use super::live::CompanionArgs;
use super::output::{Color, say};
use super::reports::{ReportArgs, name_unused};
use super::runs;
use super::watch::Watch;
use anyhow::{Context, bail};
use safe_files::read_given;
use std::cell::RefCell;
use std::ffi::OsString;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;
use trace_format::TraceFile;
use witness::analyze::Options;
use witness::confirm::{
    About, Class, ConfirmResults, Confirmation, Outcome, Question, Run, Suppressed, Text, confirm_all, decided,
};
use witness::import;
use witness::record;
use witness::report::{Findings, Noise, Words};
use witness::results::{ExplorationResult, Summary};
use witness::session::{Policy, StandardInput, asked_to_end};
use witness::symbols::Symbols;
use witness::trace::Trace;
use witness::verdict::{Find, Kind};
use witness::warnings::{self, Format, Warning};

/// Decide other tools' warnings: each is witnessed, refuted, not in this trace, or unknown, and why.
///
/// Reads reports of ThreadSanitizer (gcc, clang, Rust), Helgrind, DRD, Go's race detector, results of witness, and
/// lists of file:line file:line. It searches the trace for the places that they name, by module and offset, otherwise
/// by file, line and function; a line that has moved is offered as a guess. Each pair then gets a schedule that leads
/// to it, which the checker has accepted, or the reason why no order of the trace's events does. What the trace does
/// not show stays unknown. Warnings of lock orders are decided in the same way: whether a schedule leads to a deadlock
/// there. Warnings of other problems are counted.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "witness confirm [OPTIONS] TRACE REPORT...\n       witness confirm [OPTIONS] --run REPORT... -- PROGRAM...",
    after_long_help = "Examples:
  witness confirm trace.bin tsan.log
  ./app 2>&1 | witness confirm trace.bin -
  valgrind --tool=drd --xml=yes --xml-file=drd.xml ./app; witness confirm trace.bin drd.xml
  echo 'a.c:14 b.c:7' | witness confirm trace.bin - --format pairs
  witness confirm trace.bin tsan.log --report sarif=races.sarif
  witness confirm --run tsan.log -- ./app --threads 4

Exit status: 66 a warning is witnessed, or a race beside a refuted one; else 3 some are unknown or not in the
traces; else 0; 2 a trace or a report that
cannot be read."
)]
pub struct ConfirmArgs {
    /// The trace, and reports of other tools; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The reports' kind: tsan, helgrind, drd, valgrind-xml, go, witness or pairs [default: recognized by their
    /// content].
    #[arg(long, env = "WITNESS_REPORT_FORMAT", value_name = "KIND")]
    format: Option<Format>,
    /// Refuse a trace with more events [default: as many as the memory that the machine has left can hold].
    #[arg(long = "max-events", env = "WITNESS_MOST_EVENTS", value_name = "N")]
    most_events: Option<u64>,
    /// Print the answers as JSON (schema witness-confirm/1) instead of the report.
    #[arg(long, env = "WITNESS_JSON")]
    json: bool,
    /// Record the program first, run after run, until every warning is witnessed: each run along a schedule that may
    /// lead there, as `witness explore --warnings` chooses them, or under another policy and seed.
    #[arg(long, env = "WITNESS_RUN", requires = "command")]
    run: bool,
    /// With --run: the maximum number of runs.
    #[arg(long, env = "WITNESS_RUNS", value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// With --run: the trace file. Later runs that show something put their number into its name: trace.run2.bin.
    #[arg(
        short,
        long,
        env = "WITNESS_OUTPUT",
        value_name = "PATH",
        default_value = "trace.bin"
    )]
    output: PathBuf,
    /// With --run: end each run after S seconds.
    #[arg(long, env = "WITNESS_TIMEOUT", value_name = "S", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,
    #[command(flatten)]
    companions: CompanionArgs,
    #[command(flatten)]
    reports: ReportArgs,
    #[command(flatten)]
    analysis: AnalysisArgs,
    /// The program to record, and its arguments.
    #[arg(last = true, value_name = "PROGRAM", requires = "run")]
    command: Vec<OsString>,
}

/// How to tell what the traces say.
pub struct Telling<'a> {
    pub reports: &'a ReportArgs,
    pub analysis: &'a AnalysisArgs,
    pub json: bool,
    /// Whether there may be several traces, each of which needs a folder of its own.
    pub several: bool,
    /// What can be said of all schedules.
    pub exploration: Option<&'a ExplorationResult>,
    /// Whether traces stay that answer nothing: they show other things.
    pub keeps: bool,
}

pub fn run(args: &ConfirmArgs, color: Color) -> anyhow::Result<ExitCode> {
    let (trace, reports) = match (args.run, &args.files[..]) {
        (true, reports) => (None, reports),
        (false, [trace, reports @ ..]) if !reports.is_empty() => (Some(trace), reports),
        _ => bail!("no report is given: witness confirm TRACE REPORT..."),
    };
    if let Some(option) = args.analysis.only_of_whole() {
        bail!("confirm is about warnings: {option} is for analyze, run and explore");
    }
    // Of a trace that is there already, reports are a part.
    let watch = trace.map(|path| args.analysis.watch(path, "reading", None));
    let options = args.analysis.options();
    let options = Options {
        until: watch.as_ref().map_or(options.until, Watch::until),
        ..options
    };
    let mut warnings = read_all(reports, args.format)?;
    retain_asked(&mut warnings, options.find);
    let questions: Vec<Question> = decided(&warnings).map(Question::of).collect();
    let (asked, all_schedules) = match trace {
        Some(path) => {
            let opened = import::open(path, None, false)?;
            let input = InputArgs {
                trace: path.clone(),
                format: None,
                repair: false,
                most_events: args.most_events,
            };
            input.must_fit_up_to(&opened.file, options.beginning.of(opened.file.len()))?;
            if let Some(watch) = &watch {
                watch.stage("deciding");
            }
            (vec![ask(path, &opened.file, &questions, &options)?], None)
        }
        None => record_until_witnessed(args, &warnings, &questions, &options)?,
    };
    let telling = Telling {
        reports: &args.reports,
        analysis: &args.analysis,
        json: args.json,
        several: args.run,
        exploration: all_schedules.as_ref(),
        keeps: false,
    };
    if let Some(watch) = &watch {
        watch.reports();
    }
    report(&telling, &warnings, asked, color)
}

/// Leaves out the warnings of what is not looked for.
pub fn retain_asked(warnings: &mut Vec<Warning>, find: Find) {
    warnings.retain(|warning| match Question::of(warning).about {
        About::Race => find.has(Kind::Races) || warning.kind != warnings::Kind::Race,
        About::Deadlock => find.has(Kind::Deadlocks),
    });
}

/// The warnings of some reports.
pub fn read_all(reports: &[PathBuf], format: Option<Format>) -> anyhow::Result<Vec<Warning>> {
    let mut warnings = Vec::new();
    for report in reports {
        warnings.extend(read(report, format)?);
    }
    Ok(warnings)
}

/// Bytes of a report at most.
const LARGEST_REPORT: u64 = 1 << 30;

fn read(path: &Path, format: Option<Format>) -> anyhow::Result<Vec<Warning>> {
    let (name, bytes) = if path == Path::new("-") {
        let read = read_given(std::io::stdin().lock(), LARGEST_REPORT);
        ("standard input".to_owned(), read.context("cannot read standard input")?)
    } else {
        let name = path.display().to_string();
        let read = File::open(path).and_then(|file| read_given(file, LARGEST_REPORT));
        let bytes = read.with_context(|| format!("cannot read {name}"))?;
        (name, bytes)
    };
    if bytes.starts_with(b"\x89WITNESS") {
        bail!("{name} is a trace, not a report; the trace comes first: witness confirm TRACE REPORT...");
    }
    Ok(warnings::read(&name, &bytes, format)?)
}

/// Asks a trace.
pub fn ask(path: &Path, file: &TraceFile, questions: &[Question], options: &Options) -> anyhow::Result<Asked> {
    let trace = Trace::beginning(file, options.beginning.of(file.len()))?;
    warn_if_cut(path, &trace);
    must_be_execution(path, &trace)?;
    let symbols = Symbols::new(trace.tables());
    let mut confirmation = confirm_all(&trace, &symbols, questions, options);
    confirmation.add_standstill((file, &trace), &symbols, questions)?;
    drop(symbols);
    Ok(Asked {
        path: path.to_owned(),
        trace,
        confirmation,
    })
}

/// The runs, one after the other, until each question has a witness in one of them; and what they say of all schedules,
/// if all were covered.
fn record_until_witnessed(
    args: &ConfirmArgs,
    warnings: &[Warning],
    questions: &[Question],
    options: &Options,
) -> anyhow::Result<(Vec<Asked>, Option<ExplorationResult>)> {
    let (program, arguments) = args.command.split_first().context("no program given")?;
    let input = StandardInput::here();
    let recording = |number: u32| {
        let (policy, seed) = match number {
            1 => (Policy::Fifo, 0),
            later => runs::policy_of(later, 0),
        };
        record::Options {
            program: program.clone(),
            arguments: arguments.to_vec(),
            output: runs::trace_of(&args.output, number),
            naming: record::Naming::Exact,
            policy,
            seed,
            depth: 3,
            steps: 0,
            max_events: None,
            timeout: args.timeout.map(Duration::from_secs),
            degraded: None,
            arg0: None,
            keep_env: Vec::new(),
            companions: args.companions.to_companions(),
        }
    };
    let answers = RefCell::new(Answers::new(warnings, options, questions.len()));
    let further = Further {
        questions,
        options,
        answers: &answers,
    };
    input.rewind();
    let first = record::record(&recording(1))?;
    further.add(1, "fifo", &first.summary.path)?;
    let (mut made, mut all_schedules) = (1, None);
    let guided = Guided::new(&recording(1), &first, args.runs, options.find);
    if let Some(guided) = guided.filter(|_| !further.is_answered()) {
        let is_near = |place| answers.borrow().is_near(place);
        let guidance = guided.explore(&is_near, true, &mut |made| {
            if !made.is_unsearched || made.shows_end || answers.borrow_mut().is_worthwhile(made.path)? {
                further.add(made.run, "chosen", made.path)?;
            } else {
                runs::remove(made.path, None);
            }
            Ok(if further.is_answered() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        });
        match guidance {
            Ok(guidance) => {
                made = guidance.runs();
                all_schedules = guidance.all_schedules(|race| answers.borrow().is_settled(race))?;
            }
            Err(error) => say!("witness: no run can be chosen: {error:#}"),
        }
    }
    for number in made + 1..=args.runs {
        if further.is_answered() || all_schedules.is_some() || asked_to_end() {
            break;
        }
        made = number;
        input.rewind();
        let recording = recording(number);
        let recorded = record::record(&recording)?;
        let how = runs::name(recording.policy, recording.seed);
        further.add(number, &how, &recorded.summary.path)?;
    }
    if let Some(words) = answers.borrow().left_open() {
        say!("witness: {words}");
    }
    if asked_to_end() {
        say!("witness: interrupted: run {made} is the last");
    }
    let Answers { asked, unused, .. } = answers.into_inner();
    for path in unused {
        runs::remove(&path, None);
    }
    Ok((asked, all_schedules))
}

/// What runs say of the warnings, told after each.
struct Further<'f, 'a> {
    questions: &'a [Question],
    options: &'a Options,
    answers: &'f RefCell<Answers<'a>>,
}

impl Further<'_, '_> {
    fn add(&self, number: u32, how: &str, path: &Path) -> anyhow::Result<()> {
        let run = ask(path, &TraceFile::open(path)?, self.questions, self.options)?;
        let events = run.trace.len();
        let mut answers = self.answers.borrow_mut();
        answers.add(run);
        answers.drop_unused();
        let all = self.questions.len();
        say!(
            "witness: run {number} ({how}): {events} events, {} of {all} warnings witnessed so far: {}",
            all - answers.open.len(),
            path.display()
        );
        Ok(())
    }

    fn is_answered(&self) -> bool {
        self.answers.borrow().open.is_empty()
    }
}

/// Tells what became of the warnings.
pub fn report(args: &Telling<'_>, warnings: &[Warning], asked: Vec<Asked>, color: Color) -> anyhow::Result<ExitCode> {
    let (filters, root) = (args.reports.filters()?, args.reports.root());
    let asked = if args.keeps {
        asked
    } else {
        drop_unused(warnings, asked, &args.analysis.options())
    };
    let symbols: Vec<Symbols<'_>> = asked.iter().map(|asked| Symbols::new(asked.trace.tables())).collect();
    let folders: Vec<PathBuf> = asked.iter().map(|asked| folder(args, &asked.path)).collect();
    let options = args.analysis.options();
    let suppressed = Suppressed::of(warnings, &filters.suppressions);
    let noise: Vec<Noise> = asked
        .iter()
        .zip(&symbols)
        .map(|(asked, symbols)| {
            let words = Words {
                trace: &asked.trace,
                symbols,
            };
            let Confirmation { analysis, answers } = &asked.confirmation;
            let mut noise = Noise::of(&words, analysis, &filters);
            suppressed.hide(warnings, answers, analysis, &mut noise);
            noise
        })
        .collect();
    let runs: Vec<Run<'_>> = asked
        .iter()
        .zip(&symbols)
        .zip(folders.iter().zip(&noise))
        .map(|((asked, symbols), (folder, noise))| {
            let findings = Findings {
                root: &root,
                exploration: args.exploration,
                ..findings(asked, symbols, to_report(&options, &asked.trace), noise)
            };
            Run {
                findings: stored(findings, folder),
                answers: &asked.confirmation.answers,
            }
        })
        .collect();
    let outcome = Outcome {
        warnings,
        runs: &runs,
        suppressed: &suppressed,
        exploration: args.exploration,
    };
    let attached: Vec<_> = (0..runs.len()).map(|run| outcome.attached_warnings(run)).collect();
    let all = runs.iter().zip(&attached).map(|(run, attached_warnings)| Findings {
        attached_warnings,
        ..run.findings
    });
    args.reports.write(
        &all.collect::<Vec<_>>(),
        color,
        args.json,
        &|paint, out| {
            let text = witness::report::Text { paint };
            args.exploration.map_or(Ok(()), |all| text.found(all, out))?;
            Text { paint }.export(&outcome, out)?;
            let no_race = outcome.count(Class::Witnessed) == 0;
            Ok(args
                .exploration
                .map_or(Ok(()), |all| text.statement(all, no_race, out))?)
        },
        &|_, out| {
            serde_json::to_writer_pretty(&mut *out, &ConfirmResults::of(&outcome))?;
            Ok(writeln!(out)?)
        },
    )?;
    // By the warnings themselves, or by what some trace says of them.
    let mut used = suppressed.used().to_vec();
    for noise in &noise {
        used.iter_mut().zip(noise.used()).for_each(|(used, also)| *used |= also);
    }
    name_unused(&filters.suppressions.unused(&used, true));
    for (asked, folder) in asked.iter().zip(&folders) {
        if let Some(code) = rejected_code(&asked.confirmation.analysis, folder) {
            return Ok(code);
        }
    }
    let summary = Summary {
        witnessed: outcome.count(Class::Witnessed) + outcome.related_races(),
        refuted: outcome.count(Class::Refuted),
        // Nothing clears a warning that another run may show.
        unknown: outcome.count(Class::Unknown) + outcome.count(Class::NotInTrace),
        ..Summary::default()
    };
    Ok(verdict_code(
        summary,
        asked.iter().any(|asked| asked.trace.cut().is_some()),
    ))
}

/// Removes the traces that answer nothing better than the others.
fn drop_unused(warnings: &[Warning], asked: Vec<Asked>, options: &Options) -> Vec<Asked> {
    let used = used(warnings, &asked, options);
    let kept = asked.into_iter().zip(used).filter(|(asked, used)| {
        if !used {
            runs::remove(&asked.path, None);
        }
        *used
    });
    kept.map(|(asked, _)| asked).collect()
}

/// Where the schedules of the warnings go, so that they do not take the place of a whole analysis' results.
fn folder(args: &Telling<'_>, trace: &Path) -> PathBuf {
    match args.analysis.store() {
        // Several traces would share it.
        Some(folder) if args.several => folder.join(trace.file_name().unwrap_or_default()),
        Some(folder) => folder,
        None => {
            let mut name = OsString::from(trace);
            name.push(".confirmed");
            PathBuf::from(name)
        }
    }
}
