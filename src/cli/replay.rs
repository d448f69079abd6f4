//! `witness replay`: shows witnesses step by step, and checks them once more.

use super::ExitCode;
use super::analyze::{AnalysisArgs, verdict_code, warn_if_cut};
use super::input::InputArgs;
use super::live::{self, LiveArgs};
use super::output::{Color, print, say};
use anyhow::{Context, bail, ensure};
use std::io::Write;
use std::path::PathBuf;
use witness::check::Checker;
use witness::own;
use witness::replay::Replay;
use witness::report::{Detail, Filters, Interleaving, NO_ROOT, Paint, SourceRoot, SourceText, Words, name_of};
use witness::schedule::{Goal, Schedule};
use witness::store::{self, Binding, Found, read_schedule};
use witness::symbols::Symbols;
use witness::trace::{EventId, Trace};
use witness::verdict::{Analysis, Verdict};

/// Show the witnesses of a trace step by step, and check each once more.
///
/// Executes each schedule from the start of the trace: what each thread does, which values it reads and writes, which
/// locks it takes, up to the two accesses that are then both next. Uses the results stored beside the trace; without
/// any, it first analyzes the trace.
///
/// With --live, the program itself runs again, with the command line, the directory and the
/// environment of the recorded run, and is forced along the schedule until both accesses are
/// pending at once. Each event on the way is compared with the recorded one. With --as-recorded as
/// well, the recorded run itself is forced again, to its end: a run that failed fails again.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  witness replay trace.bin
  witness replay trace.bin --witness 2 --full
  witness replay trace.bin --schedule trace.bin.witnesses/1.sched
  witness replay trace.bin --live
  witness replay trace.bin --live --witness 1 --first b
  witness replay trace.bin --live --witness 1 --gdb
  witness replay trace.bin --live -- ./app --threads 4
  witness replay trace.bin --live --as-recorded
  witness replay runs/7.bin --live --as-recorded --shorten

Exit status: 66 if a witness of a race was shown; else as `witness analyze`. With --live: 66 if every
witness was confirmed, 4 if a run diverged, 5 if a run did not come to the race, 2 if the program
is not there or is another build. With --live --as-recorded: 0 if the run was reproduced, 4 if the
program did something else, 5 if it ended before it had done everything.")]
pub struct ReplayArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Show only this witness; witnesses are numbered from 1.
    #[arg(long, env = "WITNESS_WITNESS", value_name = "N")]
    witness: Option<usize>,
    /// Show this schedule of the trace instead of the witnesses; repeat for several.
    #[arg(long, env = "WITNESS_SCHEDULE", value_name = "FILE", conflicts_with_all = ["witness", "live"])]
    schedule: Vec<PathBuf>,
    /// Show every event, also those that have nothing to do with the race.
    #[arg(long, env = "WITNESS_FULL")]
    full: bool,
    /// Show sources below this folder, though the trace was not recorded here.
    #[arg(long, env = "WITNESS_SOURCE_ROOT", value_name = "DIR")]
    source_root: Option<PathBuf>,
    /// Run the program again, forced along the schedule.
    #[arg(long, env = "WITNESS_LIVE")]
    live: bool,
    #[command(flatten)]
    how: LiveArgs,
    #[command(flatten)]
    analysis: AnalysisArgs,
}

pub fn run(args: &ReplayArgs, color: Color) -> anyhow::Result<ExitCode> {
    let watch = args.analysis.watch(&args.input.trace, "reading", None);
    let file = args.input.file()?;
    let folder = args.analysis.folder(&args.input.trace);
    let found = match args.schedule.is_empty() && !args.how.is_as_recorded() {
        true => store::load(&folder, file.id(), &Binding::of(&args.input.trace))?,
        false => Found::Nothing,
    };
    let read = |path: &PathBuf| Ok((format!("schedule {}", path.display()), read_schedule(path)?));
    let given = args.schedule.iter().map(read).collect::<anyhow::Result<Vec<_>>>()?;
    let first_events = match &found {
        Found::Stored(stored) => stored.results.options.first_events,
        _ if !given.is_empty() => beginning_of(&given)?,
        _ if !args.how.is_as_recorded() => args.analysis.options().beginning.of(file.len()),
        _ => None,
    };
    let trace = args.input.beginning(&file, first_events)?;
    drop(file);
    if !given.is_empty() {
        watch.reports();
        warn_if_cut(&args.input.trace, &trace);
        show(args, &trace, &given, color)?;
        let is_race = |(_, schedule): &(_, Schedule)| !matches!(schedule.goal, Goal::OtherValue { .. });
        return Ok(match given.iter().any(is_race) {
            true => ExitCode::Witnessed,
            false => ExitCode::Nothing,
        });
    }
    if args.how.is_as_recorded() {
        drop(watch);
        warn_if_cut(&args.input.trace, &trace);
        return live::again(&args.input.trace, trace, &args.how, color);
    }
    let (schedules, code) = match found {
        Found::Stored(stored) => {
            warn_if_cut(&args.input.trace, &trace);
            // Also what an analysis did not show is shown here.
            let code = match &stored.schedules[..] {
                [] => verdict_code(stored.results.summary, trace.cut().is_some()),
                _ => ExitCode::Witnessed,
            };
            (stored.schedules, code)
        }
        found => {
            if matches!(found, Found::OfOthers) {
                say!(
                    "witness: {}: the results there were not stored here by you, or not to their end{}; the trace is analyzed again",
                    folder.display(),
                    own::hint()
                );
            }
            let (analysis, code) =
                args.analysis
                    .run(&args.input.trace, &trace, &Filters::default(), &NO_ROOT, &watch, |_| {
                        Ok(())
                    })?;
            (schedules_of(analysis), code)
        }
    };
    let shown: Vec<(usize, &Schedule)> = match args.witness {
        None => (1..).zip(&schedules).collect(),
        Some(number) => match number.checked_sub(1).and_then(|index| schedules.get(index)) {
            Some(schedule) => vec![(number, schedule)],
            None if schedules.is_empty() => bail!("there is no witness {number}: no race was witnessed"),
            None => bail!(
                "there is no witness {number}: witnesses are numbered from 1 to {}",
                schedules.len()
            ),
        },
    };
    if args.live && !shown.is_empty() {
        // How long the program runs is not the analysis's.
        drop(watch);
        return live::confirm(&args.input.trace, &trace, &shown, &args.how, color);
    }
    watch.reports();
    let named = |(number, schedule): (usize, &Schedule)| (format!("witness {number}"), schedule.clone());
    let shown: Vec<(String, Schedule)> = shown.into_iter().map(named).collect();
    show(args, &trace, &shown, color)?;
    Ok(code)
}

impl ReplayArgs {
    fn root(&self) -> SourceRoot {
        SourceRoot {
            folder: self.source_root.clone().unwrap_or_default(),
            is_named: self.source_root.is_some(),
        }
    }
}

/// How many events of the trace the schedules are of.
fn beginning_of(schedules: &[(String, Schedule)]) -> anyhow::Result<Option<u64>> {
    let first = schedules[0].1.first_events;
    ensure!(
        schedules.iter().all(|(_, schedule)| schedule.first_events == first),
        "these schedules are of different beginnings of the trace (their line `first-events`): replay one at a time"
    );
    Ok(first.map(u64::from))
}

fn schedules_of(analysis: Analysis) -> Vec<Schedule> {
    let races = analysis.pairs.into_iter().map(|pair| pair.verdict);
    let deadlocks = analysis.deadlocks.into_iter().map(|deadlock| deadlock.verdict);
    let verdicts = races.chain(deadlocks);
    verdicts
        .filter_map(|verdict| match verdict {
            Verdict::Witnessed(schedule) => Some(schedule),
            _ => None,
        })
        .collect()
}

fn show(args: &ReplayArgs, trace: &Trace, shown: &[(String, Schedule)], color: Color) -> anyhow::Result<()> {
    let symbols = Symbols::new(trace.tables());
    let words = Words {
        trace,
        symbols: &symbols,
    };
    let sources = SourceText::of([args.input.trace.as_path()], &args.root());
    let paint = Paint { on: color.for_stdout() };
    let interleaving = Interleaving {
        words,
        sources: &sources,
        paint,
        detail: if args.full { Detail::Full } else { Detail::Essential },
    };
    let checker = Checker::new(trace);
    print(|out| {
        if shown.is_empty() {
            writeln!(
                out,
                "witness: no race in {} was witnessed, so there is nothing to replay",
                args.input.trace.display()
            )?;
        }
        for (name, schedule) in shown {
            let replay = Replay::of(&checker, schedule).with_context(|| format!("the checker rejects {name}"))?;
            let access = |event: EventId| {
                let access = trace.access(event).map(|access| words.access_noun(access).to_owned());
                let all = || schedule.goal.events().collect::<Vec<_>>();
                let kind = access.unwrap_or_else(|| words.wait(event, &all()));
                let frame = symbols.frame(trace.pc(event));
                let function = frame
                    .function
                    .as_ref()
                    .map_or_else(String::new, |name| format!(" ({name})"));
                format!(
                    "{kind} at {}{function} in {}",
                    frame.place(),
                    words.thread(trace.thread(event))
                )
            };
            let what = match &schedule.goal {
                Goal::Race(..) | Goal::UnorderedRace(..) => "data race",
                Goal::OtherValue { .. } => "another value",
                goal @ (Goal::Deadlock(_)
                | Goal::PartialDeadlock(_)
                | Goal::UseAfterFree { .. }
                | Goal::StalePointer { .. }
                | Goal::AtomicityViolation { .. }
                | Goal::TornPair { .. }
                | Goal::Order { .. }) => name_of(goal),
            };
            let (first, rest) = name.split_at(1);
            let title = format!("{}{rest}: {what}", first.to_uppercase());
            writeln!(out, "{}", paint.warning(title))?;
            for event in schedule.goal.events() {
                writeln!(out, "  {}", access(event))?;
            }
            writeln!(out)?;
            interleaving.write(&replay, "  ", out)?;
            writeln!(
                out,
                "\n  checked: {} events in {} slices, then {}\n",
                replay.accepted.events,
                schedule.slices.len(),
                match schedule.goal {
                    Goal::OtherValue { .. } => "the read is next, and would see another value than in the trace",
                    Goal::Race(..) => "both accesses are next, enabled and in conflict",
                    Goal::Deadlock(ref waiting) if words.stands_still(waiting) => {
                        "each of these threads waits, and no other thread is left"
                    }
                    Goal::Deadlock(_) => "each of these threads waits for another one of them, for ever",
                    Goal::PartialDeadlock(_) => "each of these threads waits, and nobody else ends that in the trace",
                    Goal::Order { .. } => "the access is next, and what has to come before it has not happened",
                    Goal::UseAfterFree { .. } => "the block is freed, and the access of it is next",
                    Goal::StalePointer { .. } => "the block is freed, and a read that would see its address is next",
                    Goal::AtomicityViolation { both_next: true, .. } => {
                        "the first access has happened, and the other thread's and the second are next"
                    }
                    Goal::AtomicityViolation { .. } => {
                        "the other thread's access has come behind the first, and the second is next"
                    }
                    Goal::TornPair { .. } => {
                        "the second read is next, and exactly one of the two reads sees what the other thread writes"
                    }
                    Goal::UnorderedRace(..) => "the second access is next, and the first does not happen before it",
                }
            )?;
        }
        Ok(())
    })
}
