//! Null pointers: whether a read of a pointer that its thread follows at once can see 0 instead (`docs/SEMANTICS.md`,
//! section 3). That is another value of the read.

use super::decider::Decider;
use super::pointers::{LOOKED_AT, NEAREST, Positions, Question, Rows, Way, followed, ordered};
use crate::prune::Grounds;
use crate::schedule::Goal;
use crate::symbols::Comparisons;
use crate::trace::{CellId, EventId};
use hashbrown::{HashMap, HashSet};

/// The memory of pointers that are followed.
#[derive(Default)]
struct Pointer {
    /// The reads of them.
    followed: Vec<EventId>,
    /// The writes of 0, and the first write of each thread.
    zeros: Vec<EventId>,
    first: Vec<EventId>,
}

/// What to ask, by the positions of the write and of the read.
pub(super) fn candidates(known: &Decider<'_>, witnessed: &HashSet<Positions>) -> Rows {
    let trace = known.trace;
    let mut comparisons = Comparisons::of(trace.tables());
    let mut pointers: HashMap<CellId, Pointer> = HashMap::new();
    for access in trace.accesses() {
        // Who compares at once what it got is prepared for 0.
        if let Some((cell, _)) = followed(trace, access)
            && !comparisons.follow_value(trace, access.event)
        {
            pointers.entry(cell).or_default().followed.push(access.event);
        }
    }
    for access in trace.accesses().filter(|access| access.kind.writes_value()) {
        for used in trace.uses(access) {
            if let Some(pointer) = pointers.get_mut(&used.cell) {
                let thread = trace.thread(access.event);
                if pointer.first.iter().all(|&first| trace.thread(first) != thread) {
                    pointer.first.push(access.event);
                }
                if used.written == 0 {
                    pointer.zeros.push(access.event);
                }
            }
        }
    }
    let order = known.order_on(Grounds::Structure);
    let mut rows = Rows::new();
    for (cell, pointer) in pointers {
        for &read in &pointer.followed {
            let is_own = |write: EventId| trace.thread(write) == trace.thread(read);
            let is_open = |&(write, initial): &(EventId, bool)| {
                let is_ordered = match initial {
                    true => order.before(write, read),
                    false => order.before(read, write),
                };
                let positions = (trace.pc(write), trace.pc(read));
                !is_own(write) && !is_ordered && !witnessed.contains(&ordered(positions))
            };
            let zero = |initial| move |&write: &EventId| (write, initial);
            let at = pointer.zeros.partition_point(|&write| write < read);
            let (before, behind) = pointer.zeros.split_at(at);
            let near = |some: &mut dyn Iterator<Item = &EventId>| -> Vec<(EventId, bool)> {
                some.take(LOOKED_AT)
                    .map(zero(false))
                    .filter(is_open)
                    .take(NEAREST)
                    .collect()
            };
            // What was there before anybody wrote is 0; the thread itself has not written yet, and this is the first write
            // of the others.
            let untouched =
                trace.initial(cell) == Some(0) && !pointer.first.iter().any(|&first| is_own(first) && first < read);
            let first = pointer
                .first
                .iter()
                .find(|&&first| !is_own(first))
                .filter(|_| untouched);
            let asked = near(&mut before.iter().rev())
                .into_iter()
                .chain(near(&mut behind.iter()));
            for (write, initial) in asked.chain(first.map(zero(true)).filter(is_open)) {
                let positions = (trace.pc(write), trace.pc(read));
                rows.entry(positions).or_default().push(Question {
                    example: (write.min(read), write.max(read)),
                    goal: Goal::OtherValue { read, value: Some(0) },
                    ways: vec![match initial {
                        true => Way {
                            performed: Vec::new(),
                            awaited: Some(write),
                        },
                        false => Way {
                            performed: vec![write],
                            awaited: None,
                        },
                    }],
                });
            }
        }
    }
    rows
}
