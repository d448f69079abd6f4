//! The operations of all events, five bytes each: most are one of a few with one number at most.

use super::{AccessId, IncarnationId, Op};
use trace_format::{ObjectId, ThreadId};

/// A column of operations.
#[derive(Clone, Debug, Default)]
pub(super) struct Ops {
    tags: Vec<Tag>,
    numbers: Vec<u32>,
    /// Those with more than one number.
    rare: Vec<Op>,
}

#[derive(Clone, Copy, Debug)]
#[repr(u8)]
enum Tag {
    Begin,
    End,
    Fork,
    Join,
    Access,
    Acquire,
    AcquireShared,
    Release,
    Notify,
    NotifyAll,
    SemPost,
    SemWait,
    SemWaitFailed,
    OnceBegin,
    OnceEnd,
    OnceWait,
    Alloc,
    Branch,
    Output,
    Rare,
}

impl Ops {
    pub(super) fn with_capacity(events: usize) -> Ops {
        Ops {
            tags: Vec::with_capacity(events),
            numbers: Vec::with_capacity(events),
            rare: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.tags.len()
    }

    pub(super) fn push(&mut self, op: Op) {
        let (tag, number) = match op {
            Op::Begin => (Tag::Begin, 0),
            Op::End => (Tag::End, 0),
            Op::Fork { child } => (Tag::Fork, child.0),
            Op::Join { child } => (Tag::Join, child.0),
            Op::Access(access) => (Tag::Access, access.0),
            Op::Acquire { lock } => (Tag::Acquire, lock.0),
            Op::AcquireShared { lock } => (Tag::AcquireShared, lock.0),
            Op::Release { lock } => (Tag::Release, lock.0),
            Op::Notify { condition } => (Tag::Notify, condition.0),
            Op::NotifyAll { condition } => (Tag::NotifyAll, condition.0),
            Op::SemPost { semaphore } => (Tag::SemPost, semaphore.0),
            Op::SemWait { semaphore } => (Tag::SemWait, semaphore.0),
            Op::SemWaitFailed { semaphore } => (Tag::SemWaitFailed, semaphore.0),
            Op::OnceBegin { once } => (Tag::OnceBegin, once.0),
            Op::OnceEnd { once } => (Tag::OnceEnd, once.0),
            Op::OnceWait { once } => (Tag::OnceWait, once.0),
            Op::Alloc { incarnation } => (Tag::Alloc, incarnation.0),
            Op::Branch => (Tag::Branch, 0),
            Op::Output { source } => (Tag::Output, source.0),
            Op::AcquireFailed { .. }
            | Op::WaitBegin { .. }
            | Op::WaitEnd { .. }
            | Op::BarrierEnter { .. }
            | Op::BarrierExit { .. }
            | Op::SemValue { .. }
            | Op::Fence { .. }
            | Op::Input { .. } => {
                self.rare.push(op);
                (Tag::Rare, self.rare.len() as u32 - 1)
            }
        };
        self.tags.push(tag);
        self.numbers.push(number);
    }

    pub(super) fn get(&self, event: usize) -> Op {
        let number = self.numbers[event];
        let object = ObjectId(number);
        match self.tags[event] {
            Tag::Begin => Op::Begin,
            Tag::End => Op::End,
            Tag::Fork => Op::Fork {
                child: ThreadId(number),
            },
            Tag::Join => Op::Join {
                child: ThreadId(number),
            },
            Tag::Access => Op::Access(AccessId(number)),
            Tag::Acquire => Op::Acquire { lock: object },
            Tag::AcquireShared => Op::AcquireShared { lock: object },
            Tag::Release => Op::Release { lock: object },
            Tag::Notify => Op::Notify { condition: object },
            Tag::NotifyAll => Op::NotifyAll { condition: object },
            Tag::SemPost => Op::SemPost { semaphore: object },
            Tag::SemWait => Op::SemWait { semaphore: object },
            Tag::SemWaitFailed => Op::SemWaitFailed { semaphore: object },
            Tag::OnceBegin => Op::OnceBegin { once: object },
            Tag::OnceEnd => Op::OnceEnd { once: object },
            Tag::OnceWait => Op::OnceWait { once: object },
            Tag::Alloc => Op::Alloc {
                incarnation: IncarnationId(number),
            },
            Tag::Branch => Op::Branch,
            Tag::Output => Op::Output { source: object },
            Tag::Rare => self.rare[number as usize],
        }
    }
}
