//! Which cells a lock guards, and in which section of it an access lies.

use crate::prune::MustHappenBefore;
use crate::trace::{Access, CellId, EventId, ObjectId, Section, Sections, ThreadId, Trace};
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

/// So many accesses of a cell may lie outside of the lock's sections.
const MAX_OUTSIDE: usize = 16;

/// Sections of a lock, at most: 28 bytes each while its steps are looked for.
const MAX_SECTIONS: usize = 1 << 20;

/// Pairs of a cell and a thread that accesses it, at most: some 50 bytes each meanwhile.
const MAX_USERS: usize = 1 << 17;

/// The section of the lock in which an access lies, if any, for one access after the other.
pub(super) struct Within {
    /// By thread, its sections, and how many of them have ended.
    of_threads: Vec<(Vec<Section>, usize)>,
}

impl Within {
    /// Of a lock that several threads take, each of them in the trace, and give back themselves.
    pub(super) fn of(trace: &Trace, sections: &Sections, lock: ObjectId) -> Option<Within> {
        let on_lock = sections.on(lock);
        if sections.is_handed_over(lock) || on_lock.len() > MAX_SECTIONS {
            return None;
        }
        let mut of_threads: Vec<(Vec<Section>, usize)> = vec![Default::default(); trace.threads()];
        for section in on_lock.map(|id| sections.get(id)) {
            section.acquire?;
            of_threads[section.thread.index()].0.push(section);
        }
        let takers = of_threads.iter().filter(|(sections, _)| !sections.is_empty());
        (takers.count() > 1).then_some(Within { of_threads })
    }

    /// The accesses that see or leave a value, of memory that threads share, each with its thread and section.
    pub(super) fn accesses<'t>(
        &'t mut self,
        trace: &'t Trace,
    ) -> impl Iterator<Item = (ThreadId, Access, Option<Section>)> + 't {
        self.of_threads.iter_mut().for_each(|(_, ended)| *ended = 0);
        let valued = |access: &Access| access.kind.reads() || access.kind.writes_value();
        trace.contested().filter(valued).map(|access| {
            let thread = trace.thread(access.event);
            (thread, access, self.at(thread, access.event))
        })
    }

    fn at(&mut self, thread: ThreadId, event: EventId) -> Option<Section> {
        let (sections, ended) = &mut self.of_threads[thread.index()];
        let has_ended = |section: &&Section| section.release.is_some_and(|release| release < event);
        *ended += sections[*ended..].iter().take_while(has_ended).count();
        let next = sections.get(*ended).copied();
        next.filter(|section| section.acquire.is_some_and(|acquire| acquire < event))
    }
}

/// Who accesses a cell, and how.
#[derive(Default)]
struct Users {
    /// Of each thread, where its first step on the cell begins, and where its last one ends.
    of_threads: Vec<(ThreadId, EventId, Option<EventId>)>,
    outside: Vec<EventId>,
    is_written: bool,
    /// It is not guarded, whatever comes.
    out: bool,
}

impl Users {
    fn add(&mut self, thread: ThreadId, access: Access, section: Option<Section>) {
        let (begin, end) = match section {
            Some(section) => (section.acquire.unwrap_or(access.event), section.release),
            None => (access.event, Some(access.event)),
        };
        self.is_written |= access.kind.writes_value();
        self.out |= section.is_some_and(|section| section.shared) && access.kind.writes();
        match self.of_threads.iter_mut().find(|user| user.0 == thread) {
            Some(user) => user.2 = end,
            None => self.of_threads.push((thread, begin, end)),
        }
        if section.is_none() {
            self.out |= self.outside.len() == MAX_OUTSIDE;
            self.outside.push(access.event);
        }
        if self.out {
            (self.of_threads, self.outside) = Default::default();
        }
    }

    fn is_guarded(&self, trace: &Trace, order: &MustHappenBefore) -> bool {
        let apart = |&access: &EventId| {
            let others = self.of_threads.iter().filter(|user| user.0 != trace.thread(access));
            others
                .into_iter()
                .all(|&(_, begin, end)| order.before(access, begin) || end.is_some_and(|end| order.before(end, access)))
        };
        !self.out && self.is_written && self.of_threads.len() > 1 && self.outside.iter().all(apart)
    }
}

/// The cells that the lock guards, in order; `None` where that would be too much to look at.
pub(super) fn guarded(trace: &Trace, order: &MustHappenBefore, within: &mut Within) -> Option<Vec<CellId>> {
    let mut cells: HashMap<CellId, Users> = HashMap::new();
    let mut users = 0;
    for (thread, access, section) in within.accesses(trace) {
        for used in trace.uses(access) {
            let cell = match cells.entry(used.cell) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    users += 1;
                    new.insert(Users {
                        out: trace.cell(used.cell).external(),
                        ..Users::default()
                    })
                }
            };
            if !cell.out {
                let before = cell.of_threads.len();
                cell.add(thread, access, section);
                users += cell.of_threads.len().saturating_sub(before);
            }
        }
        if users > MAX_USERS {
            return None;
        }
    }
    let guarded = cells.iter().filter(|(_, users)| users.is_guarded(trace, order));
    let mut guarded: Vec<CellId> = guarded.map(|(&cell, _)| cell).collect();
    guarded.sort_unstable();
    Some(guarded)
}
