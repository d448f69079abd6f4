//! The instances of each pair of positions that lie nearest to each other in π.

use super::Candidate;
use crate::prune::{LockContextId, LockContexts, Needs};
use crate::trace::{EventId, ThreadId, Trace};

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

/// Pairs each access of a cell, in order, with the last one at each other site before it.
///
/// `threads` has the thread of each site, `number` the candidate that two sites belong to, if any. Two of which what the
/// locks held exclude all accesses need not have one.
pub(super) fn search(
    trace: &Trace,
    contexts: &LockContexts,
    needs: &Needs<'_>,
    threads: &[ThreadId],
    uses: &[Use],
    number: impl Fn(u32, u32) -> Option<u32>,
    found: &mut [(Candidate, Nearest)],
) {
    let mut last: Vec<(EventId, LockContextId)> = vec![(EventId(0), LockContextId(0)); threads.len()];
    // Sites that had an access, the latest first. One that is not among them comes back with its next access only.
    let mut recent: Vec<u32> = Vec::with_capacity(RECENT + 1);
    // By site: no instance that it is part of is near from this distance on, as far as was found out when all other sites
    // were looked at. What is near only shrinks, so that stays true.
    let mut reach = vec![u32::MAX; threads.len()];
    for &(event, context, site) in uses {
        let (mut farthest, mut passed_all) = (0, recent.len() == threads.len());
        for &other in &recent {
            let (earlier, held) = last[other as usize];
            let distance = event.0 - earlier.0;
            if distance >= reach[site as usize] {
                // Those that follow are even farther.
                passed_all = false;
                break;
            }
            let Some(number) = number(site, other) else {
                continue;
            };
            let nearest = &mut found[number as usize].1;
            if distance < nearest.reach
                && !contexts.clash(held, context)
                && needs.before_pending(event, threads[other as usize]) <= trace.place(earlier)
            {
                nearest.keep(earlier, event);
            }
            farthest = farthest.max(nearest.reach);
        }
        if passed_all {
            reach[site as usize] = farthest;
        }
        last[site as usize] = (event, context);
        match recent.iter().position(|&other| other == site) {
            Some(place) => recent[..=place].rotate_right(1),
            None => recent.insert(0, site),
        }
        recent.truncate(RECENT);
    }
}
