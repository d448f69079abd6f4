//! All instances of a pair of positions, with those that fall together taken together.

use super::open_pairs::SitesFound;
use super::site::Held;
use super::spots::{HeldAt, SpotPair, first_from};
use super::{Candidates, positions_of};
use crate::prune::{LockContextId, LockContexts, MustHappenBefore, Needs};
use crate::trace::{CodePosition, EventId, ThreadId};
use hashbrown::{HashMap, HashSet};
use std::ops::ControlFlow;

/// Pairs of accesses that are looked at one by one rather than divided by the locks held.
const FEW: usize = 1024;

/// How the instances of a pair of positions fell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visited {
    /// Ordered by must-happen-before.
    pub ordered: u64,
    /// Excluded by the locks held, or their histories.
    pub locked: u64,
    /// Excluded by what is needed before them beyond must-happen-before.
    pub needed: u64,
    /// An instance that must-happen-before orders.
    pub first_ordered: Option<(EventId, EventId)>,
    /// An instance that locks exclude.
    pub first_locked: Option<(EventId, EventId)>,
    /// An instance that only what is needed before excludes.
    pub first_needed: Option<(EventId, EventId)>,
    /// Whether the visitor stopped before the last one.
    pub stopped: bool,
}

/// Accesses at one spot of a cell.
type Events<'s> = &'s [Held];

/// Two groups of a crowded cell's sites that conflict: the cell, and the groups, the smaller number first.
type GroupPair = (u32, u32, u32);

/// Where a pair of positions has its instances.
#[derive(Clone, Debug, Default)]
pub(crate) struct PairSites {
    /// Pairs of spots, by number.
    spots: Vec<u32>,
    /// The groups of sites that conflict there, in the order of their cells.
    groups: Vec<GroupPair>,
}

/// Where each pair of positions has its instances.
pub(crate) type SitePairs = HashMap<(CodePosition, CodePosition), PairSites>;

impl Candidates<'_> {
    /// For each of the given pairs of positions, the sites that they stand for.
    pub(crate) fn site_pairs(&self, wanted: &[(CodePosition, CodePosition)]) -> SitePairs {
        let mut found: SitePairs = wanted
            .iter()
            .map(|&positions| (positions, PairSites::default()))
            .collect();
        if found.is_empty() {
            return found;
        }
        for (number, pair) in (0..).zip(&self.spots.pairs) {
            if let Some(sites) = found.get_mut(&self.spots.positions(pair.spots)) {
                sites.spots.push(number);
            }
        }
        for (number, cell) in (0..).zip(&self.crowded) {
            cell.each_conflict(|at, other| {
                let positions = positions_of(cell.site_of(at).pc, cell.site_of(other).pc);
                if let Some(sites) = found.get_mut(&positions) {
                    sites.groups.push((number, at, other));
                }
            });
        }
        found
    }

    /// Hands every instance of the given pairs of sites to `each` that nothing excludes yet, the earlier event
    /// first, until it breaks.
    pub(crate) fn visit(
        &self,
        sites: &PairSites,
        each: &mut dyn FnMut(EventId, EventId) -> ControlFlow<()>,
    ) -> Visited {
        self.visit_on((self.order, self.contexts, self.needs), sites, each)
    }

    /// As [`visit`](Self::visit), by what other relations than the candidates' own exclude, and by the candidates'
    /// locks or some of these.
    pub(crate) fn visit_on(
        &self,
        (order, contexts, needs): (&MustHappenBefore, &LockContexts, &Needs<'_>),
        sites: &PairSites,
        each: &mut dyn FnMut(EventId, EventId) -> ControlFlow<()>,
    ) -> Visited {
        let mut visit = Visit {
            candidates: self,
            order,
            contexts,
            needs,
            each,
            found: Visited::default(),
            held: Default::default(),
            parts: Default::default(),
        };
        if visit.all_sites(sites).is_break() {
            visit.found.stopped = true;
        }
        visit.found
    }
}

impl Candidates<'_> {
    /// Hands every instance that must-happen-before and locks leave open to `each`, until it breaks.
    pub(crate) fn visit_concurrent(
        &self,
        sites: &PairSites,
        each: &mut dyn FnMut(EventId, EventId) -> ControlFlow<()>,
    ) {
        // Each are of one thread, in its order: those that are ordered before an event come first, those behind it last.
        let mut each_of = |a: Events<'_>, b: Events<'_>| {
            for &(a, held) in a {
                let from = b.partition_point(|&(b, _)| self.order.before(b, a));
                let behind = b[from..].partition_point(|&(b, _)| !self.order.before(a, b));
                for &(b, held_there) in &b[from..from + behind] {
                    if a != b && !self.contexts.clash(held, held_there) {
                        each(a.min(b), a.max(b))?;
                    }
                }
            }
            ControlFlow::Continue(())
        };
        let mut held = Default::default();
        let at_spots: ControlFlow<()> = sites.spots.iter().try_for_each(|&pair| {
            let pair = &self.spots.pairs[pair as usize];
            self.each_open_cell(self.order, pair, &mut held, &mut |_, a, b| each_of(a, b))
        });
        if at_spots.is_break() {
            return;
        }
        let _: ControlFlow<()> = by_cell(&sites.groups).try_for_each(|(cell, pairs)| {
            let cell = &self.crowded[cell as usize];
            let unlocked = pairs.iter().map(|&(_, a, b)| (a, b));
            let unlocked: Vec<(u32, u32)> = unlocked
                .filter(|&(a, b)| !cell.all_clash(self.contexts, a, b))
                .collect();
            cell.each_pair(self.order, &unlocked, &mut |found| match found {
                SitesFound::Ordered(..) => ControlFlow::Continue(()),
                SitesFound::Open(a, b) => each_of(&a.events, &b.events),
            })
        });
    }

    /// Calls `each` with the cells of which two accesses at a pair of spots may be concurrent, and with the accesses of
    /// the cell there, until it breaks.
    fn each_open_cell(
        &self,
        order: &MustHappenBefore,
        pair: &SpotPair,
        held: &mut [HeldAt; 2],
        each: &mut dyn FnMut(u32, Events<'_>, Events<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let count = |event, thread| order.count(event, thread);
        self.spots
            .each_open_cell(self.trace, &count, (pair.spots, pair.cells), &mut |cell, a, b| {
                let (a, b) = HeldAt::of_both(held, self.contexts, (cell, pair.spots), (a, b));
                each(cell, a, b)
            })
    }
}

/// How the frees at a pair of positions, and the accesses of what they free, fell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frees {
    /// An access, and the free that it is needed before.
    pub first_ordered: Option<(EventId, EventId)>,
}

impl Candidates<'_> {
    /// Hands every free, with every access of what it frees that is not needed before it, to `each`, until it breaks; of
    /// an object that is destroyed, the uses before that in π. `None` if nothing is freed at the given sites,
    /// which are those of one pair of positions.
    pub(crate) fn visit_frees(
        &self,
        needs: &Needs<'_>,
        sites: &PairSites,
        each: &mut dyn FnMut(EventId, EventId) -> ControlFlow<()>,
    ) -> Option<Frees> {
        let mut found = None;
        // All of the pairs are at the same two positions.
        let (a, b) = match (sites.spots.first(), sites.groups.first()) {
            (Some(&pair), _) => self.spots.positions(self.spots.pairs[pair as usize].spots),
            (None, Some(&(cell, a, b))) => {
                let cell = &self.crowded[cell as usize];
                positions_of(cell.site_of(a).pc, cell.site_of(b).pc)
            }
            (None, None) => return None,
        };
        if !self.ending.contains(&a) && !self.ending.contains(&b) {
            return None;
        }
        for &pair in &sites.spots {
            let (a, b) = self.spots.pairs[pair as usize].spots;
            for (ending, other) in [(a, b), (b, a)] {
                let [part, there] = [ending, other].map(|spot| self.spots.list[spot as usize].key.2);
                if part.ends(there) && self.ended_at_spots(needs, (ending, other), &mut found, each).is_break() {
                    return found;
                }
            }
        }
        for &(cell, a, b) in &sites.groups {
            let cell = &self.crowded[cell as usize];
            let mut sites: Vec<(u32, u32)> = Vec::new();
            for (group, other) in [(a, b), (b, a)].into_iter().take(if a == b { 1 } else { 2 }) {
                if cell.site_of(group).part.ends(cell.site_of(other).part) {
                    let pairs = cell
                        .sites_of(group)
                        .flat_map(|site| cell.sites_of(other).map(move |other| (site, other)));
                    sites.extend(pairs);
                }
            }
            // In the order in which all pairs are visited, and of two that free, both ways.
            sites.sort_unstable_by_key(|&(site, other)| (site.min(other), site.max(other), site));
            for (site, other) in sites {
                let (site, other) = (&cell.sites[site as usize], &cell.sites[other as usize]);
                if site.thread == other.thread {
                    continue;
                }
                for &(free, _) in &site.events {
                    let ended = match site.part.frees {
                        true => &other.events[..],
                        false => &other.events[..other.events.partition_point(|&(access, _)| access < free)],
                    };
                    let needed = needs.relation().count(free, other.thread);
                    if self.ended(free, ended, needed, &mut found, each).is_break() {
                        return found;
                    }
                }
            }
        }
        found
    }

    /// The same for what ends cells, at one spot, and their accesses at another.
    fn ended_at_spots(
        &self,
        needs: &Needs<'_>,
        (ending, other): (u32, u32),
        found: &mut Option<Frees>,
        each: &mut dyn FnMut(EventId, EventId) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (trace, spots) = (self.trace, &self.spots);
        let [site, there] = [ending, other].map(|spot| &spots.list[spot as usize]);
        for free in spots.accesses(ending) {
            let all = spots.accesses(other);
            let ended = match site.key.2.frees {
                true => all,
                false => all.until(all.partition_point(|access| access < free)),
            };
            let needed = needs.relation().count(free, there.thread());
            let needing = ended.partition_point(|access| trace.place(access) < needed);
            let (ordered, open) = (ended.until(needing), ended.from(needing));
            // One to name is enough.
            if found.is_none_or(|found: Frees| found.first_ordered.is_none()) {
                let _: ControlFlow<()> = spots.each_of_ended(trace, free, (other, ordered), &mut |access| {
                    found.get_or_insert_default().first_ordered = Some((access, free));
                    ControlFlow::Break(())
                });
            }
            spots.each_of_ended(trace, free, (other, open), &mut |access| {
                found.get_or_insert_default();
                each(free, access)
            })?;
        }
        ControlFlow::Continue(())
    }

    /// The same for what ends one cell, and the accesses of it that this is about, of whose thread so many events are
    /// needed before.
    fn ended(
        &self,
        free: EventId,
        ended: Events<'_>,
        needed: u32,
        found: &mut Option<Frees>,
        each: &mut dyn FnMut(EventId, EventId) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if ended.is_empty() {
            return ControlFlow::Continue(());
        }
        let visited = found.get_or_insert_default();
        let open = ended.partition_point(|&(access, _)| self.trace.place(access) < needed);
        if let Some(&(access, _)) = ended[..open].first() {
            visited.first_ordered.get_or_insert((access, free));
        }
        ended[open..].iter().try_for_each(|&(access, _)| each(free, access))
    }
}

/// The pairs of each cell.
fn by_cell(pairs: &[GroupPair]) -> impl Iterator<Item = (u32, &[GroupPair])> {
    pairs
        .chunk_by(|(cell, ..), (other, ..)| cell == other)
        .map(|pairs| (pairs[0].0, pairs))
}

struct Visit<'v, 't> {
    candidates: &'v Candidates<'t>,
    order: &'v MustHappenBefore,
    contexts: &'v LockContexts,
    needs: &'v Needs<'v>,
    each: &'v mut dyn FnMut(EventId, EventId) -> ControlFlow<()>,
    found: Visited,
    /// The accesses at the two spots that were looked at last.
    held: [HeldAt; 2],
    /// Room for the accesses of two spots that hold a lock, and for the others.
    parts: [(Vec<Held>, Vec<Held>); 2],
}

impl Visit<'_, '_> {
    fn all_sites(&mut self, sites: &PairSites) -> ControlFlow<()> {
        let (candidates, order) = (self.candidates, self.order);
        for &pair in &sites.spots {
            self.spots(&candidates.spots.pairs[pair as usize])?;
        }
        by_cell(&sites.groups).try_for_each(|(cell, pairs)| {
            let cell = &candidates.crowded[cell as usize];
            let mut unlocked = Vec::new();
            for &(_, a, b) in pairs {
                if !cell.all_clash(self.contexts, a, b) {
                    unlocked.push((a, b));
                } else if let Some((first, second)) = cell.first_conflict(a, b) {
                    self.found.locked += cell.instances(a, b);
                    let (first, second) = (&cell.sites[first as usize], &cell.sites[second as usize]);
                    first_of(&mut self.found.first_locked, first.first(), second.first());
                }
            }
            cell.each_pair(order, &unlocked, &mut |found| match found {
                SitesFound::Ordered(instances, a, b) => {
                    self.found.ordered += instances;
                    first_of(&mut self.found.first_ordered, a.first(), b.first());
                    ControlFlow::Continue(())
                }
                SitesFound::Open(a, b) => self.not_all_locked(&a.events, &b.events),
            })
        })
    }

    /// Two spots: all cells together, and then those one by one that are left.
    fn spots(&mut self, pair: &SpotPair) -> ControlFlow<()> {
        let Candidates { trace, spots, .. } = self.candidates;
        // Known of all of the candidates' locks.
        if pair.all_clash && std::ptr::eq(self.contexts, self.candidates.contexts) {
            self.found.locked += pair.instances;
            first_of(&mut self.found.first_locked, pair.first.0, pair.first.1);
            return ControlFlow::Continue(());
        }
        let (mut open, mut cells) = (0, Vec::new());
        let mut held = std::mem::take(&mut self.held);
        let flow = self
            .candidates
            .each_open_cell(self.order, pair, &mut held, &mut |cell, a, b| {
                open += a.len() as u64 * b.len() as u64;
                cells.push(cell);
                self.all(a, b)
            });
        self.held = held;
        flow?;
        if open < pair.instances {
            self.found.ordered += pair.instances - open;
            let first = match cells.contains(&pair.cell) {
                true => spots.first_but_in(trace, pair, &cells.into_iter().collect::<HashSet<u32>>()),
                false => Some(pair.first),
            };
            if let Some((first, second)) = first {
                first_of(&mut self.found.first_ordered, first, second);
            }
        }
        ControlFlow::Continue(())
    }

    fn all(&mut self, a: Events<'_>, b: Events<'_>) -> ControlFlow<()> {
        let (Some(first), Some(second)) = (a.first(), b.first()) else {
            return ControlFlow::Continue(());
        };
        let contexts = self.contexts;
        if contexts.all_clash(a.iter().map(|x| x.1), b.iter().map(|x| x.1)) {
            self.found.locked += a.len() as u64 * b.len() as u64;
            first_of(&mut self.found.first_locked, first.0, second.0);
            return ControlFlow::Continue(());
        }
        self.not_all_locked(a, b)
    }

    fn not_all_locked(&mut self, a: Events<'_>, b: Events<'_>) -> ControlFlow<()> {
        let contexts = self.contexts;
        if a.len() * b.len() > FEW
            && let Some(lock) = contexts.most_held(a.iter().map(|x| x.1), b.iter().map(|x| x.1))
        {
            // Where both hold it, nothing is left; the rest is little.
            let mut parts = std::mem::take(&mut self.parts);
            partition(a, &mut parts[0], |held| contexts.holds_exclusively(held, lock));
            partition(b, &mut parts[1], |held| contexts.holds(held, lock));
            let flow = self.but_under_one(a, b, &parts);
            self.parts = parts;
            return flow;
        }
        self.one_by_one(a, b)
    }

    /// All but those of `a` with those of `b` that hold a lock.
    fn but_under_one(
        &mut self,
        a: Events<'_>,
        b: Events<'_>,
        [(held_a, rest_a), (held_b, rest_b)]: &[(Vec<Held>, Vec<Held>); 2],
    ) -> ControlFlow<()> {
        debug_assert_eq!(
            (held_a.len() + rest_a.len(), held_b.len() + rest_b.len()),
            (a.len(), b.len())
        );
        if let (Some(first), Some(second)) = (held_a.first(), held_b.first()) {
            self.found.locked += held_a.len() as u64 * held_b.len() as u64;
            first_of(&mut self.found.first_locked, first.0, second.0);
        }
        self.one_by_one(rest_a, b)?;
        self.one_by_one(held_a, rest_b)
    }

    fn one_by_one(&mut self, a: Events<'_>, b: Events<'_>) -> ControlFlow<()> {
        let (Some(&(first_a, _)), Some(&(first_b, _))) = (a.first(), b.first()) else {
            return ControlFlow::Continue(());
        };
        if a.len() > b.len() {
            return self.one_by_one(b, a);
        }
        let trace = self.candidates.trace;
        let (order, contexts, needs) = (self.order, self.contexts, self.needs);
        let (thread_a, thread_b) = (trace.thread(first_a), trace.thread(first_b));
        // What precedes an event, or is preceded by it, only grows along its thread, so both ends of a stretch only move
        // on: from where they were, mostly not far.
        let stretch = |(event, place): (EventId, u32),
                       last: &std::ops::Range<usize>,
                       precedes: &dyn Fn(EventId, ThreadId) -> u32| {
            let count = precedes(event, thread_b);
            let low = first_from(b.len(), last.start, |at| trace.place(b[at].0) >= count);
            let high = first_from(b.len(), last.end.max(low), |at| precedes(b[at].0, thread_a) > place);
            low..high
        };
        let (mut must, mut open, mut at) = (0..0, 0..0, 0);
        while let Some(&(event, held)) = a.get(at) {
            let place = trace.place(event);
            must = stretch((event, place), &must, &|event, thread| order.count(event, thread));
            if let Some(&(other, _)) = b[..must.start].first().or(b[must.end..].first()) {
                first_of(&mut self.found.first_ordered, event, other);
            }
            if must.is_empty() {
                // So it is of all up to the first one that the next of the others does not come after.
                let next = match b.get(must.start) {
                    Some(&(other, _)) => {
                        let count = order.count(other, thread_a);
                        first_from(a.len(), at + 1, |at| trace.place(a[at].0) >= count)
                    }
                    None => a.len(),
                };
                self.found.ordered += ((next - at) * b.len()) as u64;
                at = next;
                continue;
            }
            at += 1;
            self.found.ordered += (b.len() - must.len()) as u64;
            open = stretch((event, place), &open, &|event, thread| {
                needs.before_pending(event, thread)
            });
            let excluded = must.clone().filter(|at| !open.contains(at));
            self.found.needed += (must.len() - open.len()) as u64;
            if self.found.first_needed.is_none() {
                let mut unlocked = excluded.filter(|&at| !contexts.clash(held, b[at].1));
                if let Some(at) = unlocked.next() {
                    first_of(&mut self.found.first_needed, event, b[at].0);
                }
            }
            for &(other, held_there) in &b[open.clone()] {
                if contexts.clash(held, held_there) {
                    self.found.locked += 1;
                    first_of(&mut self.found.first_locked, event, other);
                } else {
                    (self.each)(event.min(other), event.max(other))?;
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Divides accesses into those that hold something and the others.
fn partition(all: Events<'_>, (held, rest): &mut (Vec<Held>, Vec<Held>), holds: impl Fn(LockContextId) -> bool) {
    held.clear();
    rest.clear();
    // Mostly, it is the context of the one before.
    let mut last = None;
    for &(event, context) in all {
        let holds = match last {
            Some((known, holds)) if known == context => holds,
            _ => holds(context),
        };
        last = Some((context, holds));
        if holds { &mut *held } else { &mut *rest }.push((event, context));
    }
}

/// Replaces `slot` by the pair, its earlier event first, if that comes earlier.
fn first_of(slot: &mut Option<(EventId, EventId)>, a: EventId, b: EventId) {
    let pair = (a.min(b), a.max(b));
    if slot.is_none_or(|old| pair < old) {
        *slot = Some(pair);
    }
}
