//! γ: locks, waits and semaphores in the prefix obey their semantics.
//!
//! *Locks.* Two critical sections that exclude each other do not overlap: the release of one
//! comes before the acquire of the other. Said et al. (2011, equation 4) encode the lock's owner
//! as a variable with write-read consistency; pairs of sections say the same with fewer literals.
//! If the release before the other's acquire is in the order, it is in the prefix too. A section
//! that is never closed lets nobody in after it.
//!
//! *Waits* that were notified are matched to a notify on the condition between their beginning
//! and end; a `notify` serves one wait at most. That a notify which finds somebody waiting must
//! wake somebody needs no clause: it can wake a waiter that does not return within the prefix, or
//! else the one whose end comes first, whose own notify is then free for another. Timeouts need
//! no notify and take part in no matching.
//!
//! *Failed acquires* need another thread's section around them. *Semaphores*: each wait is matched
//! to a post before it or to one of the initial permits, none used twice; a count that never
//! falls below zero is exactly such a matching. (What needs a [certain count](super::counts) is another matter.) *Once
//! cells*: a wait needs one of the ends before it.

use super::{Choice, Encoder, FactId, Literal, Mutation, before, behind};
use crate::semantics::Need;
use crate::trace::{EventId, ObjectId, SectionId};
use crate::verdict::Fact;

/// What can serve a wait, or hold the lock at a failed acquire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// A notify or a post.
    Event(EventId),
    /// An initial permit of a semaphore.
    Permit(ObjectId, u32),
    /// A critical section of another thread.
    Section(SectionId),
}

/// How a wait, a semaphore's wait or a failed acquire may be explained.
#[derive(Clone, Debug)]
pub struct Matching {
    /// The fact that the event needs one of these.
    pub fact: FactId,
    /// Each possible source and the choice that says it is the one.
    pub options: Vec<(Source, Choice)>,
    /// Notifies that are not among them yet, the next ones last, and the choice that says it is one of these.
    others: Option<(Vec<EventId>, Choice)>,
}

/// As many notifies may explain a wait at first; then twice as many, and so on.
const NEAREST: usize = 1;

impl Encoder<'_> {
    /// The matching of an event whose constraint is written down already.
    #[must_use]
    pub fn matching(&self, event: EventId) -> Option<&Matching> {
        self.matchings.get(&event)
    }

    /// Writes down that two sections on one lock do not overlap. Returns whether that is new.
    pub fn constrain_sections(&mut self, a: SectionId, b: SectionId) -> bool {
        let key = (a.min(b), a.max(b));
        let (first, second) = (self.sections.get(key.0), self.sections.get(key.1));
        if !first.excludes(second) || self.lock_pairs.contains_key(&key) {
            return false;
        }
        let fact = self.new_fact(Fact::Lock {
            lock: first.lock,
            first: (first.acquire, first.release),
            second: (second.acquire, second.release),
        });
        self.lock_pairs.insert(key, fact);
        if self.mutation == Some(Mutation::NoLocks) {
            return true;
        }
        let mut literals = Vec::with_capacity(4);
        literals.extend(first.acquire.map(behind));
        literals.extend(second.acquire.map(behind));
        for (earlier, later) in [(first, second), (second, first)] {
            if let (Some(release), Some(acquire)) = (earlier.release, later.acquire) {
                literals.push(before(release, acquire));
            }
        }
        self.clause(fact, &literals);
        true
    }

    /// The fact that two sections do not overlap, if it is written down.
    #[must_use]
    pub fn section_fact(&self, a: SectionId, b: SectionId) -> Option<FactId> {
        self.lock_pairs.get(&(a.min(b), a.max(b))).copied()
    }

    /// The pairs of sections that are kept apart already, in order.
    #[must_use]
    pub fn section_pairs(&self) -> Vec<(SectionId, SectionId, FactId)> {
        let mut pairs: Vec<_> = self.lock_pairs.iter().map(|(&(a, b), &fact)| (a, b, fact)).collect();
        pairs.sort_unstable();
        pairs
    }

    /// Writes down what a notified wait, a semaphore's or once cell's wait or a failed acquire needs. Returns
    /// whether that is new. Other events need nothing here.
    pub fn constrain_matching(&mut self, event: EventId) -> bool {
        if self.matchings.contains_key(&event) {
            return false;
        }
        match Need::of(self.trace.op(event)) {
            Some(Need::Wake(condition)) => self.wait(event, condition),
            Some(Need::Permit(semaphore)) => self.semaphore(event, semaphore),
            Some(Need::Holder { lock, shared }) => self.failed_acquire(event, lock, shared),
            Some(Need::Initialization(once)) => self.once_wait(event, once),
            Some(Need::Count(_)) | None => return false,
        }
        true
    }

    /// The events that can serve a need of an event, as far as must-happen-before says.
    fn can_serve(&self, event: EventId, need: Need) -> impl Iterator<Item = EventId> + '_ {
        let all = self.index.serving(need).iter().copied();
        all.filter(move |&source| !self.order.before(event, source))
    }

    fn wait(&mut self, end: EventId, condition: ObjectId) {
        let begin = self.index.wait_begin.get(&end).copied();
        if begin.is_none() && !self.trace.waiting_at_start().contains(&(condition, end)) {
            // Woken before the trace began.
            return;
        }
        let fits = |notify: EventId| begin.is_none_or(|begin| !self.order.before(notify, begin));
        let possible: Vec<EventId> = self
            .can_serve(end, Need::Wake(condition))
            .filter(|&notify| fits(notify))
            .collect();
        let fact = self.new_fact(Fact::Wait {
            end,
            notifies: possible.clone(),
        });
        let likely = possible.iter().rev().copied().find(|&notify| notify < end);
        let mut notifies = possible;
        notifies.sort_by_key(|&notify| std::cmp::Reverse((likely != Some(notify), notify.0.abs_diff(end.0))));
        let known = Matching {
            fact,
            options: Vec::new(),
            others: None,
        };
        self.matchings.insert(end, known);
        self.add_notifies(end, behind(end), notifies, NEAREST);
    }

    /// Writes down more of the notifies that can explain a wait. Returns whether there are more.
    pub fn more_notifies(&mut self, end: EventId) -> bool {
        let Some(known) = self.matchings.get_mut(&end) else {
            return false;
        };
        let so_far = known.options.len();
        let Some((notifies, others)) = known.others.take() else {
            return false;
        };
        self.add_notifies(end, Literal::NotChosen(others), notifies, so_far);
        true
    }

    /// Unless `none` is true, one of the first `count` notifies ends the wait, or some other.
    fn add_notifies(&mut self, end: EventId, none: Literal, mut notifies: Vec<EventId>, count: usize) {
        let Some(fact) = self.matchings.get(&end).map(|known| known.fact) else {
            return;
        };
        let begin = self.index.wait_begin.get(&end).copied();
        let mut options = Vec::new();
        for notify in notifies
            .split_off(notifies.len().saturating_sub(count))
            .into_iter()
            .rev()
        {
            // In π, some notify between beginning and end did it; which one is not recorded. The first is likely.
            let likely = options.is_empty() && matches!(none, Literal::Before(..)) && notify < end;
            let choice = self.new_choice(likely);
            options.push((Source::Event(notify), choice));
            if let Some(begin) = begin {
                self.clause(fact, &[Literal::NotChosen(choice), before(begin, notify)]);
            }
            self.clause(fact, &[Literal::NotChosen(choice), before(notify, end)]);
        }
        let others = (!notifies.is_empty()).then(|| (notifies, self.new_choice(false)));
        let mut some = vec![none];
        some.extend(options.iter().map(|&(_, choice)| Literal::Chosen(choice)));
        some.extend(others.as_ref().map(|&(_, choice)| Literal::Chosen(choice)));
        if self.mutation != Some(Mutation::NoWaits) {
            self.clause(fact, &some);
        }
        if let Some(known) = self.matchings.get_mut(&end) {
            known.options.extend(options);
            known.others = others;
        }
    }

    fn semaphore(&mut self, wait: EventId, semaphore: ObjectId) {
        let initial = self.trace.initial_count(semaphore);
        let posts: Vec<EventId> = self.can_serve(wait, Need::Permit(semaphore)).collect();
        let fact = self.new_fact(Fact::Semaphore {
            wait,
            posts: posts.clone(),
        });
        let mut options = Vec::with_capacity(posts.len() + initial as usize);
        for permit in (0..initial).map(|number| Source::Permit(semaphore, number)) {
            let choice = self.new_choice(false);
            options.push((permit, choice));
        }
        for post in posts {
            let choice = self.new_choice(false);
            options.push((Source::Event(post), choice));
            self.clause(fact, &[Literal::NotChosen(choice), before(post, wait)]);
        }
        self.one_of(fact, wait, options);
    }

    fn once_wait(&mut self, wait: EventId, once: ObjectId) {
        let ends: Vec<EventId> = self.can_serve(wait, Need::Initialization(once)).collect();
        let fact = self.new_fact(Fact::Once {
            wait,
            ends: ends.clone(),
        });
        let mut options = Vec::with_capacity(ends.len());
        for end in ends {
            let choice = self.new_choice(end < wait);
            options.push((Source::Event(end), choice));
            self.clause(fact, &[Literal::NotChosen(choice), before(end, wait)]);
        }
        self.one_of(fact, wait, options);
    }

    fn failed_acquire(&mut self, attempt: EventId, lock: ObjectId, shared: bool) {
        let possible = self.sections.on(lock).filter(|&id| {
            let section = self.sections.get(id);
            section.denies(shared)
                && section
                    .acquire
                    .is_none_or(|acquire| !self.order.before(attempt, acquire))
                && section
                    .release
                    .is_none_or(|release| !self.order.before(release, attempt))
        });
        let possible: Vec<SectionId> = possible.collect();
        let holders = possible
            .iter()
            .filter_map(|&id| self.sections.get(id).acquire)
            .collect();
        let fact = self.new_fact(Fact::FailedAcquire { attempt, holders });
        let mut options = Vec::with_capacity(possible.len());
        for id in possible {
            let section = self.sections.get(id);
            let around = section.acquire.is_none_or(|acquire| acquire < attempt)
                && section.release.is_none_or(|release| attempt < release);
            let choice = self.new_choice(around);
            options.push((Source::Section(id), choice));
            if let Some(acquire) = section.acquire
                && self.mutation != Some(Mutation::EarlyFailedAcquires)
            {
                self.clause(fact, &[Literal::NotChosen(choice), before(acquire, attempt)]);
            }
            if let Some(release) = section.release
                && self.mutation != Some(Mutation::LateFailedAcquires)
            {
                self.clause(fact, &[Literal::NotChosen(choice), before(attempt, release)]);
            }
        }
        self.one_of(fact, attempt, options);
    }

    /// An event in the prefix has one of its explanations.
    fn one_of(&mut self, fact: FactId, event: EventId, options: Vec<(Source, Choice)>) {
        let mut some = vec![behind(event)];
        some.extend(options.iter().map(|&(_, choice)| Literal::Chosen(choice)));
        let left_out = match Need::of(self.trace.op(event)) {
            Some(Need::Permit(_)) => Mutation::NoPermits,
            Some(Need::Initialization(_)) => Mutation::NoOnces,
            _ => Mutation::NoFailedAcquires,
        };
        if self.mutation != Some(left_out) {
            self.clause(fact, &some);
        }
        let known = Matching {
            fact,
            options,
            others: None,
        };
        self.matchings.insert(event, known);
    }

    /// Writes down that one source, a `notify` or a permit, does not serve both of two events with a matching. Returns
    /// whether that is new; it is not if one of them has no use for it.
    pub fn serve_once(&mut self, source: Source, first: EventId, second: EventId) -> bool {
        let key = (source, first.min(second), first.max(second));
        let choice = |event: EventId| {
            let known = self.matchings.get(&event)?;
            let option = known.options.iter().find(|&&(option, _)| option == source)?;
            Some((option.1, known.fact))
        };
        let (Some((one, _)), Some((other, of_later))) = (choice(key.1), choice(key.2)) else {
            return false;
        };
        if first == second || !self.once.insert(key) {
            return false;
        }
        let fact = match source {
            Source::Event(event) => match (
                Need::served_by(self.trace.op(event)),
                Need::serves_one(self.trace.op(event)),
            ) {
                (Some(Need::Wake(_)), false) => return false,
                (Some(Need::Wake(_)), true) if self.mutation == Some(Mutation::NotifyWakesMany) => return true,
                (Some(Need::Wake(_)), true) => self.new_fact(Fact::NotifyOnce {
                    notify: event,
                    ends: vec![key.1, key.2],
                }),
                _ => of_later,
            },
            Source::Permit(..) => of_later,
            Source::Section(_) => return false,
        };
        self.clause(fact, &[Literal::NotChosen(one), Literal::NotChosen(other)]);
        true
    }
}
