//! Bytes that no recorded code has set: the padding of structures, local variables before their first use, fresh memory
//! of the heap.
//!
//! What lies there is what calls before left: other code of the program that is not recorded, libraries, and the
//! recorder itself, which does not do the same in both runs. So a read may see other bytes there than in the recorded
//! run, and so may one of a copy: a thread that saw a byte of the recorded run and another one in its place writes the
//! one in the recorded run and the other one in the live run. Whatever else differs comes from somewhere else, and is a
//! difference of the runs.
//!
//! A compiler may also have a register copied that nothing was put into, as a part of a structure that is not set yet:
//! where a thread leaves another value on its own stack, though it has seen and done the same, that is none that was
//! recorded, and so are its copies.
//!
//! A stack is used again: that some call set a byte long ago does not say that it is still there. Where the live run
//! has another value than its own last write left, unrecorded code has been there since.

use crate::trace::{Access, CellId, EventId, IncarnationId, ThreadId, Trace};
use hashbrown::{HashMap, HashSet};

/// Reads that saw other bytes than in the recorded run, where no recorded code had set them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnsetReads {
    /// How many.
    pub count: usize,
    /// The first of them in the recorded trace, and what it saw in the live run.
    pub first: Option<(EventId, u64)>,
}

/// What is known of such bytes, while two runs are compared.
#[derive(Debug, Default)]
pub struct Unset {
    reads: UnsetReads,
    /// The first write to each cell of the recorded trace. Found out when somebody asks.
    set: Option<HashMap<CellId, EventId>>,
    /// The bytes that each thread saw in the recorded run, and in the live one.
    seen: HashSet<(ThreadId, u8, u8)>,
    /// Where copies are, in the recorded run.
    copies: HashSet<(IncarnationId, u64)>,
}

/// The bytes in which two values of an access differ: their places in it, the one, and the other.
fn differing(access: Access, a: u64, b: u64) -> impl Iterator<Item = (u64, u8, u8)> {
    let bytes = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
    let places = (0..access.size).zip(bytes);
    places.filter(|(_, (a, b))| a != b).map(|(at, (a, b))| (at, a, b))
}

impl Unset {
    /// The reads that were excused.
    pub fn reads(&self) -> UnsetReads {
        self.reads
    }

    /// A read saw another value than in the recorded run, where no recorded code had set it.
    pub fn sees(&mut self, trace: &Trace, read: Access, saw: u64, sees: u64) {
        let thread = trace.thread(read.event);
        let seen = differing(read, saw, sees).map(|(_, saw, sees)| (thread, saw, sees));
        self.seen.extend(seen);
    }

    /// Whether a read may see another value because nobody has set the bytes that differ, or since unrecorded code has
    /// `changed` them in the live run.
    pub fn excuses(&mut self, trace: &Trace, read: Access, (saw, sees): (u64, u64), changed: bool) -> bool {
        let set = self.set.get_or_insert_with(|| first_writes(trace));
        let is_set = |at: u64| {
            let holds = |cell: &CellId| {
                let cell = trace.cell(*cell);
                (cell.addr..cell.addr + u64::from(cell.size)).contains(&(read.addr + at))
            };
            let cell = trace.uses(read).map(|used| used.cell).find(holds);
            cell.is_none_or(|cell| set.get(&cell).is_some_and(|&write| write < read.event))
        };
        let mut differing = differing(read, saw, sees);
        let incarnation = trace.incarnation_of(read.event);
        let excused =
            changed || differing.all(|(at, ..)| !is_set(at) || self.copies.contains(&(incarnation, read.addr + at)));
        if excused {
            self.sees(trace, read, saw, sees);
            self.reads.count += 1;
            self.reads.first.get_or_insert((read.event, sees));
        }
        excused
    }

    /// An access was done that is the same in both runs, but for the values that it left in the recorded one and in the
    /// live one.
    pub fn passes(&mut self, trace: &Trace, access: Access, left: impl FnOnce() -> (u64, u64)) {
        if !access.kind.writes_value() {
            return;
        }
        let (thread, incarnation) = (trace.thread(access.event), trace.incarnation_of(access.event));
        let on_own_stack = is_stack_of(trace, incarnation, thread);
        if self.seen.is_empty() && !on_own_stack {
            return;
        }
        for at in 0..access.size {
            self.copies.remove(&(incarnation, access.addr + at));
        }
        let (wrote, writes) = left();
        for (at, wrote, writes) in differing(access, wrote, writes) {
            if on_own_stack || self.seen.contains(&(thread, wrote, writes)) {
                self.seen.insert((thread, wrote, writes));
                self.copies.insert((incarnation, access.addr + at));
            }
        }
    }
}

/// Whether a block is the thread's stack, which it gets as it begins.
fn is_stack_of(trace: &Trace, block: IncarnationId, thread: ThreadId) -> bool {
    let alloc = trace.incarnation(block).alloc;
    alloc.is_some_and(|alloc| trace.thread(alloc) == thread && trace.place(alloc) <= 1)
}

fn first_writes(trace: &Trace) -> HashMap<CellId, EventId> {
    let mut first = HashMap::new();
    for access in trace.accesses().filter(|access| access.kind.writes()) {
        for used in trace.uses(access) {
            first.entry(used.cell).or_insert(access.event);
        }
    }
    first
}
