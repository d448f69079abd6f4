//! The events that the orders of a window can differ in, found once for a trace.
//!
//! Most events of a long trace are accesses of memory that one thread hands to the next: what is needed before what
//! already orders every write of it, and each read behind the write that it saw. However the others are ordered, these
//! reads see what they saw. An order of a window need not look at them; it is made of the *joints*, and they are put
//! between these at the very end. Joints are
//!
//! - reads for which that does not hold, and all writes of what they read;
//! - operations on objects, and events at either end of what is needed across threads;
//! - uses of objects that somebody destroys or frees;
//! - pinned accesses, and what their places end with.

use super::Native;
use crate::trace::{AccessKind, CellId, EventId, EventSet, Marks, Op, ThreadId, Trace};

/// Of a cell: unrecorded code changes it.
const EXTERNAL: u8 = 1;
/// Its writes are ordered, one after the other, or they are not; neither, if nobody asked yet.
const ORDERED: u8 = 2;
const UNORDERED: u8 = 4;
/// An operation on an object uses it.
const USED: u8 = 8;
/// An object is destroyed there, or the block freed.
const ENDED: u8 = 16;
/// A read of it is a joint.
const OPEN: u8 = 32;

/// The joints of a trace.
pub(super) struct Joints {
    /// By thread.
    marks: Vec<Marks>,
    cells: Vec<u8>,
    /// Whether unrecorded code changes any memory.
    any_external: bool,
}

impl Joints {
    pub(super) fn of(native: &Native<'_>) -> Joints {
        let trace = native.trace;
        let mut found = Found {
            native,
            events: EventSet::none_of(trace.len()),
            cells: trace
                .cells()
                .iter()
                .map(|cell| EXTERNAL * u8::from(cell.external()))
                .collect(),
            passed: vec![0; trace.cells().len()],
            uses: Vec::new(),
        };
        found.operations();
        for edge in native.needs.relation().edges() {
            found.mark(edge.from);
            found.mark(edge.to);
        }
        found.accesses();
        found.cells();
        let mut marks = vec![Marks::default(); trace.threads()];
        let in_threads = trace.in_threads();
        let mut turns = in_threads.walk();
        for event in found.events.events() {
            let (thread, place) = turns.place(event);
            let marks = &mut marks[thread.index()];
            marks.skip_to(place);
            marks.push(true);
        }
        let any_external = found.cells.iter().any(|flags| flags & EXTERNAL != 0);
        Joints {
            marks,
            cells: found.cells,
            any_external,
        }
    }

    /// Whether an order has to follow what is done to a cell.
    pub(super) fn follow(&self, cell: CellId) -> bool {
        let flags = self.cells[cell.index()];
        flags & OPEN != 0 || is_life(flags)
    }

    /// Whether an event is one.
    fn has(&self, trace: &Trace, event: EventId) -> bool {
        self.marks[trace.thread(event).index()].has(trace.place(event))
    }
}

/// Whether an object there is used, and ends.
fn is_life(flags: u8) -> bool {
    flags & (USED | ENDED) == USED | ENDED
}

/// The search for them.
struct Found<'n, 't> {
    native: &'n Native<'t>,
    events: EventSet,
    cells: Vec<u8>,
    /// Of each cell, how many of its writes come before what is looked at, since that goes on in the order of π.
    passed: Vec<u32>,
    /// Uses of objects.
    uses: Vec<EventId>,
}

impl Found<'_, '_> {
    fn mark(&mut self, event: EventId) {
        self.events.insert(event);
    }

    /// All that is neither an access nor the beginning of a block.
    fn operations(&mut self) {
        let trace = self.native.trace;
        let operations = trace.operations();
        let operations = operations.filter(|&event| !matches!(trace.op(event), Op::Alloc { .. } | Op::Branch));
        operations.chain(trace.pinned()).for_each(|event| self.mark(event));
        let ends = self.native.pinned().map(|pinned| pinned.ends(trace));
        ends.into_iter().flatten().for_each(|event| self.mark(event));
    }

    fn accesses(&mut self) {
        let trace = self.native.trace;
        for access in trace.contested() {
            let event = access.event;
            let ends = access.kind.ends();
            if access.kind == AccessKind::Use {
                self.uses.push(event);
            } else if !access.kind.reads() && !ends {
                continue;
            }
            // What it sees and leaves there is no matter.
            for cell in access.cell_numbers() {
                match access.kind {
                    AccessKind::Use => self.cells[cell] |= USED,
                    _ if ends => self.cells[cell] |= ENDED,
                    _ => {}
                }
                let is_followed = access.kind.reads() && self.cells[cell] & EXTERNAL == 0;
                if is_followed && !self.is_settled(event, CellId(cell as u32)) {
                    self.mark(event);
                    self.cells[cell] |= OPEN;
                }
            }
        }
    }

    /// Whether a read sees what it saw, and nobody writes between, in every order that keeps what is needed before what.
    fn is_settled(&mut self, read: EventId, cell: CellId) -> bool {
        let Native { trace, writers, .. } = *self.native;
        let flags = &mut self.cells[cell.index()];
        // Of most reads, that is known by then.
        if *flags & UNORDERED != 0 {
            return false;
        }
        if writers.none_but(trace.thread(read), cell) {
            return true;
        }
        let needed = self.native.needs.relation();
        let writes = writers.writes(cell);
        if *flags & ORDERED == 0 {
            let ordered = writes.windows(2).all(|two| needed.before(two[0], two[1]));
            *flags |= if ordered { ORDERED } else { UNORDERED };
            if !ordered {
                return false;
            }
        }
        let passed = &mut self.passed[cell.index()];
        let further = writes[*passed as usize..].iter();
        *passed += further.take_while(|&&write| write < read).count() as u32;
        let (earlier, later) = writes.split_at(*passed as usize);
        let saw_it = earlier.last().is_none_or(|&write| {
            // A free leaves nothing to see.
            let leaves = |write| trace.access(write).is_some_and(|access| access.kind.writes_value());
            needed.before(write, read) && leaves(write)
        });
        let next = later.iter().find(|&&write| write != read);
        saw_it && next.is_none_or(|&write| needed.before(read, write))
    }

    /// What follows from the cells that have to be followed.
    fn cells(&mut self) {
        let trace = self.native.trace;
        for cell in (0..self.cells.len() as u32).map(CellId) {
            let flags = self.cells[cell.index()];
            if flags & OPEN != 0 || is_life(flags) {
                for &write in self.native.writers.writes(cell) {
                    self.mark(write);
                }
            }
        }
        for event in std::mem::take(&mut self.uses) {
            if trace
                .cell_uses(event)
                .any(|used| is_life(self.cells[used.cell.index()]))
            {
                self.mark(event);
            }
        }
    }
}

/// The joints of a trace, and further events of which something is asked.
pub(super) struct Looked<'s> {
    joints: &'s Joints,
    /// By thread and place; no joints.
    further: Vec<(ThreadId, u32)>,
}

impl<'s> Looked<'s> {
    pub(super) fn new(trace: &Trace, joints: &'s Joints, also: &[EventId]) -> Looked<'s> {
        let further = also.iter().filter(|&&event| !joints.has(trace, event));
        let mut further: Vec<_> = further
            .map(|&event| (trace.thread(event), trace.place(event)))
            .collect();
        further.sort_unstable();
        further.dedup();
        Looked { joints, further }
    }

    /// Whether an order has to follow what is done to a cell.
    pub(super) fn follow(&self, cell: CellId) -> bool {
        self.joints.follow(cell)
    }

    /// Whether unrecorded code changes any memory.
    pub(super) fn any_external(&self) -> bool {
        self.joints.any_external
    }

    /// How many there are among the first `places` events of a thread.
    pub(super) fn before(&self, thread: ThreadId, places: u32) -> u32 {
        let further = self
            .further
            .iter()
            .filter(|&&(of, place)| of == thread && place < places);
        self.joints.marks[thread.index()].before(places) + further.count() as u32
    }

    /// The first one of a thread at or behind a place.
    pub(super) fn next(&self, thread: ThreadId, place: u32) -> Option<u32> {
        let further = self.further.iter().find(|&&(of, other)| of == thread && other >= place);
        let marked = self.joints.marks[thread.index()].next(place);
        marked.into_iter().chain(further.map(|&(_, place)| place)).min()
    }

    /// Whether an event is one.
    fn has(&self, trace: &Trace, event: EventId) -> bool {
        self.joints.has(trace, event) || self.further.contains(&(trace.thread(event), trace.place(event)))
    }

    /// The events of a cut from some place of each thread on, given those of them that an order looks at in that order.
    /// All others come as early as they did in π, as if the order had looked at them, too.
    pub(super) fn complete(&self, trace: &Trace, first: &[u32], cut: &[u32], order: &[EventId]) -> Vec<EventId> {
        let events = first
            .iter()
            .zip(cut)
            .map(|(&first, &cut)| cut.saturating_sub(first) as usize);
        let mut complete = Vec::with_capacity(events.sum());
        let mut places = first.to_vec();
        let mut heads = std::collections::BinaryHeap::new();
        let head = |thread: ThreadId, place: u32| {
            let event = (place < cut[thread.index()]).then(|| trace.program_order(thread).at(place as usize))?;
            (!self.has(trace, event)).then_some(std::cmp::Reverse(event))
        };
        for (thread, &place) in (0..).map(ThreadId).zip(first) {
            heads.extend(head(thread, place));
        }
        let last = EventId(u32::MAX);
        for &next in order.iter().chain([&last]) {
            while let Some(&std::cmp::Reverse(event)) = heads.peek().filter(|event| event.0 < next) {
                heads.pop();
                complete.push(event);
                let thread = trace.thread(event);
                places[thread.index()] += 1;
                heads.extend(head(thread, places[thread.index()]));
            }
            if next != last {
                complete.push(next);
                let thread = trace.thread(next);
                places[thread.index()] += 1;
                heads.extend(head(thread, places[thread.index()]));
            }
        }
        complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prune::{MustHappenBefore, Needs};
    use crate::trace::{Sections, Wakes};
    use trace_format::{Event, MemRange, Op as FileOp, StackId, Tables};

    /// Thread, cell and value.
    fn write(thread: u32, cell: u64, value: u64) -> Event {
        let mem = MemRange {
            addr: 0x100 * cell,
            size: 4,
        };
        event(thread, FileOp::Write { mem, value })
    }

    fn read(thread: u32, cell: u64, value: u64) -> Event {
        let mem = MemRange {
            addr: 0x100 * cell,
            size: 4,
        };
        event(thread, FileOp::Read { mem, value })
    }

    fn event(thread: u32, op: FileOp) -> Event {
        Event {
            thread: ThreadId(thread),
            pc: 1,
            stack: StackId::EMPTY,
            op,
        }
    }

    fn with_joints(events: &[Event], then: impl FnOnce(&Trace, &Joints)) {
        let trace = Trace::from_events(Tables::default(), events);
        let (must, sections) = (MustHappenBefore::of(&trace), Sections::of(&trace));
        let needs = Needs::of(&trace, &must, &sections);
        let wakes = Wakes::of(&trace, trace.events());
        then(&trace, &Joints::of(&Native::new(&trace, &needs, &sections, &wakes)));
    }

    fn joints_of(events: &[Event]) -> Vec<u32> {
        let mut found = Vec::new();
        with_joints(events, |trace, joints| {
            let events = trace.events().filter(|&event| joints.has(trace, event));
            found.extend(events.map(|event| event.0));
        });
        found
    }

    #[test]
    fn what_is_handed_over_is_no_joint() {
        // Thread 0 writes cell 1, and says so in cell 2, which thread 1 reads first.
        let mut events = vec![write(0, 1, 5), write(0, 2, 7), read(1, 2, 7), read(1, 1, 5)];
        assert_eq!(joints_of(&events), [1, 2]);
        // Thread 1 hands it back.
        events.extend([write(1, 3, 8), read(0, 3, 8), write(0, 1, 5)]);
        assert_eq!(joints_of(&events), [1, 2, 4, 5]);
    }

    #[test]
    fn reads_that_a_later_write_may_precede_are_joints_with_all_writes() {
        let events = [
            write(0, 1, 5),
            write(0, 2, 7),
            read(1, 2, 7),
            read(1, 1, 5),
            write(0, 4, 1),
            write(0, 1, 6),
        ];
        assert_eq!(joints_of(&events), [0, 1, 2, 3, 5]);
    }

    #[test]
    fn reads_of_writes_that_nothing_orders_are_joints() {
        let events = [write(0, 1, 5), write(1, 1, 6), read(1, 1, 6)];
        assert_eq!(joints_of(&events), [0, 1, 2]);
    }

    #[test]
    fn what_is_no_joint_comes_as_early_as_it_did() {
        // Of each thread, the second event is a joint.
        let events = [
            write(0, 8, 0),
            write(1, 9, 0),
            write(0, 2, 7),
            read(1, 2, 7),
            write(0, 8, 1),
            write(1, 9, 1),
        ];
        with_joints(&events, |trace, joints| {
            let looked = Looked::new(trace, joints, &[]);
            let complete = |order: &[u32], cut: &[u32]| -> Vec<u32> {
                let order: Vec<EventId> = order.iter().copied().map(EventId).collect();
                let events = looked.complete(trace, &[0, 0], cut, &order);
                events.into_iter().map(|event| event.0).collect()
            };
            assert_eq!(complete(&[2, 3], &[3, 3]), [0, 1, 2, 3, 4, 5]);
            assert_eq!(complete(&[3, 2], &[3, 3]), [0, 1, 3, 2, 4, 5]);
            assert_eq!(complete(&[3], &[1, 2]), [0, 1, 3]);
        });
    }
}
