//! Critical sections: which stretch of which thread holds which lock, and how.
//!
//! Only outermost sections count: the depth of a recursive lock is a matter of its thread alone
//! and does not change with the schedule (Said et al. 2011, section 4.3). Waiting on a condition
//! ends the section at the wait's beginning and starts another at its end.

use super::{EventId, Op, Trace};
use hashbrown::HashMap;
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

/// All critical sections of a trace.
#[derive(Clone, Debug, Default)]
pub struct Sections {
    all: Vec<Section>,
    by_lock: Vec<Vec<SectionId>>,
    opened_by: HashMap<EventId, SectionId>,
    closed_by: HashMap<EventId, SectionId>,
    foreign: Vec<bool>,
}

impl Sections {
    /// Finds the critical sections of a trace.
    #[must_use]
    pub fn of(trace: &Trace) -> Sections {
        let mut found = Sections {
            by_lock: vec![Vec::new(); trace.tables().objects.len()],
            foreign: vec![false; trace.tables().objects.len()],
            ..Sections::default()
        };
        // What each thread holds: (section, depth). `waiting` keeps the depth across a wait.
        let mut held: HashMap<(ObjectId, ThreadId), (SectionId, u32)> = HashMap::new();
        let mut waiting: HashMap<(ObjectId, ThreadId), u32> = HashMap::new();
        for event in trace.events() {
            let thread = trace.thread(event);
            match trace.op(event) {
                Op::Acquire { lock } => found.take(&mut held, event, lock, thread, false, 1),
                Op::AcquireShared { lock } => found.take(&mut held, event, lock, thread, true, 1),
                Op::WaitEnd { lock, .. } => {
                    let depth = waiting.remove(&(lock, thread)).unwrap_or(1);
                    found.take(&mut held, event, lock, thread, false, depth);
                }
                Op::Release { lock } => match held.get_mut(&(lock, thread)) {
                    Some((_, depth)) if *depth > 1 => *depth -= 1,
                    Some(_) => found.give_back(&mut held, event, lock, thread),
                    None => found.give_back_foreign(&mut held, event, lock, thread),
                },
                Op::WaitBegin { lock, .. } => {
                    if let Some(&(_, depth)) = held.get(&(lock, thread)) {
                        waiting.insert((lock, thread), depth);
                    }
                    if held.contains_key(&(lock, thread)) {
                        found.give_back(&mut held, event, lock, thread);
                    } else {
                        found.give_back_foreign(&mut held, event, lock, thread);
                    }
                }
                _ => {}
            }
        }
        found
    }

    fn take(
        &mut self,
        held: &mut HashMap<(ObjectId, ThreadId), (SectionId, u32)>,
        event: EventId,
        lock: ObjectId,
        thread: ThreadId,
        shared: bool,
        depth: u32,
    ) {
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

    fn give_back(
        &mut self,
        held: &mut HashMap<(ObjectId, ThreadId), (SectionId, u32)>,
        event: EventId,
        lock: ObjectId,
        thread: ThreadId,
    ) {
        if let Some((section, _)) = held.remove(&(lock, thread)) {
            self.all[section.index()].release = Some(event);
            self.closed_by.insert(event, section);
        }
    }

    /// A release by a thread that does not hold the lock: it ends the section of the thread that
    /// does, or one that was open when the trace began.
    fn give_back_foreign(
        &mut self,
        held: &mut HashMap<(ObjectId, ThreadId), (SectionId, u32)>,
        event: EventId,
        lock: ObjectId,
        thread: ThreadId,
    ) {
        let holder = held
            .keys()
            .filter(|(held_lock, _)| *held_lock == lock)
            .map(|&(_, holder)| holder)
            .min();
        if let Some(holder) = holder {
            self.mark_foreign(lock);
            self.give_back(held, event, lock, holder);
        } else {
            let shared = false;
            self.push(Section {
                lock,
                thread,
                shared,
                acquire: None,
                release: Some(event),
            });
        }
    }

    fn mark_foreign(&mut self, lock: ObjectId) {
        if let Some(flag) = self.foreign.get_mut(lock.index()) {
            *flag = true;
        }
    }

    fn push(&mut self, section: Section) -> SectionId {
        let id = SectionId(self.all.len() as u32);
        if section.lock.index() >= self.by_lock.len() {
            self.by_lock.resize_with(section.lock.index() + 1, Vec::new);
            self.foreign.resize(section.lock.index() + 1, false);
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

    /// Whether some release of the lock came from a thread that did not hold it.
    #[must_use]
    pub fn is_foreign(&self, lock: ObjectId) -> bool {
        self.foreign.get(lock.index()).copied().unwrap_or(false)
    }
}
