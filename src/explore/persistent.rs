//! Which threads' turns suffice in a state: persistent sets (P. Godefroid, Partial-Order Methods for the Verification
//! of Concurrent Systems, 1996, chapter 4).
//!
//! A set P of threads is persistent in a state if nothing that the others can do, as long as no thread of P moves,
//! touches what the pending operations of P touch. Then only P's turns need be followed, and still
//!
//! - every outcome of every history that is feasible is met. Take an execution to one. Its first step by a thread of P
//!   can be exchanged with all before it, which leaves the outcome as it is; and if it has no step of P, one can be put
//!   before it. States form no cycles but those of loops that wait, so that this ends; a thread in such a loop is
//!   followed only where all threads are;
//! - every deadlock is met: an execution that ends has a step of each set, or it could go on;
//! - every race is met: threads that race touch the same, so that both are in P, or neither is, and then they still
//!   race after a step of P.
//!
//! A thread that holds a lock keeps others from acquiring it as long as it does not move, so what these do after that
//! does not count; and so for threads that are joined. That makes a critical section one step if all others touch the
//! same under the same lock.
//!
//! An outcome that no run has shown leads nowhere: its thread stands there, as if it waited. (Every thread's is
//! reported in every state met.)

use super::footprint::{Blocker, Footprints, Touch};
use super::machine::{State, Turn};
use super::tables::{Act, Tables};
use crate::forest::{ObjectId, TreeId};

/// Chooses persistent sets.
pub(crate) struct Persistent {
    footprints: Footprints,
    /// Whether locks are given back by threads that do not hold them: then holding one stands in nobody's way.
    foreign: bool,
    set: Vec<u32>,
    best: Vec<u32>,
    touches: Vec<Touch>,
    blockers: Vec<Blocker>,
}

impl Persistent {
    pub(crate) fn of(tables: &Tables<'_>, foreign: bool) -> Persistent {
        Persistent {
            footprints: Footprints::of(tables),
            foreign,
            set: Vec::new(),
            best: Vec::new(),
            touches: Vec::new(),
            blockers: Vec::new(),
        }
    }

    /// Keeps the turns of a persistent set, of all that can be followed in the state.
    pub(crate) fn keep(&mut self, tables: &Tables<'_>, state: &State, turns: &mut Vec<Turn>) {
        if turns.windows(2).all(|pair| pair[0].thread == pair[1].thread) {
            return;
        }
        self.best.clear();
        let mut fewest = turns.len();
        let mut last = None;
        for index in 0..turns.len() {
            let seed = turns[index].thread;
            if last.replace(seed) == Some(seed) || self.best.contains(&seed) {
                continue;
            }
            if let Some(count) = self.close(tables, state, seed, turns, fewest) {
                fewest = count;
                std::mem::swap(&mut self.best, &mut self.set);
                if fewest == 1 {
                    break;
                }
            }
        }
        if !self.best.is_empty() {
            turns.retain(|turn| self.best.contains(&turn.thread));
        }
    }

    /// The least persistent set with this thread, into `self.set`, and how many turns it has; `None` if these are not
    /// fewer than `fewest`.
    fn close(&mut self, tables: &Tables<'_>, state: &State, seed: u32, turns: &[Turn], fewest: usize) -> Option<usize> {
        self.set.clear();
        self.blockers.clear();
        let mut count = 0;
        let mut next = Some(seed);
        let mut done = 0;
        loop {
            if let Some(thread) = next {
                count += turns.iter().filter(|turn| turn.thread == thread).count();
                if count >= fewest || state.class(tables, thread).in_loop {
                    return None;
                }
                self.join(state, thread);
            }
            let Some(&thread) = self.set.get(done) else {
                return Some(count);
            };
            self.touches.clear();
            let class = state.class(tables, thread);
            self.footprints.touches(class, &mut self.touches);
            if class.act == Act::End {
                // Who looks whether it has ended may find it running as long as it does not move.
                self.touches.push((self.footprints.end_of(thread), true));
            }
            let other = state.threads().find(|&other| self.must_join(tables, state, other));
            if other.is_none() {
                done += 1;
            }
            next = other;
        }
    }

    fn join(&mut self, state: &State, thread: u32) {
        self.set.push(thread);
        self.blockers.push(Blocker::Lives(TreeId(thread)));
        if !self.foreign {
            let locks = (0..state.owner.len() as u32).map(ObjectId);
            let held = locks.filter(|&lock| state.holds(thread, lock));
            self.blockers.extend(held.map(Blocker::Held));
        }
    }

    /// Whether a thread outside of the set may touch what `self.touches` has, as long as the set does not move.
    fn must_join(&mut self, tables: &Tables<'_>, state: &State, other: u32) -> bool {
        let id = state.at[other as usize];
        if self.set.contains(&other) || matches!(tables.class(id).act, Act::Ended | Act::Stops) {
            return false;
        }
        let (footprints, blockers) = (&mut self.footprints, &self.blockers);
        self.touches.iter().any(|&touch| {
            if touch.0 == footprints.end_of(other) {
                return true;
            }
            footprints.may_touch(id, touch)
                && blockers
                    .iter()
                    .all(|&blocker| footprints.may_touch_before(tables, id, blocker, touch))
        })
    }
}
