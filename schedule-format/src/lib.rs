//! Schedules: in which order the threads take their steps, and the text form of that.
//!
//! A schedule names a feasible prefix of a trace as slices, "thread t performs its next n
//! events", and for every notify that finds somebody waiting, whom it wakes. That is all a
//! checker or a replayer needs: the events themselves follow from program order. Its [`Goal`] says what
//! that prefix shows.
//!
//! [`text`] is how a schedule is stored.

mod goal;
pub mod text;

pub use goal::Goal;
pub use text::{Malformed, ParseScheduleError, VERSION};

use trace_format::{EventId, ThreadId, TraceId};

/// A stretch of a schedule in which one thread runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The thread that runs.
    pub thread: ThreadId,
    /// How many of its events it performs, at least 1.
    pub events: u32,
}

/// A thread schedule of a trace that ends in a goal.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Schedule {
    /// The trace that it belongs to.
    pub trace: TraceId,
    /// How many events of it were looked at, if not all: the schedule is one of a trace that is cut behind these.
    pub first_events: Option<u32>,
    /// What it ends in.
    pub goal: Goal,
    /// How many events come first, just as recorded: so many of the trace, in its order. 0 for most;
    /// in a long trace, where the goal lies late, it keeps the schedule short.
    pub as_recorded: u32,
    /// Who runs then, up to the goal. Neighboring slices are of different threads.
    pub slices: Vec<Slice>,
    /// Which thread each notify wakes, for those that find somebody waiting; a notify-all wakes
    /// everybody and is not listed. In the order of the schedule. Among the events as recorded, a notify
    /// that is not listed wakes the waiter whose wait ends first in the trace.
    pub wakes: Vec<(EventId, ThreadId)>,
}

impl Slice {
    /// The slices of events of these threads, one after the other.
    #[must_use]
    pub fn of(threads: impl IntoIterator<Item = ThreadId>) -> Vec<Slice> {
        let mut slices: Vec<Slice> = Vec::new();
        for thread in threads {
            match slices.last_mut() {
                Some(last) if last.thread == thread => last.events += 1,
                _ => slices.push(Slice { thread, events: 1 }),
            }
        }
        slices
    }
}

impl Schedule {
    /// Number of context switches, behind what is as recorded.
    #[must_use]
    pub fn switches(&self) -> usize {
        let first = usize::from(self.as_recorded == 0);
        self.slices.len().saturating_sub(first)
    }

    /// Number of events before the goal.
    #[must_use]
    pub fn len(&self) -> u64 {
        let then: u64 = self.slices.iter().map(|slice| u64::from(slice.events)).sum();
        u64::from(self.as_recorded) + then
    }

    /// Whether the goal is there before any event.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
