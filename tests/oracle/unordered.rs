//! Races that only weak atomics allow, by exhaustive search.
//!
//! For one access at a time: in every order of events in which it was performed, who knows of it? Knowledge passes
//! along program order and whatever orders two threads (section 3 of `docs/SEMANTICS.md`). A conflicting access
//! that is next in a thread which does not know races with it. One bit where the checker keeps a clock,
//! and nothing of the checker's.

use super::brute_force::{self, State};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use witness::trace::{AccessKind, EventId, MemoryOrder, Op, ThreadId, Trace};

/// Who and what knows of an access.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Knowing {
    threads: BTreeSet<u32>,
    /// Threads that have loaded it without acquiring.
    loaded: BTreeSet<u32>,
    /// Threads that knew at their last release fence.
    fenced: BTreeSet<u32>,
    /// By cell: heads of the release sequences that release it.
    sequences: BTreeMap<u32, BTreeSet<u32>>,
    /// By cell: its last writer knew; whether it wrote atomically.
    writer: BTreeMap<u32, bool>,
    blocks: BTreeSet<u32>,
    objects: BTreeSet<u32>,
    /// Locks that readers who knew have given back.
    readers: BTreeSet<u32>,
    /// Locks that somebody took who knew.
    takers: BTreeSet<u32>,
    fences: bool,
}

/// Every conflicting pair of accesses of which, in some feasible prefix, the first is performed, the second next, and
/// nothing orders the two. `None` if more than `limit` states would have to be visited for one access.
pub fn races(trace: &Trace, limit: usize) -> Option<BTreeSet<(EventId, EventId)>> {
    let mut found = BTreeSet::new();
    let weak = |event: EventId| {
        let access = trace.access(event);
        access.is_some_and(|access| access.kind.is_atomic() && access.order != MemoryOrder::SeqCst)
    };
    let fences = |event: EventId| matches!(trace.op(event), Op::Fence { .. });
    if !trace.events().any(|event| weak(event) || fences(event)) {
        return Some(found);
    }
    for first in trace.events().filter(|&event| trace.access(event).is_some()) {
        if trace.events().any(|other| brute_force::conflict(trace, first, other)) {
            races_of(trace, first, limit, &mut found)?;
        }
    }
    Some(found)
}

fn races_of(trace: &Trace, first: EventId, limit: usize, found: &mut BTreeSet<(EventId, EventId)>) -> Option<()> {
    let start = (brute_force::start(trace), Knowing::default());
    let mut visited = HashSet::from([start.clone()]);
    let mut stack = vec![start];
    while let Some((state, knowing)) = stack.pop() {
        if visited.len() > limit {
            return None;
        }
        let performed = brute_force::is_done(trace, &state, first);
        for thread in 0..trace.threads() as u32 {
            let Some(event) = brute_force::next_of(trace, &state, ThreadId(thread)) else {
                continue;
            };
            let knows = knowing.threads.contains(&thread) || through_block(trace, &knowing, event);
            if performed && !knows && brute_force::conflict(trace, first, event) {
                found.insert((first, event));
            }
            for after in brute_force::step(trace, &state, event) {
                let mut then = knowing.clone();
                then.learn(trace, event, first, (&state, &after));
                let next = (after, then);
                if visited.insert(next.clone()) {
                    stack.push(next);
                }
            }
        }
    }
    Some(())
}

fn through_block(trace: &Trace, knowing: &Knowing, event: EventId) -> bool {
    let access = trace.access(event);
    access.is_some_and(|access| knowing.blocks.contains(&access.incarnation.0))
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
    fn learn(&mut self, trace: &Trace, event: EventId, first: EventId, (before, after): (&State, &State)) {
        let thread = trace.thread(event).0;
        if event == first {
            self.threads.insert(thread);
        }
        let foreign = trace.tables().meta.foreign_unlock;
        match trace.op(event) {
            Op::Fork { child } if self.threads.contains(&thread) => {
                self.threads.insert(child.0);
            }
            Op::Join { child } if self.threads.contains(&child.0) => {
                self.threads.insert(thread);
            }
            Op::Acquire { lock } | Op::WaitEnd { lock, .. } => {
                if self.objects.contains(&lock.0) || self.readers.contains(&lock.0) {
                    self.threads.insert(thread);
                }
                self.tell_takers(thread, lock.0);
            }
            Op::AcquireShared { lock } => {
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
                self.threads.extend(after.woken.difference(&before.woken));
            }
            Op::BarrierEnter { barrier, .. } => {
                self.hear(thread, barrier.0);
                self.tell(thread, barrier.0);
            }
            Op::Input { source, .. } | Op::Output { source } => {
                self.hear(thread, source.0);
                self.tell(thread, source.0);
            }
            Op::SemPost { semaphore: object } | Op::OnceEnd { once: object } => self.tell(thread, object.0),
            Op::BarrierExit { barrier: object, .. }
            | Op::SemWait { semaphore: object }
            | Op::OnceWait { once: object } => self.hear(thread, object.0),
            Op::Alloc { incarnation } if self.threads.contains(&thread) => {
                self.blocks.insert(incarnation.0);
            }
            Op::Fence { order } => self.fence(thread, order),
            Op::Access(_) => self.access(trace, event, thread),
            _ => {}
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

    fn access(&mut self, trace: &Trace, event: EventId, thread: u32) {
        let access = trace.access(event).expect("an access");
        let atomic = access.kind.is_atomic();
        if through_block(trace, self, event) {
            self.threads.insert(thread);
        }
        if trace.pin(event).is_some() && !self.threads.is_empty() {
            self.threads.extend(0..trace.threads() as u32);
        }
        let cells: Vec<u32> = trace.uses(access).map(|used| used.cell.0).collect();
        let (reads, writes) = (access.kind.reads(), access.kind.writes());
        for cell in &cells {
            if reads && self.writer.get(cell).is_some_and(|&by_atomic| !(atomic && by_atomic)) {
                self.threads.insert(thread);
            }
        }
        for cell in &cells {
            if reads && atomic && self.sequences.get(cell).is_some_and(|heads| !heads.is_empty()) {
                self.loaded.insert(thread);
                if acquires(access.order) {
                    self.threads.insert(thread);
                }
            }
        }
        let knows = self.threads.contains(&thread);
        for &cell in cells.iter().filter(|_| writes) {
            let heads = self.sequences.entry(cell).or_default();
            match access.kind {
                AccessKind::AtomicRmw => {}
                AccessKind::AtomicStore => heads.retain(|&head| head == thread),
                _ => heads.clear(),
            }
            if atomic && (self.fenced.contains(&thread) || knows && releases(access.order)) {
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
