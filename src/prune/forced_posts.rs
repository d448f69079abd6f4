//! Posts of semaphores that a wait cannot do without.
//!
//! A wait needs as many posts and initial permits before it as there are waits that precede it, itself among them. Those posts of a
//! thread that have to be among them, since all others do not suffice, must happen before it. (To leave that to a solver is to make it
//! try every matching of posts and waits: the pigeonhole principle, on which resolution takes exponential time.)
//!
//! Errs on the side of ordering too little: posts of other threads that come after one that is left out are counted
//! as if they need not.

use super::{Edge, MustHappenBefore};
use crate::semantics::semaphores::Step;
use crate::trace::{EventId, ObjectId, Trace};
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// Waits times threads that post or wait on one semaphore, above which it is left out.
const MAX_STEPS: usize = 20_000_000;

/// The posts and waits of a trace.
pub(super) struct Semaphores {
    each: BTreeMap<u32, Uses>,
}

/// Those of one semaphore, in the order of π by thread.
#[derive(Default)]
struct Uses {
    initial: u64,
    waits: BTreeMap<u32, Vec<EventId>>,
    posts: BTreeMap<u32, Vec<EventId>>,
}

impl Semaphores {
    pub(super) fn of(trace: &Trace) -> Semaphores {
        let mut each: HashMap<u32, Uses> = HashMap::new();
        let new = |semaphore: ObjectId| Uses {
            initial: u64::from(trace.initial_count(semaphore)),
            ..Uses::default()
        };
        for event in trace.events() {
            let thread = trace.thread(event).0;
            if let Some((semaphore, step)) = Step::of(trace.op(event)) {
                let uses = each.entry(semaphore.0).or_insert_with(|| new(semaphore));
                match step {
                    Step::Post => uses.posts.entry(thread).or_default().push(event),
                    Step::Wait => uses.waits.entry(thread).or_default().push(event),
                    Step::FailedWait | Step::Value(_) => {}
                }
            }
        }
        Semaphores {
            each: each.into_iter().collect(),
        }
    }

    /// The edges from posts to waits that follow from a relation, beyond what is in it.
    pub(super) fn forced(&self, relation: &MustHappenBefore) -> Vec<Edge> {
        let mut found = Vec::new();
        for uses in self.each.values() {
            let waits: usize = uses.waits.values().map(Vec::len).sum();
            if waits * (uses.waits.len() + uses.posts.len()) <= MAX_STEPS {
                for &wait in uses.waits.values().flatten() {
                    uses.forced(relation, wait, &mut found);
                }
            }
        }
        found
    }
}

impl Uses {
    fn forced(&self, relation: &MustHappenBefore, wait: EventId, found: &mut Vec<Edge>) {
        let precedes = |waits: &Vec<EventId>| waits.partition_point(|&other| relation.before(other, wait));
        let waits = 1 + self.waits.values().map(precedes).sum::<usize>() as u64;
        let Some(needed) = waits.checked_sub(self.initial).filter(|&needed| needed > 0) else {
            return;
        };
        let can_precede = |posts: &Vec<EventId>| posts.partition_point(|&post| !relation.before(wait, post)) as u64;
        let all: u64 = self.posts.values().map(can_precede).sum();
        for posts in self.posts.values() {
            let others = all - can_precede(posts);
            if let Some(number) = needed.checked_sub(others).filter(|&number| number > 0)
                && let Some(&post) = posts.get(number as usize - 1)
                && post < wait
                && !relation.before(post, wait)
            {
                found.push(Edge { to: wait, from: post });
            }
        }
    }
}
