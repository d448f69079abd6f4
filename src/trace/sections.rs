//! Critical sections: which stretch of which thread holds which lock, and how.
//!
//! Only outermost sections count: the depth of a recursive lock is a matter of its thread alone
//! and does not change with the schedule (Said et al. 2011, section 4.3). Waiting on a condition
//! ends the section at the wait's beginning and starts another at its end.
//!
//! A lock that one thread gave back for another has no sections: which acquire a release goes with then
//! depends on the schedule. Such a lock is *handed over*; what is known of it is its events in order.

use super::{EventId, Op, Trace};
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
    pub fn excludes(&self, other: &Section) -> bool {
        self.lock == other.lock && self.thread != other.thread && !(self.shared && other.shared)
    }
}

/// Which sections a thread is in, one list after the other.
#[derive(Clone, Debug, Default)]
struct Open {
    /// After how many of the thread's events there is another list, and where it begins.
    changes: Vec<(u32, u32)>,
    sections: Vec<SectionId>,
}

impl Open {
    fn push(&mut self, after: u32, now: &[SectionId]) {
        self.changes.push((after, self.sections.len() as u32));
        self.sections.extend_from_slice(now);
    }
}

/// All critical sections of a trace.
#[derive(Clone, Debug, Default)]
pub struct Sections {
    all: Vec<Section>,
    by_lock: Vec<Vec<SectionId>>,
    opened_by: HashMap<EventId, SectionId>,
    closed_by: HashMap<EventId, SectionId>,
    /// By thread.
    open: Vec<Open>,
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

/// What each thread holds: (section, depth).
type Held = HashMap<(ObjectId, ThreadId), (SectionId, u32)>;

impl Sections {
    /// Finds the critical sections of a trace.
    #[must_use]
    pub fn of(trace: &Trace) -> Sections {
        let mut found = Sections::find(trace);
        found.find_open(trace);
        found
    }

    fn find_open(&mut self, trace: &Trace) {
        let mut now: Vec<Vec<SectionId>> = vec![Vec::new(); trace.threads()];
        for (number, section) in self
            .all
            .iter()
            .enumerate()
            .filter(|(_, section)| section.acquire.is_none())
        {
            now[section.thread.index()].push(SectionId(number as u32));
        }
        self.open = vec![Open::default(); now.len()];
        for (open, now) in self.open.iter_mut().zip(&now) {
            open.push(0, now);
        }
        for event in trace.events().filter(|&event| trace.op(event).lock().is_some()) {
            let thread = trace.thread(event).index();
            if let Some(id) = self.opened_by(event) {
                now[thread].push(id);
            } else if let Some(id) = self.closed_by(event) {
                now[thread].retain(|&other| other != id);
            } else {
                continue;
            }
            self.open[thread].push(trace.place(event) + 1, &now[thread]);
        }
    }

    /// The sections that a thread is in after its first `done` events, outermost first.
    #[must_use]
    pub fn open_after(&self, thread: ThreadId, done: u32) -> &[SectionId] {
        let open = &self.open[thread.index()];
        let changes = open.changes.partition_point(|&(after, _)| after <= done);
        let start = |change: usize| open.changes[change].1 as usize;
        let Some(last) = changes.checked_sub(1) else { return &[] };
        let end = if changes < open.changes.len() {
            start(changes)
        } else {
            open.sections.len()
        };
        &open.sections[start(last)..end]
    }

    fn find(trace: &Trace) -> Sections {
        let mut ahead = Ahead::default();
        let found = Sections::walk(trace, &mut ahead);
        if ahead.from_start.is_empty() && ahead.handed_over.is_empty() {
            return found;
        }
        // Several threads can hold a lock from the start as readers only, whichever of them gives it back first.
        let holders: Vec<(ObjectId, ThreadId)> = ahead.from_start.keys().copied().collect();
        for same in holders.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
            for holder in same {
                ahead.from_start.entry(*holder).and_modify(|(_, shared)| *shared = true);
            }
        }
        for event in trace.events() {
            let lock = trace.op(event).lock();
            if let Some(events) = lock.and_then(|lock| ahead.handed_over.get_mut(&lock)) {
                events.push(event);
            }
        }
        Sections::walk(trace, &mut ahead)
    }

    /// Finds sections with what is known already, and adds to that what it finds.
    fn walk(trace: &Trace, ahead: &mut Ahead) -> Sections {
        let mut found = Sections {
            by_lock: vec![Vec::new(); trace.tables().objects.len()],
            handed_over: ahead.handed_over.clone(),
            ..Sections::default()
        };
        let mut held = Held::new();
        for (&(lock, thread), &(depth, shared)) in &ahead.from_start {
            if !found.is_handed_over(lock) {
                let id = found.push(Section {
                    lock,
                    thread,
                    shared,
                    acquire: None,
                    release: None,
                });
                held.insert((lock, thread), (id, depth));
            }
        }
        // Depths kept across waits, and locks that readers took.
        let mut waiting: HashMap<(ObjectId, ThreadId), u32> = HashMap::new();
        let mut read: HashSet<ObjectId> = HashSet::new();
        for event in trace.events() {
            let thread = trace.thread(event);
            if found.any_handed_over() && trace.op(event).lock().is_some_and(|lock| found.is_handed_over(lock)) {
                continue;
            }
            match trace.op(event) {
                Op::Acquire { lock } => found.take(&mut held, event, lock, thread, false, 1),
                Op::AcquireShared { lock } => {
                    read.insert(lock);
                    found.take(&mut held, event, lock, thread, true, 1);
                }
                Op::WaitEnd { lock, .. } => {
                    let depth = waiting.remove(&(lock, thread)).unwrap_or(1);
                    found.take(&mut held, event, lock, thread, false, depth);
                }
                Op::Release { lock } | Op::WaitBegin { lock, .. } => {
                    let wait = matches!(trace.op(event), Op::WaitBegin { .. });
                    let others = held.keys().chain(ahead.from_start.keys());
                    let mut others = others.filter(|&&(taken, by)| taken == lock && by != thread);
                    let for_another = trace.tables().meta.foreign_unlock && others.next().is_some();
                    match held.get_mut(&(lock, thread)) {
                        Some((_, depth)) if *depth > 1 && !wait => *depth -= 1,
                        Some(&mut (_, depth)) => {
                            waiting.extend(wait.then_some(((lock, thread), depth)));
                            found.give_back(&mut held, event, lock, thread);
                        }
                        // One that it took before the trace began, or another thread's.
                        None if for_another => {
                            ahead.handed_over.entry(lock).or_default();
                        }
                        None => {
                            let first = (0, read.contains(&lock));
                            ahead.from_start.entry((lock, thread)).or_insert(first).0 += 1;
                        }
                    }
                }
                _ => {}
            }
        }
        found
    }

    fn take(&mut self, held: &mut Held, event: EventId, lock: ObjectId, thread: ThreadId, shared: bool, depth: u32) {
        if let Some((_, inner)) = held.get_mut(&(lock, thread)) {
            *inner += depth;
            return;
        }
        let id = self.push(Section {
            lock,
            thread,
            shared,
            acquire: Some(event),
            release: None,
        });
        self.opened_by.insert(event, id);
        held.insert((lock, thread), (id, depth));
    }

    fn give_back(&mut self, held: &mut Held, event: EventId, lock: ObjectId, thread: ThreadId) {
        if let Some((section, _)) = held.remove(&(lock, thread)) {
            self.all[section.index()].release = Some(event);
            self.closed_by.insert(event, section);
        }
    }

    fn push(&mut self, section: Section) -> SectionId {
        let id = SectionId(self.all.len() as u32);
        if section.lock.index() >= self.by_lock.len() {
            self.by_lock.resize_with(section.lock.index() + 1, Vec::new);
        }
        self.by_lock[section.lock.index()].push(id);
        self.all.push(section);
        id
    }

    /// A section.
    #[must_use]
    pub fn get(&self, id: SectionId) -> &Section {
        &self.all[id.index()]
    }

    /// All sections, in the order in which π opened them.
    #[must_use]
    pub fn all(&self) -> &[Section] {
        &self.all
    }

    /// The sections on one lock, in the order in which π opened them.
    #[must_use]
    pub fn on(&self, lock: ObjectId) -> &[SectionId] {
        self.by_lock.get(lock.index()).map_or(&[], Vec::as_slice)
    }

    /// The section that an event opens: `None` if it only takes a recursive lock once more.
    #[must_use]
    pub fn opened_by(&self, event: EventId) -> Option<SectionId> {
        self.opened_by.get(&event).copied()
    }

    /// The section that an event ends: `None` if it only gives back one level of a recursive lock.
    #[must_use]
    pub fn closed_by(&self, event: EventId) -> Option<SectionId> {
        self.closed_by.get(&event).copied()
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
