//! Open branches along random walks through the model: what takes many changes of threads, far from where a search of
//! states begins.
//!
//! A step of a walk costs as much as one of a search, and nothing is kept of it. So a walk comes to the end of a long
//! execution while a search is still near the beginning of all; and where runs have shown nearly everything, thousands
//! of walks in the model find what is left sooner than a run at random each. A walk stops a thread that stands before
//! what no run has shown, and goes on with the others.

use super::{Onward, Search, Simulation, TURNS_IN_A_LOOP};
use crate::explore::machine::{Goes, Turn};
use crate::explore::tables::Act;
use fastrand::Rng;

/// Turns of all walks together: they take about as long as the runs that are made of what they find.
const MOST_TURNS_OF_WALKS: usize = 300_000;

/// After so many walks that found nothing new there may be nothing, and a search is to say so.
const MOST_WALKS_IN_VAIN: usize = 1_000;

/// How likely a thread goes on that has just made a step, in percent: each walk has one of these, since some executions
/// take many changes of threads, and some take few at the right places.
const GOES_ON: [u8; 4] = [0, 30, 50, 80];

impl Search<'_, '_> {
    /// Walks until the turns are used up.
    pub(super) fn walk(&mut self, start: &Simulation<'_>, seed: u64) {
        self.left = self.left.min(MOST_TURNS_OF_WALKS);
        let mut random = Rng::with_seed(seed);
        let mut in_vain = 0;
        let mut now = start.clone();
        while self.left > 0 && in_vain < MOST_WALKS_IN_VAIN {
            // A walk in which nobody can move costs something, too.
            self.spend();
            let goes_on = GOES_ON[random.usize(..GOES_ON.len())];
            let before = self.found.len();
            now.clone_from(start);
            self.walk_once(&mut now, goes_on, &mut random);
            in_vain = if self.found.len() > before { 0 } else { in_vain + 1 };
        }
    }

    fn walk_once(&mut self, now: &mut Simulation<'_>, goes_on: u8, random: &mut Rng) {
        let mut last = None;
        let mut in_loops = vec![0; now.state.at.len()];
        let mut turns = Vec::new();
        let mut others = Vec::new();
        loop {
            let same = last.filter(|_| random.u8(..100) < goes_on);
            others.clear();
            others.extend(now.state.threads().filter(|&thread| Some(thread) != same));
            random.shuffle(&mut others);
            let mut moved = None;
            for thread in same.into_iter().chain(others.iter().copied()) {
                if self.left == 0 {
                    return;
                }
                turns.clear();
                now.known_turns(thread, &mut turns);
                if let Some(&turn) = random
                    .choice(&turns)
                    .filter(|_| in_loops[thread as usize] < TURNS_IN_A_LOOP)
                {
                    now.take(turn);
                    self.spend();
                    in_loops[thread as usize] += u32::from(now.class(thread).in_loop);
                    moved = Some(thread);
                    break;
                }
                if let Some(key) = now.open_at(thread) {
                    self.note(now, thread, key, None, Onward::Freely);
                }
            }
            if moved.is_none() {
                return;
            }
            last = moved;
        }
    }
}

impl Simulation<'_> {
    /// All turns of a thread that lead to where runs have been, but for those that end the program.
    fn known_turns(&self, thread: u32, turns: &mut Vec<Turn>) {
        self.state.turns(self.tables, thread, turns);
        let class = self.class(thread);
        turns.retain(|turn| match turn.goes {
            Goes::Along(edge) => self.tables.class(class.edges[edge as usize].to).act != Act::Stops,
            Goes::Stays => true,
            Goes::Open(_) | Goes::OpenRead => false,
        });
    }
}
