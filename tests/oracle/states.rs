//! All states that feasible prefixes reach, each with a way to it.

use super::checker::Taken;
use super::execution::Execution;
use super::machine::State;
use std::collections::HashSet;
use trace_format::EventId;

/// Looks at a state, a way to it, and what is next there.
pub type Each<'a> = dyn FnMut(&State, &[Taken], &[EventId]) -> Result<(), String> + 'a;

/// Visits all states that are reached with one event behind another, if it happens at all. Says whether it was all of
/// them.
pub fn each_state_in_order(
    execution: &Execution,
    (early, late): (EventId, EventId),
    limit: usize,
    each: &mut dyn FnMut(&State, &[EventId]),
) -> bool {
    let start = State::start(execution);
    let mut visited = HashSet::from([start.clone()]);
    let mut stack = vec![start];
    while let Some(state) = stack.pop() {
        if visited.len() > limit {
            return false;
        }
        let next: Vec<EventId> = (0..execution.threads())
            .filter_map(|thread| state.next(execution, thread))
            .collect();
        each(&state, &next);
        let may = |event: &EventId| *event != late || state.is_done(execution, early);
        for event in next.into_iter().filter(may) {
            for after in state.step(execution, event) {
                if visited.insert(after.state.clone()) {
                    stack.push(after.state);
                }
            }
        }
    }
    true
}

/// Visits all states, in no order; says whether it was all of them, or there are more than the limit.
pub fn each_state(execution: &Execution, limit: usize, each: &mut Each<'_>) -> Result<bool, String> {
    let start = State::start(execution);
    let mut visited = HashSet::from([start.clone()]);
    let mut stack: Vec<(State, Vec<Taken>)> = vec![(start, Vec::new())];
    while let Some((state, path)) = stack.pop() {
        if visited.len() > limit {
            return Ok(false);
        }
        let next: Vec<EventId> = (0..execution.threads())
            .filter_map(|thread| state.next(execution, thread))
            .collect();
        each(&state, &path, &next)?;
        for event in next {
            for after in state.step(execution, event) {
                if visited.insert(after.state.clone()) {
                    let mut path = path.clone();
                    path.push((event, after.wakes));
                    stack.push((after.state, path));
                }
            }
        }
    }
    Ok(true)
}
