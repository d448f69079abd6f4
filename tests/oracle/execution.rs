//! A trace as section 1 of `docs/SEMANTICS.md` reads it: program order, blocks, cells, pins.
//!
//! Written from that page and from the events as they stand in the file; it uses nothing of the analysis' model, which
//! it judges. Small traces only: whatever is asked is looked up by walking over all events.

use std::collections::{BTreeMap, BTreeSet};
use trace_format::{Event, NOBODYS, ObjectId, ObjectKind, Op, Tables, ThreadId};
use witness::trace::EventId;

/// The place of a pinned access: all events of other threads before `from` have happened, none after `until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pin {
    pub from: u32,
    pub until: u32,
}

/// A cell.
#[derive(Clone, Debug)]
pub struct Cell {
    pub block: usize,
    pub addr: u64,
    pub size: u64,
    /// What its first event saw, if that reads; what an image shows, if it writes.
    pub initial: Option<u64>,
    pub external: bool,
}

/// What an access leaves in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves {
    /// What was there: it only reads.
    Same,
    Value(u64),
    /// It ends the life of the memory.
    Freed,
}

/// What an access does to one cell.
#[derive(Clone, Copy, Debug)]
pub struct Use {
    pub cell: usize,
    pub sees: Option<u64>,
    pub leaves: Leaves,
    /// The blocks of the pointers that it sees and leaves, as numbers; 0: none.
    pub blocks: (usize, usize),
}

/// A trace, read.
pub struct Execution {
    pub tables: Tables,
    pub events: Vec<Event>,
    place: Vec<u32>,
    program_order: Vec<Vec<EventId>>,
    /// By thread, the first event that forks it.
    forks: Vec<Option<EventId>>,
    /// By block, the event that allocates it; block 0 is all memory that was always there.
    allocs: Vec<Option<EventId>>,
    /// By event, the block that it allocates, frees or accesses.
    block: Vec<Option<usize>>,
    /// By event, the block of the pointer that it leaves, should what it writes be one; else 0.
    points_to: Vec<usize>,
    /// Allocations over bytes of a block that lives.
    pub overlapping: Vec<EventId>,
    pub cells: Vec<Cell>,
    uses: Vec<Vec<Use>>,
    pins: Vec<Option<Pin>>,
}

/// Address, size and values of an access that is no free: what it sees, what it leaves.
fn access(op: &Op) -> Option<(u64, u64, Option<u64>, Option<u64>)> {
    let (mem, sees, leaves) = match *op {
        Op::Read { mem, value } | Op::AtomicLoad { mem, value, .. } => (mem, Some(value), None),
        Op::Write { mem, value } | Op::Destroy { mem, value } | Op::AtomicStore { mem, value, .. } => {
            (mem, None, Some(value))
        }
        Op::AtomicRmw { mem, read, written, .. } => (mem, Some(read), Some(written)),
        Op::Use { mem } => (mem, None, None),
        _ => return None,
    };
    Some((mem.addr, u64::from(mem.size), sees, leaves))
}

/// Whether it is one of the atomic operations, or the use of an object.
pub fn is_atomic(op: &Op) -> bool {
    matches!(
        op,
        Op::AtomicLoad { .. } | Op::AtomicStore { .. } | Op::AtomicRmw { .. } | Op::Use { .. }
    )
}

/// Whether it changes memory.
pub fn writes(op: &Op) -> bool {
    matches!(
        op,
        Op::Write { .. } | Op::Destroy { .. } | Op::AtomicStore { .. } | Op::AtomicRmw { .. } | Op::Free { .. }
    )
}

/// Whether behind it nothing is there any more of what the other event accesses: it frees the block, or destroys the
/// object that the other one uses.
pub fn ends(op: &Op, other: &Op) -> bool {
    matches!((op, other), (Op::Free { .. }, _) | (Op::Destroy { .. }, Op::Use { .. }))
}

/// Whether an access may be a use after that free: of what an event destroys, what comes before it in π is used.
pub fn is_used_after(execution: &Execution, free: EventId, access: EventId) -> bool {
    let (op, other) = (execution.op(free), execution.op(access));
    ends(op, other) && (access < free || matches!(op, Op::Free { .. }))
}

impl Execution {
    pub fn new(tables: &Tables, events: &[Event]) -> Execution {
        let threads = events.iter().map(|event| event.thread.index() + 1).max().unwrap_or(0);
        let mut execution = Execution {
            tables: tables.clone(),
            events: events.to_vec(),
            place: Vec::new(),
            program_order: vec![Vec::new(); threads.max(tables.threads.len())],
            forks: Vec::new(),
            allocs: vec![None],
            block: Vec::new(),
            points_to: Vec::new(),
            overlapping: Vec::new(),
            cells: Vec::new(),
            uses: vec![Vec::new(); events.len()],
            pins: vec![None; events.len()],
        };
        for (number, event) in (0..).map(EventId).zip(events) {
            let order = &mut execution.program_order[event.thread.index()];
            execution.place.push(order.len() as u32);
            order.push(number);
        }
        let fork_of = |thread: u32| {
            let forks = |&event: &EventId| {
                *execution.op(event)
                    == Op::Fork {
                        child: ThreadId(thread),
                    }
            };
            execution.ids().find(forks)
        };
        execution.forks = (0..execution.threads()).map(fork_of).collect();
        execution.find_blocks();
        execution.cut_cells();
        let private = execution.find_values();
        execution.find_pointers();
        execution.find_pins(&private);
        execution
    }

    pub fn ids(&self) -> impl DoubleEndedIterator<Item = EventId> + Clone + use<> {
        (0..self.events.len() as u32).map(EventId)
    }

    pub fn op(&self, event: EventId) -> &Op {
        &self.events[event.index()].op
    }

    pub fn thread(&self, event: EventId) -> u32 {
        self.events[event.index()].thread.0
    }

    pub fn pc(&self, event: EventId) -> u64 {
        self.events[event.index()].pc
    }

    pub fn threads(&self) -> u32 {
        self.program_order.len() as u32
    }

    pub fn of_thread(&self, thread: u32) -> &[EventId] {
        self.program_order.get(thread as usize).map_or(&[], Vec::as_slice)
    }

    pub fn place(&self, event: EventId) -> u32 {
        self.place[event.index()]
    }

    pub fn next_in_thread(&self, event: EventId) -> Option<EventId> {
        self.of_thread(self.thread(event))
            .get(self.place(event) as usize + 1)
            .copied()
    }

    /// The waits of a thread that its events begin and end.
    fn waits(&self, thread: u32) -> Vec<(EventId, EventId)> {
        let mut waits = Vec::new();
        let mut under_way: Vec<(EventId, ObjectId, ObjectId)> = Vec::new();
        for &event in self.of_thread(thread) {
            match *self.op(event) {
                Op::WaitBegin { condition, lock } => under_way.push((event, condition, lock)),
                Op::WaitEnd { condition, lock, .. } => {
                    let ended = under_way
                        .iter()
                        .rposition(|&(_, on, with)| (on, with) == (condition, lock));
                    if let Some(ended) = ended {
                        waits.push((under_way[ended].0, event));
                        under_way.truncate(ended);
                    }
                }
                _ => {}
            }
        }
        waits
    }

    pub fn end_of_wait(&self, begin: EventId) -> Option<EventId> {
        let waits = self.waits(self.thread(begin));
        waits.into_iter().find(|wait| wait.0 == begin).map(|wait| wait.1)
    }

    pub fn begin_of_wait(&self, end: EventId) -> Option<EventId> {
        let waits = self.waits(self.thread(end));
        waits.into_iter().find(|wait| wait.1 == end).map(|wait| wait.0)
    }

    pub fn uses(&self, event: EventId) -> &[Use] {
        &self.uses[event.index()]
    }

    pub fn pin(&self, event: EventId) -> Option<Pin> {
        self.pins[event.index()]
    }

    /// The same trace, as if no access were pinned.
    pub fn without_pins(mut self) -> Execution {
        self.pins.fill(None);
        self
    }

    /// The same trace, as if pointers were nothing but numbers.
    pub fn with_numbers_alone(mut self) -> Execution {
        let uses = self.uses.iter_mut().flatten();
        uses.for_each(|used| used.blocks = (0, 0));
        self
    }

    /// The block that an event allocates, frees or accesses.
    pub fn block(&self, event: EventId) -> Option<usize> {
        self.block[event.index()]
    }

    /// What allocates the memory that an event accesses.
    pub fn alloc_of(&self, event: EventId) -> Option<EventId> {
        match self.op(event) {
            Op::Alloc { .. } => None,
            _ => self.allocs[self.block(event)?],
        }
    }

    pub fn fork_of(&self, thread: u32) -> Option<EventId> {
        self.forks.get(thread as usize).copied().flatten()
    }

    /// Whether a read on which nothing depends may see anything.
    pub fn frees_reads(&self) -> bool {
        self.tables.meta.control_flow_recorded && !self.cells.iter().any(|cell| cell.external)
    }

    pub fn foreign_unlock(&self) -> bool {
        self.tables.meta.foreign_unlock
    }

    /// A semaphore's initial count.
    pub fn initial_count(&self, semaphore: u32) -> u32 {
        let object = self.tables.objects.get(semaphore as usize);
        object
            .filter(|object| object.kind == ObjectKind::Semaphore)
            .map_or(0, |object| object.initial)
    }

    /// Two accesses of different threads that share a cell; one of them writes, and not both are atomic.
    pub fn conflict(&self, a: EventId, b: EventId) -> bool {
        let shared = self
            .uses(a)
            .iter()
            .any(|used| self.uses(b).iter().any(|other| used.cell == other.cell));
        self.thread(a) != self.thread(b)
            && shared
            && (writes(self.op(a)) || writes(self.op(b)))
            && !(is_atomic(self.op(a)) && is_atomic(self.op(b)))
    }

    /// Whether a thread's stack begins: the thread's first event after its `begin` allocates it.
    fn begins_stack(&self, event: EventId) -> bool {
        let order = self.of_thread(self.thread(event));
        let before = (self.place(event) as usize).checked_sub(1).map(|last| order[last]);
        before.is_some_and(|before| *self.op(before) == Op::Begin)
    }

    /// Which block each byte belongs to while the events go by.
    fn find_blocks(&mut self) {
        let mut bytes: BTreeMap<u64, usize> = BTreeMap::new();
        // By block: where it begins, and whether it lives.
        let mut blocks: Vec<(u64, bool)> = vec![(0, true)];
        let mut over_older = BTreeSet::new();
        for event in self.ids() {
            let written = access(self.op(event)).filter(|&(_, size, ..)| size == 8);
            let written = written.and_then(|(.., leaves)| bytes.get(&leaves?).copied());
            self.points_to
                .push(written.filter(|block| over_older.contains(block)).unwrap_or(0));
            let block = match *self.op(event) {
                Op::Alloc { addr, size } => {
                    let all = addr..addr.saturating_add(size.max(1));
                    let lives = |at| bytes.get(&at).is_some_and(|&block| blocks[block].1);
                    if all.clone().any(lives) && !self.begins_stack(event) {
                        self.overlapping.push(event);
                    }
                    if all.clone().any(|at| bytes.contains_key(&at)) {
                        over_older.insert(blocks.len());
                    }
                    bytes.extend(all.map(|at| (at, blocks.len())));
                    blocks.push((addr, true));
                    self.allocs.push(Some(event));
                    Some(blocks.len() - 1)
                }
                Op::Free { addr } => {
                    let last = (1..blocks.len()).rev().find(|&block| blocks[block].0 == addr);
                    let freed = last.filter(|&block| blocks[block].1);
                    if let Some(freed) = freed {
                        blocks[freed].1 = false;
                    }
                    freed
                }
                ref op => access(op).map(|(addr, ..)| bytes.get(&addr).copied().unwrap_or(0)),
            };
            self.block.push(block);
        }
    }

    /// A cell for each byte that is accessed in a block.
    fn cut_cells(&mut self) {
        // Event, first byte, size, what it sees, what it leaves.
        type Raw = (EventId, u64, u64, Option<u64>, Option<u64>);
        let accesses = |execution: &Execution, block: usize| -> Vec<Raw> {
            let here = execution.ids().filter(|&event| execution.block(event) == Some(block));
            here.filter_map(|event| {
                access(execution.op(event)).map(|(addr, size, sees, leaves)| (event, addr, size, sees, leaves))
            })
            .collect()
        };
        for block in 0..self.allocs.len() {
            let all = accesses(self, block);
            let mut bounds: Vec<u64> = all.iter().flat_map(|&(_, addr, size, ..)| addr..=addr + size).collect();
            bounds.sort_unstable();
            bounds.dedup();
            let first = self.cells.len();
            for pair in bounds.windows(2) {
                if all
                    .iter()
                    .any(|&(_, addr, size, ..)| addr <= pair[0] && pair[1] <= addr + size)
                {
                    let (addr, size) = (pair[0], pair[1] - pair[0]);
                    self.cells.push(Cell {
                        block,
                        addr,
                        size,
                        initial: None,
                        external: false,
                    });
                }
            }
            for (event, addr, size, sees, leaves) in all {
                for (number, cell) in (first..).zip(&self.cells[first..]) {
                    if addr <= cell.addr && cell.addr + cell.size <= addr + size {
                        let piece = |value: u64| {
                            let bytes = value.to_le_bytes();
                            let (from, until) = ((cell.addr - addr) as usize, (cell.addr + cell.size - addr) as usize);
                            bytes[from..until]
                                .iter()
                                .rev()
                                .fold(0, |known, &byte| known << 8 | u64::from(byte))
                        };
                        let leaves = leaves.map_or(Leaves::Same, |value| Leaves::Value(piece(value)));
                        self.uses[event.index()].push(Use {
                            cell: number,
                            sees: sees.map(piece),
                            leaves,
                            blocks: (0, 0),
                        });
                    }
                }
            }
        }
        for event in self.ids() {
            if let (Op::Free { .. }, Some(block)) = (self.op(event), self.block(event)) {
                let cells = (0..self.cells.len()).filter(|&cell| self.cells[cell].block == block);
                let freed = |cell| Use {
                    cell,
                    sees: None,
                    leaves: Leaves::Freed,
                    blocks: (0, 0),
                };
                self.uses[event.index()] = cells.map(freed).collect();
            }
        }
    }

    /// Whether an access is one of eight bytes that every access of their block touches as a whole, and that are not
    /// external.
    fn is_of_pointer(&self, event: EventId) -> bool {
        let place = |event: EventId| access(self.op(event)).map(|(addr, size, ..)| (addr, size));
        let Some((addr, 8)) = place(event) else { return false };
        let others = self.ids().filter(|&other| self.block(other) == self.block(event));
        let apart = |(other, size): (u64, u64)| other + size <= addr || addr + 8 <= other;
        let external = self.uses(event).iter().any(|used| self.cells[used.cell].external);
        !external && others.filter_map(place).all(|other| other == (addr, 8) || apart(other))
    }

    /// The blocks of pointers: memory holds the one that was written there last.
    fn find_pointers(&mut self) {
        let mut held = vec![0; self.cells.len()];
        for event in self
            .ids()
            .filter(|&event| self.is_of_pointer(event))
            .collect::<Vec<_>>()
        {
            let points_to = self.points_to[event.index()];
            for used in &mut self.uses[event.index()] {
                if used.sees.is_some() {
                    used.blocks.0 = held[used.cell];
                }
                if used.leaves != Leaves::Same {
                    used.blocks.1 = points_to;
                    held[used.cell] = points_to;
                }
            }
        }
    }

    /// The accesses of a cell that see or leave something there, in the order of π.
    fn accesses_of(&self, cell: usize) -> Vec<(EventId, Use)> {
        let all = self
            .ids()
            .flat_map(|event| self.uses(event).iter().map(move |&used| (event, used)));
        all.filter(|(_, used)| used.cell == cell && (used.sees.is_some() || used.leaves != Leaves::Same))
            .collect()
    }

    /// The newest image of a byte that was taken until an event, and since the byte's block was allocated.
    fn image_of(&self, addr: u64, block: usize, until: EventId) -> Option<usize> {
        let images = &self.tables.images;
        let newest = (0..images.len()).rev().find(|&number| {
            let image = &images[number];
            image.before <= u64::from(until.0) && (image.addr..image.addr.saturating_add(image.size)).contains(&addr)
        })?;
        let alloc = self.allocs[block];
        alloc
            .is_none_or(|alloc| images[newest].before > u64::from(alloc.0))
            .then_some(newest)
    }

    /// What images show of a byte. (Here, all have bytes.)
    fn shown(&self, number: usize, addr: u64) -> u8 {
        let image = &self.tables.images[number];
        let bytes = image.bytes.as_ref().expect("no constants");
        bytes.get((addr - image.addr) as usize).copied().unwrap_or(0)
    }

    /// What a cell held before its first access, which writes it.
    fn shown_at_first(&self, cell: usize, event: EventId) -> Option<u64> {
        let cell = &self.cells[cell];
        let images = &self.tables.images;
        let marks = || (0..images.len()).filter(|&number| images[number].addr == NOBODYS);
        let apart = marks().min().zip(marks().max());
        let mut value = 0;
        for addr in (cell.addr..cell.addr + cell.size).rev() {
            let number = self.image_of(addr, cell.block, event)?;
            if apart.is_some_and(|(first, last)| (first..=last).contains(&number)) {
                return None;
            }
            value = value << 8 | u64::from(self.shown(number, addr));
        }
        Some(value)
    }

    /// Whether what the first access of a cell sees had been there all along.
    fn was_there(&self, cell: usize, event: EventId, sees: u64) -> bool {
        let cell = &self.cells[cell];
        let is_any_taken = || {
            self.tables
                .images
                .iter()
                .any(|image| image.before <= u64::from(event.0))
        };
        (cell.addr..cell.addr + cell.size)
            .zip(sees.to_le_bytes())
            .all(|(addr, byte)| match self.image_of(addr, cell.block, event) {
                Some(number) => self.shown(number, addr) == byte,
                None if cell.block != 0 => byte == 0,
                None => !is_any_taken(),
            })
    }

    /// Initial values, and which cells are external. Returns which of these no other thread can have to do with.
    fn find_values(&mut self) -> Vec<bool> {
        let mut private = vec![false; self.cells.len()];
        #[expect(clippy::needless_range_loop, reason = "the cells are changed on the way")]
        for number in 0..self.cells.len() {
            let alloc = self.allocs[self.cells[number].block];
            let mut holds: Option<Leaves> = None;
            let mut last = alloc;
            let (mut initial, mut external, mut alone) = (None, false, true);
            let all = self.accesses_of(number);
            for &(event, used) in &all {
                let writes = matches!(used.leaves, Leaves::Value(_));
                if holds.is_none() && used.sees.is_none() && writes {
                    initial = self.shown_at_first(number, event);
                }
                if let Some(sees) = used.sees {
                    let explained = match holds {
                        None => {
                            initial = Some(sees);
                            self.was_there(number, event, sees)
                        }
                        Some(left) => left == Leaves::Value(sees),
                    };
                    if !explained {
                        external = true;
                        let since = last.map_or(0, |last| last.0);
                        alone &= (since..event.0).all(|other| self.thread(EventId(other)) == self.thread(event));
                    }
                    holds = Some(Leaves::Value(sees));
                }
                if used.leaves != Leaves::Same {
                    holds = Some(used.leaves);
                }
                last = Some(event);
            }
            let one_thread = all
                .iter()
                .all(|&(event, _)| self.thread(event) == self.thread(all[0].0));
            private[number] = external && one_thread && alone;
            (self.cells[number].initial, self.cells[number].external) = (initial, external);
        }
        private
    }

    fn find_pins(&mut self, private: &[bool]) {
        /// A stretch in which a cell holds one content.
        struct Stretch {
            /// When the content was first seen or written, and whether written.
            moment: u32,
            written: bool,
            content: Leaves,
            /// Those that see or leave it.
            members: Vec<EventId>,
        }
        for (number, &private) in private.iter().enumerate() {
            if !self.cells[number].external || private {
                continue;
            }
            let mut stretches: Vec<Stretch> = Vec::new();
            for (event, used) in self.accesses_of(number) {
                if let Some(sees) = used.sees {
                    let content = Leaves::Value(sees);
                    let from_the_start = stretches.is_empty() && self.was_there(number, event, sees);
                    match stretches.last_mut() {
                        Some(last) if last.content == content => last.members.push(event),
                        _ => stretches.push(Stretch {
                            moment: if from_the_start { 0 } else { event.0 },
                            written: false,
                            content,
                            members: vec![event],
                        }),
                    }
                }
                if used.leaves != Leaves::Same {
                    stretches.push(Stretch {
                        moment: event.0,
                        written: true,
                        content: used.leaves,
                        members: vec![event],
                    });
                }
            }
            for stretch in stretches {
                let until = stretch.members.last().map_or(0, |last| last.0);
                for event in stretch.members {
                    let after_write = stretch.written && event.0 != stretch.moment;
                    let from = stretch.moment + u32::from(after_write);
                    let pin = self.pins[event.index()].get_or_insert(Pin { from, until });
                    *pin = Pin {
                        from: pin.from.max(from),
                        until: pin.until.min(until),
                    };
                }
            }
        }
    }
}
