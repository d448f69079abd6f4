//! The instances of each pair of positions that lie nearest to each other in π.

use super::Candidate;
use crate::prune::{LockContextId, LockContexts, Needs};
use crate::trace::{EventId, ObjectId, ThreadId, Trace};
use hashbrown::HashMap;

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
    many: usize,
}

/// The sites of a cell.
pub(super) struct Sites {
    /// The thread of each.
    threads: Vec<ThreadId>,
    /// And its bit; 0 if there are too many threads.
    bits: Vec<u64>,
    /// The bits of all.
    all: u64,
}

impl Sites {
    pub(super) fn of(threads: Vec<ThreadId>) -> Sites {
        let mut known: HashMap<ThreadId, u32> = HashMap::new();
        let number = |thread: &ThreadId| {
            let next = known.len() as u32;
            *known.entry(*thread).or_insert(next)
        };
        let numbers: Vec<u32> = threads.iter().map(number).collect();
        // Of too many threads nothing is found out.
        let (bits, all) = match known.len() <= u64::BITS as usize {
            true => (
                numbers.iter().map(|&number| 1 << number).collect(),
                u64::MAX >> (64 - known.len().max(1)),
            ),
            false => (vec![0; threads.len()], u64::MAX),
        };
        Sites { threads, bits, all }
    }
}

/// The last access at a site of a cell so far.
#[derive(Clone, Copy)]
struct Last {
    event: EventId,
    /// What its thread held.
    context: LockContextId,
    /// The threads that it is needed before from now on, whatever they do, as far as that was found out: what precedes an
    /// event precedes those that follow in its thread.
    before: u64,
}

impl<'s> Search<'s> {
    pub(super) fn new(trace: &'s Trace, contexts: &'s LockContexts, needs: &'s Needs<'s>) -> Search<'s> {
        Search {
            trace,
            contexts,
            needs,
            counts: vec![0; contexts.count()],
            many: MANY,
        }
    }

    /// With another number of uses from which on a lock that most hold is looked for, to be tried with small traces.
    #[cfg(test)]
    pub(super) fn with_many(self, many: usize) -> Search<'s> {
        Search { many, ..self }
    }

    /// Pairs each access of a cell, in order, with the last one at each other site before it.
    ///
    /// `number` has the candidate that two sites belong to, if any. Two of which what the locks held exclude all accesses
    /// need not have one.
    pub(super) fn cell(
        &mut self,
        sites: &Sites,
        number: impl Fn(u32, u32) -> Option<u32>,
        uses: &[Use],
        found: &mut [(Candidate, Nearest)],
    ) {
        match self.most_held(uses).filter(|_| sites.threads.len() <= RECENT) {
            Some(lock) => self.beside(lock, sites, number, uses, found),
            None => self.all(sites, number, uses, found),
        }
    }

    /// A lock that is held exclusively at most uses.
    fn most_held(&mut self, uses: &[Use]) -> Option<ObjectId> {
        if uses.len() < self.many {
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
    fn beside(
        &self,
        lock: ObjectId,
        sites: &Sites,
        number: impl Fn(u32, u32) -> Option<u32>,
        uses: &[Use],
        found: &mut [(Candidate, Nearest)],
    ) {
        let count = sites.threads.len();
        let mut last: Vec<Option<Last>> = vec![None; count];
        // Sites whose last access was made without it, and not needed before all that the others still do.
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
            let at = |other: u32| last[other as usize].map(|last| (last.event, other));
            if holds {
                others.extend(without.iter().copied().filter_map(at));
            } else {
                others.extend((0..count as u32).filter_map(at));
            }
            // The latest first, as where all are looked at.
            others.sort_unstable_by(|a, b| b.cmp(a));
            for &(_, other) in &others {
                if let Some(number) = number(site, other)
                    && let Some(last) = &mut last[other as usize]
                {
                    let nearest = &mut found[number as usize].1;
                    self.look(last, sites, (other, site), (event, context), nearest);
                }
            }
            last[site as usize] = Some(Last {
                event,
                context,
                before: sites.bits[site as usize],
            });
            without.retain(|&other| other != site && last[other as usize].is_some_and(|last| last.before != sites.all));
            if !holds {
                without.push(site);
            }
        }
    }

    fn all(
        &self,
        sites: &Sites,
        number: impl Fn(u32, u32) -> Option<u32>,
        uses: &[Use],
        found: &mut [(Candidate, Nearest)],
    ) {
        let count = sites.threads.len();
        let mut last: Vec<Option<Last>> = vec![None; count];
        // Sites that had an access, the latest first. One that is not among them comes back with its next access only.
        let mut recent: Vec<u32> = Vec::with_capacity(RECENT + 1);
        // By site: no instance that it is part of is near from this distance on, as far as was found out when all other
        // sites were looked at. What is near only shrinks, so that stays true.
        let mut reach = vec![u32::MAX; count];
        for &(event, context, site) in uses {
            let (mut farthest, mut passed_all) = (0, recent.len() == count);
            for &other in &recent {
                let last = last[other as usize].as_mut().expect("it had an access");
                if event.0 - last.event.0 >= reach[site as usize] {
                    // Those that follow are even farther.
                    passed_all = false;
                    break;
                }
                let Some(number) = number(site, other) else {
                    continue;
                };
                let nearest = &mut found[number as usize].1;
                self.look(last, sites, (other, site), (event, context), nearest);
                farthest = farthest.max(nearest.reach);
            }
            if passed_all {
                reach[site as usize] = farthest;
            }
            last[site as usize] = Some(Last {
                event,
                context,
                before: 0,
            });
            match recent.iter().position(|&other| other == site) {
                Some(place) => recent[..=place].rotate_right(1),
                None => recent.insert(0, site),
            }
            recent.truncate(RECENT);
        }
    }

    /// Keeps an instance that is near and that nothing excludes: of the last access at the first site, and a later one at
    /// the second.
    #[inline]
    fn look(
        &self,
        last: &mut Last,
        sites: &Sites,
        (first, second): (u32, u32),
        (event, context): (EventId, LockContextId),
        nearest: &mut Nearest,
    ) {
        let (thread, bit) = (sites.threads[first as usize], sites.bits[second as usize]);
        if last.before & bit != 0
            || event.0 - last.event.0 >= nearest.reach
            || self.contexts.clash(last.context, context)
        {
            return;
        }
        if self.needs.before_pending(event, thread) <= self.trace.place(last.event) {
            nearest.keep(last.event, event);
        } else {
            last.before |= bit;
        }
    }
}
