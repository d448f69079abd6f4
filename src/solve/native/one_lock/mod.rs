//! What the sections of one lock allow, whatever else happens: a refutation for structures that a lock guards.
//!
//! A list under a mutex holds the same few pointers again and again. Of a read in one of its sections, as good as any
//! earlier write of that pointer may explain it, so no window that forgets how the list was before it refutes anything.
//! But the sections of the mutex come one after the other, and what they find in the list is what those before them have
//! left. There are few ways in which these can have followed one another, and they are all tried.
//!
//! A cell is *guarded* by a lock if it is accessed in its sections alone, and written only where the lock is held
//! exclusively, but for accesses that are needed before, or behind, all that other threads do to it (what initializes it, for
//! example). Each section, and each of these accesses, is a *step*: it finds some values, and leaves others.
//!
//! *No feasible prefix is lost.* Put the steps of a prefix in the order in which they begin. Sections of which one is
//! exclusive do not overlap, those that overlap write nothing that is guarded, and other accesses lie before or behind all
//! steps of other threads that touch the same cell. So each step finds in the guarded cells what the steps before it have
//! left, and it sees the values that it has seen in π (`docs/SEMANTICS.md`, section 2). What a section writes that the prefix
//! does not complete nobody else finds. Hence, if no order of steps, in which each finds what it saw, completes those that
//! the prefix must complete, and none that it must not, there is no such prefix.
//!
//! A step that only finds something may be left out, which allows more orders. So of many such in a row that find the same,
//! as of a thread that waits for others, the first and the last are kept.

mod guarded;
mod search;
mod steps;

use super::{MAX_WORK, Native, Steps};
use crate::prune::{Ending, MustHappenBefore, Needs};
use crate::trace::{CellId, EventId, ObjectId, Section, Sections, ThreadId, Trace};
use guarded::{Within, guarded};
use hashbrown::HashMap;
use search::Search;
use std::collections::VecDeque;
use std::hash::RandomState;
use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Mutex, PoisonError};
use steps::{Begun, Step, steps};

/// Events of a section that the prefix does not complete, at most.
const MAX_BEGUN: u32 = 1 << 12;

/// Steps that all batches may spend on the sections of single locks, beside all others.
const STEPS_ON_LOCKS: u64 = 64 * MAX_WORK;

/// So many events are passed in a step when those of a lock are looked for.
const EVENTS_OF_STEP: u64 = 4;

/// Up to so many events, the sections of a lock are asked about before the larger windows, in so many looks at values:
/// where a list is guarded, these windows tell the same of an instance in ten times as many steps and more, or nothing.
const SHORT: usize = 1 << 17;
const LOOKS_SOON: u64 = 1 << 16;

/// So many locks are looked at for one question, and kept for others.
const MAX_LOCKS: usize = 4;

/// A cell, by its number among those that are guarded.
type Number = u32;

/// How much work a batch may still put into the sections of single locks, beside all other.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnLocks {
    left: u64,
    /// Those that it has asked about last.
    known: [Option<ObjectId>; MAX_LOCKS],
}

impl OnLocks {
    /// That of one question.
    pub(super) fn of_question() -> OnLocks {
        OnLocks::of(MAX_WORK)
    }

    /// That of one batch, of so many.
    pub(super) fn of_batch(batches: u32) -> OnLocks {
        OnLocks::of(STEPS_ON_LOCKS / u64::from(batches.max(1)))
    }

    fn of(steps: u64) -> OnLocks {
        OnLocks {
            left: steps,
            known: [None; MAX_LOCKS],
        }
    }

    /// Counts what it takes to find the steps of a lock, unless they are known from a question before.
    fn find(&mut self, lock: ObjectId, trace: &Trace) {
        if !self.known.contains(&Some(lock)) {
            self.known.rotate_right(1);
            self.known[0] = Some(lock);
            self.left = self.left.saturating_sub(trace.len() as u64 / EVENTS_OF_STEP);
        }
    }
}

/// The locks that were asked about last; of what is not here, the steps are looked for again.
#[derive(Default)]
pub(super) struct Locks(Mutex<VecDeque<(ObjectId, Option<Arc<OneLock>>)>>);

impl Native<'_> {
    /// The same where that is soon known: of a trace of which the sections are soon found, in few looks.
    pub(super) fn locks_soon_refute(&self, ending: Ending<'_>, steps: &mut Steps) -> bool {
        self.trace.len() <= SHORT && self.locks_refute_in(ending, steps, LOOKS_SOON)
    }

    /// Whether no prefix has this ending because of what the sections of one lock find and leave.
    #[must_use]
    pub fn locks_refute(&self, ending: Ending<'_>, steps: &mut Steps) -> bool {
        self.locks_refute_in(ending, steps, u64::MAX)
    }

    /// The same in at most so many looks at values for each lock.
    fn locks_refute_in(&self, ending: Ending<'_>, steps: &mut Steps, most: u64) -> bool {
        if self.trace.frees_reads() {
            return false;
        }
        let steps = &mut steps.on_locks;
        let mut locks = self.locks_about(ending).into_iter();
        locks.any(|lock| {
            if steps.left == 0 {
                return false;
            }
            steps.find(lock, self.trace);
            let known = self.on_lock(lock);
            let may_take = steps.left.min(most);
            let mut left = may_take;
            let relations = (self.needs, self.sections);
            let refutes = known.is_some_and(|known| known.refutes(self.trace, relations, lock, ending, &mut left));
            steps.left -= may_take - left;
            refutes
        })
    }

    /// The locks that threads hold at the events of an ending, and those that they gave back last before.
    fn locks_about(&self, ending: Ending<'_>) -> Vec<ObjectId> {
        let mut locks = Vec::new();
        let mut add = |lock| {
            if !locks.contains(&lock) && locks.len() < MAX_LOCKS {
                locks.push(lock);
            }
        };
        let events = || ending.performed.iter().chain(ending.pending);
        for &event in events() {
            let open = self
                .sections
                .open_after(self.trace.thread(event), self.trace.place(event));
            open.for_each(|section| add(self.sections.lock(section)));
        }
        for &event in events() {
            let closed = self
                .sections
                .last_closed(self.trace.thread(event), self.trace.place(event));
            closed.into_iter().for_each(|section| add(self.sections.lock(section)));
        }
        locks
    }

    /// The steps of a lock. Whoever asks next may need them, too.
    fn on_lock(&self, lock: ObjectId) -> Option<Arc<OneLock>> {
        let mut known = self.on_locks.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = known.iter().find(|(other, _)| *other == lock) {
            return known.clone();
        }
        let found = OneLock::of(self.trace, self.sections, self.needs.relation(), lock).map(Arc::new);
        if known.len() == MAX_LOCKS {
            known.pop_front();
        }
        known.push_back((lock, found.clone()));
        found
    }
}

/// The steps of one lock.
struct OneLock {
    /// By thread, in program order.
    steps: Vec<Vec<Step>>,
    /// What they find, and what they leave.
    values: Vec<(Number, u64)>,
    guarded: HashMap<CellId, Number>,
    /// What the cells hold before all; `None` where nobody knows.
    initial: Vec<Option<u64>>,
    hasher: RandomState,
}

fn range(of: &Range<u32>) -> Range<usize> {
    of.start as usize..of.end as usize
}

impl OneLock {
    /// Finds the steps of a lock; `None` if it guards nothing, or in a way of which nothing is known here.
    fn of(trace: &Trace, sections: &Sections, order: &MustHappenBefore, lock: ObjectId) -> Option<OneLock> {
        let mut within = Within::of(trace, sections, lock)?;
        let guarded = guarded(trace, order, &mut within).filter(|guarded| !guarded.is_empty())?;
        let initial = guarded.iter().map(|&cell| trace.initial(cell)).collect();
        let guarded: HashMap<CellId, Number> = guarded.into_iter().zip(0..).collect();
        let (steps, values) = steps(trace, &guarded, &mut within)?;
        let count: usize = steps.iter().map(Vec::len).sum();
        tracing::debug!(
            ?lock,
            cells = guarded.len(),
            steps = count,
            values = values.len(),
            "steps of one lock"
        );
        Some(OneLock {
            steps,
            values,
            guarded,
            initial,
            hasher: RandomState::new(),
        })
    }

    /// Whether no order of the steps ends so, in at most so many looks at values, from which those are taken that it has
    /// cost.
    fn refutes(
        &self,
        trace: &Trace,
        (needs, sections): (&Needs<'_>, &Sections),
        lock: ObjectId,
        ending: Ending<'_>,
        left: &mut u64,
    ) -> bool {
        let threads = || (0..trace.threads() as u32).map(ThreadId);
        let mut least = vec![0; trace.threads()];
        for &event in ending.performed {
            needs.relation().raise(&mut least, event);
            let own = &mut least[trace.thread(event).index()];
            *own = (*own).max(trace.place(event) + 1);
        }
        ending
            .pending
            .iter()
            .for_each(|&event| needs.raise_to_pending(&mut least, event));
        let mut begun = Vec::new();
        for &event in ending.pending {
            let thread = trace.thread(event);
            let open = sections
                .open_after(thread, trace.place(event))
                .map(|id| sections.get(id));
            let Some(section) = open.into_iter().find(|section| section.lock == lock) else {
                continue;
            };
            match self.begun(trace, section, event) {
                Some(finds) => begun.extend(finds),
                None => return false,
            }
        }
        let completed = |thread: ThreadId, until: u32| {
            let steps = &self.steps[thread.index()];
            steps.partition_point(|step| step.end.is_some_and(|end| end < until)) as u32
        };
        let ends = threads().map(|thread| (least[thread.index()], needs.end(ending, thread)));
        let (from, until): (Vec<u32>, Vec<u32>) = (threads().zip(ends))
            .map(|(thread, (least, most))| (completed(thread, least), completed(thread, most)))
            .unzip();
        if from.iter().zip(&until).any(|(from, until)| from > until) {
            return true;
        }
        let mut search = Search {
            lock: self,
            order: needs.relation(),
            from,
            until,
            begun,
            done: vec![0; trace.threads()],
            memory: self.initial.clone(),
            hash: 0,
            left,
        };
        search.run() == ControlFlow::Continue(())
    }

    /// What a section that is not completed finds before an event; `None` if that is too much to look at.
    fn begun(&self, trace: &Trace, section: Section, until: EventId) -> Option<HashMap<Number, u64>> {
        let begin = section.acquire.map_or(0, |acquire| trace.place(acquire) + 1);
        let until = trace.place(until);
        if until.saturating_sub(begin) > MAX_BEGUN {
            return None;
        }
        let mut begun = Begun::default();
        let order = trace.program_order(section.thread);
        for access in (begin..until).filter_map(|place| trace.access(order.at(place as usize))) {
            for used in trace.uses(access) {
                if let Some(&number) = self.guarded.get(&used.cell) {
                    begun.add(number, access, used);
                }
            }
        }
        Some(begun.finds)
    }

    fn values(&self, of: &Range<u32>) -> &[(Number, u64)] {
        &self.values[range(of)]
    }
}
