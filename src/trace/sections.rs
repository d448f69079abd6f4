//! Critical sections: which stretch of which thread holds which lock, and how.
//!
//! Only outermost sections count: the depth of a recursive lock is a matter of its thread alone
//! and does not change with the schedule (Said et al. 2011, section 4.3). Waiting on a condition
//! ends the section at the wait's beginning and starts another at its end.
//!
//! A lock that one thread gave back for another has no sections: which acquire a release goes with then
//! depends on the schedule. Such a lock is *handed over*; what is known of it is its events in order.

use super::{EventId, InThreads, Marks, Trace};
use crate::semantics::locks::{self, Step};
use columns::{Column, Excerpt};
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;
use trace_format::{ObjectId, ThreadId};

/// The number of a critical section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SectionId(pub u32);

impl SectionId {
    /// The number as an index.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl From<u32> for SectionId {
    fn from(number: u32) -> SectionId {
        SectionId(number)
    }
}

impl From<SectionId> for u32 {
    fn from(id: SectionId) -> u32 {
        id.0
    }
}

/// One outermost critical section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// The lock held.
    pub lock: ObjectId,
    /// The thread that holds it.
    pub thread: ThreadId,
    /// Whether it is held as a reader.
    pub shared: bool,
    /// The event that took it; `None` if it was held before the trace began.
    pub acquire: Option<EventId>,
    /// The event that gave it back; `None` if it is held at the trace's end.
    pub release: Option<EventId>,
}

impl Section {
    /// Whether the two may not overlap.
    #[must_use]
    pub fn excludes(self, other: Section) -> bool {
        self.lock == other.lock && self.thread != other.thread && self.denies(other.shared)
    }

    /// Whether an attempt to take the lock, perhaps as a reader, fails within it. It may be the holder's own: one that
    /// holds a recursive mutex never fails in π.
    #[must_use]
    pub fn denies(self, shared: bool) -> bool {
        locks::excludes(self.shared, shared)
    }
}

/// Which sections a thread is in, one list after the other.
#[derive(Clone, Debug, Default)]
struct Open {
    /// The events that open or end a section: after each of them there is another list.
    changes: Marks,
    /// The section that each opens or ends.
    changed: Column<SectionId>,
    /// Where the list before the first change begins, and that after each.
    starts: Column,
    sections: Column<SectionId>,
}

impl Open {
    fn new(now: &[SectionId]) -> Open {
        Open {
            starts: [0].into_iter().collect(),
            sections: now.iter().copied().collect(),
            ..Open::default()
        }
    }

    /// Goes on to an event that opens or ends a section.
    fn push(&mut self, place: u32, changed: SectionId, now: &[SectionId]) {
        self.changes.skip_to(place);
        self.changes.push(true);
        self.changed.push(changed);
        self.starts.push(self.sections.len() as u32);
        now.iter().for_each(|&section| self.sections.push(section));
    }

    fn end(&mut self) {
        self.changed.end();
        self.starts.end();
        self.sections.end();
    }

    fn after(&self, done: u32) -> Excerpt<'_, SectionId> {
        let list = self.changes.before(done) as usize;
        let end = self
            .starts
            .get(list + 1)
            .map_or(self.sections.len(), |end| end as usize);
        self.sections.excerpt(self.starts.at(list) as usize..end)
    }

    /// The section that the event at a place opens or ends.
    fn changed(&self, place: u32) -> Option<SectionId> {
        let marked = self.changes.has(place);
        marked.then(|| self.changed.at(self.changes.before(place) as usize))
    }
}

/// Sections by their numbers.
#[derive(Clone, Debug, Default)]
struct All {
    /// The lock, and in the lowest bit whether it is held as a reader.
    locks: Column,
    threads: Column<ThreadId>,
    /// The event and one; 0 for none.
    acquires: Column,
    releases: Column,
}

impl All {
    fn of(all: &[Section]) -> All {
        let event = |event: Option<EventId>| event.map_or(0, |event| event.0 + 1);
        All {
            locks: all.iter().map(|of| of.lock.0 << 1 | u32::from(of.shared)).collect(),
            threads: all.iter().map(|of| of.thread).collect(),
            acquires: all.iter().map(|of| event(of.acquire)).collect(),
            releases: all.iter().map(|of| event(of.release)).collect(),
        }
    }

    #[inline]
    fn get(&self, number: usize) -> Section {
        let lock = self.locks.at(number);
        Section {
            lock: ObjectId(lock >> 1),
            thread: self.threads.at(number),
            shared: lock & 1 != 0,
            acquire: self.acquires.at(number).checked_sub(1).map(EventId),
            release: self.releases.at(number).checked_sub(1).map(EventId),
        }
    }
}

/// All critical sections of a trace.
#[derive(Clone, Debug, Default)]
pub struct Sections {
    all: All,
    by_lock: Vec<Column<SectionId>>,
    /// By thread.
    open: Vec<Open>,
    in_threads: InThreads,
    /// By lock that is handed over: its events, in the order of π.
    handed_over: BTreeMap<ObjectId, Vec<EventId>>,
}

/// What a first walk over π learns for the second.
#[derive(Default)]
struct Ahead {
    /// Locks held before the first event: by whom, how deep, and whether as a reader.
    from_start: BTreeMap<(ObjectId, ThreadId), (u32, bool)>,
    handed_over: BTreeMap<ObjectId, Vec<EventId>>,
}

impl Ahead {
    /// No lock is held in two modes: where one level from the start is a reader's, or several threads hold the lock,
    /// all are readers.
    fn hold_in_one_mode(&mut self) {
        let mut holders: Vec<_> = self.from_start.iter_mut().collect();
        for same in holders.chunk_by_mut(|a, b| a.0.0 == b.0.0) {
            let read = same.len() > 1 || same.iter().any(|(_, hold)| hold.1);
            same.iter_mut().for_each(|(_, hold)| hold.1 = read);
        }
    }
}

/// What each thread holds: (section, depth).
type Held = HashMap<(ObjectId, ThreadId), (SectionId, u32)>;

/// The sections found so far, and what each thread holds.
#[derive(Default)]
struct Found {
    all: Vec<Section>,
    held: Held,
}

impl Found {
    /// The section that is opened, if it is not a lock taken once more.
    fn take(
        &mut self,
        event: EventId,
        lock: ObjectId,
        thread: ThreadId,
        shared: bool,
        depth: u32,
    ) -> Option<SectionId> {
        if let Some((_, inner)) = self.held.get_mut(&(lock, thread)) {
            *inner += depth;
            return None;
        }
        let id = self.push(Section {
            lock,
            thread,
            shared,
            acquire: Some(event),
            release: None,
        });
        self.held.insert((lock, thread), (id, depth));
        Some(id)
    }

    /// The section that is ended.
    fn give_back(&mut self, event: EventId, lock: ObjectId, thread: ThreadId) -> Option<SectionId> {
        let (section, _) = self.held.remove(&(lock, thread))?;
        self.all[section.index()].release = Some(event);
        Some(section)
    }

    fn push(&mut self, section: Section) -> SectionId {
        let id = SectionId(self.all.len() as u32);
        self.all.push(section);
        id
    }
}

impl Sections {
    /// Finds the critical sections of a trace.
    #[must_use]
    pub fn of(trace: &Trace) -> Sections {
        let mut ahead = Ahead::default();
        let found = Sections::walk(trace, &mut ahead);
        if ahead.from_start.is_empty() && ahead.handed_over.is_empty() {
            return found;
        }
        ahead.hold_in_one_mode();
        for event in trace.operations() {
            let lock = trace.op(event).lock();
            if let Some(events) = lock.and_then(|lock| ahead.handed_over.get_mut(&lock)) {
                events.push(event);
            }
        }
        Sections::walk(trace, &mut ahead)
    }

    /// The sections that a thread is in after its first `done` events, outermost first.
    #[must_use]
    pub fn open_after(&self, thread: ThreadId, done: u32) -> Excerpt<'_, SectionId> {
        self.open[thread.index()].after(done)
    }

    /// Finds sections with what is known already, and adds to that what it finds.
    fn walk(trace: &Trace, ahead: &mut Ahead) -> Sections {
        let handed_over = ahead.handed_over.clone();
        let mut found = Found::default();
        // The sections that each thread is in.
        let mut now: Vec<Vec<SectionId>> = vec![Vec::new(); trace.threads()];
        for (&(lock, thread), &(depth, shared)) in &ahead.from_start {
            if !handed_over.contains_key(&lock) {
                let id = found.push(Section {
                    lock,
                    thread,
                    shared,
                    acquire: None,
                    release: None,
                });
                found.held.insert((lock, thread), (id, depth));
                now[thread.index()].push(id);
            }
        }
        let mut open: Vec<Open> = now.iter().map(|now| Open::new(now)).collect();
        // Depths kept across waits, by the beginning of each, and locks that readers took.
        let mut waiting: HashMap<EventId, u32> = HashMap::new();
        let mut read: HashSet<ObjectId> = HashSet::new();
        for event in trace.operations() {
            let thread = trace.thread(event);
            let changed = match Step::of(trace.op(event)) {
                Some((lock, _)) if handed_over.contains_key(&lock) => None,
                Some((lock, Step::Take { shared })) => {
                    if shared {
                        read.insert(lock);
                    }
                    found.take(event, lock, thread, shared, 1)
                }
                Some((lock, Step::TakeAgain)) => {
                    let begin = trace.wait_begin(event);
                    let depth = begin.and_then(|begin| waiting.remove(&begin)).unwrap_or(1);
                    found.take(event, lock, thread, false, depth)
                }
                Some((lock, step @ (Step::GiveBack | Step::GiveUp))) => {
                    let wait = step == Step::GiveUp;
                    // Once the lock was read, those that give back what they held from the start were readers.
                    let alone_from_start = ahead.from_start.iter().filter(|_| !read.contains(&lock));
                    let others = found.held.keys().chain(alone_from_start.map(|(holder, _)| holder));
                    let mut others = others.filter(|&&(taken, by)| taken == lock && by != thread);
                    let for_another = trace.tables().meta.foreign_unlock && others.next().is_some();
                    match found.held.get_mut(&(lock, thread)) {
                        Some((_, depth)) if *depth > 1 && !wait => {
                            *depth -= 1;
                            None
                        }
                        Some(&mut (_, depth)) => {
                            waiting.extend(wait.then_some((event, depth)));
                            found.give_back(event, lock, thread)
                        }
                        // One that it took before the trace began, or another thread's.
                        None if for_another => {
                            ahead.handed_over.entry(lock).or_default();
                            None
                        }
                        None => {
                            let (depth, shared) = ahead.from_start.entry((lock, thread)).or_default();
                            *depth += 1;
                            *shared |= read.contains(&lock);
                            None
                        }
                    }
                }
                Some((_, Step::FindHeld { .. })) | None => None,
            };
            if let Some(id) = changed {
                let now = &mut now[thread.index()];
                if found.all[id.index()].release == Some(event) {
                    now.retain(|&other| other != id);
                } else {
                    now.push(id);
                }
                open[thread.index()].push(trace.place(event), id, now);
            }
        }
        open.iter_mut().for_each(Open::end);
        let mut by_lock = vec![Column::default(); trace.tables().objects.len()];
        for (id, section) in (0..).map(SectionId).zip(&found.all) {
            if section.lock.index() >= by_lock.len() {
                by_lock.resize_with(section.lock.index() + 1, Column::default);
            }
            by_lock[section.lock.index()].push(id);
        }
        by_lock.iter_mut().for_each(Column::end);
        Sections {
            all: All::of(&found.all),
            by_lock,
            open,
            in_threads: trace.in_threads(),
            handed_over,
        }
    }

    /// A section.
    #[must_use]
    #[inline]
    pub fn get(&self, id: SectionId) -> Section {
        self.all.get(id.index())
    }

    /// All sections, in the order in which π opened them.
    pub fn all(&self) -> impl Iterator<Item = Section> + '_ {
        (0..self.all.locks.len()).map(|number| self.all.get(number))
    }

    /// The sections on one lock, in the order in which π opened them.
    #[must_use]
    pub fn on(&self, lock: ObjectId) -> Excerpt<'_, SectionId> {
        self.by_lock
            .get(lock.index())
            .map_or_else(Excerpt::default, Column::all)
    }

    /// The section that an event opens: `None` if it only takes a recursive lock once more.
    #[must_use]
    pub fn opened_by(&self, event: EventId) -> Option<SectionId> {
        self.changed_by(event).filter(|&id| self.get(id).acquire == Some(event))
    }

    /// The section that an event ends: `None` if it only gives back one level of a recursive lock.
    #[must_use]
    pub fn closed_by(&self, event: EventId) -> Option<SectionId> {
        self.changed_by(event).filter(|&id| self.get(id).release == Some(event))
    }

    fn changed_by(&self, event: EventId) -> Option<SectionId> {
        let (thread, place) = self.in_threads.of(event);
        self.open[thread.index()].changed(place)
    }

    /// Whether some release of the lock came from a thread that did not hold it: it has no sections.
    #[must_use]
    pub fn is_handed_over(&self, lock: ObjectId) -> bool {
        self.handed_over.contains_key(&lock)
    }

    /// Whether there is any lock without sections.
    #[must_use]
    pub fn any_handed_over(&self) -> bool {
        !self.handed_over.is_empty()
    }

    /// The events of a lock that is handed over, in the order of π; empty for other locks.
    #[must_use]
    pub fn handed_over(&self, lock: ObjectId) -> &[EventId] {
        self.handed_over.get(&lock).map_or(&[], Vec::as_slice)
    }
}
