//! Why there is no schedule: the facts that a refutation cannot do without.
//!
//! The clauses that made a query unsatisfiable are asserted anew, each behind a Boolean of the fact
//! it comes from; the solver names the facts of its proof, and facts are then dropped one by one
//! for as long as the rest is seen to exclude the race within a small budget. What is left is minimal
//! among the facts that the query wrote down.

use super::z3_session::{Status, Z3Session};
use crate::encode::{Encoder, FactId};
use crate::trace::EventId;
use crate::verdict::Fact;
use std::collections::BTreeMap;
use z3::ast::Bool;

/// Resource units to find out whether one fact more can go: few, since what matters is an argument
/// that a person can follow, and a check that takes long is most often one that finds a schedule.
const SHRINKING_BUDGET: u32 = 300_000;

/// A small set of facts that exclude the race of `a` and `b`. `None` if the budget was spent before
/// any core was found.
pub(super) fn minimal_facts(encoder: &mut Encoder<'_>, budget: u32, a: EventId, b: EventId) -> Option<Vec<Fact>> {
    let race = encoder.race(a, b);
    let mut z3 = Z3Session::new(budget);
    let mut trackers: BTreeMap<FactId, Bool> = BTreeMap::new();
    for clause in encoder.clauses() {
        let formula = z3.disjunction(encoder, clause);
        match clause.fact {
            None => z3.assert(&formula),
            Some(fact) => {
                let tracker = trackers
                    .entry(fact)
                    .or_insert_with(|| Bool::new_const(format!("f{}", fact.0)));
                z3.assert(&Bool::or(&[tracker.not(), formula]));
            }
        }
    }
    for literal in race {
        let literal = z3.literal(encoder, literal);
        z3.assert(&literal);
    }
    let all: Vec<(FactId, Bool)> = trackers.into_iter().collect();
    let mut core = shrink(&z3, &all)?;
    tracing::debug!(facts = all.len(), core = core.len(), "core found");
    z3.set_budget(budget.min(SHRINKING_BUDGET));
    let mut at = 0;
    while at < core.len() {
        let mut without = core.clone();
        without.remove(at);
        match shrink(&z3, &without) {
            Some(smaller) => core = smaller,
            None => at += 1,
        }
    }
    tracing::debug!(core = core.len(), "core shrunk");
    Some(core.into_iter().map(|(fact, _)| encoder.fact(fact).clone()).collect())
}

/// The part of `facts` that the solver needed to exclude the race; `None` if they do not exclude it.
fn shrink(z3: &Z3Session, facts: &[(FactId, Bool)]) -> Option<Vec<(FactId, Bool)>> {
    let assumptions: Vec<Bool> = facts.iter().map(|(_, tracker)| tracker.clone()).collect();
    if z3.check(&assumptions) != Status::Unsatisfiable {
        return None;
    }
    let needed = z3.unsat_core();
    Some(
        facts
            .iter()
            .filter(|(_, tracker)| needed.contains(tracker))
            .cloned()
            .collect(),
    )
}
