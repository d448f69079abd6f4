//! γ for attempts at a semaphore that failed: its count is 0 then.
//!
//! A count is never below 0, so what has to be excluded is that more permits come before the attempt, initial ones
//! and posts, than waits. One clause excludes that for one set of posts and one number of waits: not all of the posts come before the
//! attempt, or more waits than that do. Program order makes it short: of each thread's posts the last one says it for all,
//! and of its waits the first one that is not counted. (A matching of permits to waits, as for the waits themselves, would say it for
//! all sets at once, in permits times waits clauses for each attempt.)

use super::{Encoder, FactId, Mutation, before, behind};
use crate::trace::{EventId, ObjectId, Op, ThreadId};
use crate::verdict::Fact;
use hashbrown::HashSet;
use std::collections::BTreeMap;

/// What is written down of one attempt.
#[derive(Clone, Debug)]
pub(super) struct FailedWait {
    fact: FactId,
    /// The posts and waits that its clauses name.
    clauses: HashSet<(Vec<EventId>, Vec<EventId>)>,
}

impl Encoder<'_> {
    /// Writes down that `attempt` does not fail right after these posts and fewer waits, both all that precede it of
    /// their threads. Returns whether that is new.
    pub fn exclude_permits(
        &mut self,
        attempt: EventId,
        semaphore: ObjectId,
        posts: &[EventId],
        waits: &[EventId],
    ) -> bool {
        let counted: HashSet<EventId> = waits.iter().copied().collect();
        let can_precede = |wait: &EventId| !counted.contains(wait) && !self.order.before(attempt, *wait);
        let mut others: Vec<EventId> = self.waits_of(semaphore).iter().copied().filter(can_precede).collect();
        let initial = self.trace.initial_count(semaphore) as usize;
        let mut posts = posts.to_vec();
        posts.sort_unstable();
        // What is left over: the clause may as well ask for as many more waits, the next ones in π, as would still be too few. If there
        // are not so many, fewer posts are too many already.
        let mut left = (initial + posts.len()).saturating_sub(waits.len() + 1);
        let more = left.min(others.len());
        others.drain(..more);
        left -= more;
        posts.truncate(posts.len().saturating_sub(left));
        let mut last: BTreeMap<ThreadId, EventId> = BTreeMap::new();
        for &post in &posts {
            last.insert(self.trace.thread(post), post);
        }
        let mut first: BTreeMap<ThreadId, EventId> = BTreeMap::new();
        for &wait in &others {
            first.entry(self.trace.thread(wait)).or_insert(wait);
        }
        let named: (Vec<EventId>, Vec<EventId>) = (last.into_values().collect(), first.into_values().collect());
        let fact = self.fact_of_failed_wait(attempt, semaphore);
        let new = |known: &mut FailedWait| known.clauses.insert(named.clone());
        if !self.failed_waits.get_mut(&attempt).is_some_and(new) {
            return false;
        }
        if self.mutation != Some(Mutation::NoFailedWaits) {
            let mut literals = vec![behind(attempt)];
            literals.extend(named.0.iter().map(|&post| before(attempt, post)));
            literals.extend(named.1.iter().map(|&wait| before(wait, attempt)));
            self.clause(fact, &literals);
        }
        true
    }

    fn fact_of_failed_wait(&mut self, attempt: EventId, semaphore: ObjectId) -> FactId {
        if let Some(fact) = self.failed_wait_fact(attempt) {
            return fact;
        }
        let posts = self.index.posts.get(&semaphore.0).into_iter().flatten().copied();
        let posts = posts.filter(|&post| !self.order.before(attempt, post)).collect();
        let fact = self.new_fact(Fact::FailedWait { attempt, posts });
        let clauses = HashSet::new();
        self.failed_waits.insert(attempt, FailedWait { fact, clauses });
        fact
    }

    /// The waits that took a permit of the semaphore at which an attempt failed.
    #[must_use]
    pub fn waits_of_attempt(&self, attempt: EventId) -> &[EventId] {
        match self.trace.op(attempt) {
            Op::SemWaitFailed { semaphore } => self.waits_of(semaphore),
            _ => &[],
        }
    }

    fn waits_of(&self, semaphore: ObjectId) -> &[EventId] {
        self.index.semaphore_waits.get(&semaphore.0).map_or(&[], Vec::as_slice)
    }

    /// The fact about a failed attempt at a semaphore, if some of it is written down.
    #[must_use]
    pub fn failed_wait_fact(&self, attempt: EventId) -> Option<FactId> {
        self.failed_waits.get(&attempt).map(|known| known.fact)
    }
}
