//! What holds of π alone, and of no prefix of it: objects are what the table says they are, and no block is allocated
//! over one that lives. A prefix may allocate in another order than π, and gets its memory elsewhere then.

use crate::Checker;
use crate::disabled::Disabled;
use trace_format::{EventId, ObjectId, ObjectInfo, ObjectKind, Op};

type Kinds = (&'static str, &'static [ObjectKind]);

const LOCK: Kinds = (
    "a lock",
    &[
        ObjectKind::Mutex,
        ObjectKind::RecursiveMutex,
        ObjectKind::RwLock,
        ObjectKind::SpinLock,
    ],
);
const CONDITION: Kinds = ("a condition", &[ObjectKind::Condition]);
const BARRIER: Kinds = ("a barrier", &[ObjectKind::Barrier]);
const SEMAPHORE: Kinds = ("a semaphore", &[ObjectKind::Semaphore]);
const ONCE: Kinds = ("a once cell", &[ObjectKind::Once]);
const SOURCE: Kinds = ("a source", &[ObjectKind::Source]);

/// The first event that allocates a block over one that lives.
pub(crate) fn overlap(checker: &Checker<'_>) -> Option<(EventId, Disabled)> {
    // Recordings of native programs list their modules.
    let native = !checker.recording.tables().modules.is_empty();
    let mut overlaps = checker.bytes.overlaps.iter().filter(|_| !native);
    let &(event, alloc) = overlaps.next()?;
    Some((event, Disabled::Overlaps { alloc }))
}

/// Why an operation is none on these objects.
pub(crate) fn of_other_kind(objects: &[ObjectInfo], op: Op) -> Option<Disabled> {
    let mut used = used(op).into_iter().flatten();
    used.find_map(|(object, (used_as, kinds))| {
        let kind = objects.get(object.index())?.kind;
        (!kinds.contains(&kind)).then_some(Disabled::OtherKind { object, kind, used_as })
    })
}

/// The objects that an operation uses, and as what.
fn used(op: Op) -> [Option<(ObjectId, Kinds)>; 2] {
    let one = |object, kinds| [Some((object, kinds)), None];
    match op {
        Op::Acquire { lock, .. }
        | Op::AcquireShared { lock, .. }
        | Op::Release { lock }
        | Op::AcquireFailed { lock, .. } => one(lock, LOCK),
        Op::WaitBegin { condition, lock } | Op::WaitEnd { condition, lock, .. } => {
            [Some((condition, CONDITION)), Some((lock, LOCK))]
        }
        Op::Notify { condition } | Op::NotifyAll { condition } => one(condition, CONDITION),
        Op::BarrierEnter { barrier, .. } | Op::BarrierExit { barrier, .. } => one(barrier, BARRIER),
        Op::SemPost { semaphore }
        | Op::SemWait { semaphore, .. }
        | Op::SemWaitFailed { semaphore }
        | Op::SemValue { semaphore, .. } => one(semaphore, SEMAPHORE),
        Op::OnceBegin { once } | Op::OnceEnd { once } | Op::OnceWait { once } => one(once, ONCE),
        Op::Input { source, .. } | Op::Output { source } => one(source, SOURCE),
        _ => [None, None],
    }
}
