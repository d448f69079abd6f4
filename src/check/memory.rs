//! Memory: the value of each cell, and the accesses that are pinned.
//!
//! The value that a read of an external cell saw came from unrecorded code, or may have. It is not
//! compared; the access keeps its place among the events of other threads instead.

use super::disabled::Disabled;
use crate::trace::{Access, Cell, CellId, Trace};
use hashbrown::HashMap;
use std::borrow::Cow;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// The trace does not show it.
    Unknown,
    Value(u64),
    Freed,
}

/// The contents of all cells.
#[derive(Clone, Debug)]
pub(super) struct Memory<'a> {
    contents: Cow<'a, [Content]>,
    /// What differs from `contents`, if these belong to another state.
    changed: HashMap<CellId, Content>,
}

impl Memory<'_> {
    pub(super) fn new(trace: &Trace) -> Memory<'static> {
        let initial = |cell: &Cell| cell.initial.map_or(Content::Unknown, Content::Value);
        Memory {
            contents: Cow::Owned(trace.cells().iter().map(initial).collect()),
            changed: HashMap::new(),
        }
    }

    /// The same contents, to be changed without a copy of them all.
    pub(super) fn branch(&self) -> Memory<'_> {
        Memory {
            contents: Cow::Borrowed(&self.contents),
            changed: self.changed.clone(),
        }
    }

    fn content(&self, cell: CellId) -> Content {
        let changed = (!self.changed.is_empty()).then(|| self.changed.get(&cell).copied());
        changed.flatten().unwrap_or(self.contents[cell.index()])
    }

    /// The value of a cell, as far as the recorded writes tell.
    pub(super) fn value(&self, cell: CellId) -> Option<u64> {
        match self.content(cell) {
            Content::Value(value) => Some(value),
            Content::Unknown | Content::Freed => None,
        }
    }

    /// Whether every cell that the access reads holds the value that it saw.
    pub(super) fn read(&self, trace: &Trace, access: Access) -> Result<(), Disabled> {
        for used in trace.uses(access) {
            let cell = trace.cell(used.cell);
            if !cell.external && self.content(used.cell) != Content::Value(used.read) {
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
    pub(super) fn write(&mut self, trace: &Trace, access: Access, strayed: bool) {
        let freed = access.kind == crate::trace::AccessKind::Free;
        for used in trace.uses(access) {
            let content = if freed {
                Content::Freed
            } else if strayed {
                Content::Unknown
            } else {
                Content::Value(used.written)
            };
            match &mut self.contents {
                Cow::Owned(contents) => contents[used.cell.index()] = content,
                Cow::Borrowed(_) => {
                    self.changed.insert(used.cell, content);
                }
            }
        }
    }
}
