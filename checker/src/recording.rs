//! What the checker is given: the events of a trace as they stand in its file, and its tables.

use columns::{Column, Excerpt};
use std::fmt;
use std::ops::{ControlFlow, Range};
use trace_format::{
    CodePosition, Event, EventId, MemRange, MemoryOrder, Op, ReadError, StackId, Tables, ThreadId, TraceFile, TraceId,
};

/// A trace, event by event. What follows from the events the checker finds for itself; the lists of what each thread does
/// are asked for only so that they are not kept twice.
pub trait Recording: fmt::Debug + Sync {
    /// The identity of the trace.
    fn id(&self) -> TraceId;
    /// Its tables.
    fn tables(&self) -> &Tables;
    /// How many events it has.
    fn events(&self) -> usize;
    /// The thread of an event.
    fn thread(&self, event: EventId) -> ThreadId;
    /// What an event does.
    fn op(&self, event: EventId) -> Op;
    /// Calls `each` with some events, in order, the thread of each, and what it does, until it breaks: as
    /// [`thread`](Recording::thread) and [`op`](Recording::op) say, faster than of one after the other.
    fn walk(
        &self,
        events: Range<u32>,
        each: &mut dyn FnMut(EventId, ThreadId, &Op) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut events = events.map(EventId);
        events.try_for_each(|event| each(event, self.thread(event), &self.op(event)))
    }
    /// Where in the code an event is.
    fn pc(&self, event: EventId) -> CodePosition;
    /// The call stack of an event.
    fn stack(&self, event: EventId) -> StackId;
    /// How many threads it has. That of every event is below.
    fn threads(&self) -> usize;
    /// The events of a thread, in order. Whether they are that, the checker looks for itself.
    fn program_order(&self, thread: ThreadId) -> Excerpt<'_, EventId>;
}

/// The events of a trace in memory.
#[derive(Clone, Debug)]
pub struct Events {
    id: TraceId,
    tables: Tables,
    events: Vec<Event>,
    /// By thread: its events.
    program_order: Vec<Column<EventId>>,
}

/// Why a file cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It is damaged.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Schedules number events with 32 bits.
    #[error("{events} events are more than the 4294967295 that a schedule can number; record a shorter run")]
    TooLong {
        /// How many the file has.
        events: u64,
    },
}

impl Events {
    /// A trace of these events.
    #[must_use]
    pub fn new(id: TraceId, tables: Tables, events: Vec<Event>) -> Events {
        let mut program_order = vec![Column::default(); tables.threads.len()];
        for (number, event) in (0..).map(EventId).zip(&events) {
            let thread = event.thread.index();
            if thread >= program_order.len() {
                program_order.resize(thread + 1, Column::default());
            }
            program_order[thread].push(number);
        }
        program_order.iter_mut().for_each(Column::end);
        Events {
            id,
            tables,
            events,
            program_order,
        }
    }

    /// Reads all events of a file; of one that was cut, those before the cut.
    ///
    /// # Errors
    /// [`OpenError`], if a block is damaged or the trace is too long.
    pub fn of_file(file: &TraceFile) -> Result<Events, OpenError> {
        Events::of_beginning(file, None)
    }

    /// Reads the first so many events of a file, as if it were cut behind them; all of them for `None`.
    ///
    /// # Errors
    /// As [`of_file`](Events::of_file).
    pub fn of_beginning(file: &TraceFile, first: Option<u32>) -> Result<Events, OpenError> {
        let most = first.map_or(file.len(), |first| file.len().min(u64::from(first)));
        if most > u64::from(u32::MAX) {
            return Err(OpenError::TooLong { events: file.len() });
        }
        let events = file
            .events()
            .take(most as usize)
            .collect::<Result<Vec<Event>, ReadError>>()?;
        let mut tables = file.tables().clone();
        if most < file.len() {
            // What threads waited for at the end, they did not at the cut.
            tables.meta.pending.clear();
        }
        Ok(Events::new(file.id(), tables, events))
    }
}

impl Recording for Events {
    fn id(&self) -> TraceId {
        self.id
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn events(&self) -> usize {
        self.events.len()
    }

    fn thread(&self, event: EventId) -> ThreadId {
        self.events[event.index()].thread
    }

    fn op(&self, event: EventId) -> Op {
        self.events[event.index()].op
    }

    fn pc(&self, event: EventId) -> CodePosition {
        self.events[event.index()].pc
    }

    fn stack(&self, event: EventId) -> StackId {
        self.events[event.index()].stack
    }

    fn threads(&self) -> usize {
        self.program_order.len()
    }

    fn program_order(&self, thread: ThreadId) -> Excerpt<'_, EventId> {
        self.program_order[thread.index()].all()
    }
}

/// All events of a recording, in its order.
pub(crate) fn all(recording: &dyn Recording) -> impl DoubleEndedIterator<Item = EventId> + ExactSizeIterator + use<> {
    (0..recording.events() as u32).map(EventId)
}

/// Calls `each` with all events of a recording, in its order.
pub(crate) fn walk(recording: &dyn Recording, mut each: impl FnMut(EventId, ThreadId, &Op)) {
    let all = 0..recording.events() as u32;
    let _: ControlFlow<()> = recording.walk(all, &mut |event, thread, op| {
        each(event, thread, op);
        ControlFlow::Continue(())
    });
}

/// What an operation does to the memory that it names; a `free` names none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) mem: MemRange,
    /// The value that it saw.
    pub(crate) sees: Option<u64>,
    /// The value that it stores.
    pub(crate) leaves: Option<u64>,
    /// An atomic operation, or the use of an object.
    pub(crate) atomic: bool,
    /// `Relaxed` for plain ones.
    pub(crate) order: MemoryOrder,
}

impl Access {
    #[inline]
    pub(crate) fn of(op: Op) -> Option<Access> {
        let plain = (false, MemoryOrder::Relaxed);
        let (mem, sees, leaves, (atomic, order)) = match op {
            Op::Read { mem, value } => (mem, Some(value), None, plain),
            Op::Write { mem, value } | Op::Destroy { mem, value } => (mem, None, Some(value), plain),
            Op::AtomicLoad { mem, value, order } => (mem, Some(value), None, (true, order)),
            Op::AtomicStore { mem, value, order } => (mem, None, Some(value), (true, order)),
            Op::AtomicRmw {
                mem,
                read,
                written,
                order,
            } => (mem, Some(read), Some(written), (true, order)),
            Op::Use { mem } => (mem, None, None, (true, MemoryOrder::SeqCst)),
            _ => return None,
        };
        Some(Access {
            mem,
            sees,
            leaves,
            atomic,
            order,
        })
    }
}

/// A byte of a value as it lies in memory: little-endian, zero behind its end.
pub(crate) fn byte_of(value: u64, place: usize) -> u8 {
    value.to_le_bytes().get(place).copied().unwrap_or(0)
}
