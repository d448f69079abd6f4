//! Small random traces with every kind of event, valid by construction.
//!
//! A few threads take random steps on a simulated state; what is emitted is what was enabled. Few
//! variables, values and locks, so that there is much to confuse.

use std::collections::{BTreeMap, BTreeSet};
use trace_format::{
    Event, MemRange, MemoryOrder, Meta, ObjectId, ObjectInfo, ObjectKind, Op, StackId, Tables, ThreadId, ThreadInfo,
    WaitOutcome,
};
use witness::check::validate;
use witness::trace::Trace;

/// How many kinds [`kind`] can tell apart.
pub const KINDS: usize = 31;

const MUTEXES: [u32; 2] = [0, 1];
const RWLOCK: u32 = 2;
const CONDITION: u32 = 3;
const SEMAPHORE: u32 = 4;
const BARRIER: u32 = 5;
const ONCE: u32 = 6;
const SOURCE: u32 = 7;
const BLOCK: u64 = 0x9000;

struct Random(fastrand::Rng);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.u64(..bound)
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Mood {
    NotForked,
    NotBegun,
    Running,
    /// Waits on the condition with a mutex; whether it will time out.
    Waiting(u32, bool),
    InBarrier(u32),
    InOnce,
    Ended,
}

struct World {
    random: Random,
    mood: Vec<Mood>,
    /// Four-byte pieces of memory.
    memory: BTreeMap<u64, u64>,
    owner: BTreeMap<u32, (usize, u32)>,
    kept: BTreeMap<usize, u32>,
    readers: BTreeMap<(u32, usize), u32>,
    waiting: BTreeSet<usize>,
    woken: BTreeSet<usize>,
    permits: u32,
    entered: u32,
    once_done: bool,
    once_taken: bool,
    allocated: bool,
    ever_allocated: bool,
    atomics_only: bool,
    branches: bool,
    foreign_unlock: bool,
    /// Which kinds of synchronization this trace leans on, so that short traces have depth in some.
    flavour: u64,
    /// Atomics that are locks: who has them.
    taken: BTreeMap<u64, usize>,
    events: Vec<Event>,
}

/// A valid trace; the same for the same seed.
pub fn generate(seed: u64) -> (Tables, Vec<Event>) {
    let mut random = Random(fastrand::Rng::with_seed(seed));
    let threads = 2 + random.below(3) as usize;
    let flavour = match random.below(10) {
        // Traces of other seeds are what they were before there were these.
        _ if seed % 12 == 7 => 10,
        other => other,
    };
    // Two waits that compete for one notify take many events, and so does what a chain of flags orders.
    let length = if flavour >= 8 {
        20 + random.below(12)
    } else {
        10 + random.below(14)
    } as usize;
    let initial = random.below(2) as u32;
    let unrecorded = random.chance(15);
    let atomics_only = random.chance(10);
    let control_flow_recorded = random.chance(25);
    let foreign_unlock = random.chance(15);
    let drop = if random.chance(15) {
        1 + random.below(6) as usize
    } else {
        0
    };
    let mut world = World {
        random,
        mood: vec![Mood::NotForked; threads],
        memory: BTreeMap::new(),
        owner: BTreeMap::new(),
        kept: BTreeMap::new(),
        readers: BTreeMap::new(),
        waiting: BTreeSet::new(),
        woken: BTreeSet::new(),
        permits: initial,
        entered: 0,
        once_done: false,
        once_taken: false,
        allocated: false,
        ever_allocated: false,
        atomics_only,
        branches: control_flow_recorded,
        foreign_unlock,
        flavour,
        taken: BTreeMap::new(),
        events: Vec::new(),
    };
    world.mood[0] = Mood::NotBegun;
    // A thread that is there from the start, without a fork.
    if threads > 2 && world.random.chance(30) {
        world.mood[threads - 1] = Mood::NotBegun;
    }
    let mut tries = 0;
    while world.events.len() < length && tries < 40 * length {
        tries += 1;
        if unrecorded && world.random.chance(8) {
            let addr = 0x1000 + 4 * world.random.below(2);
            let value = world.random.below(3);
            world.memory.insert(addr, value);
        }
        let thread = world.random.below(threads as u64) as usize;
        world.step(thread);
    }
    let object = |kind, initial| ObjectInfo {
        kind,
        addr: 0,
        name: None,
        initial,
    };
    let tables = Tables {
        meta: Meta {
            control_flow_recorded,
            foreign_unlock,
            ..Meta::default()
        },
        threads: vec![ThreadInfo::default(); threads],
        objects: vec![
            object(ObjectKind::RecursiveMutex, 0),
            object(ObjectKind::RecursiveMutex, 0),
            object(ObjectKind::RwLock, 0),
            object(ObjectKind::Condition, 0),
            object(ObjectKind::Semaphore, initial),
            object(ObjectKind::Barrier, 0),
            object(ObjectKind::Once, 0),
            object(ObjectKind::Source, 0),
        ],
        ..Tables::default()
    };
    // A trace that begins in the middle, if what is left is an execution.
    let late = world.events.split_off(drop.min(world.events.len()));
    let begins_late = drop > 0 && !late.is_empty() && validate(&Trace::from_events(tables.clone(), &late)).is_ok();
    if begins_late {
        return (tables, late);
    }
    world.events.extend(late);
    (tables, world.events)
}

impl World {
    fn emit(&mut self, thread: usize, op: Op) {
        // A few positions per thread, so that a pair of positions has several instances; where flags order
        // them, each its own, or nearly every pair would race at once somewhere.
        let position = match self.flavour {
            9 => self.events.len() as u64,
            _ => self.random.below(5),
        };
        let pc = 0x100 * (thread as u64 + 1) + position;
        self.events.push(Event {
            thread: ThreadId(thread as u32),
            pc,
            stack: StackId::EMPTY,
            op,
        });
    }

    fn step(&mut self, thread: usize) {
        match self.mood[thread] {
            Mood::NotForked | Mood::Ended => {}
            Mood::NotBegun => {
                self.mood[thread] = Mood::Running;
                self.emit(thread, Op::Begin);
            }
            Mood::Waiting(lock, times_out) => self.end_wait(thread, lock, times_out),
            Mood::InBarrier(round) => {
                if self.entered >= 2 * (round + 1) {
                    self.mood[thread] = Mood::Running;
                    self.emit(
                        thread,
                        Op::BarrierExit {
                            barrier: ObjectId(BARRIER),
                            round,
                        },
                    );
                }
            }
            Mood::InOnce if self.random.chance(50) => {
                self.mood[thread] = Mood::Running;
                self.once_done = true;
                self.emit(thread, Op::OnceEnd { once: ObjectId(ONCE) });
            }
            Mood::InOnce => self.access(thread),
            Mood::Running => self.act(thread),
        }
    }

    fn act(&mut self, thread: usize) {
        // What a write depends on takes a few accesses and a branch that comes late.
        if self.branches && self.flavour < 7 {
            return match self.random.below(100) {
                0..8 => self.thread_life(thread),
                8..88 => self.access(thread),
                88..95 => self.emit(thread, Op::Branch),
                _ => self.lock(thread),
            };
        }
        let choice = self.random.below(100);
        if self.flavour == 10 {
            return match choice {
                0..12 => self.thread_life(thread),
                12..35 => self.access(thread),
                _ => self.atomic_lock(thread),
            };
        }
        if self.flavour == 9 {
            return match choice {
                0..8 => self.thread_life(thread),
                8..40 => self.access(thread),
                40..50 => self.lock(thread),
                50..58 => {
                    let order = MemoryOrder::from_c(self.random.below(6) as u8);
                    self.emit(thread, Op::Fence { order });
                }
                _ => self.flag(thread),
            };
        }
        if self.flavour == 8 {
            return match choice {
                0..10 => self.thread_life(thread),
                10..25 => self.access(thread),
                25..55 => self.lock(thread),
                _ => self.condition(thread),
            };
        }
        match choice {
            0..12 => self.thread_life(thread),
            12..45 => self.access(thread),
            45..70 => self.lock(thread),
            _ if self.flavour == 0 || self.flavour == 1 => self.condition(thread),
            _ if self.flavour == 2 => self.semaphore(thread),
            _ if self.flavour == 3 => self.rwlock(thread),
            _ if self.flavour == 4 => self.round(thread),
            _ if self.flavour == 5 => self.heap(thread),
            _ if self.flavour == 6 => self.outside(thread),
            70..78 => self.condition(thread),
            78..84 => self.semaphore(thread),
            84..90 => self.rwlock(thread),
            90..94 => self.round(thread),
            94..97 => self.heap(thread),
            _ => self.outside(thread),
        }
    }

    fn thread_life(&mut self, thread: usize) {
        let child = self.random.below(self.mood.len() as u64) as usize;
        match self.mood[child] {
            Mood::NotForked => {
                self.mood[child] = Mood::NotBegun;
                self.emit(
                    thread,
                    Op::Fork {
                        child: ThreadId(child as u32),
                    },
                );
            }
            Mood::Ended => self.emit(
                thread,
                Op::Join {
                    child: ThreadId(child as u32),
                },
            ),
            _ if child == thread && self.random.chance(25) => {
                let holds = self.owner.values().any(|&(owner, _)| owner == thread)
                    || self.readers.keys().any(|&(_, reader)| reader == thread);
                if !holds {
                    self.mood[thread] = Mood::Ended;
                    self.emit(thread, Op::End);
                }
            }
            _ => {}
        }
    }

    fn load(&self, mem: MemRange) -> u64 {
        let piece = |at: u64| self.memory.get(&at).copied().unwrap_or(0);
        match mem.size {
            8 => piece(mem.addr) | piece(mem.addr + 4) << 32,
            _ => piece(mem.addr),
        }
    }

    fn store(&mut self, mem: MemRange, value: u64) {
        self.memory.insert(mem.addr, value & 0xffff_ffff);
        if mem.size == 8 {
            self.memory.insert(mem.addr + 4, value >> 32);
        }
    }

    /// Takes a lock made of an atomic, marks it as wanted, gives it back, or does something under it; now and then in an order
    /// too weak for a lock.
    fn atomic_lock(&mut self, thread: usize) {
        let addr = 0x3000 + 8 * self.random.below(10).saturating_sub(8);
        let mem = MemRange { addr, size: 4 };
        let read = self.load(mem);
        let order = match self.random.below(20) {
            0 => MemoryOrder::Relaxed,
            1..8 => MemoryOrder::SeqCst,
            _ if read == 0 => MemoryOrder::Acquire,
            _ => MemoryOrder::Release,
        };
        let has = self.taken.get(&addr) == Some(&thread);
        let written = match read {
            0 => 1 + self.random.below(2),
            _ if has => 0,
            _ => 2,
        };
        if has && self.random.chance(60) {
            return self.access(thread);
        }
        match (read, written) {
            (0, _) => drop(self.taken.insert(addr, thread)),
            (_, 0) => drop(self.taken.remove(&addr)),
            _ => {}
        }
        self.store(mem, written);
        let op = match written {
            0 if self.random.chance(70) => Op::AtomicStore {
                mem,
                value: written,
                order,
            },
            _ => Op::AtomicRmw {
                mem,
                read,
                written,
                order,
            },
        };
        self.emit(thread, op);
    }

    /// An atomic operation on one of two flags that nothing else touches, mostly too weak to order anything.
    fn flag(&mut self, thread: usize) {
        let addr = 0x2000 + 8 * self.random.below(2);
        let mem = MemRange { addr, size: 4 };
        let weak = [MemoryOrder::Relaxed, MemoryOrder::Acquire, MemoryOrder::Release];
        let order = weak[self.random.below(4).min(2) as usize];
        // Two in three stores can be told from all others.
        let value = match self.random.below(3) {
            0 => 1 + self.random.below(2),
            _ => 3 + self.events.len() as u64,
        };
        let seen = self.load(mem);
        let op = match self.random.below(7) {
            0..3 => Op::AtomicLoad {
                mem,
                value: seen,
                order,
            },
            3..6 => Op::AtomicStore { mem, value, order },
            _ => Op::AtomicRmw {
                mem,
                read: seen,
                written: value,
                order,
            },
        };
        if !matches!(op, Op::AtomicLoad { .. }) {
            self.store(mem, value);
        }
        self.emit(thread, op);
    }

    fn access(&mut self, thread: usize) {
        let on_heap = self.ever_allocated && self.random.chance(40);
        let wide = self.random.chance(15);
        let addr = if on_heap { BLOCK } else { 0x1000 };
        let mem = match wide {
            true => MemRange { addr, size: 8 },
            false => MemRange {
                addr: addr + 4 * self.random.below(2),
                size: 4,
            },
        };
        let seen = self.load(mem);
        let value = match wide {
            true => self.random.below(2) | self.random.below(2) << 32,
            false => self.random.below(3),
        };
        let order = MemoryOrder::from_c(self.random.below(6) as u8);
        let kinds = if self.atomics_only { 100 } else { 12 };
        let kinds = if self.flavour == 9 { 0 } else { kinds };
        let op = match self.random.below(100) {
            at if at < kinds => match self.random.below(3) {
                0 => Op::AtomicLoad {
                    mem,
                    value: seen,
                    order,
                },
                1 => Op::AtomicStore { mem, value, order },
                _ => Op::AtomicRmw {
                    mem,
                    read: seen,
                    written: value,
                    order,
                },
            },
            at if at < 60 => Op::Read { mem, value: seen },
            _ => Op::Write { mem, value },
        };
        if matches!(op, Op::AtomicStore { .. } | Op::AtomicRmw { .. } | Op::Write { .. }) {
            self.store(mem, value);
        }
        self.emit(thread, op);
    }

    fn lock(&mut self, thread: usize) {
        let lock = MUTEXES[self.random.below(2) as usize];
        let id = ObjectId(lock);
        match self.owner.get(&lock).copied() {
            None => {
                self.owner.insert(lock, (thread, 1));
                self.emit(thread, Op::Acquire { lock: id });
            }
            Some((owner, depth)) if owner == thread => {
                if self.random.chance(15) {
                    self.owner.insert(lock, (thread, depth + 1));
                    self.emit(thread, Op::Acquire { lock: id });
                } else {
                    match depth {
                        1 => self.owner.remove(&lock),
                        _ => self.owner.insert(lock, (thread, depth - 1)),
                    };
                    self.emit(thread, Op::Release { lock: id });
                }
            }
            Some((owner, depth)) if self.foreign_unlock && self.random.chance(30) => {
                match depth {
                    1 => self.owner.remove(&lock),
                    _ => self.owner.insert(lock, (owner, depth - 1)),
                };
                self.emit(thread, Op::Release { lock: id });
            }
            Some(_) if self.random.chance(25) => self.emit(
                thread,
                Op::AcquireFailed {
                    lock: id,
                    shared: false,
                },
            ),
            Some(_) => {}
        }
    }

    fn rwlock(&mut self, thread: usize) {
        let id = ObjectId(RWLOCK);
        let others_read = self.readers.keys().any(|&(_, reader)| reader != thread);
        let i_read = self.readers.contains_key(&(RWLOCK, thread));
        match self.owner.get(&RWLOCK).copied() {
            Some((owner, _)) if owner == thread => {
                self.owner.remove(&RWLOCK);
                self.emit(thread, Op::Release { lock: id });
            }
            Some(_) => {
                if self.random.chance(30) {
                    let shared = self.random.chance(50);
                    self.emit(thread, Op::AcquireFailed { lock: id, shared });
                }
            }
            None if i_read => {
                self.readers.remove(&(RWLOCK, thread));
                self.emit(thread, Op::Release { lock: id });
            }
            None if others_read && self.random.chance(30) => {
                self.emit(
                    thread,
                    Op::AcquireFailed {
                        lock: id,
                        shared: false,
                    },
                );
            }
            None if others_read || self.random.chance(50) => {
                self.readers.insert((RWLOCK, thread), 1);
                self.emit(thread, Op::AcquireShared { lock: id });
            }
            None => {
                self.owner.insert(RWLOCK, (thread, 1));
                self.emit(thread, Op::Acquire { lock: id });
            }
        }
    }

    fn condition(&mut self, thread: usize) {
        let condition = ObjectId(CONDITION);
        let held = self
            .owner
            .iter()
            .find(|&(&lock, &(owner, _))| owner == thread && lock != RWLOCK);
        let held = held.map(|(&lock, &(_, depth))| (lock, depth));
        if let Some((lock, depth)) = held
            && self.random.chance(60)
        {
            let times_out = self.random.chance(25);
            self.owner.remove(&lock);
            self.kept.insert(thread, depth);
            self.mood[thread] = Mood::Waiting(lock, times_out);
            if !times_out {
                self.waiting.insert(thread);
            }
            self.emit(
                thread,
                Op::WaitBegin {
                    condition,
                    lock: ObjectId(lock),
                },
            );
            return;
        }
        if self.random.chance(70) {
            let waiters: Vec<usize> = self.waiting.iter().copied().collect();
            if !waiters.is_empty() {
                let chosen = waiters[self.random.below(waiters.len() as u64) as usize];
                self.waiting.remove(&chosen);
                self.woken.insert(chosen);
            }
            self.emit(thread, Op::Notify { condition });
        } else {
            self.woken.append(&mut self.waiting);
            self.emit(thread, Op::NotifyAll { condition });
        }
    }

    fn end_wait(&mut self, thread: usize, lock: u32, times_out: bool) {
        if self.owner.contains_key(&lock) || !(times_out || self.woken.contains(&thread)) {
            return;
        }
        self.woken.remove(&thread);
        let depth = self.kept.remove(&thread).unwrap_or(1);
        self.owner.insert(lock, (thread, depth));
        self.mood[thread] = Mood::Running;
        let outcome = if times_out {
            WaitOutcome::TimedOut
        } else {
            WaitOutcome::Notified
        };
        let (condition, lock) = (ObjectId(CONDITION), ObjectId(lock));
        self.emit(
            thread,
            Op::WaitEnd {
                condition,
                lock,
                outcome,
            },
        );
    }

    fn semaphore(&mut self, thread: usize) {
        let semaphore = ObjectId(SEMAPHORE);
        if self.permits > 0 && self.random.chance(60) {
            self.permits -= 1;
            self.emit(thread, Op::SemWait { semaphore });
        } else if self.random.chance(50) {
            self.permits += 1;
            self.emit(thread, Op::SemPost { semaphore });
        }
    }

    fn round(&mut self, thread: usize) {
        if self.random.chance(50) {
            let round = self.entered / 2;
            self.entered += 1;
            self.mood[thread] = Mood::InBarrier(round);
            self.emit(
                thread,
                Op::BarrierEnter {
                    barrier: ObjectId(BARRIER),
                    round,
                },
            );
        } else if self.once_done {
            self.emit(thread, Op::OnceWait { once: ObjectId(ONCE) });
        } else if !self.once_taken {
            self.once_taken = true;
            self.mood[thread] = Mood::InOnce;
            self.emit(thread, Op::OnceBegin { once: ObjectId(ONCE) });
        }
    }

    fn heap(&mut self, thread: usize) {
        if self.allocated {
            if self.random.chance(30) {
                self.allocated = false;
                self.emit(thread, Op::Free { addr: BLOCK });
            } else {
                self.access(thread);
            }
        } else {
            self.allocated = true;
            self.ever_allocated = true;
            self.emit(thread, Op::Alloc { addr: BLOCK, size: 8 });
        }
    }

    fn outside(&mut self, thread: usize) {
        let source = ObjectId(SOURCE);
        let op = match self.random.below(4) {
            0 => Op::Input { source, value: 0 },
            1 => Op::Output { source },
            2 => Op::Branch,
            _ => Op::Fence {
                order: MemoryOrder::SeqCst,
            },
        };
        self.emit(thread, op);
    }
}

/// The kind of an event, for counting.
pub fn kind(op: &Op) -> &'static str {
    match op {
        Op::Begin => "begin",
        Op::End => "end",
        Op::Fork { .. } => "fork",
        Op::Join { .. } => "join",
        Op::Read { .. } => "read",
        Op::Write { .. } => "write",
        Op::Acquire { .. } => "acquire",
        Op::AcquireShared { .. } => "acquire shared",
        Op::Release { .. } => "release",
        Op::AcquireFailed { .. } => "acquire failed",
        Op::WaitBegin { .. } => "wait begin",
        Op::WaitEnd {
            outcome: WaitOutcome::Notified,
            ..
        } => "wait end, notified",
        Op::WaitEnd {
            outcome: WaitOutcome::TimedOut,
            ..
        } => "wait end, timed out",
        Op::Notify { .. } => "notify",
        Op::NotifyAll { .. } => "notify all",
        Op::BarrierEnter { .. } => "barrier enter",
        Op::BarrierExit { .. } => "barrier exit",
        Op::SemPost { .. } => "semaphore post",
        Op::SemWait { .. } => "semaphore wait",
        Op::OnceBegin { .. } => "once begin",
        Op::OnceEnd { .. } => "once end",
        Op::OnceWait { .. } => "once wait",
        Op::AtomicLoad { .. } => "atomic load",
        Op::AtomicStore { .. } => "atomic store",
        Op::AtomicRmw { .. } => "atomic read-modify-write",
        Op::Fence { .. } => "fence",
        Op::Alloc { .. } => "alloc",
        Op::Free { .. } => "free",
        Op::Branch => "branch",
        Op::Input { .. } => "input",
        Op::Output { .. } => "output",
    }
}

/// The events, one a line, to paste into a failure report.
pub fn describe(events: &[Event]) -> String {
    let line =
        |(number, event): (usize, &Event)| format!("{number:3} t{} {:#x} {:?}\n", event.thread.0, event.pc, event.op);
    events.iter().enumerate().map(line).collect()
}
