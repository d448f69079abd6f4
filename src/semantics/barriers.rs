//! Barriers: nobody leaves a round before all have arrived.
//!
//! Who meets whom may be an outcome: another thread may come in the place of one that came. Where each round has all
//! threads that ever come, it is not.

use super::passing::{Among, Passing};
use crate::trace::{ObjectId, Op, ThreadId, Trace};
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;

/// What an operation does at a barrier, in which round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Arrives.
    Enter(u32),
    /// Leaves.
    Exit(u32),
}

impl Step {
    /// What an operation does at which barrier.
    #[must_use]
    pub fn of(op: Op) -> Option<(ObjectId, Step)> {
        match op {
            Op::BarrierEnter { barrier, round } => Some((barrier, Step::Enter(round))),
            Op::BarrierExit { barrier, round } => Some((barrier, Step::Exit(round))),
            _ => None,
        }
    }

    /// What it passes on. A round begins when those before it are full.
    pub(super) fn passing(self) -> &'static [Passing] {
        match self {
            Step::Enter(_) => &[Passing::Learns(Among::Givers), Passing::Tells(Among::Givers)],
            Step::Exit(_) => &[Passing::Learns(Among::Givers)],
        }
    }

    pub(super) fn words(self, barrier: &str) -> String {
        match self {
            Step::Enter(round) => format!("arrives at {barrier}, round {round}"),
            Step::Exit(round) => format!("leaves {barrier}, round {round}"),
        }
    }
}

/// Whether the next to arrive completes a round of so many threads.
#[must_use]
pub fn completes(arrived: u32, parties: u32) -> bool {
    arrived + 1 == parties
}

/// Barriers whose rounds have the same threads in every run: each round before the last has all threads that ever come.
#[must_use]
pub fn fixed(trace: &Trace) -> HashSet<u32> {
    let mut rounds: HashMap<u32, BTreeMap<u32, HashSet<ThreadId>>> = HashMap::new();
    for (event, (barrier, step)) in trace.operations_with(Step::of) {
        if let Step::Enter(round) = step {
            let threads = rounds.entry(barrier.0).or_default().entry(round).or_default();
            threads.insert(trace.thread(event));
        }
    }
    let is_fixed = |rounds: &BTreeMap<u32, HashSet<ThreadId>>| {
        let all: HashSet<ThreadId> = rounds.values().flatten().copied().collect();
        let complete = rounds.values().rev().skip(1).all(|threads| *threads == all);
        // Of a single round it is known that it was complete if a thread has left it.
        complete && (rounds.len() > 1 || all.len() > 1)
    };
    rounds
        .into_iter()
        .filter(|(_, rounds)| is_fixed(rounds))
        .map(|(barrier, _)| barrier)
        .collect()
}
