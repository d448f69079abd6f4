//! The clauses of a formula in Z3, in integer difference logic.
//!
//! For a pair of nodes with ranks lo < hi there is one atom, O(hi) − O(lo) ≤ −1: "hi before lo",
//! against the trace; its negation is "lo before hi". Z3 tries atoms false first, which thus means
//! "as in the trace" (the race point ranks right before the race): most of a schedule is settled by
//! guessing right. Likewise a choice is negated if π made it. Ties between nodes that no atom
//! separates are broken by rank.
//!
//! All queries use assumptions, which makes Z3 take its incremental solver from the start, the
//! simple one without preprocessing. `arith.solver=1` is its sparse difference-logic engine: the
//! dense ones allocate matrices of gigabytes here.
//!
//! A solver that ran out of resources is not used again: Z3 (4.8.12) then loses assertions of later questions, and
//! calls satisfiable what is not.

use crate::encode::{Choice, Clause, Formula, Literal, Node};
use crate::trace::EventId;
use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{panic, thread};
use z3::ast::{Bool, Int};
use z3::{Context, Params, SatResult, Solver, StatisticsValue};

/// A Z3 solver with the order variables, atoms and choices made so far.
pub(crate) struct Z3Session {
    solver: Solver,
    minus_one: Int,
    /// In an order of their own, as all terms are kept: Z3 numbers new terms in the order in which old ones were given
    /// back, and proofs depend on these numbers.
    nodes: BTreeMap<Node, Int>,
    /// By (hi, lo).
    atoms: BTreeMap<(Node, Node), Bool>,
    choices: Vec<Bool>,
    /// How many clauses of the formula are asserted.
    asserted: usize,
    /// Resource units that a check may spend.
    budget: u32,
    /// Whether there was a question.
    begun: bool,
    /// Whether a check ended for want of resources.
    gave_up: bool,
    /// What the last check found, if that is a model.
    found: Option<z3::Model>,
}

/// The solver's word on a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Satisfiable,
    Unsatisfiable,
    /// The resource budget was spent.
    Budget,
}

/// Bytes of the stack of a thread that asks Z3, whose functions call themselves: as many as the first thread's.
const STACK: usize = 8 << 20;

/// Does something that may ask Z3, in a context that nobody else has asked, nor will. The thread that it is done by has
/// one as soon as it asks; who sets another one on a thread makes two, of 16 MB each.
pub(crate) fn in_own_context<R: Send>(ask: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, ask);
        let thread = thread.expect("failed to spawn thread");
        thread.join().unwrap_or_else(|cause| panic::resume_unwind(cause))
    })
}

/// Time between two looks whether checks are to be interrupted.
const LOOK: Duration = Duration::from_millis(20);

/// Does something that asks solvers of this thread, and interrupts their checks from when `stop` says so. The answer of
/// such a check is that of a spent budget.
pub(crate) fn interrupted_by<T>(stop: Option<fn() -> bool>, ask: impl FnOnce() -> T) -> T {
    let Some(stop) = stop else {
        return ask();
    };
    let context = Context::thread_local();
    let handle = context.handle();
    thread::scope(|scope| {
        let (asks, asked) = mpsc::channel::<()>();
        let watch = move || {
            while asked.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                // To Z3 this is nothing between two checks, so the next one needs another.
                if stop() {
                    handle.interrupt();
                }
            }
        };
        scope.spawn(watch);
        let answer = ask();
        drop(asks);
        answer
    })
}

impl Z3Session {
    /// A solver of its own, in the Z3 context of this thread. `budget`: resource units per check.
    pub(crate) fn new(budget: u32) -> Z3Session {
        let solver = Solver::new();
        let mut params = Params::new();
        params.set_u32("arith.solver", 1);
        params.set_u32("random_seed", 0);
        params.set_u32("rlimit", budget);
        solver.set_params(&params);
        Z3Session {
            solver,
            minus_one: Int::from_i64(-1),
            nodes: BTreeMap::new(),
            atoms: BTreeMap::new(),
            choices: Vec::new(),
            asserted: 0,
            budget,
            begun: false,
            gave_up: false,
            found: None,
        }
    }

    /// Forgets the last question, and begins another. A solver of its own for each would be as good, but to make one
    /// takes longer than most questions.
    pub(crate) fn begin(&mut self) {
        if self.gave_up {
            *self = Z3Session::new(self.budget);
        }
        if self.begun {
            self.solver.pop(1);
        }
        self.solver.push();
        self.begun = true;
        self.nodes.clear();
        self.atoms.clear();
        self.choices.clear();
        self.asserted = 0;
    }

    /// Forgets the question's solver as well: the question begins anew, in one that has seen no other.
    pub(crate) fn renew(&mut self) {
        *self = Z3Session::new(self.budget);
        self.begin();
    }

    fn node(&mut self, node: Node) -> Int {
        self.nodes
            .entry(node)
            .or_insert_with(|| Int::new_const(node.number()))
            .clone()
    }

    pub(crate) fn literal(&mut self, formula: &impl Formula, literal: Literal) -> Bool {
        match literal {
            Literal::Before(a, b) => {
                let (lo, hi) = if formula.rank(a) < formula.rank(b) {
                    (a, b)
                } else {
                    (b, a)
                };
                if !self.atoms.contains_key(&(hi, lo)) {
                    let atom = (self.node(hi) - self.node(lo)).le(&self.minus_one);
                    self.atoms.insert((hi, lo), atom);
                }
                let against = &self.atoms[&(hi, lo)];
                if a == hi { against.clone() } else { against.not() }
            }
            Literal::Chosen(choice) => self.choice(formula, choice, true),
            Literal::NotChosen(choice) => self.choice(formula, choice, false),
        }
    }

    fn choice(&mut self, formula: &impl Formula, choice: Choice, chosen: bool) -> Bool {
        while self.choices.len() <= choice.0 as usize {
            self.choices.push(Bool::new_const(format!("c{}", self.choices.len())));
        }
        let differs = &self.choices[choice.0 as usize];
        if chosen == formula.is_default(choice) {
            differs.not()
        } else {
            differs.clone()
        }
    }

    /// Asserts the clauses that the formula has gained.
    pub(crate) fn assert_new(&mut self, formula: &impl Formula) {
        while self.asserted < formula.clauses().len() {
            let clause = self.disjunction(formula, &formula.clauses()[self.asserted]);
            self.solver.assert(&clause);
            self.asserted += 1;
        }
    }

    pub(crate) fn disjunction(&mut self, formula: &impl Formula, clause: &Clause) -> Bool {
        let literals: Vec<Bool> = clause
            .literals
            .iter()
            .map(|&literal| self.literal(formula, literal))
            .collect();
        match &literals[..] {
            [literal] => literal.clone(),
            literals => Bool::or(literals),
        }
    }

    /// Changes the resource units that each further check may spend.
    pub(crate) fn set_budget(&mut self, budget: u32) {
        if self.budget == budget {
            return;
        }
        self.budget = budget;
        let mut params = Params::new();
        params.set_u32("rlimit", budget);
        self.solver.set_params(&params);
    }

    /// Ends each further check by then at the latest, if that is a time. The answer is that of a spent budget.
    pub(crate) fn end_by(&mut self, until: Option<Instant>) {
        let Some(until) = until else { return };
        let left = until.saturating_duration_since(Instant::now()).as_millis();
        let mut params = Params::new();
        params.set_u32("rlimit", self.budget);
        // To Z3, nothing is no limit.
        params.set_u32("timeout", u32::try_from(left).unwrap_or(u32::MAX).max(1));
        self.solver.set_params(&params);
    }

    /// The resource units spent so far, in all; the count wraps around.
    pub(crate) fn spent(&self) -> u32 {
        match self.solver.get_statistics().value("rlimit count") {
            Some(StatisticsValue::UInt(count)) => count,
            _ => 0,
        }
    }

    pub(crate) fn assert(&self, formula: &Bool) {
        self.solver.assert(formula);
    }

    pub(crate) fn check(&mut self, assumptions: &[Bool]) -> Status {
        let answer = self.solver.check_assumptions(assumptions);
        // Z3 makes the model only now, and none once it was interrupted or its time was over at the end of the check.
        self.found = match answer {
            SatResult::Sat => self.solver.get_model(),
            SatResult::Unsat | SatResult::Unknown => None,
        };
        match (answer, &self.found) {
            (SatResult::Sat, Some(_)) => Status::Satisfiable,
            (SatResult::Unsat, _) => Status::Unsatisfiable,
            (SatResult::Sat | SatResult::Unknown, _) => {
                self.gave_up = true;
                Status::Budget
            }
        }
    }

    /// The assumptions that the last unsatisfiable check needed.
    pub(crate) fn unsat_core(&self) -> Vec<Bool> {
        self.solver.get_unsat_core()
    }

    /// The model of the last satisfiable check.
    pub(crate) fn model(&self, formula: &impl Formula) -> Model {
        let model = self.found.as_ref().expect("the last check was satisfiable");
        let mut order: Vec<(i64, Node)> = Vec::with_capacity(self.nodes.len());
        for (&node, variable) in &self.nodes {
            // Without an interpretation its value does not matter.
            let value = model.get_const_interp(variable).map_or(Some(0), |value| value.as_i64());
            order.push((value.expect("places are small integers"), node));
        }
        order.sort_unstable_by_key(|&(value, node)| (value, formula.rank(node)));
        let last = order.iter().map(|&(_, node)| node.number()).max().unwrap_or(0);
        let mut places = vec![UNKNOWN; last as usize + 1];
        for (place, &(_, node)) in order.iter().enumerate() {
            places[node.number() as usize] = place as u32;
        }
        let guarded = self.atoms.keys().filter_map(|&(hi, lo)| match (hi, lo) {
            (Node::RACE, node) | (node, Node::RACE) => node.event(),
            _ => None,
        });
        let mut behind: Vec<EventId> = guarded
            .filter(|&event| places[Node::of(event).number() as usize] > places[Node::RACE.number() as usize])
            .collect();
        behind.sort_unstable();
        let choices = self.choices.iter().enumerate().map(|(number, differs)| {
            let differs = model
                .get_const_interp(differs)
                .and_then(|value| value.as_bool())
                .unwrap_or(false);
            differs != formula.is_default(Choice(number as u32))
        });
        Model {
            places,
            behind,
            choices: choices.collect(),
        }
    }
}

/// The place of a node without an order variable.
const UNKNOWN: u32 = u32::MAX;

/// What the solver proposes.
pub(crate) struct Model {
    /// The place of each node in the model's order, by its number.
    places: Vec<u32>,
    behind: Vec<EventId>,
    choices: Vec<bool>,
}

impl Model {
    /// Whether a choice is made.
    pub(crate) fn chosen(&self, choice: Choice) -> bool {
        self.choices.get(choice.0 as usize).copied().unwrap_or(false)
    }

    /// The place of a node in its order; the last of all if it has none.
    pub(crate) fn place(&self, node: Node) -> u32 {
        self.places.get(node.number() as usize).copied().unwrap_or(UNKNOWN)
    }

    /// Whether an event has an order variable.
    pub(crate) fn knows(&self, event: EventId) -> bool {
        self.place(Node::of(event)) != UNKNOWN
    }

    /// Whether one event comes before another; both are known.
    pub(crate) fn before(&self, first: EventId, second: EventId) -> bool {
        self.puts_before(Node::of(first), Node::of(second))
    }

    /// Whether one node comes before another; both are known.
    pub(crate) fn puts_before(&self, first: Node, second: Node) -> bool {
        self.place(first) < self.place(second)
    }

    /// The events that it wants behind the race, where that matters to a clause.
    pub(crate) fn behind(&self) -> &[EventId] {
        &self.behind
    }

    /// Whether an event is known, and comes before the race.
    pub(crate) fn has(&self, event: EventId) -> bool {
        self.knows(event) && self.place(Node::of(event)) < self.place(Node::RACE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More pigeons than holes: without an end from outside, nobody waits for the answer.
    #[test]
    fn a_check_is_interrupted() {
        const HOLES: usize = 14;
        let sits = |pigeon: usize, hole: usize| Bool::new_const(format!("{pigeon} in {hole}"));
        let mut session = Z3Session::new(u32::MAX);
        session.begin();
        for pigeon in 0..=HOLES {
            let somewhere: Vec<Bool> = (0..HOLES).map(|hole| sits(pigeon, hole)).collect();
            session.assert(&Bool::or(&somewhere));
            for other in 0..pigeon {
                for hole in 0..HOLES {
                    session.assert(&Bool::or(&[sits(pigeon, hole).not(), sits(other, hole).not()]));
                }
            }
        }
        let status = interrupted_by(Some(|| true), || session.check(&[]));
        assert_eq!(status, Status::Budget);
        // Others are not.
        session.begin();
        session.assert(&sits(0, 0));
        assert_eq!(session.check(&[sits(0, 0)]), Status::Satisfiable);
    }

    #[test]
    fn a_check_that_is_interrupted_at_its_very_end_has_no_model() {
        let handle = Context::thread_local();
        let handle = handle.handle();
        let (mut satisfiable, mut interrupted) = (0, 0);
        let (asks, asked) = mpsc::channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || {
                while asked.try_recv() == Err(mpsc::TryRecvError::Empty) {
                    handle.interrupt();
                    thread::sleep(Duration::from_micros(50));
                }
            });
            let mut z3 = Z3Session::new(u32::MAX);
            for round in 0..4_000 {
                z3.begin();
                let places: Vec<Int> = (0..8).map(|place| Int::new_const(round * 8 + place)).collect();
                for (before, after) in places.iter().zip(&places[1..]) {
                    z3.assert(&Bool::or(&[before.lt(after), after.lt(before)]));
                }
                match z3.check(&[]) {
                    Status::Satisfiable => {
                        assert!(z3.found.is_some());
                        satisfiable += 1;
                    }
                    Status::Unsatisfiable => panic!("they can be in order"),
                    Status::Budget => interrupted += 1,
                }
            }
            drop(asks);
        });
        println!("{satisfiable} satisfiable, {interrupted} interrupted");
        assert!(satisfiable > 0 && interrupted > 0);
    }
}
