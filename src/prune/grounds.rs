//! On what grounds one event comes before another: the operations themselves, what this run made of them, or the places
//! that unrecorded code keeps (`docs/SEMANTICS.md`, section 4).
//!
//! An argument about one trace may rest on how the trace happened to go: whether a thread waited, which threads met at
//! a barrier, who came first to an initialization. Another run may go another way. What is told as *refuted* rests on
//! [`Grounds::Structure`] alone.
//!
//! Errs on the side of calling an order an outcome.

pub use crate::semantics::Grounds;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prune::MustHappenBefore;
    use crate::semantics::onces::Initializers;
    use crate::trace::{EventId, ObjectId, ThreadId, Trace};
    use trace_format::{Event, MemRange, ObjectInfo, ObjectKind, Op as FileOp, StackId, Tables, WaitOutcome};

    const OBJECT: ObjectId = ObjectId(0);

    fn trace(kind: ObjectKind, events: &[(u32, FileOp)]) -> Trace {
        let object = ObjectInfo {
            kind,
            addr: 0,
            name: None,
            initial: 0,
        };
        let tables = Tables {
            objects: vec![object.clone(), object],
            ..Tables::default()
        };
        let event = |&(thread, op): &(u32, FileOp)| Event {
            thread: ThreadId(thread),
            pc: 1,
            stack: StackId::EMPTY,
            op,
        };
        Trace::from_events(tables, &events.iter().map(event).collect::<Vec<_>>())
    }

    fn write() -> FileOp {
        let mem = MemRange { addr: 0x10, size: 4 };
        FileOp::Write { mem, value: 1 }
    }

    fn enter(round: u32) -> FileOp {
        FileOp::BarrierEnter { barrier: OBJECT, round }
    }

    fn exit(round: u32) -> FileOp {
        FileOp::BarrierExit {
            barrier: OBJECT,
            round,
            attempt: false,
        }
    }

    #[test]
    fn a_barrier_orders_in_every_run_if_the_same_threads_come_each_time() {
        let mut events = vec![(0, write())];
        for round in 0..2 {
            events.extend([(0, enter(round)), (1, enter(round)), (0, exit(round)), (1, exit(round))]);
        }
        events.push((1, write()));
        let (first, last) = (EventId(0), EventId(events.len() as u32 - 1));
        let same = trace(ObjectKind::Barrier, &events);
        assert!(MustHappenBefore::on(&same, Grounds::Structure).before(first, last));
        // A third thread may come in the place of either.
        events.extend([(2, enter(2)), (0, enter(2))]);
        let others = trace(ObjectKind::Barrier, &events);
        assert!(MustHappenBefore::of(&others).before(first, last));
        assert!(!MustHappenBefore::on(&others, Grounds::Structure).before(first, last));
    }

    #[test]
    fn that_a_thread_waited_and_was_woken_is_an_outcome() {
        let (condition, lock) = (ObjectId(1), OBJECT);
        let outcome = WaitOutcome::Notified;
        let events = [
            (1, FileOp::Acquire { lock, attempt: false }),
            (1, FileOp::WaitBegin { condition, lock }),
            (0, FileOp::Notify { condition }),
            (
                1,
                FileOp::WaitEnd {
                    condition,
                    lock,
                    outcome,
                    attempt: false,
                },
            ),
        ];
        let trace = trace(ObjectKind::Mutex, &events);
        assert!(MustHappenBefore::of(&trace).before(EventId(2), EventId(3)));
        assert!(!MustHappenBefore::on(&trace, Grounds::Structure).before(EventId(2), EventId(3)));
    }

    #[test]
    fn a_wait_that_a_thread_makes_because_of_what_it_read_is_an_outcome() {
        let flag = MemRange { addr: 0x20, size: 4 };
        let looks = FileOp::Read { mem: flag, value: 0 };
        let waits = |semaphore| FileOp::SemWait {
            semaphore,
            attempt: false,
        };
        let posts = |semaphore| FileOp::SemPost { semaphore };
        // Thread 0 writes and posts, thread 1 looks at the flag, waits and writes: are the writes ordered?
        let ordered = |others: &[(u32, FileOp)], grounds| {
            let mut events = vec![(0, write()), (0, posts(OBJECT))];
            events.extend([(1, looks), (1, waits(OBJECT)), (1, write())]);
            events.extend(others);
            let trace = trace(ObjectKind::Semaphore, &events);
            MustHappenBefore::on(&trace, grounds).before(EventId(0), EventId(4))
        };
        let sets = |value| (2, FileOp::Write { mem: flag, value });
        assert!(ordered(&[], Grounds::Structure), "nobody sets it");
        assert!(ordered(&[sets(0)], Grounds::Structure), "to what it is");
        assert!(!ordered(&[sets(1)], Grounds::Structure));
        assert!(ordered(&[sets(1)], Grounds::Outcomes), "in this run it did wait");
        let behind = |semaphore| [(1, posts(semaphore)), (2, waits(semaphore)), sets(1)];
        assert!(
            ordered(&behind(ObjectId(1)), Grounds::Structure),
            "after the look, in each run"
        );
        assert!(
            !ordered(&behind(OBJECT), Grounds::Structure),
            "thread 2 may be the first that waits"
        );
    }

    #[test]
    fn one_of_several_initializers_precedes_nothing() {
        let once = OBJECT;
        let events = [
            (1, FileOp::OnceBegin { once }),
            (1, FileOp::OnceEnd { once }),
            (0, FileOp::OnceBegin { once }),
            (0, write()),
            (0, FileOp::OnceEnd { once }),
            (1, FileOp::OnceWait { once }),
            (1, write()),
        ];
        let trace = trace(ObjectKind::Once, &events);
        let structure = MustHappenBefore::on(&trace, Grounds::Structure);
        let before = |a, b| structure.before(a, b);
        assert!(!Initializers::of(&trace).order(&trace, before, EventId(3), EventId(6)));
    }

    #[test]
    fn an_initializer_precedes_what_waits_for_it_whoever_runs_it() {
        let once = OBJECT;
        let events = [
            (0, write()),
            (0, FileOp::OnceBegin { once }),
            (0, write()),
            (0, FileOp::OnceEnd { once }),
            (1, FileOp::OnceWait { once }),
            (1, write()),
        ];
        let trace = trace(ObjectKind::Once, &events);
        let structure = MustHappenBefore::on(&trace, Grounds::Structure);
        let initializers = Initializers::of(&trace);
        let before = |a, b| structure.before(a, b);
        let order = |a, b| initializers.order(&trace, before, EventId(a), EventId(b));
        assert!(order(2, 5) && order(5, 2));
        assert!(!order(0, 5), "had thread 1 come first, it would not have waited");
        assert!(MustHappenBefore::of(&trace).before(EventId(0), EventId(5)));
    }
}
