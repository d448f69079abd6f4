//! Random programs with every operation, small enough for exhaustive search.

use crate::program::{Instruction, Program, Register, Term};
use witness::trace::MemoryOrder;

/// What a program is made of.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Threads besides the first.
    pub threads: usize,
    /// Statements of each thread, at most.
    pub statements: usize,
}

/// The kinds of statements that programs are drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Memory,
    Atomics,
    Locks,
    Attempts,
    ReaderLocks,
    Waits,
    Semaphores,
    Barriers,
    Onces,
    Forks,
    Blocks,
    Spins,
    Failures,
}

pub const KINDS: [Kind; 13] = [
    Kind::Memory,
    Kind::Atomics,
    Kind::Locks,
    Kind::Attempts,
    Kind::ReaderLocks,
    Kind::Waits,
    Kind::Semaphores,
    Kind::Barriers,
    Kind::Onces,
    Kind::Forks,
    Kind::Blocks,
    Kind::Spins,
    Kind::Failures,
];

const VARIABLES: usize = 3;
/// The variable that pointers are passed in.
const POINTER: usize = VARIABLES;
const LOCKS: usize = 3;
/// Reader-writer locks come after the others.
const READ_LOCK: usize = LOCKS;
/// What threads keep the handles and counters in.
const HANDLE: Register = 3;
const COUNTER: Register = 2;

struct Maker<'r> {
    random: &'r mut fastrand::Rng,
    kinds: Vec<Kind>,
    code: Vec<Instruction>,
    /// Of each fork that was made, the thread to be: where its number stands.
    to_fork: Vec<(usize, usize)>,
    /// Locks held exclusively, in order.
    held: Vec<usize>,
    nested: usize,
    forks: usize,
}

/// A random program, which may have statements of the kind that is asked for.
/// Makes attempts at semaphores ask how many permits these have instead, every other one. It draws its numbers when a
/// program is whole, so that all programs without are what they were.
pub fn counting(program: &mut Program, random: &mut fastrand::Rng) {
    for instruction in &mut program.code {
        if let Instruction::TryTake { semaphore, into } = *instruction
            && random.bool()
        {
            *instruction = Instruction::Count { semaphore, into };
        }
    }
}

/// Lets the first thread end the program where it would join the others, or end.
pub fn ending(program: &mut Program) {
    let own = program.code.iter().position(|one| *one == Instruction::End);
    for instruction in &mut program.code[..=own.expect("the first thread ends")] {
        if matches!(
            instruction,
            Instruction::Join { .. } | Instruction::TryJoin { .. } | Instruction::End
        ) {
            *instruction = Instruction::Fail;
        }
    }
}

pub fn program(random: &mut fastrand::Rng, kind: Option<Kind>) -> Program {
    // Few kinds meet each other more often than all do.
    let mut kinds = vec![Kind::Memory];
    kinds.extend(kind);
    for _ in 0..random.usize(1..4) {
        kinds.push(KINDS[random.usize(0..KINDS.len())]);
    }
    let size = Size {
        threads: random.usize(1..3),
        statements: random.usize(2..5),
    };
    let counts = vec![random.u32(0..2), 0];
    let parties = vec![random.u32(1..4)];
    let recursive = vec![false, random.bool(), random.bool(), false];
    let mut maker = Maker {
        random,
        kinds,
        code: Vec::new(),
        to_fork: Vec::new(),
        held: Vec::new(),
        nested: 0,
        forks: 0,
    };
    if maker.kinds.contains(&Kind::Waits) && maker.random.u32(0..3) == 0 {
        maker.two_wait();
    } else if maker.kinds.contains(&Kind::Semaphores) && maker.random.u32(0..3) == 0 {
        maker.two_take();
    } else {
        maker.main(size);
    }
    let code = maker.code;
    Program {
        code,
        recursive,
        counts,
        parties,
        orders: Vec::new(),
    }
}

/// Makes accesses of some variables atomic, and gives them memory orders.
pub fn ordering(program: &mut Program, random: &mut fastrand::Rng) {
    // What is passed on by atomic variables, or meant to be.
    let atomics = random.usize(1..3);
    for instruction in &mut program.code {
        match instruction {
            Instruction::Read {
                from: variable, atomic, ..
            }
            | Instruction::Write {
                to: variable, atomic, ..
            } => *atomic |= *variable < atomics,
            _ => {}
        }
    }
    orders(program, random);
}

/// Gives atomic operations and fences memory orders, of which most are weak.
pub fn orders(program: &mut Program, random: &mut fastrand::Rng) {
    use MemoryOrder::{AcqRel, Acquire, Relaxed, Release, SeqCst};
    let orders = [Relaxed, Relaxed, Acquire, Release, AcqRel, SeqCst];
    let any = |_: &Instruction| orders[random.usize(0..orders.len())];
    program.orders = program.code.iter().map(any).collect();
}

impl Maker<'_> {
    fn main(&mut self, size: Size) {
        let joins = self.random.u32(0..4) > 0;
        for thread in 0..size.threads {
            if self.random.u32(0..4) == 0 {
                self.statement();
            }
            // With one thread its handle is kept; with more, the last one's.
            let at = self.code.len();
            self.code.push(Instruction::Fork { at: 0, into: HANDLE });
            self.to_fork.push((at, 0));
            let _ = thread;
        }
        self.statements(size.statements - 1);
        if joins {
            match self.random.u32(0..3) {
                0 => self.try_join(),
                _ => self.code.push(Instruction::Join { handle: HANDLE }),
            }
            if self.random.bool() {
                self.statement();
            }
        }
        self.code.push(Instruction::End);
        while let Some((fork, depth)) = self.to_fork.pop() {
            let at = self.code.len();
            if let Instruction::Fork { at: begins, .. } = &mut self.code[fork] {
                *begins = at;
            }
            self.forks = 1 + depth;
            self.statements(size.statements);
            self.code.push(Instruction::End);
        }
    }

    fn statements(&mut self, most: usize) {
        for _ in 0..self.random.usize(1..=most.max(1)) {
            self.statement();
        }
    }

    fn register(&mut self) -> Register {
        self.random.usize(0..2)
    }

    fn variable(&mut self) -> usize {
        self.random.usize(0..VARIABLES)
    }

    fn term(&mut self) -> Term {
        match self.random.u32(0..4) {
            0 => Term::Plus(self.register(), 1),
            1 => Term::Plus(self.register(), 0),
            _ => Term::Number(self.random.i64(0..3)),
        }
    }

    /// A jump over what `inside` makes, taken if the term is this.
    fn unless(&mut self, left: Term, equals: i64, inside: impl FnOnce(&mut Self)) {
        let jump = self.code.len();
        self.code.push(Instruction::JumpIf { left, equals, to: 0 });
        inside(self);
        let end = self.code.len();
        self.code[jump] = Instruction::JumpIf { left, equals, to: end };
    }

    /// `inside` if the term is not this, else `otherwise`.
    fn either(&mut self, left: Term, equals: i64, inside: impl FnOnce(&mut Self), otherwise: impl FnOnce(&mut Self)) {
        let mut over = 0;
        self.unless(left, equals, |maker| {
            inside(maker);
            over = maker.code.len();
            maker.code.push(Instruction::Jump { to: 0 });
        });
        otherwise(self);
        let to = self.code.len();
        self.code[over] = Instruction::Jump { to };
    }

    fn inside(&mut self) {
        self.nested += 1;
        for _ in 0..self.random.usize(1..3) {
            self.statement();
        }
        self.nested -= 1;
    }

    fn statement(&mut self) {
        let kind = self.kinds[self.random.usize(0..self.kinds.len())];
        if self.nested >= 2 {
            return self.memory(false);
        }
        match kind {
            Kind::Memory => {
                if self.random.u32(0..5) == 0 {
                    self.choice();
                } else {
                    self.memory(false);
                }
            }
            Kind::Atomics => self.memory(true),
            Kind::Locks => {
                self.section(false);
            }
            Kind::Attempts => self.attempt(),
            Kind::ReaderLocks => self.readers(),
            Kind::Waits => self.waits(),
            Kind::Semaphores => self.semaphores(),
            Kind::Barriers => self.barrier(),
            Kind::Onces => self.once(),
            Kind::Forks => self.fork(),
            Kind::Blocks => self.block(),
            Kind::Spins => self.spin(),
            Kind::Failures => self.failure(),
        }
    }

    fn choice(&mut self) {
        let register = self.register();
        if self.random.u32(0..3) == 0 {
            // A loop of two rounds.
            self.code.push(Instruction::Set {
                into: COUNTER,
                value: Term::Number(0),
            });
            let top = self.code.len();
            self.memory(false);
            self.code.push(Instruction::Set {
                into: COUNTER,
                value: Term::Plus(COUNTER, 1),
            });
            let after = self.code.len() + 2;
            self.code.push(Instruction::JumpIf {
                left: Term::Plus(COUNTER, 0),
                equals: 2,
                to: after,
            });
            self.code.push(Instruction::Jump { to: top });
            return;
        }
        let equals = self.random.i64(0..2);
        self.unless(Term::Plus(register, 0), equals, Self::inside);
    }

    fn memory(&mut self, atomic: bool) {
        let (variable, register, term) = (self.variable(), self.register(), self.term());
        let instruction = match self.random.u32(0..if atomic { 5 } else { 2 }) {
            0 => Instruction::Read {
                from: variable,
                into: register,
                atomic,
            },
            1 => Instruction::Write {
                to: variable,
                value: term,
                atomic,
            },
            2 => Instruction::Add {
                to: variable,
                value: Term::Number(1),
                into: register,
            },
            3 => Instruction::Exchange {
                to: variable,
                expected: Term::Number(self.random.i64(0..2)),
                new: term,
                into: register,
            },
            _ => match self.random.u32(0..4) {
                0 => Instruction::Fence,
                1 => Instruction::Output,
                _ => Instruction::Use { of: variable },
            },
        };
        self.code.push(instruction);
    }

    fn section(&mut self, must: bool) -> usize {
        let lock = self.random.usize(0..LOCKS);
        self.code.push(Instruction::Lock { lock, shared: false });
        self.held.push(lock);
        if !must || self.random.bool() {
            self.inside();
        }
        if !must {
            self.held.pop();
            self.code.push(Instruction::Unlock { lock });
        }
        lock
    }

    fn attempt(&mut self) {
        let register = self.register();
        let (lock, shared) = if self.random.u32(0..4) == 0 {
            (READ_LOCK, self.random.bool())
        } else {
            (self.random.usize(0..LOCKS), false)
        };
        self.code.push(Instruction::TryLock {
            lock,
            shared,
            into: register,
        });
        let has = |maker: &mut Self| {
            maker.inside();
            maker.code.push(Instruction::Unlock { lock });
        };
        if self.random.bool() {
            self.unless(Term::Plus(register, 0), 0, has);
        } else {
            self.either(Term::Plus(register, 0), 0, has, Self::inside);
        }
    }

    fn readers(&mut self) {
        let shared = self.random.bool();
        self.code.push(Instruction::Lock {
            lock: READ_LOCK,
            shared,
        });
        self.inside();
        self.code.push(Instruction::Unlock { lock: READ_LOCK });
    }

    fn waits(&mut self) {
        let condition = self.random.usize(0..2);
        match self.random.u32(0..5) {
            0 => self.code.push(Instruction::Notify { condition }),
            1 => self.code.push(Instruction::NotifyAll { condition }),
            more => {
                let lock = self.section(true);
                let register = self.register();
                let wait = if more == 2 {
                    Instruction::WaitFor {
                        condition,
                        lock,
                        into: register,
                    }
                } else {
                    Instruction::Wait { condition, lock }
                };
                if self.random.bool() {
                    let variable = self.variable();
                    self.code.push(Instruction::Read {
                        from: variable,
                        into: register,
                        atomic: false,
                    });
                    self.unless(Term::Plus(register, 0), 1, |maker| maker.code.push(wait));
                } else {
                    self.code.push(wait);
                }
                if self.random.bool() {
                    self.memory(false);
                }
                self.held.pop();
                self.code.push(Instruction::Unlock { lock });
            }
        }
    }

    fn semaphores(&mut self) {
        let semaphore = self.random.usize(0..2);
        let register = self.register();
        match self.random.u32(0..4) {
            0 | 1 => self.code.push(Instruction::Post { semaphore }),
            2 => self.code.push(Instruction::Take { semaphore }),
            _ => {
                self.code.push(Instruction::TryTake {
                    semaphore,
                    into: register,
                });
                if self.random.bool() {
                    self.unless(Term::Plus(register, 0), 0, Self::inside);
                } else {
                    self.either(Term::Plus(register, 0), 0, Self::inside, Self::inside);
                }
            }
        }
    }

    fn barrier(&mut self) {
        let register = self.register();
        if self.random.bool() {
            self.code.push(Instruction::Barrier { barrier: 0 });
        } else {
            self.code.push(Instruction::Enter {
                barrier: 0,
                into: register,
            });
            self.unless(Term::Plus(register, 0), 0, |maker| maker.memory(false));
        }
    }

    fn once(&mut self) {
        let once = self.random.usize(0..2);
        let at = self.code.len();
        self.code.push(Instruction::Once { once, done: 0 });
        self.inside();
        self.code.push(Instruction::OnceDone { once });
        let done = self.code.len();
        self.code[at] = Instruction::Once { once, done };
    }

    fn fork(&mut self) {
        if self.forks > 1 || self.nested > 0 || self.to_fork.len() > 2 {
            return self.memory(false);
        }
        let at = self.code.len();
        self.code.push(Instruction::Fork { at: 0, into: HANDLE });
        self.to_fork.push((at, self.forks));
        if self.random.bool() {
            self.memory(false);
            if self.random.bool() {
                self.code.push(Instruction::Join { handle: HANDLE });
            } else {
                self.try_join();
            }
        }
    }

    /// Whether the thread has ended shows in what comes next; or it is asked until it has.
    fn try_join(&mut self) {
        let register = self.register();
        let top = self.code.len();
        self.code.push(Instruction::TryJoin {
            handle: HANDLE,
            into: register,
        });
        match self.random.u32(0..4) {
            0 => self.unless(Term::Plus(register, 0), 1, |maker| {
                maker.code.push(Instruction::Jump { to: top });
            }),
            1 => self.unless(Term::Plus(register, 0), 0, Self::inside),
            _ => self.either(Term::Plus(register, 0), 0, Self::inside, Self::inside),
        }
    }

    /// A block is made known in a variable, or one that is known there is used.
    fn block(&mut self) {
        let (register, other) = (self.register(), self.register());
        if self.random.u32(0..3) == 0 {
            self.code.push(Instruction::Alloc { into: register });
            if self.random.bool() {
                let value = Term::Number(self.random.i64(0..3));
                let offset = 4 * self.random.u64(0..2);
                self.code.push(Instruction::WriteAt {
                    block: register,
                    offset,
                    value,
                });
            }
            self.code.push(Instruction::Write {
                to: POINTER,
                value: Term::Plus(register, 0),
                atomic: self.random.bool(),
            });
            return;
        }
        self.code.push(Instruction::Read {
            from: POINTER,
            into: register,
            atomic: self.random.bool(),
        });
        self.unless(Term::Plus(register, 0), 0, |maker| {
            let offset = 4 * maker.random.u64(0..2);
            let instruction = match maker.random.u32(0..9) {
                0..3 => Instruction::ReadAt {
                    block: register,
                    offset,
                    into: other,
                },
                3..6 => Instruction::WriteAt {
                    block: register,
                    offset,
                    value: Term::Number(maker.random.i64(0..3)),
                },
                6 => Instruction::ReadBoth {
                    block: register,
                    into: other,
                },
                7 => Instruction::WriteBoth {
                    block: register,
                    value: Term::Number(maker.random.i64(0..3)),
                },
                _ => Instruction::Free { block: register },
            };
            maker.code.push(instruction);
        });
        // It is an address no more, whatever it is used for next.
        self.code.push(Instruction::Set {
            into: register,
            value: Term::Number(0),
        });
    }

    fn spin(&mut self) {
        let (variable, register) = (self.variable(), self.register());
        let top = self.code.len();
        let atomic = self.random.bool();
        let equals = self.random.i64(0..2);
        match self.random.u32(0..4) {
            0 => self.code.push(Instruction::Exchange {
                to: variable,
                expected: Term::Number(equals),
                new: Term::Number(2),
                into: register,
            }),
            1 => {
                let other = self.variable();
                let first = Instruction::Read {
                    from: other,
                    into: register,
                    atomic,
                };
                let second = Instruction::Read {
                    from: variable,
                    into: register,
                    atomic,
                };
                self.code.extend([first, second]);
            }
            _ => self.code.push(Instruction::Read {
                from: variable,
                into: register,
                atomic,
            }),
        }
        let after = self.code.len() + 2;
        self.code.push(Instruction::JumpIf {
            left: Term::Plus(register, 0),
            equals,
            to: after,
        });
        self.code.push(Instruction::Jump { to: top });
    }

    fn failure(&mut self) {
        let (variable, register) = (self.variable(), self.register());
        self.code.push(Instruction::Read {
            from: variable,
            into: register,
            atomic: false,
        });
        let equals = self.random.i64(0..3);
        let jump = self.code.len();
        self.code.push(Instruction::JumpIf {
            left: Term::Plus(register, 0),
            equals,
            to: jump + 2,
        });
        self.code.push(Instruction::Jump { to: 0 });
        if self.random.bool() {
            // What others can tell comes right before the end.
            let atomic = self.random.bool();
            match self.random.u32(0..4) {
                0 => self.code.push(Instruction::Post { semaphore: 0 }),
                1 => self.code.push(Instruction::NotifyAll { condition: 0 }),
                _ => self.memory(atomic),
            }
        }
        self.code.push(Instruction::Fail);
        let to = self.code.len();
        self.code[jump + 1] = Instruction::Jump { to };
    }

    /// Two threads that wait for the same: whom a notify wakes shows in what they do next.
    fn two_wait(&mut self) {
        let (condition, lock) = (0, 0);
        let timed = self.random.u32(0..3) == 0;
        let first = self.code.len();
        self.code.extend([Instruction::Fork { at: 0, into: HANDLE }; 2]);
        let waits_until = |maker: &mut Self, variable: usize| {
            let top = maker.code.len();
            maker.code.push(Instruction::Read {
                from: variable,
                into: 1,
                atomic: false,
            });
            maker.code.push(Instruction::JumpIf {
                left: Term::Plus(1, 0),
                equals: 1,
                to: top + 4,
            });
            maker.code.push(Instruction::Wait { condition, lock });
            maker.code.push(Instruction::Jump { to: top });
        };
        // Where both wait for certain, nothing but whom the notify wakes says which goes on; where one of them does,
        // when the other one began to wait says it, too.
        let counts = [self.random.bool(), self.random.bool()];
        let counted = counts.iter().filter(|&&counts| counts).count() as i64;
        for _ in 0..self.random.u32(1..4) {
            self.code.push(Instruction::Lock { lock, shared: false });
            if counted > 0 {
                self.code.push(Instruction::Read {
                    from: 1,
                    into: 1,
                    atomic: false,
                });
                let notify = self.code.len() + 2;
                self.code.push(Instruction::JumpIf {
                    left: Term::Plus(1, 0),
                    equals: counted,
                    to: notify,
                });
                self.code.push(Instruction::Jump { to: notify + 1 });
            } else if self.random.bool() {
                self.memory(false);
            }
            let notify = match self.random.u32(0..4) {
                0 => Instruction::NotifyAll { condition },
                _ => Instruction::Notify { condition },
            };
            self.code.extend([notify, Instruction::Unlock { lock }]);
        }
        if self.random.bool() {
            self.memory(false);
        }
        self.code.push(Instruction::End);
        for (thread, counts) in counts.into_iter().enumerate() {
            let at = self.code.len();
            self.code[first + thread] = Instruction::Fork { at, into: HANDLE };
            self.code.push(Instruction::Lock { lock, shared: false });
            if counts {
                self.code.push(Instruction::Read {
                    from: 1,
                    into: 0,
                    atomic: false,
                });
                self.code.push(Instruction::Write {
                    to: 1,
                    value: Term::Plus(0, 1),
                    atomic: false,
                });
            }
            match (timed, self.random.u32(0..4)) {
                (false, 0) => waits_until(self, 0),
                (true, 0 | 1) => self.code.push(Instruction::WaitFor {
                    condition,
                    lock,
                    into: 1,
                }),
                _ => self.code.push(Instruction::Wait { condition, lock }),
            }
            if self.random.u32(0..3) == 0 {
                self.code.push(Instruction::Wait { condition, lock });
            }
            self.memory(false);
            self.code.push(Instruction::Unlock { lock });
            if self.random.bool() {
                self.memory(false);
            }
            self.code.push(Instruction::End);
        }
    }

    /// Two threads that take permits, and say who was first.
    fn two_take(&mut self) {
        let semaphore = 0;
        let first = self.code.len();
        self.code.extend([Instruction::Fork { at: 0, into: HANDLE }; 2]);
        for _ in 0..self.random.u32(0..3) {
            self.code.push(Instruction::Post { semaphore });
        }
        if self.random.bool() {
            self.memory(false);
        }
        self.code.push(Instruction::End);
        for thread in 0..2 {
            let at = self.code.len();
            self.code[first + thread] = Instruction::Fork { at, into: HANDLE };
            for _ in 0..self.random.u32(1..3) {
                self.code.push(Instruction::Take { semaphore });
                if self.random.bool() {
                    self.code.push(Instruction::Read {
                        from: 0,
                        into: 0,
                        atomic: false,
                    });
                }
                self.code.push(Instruction::Write {
                    to: 0,
                    value: Term::Plus(0, thread as i64 + 1),
                    atomic: false,
                });
                if self.random.bool() {
                    self.code.push(Instruction::Post { semaphore });
                }
            }
            if self.random.bool() {
                self.memory(false);
            }
            self.code.push(Instruction::End);
        }
    }
}
