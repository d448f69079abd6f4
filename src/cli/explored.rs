//! What an exploration has found, in words: deadlocks, failures and hangs with what the traces say of them, races
//! without a proof, and why it is not exhausted.

use super::ExitCode;
use super::output::say;
use anyhow::Context;
use hashbrown::HashSet;
use safe_files::Readers;
use trace_format::TraceFile;
use witness::explore::{End, Exploration, Found, Goal, Program, What, classes};
use witness::own;
use witness::replay::live::stretches;
use witness::report::Words;
use witness::results::{ExplorationResult, FoundResult, UNPROVEN_RACE};
use witness::session::asked_to_end;
use witness::standstill::Standstill;
use witness::symbols::Symbols;
use witness::trace::{EventId, Trace};
use witness::verdict::{Find, Kind};

/// States that are met at most to count classes of executions: that takes a second at most.
const STATES_FOR_CLASSES: usize = 200_000;

/// Reasons that are listed.
const LISTED: usize = 20;

/// What was found besides races.
pub struct Ends {
    /// Each once.
    pub found: Vec<FoundResult>,
    /// The status that it gives.
    pub code: ExitCode,
    /// Of each, the run that shows it, and how that ended.
    shown_by: Vec<Option<(usize, End)>>,
}

impl Ends {
    /// Of an exploration.
    pub fn of(explored: &Exploration, program: &Program) -> anyhow::Result<Ends> {
        let mut ends = Ends {
            found: Vec::new(),
            code: ExitCode::Nothing,
            shown_by: Vec::new(),
        };
        let mut told = HashSet::new();
        for Found { what, run, .. } in &explored.found {
            let (kind, title, code) = match what {
                What::Goal(Goal::Deadlock { .. }) | What::Ended(End::Deadlock) => {
                    ("deadlock", "deadlock".to_owned(), ExitCode::Deadlock)
                }
                What::Goal(Goal::PartialDeadlock { .. }) => {
                    ("deadlock", "partial deadlock".to_owned(), ExitCode::Deadlock)
                }
                What::Ended(End::Failure(how)) => ("failure", format!("the program {how}"), ExitCode::Failed),
                What::Ended(End::TimedOut) => (
                    "hang",
                    "the program was still running at its time limit (--timeout)".to_owned(),
                    ExitCode::TimedOut,
                ),
                What::Ended(End::Limit) => (
                    "hang",
                    "the program was still waiting in a loop when it had made all its events (--max-events)".to_owned(),
                    ExitCode::TimedOut,
                ),
                What::Ended(End::Success)
                | What::Goal(Goal::Race(..) | Goal::Unordered(..))
                | What::UseAfterFree(_) => continue,
            };
            let (details, trace) = match *run {
                Some(run) => {
                    let path = program.trace_of(run);
                    let standstill = Standstill::of(&TraceFile::open(&path)?)?;
                    if *what == What::Ended(End::Limit)
                        && (standstill.spins.is_empty() || !standstill.is_of_all(&TraceFile::open(&path)?)?)
                    {
                        // It did much, which is no failure, or a thread was there that may have ended the others'
                        // loops.
                        continue;
                    }
                    let details = standstill.facts();
                    if code == ExitCode::Deadlock && !details.iter().any(|fact| fact.ends_with(FOREVER)) {
                        // The run made for it did otherwise.
                        say!("witness: run {} was to show a deadlock, and ended otherwise", run + 1);
                        ends.code = ends.code.or_worse(ExitCode::OnlyUnknowns);
                        continue;
                    }
                    (details, Some(path))
                }
                None => (vec!["no run was left to show it".to_owned()], None),
            };
            ends.code = ends.code.or_worse(code);
            // One is told once, by the first run that shows it, whatever else differs between the states in which it
            // ends; in which order the threads came to wait is no other deadlock.
            let mut facts = details.clone();
            facts.sort_unstable();
            if told.insert((title.clone(), facts)) {
                let end = match what {
                    What::Ended(end) => end.clone(),
                    // How the run ended says nothing of those that waited then.
                    What::Goal(Goal::PartialDeadlock { .. }) => End::Success,
                    What::Goal(_) | What::UseAfterFree(_) => End::Deadlock,
                };
                ends.shown_by.push(run.map(|run| (run, end)));
                ends.found.push(FoundResult {
                    kind: kind.to_owned(),
                    title,
                    details,
                    replay: trace.as_deref().map(witness::report::run_again),
                    trace: trace.map(|trace| trace.display().to_string()),
                    shortened: None,
                });
            }
        }
        Ok(ends)
    }
}

impl Ends {
    /// What was found, a line each.
    pub fn lines(&self) -> Vec<String> {
        let line = |found: &FoundResult| {
            let by = found
                .trace
                .as_ref()
                .map_or(String::new(), |trace| format!(", shown by {trace}"));
            format!("FOUND: {}{by}", found.title)
        };
        self.found.iter().map(line).collect()
    }
}

/// Runs to shorten one at most; of what hangs, each of which takes its whole time.
const RUNS: usize = 300;
const RUNS_IN_TIME: usize = 20;

/// Stretches of the shortest run that are listed.
const STRETCHES: usize = 20;

impl Ends {
    /// Looks for the shortest run that shows each, and keeps its trace beside the other: `7.short.bin` beside `7.bin`.
    pub fn shorten(&mut self, program: &Program) -> anyhow::Result<()> {
        for (found, shown_by) in self.found.iter_mut().zip(&self.shown_by) {
            // What the threads wait for in whom another one leaves behind, the end of a run does not say.
            let is_end = |(_, end): &&(usize, End)| *end != End::Success;
            let Some((run, end)) = shown_by.as_ref().filter(is_end).filter(|_| !asked_to_end()) else {
                continue;
            };
            let path = program.trace_of(*run);
            say!("witness: looks for the shortest run in which {}", found.title);
            let before = stretches(&Trace::open(&path)?).len().saturating_sub(1);
            let runs = if *end == End::TimedOut { RUNS_IN_TIME } else { RUNS };
            let shortest = program.shorten(*run, end, runs)?;
            let all = stretches(&shortest.trace);
            let Some(bytes) = shortest.bytes else {
                found.details.push(format!(
                    "no run with fewer than {before} context switches shows it ({} runs)",
                    shortest.runs
                ));
                continue;
            };
            let short = path.with_extension("short.bin");
            safe_files::write(&short, &bytes, Readers::Owner)
                .with_context(|| format!("cannot write {}", short.display()))?;
            own::remember(&short);
            found.details.push(format!(
                "shortened to {} context switches instead of {before}, in {}: by thread, and up to what",
                all.len().saturating_sub(1),
                short.display()
            ));
            let symbols = Symbols::new(shortest.trace.tables());
            let words = Words {
                trace: &shortest.trace,
                symbols: &symbols,
            };
            let told = all.iter().take(STRETCHES);
            let told = told.map(|one| {
                let last = EventId((one.events.end - 1) as u32);
                format!("  {:>6} events: {}", one.events.len(), words.sentence(last))
            });
            found.details.extend(told);
            if let more @ 1.. = all.len().saturating_sub(STRETCHES) {
                found.details.push(format!("  … and {more} more context switches"));
            }
            found.replay = Some(witness::report::run_again(&short));
            found.shortened = Some(short.display().to_string());
        }
        Ok(())
    }
}

/// How a wait ends in words that nobody can end.
const FOREVER: &str = ", forever";

/// The code positions of a pair, the lower one first.
pub type Positions = (u64, u64);

/// The races that the search has found, each with the run that was made to show it.
pub fn races(explored: &Exploration) -> impl Iterator<Item = (Positions, Option<usize>)> {
    explored.found.iter().filter_map(|found| match found.what {
        What::Goal(Goal::Race(a, b)) => Some(((a.position, b.position), found.run)),
        _ => None,
    })
}

/// The races that the search has found and no trace proves.
pub fn unproven(
    explored: &Exploration,
    program: &Program,
    find: Find,
    is_proved: impl Fn(Positions) -> bool,
) -> anyhow::Result<Vec<FoundResult>> {
    let races: Vec<_> = races(explored).filter(|&(race, _)| !is_proved(race)).collect();
    if races.is_empty() || !find.has(Kind::Races) {
        return Ok(Vec::new());
    }
    let first = TraceFile::open(&program.trace_of(0))?;
    let symbols = Symbols::new(first.tables());
    let results = races.into_iter().map(|((a, b), run)| FoundResult {
        kind: UNPROVEN_RACE.to_owned(),
        title: format!(
            "a race of {} and {} is feasible, but not proved",
            symbols.place(a),
            symbols.place(b)
        ),
        details: vec![match run {
            Some(run) => format!("the analysis of run {} does not prove it", run + 1),
            None => "no run was left to show it".to_owned(),
        }],
        trace: None,
        replay: None,
        shortened: None,
    });
    Ok(results.collect())
}

/// All that can be said of all schedules.
pub fn result(
    explored: &Exploration,
    program: &Program,
    find: Find,
    found: Vec<FoundResult>,
) -> anyhow::Result<ExplorationResult> {
    Ok(ExplorationResult {
        exhausted: explored.is_exhausted(),
        runs: explored.runs,
        branches: explored.forest.branches(),
        open: explored.open,
        states: explored.states,
        classes: (explored.is_exhausted())
            .then(|| classes(&explored.forest, STATES_FOR_CLASSES))
            .flatten(),
        assumed: explored.assumed.iter().map(ToString::to_string).collect(),
        races: races(explored).count(),
        find,
        not_exhausted: not_exhausted(explored, program)?,
        found,
    })
}

/// Why it is not exhausted, with places in the source.
fn not_exhausted(explored: &Exploration, program: &Program) -> anyhow::Result<Vec<String>> {
    if explored.is_exhausted() {
        return Ok(Vec::new());
    }
    let first = TraceFile::open(&program.trace_of(0))?;
    let symbols = Symbols::new(first.tables());
    let place = |position| symbols.place(position);
    let mut reasons: Vec<String> = Vec::new();
    let ended = |end: &End| {
        explored
            .found
            .iter()
            .any(|found| found.what == What::Ended(end.clone()))
    };
    if ended(&End::Limit) {
        reasons.push("a run was ended before the program was, by --max-events or a signal".to_owned());
    }
    if ended(&End::TimedOut) {
        reasons.push("a run was ended before the program was, by --timeout".to_owned());
    }
    for reason in &explored.not_exhausted {
        let words = reason.words(&place);
        // Several instructions of one line.
        if !reasons.contains(&words) {
            reasons.push(words);
        }
    }
    if let more @ 1.. = reasons.len().saturating_sub(LISTED) {
        reasons.truncate(LISTED);
        reasons.push(format!("… and {more} more of these reasons"));
    }
    Ok(reasons)
}
