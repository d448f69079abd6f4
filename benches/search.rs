//! What exploration costs beside the program's runs: the search over the forest's states, on programs that an
//! interpreter runs in no time.
//!
//! Two threads count under one lock, so many times, with so many operations of their own in each section. The number of
//! runs is told first; `elem/s` are runs a second.
//!
//! Then a table: the same explorations by the search of states and by the solver, each once, ended after
//! `WITNESS_SEARCH_SECONDS` (60).

#![allow(missing_docs, reason = "criterion's macros make public functions")]
#![allow(dead_code, reason = "the interpreter serves the tests")]

#[path = "../tests/explore/interpreter.rs"]
mod interpreter;
#[path = "../tests/explore/known.rs"]
mod known;
#[path = "../tests/explore/machine.rs"]
mod machine;
#[path = "../tests/explore/program.rs"]
mod program;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use interpreter::{Hides, Interpreter};
use known::{count, forks, read, reorder, store};
use program::Program;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use witness::explore::{Engine, Exploration, Limits, Options, explore};

fn counting(threads: usize, times: usize, own: usize) -> Program {
    forks(&vec![count(own).repeat(times); threads])
}

/// So many threads each store a value of their own, and one looks once.
fn writers(writers: usize) -> Program {
    let mut threads: Vec<_> = (1..=writers).map(|value| vec![store(0, value as i64)]).collect();
    threads.push(vec![read(0, 0)]);
    forks(&threads)
}

/// Of so many threads each stores to a variable of its own, and one looks at all.
fn looked_at(writers: usize) -> Program {
    let mut threads: Vec<_> = (0..writers).map(|number| vec![store(number, 1)]).collect();
    threads.push((0..writers).map(|number| read(number, 0)).collect());
    forks(&threads)
}

/// By one engine, within a time: what came of it, and how long it took.
fn timed(program: &Program, engine: Engine) -> (Exploration, f64) {
    let seconds = std::env::var("WITNESS_SEARCH_SECONDS").ok();
    let seconds = seconds.and_then(|seconds| seconds.parse().ok()).unwrap_or(60);
    let started = Instant::now();
    let options = Options {
        engine,
        limits: Limits {
            until: Some(started + Duration::from_secs(seconds)),
            ..Limits::default()
        },
        ..Options::default()
    };
    let exploration = explored_with(program, &options);
    (exploration, started.elapsed().as_secs_f64())
}

fn engines(_: &mut Criterion) {
    let mut programs = Vec::new();
    programs.extend([8, 10, 20, 100].map(|n| (format!("reorder {n}"), reorder(n))));
    programs.extend([5, 10, 20, 40].map(|n| (format!("writers {n}"), writers(n))));
    programs.extend([4, 6, 8].map(|n| (format!("looked at {n}"), looked_at(n))));
    programs.extend([2, 3, 6].map(|times| (format!("2 threads count {times} times"), counting(2, times, 0))));
    programs.extend([3, 4].map(|threads| (format!("{threads} threads count 2 times"), counting(threads, 2, 0))));
    println!("{:24} {:>8} {:>8} {:>6} {:>10}", "", "engine", "branches", "runs", "s");
    for (name, program) in programs {
        for engine in [Engine::States, Engine::Solver, Engine::Auto] {
            let (exploration, seconds) = timed(&program, engine);
            let ended = if exploration.is_exhausted() {
                ""
            } else {
                " not exhausted"
            };
            println!(
                "{name:24} {:>8} {:>8} {:>6} {seconds:>10.2}{ended}",
                format!("{engine:?}"),
                exploration.forest.branches(),
                exploration.runs,
            );
        }
    }
}

fn explored(program: &Program) -> Exploration {
    let exploration = explored_with(program, &Options::default());
    assert!(exploration.is_exhausted(), "{:?}", exploration.not_exhausted);
    exploration
}

fn explored_with(program: &Program, options: &Options<'_>) -> Exploration {
    let mut session = Interpreter {
        program,
        random: fastrand::Rng::with_seed(1),
        most: 100_000,
        hides: Hides::default(),
        diverged: 0,
        guessed: 0,
    };
    let Ok(exploration) = explore(&mut session, options, &mut |_| ControlFlow::Continue(()));
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

criterion_group!(benches, search, engines);
criterion_main!(benches);
