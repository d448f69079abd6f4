//! Every feasible prefix of a small trace, by exhaustive search.

use super::execution::Execution;
use super::machine::State;
use std::collections::{BTreeSet, HashSet};
use witness::trace::EventId;

/// The conflicting pairs of accesses that are next at once in some feasible prefix. `None` if more
/// than `limit` states would have to be visited.
pub fn races(execution: &Execution, limit: usize) -> Option<BTreeSet<(EventId, EventId)>> {
    let start = State::start(execution);
    let mut found = BTreeSet::new();
    let mut visited = HashSet::from([start.clone()]);
    let mut stack = vec![start];
    while let Some(state) = stack.pop() {
        if visited.len() > limit {
            return None;
        }
        let next: Vec<EventId> = (0..execution.threads())
            .filter_map(|thread| state.next(execution, thread))
            .collect();
        for (at, &a) in next.iter().enumerate() {
            for &b in next[at + 1..].iter().filter(|&&b| execution.conflict(a, b)) {
                found.insert((a.min(b), a.max(b)));
            }
        }
        for event in next {
            for after in state.step(execution, event) {
                if visited.insert(after.state.clone()) {
                    stack.push(after.state);
                }
            }
        }
    }
    Some(found)
}
