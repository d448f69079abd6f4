//! Conflicting pairs: which pairs of code positions may race, and in which of their dynamic instances.
//!
//! Two accesses conflict if they share a cell, come from different threads, at least one writes
//! and not both are atomic. A trace can have billions of such pairs of events, so they are never
//! enumerated one by one. The accesses of a cell are grouped into *sites*: thread, code position
//! and kind. One pass over each cell finds the [nearest](Candidate::nearest) instances of each pair of
//! positions, which decide most of them. Only for a pair that they leave open are all instances
//! visited, and then whole groups fall to a common lock, and whole stretches of a
//! thread to what must, or needs to, come before.
//!
//! What this drops has no witness (see [`crate::prune`]).

mod cycles;
mod nearest;
mod scope;
mod site;
mod visit;

#[cfg(test)]
mod tests;

pub use cycles::{Cycle, Cycles, Waiting};
pub use scope::{AskedCycle, Scope};
pub(crate) use visit::SitePairs;
pub use visit::{Frees, Visited};

use crate::prune::{LockContexts, MustHappenBefore, Needs};
use crate::trace::{CodePosition, EventId, Trace};
use hashbrown::HashMap;
use nearest::Nearest;
use site::{Site, SiteNumbers, each_conflict, sites_by_cell};

/// A pair of code positions with conflicting accesses.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The two positions, the smaller first.
    pub positions: (CodePosition, CodePosition),
    /// Instances that locks and what is needed before do not exclude, the nearest in π first: the nearer, the
    /// less has to be reordered to bring the two together. Few, and possibly none although there are some.
    pub nearest: Vec<(EventId, EventId)>,
    /// The earliest conflicting instance, whatever became of it.
    pub first: (EventId, EventId),
    /// Conflicting instances in all, counted per cell.
    pub total: u64,
}

/// The candidates of a trace, ordered by their earliest instance.
pub struct Candidates<'t> {
    trace: &'t Trace,
    order: &'t MustHappenBefore,
    contexts: &'t LockContexts,
    needs: &'t Needs<'t>,
    cells: Vec<Vec<Site>>,
    /// The candidates.
    pub list: Vec<Candidate>,
}

impl<'t> Candidates<'t> {
    /// Finds all candidates of a trace.
    #[must_use]
    pub fn of(
        trace: &'t Trace,
        order: &'t MustHappenBefore,
        contexts: &'t LockContexts,
        needs: &'t Needs<'t>,
    ) -> Candidates<'t> {
        Candidates::within(trace, order, contexts, needs, None)
    }

    /// Finds the candidates of a trace that are in scope.
    #[must_use]
    pub fn within(
        trace: &'t Trace,
        order: &'t MustHappenBefore,
        contexts: &'t LockContexts,
        needs: &'t Needs<'t>,
        scope: Option<&Scope>,
    ) -> Candidates<'t> {
        let cells = sites_by_cell(trace, contexts, scope);
        let mut numbers: HashMap<(CodePosition, CodePosition), u32> = HashMap::new();
        let mut found: Vec<(Candidate, Nearest)> = Vec::new();
        for sites in &cells {
            let mut pairs = SiteNumbers::of(sites);
            each_conflict(sites, |at, other| {
                let (a, b) = (&sites[at], &sites[other]);
                let positions = (a.pc.min(b.pc), a.pc.max(b.pc));
                if scope.is_some_and(|scope| !scope.pairs.contains(&positions)) {
                    return;
                }
                let (x, y) = (a.events[0].0, b.events[0].0);
                let first = (x.min(y), x.max(y));
                let number = *numbers.entry(positions).or_insert_with(|| {
                    let candidate = Candidate {
                        positions,
                        nearest: Vec::new(),
                        first,
                        total: 0,
                    };
                    found.push((candidate, Nearest::default()));
                    found.len() as u32 - 1
                });
                let candidate = &mut found[number as usize].0;
                candidate.total += a.events.len() as u64 * b.events.len() as u64;
                candidate.first = candidate.first.min(first);
                pairs.set(at, other, number);
            });
            let number = |a: u32, b: u32| {
                pairs.get(a, b, || {
                    let (a, b) = (&sites[a as usize], &sites[b as usize]);
                    let positions = (a.pc.min(b.pc), a.pc.max(b.pc));
                    a.conflicts(b).then(|| numbers.get(&positions).copied()).flatten()
                })
            };
            nearest::search(trace, contexts, needs, sites, &number, &mut found);
        }
        let mut list: Vec<Candidate> = found
            .into_iter()
            .map(|(candidate, nearest)| Candidate {
                nearest: nearest.instances(),
                ..candidate
            })
            .collect();
        list.sort_by_key(|candidate| (candidate.first, candidate.positions));
        Candidates {
            trace,
            order,
            contexts,
            needs,
            cells,
            list,
        }
    }
}
