//! Which events can stand in a trace: their numbers have rows in the tables, their accesses are
//! in bounds. Writer and reader ask the same questions, so a file that was written can be read,
//! and whoever reads one may index the tables without checking again.

use crate::event::{Event, MemRange, ObjectId, Op, ThreadId};
use crate::fault::EventFault;
use event_coding::mask;

/// How many rows the tables have that events refer to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) threads: usize,
    pub(crate) objects: usize,
    pub(crate) stacks: usize,
}

impl Rows {
    /// Whether an event is a plain access that is valid.
    #[inline(always)]
    pub(crate) fn has_access(&self, event: &Event) -> bool {
        let (Op::Read { mem, value } | Op::Write { mem, value }) = event.op else {
            return false;
        };
        let is_known = event.thread.index() < self.threads && event.stack.index() <= self.stacks;
        let is_within = (1..=8).contains(&mem.size) && mem.addr.checked_add(mem.size.into()).is_some();
        is_known && is_within && value & !mask(mem.size) == 0
    }

    /// Checks an event against the tables.
    #[inline]
    pub(crate) fn check(&self, event: &Event) -> Result<(), EventFault> {
        self.thread(event.thread)?;
        // Stack 0, the empty one, has no row.
        if event.stack.index() > self.stacks {
            return Err(EventFault::UnknownStack {
                id: event.stack.0.into(),
                rows: self.stacks,
            });
        }
        // Nearly all events are these.
        if let Op::Read { mem, value } | Op::Write { mem, value } = event.op {
            return access(mem, &[value]);
        }
        self.check_other(event)
    }

    fn check_other(&self, event: &Event) -> Result<(), EventFault> {
        match event.op {
            Op::Begin | Op::End | Op::Fence { .. } | Op::Branch => Ok(()),
            Op::Fork { child } | Op::Join { child, .. } => self.thread(child),
            Op::Read { mem, value }
            | Op::Write { mem, value }
            | Op::Destroy { mem, value }
            | Op::AtomicLoad { mem, value, .. }
            | Op::AtomicStore { mem, value, .. } => access(mem, &[value]),
            Op::Use { mem } => access(mem, &[]),
            Op::AtomicRmw { mem, read, written, .. } => access(mem, &[read, written]),
            Op::Acquire { lock, .. }
            | Op::AcquireShared { lock, .. }
            | Op::Release { lock }
            | Op::AcquireFailed { lock, shared: _ } => self.object(lock),
            Op::WaitBegin { condition, lock }
            | Op::WaitEnd {
                condition,
                lock,
                outcome: _,
                attempt: _,
            } => {
                self.object(condition)?;
                self.object(lock)
            }
            Op::Notify { condition } | Op::NotifyAll { condition } => self.object(condition),
            Op::BarrierEnter { barrier, round: _ } | Op::BarrierExit { barrier, .. } => self.object(barrier),
            Op::SemPost { semaphore }
            | Op::SemWait { semaphore, attempt: _ }
            | Op::SemWaitFailed { semaphore }
            | Op::SemValue { semaphore, value: _ } => self.object(semaphore),
            Op::OnceBegin { once } | Op::OnceEnd { once } | Op::OnceWait { once } => self.object(once),
            Op::Alloc { addr, size } => range(addr, size),
            Op::Free { addr: _ } => Ok(()),
            Op::Input { source, value: _ } | Op::Output { source } => self.object(source),
        }
    }

    #[inline]
    fn thread(&self, id: ThreadId) -> Result<(), EventFault> {
        if id.index() < self.threads {
            Ok(())
        } else {
            Err(EventFault::UnknownThread {
                id: id.0.into(),
                rows: self.threads,
            })
        }
    }

    fn object(&self, id: ObjectId) -> Result<(), EventFault> {
        if id.index() < self.objects {
            Ok(())
        } else {
            Err(EventFault::UnknownObject {
                id: id.0.into(),
                rows: self.objects,
            })
        }
    }
}

#[inline]
fn access(mem: MemRange, values: &[u64]) -> Result<(), EventFault> {
    let MemRange { addr, size } = mem;
    if !(1..=8).contains(&size) {
        return Err(EventFault::AccessSize { size });
    }
    range(addr, size.into())?;
    match values.iter().find(|&&value| value & !mask(size) != 0) {
        Some(&value) => Err(EventFault::ValueTooWide { value, size }),
        None => Ok(()),
    }
}

/// `addr + size` must not overflow, so that all who read the event may compute it.
fn range(addr: u64, size: u64) -> Result<(), EventFault> {
    match addr.checked_add(size) {
        Some(_) => Ok(()),
        None => Err(EventFault::AddressWraps { addr, size }),
    }
}
