//! The events as they stand in the file, for the checker: it takes nothing else from the model.

use super::{AccessKind, CodePosition, EventId, Op, Tables, ThreadId, Trace, TraceId};
use checker::Recording;
use trace_format::{Event, MemRange, Op as FileOp};

impl Trace {
    /// All events as they stand in the file, without decoding it again.
    pub fn as_in_file(&self) -> impl Iterator<Item = Event> + '_ {
        self.events().map(|event| Event {
            thread: self.thread(event),
            pc: self.pc(event),
            stack: self.stack(event),
            op: Recording::op(self, event),
        })
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
        match self.op(event) {
            Op::Access(id) => {
                let access = self.accesses.get(id);
                let (addr, order) = (access.addr, access.order);
                let size = access.size as u8;
                let mem = MemRange { addr, size };
                let (read, written) = self.accesses.values_of(access);
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
                    AccessKind::Free => FileOp::Free { addr },
                }
            }
            Op::Alloc { incarnation } => {
                let block = &self.incarnations[incarnation.index()];
                let (addr, size) = (block.addr, block.size);
                FileOp::Alloc { addr, size }
            }
            Op::Begin => FileOp::Begin,
            Op::End => FileOp::End,
            Op::Fork { child } => FileOp::Fork { child },
            Op::Join { child } => FileOp::Join {
                child,
                attempt: self.is_attempt(event),
            },
            Op::Acquire { lock } => FileOp::Acquire {
                lock,
                attempt: self.is_attempt(event),
            },
            Op::AcquireShared { lock } => FileOp::AcquireShared {
                lock,
                attempt: self.is_attempt(event),
            },
            Op::Release { lock } => FileOp::Release { lock },
            Op::AcquireFailed { lock, shared } => FileOp::AcquireFailed { lock, shared },
            Op::WaitBegin { condition, lock } => FileOp::WaitBegin { condition, lock },
            Op::WaitEnd {
                condition,
                lock,
                outcome,
            } => FileOp::WaitEnd {
                condition,
                lock,
                outcome,
            },
            Op::Notify { condition } => FileOp::Notify { condition },
            Op::NotifyAll { condition } => FileOp::NotifyAll { condition },
            Op::BarrierEnter { barrier, round } => FileOp::BarrierEnter { barrier, round },
            Op::BarrierExit { barrier, round } => FileOp::BarrierExit { barrier, round },
            Op::SemPost { semaphore } => FileOp::SemPost { semaphore },
            Op::SemWait { semaphore } => FileOp::SemWait { semaphore },
            Op::SemWaitFailed { semaphore } => FileOp::SemWaitFailed { semaphore },
            Op::SemValue { semaphore, value } => FileOp::SemValue { semaphore, value },
            Op::OnceBegin { once } => FileOp::OnceBegin { once },
            Op::OnceEnd { once } => FileOp::OnceEnd { once },
            Op::OnceWait { once } => FileOp::OnceWait { once },
            Op::Fence { order } => FileOp::Fence { order },
            Op::Branch => FileOp::Branch,
            Op::Input { source, value } => FileOp::Input { source, value },
            Op::Output { source } => FileOp::Output { source },
        }
    }
}
