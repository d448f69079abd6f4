//! A program as what is explored: each run is one of a live [session](crate::session), forced along its prefix.

use super::beyond::beyond;
use super::delays::{Orders, left_of_stage, meetings};
use super::journal::{Entry, Journal, JournalError, Subject};
use super::shared::{Made, Shared, Sharing, name_of};
use super::{
    Checksum, Divergence, End, FailsIf, Followed, Learnt, Move, Onward, Opening, Prefix, Ran, Remembered, Session,
    Wanted,
};
use crate::forest::{Action, Forest, NodeId, Operation, Outcome, Picture, Region, Reservation, Run, TreeId};
use crate::lease::Lease;
use crate::own;
use crate::replay::live::{LiveError, Shortest, shortest_that};
use crate::session::{self, Bounds, Choice, Diverged, Step, words_of};
use crate::session::{Launch, Policy, RunError, Settings, asks_to_end};
use crate::standstill::Standstill;
use crate::trace::{ThreadId, Trace};
use hashbrown::HashSet;
use recorder_ring::plan::{Words, kind};
use safe_files::Readers;
use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use trace_format::{Ending, NOBODYS, ProgramEnd, ReadError, Tables, TraceFile};
use twox_hash::XxHash64;

/// The journal's name in the folder.
const JOURNAL: &str = "exploration.journal";

/// Why a run could not be made, or kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// The program does not run under the recorder.
    #[error(transparent)]
    Record(#[from] RunError),
    /// What the run recorded cannot be read back.
    #[error("cannot read what run {run} recorded")]
    Read {
        /// Which run, from 1.
        run: usize,
        /// Why.
        source: ReadError,
    },
    /// Its trace cannot be kept.
    #[error("cannot write the trace {}", path.display())]
    Keep {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Whether a run failed cannot be told.
    #[error("cannot judge a run by --fails-if {condition}")]
    Judge {
        /// The condition.
        condition: String,
        /// Why.
        source: io::Error,
    },
    /// The program's file, or the trace of its first run, cannot be read.
    #[error("cannot read {}", path.display())]
    Program {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It cannot go on, or what was done cannot be kept.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// What clocks say in each run, in nanoseconds: the beginning of 2026. It is the same whenever exploration is done, so
/// that it can go on another day.
const CLOCKS_STAND_AT: u64 = 1_767_225_600_000_000_000;

/// How many words of its stack each thread shows before what others can tell: the frames of a few calls.
const WORDS_OF_A_PICTURE: u32 = 96;

/// How much longer than the failing run a shorter one may become, in events: then it is none.
const LONGER: u64 = 2;

/// For [`Policy::Pct`]: the ordering constraints that bugs have, as recordings assume.
const PCT_DEPTH: u32 = 3;

/// Of the first runs, every other one goes on after its prefix with as few changes of threads as there can be.
const RUNS_THAT_GO_ON_ALONE: u32 = 32;

/// Between the seeds of runs with a delay and those of others.
const SEEDS_APART: u64 = 1 << 32;

/// Runs of so many events are too long to be searched, if nothing else is said: each search would take longer than many
/// runs.
const TOO_LONG: u64 = 100_000;

/// And runs of so many, in which threads take so many times what others take, too: what a search finds there is what
/// comes first. So are runs of as many of a program that calls what no run shows. A search of all that its runs do
/// would not say that every schedule is covered, and costs several times as much as a run.
const LONG: u64 = 20_000;
const MANY_MEETINGS: u64 = 1_000;

/// A run is ended after so many events, if nothing else is said: many programs that do not end by then wait in a loop.
const USUAL_LIMIT: u64 = 100_000;

/// The first one is made again without, if it does not; but the trace of so many events takes a gigabyte of memory.
const MOST_EVENTS: u64 = 10_000_000;

/// How many more than the first one others may have then.
const EVENTS_MORE: u64 = 10_000;

/// A program that is explored, and the folder that the traces of runs that show something go to: `1.bin`, `2.bin`, ….
#[derive(Debug)]
pub struct Program {
    launch: Launch,
    bounds: Bounds,
    sessions: Vec<session::Session>,
    folder: PathBuf,
    /// The recorded run that others follow, if there is one, and what their traces are named.
    first: Option<(PathBuf, Names)>,
    /// Under which policy, and seed of it, a run goes on behind its prefix.
    then: Then,
    seed: u64,
    runs: usize,
    fails_if: Vec<FailsIf>,
    journal: Option<Journal>,
    /// What other workers make.
    shared: Option<Shared>,
    /// The traces of runs of which nothing has been learnt yet.
    made: VecDeque<Vec<u8>>,
    /// What the first run told of the program's code that no run shows.
    beyond: Option<Vec<Reservation>>,
    /// Runs of so many events are too long to be searched.
    too_long: u64,
    /// Whether the first one is.
    is_unsearched: bool,
    /// The orders to try then.
    orders: Option<Orders>,
    /// Traces of earlier sessions that orders may be taken from, and the numbers of their runs.
    remembered: Vec<(u32, Vec<u8>)>,
    /// Such traces of this one, by the numbers of their runs, of which nothing has been learnt yet.
    to_be_kept: HashSet<usize>,
    /// When runs but the first are ended.
    until: Option<Instant>,
    /// Whether the first run says how long others may be.
    is_limited_by_first: bool,
}

/// From the first trace and the number of a run, from 1, to its trace.
pub type Names = fn(&Path, u32) -> PathBuf;

/// From the number of a run, from 1, and the seed of all to its policy and seed.
pub type Then = fn(u32, u64) -> (Policy, u64);

fn at_random(run: u32, seed: u64) -> (Policy, u64) {
    let policy = if run == 1 { Policy::Fifo } else { Policy::Random };
    (policy, seed.wrapping_add(u64::from(run - 1)))
}

/// Policy and seed of a run, from 2: every other one is random, those between are by turns under partial order sampling
/// and under priorities.
#[must_use]
pub fn by_turns(run: u32, first_seed: u64) -> (Policy, u64) {
    let seed = first_seed.wrapping_add(u64::from(run / 2));
    match run % 4 {
        0 | 2 => (Policy::Random, seed),
        1 => (Policy::Pct, seed),
        _ => (Policy::Pos, seed),
    }
}

/// The same of a run of a program that is too long to be searched: there, partial order sampling shows the most.
fn mostly_by_sampling(run: u32, first_seed: u64) -> (Policy, u64) {
    match by_turns(run, first_seed) {
        (Policy::Random, seed) => (Policy::Pos, seed),
        (Policy::Pos, seed) => (Policy::Random, seed),
        other => other,
    }
}

/// A failure often comes if the thread that saw something new goes on alone while others stand still. In the long run,
/// chance shows more.
fn alone_or_at_random(run: u32, seed: u64) -> (Policy, u64) {
    let (policy, seed) = at_random(run, seed);
    if run <= RUNS_THAT_GO_ON_ALONE && run.is_multiple_of(2) {
        return (Policy::Fifo, seed);
    }
    (policy, seed)
}

/// A run that is to be made.
struct Planned {
    /// From 0.
    number: usize,
    /// The prefix, in the runtime's words.
    words: Vec<Words>,
    /// Which move of the prefix each step is.
    moves: Vec<usize>,
    /// How it goes on.
    then: Settings,
}

/// Between two looks at what other workers have made, at first and at last.
const FIRST_LOOK: Duration = Duration::from_millis(1);
const LAST_LOOK: Duration = Duration::from_millis(50);

impl Program {
    /// Makes ready what all runs need. The folder exists.
    ///
    /// # Errors
    /// If the program cannot be recorded.
    pub fn new(launch: &Launch, bounds: Bounds, folder: &Path, seed: u64) -> Result<Program, ProgramError> {
        Ok(Program {
            launch: launch.clone(),
            bounds,
            sessions: vec![session::Session::new(launch, bounds)?],
            folder: folder.to_owned(),
            first: None,
            then: alone_or_at_random,
            seed,
            runs: 0,
            fails_if: FailsIf::usual(),
            journal: None,
            shared: None,
            made: VecDeque::new(),
            beyond: None,
            too_long: TOO_LONG,
            is_unsearched: false,
            orders: None,
            remembered: Vec::new(),
            to_be_kept: HashSet::new(),
            until: None,
            is_limited_by_first: false,
        })
    }

    /// Ends runs after as many events as are usual for programs that are searched, unless the first one goes on then
    /// without waiting in a loop: others may be twice as long as that one.
    #[must_use]
    pub fn limited_by_first(mut self) -> Program {
        self.is_limited_by_first = true;
        self.limit(USUAL_LIMIT);
        self
    }

    fn limit(&mut self, events: u64) {
        self.bounds.max_events = Some(events);
        self.sessions.iter_mut().for_each(|session| session.end_after(events));
    }

    /// Learns from a first run of so many events how long others may be.
    fn limit_by(&mut self, events: u64) {
        if self.is_limited_by_first {
            // From its trace alone, so that all who know it have the same limit.
            self.limit(match events {
                ..=USUAL_LIMIT => USUAL_LIMIT,
                longer => LONGER * longer + EVENTS_MORE,
            });
        }
    }

    /// Goes on after a run that was recorded into this file, and keeps the trace of each run, named so.
    #[must_use]
    pub fn after(self, first: PathBuf, names: Names, then: Then) -> Program {
        Program {
            first: Some((first, names)),
            then,
            ..self
        }
    }

    /// Takes runs of so many events for too long to be searched.
    #[must_use]
    pub fn searched_below(self, events: u64) -> Program {
        Program {
            too_long: events,
            ..self
        }
    }

    /// Whether its runs are too long to be searched: then every trace is kept, since what it shows is for its analysis
    /// to say.
    #[must_use]
    pub fn is_unsearched(&self) -> bool {
        self.is_unsearched
    }

    /// Looks for no failures before all else: runs go on at random after their prefixes.
    #[must_use]
    pub fn without_haste(self) -> Program {
        Program {
            then: at_random,
            ..self
        }
    }

    /// Ends runs by then, but for the first: without that one, nothing is known.
    #[must_use]
    pub fn ending_by(self, until: Option<Instant>) -> Program {
        Program { until, ..self }
    }

    /// Makes at most so many runs at the same time.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_jobs(mut self, jobs: usize) -> Result<Program, ProgramError> {
        while self.sessions.len() < jobs {
            self.sessions.push(session::Session::new(&self.launch, self.bounds)?);
        }
        Ok(self)
    }

    /// Takes a run for failing if one of these conditions holds, instead of [the usual ones](FailsIf::usual).
    #[must_use]
    pub fn failing_if(mut self, conditions: Vec<FailsIf>) -> Program {
        if conditions.iter().any(FailsIf::needs_output) {
            let sessions = self.sessions.into_iter();
            self.sessions = sessions.map(session::Session::keeping_output).collect();
        }
        self.fails_if = conditions;
        self
    }

    /// Keeps a journal in the folder, and goes on where the one that is there ends, unless it is to begin `anew`.
    ///
    /// # Errors
    /// If another process writes it, it is damaged, or something else was explored.
    pub fn keeping_a_journal(mut self, anew: bool) -> Result<Program, ProgramError> {
        let path = self.folder.join(JOURNAL);
        self.journal = Some(Journal::open(&path, &self.subject()?, anew)?);
        Ok(self)
    }

    /// Shares its runs with all who do so in this folder, which is that of an exploration.
    ///
    /// # Errors
    /// If something else is explored there, or the folder cannot be used.
    pub fn sharing(mut self, exploration: &Path, sharing: &Sharing) -> Result<Program, ProgramError> {
        self.shared = Some(Shared::join(exploration, self.subject()?, sharing)?);
        Ok(self)
    }

    /// How many of its runs were made here, if they are shared.
    #[must_use]
    pub fn made_here(&self) -> Option<usize> {
        self.shared.as_ref().map(Shared::made)
    }

    /// Whether nothing of an earlier session is to be gone on with.
    #[must_use]
    pub fn begins(&self) -> bool {
        self.journal.as_ref().is_none_or(Journal::begins)
    }

    /// Looks for the shortest run that ends as this one did, with at most so many runs. A run that hangs is one that
    /// waits in a loop, or goes on, until it is ended.
    ///
    /// # Errors
    /// If the trace cannot be read, or the program not be run.
    pub fn shorten(&self, run: usize, end: &End, runs: usize) -> Result<Shortest, LiveError> {
        let trace = Trace::open(&self.trace_of(run))?;
        // What does more has not failed in a shorter way; but how long a hang is was for the bounds to say.
        let max_events = match end {
            End::Limit | End::TimedOut => self.bounds.max_events,
            End::Success | End::Failure(_) | End::Deadlock => Some(LONGER * trace.len() as u64),
        };
        let bounds = Bounds {
            max_events,
            ..self.bounds
        };
        let mut session = session::Session::new(&self.launch, bounds)?;
        if self.fails_if.iter().any(FailsIf::needs_output) {
            session = session.keeping_output();
        }
        let then = Settings {
            clocks_stand_at: CLOCKS_STAND_AT,
            ..Settings::fifo()
        };
        shortest_that(trace, session, then, runs, &mut |ran| {
            self.judge(ran).is_ok_and(|judged| judged == *end) && (*end != End::Limit || spins(ran))
        })
    }

    /// The trace of a run, from 0.
    #[must_use]
    pub fn trace_of(&self, run: usize) -> PathBuf {
        match &self.first {
            Some((first, names)) => names(first, run as u32 + 1),
            None => self.folder.join(format!("{}.bin", run + 1)),
        }
    }

    fn subject(&self) -> Result<Subject, ProgramError> {
        let meta = self.launch.describe();
        let program = self.sessions[0].program();
        let io = |source| ProgramError::Program {
            path: program.clone(),
            source,
        };
        let variable = |text: &String| {
            let (name, value) = text.split_once('=').unwrap_or((text, ""));
            (name.to_owned(), value.to_owned())
        };
        Ok(Subject {
            tool: meta.producer.clone(),
            contents: XxHash64::oneshot(0, &fs::read(&program).map_err(io)?),
            program: fs::canonicalize(&program).map_err(io)?,
            arguments: meta.command.iter().skip(1).cloned().collect(),
            directory: PathBuf::from(&meta.directory),
            environment: meta.environment.iter().map(variable).collect(),
            input: self.launch.input.describe(),
            fails_if: self.fails_if.iter().map(ToString::to_string).collect(),
        })
    }

    /// The plan of a run.
    fn plan(&self, forest: &Forest, prefix: &Prefix, number: usize) -> Planned {
        let (steps, moves) = steps(forest, prefix);
        let settings = match prefix.onward {
            Onward::Freely => self.settings((self.then)(number as u32 + 1, self.seed)),
            Onward::InTurn { steps, left } => Settings {
                steps: u64::from(steps),
                ..self.settings((Policy::InTurn, u64::from(left)))
            },
        };
        Planned {
            number,
            words: words_of(&steps),
            moves,
            then: settings,
        }
    }

    fn settings(&self, (policy, seed): (Policy, u64)) -> Settings {
        Settings {
            policy,
            seed,
            depth: PCT_DEPTH,
            clocks_stand_at: CLOCKS_STAND_AT,
            // Nobody looks at them otherwise.
            pictures: if self.is_unsearched { 0 } else { WORDS_OF_A_PICTURE },
            ..Settings::fifo()
        }
    }

    /// What comes first in the next run of a program that is too long to be searched, and under what it goes on. The
    /// others are left to chance alone.
    fn unsearched(&mut self, number: u32, prefers: Option<&dyn Fn(u64) -> bool>) -> Result<Planned, ProgramError> {
        let planned = |words, then| Planned {
            number: number as usize,
            words,
            moves: Vec::new(),
            then,
        };
        let read = |source| ProgramError::Read { run: 1, source };
        let mut orders = match self.orders.take() {
            Some(orders) => orders,
            None => {
                let file = TraceFile::open(&self.trace_of(0)).map_err(read)?;
                let mut orders = Orders::of(file, prefers).map_err(read)?;
                // As earlier sessions have done.
                for (run, trace) in std::mem::take(&mut self.remembered) {
                    while orders.next_run() <= run {
                        orders.decide(prefers).map_err(read)?;
                    }
                    orders.see(run, &trace).map_err(read)?;
                }
                orders
            }
        };
        while orders.next_run() < number {
            orders.decide(prefers).map_err(read)?;
        }
        let next = orders.decide(prefers).map_err(read)?;
        let steps = next.map(|delay| orders.steps(delay)).transpose().map_err(read)?;
        let delayed = orders.delayed();
        self.orders = Some(orders);
        let Some(steps) = steps else {
            // As `record` would make them, and so with clocks that go: a timer may go off in the middle of the work, which
            // it does not where time passes only if nobody has anything else to do.
            let settings = Settings {
                clocks_stand_at: 0,
                ..self.settings(mostly_by_sampling(number - delayed + 1, self.seed))
            };
            return Ok(planned(Vec::new(), settings));
        };
        // By turns as the others, and otherwise than they.
        let then = mostly_by_sampling(delayed + 1, self.seed.wrapping_add(SEEDS_APART));
        Ok(planned(steps, self.settings(then)))
    }

    /// What a run showed. Its trace waits for what is learnt from it.
    fn read(&mut self, made: Made, planned: &Planned, prefix: &Prefix) -> Result<Ran, ProgramError> {
        let number = self.runs;
        self.runs += 1;
        let run = self.shown(number, &made.trace, &made.pictures)?;
        if let Some(orders) = &mut self.orders {
            let sees = orders.see(number as u32, &made.trace);
            let read = |source| ProgramError::Read {
                run: number + 1,
                source,
            };
            if sees.map_err(read)? {
                self.to_be_kept.insert(number);
            }
        }
        // What a worker makes is looked at by others, but for the first run.
        let is_kept = number == 0 || !self.only_makes_runs();
        self.made.push_back(if is_kept { made.trace } else { Vec::new() });
        Ok(Ran {
            run,
            end: made.end,
            followed: (made.diverged)
                .filter(|left| left.step() < planned.moves.len())
                .map_or(Followed::Whole, |left| followed(left, &planned.moves, prefix)),
        })
    }

    fn only_makes_runs(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.only_runs)
    }

    /// Makes runs, or takes those that others have made, up to the first that shows no more than that it was ended.
    fn make_all(&mut self, planned: &[Planned]) -> Result<Vec<Made>, ProgramError> {
        if let Some(mut shared) = self.shared.take() {
            let made = self.make_with_others(&mut shared, planned);
            self.shared = Some(shared);
            return made;
        }
        let mut all = Vec::new();
        for together in planned.chunks(self.sessions.len()) {
            let together: Vec<&Planned> = together.iter().collect();
            for made in self.make(&together)? {
                let Some(made) = made else { return Ok(all) };
                all.push(made);
            }
        }
        Ok(all)
    }

    /// Makes those runs that no other worker makes, and waits for the rest.
    fn make_with_others(&mut self, shared: &mut Shared, planned: &[Planned]) -> Result<Vec<Made>, ProgramError> {
        let most = self.bounds.max_events;
        let name = |planned: &Planned| name_of(planned.number, &planned.words, &planned.then, most);
        let names: Vec<String> = planned.iter().map(name).collect();
        let mut all: Vec<Option<Made>> = planned.iter().map(|_| None).collect();
        let first = shared.first_of(planned.len().max(1));
        let mut pause = FIRST_LOOK;
        loop {
            for (made, name) in all.iter_mut().zip(&names).filter(|(made, _)| made.is_none()) {
                *made = shared.find(name)?;
            }
            let rows = (0..planned.len()).map(|row| (row + first) % planned.len());
            let missing: Vec<usize> = rows.filter(|&row| all[row].is_none()).collect();
            if missing.is_empty() || self.sessions[0].is_over() {
                break;
            }
            let mut taken: Vec<(usize, Lease)> = Vec::new();
            for row in missing {
                if taken.len() == self.sessions.len() {
                    break;
                }
                if let Some(lease) = shared.take(&names[row])? {
                    // Somebody may have made it before it was given back.
                    all[row] = shared.find(&names[row])?;
                    if all[row].is_none() {
                        taken.push((row, lease));
                    }
                }
            }
            if taken.is_empty() {
                thread::sleep(pause);
                pause = LAST_LOOK.min(2 * pause);
                continue;
            }
            pause = FIRST_LOOK;
            let together: Vec<&Planned> = taken.iter().map(|(row, _)| &planned[*row]).collect();
            for ((row, lease), made) in taken.into_iter().zip(self.make(&together)?) {
                let Some(made) = made else { continue };
                all[row] = Some(shared.give(&names[row], made)?);
                drop(lease);
            }
        }
        Ok(all.into_iter().map_while(|made| made).collect())
    }

    /// Makes runs at the same time, as many as there are sessions at most. `None` stands for one that shows no more than
    /// that it was ended.
    fn make(&mut self, planned: &[&Planned]) -> Result<Vec<Option<Made>>, ProgramError> {
        let until = self.until.filter(|_| self.runs > 0);
        let usual = self.sessions.iter().filter_map(session::Session::usual).max();
        let made: Vec<Result<session::Ran, RunError>> = thread::scope(|scope| {
            let sessions = self.sessions.iter_mut().zip(planned);
            let runs: Vec<_> = sessions
                .map(|(session, planned)| {
                    session.end_by(until);
                    session.expect(usual);
                    scope.spawn(move || session.follow(&[&planned.words], planned.then))
                })
                .collect();
            let ends = runs.into_iter().map(|run| run.join());
            ends.map(|end| end.unwrap_or_else(|panic| resume_unwind(panic)))
                .collect()
        });
        let mut all = Vec::new();
        for (ran, planned) in made.into_iter().zip(planned) {
            let mut ran = ran?;
            if planned.number == 0 && self.is_limited_by_first && ran.end == ProgramEnd::EventLimit && !spins(&ran) {
                self.limit(MOST_EVENTS);
                ran = self.sessions[0].follow(&[&planned.words], planned.then)?;
            }
            let shows_nothing = self.sessions[0].is_over() && ran.end_is_of_others();
            all.push(if shows_nothing { None } else { Some(self.judged(ran)?) });
        }
        Ok(all)
    }

    /// A run, with what is to be said of its end.
    fn judged(&self, mut ran: session::Ran) -> Result<Made, ProgramError> {
        Ok(Made {
            end: self.judge(&ran)?,
            diverged: ran.diverged,
            pictures: std::mem::take(&mut ran.pictures),
            trace: ran.into_bytes(),
        })
    }

    /// What a trace shows.
    fn shown(&mut self, number: usize, bytes: &[u8], pictures: &[Picture]) -> Result<Run, ProgramError> {
        let read = |source| ProgramError::Read {
            run: number + 1,
            source,
        };
        if self.is_unsearched {
            return Ok(Run::default());
        }
        let trace = TraceFile::from_bytes("the run's trace", bytes.to_owned()).map_err(read)?;
        let is_cut = matches!(
            trace.ending(),
            Ending::Complete {
                program: ProgramEnd::EventLimit
            }
        );
        match number {
            0 if !is_cut => self.limit_by(trace.len()),
            // One that waits in a loop could go on for ever; this one was made again, and was longer than any may be.
            0 if self.is_limited_by_first && trace.len() >= MOST_EVENTS => self.limit(MOST_EVENTS),
            _ => {}
        }
        if self.is_too_long(number, &trace).map_err(read)? {
            self.is_unsearched |= number == 0;
            return Ok(Run {
                reservations: vec![Reservation::TooLong { events: trace.len() }],
                ..Run::default()
            });
        }
        let mut shown = Run::of_trace_with(&trace, pictures).map_err(read)?;
        shown.reservations.extend(self.beyond(trace.tables()).iter().cloned());
        Ok(shown)
    }

    /// What the program may do that no run of it shows.
    fn beyond(&mut self, tables: &Tables) -> &[Reservation] {
        self.beyond.get_or_insert_with(|| {
            let mut beyond = beyond(tables);
            if self.fails_if.iter().any(FailsIf::needs_output) {
                beyond.push(Reservation::Output);
            }
            beyond
        })
    }

    /// Whether a run is too long to be searched.
    fn is_too_long(&mut self, number: usize, trace: &TraceFile) -> Result<bool, ReadError> {
        let is_too_long = trace.len() >= self.too_long
            || number == 0
                && trace.len() >= LONG
                && (meetings(trace)? >= MANY_MEETINGS || self.never_ends_exhausted(trace.tables()));
        Ok(is_too_long && !(was_cut(trace) && waits_in_a_loop(trace)))
    }

    /// Whether something stands against *exhausted*, whatever runs show.
    fn never_ends_exhausted(&mut self, tables: &Tables) -> bool {
        self.beyond(tables).iter().any(|beyond| !beyond.is_assumption())
    }

    /// How a run ended.
    fn judge(&self, ran: &session::Ran) -> Result<End, ProgramError> {
        for condition in &self.fails_if {
            let failure = condition.judge(ran.end, &ran.output, self.launch.directory.as_deref());
            let failure = failure.map_err(|source| ProgramError::Judge {
                condition: condition.to_string(),
                source,
            })?;
            if let Some(how) = failure {
                return Ok(End::Failure(how));
            }
        }
        Ok(match ran.end {
            ProgramEnd::Signaled(signal) if asks_to_end(signal) => End::Limit,
            ProgramEnd::Exited(_) | ProgramEnd::Signaled(_) => End::Success,
            ProgramEnd::Deadlock => End::Deadlock,
            // Whom its prefix keeps waiting does not hang.
            ProgramEnd::TimeLimit if matches!(ran.diverged, Some(Diverged::Ended { .. })) => End::Limit,
            ProgramEnd::TimeLimit => End::TimedOut,
            ProgramEnd::EventLimit | ProgramEnd::Unknown => End::Limit,
        })
    }

    /// Keeps a trace as a file of its own.
    fn save(&self, run: usize, trace: &[u8]) -> Result<(), ProgramError> {
        let path = self.trace_of(run);
        safe_files::write(&path, trace, Readers::Owner).map_err(|source| ProgramError::Keep {
            path: path.clone(),
            source,
        })?;
        own::remember(&path);
        Ok(())
    }
}

impl Session for Program {
    type Error = ProgramError;

    fn run(&mut self, forest: &Forest, prefix: &Prefix) -> Result<Ran, ProgramError> {
        let planned = self.plan(forest, prefix, self.runs);
        let made = self.sessions[0].follow(&[&planned.words], planned.then)?;
        let made = self.judged(made)?;
        self.read(made, &planned, prefix)
    }

    fn run_all(&mut self, forest: &Forest, prefixes: &[Prefix]) -> Result<Vec<Ran>, ProgramError> {
        let numbers = self.runs..;
        let planned = numbers
            .zip(prefixes)
            .map(|(number, prefix)| self.plan(forest, prefix, number));
        let planned: Vec<Planned> = planned.collect();
        let made = self.make_all(&planned)?;
        let rows = made.into_iter().zip(planned.iter().zip(prefixes));
        rows.map(|(made, (planned, prefix))| self.read(made, planned, prefix))
            .collect()
    }

    fn run_unsearched(
        &mut self,
        prefers: Option<&dyn Fn(u64) -> bool>,
        count: usize,
    ) -> Result<Vec<Ran>, ProgramError> {
        let at_once = match self.only_makes_runs() {
            true => count,
            false => self.sessions.len(),
        };
        let at_once = at_once.min(left_of_stage(self.runs as u32) as usize);
        let numbers = (self.runs..).take(count.clamp(1, at_once.max(1)));
        let planned: Vec<Planned> = numbers
            .map(|number| self.unsearched(number as u32, prefers))
            .collect::<Result<_, _>>()?;
        let made = self.make_all(&planned)?;
        let rows = made.into_iter().zip(&planned);
        rows.map(|(made, planned)| self.read(made, planned, &Prefix::default()))
            .collect()
    }

    fn keep(&mut self, run: usize, learnt: &Learnt) -> Result<(), ProgramError> {
        let Some(trace) = self.made.pop_front() else {
            return Ok(());
        };
        if run > 0 && self.only_makes_runs() {
            return Ok(());
        }
        // The journal must not name what is not there.
        if run == 0 || !learnt.shows.is_empty() || self.first.is_some() || self.is_unsearched {
            self.save(run, &trace)?;
        }
        let Some(journal) = &mut self.journal else {
            return Ok(());
        };
        if self.is_unsearched && run > 0 && learnt.shows.is_empty() {
            // What it shows is for its analysis to say, which is made by now or not at all; and it takes much room.
            let learnt = Learnt {
                checksum: Some(Checksum::of(&trace)),
                ..learnt.clone()
            };
            // A trace that orders may be taken from is needed to go on as without an interruption.
            let is_needed = self.to_be_kept.remove(&run);
            journal.add(&learnt, if is_needed { &trace } else { &[] })?;
        } else {
            journal.add(learnt, &trace)?;
        }
        Ok(())
    }

    fn remember(&mut self) -> Result<Option<Remembered>, ProgramError> {
        if let Some((first, _)) = self.first.as_ref().filter(|_| self.runs == 0) {
            let trace = fs::read(first).map_err(|source| ProgramError::Program {
                path: first.clone(),
                source,
            })?;
            self.runs += 1;
            let (run, learnt) = (self.shown(0, &trace, &[])?, Learnt::default());
            return Ok(Some(Remembered { run, learnt }));
        }
        let Some(Entry { learnt, trace }) = self.journal.as_mut().map_or(Ok(None), Journal::next)? else {
            return Ok(None);
        };
        let number = self.runs;
        self.runs += 1;
        if self.is_unsearched && !trace.is_empty() {
            self.remembered.push((number as u32, trace.clone()));
        }
        if let Some(expected) = &learnt.checksum {
            let path = self.trace_of(number);
            let is_kept = safe_files::read(&path, expected.bytes).is_ok_and(|kept| Checksum::of(&kept) == *expected);
            if !is_kept && fs::symlink_metadata(&path).is_ok() {
                let removed = fs::remove_file(&path);
                removed.map_err(|source| ProgramError::Keep { path, source })?;
            }
            let run = Run::default();
            return Ok(Some(Remembered { run, learnt }));
        }
        let run = self.shown(number, &trace, &[])?;
        // What is found is told by the files: one that is not as the journal has it is none of this exploration.
        let is_kept = || safe_files::read(&self.trace_of(number), trace.len() as u64).is_ok_and(|kept| kept == trace);
        if (number == 0 || !learnt.shows.is_empty()) && !is_kept() {
            self.save(number, &trace)?;
        }
        Ok(Some(Remembered { run, learnt }))
    }
}

/// Whether threads wait in loops at the end of a run.
fn spins(ran: &session::Ran) -> bool {
    ran.trace().is_ok_and(|trace| waits_in_a_loop(&trace))
}

fn waits_in_a_loop(trace: &TraceFile) -> bool {
    Standstill::of(trace).is_ok_and(|standstill| !standstill.spins.is_empty())
}

fn was_cut(trace: &TraceFile) -> bool {
    let program = ProgramEnd::EventLimit;
    *trace.ending() == Ending::Complete { program }
}

/// Which move of the prefix was not done, and what happened in its place. `moves` has the move of each step.
fn followed(left: Diverged, moves: &[usize], prefix: &Prefix) -> Followed {
    let step = moves.get(left.step()).copied().unwrap_or(prefix.moves.len());
    let why = match left {
        // The step that is to be seen need not be what was guessed.
        Diverged::Did { .. } if step == prefix.moves.len() => return Followed::Whole,
        Diverged::Did { .. } => Divergence::OtherOperation,
        Diverged::Waits { .. } => Divergence::Blocked,
        Diverged::Stuck { .. } => Divergence::Stuck,
        Diverged::Gone { .. } | Diverged::Ended { .. } => Divergence::Gone,
    };
    Followed::Until { step, why }
}

/// The prefix for the recorder, and the move that each step is; what is wanted is the last step, as far as it can be
/// guessed.
fn steps(forest: &Forest, prefix: &Prefix) -> (Vec<Step>, Vec<usize>) {
    // Threads are numbered as they are created.
    let mut numbers = vec![None; prefix.threads.len()];
    if let Some(first) = numbers.first_mut() {
        *first = Some(ThreadId(0));
    }
    let mut created = 1;
    let (mut steps, mut moves) = (Vec::new(), Vec::new());
    let mut found_running: HashSet<TreeId> = HashSet::new();
    let mut whole = true;
    for number in with_whole_calls(forest, prefix) {
        let Move::Perform {
            thread,
            index,
            node,
            operation,
            outcome,
            wakes,
        } = prefix.moves[number]
        else {
            continue;
        };
        let Some(by) = numbers[thread as usize] else {
            whole = false;
            break;
        };
        if operation == Operation::End && ends_process(prefix, number) {
            continue;
        }
        match operation {
            Operation::Join(tree) if outcome == Outcome::GaveUp => drop(found_running.insert(tree)),
            Operation::End if found_running.contains(&prefix.threads[thread as usize].tree) => {
                steps.push(sets_its_end(by));
                moves.push(number);
            }
            _ => {}
        }
        if operation == Operation::Fork {
            let child = prefix
                .threads
                .iter()
                .position(|row| row.forked_by == Some((thread, index)));
            if let Some(child) = child {
                numbers[child] = Some(ThreadId(created));
            }
            created += 1;
        }
        let choice = match operation {
            Operation::On(Action::WaitEnd(..)) => Choice::TimesOut(outcome == Outcome::GaveUp),
            Operation::On(Action::Notify(_)) => wakes
                .and_then(|row| numbers[row as usize])
                .map_or(Choice::Free, Choice::Wakes),
            _ => Choice::Free,
        };
        steps.push(Step {
            thread: by,
            kind: kind_of(forest, node, operation, outcome),
            pc: position(forest, node),
            choice,
        });
        moves.push(number);
    }
    if let Some(wanted) = prefix.wanted
        && let Some(thread) = numbers[wanted.thread as usize]
        && whole
    {
        let tree = prefix.threads[wanted.thread as usize].tree;
        if forest.node(wanted.node).operation() == Some(Operation::End) && found_running.contains(&tree) {
            steps.push(sets_its_end(thread));
            moves.push(prefix.moves.len());
        }
        steps.push(wanted_step(forest, &wanted, thread));
        moves.push(prefix.moves.len());
    }
    steps.extend(left_wait_sets(forest, prefix, &numbers));
    (steps, moves)
}

/// The numbers of the moves, in an order in which the calls that hold the system's lock of a futex are whole, as the
/// program makes them: each where it does the first that others may see. Nobody else comes to what it does behind that,
/// and what others do before then they can do before the call.
fn with_whole_calls(forest: &Forest, prefix: &Prefix) -> Vec<usize> {
    let is_of_system = |lock| {
        let at = forest.object(lock).at;
        at.region == Region::Static && at.offset >= NOBODYS
    };
    let does = |number: usize| match prefix.moves[number] {
        Move::Perform {
            operation: Operation::On(action),
            ..
        } => Some(action),
        _ => None,
    };
    let takes = |number| matches!(does(number), Some(Action::Acquire(lock, _)) if is_of_system(lock));
    let gives_back = |number| matches!(does(number), Some(Action::Release(lock)) if is_of_system(lock));
    let all = prefix.moves.len();
    let mut order = Vec::with_capacity(all);
    let mut is_done = vec![false; all];
    let mut begun: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for number in 0..all {
        let thread = prefix.moves[number].thread();
        if is_done[number] {
            continue;
        }
        if takes(number) {
            begun.entry(thread).or_default().push(number);
            continue;
        }
        let first = begun.remove(&thread).unwrap_or_default();
        let mut held = first.len();
        order.extend(first);
        let own = (number..all).filter(|&own| prefix.moves[own].thread() == thread);
        for rest in own {
            order.push(rest);
            is_done[rest] = true;
            held = held.saturating_sub(usize::from(gives_back(rest)));
            if held == 0 {
                break;
            }
        }
    }
    order.extend(begun.into_values().flatten());
    order
}

/// What a thread does before its end if somebody has found it running.
fn sets_its_end(thread: ThreadId) -> Step {
    Step {
        thread,
        kind: kind::ATOMIC_STORE,
        pc: None,
        choice: Choice::Free,
    }
}

/// Whether this end of a thread may be the process' end, too: the first thread's, which returns from `main`. What
/// others do after it they can do before it as well, unless they join it.
fn ends_process(prefix: &Prefix, number: usize) -> bool {
    let joins = |step: &Move| {
        matches!(
            step,
            Move::Perform {
                operation: Operation::Join(Forest::MAIN),
                ..
            }
        )
    };
    prefix.moves[number].thread() == 0 && !prefix.moves[number..].iter().any(joins)
}

/// The ends of waits whose time is over at the end of the prefix: by these the recorder knows that no notify finds the
/// threads any more. They are no part of what is to be done, and come last.
fn left_wait_sets(forest: &Forest, prefix: &Prefix, numbers: &[Option<ThreadId>]) -> Vec<Step> {
    let rows = 0..prefix.threads.len() as u32;
    let last = rows.filter_map(|row| {
        let mut own = (prefix.moves.iter().enumerate()).filter(|(_, step)| step.thread() == row);
        let (at, step) = own.next_back()?;
        let begun = match own.next_back()? {
            (_, &Move::Perform { node, outcome, .. }) => forest.node(node).edge(outcome)?.to,
            (_, Move::TimesOut { .. }) => return None,
        };
        let wanted = prefix.wanted.is_some_and(|wanted| wanted.thread == row);
        (matches!(step, Move::TimesOut { .. }) && !wanted).then_some((at, row, begun))
    });
    let mut all: Vec<(usize, u32, NodeId)> = last.collect();
    all.sort_unstable();
    let step = |(_, row, node): (usize, u32, NodeId)| {
        Some(Step {
            thread: numbers[row as usize]?,
            kind: kind::WAIT_END,
            pc: position(forest, node),
            choice: Choice::TimesOut(true),
        })
    };
    all.into_iter().filter_map(step).collect()
}

fn position(forest: &Forest, node: NodeId) -> Option<u64> {
    Some(forest.node(node).position).filter(|&position| position != 0)
}

/// The step that is hoped to be seen.
fn wanted_step(forest: &Forest, wanted: &Wanted, thread: ThreadId) -> Step {
    let outcome = match wanted.opening {
        Opening::Outcome(outcome) => outcome,
        Opening::SomeOutcome | Opening::NextOperation | Opening::GivesUp => Outcome::Done,
    };
    let operation = forest.node(wanted.node).operation();
    Step {
        thread,
        kind: operation.map_or(kind::BRANCH, |operation| {
            kind_of(forest, wanted.node, operation, outcome)
        }),
        pc: position(forest, wanted.node),
        choice: match operation {
            Some(Operation::On(Action::WaitEnd(..))) => Choice::TimesOut(outcome == Outcome::GaveUp),
            _ => Choice::Free,
        },
    }
}

/// The event that an operation is, if it turns out so.
fn kind_of(forest: &Forest, node: NodeId, operation: Operation, outcome: Outcome) -> u8 {
    match operation {
        Operation::Begin => kind::BEGIN,
        Operation::End => kind::END,
        Operation::Fork => kind::FORK,
        // A look at a variable that the thread sets when it ends.
        Operation::Join(_) if outcome == Outcome::GaveUp => kind::ATOMIC_LOAD,
        Operation::Join(_) => kind::JOIN,
        Operation::Read(_) => kind::READ,
        Operation::Write(..) => kind::WRITE,
        Operation::AtomicRead(_) => {
            let edges = &forest.node(node).edges;
            // Of an outcome that no run has shown, it is as likely as those that runs have shown.
            let edge = edges.iter().find(|edge| edge.outcome == outcome).or(edges.first());
            match edge.and_then(|edge| edge.wrote) {
                Some(_) => kind::ATOMIC_RMW,
                None => kind::ATOMIC_LOAD,
            }
        }
        Operation::AtomicWrite(..) => kind::ATOMIC_STORE,
        Operation::Use(_) => kind::USE,
        Operation::On(action) => action.kind(outcome.turned()),
        Operation::Count(_) => kind::SEM_VALUE,
        Operation::Fence => kind::FENCE,
        Operation::Branch => kind::BRANCH,
        Operation::Alloc(_) => kind::ALLOC,
        Operation::Free(_) => kind::FREE,
        Operation::Input(_) => kind::INPUT,
        Operation::Output(_) => kind::OUTPUT,
    }
}
