//! Memory: what a read sees after a sequence of events.

use crate::trace::{CellUse, EventId, Trace};

/// A cell that a read touches, and what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The cell, with the value that the read saw there in π.
    pub used: CellUse,
    /// The last event of the sequence that wrote it, if any did.
    pub writer: Option<EventId>,
    /// The value there; `None`: π does not tell it. Before its first write, if no read shows what was there, and after
    /// its free.
    pub value: Option<u64>,
}

/// What an access would find in its cells after events that happened in this order.
#[must_use]
pub fn seen_after(trace: &Trace, order: impl DoubleEndedIterator<Item = EventId>, read: EventId) -> Vec<Seen> {
    let initial = |used: CellUse| Seen {
        used,
        writer: None,
        value: trace.initial(used.cell),
    };
    let mut seen: Vec<Seen> = trace
        .access(read)
        .into_iter()
        .flat_map(|read| trace.numbers(read))
        .map(initial)
        .collect();
    let mut open = seen.len();
    for event in order.rev() {
        if open == 0 {
            break;
        }
        if !trace.access(event).is_some_and(|access| access.kind.writes()) {
            continue;
        }
        for seen in seen.iter_mut().filter(|seen| seen.writer.is_none()) {
            if trace.cell_use(event, seen.used.cell).is_some() {
                (seen.writer, seen.value) = (Some(event), trace.number_left(event, seen.used.cell));
                open -= 1;
            }
        }
    }
    seen
}

/// The little-endian number in the cells of an access; `None` if π does not tell all of it.
#[must_use]
pub fn number(trace: &Trace, read: EventId, cells: &[Seen]) -> Option<u64> {
    let addr = trace.access(read)?.addr;
    cells.iter().try_fold(0, |number, seen| {
        let shift = 8 * (trace.cell(seen.used.cell).addr - addr);
        Some(number | seen.value? << shift)
    })
}
