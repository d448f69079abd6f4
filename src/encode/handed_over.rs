//! γ for locks that one thread gives back for another.
//!
//! Which acquire a release goes with depends on the schedule, so there are no sections to keep apart.
//! What the lock does is a function of its events so far, in order; if that makes an event impossible,
//! the clause says so of this one history: another event of the lock comes before it, or one of these does
//! not, or two of them change places, or the event itself is not in the prefix.

use super::{Encoder, FactId, Mutation, before, behind};
use crate::trace::{EventId, ObjectId};
use crate::verdict::Fact;

impl Encoder<'_> {
    /// Writes down that `event` is not enabled right after `history`, the events of its lock before it.
    /// Returns whether that is new.
    pub fn exclude_history(&mut self, lock: ObjectId, history: &[EventId], event: EventId) -> bool {
        let key = (event, history.to_vec());
        if !self.histories.insert(key) {
            return false;
        }
        let fact = match self.handed_over_fact(lock) {
            Some(known) => known,
            None => {
                let fact = self.new_fact(Fact::HandedOver { lock });
                self.handed_over.insert(lock, fact);
                fact
            }
        };
        if self.mutation == Some(Mutation::NoHandOvers) {
            return true;
        }
        let mut literals = vec![behind(event)];
        let sequence: Vec<EventId> = history.iter().copied().chain([event]).collect();
        literals.extend(sequence.windows(2).map(|pair| before(pair[1], pair[0])));
        let others = self.sections.handed_over(lock).iter().copied();
        literals.extend(
            others
                .filter(|other| !sequence.contains(other))
                .map(|other| before(other, event)),
        );
        self.clause(fact, &literals);
        true
    }

    /// The fact about a lock that is handed over, if some of it is written down.
    #[must_use]
    pub fn handed_over_fact(&self, lock: ObjectId) -> Option<FactId> {
        self.handed_over.get(&lock).copied()
    }
}
