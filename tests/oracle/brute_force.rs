//! Every feasible prefix of a small trace, by exhaustive search.

use super::execution::{Execution, is_used_after};
use super::machine::State;
use std::collections::{BTreeSet, HashSet};
use trace_format::Op;
use witness::trace::EventId;

/// What the feasible prefixes of a trace end in.
#[derive(Default)]
pub struct Found {
    /// The conflicting pairs of accesses that are next at once.
    pub races: BTreeSet<(EventId, EventId)>,
    /// Each free or destruction that was performed, and an access of what it ended that is next then.
    pub after_free: BTreeSet<(EventId, EventId)>,
}

/// What all feasible prefixes end in. `None` if more than `limit` states would have to be visited.
pub fn search(execution: &Execution, limit: usize) -> Option<Found> {
    let start = State::start(execution);
    let frees: Vec<EventId> = execution.ids().filter(|&event| is_free(execution, event)).collect();
    let mut found = Found::default();
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
                found.races.insert((a.min(b), a.max(b)));
            }
        }
        for &free in frees.iter().filter(|&&free| state.is_done(execution, free)) {
            let ended =
                |&&access: &&EventId| execution.conflict(free, access) && is_used_after(execution, free, access);
            let freed = next.iter().filter(ended);
            found.after_free.extend(freed.map(|&access| (free, access)));
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

/// Whether an event frees a block, or destroys an object.
pub fn is_free(execution: &Execution, event: EventId) -> bool {
    matches!(execution.op(event), Op::Free { .. } | Op::Destroy { .. })
}
