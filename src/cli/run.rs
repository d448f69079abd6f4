//! `witness run`: records a program, analyses the trace, and drives the program along each witness.

use super::ExitCode;
use super::analyze::{AnalysisArgs, report};
use super::live::scratch;
use super::output::{Color, print, say};
use super::program_end;
use super::record::{self, RecordArgs};
use super::reports::ReportArgs;
use std::io::Write;
use std::path::Path;
use witness::check::Checker;
use witness::record::{Launch, StandardInput};
use witness::replay::live::{self, LiveError, Outcome};
use witness::report::{Paint, Words, in_short};
use witness::store;
use witness::symbols::Symbols;
use witness::trace::Trace;

/// Record one run of a program, analyze it, and show each race live.
///
/// As `witness record`, then `witness analyze` of its trace, then `witness replay --live` of each
/// witness, without what the program prints then. Other processes of the program, which have traces of their own, are
/// analyzed one after another. A witness is a proof also if its live run does not come to the race. Without one, the run must have
/// ended well: the status is another than 0 if the program died, failed, deadlocked or was ended by --timeout.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  witness run -- ./app --threads 4
  witness run --policy random --seed 7 -o run7.bin -- ./app
  witness run --no-live -- ./server --once
  witness run --report sarif=races.sarif --baseline known.json -- ./app

Exit status: 66 a race witnessed, confirmed live or not; without a race 67 if threads waited for one
another for ever, 68 if the program died or ended with a status other than 0, 124 if --timeout ended
it; 3 only unknowns, 0 nothing, 2 a program that cannot be recorded.")]
pub struct RunArgs {
    /// Do not run the program along its witnesses.
    #[arg(long, env = "WITNESS_NO_LIVE")]
    no_live: bool,
    /// Live runs for each witness that is not confirmed at once.
    #[arg(long, env = "WITNESS_ATTEMPTS", value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    attempts: u32,
    #[command(flatten)]
    reports: ReportArgs,
    #[command(flatten)]
    analysis: AnalysisArgs,
    #[command(flatten)]
    record: RecordArgs,
}

pub fn run(args: &RunArgs, color: Color) -> anyhow::Result<ExitCode> {
    let input = StandardInput::here();
    let recorded = record::record(&args.record)?;
    let first = &recorded.summary.path;
    let mut code = show(args, first, &args.analysis, &args.reports, input, color)?;
    for process in &recorded.processes {
        let (number, path) = (&process.number, &process.summary.path);
        say!("witness: process {number}: {}", path.display());
        let (analysis, reports) = (args.analysis.of_process(number), args.reports.of_process(number));
        code = code.or_worse(show(args, path, &analysis, &reports, input, color)?);
    }
    if let Some(how) = program_end::failure(&recorded).filter(|_| recorded.stopped.is_none() && !recorded.deadlock) {
        say!("witness: the program {how}: what is said of its races is of the run up to there");
    }
    Ok(code.or_worse(program_end::code(&recorded)))
}

/// Analyses a trace, reports, and drives the program along each witness.
fn show(
    args: &RunArgs,
    path: &Path,
    analysis: &AnalysisArgs,
    reports: &ReportArgs,
    input: StandardInput,
    color: Color,
) -> anyhow::Result<ExitCode> {
    let trace = Trace::open(path)?;
    let code = report(path, &trace, analysis, reports, false, color)?;
    if code == ExitCode::Witnessed && !args.no_live {
        let folder = analysis.folder(path);
        if reports.prints_text() {
            let paint = Paint { on: color.for_stdout() };
            confirm(args, &trace, &folder, input, paint, &|line| {
                print(|out| Ok(writeln!(out, "{line}")?))
            })?;
        } else {
            // Text would not belong into the report of another kind that is printed.
            confirm(args, &trace, &folder, input, Paint::default(), &|line| {
                say!("{line}");
                Ok(())
            })?;
        }
    }
    Ok(code)
}

/// Says a line, where there is a place for it.
type Tell<'a> = &'a dyn Fn(&str) -> anyhow::Result<()>;

/// Runs the program along each witness, and says in one line what became of it.
fn confirm(
    args: &RunArgs,
    trace: &Trace,
    folder: &Path,
    input: StandardInput,
    paint: Paint,
    tell: Tell<'_>,
) -> anyhow::Result<()> {
    let Some(stored) = store::load(folder, trace.id())? else {
        return Ok(());
    };
    let launch = match live::launch(trace, &[]) {
        Ok(launch) => Launch { input, ..launch },
        Err(why @ LiveError::UnknownPolicy { .. }) => return tell(&format!("Live: not shown: {why}")),
        Err(error) => return Err(error.into()),
    };
    let checker = Checker::new(trace);
    let symbols = Symbols::new(trace.tables());
    let words = Words {
        trace,
        symbols: &symbols,
    };
    tell("Live:")?;
    let mut confirmed = 0;
    let pairs = stored.results.pairs.iter().filter(|pair| pair.verdict == "witnessed");
    let shown: Vec<bool> = pairs.map(|pair| pair.suppressed.is_none() && !pair.known).collect();
    let numbered = (1..).zip(&stored.schedules).zip(&shown);
    for ((number, schedule), _) in numbered.filter(|(_, shown)| **shown) {
        let (run, ..) = live::attempt(&checker, schedule, &launch, &scratch(), args.attempts)?;
        confirmed += usize::from(matches!(run.outcome, Outcome::Confirmed(_)));
        let (a, b) = (words.place(schedule.race.0), words.place(schedule.race.1));
        tell(&format!("  witness {number}: {a} and {b}: {}", in_short(&run.outcome)))?;
    }
    let (witnessed, unknown) = (
        shown.iter().filter(|shown| **shown).count() - confirmed,
        stored.results.summary.unknown,
    );
    let summary =
        format!("SUMMARY: witness: {confirmed} confirmed live, {witnessed} witnessed only, {unknown} unknown");
    tell(&format!("\n{}", paint.warning(summary)))
}
