//! Synchronization: who learns, at which object, what others knew (`docs/SEMANTICS.md`, section 3, *unordered races*).
//!
//! A thread that operates on an object leaves there what it knows, and takes along what others have left. What is left
//! is kept apart by who left it, since not everyone learns of everyone: one reader of a lock learns nothing of another.
//! Memory and threads pass on knowledge, too; what that takes is not a matter of their operations alone.

pub use super::passing::{Among, Passing};

use super::{Family, barriers, locks, onces, outside, semaphores};
use crate::trace::{MemoryOrder, ObjectId, Op, ThreadId};
use hashbrown::HashMap;

/// Whether the read of an atomic operation, or a fence, of this order learns what was released.
#[must_use]
pub fn acquires(order: MemoryOrder) -> bool {
    !matches!(order, MemoryOrder::Relaxed | MemoryOrder::Release)
}

/// Whether its write, or the fence, releases what its thread knows.
#[must_use]
pub fn releases(order: MemoryOrder) -> bool {
    matches!(order, MemoryOrder::Release | MemoryOrder::AcqRel | MemoryOrder::SeqCst)
}

/// Whether an atomic operation that reads, or writes, or both, is weak: another thread may see its write, or it
/// another's, with nobody learning anything. Without such an operation there are no unordered races.
#[must_use]
pub fn is_weak(reads: bool, writes: bool, order: MemoryOrder) -> bool {
    reads && !acquires(order) || writes && !releases(order)
}

/// Which holds of locks are readers': whom a thread that gives one back tells of what it knows depends on that.
#[derive(Clone, Debug)]
pub struct Readers {
    depth: HashMap<(ObjectId, ThreadId), u32>,
    /// Threads may give back what others hold, so nothing tells readers' holds from others.
    for_others: bool,
}

impl Readers {
    /// None yet.
    #[must_use]
    pub fn none(foreign_unlock: bool) -> Readers {
        Readers {
            depth: HashMap::new(),
            for_others: foreign_unlock,
        }
    }

    /// What an operation passes on at which object, step by step. Who is woken learns of the notify besides, and first.
    pub fn passing(&mut self, thread: ThreadId, op: Op) -> Option<(ObjectId, &'static [Passing])> {
        match Family::of(op) {
            Family::Threads | Family::Memory | Family::Control => None,
            Family::Locks | Family::Waits => {
                locks::Step::of(op).map(|(lock, step)| (lock, self.at_lock(thread, lock, step)))
            }
            Family::Semaphores => semaphores::Step::of(op).map(|(semaphore, step)| (semaphore, step.passing())),
            Family::Barriers => barriers::Step::of(op).map(|(barrier, step)| (barrier, step.passing())),
            Family::Onces => onces::Step::of(op).map(|(once, step)| (once, step.passing())),
            Family::Outside => outside::Step::of(op).map(|(source, step)| (source, step.passing())),
        }
    }

    fn at_lock(&mut self, thread: ThreadId, lock: ObjectId, step: locks::Step) -> &'static [Passing] {
        let mut by_reader = false;
        match step {
            locks::Step::Take { shared: true } => *self.depth.entry((lock, thread)).or_default() += 1,
            locks::Step::GiveBack => {
                if let Some(depth) = self.depth.get_mut(&(lock, thread)).filter(|depth| **depth > 0) {
                    *depth -= 1;
                    by_reader = true;
                }
            }
            _ => {}
        }
        step.passing(self.for_others, by_reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_learns_and_what_releases_is_not_weak() {
        use MemoryOrder::{AcqRel, Acquire, Relaxed, Release, SeqCst};
        let weak =
            |reads, writes| [Relaxed, Acquire, Release, AcqRel, SeqCst].map(|order| is_weak(reads, writes, order));
        assert_eq!(weak(true, false), [true, false, true, false, false], "loads");
        assert_eq!(weak(false, true), [true, true, false, false, false], "stores");
        assert_eq!(weak(true, true), [true, true, true, false, false], "both");
    }

    #[test]
    fn who_gives_a_lock_back_is_a_reader_as_often_as_it_has_read() {
        let (lock, thread) = (ObjectId(0), ThreadId(1));
        let mut readers = Readers::none(false);
        let (read, give_back) = (Op::AcquireShared { lock }, Op::Release { lock });
        let steps = [read, read, give_back, give_back, give_back];
        let passed = steps.map(|op| readers.passing(thread, op).expect("a lock").1);
        assert_eq!(passed[2..4], [&[Passing::Tells(Among::Readers)]; 2]);
        assert_eq!(passed[4], [Passing::Tells(Among::Givers)]);
        assert_eq!(readers.passing(thread, Op::Branch), None);
    }
}
