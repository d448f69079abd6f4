//! Query by query: propose, replay, write down what was violated, ask again.

use super::core;
use super::linearize::linearize;
use super::replay::{Violation, violations};
use super::unordered;
use super::z3_session::{Model, Status, Z3Session};
use crate::encode::{Encoder, Form, Literal, Mutation, Source, Wanted};
use crate::prune::{Grounds, MustHappenBefore};
use crate::schedule::Goal;
use crate::trace::{CellId, EventId, Sections, Trace};
use crate::verdict::Fact;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;
use z3::ast::Bool;

/// Literals that one query may add to the formula before it is given up: building a formula costs
/// no solver resources, so it needs a limit of its own.
const MAX_NEW_LITERALS: usize = 4_000_000;

/// Resource units that a round costs beyond what Z3 counts, for each clause there is: to begin the search anew, to read
/// the model, to replay it. The search alone would let a question go on for many times what its budget is worth.
pub(super) const ROUND_PER_CLAUSE: u32 = 8;

/// At most this many interfering writes of a cell are written down at once; with more, only those
/// that actually came between.
const FEW_WRITERS: usize = 32;

/// As many violations are written down before the solver is asked again.
const AT_ONCE: usize = 32;

/// As many of those that compete with an event for what could serve it are made to choose at once.
const RIVALS: usize = 4;

/// Resource units that a chain costs beyond what Z3 counts, for each event of the execution that it is found in: to put
/// that in order, to replay it, to look for the chain.
const CHAIN_PER_EVENT: u32 = 8;

/// Chains that are broken before the search for an execution without one is given up.
const MAX_CHAINS: usize = 300;

/// The answer to one query.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A feasible prefix that ends in the goal.
    Feasible(Vec<EventId>),
    /// There is none.
    Infeasible,
    /// The budget was spent.
    Budget,
}

/// A solver for one trace. Each question gets a formula of its own: what others needed would only be dragged along.
pub struct Session<'t> {
    /// Without a clause.
    empty: Encoder<'t>,
    z3: Z3Session,
    budget: u32,
    /// Resource units that all questions so far have cost.
    spent: u64,
    /// When every question is given up.
    until: Option<Instant>,
}

impl<'t> Session<'t> {
    /// A session with nothing asked yet. `budget`: Z3 resource units for each check.
    #[must_use]
    pub fn new(trace: &'t Trace, order: &'t MustHappenBefore, sections: &'t Sections, budget: u32) -> Session<'t> {
        Session::with_form(trace, order, sections, budget, Form::Prefix, None)
    }

    /// A session that linearizes something else, or whose formula is broken on purpose.
    #[must_use]
    pub fn with_form(
        trace: &'t Trace,
        order: &'t MustHappenBefore,
        sections: &'t Sections,
        budget: u32,
        form: Form,
        mutation: Option<Mutation>,
    ) -> Session<'t> {
        Session {
            empty: Encoder::new(trace, order, sections, form, mutation),
            z3: Z3Session::new(budget),
            budget,
            spent: 0,
            until: None,
        }
    }

    /// Gives every question up at a certain time.
    #[must_use]
    pub fn until(self, until: Option<Instant>) -> Session<'t> {
        Session { until, ..self }
    }

    /// Resource units that all questions so far have cost.
    #[must_use]
    pub fn spent(&self) -> u64 {
        self.spent
    }

    /// Whether a feasible prefix ends in a goal. (Where a whole trace is linearized, only races can be asked for.)
    pub fn ask(&mut self, goal: &Goal) -> Answer {
        self.ask_within(goal, self.budget)
    }

    /// The same within so many resource units, if these are fewer than each question has.
    pub fn ask_within(&mut self, goal: &Goal, units: u32) -> Answer {
        let mut query = self.query();
        query.budget = query.budget.min(units);
        query.z3.set_budget(query.budget);
        let answer = match goal {
            Goal::Race(..)
            | Goal::Deadlock(_)
            | Goal::PartialDeadlock(_)
            | Goal::UseAfterFree { .. }
            | Goal::AtomicityViolation { .. }
            | Goal::TornPair { .. }
            | Goal::Order { .. } => query.pending(goal),
            &Goal::OtherValue { read, value } => query.other_value(read, Wanted::Value(value)),
            &Goal::StalePointer { read, value, .. } => {
                let question = query.encoder.ends_in(goal);
                // Other blocks that were there are gone as well.
                let blocks = query.encoder.trace().blocks_over(value);
                let frees: Vec<EventId> = blocks.filter_map(|(_, free)| free).collect();
                query.refine(&question, &frees, &[read])
            }
            &Goal::UnorderedRace(a, b) => query.without_chains(a, b),
        };
        let spent = query.spent;
        self.spent += u64::from(spent);
        answer
    }

    /// Whether a feasible prefix brings a read next that would see neither what it saw in π nor any of these values
    /// (`None`: one that π does not tell).
    pub fn ask_other_value(&mut self, read: EventId, known: &[Option<u64>]) -> Answer {
        let mut query = self.query();
        let answer = query.other_value(read, Wanted::NoneOf(known));
        let spent = query.spent;
        self.spent += u64::from(spent);
        answer
    }

    /// The facts that exclude a goal, none of them superfluous as far as the budget suffices to tell, after
    /// [`Answer::Infeasible`], among those that rest on these grounds. `None` if it does not suffice to find them. The
    /// budget is this one: `most` resource units in all.
    #[must_use]
    pub fn explain(&self, grounds: Grounds, goal: &Goal, most: u64) -> Option<Vec<Fact>> {
        core::minimal_facts(self.empty.afresh(), grounds, most, self.until, goal)
    }

    fn query(&mut self) -> Query<'_, 't> {
        self.z3.begin();
        self.z3.set_budget(self.budget);
        Query {
            encoder: self.empty.afresh(),
            budget: self.budget,
            spent: 0,
            until: self.until,
            counted: self.z3.spent(),
            z3: &mut self.z3,
        }
    }
}

/// One question.
struct Query<'s, 't> {
    encoder: Encoder<'t>,
    z3: &'s mut Z3Session,
    /// Resource units that it may cost.
    budget: u32,
    /// Those that it has cost, and what the solver had counted before.
    spent: u32,
    counted: u32,
    until: Option<Instant>,
}

impl Query<'_, '_> {
    /// Asks for an execution that has performed what the goal wants, and after which the rest of its events are next.
    fn pending(&mut self, goal: &Goal) -> Answer {
        let question = self.encoder.ends_in(goal);
        let (performed, next): (Vec<EventId>, Vec<EventId>) = (goal.performed().collect(), goal.pending().collect());
        match self.refine(&question, &performed, &next) {
            Answer::Feasible(mut order) => {
                // Of a whole trace, only what comes before both counts.
                let end = order.iter().position(|event| next.contains(event));
                order.truncate(end.unwrap_or(order.len()));
                Answer::Feasible(order)
            }
            other => other,
        }
    }

    /// Asks for an execution after which a read is next that sees what is wanted.
    fn other_value(&mut self, read: EventId, wanted: Wanted<'_>) -> Answer {
        let question = self.encoder.sees(read, wanted);
        self.refine(&question, &[], &[read])
    }

    /// Asks for an execution in which no chain orders the two accesses, breaking one chain after the other.
    fn without_chains(&mut self, a: EventId, b: EventId) -> Answer {
        let trace = self.encoder.trace();
        let (question, choice) = self.encoder.ends_unordered_in(&Goal::UnorderedRace(a, b));
        // What could break a chain takes part in the prefix whenever the model says so, needed or not.
        let mut breaking = BTreeSet::from([a]);
        for _ in 0..MAX_CHAINS {
            let performed: Vec<EventId> = breaking.iter().copied().collect();
            let order = match self.refine(&question, &performed, &[b]) {
                Answer::Feasible(order) => order,
                other => return other,
            };
            let links = match unordered::chain(trace, &order, a, b) {
                Ok(Some(links)) => links,
                Ok(None) => return Answer::Feasible(order),
                Err(unordered::TooLong) => return Answer::Budget,
            };
            self.spent = self
                .spent
                .saturating_add(CHAIN_PER_EVENT.saturating_mul(order.len() as u32));
            self.encoder.break_chain(choice, &links);
            for link in links {
                if let Literal::Before(first, second) = link {
                    breaking.extend(first.event().into_iter().chain(second.event()));
                }
            }
        }
        Answer::Budget
    }

    /// Asks, replays and writes down what was violated, until nothing is. `performed` are in the prefix if the model
    /// has them there, and `next` come right behind it.
    fn refine(&mut self, question: &[Literal], performed: &[EventId], next: &[EventId]) -> Answer {
        let first_new = self.encoder.clauses().len();
        let mut literals = 0;
        let mut counted = first_new;
        let mut rounds = 0;
        let mut renewed = false;
        loop {
            rounds += 1;
            literals += self.encoder.clauses()[counted..]
                .iter()
                .map(|clause| clause.literals.len())
                .sum::<usize>();
            counted = self.encoder.clauses().len();
            if literals > MAX_NEW_LITERALS {
                return Answer::Budget;
            }
            self.z3.assert_new(&self.encoder);
            let assumptions: Vec<_> = question
                .iter()
                .map(|&literal| self.z3.literal(&self.encoder, literal))
                .collect();
            let started = Instant::now();
            let status = self.check(&assumptions);
            tracing::debug!(
                ?next,
                rounds,
                clauses = counted,
                ?status,
                us = started.elapsed().as_micros() as u64,
                "asked Z3"
            );
            match status {
                Status::Unsatisfiable => return Answer::Infeasible,
                Status::Budget => return Answer::Budget,
                Status::Satisfiable => {}
            }
            let model = self.z3.model(&self.encoder);
            let broken = broken(&self.encoder, question, &model);
            let inside = performed.iter().copied().filter(|&event| model.has(event));
            let inside: Vec<EventId> = inside.collect();
            let order = (broken == 0)
                .then(|| linearize(&self.encoder, &model, question, &inside, next, &|_| true))
                .flatten();
            let Some(order) = order else {
                // The checker would reject what came of it.
                tracing::warn!(?next, rounds, broken, renewed, "Z3's model breaks clauses");
                if renewed {
                    return Answer::Budget;
                }
                renewed = true;
                self.z3.renew();
                self.counted = self.z3.spent();
                continue;
            };
            let violated = violations(&self.encoder, &order);
            if violated.is_empty() {
                return Answer::Feasible(order);
            }
            // More than the first that is new, but not all: where the model strays far from π, thousands of them follow
            // from a few.
            let new = violated
                .iter()
                .filter(|violation| write_down(&mut self.encoder, &model, violation));
            let written = new.take(AT_ONCE).count();
            if written == 0 {
                // The formula lacks something. The checker will reject the schedule and say what.
                tracing::error!(?violated, "the solver violates clauses that it has");
                return Answer::Feasible(order);
            }
        }
    }
}

impl Query<'_, '_> {
    /// Asks the solver, within what is left of the question's budget.
    fn check(&mut self, assumptions: &[Bool]) -> Status {
        if self.spent >= self.budget || self.until.is_some_and(|until| Instant::now() >= until) {
            return Status::Budget;
        }
        // To tell the solver takes longer than most checks, so one may cost a little more.
        if self.spent > self.budget / 16 {
            self.z3.set_budget(self.budget - self.spent);
        }
        let status = self.z3.check(assumptions);
        let counted = self.z3.spent();
        let round = ROUND_PER_CLAUSE.saturating_mul(self.encoder.clauses().len() as u32);
        let cost = counted.wrapping_sub(self.counted).saturating_add(round);
        self.spent = self.spent.saturating_add(cost);
        self.counted = counted;
        status
    }
}

/// How many of the clauses and of the question's literals a model breaks: none, unless Z3 is wrong.
fn broken(encoder: &Encoder<'_>, question: &[Literal], model: &Model) -> usize {
    let holds = |&literal: &Literal| match literal {
        Literal::Before(first, second) => model.puts_before(first, second),
        Literal::Chosen(choice) => model.chosen(choice),
        Literal::NotChosen(choice) => !model.chosen(choice),
    };
    let clauses = encoder.clauses().iter();
    clauses.filter(|clause| !clause.literals.iter().any(holds)).count()
        + question.iter().filter(|literal| !holds(literal)).count()
}

/// Writes down what was violated by a model that made these choices. Returns whether anything is new.
pub(super) fn write_down(encoder: &mut Encoder<'_>, model: &Model, violation: &Violation) -> bool {
    let chosen = |choice| model.chosen(choice);
    match *violation {
        Violation::Sections(a, b) => encoder.constrain_sections(a, b),
        Violation::Ended { used, by } => encoder.keep_use_before(used, by),
        Violation::Unmatched(event, ref rivals) => {
            encoder.constrain_matching(event) || compete(encoder, model, event, rivals)
        }
        Violation::HandedOver {
            lock,
            ref history,
            event,
        } => encoder.exclude_history(lock, history, event),
        Violation::Miscounted {
            event,
            semaphore,
            ref posts,
            ref waits,
        } => encoder.exclude_count(event, semaphore, posts, waits),
        Violation::LastWrite { cell, ref writes } => keep_last(encoder, model, cell, writes),
        Violation::Pinned { read, cell, value } => {
            let new = encoder.read_options(read, cell).is_none();
            encoder.constrain_read(read, cell, value);
            new
        }
        Violation::Read {
            read,
            cell,
            value,
            ref writes,
        } => {
            if encoder.read_options(read, cell).is_none() {
                encoder.constrain_read(read, cell, value);
                return true;
            }
            let options: Vec<_> = encoder
                .read_options(read, cell)
                .map(|known| known.options.clone())
                .unwrap_or_default();
            let others: Vec<EventId> = encoder.writers(cell).collect();
            if !options.iter().any(|&(_, choice)| chosen(choice)) {
                return encoder.more_writers(read, cell);
            }
            let mut new = false;
            // The model chose one of these; it is wrong only if somebody came between.
            for (writer, _) in options.into_iter().filter(|&(_, choice)| chosen(choice)) {
                let between = match writer {
                    None => Some(0),
                    Some(writer) => writes.iter().position(|&write| write == writer).map(|at| at + 1),
                };
                let Some(between) = between else { continue };
                let interfering = if others.len() <= FEW_WRITERS {
                    &others[..]
                } else {
                    &writes[between..]
                };
                for &other in interfering {
                    new |= encoder.keep_apart(read, cell, writer, other);
                }
            }
            new
        }
    }
}

/// Writes down that the write that the pending read was to see is the last of a cell, which was written in this order.
fn keep_last(encoder: &mut Encoder<'_>, model: &Model, cell: CellId, writes: &[EventId]) -> bool {
    let options = encoder
        .pending_read()
        .into_iter()
        .flat_map(|pending| pending.options(cell));
    let chosen: Vec<Option<EventId>> = options
        .filter(|&(_, choice)| model.chosen(choice))
        .map(|(writer, _)| writer)
        .collect();
    let all: Vec<EventId> = encoder.writers(cell).collect();
    let mut new = false;
    for writer in chosen {
        let since = writer.and_then(|writer| writes.iter().position(|&write| write == writer));
        let interfering = match since {
            _ if all.len() <= FEW_WRITERS => &all[..],
            Some(at) => &writes[at + 1..],
            None => writes,
        };
        for &other in interfering {
            new |= encoder.keep_last(cell, writer, other);
        }
    }
    new
}

/// Writes down why an event is not served that chose what serves it: another one chose the same, or if none did, one
/// that has not had to choose yet took it, one that is near.
fn compete(encoder: &mut Encoder<'_>, model: &Model, event: EventId, rivals: &[EventId]) -> bool {
    let mut taken: BTreeMap<Source, Vec<EventId>> = BTreeMap::new();
    let mut new = false;
    for &competing in rivals.iter().chain([&event]) {
        let known = encoder.matching(competing).into_iter().flat_map(|known| &known.options);
        match known.clone().find(|&&(_, choice)| model.chosen(choice)) {
            Some(&(source, _)) => taken.entry(source).or_default().push(competing),
            None => new |= choose_other(encoder, model, competing),
        }
    }
    for (source, by) in taken {
        for (at, &first) in by.iter().enumerate() {
            for &second in &by[at + 1..] {
                new |= encoder.serve_once(source, first, second);
            }
        }
    }
    if new {
        return true;
    }
    let unknown = rivals
        .iter()
        .copied()
        .filter(|&rival| encoder.matching(rival).is_none());
    let mut nearest: Vec<EventId> = unknown.collect();
    nearest.sort_unstable_by_key(|rival| (rival.0.abs_diff(event.0), *rival));
    for rival in nearest.into_iter().take(RIVALS) {
        new |= encoder.constrain_matching(rival);
    }
    new
}

/// If an event is to be explained by some other than is written down, writes down more. Returns whether there are more.
pub(super) fn choose_other(encoder: &mut Encoder<'_>, model: &Model, event: EventId) -> bool {
    let Some(known) = encoder.matching(event) else {
        return false;
    };
    !known.options.iter().any(|&(_, choice)| model.chosen(choice)) && encoder.more_notifies(event)
}
