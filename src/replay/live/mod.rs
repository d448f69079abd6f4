//! The race itself: the program runs again, forced along a witness, until both accesses are pending.
//!
//! The schedule becomes a plan for the recorder's runtime, which lets the thread run whose event is
//! next ([`crate::session::Session::stop_at_race`]). What the program did is recorded on the way, and compared
//! here with what it was to do. Only a run that did all of it, and whose threads are then stopped
//! right before two accesses that conflict, confirms a witness. The method follows directed
//! schedulers that stop threads at racing accesses (RaceFuzzer: Sen, PLDI 2008, section 3), but has
//! an exact schedule to follow instead of a random search.

mod again;
mod bad_pointer;
mod beyond;
mod builds;
mod calls;
mod compare;
mod deadlock;
mod identical;
mod places;
mod plan;
mod shortest;
mod unset;
mod vary;

pub use again::{Again, Sameness, as_recorded};
pub use bad_pointer::{BadPointer, bad_pointer};
pub use builds::{Changed, changed};
pub use compare::Difference;
pub use deadlock::{Deadlocked, deadlock};
pub use plan::{Plan, Planner};
pub use shortest::{Shortest, Stretch, shortest, shortest_that, stretches};
pub use unset::UnsetReads;
pub use vary::variations;

use crate::check::Rejection;
use crate::own::Origin;
use crate::record;
use crate::schedule::{Goal, Schedule};
use crate::session::{self, Bounds, Descent, Launch, Parked, RunError, Session, Standing, Stopped};
use crate::trace::{EventId, LoadError, Trace};
use compare::{Compared, Comparison};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;
use trace_format::{Meta, PendingKind, TraceFile};

/// Why there was no live run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// The trace names no program.
    #[error("the trace was not recorded from a program; name one after `--`")]
    NoProgram,
    /// The trace may come from anybody, and does not say which build it is of.
    #[error(
        "the trace was not recorded here, and does not say of which build of the program it is: whether the file that it names is that one cannot be known"
    )]
    UnknownBuild,
    /// The process began as a copy of another one, and it is not known how that ran.
    #[error("process {number} was forked, and the trace does not say under which policy the program ran before")]
    UnknownPolicy {
        /// Which it was.
        number: record::ProcessNumber,
    },
    /// More threads than the runtime can be told of.
    #[error("the schedule has more threads than a live run can follow")]
    TooManyThreads,
    /// There is no failure that could be kept while the run is shortened.
    #[error("the recorded run did not fail: no exit status but 0, no signal, no deadlock; there is nothing to shorten")]
    NoFailure,
    /// The process began as a copy of another one, of which the trace does not say all.
    #[error(
        "process {number} was forked, so its trace is not of a whole run; replay that of the program's first process as recorded"
    )]
    ForkedProcess {
        /// Which it was.
        number: String,
    },
    /// The program does not run under the recorder.
    #[error(transparent)]
    Record(#[from] RunError),
    /// The schedule ends in something else than a race.
    #[error(
        "a live run shows races, deadlocks and bad pointers, and this schedule shows another value of a read; without --live, it is replayed on the trace"
    )]
    NoRace,
    /// The schedule is none of the trace.
    #[error("the schedule does not show a race of this trace")]
    Rejected(#[from] Rejection),
    /// What the run recorded cannot be read back.
    #[error("cannot read what the live run recorded")]
    Load(#[from] LoadError),
}

/// What became of a live run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Both accesses are pending at once; for an unordered race, the first is done and the second is
    /// pending. In the order of the schedule's race. Of an order, only the access that comes too early is there.
    Confirmed(Vec<Shown>),
    /// A thread did something else than it was to do.
    Diverged(Divergence),
    /// The program did nothing else than it was to do, but did not come to the race.
    NotReached {
        /// The first step that was not done.
        step: usize,
        /// Its event, in the recorded trace.
        due: EventId,
        /// Why.
        why: Why,
    },
}

/// One of the two accesses in a live run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The access, in the recorded trace.
    pub event: EventId,
    /// The code position in the live run.
    pub pc: u64,
    /// The call stack, in the trace of the live run.
    pub stack: crate::trace::StackId,
    /// The first byte that it accesses in the live run.
    pub addr: u64,
    /// It is pending, and not done.
    pub pending: bool,
}

/// Where a live run left its schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The step of the plan.
    pub step: usize,
    /// The event that was due, in the recorded trace.
    pub expected: EventId,
    /// What came instead.
    pub actual: Actual,
}

/// What came instead of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actual {
    /// This event of the live run's trace, which differs so.
    Did(EventId, Difference),
    /// The thread waits for something that the schedule does not bring.
    Waits,
    /// The thread has ended, or was never created.
    Gone,
    /// The thread is stopped before the racing operation, but that is about to access other memory.
    OtherMemory {
        /// Where the operation begins.
        addr: u64,
    },
    /// Something that is no event of the trace.
    Unrecorded,
}

/// Why a live run did not come to the race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The program ended.
    Ended(ExitStatus),
    /// Nothing happened for so long.
    Stalled(Duration),
}

/// A live run that has come to a stop.
#[derive(Debug)]
pub struct Run {
    /// What it did; of a confirmed run perhaps only its tables, without events.
    pub trace: Trace,
    /// What became of it.
    pub outcome: Outcome,
    /// Reads of bytes that no recorded code had set, which saw something else than in the recorded run.
    pub unset_reads: UnsetReads,
    /// The program, which stands still or is no more.
    pub stopped: Stopped,
}

/// How to run the program of a trace again: as it was recorded, unless another command is given.
///
/// # Errors
/// [`LiveError::NoProgram`], [`LiveError::UnknownPolicy`].
pub fn launch(trace: &Trace, command: &[OsString], origin: Origin) -> Result<Launch, LiveError> {
    let meta = &trace.tables().meta;
    let process = record::ProcessNumber::of(meta);
    let is_process = process.is_some();
    let descent = match process.filter(|number| number.origin == record::Origin::Forked) {
        Some(number) => Some(descent(meta, number)?),
        None => None,
    };
    let recorded: Vec<OsString> = meta.command.iter().map(OsString::from).collect();
    let (words, directory) = match command {
        [] => (&recorded[..], Some(PathBuf::from(&meta.directory))),
        command => (command, None),
    };
    let (program, arguments) = words.split_first().ok_or(LiveError::NoProgram)?;
    // The last one only says which process it is.
    let own = meta.environment.len() - usize::from(is_process);
    let environment = session::restored(&meta.environment[..own], origin);
    let build_id = build_id_of(trace);
    if origin == Origin::Elsewhere && build_id.is_empty() {
        return Err(LiveError::UnknownBuild);
    }
    Ok(Launch {
        directory: directory.filter(|directory| !directory.as_os_str().is_empty()),
        environment: (!environment.is_empty()).then_some(environment),
        output: false,
        build_id,
        input: session::StandardInput::here(),
        descent,
        ..Launch::here(program.clone(), arguments.to_vec())
    })
}

/// The build id of the recorded program: its first module.
fn build_id_of(trace: &Trace) -> Vec<u8> {
    let program = trace.tables().modules.first();
    program.map(|module| module.build_id.clone()).unwrap_or_default()
}

/// The way from the start of a program to a process that was forked.
fn descent(meta: &Meta, number: record::ProcessNumber) -> Result<Descent, LiveError> {
    let Some(settings) = session::settings_of(meta) else {
        return Err(LiveError::UnknownPolicy { number });
    };
    Ok(Descent {
        settings,
        to: number.steps[number.program.len()..].to_vec(),
        program: number.program,
    })
}

/// Runs the program along a schedule that the checker accepts, up to the race.
///
/// # Errors
/// [`LiveError`]. That the program goes another way is an [`Outcome`].
pub fn run(planner: &Planner<'_>, schedule: &Schedule, launch: &Launch) -> Result<Run, LiveError> {
    let trace = planner.checker().trace();
    if matches!(
        schedule.goal,
        Goal::OtherValue { .. } | Goal::StalePointer { .. } | Goal::Deadlock(_) | Goal::PartialDeadlock(_)
    ) {
        return Err(LiveError::NoRace);
    }
    let plan = planner.plan(schedule)?;
    let steps = plan.steps().ok_or(LiveError::TooManyThreads)?;
    let bounds = Bounds {
        timeout: None,
        patience: Some(launch.patience),
        max_events: None,
        usual: None,
    };
    let (stopped, bytes) = Session::new(launch, bounds)?.stop_at_race(&steps)?;
    let live = TraceFile::from_bytes("the run's trace", bytes).map_err(LoadError::Read)?;
    let shown = identical::shown(trace, &live, schedule, &plan, &stopped).map_err(LoadError::Read)?;
    let (trace, outcome, unset_reads) = match shown {
        // Of what it did, nothing is asked but where the two stand.
        Some(shown) => (
            Trace::from_events(live.tables().clone(), &[]),
            Outcome::Confirmed(shown),
            UnsetReads::default(),
        ),
        None => {
            let live = Trace::from_file(&live)?;
            let mut comparison = Comparison::new(trace, &live);
            let outcome = outcome(
                &mut comparison,
                trace,
                &live,
                schedule,
                &plan,
                &stopped,
                launch.patience,
            );
            let unset_reads = comparison.unset_reads();
            (live, outcome, unset_reads)
        }
    };
    Ok(Run {
        trace,
        outcome,
        unset_reads,
        stopped,
    })
}

/// As [`run`], up to `attempts` times: a run that is not confirmed is repeated, and where it left
/// its schedule, the slices around that place are exchanged as far as the checker accepts it. The last
/// run, with the schedule that it followed and its number from 1.
///
/// # Errors
/// As [`run`].
pub fn attempt(
    planner: &Planner<'_>,
    schedule: &Schedule,
    launch: &Launch,
    attempts: u32,
) -> Result<(Run, Schedule, u32), LiveError> {
    let mut others: Option<std::vec::IntoIter<Schedule>> = None;
    let mut followed = schedule.clone();
    let mut number = 1;
    loop {
        let run = run(planner, &followed, launch)?;
        let step = match &run.outcome {
            Outcome::Diverged(divergence) => divergence.step,
            Outcome::NotReached { step, .. } => *step,
            Outcome::Confirmed(_) => return Ok((run, followed, number)),
        };
        if number >= attempts {
            return Ok((run, followed, number));
        }
        drop(run);
        // The same once more first: what it depends on may have been outside of the program.
        if number > 1 {
            let others = others.get_or_insert_with(|| variations(planner.checker(), schedule, step).into_iter());
            followed = others.next().unwrap_or_else(|| schedule.clone());
        }
        number += 1;
    }
}

fn outcome(
    comparison: &mut Comparison<'_>,
    trace: &Trace,
    live: &Trace,
    schedule: &Schedule,
    plan: &Plan,
    stopped: &Stopped,
    patience: Duration,
) -> Outcome {
    let at_race = stopped.standing == Standing::AtRace;
    let parked = stopped.parked.iter().filter(|_| at_race).map(|parked| parked.thread);
    let Compared { difference, missing } = comparison.steps(plan, &parked.collect::<Vec<_>>());
    let diverged = |step: usize, actual| {
        Outcome::Diverged(Divergence {
            step,
            expected: plan.event(step),
            actual,
        })
    };
    if let Some((step, done, difference)) = difference {
        return diverged(step, Actual::Did(done, difference));
    }
    let step = stopped.step.min(plan.len() - 1);
    let instead = || {
        let thread = trace.thread(plan.event(step));
        let before = plan.events().take(step);
        let nth = before.filter(|&event| trace.thread(event) == thread).count();
        let events = (thread.index() < live.threads()).then(|| live.program_order(thread));
        let done = events.and_then(|events| events.get(nth));
        done.map_or(Actual::Unrecorded, |done| Actual::Did(done, Difference::Event))
    };
    match stopped.standing {
        Standing::Diverged => diverged(step, instead()),
        Standing::Blocked | Standing::Stuck => diverged(step, Actual::Waits),
        Standing::Gone => diverged(step, Actual::Gone),
        Standing::Running
            if let Some(shown) = died_of_use(comparison, trace, live, schedule)
                && missing.is_none() =>
        {
            Outcome::Confirmed(shown)
        }
        // The second is of plans that a run goes on after.
        Standing::Running | Standing::Done => {
            let step = missing.unwrap_or(step);
            Outcome::NotReached {
                step,
                due: plan.event(step),
                why: stopped.ended.map_or(Why::Stalled(patience), Why::Ended),
            }
        }
        Standing::AtRace => match missing {
            Some(step) => diverged(step, Actual::Unrecorded),
            None => before_race(comparison, trace, live, schedule, plan, stopped),
        },
    }
}

/// The program stands still: is it before the two accesses of the witness, and do they conflict?
fn before_race(
    comparison: &mut Comparison<'_>,
    trace: &Trace,
    live: &Trace,
    schedule: &Schedule,
    plan: &Plan,
    stopped: &Stopped,
) -> Outcome {
    let mut shown = Vec::with_capacity(2);
    shown.extend(
        schedule
            .goal
            .performed_last()
            .and_then(|event| done(trace, live, event)),
    );
    for step in plan.done().end..plan.len() {
        let event = plan.event(step);
        let here = |parked: &&Parked| parked.thread == trace.thread(event);
        let accesses = || stopped.parked.iter().filter(here);
        let found = accesses().find_map(|parked| Some((parked, comparison.pending(event, parked)?)));
        let Some((parked, addr)) = found else {
            let actual = accesses()
                .next()
                .map_or(Actual::Unrecorded, |parked| Actual::OtherMemory {
                    addr: parked.range.0,
                });
            return Outcome::Diverged(Divergence {
                step,
                expected: event,
                actual,
            });
        };
        shown.push(Shown {
            event,
            pc: parked.pc,
            stack: parked.stack,
            addr,
            pending: true,
        });
    }
    // The first of the two that belong together shares the memory as well.
    let first_is_shown = match schedule.goal {
        Goal::AtomicityViolation { first, .. } => {
            let both = done(trace, live, first).zip(shown.last());
            both.is_none_or(|(first, second)| overlap(trace, &first, second))
        }
        Goal::TornPair { first, writes, .. } if !schedule.goal.awaited().contains(&writes[0]) => {
            let both = done(trace, live, first).zip(done(trace, live, writes[0]));
            both.is_none_or(|(first, write)| overlap(trace, &first, &write))
        }
        _ => true,
    };
    match is_shown(trace, schedule, &shown) && first_is_shown {
        true => Outcome::Confirmed(shown),
        false => Outcome::Diverged(Divergence {
            step: plan.len() - 1,
            expected: plan.event(plan.len() - 1),
            actual: Actual::Unrecorded,
        }),
    }
}

/// A free, and the access behind it that the program died of: where the kernel took the memory, no thread can be
/// stopped before.
fn died_of_use(
    comparison: &mut Comparison<'_>,
    trace: &Trace,
    live: &Trace,
    schedule: &Schedule,
) -> Option<Vec<Shown>> {
    let Goal::UseAfterFree { free, access } = schedule.goal else {
        return None;
    };
    let thread = trace.thread(access);
    let mut pending = live.tables().meta.pending.iter();
    let fault = pending.find(|pending| matches!(pending.kind, PendingKind::Died(_)) && pending.thread == thread)?;
    if !comparison.same_position(trace.pc(access), fault.pc) {
        return None;
    }
    let shown = Shown {
        event: access,
        pc: fault.pc,
        stack: fault.stack,
        addr: fault.addr,
        pending: true,
    };
    let shown = vec![done(trace, live, free)?, shown];
    is_shown(trace, schedule, &shown).then_some(shown)
}

/// The first access of an unordered race, or a free: it is done.
fn done(trace: &Trace, live: &Trace, event: EventId) -> Option<Shown> {
    let thread = trace.thread(event);
    let nth = trace.place(event) as usize;
    let done = live.program_order(thread).get(nth)?;
    Some(Shown {
        event,
        pc: live.pc(done),
        stack: live.stack(done),
        addr: live.access(done)?.addr,
        pending: false,
    })
}

/// Whether these are the accesses of a goal: of two, whether they share a byte in the live run as well. (Their kinds,
/// which are those of the schedule, conflict.) Of an order, one is pending; that nothing has come first which has to,
/// the steps before have shown.
fn is_shown(trace: &Trace, schedule: &Schedule, shown: &[Shown]) -> bool {
    let (a, b) = match (&schedule.goal, shown) {
        // What it is to come before has not happened.
        (Goal::Order { .. } | Goal::TornPair { .. }, [early]) => return early.pending,
        (_, [a, b]) => (a, b),
        _ => return false,
    };
    overlap(trace, a, b)
}

/// Whether two accesses share a byte in the live run.
fn overlap(trace: &Trace, a: &Shown, b: &Shown) -> bool {
    let size = |shown: &Shown| trace.access(shown.event).map_or(0, |access| access.size);
    a.addr < b.addr + size(b) && b.addr < a.addr + size(a)
}
