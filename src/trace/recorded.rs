//! The events as they stand in the file, for the checker: it takes nothing else from the model.

use super::{Access, AccessKind, CodePosition, EventId, Op, StackId, Tables, ThreadId, Trace, TraceId};
use checker::Recording;
use columns::Excerpt;
use std::ops::{ControlFlow, Range};
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
        match self.access(event) {
            Some(access) => access_in_file(access, self.accesses.values_of(access)),
            None => self.operation_in_file(event, self.op(event)),
        }
    }

    fn operation_in_file(&self, event: EventId, op: Op) -> FileOp {
        match op {
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

/// An access as it stands in the file, given the value that it read and the one that it wrote.
fn access_in_file(access: Access, (read, written): (u64, u64)) -> FileOp {
    let (addr, order) = (access.addr, access.order);
    let size = access.size as u8;
    let mem = MemRange { addr, size };
    match access.kind {
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

    fn stack(&self, event: EventId) -> StackId {
        self.stack(event)
    }

    fn op(&self, event: EventId) -> FileOp {
        self.in_file(event)
    }

    fn walk(
        &self,
        events: Range<u32>,
        each: &mut dyn FnMut(EventId, ThreadId, &FileOp) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (mut numbers, mut values) = (self.ops.numbers(), self.accesses.values());
        let mut turns = self.in_threads.walk();
        events.map(EventId).try_for_each(|event| {
            let op = match self.ops.access_by(&mut numbers, event.index()) {
                Some((form, range)) => {
                    let access = self.accesses.get(event, form, range, self.memory());
                    access_in_file(access, self.accesses.values_by(access, values.at(event.index())))
                }
                None => self.operation_in_file(event, self.ops.get_by(&mut numbers, event.index())),
            };
            each(event, turns.of(event).0, &op)
        })
    }

    fn threads(&self) -> usize {
        self.threads()
    }

    fn program_order(&self, thread: ThreadId) -> Excerpt<'_, EventId> {
        self.program_order(thread)
    }
}
