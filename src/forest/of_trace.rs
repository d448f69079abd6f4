//! A recorded trace as a run.
//!
//! An address belongs to the block that was last allocated over it, also after that block's end. A thread's stack is
//! known before the thread runs (its handle points into it), so it is named by the thread that forks; and so are the
//! variables that the recorder makes up for what it has to say of threads ("moments"), which are numbered in the order
//! of the run. A value of eight bytes that lies in a block is taken for an address. A number that happens to be one
//! would be told apart from itself in another run; what the run does then is a
//! [`Nondeterministic`](Reservation::Nondeterministic) at worst, never passed over.

use super::operation::Patience;
use super::pictures::Picture;
use super::reservation::Reservation;
use super::run::{
    KnownBlock, Run, RunBlock, RunObject, RunObjectKind, RunOperation, RunPlace, RunStep, RunValue, Stands,
};
use crate::semantics::locks::Mode;
use crate::semantics::{Action, Turned};
use hashbrown::{HashMap, HashSet};
use std::collections::{BTreeMap, VecDeque};
use trace_format::{
    Ending, Event, MemRange, ObjectId, ObjectInfo, ObjectKind, Op, PendingKind, ReadError, Tables, ThreadId, TraceFile,
};

/// Where the recorder keeps variables of its own: no program has this half of the addresses.
const RECORDERS: u64 = 1 << 63 | 1 << 59;
/// They are numbered from here on.
const MOMENTS: u64 = 1 << 40;
/// Where it keeps one variable per thread, by the thread's number: who finds the thread running looks at it, and the
/// thread sets it when it ends.
const ENDS: u64 = 1 << 63 | 1 << 58;

impl Run {
    /// The run that a trace file holds.
    ///
    /// # Errors
    /// [`ReadError`], if a block of the file cannot be read.
    pub fn of_trace(file: &TraceFile) -> Result<Run, ReadError> {
        Run::of_trace_with(file, &[])
    }

    /// The same, with what threads have shown of themselves.
    ///
    /// # Errors
    /// As [`of_trace`](Self::of_trace).
    pub fn of_trace_with(file: &TraceFile, pictures: &[Picture]) -> Result<Run, ReadError> {
        let (mut events, mut block) = (Vec::new(), Vec::new());
        for index in 0..file.blocks().len() {
            block.clear();
            file.decode_block(index, &mut block)?;
            events.extend_from_slice(&block);
        }
        let cut = matches!(file.ending(), Ending::Cut { .. });
        Ok(Run::of_pictured(file.tables(), &events, pictures, cut))
    }

    /// The run that these events are; `cut` says that there were more.
    #[must_use]
    pub fn of_events(tables: &Tables, events: &[Event], cut: bool) -> Run {
        Run::of_pictured(tables, events, &[], cut)
    }

    fn of_pictured(tables: &Tables, events: &[Event], pictures: &[Picture], cut: bool) -> Run {
        let mut reader = Reader::new(tables, events);
        for picture in pictures {
            reader.shown.entry(picture.thread).or_default().push_back(picture);
        }
        for (index, event) in events.iter().enumerate() {
            reader.read(index, event);
        }
        if cut {
            reader.run.reservations.push(Reservation::Cut);
        }
        let degraded = tables.meta.degraded.iter().cloned().map(Reservation::Degraded);
        reader.run.reservations.extend(degraded);
        reader.stand();
        reader.run
    }
}

/// The thread whose end an atomic access asks for, or tells of.
fn ends(op: Op) -> Option<u32> {
    let (Op::AtomicLoad { mem, .. } | Op::AtomicStore { mem, .. }) = op else {
        return None;
    };
    let thread = mem.addr.checked_sub(ENDS)? >> 3;
    u32::try_from(thread).ok()
}

/// A piece of memory that belongs to a block.
#[derive(Clone, Copy)]
struct Piece {
    end: u64,
    block: RunBlock,
    /// Where the block starts.
    start: u64,
}

/// How many kinds of blocks there are that are known by a number.
const KINDS: u32 = 3;

/// Whether the block that a thread knows by this number is the stack of one that it forks.
pub(super) fn is_stack(ordinal: u32) -> bool {
    ordinal % KINDS == Known::Stack as u32
}

/// What is known before it is allocated, or is never allocated.
#[derive(Clone, Copy)]
enum Known {
    /// The stack of the thread that a fork makes.
    Stack,
    /// The handle of that thread, which is no memory of the program's.
    Handle,
    /// A variable of the recorder.
    Moment,
}

struct Reader<'t> {
    tables: &'t Tables,
    run: Run,
    /// Memory that was allocated, by address; a piece is its block's until another is allocated over it.
    memory: BTreeMap<u64, Piece>,
    /// The block that is alive at an address.
    alive: HashMap<u64, RunBlock>,
    blocks: u32,
    /// Stacks of threads that have not begun, by their address: end, and block.
    stacks: BTreeMap<u64, (u64, RunBlock)>,
    stack_of: HashMap<usize, RunBlock>,
    /// What the writes of threads' handles name, by the number of the write; and the handles that are known so far.
    handle_of: HashMap<usize, RunBlock>,
    handles: HashMap<u64, RunBlock>,
    /// Variables of the recorder, by address; and how many each thread was the first to touch.
    moments: HashMap<u64, RunBlock>,
    made: HashMap<ThreadId, u32>,
    objects: HashMap<ObjectId, u32>,
    /// The last event of each thread.
    last: HashMap<ThreadId, (usize, Op)>,
    ended: HashSet<ThreadId>,
    /// Enters of each round of a barrier, and whether somebody left it.
    rounds: HashMap<(ObjectId, u32), (Vec<usize>, bool)>,
    waiting: HashMap<ThreadId, u32>,
    begun: HashSet<ObjectId>,
    /// What each thread shows of itself, from its next event on.
    shown: HashMap<ThreadId, VecDeque<&'t Picture>>,
    /// The stacks of threads that have begun: where each begins and ends.
    own_stacks: HashMap<ThreadId, (u64, u64)>,
    /// Where in the code each block was allocated.
    allocated_at: HashMap<RunBlock, u64>,
}

impl<'t> Reader<'t> {
    fn new(tables: &'t Tables, events: &[Event]) -> Reader<'t> {
        let mut reader = Reader {
            tables,
            run: Run::default(),
            memory: BTreeMap::new(),
            alive: HashMap::new(),
            blocks: 0,
            stacks: BTreeMap::new(),
            stack_of: HashMap::new(),
            handle_of: HashMap::new(),
            handles: HashMap::new(),
            moments: HashMap::new(),
            made: HashMap::new(),
            objects: HashMap::new(),
            last: HashMap::new(),
            ended: HashSet::new(),
            rounds: HashMap::new(),
            waiting: HashMap::new(),
            begun: HashSet::new(),
            shown: HashMap::new(),
            own_stacks: HashMap::new(),
            allocated_at: HashMap::new(),
        };
        reader.survey(events);
        reader
    }

    /// What has to be known before it comes: stacks, threads' handles, and the rounds of barriers.
    ///
    /// A handle points into the thread's stack, of which a run in which the thread never begins tells nothing: so it is
    /// named by the fork that it was written for.
    fn survey(&mut self, events: &[Event]) {
        let mut forks: HashMap<ThreadId, u32> = HashMap::new();
        let mut forked_by: HashMap<ThreadId, (u32, u32)> = HashMap::new();
        let mut before: HashMap<ThreadId, usize> = HashMap::new();
        for (index, event) in events.iter().enumerate() {
            let last = before.insert(event.thread, index);
            match event.op {
                Op::Fork { child } => {
                    let ordinal = forks.entry(event.thread).or_default();
                    let by = (event.thread.0, *ordinal);
                    *ordinal += 1;
                    forked_by.insert(child, by);
                    if let Some(last) = last
                        && events[last].pc == event.pc
                        && matches!(events[last].op, Op::Write { mem, .. } if mem.size == 8)
                    {
                        let block = self.known_block(by, Known::Handle);
                        self.handle_of.insert(last, block);
                    }
                }
                Op::Alloc { addr, size } if last.is_some_and(|last| events[last].op == Op::Begin) => {
                    if let Some(&by) = forked_by.get(&event.thread) {
                        let block = self.known_block(by, Known::Stack);
                        self.stacks.insert(addr, (addr.saturating_add(size), block));
                        self.stack_of.insert(index, block);
                    }
                }
                Op::BarrierEnter { barrier, round } => self.rounds.entry((barrier, round)).or_default().0.push(index),
                Op::BarrierExit { barrier, round, .. } => self.rounds.entry((barrier, round)).or_default().1 = true,
                _ => {}
            }
        }
    }

    /// A block that is named by a thread and a number of its own among those of this kind.
    fn known_block(&mut self, (by, number): (u32, u32), kind: Known) -> RunBlock {
        let block = self.new_block();
        self.run.known_blocks.push(KnownBlock {
            block,
            by,
            ordinal: number * KINDS + kind as u32,
        });
        block
    }

    fn new_block(&mut self) -> RunBlock {
        self.blocks += 1;
        RunBlock(self.blocks - 1)
    }

    fn read(&mut self, index: usize, event: &Event) {
        if let Op::Write { value, .. } = event.op
            && let Some(&handle) = self.handle_of.get(&index)
        {
            self.handles.insert(value, handle);
        }
        if let Op::Alloc { addr, size } = event.op
            && let Some((_, Op::Begin)) = self.last.get(&event.thread)
        {
            self.own_stacks.insert(event.thread, (addr, addr.saturating_add(size)));
        }
        self.last.insert(event.thread, (index, event.op));
        let operation = match (event.op, ends(event.op)) {
            (Op::AtomicLoad { .. }, Some(child)) => RunOperation::Join { child, gave_up: true },
            // That somebody has looked before makes no difference to the thread.
            (Op::AtomicStore { .. }, Some(_)) => return,
            _ => self.operation(index, event),
        };
        let picture = self.picture(event.thread, index);
        let patience = match event.op {
            Op::Join { attempt: true, .. } => Patience::Bounded,
            Op::Join { attempt: false, .. } => Patience::Endless,
            // Nobody tries to have one of the system's.
            Op::Acquire { lock, .. } if self.is_of_system(lock) => Patience::Endless,
            _ => Patience::Unknown,
        };
        let order = match event.op {
            Op::AtomicLoad { order, .. }
            | Op::AtomicStore { order, .. }
            | Op::AtomicRmw { order, .. }
            | Op::Fence { order } => Some(order),
            _ => None,
        };
        self.run.steps.push(RunStep {
            thread: event.thread.0,
            operation,
            position: event.pc,
            patience,
            order,
            own_state: None,
            picture,
        });
        if event.op == Op::End {
            self.ended.insert(event.thread);
        }
    }

    fn operation(&mut self, index: usize, event: &Event) -> RunOperation {
        let thread = event.thread;
        match event.op {
            Op::Begin => RunOperation::Begin,
            Op::End => RunOperation::End,
            Op::Fork { child } => RunOperation::Fork { child: child.0 },
            Op::Join { child, .. } => RunOperation::Join {
                child: child.0,
                gave_up: false,
            },
            Op::Read { mem, value } => RunOperation::Read {
                at: self.place(thread, mem.addr),
                size: mem.size,
                saw: self.value(mem, value),
            },
            Op::Write { mem, value } | Op::Destroy { mem, value } => RunOperation::Write {
                at: self.place(thread, mem.addr),
                size: mem.size,
                value: self.value(mem, value),
            },
            Op::AtomicLoad { mem, value, .. } => RunOperation::AtomicLoad {
                at: self.place(thread, mem.addr),
                size: mem.size,
                saw: self.value(mem, value),
            },
            Op::AtomicStore { mem, value, .. } => RunOperation::AtomicStore {
                at: self.place(thread, mem.addr),
                size: mem.size,
                value: self.value(mem, value),
            },
            Op::AtomicRmw { mem, read, written, .. } => RunOperation::AtomicRmw {
                at: self.place(thread, mem.addr),
                size: mem.size,
                saw: self.value(mem, read),
                wrote: self.value(mem, written),
            },
            Op::Use { mem } => RunOperation::Use {
                at: self.place(thread, mem.addr),
                size: mem.size,
            },
            Op::SemValue { semaphore, value } => RunOperation::Count {
                semaphore: self.object(semaphore),
                value,
            },
            Op::Fence { .. } => RunOperation::Fence,
            Op::Branch => RunOperation::Branch,
            Op::Alloc { addr, size } => {
                let block = self.stack_of.get(&index).copied();
                let block = block.unwrap_or_else(|| self.new_block());
                self.allocate(addr, size, block);
                self.allocated_at.insert(block, event.pc);
                RunOperation::Alloc { block, size }
            }
            Op::Free { addr } => match self.alive.remove(&addr) {
                Some(block) => RunOperation::Free { block },
                None => RunOperation::Branch,
            },
            Op::Input { source, value } => {
                tracing::debug!(?source, ?value, "a value came from outside at {:#x}", event.pc);
                self.run.reservations.push(Reservation::Inputs);
                RunOperation::Input {
                    source: self.object(source),
                    value: RunValue::Number(value),
                }
            }
            Op::Output { source } => RunOperation::Output {
                source: self.object(source),
            },
            op => {
                let (action, turned) = Action::of(op).expect("all others are actions");
                self.action(index, event, action, turned)
            }
        }
    }

    /// An action; what the trace does not say of it, or says of others by it, is noted.
    fn action(&mut self, index: usize, event: &Event, action: Action<ObjectId>, turned: Turned) -> RunOperation {
        let mut turned = turned;
        match event.op {
            Op::WaitBegin { .. } => {
                let depth = self.waiting.entry(event.thread).or_default();
                *depth += 1;
                if *depth > 1 {
                    self.run.reservations.push(Reservation::NestedWait);
                }
            }
            Op::WaitEnd { .. } => match self.waiting.get_mut(&event.thread) {
                Some(depth) if *depth > 0 => *depth -= 1,
                _ => self.run.reservations.push(Reservation::BeganBefore),
            },
            Op::BarrierEnter { barrier, round } => {
                let (enters, complete) = &self.rounds[&(barrier, round)];
                if *complete && enters.last() == Some(&index) {
                    turned = Turned::Chosen;
                }
            }
            Op::OnceBegin { once } if !self.begun.insert(once) => {
                self.run.reservations.push(Reservation::OnceAgain);
            }
            _ => {}
        }
        let action = action.rename(|object| Some(self.object(object)));
        RunOperation::On(action.expect("each object has a row"), turned)
    }

    /// From here on these bytes are the block's. What it leaves of older ones stays theirs.
    fn allocate(&mut self, addr: u64, size: u64, block: RunBlock) {
        let end = addr.saturating_add(size);
        self.stacks.retain(|_, &mut (_, stack)| stack != block);
        let before = self
            .memory
            .range(..addr)
            .next_back()
            .map(|(&start, &piece)| (start, piece));
        let first = before.filter(|(_, piece)| piece.end > addr);
        let within: Vec<u64> = self.memory.range(addr..end).map(|(&start, _)| start).collect();
        if let Some((start, piece)) = first {
            self.memory.insert(start, Piece { end: addr, ..piece });
            if piece.end > end {
                self.memory.insert(end, piece);
            }
        }
        for start in within {
            let piece = self.memory.remove(&start).expect("it is there");
            if piece.end > end {
                self.memory.insert(end, piece);
            }
        }
        let start = addr;
        self.memory.insert(addr, Piece { end, block, start });
        self.alive.insert(addr, block);
    }

    /// Where an access is.
    fn place(&mut self, thread: ThreadId, addr: u64) -> RunPlace {
        if let Some(number) = addr.checked_sub(RECORDERS)
            && number < MOMENTS
        {
            return self.moment(thread, addr);
        }
        self.in_block(addr, 0).unwrap_or(RunPlace {
            block: None,
            offset: addr,
        })
    }

    /// A variable of the recorder: known by the thread that touches it first.
    fn moment(&mut self, thread: ThreadId, addr: u64) -> RunPlace {
        let block = if let Some(&known) = self.moments.get(&addr) {
            known
        } else {
            let made = self.made.entry(thread).or_default();
            let by = (thread.0, *made);
            *made += 1;
            let block = self.known_block(by, Known::Moment);
            self.moments.insert(addr, block);
            block
        };
        RunPlace {
            block: Some(block),
            offset: 0,
        }
    }

    /// The block that has an address, or ends at most `behind` bytes before it.
    fn in_block(&self, addr: u64, behind: u64) -> Option<RunPlace> {
        let (_, piece) = self.memory.range(..=addr).next_back()?;
        if addr.saturating_sub(behind) >= piece.end {
            return None;
        }
        Some(RunPlace {
            block: Some(piece.block),
            offset: addr - piece.start,
        })
    }

    fn value(&self, mem: MemRange, value: u64) -> RunValue {
        if mem.size < 8 {
            return RunValue::Number(value);
        }
        if let Some(&handle) = self.handles.get(&value) {
            return RunValue::Address(RunPlace {
                block: Some(handle),
                offset: 0,
            });
        }
        let to_come = || {
            let (&start, &(end, block)) = self.stacks.range(..=value).next_back()?;
            (value < end).then_some(RunPlace {
                block: Some(block),
                offset: value - start,
            })
        };
        // The end of an array is an address of it, where nothing else begins.
        let place = to_come()
            .or_else(|| self.in_block(value, 0))
            .or_else(|| self.in_block(value, 1));
        place.map_or(RunValue::Number(value), RunValue::Address)
    }

    /// Whether a lock is the one that the system holds while it looks who waits for a futex.
    fn is_of_system(&self, lock: ObjectId) -> bool {
        self.tables.object(lock).is_some_and(ObjectInfo::is_lock_of_system)
    }

    fn object(&mut self, id: ObjectId) -> u32 {
        if let Some(&known) = self.objects.get(&id) {
            return known;
        }
        let row = self.tables.object(id);
        let kind = match row.map(|row| row.kind) {
            Some(ObjectKind::RecursiveMutex) => RunObjectKind::Lock { recursive: true },
            Some(ObjectKind::Mutex | ObjectKind::RwLock | ObjectKind::SpinLock) => {
                RunObjectKind::Lock { recursive: false }
            }
            Some(ObjectKind::Condition) => RunObjectKind::Condition,
            Some(ObjectKind::Barrier) => RunObjectKind::Barrier {
                parties: self.parties(id),
            },
            Some(ObjectKind::Semaphore) => RunObjectKind::Semaphore {
                initial: row.map_or(0, |row| row.initial),
            },
            Some(ObjectKind::Once) => RunObjectKind::Once,
            Some(ObjectKind::Source) | None => RunObjectKind::Source,
        };
        let addr = row.map_or(0, |row| row.addr);
        let at = match addr {
            // Traces that name objects otherwise number them alike in all runs, or are single ones.
            0 => RunPlace {
                block: None,
                offset: RECORDERS | u64::from(id.0),
            },
            _ => self.in_block(addr, 0).unwrap_or(RunPlace {
                block: None,
                offset: addr,
            }),
        };
        let number = self.run.objects.len() as u32;
        self.run.objects.push(RunObject { kind, at });
        self.objects.insert(id, number);
        number
    }

    /// How many threads make a round: as many as entered one that somebody left.
    fn parties(&self, barrier: ObjectId) -> Option<u32> {
        let rounds = self.rounds.iter();
        let mut complete = rounds.filter(|((of, _), (_, complete))| *of == barrier && *complete);
        complete.next().map(|(_, (enters, _))| enters.len() as u32)
    }

    /// Where the threads stood at the end.
    fn stand(&mut self) {
        let threads = self.tables.threads.len().max(
            self.run
                .steps
                .iter()
                .map(|step| match step.operation {
                    RunOperation::Fork { child } => child.max(step.thread) as usize + 1,
                    _ => step.thread as usize + 1,
                })
                .max()
                .unwrap_or(0),
        );
        for thread in (0..threads as u32).map(ThreadId) {
            let stands = if self.ended.contains(&thread) {
                Stands::Ended
            } else {
                self.pending(thread).unwrap_or(Stands::Unknown)
            };
            self.run.threads.push(stands);
        }
    }

    /// What a thread waited in when the run ended, as far as the trace says which operation that is.
    fn pending(&mut self, thread: ThreadId) -> Option<Stands> {
        let tables = self.tables;
        let pending = tables.meta.pending.iter().rfind(|pending| pending.thread == thread)?;
        let last = self.last.get(&thread);
        if last.is_some_and(|&(index, _)| index as u64 >= pending.before) {
            return None;
        }
        let used = matches!(last, Some((_, Op::Use { mem })) if mem.addr == pending.addr);
        let object = |kinds: &[ObjectKind]| {
            let rows = tables.objects.iter().rposition(|row| row.addr == pending.addr);
            rows.filter(|&row| kinds.contains(&tables.objects[row].kind) && used)
                .map(|row| ObjectId(row as u32))
        };
        let operation = match pending.kind {
            PendingKind::Died(_) => return Some(Stands::Stopped),
            PendingKind::Join => RunOperation::Join {
                child: u32::try_from(pending.addr).ok()?,
                gave_up: false,
            },
            PendingKind::Acquire => {
                let mutex = [ObjectKind::Mutex, ObjectKind::RecursiveMutex, ObjectKind::SpinLock];
                let lock = object(&mutex)?;
                RunOperation::On(Action::Acquire(self.object(lock), Mode::Exclusive), Turned::Done)
            }
            PendingKind::Semaphore => {
                let semaphore = object(&[ObjectKind::Semaphore])?;
                RunOperation::On(Action::Take(self.object(semaphore)), Turned::Done)
            }
            // The second half of a wait is known by its first; of the others no event says what they will be.
            _ => return None,
        };
        Some(Stands::Before(RunStep {
            thread: thread.0,
            operation,
            position: pending.pc,
            patience: Patience::Unknown,
            order: None,
            own_state: None,
            picture: self.picture(thread, usize::MAX),
        }))
    }

    /// What a thread showed before this event, which is its next one; a row of the run.
    fn picture(&mut self, thread: ThreadId, index: usize) -> Option<u32> {
        let shown = self.shown.get_mut(&thread)?;
        let mut last = None;
        while shown.front().is_some_and(|picture| picture.before <= index as u64) {
            last = shown.pop_front();
        }
        let words = last?.words.iter().map(|&word| self.in_all_runs(thread, word)).collect();
        self.run.pictures.push(words);
        Some(self.run.pictures.len() as u32 - 1)
    }

    /// A word of a thread's own, as it would be in other runs, and in other threads with the same code.
    fn in_all_runs(&self, thread: ThreadId, word: u64) -> u64 {
        const OWN_STACK: u64 = 1 << 60;
        const BLOCK: u64 = 1 << 61;
        let own = self.own_stacks.get(&thread);
        if let Some(&(_, end)) = own.filter(|(start, end)| (start..=end).contains(&&word)) {
            return OWN_STACK | (end - word);
        }
        match self.in_block(word, 0) {
            // Which of the blocks that are allocated there, no other run can tell.
            Some(RunPlace {
                block: Some(block),
                offset,
            }) => {
                let at = self.allocated_at.get(&block).copied().unwrap_or(0);
                BLOCK | (at << 20 ^ offset) & (BLOCK - 1)
            }
            _ => word,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forest::NodeId;
    use crate::forest::{Forest, Outcome};
    use trace_format::MemoryOrder;
    use trace_format::StackId;

    /// A run in which the first thread forks two, each of which gets a block; the recorder's addresses are given.
    fn events(first: u32, blocks: [u64; 2], stacks: [u64; 2]) -> Vec<Event> {
        let mut events = Vec::new();
        let mut push = |thread, op| {
            events.push(Event {
                thread: ThreadId(thread),
                pc: 0x40,
                stack: StackId::EMPTY,
                op,
            });
        };
        let wide = |addr| MemRange { addr, size: 8 };
        push(0, Op::Begin);
        for child in [1, 2] {
            let index = child as usize - 1;
            push(
                0,
                Op::Alloc {
                    addr: blocks[index],
                    size: 16,
                },
            );
            // The handle points into the stack to be.
            push(
                0,
                Op::Write {
                    mem: wide(0x1000),
                    value: stacks[index] + 0x6c0,
                },
            );
            push(0, Op::Fork { child: ThreadId(child) });
        }
        for thread in [first, 3 - first] {
            let index = thread as usize - 1;
            push(thread, Op::Begin);
            push(
                thread,
                Op::Alloc {
                    addr: stacks[index],
                    size: 0x1000,
                },
            );
            push(
                thread,
                Op::Write {
                    mem: wide(blocks[index] + 8),
                    value: blocks[index] + 16,
                },
            );
            push(
                thread,
                Op::Read {
                    mem: MemRange { addr: 0x2000, size: 4 },
                    value: 0,
                },
            );
            push(
                thread,
                Op::AtomicStore {
                    mem: MemRange {
                        addr: RECORDERS + 8 * u64::from(thread),
                        size: 1,
                    },
                    value: 1,
                    order: MemoryOrder::SeqCst,
                },
            );
            push(thread, Op::Free { addr: stacks[index] });
            push(thread, Op::End);
        }
        events
    }

    #[test]
    fn a_run_at_other_addresses_in_another_order_is_the_same() {
        let tables = Tables::default();
        let mut forest = Forest::new();
        let run = Run::of_events(&tables, &events(1, [0x5000, 0x6000], [0x70000, 0x80000]), false);
        assert!(forest.add(&run).branches > 0);
        let again = Run::of_events(&tables, &events(2, [0x9000, 0x6000], [0x80000, 0x70000]), false);
        let added = forest.add(&again);
        assert_eq!(
            (added.branches, added.nondeterministic),
            (0, None),
            "{:?}",
            forest.reservations()
        );
        assert!(forest.reservations().is_empty(), "{:?}", forest.reservations());
        let one_way = |node: &crate::forest::Node| node.edges.len() <= 1;
        assert!(forest.nodes().iter().all(one_way), "one trace has no branches");
    }

    #[test]
    fn a_thread_that_never_begins_has_a_handle() {
        let tables = Tables::default();
        let mut forest = Forest::new();
        let whole = events(1, [0x5000, 0x6000], [0x70000, 0x80000]);
        forest.add(&Run::of_events(&tables, &whole, false));
        // The process ended before the second thread began, and the first thread's stack was elsewhere.
        let mut ended = events(1, [0x5000, 0x6000], [0x90000, 0xa0000]);
        ended.retain(|event| event.thread != ThreadId(2));
        let added = forest.add(&Run::of_events(&tables, &ended, false));
        assert_eq!(
            (added.branches, added.nondeterministic),
            (0, None),
            "{:?}",
            forest.reservations()
        );
    }

    #[test]
    fn what_was_never_written_or_differs_is_told() {
        let tables = Tables::default();
        let mut forest = Forest::new();
        let mut first = events(1, [0x5000, 0x6000], [0x70000, 0x80000]);
        forest.add(&Run::of_events(&tables, &first, true));
        assert!(forest.reservations().contains(&Reservation::Cut));
        for event in &mut first {
            if let Op::Read { value, .. } = &mut event.op {
                *value = 7;
            }
        }
        let added = forest.add(&Run::of_events(&tables, &first, false));
        assert_eq!(added.branches, 8, "what follows another value is another history");
        assert!(
            forest
                .reservations()
                .contains(&Reservation::InitialValue { position: 0x40 })
        );
        let saw = |node: &&crate::forest::Node| node.edges.iter().any(|edge| matches!(edge.outcome, Outcome::Saw(_)));
        assert_eq!(forest.nodes().iter().filter(saw).count(), 2);
        // The same history, and something else after it.
        first.retain(|event| event.thread != ThreadId(1) || !matches!(event.op, Op::Read { .. }));
        let added = forest.add(&Run::of_events(&tables, &first, false));
        assert!(added.nondeterministic.is_some());
        let thread = 1;
        assert!(
            forest
                .reservations()
                .contains(&Reservation::Nondeterministic { thread, after: 3 })
        );
    }

    /// Adds a run of a single thread that does this; the number of new branches.
    fn add(forest: &mut Forest, operations: &[Op]) -> usize {
        let all = std::iter::once(Op::Begin).chain(operations.iter().copied());
        let event = |op| Event {
            thread: ThreadId(0),
            pc: 0x40,
            stack: StackId::EMPTY,
            op,
        };
        let events: Vec<Event> = all.map(event).collect();
        let added = forest.add(&Run::of_events(&Tables::default(), &events, false));
        assert_eq!(added.nondeterministic, None);
        added.branches
    }

    /// What a forest of a single thread's run has against it, if the thread does this.
    fn reservations(operations: Vec<Op>) -> Vec<Reservation> {
        let mut forest = Forest::new();
        add(&mut forest, &operations);
        forest.reservations().iter().cloned().collect()
    }

    const MEM: MemRange = MemRange { addr: 0x2000, size: 4 };

    #[test]
    fn memory_that_nobody_is_seen_to_change_is_told() {
        let write = Op::Write { mem: MEM, value: 1 };
        let read = |value| Op::Read { mem: MEM, value };
        assert!(reservations(vec![write, read(1)]).is_empty());
        let told = reservations(vec![write, read(2)]);
        assert_eq!(told, [Reservation::External { position: 0x40 }]);
    }

    #[test]
    fn what_a_run_writes_otherwise_is_taken_for_what_earlier_ones_wrote_and_told() {
        let wrote = |value| [Op::Write { mem: MEM, value }, Op::Read { mem: MEM, value }];
        let mut forest = Forest::new();
        assert!(add(&mut forest, &wrote(1)) > 0 && forest.reservations().is_empty());
        assert_eq!(add(&mut forest, &wrote(2)), 0);
        let told: Vec<&Reservation> = forest.reservations().iter().collect();
        assert_eq!(told, [&Reservation::WrittenOtherwise { position: 0x40 }]);
    }

    #[test]
    fn what_is_left_in_a_fresh_block_is_taken_for_what_was_left_there_after_the_same_history_and_told() {
        let saw = |values: [u64; 2]| {
            let mem = |addr| MemRange { addr, size: 4 };
            let read = |addr, value| Op::Read { mem: mem(addr), value };
            let block = Op::Alloc { addr: 0x5000, size: 16 };
            [block, read(0x5000, values[0]), read(0x5008, values[1])]
        };
        let mut forest = Forest::new();
        assert!(add(&mut forest, &saw([5, 6])) > 0 && forest.reservations().is_empty());
        assert_eq!(add(&mut forest, &saw([5, 7])), 0);
        let told = Reservation::WrittenOtherwise { position: 0x40 };
        assert!(forest.reservations().contains(&told), "{:?}", forest.reservations());
    }

    #[test]
    fn what_changes_unseen_on_the_first_threads_own_stack_is_no_reservation() {
        let saw = |values: [u64; 2]| {
            let mem = MemRange { addr: 0x5000, size: 4 };
            let stack = Op::Alloc { addr: 0x5000, size: 16 };
            [stack]
                .into_iter()
                .chain(values.map(|value| Op::Read { mem, value }))
                .collect::<Vec<_>>()
        };
        let mut forest = Forest::new();
        add(&mut forest, &saw([5, 6]));
        assert!(forest.reservations().is_empty(), "{:?}", forest.reservations());
        assert!(forest.stained().is_empty(), "{:?}", forest.stained());
    }

    #[test]
    fn what_a_stack_holds_that_was_not_written_there_follows_from_the_history() {
        let mem = |addr| MemRange { addr, size: 4 };
        let stack = Op::Alloc { addr: 0x5000, size: 16 };
        let written = |addr| Op::Write {
            mem: mem(addr),
            value: 1,
        };
        let read = |addr, value| Op::Read { mem: mem(addr), value };
        let nodes_by_history = |operations: &[Op]| {
            let mut forest = Forest::new();
            add(&mut forest, operations);
            let nodes = 0..forest.nodes().len() as u32;
            nodes.filter(|&node| forest.sees_by_history(NodeId(node))).count()
        };
        assert_eq!(nodes_by_history(&[stack, written(0x5000), read(0x5000, 1)]), 0);
        assert_eq!(nodes_by_history(&[stack, written(0x5000), read(0x5000, 2)]), 1);
        assert_eq!(
            nodes_by_history(&[stack, written(0x8000), read(0x8000, 2)]),
            0,
            "no stack"
        );
    }

    #[test]
    fn initializations_that_are_not_the_first_are_told() {
        let once = ObjectId(0);
        let whole = [Op::OnceBegin { once }, Op::OnceEnd { once }];
        assert!(reservations(whole.to_vec()).is_empty());
        assert_eq!(reservations([whole, whole].concat()), [Reservation::OnceAgain]);
    }

    #[test]
    fn loops_that_are_cut_are_told() {
        let load = Op::AtomicLoad {
            mem: MEM,
            value: 0,
            order: MemoryOrder::SeqCst,
        };
        let rounds = Forest::SPIN_ROUNDS;
        assert!(reservations(vec![load; rounds as usize - 1]).is_empty());
        let told = reservations(vec![load; rounds as usize + 3]);
        assert_eq!(told, [Reservation::SpinRounds { rounds }]);
    }
}
