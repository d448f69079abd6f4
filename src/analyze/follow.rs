//! Following an analysis while it goes on: to show progress, to keep what is decided, to take up what was kept.

use crate::candidates::Candidate;
use crate::verdict::{Pair, Rejected};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::ops::Range;

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

/// Candidates that go together: to make a Z3 context for each takes longer than to decide most of them.
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

    /// Whether it has this candidate.
    #[must_use]
    pub fn has(self, candidate: u32) -> bool {
        candidate / BATCH % self.of == self.number - 1
    }

    /// Whether two candidates are in one batch.
    pub(super) fn together(a: u32, b: u32) -> bool {
        a / BATCH == b / BATCH
    }

    /// How many batches so many candidates make.
    pub(super) fn batches(all: u32) -> u32 {
        all.div_ceil(BATCH)
    }

    /// All candidates, of so many, in the batch of one.
    pub(super) fn batch_of(candidate: u32, all: u32) -> Range<u32> {
        let from = candidate / BATCH * BATCH;
        from..all.min(from + BATCH)
    }
}

/// Someone who follows an analysis.
pub trait Follow: Sync {
    /// Why it cannot go on.
    type Error: Send;

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
