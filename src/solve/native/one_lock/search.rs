//! The search through all orders of a lock's steps.

use super::{Number, OneLock, Step};
use crate::prune::MustHappenBefore;
use crate::trace::EventId;
use hashbrown::HashSet;
use std::hash::BuildHasher;
use std::ops::ControlFlow;

/// To see whether what so many threads do next has to come before something takes as long as one look at a value.
const THREADS_OF_LOOK: usize = 4;

/// States that one search may come to: some 20 bytes each.
const MAX_STATES: usize = 1 << 20;

/// A search through all orders of steps.
pub(super) struct Search<'s> {
    pub lock: &'s OneLock,
    pub order: &'s MustHappenBefore,
    /// How many steps of each thread have to be completed, and how many may be.
    pub from: Vec<u32>,
    pub until: Vec<u32>,
    /// What those find that are begun at last.
    pub begun: Vec<(Number, u64)>,
    /// How many are completed.
    pub done: Vec<u32>,
    /// What is in the cells now; `None` where nobody knows.
    pub memory: Vec<Option<u64>>,
    /// By how much the hash of the memory differs from that of the initial one.
    pub hash: u128,
    /// Looks at values that it may still cost.
    pub left: &'s mut u64,
}

/// A step that was done last, and which threads have been tried behind it.
struct Done {
    thread: usize,
    /// What was there that it has changed.
    before: Vec<(Number, Option<u64>)>,
    next: Vec<usize>,
}

impl Search<'_> {
    /// Breaks off if an order is found, or it is too much to look at.
    pub(super) fn run(&mut self) -> ControlFlow<()> {
        let mut seen: HashSet<u128> = HashSet::new();
        let mut path: Vec<Done> = Vec::new();
        let mut next = self.enter(&mut seen)?;
        loop {
            let Some(thread) = next.pop() else {
                let Some(last) = path.pop() else {
                    return ControlFlow::Continue(());
                };
                self.undo(&last);
                next = last.next;
                continue;
            };
            let before = self.perform(thread);
            path.push(Done { thread, before, next });
            next = self.enter(&mut seen)?;
        }
    }

    /// The threads whose steps may come next, that of π last; none where the search has been already. Breaks off where it
    /// need not go on.
    fn enter(&mut self, seen: &mut HashSet<u128>) -> ControlFlow<(), Vec<usize>> {
        let ends = self.done.iter().zip(&self.from).all(|(done, from)| done >= from);
        if *self.left == 0 || seen.len() == MAX_STATES || (ends && self.finds(&self.begun)) {
            return ControlFlow::Break(());
        }
        // A hash stands for the state: of 128 bits, and by a key that no file can know.
        let known = [
            self.lock.hasher.hash_one((0, &self.done)),
            self.lock.hasher.hash_one((1, &self.done)),
        ];
        if !seen.insert(self.hash ^ (u128::from(known[0]) << 64 | u128::from(known[1]))) {
            return ControlFlow::Continue(Vec::new());
        }
        let mut next: Vec<(EventId, usize)> = Vec::new();
        for thread in 0..self.done.len() {
            if self.done[thread] == self.until[thread] {
                continue;
            }
            let step = &self.lock.steps[thread][self.done[thread] as usize];
            let finds = self.lock.values(&step.finds);
            let mut looks = 1;
            if self.finds(finds) {
                looks += finds.len() + self.done.len() / THREADS_OF_LOOK;
                if self.may_begin(thread, step) {
                    next.push((step.begin, thread));
                }
            }
            *self.left = self.left.saturating_sub(looks as u64);
        }
        next.sort_unstable_by(|one, other| other.cmp(one));
        ControlFlow::Continue(next.into_iter().map(|(_, thread)| thread).collect())
    }

    /// Whether those steps are completed that have to be when a step begins. Others that have to begin before may be the
    /// last of their threads.
    fn may_begin(&self, thread: usize, step: &Step) -> bool {
        let mut others = self.lock.steps.iter().zip(&self.done).enumerate();
        others.all(|(other, (steps, &done))| {
            let next = steps.get(done as usize).filter(|_| other != thread);
            next.is_none_or(|next| !next.extent.is_over(step.extent) || !self.order.before(next.begin, step.begin))
        })
    }

    fn finds(&self, values: &[(Number, u64)]) -> bool {
        let found = |&(number, value): &(Number, u64)| self.memory[number as usize].is_none_or(|now| now == value);
        values.iter().all(found)
    }

    fn perform(&mut self, thread: usize) -> Vec<(Number, Option<u64>)> {
        let lock = self.lock;
        let leaves = lock.values(&lock.steps[thread][self.done[thread] as usize].leaves);
        self.done[thread] += 1;
        *self.left = self.left.saturating_sub(leaves.len() as u64);
        let changed = leaves
            .iter()
            .filter(|&&(number, value)| self.memory[number as usize] != Some(value));
        let changed: Vec<(Number, u64)> = changed.copied().collect();
        let set = |&(number, value): &(Number, u64)| (number, self.set(number, Some(value)));
        changed.iter().map(set).collect()
    }

    fn undo(&mut self, last: &Done) {
        self.done[last.thread] -= 1;
        for &(number, value) in &last.before {
            self.set(number, value);
        }
    }

    /// Puts a value where another was, and returns that.
    fn set(&mut self, number: Number, value: Option<u64>) -> Option<u64> {
        let hasher = &self.lock.hasher;
        let hash = |value: Option<u64>| {
            let half = |half: u8| u128::from(hasher.hash_one((half, number, value)));
            half(2) << 64 | half(3)
        };
        let before = std::mem::replace(&mut self.memory[number as usize], value);
        self.hash ^= hash(before) ^ hash(value);
        before
    }
}
