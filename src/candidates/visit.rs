//! All instances of a pair of positions, with those that fall together taken together.

use super::alike::{self, EachCell};
use super::groups::Class;
use super::open_pairs::SitesFound;
use super::site::Held;
use super::{Candidates, Site, positions_of};
use crate::prune::{MustHappenBefore, Needs};
use crate::trace::{CodePosition, EventId, ThreadId};
use hashbrown::HashMap;
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

/// Accesses at one site.
type Events<'s> = &'s [Held];

/// Two groups of sites that conflict: the class of their cells, and the groups, the smaller number first.
pub(crate) type GroupPair = (u32, u32, u32);

/// By positions, the groups of sites that conflict there, in the order of their classes.
pub(crate) type SitePairs = HashMap<(CodePosition, CodePosition), Vec<GroupPair>>;

impl Candidates<'_> {
    /// For each of the given pairs of positions, the sites that they stand for.
    pub(crate) fn site_pairs(&self, wanted: &[(CodePosition, CodePosition)]) -> SitePairs {
        let mut found: SitePairs = wanted.iter().map(|&positions| (positions, Vec::new())).collect();
        if found.is_empty() {
            return found;
        }
        for (number, class) in (0..).zip(&self.classes) {
            class.each_conflict(|at, other| {
                if let Some(pairs) = found.get_mut(&positions_of(class.site_of(at), class.site_of(other))) {
                    pairs.push((number, at, other));
                }
            });
        }
        found
    }

    /// Hands every instance of the given pairs of sites to `each` that nothing excludes yet, the earlier event
    /// first, until it breaks.
    pub(crate) fn visit(
        &self,
        pairs: &[GroupPair],
        each: &mut dyn FnMut(EventId, EventId) -> ControlFlow<()>,
    ) -> Visited {
        self.visit_on(self.order, self.needs, pairs, each)
    }

    /// As [`visit`](Self::visit), by what other relations than the candidates' own exclude.
    pub(crate) fn visit_on(
        &self,
        order: &MustHappenBefore,
        needs: &Needs<'_>,
        pairs: &[GroupPair],
        each: &mut dyn FnMut(EventId, EventId) -> ControlFlow<()>,
    ) -> Visited {
        let mut visit = Visit {
            candidates: self,
            order,
            needs,
            each,
            found: Visited::default(),
        };
        if visit.classes(pairs).is_break() {
            visit.found.stopped = true;
        }
        visit.found
    }
}

impl Candidates<'_> {
    /// Hands every instance that must-happen-before and locks leave open to `each`, until it breaks.
    pub(crate) fn visit_concurrent(
        &self,
        pairs: &[GroupPair],
        each: &mut dyn FnMut(EventId, EventId) -> ControlFlow<()>,
    ) {
        let mut each_of = |a: Events<'_>, b: Events<'_>| {
            for &(a, held) in a {
                for &(b, held_there) in b {
                    if self.order.concurrent(a, b) && !self.contexts.clash(held, held_there) {
                        each(a.min(b), a.max(b))?;
                    }
                }
            }
            ControlFlow::Continue(())
        };
        let _: ControlFlow<()> = by_class(pairs).try_for_each(|(class, pairs)| {
            let class = &self.classes[class as usize];
            if class.has_few_sites() {
                return pairs.iter().try_for_each(|&(_, a, b)| {
                    let (a, b) = (&class.sites[a as usize], &class.sites[b as usize]);
                    match class.cells {
                        1 => each_of(&a.events, &b.events),
                        cells => {
                            let open = alike::open_cells(self.trace, self.order, cells, a, b);
                            EachCell::of(&open, a, b).try_for_each(&mut each_of)
                        }
                    }
                });
            }
            let unlocked = pairs.iter().map(|&(_, a, b)| (a, b));
            let unlocked: Vec<(u32, u32)> = unlocked
                .filter(|&(a, b)| !class.all_clash(self.contexts, a, b))
                .collect();
            class.each_pair(self.order, &unlocked, &mut |found| match found {
                SitesFound::Ordered(..) => ControlFlow::Continue(()),
                SitesFound::Open(a, b) => each_of(&a.events, &b.events),
            })
        });
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
    /// an object that is destroyed, the uses before that in π. `None` if nothing is freed at the given pairs of sites,
    /// which are those of one pair of positions.
    pub(crate) fn visit_frees(
        &self,
        needs: &Needs<'_>,
        pairs: &[GroupPair],
        each: &mut dyn FnMut(EventId, EventId) -> ControlFlow<()>,
    ) -> Option<Frees> {
        let trace = self.trace;
        let mut found = None;
        // All of the pairs are at the same two positions.
        let &(class, a, b) = pairs.first()?;
        let class = &self.classes[class as usize];
        let (a, b) = positions_of(class.site_of(a), class.site_of(b));
        if !self.ending.contains(&a) && !self.ending.contains(&b) {
            return None;
        }
        for &(class, a, b) in pairs {
            let class = &self.classes[class as usize];
            let mut sites: Vec<(u32, u32)> = Vec::new();
            for (group, other) in [(a, b), (b, a)].into_iter().take(if a == b { 1 } else { 2 }) {
                if class.site_of(group).part.ends(class.site_of(other).part) {
                    let pairs = class
                        .sites_of(group)
                        .flat_map(|site| class.sites_of(other).map(move |other| (site, other)));
                    sites.extend(pairs);
                }
            }
            // In the order in which all pairs are visited, and of two that free, both ways.
            sites.sort_unstable_by_key(|&(site, other)| (site.min(other), site.max(other), site));
            for (site, other) in sites {
                let (site, other) = (&class.sites[site as usize], &class.sites[other as usize]);
                if site.thread == other.thread {
                    continue;
                }
                let visited = match class.cells {
                    1 => self.ended(needs, (site, &site.events), (other, &other.events), &mut found, each),
                    cells => {
                        let (open, ordered) = alike::open_frees(trace, needs.relation(), cells, site, other);
                        let visited: &mut Frees = found.get_or_insert_default();
                        visited.first_ordered = visited.first_ordered.or(ordered);
                        EachCell::of(&open, site, other).try_for_each(|frees, accesses| {
                            self.ended(needs, (site, frees), (other, accesses), &mut found, each)
                        })
                    }
                };
                if visited.is_break() {
                    return found;
                }
            }
        }
        found
    }

    /// The same for what frees a cell, or destroys it, and the accesses at another site of it.
    fn ended(
        &self,
        needs: &Needs<'_>,
        (site, frees): (&Site, Events<'_>),
        (other, accesses): (&Site, Events<'_>),
        found: &mut Option<Frees>,
        each: &mut dyn FnMut(EventId, EventId) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for &(free, _) in frees {
            let ended = match site.part.frees {
                true => accesses,
                false => &accesses[..accesses.partition_point(|&(access, _)| access < free)],
            };
            if ended.is_empty() {
                continue;
            }
            let visited: &mut Frees = found.get_or_insert_default();
            let needed = needs.relation().count(free, other.thread);
            let open = ended.partition_point(|&(access, _)| self.trace.place(access) < needed);
            if let Some(&(access, _)) = ended[..open].first() {
                visited.first_ordered.get_or_insert((access, free));
            }
            ended[open..].iter().try_for_each(|&(access, _)| each(free, access))?;
        }
        ControlFlow::Continue(())
    }
}

/// The pairs of each class.
fn by_class(pairs: &[GroupPair]) -> impl Iterator<Item = (u32, &[GroupPair])> {
    pairs
        .chunk_by(|(cell, ..), (other, ..)| cell == other)
        .map(|pairs| (pairs[0].0, pairs))
}

struct Visit<'v, 't> {
    candidates: &'v Candidates<'t>,
    order: &'v MustHappenBefore,
    needs: &'v Needs<'v>,
    each: &'v mut dyn FnMut(EventId, EventId) -> ControlFlow<()>,
    found: Visited,
}

impl Visit<'_, '_> {
    fn classes(&mut self, pairs: &[GroupPair]) -> ControlFlow<()> {
        let (candidates, order) = (self.candidates, self.order);
        by_class(pairs).try_for_each(|(class, pairs)| {
            let class = &candidates.classes[class as usize];
            if class.has_few_sites() {
                return pairs.iter().try_for_each(|&(_, a, b)| match class.cells {
                    1 => self.all(&class.sites[a as usize].events, &class.sites[b as usize].events),
                    _ => self.alike(class, a, b),
                });
            }
            let mut unlocked = Vec::new();
            for &(_, a, b) in pairs {
                match class.all_clash(candidates.contexts, a, b) {
                    true => self.all_locked(class, a, b),
                    false => unlocked.push((a, b)),
                }
            }
            class.each_pair(order, &unlocked, &mut |found| match found {
                SitesFound::Ordered(instances, a, b) => {
                    self.found.ordered += instances;
                    first_of(&mut self.found.first_ordered, a.first(), b.first());
                    ControlFlow::Continue(())
                }
                SitesFound::Open(a, b) => self.not_all_locked(&a.events, &b.events),
            })
        })
    }

    fn all_locked(&mut self, class: &Class, a: u32, b: u32) {
        if let Some((first, second)) = class.first_instance(a, b) {
            self.found.locked += class.instances(a, b);
            first_of(&mut self.found.first_locked, first, second);
        }
    }

    /// Two sites of several cells: most of these may fall together.
    fn alike(&mut self, class: &Class, a: u32, b: u32) -> ControlFlow<()> {
        let Candidates { trace, contexts, .. } = *self.candidates;
        if class.all_clash(contexts, a, b) {
            self.all_locked(class, a, b);
            return ControlFlow::Continue(());
        }
        let (first, all, cell) = (class.first_instance(a, b), class.instances(a, b), class.cell_of_first(a, b));
        let (a, b) = (&class.sites[a as usize], &class.sites[b as usize]);
        let open = alike::open_cells(trace, self.order, class.cells, a, b);
        let each = EachCell::of(&open, a, b);
        let ordered = all - each.instances();
        if ordered > 0 {
            self.found.ordered += ordered;
            let first = match open.has(cell) {
                true => open.first_of_others(a, b),
                false => first,
            };
            if let Some((first, second)) = first {
                first_of(&mut self.found.first_ordered, first, second);
            }
        }
        each.try_for_each(|a, b| self.all(a, b))
    }

    fn all(&mut self, a: Events<'_>, b: Events<'_>) -> ControlFlow<()> {
        let (Some(first), Some(second)) = (a.first(), b.first()) else {
            return ControlFlow::Continue(());
        };
        let contexts = self.candidates.contexts;
        if contexts.all_clash(a.iter().map(|x| x.1), b.iter().map(|x| x.1)) {
            self.found.locked += a.len() as u64 * b.len() as u64;
            first_of(&mut self.found.first_locked, first.0, second.0);
            return ControlFlow::Continue(());
        }
        self.not_all_locked(a, b)
    }

    fn not_all_locked(&mut self, a: Events<'_>, b: Events<'_>) -> ControlFlow<()> {
        let contexts = self.candidates.contexts;
        if a.len() * b.len() > FEW
            && let Some(lock) = contexts.most_held(a.iter().map(|x| x.1), b.iter().map(|x| x.1))
        {
            // Where both hold it, nothing is left; the rest is little.
            let (held_a, rest_a): (Vec<Held>, Vec<Held>) =
                a.iter().copied().partition(|x| contexts.holds_exclusively(x.1, lock));
            let (held_b, rest_b): (Vec<Held>, Vec<Held>) = b.iter().copied().partition(|x| contexts.holds(x.1, lock));
            if let (Some(first), Some(second)) = (held_a.first(), held_b.first()) {
                self.found.locked += held_a.len() as u64 * held_b.len() as u64;
                first_of(&mut self.found.first_locked, first.0, second.0);
            }
            self.one_by_one(&rest_a, b)?;
            return self.one_by_one(&held_a, &rest_b);
        }
        self.one_by_one(a, b)
    }

    fn one_by_one(&mut self, a: Events<'_>, b: Events<'_>) -> ControlFlow<()> {
        let (Some(&(first_a, _)), Some(&(first_b, _))) = (a.first(), b.first()) else {
            return ControlFlow::Continue(());
        };
        if a.len() > b.len() {
            return self.one_by_one(b, a);
        }
        let Candidates { trace, contexts, .. } = *self.candidates;
        let (order, needs) = (self.order, self.needs);
        let (thread_a, thread_b) = (trace.thread(first_a), trace.thread(first_b));
        // What precedes an event, or is preceded by it, only grows along its thread, so both ends of a stretch only move
        // on: from where they were, mostly not far.
        let stretch = |(event, place): (EventId, u32),
                       last: &std::ops::Range<usize>,
                       precedes: &dyn Fn(EventId, ThreadId) -> u32| {
            let count = precedes(event, thread_b);
            let low = first_from(b, last.start, |&(other, _)| trace.place(other) >= count);
            let high = first_from(b, last.end.max(low), |&(other, _)| precedes(other, thread_a) > place);
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
                        first_from(a, at + 1, |&(event, _)| trace.place(event) >= count)
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

/// The first place from `from` on at which something holds that holds from there on; the end if there is none. Takes
/// time by how far that is from `from`.
pub(super) fn first_from<T>(all: &[T], from: usize, holds: impl Fn(&T) -> bool) -> usize {
    let (mut low, mut step) = (from, 1);
    while low + step <= all.len() && !holds(&all[low + step - 1]) {
        low += step;
        step *= 2;
    }
    let until = all.len().min(low + step);
    low + all[low..until].partition_point(|one| !holds(one))
}

/// Replaces `slot` by the pair, its earlier event first, if that comes earlier.
fn first_of(slot: &mut Option<(EventId, EventId)>, a: EventId, b: EventId) {
    let pair = (a.min(b), a.max(b));
    if slot.is_none_or(|old| pair < old) {
        *slot = Some(pair);
    }
}
