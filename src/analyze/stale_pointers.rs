//! Stale pointers: whether a read of a pointer that its thread follows at once can see an address of a block that was
//! freed by then (`docs/SEMANTICS.md`, section 3).
//!
//! In π the thread got another pointer, or the same number for a block that came later, so no use of the freed block is
//! there that could be moved behind the free. What the read saw in π, and what its thread uses then, is the business of
//! uses after free.

use super::decider::Decider;
use super::pointers::{LOOKED_AT, NEAREST, Positions, Question, Rows, Way, followed, ordered};
use crate::prune::{Grounds, MustHappenBefore};
use crate::schedule::Goal;
use crate::trace::{CellId, EventId, Incarnation, Trace};
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;

/// A write of an address in a block that is freed.
#[derive(Clone, Copy, Debug)]
struct Dead {
    write: EventId,
    value: u64,
    free: EventId,
    /// The next write of something else.
    over: Option<EventId>,
}

/// The memory of pointers that are followed.
#[derive(Default)]
struct Pointer {
    /// The reads of them, and what their threads access next.
    followed: Vec<(EventId, EventId)>,
    writes: Vec<(EventId, u64)>,
    dead: Vec<Dead>,
}

/// Which block lies at an address, as the events go by: a freed one, too, until another one is put there.
struct Blocks<'t> {
    left: std::iter::Peekable<std::slice::Iter<'t, Incarnation>>,
    by_address: BTreeMap<u64, &'t Incarnation>,
}

impl<'t> Blocks<'t> {
    fn of(trace: &'t Trace) -> Blocks<'t> {
        Blocks {
            // The first is what was always there; the others come in the order in which they began.
            left: trace.incarnations()[1..].iter().peekable(),
            by_address: BTreeMap::new(),
        }
    }

    /// The free of the block that an address is in at an event; these have to ascend.
    fn free_at(&mut self, event: EventId, addr: u64) -> Option<EventId> {
        while let Some(block) = self.left.next_if(|block| block.alloc.is_none_or(|alloc| alloc < event)) {
            // What it lies over is no more.
            let end = block.addr.saturating_add(block.size);
            let over: Vec<u64> = self.by_address.range(block.addr..end).map(|(&addr, _)| addr).collect();
            for addr in over {
                self.by_address.remove(&addr);
            }
            self.by_address.insert(block.addr, block);
        }
        let (_, block) = self.by_address.range(..=addr).next_back()?;
        block.free.filter(|_| addr - block.addr < block.size)
    }
}

/// What to ask, by the positions of the free and of the read.
pub(super) fn candidates(known: &Decider<'_>, witnessed: &HashSet<Positions>) -> Rows {
    let trace = known.trace;
    let mut pointers: HashMap<CellId, Pointer> = HashMap::new();
    for access in trace.accesses() {
        if let Some((cell, next)) = followed(trace, access) {
            pointers
                .entry(cell)
                .or_default()
                .followed
                .push((access.event, next.event));
        }
    }
    for access in trace.accesses().filter(|access| access.kind.writes_value()) {
        for used in trace.numbers(access) {
            if let Some(pointer) = pointers.get_mut(&used.cell) {
                pointer.writes.push((access.event, used.written));
            }
        }
    }
    find_dead(trace, &mut pointers);
    let order = known.order_on(Grounds::Structure);
    let mut rows = Rows::new();
    for pointer in pointers.values() {
        for &(read, next) in &pointer.followed {
            let at = pointer.dead.partition_point(|dead| dead.write < read);
            let (before, behind) = pointer.dead.split_at(at);
            let open = |dead: &&Dead| is_open(trace, order, witnessed, dead, (read, next));
            let before = before.iter().rev().take(LOOKED_AT).filter(open).take(NEAREST);
            let behind = behind.iter().take(LOOKED_AT).filter(open).take(NEAREST);
            for dead in before.chain(behind) {
                let positions = (trace.pc(dead.free), trace.pc(read));
                rows.entry(positions).or_default().push(question(order, dead, read));
            }
        }
    }
    rows
}

/// Finds the writes of addresses in blocks that are freed.
fn find_dead(trace: &Trace, pointers: &mut HashMap<CellId, Pointer>) {
    let cells = pointers.iter();
    let mut writes: Vec<(EventId, u64, CellId, usize)> = cells
        .flat_map(|(&cell, pointer)| {
            let writes = pointer.writes.iter().enumerate();
            writes.map(move |(place, &(write, value))| (write, value, cell, place))
        })
        .collect();
    writes.sort_unstable();
    let mut blocks = Blocks::of(trace);
    for (write, value, cell, place) in writes {
        let Some(free) = blocks.free_at(write, value) else {
            continue;
        };
        let Some(pointer) = pointers.get_mut(&cell) else {
            continue;
        };
        let mut later = pointer.writes[place + 1..].iter();
        let over = later.find(|&&(_, other)| other != value).map(|&(over, _)| over);
        pointer.dead.push(Dead {
            write,
            value,
            free,
            over,
        });
    }
}

/// Whether nothing that is known already says that the read cannot see that, or that it would be reported as something
/// else.
fn is_open(
    trace: &Trace,
    order: &MustHappenBefore,
    witnessed: &HashSet<Positions>,
    dead: &Dead,
    (read, next): (EventId, EventId),
) -> bool {
    let is_ordered = order.before(read, dead.write) || order.before(read, dead.free);
    // Taken away before it is freed.
    let is_over =
        |over: EventId| order.before(dead.write, over) && (over == dead.free || order.before(over, dead.free));
    let is_reported = |one: EventId, other: EventId| witnessed.contains(&ordered((trace.pc(one), trace.pc(other))));
    // The thread uses that very block then, which is a use after free.
    let is_use = trace.conflict(dead.free, next).is_some() || is_reported(dead.free, next);
    let raced = is_reported(dead.write, read) || dead.over.is_some_and(|over| is_reported(over, read));
    !is_ordered && !dead.over.is_some_and(is_over) && !is_use && !raced
}

fn question(order: &MustHappenBefore, dead: &Dead, read: EventId) -> Question {
    let &Dead {
        write,
        value,
        free,
        over,
    } = dead;
    let behind_write = Way {
        performed: vec![write.min(free), write.max(free)],
        awaited: over,
    };
    // The other one's write comes before the free, so this one has to come behind it.
    let behind_free = Way {
        performed: vec![free, write],
        awaited: None,
    };
    let ways = match over {
        Some(over) if order.before(over, free) => vec![behind_free],
        _ => vec![behind_write],
    };
    Question {
        example: (free.min(read), free.max(read)),
        goal: Goal::StalePointer { free, read, value },
        ways,
    }
}
