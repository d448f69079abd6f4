//! The parts of an [`Op`], for the encoding of events.
//!
//! Every operation falls into a *shape* (its kind, and a parameter byte with what is fixed for one
//! instruction: access size, memory order, …) and up to three *operands*: the *target* that it acts
//! on, the *value* seen or stored, and what a read-modify-write has *written*. The crate
//! `event-coding`, which predicts and encodes them, knows only these, not thirty operations.

use crate::event::{MemRange, MemoryOrder, ObjectId, Op, ThreadId, WaitOutcome};
use crate::fault::{EncodingFault, EventFault};
use event_coding::{Fault, Operands, Shape, kind};

/// Bits 0–2: size − 1, bits 3–5: memory order.
fn access(size: u8, order: u8) -> u8 {
    // Sizes out of range are refused before anything is encoded.
    Shape::access(0, size, order).parameter
}

impl Op {
    /// The number of its kind, in traces and in what the runtime writes.
    #[must_use]
    pub fn kind(&self) -> u8 {
        dissect(self).0.kind
    }

    /// The name of its kind in the project's `docs/SEMANTICS.md`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        kind::NAMES[usize::from(self.kind())]
    }
}

/// Takes an operation apart.
pub(crate) fn dissect(op: &Op) -> (Shape, Operands) {
    let (kind, parameter, target, value, written) = match *op {
        Op::Begin => (0, 0, 0, 0, 0),
        Op::End => (1, 0, 0, 0, 0),
        Op::Fork { child } => (2, 0, child.0.into(), 0, 0),
        Op::Join { child, attempt } => (3, attempt.into(), child.0.into(), 0, 0),
        Op::Read { mem, value } => (4, access(mem.size, 0), mem.addr, value, 0),
        Op::Write { mem, value } => (5, access(mem.size, 0), mem.addr, value, 0),
        Op::Acquire { lock, attempt } => (6, attempt.into(), lock.0.into(), 0, 0),
        Op::AcquireShared { lock, attempt } => (7, attempt.into(), lock.0.into(), 0, 0),
        Op::Release { lock } => (8, 0, lock.0.into(), 0, 0),
        Op::AcquireFailed { lock, shared } => (9, shared.into(), lock.0.into(), 0, 0),
        Op::WaitBegin { condition, lock } => (10, 0, condition.0.into(), lock.0.into(), 0),
        Op::WaitEnd {
            condition,
            lock,
            outcome,
            attempt,
        } => {
            let parameter = outcome as u8 | u8::from(attempt) << 1;
            (11, parameter, condition.0.into(), lock.0.into(), 0)
        }
        Op::Notify { condition } => (12, 0, condition.0.into(), 0, 0),
        Op::NotifyAll { condition } => (13, 0, condition.0.into(), 0, 0),
        Op::BarrierEnter { barrier, round } => (14, 0, barrier.0.into(), round.into(), 0),
        Op::BarrierExit {
            barrier,
            round,
            attempt,
        } => (15, attempt.into(), barrier.0.into(), round.into(), 0),
        Op::SemPost { semaphore } => (16, 0, semaphore.0.into(), 0, 0),
        Op::SemWait { semaphore, attempt } => (17, attempt.into(), semaphore.0.into(), 0, 0),
        Op::OnceBegin { once } => (18, 0, once.0.into(), 0, 0),
        Op::OnceEnd { once } => (19, 0, once.0.into(), 0, 0),
        Op::OnceWait { once } => (20, 0, once.0.into(), 0, 0),
        Op::AtomicLoad { mem, value, order } => (21, access(mem.size, order as u8), mem.addr, value, 0),
        Op::AtomicStore { mem, value, order } => (22, access(mem.size, order as u8), mem.addr, value, 0),
        Op::AtomicRmw {
            mem,
            read,
            written,
            order,
        } => (23, access(mem.size, order as u8), mem.addr, read, written),
        Op::Fence { order } => (24, (order as u8) << 3, 0, 0, 0),
        Op::Alloc { addr, size } => (25, 0, addr, size, 0),
        Op::Free { addr } => (26, 0, addr, 0, 0),
        Op::Branch => (27, 0, 0, 0, 0),
        Op::Input { source, value } => (28, 0, source.0.into(), value, 0),
        Op::Output { source } => (29, 0, source.0.into(), 0, 0),
        Op::Use { mem } => (30, access(mem.size, 0), mem.addr, 0, 0),
        Op::SemWaitFailed { semaphore } => (31, 0, semaphore.0.into(), 0, 0),
        Op::SemValue { semaphore, value } => (32, 0, semaphore.0.into(), value.into(), 0),
        Op::Destroy { mem, value } => (33, access(mem.size, 0), mem.addr, value, 0),
    };
    (Shape { kind, parameter }, Operands { target, value, written })
}

/// A plain access, which nearly all events are.
#[inline(always)]
pub(crate) fn plain_access(shape: Shape, operands: Operands) -> Option<Op> {
    let (addr, value) = (operands.target, operands.value);
    let mem = MemRange {
        addr,
        size: (shape.parameter & 7) + 1,
    };
    match shape.kind {
        _ if shape.parameter >= 8 => None,
        kind::READ => Some(Op::Read { mem, value }),
        kind::WRITE => Some(Op::Write { mem, value }),
        _ => None,
    }
}

/// Puts an operation together; everything that no operation of this version gives is refused.
pub(crate) fn assemble(shape: Shape, operands: Operands) -> Result<Op, EncodingFault> {
    match plain_access(shape, operands) {
        Some(op) => Ok(op),
        None => assemble_other(shape, operands),
    }
}

fn assemble_other(shape: Shape, operands: Operands) -> Result<Op, EncodingFault> {
    let Shape { kind, parameter } = shape;
    let bad_shape = EncodingFault::from(Fault::BadShape { kind, parameter });
    let order = match parameter >> 3 {
        0 => MemoryOrder::Relaxed,
        1 => MemoryOrder::Consume,
        2 => MemoryOrder::Acquire,
        3 => MemoryOrder::Release,
        4 => MemoryOrder::AcqRel,
        5 => MemoryOrder::SeqCst,
        _ => return Err(bad_shape),
    };
    // Which parameters a kind has: none, one bit or two, a size, an order, or a size and an order.
    let allowed = match kind {
        3 | 6 | 7 | 9 | 15 | 17 => 0b1,
        11 => 0b11,
        30 | 33 => 0b111,
        24 => 0b11_1000,
        21..=23 => 0b11_1111,
        _ => 0,
    };
    if parameter & !allowed != 0 {
        return Err(bad_shape);
    }
    let Operands { target, value, written } = operands;
    let mem = MemRange {
        addr: target,
        size: (parameter & 7) + 1,
    };
    let flag = parameter & 1 == 1;
    Ok(match kind {
        0 => Op::Begin,
        1 => Op::End,
        2 => Op::Fork {
            child: thread_id(target)?,
        },
        3 => Op::Join {
            child: thread_id(target)?,
            attempt: flag,
        },
        6 => Op::Acquire {
            lock: object_id(target)?,
            attempt: flag,
        },
        7 => Op::AcquireShared {
            lock: object_id(target)?,
            attempt: flag,
        },
        8 => Op::Release {
            lock: object_id(target)?,
        },
        9 => Op::AcquireFailed {
            lock: object_id(target)?,
            shared: flag,
        },
        10 => Op::WaitBegin {
            condition: object_id(target)?,
            lock: object_id(value)?,
        },
        11 => {
            let outcome = if flag {
                WaitOutcome::TimedOut
            } else {
                WaitOutcome::Notified
            };
            Op::WaitEnd {
                condition: object_id(target)?,
                lock: object_id(value)?,
                outcome,
                attempt: parameter & 0b10 != 0,
            }
        }
        12 => Op::Notify {
            condition: object_id(target)?,
        },
        13 => Op::NotifyAll {
            condition: object_id(target)?,
        },
        14 => Op::BarrierEnter {
            barrier: object_id(target)?,
            round: narrow(value)?,
        },
        15 => Op::BarrierExit {
            barrier: object_id(target)?,
            round: narrow(value)?,
            attempt: flag,
        },
        16 => Op::SemPost {
            semaphore: object_id(target)?,
        },
        17 => Op::SemWait {
            semaphore: object_id(target)?,
            attempt: flag,
        },
        18 => Op::OnceBegin {
            once: object_id(target)?,
        },
        19 => Op::OnceEnd {
            once: object_id(target)?,
        },
        20 => Op::OnceWait {
            once: object_id(target)?,
        },
        21 => Op::AtomicLoad { mem, value, order },
        22 => Op::AtomicStore { mem, value, order },
        23 => Op::AtomicRmw {
            mem,
            read: value,
            written,
            order,
        },
        24 => Op::Fence { order },
        25 => Op::Alloc {
            addr: target,
            size: value,
        },
        26 => Op::Free { addr: target },
        27 => Op::Branch,
        28 => Op::Input {
            source: object_id(target)?,
            value,
        },
        29 => Op::Output {
            source: object_id(target)?,
        },
        30 => Op::Use { mem },
        31 => Op::SemWaitFailed {
            semaphore: object_id(target)?,
        },
        32 => Op::SemValue {
            semaphore: object_id(target)?,
            value: narrow(value)?,
        },
        33 => Op::Destroy { mem, value },
        _ => return Err(bad_shape),
    })
}

fn object_id(number: u64) -> Result<ObjectId, EventFault> {
    narrow(number).map(ObjectId)
}

fn thread_id(number: u64) -> Result<ThreadId, EventFault> {
    narrow(number).map(ThreadId)
}

fn narrow(number: u64) -> Result<u32, EventFault> {
    u32::try_from(number).map_err(|_| EventFault::NumberTooLarge { number })
}
