//! What a race needs when reads are taken into account: the closure over unique writers.
//!
//! If only one write can have given a read its value, that write is in every prefix that holds the
//! read. Adding these edges to must-happen-before, over and over since each edge can rule out
//! further writes, gives a stronger relation: *needed before*. It speaks of events that are in the
//! prefix; an access that is merely next has seen nothing yet, and needs only what must happen
//! before it.
//!
//! From it follows the cone of a candidate: all events that every prefix which brings both
//! accesses next has to hold. A lock that is held at an access closes the sections of others on
//! it that are in the cone, and their releases have needs of their own. If the cone reaches one of
//! the accesses, there is no such prefix (compare the closure of Mathur, Pavlogiannis, Viswanathan,
//! POPL 2021, which keeps the reads' writers of π instead of the only possible ones).
//!
//! Errs on the side of needing too little: reads that two writes can explain need neither here.

use super::MustHappenBefore;
use crate::trace::{AccessKind, CellId, EventId, SectionId, Sections, ThreadId, Trace};
use hashbrown::HashMap;

/// Per cell, reads × writes up to which unique writers are searched; a hotter cell has few of them.
const MAX_WORK: usize = 20_000_000;

/// The needed-before relation of a trace.
pub struct Needs<'t> {
    trace: &'t Trace,
    must: &'t MustHappenBefore,
    sections: &'t Sections,
    needed: MustHappenBefore,
}

impl<'t> Needs<'t> {
    /// Computes the relation.
    #[must_use]
    pub fn of(trace: &'t Trace, must: &'t MustHappenBefore, sections: &'t Sections) -> Needs<'t> {
        let cells = reads_and_writes(trace);
        let mut edges: HashMap<EventId, Vec<EventId>> = HashMap::new();
        let mut needed = must.clone();
        loop {
            let found = unique_writers(trace, &needed, &cells);
            if found.len() == edges.len() {
                return Needs {
                    trace,
                    must,
                    sections,
                    needed,
                };
            }
            needed = must.with_edges(trace, found.clone());
            edges = found;
        }
    }

    /// Whether what `a` and `b` need includes one of them, so that they can never both be next.
    #[must_use]
    pub fn exclude(&self, a: EventId, b: EventId) -> bool {
        let mut cut = vec![0; self.trace.threads()];
        for event in [a, b] {
            for (thread, count) in cut.iter_mut().enumerate() {
                *count = (*count).max(self.must.count(event, ThreadId(thread as u32)));
            }
        }
        let held: Vec<SectionId> = [a, b].iter().flat_map(|&event| self.open_at(event)).collect();
        let mut joined = vec![0; cut.len()];
        loop {
            while let Some(thread) = (0..cut.len()).find(|&thread| joined[thread] < cut[thread]) {
                let last = self.trace.program_order(ThreadId(thread as u32))[cut[thread] as usize - 1];
                joined[thread] = cut[thread];
                for (other, count) in cut.iter_mut().enumerate() {
                    *count = (*count).max(self.needed.count(last, ThreadId(other as u32)));
                }
                cut[thread] = cut[thread].max(self.trace.place(last) + 1);
            }
            let reached = |event: &EventId| cut[self.trace.thread(*event).index()] > self.trace.place(*event);
            if reached(&a) || reached(&b) {
                return true;
            }
            match self.close_others(&held, &mut cut) {
                None => return true,
                Some(true) => {}
                Some(false) => return false,
            }
        }
    }

    /// The outermost sections that the thread of `event` is in when `event` is next.
    fn open_at(&self, event: EventId) -> Vec<SectionId> {
        let held = super::held_at(self.trace, self.sections, event);
        held.into_iter()
            .filter_map(|(.., acquire)| self.sections.opened_by(acquire))
            .collect()
    }

    /// Closes the sections in the cut that exclude one that is open at the race. Returns whether the
    /// cut has grown; `None` if one of them is never closed.
    fn close_others(&self, held: &[SectionId], cut: &mut [u32]) -> Option<bool> {
        let mut grown = false;
        for &id in held {
            let section = self.sections.get(id);
            for &other in self.sections.on(section.lock) {
                let other = self.sections.get(other);
                let entered = |acquire: EventId| cut[self.trace.thread(acquire).index()] > self.trace.place(acquire);
                if !section.excludes(other) || !other.acquire.is_none_or(entered) {
                    continue;
                }
                let release = other.release?;
                let own = &mut cut[self.trace.thread(release).index()];
                if *own <= self.trace.place(release) {
                    *own = self.trace.place(release) + 1;
                    grown = true;
                }
            }
        }
        Some(grown)
    }
}

/// The reads (with the value seen) and the writes (with the value left) of a cell, in the order of π.
#[derive(Default)]
struct CellAccesses {
    reads: Vec<(EventId, u64)>,
    writes: Vec<(EventId, Option<u64>)>,
}

fn reads_and_writes(trace: &Trace) -> Vec<CellAccesses> {
    let mut cells: Vec<CellAccesses> = Vec::new();
    cells.resize_with(trace.cells().len(), CellAccesses::default);
    for access in trace.accesses() {
        for used in trace.uses(access) {
            let cell = &mut cells[used.cell.index()];
            if access.kind.reads() {
                cell.reads.push((access.event, used.read));
            }
            if access.kind.writes() {
                cell.writes
                    .push((access.event, (access.kind != AccessKind::Free).then_some(used.written)));
            }
        }
    }
    cells
}

/// For each read that only one write can explain, that write.
fn unique_writers(trace: &Trace, needed: &MustHappenBefore, cells: &[CellAccesses]) -> HashMap<EventId, Vec<EventId>> {
    let mut found: HashMap<EventId, Vec<EventId>> = HashMap::new();
    for (number, cell) in cells.iter().enumerate() {
        let info = trace.cell(CellId(number as u32));
        if info.external || cell.reads.len().saturating_mul(cell.writes.len()) > MAX_WORK {
            continue;
        }
        for &(read, value) in &cell.reads {
            let mut last_before: HashMap<ThreadId, EventId> = HashMap::new();
            for &(write, _) in cell.writes.iter().filter(|&&(write, _)| needed.before(write, read)) {
                last_before.insert(trace.thread(write), write);
            }
            if last_before.is_empty() && info.initial == Some(value) {
                continue;
            }
            let mut possible = cell.writes.iter().filter(|&&(write, left)| {
                left == Some(value)
                    && write != read
                    && !needed.before(read, write)
                    && !last_before.values().any(|&last| needed.before(write, last))
            });
            if let (Some(&(write, _)), None) = (possible.next(), possible.next())
                && trace.thread(write) != trace.thread(read)
                && write < read
            {
                found.entry(read).or_default().push(write);
            }
        }
    }
    found
}
