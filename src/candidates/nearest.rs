//! The instances of each pair of positions that lie nearest to each other in π.

use super::Candidate;
use crate::prune::{LockContextId, LockContexts, Needs};
use crate::trace::{EventId, ObjectId, ThreadId, Trace};

/// Instances kept per pair of positions.
const KEPT: usize = 32;

/// Sites of a cell, the most recently active first, that an access is paired with.
const RECENT: usize = 128;

/// The nearest instances found so far, nearest first.
#[derive(Clone, Debug)]
pub(super) struct Nearest {
    kept: Vec<(u32, EventId, EventId)>,
    /// Instances are near that lie less far apart than this.
    reach: u32,
}

impl Default for Nearest {
    fn default() -> Nearest {
        Nearest {
            kept: Vec::new(),
            reach: u32::MAX,
        }
    }
}

impl Nearest {
    fn keep(&mut self, a: EventId, b: EventId) {
        let instance = (b.0 - a.0, a, b);
        // An instance that shares several cells comes by once for each.
        if let Err(place) = self.kept.binary_search(&instance) {
            self.kept.insert(place, instance);
            self.kept.truncate(KEPT);
            if let Some(last) = self.kept.get(KEPT - 1) {
                self.reach = last.0;
            }
        }
    }

    pub(super) fn instances(self) -> Vec<(EventId, EventId)> {
        self.kept.into_iter().map(|(_, a, b)| (a, b)).collect()
    }
}

/// An access of a cell, what its thread holds, and its site.
pub(super) type Use = (EventId, LockContextId, u32);

/// Uses of a cell from which on it is worth knowing that one lock is held at most of them.
const MANY: usize = 256;

/// One of so many uses, at most, is made without that lock.
const USES_FOR_ONE_UNLOCKED: usize = 8;

/// The search for the nearest instances, cell by cell.
pub(super) struct Search<'s> {
    pub(super) trace: &'s Trace,
    pub(super) contexts: &'s LockContexts,
    pub(super) needs: &'s Needs<'s>,
    /// By context, how many uses of the cell at hand are made in it; 0 between cells.
    counts: Vec<u32>,
}

/// The sites of a cell.
pub(super) struct Sites<'s, N> {
    /// The thread of each.
    pub(super) threads: &'s [ThreadId],
    /// The candidate that two sites belong to, if any. Two of which what the locks held exclude all accesses need not have
    /// one.
    pub(super) number: N,
}

/// The last access at each site of a cell so far, if there was one, and what its thread holds.
type Last = Vec<Option<(EventId, LockContextId)>>;

impl<'s> Search<'s> {
    pub(super) fn new(trace: &'s Trace, contexts: &'s LockContexts, needs: &'s Needs<'s>) -> Search<'s> {
        Search {
            trace,
            contexts,
            needs,
            counts: vec![0; contexts.len()],
        }
    }

    /// Pairs each access of a cell, in order, with the last one at each other site before it.
    pub(super) fn cell<N: Fn(u32, u32) -> Option<u32>>(
        &mut self,
        sites: &Sites<'_, N>,
        uses: &[Use],
        found: &mut [(Candidate, Nearest)],
    ) {
        match self.most_held(uses).filter(|_| sites.threads.len() <= RECENT) {
            Some(lock) => self.beside(lock, sites, uses, found),
            None => self.all(sites, uses, found),
        }
    }

    /// A lock that is held exclusively at most uses.
    fn most_held(&mut self, uses: &[Use]) -> Option<ObjectId> {
        if uses.len() < MANY {
            return None;
        }
        let mut met = Vec::new();
        for &(_, context, _) in uses {
            let count = &mut self.counts[context.0 as usize];
            if *count == 0 {
                met.push(context);
            }
            *count += 1;
        }
        let counted = met.iter().map(|&context| (context, self.counts[context.0 as usize]));
        let most = self.contexts.held_at_most(counted);
        met.iter().for_each(|context| self.counts[context.0 as usize] = 0);
        let (lock, count) = most?;
        ((uses.len() - count) * USES_FOR_ONE_UNLOCKED <= uses.len()).then_some(lock)
    }

    /// Two uses of which both hold a lock exclude each other: only what is done without it is looked at, and what others
    /// did without it last.
    fn beside<N: Fn(u32, u32) -> Option<u32>>(
        &mut self,
        lock: ObjectId,
        sites: &Sites<'_, N>,
        uses: &[Use],
        found: &mut [(Candidate, Nearest)],
    ) {
        let count = sites.threads.len();
        let mut last: Last = vec![None; count];
        // Sites whose last access was made without it.
        let mut without: Vec<u32> = Vec::new();
        let mut others: Vec<(EventId, u32)> = Vec::new();
        let mut context_before = None;
        for &(event, context, site) in uses {
            let holds = match context_before {
                Some((before, holds)) if before == context => holds,
                _ => self.contexts.holds_exclusively(context, lock),
            };
            context_before = Some((context, holds));
            others.clear();
            if holds {
                others.extend(
                    without
                        .iter()
                        .filter_map(|&other| Some((last[other as usize]?.0, other))),
                );
            } else {
                let all = (0..).zip(&last);
                others.extend(all.filter_map(|(other, last)| Some(((*last)?.0, other))));
            }
            // The latest first, as where all are looked at.
            others.sort_unstable_by(|a, b| b.cmp(a));
            for &(earlier, other) in &others {
                if let Some(number) = (sites.number)(site, other) {
                    let held = last[other as usize].expect("it had an access").1;
                    let nearest = &mut found[number as usize].1;
                    self.look(
                        (earlier, held),
                        (event, context),
                        sites.threads[other as usize],
                        nearest,
                    );
                }
            }
            last[site as usize] = Some((event, context));
            match without.iter().position(|&other| other == site) {
                Some(at) if holds => drop(without.swap_remove(at)),
                None if !holds => without.push(site),
                _ => {}
            }
        }
    }

    fn all<N: Fn(u32, u32) -> Option<u32>>(
        &mut self,
        sites: &Sites<'_, N>,
        uses: &[Use],
        found: &mut [(Candidate, Nearest)],
    ) {
        let count = sites.threads.len();
        let mut last: Last = vec![None; count];
        // Sites that had an access, the latest first. One that is not among them comes back with its next access only.
        let mut recent: Vec<u32> = Vec::with_capacity(RECENT + 1);
        // By site: no instance that it is part of is near from this distance on, as far as was found out when all other
        // sites were looked at. What is near only shrinks, so that stays true.
        let mut reach = vec![u32::MAX; count];
        for &(event, context, site) in uses {
            let (mut farthest, mut passed_all) = (0, recent.len() == count);
            for &other in &recent {
                let (earlier, held) = last[other as usize].expect("it had an access");
                if event.0 - earlier.0 >= reach[site as usize] {
                    // Those that follow are even farther.
                    passed_all = false;
                    break;
                }
                let Some(number) = (sites.number)(site, other) else {
                    continue;
                };
                let nearest = &mut found[number as usize].1;
                self.look(
                    (earlier, held),
                    (event, context),
                    sites.threads[other as usize],
                    nearest,
                );
                farthest = farthest.max(nearest.reach);
            }
            if passed_all {
                reach[site as usize] = farthest;
            }
            last[site as usize] = Some((event, context));
            match recent.iter().position(|&other| other == site) {
                Some(place) => recent[..=place].rotate_right(1),
                None => recent.insert(0, site),
            }
            recent.truncate(RECENT);
        }
    }

    /// Keeps an instance that is near and that nothing excludes; of the earlier access, with its thread.
    #[inline]
    fn look(
        &self,
        (earlier, held): (EventId, LockContextId),
        (event, context): (EventId, LockContextId),
        thread: ThreadId,
        nearest: &mut Nearest,
    ) {
        if event.0 - earlier.0 < nearest.reach
            && !self.contexts.clash(held, context)
            && self.needs.before_pending(event, thread) <= self.trace.place(earlier)
        {
            nearest.keep(earlier, event);
        }
    }
}
