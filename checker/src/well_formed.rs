//! What holds of π alone, and of no prefix of it: objects are what the table says they are, and no block is allocated
//! over one that lives. A prefix may allocate in another order than π, and gets its memory elsewhere then.

use crate::Checker;
use crate::disabled::{Disabled, Violation};
use crate::recording::all;
use trace_format::{EventId, ObjectId, ObjectKind, Op};

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

/// The first event for which it does not hold.
pub(crate) fn well_formed(checker: &Checker<'_>) -> Result<(), Violation> {
    let (recording, tables) = (checker.recording, checker.recording.tables());
    let violation = |event: EventId, why: Disabled| Violation {
        event,
        thread: recording.thread(event),
        why,
    };
    // Recordings of native programs list their modules.
    let mut overlaps = checker.bytes.overlaps.iter().filter(|_| tables.modules.is_empty());
    let overlap = overlaps.next();
    let overlap = overlap.map(|&(event, alloc)| violation(event, Disabled::Overlaps { alloc }));
    let of_other_kind = all(recording).find_map(|event| {
        let used = used(recording.op(event)).into_iter().flatten();
        let mut wrong = used.filter_map(|(object, (used_as, kinds))| {
            let kind = tables.objects.get(object.index())?.kind;
            (!kinds.contains(&kind)).then_some(Disabled::OtherKind { object, kind, used_as })
        });
        wrong.next().map(|why| violation(event, why))
    });
    let first = [overlap, of_other_kind].into_iter().flatten();
    first.min_by_key(|violation| violation.event).map_or(Ok(()), Err)
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
