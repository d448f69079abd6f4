//! From the file to the model.

use super::cells::{CellBuilder, slice_value};
use super::{Access, AccessId, AccessKind, CellUse, Cut, EventId, Op, Trace};
use hashbrown::HashMap;
use std::path::Path;
use trace_format::{Ending, Event, MemRange, MemoryOrder, Op as FileOp, ReadError, Tables, TraceFile, TraceId};

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
        if file.len() > u64::from(u32::MAX) {
            return Err(LoadError::TooLong { events: file.len() });
        }
        let cut = match file.ending() {
            Ending::Complete { .. } => None,
            Ending::Cut {
                events, offset, cause, ..
            } => Some(Cut {
                events: *events,
                offset: *offset,
                cause: cause.to_string(),
            }),
        };
        let mut builder = Builder::new(file.tables().threads.len(), file.len() as usize);
        let mut block = Vec::new();
        for index in 0..file.blocks().len() {
            block.clear();
            file.decode_block(index, &mut block)?;
            for event in &block {
                builder.push(event);
            }
        }
        Ok(builder.finish(file.id(), file.tables().clone(), cut))
    }

    /// Builds a trace from events in memory, for tests and generators. Its identity is all zero.
    #[must_use]
    pub fn from_events(tables: Tables, events: &[Event]) -> Trace {
        let mut builder = Builder::new(tables.threads.len(), events.len());
        for event in events {
            builder.push(event);
        }
        builder.finish(TraceId([0; 16]), tables, None)
    }
}

/// An access before its cells are known.
struct RawAccess {
    access: Access,
    /// Number of its range; `None` for a free, which covers its whole incarnation.
    range: Option<u32>,
    read: u64,
    written: u64,
}

struct Builder {
    trace: Trace,
    raw: Vec<RawAccess>,
    memory: CellBuilder,
}

impl Builder {
    fn new(threads: usize, events: usize) -> Builder {
        Builder {
            trace: Trace {
                id: TraceId([0; 16]),
                tables: Tables::default(),
                cut: None,
                thread: Vec::with_capacity(events),
                pc: Vec::with_capacity(events),
                stack: Vec::with_capacity(events),
                op: Vec::with_capacity(events),
                place: Vec::with_capacity(events),
                program_order: vec![Vec::new(); threads],
                accesses: Vec::new(),
                uses: Vec::new(),
                cells: Vec::new(),
                incarnations: Vec::new(),
                pins: HashMap::new(),
                frees_reads: false,
                waiting_at_start: Vec::new(),
            },
            raw: Vec::new(),
            memory: CellBuilder::new(),
        }
    }

    fn push(&mut self, event: &Event) {
        let id = EventId(self.trace.op.len() as u32);
        let op = self.op(id, event.op);
        let thread = event.thread.index();
        if thread >= self.trace.program_order.len() {
            self.trace.program_order.resize_with(thread + 1, Vec::new);
        }
        self.trace.place.push(self.trace.program_order[thread].len() as u32);
        self.trace.program_order[thread].push(id);
        self.trace.thread.push(event.thread);
        self.trace.pc.push(event.pc);
        self.trace.stack.push(event.stack);
        self.trace.op.push(op);
    }

    fn op(&mut self, id: EventId, op: FileOp) -> Op {
        use AccessKind::{AtomicLoad, AtomicRmw, AtomicStore, Read, Write};
        let plain = MemoryOrder::Relaxed;
        match op {
            FileOp::Read { mem, value } => self.access(id, Read, plain, mem, value, 0),
            FileOp::Write { mem, value } => self.access(id, Write, plain, mem, 0, value),
            FileOp::AtomicLoad { mem, value, order } => self.access(id, AtomicLoad, order, mem, value, 0),
            FileOp::AtomicStore { mem, value, order } => self.access(id, AtomicStore, order, mem, 0, value),
            FileOp::AtomicRmw {
                mem,
                read,
                written,
                order,
            } => self.access(id, AtomicRmw, order, mem, read, written),
            FileOp::Alloc { addr, size } => Op::Alloc {
                incarnation: self.memory.alloc(addr, size, id),
            },
            FileOp::Free { addr } => self.free(id, addr),
            FileOp::Begin => Op::Begin,
            FileOp::End => Op::End,
            FileOp::Fork { child } => Op::Fork { child },
            FileOp::Join { child } => Op::Join { child },
            FileOp::Acquire { lock } => Op::Acquire { lock },
            FileOp::AcquireShared { lock } => Op::AcquireShared { lock },
            FileOp::Release { lock } => Op::Release { lock },
            FileOp::AcquireFailed { lock, shared } => Op::AcquireFailed { lock, shared },
            FileOp::WaitBegin { condition, lock } => Op::WaitBegin { condition, lock },
            FileOp::WaitEnd {
                condition,
                lock,
                outcome,
            } => Op::WaitEnd {
                condition,
                lock,
                outcome,
            },
            FileOp::Notify { condition } => Op::Notify { condition },
            FileOp::NotifyAll { condition } => Op::NotifyAll { condition },
            FileOp::BarrierEnter { barrier, round } => Op::BarrierEnter { barrier, round },
            FileOp::BarrierExit { barrier, round } => Op::BarrierExit { barrier, round },
            FileOp::SemPost { semaphore } => Op::SemPost { semaphore },
            FileOp::SemWait { semaphore } => Op::SemWait { semaphore },
            FileOp::OnceBegin { once } => Op::OnceBegin { once },
            FileOp::OnceEnd { once } => Op::OnceEnd { once },
            FileOp::OnceWait { once } => Op::OnceWait { once },
            FileOp::Fence { order } => Op::Fence { order },
            FileOp::Branch => Op::Branch,
            FileOp::Input { source, value } => Op::Input { source, value },
            FileOp::Output { source } => Op::Output { source },
        }
    }

    fn access(
        &mut self,
        event: EventId,
        kind: AccessKind,
        order: MemoryOrder,
        mem: MemRange,
        read: u64,
        written: u64,
    ) -> Op {
        let (incarnation, range) = self.memory.range(mem.addr, mem.size);
        let access = Access {
            event,
            kind,
            order,
            incarnation,
            addr: mem.addr,
            size: u64::from(mem.size),
            uses: 0..0,
        };
        self.raw.push(RawAccess {
            access,
            range: Some(range),
            read,
            written,
        });
        Op::Access(AccessId(self.raw.len() as u32 - 1))
    }

    fn free(&mut self, event: EventId, addr: u64) -> Op {
        let freed = self.memory.free(addr, event);
        let incarnation = freed.unwrap_or(super::IncarnationId::STATIC);
        let size = freed.map_or(0, |block| self.memory.incarnations[block.index()].size);
        let access = Access {
            event,
            kind: AccessKind::Free,
            order: MemoryOrder::Relaxed,
            incarnation,
            addr,
            size,
            uses: 0..0,
        };
        self.raw.push(RawAccess {
            access,
            range: None,
            read: 0,
            written: 0,
        });
        Op::Access(AccessId(self.raw.len() as u32 - 1))
    }

    fn finish(self, id: TraceId, tables: Tables, cut: Option<Cut>) -> Trace {
        let Builder {
            mut trace,
            raw,
            mut memory,
        } = self;
        let (cells, covers) = memory.cut();
        trace.cells = cells;
        trace.incarnations = memory.incarnations;
        for RawAccess {
            mut access,
            range,
            read,
            written,
        } in raw
        {
            let start = trace.uses.len() as u32;
            let covered = match range {
                Some(range) => covers[range as usize].clone(),
                // A free of unknown memory touches nothing.
                None if access.incarnation == super::IncarnationId::STATIC => 0..0,
                None => trace.incarnations[access.incarnation.index()].cells.clone(),
            };
            for number in covered {
                let cell = &trace.cells[number as usize];
                let (read, written) = match range {
                    Some(_) => (
                        slice_value(read, access.addr, cell),
                        slice_value(written, access.addr, cell),
                    ),
                    None => (0, 0),
                };
                trace.uses.push(CellUse {
                    cell: super::CellId(number),
                    read,
                    written,
                });
            }
            access.uses = start..trace.uses.len() as u32;
            trace.accesses.push(access);
        }
        trace.id = id;
        trace.tables = tables;
        trace.cut = cut;
        let from_the_start = trace.find_initial_values();
        trace.find_pins(&from_the_start);
        trace.find_waiting_at_start();
        trace.frees_reads = trace.tables.meta.control_flow_recorded && !trace.cells.iter().any(|cell| cell.external);
        trace
    }
}
