//! What the operations mean, one file a family of them: the table of `docs/SEMANTICS.md` for all parts of the analysis
//! to ask.
//!
//! An operation that is told apart in many places is soon told apart differently in two of them, and then a verdict is
//! wrong. So what several parts ask of all operations is answered here: which objects one uses, in what order with
//! others, on what grounds it is enabled, how it reads in words. What one family alone has (the count of a semaphore,
//! who holds a lock) stands in its file.
//!
//! The checker does not ask here, nor do the oracles of the tests: they judge what does.

pub mod action;
pub mod barriers;
pub mod blocking;
pub mod conflict;
pub mod futexes;
pub mod interrupted;
pub mod locks;
pub mod memory;
pub mod onces;
pub mod outside;
pub mod semaphores;
pub mod synchronizes;
pub mod threads;
pub mod waits;

mod before;
mod grounds;
mod needs;
mod passing;

pub use action::{Action, Turned};
pub use before::Before;
pub use grounds::Grounds;
pub use needs::{Gate, Need};

use crate::trace::{ObjectId, Op};

/// The families of operations. Each operation is in one, where its steps are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// [`threads`].
    Threads,
    /// Accesses, fences, blocks of memory.
    Memory,
    /// Control flow.
    Control,
    /// [`locks`].
    Locks,
    /// [`waits`], which also take and give back a lock.
    Waits,
    /// [`semaphores`].
    Semaphores,
    /// [`barriers`].
    Barriers,
    /// [`onces`].
    Onces,
    /// [`outside`].
    Outside,
}

impl Family {
    /// That of an operation.
    #[must_use]
    pub fn of(op: Op) -> Family {
        match op {
            Op::Begin | Op::End | Op::Fork { .. } | Op::Join { .. } => Family::Threads,
            Op::Access | Op::Fence { .. } | Op::Alloc { .. } => Family::Memory,
            Op::Branch => Family::Control,
            Op::Acquire { .. } | Op::AcquireShared { .. } | Op::Release { .. } | Op::AcquireFailed { .. } => {
                Family::Locks
            }
            Op::WaitBegin { .. } | Op::WaitEnd { .. } | Op::Notify { .. } | Op::NotifyAll { .. } => Family::Waits,
            Op::SemPost { .. } | Op::SemWait { .. } | Op::SemWaitFailed { .. } | Op::SemValue { .. } => {
                Family::Semaphores
            }
            Op::BarrierEnter { .. } | Op::BarrierExit { .. } => Family::Barriers,
            Op::OnceBegin { .. } | Op::OnceEnd { .. } | Op::OnceWait { .. } => Family::Onces,
            Op::Input { .. } | Op::Output { .. } => Family::Outside,
        }
    }
}

/// Which operations on an object an operation must stay in order with, so that all of them stay enabled, besides what
/// must happen before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InOrder {
    /// With every other.
    WithAll,
    /// With all but those of this kind: they only look.
    WithChanges,
    /// With none: what must happen before it is all that it needs.
    WithNone,
}

/// What an operation uses an object for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// The object.
    pub object: ObjectId,
    /// In what order with other operations on it.
    pub in_order: InOrder,
}

impl Use {
    fn of(object: ObjectId, in_order: InOrder) -> Use {
        Use { object, in_order }
    }
}

/// The objects that an operation uses, a condition before its lock.
#[must_use]
pub fn uses(op: Op) -> [Option<Use>; 2] {
    let condition = || waits::Step::of(op).map(|(condition, _)| Use::of(condition, InOrder::WithAll));
    let lock = || locks::Step::of(op).map(|(lock, step)| Use::of(lock, step.in_order()));
    let only = match Family::of(op) {
        Family::Threads | Family::Memory | Family::Control => None,
        Family::Waits => return [condition(), lock()],
        Family::Locks => lock(),
        Family::Semaphores => semaphores::Step::of(op).map(|(semaphore, step)| Use::of(semaphore, step.in_order())),
        Family::Onces => onces::Step::of(op).map(|(once, step)| Use::of(once, step.in_order())),
        Family::Barriers => barriers::Step::of(op).map(|(barrier, _)| Use::of(barrier, InOrder::WithNone)),
        Family::Outside => outside::Step::of(op).map(|(source, _)| Use::of(source, InOrder::WithNone)),
    };
    [only, None]
}

/// On what grounds an event is enabled where it is: what an argument rests on that needs it to be.
///
/// Barriers and once cells depend on the trace, too: whether a round has the same threads in each run, whether a cell
/// has several initializers ([`crate::prune`] knows). Here is said what holds of any.
#[must_use]
pub fn grounds(op: Op) -> Grounds {
    let by_step = match Family::of(op) {
        Family::Waits | Family::Onces | Family::Outside => return Grounds::Outcomes,
        Family::Threads | Family::Memory | Family::Control | Family::Barriers => None,
        Family::Locks => locks::Step::of(op).map(|(_, step)| step.grounds()),
        Family::Semaphores => semaphores::Step::of(op).map(|(_, step)| step.grounds()),
    };
    by_step.unwrap_or(Grounds::Structure)
}

/// What an operation on objects does, as a predicate: `locks mutex m`. `object` is what an object is called, `woken`
/// what is said of those that a notify wakes, `number` how a value is written. `None` for operations on threads and
/// memory, and for those without an object.
#[must_use]
pub fn words(
    op: Op,
    object: &dyn Fn(ObjectId) -> String,
    number: &dyn Fn(u64) -> String,
    woken: &str,
) -> Option<String> {
    match Family::of(op) {
        Family::Threads | Family::Memory | Family::Control => None,
        Family::Locks => locks::Step::of(op).map(|(lock, step)| step.words(&object(lock))),
        Family::Waits => waits::Step::of(op).map(|(condition, step)| {
            let lock = locks::Step::of(op).map(|(lock, _)| object(lock));
            step.words(&object(condition), lock.as_deref().unwrap_or_default(), woken)
        }),
        Family::Semaphores => semaphores::Step::of(op).map(|(semaphore, step)| step.words(&object(semaphore))),
        Family::Barriers => barriers::Step::of(op).map(|(barrier, step)| step.words(&object(barrier))),
        Family::Onces => onces::Step::of(op).map(|(once, step)| step.words(&object(once))),
        Family::Outside => outside::Step::of(op).map(|(source, step)| step.words(&object(source), number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::WaitOutcome;

    /// One operation of each kind that has an object.
    fn with_objects() -> Vec<Op> {
        let (lock, condition) = (ObjectId(1), ObjectId(2));
        let (semaphore, barrier, once, source) = (ObjectId(3), ObjectId(4), ObjectId(5), ObjectId(6));
        let (round, value) = (7, 8);
        let outcome = WaitOutcome::TimedOut;
        vec![
            Op::Acquire { lock },
            Op::AcquireShared { lock },
            Op::Release { lock },
            Op::AcquireFailed { lock, shared: true },
            Op::WaitBegin { condition, lock },
            Op::WaitEnd {
                condition,
                lock,
                outcome,
            },
            Op::Notify { condition },
            Op::NotifyAll { condition },
            Op::SemPost { semaphore },
            Op::SemWait { semaphore },
            Op::SemWaitFailed { semaphore },
            Op::SemValue { semaphore, value: 2 },
            Op::BarrierEnter { barrier, round },
            Op::BarrierExit { barrier, round },
            Op::OnceBegin { once },
            Op::OnceEnd { once },
            Op::OnceWait { once },
            Op::Input { source, value },
            Op::Output { source },
        ]
    }

    #[test]
    fn every_operation_on_an_object_has_a_step_and_names_it_in_its_words() {
        for op in with_objects() {
            let used: Vec<ObjectId> = uses(op).into_iter().flatten().map(|used| used.object).collect();
            assert!(!used.is_empty(), "{op:?}");
            let words = words(
                op,
                &|object| format!("object {}", object.0),
                &|value| value.to_string(),
                "",
            );
            let words = words.unwrap_or_else(|| panic!("{op:?} has no words"));
            for object in used {
                assert!(words.contains(&format!("object {}", object.0)), "{op:?}: {words}");
            }
        }
    }

    #[test]
    fn what_only_looks_stays_in_order_with_what_changes() {
        let looks = with_objects().into_iter().filter(|&op| {
            uses(op)
                .iter()
                .flatten()
                .any(|used| used.in_order == InOrder::WithChanges)
        });
        let (lock, semaphore, once) = (ObjectId(1), ObjectId(3), ObjectId(5));
        let expected = [
            Op::AcquireShared { lock },
            Op::SemWaitFailed { semaphore },
            Op::SemValue { semaphore, value: 2 },
            Op::OnceWait { once },
        ];
        assert_eq!(looks.collect::<Vec<_>>(), expected);
    }
}
