//! Known programs: threads that count, and threads whose stores another one looks at.

use crate::program::{Instruction, Program, Term};

/// A program whose first thread forks these and does nothing else.
pub fn forks(threads: &[Vec<Instruction>]) -> Program {
    behind(&[], threads)
}

/// A program whose first thread does something, then forks these, and ends.
pub fn behind(first: &[Instruction], threads: &[Vec<Instruction>]) -> Program {
    let mut code = first.to_vec();
    code.extend(vec![Instruction::Fork { at: 0, into: 3 }; threads.len()]);
    code.push(Instruction::End);
    for (number, thread) in (first.len()..).zip(threads) {
        code[number] = Instruction::Fork {
            at: code.len(),
            into: 3,
        };
        code.extend(thread);
        code.push(Instruction::End);
    }
    Program {
        code,
        recursive: vec![false],
        ..Program::default()
    }
}

pub fn read(from: usize, into: usize) -> Instruction {
    Instruction::Read {
        from,
        into,
        atomic: false,
    }
}

pub fn write(to: usize, value: Term) -> Instruction {
    Instruction::Write {
        to,
        value,
        atomic: false,
    }
}

pub fn store(to: usize, value: i64) -> Instruction {
    write(to, Term::Number(value))
}

/// Adds 1 to a variable under a lock, with so many operations of the thread's own in the section.
pub fn count(own: usize) -> Vec<Instruction> {
    let mut code = vec![Instruction::Lock { lock: 0, shared: false }];
    code.extend(vec![Instruction::Fence; own]);
    code.extend([read(0, 0), write(0, Term::Plus(0, 1)), Instruction::Unlock { lock: 0 }]);
    code
}

/// So many threads store to two variables, and one looks between the stores.
pub fn reorder(writers: usize) -> Program {
    let mut threads = vec![vec![store(0, 1), store(1, -1)]; writers];
    threads.push(vec![read(0, 0), read(1, 1)]);
    forks(&threads)
}
