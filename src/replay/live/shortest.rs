//! The shortest run that still ends as a recorded one did: fewest changes of threads, then fewest events.
//!
//! Delta debugging (Zeller, Hildebrandt, TSE 2002) on the order of a run, as Choi and Zeller did for failing schedules
//! (ISSTA 2002): a change makes the order simpler, the program is forced along it, and the change stays if the run
//! really ends in the same way with less. Two changes are tried: force only the beginning, and let one thread go on
//! from there until it has to wait; and let a thread do two of its stretches in one, at the place of the first or of
//! the second. Nothing is inferred: what a candidate run did is what it recorded, and that is where the search goes on.
//! A shorter run may exist that is not found.

use super::{LiveError, Plan};
use crate::session::{Bounds, Ran, Session};
use crate::session::{Launch, Settings, asked_to_end, plan};
use crate::trace::{EventId, LoadError, ThreadId, Trace};
use std::ops::Range;
use std::time::Duration;
use trace_format::ProgramEnd;

/// How long a candidate may take at most.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How many more events than the shortest run so far a candidate may have: it is no better then.
const SLACK: usize = 2;

/// The shortest failing run that was found.
#[derive(Debug)]
pub struct Shortest {
    /// What it did.
    pub trace: Trace,
    /// The file of its trace; `None` if none shorter than the recorded one was found.
    pub bytes: Option<Vec<u8>>,
    /// How many runs were made.
    pub runs: usize,
}

/// Consecutive events of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The thread.
    pub thread: ThreadId,
    /// The events, in the trace.
    pub events: Range<usize>,
}

/// The stretches of a trace, in order.
#[must_use]
pub fn stretches(trace: &Trace) -> Vec<Stretch> {
    let mut all: Vec<Stretch> = Vec::new();
    for event in 0..trace.len() {
        let thread = trace.thread(EventId(event as u32));
        match all.last_mut() {
            Some(last) if last.thread == thread => last.events.end = event + 1,
            _ => all.push(Stretch {
                thread,
                events: event..event + 1,
            }),
        }
    }
    all
}

/// Changes of threads, and events.
fn length(trace: &Trace) -> (usize, usize) {
    (stretches(trace).len(), trace.len())
}

/// Looks for the shortest run of a trace's program that ends as the recorded one did, with at most so many runs.
///
/// # Errors
/// [`LiveError`]; [`LiveError::NoFailure`] if the recorded run did not fail.
pub fn shortest(trace: Trace, launch: &Launch, runs: usize) -> Result<Shortest, LiveError> {
    let end = *trace.program_end();
    let fails = match end {
        ProgramEnd::Exited(status) => status != 0,
        ProgramEnd::Signaled(_) | ProgramEnd::Deadlock => true,
        ProgramEnd::EventLimit | ProgramEnd::TimeLimit | ProgramEnd::Unknown => false,
    };
    if !fails {
        return Err(LiveError::NoFailure);
    }
    let bounds = Bounds {
        timeout: Some(TIMEOUT),
        patience: Some(launch.patience),
        max_events: Some((SLACK * trace.len()) as u64),
        usual: None,
    };
    let session = Session::new(launch, bounds)?;
    shortest_that(trace, session, Settings::fifo(), runs, &mut |ran| ran.end == end)
}

/// Looks for the shortest run of which `fails` holds, as it does of the one of this trace. Behind what is forced, a run
/// goes on under `then`.
///
/// # Errors
/// [`LiveError`].
pub fn shortest_that(
    trace: Trace,
    session: Session,
    then: Settings,
    runs: usize,
    fails: &mut dyn FnMut(&Ran) -> bool,
) -> Result<Shortest, LiveError> {
    let mut search = Search {
        session,
        then,
        fails,
        left: runs,
        best: Shortest {
            trace,
            bytes: None,
            runs: 0,
        },
    };
    // Each gain makes others possible.
    while search.shorten_tail()? | search.join_stretches()? {}
    Ok(search.best)
}

struct Search<'f> {
    session: Session,
    then: Settings,
    /// Whether a run ends as it has to.
    fails: &'f mut dyn FnMut(&Ran) -> bool,
    left: usize,
    best: Shortest,
}

impl Search<'_> {
    fn words(&self) -> Result<Vec<plan::Words>, LiveError> {
        let plan = Plan::of_all(&self.best.trace);
        Ok(plan.steps().ok_or(LiveError::TooManyThreads)?.concat())
    }

    /// Runs the program along these events, then without more changes of threads than it needs; whether that is better.
    fn is_better(&mut self, steps: &[plan::Words]) -> Result<bool, LiveError> {
        if self.left == 0 || asked_to_end() {
            self.left = 0;
            return Ok(false);
        }
        self.left -= 1;
        self.best.runs += 1;
        let ran = self.session.follow(&[steps], self.then)?;
        if !(self.fails)(&ran) {
            return Ok(false);
        }
        let bytes = ran.into_bytes();
        let file = trace_format::TraceFile::from_bytes("the run's trace", bytes.clone()).map_err(LoadError::Read)?;
        let trace = Trace::from_file(&file)?;
        let better = length(&trace) < length(&self.best.trace);
        if better {
            self.best.trace = trace;
            self.best.bytes = Some(bytes);
        }
        Ok(better)
    }

    /// Forces only a beginning: as short a one as does. Whether anything was gained.
    fn shorten_tail(&mut self) -> Result<bool, LiveError> {
        let mut gained = false;
        let mut forced = 0;
        // From the front: what nothing needs to be forced for is best.
        loop {
            let steps = self.words()?;
            let ends: Vec<usize> = stretches(&self.best.trace).iter().map(|one| one.events.start).collect();
            let Some(&end) = ends.iter().find(|&&end| end >= forced) else {
                return Ok(gained);
            };
            gained |= self.is_better(&steps[..end])?;
            if self.left == 0 {
                return Ok(gained);
            }
            forced = end + 1;
        }
    }

    /// Lets threads do two of their stretches in one. Whether anything was gained.
    fn join_stretches(&mut self) -> Result<bool, LiveError> {
        let mut gained = false;
        let mut first = 0;
        loop {
            let all = stretches(&self.best.trace);
            let Some(one) = all.get(first) else {
                return Ok(gained);
            };
            let next = all[first + 1..].iter().find(|next| next.thread == one.thread);
            if let Some(next) = next {
                let steps = self.words()?;
                let between = one.events.end..next.events.start;
                // The second comes to the first, or the first waits for the second; what follows is forced as it was,
                // or not at all.
                let order = |parts: [Range<usize>; 3]| -> Vec<plan::Words> {
                    let parts = parts.into_iter().flat_map(|part| steps[part].iter().copied());
                    steps[..one.events.start].iter().copied().chain(parts).collect()
                };
                let advanced = order([one.events.clone(), next.events.clone(), between.clone()]);
                let delayed = order([between, one.events.clone(), next.events.clone()]);
                let rest = &steps[next.events.end..];
                let mut better = false;
                for candidate in [advanced, delayed] {
                    let whole: Vec<plan::Words> = candidate.iter().chain(rest).copied().collect();
                    better = self.is_better(&whole)? || self.is_better(&candidate)?;
                    if better {
                        break;
                    }
                }
                gained |= better;
                if self.left == 0 {
                    return Ok(gained);
                }
                if better {
                    continue;
                }
            }
            first += 1;
        }
    }
}
