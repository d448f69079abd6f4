//! A race that a search finds, but of which the run that is made for it goes another way, may be none.

use crate::interpreter::Interpreter;
use crate::known::{forks, store};
use std::convert::Infallible;
use std::ops::ControlFlow;
use witness::explore::{Divergence, Exploration, Followed, Goal, Options, Prefix, Ran, Reason, Session, What, explore};
use witness::forest::Forest;

/// Goes freely where a run is to show what was found, and says so.
struct GoesOtherWays<'p>(Interpreter<'p>);

impl Session for GoesOtherWays<'_> {
    type Error = Infallible;

    fn run(&mut self, forest: &Forest, prefix: &Prefix) -> Result<Ran, Infallible> {
        if prefix.moves.is_empty() || prefix.wanted.is_some() {
            return self.0.run(forest, prefix);
        }
        let ran = self.0.run(forest, &Prefix::default())?;
        let followed = Followed::Until {
            step: 0,
            why: Divergence::OtherOutcome,
        };
        Ok(Ran { followed, ..ran })
    }
}

fn races(explored: &Exploration) -> usize {
    let is_race = |what: &What| matches!(what, What::Goal(Goal::Race(..)));
    explored.found.iter().filter(|found| is_race(&found.what)).count()
}

#[test]
fn a_race_is_left_open_if_its_run_goes_another_way_and_no_trace_proves_it() {
    let program = forks(&[vec![store(0, 1)], vec![store(0, 2)]]);
    let interpreter = || Interpreter::new(&program, 1);
    let options = Options {
        show_goals: true,
        ..Options::default()
    };
    let followed = explore(&mut interpreter(), &options, &mut |_| ControlFlow::Continue(())).unwrap();
    let mut session = GoesOtherWays(interpreter());
    let contradicted = explore(&mut session, &options, &mut |_| ControlFlow::Continue(())).unwrap();
    for explored in [&followed, &contradicted] {
        assert!(explored.is_exhausted(), "{:?}", explored.not_exhausted);
        assert_eq!(races(explored), 1, "{:?}", explored.found);
    }

    // An analysis proves that of a run that was followed, or could not because of its budget.
    for (explored, is_proved) in [(&followed, true), (&followed, false), (&contradicted, true)] {
        let mut explored = explored.clone();
        explored.settle(|_| is_proved);
        assert_eq!((explored.is_exhausted(), races(&explored)), (true, 1));
    }
    let mut open = contradicted;
    open.settle(|_| false);
    assert!(
        matches!(open.not_exhausted[..], [Reason::NotReached(..)]),
        "{:?}",
        open.not_exhausted
    );
    assert_eq!(races(&open), 0);
}
