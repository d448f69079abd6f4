//! Small random traces with every kind of event, valid by construction.
//!
//! A few threads take random steps on a simulated state; what is emitted is what was enabled. Few
//! variables, values and objects, so that there is much to confuse.

mod memory;
pub mod standing;
mod synchronization;

use std::collections::{BTreeMap, BTreeSet};
use trace_format::{
    Event, ImageInfo, MemoryOrder, Meta, NOBODYS, ObjectId, ObjectInfo, ObjectKind, Op, StackId, Tables, ThreadId,
    ThreadInfo,
};
use witness::check::validate;
use witness::trace::Trace;

const MUTEXES: [u32; 2] = [0, 1];
/// One that is not recursive in traces in which threads give back locks of others.
const PLAIN: u32 = MUTEXES[1];
const RWLOCK: u32 = 2;
const CONDITIONS: [u32; 2] = [3, 4];
const SEMAPHORES: [u32; 2] = [5, 6];
const BARRIER: u32 = 7;
const ONCES: [u32; 2] = [8, 9];
const SOURCES: [u32; 2] = [10, 11];

struct Random(fastrand::Rng);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.u64(..bound)
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn one_of(&mut self, objects: [u32; 2]) -> u32 {
        // Mostly the first, so that threads meet.
        objects[usize::from(self.chance(25))]
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Mood {
    NotForked,
    NotBegun,
    Running,
    /// Waits on a condition with a lock.
    Waiting(Wait),
    InBarrier(u32),
    InOnce(u32),
    Ended,
}

/// A wait, by the number of the event that begins it.
#[derive(Clone, Copy, PartialEq)]
struct Wait {
    begin: usize,
    condition: u32,
    lock: u32,
    depth: u32,
    times_out: bool,
}

/// How a thread's life shows in the trace.
#[derive(Clone, Copy, PartialEq)]
enum Life {
    /// It has a `begin`, and an `end` if it ends.
    Told,
    /// It has neither, as in traces of other tools.
    Untold,
    /// It has no event at all.
    Silent,
}

/// Which kinds of synchronization a trace leans on, so that short traces have depth in some.
#[derive(Clone, Copy, PartialEq)]
enum Flavour {
    Conditions,
    Semaphores,
    ReadersAndWriters,
    Rounds,
    Heap,
    Outside,
    Onces,
    /// Waits that compete for notifies.
    Waits,
    /// Waits that signal handlers interrupt.
    Handlers,
    /// Chains of weak atomics.
    Flags,
    AtomicLocks,
    /// Atomic words that threads change step by step.
    Words,
    /// Flags that threads set and clear under a lock.
    Guarded,
    /// A few cells that are read and written under one lock, with few values.
    List,
    /// Locks taken within others.
    Locks,
    /// Blocks that are allocated, freed and accessed under locks.
    LockedHeap,
    /// Locks that are given back and taken again, with the same memory accessed under both.
    TakenAgain,
    /// The same few values, written again and again, with waits of every kind in between.
    Repeated,
    Everything,
}

const FLAVOURS: [Flavour; 15] = [
    Flavour::Conditions,
    Flavour::Conditions,
    Flavour::Semaphores,
    Flavour::ReadersAndWriters,
    Flavour::Rounds,
    Flavour::Heap,
    Flavour::Outside,
    Flavour::Onces,
    Flavour::Waits,
    Flavour::Handlers,
    Flavour::Flags,
    Flavour::AtomicLocks,
    Flavour::Words,
    Flavour::Guarded,
    Flavour::Everything,
];

struct World {
    random: Random,
    mood: Vec<Mood>,
    life: Vec<Life>,
    memory: BTreeMap<u64, u8>,
    owner: BTreeMap<u32, (usize, u32)>,
    readers: BTreeMap<(u32, usize), u32>,
    /// Waits in a wait set: by their beginnings, who waits on what.
    waiting: BTreeMap<usize, (usize, u32)>,
    woken: BTreeSet<usize>,
    /// By thread: the waits that its signal handlers interrupt, innermost last.
    interrupted: Vec<Vec<Wait>>,
    handlers: bool,
    count: BTreeMap<u32, u32>,
    entered: u32,
    once_done: BTreeSet<u32>,
    once_taken: BTreeSet<u32>,
    /// Blocks that live: where each begins, and its size.
    blocks: BTreeMap<u64, u64>,
    ever_allocated: bool,
    /// Threads whose stack is a block.
    stacks: BTreeSet<usize>,
    atomics_only: bool,
    branches: bool,
    foreign_unlock: bool,
    flavour: Flavour,
    /// Atomics that are locks, and flags under locks: who has them.
    taken: BTreeMap<u64, usize>,
    /// Atomic words: by address and bit, how often a thread has set it, or raised what is counted there.
    steps: BTreeMap<(u64, u64, usize), u32>,
    events: Vec<Event>,
}

/// A valid trace; the same for the same seed.
pub fn generate(seed: u64) -> (Tables, Vec<Event>) {
    let mut random = Random(fastrand::Rng::with_seed(seed));
    let threads = 2 + random.below(3) as usize;
    let flavour = FLAVOURS[random.below(FLAVOURS.len() as u64) as usize];
    generate_with(random, threads, flavour)
}

/// One in which threads change words step by step: atomic ones, or flags under a lock.
pub fn generate_words(seed: u64) -> (Tables, Vec<Event>) {
    let mut random = Random(fastrand::Rng::with_seed(seed));
    let threads = 2 + random.below(3) as usize;
    let flavour = match random.chance(50) {
        true => Flavour::Words,
        false => Flavour::Guarded,
    };
    generate_with(random, threads, flavour)
}

/// One in which threads read and write a few cells under one lock, and the same values again and again.
pub fn generate_list(seed: u64) -> (Tables, Vec<Event>) {
    let mut random = Random(fastrand::Rng::with_seed(seed));
    let threads = 2 + random.below(3) as usize;
    generate_with(random, threads, Flavour::List)
}

/// One in which threads take locks within others.
pub fn generate_nested(seed: u64) -> (Tables, Vec<Event>) {
    let mut random = Random(fastrand::Rng::with_seed(seed));
    let threads = 2 + random.below(3) as usize;
    generate_with(random, threads, Flavour::Locks)
}

/// One in which threads free, under locks, what others access under locks.
pub fn generate_freeing(seed: u64) -> (Tables, Vec<Event>) {
    let mut random = Random(fastrand::Rng::with_seed(seed));
    let threads = 2 + random.below(3) as usize;
    generate_with(random, threads, Flavour::LockedHeap)
}

/// One in which threads leave critical sections, and enter others on the same locks, with the same memory in both.
pub fn generate_interrupted(seed: u64) -> (Tables, Vec<Event>) {
    let mut random = Random(fastrand::Rng::with_seed(seed));
    let threads = 2 + random.below(2) as usize;
    generate_with(random, threads, Flavour::TakenAgain)
}

/// One in which threads write and read the same few values again and again, and wait in between.
pub fn generate_repeating(seed: u64) -> (Tables, Vec<Event>) {
    let mut random = Random(fastrand::Rng::with_seed(seed));
    let threads = 2 + random.below(3) as usize;
    generate_with(random, threads, Flavour::Repeated)
}

fn generate_with(mut random: Random, threads: usize, flavour: Flavour) -> (Tables, Vec<Event>) {
    // Two waits that compete for one notify take many events, and so does what a chain of flags orders.
    let length = match flavour {
        Flavour::Waits | Flavour::Handlers | Flavour::Flags | Flavour::AtomicLocks | Flavour::Words => {
            20 + random.below(12)
        }
        // Each change of a flag takes four events.
        Flavour::Guarded => 28 + random.below(14),
        Flavour::List => 30 + random.below(20),
        Flavour::Locks => 24 + random.below(16),
        Flavour::LockedHeap => 16 + random.below(16),
        Flavour::TakenAgain | Flavour::Repeated => 14 + random.below(16),
        // Several rounds, with other threads in each.
        Flavour::Rounds => 18 + random.below(12),
        _ => 10 + random.below(14),
    } as usize;
    let initial = [random.below(2) as u32, random.below(3) as u32];
    let unrecorded = random.chance(15);
    let drop = if random.chance(15) {
        1 + random.below(6) as usize
    } else {
        0
    };
    let atomics_only = random.chance(10);
    let branches = random.chance(25);
    let foreign_unlock = random.chance(15);
    let handlers = flavour == Flavour::Handlers || random.chance(30);
    let untold = random.chance(20);
    let lives = (0..threads).map(|thread| match random.below(20) {
        0..4 if thread > 0 && threads > 2 => Life::Silent,
        0..10 if untold => Life::Untold,
        _ => Life::Told,
    });
    let life: Vec<Life> = lives.collect();
    let mut world = World {
        random,
        mood: vec![Mood::NotForked; threads],
        life,
        memory: BTreeMap::new(),
        owner: BTreeMap::new(),
        readers: BTreeMap::new(),
        waiting: BTreeMap::new(),
        woken: BTreeSet::new(),
        interrupted: vec![Vec::new(); threads],
        handlers,
        count: SEMAPHORES.into_iter().zip(initial).collect(),
        entered: 0,
        once_done: BTreeSet::new(),
        once_taken: BTreeSet::new(),
        blocks: BTreeMap::new(),
        ever_allocated: false,
        stacks: BTreeSet::new(),
        atomics_only,
        branches,
        foreign_unlock,
        flavour,
        taken: BTreeMap::new(),
        steps: BTreeMap::new(),
        events: Vec::new(),
    };
    world.run(length, unrecorded);
    let images = images(&mut world.random);
    let tables = Tables {
        images,
        ..tables(threads, initial, branches, foreign_unlock)
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

/// What memory held that was always there: mostly nobody says so, or all was zero; sometimes some of it was not, or is a
/// thread's own.
fn images(random: &mut Random) -> Vec<ImageInfo> {
    if !random.chance(40) {
        return Vec::new();
    }
    let image = |before, addr, size, bytes| ImageInfo {
        before,
        addr,
        size,
        bytes: Some(bytes),
    };
    let mut images = vec![image(0, 0x1000, 0x8000, Vec::new())];
    if random.chance(30) {
        let own = || image(0, NOBODYS, 0x1000, Vec::new());
        images.push(own());
        images.push(image(0, 0x1000, 0x1008, Vec::new()));
        images.push(own());
    }
    if random.chance(30) {
        let bytes = (0..6).map(|_| random.below(2) as u8).collect();
        images.push(image(random.below(4), 0x1000 + 0x1000 * random.below(6), 12, bytes));
    }
    images
}

fn tables(threads: usize, initial: [u32; 2], control_flow_recorded: bool, foreign_unlock: bool) -> Tables {
    let object = |kind, initial| ObjectInfo {
        kind,
        addr: 0,
        name: None,
        initial,
    };
    Tables {
        meta: Meta {
            control_flow_recorded,
            foreign_unlock,
            ..Meta::default()
        },
        threads: vec![ThreadInfo::default(); threads],
        objects: vec![
            object(ObjectKind::RecursiveMutex, 0),
            // PLAIN, where threads give back locks of others.
            match foreign_unlock {
                true => object(ObjectKind::Mutex, 0),
                false => object(ObjectKind::RecursiveMutex, 0),
            },
            object(ObjectKind::RwLock, 0),
            object(ObjectKind::Condition, 0),
            object(ObjectKind::Condition, 0),
            object(ObjectKind::Semaphore, initial[0]),
            object(ObjectKind::Semaphore, initial[1]),
            object(ObjectKind::Barrier, 0),
            object(ObjectKind::Once, 0),
            object(ObjectKind::Once, 0),
            object(ObjectKind::Source, 0),
            object(ObjectKind::Source, 0),
        ],
        ..Tables::default()
    }
}

impl World {
    fn run(&mut self, length: usize, unrecorded: bool) {
        let threads = self.mood.len();
        self.mood[0] = Mood::NotBegun;
        // A thread that is there from the start, without a fork.
        if threads > 2 && self.random.chance(30) {
            self.mood[threads - 1] = Mood::NotBegun;
        }
        let begin_early = matches!(
            self.flavour,
            Flavour::List | Flavour::Locks | Flavour::LockedHeap | Flavour::TakenAgain | Flavour::Repeated
        );
        if begin_early && self.random.chance(60) {
            self.mood.fill(Mood::NotBegun);
        }
        let mut tries = 0;
        while self.events.len() < length && tries < 40 * length {
            tries += 1;
            if unrecorded && self.random.chance(8) {
                self.change_unrecorded();
            }
            let thread = self.random.below(threads as u64) as usize;
            if self.life[thread] != Life::Silent {
                self.step(thread);
            }
        }
    }

    fn emit(&mut self, thread: usize, op: Op) {
        // A few positions per thread, so that a pair of positions has several instances; where flags order
        // them, each its own, or nearly every pair would race at once somewhere.
        let position = match self.flavour {
            Flavour::Flags => self.events.len() as u64,
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
                if self.life[thread] == Life::Told {
                    self.emit(thread, Op::Begin);
                    self.begin_stack(thread);
                }
            }
            // A signal handler, perhaps within another one.
            Mood::Waiting(wait) if self.handlers && self.random.chance(25) => {
                self.interrupted[thread].push(wait);
                self.mood[thread] = Mood::Running;
                self.handle(thread);
            }
            Mood::Waiting(wait) => self.end_wait(thread, wait),
            // A signal handler, while the thread waits for the others.
            Mood::InBarrier(_) if self.handlers && self.random.chance(30) => self.access(thread),
            Mood::InBarrier(round) => self.leave_barrier(thread, round),
            Mood::InOnce(once) if self.random.chance(50) => {
                self.mood[thread] = Mood::Running;
                self.once_done.insert(once);
                self.emit(thread, Op::OnceEnd { once: ObjectId(once) });
            }
            Mood::InOnce(_) => self.access(thread),
            Mood::Running if !self.interrupted[thread].is_empty() => match self.random.chance(35) {
                true => self.mood[thread] = self.interrupted[thread].pop().map_or(Mood::Running, Mood::Waiting),
                false => self.handle(thread),
            },
            Mood::Running => self.act(thread),
        }
    }

    /// What a signal handler does: often it touches what its thread waits with.
    fn handle(&mut self, thread: usize) {
        match self.random.below(100) {
            0..35 => self.access(thread),
            35..55 => self.lock(thread),
            55..80 => self.condition(thread),
            _ => self.act(thread),
        }
    }

    fn act(&mut self, thread: usize) {
        let choice = self.random.below(100);
        match self.flavour {
            Flavour::AtomicLocks => match choice {
                0..12 => self.thread_life(thread),
                12..35 => self.access(thread),
                _ => self.atomic_lock(thread),
            },
            Flavour::Guarded => match choice {
                0..10 => self.thread_life(thread),
                10..25 => self.access(thread),
                25..30 => self.lock(thread),
                _ => self.guarded(thread),
            },
            Flavour::List => match choice {
                0..6 => self.thread_life(thread),
                6..20 => self.access(thread),
                20..22 => self.condition(thread),
                22..30 => self.rwlock(thread),
                30..38 => self.list(thread, RWLOCK),
                _ => self.list(thread, MUTEXES[0]),
            },
            Flavour::Words => match choice {
                0..12 => self.thread_life(thread),
                12..40 => self.access(thread),
                _ => self.word(thread),
            },
            Flavour::Locks => match choice {
                0..20 => self.thread_life(thread),
                20..25 => self.access(thread),
                25..28 => self.condition(thread),
                _ => self.nested_lock(thread),
            },
            Flavour::LockedHeap => {
                let holds = self.owner.values().any(|&(owner, _)| owner == thread);
                match choice {
                    0..6 => self.thread_life(thread),
                    6..9 => self.semaphore(thread),
                    9..12 => self.condition(thread),
                    12..60 if holds => self.heap(thread),
                    60..80 if holds => self.access(thread),
                    12..18 => self.heap(thread),
                    18..24 => self.access(thread),
                    _ => self.lock(thread),
                }
            }
            Flavour::TakenAgain => {
                let holds = self.owner.values().any(|&(owner, _)| owner == thread);
                match choice {
                    0..6 => self.thread_life(thread),
                    6..9 => self.condition(thread),
                    9..12 => self.rwlock(thread),
                    12..55 if holds => self.access(thread),
                    12..18 => self.access(thread),
                    _ => self.lock(thread),
                }
            }
            Flavour::Repeated => match choice {
                0..5 => self.thread_life(thread),
                5..65 => self.repeat(thread),
                65..75 => self.lock(thread),
                75..88 => self.condition(thread),
                88..96 => self.semaphore(thread),
                _ => self.once(thread),
            },
            Flavour::Flags => match choice {
                0..8 => self.thread_life(thread),
                8..40 => self.access(thread),
                40..50 => self.lock(thread),
                58..66 => self.condition(thread),
                50..58 => {
                    let order = MemoryOrder::from_c(self.random.below(6) as u8);
                    self.emit(thread, Op::Fence { order });
                }
                _ => self.flag(thread),
            },
            // What a write depends on takes a few accesses and a branch that comes late.
            _ if self.branches && self.random.chance(55) => match choice {
                0..8 => self.thread_life(thread),
                8..88 => self.access(thread),
                88..95 => self.emit(thread, Op::Branch),
                _ => self.lock(thread),
            },
            Flavour::Waits | Flavour::Handlers => match choice {
                0..10 => self.thread_life(thread),
                10..25 => self.access(thread),
                25..55 => self.lock(thread),
                _ => self.condition(thread),
            },
            Flavour::Rounds => match choice {
                0..16 => self.thread_life(thread),
                16..50 => self.access(thread),
                50..54 => self.lock(thread),
                _ => self.round(thread),
            },
            Flavour::Everything => match choice {
                0..12 => self.thread_life(thread),
                12..45 => self.access(thread),
                45..65 => self.lock(thread),
                _ => self.lean(thread, choice),
            },
            _ => match choice {
                0..14 => self.thread_life(thread),
                14..42 => self.access(thread),
                42..54 => self.lock(thread),
                _ => self.lean(thread, 0),
            },
        }
    }

    /// Does what the trace leans on.
    fn lean(&mut self, thread: usize, choice: u64) {
        match (self.flavour, choice) {
            (Flavour::Conditions, _) => self.condition(thread),
            (Flavour::Semaphores, _) => self.semaphore(thread),
            (Flavour::ReadersAndWriters, _) => self.rwlock(thread),
            (Flavour::Rounds, _) => self.round(thread),
            (Flavour::Heap, _) => self.heap(thread),
            (Flavour::Outside, _) => self.outside(thread),
            (Flavour::Onces, _) => self.once(thread),
            (_, 65..72) => self.condition(thread),
            (_, 72..78) => self.semaphore(thread),
            (_, 78..84) => self.rwlock(thread),
            (_, 84..88) => self.round(thread),
            (_, 88..92) => self.once(thread),
            (_, 92..96) => self.heap(thread),
            _ => self.outside(thread),
        }
    }

    /// Forks a thread, joins one, or ends its own.
    fn thread_life(&mut self, thread: usize) {
        let child = self.random.below(self.mood.len() as u64) as usize;
        let id = ThreadId(child as u32);
        match self.mood[child] {
            Mood::NotForked => {
                self.mood[child] = Mood::NotBegun;
                self.emit(thread, Op::Fork { child: id });
            }
            // It has done all that it ever does.
            Mood::NotBegun if self.life[child] == Life::Silent && child != thread => {
                self.emit(
                    thread,
                    Op::Join {
                        child: id,
                        attempt: false,
                    },
                );
            }
            Mood::Ended => self.emit(
                thread,
                Op::Join {
                    child: id,
                    attempt: false,
                },
            ),
            _ if child == thread && self.random.chance(25) => {
                let holds = self.owner.values().any(|&(owner, _)| owner == thread)
                    || self.readers.keys().any(|&(_, reader)| reader == thread);
                if !holds && self.life[thread] == Life::Told {
                    self.mood[thread] = Mood::Ended;
                    self.emit(thread, Op::End);
                } else if !holds && self.events.iter().any(|event| event.thread == id) {
                    self.mood[thread] = Mood::Ended;
                }
            }
            _ => {}
        }
    }
}
