//! What the events of a window do, decoded once for all orders that are tried in it.
//!
//! Each order looks at every event of its cut, several times over. What it asks of them does not depend on the order:
//! which events lead to them, which writes may have given a read its value, which sections they open. Events that no
//! cut has come to are not decoded.

use super::Native;
use crate::semantics::Need;
use crate::trace::{AccessKind, CellId, EventId, SectionId};
use hashbrown::HashMap;
use std::cell::{Ref, RefCell};
use std::ops::Range;

/// The events of a window.
pub(super) struct Window<'s, 't> {
    native: &'s Native<'t>,
    /// The first event of the window.
    from: EventId,
    /// Whether everything before the window is in the prefix.
    based: bool,
    /// Per event of π from the first one on, its number among the decoded ones, plus 1; 0 for what is not decoded.
    numbers: Vec<u32>,
    /// Of the order that is being made: per event, the place of the first further edge to it, plus 1; 0 for none.
    first_edges: Vec<u32>,
    decoded: Vec<Decoded>,
    incoming: Vec<EventId>,
    uses: Vec<Used<'t>>,
    /// The events that have an entry there.
    edged: Vec<u32>,
    cells: HashMap<CellId, u32>,
    /// By the cell's number.
    written: Vec<RefCell<Written>>,
}

/// The writes of a cell by thread, as far as they were asked for.
#[derive(Default)]
struct Written {
    /// How many of the cell's writes, from the window's first event on, are there.
    taken: usize,
    by_thread: Vec<Vec<EventId>>,
}

/// An event.
struct Decoded {
    incoming: Range<u32>,
    uses: Range<u32>,
    sections: Option<Box<Doors>>,
    /// Whether it can come about in several ways.
    conditional: bool,
    known: bool,
    reads: bool,
}

/// The section that an event opens, and the one that it closes.
#[derive(Clone, Copy, Default)]
pub(super) struct Doors {
    pub opened: Option<SectionId>,
    pub closed: Option<SectionId>,
}

/// What an access does to a cell.
pub(super) struct Used<'t> {
    pub cell: CellId,
    /// The cell's number among those of the window.
    pub number: u32,
    /// What it sees there, and where that can come from; `None` if it does not read, no other thread writes the cell,
    /// or unrecorded code changes it.
    pub read: Option<Read<'t>>,
    /// Whether it writes, and the value that it leaves, if it leaves one.
    pub writes: bool,
    pub left: Option<u64>,
    /// Whether it uses an object there, or ends one.
    pub object: Option<Life>,
}

/// What an access means to a synchronization object, or a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Used,
    Ended,
}

/// A cell that is read.
pub(super) struct Read<'t> {
    pub value: u64,
    /// The writes of that value from the window's first event on.
    pub fitting: &'t [EventId],
    /// All writes of the cell from there on.
    pub writes: &'t [EventId],
    /// What the window begins with is that value, in the based view.
    pub base: bool,
    /// In the relaxed view, it may be something before the window, in an order that is not followed.
    pub outside: bool,
}

impl<'s, 't> Window<'s, 't> {
    pub(super) fn new(native: &'s Native<'t>, from: EventId, based: bool) -> Window<'s, 't> {
        Window {
            native,
            from,
            based,
            numbers: Vec::new(),
            first_edges: Vec::new(),
            edged: Vec::new(),
            decoded: Vec::new(),
            incoming: Vec::new(),
            uses: Vec::new(),
            cells: HashMap::new(),
            written: Vec::new(),
        }
    }

    /// Begins an order with these edges, each with where it leads to first, sorted.
    pub(super) fn begin(&mut self, edges: &[(EventId, EventId)]) {
        for at in self.edged.drain(..) {
            self.first_edges[at as usize] = 0;
        }
        let last = edges.last().map_or(0, |(to, _)| (to.0 - self.from.0) as usize + 1);
        if last > self.first_edges.len() {
            self.first_edges.resize(last, 0);
        }
        for (place, (to, _)) in edges.iter().enumerate() {
            let at = to.0 - self.from.0;
            if self.first_edges[at as usize] == 0 {
                self.first_edges[at as usize] = place as u32 + 1;
                self.edged.push(at);
            }
        }
    }

    /// The place of the first edge of that order to an event, plus 1; 0 for none.
    pub(super) fn first_edge(&self, event: EventId) -> u32 {
        let at = (event.0 - self.from.0) as usize;
        self.first_edges.get(at).copied().unwrap_or(0)
    }

    /// How many cells have numbers.
    pub(super) fn cells(&self) -> usize {
        self.cells.len()
    }

    /// The events of other threads in the window that an event needs directly.
    pub(super) fn incoming(&self, event: EventId) -> &[EventId] {
        let range = &self.get(event).incoming;
        &self.incoming[range.start as usize..range.end as usize]
    }

    /// The cells that an event touches.
    pub(super) fn uses(&self, event: EventId) -> &[Used<'t>] {
        let range = &self.get(event).uses;
        &self.uses[range.start as usize..range.end as usize]
    }

    /// The cells that an event reads.
    pub(super) fn reads(&self, event: EventId) -> impl Iterator<Item = (&Used<'t>, &Read<'t>)> {
        let uses = if self.get(event).reads { self.uses(event) } else { &[] };
        uses.iter().filter_map(|used| Some((used, used.read.as_ref()?)))
    }

    /// The writes of a cell that an event reads, those of each thread together, from the window's first event to at
    /// least `last`.
    pub(super) fn writes_by_thread(&self, used: &Used<'_>, seen: &Read<'_>, last: EventId) -> Ref<'_, [Vec<EventId>]> {
        let written = &self.written[used.number as usize];
        let further = written.borrow().taken;
        if seen.writes.get(further).is_some_and(|&write| write <= last) {
            let mut written = written.borrow_mut();
            for &write in seen.writes[further..].iter().take_while(|&&write| write <= last) {
                let trace = self.native.trace;
                let of = |theirs: &Vec<EventId>| trace.thread(theirs[0]);
                match written.by_thread.binary_search_by_key(&trace.thread(write), of) {
                    Ok(at) => written.by_thread[at].push(write),
                    Err(at) => written.by_thread.insert(at, vec![write]),
                }
                written.taken += 1;
            }
        }
        Ref::map(written.borrow(), |written| &written.by_thread[..])
    }

    /// The sections that an event opens and closes.
    pub(super) fn doors(&self, event: EventId) -> Option<Doors> {
        self.get(event).sections.as_deref().copied()
    }

    /// Whether an event can come about in several ways.
    pub(super) fn is_conditional(&self, event: EventId) -> bool {
        self.get(event).conditional
    }

    /// Whether the solver knows what an event needs.
    pub(super) fn knows(&self, event: EventId) -> bool {
        self.get(event).known
    }

    fn get(&self, event: EventId) -> &Decoded {
        &self.decoded[self.numbers[(event.0 - self.from.0) as usize] as usize - 1]
    }

    /// Decodes an event, unless that is done.
    pub(super) fn decode(&mut self, event: EventId) {
        let at = (event.0 - self.from.0) as usize;
        if at >= self.numbers.len() {
            self.numbers.resize(at + 1, 0);
        }
        if self.numbers[at] != 0 {
            return;
        }
        let (native, from) = (self.native, self.from);
        let (trace, op) = (native.trace, native.trace.op(event));
        let first_edge = self.incoming.len() as u32;
        let sources = native.needs.relation().incoming(event);
        self.incoming
            .extend(sources.filter(|&source| source >= from && trace.thread(source) != trace.thread(event)));
        let first_use = self.uses.len() as u32;
        let mut reads = false;
        if let Some(access) = trace.access(event) {
            reads = access.kind.reads();
            let object = match access.kind {
                AccessKind::Use => Some(Life::Used),
                kind => kind.ends().then_some(Life::Ended),
            };
            for used in trace.uses(access) {
                let numbered = self.cells.len() as u32;
                let number = *self.cells.entry(used.cell).or_insert(numbered);
                if number == numbered {
                    self.written.push(RefCell::default());
                }
                let in_question = reads
                    && !native.writers.none_but(trace.thread(event), used.cell)
                    && !trace.cell(used.cell).external;
                let read = in_question.then(|| self.read(used.cell, used.read));
                self.uses.push(Used {
                    cell: used.cell,
                    number,
                    read,
                    writes: access.kind.writes(),
                    left: access.kind.writes_value().then_some(used.written),
                    object,
                });
            }
        }
        let doors = op.lock().map(|_| Doors {
            opened: native.sections.opened_by(event),
            closed: native.sections.closed_by(event),
        });
        self.decoded.push(Decoded {
            incoming: first_edge..self.incoming.len() as u32,
            uses: first_use..self.uses.len() as u32,
            sections: doors.map(Box::new),
            conditional: Need::of(op).is_some(),
            known: native.knows(event),
            reads,
        });
        self.numbers[at] = self.decoded.len() as u32;
    }

    fn read(&self, cell: CellId, value: u64) -> Read<'t> {
        let native = self.native;
        let split = |writes: &'t [EventId]| writes.partition_point(|&write| write < self.from);
        let (fitting, writes) = (native.writers.writes_of(cell, value), native.writers.writes(cell));
        let earlier = split(fitting);
        let initial = native.trace.cell(cell).initial == Some(value);
        Read {
            value,
            fitting: &fitting[earlier..],
            writes: &writes[split(writes)..],
            base: self.based && native.base_value(cell, self.from) == Some(value),
            outside: !self.based && (initial || earlier > 0),
        }
    }
}
