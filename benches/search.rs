//! What exploration costs beside the program's runs: the search over the forest's states, on programs that an interpreter runs in no time.
//!
//! Two threads count under one lock, so many times, with so many operations of their own in each section. The number of runs is told first;
//! `elem/s` are runs a second.

#![allow(missing_docs, reason = "criterion's macros make public functions")]
#![allow(dead_code, reason = "the interpreter serves the tests")]

#[path = "../tests/explore/interpreter.rs"]
mod interpreter;
#[path = "../tests/explore/machine.rs"]
mod machine;
#[path = "../tests/explore/program.rs"]
mod program;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use interpreter::{Hides, Interpreter};
use program::{Instruction, Program, Term};
use std::ops::ControlFlow;
use witness::explore::{Exploration, Options, explore};

fn counting(threads: usize, times: usize, own: usize) -> Program {
    let shared = [
        Instruction::Read {
            from: 0,
            into: 0,
            atomic: false,
        },
        Instruction::Write {
            to: 0,
            value: Term::Plus(0, 1),
            atomic: false,
        },
    ];
    let mut code = vec![Instruction::Fork { at: 0, into: 3 }; threads];
    code.push(Instruction::End);
    for thread in 0..threads {
        code[thread] = Instruction::Fork {
            at: code.len(),
            into: 3,
        };
        for _ in 0..times {
            code.push(Instruction::Lock { lock: 0, shared: false });
            code.extend(vec![Instruction::Fence; own]);
            code.extend(shared);
            code.push(Instruction::Unlock { lock: 0 });
        }
        code.push(Instruction::End);
    }
    Program {
        code,
        recursive: vec![false],
        ..Program::default()
    }
}

fn explored(program: &Program) -> Exploration {
    let mut session = Interpreter {
        program,
        random: fastrand::Rng::with_seed(1),
        most: 100_000,
        hides: Hides::default(),
        diverged: 0,
    };
    let Ok(exploration) = explore(&mut session, &Options::default(), &mut |_| ControlFlow::Continue(()));
    assert!(exploration.is_exhausted(), "{:?}", exploration.not_exhausted);
    exploration
}

fn search(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("search");
    group.sample_size(10);
    for (threads, times, own) in [(2, 6, 0), (2, 6, 20), (3, 3, 10)] {
        let program = counting(threads, times, own);
        let exploration = explored(&program);
        println!(
            "{threads} threads count {times} times, with {own} operations of their own: {} runs, {} branches",
            exploration.runs,
            exploration.forest.branches()
        );
        group.throughput(Throughput::Elements(exploration.runs as u64));
        group.bench_function(format!("{threads}x{times}+{own}"), |bencher| {
            bencher.iter(|| explored(&program));
        });
    }
    group.finish();
}

criterion_group!(benches, search);
criterion_main!(benches);
