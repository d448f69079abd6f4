//! Exploration against exhaustive search, on many small random programs.
//!
//! `program` is a small language with every operation that is explored, `machine` what its programs do by
//! docs/SEMANTICS.md, written from that page alone; `interpreter` runs them along prefixes, as a session of
//! exploration, and `oracle` tries every schedule. At exhaustion both must have the same branches (every outcome of
//! every history of every thread), races, deadlocks and failures; every prefix must be one that the program can follow,
//! and there are no more runs than branches.
//!
//! The search of states, the solver, and both by turns are compared alike.
//!
//! `WITNESS_EXPLORE_PROGRAMS` and `WITNESS_EXPLORE_SEED` set the number of programs and the first seed;
//! `WITNESS_EXPLORE_STATES`, how many states the oracle may visit for one; `WITNESS_EXPLORE_KIND` (of
//! `random_program.rs`: `Waits`, …), what each program may do.

mod ahead;
mod compare;
mod contradicted;
mod counts;
mod executions;
mod interpreter;
mod known;
mod machine;
mod nearby;
mod oracle;
mod program;
mod random_program;
mod unordered;

use compare::{Compared, How, compare, goals};
use interpreter::Hides;
use known::{read, write};
use program::{Instruction, Term};
use random_program::{KINDS, Kind};
use std::collections::BTreeMap;
use witness::explore::{Classes, Engine, Goal, Limits, classes};

fn environment(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn how(seed: u64, engine: Engine, random: &mut fastrand::Rng) -> How {
    let sometimes = |random: &mut fastrand::Rng| random.u32(0..4) == 0;
    How {
        seed,
        reduce: random.u32(0..4) > 0,
        hides: Hides {
            patience: sometimes(random),
            next: sometimes(random),
        },
        engine,
        states: match engine {
            // So few that the other engine takes over in the middle.
            Engine::Auto => random.usize(1..30),
            _ => Limits::default().states,
        },
        looks_ahead: !seed.is_multiple_of(3),
        // Searches that are whole, and those that end at once when something is found, or soon.
        fewest_states: [None, Some(0), Some(10)][random.usize(0..3)],
    }
}

/// The kind of statements that each program may have, if the environment asks for one.
fn kind() -> Option<Kind> {
    let name = std::env::var("WITNESS_EXPLORE_KIND").ok()?;
    let kind = KINDS.into_iter().find(|kind| format!("{kind:?}") == name);
    Some(kind.unwrap_or_else(|| panic!("there is no kind {name}")))
}

/// Which random programs are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Of {
    All,
    /// Those that ask for the counts of semaphores.
    Counting,
    /// Those that their first thread ends.
    Ending,
}

/// Compares many programs; so many, if the environment does not say otherwise.
fn compare_programs(engine: Engine, programs: u64, of: Of) {
    let programs = environment("WITNESS_EXPLORE_PROGRAMS", programs);
    let first = environment("WITNESS_EXPLORE_SEED", 1);
    let limit = environment("WITNESS_EXPLORE_STATES", 1500) as usize;
    let mut sums: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in first..first + programs {
        let mut random = fastrand::Rng::with_seed(seed);
        let kind = kind().or(match of {
            Of::All => None,
            Of::Counting => Some(Kind::Semaphores),
            Of::Ending => Some(Kind::Locks),
        });
        let mut program = random_program::program(&mut random, kind);
        let how = how(seed, engine, &mut random);
        match of {
            Of::All => {}
            Of::Counting => random_program::counting(&mut program, &mut random),
            Of::Ending => random_program::ending(&mut program),
        }
        match compare(&program, how, limit) {
            Compared::Wrong(what) => {
                let listing = program.code.iter().enumerate();
                let code: Vec<String> = listing
                    .map(|(at, instruction)| format!("{at}: {instruction:?}"))
                    .collect();
                panic!(
                    "seed {seed}, {how:?}: {what}\n{}\nrecursive {:?}, counts {:?}, parties {:?}",
                    code.join("\n"),
                    program.recursive,
                    program.counts,
                    program.parties
                );
            }
            Compared::TooLarge => *sums.entry("too large").or_default() += 1,
            Compared::Right { truth, exploration } => {
                let mut add = |what, count| *sums.entry(what).or_default() += count;
                add("programs", 1);
                add("exhausted", usize::from(exploration.is_exhausted()));
                add("runs", exploration.runs);
                add("branches", truth.branches.len());
                add("goals", truth.goals.len());
                let partial = |goal: &&Goal| matches!(goal, Goal::PartialDeadlock { .. });
                add("partial deadlocks", goals(&exploration).iter().filter(partial).count());
                add("failures", truth.failures.len());
                add("states of the oracle", truth.states);
                add("states of the last search", exploration.states);
            }
        }
    }
    println!("{sums:?}");
    assert!(
        of != Of::Ending || sums.get("partial deadlocks").is_some_and(|&count| count > 0),
        "nothing was compared"
    );
}

#[test]
fn exploration_finds_what_exhaustive_search_finds() {
    compare_programs(Engine::States, 300, Of::All);
}

#[test]
fn what_was_left_in_half_of_a_read_hides_nothing_of_the_other_half() {
    // The block that is allocated first is taken for the stack of the first thread. One thread writes half of it, and
    // another one reads the whole: nobody has written the other half.
    let (block, whole) = (1, 2);
    let pass_on = [Instruction::Alloc { into: block }, write(0, Term::Plus(block, 0))];
    let writer = [
        read(0, block),
        Instruction::WriteAt {
            block,
            offset: 0,
            value: Term::Number(1),
        },
    ];
    let reader = [read(0, block), Instruction::ReadBoth { block, into: whole }];
    let program = known::behind(&pass_on, &[writer.to_vec(), reader.to_vec()]);
    let mut random = fastrand::Rng::with_seed(1);
    for engine in [Engine::States, Engine::Solver] {
        match compare(&program, how(1, engine, &mut random), 1500) {
            Compared::Right { exploration, .. } => assert!(exploration.is_exhausted()),
            Compared::Wrong(what) => panic!("{engine:?}: {what}"),
            Compared::TooLarge => panic!("{engine:?}: too large"),
        }
    }
}

#[test]
fn counts_of_semaphores_are_those_of_exhaustive_search() {
    compare_programs(Engine::States, 150, Of::Counting);
}

#[test]
fn the_solver_finds_what_exhaustive_search_finds() {
    compare_programs(Engine::Solver, 60, Of::All);
}

#[test]
fn threads_that_wait_when_the_program_ends_are_those_of_exhaustive_search() {
    compare_programs(Engine::States, 600, Of::Ending);
    compare_programs(Engine::Solver, 100, Of::Ending);
}

#[test]
fn of_threads_that_wait_when_the_program_ends_the_most_are_told() {
    let lock = |lock| Instruction::Lock { lock, shared: false };
    let in_order = |first, second| vec![lock(first), lock(second)];
    // Two pairs, each of which may wait without the other; and four threads, of which any two that differ may.
    let pairs = [in_order(0, 1), in_order(1, 0), in_order(2, 3), in_order(3, 2)];
    let alike = [in_order(0, 1), in_order(0, 1), in_order(1, 0), in_order(1, 0)];
    for threads in [pairs, alike] {
        let mut program = known::forks(&threads);
        program.recursive = vec![false; 4];
        random_program::ending(&mut program);
        let mut random = fastrand::Rng::with_seed(1);
        let mut told = Vec::new();
        for engine in [Engine::States, Engine::Solver] {
            match compare(&program, how(1, engine, &mut random), 20_000) {
                Compared::Right { exploration, .. } => {
                    assert!(exploration.is_exhausted());
                    let partial = |goal: &Goal| matches!(goal, Goal::PartialDeadlock { .. });
                    told.push(goals(&exploration).into_iter().filter(partial).count());
                }
                Compared::Wrong(what) => panic!("{engine:?}: {what}"),
                Compared::TooLarge => panic!("{engine:?}: too large"),
            }
        }
        println!("{told:?} partial deadlocks");
        assert!(told.iter().all(|&told| (1..=4).contains(&told)), "{told:?}");
    }
}

#[test]
fn engines_that_take_turns_find_what_exhaustive_search_finds() {
    compare_programs(Engine::Auto, 60, Of::All);
}

#[test]
fn classes_are_those_that_all_schedules_make() {
    let first = environment("WITNESS_EXPLORE_SEED", 1);
    let limit = environment("WITNESS_EXPLORE_STATES", 1500) as usize;
    let (mut compared, mut sum, mut most) = (0, 0, 0);
    for seed in first..first + environment("WITNESS_EXPLORE_PROGRAMS", 300) {
        let mut random = fastrand::Rng::with_seed(seed);
        let program = random_program::program(&mut random, kind());
        let how = how(seed, Engine::States, &mut random);
        let Compared::Right { truth, exploration } = compare(&program, how, limit) else {
            continue;
        };
        // A thread that fails ends the others somewhere.
        if !exploration.is_exhausted() || !truth.failures.is_empty() {
            continue;
        }
        let (Some(executions), Some(classes)) = (
            executions::executions(&program, 10 * limit),
            classes(&exploration.forest, usize::MAX),
        ) else {
            continue;
        };
        let expected = Classes {
            count: executions,
            at_least: false,
        };
        assert_eq!(classes, expected, "seed {seed}: {:#?}", program.code);
        compared += 1;
        sum += executions;
        most = most.max(executions);
    }
    println!("{compared} programs, {sum} classes, at most {most}");
    assert!(compared > 0);
}
