//! Null pointers: whether a read of a pointer that its thread follows at once can see 0 instead (`docs/SEMANTICS.md`,
//! section 3). That is another value of the read.

use super::decider::Decider;
use super::pointers::{NEAREST, Positions, Question, Rows, Way, followed, ordered};
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
    /// The writes of 0, and the first write.
    zeros: Vec<EventId>,
    first: Option<EventId>,
}

/// What to ask, by the positions of the write and of the read.
pub(super) fn candidates(known: &Decider<'_>, witnessed: &HashSet<Positions>) -> Rows {
    let trace = known.trace;
    let mut comparisons = Comparisons::of(trace.tables());
    let mut pointers: HashMap<CellId, Pointer> = HashMap::new();
    for access in trace.accesses() {
        // Who compares at once what it got is prepared for 0.
        if let Some((cell, _)) = followed(trace, access)
            && !comparisons.follow(trace.pc(access.event))
        {
            pointers.entry(cell).or_default().followed.push(access.event);
        }
    }
    for access in trace.accesses().filter(|access| access.kind.writes_value()) {
        for used in trace.uses(access) {
            if let Some(pointer) = pointers.get_mut(&used.cell) {
                pointer.first.get_or_insert(access.event);
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
            let at = pointer.zeros.partition_point(|&write| write < read);
            let near = &pointer.zeros[at.saturating_sub(NEAREST)..(at + NEAREST).min(pointer.zeros.len())];
            let zero = |initial| move |&write: &EventId| (write, initial);
            // What was there before anybody wrote is 0, and this is the first write.
            let first = pointer.first.filter(|_| trace.cell(cell).initial == Some(0));
            let asked = near.iter().map(zero(false)).chain(first.iter().map(zero(true)));
            for (write, initial) in asked.filter(|&(write, _)| trace.thread(write) != trace.thread(read)) {
                let is_ordered = match initial {
                    true => order.before(write, read),
                    false => order.before(read, write),
                };
                let positions = (trace.pc(write), trace.pc(read));
                if is_ordered || witnessed.contains(&ordered(positions)) {
                    continue;
                }
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
