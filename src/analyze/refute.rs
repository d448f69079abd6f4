//! The locks that keep two accesses apart, and where they were taken.

use super::decider::Decider;
use crate::prune::{LockContexts, held_at, history_clash};
use crate::trace::{EventId, ObjectId};
use crate::verdict::Refutation;

impl Decider<'_> {
    /// The locks, all of them objects, that exclude an instance.
    pub(super) fn lock_refutation(&self, contexts: &LockContexts, a: EventId, b: EventId) -> Refutation {
        let context = |event: EventId| contexts.get(contexts.of_access(event));
        let (held_a, held_b) = (
            held_at(self.trace, self.sections, a),
            held_at(self.trace, self.sections, b),
        );
        let taken = |held: &[(ObjectId, bool, EventId)], lock: ObjectId| {
            held.iter()
                .find(|&&(other, ..)| other == lock)
                .map(|&(.., event)| event)
        };
        if let Some(lock) = context(a).common_lock(&context(b)) {
            return Refutation::CommonLock {
                lock,
                acquired: (taken(&held_a, lock), taken(&held_b, lock)),
            };
        }
        let clash = history_clash(context(a), context(b)).expect("one of the two lock arguments applies");
        let acquired_after = |own: EventId, since: Option<EventId>, lock: ObjectId| {
            let order = self.trace.program_order(self.trace.thread(own));
            let from = since.map_or(0, |event| self.trace.place(event) as usize + 1);
            let takes = order.excerpt(from..self.trace.place(own) as usize).find(|&event| {
                self.sections
                    .opened_by(event)
                    .is_some_and(|id| self.sections.get(id).lock == lock)
            });
            takes.unwrap_or(own)
        };
        Refutation::LockHistory {
            first: (
                clash.first,
                acquired_after(b, taken(&held_b, clash.second), clash.first),
            ),
            second: (
                clash.second,
                acquired_after(a, taken(&held_a, clash.first), clash.second),
            ),
        }
    }
}
