//! What programs do: docs/SEMANTICS.md, section 1, read once more, for the interpreter and the oracle. It shares no
//! code with what is tested.

use crate::program::{Instruction, Program, REGISTERS, Register, Term};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A history of a thread, without rounds that change nothing: the history before, and one entry more. It begins with
/// the history of the parent that forked the thread, so that it is a name for the thread, too. Equal histories are
/// equal numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct History(u32);

/// Every history that was met, by number, and the number of each.
#[derive(Default)]
struct Histories {
    all: Vec<(History, Entry)>,
    known: HashMap<(History, Entry), History>,
}

thread_local! {
    static HISTORIES: RefCell<Histories> = RefCell::default();
}

impl History {
    /// That of the first thread before it begins.
    pub const EMPTY: History = History(0);

    /// One entry more.
    pub fn then(self, entry: Entry) -> History {
        HISTORIES.with_borrow_mut(|Histories { all, known }| {
            let key = (self, entry);
            *known.entry(key.clone()).or_insert_with(|| {
                all.push(key);
                History(all.len() as u32)
            })
        })
    }

    /// Of the thread that is forked by the last entry: before it begins.
    pub fn child(self) -> History {
        self.then((usize::MAX, Half::Begin, Result::Done))
    }

    /// All entries.
    pub fn entries(mut self) -> Vec<Entry> {
        let mut entries = Vec::new();
        while let Some(before) = self.0.checked_sub(1) {
            let (history, entry) = HISTORIES.with_borrow(|histories| histories.all[before as usize].clone());
            entries.push(entry);
            self = history;
        }
        entries.reverse();
        entries
    }
}

/// What a register or a variable holds.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Value {
    Number(i64),
    /// A block, by which one of which thread, and the byte.
    Address(usize, u64),
    Thread(usize),
}

/// How an operation turned out for its thread.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Result {
    Done,
    Saw(i64),
    SawAddress(History, u64),
    Failed,
    Chosen,
}

/// One step of a history: where it was, and how it turned out.
pub type Entry = (usize, Half, Result);

/// Instructions that are two operations have a second half.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Half {
    /// The thread begins.
    Begin,
    First,
    Second,
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Waits {
    No,
    Asleep,
    Woken,
    TimedOut,
    Arrived,
    Complete,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Thread {
    pub pc: usize,
    pub half: Half,
    pub registers: [Value; REGISTERS],
    pub waits: Waits,
    depth: u32,
    pub ended: bool,
    /// Its history before it began.
    pub name: History,
    /// What it did, without rounds that change nothing.
    pub history: History,
    /// What it was, with what history, before each operation since the last one that others can tell.
    since: Vec<(Own, History)>,
}

/// All that a thread's future depends on, besides what others can change.
pub type Own = (usize, Half, [Value; REGISTERS]);

impl Thread {
    pub fn own(&self) -> Own {
        (self.pc, self.half, self.registers.clone())
    }
}

/// Memory: variables, then cells of blocks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Cell {
    Variable(usize),
    Block(usize, u64),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct World {
    pub threads: Vec<Thread>,
    /// 0 if not there.
    memory: BTreeMap<Cell, Value>,
    owner: BTreeMap<usize, (usize, u32)>,
    readers: BTreeMap<(usize, usize), u32>,
    counts: Vec<u32>,
    arrived: BTreeMap<usize, u32>,
    once: BTreeMap<usize, bool>,
    /// By whom each block was allocated: the thread's history then.
    pub blocks: Vec<History>,
    freed: BTreeSet<usize>,
}

/// How an access touches memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    pub writes: bool,
    pub atomic: bool,
}

/// What a thread may do, where the scheduler has a choice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Way {
    Only,
    Wake(usize),
    TimeOut,
}

/// What was performed, as a recorder would tell it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Performed {
    pub thread: usize,
    pub pc: usize,
    pub half: Half,
    pub instruction: Instruction,
    /// Registers before.
    pub registers: [Value; REGISTERS],
    pub result: Result,
    /// What a read saw, and what an atomic operation wrote.
    pub saw: Option<Value>,
    pub wrote: Option<Value>,
    /// Whether it read a block that was freed before.
    pub saw_freed: bool,
}

impl World {
    pub fn start(program: &Program) -> World {
        let mut world = World {
            threads: Vec::new(),
            memory: BTreeMap::new(),
            owner: BTreeMap::new(),
            readers: BTreeMap::new(),
            counts: program.counts.clone(),
            arrived: BTreeMap::new(),
            once: BTreeMap::new(),
            blocks: Vec::new(),
            freed: BTreeSet::new(),
        };
        let zero = std::array::from_fn(|_| Value::Number(0));
        world.fork(0, zero, History::EMPTY);
        world
    }

    fn fork(&mut self, pc: usize, registers: [Value; REGISTERS], history: History) {
        self.threads.push(Thread {
            pc,
            half: Half::Begin,
            registers,
            waits: Waits::No,
            depth: 0,
            ended: false,
            history,
            name: history,
            since: Vec::new(),
        });
    }

    /// The instruction that a thread comes to next; `None` after its end.
    pub fn pending(&self, program: &Program, thread: usize) -> Option<Instruction> {
        let thread = &self.threads[thread];
        (!thread.ended).then(|| program.code[thread.pc])
    }

    pub fn term(registers: &[Value; REGISTERS], term: Term) -> Value {
        match term {
            Term::Number(number) => Value::Number(number),
            Term::Plus(register, more) => match registers[register] {
                Value::Number(number) => Value::Number(number + more),
                Value::Thread(_) => Value::Number(1),
                ref other => other.clone(),
            },
        }
    }

    pub fn block(&self, thread: usize, register: Register) -> Option<usize> {
        match self.threads[thread].registers[register] {
            Value::Address(block, _) => Some(block),
            _ => None,
        }
    }

    /// Whether a thread holds a lock exclusively.
    pub fn is_owned(&self, lock: usize) -> bool {
        self.owner.contains_key(&lock)
    }

    /// Whether a thread that cannot go on waits for what another one has in hand: for a lock that it holds, or its end.
    pub fn waits_for(&self, program: &Program, thread: usize, other: usize) -> bool {
        let holds = |lock: usize, shared: bool| {
            let owns = self.owner.get(&lock).is_some_and(|&(owner, _)| owner == other);
            owns || !shared && self.readers.contains_key(&(lock, other))
        };
        match self.pending(program, thread) {
            Some(Instruction::Lock { lock, shared }) => holds(lock, shared),
            Some(Instruction::Wait { lock, .. } | Instruction::WaitFor { lock, .. }) => holds(lock, false),
            Some(Instruction::Join { handle }) => self.threads[thread].registers[handle] == Value::Thread(other),
            _ => false,
        }
    }

    fn free(&self, lock: usize) -> bool {
        !self.owner.contains_key(&lock) && !self.readers.keys().any(|&(read, _)| read == lock)
    }

    fn can_lock(&self, program: &Program, thread: usize, lock: usize, shared: bool) -> bool {
        match self.owner.get(&lock) {
            Some(&(owner, _)) => owner == thread && program.recursive[lock] && !shared,
            None => shared || self.free(lock),
        }
    }

    /// What a thread can do now. None if it waits, has ended, or fails.
    pub fn ways(&self, program: &Program, thread: usize) -> Vec<Way> {
        let me = &self.threads[thread];
        let Some(instruction) = self.pending(program, thread) else {
            return Vec::new();
        };
        if me.half == Half::Begin {
            return vec![Way::Only];
        }
        let only = |enabled: bool| if enabled { vec![Way::Only] } else { Vec::new() };
        match instruction {
            Instruction::Fail => Vec::new(),
            Instruction::Lock { lock, shared } => only(self.can_lock(program, thread, lock, shared)),
            Instruction::Wait { lock, .. } | Instruction::WaitFor { lock, .. } if me.half == Half::Second => {
                match me.waits {
                    Waits::Woken | Waits::TimedOut => only(self.free(lock)),
                    Waits::Asleep if matches!(instruction, Instruction::WaitFor { .. }) => vec![Way::TimeOut],
                    _ => Vec::new(),
                }
            }
            Instruction::Notify { condition } => {
                let asleep: Vec<Way> = self.asleep(program, condition).into_iter().map(Way::Wake).collect();
                if asleep.is_empty() { vec![Way::Only] } else { asleep }
            }
            Instruction::Take { semaphore } => only(self.counts[semaphore] > 0),
            Instruction::Barrier { .. } | Instruction::Enter { .. } if me.half == Half::Second => {
                only(me.waits == Waits::Complete)
            }
            Instruction::Once { once, .. } => only(self.once.get(&once) != Some(&false)),
            Instruction::Join { handle } => match me.registers[handle] {
                Value::Thread(child) => only(self.threads[child].ended),
                _ => only(true),
            },
            _ => vec![Way::Only],
        }
    }

    fn asleep(&self, program: &Program, condition: usize) -> Vec<usize> {
        let on = |thread: usize| matches!(program.code[self.threads[thread].pc], Instruction::Wait { condition: on, .. } | Instruction::WaitFor { condition: on, .. } if on == condition);
        let all = 0..self.threads.len();
        all.filter(|&thread| self.threads[thread].waits == Waits::Asleep && on(thread))
            .collect()
    }

    fn held(&self, cell: Cell) -> Value {
        self.memory.get(&cell).cloned().unwrap_or(Value::Number(0))
    }

    /// The cells that a pending instruction accesses, and how, if it were performed now.
    pub fn access(&self, program: &Program, thread: usize) -> Option<(Vec<Cell>, Access)> {
        let me = &self.threads[thread];
        if me.half == Half::Begin {
            return None;
        }
        let plain = |writes| Access { writes, atomic: false };
        let both = |block: usize| vec![Cell::Block(block, 0), Cell::Block(block, 4)];
        Some(match self.pending(program, thread)? {
            Instruction::Read { from, atomic, .. } => (vec![Cell::Variable(from)], Access { writes: false, atomic }),
            Instruction::Write { to, atomic, .. } => (vec![Cell::Variable(to)], Access { writes: true, atomic }),
            Instruction::Add { to, .. } => (
                vec![Cell::Variable(to)],
                Access {
                    writes: true,
                    atomic: true,
                },
            ),
            Instruction::Exchange { to, expected, .. } => {
                let cell = Cell::Variable(to);
                let writes = self.held(cell) == World::term(&me.registers, expected);
                (vec![cell], Access { writes, atomic: true })
            }
            Instruction::Use { of } => (
                vec![Cell::Variable(of)],
                Access {
                    writes: false,
                    atomic: true,
                },
            ),
            Instruction::ReadAt { block, offset, .. } => {
                (vec![Cell::Block(self.block(thread, block)?, offset)], plain(false))
            }
            Instruction::WriteAt { block, offset, .. } => {
                (vec![Cell::Block(self.block(thread, block)?, offset)], plain(true))
            }
            Instruction::ReadBoth { block, .. } => (both(self.block(thread, block)?), plain(false)),
            Instruction::WriteBoth { block, .. } => (both(self.block(thread, block)?), plain(true)),
            Instruction::Free { block } => (both(self.block(thread, block)?), plain(true)),
            _ => return None,
        })
    }

    /// Performs what a thread does next. `None` if only its time was over.
    pub fn step(&mut self, program: &Program, thread: usize, way: Way) -> Option<Performed> {
        if way == Way::TimeOut {
            self.threads[thread].waits = Waits::TimedOut;
            return None;
        }
        let before = self.clone();
        let instruction = self.pending(program, thread).expect("it has not ended");
        let own = before.threads[thread].own();
        let (pc, half) = (own.0, own.1);
        let mut performed = Performed {
            thread,
            pc,
            half,
            instruction,
            registers: own.2.clone(),
            result: Result::Done,
            saw: None,
            wrote: None,
            saw_freed: false,
        };
        let mut into: Option<(Register, Value)> = None;
        let mut next = (pc + 1, Half::First);
        if half == Half::Begin {
            next = (pc, Half::First);
        } else {
            self.perform(program, thread, way, &mut performed, &mut into, &mut next);
        }
        let name = |value: &Value| match value {
            Value::Number(number) => Result::Saw(*number),
            Value::Address(block, offset) => Result::SawAddress(before.blocks[*block], *offset),
            Value::Thread(_) => unreachable!("handles are not stored"),
        };
        if let Some(saw) = &performed.saw {
            performed.result = name(saw);
        }
        let me = &mut self.threads[thread];
        if let Some((register, value)) = into {
            me.registers[register] = value;
        }
        (me.pc, me.half) = next;
        me.settle(program);
        me.since.push((own, me.history));
        me.history = me.history.then((pc, half, performed.result.clone()));
        self.threads[thread].forget_rounds(&performed);
        Some(performed)
    }

    fn perform(
        &mut self,
        program: &Program,
        thread: usize,
        way: Way,
        performed: &mut Performed,
        into: &mut Option<(Register, Value)>,
        next: &mut (usize, Half),
    ) {
        let registers = performed.registers.clone();
        let (pc, half) = (performed.pc, performed.half);
        let term = |term: Term| World::term(&registers, term);
        let number = |flag: bool| Value::Number(i64::from(flag));
        // Blocks hold numbers.
        let small = |value: Term| match term(value) {
            Value::Number(number) => Value::Number(number),
            _ => Value::Number(7),
        };
        match performed.instruction {
            Instruction::Read { from, into: to, .. } => {
                let value = self.held(Cell::Variable(from));
                performed.saw = Some(value.clone());
                *into = Some((to, value));
            }
            Instruction::Write { to, value, .. } => {
                self.memory.insert(Cell::Variable(to), term(value));
            }
            Instruction::Add {
                to,
                value,
                into: register,
            } => {
                let old = self.held(Cell::Variable(to));
                let sum = match (&old, term(value)) {
                    (Value::Number(a), Value::Number(b)) => Value::Number(a + b),
                    _ => old.clone(),
                };
                self.memory.insert(Cell::Variable(to), sum.clone());
                (performed.saw, performed.wrote) = (Some(old.clone()), Some(sum));
                *into = Some((register, old));
            }
            Instruction::Exchange {
                to,
                expected,
                new,
                into: register,
            } => {
                let old = self.held(Cell::Variable(to));
                if old == term(expected) {
                    self.memory.insert(Cell::Variable(to), term(new));
                    performed.wrote = Some(term(new));
                }
                performed.saw = Some(old.clone());
                *into = Some((register, old));
            }
            Instruction::Lock { lock, shared } => self.lock(thread, lock, shared),
            Instruction::TryLock {
                lock,
                shared,
                into: register,
            } => {
                let can = self.can_lock(program, thread, lock, shared);
                if can {
                    self.lock(thread, lock, shared);
                } else {
                    performed.result = Result::Failed;
                }
                *into = Some((register, number(can)));
            }
            Instruction::Unlock { lock } => self.unlock(thread, lock),
            Instruction::Wait { lock, .. } | Instruction::WaitFor { lock, .. } => {
                if half == Half::First {
                    let (_, depth) = self.owner.remove(&lock).expect("it holds the lock");
                    self.threads[thread].depth = depth;
                    self.threads[thread].waits = Waits::Asleep;
                    *next = (pc, Half::Second);
                } else {
                    let timed_out = self.threads[thread].waits == Waits::TimedOut;
                    self.owner.insert(lock, (thread, self.threads[thread].depth));
                    self.threads[thread].waits = Waits::No;
                    self.threads[thread].depth = 0;
                    if timed_out {
                        performed.result = Result::Failed;
                    }
                    if let Instruction::WaitFor { into: register, .. } = performed.instruction {
                        *into = Some((register, number(timed_out)));
                    }
                }
            }
            Instruction::Notify { .. } => {
                if let Way::Wake(woken) = way {
                    self.threads[woken].waits = Waits::Woken;
                }
            }
            Instruction::NotifyAll { condition } => {
                for woken in self.asleep(program, condition) {
                    self.threads[woken].waits = Waits::Woken;
                }
            }
            Instruction::Post { semaphore } => self.counts[semaphore] += 1,
            Instruction::Take { semaphore } => self.counts[semaphore] -= 1,
            Instruction::TryTake {
                semaphore,
                into: register,
            } => {
                let can = self.counts[semaphore] > 0;
                if can {
                    self.counts[semaphore] -= 1;
                } else {
                    performed.result = Result::Failed;
                }
                *into = Some((register, number(can)));
            }
            Instruction::Count {
                semaphore,
                into: register,
            } => {
                let count = i64::from(self.counts[semaphore]);
                performed.result = Result::Saw(count);
                *into = Some((register, Value::Number(count)));
            }
            Instruction::Barrier { barrier } | Instruction::Enter { barrier, .. } => {
                if half == Half::First {
                    *next = (pc, Half::Second);
                    let arrived = self.arrived.entry(barrier).or_default();
                    *arrived += 1;
                    let last = *arrived == program.parties[barrier];
                    self.threads[thread].waits = Waits::Arrived;
                    if last {
                        *arrived = 0;
                        for other in &mut self.threads {
                            let here = matches!(program.code[other.pc], Instruction::Barrier { barrier: at } | Instruction::Enter { barrier: at, .. } if at == barrier);
                            if here && other.waits == Waits::Arrived {
                                other.waits = Waits::Complete;
                            }
                        }
                        performed.result = Result::Chosen;
                    }
                    if let Instruction::Enter { into: register, .. } = performed.instruction {
                        *into = Some((register, number(last)));
                    }
                } else {
                    self.threads[thread].waits = Waits::No;
                }
            }
            Instruction::Once { once, done } => {
                if let std::collections::btree_map::Entry::Vacant(cell) = self.once.entry(once) {
                    cell.insert(false);
                    performed.result = Result::Chosen;
                } else {
                    next.0 = done;
                }
            }
            Instruction::OnceDone { once } => {
                self.once.insert(once, true);
            }
            Instruction::Fork { at, into: register } => {
                let forked = self.threads[thread].history.then((pc, half, Result::Done));
                self.fork(at, registers.clone(), forked.child());
                *into = Some((register, Value::Thread(self.threads.len() - 1)));
            }
            Instruction::Alloc { into: register } => {
                self.blocks.push(self.threads[thread].history);
                *into = Some((register, Value::Address(self.blocks.len() - 1, 0)));
            }
            Instruction::Free { block } => {
                self.freed.extend(self.block(thread, block));
            }
            Instruction::ReadAt {
                block,
                offset,
                into: register,
            } => {
                if let Some(block) = self.block(thread, block) {
                    performed.saw_freed = self.freed.contains(&block);
                    let value = self.held(Cell::Block(block, offset));
                    performed.saw = Some(value.clone());
                    *into = Some((register, value));
                }
            }
            Instruction::WriteAt { block, offset, value } => {
                if let Some(block) = self.block(thread, block) {
                    self.memory.insert(Cell::Block(block, offset), small(value));
                }
            }
            Instruction::ReadBoth { block, into: register } => {
                if let Some(block) = self.block(thread, block) {
                    performed.saw_freed = self.freed.contains(&block);
                    let (low, high) = (self.held(Cell::Block(block, 0)), self.held(Cell::Block(block, 4)));
                    let (Value::Number(a), Value::Number(b)) = (&low, &high) else {
                        unreachable!("blocks hold numbers");
                    };
                    let whole = Value::Number(a + (b << 32));
                    performed.saw = Some(whole.clone());
                    *into = Some((register, Value::Number(a + b)));
                }
            }
            Instruction::WriteBoth { block, value } => {
                if let Some(block) = self.block(thread, block) {
                    self.memory.insert(Cell::Block(block, 0), small(value));
                    self.memory.insert(Cell::Block(block, 4), small(value));
                }
            }
            Instruction::End => {
                self.threads[thread].ended = true;
                *next = (pc, Half::First);
            }
            Instruction::TryJoin { handle, into: register } => {
                let can = match registers[handle] {
                    Value::Thread(child) => self.threads[child].ended,
                    _ => true,
                };
                if !can {
                    performed.result = Result::Failed;
                }
                *into = Some((register, number(can)));
            }
            Instruction::Join { .. } | Instruction::Fence | Instruction::Use { .. } | Instruction::Output => {}
            Instruction::Set { .. } | Instruction::JumpIf { .. } | Instruction::Jump { .. } | Instruction::Fail => {
                unreachable!("no operation")
            }
        }
    }

    fn lock(&mut self, thread: usize, lock: usize, shared: bool) {
        if shared {
            *self.readers.entry((lock, thread)).or_default() += 1;
        } else {
            self.owner.entry(lock).or_insert((thread, 0)).1 += 1;
        }
    }

    fn unlock(&mut self, thread: usize, lock: usize) {
        if let Some((owner, depth)) = self.owner.get_mut(&lock) {
            assert_eq!(*owner, thread, "programs give back what they have");
            *depth -= 1;
            if *depth == 0 {
                self.owner.remove(&lock);
            }
            return;
        }
        let depth = self
            .readers
            .get_mut(&(lock, thread))
            .expect("programs give back what they have");
        *depth -= 1;
        if *depth == 0 {
            self.readers.remove(&(lock, thread));
        }
    }
}

impl Thread {
    /// Does what nobody else can see: jumps, and what changes registers alone.
    fn settle(&mut self, program: &Program) {
        loop {
            match program.code[self.pc] {
                Instruction::Jump { to } => self.pc = to,
                Instruction::JumpIf { left, equals, to } => {
                    let left = World::term(&self.registers, left);
                    self.pc = if left == Value::Number(equals) { to } else { self.pc + 1 };
                }
                Instruction::Set { into, value } => {
                    self.registers[into] = World::term(&self.registers, value);
                    self.pc += 1;
                }
                _ => return,
            }
        }
    }

    /// If it is as it was, and has done nothing since that others can tell, the round has not been.
    fn forget_rounds(&mut self, performed: &Performed) {
        let silent = performed.half == Half::First
            && match performed.instruction {
                Instruction::Read { .. }
                | Instruction::ReadAt { .. }
                | Instruction::ReadBoth { .. }
                | Instruction::Use { .. }
                | Instruction::Count { .. }
                | Instruction::Fence => true,
                Instruction::Exchange { .. } => performed.wrote.is_none(),
                Instruction::TryLock { .. } | Instruction::TryTake { .. } | Instruction::TryJoin { .. } => {
                    performed.result == Result::Failed
                }
                _ => false,
            };
        if !silent {
            self.since.clear();
            return;
        }
        let own = self.own();
        if let Some(at) = self.since.iter().rposition(|(before, _)| *before == own) {
            self.history = self.since[at].1;
            self.since.truncate(at);
        }
    }
}
