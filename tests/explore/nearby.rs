//! What the cheap searches find does not depend on what they leave out because another simulation has done it.

use crate::interpreter::{Hides, Interpreter};
use crate::{environment, kind, random_program};
use std::ops::ControlFlow;
use witness::explore::{Limits, Options, explore, nearby};

#[test]
fn what_is_open_nearby_is_what_simulations_from_scratch_find() {
    let first = environment("WITNESS_EXPLORE_SEED", 1);
    let from_scratch = Limits {
        reduce: false,
        ..Limits::default()
    };
    let (mut compared, mut found) = (0, 0);
    for seed in first..first + environment("WITNESS_EXPLORE_PROGRAMS", 300) {
        let mut random = fastrand::Rng::with_seed(seed);
        let program = random_program::program(&mut random, kind());
        // Where little is known, most simulations meet something open, and later hardly any do.
        for runs in [1, 2, 4, 8, 16] {
            let mut session = Interpreter {
                program: &program,
                random: fastrand::Rng::with_seed(seed),
                most: 400,
                hides: Hides {
                    patience: seed.is_multiple_of(4),
                    next: seed.is_multiple_of(5),
                },
                diverged: 0,
                guessed: 0,
            };
            let options = Options {
                failures_first: true,
                runs,
                ..Options::default()
            };
            let explored = explore(&mut session, &options, &mut |_| ControlFlow::Continue(())).unwrap();
            let expected = nearby(&mut explored.forest.clone(), &from_scratch);
            let mut forest = explored.forest;
            assert!(
                nearby(&mut forest, &Limits::default()) == expected,
                "seed {seed}, after {runs} runs: {:#?}",
                program.code
            );
            compared += 1;
            found += expected.len();
        }
    }
    println!("{compared} forests, {found} open branches");
    assert!(found > 0, "nothing was compared");
}
