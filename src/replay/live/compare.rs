//! Compares what a live run did with what it was to do, event by event.
//!
//! Each thread's events are matched in order. Two events are the same if their kind, code position,
//! object and memory are, and if a read sees the value that the recorded run saw (the schedule was
//! proven with these values). Objects and addresses are compared by identity, see [`super::places`].
//! What a write leaves is not compared: where it matters, a read sees it.
//!
//! A read may see anything in bytes that nobody has set, see [`super::unset`]: if its thread does nothing else because
//! of it, nothing depended on it.

use super::places::{Places, Stack, end_of, same_module};
use super::plan::Plan;
use super::unset::{Unset, UnsetReads};
use crate::semantics;
use crate::session::{Parked, plan};
use crate::trace::{Access, AccessKind, CodePosition, EventId, ObjectId, Op, ThreadId, Trace};
use hashbrown::HashMap;
use trace_format::ModuleInfo;

/// How an event of the live run differs from the one that was due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Another operation, or at another code position.
    Event,
    /// The same operation on another object.
    Object,
    /// The same access to other memory: where the recorded one would be in the live run, if known.
    Memory(Option<u64>),
    /// The same read, but it saw another value: the recorded and the live one.
    Value(u64, u64),
}

/// How far a live run did what it was to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// The first step that was done differently, the live event in its place, and the difference.
    pub difference: Option<(usize, EventId, Difference)>,
    /// The first step that was not done.
    pub missing: Option<usize>,
}

/// A comparison of two runs.
pub struct Comparison<'t> {
    recorded: &'t Trace,
    live: &'t Trace,
    places: Places,
    objects: HashMap<ObjectId, ObjectId>,
    objects_back: HashMap<ObjectId, ObjectId>,
    /// Numbers of the kernel's objects in the recorded run, and in the live one.
    kernel_objects: HashMap<u64, u64>,
    unset: Unset,
}

impl<'t> Comparison<'t> {
    /// Prepares to compare a live run with the recorded one.
    #[must_use]
    pub fn new(recorded: &'t Trace, live: &'t Trace) -> Comparison<'t> {
        let mut places = Places::new(recorded.tables(), live.tables(), end_of);
        places.expect_stacks((1..recorded.threads()).filter_map(|thread| stack(recorded, ThreadId(thread as u32))));
        Comparison {
            recorded,
            live,
            places,
            objects: HashMap::new(),
            objects_back: HashMap::new(),
            kernel_objects: HashMap::new(),
            unset: Unset::default(),
        }
    }

    /// Compares the steps that were to be done, up to the first difference. Nothing is missing of
    /// threads in `parked`: the rest of their steps belongs to the operation that they are stopped
    /// before.
    pub fn steps(&mut self, plan: &Plan, parked: &[ThreadId]) -> Compared {
        let mut next = vec![0_usize; self.recorded.threads()];
        let mut compared = Compared {
            difference: None,
            missing: None,
        };
        for step in plan.done() {
            let event = plan.event(step);
            let thread = self.recorded.thread(event);
            let known = thread.index() < self.live.threads();
            let events = known.then(|| self.live.program_order(thread));
            let at = next[thread.index()];
            next[thread.index()] += 1;
            match events.and_then(|events| events.get(at)) {
                None if parked.contains(&thread) => {}
                None => {
                    compared.missing.get_or_insert(step);
                }
                Some(done) => {
                    if let Some(difference) = self.difference(event, done) {
                        compared.difference = Some((step, done, difference));
                        return compared;
                    }
                }
            }
        }
        compared
    }

    /// The reads among the steps so far that saw other bytes where no recorded code had set them.
    #[must_use]
    pub fn unset_reads(&self) -> UnsetReads {
        self.unset.reads()
    }

    fn difference(&mut self, event: EventId, done: EventId) -> Option<Difference> {
        if !self.same_position(self.recorded.pc(event), self.live.pc(done)) {
            return Some(Difference::Event);
        }
        match (self.recorded.op(event), self.live.op(done)) {
            (Op::Access, Op::Access) => {
                let (recorded, live) = (self.recorded.access(event)?, self.live.access(done)?);
                self.access_difference(recorded, live)
            }
            // Without a position and by the main thread: its stack, or a mapping.
            (Op::Alloc { incarnation }, Op::Alloc { .. })
                if self.recorded.pc(event) == 0 && self.recorded.thread(event).0 == 0 =>
            {
                self.places.allocated_loosely(incarnation);
                None
            }
            (Op::Alloc { incarnation }, Op::Alloc { incarnation: live }) => {
                let (recorded, live) = (self.recorded.incarnation(incarnation), self.live.incarnation(live));
                let len = recorded.size.min(live.size);
                self.places.allocated(incarnation, recorded.addr, live.addr, len);
                None
            }
            (recorded, live) => {
                if without_objects(recorded) != without_objects(live) {
                    return Some(Difference::Event);
                }
                let pairs = objects_of(recorded).into_iter().zip(objects_of(live));
                let mut pairs = pairs.filter_map(|(recorded, live)| Some((recorded?, live?)));
                pairs
                    .any(|(recorded, live)| !self.meet(recorded, live))
                    .then_some(Difference::Object)
            }
        }
    }

    fn access_difference(&mut self, recorded: Access, live: Access) -> Option<Difference> {
        if !recorded.kind.may_turn_out(live.kind) || recorded.size != live.size && recorded.kind != AccessKind::Free {
            return Some(Difference::Event);
        }
        let trace = self.recorded;
        let incarnation = || trace.incarnation_of(recorded.event);
        let same = match (kernel_object(recorded.addr), kernel_object(live.addr)) {
            (Some(was), Some(is)) => self.same_variable((was, recorded), (is, live)),
            _ => self.places.meet(incarnation(), recorded.addr, live.addr),
        };
        if !same {
            let expected = self.places.live(incarnation(), recorded.addr);
            return Some(Difference::Memory(expected));
        }
        // A value that nothing depends on is not part of the proof.
        if recorded.kind.reads() && !self.recorded.frees_reads() {
            let (saw, sees) = (value_read(self.recorded, recorded), value_read(self.live, live));
            if !self.places.same_value(saw, sees) {
                // Nor is one that unrecorded code may have left.
                let changed = is_outside(self.live, live);
                if is_outside(self.recorded, recorded) {
                    self.unset.sees(self.recorded, recorded, saw, sees);
                } else if !self.unset.excuses(self.recorded, recorded, (saw, sees), changed) {
                    return Some(Difference::Value(saw, sees));
                }
            }
        }
        let left = || (value_written(self.recorded, recorded), value_written(self.live, live));
        self.unset.passes(self.recorded, recorded, left);
        None
    }

    /// Whether two accesses are of the same variable of an object of the kernel. Objects are numbered as the program
    /// comes to them. Which variable an operation stores to says where it came among all of the object; what depends on
    /// that loads the variables again. And who finds one set that a later operation has set comes behind the earlier one,
    /// too: they are set one after the other.
    fn same_variable(&mut self, (was, recorded): (u64, Access), (is, live): (u64, Access)) -> bool {
        /// Operations are numbered in the bits above; this one tells the two sides of an object apart.
        const SIDE: u64 = 1 << 3;
        let within = |access: Access| access.addr << (64 - KERNEL_OBJECT);
        let is_set = |trace, access: Access| access.size == 1 && value_read(trace, access) == 1;
        let finds_later = || {
            recorded.kind == AccessKind::AtomicLoad
                && recorded.addr & SIDE == live.addr & SIDE
                && within(recorded) < within(live)
                && is_set(self.recorded, recorded)
                && is_set(self.live, live)
        };
        let same = recorded.kind == AccessKind::AtomicStore || within(recorded) == within(live) || finds_later();
        *self.kernel_objects.entry(was).or_insert(is) == is && same
    }

    /// Whether a pending access is the one of the schedule; where it is in the live run, if so.
    pub fn pending(&mut self, event: EventId, parked: &Parked) -> Option<u64> {
        if !self.same_position(self.recorded.pc(event), parked.pc) {
            return None;
        }
        let access = self.recorded.access(event)?;
        let (start, len) = parked.range;
        let incarnation = self.recorded.incarnation_of(access.event);
        let known = self.places.live(incarnation, access.addr);
        // One that nothing is known of begins where its operation does.
        let live = known
            .filter(|&live| live >= start && live - start < len)
            .unwrap_or(start);
        let within = access.kind == AccessKind::Free || live - start + access.size <= len;
        (within && self.places.meet(incarnation, access.addr, live)).then_some(live)
    }

    pub fn same_position(&self, recorded: CodePosition, live: CodePosition) -> bool {
        match (place(self.recorded, recorded), place(self.live, live)) {
            (Some((recorded, at)), Some((live, same))) => at == same && same_module(recorded, live),
            (None, None) => true,
            // Of a library that the C library has loaded by itself, the live run learns later.
            (Some(_), None) => recorded & plan::PC_MASK == live & plan::PC_MASK,
            (None, Some(_)) => false,
        }
    }

    fn meet(&mut self, recorded: ObjectId, live: ObjectId) -> bool {
        let object = |trace: &'t Trace, id| trace.tables().object(id);
        let (Some(was), Some(is)) = (object(self.recorded, recorded), object(self.live, live)) else {
            return false;
        };
        was.kind == is.kind
            && self.places.same_object(was.addr, is.addr)
            && *self.objects.entry(recorded).or_insert(live) == live
            && *self.objects_back.entry(live).or_insert(recorded) == recorded
    }
}

/// The stack of a thread: what it allocates as it begins.
fn stack(trace: &Trace, thread: ThreadId) -> Option<Stack> {
    let mut first = trace.program_order(thread).take(2);
    first.find_map(|event| match trace.op(event) {
        Op::Alloc { incarnation } => {
            let block = trace.incarnation(incarnation);
            Some(Stack {
                incarnation,
                recorded: (block.addr, block.addr + block.size),
            })
        }
        _ => None,
    })
}

/// The module of a code position, and the offset in it.
fn place(trace: &Trace, pc: CodePosition) -> Option<(&ModuleInfo, u64)> {
    let module = trace.tables().module_of(pc)?;
    Some((module, pc - module.base))
}

/// Whether an access touches bytes that unrecorded code changed in this run.
fn is_outside(trace: &Trace, access: Access) -> bool {
    trace.uses(access).any(|used| trace.cell(used.cell).external())
}

/// The value that an access saw, as a little-endian number.
pub(super) fn value_read(trace: &Trace, access: Access) -> u64 {
    trace.numbers(access).fold(0, |value, used| {
        let shift = 8 * (trace.cell(used.cell).addr - access.addr) as u32;
        value | used.read.checked_shl(shift).unwrap_or(0)
    })
}

/// The value that an access leaves, in the same form.
fn value_written(trace: &Trace, access: Access) -> u64 {
    trace.numbers(access).fold(0, |value, used| {
        let shift = 8 * (trace.cell(used.cell).addr - access.addr) as u32;
        value | used.written.checked_shl(shift).unwrap_or(0)
    })
}

/// At which bit the number of an object of the kernel begins in the addresses of its variables.
const KERNEL_OBJECT: u32 = 36;

/// The object of the kernel (a file, a name, a pipe) that a variable of the recorder's own is of: `FORMAT.md`, section 10.
fn kernel_object(addr: u64) -> Option<u64> {
    (addr >> 60 == 0b1010).then_some(addr >> KERNEL_OBJECT)
}

/// The objects of an operation.
pub(super) fn objects_of(op: Op) -> [Option<ObjectId>; 2] {
    semantics::uses(op).map(|used| used.map(|used| used.object))
}

/// The operation, with every object the same: what is left must be equal.
pub(super) fn without_objects(op: Op) -> Op {
    op.on_objects(|_| ObjectId(0))
}
