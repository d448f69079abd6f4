//! Pairs of places in the code: where something was written, and where it was read. A run that shows a new pair has
//! threads exchange something that they never did, which is what most bugs need, and what fuzzers of schedules take for
//! news (RFF: Wolff et al., ASPLOS 2024).

use super::session::{Move, Prefix};
use crate::forest::{Forest, Operation, Outcome, Run, RunBlock, RunOperation, RunPlace, Span};
use hashbrown::{HashMap, HashSet};

/// Where something was written (0: it was there at first), and where it was read.
pub(super) type Exchange = (u64, u64);

/// The pairs that runs have shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Sites(HashSet<Exchange>);

impl Sites {
    /// Adds those of a run.
    pub(super) fn add(&mut self, run: &Run) {
        let mut written: HashMap<(Option<RunBlock>, u64), u64> = HashMap::new();
        for step in &run.steps {
            let (at, size, reads, writes) = match step.operation {
                RunOperation::Read { at, size, .. } | RunOperation::AtomicLoad { at, size, .. } => {
                    (at, size, true, false)
                }
                RunOperation::Write { at, size, .. } | RunOperation::AtomicStore { at, size, .. } => {
                    (at, size, false, true)
                }
                RunOperation::AtomicRmw {
                    at, size, saw, wrote, ..
                } => (at, size, true, saw != wrote),
                _ => continue,
            };
            let RunPlace { block, offset } = at;
            if reads {
                let from = written.get(&(block, offset)).copied().unwrap_or(0);
                self.0.insert((from, step.position));
            }
            if writes {
                let bytes = (0..u64::from(size)).map(|byte| (block, offset.wrapping_add(byte)));
                written.extend(bytes.map(|byte| (byte, step.position)));
            }
        }
    }

    /// Whether no run has shown this pair.
    pub(super) fn is_new(&self, exchange: Exchange) -> bool {
        !self.0.contains(&exchange)
    }

    /// Whether no run has shown what the wanted step of a prefix sees of whom.
    pub(super) fn is_new_in(&self, forest: &Forest, prefix: &Prefix) -> bool {
        let Some(wanted) = prefix.wanted else {
            return false;
        };
        let node = forest.node(wanted.node);
        let Some(Operation::Read(span) | Operation::AtomicRead(span)) = node.operation() else {
            return false;
        };
        let writes = |step: &&Move| match step {
            Move::Perform {
                node,
                operation,
                outcome,
                ..
            } => {
                let writes = match operation {
                    Operation::Write(..) | Operation::AtomicWrite(..) => true,
                    Operation::AtomicRead(_) => {
                        let edge = forest.node(*node).edge(*outcome);
                        edge.is_some_and(|edge| edge.wrote.is_some_and(|wrote| edge.outcome != Outcome::Saw(wrote)))
                    }
                    _ => false,
                };
                writes && operation.span().is_some_and(|written| overlap(written, span))
            }
            Move::TimesOut { .. } => false,
        };
        let from = prefix.moves.iter().rev().find(writes).map_or(0, |step| match step {
            Move::Perform { node, .. } => forest.node(*node).position,
            Move::TimesOut { .. } => 0,
        });
        self.is_new((from, node.position))
    }
}

fn overlap(a: Span, b: Span) -> bool {
    let end = |span: Span| span.at.offset.saturating_add(u64::from(span.size));
    a.at.region == b.at.region && a.at.offset < end(b) && b.at.offset < end(a)
}
