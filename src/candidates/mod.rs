//! Conflicting pairs: which pairs of code positions may race, and in which of their dynamic instances.
//!
//! Two accesses conflict if they share a cell, come from different threads, at least one writes
//! and not both are atomic. A trace can have billions of such pairs of events, so they are never
//! enumerated one by one. The accesses of a cell are grouped into *sites*: thread, code position
//! and kind; sites of many threads at one position, under the same locks, into *groups*; and cells with the same sites,
//! as the elements of an array have, into *classes*. One pass over each cell
//! finds the [nearest](Candidate::nearest) instances of each pair of positions, which decide most of them. Only for a
//! pair that they leave open are all instances visited, and then whole groups fall to a common lock, and whole
//! stretches of a thread, in all cells of a class at once, to what must, or needs to, come before.
//!
//! What this drops has no witness (see [`crate::prune`]).

mod alike;
mod calls;
mod cycles;
mod groups;
mod interruptions;
mod lock_sets;
mod marked;
mod nearest;
mod open_pairs;
mod pairs;
mod scope;
mod site;
mod visit;

#[cfg(test)]
mod tests;

pub use cycles::{Cycle, Cycles, Waiting};
pub use interruptions::{Asked, Interruption, Interruptions, Intruders, Positions, Stretch, shared_cells};
pub use lock_sets::{attach_pairs, lock_set_warnings, scope_of_warnings, shared_variables};
pub use pairs::{Reads, TornPair, TornPairs, Twins, Update};
pub use scope::{AskedCycle, Scope};
pub use visit::{Frees, Visited};
pub(crate) use visit::{GroupPair, SitePairs};

use crate::prune::{LockContexts, MustHappenBefore, Needs};
use crate::trace::{CodePosition, EventId, Trace};
use crate::verdict::{Find, Kind};
use groups::Class;
use hashbrown::{HashMap, HashSet};
use nearest::{Nearest, Use};
pub(crate) use site::place;
use site::{GroupNumbers, Site};

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
    classes: Vec<Class>,
    /// The positions at which something is freed or destroyed.
    ending: HashSet<CodePosition>,
    /// The candidates.
    pub list: Vec<Candidate>,
    /// How many further pairs of positions conflict: there were more than are wanted.
    pub unlisted: usize,
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

    /// Finds the candidates of a trace that are in scope, for these kinds of things: without races, only pairs of which
    /// one frees what the other accesses. Without a scope, they are listed up to `most`, and counted beyond: their
    /// number grows with the square of that of the positions.
    #[must_use]
    pub fn for_kinds(
        trace: &'t Trace,
        order: &'t MustHappenBefore,
        contexts: &'t LockContexts,
        needs: &'t Needs<'t>,
        find: Find,
        scope: Option<&Scope>,
        most: usize,
    ) -> Candidates<'t> {
        let nothing = Scope::default();
        let (scope, freed) = match (find.has(Kind::Races), find.has(Kind::UseAfterFree)) {
            (true, _) => (scope, false),
            (false, true) => (scope, true),
            (false, false) => (Some(&nothing), false),
        };
        // A scope says by itself how many there are.
        let most = if scope.is_some() { usize::MAX } else { most };
        Candidates::found(trace, order, contexts, needs, scope, freed, most)
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
        Candidates::found(trace, order, contexts, needs, scope, false, usize::MAX)
    }

    /// As [`within`](Self::within); `freed`: only where something is freed.
    fn found(
        trace: &'t Trace,
        order: &'t MustHappenBefore,
        contexts: &'t LockContexts,
        needs: &'t Needs<'t>,
        scope: Option<&Scope>,
        freed: bool,
        most: usize,
    ) -> Candidates<'t> {
        let mut classes = site::classes(trace, contexts, scope, freed);
        let mut numbers: HashMap<(CodePosition, CodePosition), u32> = HashMap::new();
        let mut found: Vec<(Candidate, Nearest)> = Vec::new();
        let mut is_full = false;
        let mut uses: Vec<Use> = Vec::new();
        for class in &mut classes {
            class.finish();
            let class = &*class;
            let mut pairs = GroupNumbers::of(class.groups());
            class.each_conflict(|at, other| {
                let (a, b) = (class.site_of(at), class.site_of(other));
                if freed && !class.is_pair(at, other, true) {
                    return;
                }
                let positions = positions_of(a, b);
                if scope.is_some_and(|scope| !scope.pairs.contains(&positions)) {
                    return;
                }
                let Some(first) = class.first_instance(at, other) else {
                    return;
                };
                let number = match numbers.get(&positions) {
                    Some(&number) => number,
                    None if found.len() == most => {
                        is_full = true;
                        return;
                    }
                    None => {
                        let candidate = Candidate {
                            positions,
                            nearest: Vec::new(),
                            first,
                            total: 0,
                        };
                        let number = found.len() as u32;
                        found.push((candidate, Nearest::default()));
                        numbers.insert(positions, number);
                        number
                    }
                };
                let candidate = &mut found[number as usize].0;
                candidate.total += class.instances(at, other);
                candidate.first = candidate.first.min(first);
                pairs.set(at, other, number);
            });
            let number = |a: u32, b: u32| {
                let (at, other) = (&class.sites[a as usize], &class.sites[b as usize]);
                if at.thread == other.thread {
                    return None;
                }
                pairs.get(class.group(a), class.group(b), || {
                    let positions = positions_of(at, other);
                    at.conflicts(other).then(|| numbers.get(&positions).copied()).flatten()
                })
            };
            class.uses(&mut uses);
            for uses in uses.chunk_by(|a, b| a.cell == b.cell) {
                nearest::search(trace, contexts, needs, &class.sites, uses, &number, &mut found);
            }
        }
        tracing::debug!(
            classes = classes.len(),
            cells = classes.iter().map(|class| u64::from(class.cells)).sum::<u64>(),
            crowded = classes.iter().filter(|class| !class.has_few_sites()).count(),
            alone = classes.iter().filter(|class| class.cells == 1).count(),
            sites = classes.iter().map(|class| class.sites.len()).sum::<usize>(),
            accesses = classes.iter().flat_map(|class| &class.sites).map(|site| site.events.len()).sum::<usize>(),
            "cells that more than one thread accesses"
        );
        let all = if is_full { count(&classes, freed) } else { found.len() };
        let mut list: Vec<Candidate> = found
            .into_iter()
            .map(|(candidate, nearest)| Candidate {
                nearest: nearest.instances(),
                ..candidate
            })
            .collect();
        list.sort_by_key(|candidate| (candidate.first, candidate.positions));
        let sites = classes.iter().flat_map(|class| &class.sites);
        let ending = sites.filter(|site| site.part.frees || site.part.destroys);
        Candidates {
            trace,
            order,
            contexts,
            needs,
            ending: ending.map(|site| site.pc).collect(),
            unlisted: all - list.len(),
            classes,
            list,
        }
    }
}

/// How many pairs of positions conflict, in memory for the positions alone; `freed`: where something is freed.
fn count(classes: &[Class], freed: bool) -> usize {
    let mut groups_at: HashMap<CodePosition, Vec<(&Class, u32)>> = HashMap::new();
    for class in classes {
        for group in 0..class.groups() as u32 {
            let at = groups_at.entry(class.site_of(group).pc).or_default();
            at.push((class, group));
        }
    }
    let mut partners = HashSet::new();
    let mut all = 0;
    for (&position, groups) in &groups_at {
        partners.clear();
        for &(class, group) in groups {
            for other in 0..class.groups() as u32 {
                let place = class.site_of(other).pc;
                if place >= position && !partners.contains(&place) && class.is_pair(group, other, freed) {
                    partners.insert(place);
                }
            }
        }
        all += partners.len();
    }
    all
}

/// The positions of two sites, the smaller first.
fn positions_of(a: &Site, b: &Site) -> (CodePosition, CodePosition) {
    (a.pc.min(b.pc), a.pc.max(b.pc))
}
