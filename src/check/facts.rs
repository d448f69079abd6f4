//! What the table's conditions need to know of π besides the event itself.
//!
//! Whether a thread is created in the trace at all, how many arrive in each round of a barrier;
//! and, for a trace that begins in the middle of a run, what held before its first event. One walk over π collects them.

use crate::trace::{EventId, ObjectId, Op, ThreadId, Trace, WaitOutcome};
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;

/// A thread in a wait set before the first event.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitingFromStart {
    pub(super) condition: ObjectId,
    pub(super) thread: ThreadId,
    pub(super) end: EventId,
    pub(super) outcome: WaitOutcome,
    /// No notify comes before its end in π: it was woken before the trace began, too.
    pub(super) woken: bool,
}

/// Facts of one trace.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// By thread: the event that creates it.
    forks: Vec<Option<EventId>>,
    /// By thread: what a join waits for.
    ends: Vec<Option<EventId>>,
    arrivals: HashMap<(ObjectId, u32), u32>,
    inputs: HashMap<ObjectId, Vec<EventId>>,
    /// For each input: the last output of each thread to its source before it.
    outputs: HashMap<EventId, Vec<EventId>>,
    /// Levels of locks that are held before the first event: who, and whether as a reader.
    pub(super) held: Vec<(ObjectId, ThreadId, bool)>,
    pub(super) waiting: Vec<WaitingFromStart>,
}

impl Facts {
    pub(super) fn of(trace: &Trace) -> Facts {
        let mut facts = Facts {
            forks: vec![None; trace.threads()],
            ends: vec![None; trace.threads()],
            ..Facts::default()
        };
        let mut start = Start::default();
        let mut outputs: HashMap<ObjectId, Vec<EventId>> = HashMap::new();
        for event in trace.events() {
            let thread = trace.thread(event);
            // The last event of a thread, which is its `End` if it has one.
            facts.ends[thread.index()] = Some(event);
            start.event(&mut facts, trace, event, thread);
            match trace.op(event) {
                Op::Fork { child } => facts.fork(child, event),
                Op::BarrierEnter { barrier, round } => *facts.arrivals.entry((barrier, round)).or_default() += 1,
                Op::Output { source } => {
                    let last = outputs.entry(source).or_default();
                    last.retain(|&output| trace.thread(output) != thread);
                    last.push(event);
                }
                Op::Input { source, .. } => {
                    facts.inputs.entry(source).or_default().push(event);
                    if let Some(last) = outputs.get(&source) {
                        facts.outputs.insert(event, last.clone());
                    }
                }
                _ => {}
            }
        }
        facts
    }

    fn fork(&mut self, child: ThreadId, event: EventId) {
        if child.index() >= self.forks.len() {
            self.forks.resize(child.index() + 1, None);
            self.ends.resize(child.index() + 1, None);
        }
        self.forks[child.index()].get_or_insert(event);
    }

    /// The event that creates the thread; `None` if it is alive from the start.
    pub(super) fn fork_of(&self, thread: ThreadId) -> Option<EventId> {
        self.forks.get(thread.index()).copied().flatten()
    }

    /// The last event of the thread: its `end`, or whatever comes last if the trace lacks that.
    pub(super) fn end_of(&self, thread: ThreadId) -> Option<EventId> {
        self.ends.get(thread.index()).copied().flatten()
    }

    pub(super) fn arrivals(&self, barrier: ObjectId, round: u32) -> u32 {
        self.arrivals.get(&(barrier, round)).copied().unwrap_or(0)
    }

    pub(super) fn inputs(&self, source: ObjectId) -> &[EventId] {
        self.inputs.get(&source).map_or(&[], Vec::as_slice)
    }

    pub(super) fn outputs_before(&self, input: EventId) -> impl Iterator<Item = EventId> + '_ {
        self.outputs.get(&input).into_iter().flatten().copied()
    }
}

/// Finds what held before the first event: a lock that is given back although nobody took it
/// before, and a wait that ends without having begun.
#[derive(Default)]
struct Start {
    taken: HashSet<ObjectId>,
    taken_shared: HashSet<ObjectId>,
    /// Who holds a lock as a reader.
    reading: HashMap<ObjectId, BTreeMap<ThreadId, u32>>,
    waiting: HashSet<(ObjectId, ThreadId)>,
    notified: HashSet<ObjectId>,
}

impl Start {
    fn event(&mut self, facts: &mut Facts, trace: &Trace, event: EventId, thread: ThreadId) {
        match trace.op(event) {
            Op::Acquire { lock } => {
                self.taken.insert(lock);
            }
            Op::AcquireShared { lock } => {
                self.taken_shared.insert(lock);
                *self.reading.entry(lock).or_default().entry(thread).or_default() += 1;
            }
            Op::Release { lock } => self.give_back(facts, trace, lock, thread),
            Op::WaitBegin { condition, lock } => {
                self.waiting.insert((condition, thread));
                self.give_back(facts, trace, lock, thread);
            }
            Op::WaitEnd {
                condition,
                lock,
                outcome,
            } => {
                self.taken.insert(lock);
                // Only what a thread did before all else can have begun before the trace.
                if !self.waiting.remove(&(condition, thread)) && trace.place(event) == 0 {
                    facts.waiting.push(WaitingFromStart {
                        condition,
                        thread,
                        end: event,
                        outcome,
                        woken: !self.notified.contains(&condition),
                    });
                }
            }
            Op::Notify { condition } | Op::NotifyAll { condition } => {
                self.notified.insert(condition);
            }
            _ => {}
        }
    }

    fn give_back(&mut self, facts: &mut Facts, trace: &Trace, lock: ObjectId, thread: ThreadId) {
        if self.taken.contains(&lock) {
            return;
        }
        let reading = self.reading.entry(lock).or_default();
        let another = reading.keys().next().copied();
        let another = another.filter(|_| trace.tables().meta.foreign_unlock);
        let own = reading.contains_key(&thread).then_some(thread);
        let Some(reader) = own.or(another) else {
            facts.held.push((lock, thread, self.taken_shared.contains(&lock)));
            return;
        };
        if let Some(depth) = reading.get_mut(&reader) {
            *depth -= 1;
            if *depth == 0 {
                reading.remove(&reader);
            }
        }
    }
}
