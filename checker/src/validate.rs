//! Is the trace itself a sequentially consistent linearization?
//!
//! The trace does not say whom each notify woke. A notify that finds several waiters is taken to
//! wake the one whose wait ends first (earliest deadline first): if any choice explains the ends
//! of all waits, this one does, by exchanging the two whenever another was woken earlier.
//!
//! Only operations are executed, and accesses of threads that may not be there. Nothing else forbids an access in the
//! trace itself: the block that it touches was allocated before, or was always there; what it sees was left there, or is
//! an initial value, or unrecorded code has changed it; nothing that was used is gone but by what comes later; and pins
//! are places in this very order.

use crate::Checker;
use crate::disabled::Violation;
use crate::state::State;
use crate::well_formed::{of_other_kind, overlap};
use trace_format::{EventId, ObjectId, ThreadId};

/// A trace that is a sequentially consistent linearization.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Validated {
    /// How many reads are pinned, because they touch a byte that unrecorded code changes.
    pub pinned_reads: u64,
    /// The first read that saw a value which no recorded write explains.
    pub first_unexplained: Option<EventId>,
}

pub(crate) fn validate(checker: &Checker<'_>) -> Result<Validated, Violation> {
    let recording = checker.recording;
    let (objects, overlap) = (&recording.tables().objects, overlap(checker));
    let mut state = checker.start();
    for event in checker.facts.deciding.all() {
        let (thread, op) = (recording.thread(event), recording.op(event));
        let overlaps = overlap.clone().filter(|&(at, _)| at == event).map(|(_, why)| why);
        if let Some(why) = overlaps.or_else(|| of_other_kind(objects, op)) {
            return Err(Violation { event, thread, why });
        }
        state.pass_to(event);
        state.step_as_recorded_by(event, thread, op, None)?;
    }
    let unrecorded = &checker.unrecorded;
    let pinned_reads = unrecorded.pinned().filter(|&event| checker.reads_external(event));
    Ok(Validated {
        pinned_reads: pinned_reads.count() as u64,
        first_unexplained: unrecorded.first_unexplained,
    })
}

/// Of those that wait on a condition, the one whose wait ends first in π.
pub(crate) fn earliest_deadline(state: &State<'_>, condition: ObjectId) -> Option<ThreadId> {
    let waiting = state.waiting(condition);
    // A wait without an end in the trace comes last.
    let first = waiting
        .iter()
        .min_by_key(|waiter| waiter.end.map_or(u32::MAX, |end| end.0));
    first.map(|waiter| waiter.thread)
}

#[cfg(test)]
mod tests {
    use crate::recording::Access;
    use crate::table_tests::trace_with;
    use crate::{Checker, Disabled};
    use trace_format::{EventId, MemRange, MemoryOrder, ModuleInfo, Op, Tables, ThreadId};

    #[test]
    fn an_access_of_the_trace_itself_needs_no_more_than_its_thread() {
        let mut number = 1_u64;
        let mut below = |bound: u64| {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (number >> 33) % bound
        };
        let (mut pinned, mut unexplained) = (0, 0);
        for _ in 0..2000 {
            let mut tables = Tables::default();
            if below(2) == 0 {
                tables.modules.push(ModuleInfo {
                    path: "program".to_owned(),
                    base: 0,
                    start: 0,
                    end: 1,
                    build_id: Vec::new(),
                });
            }
            let mut live: Vec<u64> = Vec::new();
            let mut ops = Vec::new();
            for _ in 0..below(40) {
                let mem = MemRange {
                    addr: 0x1000 + below(24),
                    size: 1 << below(4),
                };
                let (value, order) = (below(3) * 0x0101, MemoryOrder::SeqCst);
                let op = match below(12) {
                    0..4 => Op::Read { mem, value },
                    4..7 => Op::Write { mem, value },
                    7 => Op::AtomicRmw {
                        mem,
                        read: value,
                        written: below(3),
                        order,
                    },
                    8 => Op::Use { mem },
                    9 => Op::Destroy { mem, value },
                    10 if !live.contains(&0x1000) && !live.contains(&0x1010) => {
                        let addr = 0x1000 + 16 * below(2);
                        live.push(addr);
                        Op::Alloc { addr, size: 16 }
                    }
                    _ => Op::Free {
                        addr: live.pop().unwrap_or(0x1000),
                    },
                };
                ops.push((below(3) as u32, op));
            }
            let trace = trace_with(tables, &ops);
            let checker = Checker::new(&trace);
            let valid = checker.validate().expect("nothing forbids it");
            let mut state = checker.start();
            state.distrust();
            let (mut first, mut reads) = (None, 0);
            for (event, &(_, op)) in (0..).map(EventId).zip(&ops) {
                if let Some(seen) = Access::of(op).and_then(|access| access.sees) {
                    let size = Access::of(op).map_or(0, |access| 8 * u32::from(access.mem.size));
                    let seen = seen & (u64::MAX >> (64 - size));
                    first = first.or((state.value_at(event) != Some(seen)).then_some(event));
                    reads += u64::from(checker.reads_external(event) && checker.unrecorded.pin(event).is_some());
                }
                assert!(state.step(event, None).is_ok(), "{ops:?} {event:?}");
            }
            assert_eq!((valid.first_unexplained, valid.pinned_reads), (first, reads), "{ops:?}");
            pinned += u32::from(reads > 0);
            unexplained += u32::from(first.is_some());
        }
        assert!(pinned > 100 && unexplained > 100, "{pinned} {unexplained}");
    }

    #[test]
    fn an_access_of_a_thread_that_is_not_there_is_a_violation() {
        let mem = MemRange { addr: 0x1000, size: 4 };
        let (read, fork) = (Op::Read { mem, value: 0 }, Op::Fork { child: ThreadId(1) });
        let violation = |ops: &[(u32, Op)]| {
            let trace = trace_with(Tables::default(), ops);
            let violation = Checker::new(&trace).validate().expect_err("a violation");
            (violation.event.0, violation.why)
        };
        let fork_late = [(0, read), (0, read), (1, read), (1, read), (0, fork), (0, fork)];
        assert_eq!(violation(&fork_late), (2, Disabled::NotForked { fork: EventId(4) }));
        let after_end = [(0, fork), (1, read), (1, Op::End), (0, read), (1, read), (0, fork)];
        assert_eq!(violation(&after_end), (4, Disabled::AfterEnd));
    }
}
