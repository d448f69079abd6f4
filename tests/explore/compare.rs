//! What exploration says of a program, in the oracle's words, and whether that is true.

use crate::interpreter::{Hides, Interpreter, place_of};
use crate::machine::{Entry, History, Result};
use crate::oracle::{Truth, truth};
use crate::program::Program;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use witness::explore::{End, Engine, Exploration, Goal, Limits, Options, Reason, Waiting, What, explore};
use witness::forest::{Datum, Forest, Next, NodeId, Outcome, Region, Reservation};

/// How a program is explored.
#[derive(Clone, Copy, Debug)]
pub struct How {
    pub seed: u64,
    pub reduce: bool,
    pub fewest_states: Option<usize>,
    pub hides: Hides,
    pub engine: Engine,
    /// States of a search at most.
    pub states: usize,
    /// Whether histories that seem to go on alike are taken to do so first.
    pub looks_ahead: bool,
}

/// How an exploration went: what came of it, prefixes that could not be followed, runs along guesses.
pub fn explored(program: &Program, how: How) -> (Exploration, usize, usize) {
    let mut session = Interpreter {
        program,
        random: fastrand::Rng::with_seed(how.seed),
        most: 400,
        hides: how.hides,
        diverged: 0,
        guessed: 0,
    };
    let options = Options {
        limits: Limits {
            reduce: how.reduce,
            states: how.states,
            ..Limits::default()
        },
        engine: how.engine,
        fewest_states: how.fewest_states,
        failures_first: how.seed.is_multiple_of(4),
        looks_ahead_after: how.looks_ahead.then_some(1),
        show_goals: how.seed.is_multiple_of(3),
        ..Options::default()
    };
    let exploration = explore(&mut session, &options, &mut |_| ControlFlow::Continue(())).unwrap();
    (exploration, session.diverged, session.guessed)
}

/// What became of a comparison.
pub enum Compared {
    Right {
        truth: Box<Truth>,
        exploration: Box<Exploration>,
    },
    /// The oracle has too much to do.
    TooLarge,
    Wrong(String),
}

pub fn compare(program: &Program, how: How, limit: usize) -> Compared {
    let Some(truth) = truth(program, limit) else {
        return Compared::TooLarge;
    };
    let (exploration, diverged, guessed) = explored(program, how);
    let names = Names::of(&exploration.forest);
    let wrong = |what: String| Compared::Wrong(what);
    if diverged > 0 {
        return wrong(format!("{diverged} prefixes could not be followed"));
    }
    let freed = |reason: &Reason| {
        matches!(
            reason,
            Reason::Reservation(Reservation::UndefinedRead { .. }) | Reason::NotShown(..)
        )
    };
    let whole = exploration.is_exhausted();
    let excused = truth.reads_freed && exploration.not_exhausted.iter().all(freed);
    if !(whole || excused) {
        return wrong(format!("not exhausted: {:?}", exploration.not_exhausted));
    }
    if whole && truth.reads_freed {
        return wrong("exhausted, though a thread may read what was freed".to_owned());
    }
    let branches = names.branches();
    let goals: BTreeSet<Goal> = goals(&exploration);
    let failures = names.failures();
    if let Some(branch) = branches.difference(&truth.branches).next() {
        return wrong(format!("a branch that is none: {:?}", branch.entries()));
    }
    let feasible = |goal: &Goal| match goal {
        Goal::PartialDeadlock { waiting } => truth.entangled.contains(waiting),
        goal => truth.goals.contains(goal),
    };
    if let Some(goal) = goals.iter().find(|goal| !feasible(goal)) {
        return wrong(format!("a goal that is infeasible: {goal:?}"));
    }
    if whole {
        if let Some(branch) = truth.branches.difference(&branches).next() {
            return wrong(format!("a branch was missed: {:?}", branch.entries()));
        }
        if let Some(goal) = truth.goals.difference(&goals).next() {
            return wrong(format!("a goal was missed: {goal:?}"));
        }
        // What is part of a larger one may be told by that.
        let told = |waiting: &Vec<u64>| goals.iter().any(|goal| tells(goal, waiting));
        if let Some(waiting) = truth.entangled.iter().find(|waiting| !told(waiting)) {
            return wrong(format!("threads that wait for ever were missed: {waiting:?}"));
        }
        if failures != truth.failures {
            return wrong("failures differ".to_owned());
        }
        let ended = exploration
            .found
            .iter()
            .any(|found| matches!(found.what, What::Ended(End::Failure(_))));
        if ended == truth.failures.is_empty() {
            return wrong("no run showed the failure".to_owned());
        }
    }
    if exploration.runs > exploration.forest.branches() + asked(how, &exploration) + guessed {
        return wrong(format!(
            "{} runs for {} branches",
            exploration.runs,
            exploration.forest.branches()
        ));
    }
    Compared::Right {
        truth: Box::new(truth),
        exploration: Box::new(exploration),
    }
}

/// Whether a deadlock is one of these waits among others.
fn tells(goal: &Goal, waiting: &[u64]) -> bool {
    let mut all: Vec<u64> = match goal {
        Goal::PartialDeadlock { waiting } => waiting.clone(),
        Goal::Deadlock { waiting, .. } => (waiting.iter())
            .filter_map(|waiting| match *waiting {
                Waiting::At(position) => Some(position),
                Waiting::Spins => None,
            })
            .collect(),
        Goal::Race(..) | Goal::Unordered(..) => return false,
    };
    waiting.iter().all(|at| {
        let found = all.iter().position(|other| other == at);
        found.map(|found| all.swap_remove(found)).is_some()
    })
}

/// Runs that were made to learn whether an operation waits, or what comes next, add no branch.
fn asked(how: How, exploration: &Exploration) -> usize {
    if how.hides.patience || how.hides.next {
        exploration.forest.nodes().len()
    } else {
        0
    }
}

pub fn goals(exploration: &Exploration) -> BTreeSet<Goal> {
    let goals = exploration.found.iter().filter_map(|found| match &found.what {
        What::Goal(goal) => Some(goal.clone()),
        What::Ended(_) | What::UseAfterFree(_) => None,
    });
    goals.collect()
}

/// The forest's histories in the oracle's words.
struct Names<'f> {
    forest: &'f Forest,
    histories: Vec<History>,
}

impl<'f> Names<'f> {
    fn of(forest: &'f Forest) -> Names<'f> {
        let mut names = Names {
            forest,
            histories: Vec::new(),
        };
        // Parents come before their children, forks before what they fork, and blocks before who sees their addresses.
        for (index, node) in forest.nodes().iter().enumerate() {
            let history = match (node.parent, forest.trees()[node.tree.index()].forked_at) {
                (Some(parent), _) => {
                    let id = NodeId(index as u32);
                    match forest.node(parent).edges.iter().find(|edge| edge.to == id) {
                        Some(edge) => {
                            let entry = names.entry(parent, edge.outcome);
                            names.histories[parent.index()].then(entry)
                        }
                        // A history that turned out to be an earlier one.
                        None => names.histories[parent.index()],
                    }
                }
                (None, Some(fork)) => {
                    let entry = names.entry(fork, Outcome::Done);
                    names.histories[fork.index()].then(entry).child()
                }
                (None, None) => History::EMPTY,
            };
            names.histories.push(history);
        }
        names
    }

    fn entry(&self, node: NodeId, outcome: Outcome) -> Entry {
        let (pc, half) = place_of(self.forest.node(node).position);
        let result = match outcome {
            Outcome::Done => Result::Done,
            Outcome::GaveUp => Result::Failed,
            Outcome::Chosen => Result::Chosen,
            Outcome::Counted(count) => Result::Saw(count.into()),
            Outcome::Saw(value) => match self.forest.datum(value) {
                Datum::Number(number) => Result::Saw(number as i64),
                Datum::Address(place) => match place.region {
                    Region::Block(alloc) => Result::SawAddress(self.histories[alloc.index()], place.offset),
                    Region::Static | Region::Known(..) => unreachable!("programs pass no addresses of variables"),
                },
                Datum::Part { .. } => unreachable!("programs read whole addresses"),
            },
        };
        (pc, half, result)
    }

    fn branches(&self) -> BTreeSet<History> {
        let mut branches = BTreeSet::new();
        for (index, node) in self.forest.nodes().iter().enumerate() {
            for edge in &node.edges {
                let entry = self.entry(NodeId(index as u32), edge.outcome);
                branches.insert(self.histories[index].then(entry));
            }
        }
        branches
    }

    fn failures(&self) -> BTreeSet<History> {
        let nodes = self.forest.nodes().iter().zip(&self.histories);
        nodes
            .filter(|(node, _)| node.next == Next::Stops)
            .map(|(_, &history)| history)
            .collect()
    }
}
