//! What is witnessed only if a library that was not recorded did not synchronize the events.

use crate::schedule::{Goal, Schedule};
use crate::symbols::{HiddenStretches, UnrecordedCalls};
use crate::trace::{EventId, Trace};
use crate::verdict::{Deadlock, Pair, Unknown, Verdict};
use std::sync::OnceLock;

/// Where unrecorded code may have synchronized threads. Worked out when something is witnessed: the code of all modules
/// is read for it.
pub(super) struct Doubts<'t> {
    trace: &'t Trace,
    hidden: OnceLock<Option<(UnrecordedCalls, HiddenStretches)>>,
}

impl<'t> Doubts<'t> {
    pub(super) fn about(trace: &'t Trace) -> Doubts<'t> {
        Doubts {
            trace,
            hidden: OnceLock::new(),
        }
    }

    /// What is to be said instead of this verdict, if it is a witness and such a library may come between two of these
    /// events.
    pub(super) fn instead(
        &self,
        verdict: &Verdict,
        pairs: impl IntoIterator<Item = (EventId, EventId)>,
    ) -> Option<Verdict> {
        let mut pairs = pairs.into_iter();
        self.instead_by(verdict, |hidden| {
            pairs.find_map(|(a, b)| hidden.between(self.trace, a, b))
        })
    }

    /// The same if such a library may come between two operations of a deadlock, or decide on one: what a thread finds
    /// before it waits for a condition is not recorded, and may be another thing in the schedule.
    pub(super) fn instead_of_deadlock(&self, deadlock: &Deadlock) -> Option<Verdict> {
        let example = &deadlock.example;
        let mut pairs = (0..example.len()).flat_map(|b| (0..b).map(move |a| (example[a], example[b])));
        self.instead_by(&deadlock.verdict, |hidden| {
            let decides = |&wait: &EventId| hidden.decides_on(self.trace, wait);
            let decided = example.iter().find_map(decides);
            decided.or_else(|| pairs.find_map(|(a, b)| hidden.between(self.trace, a, b)))
        })
    }

    fn instead_by(
        &self,
        verdict: &Verdict,
        library: impl FnOnce(&HiddenStretches) -> Option<usize>,
    ) -> Option<Verdict> {
        let Verdict::Witnessed(schedule) = verdict else {
            return None;
        };
        let (calls, hidden) = self.hidden.get_or_init(|| hidden(self.trace)).as_ref()?;
        let library = library(hidden)?;
        Some(Verdict::Unknown(Unknown::Unsynchronized {
            schedule: Box::new(schedule.clone()),
            library: calls.library(library).to_owned(),
            recorded: calls.is_recorded(library),
        }))
    }

    /// The same of a pair.
    pub(super) fn instead_of_pair(&self, pair: &Pair) -> Option<Verdict> {
        // What came too early in the recorded run itself did so whatever else was there.
        let was_early =
            |schedule: &Schedule| matches!(schedule.goal, Goal::Order { early, .. } if early == pair.example.0);
        match &pair.verdict {
            Verdict::Witnessed(schedule) if was_early(schedule) => None,
            verdict => self.instead(verdict, [pair.example]),
        }
    }
}

/// Nothing if no library of the trace may have carried anything from thread to thread.
fn hidden(trace: &Trace) -> Option<(UnrecordedCalls, HiddenStretches)> {
    if trace.tables().modules.is_empty() {
        return None;
    }
    let calls = UnrecordedCalls::in_trace(trace);
    let hidden = calls.may_carry().then(|| calls.hidden_synchronization(trace))?;
    Some((calls, hidden))
}
