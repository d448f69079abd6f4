//! `witness run`: records a program, analyzes the trace, and replays each witness live; then again, along other
//! schedules, as long as something is open.

use super::ExitCode;
use super::analyze::AnalysisArgs;
use super::guided::{Guided, Made};
use super::merged::{Live, Merged};
use super::output::{Color, say};
use super::program_end;
use super::record::{self, RecordArgs};
use super::reports::ReportArgs;
use std::ops::ControlFlow;
use witness::record::Recorded;
use witness::report::Filters;
use witness::session::{StandardInput, asked_to_end};

/// Record runs of a program, analyze them, and show each race live.
///
/// Does what `witness record`, `witness analyze`, and `witness replay --live` for each witness do, without the
/// program's output in the live runs. Unless races were found and nothing is left open, more runs follow, up to --runs:
/// each is forced along a schedule that shows something no run has shown, as `witness explore` chooses them, or, of
/// programs that are long or start others, made under other policies and seeds. If every schedule is covered by then,
/// the report says so. All runs give one report, with each race once, by its id. Traces of later runs are
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
    /// Maximum number of runs: the first with --policy and --seed, later ones chosen, or alternating among random, pos
    /// and pct with further seeds.
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
    let mut shown = Shown {
        analysis: &args.analysis,
        filters: &filters,
        reports: &args.reports,
        live: (!args.no_live).then(|| Live {
            input,
            attempts: args.attempts,
            companions: args.record.companions(),
        }),
        processes: vec![Merged::new(None, &filters, args.reports.clone())],
        code: ExitCode::Nothing,
        wrong: Vec::new(),
    };
    input.rewind();
    // It holds the name that the traces of the others are called after.
    let first = record::record(&args.record)?;
    shown.add_recorded(1, &first)?;
    let mut made = 1;
    let mut all_schedules = None;
    let guided = Guided::new(
        &record::options(&args.record)?,
        &first,
        args.runs,
        args.analysis.options().find,
    );
    if let Some(guided) = guided.filter(|_| !shown.is_settled()) {
        let near = shown.processes[0].near().clone();
        let guidance = guided.explore(&|place| near.contains(&place), false, &mut |made| {
            shown.add(made)?;
            Ok(if shown.is_settled() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        });
        match guidance {
            Ok(guidance) => {
                made = guidance.runs();
                let witnessed = shown.processes[0].witnessed();
                all_schedules = guidance.all_schedules(|race| witnessed.contains(&race))?;
            }
            // What the runs before showed is not lost.
            Err(error) => say!("witness: no run can be chosen: {error:#}"),
        }
    }
    for run in made + 1..=args.runs {
        if asked_to_end() || shown.is_settled() || all_schedules.is_some() {
            break;
        }
        made = run;
        input.rewind();
        let recorded = match record::record_again(&args.record, &first.summary.path, run) {
            Ok(recorded) => recorded,
            Err(error) => {
                say!("witness: run {run} failed and is the last: {error:#}");
                break;
            }
        };
        if let Err(error) = shown.add_recorded(run, &recorded) {
            say!("witness: run {run} is ignored: {error:#}");
        }
    }
    if asked_to_end() {
        say!("witness: interrupted: run {made} is the last");
    }
    if let Some(words) = shown.processes[0].left_open() {
        say!("witness: {words}");
    }
    let mut code = shown.code;
    for process in shown.processes {
        let (reports, analysis) = match process.number() {
            None => (args.reports.clone(), args.analysis.clone()),
            Some(number) => {
                say!("witness: process {number}: {}", process.first().display());
                (args.reports.of_process(number), args.analysis.of_process(number))
            }
        };
        let all = all_schedules.as_ref();
        code = code.or_worse(process.report_of_all(&reports, &analysis, shown.live.is_some(), all, color)?);
    }
    Ok(code)
}

/// What the runs have shown so far.
struct Shown<'a> {
    analysis: &'a AnalysisArgs,
    filters: &'a Filters,
    reports: &'a ReportArgs,
    live: Option<Live>,
    /// The traces of each process of the program.
    processes: Vec<Merged<'a>>,
    code: ExitCode,
    /// In which ways the program has ended.
    wrong: Vec<ExitCode>,
}

impl Shown<'_> {
    fn is_settled(&self) -> bool {
        self.processes
            .iter()
            .all(|process| process.is_settled(self.live.is_some()))
    }

    /// Notes how a run ended; whether its trace stays in any case: the first one, and each that is the first to show
    /// that the program goes wrong.
    fn end(&mut self, run: u32, ended: ExitCode) -> bool {
        self.code = self.code.or_worse(ended);
        let keep = run == 1 || (ended != ExitCode::Nothing && !self.wrong.contains(&ended));
        self.wrong.push(ended);
        keep
    }

    /// Adds the traces of a recording.
    fn add_recorded(&mut self, run: u32, recorded: &Recorded) -> anyhow::Result<()> {
        let keep = self.end(run, program_end::code(recorded));
        if let Some(how) = program_end::failure(recorded).filter(|_| recorded.stopped.is_none() && !recorded.deadlock) {
            say!("witness: the program {how}: the report covers the run up to there");
        }
        // Who was asked to end tells what is known, and runs nothing any more.
        let live = self.live.as_ref().filter(|_| !asked_to_end());
        let analysis = self.analysis.of_run(run);
        self.processes[0].add(&recorded.summary.path, &analysis, live, keep)?;
        for process in &recorded.processes {
            let (number, path) = (&process.number, &process.summary.path);
            let known = self.processes.iter().position(|one| one.number() == Some(number));
            let row = known.unwrap_or_else(|| {
                self.processes.push(Merged::new(
                    Some(number.clone()),
                    self.filters,
                    self.reports.of_process(number),
                ));
                self.processes.len() - 1
            });
            let keep = keep || self.processes[row].is_empty();
            self.processes[row].add(path, &analysis.of_process(number), live, keep)?;
        }
        Ok(())
    }

    /// Adds the trace of a run that was chosen.
    fn add(&mut self, made: &Made<'_>) -> anyhow::Result<()> {
        let keep = self.end(made.run, made.code) || made.shows_end;
        let Made {
            run,
            path,
            threads,
            events,
            ..
        } = made;
        say!(
            "witness: run {run} (chosen): {threads} threads, {events} events: {}",
            path.display()
        );
        if let Some(how) = &made.failure {
            say!(
                "witness: run {run}: the program {how}; in that run time passed only where threads slept or waited for it, so a check of elapsed time may fail by that alone"
            );
        }
        record::say_standstill(path, "");
        if made.is_unsearched && !keep && !self.processes[0].is_worthwhile(path)? {
            return Ok(());
        }
        let live = self.live.as_ref().filter(|_| !asked_to_end());
        let (race, analysis) = (&mut self.processes[0], self.analysis.of_run(made.run));
        match made.is_unsearched {
            true => race.add_proofs(made.path, &analysis, live, keep),
            false => race.add(made.path, &analysis, live, keep),
        }
    }
}
