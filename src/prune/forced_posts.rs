//! Posts of semaphores that a wait, or a prefix, cannot do without.
//!
//! A wait needs as many posts and initial permits before it as there are waits that precede it, itself among them; a
//! prefix, as many as it holds waits. Those posts of a thread that have to be among them, since all others do not
//! suffice, must happen before it, or are in the prefix; if all that can be there do not suffice, there is no such
//! prefix. (To leave that to a solver is to make it try every matching of posts and waits: the pigeonhole principle, on
//! which resolution takes exponential time.)
//!
//! Errs on the side of ordering too little: posts of other threads that come after one that is left out are counted
//! as if they need not.

use super::{Edge, MustHappenBefore};
use crate::semantics::semaphores::Step;
use crate::trace::{EventId, ObjectId, ThreadId, Trace};
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;

/// Waits times threads that post or wait on one semaphore, above which it is left out.
const MAX_STEPS: usize = 20_000_000;

/// Threads that post or wait, summed over all semaphores, above which no prefix is asked for its posts.
const MAX_USERS: usize = 100_000;

/// The posts and waits of a trace.
#[derive(Clone)]
pub struct Semaphores {
    each: BTreeMap<u32, Uses>,
    users: usize,
}

/// Those of one semaphore, in the order of π by thread.
#[derive(Clone, Default)]
struct Uses {
    initial: u64,
    waits: BTreeMap<u32, Vec<Use>>,
    posts: BTreeMap<u32, Vec<Use>>,
}

/// A wait or a post.
#[derive(Clone, Copy)]
struct Use {
    event: EventId,
    /// Its place in its thread.
    place: u32,
}

/// How many of a thread's uses come before its event number `end`. It is asked of every thread for every prefix, and
/// most threads have done nothing yet, or all.
fn until(uses: &[Use], end: u32) -> u64 {
    let until = match (uses.first(), uses.last()) {
        (Some(first), _) if end <= first.place => 0,
        (_, Some(last)) if last.place < end => uses.len(),
        _ => uses.partition_point(|used| used.place < end),
    };
    until as u64
}

impl Semaphores {
    pub(super) fn of(trace: &Trace) -> Semaphores {
        let mut each: HashMap<u32, Uses> = HashMap::new();
        let new = |semaphore: ObjectId| Uses {
            initial: u64::from(trace.initial_count(semaphore)),
            ..Uses::default()
        };
        for (event, (semaphore, step)) in trace.operations_with(Step::of) {
            let thread = trace.thread(event).0;
            let place = trace.place(event);
            let event = Use { event, place };
            let uses = each.entry(semaphore.0).or_insert_with(|| new(semaphore));
            match step {
                Step::Post => uses.posts.entry(thread).or_default().push(event),
                Step::Wait => uses.waits.entry(thread).or_default().push(event),
                Step::FailedWait | Step::Value(_) => {}
            }
        }
        let users = each.values().map(|uses| uses.posts.len() + uses.waits.len()).sum();
        Semaphores {
            each: each.into_iter().collect(),
            users,
        }
    }

    /// The same without some waits.
    pub(super) fn without(&self, waits: &HashSet<EventId>) -> Semaphores {
        let mut left = self.clone();
        for uses in left.each.values_mut() {
            for of_thread in uses.waits.values_mut() {
                of_thread.retain(|wait| !waits.contains(&wait.event));
            }
        }
        left
    }

    /// Raises the beginning of each thread that a prefix holds to the posts that its waits cannot do without; `None` if
    /// no posts suffice, else whether it was raised. `end` tells where a thread has its first event that is in no such
    /// prefix.
    pub(super) fn complete(&self, cut: &mut [u32], end: impl Fn(ThreadId) -> u32) -> Option<bool> {
        if self.users > MAX_USERS {
            return Some(false);
        }
        let mut grown = false;
        for uses in self.each.values() {
            grown |= uses.complete(cut, &end)?;
        }
        Some(grown)
    }

    /// The edges from posts to waits that follow from a relation, beyond what is in it.
    pub(super) fn forced(&self, relation: &MustHappenBefore) -> Vec<Edge> {
        let mut found = Vec::new();
        for uses in self.each.values() {
            let waits: usize = uses.waits.values().map(Vec::len).sum();
            if waits * (uses.waits.len() + uses.posts.len()) <= MAX_STEPS {
                for wait in uses.waits.values().flatten() {
                    uses.forced(relation, wait.event, &mut found);
                }
            }
        }
        found
    }
}

impl Uses {
    fn complete(&self, cut: &mut [u32], end: &impl Fn(ThreadId) -> u32) -> Option<bool> {
        let within = |each: &BTreeMap<u32, Vec<Use>>| {
            let counts = each.iter().map(|(&thread, uses)| until(uses, cut[thread as usize]));
            counts.sum::<u64>()
        };
        let Some(missing) = within(&self.waits).checked_sub(self.initial + within(&self.posts)) else {
            return Some(false);
        };
        if missing == 0 {
            return Some(false);
        }
        let further = self.posts.iter().map(|(&thread, posts)| {
            let held = until(posts, cut[thread as usize]);
            (thread, held, until(posts, end(ThreadId(thread))).saturating_sub(held))
        });
        let further: Vec<(u32, u64, u64)> = further.filter(|&(.., more)| more > 0).collect();
        let all: u64 = further.iter().map(|&(.., more)| more).sum();
        if all < missing {
            return None;
        }
        let mut grown = false;
        for (thread, held, more) in further {
            if let Some(number) = missing.checked_sub(all - more).filter(|&number| number > 0) {
                let post = self.posts[&thread][(held + number) as usize - 1];
                cut[thread as usize] = post.place + 1;
                grown = true;
            }
        }
        Some(grown)
    }

    fn forced(&self, relation: &MustHappenBefore, wait: EventId, found: &mut Vec<Edge>) {
        let precedes = |waits: &Vec<Use>| waits.partition_point(|other| relation.before(other.event, wait));
        let waits = 1 + self.waits.values().map(precedes).sum::<usize>() as u64;
        let Some(needed) = waits.checked_sub(self.initial).filter(|&needed| needed > 0) else {
            return;
        };
        let can_precede = |posts: &Vec<Use>| posts.partition_point(|post| !relation.before(wait, post.event)) as u64;
        let all: u64 = self.posts.values().map(can_precede).sum();
        for posts in self.posts.values() {
            let others = all - can_precede(posts);
            if let Some(number) = needed.checked_sub(others).filter(|&number| number > 0)
                && let Some(&Use { event: post, .. }) = posts.get(number as usize - 1)
                && post < wait
                && !relation.before(post, wait)
            {
                found.push(Edge { to: wait, from: post });
            }
        }
    }
}
