//! Runs programs along prefixes, and tells what it saw as a recorder would.

use crate::machine::{Half, History, Performed, Result, Value, Way, World};
use crate::program::{Instruction, Program, Term};
use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash, Hasher};
use witness::explore::{Divergence, End, Followed, Move, Prefix, Ran, Session};
use witness::forest::{
    Action, Forest, Mode, Operation, Outcome, Patience, Run, RunBlock, RunObject, RunObjectKind, RunOperation,
    RunPlace, RunStep, RunValue, Stands, Turned,
};

/// A session that interprets a program.
pub struct Interpreter<'p> {
    pub program: &'p Program,
    pub random: fastrand::Rng,
    /// Most operations of a run.
    pub most: usize,
    /// What it keeps to itself, as recordings do.
    pub hides: Hides,
    /// How often a prefix could not be followed, but for a wait that was asked whether it is one.
    pub diverged: usize,
    /// Runs along prefixes that are guesses.
    pub guessed: usize,
}

/// What is not told.
#[derive(Clone, Copy, Default, Debug)]
pub struct Hides {
    /// Whether an operation that cannot go on waits.
    pub patience: bool,
    /// What threads would have done after the end of the program.
    pub next: bool,
}

/// The number that stands for a place in the code.
pub fn position(pc: usize, half: Half) -> u64 {
    let half = match half {
        Half::Begin => 1,
        Half::First => 2,
        Half::Second => 3,
    };
    pc as u64 * 4 + half
}

/// Back from [`position`].
pub fn place_of(position: u64) -> (usize, Half) {
    let half = match position % 4 {
        1 => Half::Begin,
        2 => Half::First,
        _ => Half::Second,
    };
    ((position / 4) as usize, half)
}

impl<'p> Interpreter<'p> {
    /// One that tells all that it sees, of runs of up to 400 operations.
    pub fn new(program: &'p Program, seed: u64) -> Interpreter<'p> {
        Interpreter {
            program,
            random: fastrand::Rng::with_seed(seed),
            most: 400,
            hides: Hides::default(),
            diverged: 0,
            guessed: 0,
        }
    }
}

impl Session for Interpreter<'_> {
    type Error = Infallible;

    fn run(&mut self, _: &Forest, prefix: &Prefix) -> std::result::Result<Ran, Infallible> {
        let mut running = Running {
            program: self.program,
            hides: self.hides,
            world: World::start(self.program),
            waited: None,
            run: Run {
                objects: objects(self.program),
                ..Run::default()
            },
        };
        let followed = running.follow(prefix);
        if let Followed::Until { step, .. } = followed
            && step < prefix.moves.len()
            && !prefix.is_guess
        {
            self.diverged += 1;
        }
        self.guessed += usize::from(prefix.is_guess);
        let end = running.go_on(&mut self.random, self.most);
        running.stand(&end);
        Ok(Ran {
            run: running.run,
            end,
            followed,
        })
    }
}

struct Running<'p> {
    program: &'p Program,
    hides: Hides,
    world: World,
    /// A thread that went into an operation that could not go on, after what it had done by then.
    waited: Option<(usize, History)>,
    run: Run,
}

impl Running<'_> {
    fn follow(&mut self, prefix: &Prefix) -> Followed {
        let mut threads: HashMap<u32, usize> = HashMap::from([(0, 0)]);
        let mut done: HashMap<u32, u32> = HashMap::new();
        for (step, planned) in prefix.moves.iter().enumerate() {
            let diverged = |why| Followed::Until { step, why };
            let Some(&thread) = threads.get(&planned.thread()) else {
                return diverged(Divergence::Gone);
            };
            let ways = self.world.ways(self.program, thread);
            let way = match *planned {
                Move::TimesOut { .. } => Way::TimeOut,
                Move::Perform { wakes: Some(other), .. } => {
                    Way::Wake(threads.get(&other).copied().unwrap_or(usize::MAX))
                }
                Move::Perform { .. } => Way::Only,
            };
            if ways.is_empty() {
                return diverged(Divergence::Blocked);
            }
            if !ways.contains(&way) {
                return diverged(Divergence::OtherOutcome);
            }
            let forks = self.world.threads.len();
            let performed = self.step(thread, way);
            let Move::Perform {
                thread: row,
                index,
                operation,
                outcome,
                ..
            } = *planned
            else {
                continue;
            };
            let count = done.entry(row).or_default();
            assert_eq!(*count, index, "the prefix counts operations");
            *count += 1;
            let performed = performed.expect("an operation");
            if (operation == Operation::Fork) != matches!(performed, (Instruction::Fork { .. }, Half::First, _)) {
                return diverged(Divergence::OtherOperation);
            }
            let same = match performed.2 {
                Result::Failed => outcome == Outcome::GaveUp,
                Result::Chosen => outcome == Outcome::Chosen,
                Result::Done => outcome == Outcome::Done,
                Result::Saw(_) | Result::SawAddress(..) => {
                    matches!(outcome, Outcome::Saw(_) | Outcome::Counted(_))
                }
            };
            if !same {
                return diverged(Divergence::OtherOutcome);
            }
            if operation == Operation::Fork {
                let child = prefix
                    .threads
                    .iter()
                    .position(|child| child.forked_by == Some((row, index)));
                threads.insert(child.expect("the prefix names who is forked") as u32, forks);
            }
        }
        if let Some(wanted) = prefix.wanted {
            let diverged = |why| Followed::Until {
                step: prefix.moves.len(),
                why,
            };
            let Some(&thread) = threads.get(&wanted.thread) else {
                return diverged(Divergence::Gone);
            };
            let mut ways = self.world.ways(self.program, thread);
            if ways == [Way::TimeOut] {
                self.step(thread, Way::TimeOut);
                ways = self.world.ways(self.program, thread);
            }
            match ways.first() {
                Some(&way) => drop(self.step(thread, way)),
                None => {
                    self.waited = Some((thread, self.world.threads[thread].history));
                    return diverged(Divergence::Blocked);
                }
            }
        }
        Followed::Whole
    }

    /// Goes on in some way until nobody can, or for long enough.
    fn go_on(&mut self, random: &mut fastrand::Rng, most: usize) -> End {
        let stay = random.u32(0..4);
        let mut last = usize::MAX;
        let linger = random.bool();
        loop {
            let fails = |thread: usize| self.world.pending(self.program, thread) == Some(Instruction::Fail);
            let threads = 0..self.world.threads.len();
            let failed = threads
                .clone()
                .any(|thread| fails(thread) && self.world.threads[thread].half != Half::Begin);
            let can: Vec<usize> = threads
                .filter(|&thread| !self.world.ways(self.program, thread).is_empty())
                .collect();
            if failed && (!linger || can.is_empty() || random.u32(0..4) == 0) {
                return End::Failure("failed".to_owned());
            }
            if can.is_empty() {
                let all = self.world.threads.iter().all(|thread| thread.ended);
                return if all { End::Success } else { End::Deadlock };
            }
            if self.run.steps.len() >= most {
                return End::Success;
            }
            let thread = if can.contains(&last) && random.u32(0..4) < stay {
                last
            } else {
                can[random.usize(0..can.len())]
            };
            last = thread;
            let ways = self.world.ways(self.program, thread);
            let way = ways[random.usize(0..ways.len())];
            self.step(thread, way);
        }
    }

    fn step(&mut self, thread: usize, way: Way) -> Option<(Instruction, Half, Result)> {
        let own_state = self.own_state(thread);
        let picture = self.picture(thread);
        let performed = self.world.step(self.program, thread, way)?;
        let step = RunStep {
            picture: Some(self.show(picture)),
            ..self.told(&performed, own_state)
        };
        self.run.steps.push(step);
        Some((performed.instruction, performed.half, performed.result))
    }

    /// Equal wherever the thread goes on alike, in all runs.
    fn own_state(&self, thread: usize) -> u64 {
        let mut hasher = DefaultHasher::new();
        let (pc, half, registers) = self.world.threads[thread].own();
        (pc, half).hash(&mut hasher);
        for register in registers {
            match register {
                Value::Number(number) => (0, number).hash(&mut hasher),
                Value::Address(block, offset) => (1, self.world.blocks[block], offset).hash(&mut hasher),
                Value::Thread(child) => (2, self.world.threads[child].name).hash(&mut hasher),
            }
        }
        hasher.finish()
    }

    /// A word for each register, whether the thread looks at it once more or not, behind two that say where it stands.
    fn picture(&self, thread: usize) -> Box<[u64]> {
        let (pc, half, registers) = self.world.threads[thread].own();
        let words = registers.iter().map(|register| {
            let mut hasher = DefaultHasher::new();
            match register {
                Value::Number(number) => (0, number).hash(&mut hasher),
                Value::Address(block, offset) => (1, self.world.blocks[*block], offset).hash(&mut hasher),
                Value::Thread(child) => (2, self.world.threads[*child].name).hash(&mut hasher),
            }
            hasher.finish()
        });
        [position(pc, half), 0].into_iter().chain(words).collect()
    }

    /// A row of the run.
    fn show(&mut self, picture: Box<[u64]>) -> u32 {
        self.run.pictures.push(picture);
        self.run.pictures.len() as u32 - 1
    }

    fn stand(&mut self, end: &End) {
        let hidden = self.hides.next && matches!(end, End::Failure(_));
        for thread in 0..self.world.threads.len() {
            let me = &self.world.threads[thread];
            let stands = if me.ended {
                Stands::Ended
            } else if me.half != Half::Begin && self.program.code[me.pc] == Instruction::Fail {
                Stands::Stopped
            } else if hidden
                && !self.world.ways(self.program, thread).is_empty()
                && self.waited != Some((thread, me.history))
            {
                // What a thread waits in is told, and it does so until it goes on, whether it could by now or not.
                Stands::Unknown
            } else {
                let picture = self.picture(thread);
                let pending = self.pending(thread);
                Stands::Before(RunStep {
                    picture: Some(self.show(picture)),
                    ..pending
                })
            };
            self.run.threads.push(stands);
        }
    }

    /// What a thread stands before; what it would see is not told.
    fn pending(&self, thread: usize) -> RunStep {
        let me = &self.world.threads[thread];
        let performed = Performed {
            thread,
            pc: me.pc,
            half: me.half,
            instruction: self.program.code[me.pc],
            registers: me.registers.clone(),
            result: Result::Done,
            saw: Some(Value::Number(0)),
            wrote: None,
            saw_freed: false,
        };
        self.told(&performed, self.own_state(thread))
    }

    fn told(&self, performed: &Performed, own_state: u64) -> RunStep {
        let patience = match performed.instruction {
            _ if self.hides.patience => Patience::Unknown,
            Instruction::TryLock { .. } | Instruction::TryTake { .. } | Instruction::TryJoin { .. } => {
                Patience::Bounded
            }
            Instruction::WaitFor { .. } if performed.half == Half::Second => Patience::Bounded,
            _ => Patience::Endless,
        };
        RunStep {
            thread: performed.thread as u32,
            operation: self.operation(performed),
            position: position(performed.pc, performed.half),
            patience,
            order: self.program.orders.get(performed.pc).copied(),
            own_state: Some(own_state),
            picture: None,
        }
    }

    fn operation(&self, performed: &Performed) -> RunOperation {
        let numbers = Numbers::of(self.program);
        let half = performed.half;
        if half == Half::Begin {
            return RunOperation::Begin;
        }
        let term = |term: Term| value(&World::term(&performed.registers, term));
        let small = |term: Term| match World::term(&performed.registers, term) {
            Value::Number(number) => number,
            _ => 7,
        };
        let gave_up = performed.result == Result::Failed;
        let turned = match performed.result {
            Result::Failed => Turned::GaveUp,
            Result::Chosen => Turned::Chosen,
            Result::Done | Result::Saw(_) | Result::SawAddress(..) => Turned::Done,
        };
        let on = |action| RunOperation::On(action, turned);
        let saw = || value(performed.saw.as_ref().expect("it read"));
        let block = |register: usize| match performed.registers[register] {
            Value::Address(block, _) => Some(RunBlock(block as u32)),
            _ => None,
        };
        let inside = |block: RunBlock, offset| RunPlace {
            block: Some(block),
            offset,
        };
        match performed.instruction {
            Instruction::Read {
                from, atomic: false, ..
            } => RunOperation::Read {
                at: variable(from),
                size: 8,
                saw: saw(),
            },
            Instruction::Read { from, atomic: true, .. } => RunOperation::AtomicLoad {
                at: variable(from),
                size: 8,
                saw: saw(),
            },
            Instruction::Write {
                to,
                value,
                atomic: false,
            } => RunOperation::Write {
                at: variable(to),
                size: 8,
                value: term(value),
            },
            Instruction::Write {
                to,
                value,
                atomic: true,
            } => RunOperation::AtomicStore {
                at: variable(to),
                size: 8,
                value: term(value),
            },
            Instruction::Add { to, .. } | Instruction::Exchange { to, .. } => match &performed.wrote {
                Some(wrote) => RunOperation::AtomicRmw {
                    at: variable(to),
                    size: 8,
                    saw: saw(),
                    wrote: value(wrote),
                },
                None => RunOperation::AtomicLoad {
                    at: variable(to),
                    size: 8,
                    saw: saw(),
                },
            },
            Instruction::Lock { lock, shared } | Instruction::TryLock { lock, shared, .. } => {
                on(Action::Acquire(numbers.lock(lock), Mode::of(shared)))
            }
            Instruction::Unlock { lock } => on(Action::Release(numbers.lock(lock))),
            Instruction::Wait { condition, lock } | Instruction::WaitFor { condition, lock, .. } => {
                let (condition, lock) = (numbers.condition(condition), numbers.lock(lock));
                on(match half {
                    Half::Begin | Half::First => Action::WaitBegin(condition, lock),
                    Half::Second => Action::WaitEnd(condition, lock),
                })
            }
            Instruction::Notify { condition } => on(Action::Notify(numbers.condition(condition))),
            Instruction::NotifyAll { condition } => on(Action::NotifyAll(numbers.condition(condition))),
            Instruction::Post { semaphore } => on(Action::Post(numbers.semaphore(semaphore))),
            Instruction::Take { semaphore } | Instruction::TryTake { semaphore, .. } => {
                on(Action::Take(numbers.semaphore(semaphore)))
            }
            Instruction::Barrier { barrier } | Instruction::Enter { barrier, .. } => {
                let barrier = numbers.barrier(barrier);
                on(match half {
                    Half::Begin | Half::First => Action::BarrierEnter(barrier),
                    Half::Second => Action::BarrierExit(barrier),
                })
            }
            Instruction::Count { semaphore, .. } => RunOperation::Count {
                semaphore: numbers.semaphore(semaphore),
                value: match performed.result {
                    Result::Saw(count) => count as u32,
                    _ => 0,
                },
            },
            Instruction::Once { once, .. } => on(Action::Once(numbers.once(once))),
            Instruction::OnceDone { once } => on(Action::OnceEnd(numbers.once(once))),
            Instruction::Fork { .. } => RunOperation::Fork {
                child: self.world.threads.len() as u32 - 1,
            },
            Instruction::Join { handle } | Instruction::TryJoin { handle, .. } => match performed.registers[handle] {
                Value::Thread(child) => RunOperation::Join {
                    child: child as u32,
                    gave_up,
                },
                _ => RunOperation::Fence,
            },
            Instruction::Alloc { .. } => RunOperation::Alloc {
                block: RunBlock((self.world.blocks.len() as u32).wrapping_sub(1)),
                size: 8,
            },
            Instruction::Free { block: register } => match block(register) {
                Some(block) => RunOperation::Free { block },
                None => RunOperation::Fence,
            },
            Instruction::ReadAt {
                block: register,
                offset,
                ..
            } => match block(register) {
                Some(block) => RunOperation::Read {
                    at: inside(block, offset),
                    size: 4,
                    saw: saw(),
                },
                None => RunOperation::Fence,
            },
            Instruction::WriteAt {
                block: register,
                offset,
                value,
            } => match block(register) {
                Some(block) => RunOperation::Write {
                    at: inside(block, offset),
                    size: 4,
                    value: RunValue::Number(small(value) as u64),
                },
                None => RunOperation::Fence,
            },
            Instruction::ReadBoth { block: register, .. } => match block(register) {
                Some(block) => RunOperation::Read {
                    at: inside(block, 0),
                    size: 8,
                    saw: saw(),
                },
                None => RunOperation::Fence,
            },
            Instruction::WriteBoth { block: register, value } => match block(register) {
                Some(block) => {
                    let half = small(value) as u64;
                    RunOperation::Write {
                        at: inside(block, 0),
                        size: 8,
                        value: RunValue::Number(half | half << 32),
                    }
                }
                None => RunOperation::Fence,
            },
            Instruction::End => RunOperation::End,
            Instruction::Use { of } => RunOperation::Use {
                at: variable(of),
                size: 8,
            },
            Instruction::Output => RunOperation::Output {
                source: numbers.output(),
            },
            Instruction::Fence => RunOperation::Fence,
            Instruction::Set { .. } | Instruction::JumpIf { .. } | Instruction::Jump { .. } | Instruction::Fail => {
                unreachable!("no operation")
            }
        }
    }
}

/// Rows of the objects of each kind.
struct Numbers {
    conditions: u32,
    semaphores: u32,
    barriers: u32,
    onces: u32,
}

const CONDITIONS: u32 = 4;
const ONCES: u32 = 4;

impl Numbers {
    fn of(program: &Program) -> Numbers {
        let conditions = program.recursive.len() as u32;
        let semaphores = conditions + CONDITIONS;
        let barriers = semaphores + program.counts.len() as u32;
        let onces = barriers + program.parties.len() as u32;
        Numbers {
            conditions,
            semaphores,
            barriers,
            onces,
        }
    }
    fn lock(&self, lock: usize) -> u32 {
        lock as u32
    }
    fn condition(&self, condition: usize) -> u32 {
        self.conditions + condition as u32
    }
    fn semaphore(&self, semaphore: usize) -> u32 {
        self.semaphores + semaphore as u32
    }
    fn barrier(&self, barrier: usize) -> u32 {
        self.barriers + barrier as u32
    }
    fn once(&self, once: usize) -> u32 {
        self.onces + once as u32
    }
    fn output(&self) -> u32 {
        self.onces + ONCES
    }
}

fn objects(program: &Program) -> Vec<RunObject> {
    let locks = program
        .recursive
        .iter()
        .map(|&recursive| RunObjectKind::Lock { recursive });
    let conditions = (0..CONDITIONS).map(|_| RunObjectKind::Condition);
    let semaphores = program
        .counts
        .iter()
        .map(|&initial| RunObjectKind::Semaphore { initial });
    let barriers = program
        .parties
        .iter()
        .map(|&parties| RunObjectKind::Barrier { parties: Some(parties) });
    let onces = (0..ONCES).map(|_| RunObjectKind::Once);
    let kinds = locks.chain(conditions).chain(semaphores).chain(barriers).chain(onces);
    let kinds = kinds.chain([RunObjectKind::Source]);
    let place = |index: usize| RunPlace {
        block: None,
        offset: 0x10_0000 + 64 * index as u64,
    };
    kinds
        .enumerate()
        .map(|(index, kind)| RunObject { kind, at: place(index) })
        .collect()
}

fn variable(number: usize) -> RunPlace {
    RunPlace {
        block: None,
        offset: 0x1000 + 8 * number as u64,
    }
}

fn value(value: &Value) -> RunValue {
    match *value {
        Value::Number(number) => RunValue::Number(number as u64),
        Value::Address(block, offset) => RunValue::Address(RunPlace {
            block: Some(RunBlock(block as u32)),
            offset,
        }),
        Value::Thread(_) => unreachable!("handles are not stored"),
    }
}
