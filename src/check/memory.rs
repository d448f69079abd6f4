//! Memory: the value of each cell, and the reads that are pinned.
//!
//! A read of a cell that unrecorded code changes ("external") is enabled only if exactly those
//! writes of the cell have happened that preceded it in π. Stricter than the table in one point:
//! the last of them must be the one that was last in π, since the read may have seen its value.

use super::disabled::Disabled;
use super::facts::Facts;
use crate::trace::{Access, Cell, CellId, EventId, Trace};
use hashbrown::HashMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// The trace does not show it.
    Unknown,
    Value(u64),
    Freed,
}

/// The recorded writes of an external cell so far.
#[derive(Clone, Copy, Debug, Default)]
struct Written {
    count: usize,
    /// The one latest in π.
    highest: Option<EventId>,
    last: Option<EventId>,
}

/// The contents of all cells.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    contents: Vec<Content>,
    external: HashMap<CellId, Written>,
}

impl Memory {
    pub(super) fn new(trace: &Trace) -> Memory {
        let initial = |cell: &Cell| cell.initial.map_or(Content::Unknown, Content::Value);
        Memory {
            contents: trace.cells().iter().map(initial).collect(),
            external: HashMap::new(),
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
    pub(super) fn read(&self, trace: &Trace, facts: &Facts, access: &Access) -> Result<(), Disabled> {
        for used in trace.uses(access) {
            let cell = trace.cell(used.cell);
            if cell.external {
                self.read_pinned(facts, access.event, used.cell, cell)?;
            } else if self.contents[used.cell.index()] != Content::Value(used.read) {
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

    fn read_pinned(&self, facts: &Facts, read: EventId, id: CellId, cell: &Cell) -> Result<(), Disabled> {
        let now = self.external.get(&id).copied().unwrap_or_default();
        let before = facts.writes_before(id, read);
        let wanted = before.last().copied();
        // As many writes as preceded it, and none that followed it: the very same ones.
        if now.count == before.len() && now.highest == wanted && now.last == wanted {
            Ok(())
        } else {
            let (addr, last) = (cell.addr, now.last);
            Err(Disabled::Unpinned { addr, last })
        }
    }

    /// What a write or a free leaves.
    pub(super) fn write(&mut self, trace: &Trace, access: &Access) {
        let freed = access.kind == crate::trace::AccessKind::Free;
        for used in trace.uses(access) {
            self.contents[used.cell.index()] = if freed {
                Content::Freed
            } else {
                Content::Value(used.written)
            };
            if trace.cell(used.cell).external {
                let now = self.external.entry(used.cell).or_default();
                now.count += 1;
                now.highest = now.highest.max(Some(access.event));
                now.last = Some(access.event);
            }
        }
    }
}
