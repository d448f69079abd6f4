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

/// So many changes are looked at to find the section that was ended last.
const LOOKED_AT: usize = 16;

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
    /// After fewer events than these, and after more, it is in none.
    within: (u32, u32),
}

impl Open {
    fn new(now: impl Iterator<Item = SectionId>) -> Open {
        let sections: Column<SectionId> = now.collect();
        let within = match sections.len() {
            0 => (u32::MAX, 0),
            _ => (0, u32::MAX),
        };
        Open {
            starts: [0].into_iter().collect(),
            sections,
            within,
            ..Open::default()
        }
    }

    /// Goes on to an event that opens or ends a section.
    fn push(&mut self, place: u32, changed: SectionId, now: impl Iterator<Item = SectionId>) {
        self.changes.skip_to(place);
        self.changes.push(true);
        self.changed.push(changed);
        self.starts.push(self.sections.len() as u32);
        let before = self.sections.len();
        now.for_each(|section| self.sections.push(section));
        self.within.0 = self.within.0.min(place + 1);
        self.within.1 = match self.sections.len() == before {
            true => place,
            false => u32::MAX,
        };
    }

    fn end(&mut self) {
        self.changed.end();
        self.starts.end();
        self.sections.end();
    }

    fn after(&self, done: u32) -> Excerpt<'_, SectionId> {
        if done < self.within.0 || done > self.within.1 {
            // Where there are thousands of threads, it is asked of most before they have begun, or when they have ended.
            return self.sections.excerpt(0..0);
        }
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

/// Whether that event stands for itself and one there.
fn is_that(number: u32, event: EventId) -> bool {
    number.checked_sub(1) == Some(event.0)
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
        let events = (self.acquires.at(number), self.releases.at(number));
        section(self.locks.at(number), self.threads.at(number), events)
    }

    /// All of them, one after the other.
    fn all(&self) -> impl Iterator<Item = Section> + '_ {
        let (mut locks, mut threads) = (self.locks.cursor(), self.threads.cursor());
        let (mut acquires, mut releases) = (self.acquires.cursor(), self.releases.cursor());
        (0..self.locks.len()).map(move |number| {
            let events = (acquires.at(number), releases.at(number));
            section(locks.at(number), threads.at(number), events)
        })
    }
}

/// A section, given what is kept of it.
#[inline]
fn section(lock: u32, thread: ThreadId, (acquire, release): (u32, u32)) -> Section {
    Section {
        lock: ObjectId(lock >> 1),
        thread,
        shared: lock & 1 != 0,
        acquire: acquire.checked_sub(1).map(EventId),
        release: release.checked_sub(1).map(EventId),
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

/// A lock that a thread holds.
struct Held {
    lock: ObjectId,
    section: SectionId,
    depth: u32,
}

/// The sections found so far, and what each thread holds.
#[derive(Default)]
struct Found {
    all: Vec<Section>,
    /// By thread, in the order in which it took them: few of them at once.
    held: Vec<Vec<Held>>,
}

impl Found {
    /// What a thread holds, if that is so.
    fn held(&mut self, lock: ObjectId, thread: ThreadId) -> Option<&mut Held> {
        self.held[thread.index()].iter_mut().find(|held| held.lock == lock)
    }

    /// The section that is opened, if it is not a lock taken once more.
    fn take(
        &mut self,
        event: Option<EventId>,
        lock: ObjectId,
        thread: ThreadId,
        shared: bool,
        depth: u32,
    ) -> Option<SectionId> {
        if let Some(held) = self.held(lock, thread) {
            held.depth += depth;
            return None;
        }
        let section = self.push(Section {
            lock,
            thread,
            shared,
            acquire: event,
            release: None,
        });
        self.held[thread.index()].push(Held { lock, section, depth });
        Some(section)
    }

    /// The section that is ended.
    fn give_back(&mut self, event: EventId, lock: ObjectId, thread: ThreadId) -> Option<SectionId> {
        let held = &mut self.held[thread.index()];
        let at = held.iter().position(|held| held.lock == lock)?;
        let Held { section, .. } = held.remove(at);
        self.all[section.index()].release = Some(event);
        Some(section)
    }

    /// The sections that a thread is in.
    fn now(&self, thread: usize) -> impl Iterator<Item = SectionId> + '_ {
        self.held[thread].iter().map(|held| held.section)
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

    /// The section that a thread has ended last within its first `done` events.
    #[must_use]
    pub fn last_closed(&self, thread: ThreadId, done: u32) -> Option<SectionId> {
        let open = &self.open[thread.index()];
        let changed = (0..open.changes.before(done))
            .rev()
            .map(|change| open.changed.at(change as usize));
        let mut changed = changed.take(LOOKED_AT);
        let has_ended = |id: &SectionId| {
            let release = self.get(*id).release;
            release.is_some_and(|release| self.in_threads.place(release) < done)
        };
        changed.find(has_ended)
    }

    /// Finds sections with what is known already, and adds to that what it finds.
    fn walk(trace: &Trace, ahead: &mut Ahead) -> Sections {
        let handed_over = ahead.handed_over.clone();
        let mut found = Found::default();
        found.held.resize_with(trace.threads(), Vec::new);
        for (&(lock, thread), &(depth, shared)) in &ahead.from_start {
            if !handed_over.contains_key(&lock) {
                found.take(None, lock, thread, shared, depth);
            }
        }
        let mut open: Vec<Open> = (0..trace.threads())
            .map(|thread| Open::new(found.now(thread)))
            .collect();
        let foreign_unlock = trace.tables().meta.foreign_unlock;
        // Whether a lock that a thread does not hold may be given back for another one, which does.
        let for_another = |found: &Found, ahead: &Ahead, read: &HashSet<ObjectId>, lock, thread: ThreadId| {
            let is_held = |held: &Vec<Held>| held.iter().any(|held| held.lock == lock);
            // Once the lock was read, those that give back what they held from the start were readers.
            let mut from_start = ahead.from_start.keys().filter(|_| !read.contains(&lock));
            foreign_unlock
                && (found.held.iter().any(is_held) || from_start.any(|&(taken, by)| taken == lock && by != thread))
        };
        // Depths kept across waits, by the beginning of each, and locks that readers took.
        let mut waiting: HashMap<EventId, u32> = HashMap::new();
        let mut read: HashSet<ObjectId> = HashSet::new();
        let in_threads = trace.in_threads();
        let mut turns = in_threads.walk();
        for event in trace.operations() {
            let (thread, place) = turns.place(event);
            let changed = match Step::of(trace.op(event)) {
                Some((lock, _)) if handed_over.contains_key(&lock) => None,
                Some((lock, Step::Take { shared })) => {
                    if shared {
                        read.insert(lock);
                    }
                    found.take(Some(event), lock, thread, shared, 1)
                }
                Some((lock, Step::TakeAgain)) => {
                    let begin = trace.wait_begin(event);
                    let depth = begin.and_then(|begin| waiting.remove(&begin)).unwrap_or(1);
                    found.take(Some(event), lock, thread, false, depth)
                }
                Some((lock, step @ (Step::GiveBack | Step::GiveUp))) => {
                    let wait = step == Step::GiveUp;
                    match found.held(lock, thread).map(|held| held.depth) {
                        Some(depth) if depth > 1 && !wait => {
                            found.held(lock, thread).into_iter().for_each(|held| held.depth -= 1);
                            None
                        }
                        Some(depth) => {
                            waiting.extend(wait.then_some((event, depth)));
                            found.give_back(event, lock, thread)
                        }
                        // One that it took before the trace began, or another thread's.
                        None if for_another(&found, ahead, &read, lock, thread) => {
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
                let now = found.now(thread.index());
                open[thread.index()].push(place, id, now);
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
            in_threads,
            handed_over,
        }
    }

    /// A section.
    #[must_use]
    #[inline]
    pub fn get(&self, id: SectionId) -> Section {
        self.all.get(id.index())
    }

    /// The lock that is held in a section.
    #[must_use]
    #[inline]
    pub fn lock(&self, id: SectionId) -> ObjectId {
        ObjectId(self.all.locks.at(id.index()) >> 1)
    }

    /// All sections, in the order in which π opened them.
    pub fn all(&self) -> impl Iterator<Item = Section> + '_ {
        self.all.all()
    }

    /// The sections that were open before the trace began: they come before all others.
    pub fn from_start(&self) -> impl Iterator<Item = Section> + '_ {
        self.all().take_while(|section| section.acquire.is_none())
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
        self.changed_by(event)
            .filter(|&id| is_that(self.all.acquires.at(id.index()), event))
    }

    /// The section that an event ends: `None` if it only gives back one level of a recursive lock.
    #[must_use]
    pub fn closed_by(&self, event: EventId) -> Option<SectionId> {
        self.changed_by(event)
            .filter(|&id| is_that(self.all.releases.at(id.index()), event))
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
