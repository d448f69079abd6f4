//! Memory: the value of each cell, and the accesses that are pinned.
//!
//! The value that a read of an external cell saw came from unrecorded code, or may have. It is not
//! compared; the access keeps its place among the events of other threads instead.

use super::disabled::Disabled;
use crate::trace::{Access, Cell, CellId, Trace};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// The trace does not show it.
    Unknown,
    Value(u64),
    Freed,
}

/// The contents of all cells.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    contents: Vec<Content>,
}

impl Memory {
    pub(super) fn new(trace: &Trace) -> Memory {
        let initial = |cell: &Cell| cell.initial.map_or(Content::Unknown, Content::Value);
        Memory {
            contents: trace.cells().iter().map(initial).collect(),
        }
    }

    /// The value of a cell, as far as the recorded writes tell.
    pub(super) fn value(&self, cell: CellId) -> Option<u64> {
        match self.contents[cell.index()] {
            Content::Value(value) => Some(value),
            Content::Unknown | Content::Freed => None,
        }
    }

    /// Whether every cell that the access reads holds the value that it saw.
    pub(super) fn read(&self, trace: &Trace, access: &Access) -> Result<(), Disabled> {
        for used in trace.uses(access) {
            let cell = trace.cell(used.cell);
            if !cell.external && self.contents[used.cell.index()] != Content::Value(used.read) {
                return Err(Disabled::OtherValue {
                    addr: cell.addr,
                    size: cell.size,
                    expected: used.read,
                    found: self.value(used.cell),
                });
            }
        }
        Ok(())
    }

    /// What a write or a free leaves. A thread that `strayed` writes something, but nobody knows what.
    pub(super) fn write(&mut self, trace: &Trace, access: &Access, strayed: bool) {
        let freed = access.kind == crate::trace::AccessKind::Free;
        for used in trace.uses(access) {
            self.contents[used.cell.index()] = if freed {
                Content::Freed
            } else if strayed {
                Content::Unknown
            } else {
                Content::Value(used.written)
            };
        }
    }
}
