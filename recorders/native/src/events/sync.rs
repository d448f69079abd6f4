//! Events on synchronization objects.

use super::objects::{Object, Objects, Taken};
use super::{Tables, at, event_of, frequent, running, with_tables};
use crate::platform::memory::NOBODYS;
use crate::scheduling::recording::RING;
use event_coding::{Operands, Shape, kind};
use recorder_ring::record::OnceStep;
use recorder_ring::{Flag, ObjectClass, Record};

/// The thread, which runs, has taken a lock.
#[inline(never)]
pub fn acquire(pc: u64, class: ObjectClass, lock: u64, shared: bool, attempt: bool) {
    let thread = running();
    let number = with_tables(|tables| {
        let lock = tables.objects.taken_by(thread, class, lock, shared);
        if shared {
            lock.acquire_shared(thread);
        } else {
            lock.acquire(thread);
        }
        lock.number
    });
    if shared {
        flagged(pc, kind::ACQUIRE_SHARED, attempt, number, 0);
    } else {
        frequent::<{ kind::ACQUIRE }>(pc, attempt.into(), of_number(number));
    }
}

/// The thread, which runs, gives a lock back.
#[inline(never)]
pub fn release(pc: u64, class: ObjectClass, lock: u64) {
    let thread = running();
    let (number, own) = with_tables(|tables| {
        let lock = tables.objects.at(class, lock, 0);
        let own = lock.release(thread);
        (lock.number, own)
    });
    if !own {
        // SAFETY: the ring is attached while anything is recorded.
        unsafe { RING.flag(Flag::ForeignUnlock) };
    }
    frequent::<{ kind::RELEASE }>(pc, 0, of_number(number));
}

/// Records what the thread, which runs, did to an object.
pub fn record(record: Record, thread: u32, tables: &mut Tables) {
    let objects = &mut tables.objects;
    match record {
        Record::Init { class, object, count } => {
            objects.begin(class, object, count);
        }
        Record::Destroy { object } => objects.end(object),
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
        Record::WaitBegin {
            pc,
            condition,
            class,
            lock,
        } => {
            let condition = objects.at(ObjectClass::Condition, condition, 0).number;
            let lock = objects.at(class, lock, 0);
            match lock.taken_from(thread) {
                Taken::Own => {}
                // No program may do that. A mutex of this kind does as it is told, and is as free as if its owner had
                // given it back.
                taken => {
                    if taken == Taken::Others {
                        lock.release(thread);
                        // SAFETY: the ring is attached while anything is recorded.
                        unsafe { RING.flag(Flag::ForeignUnlock) };
                        at(pc, kind::RELEASE, lock.number.into());
                    }
                    lock.acquire(thread);
                    at(pc, kind::ACQUIRE, lock.number.into());
                }
            }
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
            attempt,
        } => {
            let (depth, condition) = match tables.waiting.remove(&thread) {
                Some(waiting) => waiting,
                None => (1, objects.at(ObjectClass::Condition, condition, 0).number),
            };
            let lock = objects.at(class, lock, 0);
            lock.take_again(thread, depth);
            shaped(
                pc,
                kind::WAIT_END,
                u8::from(timed_out) | u8::from(attempt) << 1,
                condition,
                lock.number,
            );
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
        Record::BarrierExit { pc, barrier, attempt } => {
            // The one that the thread entered, even if it was destroyed before all had left.
            if let Some((number, round)) = tables.entered.remove(&thread) {
                // Of one that processes share, the first who leaves a round shows that it is full.
                objects.complete(barrier, number, round);
                flagged(pc, kind::BARRIER_EXIT, attempt, number, round);
            }
        }
        Record::SemPost {
            pc,
            semaphore,
            count,
            shared,
        } => {
            let known = semaphore_at(objects, pc, semaphore, count);
            known.permits = known.permits.saturating_add(1);
            at(pc, kind::SEM_POST, known.number.into());
            told_others(objects, pc, semaphore, shared);
        }
        Record::SemWait {
            pc,
            semaphore,
            count,
            shared,
            timed,
        } => {
            let known = semaphore_at(objects, pc, semaphore, count);
            known.permits = known.permits.saturating_sub(1);
            let number = known.number;
            flagged(pc, kind::SEM_WAIT, timed || shared, number, 0);
            told_others(objects, pc, semaphore, shared);
        }
        Record::SemWaitFailed { pc, semaphore } => {
            let number = semaphore_at(objects, pc, semaphore, 0).number;
            at(pc, kind::SEM_WAIT_FAILED, number.into());
        }
        Record::SemValue { pc, semaphore, count } => {
            let number = semaphore_at(objects, pc, semaphore, count).number;
            let operands = Operands {
                target: number.into(),
                value: count.into(),
                written: 0,
            };
            event_of(pc, Shape::plain(kind::SEM_VALUE), operands);
        }
        Record::Once { pc, once, step } => {
            if step == OnceStep::Begin && objects.at(ObjectClass::Once, once, 0).rounds > 0 {
                objects.end(once);
            }
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
                target: source.into(),
                value,
                written: 0,
            };
            event_of(pc, Shape::plain(kind::INPUT), operands);
        }
        // The others are accesses, locks, threads and memory, which `push` and `rare` handle.
        _ => {}
    }
}

/// The semaphore at an address, which had this count just now. If what was recorded of it says otherwise, another
/// process, or code that is not recorded, posted or waited, or wrote to its memory: then it is another semaphore from
/// here on, and what was recorded of it comes before all that follows.
fn semaphore_at(objects: &mut Objects, pc: u64, semaphore: u64, count: u32) -> &mut Object {
    if objects.at(ObjectClass::Semaphore, semaphore, count).permits != count {
        let operands = Operands {
            target: permits_of(objects, semaphore),
            value: count.into(),
            written: 0,
        };
        event_of(pc, Shape::plain(kind::INPUT), operands);
        objects.begin(ObjectClass::Semaphore, semaphore, count);
    }
    objects.at(ObjectClass::Semaphore, semaphore, count)
}

/// Other processes may learn of what a thread did to a semaphore that they share, and act on it.
fn told_others(objects: &mut Objects, pc: u64, semaphore: u64, shared: bool) {
    if shared {
        at(pc, kind::OUTPUT, permits_of(objects, semaphore));
    }
}

/// What the permits of a semaphore go to and come from when other processes share it.
fn permits_of(objects: &mut Objects, semaphore: u64) -> u64 {
    objects.at(ObjectClass::Source, semaphore | NOBODYS, 0).number.into()
}

/// The operands of an event with a number and nothing else.
fn of_number(number: u32) -> Operands {
    Operands {
        target: number.into(),
        ..Operands::default()
    }
}

/// An event with a flag and a number as its value.
fn flagged(pc: u64, kind: u8, flag: bool, target: u32, value: u32) {
    shaped(pc, kind, flag.into(), target, value);
}

/// The same with several flags.
fn shaped(pc: u64, kind: u8, parameter: u8, target: u32, value: u32) {
    let operands = Operands {
        target: target.into(),
        value: value.into(),
        written: 0,
    };
    event_of(pc, Shape { kind, parameter }, operands);
}
