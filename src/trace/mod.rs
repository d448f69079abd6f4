//! The analysis' model of a trace π: threads, events in columns, cells, incarnations.
//!
//! Every later part (candidates, pruning, encoding, checking, reporting) reads the trace through
//! this model and never through the file format. What the events mean is defined in
//! `docs/SEMANTICS.md`; the model adds the facts that follow from π alone:
//!
//! - which *incarnation* of an address an access belongs to, and which *cells* it touches;
//! - the initial value of each cell, and which cells are *external* (changed by something that was
//!   not recorded), whose accesses are pinned to their places among the events around them;
//! - program order, and the critical sections of each lock.
//!
//! Events are kept in columns indexed by [`EventId`], which is the event's number in the file.

mod accesses;
mod apart;
mod cells;
mod contested;
mod copies;
mod decode;
mod event_set;
mod excused;
mod explained;
mod external;
mod images;
mod in_threads;
mod load;
mod marks;
mod op;
mod ops;
mod own_frames;
mod pieces;
mod pins;
mod places;
mod recorded;
mod regions;
mod runs;
mod sections;
mod shadow;
mod values;
mod waits;
mod wakes;
mod writers;

pub use accesses::{Access, Uses};
pub use cells::{Cell, CellId, CellUse, Incarnation, IncarnationId};
pub(crate) use event_set::EventSet;
pub use explained::explanations;
pub(crate) use in_threads::InThreads;
pub use load::{LoadError, blocks_of};
pub(crate) use marks::Marks;
pub use op::{AccessKind, Op};
pub use pins::Pin;
pub(crate) use regions::Region;
pub use sections::{Section, SectionId, Sections};
pub use trace_format::{
    CodePosition, EventId, MemoryOrder, ObjectId, ProgramEnd, StackId, Tables, ThreadId, TraceId, WaitOutcome,
};
pub use wakes::{Waiter, Wakes};
pub use writers::Writers;

use accesses::{Accesses, Memory};
use apart::Apart;
use columns::{Column, Excerpt};
use excused::Excuses;
use ops::Ops;
use pins::Pins;
use places::{CodePlaces, CodeWalk};
use trace_format::{BlockDigest, ObjectKind};
use values::Values;
use waits::Waits;

/// Where a trace that has no proper end stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Events before the cut.
    pub events: u64,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// What is wrong there, in words.
    pub cause: String,
    /// Events behind it that were left out on purpose.
    pub left_out: u64,
}

/// A loaded trace.
#[derive(Clone, Debug)]
pub struct Trace {
    id: TraceId,
    tables: Tables,
    cut: Option<Cut>,
    program_end: ProgramEnd,
    in_threads: InThreads,
    code: CodePlaces,
    ops: Ops,
    /// The operations that took effect and would have given up otherwise, in order.
    attempts: Vec<EventId>,
    /// The events that are no accesses.
    operations: EventSet,
    /// Events of each thread, in program order.
    program_order: Vec<Column<EventId>>,
    accesses: Accesses,
    cells: Vec<Cell>,
    /// By cell, what its first access read, if that is known.
    initial: Values,
    incarnations: Vec<Incarnation>,
    contested: EventSet,
    linked: EventSet,
    pins: Pins,
    /// Pointers that are equal as numbers, and are not the same.
    apart: Apart,
    frees_reads: bool,
    excuses: Excuses,
    waits: Waits,
    waiting_at_start: Vec<(ObjectId, EventId)>,
    overlaps: Vec<(EventId, IncarnationId)>,
    blocks: Vec<Block>,
}

/// A stretch of events that stands in the file as one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The first event.
    pub first: EventId,
    /// How many there are.
    pub events: u32,
    /// How many rows of the table of objects they may refer to.
    pub objects: usize,
    /// What tells these events from others.
    pub digest: BlockDigest,
}

impl Trace {
    /// The identity of the file that it was loaded from.
    #[must_use]
    pub fn id(&self) -> TraceId {
        self.id
    }

    /// The blocks in which its events stand in the file; none of a trace that was made in memory.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Names of threads, modules, objects, stacks.
    #[must_use]
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// How the program ended, as far as the trace says.
    #[must_use]
    pub fn program_end(&self) -> &ProgramEnd {
        &self.program_end
    }

    /// Where the trace was cut; `None` if it is complete.
    #[must_use]
    pub fn cut(&self) -> Option<&Cut> {
        self.cut.as_ref()
    }

    /// How many events were loaded, if others were left out on purpose.
    #[must_use]
    pub fn first_events(&self) -> Option<u64> {
        let cut = self.cut.as_ref().filter(|cut| cut.left_out > 0);
        cut.map(|cut| cut.events)
    }

    /// Whether a read on which nothing depends may see any value: the trace declares its control flow
    /// recorded, and no unrecorded code, whose dependences nobody knows, touches its memory.
    /// See `docs/SEMANTICS.md`, section 2.
    #[must_use]
    pub fn frees_reads(&self) -> bool {
        self.frees_reads
    }

    /// The waits that began before the trace did and end in it after a notify: the condition, and the end.
    /// Whether that notify was the one that woke it, π does not show; in every prefix, one has to come first.
    #[must_use]
    pub fn waiting_at_start(&self) -> &[(ObjectId, EventId)] {
        &self.waiting_at_start
    }

    /// Whether a lock may be taken once more by who holds it.
    #[must_use]
    pub fn is_recursive(&self, lock: ObjectId) -> bool {
        let object = self.tables.object(lock);
        object.is_some_and(|object| object.kind == ObjectKind::RecursiveMutex)
    }

    /// Whether a thread that holds a lock alone where an event of the trace takes it may have it once more. Where nobody
    /// gives back locks of others, that event shows it: the thread holds it as often in each order.
    #[must_use]
    pub fn is_taken_again(&self, lock: ObjectId) -> bool {
        let kind = self.tables.object(lock).map(|object| object.kind);
        !self.tables.meta.foreign_unlock || !matches!(kind, Some(ObjectKind::Mutex | ObjectKind::SpinLock))
    }

    /// The count that a semaphore begins with; no other object has one.
    #[must_use]
    pub fn initial_count(&self, semaphore: ObjectId) -> u32 {
        let object = self.tables.object(semaphore);
        let object = object.filter(|object| object.kind == ObjectKind::Semaphore);
        object.map_or(0, |object| object.initial)
    }

    /// The allocations over bytes of a block that lives, each with that block. A thread's stack may lie in a block.
    pub fn overlapping_allocs(&self) -> impl Iterator<Item = (EventId, IncarnationId)> + '_ {
        let is_stack = |alloc: EventId| {
            let before = self.predecessor(alloc);
            before.is_some_and(|before| self.op(before) == Op::Begin)
        };
        self.overlaps
            .iter()
            .copied()
            .filter(move |&(alloc, _)| !is_stack(alloc))
    }

    /// Number of events.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Whether it has no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All events, in the order of π.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = EventId> + ExactSizeIterator + Clone + use<> {
        (0..self.len() as u32).map(EventId)
    }

    /// Number of threads; every event's thread is below it.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.program_order.len()
    }

    /// The thread of an event.
    #[must_use]
    #[inline]
    pub fn thread(&self, event: EventId) -> ThreadId {
        self.in_threads.thread(event)
    }

    /// The thread and the place of every event.
    pub(crate) fn in_threads(&self) -> InThreads {
        self.in_threads.clone()
    }

    /// The code position of an event.
    #[must_use]
    pub fn pc(&self, event: EventId) -> CodePosition {
        self.code.get(event.index()).0
    }

    /// The code positions of events, for walks over most of them.
    pub(crate) fn pcs(&self) -> CodeWalk<'_> {
        self.code.walk()
    }

    /// The call stack of an event.
    #[must_use]
    pub fn stack(&self, event: EventId) -> StackId {
        self.code.get(event.index()).1
    }

    /// What an event does.
    #[must_use]
    #[inline]
    pub fn op(&self, event: EventId) -> Op {
        self.ops.get(event.index())
    }

    /// Whether an operation that took effect, one that waits for other threads, would have given up otherwise: at once,
    /// or when its time was over; or whether something outside of the trace might have ended it.
    #[must_use]
    pub fn is_attempt(&self, event: EventId) -> bool {
        self.attempts.binary_search(&event).is_ok()
    }

    /// The place of an event in its thread, counted from 0.
    #[must_use]
    #[inline]
    pub fn place(&self, event: EventId) -> u32 {
        self.in_threads.place(event)
    }

    /// The events of a thread in program order.
    #[must_use]
    #[inline]
    pub fn program_order(&self, thread: ThreadId) -> Excerpt<'_, EventId> {
        self.program_order[thread.index()].all()
    }

    /// The event of the same thread just before.
    #[must_use]
    #[inline]
    pub fn predecessor(&self, event: EventId) -> Option<EventId> {
        let (thread, place) = self.in_threads.of(event);
        Some(self.program_order(thread).at(place.checked_sub(1)? as usize))
    }

    /// The event of the same thread just after.
    #[must_use]
    pub fn successor(&self, event: EventId) -> Option<EventId> {
        self.program_order(self.thread(event))
            .get(self.place(event) as usize + 1)
    }

    /// The data or atomic access that an event is, if it is one (`free` is: it writes).
    #[must_use]
    #[inline]
    pub fn access(&self, event: EventId) -> Option<Access> {
        let (form, range) = self.ops.access(event.index())?;
        Some(self.accesses.get(event, form, range, self.memory()))
    }

    /// The incarnation that the first byte of an access belongs to. Of most accesses nobody asks.
    #[must_use]
    pub fn incarnation_of(&self, access: EventId) -> IncarnationId {
        let number = self.ops.access(access.index());
        number.map_or(IncarnationId::STATIC, |(_, number)| {
            self.accesses.incarnation(number as usize, &self.cells)
        })
    }

    /// Whether an event is an access.
    #[must_use]
    #[inline]
    pub fn is_access(&self, event: EventId) -> bool {
        self.ops.is_access(event.index())
    }

    /// All events that are no accesses, in the order of π.
    pub fn operations(&self) -> impl Iterator<Item = EventId> + Clone + '_ {
        self.operations.events()
    }

    /// The operations of which something is known, with that, in the order of π. It has to be known whichever thread or
    /// object they have to do with: if a trace has none of a kind, nobody looks for them.
    pub fn operations_with<'t, T>(
        &'t self,
        known: impl Fn(Op) -> Option<T> + Clone + 't,
    ) -> impl Iterator<Item = (EventId, T)> + Clone + 't {
        let kinds = self.ops.kinds(|op| known(op).is_some());
        let operations = (!kinds.is_empty()).then(|| self.operations());
        let of_these = move |event: &EventId| self.ops.is_of(event.index(), kinds);
        let operations = operations.into_iter().flatten().filter(of_these);
        operations.filter_map(move |event| Some((event, known(self.op(event))?)))
    }

    /// Whether some operation is such, whichever thread or object it has to do with.
    #[must_use]
    pub fn has_operation(&self, is_such: impl Fn(Op) -> bool) -> bool {
        !self.ops.kinds(is_such).is_empty()
    }

    /// All accesses, in the order of π.
    pub fn accesses(&self) -> impl Iterator<Item = Access> + '_ {
        self.accesses_among(self.events())
    }

    /// The accesses among events that are most of a trace, in order.
    fn accesses_among(&self, events: impl Iterator<Item = EventId>) -> impl Iterator<Item = Access> {
        let mut numbers = self.ops.numbers();
        events.filter_map(move |event| {
            let (form, range) = self.ops.access_by(&mut numbers, event.index())?;
            Some(self.accesses.get(event, form, range, self.memory()))
        })
    }

    /// Whether some access is of such a kind and order.
    #[must_use]
    pub fn has_access(&self, is_one: impl Fn(AccessKind, MemoryOrder) -> bool) -> bool {
        self.ops.forms().any(|form| is_one(form.kind, form.order))
    }

    /// The cells that an access touches, with the values it saw and left in each. Values are to be compared, within a
    /// cell: where pointers to different blocks are equal as [numbers](Trace::numbers), they differ.
    #[must_use]
    #[inline]
    pub fn uses(&self, access: Access) -> Uses<'_> {
        let values = self.apart.values(access.event, self.accesses.values_of(access));
        self.accesses.uses(access, values, &self.cells)
    }

    /// The cells that an event touches; empty if it is no access.
    #[must_use]
    pub fn cell_uses(&self, event: EventId) -> Uses<'_> {
        self.access(event).map(|access| self.uses(access)).unwrap_or_default()
    }

    /// The value that an event leaves in a cell; `None` if it writes no value there.
    #[must_use]
    pub fn value_left(&self, event: EventId, cell: CellId) -> Option<u64> {
        let access = self.access(event).filter(|access| access.kind.writes_value())?;
        Some(self.uses(access.of_cell(cell)?).next()?.written)
    }

    /// What an event does to a cell; `None` if it does not touch it.
    #[must_use]
    pub fn cell_use(&self, event: EventId, cell: CellId) -> Option<CellUse> {
        self.uses(self.access(event)?.of_cell(cell)?).next()
    }

    /// A cell.
    #[must_use]
    #[inline]
    pub fn cell(&self, cell: CellId) -> &Cell {
        &self.cells[cell.index()]
    }

    /// The value of a cell before any event of the trace, as far as that is known: what its first access read, or what an
    /// image shows (`docs/SEMANTICS.md`, *Initial values*).
    #[must_use]
    #[inline]
    pub fn initial(&self, cell: CellId) -> Option<u64> {
        let is_known = self.cell(cell).is_known_at_first();
        is_known.then(|| self.initial.at(cell.index()))
    }

    #[inline]
    fn memory(&self) -> Memory<'_> {
        (&self.cells, &self.incarnations)
    }

    /// All cells.
    #[must_use]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// An incarnation of a range of memory.
    #[must_use]
    pub fn incarnation(&self, id: IncarnationId) -> &Incarnation {
        &self.incarnations[id.index()]
    }

    /// All incarnations; row 0 is all memory that no recorded allocation covers.
    #[must_use]
    pub fn incarnations(&self) -> &[Incarnation] {
        &self.incarnations
    }

    /// The incarnations over an address that an allocation began: that, and what ended them.
    pub fn blocks_over(&self, addr: u64) -> impl Iterator<Item = (EventId, Option<EventId>)> + '_ {
        let over = move |block: &&Incarnation| block.addr <= addr && addr - block.addr < block.size;
        let blocks = self.incarnations.iter().filter(over);
        blocks.filter_map(|block| Some((block.alloc?, block.free)))
    }

    /// The lowest cell that makes two events of different threads conflict; `None` if there is none.
    #[must_use]
    pub fn conflict(&self, a: EventId, b: EventId) -> Option<CellId> {
        let (x, y) = (self.access(a)?, self.access(b)?);
        let conflicting = self.thread(a) != self.thread(b) && x.kind.part().conflicts(y.kind.part());
        conflicting.then(|| x.lowest_common_cell(y)).flatten()
    }
}
