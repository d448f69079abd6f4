//! How many runs known programs take.

use crate::compare::{How, explored, goals};
use crate::interpreter::{Hides, Interpreter};
use crate::known::{count, forks, read, reorder, store};
use crate::program::{Instruction, Program};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use witness::explore::{Classes, Engine, Exploration, Limits, Options, Reason, classes, explore};

pub const HOW: How = How {
    seed: 1,
    reduce: true,
    fewest_states: Some(2_000),
    hides: Hides {
        patience: false,
        next: false,
    },
    engine: Engine::States,
    states: usize::MAX,
    looks_ahead: false,
};

fn exhausted(threads: &[Vec<Instruction>]) -> Exploration {
    exhausted_by(&forks(threads))
}

fn exhausted_by(program: &Program) -> Exploration {
    let (exploration, diverged, _) = explored(program, HOW);
    assert!(
        exploration.is_exhausted() && diverged == 0,
        "{:?}",
        exploration.not_exhausted
    );
    exploration
}

#[test]
fn threads_that_count_under_a_lock_take_a_sum_of_runs() {
    for (threads, runs) in [(2, 2), (3, 5), (4, 8), (5, 13), (6, 20)] {
        let exploration = exhausted(&vec![count(0); threads]);
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
        let exploration = exhausted(&vec![count(0).repeat(times); threads]);
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
        let exploration = exhausted_by(&reorder(writers));
        println!(
            "reorder {writers}: {} runs, {} branches, {} states",
            exploration.runs,
            exploration.forest.branches(),
            exploration.states
        );
        assert!(exploration.runs <= 4, "{} runs", exploration.runs);
    }
}

fn classes_of(threads: &[Vec<Instruction>]) -> usize {
    match classes(&exhausted(threads).forest, 1_000_000) {
        Some(Classes { count, at_least: false }) => count,
        other => panic!("{other:?}"),
    }
}

#[test]
fn classes_are_those_of_reads_from_exploration() {
    for (threads, factorial) in [(1, 1), (2, 2), (3, 6), (4, 24), (5, 120)] {
        assert_eq!(
            classes_of(&vec![count(0); threads]),
            factorial,
            "{threads} threads count"
        );
    }
    let writers = vec![store(0, 1)];
    assert_eq!(classes_of(&vec![writers.clone(); 3]), 1, "nobody reads");
    let store_buffering = [vec![store(0, 1), read(1, 0)], vec![store(1, 1), read(0, 0)]];
    assert_eq!(classes_of(&store_buffering), 3);
    let message_passing = [vec![store(0, 1), store(1, 1)], vec![read(1, 0), read(0, 1)]];
    assert_eq!(classes_of(&message_passing), 3);
    let readers = [
        writers,
        vec![store(1, 1)],
        vec![read(0, 0), read(1, 1)],
        vec![read(1, 0), read(0, 1)],
    ];
    assert_eq!(classes_of(&readers), 15, "independent reads of independent writes");
    // Equal values of two writes are two sources.
    let two_writers = [vec![store(0, 1)], vec![store(0, 1)], vec![read(0, 0)]];
    assert_eq!(classes_of(&two_writers), 3);
}

#[test]
fn classes_are_counted_within_a_bound() {
    let forest = exhausted(&vec![count(0); 4]).forest;
    let Some(Classes { count, at_least: true }) = classes(&forest, 50) else {
        panic!("the bound was not noticed");
    };
    assert!(count <= 24);
}

#[test]
fn a_question_to_the_solver_ends_with_the_time() {
    let program = forks(&vec![count(0).repeat(4); 3]);
    let mut session = Interpreter::new(&program, 1);
    let limit = Duration::from_secs(2);
    let options = Options {
        limits: Limits {
            until: Some(Instant::now() + limit),
            ..Limits::default()
        },
        engine: Engine::Solver,
        ..Options::default()
    };
    let begun = Instant::now();
    let exploration = explore(&mut session, &options, &mut |_| ControlFlow::Continue(())).unwrap();
    println!("{:?} for {limit:?}, {} runs", begun.elapsed(), exploration.runs);
    assert_eq!(exploration.not_exhausted, [Reason::Stopped]);
    assert!(begun.elapsed() < 3 * limit);
}
