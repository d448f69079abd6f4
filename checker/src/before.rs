//! What the table's conditions need to know of a trace besides the event at hand: found in one walk.
//!
//! Who creates which thread, how many arrive in each round of a barrier, which end a wait has; and, for a trace that
//! begins in the middle of a run, what held before its first event.

use crate::marked::Marked;
use crate::recording::Recording;
use columns::Unpacked;
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;
use trace_format::{EventId, ObjectId, Op, ThreadId, WaitOutcome};

/// A thread in a wait set before the first event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitingFromStart {
    pub(crate) condition: ObjectId,
    pub(crate) thread: ThreadId,
    pub(crate) end: EventId,
    pub(crate) outcome: WaitOutcome,
    /// No notify comes before its end: it was woken before the trace began, too.
    pub(crate) woken: bool,
}

/// What a trace shows as a whole.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// By thread: its last event.
    last: Vec<Option<EventId>>,
    /// By thread: the event that creates it.
    forks: HashMap<ThreadId, EventId>,
    arrivals: HashMap<(ObjectId, u32), u32>,
    /// The threads that post a semaphore, notify at a condition, arrive at a barrier, or end an initialization.
    givers: HashMap<ObjectId, HashSet<ThreadId>>,
    inputs: HashMap<ObjectId, Vec<EventId>>,
    /// For each input: the last output of each thread to its source before it.
    outputs: HashMap<EventId, Vec<EventId>>,
    /// By the beginning of a wait: its end.
    wait_ends: HashMap<EventId, (EventId, WaitOutcome)>,
    /// Levels of locks that are held before the first event: who, and whether as a reader.
    pub(crate) held: Vec<(ObjectId, ThreadId, bool)>,
    pub(crate) waiting: Vec<WaitingFromStart>,
    /// Locks that a thread gave back while, as far as the trace tells, it did not hold them. Only where that is
    /// declared.
    handed_over: HashSet<ObjectId>,
    /// The events that decide whether the trace is an execution: all but those accesses and frees that have others of
    /// their thread before them, and no end of it.
    pub(crate) deciding: Marked,
}

/// The walk that finds them.
#[derive(Debug)]
pub(crate) struct Walk<'t> {
    facts: Facts,
    /// By thread: the events that the recording lists and this walk has not seen.
    left: Vec<Unpacked<'t, EventId>>,
    /// By thread: whether one of them was an end.
    ended: Vec<bool>,
    foreign_unlock: bool,
    locks: Locks,
    outputs: HashMap<ObjectId, BTreeMap<ThreadId, EventId>>,
    notified: HashSet<ObjectId>,
    /// By thread: the waits that it has begun and not ended.
    open: HashMap<ThreadId, Vec<(EventId, ObjectId, ObjectId)>>,
}

impl<'t> Walk<'t> {
    pub(crate) fn new(recording: &'t dyn Recording) -> Walk<'t> {
        let threads = recording.threads();
        let all = (0..threads as u32).map(ThreadId);
        Walk {
            facts: Facts {
                last: vec![None; threads],
                deciding: Marked::with_room_for(recording.events()),
                ..Facts::default()
            },
            left: all.map(|thread| recording.program_order(thread).unpacked()).collect(),
            ended: vec![false; threads],
            foreign_unlock: recording.tables().meta.foreign_unlock,
            locks: Locks::default(),
            outputs: HashMap::new(),
            notified: HashSet::new(),
            open: HashMap::new(),
        }
    }

    /// Goes on by an event, of which it is known whether it is an access.
    ///
    /// # Panics
    /// If the recording lists another one as its thread's next.
    pub(crate) fn see(&mut self, event: EventId, thread: ThreadId, op: &Op, is_access: bool) {
        let number = thread.index();
        assert_eq!(self.left[number].next(), Some(event));
        let is_first = self.facts.last[number].replace(event).is_none();
        let is_of_memory = is_access || matches!(op, Op::Free { .. });
        let decides = !is_of_memory || is_first || self.ended[number];
        self.facts.deciding.push(event, decides);
        if !is_of_memory {
            self.operation(event, thread, *op, is_first);
        }
    }

    fn operation(&mut self, event: EventId, thread: ThreadId, op: Op, is_first: bool) {
        let (facts, locks, foreign_unlock) = (&mut self.facts, &mut self.locks, self.foreign_unlock);
        if let Some(object) = given(op) {
            facts.givers.entry(object).or_default().insert(thread);
        }
        match op {
            Op::End => self.ended[thread.index()] = true,
            Op::Fork { child } => drop(facts.forks.entry(child).or_insert(event)),
            Op::BarrierEnter { barrier, round } => *facts.arrivals.entry((barrier, round)).or_default() += 1,
            Op::Output { source } => drop(self.outputs.entry(source).or_default().insert(thread, event)),
            Op::Input { source, .. } => {
                facts.inputs.entry(source).or_default().push(event);
                if let Some(last) = self.outputs.get(&source) {
                    let mut last: Vec<EventId> = last.values().copied().collect();
                    last.sort_unstable();
                    facts.outputs.insert(event, last);
                }
            }
            Op::Acquire { lock, .. } => drop(locks.taken.insert(lock)),
            Op::AcquireShared { lock, .. } => locks.read(lock, thread),
            Op::Release { lock } => facts.held.extend(locks.give_back(lock, thread, foreign_unlock)),
            Op::Notify { condition } | Op::NotifyAll { condition } => drop(self.notified.insert(condition)),
            Op::WaitBegin { condition, lock } => {
                facts.held.extend(locks.give_back(lock, thread, foreign_unlock));
                self.open.entry(thread).or_default().push((event, condition, lock));
            }
            Op::WaitEnd {
                condition,
                lock,
                outcome,
                ..
            } => {
                locks.taken.insert(lock);
                let open = self.open.entry(thread).or_default();
                let begun = open.iter().rposition(|&(_, on, with)| (on, with) == (condition, lock));
                if let Some(begun) = begun {
                    facts.wait_ends.insert(open[begun].0, (event, outcome));
                    // What was begun within it never ends.
                    open.truncate(begun);
                } else if is_first {
                    // Only what a thread did before all else can have begun before the trace.
                    facts.waiting.push(WaitingFromStart {
                        condition,
                        thread,
                        end: event,
                        outcome,
                        woken: !self.notified.contains(&condition),
                    });
                }
            }
            _ => {}
        }
    }

    /// No event follows.
    ///
    /// # Panics
    /// If the recording lists further ones.
    pub(crate) fn end(self, recording: &dyn Recording) -> Facts {
        assert!(self.left.iter().all(|left| left.len() == 0));
        let mut facts = self.facts;
        facts.hold_in_one_mode();
        if self.foreign_unlock {
            facts.handed_over = facts.given_back_for_others(recording);
        }
        facts
    }
}

impl Facts {
    /// The locks that some thread gives back without holding them.
    fn given_back_for_others(&self, recording: &dyn Recording) -> HashSet<ObjectId> {
        let mut found = HashSet::new();
        let mut levels: HashMap<(ObjectId, ThreadId), u32> = HashMap::new();
        for &(lock, thread, _) in &self.held {
            *levels.entry((lock, thread)).or_default() += 1;
        }
        // By the end of a wait: how deep the thread held the lock.
        let mut kept: HashMap<EventId, u32> = HashMap::new();
        for event in self.deciding.all() {
            let thread = recording.thread(event);
            match recording.op(event) {
                Op::Acquire { lock, .. } | Op::AcquireShared { lock, .. } => {
                    *levels.entry((lock, thread)).or_default() += 1;
                }
                Op::Release { lock } => match levels.get_mut(&(lock, thread)).filter(|levels| **levels > 0) {
                    Some(levels) => *levels -= 1,
                    None => drop(found.insert(lock)),
                },
                Op::WaitBegin { lock, .. } => {
                    let depth = levels.remove(&(lock, thread)).unwrap_or(1);
                    kept.extend(self.wait_end(event).map(|(end, _)| (end, depth)));
                }
                Op::WaitEnd { lock, .. } => {
                    levels.insert((lock, thread), kept.remove(&event).unwrap_or(1));
                }
                _ => {}
            }
        }
        found
    }

    /// No lock is held in two modes, so where one level is a reader's, all are.
    fn hold_in_one_mode(&mut self) {
        let read: HashSet<ObjectId> = self.held.iter().filter(|held| held.2).map(|held| held.0).collect();
        for (lock, _, shared) in &mut self.held {
            *shared |= read.contains(lock);
        }
    }

    /// The event that creates the thread; `None` if it is there from the start.
    pub(crate) fn fork_of(&self, thread: ThreadId) -> Option<EventId> {
        self.forks.get(&thread).copied()
    }

    /// The events that create threads.
    pub(crate) fn forks(&self) -> impl Iterator<Item = EventId> {
        self.forks.values().copied()
    }

    /// The last event of a thread: its `end`, or whatever comes last if the trace lacks that.
    pub(crate) fn last_of(&self, thread: ThreadId) -> Option<EventId> {
        *self.last.get(thread.index())?
    }

    pub(crate) fn arrivals(&self, barrier: ObjectId, round: u32) -> u32 {
        self.arrivals.get(&(barrier, round)).copied().unwrap_or(0)
    }

    /// Whether a thread has an event, anywhere in the trace, that may end a wait at an object.
    pub(crate) fn gives(&self, thread: ThreadId, object: ObjectId) -> bool {
        self.givers.get(&object).is_some_and(|givers| givers.contains(&thread))
    }

    pub(crate) fn inputs(&self, source: ObjectId) -> &[EventId] {
        self.inputs.get(&source).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn outputs_before(&self, input: EventId) -> &[EventId] {
        self.outputs.get(&input).map_or(&[], Vec::as_slice)
    }

    /// Whether threads may give a lock back that another one holds.
    pub(crate) fn is_handed_over(&self, lock: ObjectId) -> bool {
        self.handed_over.contains(&lock)
    }

    /// The end of the wait that an event begins, and how it ended; `None` if the trace does not have it.
    pub(crate) fn wait_end(&self, begin: EventId) -> Option<(EventId, WaitOutcome)> {
        self.wait_ends.get(&begin).copied()
    }
}

/// The object at which an event may end waits of other threads; of locks and joins, who does is another matter.
fn given(op: Op) -> Option<ObjectId> {
    match op {
        Op::SemPost { semaphore } => Some(semaphore),
        Op::Notify { condition } | Op::NotifyAll { condition } => Some(condition),
        Op::BarrierEnter { barrier, .. } => Some(barrier),
        Op::OnceEnd { once } => Some(once),
        _ => None,
    }
}

/// Finds the locks that are given back although nobody took them before.
#[derive(Debug, Default)]
struct Locks {
    taken: HashSet<ObjectId>,
    taken_shared: HashSet<ObjectId>,
    /// Who holds a lock as a reader, and how deep.
    readers: HashMap<ObjectId, BTreeMap<ThreadId, u32>>,
}

impl Locks {
    fn read(&mut self, lock: ObjectId, thread: ThreadId) {
        self.taken_shared.insert(lock);
        *self.readers.entry(lock).or_default().entry(thread).or_default() += 1;
    }

    /// The level that was held from the start, if this gives back such a one.
    fn give_back(
        &mut self,
        lock: ObjectId,
        thread: ThreadId,
        foreign_unlock: bool,
    ) -> Option<(ObjectId, ThreadId, bool)> {
        if self.taken.contains(&lock) {
            return None;
        }
        let readers = self.readers.entry(lock).or_default();
        let another = readers.keys().next().copied().filter(|_| foreign_unlock);
        let reader = readers.contains_key(&thread).then_some(thread).or(another);
        let Some(reader) = reader else {
            return Some((lock, thread, self.taken_shared.contains(&lock)));
        };
        if let Some(depth) = readers.get_mut(&reader) {
            *depth -= 1;
            if *depth == 0 {
                readers.remove(&reader);
            }
        }
        None
    }
}
