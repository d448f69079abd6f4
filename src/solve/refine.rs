//! Query by query: propose, replay, write down what was violated, ask again.

use super::core;
use super::replay::{Violation, linearize, violations};
use super::z3_session::{Status, Z3Session};
use crate::encode::Encoder;
use crate::prune::MustHappenBefore;
use crate::trace::{EventId, Sections, Trace};
use crate::verdict::Fact;

/// Literals that one query may add to the formula before it is given up: building a formula costs
/// no solver resources, so it needs a limit of its own.
const MAX_NEW_LITERALS: usize = 4_000_000;

/// Clauses after which a fresh solver is cheaper than one that drags along what earlier candidates
/// needed. A fixed number, so that results do not depend on the machine.
const MAX_CLAUSES: usize = 400_000;

/// At most this many interfering writes of a cell are written down at once; with more, only those
/// that actually came between.
const FEW_WRITERS: usize = 32;

/// The answer to one query.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A feasible prefix after which both accesses are next.
    Feasible(Vec<EventId>),
    /// There is none.
    Infeasible,
    /// The budget was spent.
    Budget,
}

/// A solver for one trace.
pub struct Session<'t> {
    trace: &'t Trace,
    order: &'t MustHappenBefore,
    sections: &'t Sections,
    budget: u32,
    encoder: Encoder<'t>,
    z3: Z3Session,
}

impl<'t> Session<'t> {
    /// A session with nothing asked yet. `budget`: Z3 resource units for each check.
    #[must_use]
    pub fn new(trace: &'t Trace, order: &'t MustHappenBefore, sections: &'t Sections, budget: u32) -> Session<'t> {
        let encoder = Encoder::new(trace, order, sections);
        Session {
            trace,
            order,
            sections,
            budget,
            encoder,
            z3: Z3Session::new(budget),
        }
    }

    /// Whether a feasible prefix brings `a` and `b` next.
    pub fn ask(&mut self, a: EventId, b: EventId) -> Answer {
        if self.encoder.clauses().len() > MAX_CLAUSES {
            self.encoder = Encoder::new(self.trace, self.order, self.sections);
            self.z3 = Z3Session::new(self.budget);
        }
        let race = self.encoder.race(a, b);
        let first_new = self.encoder.clauses().len();
        let mut literals = 0;
        let mut counted = first_new;
        let mut rounds = 0;
        loop {
            rounds += 1;
            tracing::debug!(?a, ?b, rounds, clauses = self.encoder.clauses().len(), "ask");
            literals += self.encoder.clauses()[counted..]
                .iter()
                .map(|clause| clause.literals.len())
                .sum::<usize>();
            counted = self.encoder.clauses().len();
            if literals > MAX_NEW_LITERALS {
                return Answer::Budget;
            }
            self.z3.assert_new(&self.encoder);
            let assumptions: Vec<_> = race
                .iter()
                .map(|&literal| self.z3.literal(&self.encoder, literal))
                .collect();
            match self.z3.check(&assumptions) {
                Status::Unsatisfiable => return Answer::Infeasible,
                Status::Budget => return Answer::Budget,
                Status::Satisfiable => {}
            }
            let model = self.z3.model(&self.encoder);
            let order = linearize(&self.encoder, &model, a, b);
            let violated = violations(&self.encoder, &order);
            if violated.is_empty() {
                return Answer::Feasible(order);
            }
            // All of them, not just the first that is new.
            let written = violated.iter().filter(|violation| self.write_down(violation)).count();
            assert!(written > 0, "the solver violates clauses that it has: {violated:?}");
        }
    }

    /// The facts that exclude the race of `a` and `b`, none of them superfluous, after
    /// [`Answer::Infeasible`]. `None` if the budget does not suffice to find them.
    pub fn explain(&self, a: EventId, b: EventId) -> Option<Vec<Fact>> {
        // Asked again with nothing but what this pair needs, the proof is short.
        let mut alone = Session::new(self.trace, self.order, self.sections, self.budget);
        match alone.ask(a, b) {
            Answer::Infeasible => core::minimal_facts(&mut alone.encoder, self.budget, a, b),
            Answer::Feasible(_) | Answer::Budget => None,
        }
    }

    /// Writes down what was violated. Returns whether anything is new.
    fn write_down(&mut self, violation: &Violation) -> bool {
        match *violation {
            Violation::Sections(a, b) => self.encoder.constrain_sections(a, b),
            Violation::Unmatched(event) => self.encoder.constrain_matching(event),
            Violation::Pinned { read, cell, value } => {
                let new = self.encoder.read_options(read, cell).is_none();
                self.encoder.constrain_read(read, cell, value);
                new
            }
            Violation::Read {
                read,
                cell,
                value,
                ref writes,
            } => {
                if self.encoder.read_options(read, cell).is_none() {
                    self.encoder.constrain_read(read, cell, value);
                    return true;
                }
                let options: Vec<_> = self
                    .encoder
                    .read_options(read, cell)
                    .map(|known| known.options.clone())
                    .unwrap_or_default();
                let others: Vec<EventId> = self.encoder.writers(cell).collect();
                let mut new = false;
                for (writer, _) in options {
                    // The model chose one of these; it is wrong only if somebody came between.
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
                        new |= self.encoder.keep_apart(read, cell, writer, other);
                    }
                }
                new
            }
        }
    }
}
