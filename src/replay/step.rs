//! Stepping a schedule on its trace: what happens, in which order, and how it stands at the race.
//!
//! Every replay is also a check, on the same state machine ([`crate::check`]): there is no replay of
//! a schedule that the checker would reject.

use crate::check::{Accepted, Checker, Executed, HeldLock, Rejection, State};
use crate::schedule::Schedule;
use crate::trace::{EventId, Op, ThreadId, Trace};

/// One of the accesses of a goal, at the moment when it is next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingAccess {
    /// Whether it is next at the end of the schedule. The first of an unordered race is over by then, and what has to
    /// come first in an order is still to come.
    pub is_next: bool,
    /// The access.
    pub event: EventId,
    /// Its thread.
    pub thread: ThreadId,
    /// The locks that its thread holds, by object.
    pub held: Vec<HeldLock>,
    /// What the memory it is about to access holds, as far as the trace shows it.
    pub memory: Option<u64>,
}

/// A schedule, executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// What the checker says.
    pub accepted: Accepted,
    /// How many events came first, as recorded.
    pub as_recorded: u32,
    /// Each event after those, in the order of the schedule.
    pub executed: Vec<Executed>,
    /// The accesses of the goal, in its order.
    pub accesses: Vec<PendingAccess>,
}

impl Replay {
    /// Executes `schedule` from the start of its trace.
    ///
    /// # Errors
    /// As [`check`](crate::check).
    pub fn of(checker: &Checker<'_>, schedule: &Schedule) -> Result<Replay, Rejection> {
        let looks_back = schedule.goal.performed().next().is_some();
        let (mut executed, mut as_recorded) = (Vec::new(), Vec::new());
        let (accepted, state) = checker.follow(schedule, &mut |step| {
            if step.slice > 0 {
                executed.push(step);
            } else if looks_back {
                as_recorded.push(step);
            }
        })?;
        let trace = checker.trace();
        let access = |state: &State<'_>, event: EventId, is_next: bool| {
            let thread = trace.thread(event);
            PendingAccess {
                is_next,
                event,
                thread,
                held: state.locks_held(thread),
                memory: state.value_at(event),
            }
        };
        // What is over by now is seen as it stood when it was next.
        let goal = &schedule.goal;
        let is_performed =
            |event: &EventId| !goal.awaited().contains(event) && goal.pending().all(|next| next != *event);
        let mut performed: Vec<EventId> = goal.events().filter(is_performed).collect();
        let order = || as_recorded.iter().chain(&executed);
        performed.sort_by_key(|&event| order().position(|done| done.event == event));
        let performed = performed.into_iter().map(|event| {
            let mut earlier = checker.start();
            for done in as_recorded
                .iter()
                .chain(&executed)
                .take_while(|done| done.event != event)
            {
                let again = earlier.step(done.event, notified(trace, done));
                debug_assert!(again.is_ok(), "what was executed once can be executed again");
            }
            access(&earlier, event, false)
        });
        // One thread stands for all that do not do in time what they are to do.
        let awaited = schedule.goal.awaited().iter().take(1);
        let awaited = awaited.map(|&event| access(&state, event, false));
        let pending = schedule.goal.pending().map(|event| access(&state, event, true));
        let accesses = performed.chain(awaited).chain(pending).collect();
        Ok(Replay {
            accepted,
            as_recorded: schedule.as_recorded,
            executed,
            accesses,
        })
    }
}

/// The waiter that a notify woke, to be named when it is executed again; a notify-all wakes everybody.
fn notified(trace: &Trace, done: &Executed) -> Option<ThreadId> {
    match trace.op(done.event) {
        Op::Notify { .. } => done.step.woken.first().copied(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Goal, Slice};
    use crate::trace::{ObjectId, StackId, Tables, Trace, TraceId};
    use trace_format::{Event, MemRange, Op};

    #[test]
    fn shows_what_is_held_and_what_memory_holds_at_the_race() {
        let mem = MemRange { addr: 0x10, size: 2 };
        let lock = ObjectId(0);
        let event = |thread, op| Event {
            thread: ThreadId(thread),
            pc: 0,
            stack: StackId::EMPTY,
            op,
        };
        let events = [
            event(0, Op::Write { mem, value: 0x1234 }),
            event(1, Op::Acquire { lock, attempt: false }),
            event(1, Op::Write { mem, value: 5 }),
            event(0, Op::Read { mem, value: 5 }),
        ];
        let trace = Trace::from_events(Tables::default(), &events);
        let slice = |thread| Slice {
            thread: ThreadId(thread),
            events: 1,
        };
        let schedule = Schedule {
            trace: TraceId([0; 16]),
            first_events: None,
            goal: Goal::Race(EventId(2), EventId(3)),
            as_recorded: 0,
            slices: vec![slice(1), slice(0)],
            wakes: Vec::new(),
        };
        let replay = Replay::of(&Checker::new(&trace), &schedule).expect("a witness");
        let order: Vec<_> = replay.executed.iter().map(|step| (step.slice, step.event.0)).collect();
        assert_eq!(order, [(1, 1), (2, 0)]);
        let [write, read] = &replay.accesses[..] else {
            panic!("a race has two accesses");
        };
        assert_eq!((write.memory, read.memory), (Some(0x1234), Some(0x1234)));
        assert_eq!(
            write.held.iter().map(|held| held.since).collect::<Vec<_>>(),
            [Some(EventId(1))]
        );
        assert_eq!(read.held, []);
    }
}
