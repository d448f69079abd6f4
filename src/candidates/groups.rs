//! Sites of a cell that go together: thousands of threads run the same code under the same locks, and what is said of
//! two of them is said of all.
//!
//! A *group* has the sites at one position, of one kind, that hold the same locks at each of their accesses, each of
//! another thread. Locks that no other thread holds at any of its sites of the cell are left out: they exclude nothing.

use super::Site;
use crate::prune::{Hold, LockContexts};
use crate::trace::{ObjectId, ThreadId};
use hashbrown::HashMap;
use std::ops::Range;

/// Threads that access a cell up to which it is not crowded: with so few, nothing is gained by groups.
pub(super) const FEW_THREADS: usize = 16;

/// The sites of a cell that many threads access, in the order of their first accesses, and their groups.
pub(super) struct Crowded {
    pub(super) sites: Vec<Site>,
    groups: Groups,
}

struct Groups {
    of_site: Vec<u32>,
    /// Where each group's sites begin in the lists below, and where the last one's end.
    starts: Vec<u32>,
    /// The sites, group by group, and in order within each.
    sites: Vec<u32>,
    /// How many accesses are at the sites of the list before each, and at all.
    accesses: Vec<u64>,
    /// The thread of each site, group by group, and within each in the order of the threads.
    by_thread: Vec<(ThreadId, u32)>,
}

impl Crowded {
    pub(super) fn new(contexts: &LockContexts, sites: Vec<Site>) -> Crowded {
        let groups = Groups::of(contexts, &sites);
        Crowded { sites, groups }
    }

    /// How many groups there are.
    pub(super) fn groups(&self) -> usize {
        self.groups.starts.len() - 1
    }

    /// The group of a site.
    pub(super) fn group(&self, site: u32) -> u32 {
        self.groups.of_site[site as usize]
    }

    /// The first site of a group.
    pub(super) fn site_of(&self, group: u32) -> &Site {
        &self.sites[self.groups.list(group)[0] as usize]
    }

    /// The sites of a group, in order.
    pub(super) fn sites_of(&self, group: u32) -> impl Iterator<Item = u32> + '_ {
        self.groups.list(group).iter().copied()
    }

    /// Calls `each` with any two groups, or one and itself, that have two sites which conflict; the smaller number
    /// first. Many read a flag that one writes: two that read are not looked at.
    pub(super) fn each_conflict(&self, mut each: impl FnMut(u32, u32)) {
        let groups = 0..self.groups() as u32;
        let writes = |&group: &u32| self.site_of(group).part.writes;
        let writing: Vec<u32> = groups.clone().filter(writes).collect();
        for at in groups.clone() {
            let mut look = |other: u32| {
                if self.first_conflict(at, other).is_some() {
                    each(at, other);
                }
            };
            if writes(&at) {
                (at..groups.end).for_each(&mut look);
            } else {
                let after = writing.partition_point(|&other| other <= at);
                writing[after..].iter().copied().for_each(&mut look);
            }
        }
    }

    /// Of the conflicting sites of two groups, those whose first accesses come first, in their order.
    pub(super) fn first_conflict(&self, a: u32, b: u32) -> Option<(u32, u32)> {
        if !self.site_of(a).part.conflicts(self.site_of(b).part) {
            return None;
        }
        let thread = |site: u32| self.sites[site as usize].thread;
        let groups = &self.groups;
        let (mut a_list, mut b_list) = (groups.list(a), groups.list(b));
        if a == b {
            return Some((*a_list.first()?, *a_list.get(1)?));
        }
        // Each thread has one site in a group.
        let partner = |site: u32, list: &[u32]| list.iter().copied().find(|&other| thread(other) != thread(site));
        loop {
            if a_list.first()? > b_list.first()? {
                std::mem::swap(&mut a_list, &mut b_list);
            }
            if let Some(other) = partner(a_list[0], b_list) {
                return Some((a_list[0], other));
            }
            a_list = &a_list[1..];
        }
    }

    /// Whether two groups have sites that conflict; `freed`: of which one ends what the other accesses.
    pub(super) fn is_pair(&self, a: u32, b: u32, freed: bool) -> bool {
        self.first_conflict(a, b).is_some() && (!freed || self.has_end(a, b) || self.has_end(b, a))
    }

    /// Whether some site of the first group ends what some site of the second accesses: frees it, or destroys it as an
    /// object that is used before that in π.
    pub(super) fn has_end(&self, first: u32, second: u32) -> bool {
        let (part, other) = (self.site_of(first).part, self.site_of(second).part);
        let is_end = |ending: &Site, used: &Site| {
            let last = ending.events.last().map(|&(event, _)| event);
            ending.thread != used.thread && (part.frees || last > Some(used.first()))
        };
        let site = |site: u32| &self.sites[site as usize];
        part.ends(other)
            && self
                .sites_of(first)
                .any(|ending| self.sites_of(second).any(|used| is_end(site(ending), site(used))))
    }

    /// Whether a lock that is held at all sites of the one group and one at all of the other exclude all instances.
    pub(super) fn all_clash(&self, contexts: &LockContexts, a: u32, b: u32) -> bool {
        // What two hold, all do.
        self.first_conflict(a, b).is_some_and(|(first, second)| {
            let held = |site: u32| self.sites[site as usize].events.iter().map(|&(_, context)| context);
            contexts.all_clash(held(first), held(second))
        })
    }

    /// How many instances the sites of two groups have.
    pub(super) fn instances(&self, a: u32, b: u32) -> u64 {
        let groups = &self.groups;
        let all = groups.accesses_in(groups.range(a)) * groups.accesses_in(groups.range(b));
        let (of_a, of_b) = (&groups.by_thread[groups.range(a)], &groups.by_thread[groups.range(b)]);
        let (mut at, mut same) = (0, 0);
        for &(thread, site) in of_a {
            while at < of_b.len() && of_b[at].0 < thread {
                at += 1;
            }
            if at < of_b.len() && of_b[at].0 == thread {
                same += self.accesses(site) * self.accesses(of_b[at].1);
            }
        }
        let several = all - same;
        if a == b { several / 2 } else { several }
    }

    /// How many accesses the sites of a group have that come after this site and are not its thread's.
    pub(super) fn accesses_after(&self, site: u32, group: u32) -> u64 {
        let groups = &self.groups;
        let (range, thread) = (groups.range(group), self.sites[site as usize].thread);
        let after = range.start + groups.list(group).partition_point(|&other| other <= site);
        let of_thread = &groups.by_thread[range.clone()];
        let own = of_thread.binary_search_by_key(&thread, |&(thread, _)| thread);
        let own = own.map_or(0, |at| match of_thread[at].1 {
            own if own > site => self.accesses(own),
            _ => 0,
        });
        groups.accesses_in(after..range.end) - own
    }

    /// How many accesses a site has.
    fn accesses(&self, site: u32) -> u64 {
        self.sites[site as usize].events.len() as u64
    }
}

impl Groups {
    fn of(contexts: &LockContexts, sites: &[Site]) -> Groups {
        let mut held: Vec<Vec<Hold>> = sites
            .iter()
            .map(|site| contexts.held_at_all(site.events.iter().map(|&(_, context)| context)))
            .collect();
        // Who holds a lock, unless several threads do.
        let mut holder: HashMap<ObjectId, Option<ThreadId>> = HashMap::new();
        for (site, held) in sites.iter().zip(&held) {
            for &(lock, _) in held {
                let holder = holder.entry(lock).or_insert(Some(site.thread));
                *holder = holder.filter(|&thread| thread == site.thread);
            }
        }
        for held in &mut held {
            held.retain(|(lock, _)| holder[lock].is_none());
        }
        let mut numbers = HashMap::new();
        let of_site: Vec<u32> = sites
            .iter()
            .zip(held)
            .map(|(site, held)| {
                let next = numbers.len() as u32;
                *numbers.entry((site.pc, site.part, held)).or_insert(next)
            })
            .collect();
        let mut list: Vec<u32> = (0..sites.len() as u32).collect();
        list.sort_by_key(|&site| of_site[site as usize]);
        let mut starts = vec![0];
        for at in 1..list.len() {
            if of_site[list[at] as usize] != of_site[list[at - 1] as usize] {
                starts.push(at as u32);
            }
        }
        starts.push(list.len() as u32);
        let mut accesses = vec![0];
        for &site in &list {
            accesses.push(accesses[accesses.len() - 1] + sites[site as usize].events.len() as u64);
        }
        let mut by_thread: Vec<(ThreadId, u32)> =
            list.iter().map(|&site| (sites[site as usize].thread, site)).collect();
        for bounds in starts.windows(2) {
            by_thread[bounds[0] as usize..bounds[1] as usize].sort_unstable();
        }
        Groups {
            of_site,
            starts,
            sites: list,
            accesses,
            by_thread,
        }
    }

    fn range(&self, group: u32) -> Range<usize> {
        self.starts[group as usize] as usize..self.starts[group as usize + 1] as usize
    }

    fn list(&self, group: u32) -> &[u32] {
        &self.sites[self.range(group)]
    }

    fn accesses_in(&self, range: Range<usize>) -> u64 {
        self.accesses[range.end] - self.accesses[range.start]
    }
}
