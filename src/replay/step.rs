//! Stepping a schedule on its trace: what happens, in which order, and how it stands at the race.
//!
//! Every replay is also a check, on the same state machine ([`crate::check`]): there is no replay of
//! a schedule that the checker would reject.

use crate::check::{Accepted, Checker, Executed, HeldLock, Lazily, Prefix, Rejection, State};
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
        let (mut executed, mut as_recorded) = (Vec::new(), Vec::new());
        let (accepted, state) = checker.follow(schedule, &mut |step| {
            if step.slice > 0 {
                executed.push(step);
            } else if looks_back(schedule) {
                as_recorded.push(step);
            }
        })?;
        Ok(Replay::at(checker, schedule, accepted, &state, &as_recorded, executed))
    }

    /// Executes each of some schedules of one trace, and what they have in common as recorded once.
    pub fn of_all(checker: &Lazily<'_>, schedules: &[&Schedule]) -> Vec<Result<Replay, Rejection>> {
        let mut order: Vec<usize> = (0..schedules.len()).collect();
        order.sort_by_key(|&number| schedules[number].as_recorded);
        let mut replays: Vec<Option<Result<Replay, Rejection>>> = vec![None; schedules.len()];
        let mut prefix = None;
        for number in order {
            let schedule = schedules[number];
            let prefix = prefix.get_or_insert_with(|| checker.prefix());
            let shares = !looks_back(schedule)
                && Prefix::is_shared_by(schedule)
                && prefix.extend(schedule.as_recorded, &mut |_| {}).is_ok();
            replays[number] = Some(match shares {
                true => {
                    let mut executed = Vec::new();
                    let followed = prefix.follow(schedule, &mut |step| executed.push(step));
                    followed.map(|(accepted, state)| Replay::at(checker, schedule, accepted, &state, &[], executed))
                }
                false => Replay::of(checker, schedule),
            });
        }
        replays.into_iter().flatten().collect()
    }

    /// What is seen in the state in which a schedule ends.
    fn at(
        checker: &Checker<'_>,
        schedule: &Schedule,
        accepted: Accepted,
        state: &State<'_>,
        as_recorded: &[Executed],
        executed: Vec<Executed>,
    ) -> Replay {
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
        let awaited = awaited.map(|&event| access(state, event, false));
        let pending = schedule.goal.pending().map(|event| access(state, event, true));
        let accesses = performed.chain(awaited).chain(pending).collect();
        Replay {
            accepted,
            as_recorded: schedule.as_recorded,
            executed,
            accesses,
        }
    }
}

/// Whether how it stood earlier is to be seen at the end of a schedule.
fn looks_back(schedule: &Schedule) -> bool {
    schedule.goal.performed().next().is_some()
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

    #[test]
    fn several_schedules_are_executed_as_each_alone() {
        let mem = |cell: u64| MemRange {
            addr: 0x10 * cell,
            size: 4,
        };
        let lock = ObjectId(0);
        let in_turn = |turn: u32| {
            let (thread, value) = (ThreadId(turn % 2), u64::from(turn));
            let ops = [
                Op::Acquire { lock, attempt: false },
                Op::Write { mem: mem(1), value },
                Op::Release { lock },
                Op::Write { mem: mem(2), value },
            ];
            ops.map(|op| Event {
                thread,
                pc: 0,
                stack: StackId::EMPTY,
                op,
            })
        };
        let events: Vec<Event> = (0..8).flat_map(in_turn).collect();
        let trace = Trace::from_events(Tables::default(), &events);
        // The write behind each turn, with that behind the next; the last one first.
        let witness = |turn: u32, goal: fn(EventId, EventId) -> Goal| Schedule {
            trace: TraceId([0; 16]),
            first_events: None,
            goal: goal(EventId(4 * turn + 3), EventId(4 * turn + 7)),
            as_recorded: 4 * turn + 3,
            slices: vec![Slice {
                thread: ThreadId((turn + 1) % 2),
                events: 3,
            }],
            wakes: Vec::new(),
        };
        let mut schedules: Vec<Schedule> = (0..7).rev().map(|turn| witness(turn, Goal::Race)).collect();
        // One has to be watched from the start; one is rejected, since its goal is no race; one has nothing as recorded.
        schedules.push(witness(2, Goal::UnorderedRace));
        schedules.push(witness(3, |a, b| Goal::Race(a, EventId(b.0 - 2))));
        schedules[0].as_recorded = 0;
        let checker = Lazily::of(&trace, None);
        let all = Replay::of_all(&checker, &schedules.iter().collect::<Vec<_>>());
        let alone: Vec<_> = schedules
            .iter()
            .map(|schedule| Replay::of(&checker, schedule))
            .collect();
        assert_eq!(all, alone);
        assert!(all[1..7].iter().all(Result::is_ok));
    }
}
