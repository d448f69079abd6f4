//! What threads hear of each other's time, where clocks [stand](crate::scheduling::clocks).
//!
//! There a thread's clocks go on by what it sleeps or waits for in vain. Whoever hears of that, by an operation that
//! orders the two, is as late: no moment that a thread was told by another one lies ahead of it, and what a joined
//! thread has slept has passed for the one that joins it.

use crate::platform::memory::NOBODYS;
use crate::scheduling::clocks;
use recorder_ring::Record;
use recorder_ring::record::OnceStep;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// How late it was, for those who went on from an object, or from a variable of the program's or of the runtime's.
struct Told(RefCell<BTreeMap<u64, i64>>);

// SAFETY: only the thread with the baton gets here.
unsafe impl Sync for Told {}

static TOLD: Told = Told(RefCell::new(BTreeMap::new()));

/// Where the time is kept of a thread's beginning, and of its end.
fn beginning(thread: u32) -> u64 {
    NOBODYS | u64::from(thread) << 1
}

fn end(thread: u32) -> u64 {
    beginning(thread) | 1
}

/// The running thread does this, which others hear of, or by which it hears of others.
pub fn note(record: &Record) {
    match *record {
        Record::Fork { child, .. } => tell(beginning(child)),
        Record::Begin { .. } => hear(beginning(clocks::whose())),
        Record::End { .. } => tell(end(clocks::whose())),
        Record::Join { child, .. } => hear(end(child)),
        Record::Acquire { lock, .. } | Record::AcquireFailed { lock, .. } => hear(lock),
        Record::Release { lock, .. } | Record::WaitBegin { lock, .. } => tell(lock),
        Record::Notify { condition, .. } => tell(condition),
        Record::WaitEnd {
            condition,
            lock,
            timed_out,
            ..
        } => {
            hear(lock);
            if !timed_out {
                hear(condition);
            }
        }
        Record::BarrierEnter { barrier, .. } => tell(barrier),
        Record::BarrierExit { barrier, .. } => hear(barrier),
        Record::SemPost { semaphore, .. } => tell(semaphore),
        Record::SemWait { semaphore, .. } => hear(semaphore),
        Record::Once { once, step, .. } => match step {
            OnceStep::Begin => {}
            OnceStep::End => tell(once),
            OnceStep::Wait => hear(once),
        },
        Record::AtomicStore { addr, .. } => tell(addr),
        Record::AtomicLoad { addr, .. } => hear(addr),
        Record::AtomicRmw { addr, .. } => {
            hear(addr);
            tell(addr);
        }
        _ => {}
    }
}

fn tell(object: u64) {
    let passed = clocks::passed();
    if passed != 0 {
        let mut told = TOLD.0.borrow_mut();
        let before = told.entry(object).or_default();
        *before = passed.max(*before);
    }
}

fn hear(object: u64) {
    if let Some(&passed) = TOLD.0.borrow().get(&object) {
        clocks::has_passed(passed);
    }
}
