//! How many runs known programs take.

use crate::compare::{How, explored, goals};
use crate::interpreter::Hides;
use crate::program::{Instruction, Program, Term};
use witness::explore::{Engine, Exploration};

const HOW: How = How {
    seed: 1,
    reduce: true,
    hides: Hides {
        patience: false,
        next: false,
    },
    engine: Engine::States,
    states: usize::MAX,
};

/// A program whose first thread forks these and does nothing else.
fn forks(threads: &[Vec<Instruction>]) -> Program {
    let mut code: Vec<Instruction> = threads.iter().map(|_| Instruction::Fork { at: 0, into: 3 }).collect();
    code.push(Instruction::End);
    for (index, thread) in threads.iter().enumerate() {
        code[index] = Instruction::Fork {
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

fn exhausted(threads: &[Vec<Instruction>]) -> Exploration {
    let (exploration, diverged) = explored(&forks(threads), HOW);
    assert!(
        exploration.is_exhausted() && diverged == 0,
        "{:?}",
        exploration.not_exhausted
    );
    exploration
}

fn read(from: usize, into: usize) -> Instruction {
    Instruction::Read {
        from,
        into,
        atomic: false,
    }
}

fn write(to: usize, value: Term) -> Instruction {
    Instruction::Write {
        to,
        value,
        atomic: false,
    }
}

fn count() -> Vec<Instruction> {
    let lock = Instruction::Lock { lock: 0, shared: false };
    vec![
        lock,
        read(0, 0),
        write(0, Term::Plus(0, 1)),
        Instruction::Unlock { lock: 0 },
    ]
}

#[test]
fn threads_that_count_under_a_lock_take_a_sum_of_runs() {
    for (threads, runs) in [(2, 2), (3, 5), (4, 8), (5, 13), (6, 20)] {
        let exploration = exhausted(&vec![count(); threads]);
        println!(
            "{threads} threads count: {} runs, {} branches, {} states",
            exploration.runs,
            exploration.forest.branches(),
            exploration.states
        );
        assert!(exploration.runs <= runs, "{threads} threads: {} runs", exploration.runs);
        assert!(goals(&exploration).is_empty());
    }
}

#[test]
fn threads_that_count_again_and_again() {
    for (threads, times) in [(2, 2), (2, 4), (2, 6), (3, 2), (3, 3)] {
        let exploration = exhausted(&vec![count().repeat(times); threads]);
        println!(
            "{threads} threads count {times} times: {} runs, {} branches, {} states",
            exploration.runs,
            exploration.forest.branches(),
            exploration.states
        );
        assert!(exploration.runs <= exploration.forest.branches());
    }
}

#[test]
fn a_reader_between_two_stores_of_many_takes_four_runs() {
    for writers in [3, 5, 8, 10] {
        let mut threads = vec![vec![write(0, Term::Number(1)), write(1, Term::Number(-1))]; writers];
        threads.push(vec![read(0, 0), read(1, 1)]);
        let exploration = exhausted(&threads);
        println!(
            "reorder {writers}: {} runs, {} branches, {} states",
            exploration.runs,
            exploration.forest.branches(),
            exploration.states
        );
        assert!(exploration.runs <= 4, "{} runs", exploration.runs);
    }
}
