//! Stale pointers: which reads are of pointers that their threads follow, and what a pointer then points to.

use crate::Checker;
use crate::bytes::Block;
use crate::recording::Access;
use crate::state::State;
use columns::Excerpt;
use std::ops::Range;
use trace_format::{EventId, Op};

/// Bytes of a pointer.
const POINTER: usize = 8;

/// How far behind an address an access of what lies there may be.
const REACH: u64 = 4096;

/// The address of a pointer that this event reads whole, and that its thread follows with its next event, but for copies.
pub(crate) fn pointer(checker: &Checker<'_>, read: EventId) -> Option<u64> {
    let (Op::Read { mem, value } | Op::AtomicLoad { mem, value, .. }) = checker.recording.op(read) else {
        return None;
    };
    let bytes = checker.touched(read)?.bytes;
    let is_whole = bytes.len() == POINTER && checker.bytes.pieces(bytes).count() == 1;
    let own = checker.recording.program_order(checker.recording.thread(read));
    let mut behind = own.from(own.partition_point(|event| event <= read));
    let stack = stack_of(checker, &own);
    while let (Some(to), Some(back)) = (behind.get(0), behind.get(1))
        && let (Op::Write { mem: copy, value: to }, Op::Read { mem, value: back }) =
            (checker.recording.op(to), checker.recording.op(back))
        && (copy, to, back) == (mem, value, value)
        && copy.size as usize == POINTER
        && stack.contains(&copy.addr)
    {
        behind = behind.from(2);
    }
    let next = behind.first()?;
    let next = Access::of(checker.recording.op(next))?.mem.addr;
    let is_there = next.checked_sub(value).is_some_and(|behind| behind < REACH);
    (is_whole && value != 0 && is_there).then_some(mem.addr)
}

/// The addresses of a thread's stack, which is allocated right after its start.
fn stack_of(checker: &Checker<'_>, own: &Excerpt<'_, EventId>) -> Range<u64> {
    match (own.get(0), own.get(1)) {
        (Some(begin), Some(alloc)) => match (checker.recording.op(begin), checker.recording.op(alloc)) {
            (Op::Begin, Op::Alloc { addr, size }) => addr..addr.saturating_add(size),
            _ => 0..0,
        },
        _ => 0..0,
    }
}

/// The addresses of the block that an event frees, if it frees one.
pub(crate) fn freed_by(checker: &Checker<'_>, free: EventId) -> Option<Range<u64>> {
    let touched = checker.touched(free)?;
    let is_free = matches!(checker.recording.op(free), Op::Free { .. });
    range(checker, &checker.bytes.blocks[touched.block as usize]).filter(|_| is_free)
}

/// The allocation of a block that has this address, was allocated and has not been freed.
pub(crate) fn living(checker: &Checker<'_>, state: &State<'_>, addr: u64) -> Option<EventId> {
    let blocks = checker.bytes.blocks.iter();
    let here = blocks.filter(|&block| range(checker, block).is_some_and(|range| range.contains(&addr)));
    let living = here.filter(|block| !block.free.is_some_and(|free| state.executed(free)));
    living
        .filter_map(|block| block.alloc)
        .find(|&alloc| state.executed(alloc))
}

/// The addresses of a block; of what was always there, none.
fn range(checker: &Checker<'_>, block: &Block) -> Option<Range<u64>> {
    match checker.recording.op(block.alloc?) {
        Op::Alloc { addr, size } => Some(addr..addr.saturating_add(size)),
        _ => None,
    }
}
