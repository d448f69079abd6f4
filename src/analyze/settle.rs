//! Several goals of which one will do: whether a feasible prefix ends in any of them.
//!
//! The fast predictor is asked about the first ones, then our own solver about as many as the options say, and Z3 about
//! what that leaves.

use super::asked::LOOKED_AT;
use super::decider::Decider;
use super::{MAX_EVENTS_Z3, Solver, case, reject};
use crate::prune::Ending;
use crate::schedule::{Goal, Schedule};
use crate::solve::{Answer, NativeAnswer, Session, Steps};
use crate::trace::EventId;
use crate::verdict::{Rejected, Unknown};

/// What becomes of some goals.
pub(super) enum Settled {
    /// The checker accepts a schedule that ends in one: its place among them.
    Witnessed(usize, Schedule),
    /// No feasible prefix ends in any; the place of the first that the solvers excluded.
    Excluded(Option<usize>),
    /// Not decided.
    Open(Unknown),
}

/// What a goal has performed, what it awaits, and what is next then.
pub(super) fn with_ending<R>(goal: &Goal, then: impl FnOnce(Ending<'_>) -> R) -> R {
    let (performed, pending): (Vec<EventId>, Vec<EventId>) = (goal.performed().collect(), goal.pending().collect());
    then(Ending {
        performed: &performed,
        pending: &pending,
        awaited: goal.awaited(),
    })
}

/// Asks about goals in their order, of which there may be `more` that nobody has listed.
pub(super) fn settle(
    known: &Decider<'_>,
    goals: &[Goal],
    more: bool,
    steps: &mut Steps,
    rejected: &mut Vec<Rejected>,
) -> Settled {
    let mut accepts = |schedule: Schedule| match known.checker().check(&schedule) {
        Ok(_) => Some(schedule),
        Err(rejection) => {
            rejected.push(reject(schedule, &rejection));
            None
        }
    };
    if !known.solver_only() {
        let found = goals.iter().take(LOOKED_AT).enumerate().find_map(|(place, goal)| {
            let cut = with_ending(goal, |ending| {
                let late = known.predictor.predict_late(ending);
                late.or_else(|| known.predictor.predict(ending))
            });
            cut.map(|cut| (place, known.schedule(&cut, goal.clone())))
        });
        if let Some((place, schedule)) = found
            && let Some(schedule) = accepts(schedule)
        {
            return Settled::Witnessed(place, schedule);
        }
    }
    let limit = known.options.instances.map_or(usize::MAX, |limit| limit as usize);
    let mut unknown = more.then_some(Unknown::Instances);
    let mut session = None;
    let mut excluded = None;
    for (place, goal) in goals.iter().enumerate() {
        if known.options.out_of_time() {
            break;
        }
        if place >= limit && steps.are_spent() {
            unknown = Some(Unknown::Instances);
            break;
        }
        match ask(known, goal, steps, &mut session) {
            Ok(None) => {
                excluded.get_or_insert(place);
            }
            Ok(Some((as_recorded, then))) => {
                if let Some(schedule) = accepts(known.schedule_of(as_recorded, &then, goal.clone())) {
                    return Settled::Witnessed(place, schedule);
                }
                unknown = Some(Unknown::Rejected);
            }
            Err(why) => {
                unknown = Some(why);
                if place >= limit {
                    break;
                }
            }
        }
    }
    match unknown {
        _ if known.options.out_of_time() => Settled::Open(Unknown::Time),
        Some(unknown) => Settled::Open(unknown),
        None => Settled::Excluded(excluded),
    }
}

/// Our own solver first, and Z3 for what that leaves: so many events as recorded, then these; or that there is no such
/// prefix.
fn ask<'s>(
    known: &'s Decider<'_>,
    goal: &Goal,
    steps: &mut Steps,
    session: &mut Option<Session<'s>>,
) -> Result<Option<(u32, Vec<EventId>)>, Unknown> {
    if !known.solver_only() && known.options.solver != Solver::Z3 {
        match with_ending(goal, |ending| known.native.ask(ending, steps)) {
            NativeAnswer::Feasible(as_recorded, then) => return Ok(Some((as_recorded, then))),
            NativeAnswer::Infeasible => return Ok(None),
            NativeAnswer::Unknown if known.options.solver == Solver::Native => return Err(Unknown::Steps),
            NativeAnswer::Unknown => {}
        }
    }
    if known.trace.len() > MAX_EVENTS_Z3 {
        return Err(Unknown::Steps);
    }
    let session = session.get_or_insert_with(|| case::session(known, known.order));
    match session.ask(goal) {
        Answer::Feasible(prefix) => Ok(Some((0, prefix))),
        Answer::Infeasible => Ok(None),
        Answer::Budget => Err(Unknown::Budget),
    }
}
