//! From the file to the model.

use super::accesses::{Accesses, Range};
use super::cells::CellBuilder;
use super::excused::Excuses;
use super::ops::{Form, Ops};
use super::places::CodePlaces;
use super::waits::Waits;
use super::{AccessKind, Block, Cut, EventId, IncarnationId, Op, Trace};
use std::path::Path;
use std::sync::Arc;
use trace_format::{
    BlockInfo, Ending, Event, MemoryOrder, Op as FileOp, ProgramEnd, ReadError, Tables, TraceFile, TraceId,
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
        let mut block = Vec::new();
        let mut walk = |each: &mut dyn FnMut(&Event)| {
            for (index, info) in file.blocks()[..blocks].iter().enumerate() {
                block.clear();
                file.decode_block(index, &mut block)?;
                let wanted = usize::try_from(most - info.first_event).unwrap_or(usize::MAX);
                block.iter().take(wanted).for_each(&mut *each);
            }
            Ok::<(), ReadError>(())
        };
        let mut survey = Survey::new(file.tables().threads.len());
        walk(&mut |event| survey.push(event))?;
        let mut builder = Builder::new(survey);
        walk(&mut |event| builder.push(event))?;
        let mut trace = builder.finish(file.id(), tables, cut);
        trace.program_end = program_end;
        trace.blocks = blocks_of(file)?;
        trace.blocks.truncate(blocks);
        Ok(trace)
    }

    /// Builds a trace from events in memory, for tests and generators. Its identity is all zero.
    #[must_use]
    pub fn from_events(tables: Tables, events: &[Event]) -> Trace {
        let mut survey = Survey::new(tables.threads.len());
        events.iter().for_each(|event| survey.push(event));
        let mut builder = Builder::new(survey);
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
    let block = |(index, info): (usize, &BlockInfo)| {
        Ok(Block {
            first: EventId(info.first_event as u32),
            events: info.events,
            objects: info.objects,
            digest: file.digest(index)?,
        })
    };
    file.blocks().iter().enumerate().map(block).collect()
}

/// What the first walk over the events finds: the memory that they touch. Where an access belongs, and into which cells
/// it falls, is known only when all are. To walk twice costs less than to keep every access until then: memory limits
/// the length of traces.
struct Survey {
    events: usize,
    /// Events of each thread.
    of_thread: Vec<usize>,
    memory: CellBuilder,
    /// For each access the number of its range, for each allocation and free the number of its incarnation, in order;
    /// [`NOWHERE`] for a free of what was never allocated.
    places: Vec<u32>,
}

const NOWHERE: u32 = u32::MAX;

impl Survey {
    fn new(threads: usize) -> Survey {
        Survey {
            events: 0,
            of_thread: vec![0; threads],
            memory: CellBuilder::new(),
            places: Vec::new(),
        }
    }

    fn push(&mut self, event: &Event) {
        let id = EventId(self.events as u32);
        self.events += 1;
        let thread = event.thread.index();
        if thread >= self.of_thread.len() {
            self.of_thread.resize(thread + 1, 0);
        }
        self.of_thread[thread] += 1;
        let place = match event.op {
            FileOp::Read { mem, .. }
            | FileOp::Write { mem, .. }
            | FileOp::Use { mem }
            | FileOp::Destroy { mem, .. }
            | FileOp::AtomicLoad { mem, .. }
            | FileOp::AtomicStore { mem, .. }
            | FileOp::AtomicRmw { mem, .. } => self.memory.range(mem.addr, mem.size),
            FileOp::Alloc { addr, size } => self.memory.alloc(addr, size, id).0,
            FileOp::Free { addr } => self.memory.free(addr, id).map_or(NOWHERE, |freed| freed.0),
            _ => return,
        };
        self.places.push(place);
    }
}

/// Makes the model in the second walk.
struct Builder {
    trace: Trace,
    places: std::vec::IntoIter<u32>,
}

impl Builder {
    fn new(survey: Survey) -> Builder {
        let Survey {
            events,
            of_thread,
            mut memory,
            places,
        } = survey;
        let (cells, covers) = memory.cut();
        let ranges = memory.ranges(covers);
        let overlaps = std::mem::take(&mut memory.overlaps);
        Builder {
            trace: Trace {
                id: TraceId([0; 16]),
                tables: Tables::default(),
                cut: None,
                program_end: ProgramEnd::Unknown,
                thread: Arc::new(Vec::with_capacity(events)),
                code: CodePlaces::with_capacity(events),
                ops: Ops::with_capacity(events),
                attempts: Vec::new(),
                place: Arc::new(Vec::with_capacity(events)),
                program_order: of_thread.into_iter().map(Vec::with_capacity).collect(),
                accesses: Accesses::new(ranges, events),
                cells,
                incarnations: memory.incarnations,
                pins: super::pins::Pins::default(),
                frees_reads: false,
                excuses: Excuses::default(),
                waits: Waits::default(),
                waiting_at_start: Vec::new(),
                overlaps,
                blocks: Vec::new(),
            },
            places: places.into_iter(),
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
        let order = &mut self.trace.program_order[event.thread.index()];
        Arc::make_mut(&mut self.trace.place).push(order.len() as u32);
        order.push(id);
        Arc::make_mut(&mut self.trace.thread).push(event.thread);
        self.trace.code.push(event.pc, event.stack);
        self.push_op(event.op);
    }

    fn push_op(&mut self, op: FileOp) {
        use AccessKind::{AtomicLoad, AtomicRmw, AtomicStore, Read, Write};
        let plain = MemoryOrder::Relaxed;
        match op {
            FileOp::Read { value, .. } => self.access(Read, plain, &[value]),
            FileOp::Write { value, .. } => self.access(Write, plain, &[value]),
            FileOp::Use { .. } => self.access(AccessKind::Use, MemoryOrder::SeqCst, &[]),
            FileOp::Destroy { value, .. } => self.access(AccessKind::Destroy, plain, &[value]),
            FileOp::AtomicLoad { value, order, .. } => self.access(AtomicLoad, order, &[value]),
            FileOp::AtomicStore { value, order, .. } => self.access(AtomicStore, order, &[value]),
            FileOp::AtomicRmw {
                read, written, order, ..
            } => self.access(AtomicRmw, order, &[read, written]),
            FileOp::Alloc { .. } => {
                let incarnation = IncarnationId(self.next_place());
                self.other(Op::Alloc { incarnation });
            }
            FileOp::Free { addr } => self.free(addr),
            other => self.other(Op::of_file(other).expect("what is no access, nor begins a block, is itself")),
        }
    }

    fn other(&mut self, op: Op) {
        self.trace.ops.push(op);
        self.trace.accesses.push_none();
    }

    fn access(&mut self, kind: AccessKind, order: MemoryOrder, values: &[u64]) {
        let range = self.next_place();
        self.access_of(kind, order, range, values);
    }

    fn access_of(&mut self, kind: AccessKind, order: MemoryOrder, range: u32, values: &[u64]) {
        let apart = self.trace.accesses.push(values);
        self.trace.ops.push_access(Form { kind, order, apart }, range);
    }

    /// A free covers its whole incarnation; one of unknown memory touches nothing.
    fn free(&mut self, addr: u64) {
        let freed = Some(self.next_place()).filter(|&place| place != NOWHERE);
        let (size, cells) = freed.map_or((0, 0..0), |freed| {
            let block = &self.trace.incarnations[freed as usize];
            (block.size, block.cells.clone())
        });
        let range = self.trace.accesses.add_range(Range {
            incarnation: freed.map_or(IncarnationId::STATIC, IncarnationId),
            addr,
            size,
            cells,
        });
        self.access_of(AccessKind::Free, MemoryOrder::Relaxed, range, &[]);
    }

    fn next_place(&mut self) -> u32 {
        self.places.next().expect("both walks see the same events")
    }

    fn finish(self, id: TraceId, tables: Tables, cut: Option<Cut>) -> Trace {
        let mut trace = self.trace;
        trace.accesses.shrink();
        trace.id = id;
        trace.excuses = Excuses::of(&tables);
        trace.tables = tables;
        trace.cut = cut;
        let from_the_start = trace.find_initial_values();
        trace.find_pins(&from_the_start);
        trace.waits = Waits::of(&trace);
        trace.find_waiting_at_start();
        trace.frees_reads = trace.tables.meta.control_flow_recorded && !trace.cells.iter().any(|cell| cell.external);
        trace
    }
}
