//! The table of section 1 of `docs/SEMANTICS.md` as a machine: when an event is enabled, and what it does.
//!
//! The checker is one such machine; this is another, written from the page alone and as plainly as it can be.

use super::execution::{Execution, Leaves, ends, writes};
use std::collections::{BTreeMap, BTreeSet};
use trace_format::{ObjectKind, Op, WaitOutcome};
use witness::trace::EventId;

/// All that the enabling of events depends on, beyond the trace.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    /// Events done, per thread.
    done: Vec<u32>,
    /// Cells that hold something else than at first, with the block if it is a pointer; `None`: nobody knows what.
    memory: BTreeMap<usize, Option<(u64, usize)>>,
    /// Exclusive holder and depth, per lock.
    pub owner: BTreeMap<u32, (u32, u32)>,
    /// Depth per (lock, reader).
    pub readers: BTreeMap<(u32, u32), u32>,
    /// Waits under way: by what begins them, or what ends them if they began before the trace.
    waits: BTreeMap<EventId, Wait>,
    count: BTreeMap<u32, u32>,
    /// Threads of which a read saw another value than in π, where that is allowed.
    strayed: BTreeSet<u32>,
}

/// A wait under way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Wait {
    thread: u32,
    condition: u32,
    /// How often the thread held the lock.
    depth: u32,
    /// Whether it is in the wait set.
    asleep: bool,
    woken: bool,
}

/// What one event leads to.
pub struct After {
    pub state: State,
    /// Whom a notify woke, where it had to choose one.
    pub wakes: Option<u32>,
}

impl State {
    /// The state before the first event.
    pub fn start(execution: &Execution) -> State {
        let mut start = State {
            done: vec![0; execution.threads() as usize],
            memory: BTreeMap::new(),
            owner: BTreeMap::new(),
            readers: BTreeMap::new(),
            waits: BTreeMap::new(),
            count: BTreeMap::new(),
            strayed: BTreeSet::new(),
        };
        start.hold_from_start(execution);
        start
    }

    /// What a trace that begins in the middle of a run shows of the time before: locks that are given back
    /// before anybody took them, waits that end without having begun.
    fn hold_from_start(&mut self, execution: &Execution) {
        for event in execution.ids() {
            let thread = execution.thread(event);
            let earlier = || execution.ids().take_while(|&other| other < event);
            match *execution.op(event) {
                Op::Release { lock } | Op::WaitBegin { lock, .. } => {
                    let taken = |other: EventId| matches!(*execution.op(other), Op::Acquire { lock: taken, .. } | Op::WaitEnd { lock: taken, .. } if taken == lock);
                    let read = |other: EventId| matches!(*execution.op(other), Op::AcquireShared { lock: read, .. } if read == lock);
                    if earlier().any(taken) {
                        continue;
                    }
                    let reading = readers_before(execution, lock.0, event);
                    if reading.contains_key(&thread) || (execution.foreign_unlock() && !reading.is_empty()) {
                        continue;
                    }
                    if earlier().any(read) {
                        *self.readers.entry((lock.0, thread)).or_default() += 1;
                    } else {
                        self.owner.entry(lock.0).or_insert((thread, 0)).1 += 1;
                    }
                }
                Op::WaitEnd {
                    condition,
                    outcome: WaitOutcome::Notified,
                    ..
                } => {
                    let notifies = |other: EventId| matches!(*execution.op(other), Op::Notify { condition: on } | Op::NotifyAll { condition: on } if on == condition);
                    // Only what its thread did before all else can have begun before the trace.
                    if execution.place(event) > 0 {
                        continue;
                    }
                    let asleep = earlier().any(notifies);
                    let wait = Wait {
                        thread,
                        condition: condition.0,
                        depth: 1,
                        asleep,
                        woken: !asleep,
                    };
                    self.waits.insert(event, wait);
                }
                _ => {}
            }
        }
        // A lock that somebody reads is held by nobody alone.
        let by_readers: Vec<u32> = self.readers.keys().map(|&(lock, _)| lock).collect();
        for lock in by_readers {
            if let Some((owner, depth)) = self.owner.remove(&lock) {
                *self.readers.entry((lock, owner)).or_default() += depth;
            }
        }
    }

    pub fn is_done(&self, execution: &Execution, event: EventId) -> bool {
        self.done[execution.thread(event) as usize] > execution.place(event)
    }

    /// The next event of a thread, if the thread is there and, for an access, its memory is.
    pub fn next(&self, execution: &Execution, thread: u32) -> Option<EventId> {
        let event = *execution.of_thread(thread).get(self.done[thread as usize] as usize)?;
        let forked = execution
            .fork_of(thread)
            .is_none_or(|fork| self.is_done(execution, fork));
        let exists = execution
            .alloc_of(event)
            .is_none_or(|alloc| self.is_done(execution, alloc));
        (forked && exists).then_some(event)
    }

    /// The states after an event that is next; none if it is not enabled, several if a notify can choose.
    pub fn step(&self, execution: &Execution, event: EventId) -> Vec<After> {
        let thread = execution.thread(event);
        let op = execution.op(event);
        let mut after = self.clone();
        after.done[thread as usize] += 1;
        if let Op::Notify { condition } = *op {
            // Of each thread the wait that it began last.
            let asleep = self
                .waits
                .iter()
                .filter(|(_, wait)| wait.asleep && wait.condition == condition.0);
            let waiters: BTreeMap<u32, EventId> = asleep.map(|(&id, wait)| (wait.thread, id)).collect();
            if !waiters.is_empty() {
                let choices = waiters.into_iter().map(|(thread, id)| {
                    let mut chosen = after.clone();
                    chosen.wake(id);
                    After {
                        state: chosen,
                        wakes: Some(thread),
                    }
                });
                return choices.collect();
            }
        }
        let depends = matches!(op, Op::Branch | Op::Fork { .. } | Op::End | Op::Output { .. });
        let enabled = !(depends && self.strayed.contains(&thread)) && after.perform(self, execution, event);
        enabled
            .then_some(After {
                state: after,
                wakes: None,
            })
            .into_iter()
            .collect()
    }

    /// Makes this the state after an event, `before` being the one before it. False if the event is not enabled.
    fn perform(&mut self, before: &State, execution: &Execution, event: EventId) -> bool {
        let thread = execution.thread(event);
        let free =
            |lock: u32| !before.owner.contains_key(&lock) && !before.readers.keys().any(|&(other, _)| other == lock);
        let done = |event: EventId| before.is_done(execution, event);
        let all = |wanted: &dyn Fn(EventId, &Op) -> bool| {
            execution
                .ids()
                .filter(|&other| wanted(other, execution.op(other)))
                .all(done)
        };
        match *execution.op(event) {
            Op::Join { child, .. } => match execution.of_thread(child.0).last() {
                Some(&last) => done(last) && !before.strayed_without_end(execution, child.0),
                None => execution.fork_of(child.0).is_none_or(done),
            },
            Op::Acquire { lock, .. } => match before.owner.get(&lock.0) {
                Some(&(owner, depth)) if owner == thread => {
                    self.owner.insert(lock.0, (thread, depth + 1));
                    let kind = execution.tables.objects.get(lock.index()).map(|object| object.kind);
                    let once = matches!(kind, Some(ObjectKind::Mutex | ObjectKind::SpinLock));
                    !(once && execution.foreign_unlock())
                }
                _ => {
                    self.owner.insert(lock.0, (thread, 1));
                    free(lock.0)
                }
            },
            Op::AcquireShared { lock, .. } => {
                *self.readers.entry((lock.0, thread)).or_default() += 1;
                !before.owner.contains_key(&lock.0)
            }
            Op::Release { lock } => self.release(lock.0, thread, execution.foreign_unlock()),
            Op::AcquireFailed { lock, shared } => {
                let object = execution.tables.objects.get(lock.index());
                let recursive = object.is_some_and(|object| object.kind == ObjectKind::RecursiveMutex);
                let owner = before.owner.get(&lock.0);
                let alone = owner.is_some_and(|&(owner, _)| owner != thread || !recursive);
                let read = before.readers.keys().any(|&(other, _)| other == lock.0);
                alone || (!shared && read)
            }
            Op::WaitBegin { condition, lock } => {
                let held = self.owner.remove(&lock.0).filter(|&(owner, _)| owner == thread);
                let wait = Wait {
                    thread,
                    condition: condition.0,
                    depth: held.map_or(0, |(_, depth)| depth),
                    asleep: !times_out(execution, event),
                    woken: false,
                };
                self.waits.insert(event, wait);
                held.is_some()
            }
            Op::WaitEnd { lock, outcome, .. } => {
                let timed_out = outcome == WaitOutcome::TimedOut;
                // One that began before the trace did has only an end, and only at the start of its thread.
                let begin = execution
                    .begin_of_wait(event)
                    .or((execution.place(event) == 0).then_some(event));
                let wait = begin.and_then(|begin| self.waits.remove(&begin));
                let depth = wait.as_ref().map_or(1, |wait| wait.depth);
                self.owner.insert(lock.0, (thread, depth));
                begin.is_some() && free(lock.0) && (timed_out || wait.is_some_and(|wait| wait.woken))
            }
            Op::NotifyAll { condition } => {
                let all = before.waits.iter();
                let asleep = all.filter(|(_, wait)| wait.asleep && wait.condition == condition.0);
                asleep.for_each(|(&id, _)| self.wake(id));
                true
            }
            Op::BarrierEnter { barrier, round } => all(
                &|_, op| matches!(*op, Op::BarrierEnter { barrier: same, round: earlier } if same == barrier && earlier < round),
            ),
            Op::BarrierExit { barrier, round, .. } => all(&|_, op| *op == Op::BarrierEnter { barrier, round }),
            Op::SemPost { semaphore } => {
                *self
                    .count
                    .entry(semaphore.0)
                    .or_insert(execution.initial_count(semaphore.0)) += 1;
                true
            }
            Op::SemWait { semaphore, .. } => {
                let count = self
                    .count
                    .entry(semaphore.0)
                    .or_insert(execution.initial_count(semaphore.0));
                let some = *count > 0;
                *count = count.saturating_sub(1);
                some
            }
            Op::SemWaitFailed { semaphore } => {
                let count = before.count.get(&semaphore.0).copied();
                count.unwrap_or(execution.initial_count(semaphore.0)) == 0
            }
            Op::SemValue { semaphore, value } => {
                let count = before.count.get(&semaphore.0).copied();
                count.unwrap_or(execution.initial_count(semaphore.0)) == value
            }
            Op::OnceWait { once } => {
                let mut ends = execution
                    .ids()
                    .filter(|&other| *execution.op(other) == Op::OnceEnd { once });
                ends.any(done)
            }
            Op::Input { source, .. } => all(&|other, op| {
                other < event
                    && matches!(*op, Op::Input { source: same, .. } | Op::Output { source: same } if same == source)
            }),
            _ => self.access(before, execution, event),
        }
    }

    /// What a cell holds; `None`: nobody knows.
    pub fn content(&self, execution: &Execution, cell: usize) -> Option<u64> {
        self.content_and_block(execution, cell).map(|(number, _)| number)
    }

    fn content_and_block(&self, execution: &Execution, cell: usize) -> Option<(u64, usize)> {
        let written = self.memory.get(&cell).copied();
        written.unwrap_or(execution.cells[cell].initial.map(|number| (number, 0)))
    }

    fn wake(&mut self, id: EventId) {
        if let Some(wait) = self.waits.get_mut(&id) {
            (wait.asleep, wait.woken) = (false, true);
        }
    }

    /// Whether the wait that ends with this event has begun, and nothing has woken it.
    pub fn is_asleep(&self, execution: &Execution, end: EventId) -> bool {
        let begin = execution
            .begin_of_wait(end)
            .or((execution.place(end) == 0).then_some(end));
        let wait = begin.and_then(|begin| self.waits.get(&begin));
        wait.is_some_and(|wait| wait.asleep)
    }

    /// The waits that have been woken and did not end yet.
    pub fn woken(&self) -> BTreeSet<EventId> {
        let woken = self.waits.iter().filter(|(_, wait)| wait.woken);
        woken.map(|(&id, _)| id).collect()
    }

    /// A thread that has strayed does not come to its end, even where the trace does not have that as an event.
    fn strayed_without_end(&self, execution: &Execution, thread: u32) -> bool {
        let ends = |&event: &EventId| *execution.op(event) == Op::End;
        self.strayed.contains(&thread) && !execution.of_thread(thread).last().is_some_and(ends)
    }

    /// Gives back a level of its own, or, if `foreign`, of whoever holds the lock.
    fn release(&mut self, lock: u32, thread: u32, foreign: bool) -> bool {
        if let Some(&(owner, depth)) = self.owner.get(&lock) {
            match depth {
                1 => self.owner.remove(&lock),
                _ => self.owner.insert(lock, (owner, depth - 1)),
            };
            return owner == thread || foreign;
        }
        let own = self.readers.contains_key(&(lock, thread)).then_some((lock, thread));
        let first = self.readers.keys().copied().find(|&(other, _)| other == lock);
        let Some(reader) = own.or(first.filter(|_| foreign)) else {
            return false;
        };
        match self.readers[&reader] {
            1 => self.readers.remove(&reader),
            depth => self.readers.insert(reader, depth - 1),
        };
        true
    }

    fn access(&mut self, before: &State, execution: &Execution, event: EventId) -> bool {
        let thread = execution.thread(event);
        // Pinned: of the other threads, all that came before its place, and nothing that came after it.
        let mut enabled = execution.pin(event).is_none_or(|pin| {
            let others = execution.ids().filter(|&other| execution.thread(other) != thread);
            others.into_iter().all(|other| {
                let done = before.is_done(execution, other);
                (done || other.0 >= pin.from) && (!done || other.0 <= pin.until)
            })
        });
        // What a use is about is there, unless it was gone in π already.
        let shares = |other: EventId| {
            let mut cells = execution.uses(other).iter().map(|used| used.cell);
            cells.any(|cell| execution.uses(event).iter().any(|used| used.cell == cell))
        };
        enabled &= !matches!(execution.op(event), Op::Use { .. })
            || execution.ids().all(|end| {
                end < event
                    || !before.is_done(execution, end)
                    || !ends(execution.op(end), execution.op(event))
                    || !shares(end)
            });
        for used in execution.uses(event) {
            let cell = &execution.cells[used.cell];
            let holds = before.content_and_block(execution, used.cell);
            let sees = used.sees.map(|number| (number, used.blocks.0));
            if sees.is_some() && !cell.external && holds != sees {
                if execution.frees_reads() {
                    self.strayed.insert(thread);
                } else {
                    enabled = false;
                }
            }
        }
        if writes(execution.op(event)) {
            for used in execution.uses(event) {
                let value = match used.leaves {
                    Leaves::Value(value) => Some((value, used.blocks.1)).filter(|_| !self.strayed.contains(&thread)),
                    Leaves::Same | Leaves::Freed => None,
                };
                self.memory.insert(used.cell, value);
            }
        }
        enabled
    }
}

/// Who holds a lock as a reader before an event of π, by what was taken and given back until then.
fn readers_before(execution: &Execution, lock: u32, event: EventId) -> BTreeMap<u32, u32> {
    let mut readers: BTreeMap<u32, u32> = BTreeMap::new();
    for other in execution.ids().take_while(|&other| other < event) {
        let thread = execution.thread(other);
        match *execution.op(other) {
            Op::AcquireShared { lock: taken, .. } if taken.0 == lock => *readers.entry(thread).or_default() += 1,
            Op::Release { lock: given } if given.0 == lock => {
                let first = readers.keys().next().copied().filter(|_| execution.foreign_unlock());
                let own = Some(thread).filter(|thread| readers.contains_key(thread));
                if let Some(reader) = own.or(first) {
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

fn times_out(execution: &Execution, begin: EventId) -> bool {
    let end = execution.end_of_wait(begin).map(|end| *execution.op(end));
    matches!(
        end,
        Some(Op::WaitEnd {
            outcome: WaitOutcome::TimedOut,
            ..
        })
    )
}
