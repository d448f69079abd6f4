//! `witness check`: runs the independent checker alone.
//!
//! It reads the file itself: nothing of the analysis' model comes between the two.

use super::ExitCode;
use super::input::InputArgs;
use super::output::{print, say};
use checker::{Checker, Events};
use std::io::Write;
use trace_format::Ending;
use witness::report::value as value_in_words;
use witness::schedule::Goal;
use witness::store::read_schedule;

/// Check a schedule against its trace, or the trace itself.
///
/// With schedules: executes each from the start of the trace, and accepts it if both accesses are then next in their
/// threads, enabled and in conflict. Without: executes the trace itself, and says whether it is a sequentially
/// consistent execution; if not, which event is the first impossible one, and why.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  witness check trace.bin
  witness check trace.bin trace.bin.witnesses/1.sched

Exit status: 0 accepted, 1 not accepted, 2 a file that cannot be read.")]
pub struct CheckArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Schedules of the trace.
    #[arg(value_name = "SCHEDULE")]
    schedules: Vec<std::path::PathBuf>,
}

pub fn run(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let file = args.input.file()?;
    if let Ending::Cut { events, cause, .. } = file.ending() {
        let path = args.input.trace.display();
        say!("witness: {path} is cut: {cause}; it has only the first {events} events");
    }
    if args.schedules.is_empty() {
        args.input.must_fit(&file)?;
        return check_trace(args, file.len(), &Checker::new(&Events::of_file(&file)?));
    }
    let schedules = args.schedules.iter().map(|path| read_schedule(path));
    let schedules = schedules.collect::<Result<Vec<_>, _>>()?;
    let named: Vec<_> = args.schedules.iter().zip(&schedules).collect();
    let mut code = ExitCode::Nothing;
    for same in named.chunk_by(|(_, one), (_, next)| one.first_events == next.first_events) {
        let first_events = same[0].1.first_events;
        args.input.must_fit_up_to(&file, first_events.map(u64::from))?;
        let events = Events::of_beginning(&file, first_events)?;
        let checker = Checker::new(&events);
        for (path, schedule) in same {
            let verdict = match checker.check(schedule) {
                Ok(accepted) => format!(
                    "accepted: after {} events in {} slices, {}",
                    accepted.events,
                    schedule.slices.len(),
                    shown(&accepted.goal)
                ),
                Err(rejection) => {
                    code = ExitCode::NotAccepted;
                    format!("rejected: {rejection}")
                }
            };
            print(|out| Ok(writeln!(out, "{}: {verdict}", path.display())?))?;
        }
    }
    Ok(code)
}

/// What a schedule ends in.
fn shown(goal: &Goal) -> String {
    match goal {
        Goal::Race(a, b) => format!("events {} and {} are both next, enabled and in conflict", a.0, b.0),
        Goal::OtherValue { read, value } => {
            let value = value.map_or_else(|| "a value that the trace does not tell".to_owned(), value_in_words);
            format!(
                "event {} is next, and would see {value}, not what it saw in the trace",
                read.0
            )
        }
        Goal::Deadlock(waiting) => {
            let events: Vec<String> = waiting.iter().map(|event| event.0.to_string()).collect();
            format!("events {} are next, and wait for ever", events.join(", "))
        }
        Goal::PartialDeadlock(waiting) => {
            let events: Vec<String> = waiting.iter().map(|event| event.0.to_string()).collect();
            format!(
                "events {} are next, and wait for what nobody else does in the trace",
                events.join(", ")
            )
        }
        Goal::Order { awaited, early } => {
            let awaited: Vec<String> = awaited.iter().map(|event| event.0.to_string()).collect();
            format!(
                "event {} is next, and of {} none has happened",
                early.0,
                awaited.join(", ")
            )
        }
        Goal::StalePointer { free, read, value } => format!(
            "event {} is next, and would see {}, an address in the block that event {} has freed",
            read.0,
            value_in_words(*value),
            free.0
        ),
        Goal::UseAfterFree { free, access } => format!(
            "event {} is next, and accesses what event {} has freed",
            access.0, free.0
        ),
        Goal::AtomicityViolation {
            first,
            between,
            second,
            both_next,
        } => {
            let also = if *both_next { " is next as well" } else { " has come" };
            format!(
                "event {} is next, and event {}{also} between event {} and it",
                second.0, between.0, first.0
            )
        }
        Goal::TornPair {
            first,
            writes,
            second,
            unfinished,
        } => {
            let also = if *unfinished {
                "but not the other one"
            } else {
                "the former behind it"
            };
            let (one, other) = (writes[0].0, writes[1].0);
            format!(
                "event {} is next, event {} has happened, and of events {one} and {other} {} has, {also}",
                second.0,
                first.0,
                if *unfinished { "the earlier one" } else { "each" }
            )
        }
        Goal::UnorderedRace(a, b) => format!(
            "event {} is next and in conflict with event {}, which does not happen before it",
            b.0, a.0
        ),
    }
}

fn check_trace(args: &CheckArgs, events: u64, checker: &Checker<'_>) -> anyhow::Result<ExitCode> {
    let (verdict, code) = match checker.validate() {
        Ok(valid) => {
            let mut verdict = format!("a sequentially consistent execution of {events} events");
            if valid.pinned_reads > 0 {
                let pinned = valid.pinned_reads;
                verdict += &format!("; {pinned} reads are pinned, since unrecorded code changes what they see");
                if let Some(first) = valid.first_unexplained {
                    verdict += &format!(" (first seen at event {})", first.0);
                }
            }
            (verdict, ExitCode::Nothing)
        }
        Err(violation) => (
            format!("not a sequentially consistent execution: {violation}"),
            ExitCode::NotAccepted,
        ),
    };
    print(|out| Ok(writeln!(out, "{}: {verdict}", args.input.trace.display())?))?;
    Ok(code)
}
