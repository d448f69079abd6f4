//! Why a candidate is refuted, in the strongest argument that was needed.

use super::Instance;
use super::decider::Decider;
use crate::prune::{held_at, history_clash};
use crate::trace::{EventId, ObjectId, Op};
use crate::verdict::{CutRefutation, Refutation, Unknown, Verdict};

impl Decider<'_> {
    /// The verdict when no instance is feasible: refuted, or, in a cut trace, not known.
    pub(super) fn refuted(&self, core: bool, locked: bool, (a, b): Instance) -> Verdict {
        let refutation = if core {
            // The facts come at the very end, and for so many only.
            Refutation::Core(Vec::new())
        } else if locked {
            self.lock_refutation(a, b)
        } else {
            let (first, second) = if self.order.before(a, b) { (a, b) } else { (b, a) };
            Refutation::MustHappenBefore(self.order.chain(self.trace, first, second))
        };
        if self.trace.cut().is_none() {
            return Verdict::Refuted(refutation);
        }
        Verdict::Unknown(Unknown::Cut(match refutation {
            Refutation::MustHappenBefore(_) => CutRefutation::MustHappenBefore,
            Refutation::CommonLock { .. } | Refutation::AtomicLock { .. } | Refutation::LockHistory { .. } => {
                CutRefutation::Locks
            }
            Refutation::Core(_) => CutRefutation::Core,
        }))
    }

    fn lock_refutation(&self, a: EventId, b: EventId) -> Refutation {
        let context = |event: EventId| match self.trace.op(event) {
            Op::Access(access) => self.contexts.get(self.contexts.of_access(access)),
            _ => unreachable!("candidates are accesses"),
        };
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
            let [taken_a, taken_b] = [a, b].map(|event| self.contexts.atomic_taken(self.trace, event, lock));
            if let (Some(taken_a), Some(taken_b)) = (taken_a, taken_b) {
                return Refutation::AtomicLock {
                    taken: (taken_a, taken_b),
                };
            }
            return Refutation::CommonLock {
                lock,
                acquired: (taken(&held_a, lock), taken(&held_b, lock)),
            };
        }
        let clash = history_clash(context(a), context(b)).expect("one of the two lock arguments applies");
        let acquired_after = |own: EventId, since: Option<EventId>, lock: ObjectId| {
            let order = self.trace.program_order(self.trace.thread(own));
            let from = since.map_or(0, |event| self.trace.place(event) as usize + 1);
            let takes = order[from..self.trace.place(own) as usize]
                .iter()
                .copied()
                .find(|&event| {
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
