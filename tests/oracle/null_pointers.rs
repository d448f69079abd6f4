//! Null pointers, against exhaustive search: on traces of threads that set pointers and clear them, and follow them,
//! under locks or not.
//!
//! Section 3 of `docs/SEMANTICS.md` says which reads are followed, and when one could see 0. Each row that the analysis
//! gives has to be one of these; a read that can see 0 and has no row is counted, since only the nearest writes of 0 are
//! asked about.

use super::execution::Execution;
use super::other_values::shown;
use super::states::each_state;
use super::{LIMIT, compare_all, every_instance, solver_of};
use std::collections::BTreeSet;
use trace_format::{
    Event, EventId, MemRange, MemoryOrder, ObjectId, ObjectInfo, ObjectKind, Op, StackId, Tables, ThreadId, ThreadInfo,
};
use witness::analyze::{Options, Solver, analyze};
use witness::check::{Checker, validate};
use witness::schedule::Goal;
use witness::trace::Trace;
use witness::verdict::{Find, Kind, Verdict};

pub const POINTERS: [u64; 2] = [0x1000, 0x1008];
const TARGETS: [u64; 2] = [0x10_000, 0x20_000];

/// Where the threads' stacks are, and how long each is; and memory that is on none.
const STACKS: u64 = 0x80_0000;
const STACK: u64 = 64;
const ELSEWHERE: u64 = 0x3000;

/// A run of two or three threads.
pub struct Making {
    pub random: fastrand::Rng,
    pub events: Vec<Event>,
    pub memory: std::collections::BTreeMap<u64, u64>,
    owner: [Option<u32>; 2],
    has_stacks: bool,
}

impl Making {
    /// Nothing has happened, and memory holds this.
    pub fn new(random: fastrand::Rng, memory: std::collections::BTreeMap<u64, u64>) -> Making {
        Making {
            random,
            events: Vec::new(),
            memory,
            owner: [None; 2],
            has_stacks: false,
        }
    }

    pub fn emit(&mut self, thread: u32, op: Op) {
        self.events.push(Event {
            thread: ThreadId(thread),
            pc: 0x100 * (u64::from(thread) + 1) + self.random.u64(..6),
            stack: StackId::EMPTY,
            op,
        });
    }

    pub fn value(&self, addr: u64) -> u64 {
        self.memory.get(&addr).copied().unwrap_or_default()
    }

    pub fn read(&mut self, thread: u32, addr: u64) -> u64 {
        let (mem, value) = (MemRange { addr, size: 8 }, self.value(addr));
        let order = MemoryOrder::SeqCst;
        let op = match self.random.bool() {
            true => Op::Read { mem, value },
            false => Op::AtomicLoad { mem, value, order },
        };
        self.emit(thread, op);
        value
    }

    pub fn write(&mut self, thread: u32, addr: u64, value: u64) {
        self.memory.insert(addr, value);
        let (mem, order) = (MemRange { addr, size: 8 }, MemoryOrder::SeqCst);
        let op = match self.random.bool() {
            true => Op::Write { mem, value },
            false => Op::AtomicStore { mem, value, order },
        };
        self.emit(thread, op);
    }

    pub fn one_of<const N: usize>(&mut self, some: [u64; N]) -> u64 {
        some[self.random.usize(..N)]
    }

    /// Reads a pointer, and most often follows it.
    pub fn follow(&mut self, thread: u32) {
        let addr = self.one_of(POINTERS);
        let pointer = self.read(thread, addr);
        if pointer != 0 && self.random.u32(..5) > 0 {
            if self.has_stacks && self.random.bool() {
                self.copy(thread, pointer);
            }
            // Sometimes too far behind it.
            let at = pointer + [0, 8, 4088, 4096][self.random.usize(..4)];
            match self.random.bool() {
                true => drop(self.read(thread, at)),
                false => self.write(thread, at, 7),
            }
        }
    }

    /// Copies it to the thread's own stack, most often, and reads it there.
    fn copy(&mut self, thread: u32, value: u64) {
        let addr = match self.random.u32(..6) {
            0 => ELSEWHERE,
            1 => STACKS + u64::from(1 - thread % 2) * STACK,
            _ => STACKS + u64::from(thread) * STACK + 8 * self.random.u64(..2),
        };
        let mem = MemRange { addr, size: 8 };
        // Now and then it is something else.
        let value = match self.random.u32(..6) {
            0 => self.one_of(TARGETS),
            _ => value,
        };
        self.emit(thread, Op::Write { mem, value });
        self.emit(thread, Op::Read { mem, value });
    }

    /// Lets each thread begin on a stack of its own.
    pub fn begin(&mut self, threads: u32) {
        self.has_stacks = true;
        for thread in 0..threads {
            let addr = STACKS + u64::from(thread) * STACK;
            self.emit(thread, Op::Begin);
            self.emit(thread, Op::Alloc { addr, size: STACK });
        }
    }

    /// Takes a lock, or gives one back.
    pub fn lock(&mut self, thread: u32) {
        let at = self.random.usize(..2);
        let lock = ObjectId(at as u32);
        match self.owner[at] {
            None => {
                self.owner[at] = Some(thread);
                self.emit(thread, Op::Acquire { lock, attempt: false });
            }
            Some(owner) if owner == thread => {
                self.owner[at] = None;
                self.emit(thread, Op::Release { lock });
            }
            Some(_) => {}
        }
    }

    /// The run, as a trace.
    pub fn into_trace(self, threads: u32) -> (Tables, Vec<Event>) {
        let lock = || ObjectInfo {
            kind: ObjectKind::Mutex,
            addr: 0,
            name: None,
            initial: 0,
        };
        let tables = Tables {
            threads: vec![ThreadInfo::default(); threads as usize],
            objects: vec![lock(), lock()],
            ..Tables::default()
        };
        (tables, self.events)
    }

    fn step(&mut self, thread: u32) {
        match self.random.u32(..10) {
            0..5 => self.lock(thread),
            5..7 => {
                let (addr, target) = (self.one_of(POINTERS), self.one_of(TARGETS));
                let value = if self.random.bool() { 0 } else { target };
                self.write(thread, addr, value);
            }
            _ => self.follow(thread),
        }
    }
}

fn generate(seed: u64) -> (Tables, Vec<Event>) {
    let mut random = fastrand::Rng::with_seed(seed);
    let (threads, length) = (random.u32(2..4), random.usize(8..18));
    let memory = match random.bool() {
        true => POINTERS.into_iter().zip(TARGETS).collect(),
        false => std::collections::BTreeMap::new(),
    };
    let mut making = Making::new(random, memory);
    if making.random.u32(..3) == 0 {
        making.begin(threads);
    }
    let length = length + making.events.len();
    while making.events.len() < length {
        let thread = making.random.u32(..threads);
        making.step(thread);
    }
    making.into_trace(threads)
}

/// Whether its thread follows what a read got.
pub fn is_followed(execution: &Execution, read: EventId) -> bool {
    follower(execution, read).is_some()
}

/// The event by which its thread follows what a read got, if it does.
pub fn follower(execution: &Execution, read: EventId) -> Option<EventId> {
    let (mem, value) = match *execution.op(read) {
        Op::Read { mem, value } | Op::AtomicLoad { mem, value, .. } => (mem, value),
        _ => return None,
    };
    let own = execution.of_thread(execution.thread(read));
    let mut behind = execution.place(read) as usize + 1;
    while is_copied(execution, own, behind, value) {
        behind += 2;
    }
    let &next = own.get(behind)?;
    let addr = match *execution.op(next) {
        Op::Read { mem, .. } | Op::Write { mem, .. } => mem.addr,
        Op::AtomicLoad { mem, .. } | Op::AtomicStore { mem, .. } => mem.addr,
        _ => return None,
    };
    (mem.size == 8 && value != 0 && (value..value + 4096).contains(&addr)).then_some(next)
}

/// Whether the two events of a thread from one on are a write of this value to its own stack and a read of it there.
fn is_copied(execution: &Execution, own: &[EventId], from: usize, pointer: u64) -> bool {
    let (Some(&to), Some(&back)) = (own.get(from), own.get(from + 1)) else {
        return false;
    };
    let (Op::Begin, Op::Alloc { addr, size }) = (execution.op(own[0]), execution.op(own[1])) else {
        return false;
    };
    match (execution.op(to), execution.op(back)) {
        (
            Op::Write { mem, value },
            Op::Read {
                mem: again,
                value: seen,
            },
        ) => (mem, *value, *seen, mem.size) == (again, pointer, pointer, 8) && (*addr..addr + size).contains(&mem.addr),
        _ => false,
    }
}

fn addr_of(op: &Op) -> Option<u64> {
    match op {
        Op::Read { mem, .. } | Op::Write { mem, .. } => Some(mem.addr),
        Op::AtomicLoad { mem, .. } | Op::AtomicStore { mem, .. } => Some(mem.addr),
        _ => None,
    }
}

#[derive(Default)]
struct Counts {
    followed: u64,
    may_be_null: u64,
    rows: u64,
    by_itself: u64,
    not_found: u64,
}

fn compare(tables: &Tables, events: &[Event], solver: Solver, counts: &mut Counts) -> Result<(), String> {
    let execution = Execution::new(tables, events);
    let trace = Trace::from_events(tables.clone(), events);
    validate(&trace).map_err(|violation| format!("the trace itself is refused: {violation}"))?;
    let followed: BTreeSet<EventId> = execution.ids().filter(|&read| is_followed(&execution, read)).collect();
    let mut null: BTreeSet<EventId> = BTreeSet::new();
    let all = each_state(&execution, LIMIT / 4, &mut |state, _, next| {
        let sees_null = |read: &&EventId| shown(&execution, state, **read) == Some(Some(0));
        null.extend(next.iter().filter(|read| followed.contains(read)).filter(sees_null));
        Ok(())
    })?;
    if !all {
        return Ok(());
    }
    counts.followed += followed.len() as u64;
    counts.may_be_null += null.len() as u64;
    let options = Options {
        find: Find::of(&[Kind::NullPointer]),
        solver,
        ..every_instance()
    };
    let analysis = analyze(&trace, &options);
    if let Some(rejected) = analysis.rejected.first() {
        return Err(format!("the checker rejected a schedule: {}", rejected.reason));
    }
    let mut found = BTreeSet::new();
    for pair in &analysis.pairs {
        let Verdict::Witnessed(schedule) = &pair.verdict else {
            return Err(format!("a row that is not witnessed: {pair:?}"));
        };
        let Goal::OtherValue { read, value: Some(0) } = schedule.goal else {
            return Err(format!("another goal: {:?}", schedule.goal));
        };
        if !null.contains(&read) || Checker::new(&trace).check(schedule).is_err() {
            return Err(format!("{read:?} does not see 0, or is not followed"));
        }
        found.insert(execution.pc(read));
        counts.rows += 1;
    }
    // What a thread itself has cleared, it is not told of.
    let by_itself = |read: EventId| {
        let addr = addr_of(execution.op(read));
        let own = execution.of_thread(execution.thread(read)).iter();
        let mut before = own.take_while(|&&event| event < read);
        before.any(|&event| {
            matches!(
                *execution.op(event),
                Op::Write { value: 0, .. } | Op::AtomicStore { value: 0, .. }
            ) && addr_of(execution.op(event)) == addr
        })
    };
    let without = null.iter().filter(|&&read| !found.contains(&execution.pc(read)));
    let (own, others): (Vec<EventId>, Vec<EventId>) = without.partition(|&&read| by_itself(read));
    counts.by_itself += own.len() as u64;
    counts.not_found += others.len() as u64;
    Ok(())
}

#[test]
fn null_pointers_are_reads_that_can_see_0() {
    let mut counts = Counts::default();
    let compared = compare_all("null", generate, &mut |seed, tables, events| {
        compare(tables, events, solver_of(seed), &mut counts)
    });
    let traces = compared.traces;
    let Counts {
        followed,
        may_be_null,
        rows,
        by_itself,
        not_found,
    } = counts;
    println!(
        "{traces} traces: {followed} reads that are followed, of which {may_be_null} can see 0; {rows} rows; without \
         one {by_itself} of which the thread itself wrote 0, and {not_found} others"
    );
    compared.or_panic();
    if traces >= 2_000 {
        assert!(
            may_be_null > 200 && may_be_null < followed,
            "the generator has become too tame"
        );
        assert!(not_found * 50 < may_be_null, "too many null pointers are not found");
    }
}
