//! Which accesses a variable may depend on: those that are left of a slice (`docs/SEMANTICS.md`, section 4).
//!
//! D-FORCE takes the dependences of data and control from the source. A trace does not have those within a thread, so
//! all that a thread has read by then may decide what it writes. Nothing that the variable depends on is left out.

use crate::semantics::interrupted::Part;
use crate::trace::{CellId, EventId, ThreadId, Trace};

/// What some variables may depend on.
pub(super) struct Slice {
    /// By cell: whether what is written there counts.
    cells: Vec<bool>,
    /// By thread: up to which place what it reads counts.
    until: Vec<u32>,
}

impl Slice {
    /// Of what the variables in these cells hold at any time.
    pub(super) fn of(trace: &Trace, variables: &[CellId]) -> Slice {
        // By cell, the place of the last write in each thread that writes it.
        let mut last_writes: Vec<Vec<(ThreadId, u32)>> = vec![Vec::new(); trace.cells().len()];
        for access in trace
            .accesses()
            .filter(|access| Part::of(access.kind).is_some_and(|part| part.writes))
        {
            let (thread, place) = (trace.thread(access.event), trace.place(access.event));
            for used in trace.uses(access) {
                let writes = &mut last_writes[used.cell.index()];
                match writes.iter_mut().find(|(other, _)| *other == thread) {
                    Some((_, last)) => *last = place.max(*last),
                    None => writes.push((thread, place)),
                }
            }
        }
        let mut slice = Slice {
            cells: vec![false; trace.cells().len()],
            until: vec![0; trace.threads()],
        };
        let mut open: Vec<CellId> = variables.to_vec();
        while let Some(cell) = open.pop() {
            if std::mem::replace(&mut slice.cells[cell.index()], true) {
                continue;
            }
            for &(thread, place) in &last_writes[cell.index()] {
                let until = &mut slice.until[thread.index()];
                // A read-modify-write reads what it writes.
                let from = std::mem::replace(until, (place + 1).max(*until));
                let until = place as usize + 1;
                for event in trace.program_order(thread).excerpt(until.min(from as usize)..until) {
                    let access = trace.access(event).filter(|access| access.kind.reads());
                    open.extend(
                        access
                            .into_iter()
                            .flat_map(|access| trace.uses(access))
                            .map(|used| used.cell),
                    );
                }
            }
        }
        slice
    }

    /// Whether the variables may depend on what an access sees or leaves.
    pub(super) fn has(&self, trace: &Trace, event: EventId) -> bool {
        let Some(access) = trace.access(event) else {
            return false;
        };
        let read = access.kind.reads() && trace.place(event) < self.until[trace.thread(event).index()];
        let written = || trace.uses(access).any(|used| self.cells[used.cell.index()]);
        read || access.kind.writes_value() && written()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::{Event, MemRange, Op, StackId, Tables};

    #[test]
    fn what_was_read_before_a_write_and_what_that_saw_counts() {
        let mem = |addr| MemRange { addr, size: 4 };
        let (a, b, c, s) = (mem(0x10), mem(0x20), mem(0x30), mem(0x40));
        let read = |mem| Op::Read { mem, value: 0 };
        let write = |mem| Op::Write { mem, value: 0 };
        let ops = [
            (1, read(c)),
            (1, write(a)),
            (1, read(b)),
            (0, read(a)),
            (0, write(s)),
            (0, read(b)),
            (0, write(b)),
        ];
        let events = ops.map(|(thread, op)| Event {
            thread: ThreadId(thread),
            pc: 1,
            stack: StackId::EMPTY,
            op,
        });
        let trace = Trace::from_events(
            Tables {
                threads: vec![Default::default(); 2],
                ..Tables::default()
            },
            &events,
        );
        let of_s = trace.uses(trace.access(EventId(4)).unwrap()).map(|used| used.cell);
        let slice = Slice::of(&trace, &of_s.collect::<Vec<_>>());
        let has: Vec<u32> = (0..7).filter(|&event| slice.has(&trace, EventId(event))).collect();
        assert_eq!(has, [0, 1, 3, 4]);
        let nothing = Slice::of(&trace, &[]);
        assert!((0..7).all(|event| !nothing.has(&trace, EventId(event))));
    }
}
