//! Replays one lock that threads give back for each other.

use super::replay::Violation;
use crate::semantics::locks::State;
use crate::trace::{EventId, ObjectId, Sections, Trace};

/// The lock after some of its events.
pub(super) struct HandedOver {
    lock: ObjectId,
    state: State,
    history: Vec<EventId>,
}

impl HandedOver {
    /// The lock as it was before the trace.
    pub(super) fn new(trace: &Trace, sections: &Sections, lock: ObjectId) -> HandedOver {
        let events = sections.handed_over(lock).iter();
        HandedOver {
            lock,
            state: State::before(events.map(|&event| (trace.thread(event), trace.op(event)))),
            history: Vec::new(),
        }
    }

    /// Executes an event of the lock; says if it was not enabled.
    pub(super) fn step(&mut self, trace: &Trace, event: EventId) -> Option<Violation> {
        let enabled = self.state.perform(trace, event);
        let violation = (!enabled).then(|| Violation::HandedOver {
            lock: self.lock,
            history: self.history.clone(),
            event,
        });
        self.history.push(event);
        violation
    }
}
