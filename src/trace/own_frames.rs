//! What compilers leave unrecorded on a thread's own stack (`docs/SEMANTICS.md`, section 1, *External cells*).
//!
//! gcc instruments no stores by which a structure is returned by value, nor what it expands in place after it has instrumented. Nearly every
//! C++ program reads such memory. In a recording of a native program, a change of a cell on a thread's stack that only this
//! thread accesses is taken for such a store, unless the trace shows that the thread gave the cell's address away: then code of
//! another thread, that nobody recorded, may have made it. This errs where an address was given away in a register alone.

use super::{AccessKind, Cell, IncarnationId, Op, ThreadId, Trace};

/// How far behind an address that is given away the object may reach.
const REACH: u64 = 4096;

/// The stacks of a native program's threads.
pub(super) struct OwnFrames {
    /// By thread: its stack.
    stacks: Vec<Option<IncarnationId>>,
    /// Addresses on stacks that were stored elsewhere, ascending.
    given_away: Vec<u64>,
}

impl OwnFrames {
    /// Of a trace whose accesses are known. There are none if it is no recording of a native program, which lists its modules.
    pub(super) fn of(trace: &Trace) -> OwnFrames {
        if trace.tables.modules.is_empty() {
            return OwnFrames {
                stacks: Vec::new(),
                given_away: Vec::new(),
            };
        }
        let stack = |order: &Vec<_>| {
            let [begin, alloc, ..] = order[..] else { return None };
            match (trace.op(begin), trace.op(alloc)) {
                (Op::Begin, Op::Alloc { incarnation }) => Some(incarnation),
                _ => None,
            }
        };
        let stacks: Vec<Option<IncarnationId>> = trace.program_order.iter().map(stack).collect();
        let mut ranges: Vec<(u64, u64, IncarnationId)> = stacks
            .iter()
            .flatten()
            .map(|&id| {
                let block = &trace.incarnations[id.index()];
                (block.addr, block.addr + block.size, id)
            })
            .collect();
        ranges.sort_unstable();
        let within = |value: u64| {
            let after = ranges.partition_point(|&(start, ..)| start <= value);
            let (_, end, id) = *ranges.get(after.checked_sub(1)?)?;
            (value < end).then_some(id)
        };
        let mut given_away: Vec<u64> = trace
            .accesses()
            .filter(|access| access.size == 8 && access.kind != AccessKind::Free && access.kind.writes())
            .filter_map(|access| {
                let value = trace.uses(access).fold(0, |value, used| {
                    let shift = 8 * (trace.cell(used.cell).addr - access.addr) as u32;
                    value | used.written.checked_shl(shift).unwrap_or(0)
                });
                (within(value)? != access.incarnation).then_some(value)
            })
            .collect();
        given_away.sort_unstable();
        given_away.dedup();
        OwnFrames { stacks, given_away }
    }

    /// Whether changes of a cell that only this thread accesses are its own.
    pub(super) fn keep(&self, thread: ThreadId, cell: &Cell) -> bool {
        let is_own = self.stacks.get(thread.index()) == Some(&Some(cell.incarnation));
        let before = self.given_away.partition_point(|&given| given <= cell.addr);
        let given = before.checked_sub(1).map(|at| self.given_away[at]);
        is_own && given.is_none_or(|given| cell.addr - given >= REACH)
    }
}
