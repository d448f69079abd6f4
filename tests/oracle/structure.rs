//! What *refuted* claims: no run in which the threads perform these operations brings the two accesses next, whatever
//! their reads see.
//!
//! Exhaustive search over the same operations of each thread, with what section 4 of `docs/SEMANTICS.md` calls
//! structure, and nothing of what it calls an outcome: reads see anything; waits end once their lock is free; failed
//! attempts, input, output, allocations and pins bind nobody; neither do locks that threads give back for each other.
//! What such a search reaches must not be refuted.

use super::LIMIT;
use super::brute_force::{Found, is_free};
use super::execution::{Execution, is_used_after};
use super::machine::State;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use trace_format::Op;
use witness::trace::EventId;

/// What else is taken for structure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Also {
    /// A `once_wait` comes after what initialized its cell in π.
    pub onces: bool,
}

/// What the operations have come to.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Progress {
    done: Vec<u32>,
    owner: BTreeMap<u32, (u32, u32)>,
    readers: BTreeMap<(u32, u32), u32>,
    /// Depths kept across waits, by their beginnings.
    kept: BTreeMap<EventId, u32>,
    count: BTreeMap<u32, u32>,
}

/// What holds of the whole trace.
struct Rules {
    also: Also,
    /// Barriers of which it is no outcome who meets whom.
    fixed: BTreeSet<u32>,
    /// Locks that a thread gave back which did not hold them.
    handed_over: BTreeSet<u32>,
}

/// The conflicting pairs of accesses that the operations alone can bring next, and the uses after free that they can
/// lead to. `None` if more than `limit` states would have to be visited.
pub fn pairs(execution: &Execution, also: Also, limit: usize) -> Option<Found> {
    let mut found = Found::default();
    let frees: Vec<EventId> = execution.ids().filter(|&event| is_free(execution, event)).collect();
    let all = search(execution, also, limit, &|_, _| true, &mut |progress, next| {
        for (at, &a) in next.iter().enumerate() {
            for &b in next[at + 1..].iter().filter(|&&b| execution.conflict(a, b)) {
                found.races.insert((a.min(b), a.max(b)));
            }
        }
        let done = |event: EventId| progress.is_done(execution, event);
        for &free in frees.iter().filter(|&&free| done(free)) {
            let ended =
                |&&access: &&EventId| execution.conflict(free, access) && is_used_after(execution, free, access);
            found
                .after_free
                .extend(next.iter().filter(ended).map(|&access| (free, access)));
        }
    });
    all.then_some(found)
}

/// The deadlocks that the operations alone can lead to, each named by `name`. `None` if more than `limit` states would
/// have to be visited.
pub fn deadlocks<T: Ord>(
    execution: &Execution,
    limit: usize,
    name: &mut dyn FnMut(&[EventId]) -> T,
) -> Option<BTreeSet<T>> {
    let mut found = BTreeSet::new();
    let handed_over = handed_over(execution);
    let all = search(
        execution,
        Also::default(),
        limit,
        &|_, _| true,
        &mut |progress, next| {
            for cycle in super::deadlocks::deadlocks(execution, &handed_over, progress, next) {
                found.insert(name(&cycle));
            }
        },
    );
    all.then_some(found)
}

/// Whether the operations alone show one of these, as far as the search comes.
pub fn shows_any<const N: usize>(
    execution: &Execution,
    all: &[[EventId; N]],
    shows: impl Fn(&Execution, Also, [EventId; N], usize) -> Option<bool>,
) -> bool {
    for &one in all {
        let onces = one.iter().any(|&event| initializes(execution, event));
        let also = Also { onces };
        match shows(execution, also, one, LIMIT / 4) {
            Some(false) => {}
            shown => return shown == Some(true),
        }
    }
    false
}

/// Whether the operations alone can perform `first`, then `between`, and bring `second` next; or, instead of the second
/// of these, bring it next as well. `None` if more than `limit` states would have to be visited.
pub fn interrupted(
    execution: &Execution,
    also: Also,
    [first, between, second]: [EventId; 3],
    limit: usize,
) -> Option<bool> {
    let mut found = false;
    let done =
        |progress: &Progress, event: EventId| execution.place(event) < progress.done[execution.thread(event) as usize];
    let may = |progress: &Progress, event: EventId| event != between || done(progress, first);
    let all = search(execution, also, limit, &may, &mut |progress, next| {
        found |= next.contains(&second) && (done(progress, between) || next.contains(&between));
    });
    all.then_some(found)
}

/// Whether the operations alone bring the second of two reads next while exactly one of the reads has the write of its
/// variable before it. `None` if that would take too many states.
pub fn torn(
    execution: &Execution,
    also: Also,
    [first, of_first, of_second, second]: [EventId; 4],
    limit: usize,
) -> Option<bool> {
    let mut found = false;
    let done =
        |progress: &Progress, event: EventId| execution.place(event) < progress.done[execution.thread(event) as usize];
    // The first read comes before its write, or behind it.
    for (one, other) in [(first, of_first), (of_first, first)] {
        let may = |progress: &Progress, event: EventId| event != other || done(progress, one);
        let all = search(execution, also, limit, &may, &mut |progress, next| {
            let sees_first = other == first && done(progress, of_first);
            found |= next.contains(&second) && done(progress, first) && sees_first != done(progress, of_second);
        });
        if !all {
            return None;
        }
    }
    Some(found)
}

/// Visits all that the operations can come to by events that `may` happen, with the events that are next then; false if
/// that is more than `limit`.
pub fn search(
    execution: &Execution,
    also: Also,
    limit: usize,
    may: &dyn Fn(&Progress, EventId) -> bool,
    each: &mut dyn FnMut(&Progress, &[EventId]),
) -> bool {
    let rules = Rules {
        also,
        fixed: fixed_barriers(execution),
        handed_over: handed_over(execution),
    };
    let first = State::start(execution);
    let start = Progress {
        done: vec![0; execution.threads() as usize],
        owner: first.owner,
        readers: first.readers,
        kept: BTreeMap::new(),
        count: BTreeMap::new(),
    };
    let mut visited = HashSet::from([start.clone()]);
    let mut stack = vec![start];
    while let Some(progress) = stack.pop() {
        if visited.len() > limit {
            return false;
        }
        let next: Vec<EventId> = (0..execution.threads())
            .filter_map(|thread| progress.next(execution, thread))
            .collect();
        each(&progress, &next);
        for event in next.into_iter().filter(|&event| may(&progress, event)) {
            let mut after = progress.clone();
            after.done[execution.thread(event) as usize] += 1;
            if after.perform(execution, &rules, event) && visited.insert(after.clone()) {
                stack.push(after);
            }
        }
    }
    true
}

impl super::deadlocks::Holders for Progress {
    fn owner(&self, lock: u32) -> Option<u32> {
        self.owner.get(&lock).map(|&(owner, _)| owner)
    }

    fn reads(&self, lock: u32, thread: u32) -> bool {
        self.readers.contains_key(&(lock, thread))
    }
}

/// Each round before the last has all threads that ever come.
fn fixed_barriers(execution: &Execution) -> BTreeSet<u32> {
    let mut rounds: BTreeMap<u32, BTreeMap<u32, BTreeSet<u32>>> = BTreeMap::new();
    for event in execution.ids() {
        if let Op::BarrierEnter { barrier, round } = *execution.op(event) {
            let threads = rounds.entry(barrier.0).or_default().entry(round).or_default();
            threads.insert(execution.thread(event));
        }
    }
    let fixed = |rounds: &BTreeMap<u32, BTreeSet<u32>>| {
        let all: BTreeSet<u32> = rounds.values().flatten().copied().collect();
        rounds.values().rev().skip(1).all(|threads| *threads == all)
    };
    let fixed = rounds.into_iter().filter(|(_, rounds)| fixed(rounds));
    fixed.map(|(barrier, _)| barrier).collect()
}

/// The locks that some thread of π gave back without having them, by who had them then.
pub fn handed_over(execution: &Execution) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    if !execution.foreign_unlock() {
        return found;
    }
    let first = State::start(execution);
    let mut holds: BTreeMap<(u32, u32), u32> = first.readers;
    holds.extend(
        first
            .owner
            .into_iter()
            .map(|(lock, (owner, depth))| ((lock, owner), depth)),
    );
    let mut kept = BTreeMap::new();
    for event in execution.ids() {
        let thread = execution.thread(event);
        match *execution.op(event) {
            Op::Acquire { lock, .. } | Op::AcquireShared { lock, .. } => {
                *holds.entry((lock.0, thread)).or_default() += 1
            }
            Op::WaitBegin { lock, .. } => drop(kept.insert(event, holds.remove(&(lock.0, thread)).unwrap_or(1))),
            Op::WaitEnd { lock, .. } => {
                let begin = execution.begin_of_wait(event);
                let depth = begin.and_then(|begin| kept.remove(&begin)).unwrap_or(1);
                holds.insert((lock.0, thread), depth);
            }
            Op::Release { lock } => {
                let own = holds.get_mut(&(lock.0, thread)).filter(|depth| **depth > 0);
                match own {
                    Some(depth) => *depth -= 1,
                    None => drop(found.insert(lock.0)),
                }
            }
            _ => {}
        }
    }
    found
}

impl Progress {
    pub fn is_done(&self, execution: &Execution, event: EventId) -> bool {
        self.done[execution.thread(event) as usize] > execution.place(event)
    }

    /// The next event of a thread that has been forked.
    fn next(&self, execution: &Execution, thread: u32) -> Option<EventId> {
        let event = *execution.of_thread(thread).get(self.done[thread as usize] as usize)?;
        let fork = execution.fork_of(thread);
        fork.is_none_or(|fork| self.is_done(execution, fork)).then_some(event)
    }

    fn is_free(&self, lock: u32) -> bool {
        !self.owner.contains_key(&lock) && !self.readers.keys().any(|&(other, _)| other == lock)
    }

    /// Performs an event of its thread, which is counted as done. False if it is not enabled.
    fn perform(&mut self, execution: &Execution, rules: &Rules, event: EventId) -> bool {
        let thread = execution.thread(event);
        let all = |progress: &Progress, wanted: &dyn Fn(&Op) -> bool| {
            let mut events = execution.ids().filter(|&other| wanted(execution.op(other)));
            events.all(|other| progress.is_done(execution, other))
        };
        match *execution.op(event) {
            Op::Join { child, .. } => {
                let last = execution.of_thread(child.0).last().copied();
                let last = last.or_else(|| execution.fork_of(child.0));
                last.is_none_or(|last| self.is_done(execution, last))
            }
            Op::Acquire { lock, .. }
            | Op::AcquireShared { lock, .. }
            | Op::Release { lock }
            | Op::WaitBegin { lock, .. }
            | Op::WaitEnd { lock, .. }
                if rules.handed_over.contains(&lock.0) =>
            {
                true
            }
            Op::Acquire { lock, .. } => match self.owner.get_mut(&lock.0) {
                Some((owner, depth)) if *owner == thread => {
                    *depth += 1;
                    true
                }
                _ => self.take(lock.0, thread, 1),
            },
            Op::AcquireShared { lock, .. } => {
                *self.readers.entry((lock.0, thread)).or_default() += 1;
                !self.owner.contains_key(&lock.0)
            }
            Op::Release { lock } => {
                if let Some(&(owner, depth)) = self.owner.get(&lock.0) {
                    match depth {
                        1 => self.owner.remove(&lock.0),
                        _ => self.owner.insert(lock.0, (owner, depth - 1)),
                    };
                    return owner == thread;
                }
                match self.readers.get(&(lock.0, thread)).copied() {
                    None => return false,
                    Some(1) => self.readers.remove(&(lock.0, thread)),
                    Some(depth) => self.readers.insert((lock.0, thread), depth - 1),
                };
                true
            }
            Op::WaitBegin { lock, .. } => {
                let held = self.owner.remove(&lock.0).filter(|&(owner, _)| owner == thread);
                self.kept.extend(held.map(|(_, depth)| (event, depth)));
                held.is_some()
            }
            Op::WaitEnd { lock, .. } => {
                let begin = execution.begin_of_wait(event);
                let depth = begin.and_then(|begin| self.kept.remove(&begin)).unwrap_or(1);
                self.take(lock.0, thread, depth)
            }
            Op::BarrierEnter { barrier, round } if rules.fixed.contains(&barrier.0) => all(
                self,
                &|op| matches!(*op, Op::BarrierEnter { barrier: same, round: earlier } if same == barrier && earlier < round),
            ),
            Op::BarrierExit { barrier, round, .. } if rules.fixed.contains(&barrier.0) => {
                all(self, &|op| *op == Op::BarrierEnter { barrier, round })
            }
            Op::SemPost { semaphore } => {
                *self.permits(execution, semaphore.0) += 1;
                true
            }
            Op::SemWait { semaphore, .. } => {
                let count = self.permits(execution, semaphore.0);
                let some = *count > 0;
                *count = count.saturating_sub(1);
                some
            }
            Op::OnceWait { once } if rules.also.onces => {
                let mut ends = execution
                    .ids()
                    .filter(|&other| *execution.op(other) == Op::OnceEnd { once });
                ends.any(|end| self.is_done(execution, end))
            }
            _ => true,
        }
    }

    fn take(&mut self, lock: u32, thread: u32, depth: u32) -> bool {
        let free = self.is_free(lock);
        self.owner.insert(lock, (thread, depth));
        free
    }

    fn permits(&mut self, execution: &Execution, semaphore: u32) -> &mut u32 {
        let initial = execution.initial_count(semaphore);
        self.count.entry(semaphore).or_insert(initial)
    }
}

/// Whether an access is part of an initialization: whoever comes first to it performs that. One that ends here and
/// began before the trace is over.
pub fn initializes(execution: &Execution, event: EventId) -> bool {
    let order = execution.of_thread(execution.thread(event));
    let mut open: BTreeMap<u32, u32> = BTreeMap::new();
    for &before in &order[..execution.place(event) as usize] {
        match *execution.op(before) {
            Op::OnceBegin { once } => *open.entry(once.0).or_default() += 1,
            Op::OnceEnd { once } => {
                let begun = open.entry(once.0).or_default();
                *begun = begun.saturating_sub(1);
            }
            _ => {}
        }
    }
    open.values().any(|&begun| begun > 0)
}

/// The instances of a pair of positions that must not be refuted: the operations alone bring them next. `None` if the
/// search is too large.
///
/// What initializes a once cell comes before what waits for it, whoever performs it; an access of an initializer is
/// compared with that in mind.
pub fn reached(
    execution: &Execution,
    known: &Found,
    positions: (u64, u64),
    limit: usize,
) -> Option<BTreeSet<(EventId, EventId)>> {
    let mut found = BTreeSet::new();
    let races = known.races.iter().map(|&race| (race, false));
    for ((a, b), after_free) in races.chain(known.after_free.iter().map(|&pair| (pair, true))) {
        let (one, other) = (execution.pc(a), execution.pc(b));
        if (one.min(other), one.max(other)) != positions {
            continue;
        }
        let also = Also {
            onces: initializes(execution, a) || initializes(execution, b),
        };
        let again = || pairs(execution, also, limit);
        if also == Also::default()
            || if after_free {
                again()?.after_free
            } else {
                again()?.races
            }
            .contains(&(a, b))
        {
            found.insert((a, b));
        }
    }
    Some(found)
}
