//! A whole recorded run again: every event in its order, to the same end.
//!
//! What made a run fail is in its trace: who ran when, and what came from outside. So a run that fails once in a
//! thousand is forced to fail again. Where the program leaves the trace, it goes on under the policy that it was
//! recorded with, so that it comes to an end.

use super::compare::{Compared, Comparison, Difference};
use super::{Actual, Divergence, LiveError, Plan, UnsetReads};
use crate::record::ProcessNumber;
use crate::session::{Bounds, Diverged, Ran, Session};
use crate::session::{Launch, Settings, settings_of};
use crate::trace::{EventId, LoadError, ThreadId, Trace};
use trace_format::ProgramEnd;

/// A run that was to be the recorded one.
#[derive(Debug)]
pub struct Again {
    /// What it did.
    pub trace: Trace,
    /// Whether that was the same.
    pub outcome: Sameness,
    /// Reads of bytes that no recorded code had set, which saw something else.
    pub unset_reads: UnsetReads,
}

/// How far a run was the recorded one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sameness {
    /// Every event was the same, and so was the end.
    Reproduced(ProgramEnd),
    /// A thread did something else than it did then.
    Diverged(Divergence),
    /// A thread did all that it did then, and more: this event of the live run is the first.
    More(EventId),
    /// All events were the same, but the program ended otherwise.
    OtherEnd {
        /// How it ended then.
        recorded: ProgramEnd,
        /// How it ended now.
        live: ProgramEnd,
    },
    /// The program did nothing else, but ended before it had done everything.
    NotReached {
        /// The first event that was not done, in the recorded trace.
        due: EventId,
        /// How it ended.
        end: ProgramEnd,
    },
}

/// Runs the program of a trace once more, exactly as it was recorded. What the recording did not see the end of (a
/// limit ended it, the recorder was killed) is followed to the last event, and ended there.
///
/// # Errors
/// [`LiveError`]. That the program goes another way is a [`Sameness`].
pub fn as_recorded(trace: &Trace, launch: &Launch) -> Result<Again, LiveError> {
    if launch.descent.is_some() {
        let number = ProcessNumber::of(&trace.tables().meta);
        return Err(LiveError::ForkedProcess {
            number: number.map_or_else(String::new, |number| number.to_string()),
        });
    }
    let plan = Plan::of_all(trace);
    let steps = plan.steps().ok_or(LiveError::TooManyThreads)?;
    let bounds = Bounds {
        timeout: None,
        patience: Some(launch.patience),
        max_events: (!ended_by_itself(*trace.program_end())).then_some(trace.len() as u64),
        usual: None,
    };
    let then = settings_of(&trace.tables().meta).unwrap_or_else(Settings::fifo);
    let ran = Session::new(launch, bounds)?.follow(&steps, then)?;
    let live = Trace::from_file(&ran.trace().map_err(LoadError::Read)?)?;
    let mut comparison = Comparison::new(trace, &live);
    let outcome = sameness(&mut comparison, trace, &live, &plan, &ran);
    let unset_reads = comparison.unset_reads();
    Ok(Again {
        trace: live,
        outcome,
        unset_reads,
    })
}

/// Whether a program came to an end of its own, or to a standstill.
fn ended_by_itself(end: ProgramEnd) -> bool {
    match end {
        ProgramEnd::Exited(_) | ProgramEnd::Signaled(_) | ProgramEnd::Deadlock => true,
        ProgramEnd::EventLimit | ProgramEnd::TimeLimit | ProgramEnd::Unknown => false,
    }
}

fn sameness(comparison: &mut Comparison<'_>, trace: &Trace, live: &Trace, plan: &Plan, ran: &Ran) -> Sameness {
    let Compared { difference, missing } = comparison.steps(plan, &[]);
    let did = difference.map(|(step, done, difference)| (step, Actual::Did(done, difference)));
    let left = ran.diverged.and_then(|diverged| match diverged {
        Diverged::Did { step, event } => Some((step, Actual::Did(EventId(event as u32), Difference::Event))),
        Diverged::Waits { step } | Diverged::Stuck { step } => Some((step, Actual::Waits)),
        Diverged::Gone { step } => Some((step, Actual::Gone)),
        Diverged::Ended { .. } => None,
    });
    // What a thread did otherwise says more than that another one could not go on because of it.
    let first = [did, left].into_iter().flatten().min_by_key(|(step, _)| *step);
    if let Some((step, actual)) = first {
        return Sameness::Diverged(Divergence {
            step,
            expected: plan.event(step),
            actual,
        });
    }
    if let Some(step) = missing {
        return Sameness::NotReached {
            due: plan.event(step),
            end: ran.end,
        };
    }
    let recorded = *trace.program_end();
    if !ended_by_itself(recorded) {
        return Sameness::Reproduced(recorded);
    }
    let more = (0..live.threads()).find_map(|thread| {
        let thread = ThreadId(thread as u32);
        let known = thread.index() < trace.threads();
        let before = if known { trace.program_order(thread).len() } else { 0 };
        live.program_order(thread).get(before)
    });
    match more {
        Some(event) => Sameness::More(event),
        None if ran.end == recorded => Sameness::Reproduced(recorded),
        None => Sameness::OtherEnd {
            recorded,
            live: ran.end,
        },
    }
}
