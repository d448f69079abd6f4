//! Whether two accesses can be next at once, or one after the free of what it accesses, if nothing but program order
//! and a few facts counts.
//!
//! Exhaustive search again, but with the constraints taken from the facts instead of from the trace:
//! what is not among them does not hold. Must-happen-before (forks, joins, rounds, allocations, …)
//! does, as far as the verdict may rest on it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use witness::prune::{Grounds, MustHappenBefore};
use witness::trace::{AccessKind, EventId, Op, ThreadId, Trace};
use witness::verdict::Fact;

/// `None` if there is a fact of a kind that is not modelled here.
pub fn feasible(trace: &Trace, grounds: Grounds, (a, b): (EventId, EventId), facts: &[Fact]) -> Option<bool> {
    if !facts.iter().all(|fact| {
        matches!(
            fact,
            Fact::Read { .. } | Fact::Lock { .. } | Fact::Wait { .. } | Fact::FailedWait { .. } | Fact::Count { .. }
        )
    }) {
        return None;
    }
    let frees = |event: EventId| {
        trace
            .access(event)
            .is_some_and(|access| access.kind == AccessKind::Free)
    };
    let freed = [(a, b), (b, a)].into_iter().find(|&(free, _)| frees(free));
    let order = MustHappenBefore::on(trace, grounds);
    let start = State {
        done: vec![0; trace.threads()],
        last: BTreeMap::new(),
        undecided: BTreeSet::new(),
        strayed: BTreeSet::new(),
        woken: BTreeSet::new(),
    };
    let mut visited = HashSet::from([start.clone()]);
    let mut stack = vec![start];
    while let Some(state) = stack.pop() {
        let done = &state.done;
        let is_next = |event: EventId| {
            done[trace.thread(event).index()] == trace.place(event) && ready(trace, &order, done, event)
        };
        let reached = match freed {
            // A prefix that brings both next goes on to the use after free.
            Some((free, access)) => is_done(trace, &state, free) && is_next(access),
            None => is_next(a) && is_next(b),
        };
        if reached {
            return Some(true);
        }
        for thread in 0..trace.threads() {
            let Some(event) = trace.program_order(ThreadId(thread as u32)).get(done[thread] as usize) else {
                continue;
            };
            if !ready(trace, &order, done, event) {
                continue;
            }
            let mut after = state.clone();
            after.done[thread] += 1;
            let broken: Vec<&Fact> = facts
                .iter()
                .filter(|fact| !allows(trace, &state, event, fact))
                .collect();
            let free = |fact: &&Fact| trace.frees_reads() && matches!(fact, Fact::Read { .. });
            if !broken.iter().all(free) {
                continue;
            }
            if !broken.is_empty() {
                after.strayed.insert(thread);
            }
            if trace.op(event).depends_on_reads() && after.strayed.contains(&thread) {
                continue;
            }
            if let Some(access) = trace.access(event).filter(|access| access.kind.writes()) {
                for used in trace.uses(access) {
                    after.last.insert(used.cell.0, event);
                    after.undecided.remove(&used.cell.0);
                    if after.strayed.contains(&thread) {
                        after.undecided.insert(used.cell.0);
                    }
                }
            }
            for fact in facts {
                if let Fact::Wait { end, notifies } = fact
                    && notifies.contains(&event)
                    && trace.wait_begin(*end).is_none_or(|begin| is_done(trace, &state, begin))
                {
                    after.woken.insert(*end);
                }
            }
            if visited.insert(after.clone()) {
                stack.push(after);
            }
        }
    }
    Some(false)
}

/// Events done per thread, last write of each cell, and the waits that some notify has woken. That a
/// notify wakes one waiter only is a fact of its own, and not modelled.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    done: Vec<u32>,
    last: BTreeMap<u32, EventId>,
    /// Cells whose last write came from a thread that had strayed.
    undecided: BTreeSet<u32>,
    /// Threads of which a read among the facts saw another value, in traces that free reads.
    strayed: BTreeSet<usize>,
    woken: BTreeSet<EventId>,
}

fn is_done(trace: &Trace, state: &State, event: EventId) -> bool {
    state.done[trace.thread(event).index()] > trace.place(event)
}

fn ready(trace: &Trace, order: &MustHappenBefore, done: &[u32], event: EventId) -> bool {
    (0..trace.threads()).all(|thread| done[thread] >= order.count(event, ThreadId(thread as u32)))
}

fn allows(trace: &Trace, state: &State, event: EventId, fact: &Fact) -> bool {
    let is_done = |event: EventId| is_done(trace, state, event);
    match fact {
        Fact::Read { read, cell, .. } if *read == event => {
            let wanted = trace
                .cell_uses(event)
                .find(|used| used.cell == *cell)
                .expect("the read touches the cell")
                .read;
            match state.last.get(&cell.0) {
                None => trace.initial(*cell) == Some(wanted),
                Some(&write) => {
                    let kind = trace.access(write).expect("a write").kind;
                    let left = trace
                        .cell_uses(write)
                        .find(|used| used.cell == *cell)
                        .expect("it wrote it");
                    kind != AccessKind::Free && !state.undecided.contains(&cell.0) && left.written == wanted
                }
            }
        }
        Fact::Lock { first, second, .. } => {
            let open = |section: &(Option<EventId>, Option<EventId>)| {
                section.0.is_none_or(is_done) && !section.1.is_some_and(is_done)
            };
            let enters_while_open =
                |one: &(Option<EventId>, Option<EventId>), other| one.0 == Some(event) && open(other);
            !enters_while_open(first, second) && !enters_while_open(second, first)
        }
        Fact::Wait { end, .. } if *end == event => state.woken.contains(end),
        // That a wait needs a permit is a fact of its own, and not modelled.
        Fact::FailedWait { attempt: looks, .. } | Fact::Count { look: looks, .. } if *looks == event => {
            let (semaphore, seen) = match trace.op(event) {
                Op::SemWaitFailed { semaphore } => (semaphore, None),
                Op::SemValue { semaphore, value } => (semaphore, Some(value as usize)),
                _ => return false,
            };
            let count = |op: Op| {
                trace
                    .events()
                    .filter(|&other| trace.op(other) == op && is_done(other))
                    .count()
            };
            let permits = trace.initial_count(semaphore) as usize + count(Op::SemPost { semaphore });
            let taken = count(Op::SemWait { semaphore });
            seen.map_or(permits <= taken, |seen| permits == taken + seen)
        }
        _ => true,
    }
}
