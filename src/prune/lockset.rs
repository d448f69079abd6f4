//! What a thread holds when it makes an access, and what it took since.
//!
//! Each access has a *lock context*: the locks held, each with the mode it is held in and with the
//! locks acquired since it was taken (its acquisition history). Few distinct contexts occur in a
//! trace, so they are interned, and pairs of contexts are compared once.
//!
//! Two accesses whose threads hold the same lock, not both as readers, cannot be next at the same
//! time: the classic lockset argument (Savage et al. 1997), exact in this direction. Locks that
//! some thread released without holding them prove nothing and are left out.

use crate::trace::{EventId, ObjectId, Op, Sections, ThreadId, Trace};
use hashbrown::HashMap;
use std::collections::{BTreeMap, BTreeSet};

/// The number of an interned lock context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockContextId(pub u32);

/// A lock held, or acquired for a while: which one, and whether as a reader.
pub type Hold = (ObjectId, bool);

/// Locks held at an access, each with its acquisition history.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockContext {
    /// For each lock held: the holds acquired after it, whether given back since or not.
    pub held: BTreeMap<Hold, BTreeSet<Hold>>,
}

impl LockContext {
    /// A lock that both hold, not both as readers.
    #[must_use]
    pub fn common_lock(&self, other: &LockContext) -> Option<ObjectId> {
        self.held.keys().find_map(|&(lock, shared)| {
            let exclusive = other.held.contains_key(&(lock, false));
            let clash = exclusive || (!shared && other.held.contains_key(&(lock, true)));
            clash.then_some(lock)
        })
    }
}

/// The lock contexts of all accesses of a trace.
#[derive(Clone, Debug, Default)]
pub struct LockContexts {
    contexts: Vec<LockContext>,
    /// By access number.
    of_access: Vec<LockContextId>,
}

impl LockContexts {
    /// Computes the context of each access.
    #[must_use]
    pub fn of(trace: &Trace, sections: &Sections) -> LockContexts {
        let mut found = LockContexts::default();
        let mut numbers: HashMap<LockContext, LockContextId> = HashMap::new();
        let mut current: Vec<LockContext> = vec![LockContext::default(); trace.threads()];
        let mut number: Vec<Option<LockContextId>> = vec![None; trace.threads()];
        for event in trace.events() {
            let thread = trace.thread(event).index();
            if let Op::Access(_) = trace.op(event) {
                let id = *number[thread].get_or_insert_with(|| {
                    *numbers.entry(current[thread].clone()).or_insert_with(|| {
                        found.contexts.push(current[thread].clone());
                        LockContextId(found.contexts.len() as u32 - 1)
                    })
                });
                found.of_access.push(id);
                continue;
            }
            if let Some(change) = LockChange::of(trace, sections, event) {
                change.apply(&mut current[thread]);
                number[thread] = None;
            }
        }
        found
    }

    /// The context of an access, by the access' number.
    #[must_use]
    pub fn of_access(&self, access: crate::trace::AccessId) -> LockContextId {
        self.of_access[access.index()]
    }

    /// A context.
    #[must_use]
    pub fn get(&self, id: LockContextId) -> &LockContext {
        &self.contexts[id.0 as usize]
    }
}

/// How an event changes what its thread holds.
enum LockChange {
    Take(Hold),
    GiveBack(ObjectId),
}

impl LockChange {
    fn of(trace: &Trace, sections: &Sections, event: EventId) -> Option<LockChange> {
        let lock = match trace.op(event) {
            Op::Acquire { lock } | Op::AcquireShared { lock } | Op::WaitEnd { lock, .. } => {
                let section = sections.get(sections.opened_by(event)?);
                return Some(LockChange::Take((lock, section.shared)));
            }
            Op::Release { lock } | Op::WaitBegin { lock, .. } => lock,
            _ => return None,
        };
        // Only the release that ends an outermost section matters.
        sections.closed_by(event).map(|_| LockChange::GiveBack(lock))
    }

    fn apply(self, context: &mut LockContext) {
        match self {
            LockChange::Take(hold) => {
                for history in context.held.values_mut() {
                    history.insert(hold);
                }
                context.held.insert(hold, BTreeSet::new());
            }
            LockChange::GiveBack(lock) => context.held.retain(|&(held, _), _| held != lock),
        }
    }
}

/// The locks that the thread of `event` holds just before it, with the events that took them.
/// Innermost last.
#[must_use]
pub fn held_at(trace: &Trace, sections: &Sections, event: EventId) -> Vec<(ObjectId, bool, EventId)> {
    let mut held: Vec<(ObjectId, bool, EventId)> = Vec::new();
    let thread: ThreadId = trace.thread(event);
    for &before in &trace.program_order(thread)[..trace.place(event) as usize] {
        match LockChange::of(trace, sections, before) {
            Some(LockChange::Take((lock, shared))) => held.push((lock, shared, before)),
            Some(LockChange::GiveBack(lock)) => held.retain(|&(other, ..)| other != lock),
            None => {}
        }
    }
    held
}
