//! Why there is no schedule: the facts that a refutation cannot do without.
//!
//! The query is asked again with nothing but the race at first, each fact that turns out to be
//! needed behind a Boolean of its own, until the solver proves that no schedule keeps them all. It
//! names the facts of its proof; these are then dropped one by one. A fact may go if the others
//! still exclude every schedule. It has to stay if a schedule is found that keeps program order and
//! the others: that schedule is replayed, and what it violates of the *other* facts is written
//! down first. So each fact that is left is needed: without it, a schedule exists that keeps the rest.

use super::linearize::linearize;
use super::refine::{ROUND_PER_CLAUSE, choose_other, write_down};
use super::replay::{Violation, violations};
use super::z3_session::{Status, Z3Session};
use crate::encode::{Encoder, FactId, Literal};
use crate::prune::Grounds;
use crate::schedule::Goal;
use crate::semantics;
use crate::trace::EventId;
use crate::verdict::Fact;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;
use z3::ast::Bool;

/// Resource units to find out whether one fact can go: few, since what matters is an argument that
/// a person can follow. A fact for which they do not suffice stays.
const SHRINKING_BUDGET: u32 = 2_000_000;

/// Resource units that a clause costs when it is new, beyond what Z3 counts: to be brought into its form, and to take
/// part in each search from then on.
const NEW_CLAUSE: u64 = 500;

/// The smallest set of facts found that exclude a goal. `None` if the budget was
/// spent, or the time came, before the race was excluded at all.
///
/// Where a word is changed hundreds of times, as a lock is, the proof names hundreds of facts, and to look at each took
/// minutes. Those that are not looked at when `most` units are spent stay.
pub(super) fn minimal_facts(
    encoder: Encoder<'_>,
    grounds: Grounds,
    most: u64,
    until: Option<Instant>,
    goal: &Goal,
) -> Option<Vec<Fact>> {
    let budget = u32::try_from(most).unwrap_or(u32::MAX);
    let mut prover = Prover {
        encoder,
        grounds,
        z3: Z3Session::new(budget),
        trackers: BTreeMap::new(),
        asserted: 0,
        goal: goal.clone(),
        question: Vec::new(),
        until,
        left: most,
    };
    prover.question = prover.encoder.ends_in(goal);
    prover.begin();
    let mut core = prover.refute(None)?;
    prover.z3.set_budget(budget.min(SHRINKING_BUDGET));
    for fact in core.clone() {
        let mut without = core.clone();
        without.remove(&fact);
        if without.len() < core.len()
            && let Some(smaller) = prover.refute(Some(&without))
        {
            core = smaller;
        }
    }
    Some(core.into_iter().map(|fact| prover.encoder.fact(fact).clone()).collect())
}

struct Prover<'t> {
    encoder: Encoder<'t>,
    /// What the facts may rest on.
    grounds: Grounds,
    z3: Z3Session,
    trackers: BTreeMap<FactId, Bool>,
    /// How many clauses of the encoder are asserted.
    asserted: usize,
    goal: Goal,
    question: Vec<Literal>,
    /// When to give up.
    until: Option<Instant>,
    /// Resource units that may still be spent.
    left: u64,
}

impl Prover<'_> {
    /// Begins anew, in a solver that knows the question alone.
    fn begin(&mut self) {
        self.z3.renew();
        self.trackers.clear();
        self.asserted = 0;
        for &literal in &self.question {
            let literal = self.z3.literal(&self.encoder, literal);
            self.z3.assert(&literal);
        }
    }

    /// Facts among `allowed` (`None`: all there are) that exclude the race; `None` if they do not,
    /// or the budget does not tell.
    fn refute(&mut self, allowed: Option<&BTreeSet<FactId>>) -> Option<BTreeSet<FactId>> {
        loop {
            self.assert_new();
            if self.left == 0 || self.until.is_some_and(|until| Instant::now() >= until) {
                return None;
            }
            let active: Vec<FactId> = match allowed {
                Some(allowed) => allowed.iter().copied().collect(),
                None => (0..self.encoder.facts() as u32).map(FactId).collect(),
            };
            // A fact without clauses excludes nothing.
            let tracked = active
                .iter()
                .filter_map(|fact| Some((*fact, self.trackers.get(fact)?.clone())));
            let tracked: Vec<(FactId, Bool)> = tracked.collect();
            let assumptions: Vec<Bool> = tracked.iter().map(|(_, tracker)| tracker.clone()).collect();
            match self.check(&assumptions) {
                Status::Unsatisfiable => {
                    let needed = self.z3.unsat_core();
                    let core = tracked.into_iter().filter(|(_, tracker)| needed.contains(tracker));
                    return Some(core.map(|(fact, _)| fact).collect());
                }
                Status::Budget => {
                    self.begin();
                    return None;
                }
                Status::Satisfiable => {}
            }
            let model = self.z3.model(&self.encoder);
            let is_active = |fact: FactId| allowed.is_none_or(|allowed| allowed.contains(&fact));
            let performed: Vec<EventId> = self.goal.performed().filter(|&event| model.has(event)).collect();
            let next: Vec<EventId> = self.goal.pending().collect();
            let order = linearize(&self.encoder, &model, &self.question, &performed, &next, &is_active)?;
            let mut written = 0;
            let counts = |violation: &Violation| self.grounds_of(violation) <= self.grounds;
            let violated: Vec<Violation> = violations(&self.encoder, &order).into_iter().filter(counts).collect();
            for violation in violated {
                let known = self.fact_of(&violation);
                // Facts that are not there yet come in only while none has been ruled out. That somebody else has taken
                // what an event chose is another fact than that it has to choose.
                let new = match (&violation, allowed) {
                    (Violation::Unmatched(event, rivals), Some(_)) if known.is_some() => {
                        let choosing = rivals.iter().chain([event]).copied();
                        let choosing = choosing.filter(|&event| {
                            let matching = self.encoder.matching(event);
                            matching.is_some_and(|known| is_active(known.fact))
                        });
                        let choosing: Vec<EventId> = choosing.collect();
                        let choose = |event: EventId| choose_other(&mut self.encoder, &model, event);
                        choosing.into_iter().map(choose).filter(|&new| new).count() > 0
                    }
                    _ => {
                        // That what is gone is not used is no fact that could be left out.
                        let of_question = matches!(violation, Violation::LastWrite { .. } | Violation::Ended { .. });
                        let counts = of_question || known.map_or(allowed.is_none(), is_active);
                        counts && write_down(&mut self.encoder, &model, &violation)
                    }
                };
                if new {
                    written += 1;
                }
            }
            if written == 0 {
                return None;
            }
        }
    }

    fn check(&mut self, assumptions: &[Bool]) -> Status {
        let counted = self.z3.spent();
        let status = self.z3.check(assumptions);
        let round = ROUND_PER_CLAUSE.saturating_mul(self.encoder.clauses().len() as u32);
        let cost = self.z3.spent().wrapping_sub(counted).saturating_add(round);
        self.left = self.left.saturating_sub(u64::from(cost));
        status
    }

    fn assert_new(&mut self) {
        let new = (self.encoder.clauses().len() - self.asserted) as u64;
        self.left = self.left.saturating_sub(NEW_CLAUSE * new);
        if self.left == 0 {
            return;
        }
        while self.asserted < self.encoder.clauses().len() {
            let clause = &self.encoder.clauses()[self.asserted];
            let formula = self.z3.disjunction(&self.encoder, clause);
            match clause.fact {
                None => self.z3.assert(&formula),
                Some(fact) => {
                    let tracker = self
                        .trackers
                        .entry(fact)
                        .or_insert_with(|| Bool::new_const(format!("f{}", fact.0)));
                    self.z3.assert(&Bool::or(&[tracker.not(), formula]));
                }
            }
            self.asserted += 1;
        }
    }

    fn grounds_of(&self, violation: &Violation) -> Grounds {
        match *violation {
            Violation::Sections(..) | Violation::LastWrite { .. } => Grounds::Structure,
            Violation::Unmatched(event, _) | Violation::Miscounted { event, .. } => {
                semantics::grounds(self.encoder.trace().op(event))
            }
            Violation::Read { .. } | Violation::HandedOver { .. } | Violation::Ended { .. } => Grounds::Outcomes,
            Violation::Pinned { .. } => Grounds::Pins,
        }
    }

    fn fact_of(&self, violation: &Violation) -> Option<FactId> {
        match *violation {
            Violation::Read { read, cell, .. } | Violation::Pinned { read, cell, .. } => {
                self.encoder.read_options(read, cell).map(|known| known.fact)
            }
            Violation::Sections(a, b) => self.encoder.section_fact(a, b),
            Violation::HandedOver { lock, .. } => self.encoder.handed_over_fact(lock),
            Violation::Miscounted { event, .. } => self.encoder.count_fact(event),
            Violation::Unmatched(event, _) => self.encoder.matching(event).map(|known| known.fact),
            Violation::LastWrite { .. } | Violation::Ended { .. } => None,
        }
    }
}
