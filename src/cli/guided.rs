//! Further runs of a program that was recorded once, each along a schedule that shows something no run has shown, as
//! `witness explore` makes them: for `witness run` and `witness confirm --run`.
//!
//! Where no run can be chosen (a program that starts others, one with commands around its runs), the caller goes on
//! under one policy and seed after another.

use super::ExitCode;
use super::explored::{Ends, Positions, result, unproven};
use super::program_end;
use super::runs;
use super::watched::Watched;
use std::cell::Cell;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;
use trace_format::{Ending, ProgramEnd, TraceFile};
use witness::explore::{End, Exploration, Learnt, Limits, Options, Program, What, at_places_first, explore};
use witness::record::{self, Recorded};
use witness::results::ExplorationResult;
use witness::session::Bounds;
use witness::session::{EndsWhenAsked, Launch, StandardInput, asked_to_end, failure_of};
use witness::verdict::Find;

/// Runs of more events are not searched: that takes longer than the runs.
const MAX_EVENTS: u64 = 20_000;

/// States of each exact search.
const STATES: usize = 200_000;

/// How much longer than the first run one may be.
const LONGER: u64 = 2;
const EVENTS_MORE: u64 = 10_000;
const TIME_MORE: Duration = Duration::from_secs(10);

/// A program that was recorded once.
pub struct Guided {
    program: Program,
    runs: u32,
    /// What the user allows a run, if that is so.
    timeout: Option<Duration>,
    find: Find,
}

/// A run that was made.
pub struct Made<'a> {
    /// Its number, from 1 for the first recording.
    pub run: u32,
    pub path: &'a Path,
    pub threads: usize,
    pub events: u64,
    /// What it means for the exit status.
    pub code: ExitCode,
    /// That the program failed, after *the program*, if it did.
    pub failure: Option<String>,
    /// Whether it is the first to end so.
    pub shows_end: bool,
    /// Whether it is too long to be searched: then a look tells whether it is worth its analysis.
    pub is_unsearched: bool,
}

/// What exploration came to.
pub struct Guidance {
    program: Program,
    explored: Exploration,
    find: Find,
}

/// How a program's further runs are made.
struct Terms {
    launch: Launch,
    bounds: Bounds,
}

impl Terms {
    /// Those of a first recording; `None` if no run can be chosen.
    fn of(options: &record::Options, first: &Recorded, runs: u32) -> Option<Terms> {
        let companions = &options.companions;
        let alone = companions.setup.is_none() && companions.with.is_none() && first.processes.is_empty();
        let is_whole = first.stopped.is_none() && first.failures.is_empty() && !asked_to_end();
        if !alone || !is_whole || runs < 2 || first.summary.threads < 2 {
            return None;
        }
        let most = LONGER * first.summary.events + EVENTS_MORE;
        Some(Terms {
            launch: Launch {
                input: StandardInput::here(),
                ..Launch::here(options.program.clone(), options.arguments.clone())
            },
            bounds: Bounds {
                timeout: options.timeout.or(Some(LONGER as u32 * first.elapsed + TIME_MORE)),
                max_events: Some(options.max_events.unwrap_or(most).min(most)),
                patience: None,
                usual: Some(first.elapsed),
            },
        })
    }
}

impl<'a> Made<'a> {
    fn of(run: u32, path: &'a Path, timeout: Option<Duration>, learnt: &Learnt) -> anyhow::Result<Made<'a>> {
        let file = TraceFile::open(path)?;
        let end = match file.ending() {
            Ending::Complete { program } => *program,
            Ending::Cut { .. } => ProgramEnd::Unknown,
        };
        let code = match end {
            // Its own limit is none of the user's, and whom its prefix keeps waiting does not hang.
            ProgramEnd::TimeLimit if timeout.is_none() || !learnt.shows.contains(&What::Ended(End::TimedOut)) => {
                ExitCode::Nothing
            }
            end => program_end::code_of(end, path),
        };
        Ok(Made {
            run,
            path,
            threads: file.tables().threads.len(),
            events: file.len(),
            code,
            is_unsearched: false,
            failure: failure_of(end),
            shows_end: !learnt.shows.iter().all(What::is_for_analysis),
        })
    }
}

impl Guided {
    /// Of a first recording, for what is looked for; `None` if exploration cannot serve.
    pub fn new(options: &record::Options, first: &Recorded, runs: u32, find: Find) -> Option<Guided> {
        let terms = Terms::of(options, first, runs)?;
        let program = Program::new(&terms.launch, terms.bounds, Path::new(""), options.seed).ok()?;
        // If the first one is searched, those that are longer by as much as they may be are, too.
        let searched = if first.summary.events > MAX_EVENTS {
            MAX_EVENTS
        } else {
            u64::MAX
        };
        Some(Guided {
            program: program
                .after(first.summary.path.clone(), runs::trace_of, runs::policy_of)
                .searched_below(searched),
            runs,
            timeout: options.timeout,
            find,
        })
    }

    /// Makes runs, and gives each to `made`, until that breaks, all are made, or nothing is left to try. Branches at
    /// places that are `near` come first; if it `only` looks for what is there, also before those that fail most often.
    pub fn explore(
        self,
        near: &dyn Fn(u64) -> bool,
        only: bool,
        made: &mut dyn FnMut(&Made<'_>) -> anyhow::Result<ControlFlow<()>>,
    ) -> anyhow::Result<Guidance> {
        let _ends = EndsWhenAsked::new()?;
        let order = at_places_first(near);
        let options = Options {
            limits: Limits {
                states: STATES,
                stop: Some(asked_to_end),
                ..Limits::default()
            },
            runs: self.runs as usize,
            order: &order,
            show_goals: true,
            failures_first: true,
            find: self.find,
            prefers: only.then_some(near),
            ..Options::default()
        };
        let is_over = Cell::new(false);
        let mut program = self.program;
        let mut look = |program: &Program, run: usize, learnt: &Learnt| {
            let path = program.trace_of(run);
            let run = Made {
                is_unsearched: program.is_unsearched(),
                ..Made::of(run as u32 + 1, &path, self.timeout, learnt)?
            };
            if made(&run)?.is_break() {
                is_over.set(true);
            }
            Ok(())
        };
        let mut watched = Watched::new(&mut program, &mut look);
        let explored = explore(&mut watched, &options, &mut |_| {
            if is_over.get() || asked_to_end() {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        Ok(Guidance {
            program,
            explored,
            find: self.find,
        })
    }
}

impl Guidance {
    /// How many runs there were, the first one included.
    pub fn runs(&self) -> u32 {
        self.explored.runs as u32
    }

    /// What can be said of all schedules, if all were covered; `is_proved` says which races a trace proves.
    pub fn all_schedules(&self, is_proved: impl Fn(Positions) -> bool) -> anyhow::Result<Option<ExplorationResult>> {
        let mut explored = self.explored.clone();
        explored.settle(&is_proved);
        if !explored.is_exhausted() {
            return Ok(None);
        }
        let mut found = Ends::of(&explored, &self.program)?.found;
        found.extend(unproven(&explored, &self.program, self.find, is_proved)?);
        Ok(Some(result(&explored, &self.program, self.find, found)?))
    }
}
