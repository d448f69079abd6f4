//! What a recorded trace must be, checked on the simplest state that can tell: bytes, holders,
//! counts. Written from `docs/SEMANTICS.md` section 1, sharing nothing with the tool's own checker.

use std::collections::{HashMap, HashSet};
use trace_format::{Event, MemRange, ObjectId, ObjectKind, Op, Tables, ThreadId, TraceFile, WaitOutcome};

/// A trace that was read and found to be an execution.
pub struct Recorded {
    pub tables: Tables,
    pub events: Vec<Event>,
}

#[derive(Default)]
struct State {
    bytes: HashMap<u64, u8>,
    blocks: HashMap<u64, u64>,
    forked: HashSet<ThreadId>,
    begun: HashSet<ThreadId>,
    ended: HashSet<ThreadId>,
    /// Exclusive holder and depth.
    held: HashMap<ObjectId, (ThreadId, u32)>,
    readers: HashMap<ObjectId, Vec<ThreadId>>,
    /// Locks that somebody took in the trace.
    taken: HashSet<ObjectId>,
    /// How many wait, and how many of these something woke.
    waiting: HashMap<ObjectId, usize>,
    woken: HashMap<ObjectId, usize>,
    /// The waits of each thread, innermost last, and how deep it held the lock.
    waits: HashMap<ThreadId, Vec<(ObjectId, ObjectId, u32)>>,
    counts: HashMap<ObjectId, i64>,
    once: HashMap<ObjectId, bool>,
    enters: HashMap<(ObjectId, u32), i64>,
    left: HashSet<(ObjectId, u32)>,
}

/// Reads a trace and executes it; panics at the first event that does not fit.
pub fn replay(trace: &TraceFile) -> Recorded {
    let tables = trace.tables().clone();
    let events: Vec<Event> = trace.events().map(|event| event.expect("the trace is whole")).collect();
    let mut state = State::default();
    for (number, event) in events.iter().enumerate() {
        if let Err(why) = state.step(event, &tables) {
            panic!("event {number} of thread {}: {:?}: {why}", event.thread.0, event.op);
        }
    }
    Recorded { tables, events }
}

fn require(condition: bool, why: &str) -> Result<(), String> {
    if condition { Ok(()) } else { Err(why.to_owned()) }
}

impl State {
    fn step(&mut self, event: &Event, tables: &Tables) -> Result<(), String> {
        let me = event.thread;
        require(!self.ended.contains(&me), "after the thread's end")?;
        require(
            event.op == Op::Begin || self.begun.contains(&me),
            "before the thread's begin",
        )?;
        match event.op {
            Op::Begin => {
                require(self.begun.insert(me), "a second begin")?;
                require(me.0 == 0 || self.forked.contains(&me), "before the fork")?;
            }
            Op::End => require(self.ended.insert(me), "a second end")?,
            Op::Fork { child } => {
                require(self.forked.insert(child), "a second fork")?;
                require(
                    tables.threads[child.index()].parent == Some(me),
                    "the table names another parent",
                )?;
            }
            Op::Join { child, .. } => require(self.ended.contains(&child), "before the child's end")?,
            Op::Read { mem, value } | Op::AtomicLoad { mem, value, .. } => self.read(mem, value)?,
            Op::Write { mem, value } | Op::Destroy { mem, value } | Op::AtomicStore { mem, value, .. } => {
                self.write(mem, value)
            }
            Op::AtomicRmw { mem, read, written, .. } => {
                self.read(mem, read)?;
                self.write(mem, written);
            }
            Op::Alloc { addr, size } => {
                self.clear(addr, size);
                self.blocks.insert(addr, size);
            }
            Op::Free { addr } => {
                let size = self.blocks.remove(&addr).ok_or("no block there")?;
                self.clear(addr, size);
            }
            _ => self.synchronize(event, tables)?,
        }
        Ok(())
    }

    fn synchronize(&mut self, event: &Event, tables: &Tables) -> Result<(), String> {
        let me = event.thread;
        match event.op {
            Op::Acquire { lock, .. } => {
                self.taken.insert(lock);
                let recursive = tables.objects[lock.index()].kind == ObjectKind::RecursiveMutex;
                let (owner, depth) = *self.held.get(&lock).unwrap_or(&(me, 0));
                require(owner == me && (depth == 0 || recursive), "the lock is held")?;
                require(
                    self.readers.get(&lock).is_none_or(Vec::is_empty),
                    "the lock has readers",
                )?;
                self.held.insert(lock, (me, depth + 1));
            }
            Op::AcquireShared { lock, .. } => {
                self.taken.insert(lock);
                require(!self.held.contains_key(&lock), "the lock has a writer")?;
                self.readers.entry(lock).or_default().push(me);
            }
            Op::Release { lock } => {
                let readers = self.readers.entry(lock).or_default();
                if let Some(at) = readers.iter().position(|reader| *reader == me) {
                    readers.remove(at);
                    return Ok(());
                }
                if !self.held.contains_key(&lock) && !self.taken.contains(&lock) {
                    // It was held before recording began.
                    return Ok(());
                }
                let (owner, depth) = *self.held.get(&lock).ok_or("the lock is free")?;
                require(owner == me || tables.meta.foreign_unlock, "the lock is another's")?;
                if depth == 1 {
                    self.held.remove(&lock)
                } else {
                    self.held.insert(lock, (me, depth - 1))
                };
            }
            Op::AcquireFailed { lock, shared } => {
                let written = self.held.get(&lock).is_some_and(|(owner, _)| *owner != me);
                let read = self
                    .readers
                    .get(&lock)
                    .is_some_and(|readers| readers.iter().any(|reader| *reader != me));
                require(written || read && !shared, "no other thread holds the lock")?;
            }
            Op::WaitBegin { condition, lock } => {
                let (owner, depth) = self.held.remove(&lock).ok_or("the lock is free")?;
                require(owner == me, "the lock is another's")?;
                self.waits.entry(me).or_default().push((condition, lock, depth));
                *self.waiting.entry(condition).or_default() += 1;
            }
            Op::WaitEnd {
                condition,
                lock,
                outcome,
                ..
            } => {
                require(!self.held.contains_key(&lock), "the lock is held")?;
                let wait = self.waits.entry(me).or_default().pop();
                let (on, with, depth) = wait.ok_or("no wait")?;
                require((on, with) == (condition, lock), "another wait")?;
                self.held.insert(lock, (me, depth));
                let waiting = self.waiting.entry(condition).or_default();
                *waiting -= 1;
                let woken = self.woken.entry(condition).or_default();
                if outcome == WaitOutcome::Notified {
                    *woken = woken.checked_sub(1).ok_or("nobody woke it")?;
                }
                *woken = (*woken).min(*waiting);
            }
            Op::Notify { condition } => {
                let waiting = *self.waiting.entry(condition).or_default();
                let woken = self.woken.entry(condition).or_default();
                *woken = (*woken + 1).min(waiting);
            }
            Op::NotifyAll { condition } => {
                let waiting = *self.waiting.entry(condition).or_default();
                self.woken.insert(condition, waiting);
            }
            Op::BarrierEnter { barrier, round } => {
                require(!self.left.contains(&(barrier, round)), "the round is over")?;
                *self.enters.entry((barrier, round)).or_default() += 1;
            }
            Op::BarrierExit { barrier, round, .. } => {
                self.left.insert((barrier, round));
                let inside = self.enters.entry((barrier, round)).or_default();
                *inside -= 1;
                require(*inside >= 0, "more left than entered")?;
            }
            Op::SemPost { semaphore } => *self.count(semaphore, tables) += 1,
            Op::SemWait { semaphore, .. } => {
                let count = self.count(semaphore, tables);
                *count -= 1;
                require(*count >= 0, "the count is 0")?;
            }
            Op::SemWaitFailed { semaphore } => require(*self.count(semaphore, tables) == 0, "the count is not 0")?,
            Op::SemValue { semaphore, value } => {
                require(*self.count(semaphore, tables) == i64::from(value), "another count")?;
            }
            Op::OnceBegin { once } => require(self.once.insert(once, false).is_none(), "a second time")?,
            Op::OnceEnd { once } => require(self.once.insert(once, true) == Some(false), "not begun")?,
            Op::OnceWait { once } => require(self.once.get(&once) == Some(&true), "not done")?,
            _ => {}
        }
        Ok(())
    }

    fn count(&mut self, semaphore: ObjectId, tables: &Tables) -> &mut i64 {
        let initial = tables.objects[semaphore.index()].initial;
        self.counts.entry(semaphore).or_insert(initial.into())
    }

    fn read(&mut self, mem: MemRange, value: u64) -> Result<(), String> {
        for (at, byte) in (mem.addr..).zip(value.to_le_bytes()).take(mem.size.into()) {
            let known = *self.bytes.entry(at).or_insert(byte);
            require(known == byte, &format!("byte {at:#x} holds {known:#x}"))?;
        }
        Ok(())
    }

    fn write(&mut self, mem: MemRange, value: u64) {
        self.bytes
            .extend((mem.addr..).zip(value.to_le_bytes()).take(mem.size.into()));
    }

    fn clear(&mut self, addr: u64, size: u64) {
        self.bytes.retain(|at, _| *at < addr || *at >= addr + size);
    }
}
