//! Whether a verdict speaks of nothing but what a trace has. One that was read from a file may be of anything.

use super::{Fact, Pair, Refutation, Unknown, Verdict};
use crate::trace::{CellId, EventId, ObjectId, ThreadId, Trace};

impl Pair {
    /// Whether all events, objects and cells that it names are of this trace. Schedules are for the checker to judge.
    #[must_use]
    pub fn is_of(&self, trace: &Trace) -> bool {
        let within = Within(trace);
        within.events([self.example.0, self.example.1]) && within.has(&self.verdict)
    }
}

struct Within<'a>(&'a Trace);

impl Within<'_> {
    fn events(&self, events: impl IntoIterator<Item = EventId>) -> bool {
        events.into_iter().all(|event| (event.0 as usize) < self.0.len())
    }

    fn threads(&self, threads: [ThreadId; 2]) -> bool {
        threads.iter().all(|thread| thread.index() < self.0.threads())
    }

    fn object(&self, object: ObjectId) -> bool {
        (object.0 as usize) < self.0.tables().objects.len()
    }

    fn cell(&self, cell: CellId) -> bool {
        (cell.0 as usize) < self.0.cells().len()
    }

    fn has(&self, verdict: &Verdict) -> bool {
        match verdict {
            Verdict::Witnessed(_) => true,
            Verdict::Refuted(refutation) | Verdict::NotInTrace(refutation) => self.refutation(refutation),
            Verdict::Unknown(unknown) => match unknown {
                Unknown::Unrecorded(event) => self.events(*event),
                Unknown::Budget
                | Unknown::Steps
                | Unknown::Instances
                | Unknown::Time
                | Unknown::Rejected
                | Unknown::Unsynchronized { .. }
                | Unknown::Cut(_) => true,
            },
        }
    }

    fn refutation(&self, refutation: &Refutation) -> bool {
        match refutation {
            Refutation::MustHappenBefore(events) => self.events(events.iter().copied()),
            Refutation::CommonLock { lock, acquired } => {
                self.object(*lock) && self.events([acquired.0, acquired.1].into_iter().flatten())
            }
            Refutation::VariableLock { taken } => self.events([taken.0, taken.1]),
            Refutation::LockHistory { first, second } => {
                self.object(first.0) && self.object(second.0) && self.events([first.1, second.1])
            }
            Refutation::Core(facts) => facts.iter().all(|fact| self.fact(fact)),
            Refutation::Priority { interrupted, by, .. } => self.threads([*interrupted, *by]),
            Refutation::Reality { threads, .. } => self.threads([threads.0, threads.1]),
        }
    }

    fn fact(&self, fact: &Fact) -> bool {
        let with = |event: &EventId, others: &[EventId]| self.events([*event]) && self.events(others.iter().copied());
        match fact {
            Fact::Read {
                read, cell, writers, ..
            } => self.cell(*cell) && with(read, writers),
            Fact::Lock { lock, first, second } => {
                let ends = [first.0, first.1, second.0, second.1];
                self.object(*lock) && self.events(ends.into_iter().flatten())
            }
            Fact::HandedOver { lock } => self.object(*lock),
            Fact::Wait { end, notifies } => with(end, notifies),
            Fact::NotifyOnce { notify, ends } => with(notify, ends),
            Fact::FailedAcquire { attempt, holders } => with(attempt, holders),
            Fact::Semaphore { wait, posts } => with(wait, posts),
            Fact::FailedWait { attempt, posts } => with(attempt, posts),
            Fact::Count { look, posts, waits } => with(look, posts) && self.events(waits.iter().copied()),
            Fact::Once { wait, ends } => with(wait, ends),
            Fact::Pinned { read, cell } => self.cell(*cell) && self.events([*read]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Instances, Pair, Refutation, Verdict};
    use crate::trace::{EventId, ObjectId, StackId, Tables, ThreadId, Trace};
    use trace_format::{Event, Op};

    #[test]
    fn what_is_beyond_the_trace_is_noticed() {
        let event = Event {
            thread: ThreadId(0),
            pc: 1,
            stack: StackId::EMPTY,
            op: Op::Branch,
        };
        let trace = Trace::from_events(Tables::default(), &[event, event]);
        let pair = |example, verdict| Pair {
            positions: (1, 1),
            example: (EventId(0), EventId(example)),
            verdict,
            instances: Instances::default(),
            behind: None,
            order: None,
        };
        let before = |event| Verdict::Refuted(Refutation::MustHappenBefore(vec![EventId(event)]));
        let lock = Verdict::Refuted(Refutation::CommonLock {
            lock: ObjectId(0),
            acquired: (None, None),
        });
        assert!(pair(1, before(1)).is_of(&trace));
        assert!(!pair(2, before(1)).is_of(&trace) && !pair(1, before(2)).is_of(&trace) && !pair(1, lock).is_of(&trace));
    }
}
