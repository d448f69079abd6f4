//! Sites of a cell that go together: thousands of threads run the same code under the same locks, and what is said of
//! two of them is said of all.
//!
//! A *group* has the sites at one position, of one kind, that hold the same locks at each of their accesses, each of
//! another thread. Locks that no other thread holds at any of its sites of the cell are left out: they exclude nothing.

use super::Site;
use super::nearest::Use;
use crate::prune::{Hold, LockContexts};
use crate::trace::{EventId, ObjectId, ThreadId};
use hashbrown::HashMap;
use std::ops::Range;

/// Sites of a cell up to which each is a group by itself: with so few, nothing is gained.
pub(super) const ALONE: usize = 16;

/// The sites of a cell, in the order of their first accesses, and their groups; or of several cells that are *alike*:
/// all of them have the same few sites in that order, as the elements of an array have that threads hand to each other,
/// and none has an object that is destroyed.
pub(super) struct Class {
    /// How many cells.
    pub(super) cells: u32,
    pub(super) sites: Vec<Site>,
    /// `None` if each site is a group by itself, of the same number.
    groups: Option<Box<Groups>>,
    /// Of several cells, what is known of the conflicting sites once all accesses are there: in the order of
    /// [`Class::each_conflict`].
    conflicts: Vec<Conflict>,
}

/// Two conflicting sites of cells that are alike.
#[derive(Clone, Copy, Debug)]
struct Conflict {
    sites: (u32, u32),
    instances: u64,
    /// The earliest instance of which neither access has an earlier one at its site of the cell, and that cell.
    first: (EventId, EventId),
    cell: u32,
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

impl Class {
    /// The class of one cell.
    pub(super) fn new(contexts: &LockContexts, sites: Vec<Site>) -> Class {
        let groups = (sites.len() > ALONE).then(|| Box::new(Groups::of(contexts, &sites)));
        Class {
            groups,
            cells: 1,
            ..Class::of_none_yet(sites)
        }
    }

    /// The class of cells with these few sites, of which none is known yet.
    pub(super) fn of_none_yet(sites: Vec<Site>) -> Class {
        Class {
            cells: 0,
            sites,
            groups: None,
            conflicts: Vec::new(),
        }
    }

    /// Looks at the conflicts of several cells, once all of their accesses are there.
    pub(super) fn finish(&mut self) {
        if self.cells == 1 {
            return;
        }
        let mut conflicts = Vec::new();
        self.each_conflict(|a, b| conflicts.push((a, b)));
        let conflicts = conflicts.into_iter().map(|(a, b)| self.conflict_of(a, b));
        self.conflicts = conflicts.collect();
    }

    fn conflict_of(&self, a: u32, b: u32) -> Conflict {
        let (x, y) = (&self.sites[a as usize], &self.sites[b as usize]);
        let mut of_x = vec![(EventId(0), 0_u64); self.cells as usize];
        for (&(event, _), &cell) in x.events.iter().zip(&x.cells).rev() {
            let (first, count) = &mut of_x[cell as usize];
            (*first, *count) = (event, *count + 1);
        }
        let mut seen = vec![false; self.cells as usize];
        let (mut instances, mut earliest) = (0, None);
        for (&(event, _), &cell) in y.events.iter().zip(&y.cells) {
            let (first, count) = of_x[cell as usize];
            instances += count;
            if !std::mem::replace(&mut seen[cell as usize], true) {
                let instance = (first.min(event), first.max(event), cell);
                earliest = earliest.min(Some(instance)).or(Some(instance));
            }
        }
        let (first, second, cell) = earliest.expect("each of the cells has both sites");
        Conflict {
            sites: (a, b),
            instances,
            first: (first, second),
            cell,
        }
    }

    fn conflict(&self, a: u32, b: u32) -> Option<&Conflict> {
        let sites = (a.min(b), a.max(b));
        self.conflicts.iter().find(|conflict| conflict.sites == sites)
    }

    /// The earliest of the instances of two groups that conflict of which neither access has an earlier one at its
    /// site of the cell.
    pub(super) fn first_instance(&self, a: u32, b: u32) -> Option<(EventId, EventId)> {
        if let Some(conflict) = self.conflict(a, b) {
            return Some(conflict.first);
        }
        let (first, second) = self.first_conflict(a, b)?;
        Some((self.sites[first as usize].first(), self.sites[second as usize].first()))
    }

    /// The cell of that instance.
    pub(super) fn cell_of_first(&self, a: u32, b: u32) -> u32 {
        self.conflict(a, b).map_or(0, |conflict| conflict.cell)
    }

    /// Puts all accesses into a list: cell by cell, and in the order of π for each.
    pub(super) fn uses(&self, uses: &mut Vec<Use>) {
        uses.clear();
        for (number, site) in (0..).zip(&self.sites) {
            uses.extend(site.events.iter().enumerate().map(|(at, &(event, held))| Use {
                cell: site.cells.get(at).copied().unwrap_or(0),
                event,
                held,
                site: number,
            }));
        }
        uses.sort_unstable();
    }

    /// Whether each site is a group by itself.
    pub(super) fn has_few_sites(&self) -> bool {
        self.groups.is_none()
    }

    /// How many groups there are.
    pub(super) fn groups(&self) -> usize {
        self.groups
            .as_ref()
            .map_or(self.sites.len(), |groups| groups.starts.len() - 1)
    }

    /// The group of a site.
    pub(super) fn group(&self, site: u32) -> u32 {
        self.groups
            .as_ref()
            .map_or(site, |groups| groups.of_site[site as usize])
    }

    /// The first site of a group.
    pub(super) fn site_of(&self, group: u32) -> &Site {
        let first = self.groups.as_ref().map_or(group, |groups| groups.list(group)[0]);
        &self.sites[first as usize]
    }

    /// The sites of a group, in order.
    pub(super) fn sites_of(&self, group: u32) -> impl Iterator<Item = u32> + '_ {
        let (alone, together) = match &self.groups {
            None => (Some(group), &[][..]),
            Some(groups) => (None, groups.list(group)),
        };
        alone.into_iter().chain(together.iter().copied())
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
        let Some(groups) = &self.groups else {
            return (thread(a) != thread(b)).then_some((a.min(b), a.max(b)));
        };
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
    /// object that is used before that in π, of which there is one then.
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
            let held = |site: u32| self.sites[site as usize].contexts();
            contexts.all_clash(held(first), held(second))
        })
    }

    /// How many instances the sites of two groups have.
    pub(super) fn instances(&self, a: u32, b: u32) -> u64 {
        if let Some(conflict) = self.conflict(a, b) {
            return conflict.instances;
        }
        let Some(groups) = &self.groups else {
            return self.accesses(a) * self.accesses(b);
        };
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
        let Some(groups) = &self.groups else {
            unreachable!("asked of crowded cells")
        };
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
        let mut held: Vec<Vec<Hold>> = sites.iter().map(|site| contexts.held_at_all(site.contexts())).collect();
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
