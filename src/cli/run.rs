//! `witness run`: records a program, analyzes the trace, and replays each witness live; then again, under other
//! policies and seeds, as long as something is open.

use super::ExitCode;
use super::analyze::AnalysisArgs;
use super::merged::{Live, Merged};
use super::output::{Color, say};
use super::program_end;
use super::record::{self, RecordArgs};
use super::reports::ReportArgs;
use witness::record::{Recorded, StandardInput, asked_to_end};
use witness::report::Filters;

/// Record runs of a program, analyze them, and show each race live.
///
/// Does what `witness record`, `witness analyze`, and `witness replay --live` for each witness do, without the
/// program's output in the live runs. Unless races were found and nothing is left open, more runs follow, under other
/// policies and seeds, up to --runs. All runs give one report, with each race once, by its id. Traces of later runs are
/// trace.run2.bin, … beside the first; those that add nothing are removed. Other processes of the program, which have
/// traces of their own, are reported one after another. A witness is a proof even if its live run does not reach the
/// race. Without a witness, the status is 0 only if the run ended well, not if the program crashed, failed, deadlocked
/// or was ended by --timeout.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  witness run -- ./app --threads 4
  witness run --policy random --seed 7 -o run7.bin -- ./app
  witness run --runs 1 --no-live -- ./server --once
  witness run --runs 100 -- ./test_queue
  witness run --report sarif=races.sarif --baseline known.json -- ./app

Exit status: 66 a race witnessed, confirmed live or not; without a race 67 if threads waited for one
another forever, 68 if a signal killed the program or its status was not 0, 124 if --timeout ended
it; 3 only unknowns, 0 nothing, 2 a program that cannot be recorded.")]
pub struct RunArgs {
    /// Maximum number of runs: the first with --policy and --seed, later ones alternating among random, pos and pct
    /// with further seeds.
    #[arg(long, env = "WITNESS_RUNS", value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Do not replay the witnesses live.
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
    let filters = args.reports.filters()?;
    let input = StandardInput::here();
    let live = (!args.no_live).then(|| Live {
        input,
        attempts: args.attempts,
        companions: args.record.companions(),
    });
    let mut processes: Vec<Merged<'_>> = vec![Merged::new(None, &filters)];
    let mut code = ExitCode::Nothing;
    let mut first: Option<Recorded> = None;
    let mut wrong = Vec::new();
    for run in 1..=args.runs {
        input.rewind();
        let recorded = match &first {
            None => record::record(&args.record)?,
            Some(first) => match record::record_again(&args.record, &first.summary.path, run) {
                Ok(recorded) => recorded,
                Err(error) => {
                    // What the runs before showed is not lost.
                    say!("witness: run {run} failed and is the last: {error:#}");
                    break;
                }
            },
        };
        let ended = program_end::code(&recorded);
        code = code.or_worse(ended);
        // A trace that is the first to show that the program goes wrong is wanted for that.
        let keep = run == 1 || (ended != ExitCode::Nothing && !wrong.contains(&ended));
        wrong.push(ended);
        if let Err(error) = add(
            &mut processes,
            &recorded,
            &args.analysis.of_run(run),
            &filters,
            // Who was asked to end tells what is known, and runs nothing any more.
            live.as_ref().filter(|_| !asked_to_end()),
            keep,
        ) {
            if run == 1 {
                return Err(error);
            }
            say!("witness: run {run} is ignored: {error:#}");
        }
        if let Some(how) = program_end::failure(&recorded).filter(|_| recorded.stopped.is_none() && !recorded.deadlock)
        {
            say!("witness: the program {how}: the report covers the run up to there");
        }
        // The first run holds the name that the others are called after.
        first.get_or_insert(recorded);
        if asked_to_end() {
            say!("witness: interrupted: run {run} is the last");
            break;
        }
        if processes.iter().all(|process| process.is_settled(live.is_some())) {
            break;
        }
    }
    for process in processes {
        let (reports, analysis) = match process.number() {
            None => (args.reports.clone(), args.analysis.clone()),
            Some(number) => {
                say!("witness: process {number}: {}", process.first().display());
                (args.reports.of_process(number), args.analysis.of_process(number))
            }
        };
        code = code.or_worse(process.report(&reports, &analysis, live.is_some(), color)?);
    }
    Ok(code)
}

/// Adds the traces of one run to those of the runs before.
fn add<'a>(
    processes: &mut Vec<Merged<'a>>,
    recorded: &Recorded,
    analysis: &AnalysisArgs,
    filters: &'a Filters,
    live: Option<&Live>,
    keep: bool,
) -> anyhow::Result<()> {
    processes[0].add(&recorded.summary.path, analysis, live, keep)?;
    for process in &recorded.processes {
        let (number, path) = (&process.number, &process.summary.path);
        let known = processes.iter().position(|one| one.number() == Some(number));
        let row = known.unwrap_or_else(|| {
            processes.push(Merged::new(Some(number.clone()), filters));
            processes.len() - 1
        });
        let keep = keep || processes[row].is_empty();
        processes[row].add(path, &analysis.of_process(number), live, keep)?;
    }
    Ok(())
}
