//! Following an analysis while it goes on: to show progress, to keep what is decided, to take up what was kept.

use crate::candidates::Candidate;
use crate::verdict::{Pair, Rejected};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;

/// What became of one candidate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Decision {
    /// The candidate's place in the list of all, from 0.
    pub number: u32,
    /// The verdict.
    pub pair: Pair,
    /// Schedules for it that the checker rejected.
    pub rejected: Vec<Rejected>,
}

/// Candidates that go together: to make a Z3 context for each takes longer than to decide most of them. They are at
/// equal distances in the list of all: neighbours, which are often hard for the same reason, are in different batches.
const BATCH: u32 = 16;

/// One of several equal shares of the candidates: the `number`-th batch of 16, the one `of` batches later, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shard {
    number: u32,
    of: u32,
}

impl Shard {
    /// The one share that has all.
    pub const WHOLE: Shard = Shard { number: 1, of: 1 };

    /// Share `number` of `of`, from 1; `None` if there is no such share.
    #[must_use]
    pub fn new(number: u32, of: u32) -> Option<Shard> {
        (1..=of).contains(&number).then_some(Shard { number, of })
    }

    /// Its number, from 1.
    #[must_use]
    pub fn number(self) -> u32 {
        self.number
    }

    /// How many there are.
    #[must_use]
    pub fn of(self) -> u32 {
        self.of
    }

    /// Whether it has this candidate, of so many.
    #[must_use]
    pub fn has(self, candidate: u32, all: u32) -> bool {
        Shard::batch(candidate, all) % self.of == self.number - 1
    }

    /// The batch of a candidate, of so many.
    pub(super) fn batch(candidate: u32, all: u32) -> u32 {
        candidate % Shard::batches(all).max(1)
    }

    /// How many batches so many candidates make.
    pub(super) fn batches(all: u32) -> u32 {
        all.div_ceil(BATCH)
    }

    /// All candidates, of so many, in the batch of one.
    pub(super) fn batch_of(candidate: u32, all: u32) -> impl Iterator<Item = u32> {
        let batches = Shard::batches(all).max(1);
        (candidate % batches..all).step_by(batches as usize)
    }
}

/// Someone who follows an analysis.
pub trait Follow: Sync {
    /// Why it cannot go on.
    type Error: Send;

    /// The schedule of a decision, if it has one, was accepted by the checker, and no unrecorded library makes it
    /// doubtful.
    fn checked(&self, _decision: &Decision) {}

    /// A stage of the analysis begins.
    fn stage(&self, _name: &'static str) {}

    /// The candidates are known; all, also those of other shards. Returns what an earlier analysis of the same trace
    /// with the same options decided; it is not decided again, but its schedules are checked again.
    ///
    /// # Errors
    /// If the analysis cannot go on.
    fn begin(&self, candidates: &[Candidate], unlisted: usize) -> Result<Vec<Decision>, Self::Error>;

    /// A candidate is decided, in whatever order, on whatever thread. Its schedule may not be checked yet. Called again
    /// if the decision has been completed: the last one counts.
    ///
    /// # Errors
    /// If the analysis cannot go on.
    fn decided(&self, decision: &Decision) -> Result<(), Self::Error>;
}

/// Nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unfollowed;

impl Follow for Unfollowed {
    type Error = Infallible;

    fn begin(&self, _: &[Candidate], _: usize) -> Result<Vec<Decision>, Infallible> {
        Ok(Vec::new())
    }

    fn decided(&self, _: &Decision) -> Result<(), Infallible> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_candidate_is_in_one_shard_and_its_batch_is_never_split() {
        for all in [0, 1, 15, 16, 17, 100, 1_000] {
            for of in [1, 2, 7, 64] {
                let shards: Vec<Shard> = (1..=of).filter_map(|number| Shard::new(number, of)).collect();
                for candidate in 0..all {
                    let mine: Vec<&Shard> = shards.iter().filter(|shard| shard.has(candidate, all)).collect();
                    assert_eq!(mine.len(), 1);
                    let batch: Vec<u32> = Shard::batch_of(candidate, all).collect();
                    assert!(batch.contains(&candidate) && batch.len() <= BATCH as usize);
                    let batch_number = Shard::batch(candidate, all);
                    assert!(batch_number < Shard::batches(all));
                    for &other in &batch {
                        assert!(mine[0].has(other, all) && Shard::batch(other, all) == batch_number);
                    }
                }
            }
        }
        // Neighbours are apart.
        assert!((0..99).all(|candidate| Shard::batch(candidate, 100) != Shard::batch(candidate + 1, 100)));
    }
}
