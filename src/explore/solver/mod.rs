//! The frontier of a forest, found by a solver: a formula over the nodes of its trees.
//!
//! *Is there a feasible prefix, made of one path in each tree, after which a pending operation has an outcome that is
//! no branch yet?* An operation and its outcome, after a history, are an event ([`events`]); the events before the end
//! are the prefix. Reads see the last write, a lock is free, a wait was woken: all that `docs/SEMANTICS.md`, section 1,
//! demands of an operation is a clause ([`demands`]). The form is that of a trace's formula
//! ([`encode`](crate::encode)), and so is the solver.
//!
//! *Lazy.* At first there are only the trees. What the solver proposes is performed by the machine that the search of
//! states uses ([`replay`]), and what it violates is written down. So each prefix that is found is one that the machine
//! has performed; and each clause holds in all feasible prefixes, so that *unsatisfiable* means that there are none.
//!
//! *Incremental.* Clauses stay true when the forest grows ([`clauses`]), and the solver is kept with what it has
//! learnt, until a run cuts or shares memory otherwise.
//!
//! It does not care how many threads are independent of one another, which is what makes states many. It does care how
//! many histories there are.

mod clauses;
mod demands;
mod events;
mod goals;
mod replay;

use super::session::{Opening, Wanted};
use super::states::{Limits, Searched};
use super::tables::{Act, Class, FREED, Tables};
use crate::encode::{Choice, Formula, Literal, Node};
use crate::forest::{Action, Forest, Outcome, Reservation, Values};
use crate::solve::{Model, Status, Z3Session, interrupted_by};
use clauses::Formulas;
use events::{Event, Wants, What};
use hashbrown::HashSet;
use replay::{Replay, Replayed, Violation};

/// Resource units of Z3 that one check may cost; some 15 million take a second.
const BUDGET: u32 = 150_000_000;

/// And all checks of a search, with what they cost besides.
const BUDGET_OF_A_SEARCH: u64 = 2_000_000_000;

/// Resource units that a check costs beyond what Z3 counts, for each clause there is: to read the model, to perform it.
const ROUND_PER_CLAUSE: u64 = 8;

/// Reservations of forests that the formula does not describe.
const NOT_DESCRIBED: [Reservation; 4] = [
    Reservation::ForeignRelease,
    Reservation::NestedWait,
    Reservation::BeganBefore,
    Reservation::OnceAgain,
];

/// A solver for one forest, which may grow between searches.
pub struct Solver {
    formulas: Formulas,
    z3: Z3Session,
    /// Resource units that this search has cost.
    spent: u64,
}

impl Default for Solver {
    fn default() -> Solver {
        let mut z3 = Z3Session::new(BUDGET);
        z3.begin();
        Solver {
            formulas: Formulas::default(),
            z3,
            spent: 0,
        }
    }
}

/// What the end of a prefix has against it.
type Ends<'e, 't, 'f> = dyn Fn(&Formulas, &mut Replay<'t, 'f>, &dyn Fn(Choice) -> bool) -> Vec<Violation> + 'e;

/// The answer to one question.
enum Answer<'t, 'f> {
    /// The order that was performed, and how it ended.
    Feasible(Box<Replay<'t, 'f>>, Replayed),
    Infeasible,
    Undecided,
}

impl Solver {
    /// Searches the frontier, for at most `count` openings that are wanted. Goals are sought once nothing that is
    /// wanted is open.
    ///
    /// Nothing is open but what is found if it is [whole](Searched::whole).
    pub fn search(
        &mut self,
        forest: &mut Forest,
        limits: &Limits,
        count: usize,
        is_wanted: &dyn Fn(&Forest, &Wanted) -> bool,
    ) -> Searched {
        let (searched, values) = interrupted_by(limits.stop, || self.search_in(forest, limits, count, is_wanted));
        forest.adopt_values(values);
        searched
    }

    fn search_in(
        &mut self,
        forest: &Forest,
        limits: &Limits,
        count: usize,
        is_wanted: &dyn Fn(&Forest, &Wanted) -> bool,
    ) -> (Searched, Values) {
        let mut tables = Tables::by_memory(forest);
        let mut searched = Searched::default();
        if !self.grow(&tables) || NOT_DESCRIBED.iter().any(|not| forest.reservations().contains(not)) {
            return (searched, tables.values);
        }
        if barriers_unknown(&tables) {
            searched.reservations.insert(Reservation::BarrierSize);
            return (searched, tables.values);
        }
        if tables.counted().next().is_some() {
            searched.reservations.insert(Reservation::SemaphoreCount);
            return (searched, tables.values);
        }
        let round = self.formulas.choice();
        let open = self.formulas.events.open();
        let some = open.into_iter().map(Event::present);
        let clause = std::iter::once(Literal::NotChosen(round)).chain(some).collect();
        self.formulas.add(clause);
        let mut wanted = 0;
        self.spent = 0;
        let mut known = HashSet::new();
        while wanted < count {
            match self.ask(&tables, limits, &[Literal::Chosen(round)], &|_, _, _| Vec::new()) {
                Answer::Feasible(replay, Replayed::Open(event)) => {
                    let Replay {
                        state,
                        mut walk,
                        mut prefix,
                        ..
                    } = *replay;
                    let row = self.formulas.events.row(event).clone();
                    walk.pass(forest, &tables, row.tree.index(), &mut prefix);
                    let mut seen = Vec::new();
                    let opening = match row.what {
                        What::Open(Wants::Opening(opening)) => opening,
                        _ => {
                            let class = state.class(&tables, row.tree.0);
                            let (cells, held) = (class.cells.clone(), state.would_see(class));
                            if held.contains(&FREED) {
                                let position = class.position;
                                searched.reservations.insert(Reservation::UndefinedRead { position });
                            }
                            self.formulas.exclude_values(event, &row.cells, &held, Some(round));
                            seen.clone_from(&held);
                            match tables.joined(&cells, &held) {
                                Some(value) => Opening::Outcome(Outcome::Saw(value)),
                                None => Opening::SomeOutcome,
                            }
                        }
                    };
                    if row.what != What::Open(Wants::Read) {
                        self.formulas.add(vec![Literal::NotChosen(round), event.absent()]);
                    }
                    let open = Wanted {
                        thread: walk.row_of(row.tree.0),
                        node: walk.node_of(row.tree.0),
                        opening,
                    };
                    if known.insert((open.node, open.opening, seen)) {
                        wanted += usize::from(is_wanted(forest, &open));
                        prefix.wanted = Some(open);
                        searched.frontier.push(prefix);
                    }
                }
                Answer::Infeasible => {
                    searched.whole = true;
                    break;
                }
                Answer::Feasible(..) | Answer::Undecided => break,
            }
        }
        if wanted == 0 && searched.whole {
            searched.whole = self.search_goals(&tables, limits, &mut searched.goals);
        }
        (searched, tables.values)
    }

    /// Takes in what the forest has gained. Whether the formula describes it.
    fn grow(&mut self, tables: &Tables<'_>) -> bool {
        let mut clauses = Vec::new();
        if self.formulas.events.grow(tables, &mut clauses).is_err() {
            *self = Solver::default();
            clauses.clear();
            let grown = self.formulas.events.grow(tables, &mut clauses);
            grown.expect("what was just begun is not outdated");
        }
        self.formulas.add_all(clauses);
        self.formulas.extend();
        !self.formulas.events.foreign
    }

    /// Whether there is a feasible prefix that ends at the first event that is open, or has none and ends as `ends` has
    /// nothing against.
    fn ask<'t, 'f>(
        &mut self,
        tables: &'t Tables<'f>,
        limits: &Limits,
        question: &[Literal],
        ends: &Ends<'_, 't, 'f>,
    ) -> Answer<'t, 'f> {
        loop {
            if limits.is_over() || self.spent >= BUDGET_OF_A_SEARCH {
                return Answer::Undecided;
            }
            let counted = self.z3.spent();
            self.z3.assert_new(&self.formulas);
            let all: Vec<Literal> = self.formulas.assumptions().collect();
            let assumptions: Vec<_> = question
                .iter()
                .chain(&all)
                .map(|&literal| self.z3.literal(&self.formulas, literal))
                .collect();
            self.z3.end_by(limits.until);
            let status = self.z3.check(&assumptions);
            let round = ROUND_PER_CLAUSE * self.formulas.clauses().len() as u64;
            self.spent += round + u64::from(self.z3.spent().wrapping_sub(counted));
            match status {
                Status::Unsatisfiable => return Answer::Infeasible,
                Status::Budget => {
                    self.z3.renew();
                    return Answer::Undecided;
                }
                Status::Satisfiable => {
                    let model = self.z3.model(&self.formulas);
                    let order = self.order(&model);
                    let chosen = |choice| model.chosen(choice);
                    let mut replay = Replay::new(tables);
                    replay.follows = goals::followed(&self.formulas, &chosen);
                    let sleeps = self.formulas.asleep.iter().filter(|&&(choice, _)| chosen(choice));
                    replay.sleeps = sleeps.map(|&(_, begin)| begin).collect();
                    let violated = match replay.run(&self.formulas, &order) {
                        Replayed::Violated(violated) => violated,
                        Replayed::Whole => {
                            let violated = ends(&self.formulas, &mut replay, &chosen);
                            if violated.is_empty() {
                                return Answer::Feasible(Box::new(replay), Replayed::Whole);
                            }
                            violated
                        }
                        Replayed::Broken => {
                            tracing::error!("the solver's order is none of the forest's");
                            return Answer::Undecided;
                        }
                        Replayed::Open(event) => {
                            // It is feasible, though the read may see another value than the model says.
                            for seen in replay.sees(&self.formulas, event) {
                                self.formulas.demand(tables, &chosen, &seen);
                            }
                            return Answer::Feasible(Box::new(replay), Replayed::Open(event));
                        }
                    };
                    let mut new = false;
                    for violation in &violated {
                        new |= self.formulas.demand(tables, &chosen, violation);
                    }
                    if !new {
                        tracing::error!(?violated, "the solver violates clauses that it has");
                        return Answer::Undecided;
                    }
                }
            }
        }
    }

    /// The events of a model's prefix, in its order.
    fn order(&self, model: &Model) -> Vec<Event> {
        let end = model.place(Node::RACE);
        let events = (0..self.formulas.events.len() as u32).map(Event);
        let mut order: Vec<(u32, Event)> = events
            .map(|event| (model.place(event.node()), event))
            .filter(|&(place, event)| place < end && self.formulas.events.row(event).what != What::EndOfSection)
            .collect();
        order.sort_unstable();
        order.into_iter().map(|(_, event)| event).collect()
    }
}

/// Whether no run has shown how many threads some barrier takes. Clauses would be about another number, once one does.
fn barriers_unknown(tables: &Tables<'_>) -> bool {
    let unknown = |class: &Class| matches!(class.act, Act::On(Action::BarrierEnter(barrier)) if tables.parties(barrier).is_none());
    tables.classes.iter().any(unknown)
}
