//! Synthetic traces of any length, for benchmarks and experiments.
//!
//! The first thread forks all others and joins them at the end. Each thread runs one block after another: a block takes
//! no lock, or up to three in ascending order (so that the simulated run cannot deadlock), accesses variables in
//! between and releases the locks in reverse. A variable belongs to one lock and is accessed under it, except for the
//! share of accesses that is to be unprotected. Some blocks wait on the condition of their lock, or notify it; a wait
//! that nobody ends times out. Threads take turns of random length; the trace is valid by construction.
//!
//! The same shape gives the same trace.

mod conditions;

use conditions::Condition;
use std::collections::VecDeque;
use trace_format::{MemRange, ObjectId, ObjectInfo, ObjectKind, Op, SourceInfo, ThreadId, ThreadInfo};

/// What a synthetic trace looks like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Number of events, at least; blocks that are open then are brought to their end.
    pub events: u64,
    /// Number of threads, at least 2.
    pub threads: u32,
    /// Number of shared variables, at least 1.
    pub variables: u32,
    /// Number of locks; 0 for a trace without any.
    pub locks: u32,
    /// Share of accesses to shared variables outside of their lock, 0 to 1.
    pub unprotected: f64,
    /// Share of blocks with locks that wait on a condition or notify it, 0 to 1.
    pub waits: f64,
    /// Distinct values that are written; the fewer, the more writes explain a read.
    pub values: u64,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape {
            events: 1_000,
            threads: 10,
            variables: 100,
            locks: 20,
            unprotected: 0.0005,
            waits: 0.0,
            values: 16,
            seed: 1,
        }
    }
}

/// Longest turn of a thread, in events.
const MAX_TURN: u32 = 20;
/// Most locks that a block takes.
const MAX_NESTING: usize = 3;
/// Percentage of blocks that take no lock and touch only variables of their own thread.
const PRIVATE_BLOCKS: u32 = 30;
/// Of so many times that a waiting thread that nobody has notified gets its turn, it times out in one.
const PATIENCE: u32 = 64;
const VARIABLES_AT: u64 = 0x10_0000;
const PRIVATE_AT: u64 = 0x80_0000;

/// The next thing a thread wants to do.
#[derive(Clone, Copy)]
enum Intent {
    Acquire(u32),
    Release(u32),
    Wait(u32),
    WakeUp(u32),
    Notify { lock: u32, all: bool },
    Access { variable: u64, write: bool, position: u64 },
}

/// A trace being made; an iterator over its events.
pub struct Generator {
    shape: Shape,
    random: fastrand::Rng,
    holder: Vec<Option<u32>>,
    /// One for each lock.
    conditions: Vec<Condition>,
    /// What is left of each thread's block; `None` once the thread is finished.
    intents: Vec<Option<VecDeque<Intent>>>,
    memory: hashbrown::HashMap<u64, u64>,
    made: u64,
    phase: Phase,
    thread: u32,
    turn: u32,
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    /// Events with which the trace opens, by number.
    Opening(u32),
    Running,
    /// Events with which it closes, by number.
    Closing(u32),
}

impl Generator {
    /// A generator at the trace's first event.
    #[must_use]
    pub fn new(shape: Shape) -> Generator {
        let shape = Shape {
            threads: shape.threads.max(2),
            variables: shape.variables.max(1),
            ..shape
        };
        Generator {
            shape,
            random: fastrand::Rng::with_seed(shape.seed),
            holder: vec![None; shape.locks as usize],
            conditions: vec![Condition::default(); shape.locks as usize],
            intents: vec![Some(VecDeque::new()); shape.threads as usize],
            memory: hashbrown::HashMap::new(),
            made: 0,
            phase: Phase::Opening(0),
            thread: 0,
            turn: 0,
        }
    }

    /// The rows of the trace's thread table.
    #[must_use]
    pub fn threads(&self) -> Vec<ThreadInfo> {
        let info = |thread: u32| ThreadInfo {
            name: Some(format!("T{thread}")),
            parent: (thread > 0).then_some(ThreadId(0)),
            os_id: 0,
        };
        (0..self.shape.threads).map(info).collect()
    }

    /// The rows of the trace's object table.
    #[must_use]
    pub fn objects(&self) -> Vec<ObjectInfo> {
        let info = |lock: u32| ObjectInfo {
            kind: ObjectKind::Mutex,
            addr: 0x1000 + 64 * u64::from(lock),
            name: Some(format!("L{lock}")),
            initial: 0,
        };
        let condition = |lock: u32| ObjectInfo {
            kind: ObjectKind::Condition,
            addr: 0x1020 + 64 * u64::from(lock),
            name: Some(format!("C{lock}")),
            initial: 0,
        };
        let conditions = if self.shape.waits > 0.0 { self.shape.locks } else { 0 };
        let locks = (0..self.shape.locks).map(info);
        locks.chain((0..conditions).map(condition)).collect()
    }

    /// The rows of the trace's table of source positions.
    #[must_use]
    pub fn sources(&self) -> Vec<SourceInfo> {
        let position = |pc: u64| SourceInfo {
            pc,
            function: None,
            file: "generated".into(),
            line: pc as u32,
        };
        (1..=POSITIONS).map(position).collect()
    }

    fn next_intent(&mut self, thread: u32) -> Option<Intent> {
        loop {
            let intents = self.intents[thread as usize].as_mut()?;
            if let Some(&intent) = intents.front() {
                return Some(intent);
            }
            if self.made >= self.shape.events.saturating_sub(u64::from(2 * self.shape.threads)) {
                self.intents[thread as usize] = None;
                return None;
            }
            let block = self.block(thread);
            self.intents[thread as usize] = Some(block);
        }
    }

    fn block(&mut self, thread: u32) -> VecDeque<Intent> {
        let mut block = VecDeque::new();
        if self.shape.locks == 0 || self.random.u32(..100) < PRIVATE_BLOCKS {
            for _ in 0..self.random.u32(1..=6) {
                let private = PRIVATE_AT + 4096 * u64::from(thread) + 8 * self.random.u64(..8);
                let variable = if self.leaks() { self.any_variable() } else { private };
                block.push_back(self.access(variable, 0));
            }
            return block;
        }
        if self.shape.waits > 0.0 && self.random.f64() < self.shape.waits {
            return self.conditional_block();
        }
        let mut locks: Vec<u32> = Vec::new();
        for _ in 0..self.random.usize(1..=MAX_NESTING) {
            locks.push(self.random.u32(..self.shape.locks));
        }
        locks.sort_unstable();
        locks.dedup();
        let mut held = Vec::new();
        for lock in locks {
            block.push_back(Intent::Acquire(lock));
            held.push(lock);
            self.accesses(&mut block, &held);
        }
        while let Some(&lock) = held.last() {
            self.accesses(&mut block, &held);
            block.push_back(Intent::Release(lock));
            held.pop();
        }
        block
    }

    /// A block that waits or notifies. It holds one lock only, so that no wait blocks who would end it.
    fn conditional_block(&mut self) -> VecDeque<Intent> {
        let lock = self.random.u32(..self.shape.locks);
        let mut block = VecDeque::from([Intent::Acquire(lock)]);
        self.accesses(&mut block, &[lock]);
        match self.random.u32(..4) {
            0 | 1 => block.extend([Intent::Wait(lock), Intent::WakeUp(lock)]),
            kind => block.push_back(Intent::Notify { lock, all: kind == 3 }),
        }
        self.accesses(&mut block, &[lock]);
        block.push_back(Intent::Release(lock));
        block
    }

    fn accesses(&mut self, block: &mut VecDeque<Intent>, held: &[u32]) {
        for _ in 0..self.random.u32(..=4) {
            let variable = if self.leaks() {
                self.any_variable()
            } else {
                // A variable of a lock that is held: those are lock, lock + locks, lock + 2 locks, …
                let lock = held[self.random.usize(..held.len())];
                let owned = self
                    .shape
                    .variables
                    .saturating_sub(lock)
                    .div_ceil(self.shape.locks)
                    .max(1);
                let number = (lock + self.shape.locks * self.random.u32(..owned)) % self.shape.variables;
                VARIABLES_AT + 8 * u64::from(number)
            };
            let intent = self.access(variable, held.len() as u64);
            block.push_back(intent);
        }
    }

    fn leaks(&mut self) -> bool {
        self.shape.locks == 0 || self.random.f64() < self.shape.unprotected
    }

    fn any_variable(&mut self) -> u64 {
        VARIABLES_AT + 8 * u64::from(self.random.u32(..self.shape.variables))
    }

    fn access(&mut self, variable: u64, depth: u64) -> Intent {
        let write = self.random.u32(..100) < 40;
        let position = 1 + (variable / 8 * 7 + 3 * depth + u64::from(write)) % POSITIONS;
        Intent::Access {
            variable,
            write,
            position,
        }
    }

    fn run(&mut self) -> Option<(ThreadId, u64, Op)> {
        loop {
            if self.intents.iter().all(Option::is_none) {
                self.phase = Phase::Closing(0);
                return None;
            }
            if self.turn == 0 {
                self.thread = self.random.u32(..self.shape.threads);
                self.turn = self.random.u32(1..=MAX_TURN);
            }
            self.turn -= 1;
            let thread = self.thread;
            let Some(intent) = self.next_intent(thread) else {
                self.turn = 0;
                continue;
            };
            let (position, op) = match intent {
                Intent::Acquire(lock) if self.holder[lock as usize].is_some() => {
                    self.turn = 0;
                    continue;
                }
                Intent::Acquire(lock) => {
                    self.holder[lock as usize] = Some(thread);
                    (
                        POSITIONS + 1 + u64::from(lock),
                        Op::Acquire {
                            lock: ObjectId(lock),
                            attempt: false,
                        },
                    )
                }
                Intent::Release(lock) => {
                    self.holder[lock as usize] = None;
                    (2 * POSITIONS + u64::from(lock), Op::Release { lock: ObjectId(lock) })
                }
                Intent::Wait(lock) => {
                    self.holder[lock as usize] = None;
                    self.conditions[lock as usize].begin(thread, self.made);
                    let condition = ObjectId(self.shape.locks + lock);
                    (
                        3 * POSITIONS + u64::from(lock),
                        Op::WaitBegin {
                            condition,
                            lock: ObjectId(lock),
                        },
                    )
                }
                Intent::WakeUp(lock) => {
                    let condition = &mut self.conditions[lock as usize];
                    let patient = !condition.is_woken(thread) && self.random.u32(..PATIENCE) > 0;
                    if patient || self.holder[lock as usize].is_some() {
                        self.turn = 0;
                        continue;
                    }
                    self.holder[lock as usize] = Some(thread);
                    let outcome = condition.end(thread);
                    let condition = ObjectId(self.shape.locks + lock);
                    let lock = ObjectId(lock);
                    (
                        3 * POSITIONS + u64::from(lock.0),
                        Op::WaitEnd {
                            condition,
                            lock,
                            outcome,
                            attempt: false,
                        },
                    )
                }
                Intent::Notify { lock, all } => {
                    let position = 4 * POSITIONS + u64::from(lock);
                    let condition = ObjectId(self.shape.locks + lock);
                    self.conditions[lock as usize].notify(self.made, all);
                    (
                        position,
                        if all {
                            Op::NotifyAll { condition }
                        } else {
                            Op::Notify { condition }
                        },
                    )
                }
                Intent::Access {
                    variable,
                    write,
                    position,
                } => {
                    let mem = MemRange {
                        addr: variable,
                        size: 8,
                    };
                    if write {
                        let value = self.random.u64(..self.shape.values.max(1));
                        self.memory.insert(variable, value);
                        (position, Op::Write { mem, value })
                    } else {
                        let value = self.memory.get(&variable).copied().unwrap_or(0);
                        (position, Op::Read { mem, value })
                    }
                }
            };
            if let Some(intents) = &mut self.intents[thread as usize] {
                intents.pop_front();
            }
            return Some((ThreadId(thread), position, op));
        }
    }
}

/// Distinct code positions of accesses.
const POSITIONS: u64 = 4_000;

impl Iterator for Generator {
    /// Thread, code position, and what happens.
    type Item = (ThreadId, u64, Op);

    fn next(&mut self) -> Option<Self::Item> {
        let children = self.shape.threads - 1;
        let event = loop {
            match self.phase {
                // begin of the first thread, then a fork and a begin per child
                Phase::Opening(number) if number <= 2 * children => {
                    self.phase = Phase::Opening(number + 1);
                    let child = ThreadId(number.div_ceil(2));
                    break match (number, number % 2) {
                        (0, _) => (ThreadId(0), 0, Op::Begin),
                        (_, 1) => (ThreadId(0), 0, Op::Fork { child }),
                        _ => (child, 0, Op::Begin),
                    };
                }
                Phase::Opening(_) => self.phase = Phase::Running,
                Phase::Running => {
                    if let Some(event) = self.run() {
                        break event;
                    }
                }
                // an end and a join per child, then the end of the first thread
                Phase::Closing(number) if number <= 2 * children => {
                    self.phase = Phase::Closing(number + 1);
                    let child = ThreadId(number / 2 + 1);
                    break match (number == 2 * children, number % 2) {
                        (true, _) => (ThreadId(0), 0, Op::End),
                        (_, 0) => (child, 0, Op::End),
                        _ => (ThreadId(0), 0, Op::Join { child, attempt: false }),
                    };
                }
                Phase::Closing(_) => return None,
            }
        };
        self.made += 1;
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::validate;
    use crate::trace::Trace;
    use trace_format::{Event, StackId, Tables, WaitOutcome};

    #[test]
    fn generated_traces_are_valid_and_reproducible() {
        for seed in 0..20 {
            let shape = Shape {
                events: 2_000,
                threads: 4,
                locks: 3,
                variables: 10,
                unprotected: 0.2,
                waits: if seed % 2 == 0 { 0.3 } else { 0.0 },
                seed,
                ..Shape::default()
            };
            let generator = Generator::new(shape);
            let tables = Tables {
                threads: generator.threads(),
                objects: generator.objects(),
                ..Tables::default()
            };
            let event = |(thread, pc, op)| Event {
                thread,
                pc,
                stack: StackId::EMPTY,
                op,
            };
            let events: Vec<Event> = generator.map(event).collect();
            assert!(events.len() >= 2_000);
            assert!(events.iter().any(|event| matches!(event.op, Op::Acquire { .. })));
            let ends = |wanted| {
                let end = move |event: &&Event| matches!(event.op, Op::WaitEnd { outcome, .. } if outcome == wanted);
                events.iter().filter(end).count()
            };
            assert_eq!(ends(WaitOutcome::Notified) > 0, seed % 2 == 0);
            assert_eq!(ends(WaitOutcome::TimedOut) > 0, seed % 2 == 0);
            let again: Vec<Event> = Generator::new(shape).map(event).collect();
            assert_eq!(events, again);
            validate(&Trace::from_events(tables, &events)).expect("a generated trace is valid");
        }
    }
}
