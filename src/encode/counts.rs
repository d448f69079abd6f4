//! γ for events that need a certain count of a semaphore: 0 at an attempt that failed, and what was seen where a
//! program asked for it.
//!
//! What has to be excluded is that another number of permits is left before the event: initial ones and posts, less the
//! waits. One clause excludes *too many* for one set of posts and one number of waits: not all of the posts come before
//! the event, or more waits than that do. Program order makes it short: of each thread's posts the last one says it for
//! all, and of its waits the first one that is not counted. *Too few* is the same with posts and waits exchanged. (A
//! count is never below 0, so an attempt that failed never finds too few.) (A matching of permits to waits, as for the
//! waits themselves, would say it for all sets at once, in permits times waits clauses for each event.)

use super::{Encoder, FactId, Mutation, before, behind};
use crate::semantics::Need;
use crate::semantics::semaphores::Step;
use crate::trace::{EventId, ObjectId, ThreadId};
use crate::verdict::Fact;
use hashbrown::HashSet;
use std::collections::BTreeMap;

/// What is written down of one event.
#[derive(Clone, Debug)]
pub(super) struct Count {
    fact: FactId,
    /// The last changes before it and the first ones behind it that its clauses name.
    clauses: HashSet<(Vec<EventId>, Vec<EventId>)>,
}

impl Encoder<'_> {
    /// Writes down that `event`, which needs another count, does not come right after these posts and waits, all that
    /// precede it of their threads. Returns whether that is new.
    pub fn exclude_count(&mut self, event: EventId, semaphore: ObjectId, posts: &[EventId], waits: &[EventId]) -> bool {
        let Some(wanted) = self.count_wanted(event) else {
            return false;
        };
        let initial = i64::from(self.trace.initial_count(semaphore));
        let surplus = initial + posts.len() as i64 - waits.len() as i64 - i64::from(wanted);
        let too_many = surplus > 0;
        // These brought it about, and of those more would have been needed.
        let (done, all_missing) = if too_many {
            (posts, self.waits_of(semaphore))
        } else {
            (waits, self.posts_of(semaphore))
        };
        let counted: HashSet<EventId> = if too_many { waits } else { posts }.iter().copied().collect();
        let can_precede = |change: &EventId| !counted.contains(change) && !self.order.before(event, *change);
        let mut missing: Vec<EventId> = all_missing.iter().copied().filter(can_precede).collect();
        let mut done = done.to_vec();
        done.sort_unstable();
        // What is left over: the clause may as well ask for as many more, the next ones in π, as would still be too
        // few. If there are not so many, fewer are too many already.
        let mut left = usize::try_from(surplus.abs()).unwrap_or_default().saturating_sub(1);
        let more = left.min(missing.len());
        missing.drain(..more);
        left -= more;
        done.truncate(done.len().saturating_sub(left));
        let mut last: BTreeMap<ThreadId, EventId> = BTreeMap::new();
        for &change in &done {
            last.insert(self.trace.thread(change), change);
        }
        let mut first: BTreeMap<ThreadId, EventId> = BTreeMap::new();
        for &change in &missing {
            first.entry(self.trace.thread(change)).or_insert(change);
        }
        let named: (Vec<EventId>, Vec<EventId>) = (last.into_values().collect(), first.into_values().collect());
        let fact = self.fact_of_count(event, semaphore);
        let new = |known: &mut Count| known.clauses.insert(named.clone());
        if !self.counts.get_mut(&event).is_some_and(new) {
            return false;
        }
        let left_out = match Step::of(self.trace.op(event)) {
            Some((_, Step::Value(_))) if too_many => Mutation::SmallCounts,
            Some((_, Step::Value(_))) => Mutation::LargeCounts,
            _ => Mutation::NoFailedWaits,
        };
        if self.mutation != Some(left_out) {
            let mut literals = vec![behind(event)];
            literals.extend(named.0.iter().map(|&change| before(event, change)));
            literals.extend(named.1.iter().map(|&change| before(change, event)));
            self.clause(fact, &literals);
        }
        true
    }

    fn fact_of_count(&mut self, event: EventId, semaphore: ObjectId) -> FactId {
        if let Some(fact) = self.count_fact(event) {
            return fact;
        }
        let can_precede = |change: &EventId| !self.order.before(event, *change);
        let posts = self.posts_of(semaphore).iter().copied().filter(can_precede).collect();
        let waits = self.waits_of(semaphore).iter().copied().filter(can_precede).collect();
        let fact = self.new_fact(match Step::of(self.trace.op(event)) {
            Some((_, Step::Value(_))) => Fact::Count {
                look: event,
                posts,
                waits,
            },
            _ => Fact::FailedWait { attempt: event, posts },
        });
        let clauses = HashSet::new();
        self.counts.insert(event, Count { fact, clauses });
        fact
    }

    /// What brings about the count that an event needs: the waits that took the permits that an attempt did not find,
    /// all that changed a count that was seen.
    pub fn changes_of_count(&self, event: EventId) -> impl Iterator<Item = EventId> + '_ {
        let (posts, waits): (&[EventId], &[EventId]) = match Step::of(self.trace.op(event)) {
            Some((semaphore, Step::FailedWait)) => (&[], self.waits_of(semaphore)),
            Some((semaphore, Step::Value(_))) => (self.posts_of(semaphore), self.waits_of(semaphore)),
            _ => (&[], &[]),
        };
        posts.iter().chain(waits).copied()
    }

    fn count_wanted(&self, event: EventId) -> Option<u32> {
        Step::of(self.trace.op(event)).and_then(|(_, step)| step.only_count())
    }

    fn posts_of(&self, semaphore: ObjectId) -> &[EventId] {
        self.index.serving(Need::Permit(semaphore))
    }

    fn waits_of(&self, semaphore: ObjectId) -> &[EventId] {
        self.index.semaphore_waits.get(&semaphore.0).map_or(&[], Vec::as_slice)
    }

    /// The fact about the count that an event needs, if some of it is written down.
    #[must_use]
    pub fn count_fact(&self, event: EventId) -> Option<FactId> {
        self.counts.get(&event).map(|known| known.fact)
    }
}
