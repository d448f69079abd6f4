//! Events on synchronization objects.

use super::{Tables, at, event_of};
use crate::scheduling::recording::RING;
use event_coding::{Operands, Shape, kind};
use recorder_ring::record::OnceStep;
use recorder_ring::{Flag, ObjectClass, Record};

/// Records what the thread, which runs, did to an object.
pub fn record(record: Record, thread: u32, tables: &mut Tables) {
    let objects = &mut tables.objects;
    match record {
        Record::Init { class, object, count } => {
            objects.begin(class, object, count);
        }
        Record::Destroy { object } => objects.end(object),
        Record::Acquire {
            pc,
            class,
            lock,
            shared,
        } => {
            let lock = objects.at(class, lock, 0);
            let kind = if shared {
                lock.acquire_shared(thread);
                kind::ACQUIRE_SHARED
            } else {
                lock.acquire(thread);
                kind::ACQUIRE
            };
            at(pc, kind, lock.number.into());
        }
        Record::AcquireFailed {
            pc,
            class,
            lock,
            shared,
        } => {
            let lock = objects.at(class, lock, 0);
            if lock.is_held_by_another(thread, shared) {
                flagged(pc, kind::ACQUIRE_FAILED, shared, lock.number, 0);
            }
        }
        Record::Release { pc, class, lock } => {
            let lock = objects.at(class, lock, 0);
            if !lock.release(thread) {
                // SAFETY: the ring is attached while anything is recorded.
                unsafe { RING.flag(Flag::ForeignUnlock) };
            }
            at(pc, kind::RELEASE, lock.number.into());
        }
        Record::WaitBegin {
            pc,
            condition,
            class,
            lock,
        } => {
            let condition = objects.at(ObjectClass::Condition, condition, 0).number;
            let lock = objects.at(class, lock, 0);
            let depth = lock.give_up();
            let lock = lock.number;
            tables.waiting.insert(thread, (depth, condition));
            flagged(pc, kind::WAIT_BEGIN, false, condition, lock);
        }
        Record::WaitEnd {
            pc,
            condition,
            class,
            lock,
            timed_out,
        } => {
            let (depth, condition) = match tables.waiting.remove(&thread) {
                Some(waiting) => waiting,
                None => (1, objects.at(ObjectClass::Condition, condition, 0).number),
            };
            let lock = objects.at(class, lock, 0);
            lock.take_again(thread, depth);
            flagged(pc, kind::WAIT_END, timed_out, condition, lock.number);
        }
        Record::Notify { pc, condition, all } => {
            let kind = if all { kind::NOTIFY_ALL } else { kind::NOTIFY };
            at(pc, kind, objects.at(ObjectClass::Condition, condition, 0).number.into());
        }
        Record::BarrierEnter { pc, barrier, last } => {
            let barrier = objects.at(ObjectClass::Barrier, barrier, 0);
            let (number, round) = (barrier.number, barrier.rounds);
            barrier.rounds += u32::from(last);
            tables.entered.insert(thread, (number, round));
            flagged(pc, kind::BARRIER_ENTER, false, number, round);
        }
        Record::BarrierExit { pc, barrier } => {
            // The one that the thread entered, even if it was destroyed before all had left.
            if let Some((number, round)) = tables.entered.remove(&thread) {
                // Of one that processes share, the first who leaves a round shows that it is full.
                objects.complete(barrier, number, round);
                flagged(pc, kind::BARRIER_EXIT, false, number, round);
            }
        }
        Record::SemPost { pc, semaphore, count } => {
            let semaphore = objects.at(ObjectClass::Semaphore, semaphore, count);
            semaphore.permits = semaphore.permits.saturating_add(1);
            at(pc, kind::SEM_POST, semaphore.number.into());
        }
        Record::SemWait { pc, semaphore, count } => {
            let semaphore = objects.at(ObjectClass::Semaphore, semaphore, count);
            semaphore.permits = semaphore.permits.saturating_sub(1);
            at(pc, kind::SEM_WAIT, semaphore.number.into());
        }
        Record::SemWaitFailed { pc, semaphore } => {
            let semaphore = objects.at(ObjectClass::Semaphore, semaphore, 0);
            // If somebody took the permits whom nobody recorded, what the recorded threads did is not why it failed.
            if semaphore.permits == 0 {
                at(pc, kind::SEM_WAIT_FAILED, semaphore.number.into());
            }
        }
        Record::SemValue { pc, semaphore, count } => {
            let semaphore = objects.at(ObjectClass::Semaphore, semaphore, count);
            // As above: of another count, what the recorded threads did is not the reason.
            if semaphore.permits == count {
                let (number, pc) = (semaphore.number.into(), pc);
                let operands = Operands {
                    place: number,
                    value: count.into(),
                    written: 0,
                };
                event_of(pc, Shape::plain(kind::SEM_VALUE), operands);
            }
        }
        Record::Once { pc, once, step } => {
            let once = objects.at(ObjectClass::Once, once, 0);
            let kind = match step {
                OnceStep::Begin => kind::ONCE_BEGIN,
                OnceStep::End => {
                    once.rounds = 1;
                    kind::ONCE_END
                }
                // Initialized before recording began, which is before everything: there is nothing to wait for.
                OnceStep::Wait if once.rounds == 0 => return,
                OnceStep::Wait => kind::ONCE_WAIT,
            };
            at(pc, kind, once.number.into());
        }
        Record::Input { pc, source, value } => {
            let source = objects.at(ObjectClass::Source, source, 0).number;
            let operands = Operands {
                place: source.into(),
                value,
                written: 0,
            };
            event_of(pc, Shape::plain(kind::INPUT), operands);
        }
        // The others are accesses, threads and memory, which `rare` handles.
        _ => {}
    }
}

/// An event with a flag and a number as its value.
fn flagged(pc: u64, kind: u8, flag: bool, place: u32, value: u32) {
    let operands = Operands {
        place: place.into(),
        value: value.into(),
        written: 0,
    };
    let parameter = u8::from(flag);
    event_of(pc, Shape { kind, parameter }, operands);
}
