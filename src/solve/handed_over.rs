//! Replays one lock that threads give back for each other.

use super::replay::Violation;
use crate::trace::{EventId, ObjectId, Op, Sections, ThreadId, Trace};
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// The lock after some of its events.
pub(super) struct HandedOver {
    lock: ObjectId,
    owner: Option<(ThreadId, u32)>,
    readers: BTreeMap<ThreadId, u32>,
    /// Depth kept across a wait, by its beginning.
    kept: HashMap<EventId, u32>,
    history: Vec<EventId>,
}

impl HandedOver {
    /// The lock as it was before the trace: whoever gave it back when nobody had it held it, alone unless
    /// somebody had read it by the last of these times.
    pub(super) fn new(trace: &Trace, sections: &Sections, lock: ObjectId) -> HandedOver {
        let mut found = HandedOver {
            lock,
            owner: None,
            readers: BTreeMap::new(),
            kept: HashMap::new(),
            history: Vec::new(),
        };
        let mut read = false;
        let mut reading: BTreeMap<ThreadId, u32> = BTreeMap::new();
        for &event in sections.handed_over(lock) {
            let thread = trace.thread(event);
            match trace.op(event) {
                Op::AcquireShared { .. } => {
                    read = true;
                    *reading.entry(thread).or_default() += 1;
                }
                Op::Release { .. } | Op::WaitBegin { .. } => {
                    if !give_back_one(&mut reading, thread) {
                        match read {
                            true => *found.readers.entry(thread).or_default() += 1,
                            false => found.owner.get_or_insert((thread, 0)).1 += 1,
                        }
                    }
                }
                Op::AcquireFailed { .. } => {}
                _ => break,
            }
        }
        if !found.readers.is_empty()
            && let Some((owner, depth)) = found.owner.take()
        {
            *found.readers.entry(owner).or_default() += depth;
        }
        found
    }

    fn is_free(&self) -> bool {
        self.owner.is_none() && self.readers.is_empty()
    }

    /// Executes an event of the lock; says if it was not enabled.
    pub(super) fn step(&mut self, trace: &Trace, event: EventId) -> Option<Violation> {
        let enabled = self.perform(trace, event);
        let violation = (!enabled).then(|| Violation::HandedOver {
            lock: self.lock,
            history: self.history.clone(),
            event,
        });
        self.history.push(event);
        violation
    }

    fn perform(&mut self, trace: &Trace, event: EventId) -> bool {
        let thread = trace.thread(event);
        match trace.op(event) {
            Op::Acquire { .. } => match &mut self.owner {
                Some((owner, depth)) if *owner == thread => {
                    *depth += 1;
                    true
                }
                _ => self.take(thread, 1),
            },
            Op::AcquireShared { .. } => {
                *self.readers.entry(thread).or_default() += 1;
                self.owner.is_none()
            }
            Op::WaitEnd { .. } => {
                let begin = trace.wait_begin(event);
                let depth = begin.and_then(|begin| self.kept.remove(&begin)).unwrap_or(1);
                self.take(thread, depth)
            }
            Op::WaitBegin { .. } => {
                let held = self.owner.filter(|&(owner, _)| owner == thread);
                if let Some((_, depth)) = held {
                    self.kept.insert(event, depth);
                    self.owner = None;
                }
                held.is_some()
            }
            Op::Release { .. } => self.give_back(thread),
            Op::AcquireFailed { shared, .. } => {
                // Of a recursive mutex, its holder is never told that it is held.
                let recursive = trace.is_recursive(self.lock);
                let owned = self.owner.is_some_and(|(owner, _)| owner != thread || !recursive);
                owned || !shared && !self.readers.is_empty()
            }
            _ => true,
        }
    }

    fn take(&mut self, thread: ThreadId, depth: u32) -> bool {
        let free = self.is_free();
        self.owner = Some((thread, depth));
        free
    }

    /// One level of its own if the thread holds the lock, else of whoever does.
    fn give_back(&mut self, thread: ThreadId) -> bool {
        if let Some((_, depth)) = &mut self.owner {
            *depth -= 1;
            if *depth == 0 {
                self.owner = None;
            }
            return true;
        }
        give_back_one(&mut self.readers, thread)
    }
}

/// One level of the thread's own, or of another reader; `false` if there is none.
fn give_back_one(readers: &mut BTreeMap<ThreadId, u32>, thread: ThreadId) -> bool {
    let own = readers.contains_key(&thread).then_some(thread);
    let Some(reader) = own.or_else(|| readers.keys().next().copied()) else {
        return false;
    };
    if let Some(depth) = readers.get_mut(&reader) {
        *depth -= 1;
        if *depth == 0 {
            readers.remove(&reader);
        }
    }
    true
}
