//! What a thread holds when it makes an access, and what it took since.
//!
//! Each access has a *lock context*: the locks held, each with the mode it is held in and with the
//! locks acquired since it was taken (its acquisition history). Few distinct contexts occur in a
//! trace, so they are interned, and pairs of contexts are compared once.
//!
//! Two accesses whose threads hold the same lock, not both as readers, cannot be next at the same
//! time: the classic lockset argument (Savage et al. 1997), exact in this direction. Locks that
//! some thread released without holding them prove nothing and are left out. [Variables](VariableLocks) that are locks
//! count as such, if one asks for them, but for the histories; they are numbered behind the objects of the trace.

use super::VariableLocks;
use super::histories::{Histories, HistoryId};
use super::lock_history::history_clash;
use super::variable_locks::Change;
use crate::semantics::locks::Step;
use crate::trace::{EventId, ObjectId, Sections, Trace};
use columns::{Column, Cursor};
use hashbrown::HashMap;
use std::sync::Arc;

/// The number of an interned lock context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockContextId(pub u32);

impl From<u32> for LockContextId {
    fn from(number: u32) -> LockContextId {
        LockContextId(number)
    }
}

impl From<LockContextId> for u32 {
    fn from(id: LockContextId) -> u32 {
        id.0
    }
}

/// A lock held, or acquired for a while: which one, and whether as a reader.
pub type Hold = (ObjectId, bool);

/// Locks held at an access, each with its acquisition history.
#[derive(Clone, Copy, Debug)]
pub struct LockContext<'c> {
    /// For each lock held, in the order of their numbers: the holds acquired after it, whether given back since or not.
    pub held: &'c [(Hold, HistoryId)],
    /// What these histories hold.
    pub histories: &'c Histories,
}

impl LockContext<'_> {
    /// A lock that both hold, not both as readers.
    #[must_use]
    pub fn common_lock(&self, other: &LockContext<'_>) -> Option<ObjectId> {
        self.held.iter().find_map(|&((lock, shared), _)| {
            let exclusive = is_held(other.held, (lock, false));
            let clash = exclusive || (!shared && is_held(other.held, (lock, true)));
            clash.then_some(lock)
        })
    }
}

fn is_held(held: &[(Hold, HistoryId)], hold: Hold) -> bool {
    held.binary_search_by_key(&hold, |&(hold, _)| hold).is_ok()
}

/// Locks as bits: exact for the first 64 locks that occur, and in doubt shared beyond.
#[derive(Clone, Copy, Debug, Default)]
struct Masks {
    exclusive: u64,
    held: u64,
    /// Acquired since something that is held was.
    since: u64,
}

/// The number of each context so far.
type Numbers = HashMap<Arc<[(Hold, HistoryId)]>, LockContextId>;

/// The lock contexts of all accesses of a trace.
#[derive(Clone, Debug, Default)]
pub struct LockContexts {
    contexts: Vec<Arc<[(Hold, HistoryId)]>>,
    histories: Histories,
    masks: Vec<Masks>,
    /// Locks that occur, by bit; a bit stands for several if there are more than 64.
    bits: HashMap<ObjectId, u32>,
    /// By event.
    of_event: Arc<Column<LockContextId>>,
    variables: VariableLocks,
    /// Objects of the trace.
    objects: u32,
}

/// The locks that are held in all of some contexts, a bit for each, and those that are held exclusively. At first, of
/// no context: all.
#[derive(Clone, Copy, Debug)]
pub struct InAll {
    exclusive: u64,
    held: u64,
}

impl Default for InAll {
    fn default() -> InAll {
        InAll {
            exclusive: u64::MAX,
            held: u64::MAX,
        }
    }
}

impl InAll {
    /// Whether both have a lock, not both as readers.
    fn meets(self, other: InAll) -> bool {
        (self.exclusive & other.held) | (self.held & other.exclusive) != 0
    }
}

impl LockContexts {
    /// Computes the context of each access, by the locks of the trace alone.
    #[must_use]
    pub fn of(trace: &Trace, sections: &Sections) -> LockContexts {
        LockContexts::with(trace, sections, VariableLocks::default())
    }

    /// Computes the context of each access.
    #[must_use]
    pub fn with(trace: &Trace, sections: &Sections, variables: VariableLocks) -> LockContexts {
        let objects = trace.tables().objects.len() as u32;
        let mut found = LockContexts {
            objects,
            ..LockContexts::default()
        };
        let mut of_event = Column::default();
        let mut by_variables = variables.changes().iter().peekable();
        let mut numbers = Numbers::new();
        // Contexts repeat, and so do the steps between them.
        let mut steps: HashMap<(LockContextId, LockChange), LockContextId> = HashMap::new();
        let empty = found.intern(&mut numbers, Vec::new());
        let mut current: Vec<LockContextId> = vec![empty; trace.threads()];
        let (in_threads, mut operations) = (trace.in_threads(), trace.operations().peekable());
        for (thread, turn) in in_threads.turns() {
            let now = &mut current[thread.index()];
            let in_turn = |event: &EventId| event.0 < turn.end;
            let mut from = turn.start;
            loop {
                while operations
                    .next_if(|event| in_turn(event) && trace.op(*event).lock().is_none())
                    .is_some()
                {}
                let by_operation = operations.peek().copied().filter(in_turn);
                let by_variable = by_variables.peek().map(|&&(event, ..)| event).filter(in_turn);
                let Some(event) = by_operation.into_iter().chain(by_variable).min() else {
                    break;
                };
                // Its own is that before the change.
                of_event.push_many(*now, (event.0 + 1 - from) as usize);
                from = event.0 + 1;
                if by_operation == Some(event) {
                    operations.next();
                    if let Some(change) = LockChange::of(trace, sections, event) {
                        *now = found.after(&mut numbers, &mut steps, *now, change);
                    }
                }
                while let Some(&(_, lock, change)) = by_variables.next_if(|&&(at, ..)| at == event) {
                    let lock = ObjectId(objects + lock);
                    let change = match change {
                        Change::Take => LockChange::TakeVariable(lock),
                        Change::GiveBack => LockChange::GiveBack(lock),
                    };
                    *now = found.after(&mut numbers, &mut steps, *now, change);
                }
            }
            of_event.push_many(*now, (turn.end - from) as usize);
        }
        of_event.end();
        found.of_event = Arc::new(of_event);
        found.variables = variables;
        found
    }

    fn after(
        &mut self,
        numbers: &mut Numbers,
        steps: &mut HashMap<(LockContextId, LockChange), LockContextId>,
        now: LockContextId,
        change: LockChange,
    ) -> LockContextId {
        if let Some(&known) = steps.get(&(now, change)) {
            return known;
        }
        let held = self.applied(change, now);
        let then = self.intern(numbers, held);
        steps.insert((now, change), then);
        then
    }

    /// What is held after a change, in the order of the locks' numbers.
    fn applied(&mut self, change: LockChange, now: LockContextId) -> Vec<(Hold, HistoryId)> {
        let mut held = self.contexts[now.0 as usize].to_vec();
        let taken = match change {
            LockChange::Take(hold) => {
                let bit = self.bit(hold.0);
                for (_, history) in &mut held {
                    *history = self.histories.with(*history, hold, bit);
                }
                hold
            }
            LockChange::TakeVariable(lock) => (lock, false),
            LockChange::GiveBack(lock) => {
                held.retain(|&((held, _), _)| held != lock);
                return held;
            }
        };
        match held.binary_search_by_key(&taken, |&(hold, _)| hold) {
            Ok(at) => held[at].1 = HistoryId::EMPTY,
            Err(at) => held.insert(at, (taken, HistoryId::EMPTY)),
        }
        held
    }

    /// The same contexts, without the locks that are variables; `None` if there are none.
    #[must_use]
    pub fn without_variables(&self) -> Option<LockContexts> {
        if self.variables.changes().is_empty() {
            return None;
        }
        let mut without = LockContexts {
            variables: VariableLocks::default(),
            ..self.clone()
        };
        for (held, masks) in without.contexts.iter_mut().zip(&mut without.masks) {
            let is_object = |&&((lock, _), _): &&(Hold, HistoryId)| lock.0 < self.objects;
            *held = held.iter().filter(is_object).copied().collect();
            *masks = self.masks_of(held);
        }
        Some(without)
    }

    /// If a lock is a variable, the event by which the thread of `event` took it last before that.
    fn variable_taken(&self, trace: &Trace, event: EventId, lock: ObjectId) -> Option<EventId> {
        self.variables.taken(trace, event, lock.0.checked_sub(self.objects)?)
    }

    /// Where the threads of two accesses have taken a lock that is a variable, and that both hold.
    #[must_use]
    pub fn both_hold(&self, trace: &Trace, a: EventId, b: EventId) -> Option<(EventId, EventId)> {
        let [x, y] = [a, b].map(|event| self.of_access(event));
        let (masks, others) = (self.masks[x.0 as usize], self.masks[y.0 as usize]);
        if masks.exclusive & others.exclusive == 0 || trace.thread(a) == trace.thread(b) {
            return None;
        }
        let common = (self.get(x).held.iter())
            .filter(|&&((lock, shared), _)| !shared && lock.0 >= self.objects && self.holds_exclusively(y, lock));
        let lock = common.map(|&((lock, _), _)| lock).next()?;
        Some((
            self.variable_taken(trace, a, lock)?,
            self.variable_taken(trace, b, lock)?,
        ))
    }

    fn intern(&mut self, numbers: &mut Numbers, held: Vec<(Hold, HistoryId)>) -> LockContextId {
        if let Some(&known) = numbers.get(held.as_slice()) {
            return known;
        }
        for &((lock, _), _) in &held {
            self.bit(lock);
        }
        let masks = self.masks_of(&held);
        let id = LockContextId(self.contexts.len() as u32);
        let held: Arc<[(Hold, HistoryId)]> = held.into();
        self.masks.push(masks);
        self.contexts.push(Arc::clone(&held));
        numbers.insert(held, id);
        id
    }

    /// Of what is held, each of which has a bit.
    fn masks_of(&self, held: &[(Hold, HistoryId)]) -> Masks {
        let mut masks = Masks::default();
        for &((lock, shared), since) in held {
            let bit = 1 << (self.bits[&lock] % u64::BITS);
            masks.held |= bit;
            masks.exclusive |= if shared { 0 } else { bit };
            masks.since |= self.histories.mask(since);
        }
        masks
    }

    fn bit(&mut self, lock: ObjectId) -> u64 {
        let next = self.bits.len() as u32;
        1 << (*self.bits.entry(lock).or_insert(next) % u64::BITS)
    }

    /// How many contexts there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.contexts.len()
    }

    /// The context of an access.
    #[must_use]
    #[inline]
    pub fn of_access(&self, access: EventId) -> LockContextId {
        self.of_event.at(access.index())
    }

    /// The contexts of accesses by their numbers, for walks over most of them.
    #[must_use]
    pub fn walk(&self) -> Cursor<'_, LockContextId> {
        self.of_event.cursor()
    }

    /// A context.
    #[must_use]
    #[inline]
    pub fn get(&self, id: LockContextId) -> LockContext<'_> {
        LockContext {
            held: &self.contexts[id.0 as usize],
            histories: &self.histories,
        }
    }

    /// Whether two accesses in these contexts cannot be next at once: a lock that both hold, or the
    /// histories of their locks.
    #[must_use]
    #[inline]
    pub fn clash(&self, a: LockContextId, b: LockContextId) -> bool {
        let (x, y) = (self.masks[a.0 as usize], self.masks[b.0 as usize]);
        let common = (x.exclusive & y.held) | (x.held & y.exclusive) != 0;
        let histories = x.held & y.since != 0 && x.since & y.held != 0;
        (common && (self.is_exact() || self.get(a).common_lock(&self.get(b)).is_some()))
            || (histories && history_clash(self.get(a), self.get(b)).is_some())
    }

    /// Whether each bit stands for one lock.
    #[must_use]
    #[inline]
    pub fn is_exact(&self) -> bool {
        self.bits.len() <= u64::BITS as usize
    }

    /// Whether a lock that all of `a` hold and one that all of `b` hold show that no two can be next at once.
    /// May say no although it is so.
    #[must_use]
    pub fn all_clash(
        &self,
        a: impl Iterator<Item = LockContextId> + Clone,
        b: impl Iterator<Item = LockContextId> + Clone,
    ) -> bool {
        let mine = self.in_all(a.clone(), |mine| mine.held != 0);
        if mine.held == 0 {
            return false;
        }
        let meets = self.in_all(b.clone(), |theirs| mine.meets(theirs)).meets(mine);
        if !meets || self.is_exact() {
            return meets;
        }
        let (a, b) = (self.held_at_all(a), self.held_at_all(b));
        a.iter()
            .any(|&(lock, shared)| b.contains(&(lock, false)) || (!shared && b.contains(&(lock, true))))
    }

    /// Goes on to what is held in one more context.
    #[must_use]
    #[inline]
    pub fn and(&self, all: InAll, context: LockContextId) -> InAll {
        let masks = self.masks[context.0 as usize];
        InAll {
            exclusive: all.exclusive & masks.exclusive,
            held: all.held & masks.held,
        }
    }

    /// As [`all_clash`](Self::all_clash), if that follows from what is held in all contexts of either list; `None` if only
    /// a look at the lists tells, which is so only if not each bit [stands for one lock](Self::is_exact).
    #[must_use]
    pub fn clash_in_all(&self, a: InAll, b: InAll) -> Option<bool> {
        let meet = a.meets(b);
        (!meet || self.is_exact()).then_some(meet)
    }

    /// What is held in all of these contexts, or in the first ones of them, as long as these go `on`.
    fn in_all(&self, contexts: impl Iterator<Item = LockContextId>, on: impl Fn(InAll) -> bool) -> InAll {
        let mut all = InAll::default();
        for context in contexts {
            all = self.and(all, context);
            if !on(all) {
                break;
            }
        }
        all
    }

    /// What is held in all of these contexts, in the order of the locks' numbers.
    #[must_use]
    pub fn held_at_all(&self, mut contexts: impl Iterator<Item = LockContextId>) -> Vec<Hold> {
        let Some(first) = contexts.next() else {
            return Vec::new();
        };
        let mut held: Vec<Hold> = self.get(first).held.iter().map(|&(hold, _)| hold).collect();
        let mut last = first;
        for id in contexts {
            if id != last {
                held.retain(|&hold| is_held(self.get(id).held, hold));
                last = id;
            }
        }
        held
    }

    /// The lock that excludes the most pairs of an access of `a`, which holds it exclusively, with one of `b`.
    /// `None` if there is none, or more locks than can be told apart fast.
    #[must_use]
    pub fn most_held(
        &self,
        a: impl Iterator<Item = LockContextId>,
        b: impl Iterator<Item = LockContextId>,
    ) -> Option<ObjectId> {
        if !self.is_exact() {
            return None;
        }
        let mut counts = [(0_u64, 0_u64); u64::BITS as usize];
        for id in a {
            bits(self.masks[id.0 as usize].exclusive, |bit| counts[bit].0 += 1);
        }
        for id in b {
            bits(self.masks[id.0 as usize].held, |bit| counts[bit].1 += 1);
        }
        let most = (0..counts.len()).max_by_key(|&bit| counts[bit].0 * counts[bit].1)?;
        let wanted = |&(_, &bit): &(&ObjectId, &u32)| bit as usize == most && counts[most].0 * counts[most].1 > 0;
        self.bits.iter().find(wanted).map(|(&lock, _)| lock)
    }

    /// The lock that is held exclusively in the most of these contexts, each of which counts so often, and in how many.
    /// `None` if there is none, or more locks than can be told apart fast.
    #[must_use]
    pub fn held_at_most(&self, contexts: impl Iterator<Item = (LockContextId, u32)>) -> Option<(ObjectId, usize)> {
        if !self.is_exact() {
            return None;
        }
        let mut counts = [0_usize; u64::BITS as usize];
        for (id, count) in contexts {
            bits(self.masks[id.0 as usize].exclusive, |bit| counts[bit] += count as usize);
        }
        let most = (0..counts.len()).max_by_key(|&bit| counts[bit])?;
        let (&lock, _) = (self.bits.iter()).find(|&(_, &bit)| bit as usize == most && counts[most] > 0)?;
        Some((lock, counts[most]))
    }

    /// Whether a lock is held in a context.
    #[must_use]
    pub fn holds(&self, id: LockContextId, lock: ObjectId) -> bool {
        self.holds_exclusively(id, lock) || is_held(self.get(id).held, (lock, true))
    }

    /// Whether a lock is held exclusively in a context.
    #[must_use]
    pub fn holds_exclusively(&self, id: LockContextId, lock: ObjectId) -> bool {
        is_held(self.get(id).held, (lock, false))
    }
}

/// Calls `each` with the numbers of the bits that are set.
fn bits(mut mask: u64, mut each: impl FnMut(usize)) {
    while mask != 0 {
        each(mask.trailing_zeros() as usize);
        mask &= mask - 1;
    }
}

/// How an event changes what its thread holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum LockChange {
    Take(Hold),
    /// Of a lock that is a variable.
    TakeVariable(ObjectId),
    GiveBack(ObjectId),
}

impl LockChange {
    fn of(trace: &Trace, sections: &Sections, event: EventId) -> Option<LockChange> {
        let (lock, step) = Step::of(trace.op(event))?;
        if step.takes() {
            let shared = step == Step::Take { shared: true };
            return sections.opened_by(event).map(|_| LockChange::Take((lock, shared)));
        }
        // Only the release that ends an outermost section matters.
        let closed = sections.closed_by(event).filter(|_| step.gives_back());
        closed.map(|_| LockChange::GiveBack(lock))
    }
}

/// The locks that the thread of `event` holds just before it, with the events that took them.
/// Innermost last. Locks held from before the trace are not among them.
#[must_use]
pub fn held_at(trace: &Trace, sections: &Sections, event: EventId) -> Vec<(ObjectId, bool, EventId)> {
    let open = sections.open_after(trace.thread(event), trace.place(event));
    let held = open.map(|id| sections.get(id));
    held.filter_map(|section| Some((section.lock, section.shared, section.acquire?)))
        .collect()
}
