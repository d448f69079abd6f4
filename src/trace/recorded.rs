//! The events as they stand in the file, for the checker: it takes nothing else from the model.

use super::{AccessKind, CodePosition, EventId, Op, Tables, ThreadId, Trace, TraceId};
use checker::Recording;
use columns::Excerpt;
use trace_format::{Event, MemRange, Op as FileOp};

impl Trace {
    /// All events as they stand in the file, without decoding it again.
    pub fn as_in_file(&self) -> impl Iterator<Item = Event> + '_ {
        self.events().map(|event| Event {
            thread: self.thread(event),
            pc: self.pc(event),
            stack: self.stack(event),
            op: self.in_file(event),
        })
    }

    /// What an event does, as it stands in the file.
    #[must_use]
    pub fn in_file(&self, event: EventId) -> FileOp {
        if let Some(access) = self.access(event) {
            let (addr, order) = (access.addr, access.order);
            let size = access.size as u8;
            let mem = MemRange { addr, size };
            let (read, written) = self.accesses.values_of(access);
            return match access.kind {
                AccessKind::Read => FileOp::Read { mem, value: read },
                AccessKind::Write => FileOp::Write { mem, value: written },
                AccessKind::AtomicLoad => FileOp::AtomicLoad {
                    mem,
                    value: read,
                    order,
                },
                AccessKind::AtomicStore => FileOp::AtomicStore {
                    mem,
                    value: written,
                    order,
                },
                AccessKind::AtomicRmw => FileOp::AtomicRmw {
                    mem,
                    read,
                    written,
                    order,
                },
                AccessKind::Use => FileOp::Use { mem },
                AccessKind::Destroy => FileOp::Destroy { mem, value: written },
                AccessKind::Free => FileOp::Free { addr },
            };
        }
        match self.op(event) {
            Op::Alloc { incarnation } => {
                let block = &self.incarnations[incarnation.index()];
                let (addr, size) = (block.addr, block.size);
                FileOp::Alloc { addr, size }
            }
            op => op
                .to_file(self.is_attempt(event))
                .expect("what is no access, nor begins a block, is itself"),
        }
    }
}

impl Recording for Trace {
    fn id(&self) -> TraceId {
        self.id
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn events(&self) -> usize {
        self.len()
    }

    fn thread(&self, event: EventId) -> ThreadId {
        self.thread(event)
    }

    fn pc(&self, event: EventId) -> CodePosition {
        self.pc(event)
    }

    fn op(&self, event: EventId) -> FileOp {
        self.in_file(event)
    }

    fn is_of_memory(&self, event: EventId) -> bool {
        self.is_access(event)
    }

    fn threads(&self) -> usize {
        self.threads()
    }

    fn program_order(&self, thread: ThreadId) -> Excerpt<'_, EventId> {
        self.program_order(thread)
    }
}
