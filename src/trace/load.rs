//! From the file to the model.

use super::accesses::{Accesses, Freed};
use super::cells::CellBuilder;
use super::contested::Users;
use super::decode;
use super::event_set::EventSet;
use super::excused::Excuses;
use super::in_threads::{self, InThreads};
use super::ops::{Form, Ops};
use super::places::CodePlaces;
use super::values::Values;
use super::waits::Waits;
use super::{AccessKind, Block, Cell, Cut, EventId, IncarnationId, Op, ThreadId, Trace};
use crate::parallel;
use columns::Column;
use std::path::Path;
use trace_format::{
    BlockDigest, BlockInfo, Ending, Event, MemRange, MemoryOrder, Op as FileOp, ProgramEnd, ReadError, Tables,
    TraceFile, TraceId,
};

/// Why a trace could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file is no readable trace.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Events are numbered with 32 bits in the model.
    #[error("{events} events are more than the 4294967295 that one analysis can hold; record a shorter run")]
    TooLong {
        /// How many the file has.
        events: u64,
    },
}

impl Trace {
    /// Loads a trace file.
    ///
    /// A file that was cut gives the events before the cut, and says so in [`Trace::cut`].
    ///
    /// # Errors
    /// [`LoadError`], when the file cannot be opened, is damaged, or is too long.
    pub fn open(path: &Path) -> Result<Trace, LoadError> {
        Trace::from_file(&TraceFile::open(path)?)
    }

    /// Loads an opened trace file.
    ///
    /// # Errors
    /// As [`Trace::open`].
    pub fn from_file(file: &TraceFile) -> Result<Trace, LoadError> {
        Trace::beginning(file, None)
    }

    /// Loads the first so many events of an opened trace file, or all. A trace of which something is left out is cut
    /// there.
    ///
    /// # Errors
    /// As [`Trace::open`].
    pub fn beginning(file: &TraceFile, most: Option<u64>) -> Result<Trace, LoadError> {
        let most = most.unwrap_or(u64::MAX).min(file.len());
        if most > u64::from(u32::MAX) {
            return Err(LoadError::TooLong { events: file.len() });
        }
        let (mut program_end, mut cut) = (ProgramEnd::Unknown, None);
        match file.ending() {
            Ending::Complete { program } => program_end = *program,
            Ending::Cut {
                events, offset, cause, ..
            } => {
                cut = Some(Cut {
                    events: *events,
                    offset: *offset,
                    cause: cause.to_string(),
                    left_out: 0,
                });
            }
        }
        let mut tables = file.tables().clone();
        let blocks = file.blocks().partition_point(|block| block.first_event < most);
        if most < file.len() {
            program_end = ProgramEnd::Unknown;
            cut = Some(Cut {
                events: most,
                offset: file.blocks()[blocks.saturating_sub(1)].offset,
                cause: format!("the rest of its {} events is left out", file.len()),
                left_out: file.len() - most,
            });
            // That is at the end.
            tables.meta.pending.clear();
        }
        let mut builder = Builder::new(file.tables().threads.len(), most as usize);
        let mut left = most;
        let digests = decode::each(file, blocks, &mut |event| {
            if left > 0 {
                left -= 1;
                builder.push(event);
            }
        })?;
        let mut trace = builder.finish(file.id(), tables, cut);
        trace.program_end = program_end;
        let blocks = file.blocks().iter().zip(digests);
        trace.blocks = blocks.map(|(info, digest)| Block::of(info, digest)).collect();
        Ok(trace)
    }

    /// Builds a trace from events in memory, for tests and generators. Its identity is all zero.
    #[must_use]
    pub fn from_events(tables: Tables, events: &[Event]) -> Trace {
        let mut builder = Builder::new(tables.threads.len(), events.len());
        events.iter().for_each(|event| builder.push(event));
        builder.finish(TraceId([0; 16]), tables, None)
    }

    /// Builds a trace from some events of a run in memory: behind them it goes on, so the trace is cut there.
    #[must_use]
    pub fn of_part(tables: Tables, events: &[Event]) -> Trace {
        let mut trace = Trace::from_events(tables, events);
        trace.cut = Some(Cut {
            events: events.len() as u64,
            offset: 0,
            cause: "the rest of the run is left out".to_owned(),
            left_out: 0,
        });
        trace
    }
}

/// The blocks of a file.
///
/// # Errors
/// [`ReadError`], if one is damaged.
pub fn blocks_of(file: &TraceFile) -> Result<Vec<Block>, ReadError> {
    let blocks = file.blocks().iter().enumerate();
    blocks
        .map(|(index, info)| Ok(Block::of(info, file.digest(index)?)))
        .collect()
}

impl Block {
    fn of(info: &BlockInfo, digest: BlockDigest) -> Block {
        Block {
            first: EventId(info.first_event as u32),
            events: info.events,
            objects: info.objects,
            digest,
        }
    }
}

/// Makes the model in one walk over the events. Into which cells an access falls is known only at its end, and needs no
/// look at the accesses: what they know is the numbers of their ranges.
struct Builder {
    trace: Trace,
    in_threads: in_threads::Builder,
    /// Events of each thread.
    of_thread: Vec<u32>,
    memory: CellBuilder,
    frees: Vec<Freed>,
    /// By number: who accesses each range of memory, and who frees what each free frees.
    users: Vec<Users>,
    freed_by: Vec<Users>,
}

/// Events that room is made for at once: how many there are, a file may say wrongly.
const RESERVED: usize = 1 << 22;

impl Builder {
    fn new(threads: usize, events: usize) -> Builder {
        let events = events.min(RESERVED);
        Builder {
            trace: Trace {
                id: TraceId([0; 16]),
                tables: Tables::default(),
                cut: None,
                program_end: ProgramEnd::Unknown,
                in_threads: InThreads::default(),
                code: CodePlaces::default(),
                ops: Ops::with_capacity(events),
                attempts: Vec::new(),
                operations: EventSet::default(),
                program_order: Vec::new(),
                accesses: Accesses::default(),
                cells: Vec::new(),
                initial: Values::default(),
                incarnations: Vec::new(),
                contested: EventSet::default(),
                linked: EventSet::default(),
                pins: super::pins::Pins::default(),
                apart: super::apart::Apart::default(),
                frees_reads: false,
                excuses: Excuses::default(),
                waits: Waits::default(),
                waiting_at_start: Vec::new(),
                overlaps: Vec::new(),
                blocks: Vec::new(),
            },
            in_threads: in_threads::Builder::default(),
            of_thread: vec![0; threads],
            memory: CellBuilder::new(),
            frees: Vec::new(),
            users: Vec::new(),
            freed_by: Vec::new(),
        }
    }

    fn push(&mut self, event: &Event) {
        let id = EventId(self.trace.len() as u32);
        if let FileOp::Acquire { attempt: true, .. }
        | FileOp::AcquireShared { attempt: true, .. }
        | FileOp::Join { attempt: true, .. }
        | FileOp::WaitEnd { attempt: true, .. }
        | FileOp::BarrierExit { attempt: true, .. }
        | FileOp::SemWait { attempt: true, .. } = event.op
        {
            self.trace.attempts.push(id);
        }
        let thread = event.thread.index();
        if thread >= self.of_thread.len() {
            self.of_thread.resize(thread + 1, 0);
        }
        let place = &mut self.of_thread[thread];
        self.in_threads.push(event.thread, *place);
        *place += 1;
        self.trace.code.push(event.pc, event.stack);
        self.push_op(id, event.thread, event.op);
        self.trace.operations.push(id, !self.trace.ops.is_access(id.index()));
    }

    fn push_op(&mut self, id: EventId, thread: ThreadId, op: FileOp) {
        use AccessKind::{AtomicLoad, AtomicRmw, AtomicStore, Destroy, Free, Read, Use, Write};
        let plain = MemoryOrder::Relaxed;
        match op {
            FileOp::Read { mem, value } => self.access(thread, mem, Read, plain, &[value]),
            FileOp::Write { mem, value } => self.access(thread, mem, Write, plain, &[value]),
            FileOp::Use { mem } => self.access(thread, mem, Use, MemoryOrder::SeqCst, &[]),
            FileOp::Destroy { mem, value } => self.access(thread, mem, Destroy, plain, &[value]),
            FileOp::AtomicLoad { mem, value, order } => self.access(thread, mem, AtomicLoad, order, &[value]),
            FileOp::AtomicStore { mem, value, order } => self.access(thread, mem, AtomicStore, order, &[value]),
            FileOp::AtomicRmw {
                mem,
                read,
                written,
                order,
            } => self.access(thread, mem, AtomicRmw, order, &[read, written]),
            FileOp::Alloc { addr, size } => {
                let incarnation = self.memory.alloc(addr, size, id);
                self.other(Op::Alloc { incarnation });
            }
            FileOp::Free { addr } => {
                let block = self.memory.free(addr, id);
                self.access_of(Free, plain, self.frees.len() as u32, &[]);
                self.frees.push(Freed { addr, block });
                see(&mut self.freed_by, self.frees.len() - 1, thread, Free);
            }
            other => self.other(Op::of_file(other).expect("what is no access, nor begins a block, is itself")),
        }
    }

    fn other(&mut self, op: Op) {
        self.trace.ops.push(op);
        self.trace.accesses.push_none();
    }

    fn access(&mut self, thread: ThreadId, mem: MemRange, kind: AccessKind, order: MemoryOrder, values: &[u64]) {
        let range = self.memory.range(mem.addr, mem.size);
        see(&mut self.users, range as usize, thread, kind);
        self.access_of(kind, order, range, values);
    }

    fn access_of(&mut self, kind: AccessKind, order: MemoryOrder, range: u32, values: &[u64]) {
        let apart = self.trace.accesses.push(values);
        self.trace.ops.push_access(Form { kind, order, apart }, range);
    }

    /// Makes the cells, now that all accesses are known. Returns the blocks that were allocated over bytes of older ones.
    fn cut(&mut self) -> Vec<IncarnationId> {
        let (trace, mut memory) = (&mut self.trace, std::mem::take(&mut self.memory));
        let (cells, ranges) = memory.cut();
        trace.ops.end(ranges.len() as u32);
        trace.accesses.end(ranges, std::mem::take(&mut self.frees));
        (trace.cells, trace.overlaps, trace.incarnations) = (cells, memory.overlaps, memory.incarnations);
        memory.again
    }

    /// The events of each thread.
    fn program_order(&self) -> Vec<Column<EventId>> {
        let mut order: Vec<Column<EventId>> = vec![Column::default(); self.of_thread.len()];
        for (thread, events) in self.trace.in_threads.turns() {
            events.for_each(|event| order[thread.index()].push(EventId(event)));
        }
        order.iter_mut().for_each(Column::end);
        order
    }

    fn finish(mut self, id: TraceId, tables: Tables, cut: Option<Cut>) -> Trace {
        let again = self.cut();
        self.trace.in_threads = std::mem::take(&mut self.in_threads).finish();
        self.trace.code.end();
        self.trace.program_order = self.program_order();
        let mut users = self.users;
        users.append(&mut self.freed_by);
        let mut trace = self.trace;
        trace.id = id;
        trace.excuses = Excuses::of(&tables);
        trace.tables = tables;
        trace.cut = cut;
        let processors = parallel::worth(trace.len(), parallel::processors());
        let mut cells = std::mem::take(&mut trace.cells);
        let (values, waits) = parallel::both(processors, || trace.walk_values(&mut cells), || Waits::of(&trace));
        trace.cells = cells;
        let from_the_start = trace.set_values(values);
        trace.find_pins(&from_the_start);
        trace.find_contested(&users);
        trace.tell_pointers_apart(&again);
        trace.waits = waits;
        trace.find_waiting_at_start();
        trace.frees_reads = trace.tables.meta.control_flow_recorded && !trace.cells.iter().any(Cell::external);
        trace
    }
}

/// Adds an access to those of its range; ranges are numbered as they come.
#[inline]
fn see(users: &mut Vec<Users>, range: usize, thread: ThreadId, kind: AccessKind) {
    if range >= users.len() {
        users.resize(range + 1, Users::default());
    }
    users[range].see(thread, kind);
}
