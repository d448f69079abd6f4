//! Races that only weak atomics allow, by exhaustive search.
//!
//! For one access at a time: in every order of events in which it was performed, who knows of it? Knowledge passes
//! along program order and whatever orders two threads (section 3 of `docs/SEMANTICS.md`). A conflicting access
//! that is next in a thread which does not know races with it. One bit where the checker keeps a clock,
//! and nothing of the checker's.

use super::execution::{Execution, is_atomic, writes};
use super::machine::State;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use trace_format::{MemoryOrder, Op};
use witness::trace::EventId;

/// Who and what knows of an access.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Knowing {
    threads: BTreeSet<u32>,
    /// Threads that have loaded it without acquiring.
    loaded: BTreeSet<u32>,
    /// Threads that knew at their last release fence.
    fenced: BTreeSet<u32>,
    /// By cell: heads of the release sequences that release it.
    sequences: BTreeMap<usize, BTreeSet<u32>>,
    /// By cell: its last writer knew; whether it wrote atomically.
    writer: BTreeMap<usize, bool>,
    blocks: BTreeSet<usize>,
    objects: BTreeSet<u32>,
    /// Locks that readers who knew have given back.
    readers: BTreeSet<u32>,
    /// Locks that somebody took who knew.
    takers: BTreeSet<u32>,
    /// Waits that somebody woke who knew.
    woken: BTreeSet<EventId>,
    fences: bool,
}

/// Every conflicting pair of accesses of which, in some feasible prefix, the first is performed, the second next, and
/// nothing orders the two. `None` if more than `limit` states would have to be visited for one access.
pub fn races(execution: &Execution, limit: usize) -> Option<BTreeSet<(EventId, EventId)>> {
    let mut found = BTreeSet::new();
    let weak = |event: EventId| match execution.op(event) {
        Op::Fence { .. } => true,
        op => order_of(op).is_some_and(|order| order != MemoryOrder::SeqCst),
    };
    if !execution.ids().any(weak) {
        return Some(found);
    }
    for first in execution.ids() {
        if execution.ids().any(|other| execution.conflict(first, other)) {
            races_of(execution, first, limit, &mut found)?;
        }
    }
    Some(found)
}

/// The memory order of an atomic operation.
fn order_of(op: &Op) -> Option<MemoryOrder> {
    match *op {
        Op::AtomicLoad { order, .. } | Op::AtomicStore { order, .. } | Op::AtomicRmw { order, .. } => Some(order),
        _ => None,
    }
}

/// One event of a walk: the states before and after it.
pub struct Step {
    pub event: EventId,
    pub before: State,
    pub after: State,
}

/// Whether, after a walk that performed `first`, something orders it before `next`, the next event of its thread.
pub fn ordered(execution: &Execution, walk: &[Step], first: EventId, next: EventId) -> bool {
    let mut knowing = Knowing::default();
    for step in walk {
        knowing.learn(execution, step.event, first, (&step.before, &step.after));
    }
    knowing.threads.contains(&execution.thread(next)) || through_block(execution, &knowing, next)
}

fn races_of(
    execution: &Execution,
    first: EventId,
    limit: usize,
    found: &mut BTreeSet<(EventId, EventId)>,
) -> Option<()> {
    let start = (State::start(execution), Knowing::default());
    let mut visited = HashSet::from([start.clone()]);
    let mut stack = vec![start];
    while let Some((state, knowing)) = stack.pop() {
        if visited.len() > limit {
            return None;
        }
        let performed = state.is_done(execution, first);
        for thread in 0..execution.threads() {
            let Some(event) = state.next(execution, thread) else {
                continue;
            };
            let knows = knowing.threads.contains(&thread) || through_block(execution, &knowing, event);
            if performed && !knows && execution.conflict(first, event) {
                found.insert((first, event));
            }
            for after in state.step(execution, event) {
                let mut then = knowing.clone();
                then.learn(execution, event, first, (&state, &after.state));
                let next = (after.state, then);
                if visited.insert(next.clone()) {
                    stack.push(next);
                }
            }
        }
    }
    Some(())
}

fn through_block(execution: &Execution, knowing: &Knowing, event: EventId) -> bool {
    let accesses = execution.alloc_of(event).is_some();
    accesses
        && execution
            .block(event)
            .is_some_and(|block| knowing.blocks.contains(&block))
}

fn acquires(order: MemoryOrder) -> bool {
    matches!(
        order,
        MemoryOrder::Consume | MemoryOrder::Acquire | MemoryOrder::AcqRel | MemoryOrder::SeqCst
    )
}

fn releases(order: MemoryOrder) -> bool {
    matches!(order, MemoryOrder::Release | MemoryOrder::AcqRel | MemoryOrder::SeqCst)
}

impl Knowing {
    fn learn(&mut self, execution: &Execution, event: EventId, first: EventId, (before, after): (&State, &State)) {
        let thread = execution.thread(event);
        if event == first {
            self.threads.insert(thread);
        }
        let foreign = execution.foreign_unlock();
        match *execution.op(event) {
            Op::Fork { child } if self.threads.contains(&thread) => {
                self.threads.insert(child.0);
            }
            Op::Join { child, .. } if self.threads.contains(&child.0) => {
                self.threads.insert(thread);
            }
            ref op @ (Op::Acquire { lock, .. } | Op::WaitEnd { lock, .. }) => {
                // A handler that ran in the wait did not know of the notify yet.
                let ends_wait = matches!(op, Op::WaitEnd { .. });
                let wait = execution.begin_of_wait(event).unwrap_or(event);
                if ends_wait && self.woken.remove(&wait) {
                    self.threads.insert(thread);
                }
                if self.objects.contains(&lock.0) || self.readers.contains(&lock.0) {
                    self.threads.insert(thread);
                }
                self.tell_takers(thread, lock.0);
            }
            Op::AcquireShared { lock, .. } => {
                self.hear(thread, lock.0);
                self.tell_takers(thread, lock.0);
            }
            Op::AcquireFailed { lock, .. } if self.takers.contains(&lock.0) => {
                self.threads.insert(thread);
            }
            Op::Release { lock } => {
                if foreign && self.takers.contains(&lock.0) {
                    self.threads.insert(thread);
                }
                let shared = before.readers.contains_key(&(lock.0, thread));
                if shared && !foreign {
                    if self.threads.contains(&thread) {
                        self.readers.insert(lock.0);
                    }
                } else {
                    self.tell(thread, lock.0);
                }
            }
            Op::WaitBegin { lock, .. } => self.tell(thread, lock.0),
            Op::Notify { .. } | Op::NotifyAll { .. } if self.threads.contains(&thread) => {
                self.woken.extend(after.woken().difference(&before.woken()));
            }
            Op::BarrierEnter { barrier, .. } => {
                self.hear(thread, barrier.0);
                self.tell(thread, barrier.0);
            }
            Op::Input { source, .. } => {
                self.hear(thread, source.0);
                self.tell(thread, source.0);
            }
            Op::Output { source: object } | Op::SemPost { semaphore: object } | Op::OnceEnd { once: object } => {
                self.tell(thread, object.0)
            }
            Op::SemWait { semaphore, .. } => {
                self.hear(thread, semaphore.0);
                self.tell_takers(thread, semaphore.0);
            }
            Op::SemWaitFailed { semaphore } if self.takers.contains(&semaphore.0) => {
                self.threads.insert(thread);
            }
            Op::SemValue { semaphore, .. } => {
                if self.takers.contains(&semaphore.0) {
                    self.threads.insert(thread);
                }
                self.hear(thread, semaphore.0);
            }
            Op::BarrierExit { barrier: object, .. } | Op::OnceWait { once: object } => self.hear(thread, object.0),
            Op::Alloc { .. } if self.threads.contains(&thread) => {
                self.blocks.extend(execution.block(event));
            }
            Op::Fence { order } => self.fence(thread, order),
            _ => self.access(execution, event, thread),
        }
    }

    fn hear(&mut self, thread: u32, object: u32) {
        if self.objects.contains(&object) {
            self.threads.insert(thread);
        }
    }

    fn tell(&mut self, thread: u32, object: u32) {
        if self.threads.contains(&thread) {
            self.objects.insert(object);
        }
    }

    fn tell_takers(&mut self, thread: u32, lock: u32) {
        if self.threads.contains(&thread) {
            self.takers.insert(lock);
        }
    }

    fn fence(&mut self, thread: u32, order: MemoryOrder) {
        if acquires(order) && self.loaded.contains(&thread) {
            self.threads.insert(thread);
        }
        if order == MemoryOrder::SeqCst {
            if self.fences {
                self.threads.insert(thread);
            }
            self.fences |= self.threads.contains(&thread);
        }
        if releases(order) && self.threads.contains(&thread) {
            self.fenced.insert(thread);
        }
    }

    fn access(&mut self, execution: &Execution, event: EventId, thread: u32) {
        let op = execution.op(event);
        let atomic = is_atomic(op);
        if through_block(execution, self, event) {
            self.threads.insert(thread);
        }
        if execution.pin(event).is_some() && !self.threads.is_empty() {
            self.threads.extend(0..execution.threads());
        }
        let cells: Vec<usize> = execution.uses(event).iter().map(|used| used.cell).collect();
        let reads = execution.uses(event).iter().any(|used| used.sees.is_some());
        for cell in &cells {
            if reads && self.writer.get(cell).is_some_and(|&by_atomic| !(atomic && by_atomic)) {
                self.threads.insert(thread);
            }
        }
        for cell in &cells {
            if reads && atomic && self.sequences.get(cell).is_some_and(|heads| !heads.is_empty()) {
                self.loaded.insert(thread);
                if order_of(op).is_some_and(acquires) {
                    self.threads.insert(thread);
                }
            }
        }
        let knows = self.threads.contains(&thread);
        for &cell in cells.iter().filter(|_| writes(op)) {
            let heads = self.sequences.entry(cell).or_default();
            match op {
                Op::AtomicRmw { .. } => {}
                Op::AtomicStore { .. } => heads.retain(|&head| head == thread),
                _ => heads.clear(),
            }
            if atomic && (self.fenced.contains(&thread) || knows && order_of(op).is_some_and(releases)) {
                heads.insert(thread);
            }
            if heads.is_empty() {
                self.sequences.remove(&cell);
            }
            if knows {
                self.writer.insert(cell, atomic);
            } else {
                self.writer.remove(&cell);
            }
        }
    }
}
