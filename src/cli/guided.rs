//! Further runs of a program that was recorded once, each along a schedule that shows something no run has shown, as `witness explore` makes
//! them: for `witness run` and `witness confirm --run`.
//!
//! Where exploration cannot serve, the caller goes on under one policy and seed after another: a program that starts others, one with commands
//! around its runs, a long one.

use super::ExitCode;
use super::explored::{Ends, Positions, result, unproven};
use super::program_end;
use super::runs;
use std::cell::Cell;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;
use trace_format::{Ending, ProgramEnd, TraceFile};
use witness::explore::{
    Exploration, Goal, Learnt, Limits, Options, Prefix, Program, Ran, Remembered, Session, What, explore,
    fewest_context_switches,
};
use witness::forest::Forest;
use witness::record::{self, EndsWhenAsked, Launch, Recorded, StandardInput, asked_to_end};
use witness::results::ExplorationResult;
use witness::session::Bounds;

/// Runs of more events are not explored: searches take longer than runs.
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
    /// Whether it is the first to end so.
    pub shows_end: bool,
}

/// What exploration came to.
pub struct Guidance {
    program: Program,
    explored: Exploration,
}

impl Guided {
    /// Of a first recording; `None` if exploration cannot serve.
    pub fn new(options: &record::Options, first: &Recorded, runs: u32) -> Option<Guided> {
        let companions = &options.companions;
        let alone = companions.setup.is_none() && companions.with.is_none() && first.processes.is_empty();
        let is_whole = first.stopped.is_none() && first.failures.is_empty() && !asked_to_end();
        let events = first.summary.events;
        if !alone || !is_whole || runs < 2 || first.summary.threads < 2 || events > MAX_EVENTS {
            return None;
        }
        let launch = Launch {
            input: StandardInput::here(),
            ..Launch::here(options.program.clone(), options.arguments.clone())
        };
        let most = LONGER * events + EVENTS_MORE;
        let bounds = Bounds {
            timeout: options.timeout.or(Some(LONGER as u32 * first.elapsed + TIME_MORE)),
            max_events: Some(options.max_events.unwrap_or(most).min(most)),
            patience: None,
        };
        let path = first.summary.path.clone();
        let program = Program::new(&launch, bounds, Path::new(""), options.seed).ok()?;
        Some(Guided {
            program: program.after(path, runs::trace_of, runs::policy_of),
            runs,
            timeout: options.timeout,
        })
    }

    /// Makes runs, and gives each to `made`, until that breaks, all are made, or nothing is left to try. Branches at places that it `prefers`
    /// come first.
    pub fn explore(
        self,
        prefers: Option<&dyn Fn(u64) -> bool>,
        made: &mut dyn FnMut(&Made<'_>) -> anyhow::Result<ControlFlow<()>>,
    ) -> anyhow::Result<Guidance> {
        let _ends = EndsWhenAsked::new()?;
        let options = Options {
            limits: Limits {
                states: STATES,
                stop: Some(asked_to_end),
                ..Limits::default()
            },
            runs: self.runs as usize,
            order: &fewest_context_switches,
            show_goals: true,
            failures_first: true,
            prefers,
            ..Options::default()
        };
        let is_over = Cell::new(false);
        let mut runs = Runs {
            program: self.program,
            timeout: self.timeout,
            made,
            is_over: &is_over,
        };
        let explored = explore(&mut runs, &options, &mut |_| {
            if is_over.get() || asked_to_end() {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        Ok(Guidance {
            program: runs.program,
            explored,
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
        if !self.explored.is_exhausted() {
            return Ok(None);
        }
        let mut found = Ends::of(&self.explored, &self.program)?.found;
        found.extend(unproven(&self.explored, &self.program, is_proved)?);
        Ok(Some(result(&self.explored, &self.program, found)?))
    }
}

/// The program as what is explored: each run is handed on as soon as it is made.
struct Runs<'a> {
    program: Program,
    timeout: Option<Duration>,
    made: &'a mut dyn FnMut(&Made<'_>) -> anyhow::Result<ControlFlow<()>>,
    is_over: &'a Cell<bool>,
}

impl Session for Runs<'_> {
    type Error = anyhow::Error;

    fn run(&mut self, forest: &Forest, prefix: &Prefix) -> anyhow::Result<Ran> {
        Ok(self.program.run(forest, prefix)?)
    }

    fn run_all(&mut self, forest: &Forest, prefixes: &[Prefix]) -> anyhow::Result<Vec<Ran>> {
        Ok(self.program.run_all(forest, prefixes)?)
    }

    fn keep(&mut self, run: usize, learnt: &Learnt) -> anyhow::Result<()> {
        self.program.keep(run, learnt)?;
        let path = self.program.trace_of(run);
        let file = TraceFile::open(&path)?;
        let (threads, events, end) = (
            file.tables().threads.len(),
            file.len(),
            match file.ending() {
                Ending::Complete { program } => *program,
                Ending::Cut { .. } => ProgramEnd::Unknown,
            },
        );
        let shows_end = learnt
            .shows
            .iter()
            .any(|what| !matches!(what, What::Goal(Goal::Race(..))));
        let code = match end {
            // Its own limit is none of the user's.
            ProgramEnd::TimeLimit if self.timeout.is_none() => ExitCode::Nothing,
            end => program_end::code_of(end, &path),
        };
        let made = Made {
            run: run as u32 + 1,
            path: &path,
            threads,
            events,
            code,
            shows_end,
        };
        if (self.made)(&made)?.is_break() {
            self.is_over.set(true);
        }
        Ok(())
    }

    fn remember(&mut self) -> anyhow::Result<Option<Remembered>> {
        Ok(self.program.remember()?)
    }
}
