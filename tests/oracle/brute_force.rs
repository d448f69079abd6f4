//! Every feasible prefix of a small trace, by exhaustive search.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use witness::trace::{AccessKind, EventId, Op, ThreadId, Trace, WaitOutcome};

/// All that the enabling of events depends on, beyond the trace.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct State {
    /// Events done, per thread.
    done: Vec<u32>,
    memory: BTreeMap<u32, Option<u64>>,
    /// Exclusive holder and depth, per lock.
    owner: BTreeMap<u32, (u32, u32)>,
    /// Depth per (lock, reader).
    pub(super) readers: BTreeMap<(u32, u32), u32>,
    /// Depth kept across a wait, per (lock, thread).
    kept: BTreeMap<(u32, u32), u32>,
    /// (condition, thread) in the wait set.
    waiting: BTreeSet<(u32, u32)>,
    pub(super) woken: BTreeSet<u32>,
    permits: BTreeMap<u32, u32>,
    /// Threads of which a read saw another value than in π, where that is allowed.
    strayed: BTreeSet<u32>,
}

/// The conflicting pairs of accesses that are next at once in some feasible prefix. `None` if more
/// than `limit` states would have to be visited.
pub fn races(trace: &Trace, limit: usize) -> Option<BTreeSet<(EventId, EventId)>> {
    let threads = trace.threads() as u32;
    let start = start(trace);
    let mut found = BTreeSet::new();
    let mut visited = HashSet::from([start.clone()]);
    let mut stack = vec![start];
    while let Some(state) = stack.pop() {
        if visited.len() > limit {
            return None;
        }
        let next: Vec<EventId> = (0..threads)
            .filter_map(|thread| next_of(trace, &state, ThreadId(thread)))
            .collect();
        for (at, &a) in next.iter().enumerate() {
            for &b in &next[at + 1..] {
                if conflict(trace, a, b) {
                    found.insert((a.min(b), a.max(b)));
                }
            }
        }
        for event in next {
            for after in step(trace, &state, event) {
                if visited.insert(after.clone()) {
                    stack.push(after);
                }
            }
        }
    }
    Some(found)
}

/// The state before the first event.
pub(super) fn start(trace: &Trace) -> State {
    let mut start = State {
        done: vec![0; trace.threads()],
        memory: BTreeMap::new(),
        owner: BTreeMap::new(),
        readers: BTreeMap::new(),
        kept: BTreeMap::new(),
        waiting: BTreeSet::new(),
        woken: BTreeSet::new(),
        permits: BTreeMap::new(),
        strayed: BTreeSet::new(),
    };
    hold_from_start(trace, &mut start);
    start
}

/// What a trace that begins in the middle of a run shows of the time before: locks that are given back
/// before anybody took them, waits that end without having begun.
fn hold_from_start(trace: &Trace, start: &mut State) {
    let lock_of = |op: Op| op.lock().map(|lock| lock.0);
    for event in trace.events() {
        let (op, thread) = (trace.op(event), trace.thread(event).0);
        let earlier = || trace.events().take_while(|&other| other < event);
        let taken = |wanted: fn(Op) -> bool| {
            earlier().any(|other| lock_of(trace.op(other)) == lock_of(op) && wanted(trace.op(other)))
        };
        match op {
            Op::Release { lock } | Op::WaitBegin { lock, .. } => {
                if taken(|op| matches!(op, Op::Acquire { .. } | Op::WaitEnd { .. })) {
                    continue;
                }
                let reading = readers_before(trace, lock.0, event);
                if reading.contains_key(&thread) || (trace.tables().meta.foreign_unlock && !reading.is_empty()) {
                    continue;
                }
                if taken(|op| matches!(op, Op::AcquireShared { .. })) {
                    *start.readers.entry((lock.0, thread)).or_default() += 1;
                } else {
                    start.owner.entry(lock.0).or_insert((thread, 0)).1 += 1;
                }
            }
            Op::WaitEnd { condition, outcome, .. } => {
                let begins =
                    |other: EventId| trace.thread(other).0 == thread && matches!(trace.op(other), Op::WaitBegin { .. });
                let notifies = |other: EventId| matches!(trace.op(other), Op::Notify { condition: other } | Op::NotifyAll { condition: other } if other == condition);
                if !earlier().any(begins) && outcome == WaitOutcome::Notified {
                    if earlier().any(notifies) {
                        start.waiting.insert((condition.0, thread));
                    } else {
                        start.woken.insert(thread);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Who holds a lock as a reader before an event of π, by what was taken and given back until then.
fn readers_before(trace: &Trace, lock: u32, event: EventId) -> BTreeMap<u32, u32> {
    let mut readers: BTreeMap<u32, u32> = BTreeMap::new();
    for other in trace.events().take_while(|&other| other < event) {
        let thread = trace.thread(other).0;
        match trace.op(other) {
            Op::AcquireShared { lock: taken } if taken.0 == lock => *readers.entry(thread).or_default() += 1,
            Op::Release { lock: given } if given.0 == lock => {
                let first = readers.keys().next().copied();
                let foreign = first.filter(|_| trace.tables().meta.foreign_unlock);
                let reader = Some(thread).filter(|thread| readers.contains_key(thread)).or(foreign);
                if let Some(reader) = reader {
                    match readers[&reader] {
                        1 => readers.remove(&reader),
                        depth => readers.insert(reader, depth - 1),
                    };
                }
            }
            _ => {}
        }
    }
    readers
}

pub(super) fn is_done(trace: &Trace, state: &State, event: EventId) -> bool {
    state.done[trace.thread(event).index()] > trace.place(event)
}

/// The next event of a thread, if the thread has begun and, for an access, its memory exists.
pub(super) fn next_of(trace: &Trace, state: &State, thread: ThreadId) -> Option<EventId> {
    let event = *trace.program_order(thread).get(state.done[thread.index()] as usize)?;
    let begun = trace
        .events()
        .all(|fork| trace.op(fork) != Op::Fork { child: thread } || is_done(trace, state, fork));
    let exists = match trace.access(event) {
        Some(access) => trace
            .incarnation(access.incarnation)
            .alloc
            .is_none_or(|alloc| is_done(trace, state, alloc)),
        None => true,
    };
    (begun && exists).then_some(event)
}

pub(super) fn conflict(trace: &Trace, a: EventId, b: EventId) -> bool {
    let (Some(x), Some(y)) = (trace.access(a), trace.access(b)) else {
        return false;
    };
    let atomic = |kind| {
        matches!(
            kind,
            AccessKind::AtomicLoad | AccessKind::AtomicStore | AccessKind::AtomicRmw
        )
    };
    let writes = |kind| !matches!(kind, AccessKind::Read | AccessKind::AtomicLoad);
    let cells: BTreeSet<_> = trace.uses(x).map(|used| used.cell).collect();
    trace.uses(y).any(|used| cells.contains(&used.cell))
        && (writes(x.kind) || writes(y.kind))
        && !(atomic(x.kind) && atomic(y.kind))
}

/// The states after an event; none if it is not enabled, several if a notify can choose.
pub(super) fn step(trace: &Trace, state: &State, event: EventId) -> Vec<State> {
    let thread = trace.thread(event).0;
    let mut after = state.clone();
    after.done[thread as usize] += 1;
    let free = |lock: u32| !state.owner.contains_key(&lock) && !state.readers.keys().any(|&(other, _)| other == lock);
    let enabled = match trace.op(event) {
        Op::Access(_) => access(trace, state, event, &mut after),
        Op::Join { child } => state.done[child.index()] as usize == trace.program_order(child).len(),
        Op::Acquire { lock } => match state.owner.get(&lock.0) {
            Some(&(owner, depth)) if owner == thread => {
                after.owner.insert(lock.0, (thread, depth + 1));
                true
            }
            _ => {
                after.owner.insert(lock.0, (thread, 1));
                free(lock.0)
            }
        },
        Op::AcquireShared { lock } => {
            *after.readers.entry((lock.0, thread)).or_default() += 1;
            !state.owner.contains_key(&lock.0)
        }
        Op::Release { lock } => release(&mut after, lock.0, thread, trace.tables().meta.foreign_unlock),
        Op::AcquireFailed { lock, shared } => {
            let owned = state.owner.get(&lock.0).is_some_and(|&(owner, _)| owner != thread);
            let read = state
                .readers
                .keys()
                .any(|&(other, reader)| other == lock.0 && reader != thread);
            owned || (!shared && read)
        }
        Op::WaitBegin { condition, lock } => {
            let held = after.owner.remove(&lock.0).filter(|&(owner, _)| owner == thread);
            after.kept.insert((lock.0, thread), held.map_or(0, |(_, depth)| depth));
            if !times_out(trace, event) {
                after.waiting.insert((condition.0, thread));
            }
            held.is_some()
        }
        Op::WaitEnd { lock, outcome, .. } => {
            let depth = after.kept.remove(&(lock.0, thread)).unwrap_or(1);
            after.owner.insert(lock.0, (thread, depth));
            after.woken.remove(&thread);
            free(lock.0) && (outcome == WaitOutcome::TimedOut || state.woken.contains(&thread))
        }
        Op::Notify { condition } => {
            let waiters: Vec<_> = state
                .waiting
                .iter()
                .copied()
                .filter(|&(on, _)| on == condition.0)
                .collect();
            if !waiters.is_empty() {
                let choices = waiters.into_iter().map(|waiter| {
                    let mut chosen = after.clone();
                    chosen.waiting.remove(&waiter);
                    chosen.woken.insert(waiter.1);
                    chosen
                });
                return choices.collect();
            }
            true
        }
        Op::NotifyAll { condition } => {
            for &(on, waiter) in &state.waiting {
                if on == condition.0 {
                    after.waiting.remove(&(on, waiter));
                    after.woken.insert(waiter);
                }
            }
            true
        }
        // Whoever arrives while a round is not full belongs to that round.
        Op::BarrierEnter { barrier, round } => trace.events().all(|other| match trace.op(other) {
            Op::BarrierEnter {
                barrier: same,
                round: earlier,
            } if same == barrier && earlier < round => is_done(trace, state, other),
            _ => true,
        }),
        Op::BarrierExit { barrier, round } => {
            let mut enters = trace
                .events()
                .filter(|&other| trace.op(other) == Op::BarrierEnter { barrier, round });
            enters.all(|enter| is_done(trace, state, enter))
        }
        Op::SemPost { semaphore } => {
            let initial = trace.tables().objects[semaphore.index()].initial;
            *after.permits.entry(semaphore.0).or_insert(initial) += 1;
            true
        }
        Op::SemWait { semaphore } => {
            let initial = trace.tables().objects[semaphore.index()].initial;
            let permits = after.permits.entry(semaphore.0).or_insert(initial);
            let some = *permits > 0;
            *permits = permits.saturating_sub(1);
            some
        }
        Op::OnceWait { once } => {
            let mut ends = trace.events().filter(|&other| trace.op(other) == Op::OnceEnd { once });
            ends.any(|end| is_done(trace, state, end))
        }
        Op::Input { source, .. } | Op::Output { source } => {
            let same = |op: Op| matches!(op, Op::Input { source: other, .. } | Op::Output { source: other } if other == source);
            trace
                .events()
                .all(|other| other >= event || !same(trace.op(other)) || is_done(trace, state, other))
        }
        _ => true,
    };
    let depends = matches!(
        trace.op(event),
        Op::Branch | Op::Fork { .. } | Op::End | Op::Output { .. }
    );
    if enabled && !(depends && state.strayed.contains(&thread)) {
        vec![after]
    } else {
        Vec::new()
    }
}

fn times_out(trace: &Trace, begin: EventId) -> bool {
    let end = trace.successor(begin).map(|end| trace.op(end));
    matches!(
        end,
        Some(Op::WaitEnd {
            outcome: WaitOutcome::TimedOut,
            ..
        })
    )
}

/// Gives back a level of its own, or, if `foreign`, of whoever holds the lock.
fn release(after: &mut State, lock: u32, thread: u32, foreign: bool) -> bool {
    if let Some(&(owner, depth)) = after.owner.get(&lock) {
        if depth > 1 {
            after.owner.insert(lock, (owner, depth - 1));
        } else {
            after.owner.remove(&lock);
        }
        return owner == thread || foreign;
    }
    let others = after
        .readers
        .keys()
        .copied()
        .find(|&(other, _)| other == lock && foreign);
    let own = after.readers.contains_key(&(lock, thread)).then_some((lock, thread));
    let Some(reader) = own.or(others) else {
        return false;
    };
    match after.readers.get_mut(&reader) {
        Some(depth) if *depth > 1 => *depth -= 1,
        Some(_) => {
            after.readers.remove(&reader);
        }
        None => return false,
    }
    true
}

fn access(trace: &Trace, state: &State, event: EventId, after: &mut State) -> bool {
    let access = trace.access(event).expect("an access");
    // Pinned: of the other threads, all that came before its place, and nothing that came after it.
    let mut enabled = trace.pin(event).is_none_or(|pin| {
        trace
            .events()
            .filter(|&other| trace.thread(other) != trace.thread(event))
            .all(|other| {
                let done = is_done(trace, state, other);
                (done || other >= pin.from) && (!done || other <= pin.until)
            })
    });
    for used in trace.uses(access) {
        let cell = trace.cell(used.cell);
        let sees = state.memory.get(&used.cell.0).copied().unwrap_or(cell.initial);
        if access.kind.reads() && !cell.external && sees != Some(used.read) {
            if trace.frees_reads() {
                after.strayed.insert(trace.thread(event).0);
            } else {
                enabled = false;
            }
        }
    }
    let knows = !after.strayed.contains(&trace.thread(event).0);
    for used in trace.uses(access).filter(|_| access.kind.writes()) {
        let value = (access.kind != AccessKind::Free && knows).then_some(used.written);
        after.memory.insert(used.cell.0, value);
    }
    enabled
}
