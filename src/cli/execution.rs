//! Checks, before a trace is analyzed, that it is an execution.
//!
//! The analysis relies on that everywhere. A trace that is no execution (the recorder missed an operation, or somebody
//! edited the file) would lead to schedules that the checker rejects, reported as an internal error.
//!
//! What an analysis keeps of a trace grows with its length, but for two things: a clock has an entry for each thread,
//! and each event that takes or gives back a lock has a list of those that its thread holds then. Few bytes can ask for
//! much of both, so both have a limit.

use anyhow::{bail, ensure};
use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::path::Path;
use trace_format::{EventId, ObjectId, ThreadId};
use witness::check::Checker;
use witness::semantics::locks::Step;
use witness::trace::Trace;

/// A clock of so many threads takes 4 KiB where it is no other clock's, and there are some of each thread.
const MOST_THREADS: usize = 1 << 16;
/// Entries in the lists of held locks, beside those of usual programs.
const MOST_HELD: u64 = 1 << 22;
/// Locks that a thread of a usual program holds at most, on average.
const USUALLY_HELD: u64 = 64;

/// Refuses a trace that is not an execution. One pass over it. Returns what it was checked by: to make another costs as
/// much as to read the trace.
///
/// # Errors
/// The first event that was not possible when its turn came, and why.
pub fn must_be_execution<'t>(path: &Path, trace: &'t Trace) -> anyhow::Result<Checker<'t>> {
    must_be_in_proportion(path, trace)?;
    let checker = Checker::new(trace);
    if let Err(violation) = checker.validate() {
        bail!(
            "{} is not a sequentially consistent execution, so nothing follows from it: {violation}. In a recording of \
             witness' own this is a defect of the recorder: please report it, with the trace.",
            path.display()
        );
    }
    Ok(checker)
}

/// Refuses a trace of which an analysis would keep far more than it is long.
fn must_be_in_proportion(path: &Path, trace: &Trace) -> anyhow::Result<()> {
    const REMEDY: &str = "a shorter recording may have fewer (`witness record --max-events`)";
    let path = path.display();
    ensure!(
        trace.threads() <= MOST_THREADS,
        "{path} has {} threads, more than the {MOST_THREADS} that an analysis can take; {REMEDY}",
        trace.threads()
    );
    // Of so few locks nobody holds more than usual.
    let many_locks = trace.tables().objects.len() as u64 > USUALLY_HELD;
    if let Some((event, held)) = many_locks.then(|| too_many_held(trace, MOST_HELD)).flatten() {
        bail!(
            "{path}: at event {} thread {} holds {held} locks at once; with those held before, that is more than an \
             analysis can take; {REMEDY}",
            event.0,
            trace.thread(event).0
        );
    }
    Ok(())
}

/// The first event at which the lists of held locks are too long together, and how many its thread holds there.
fn too_many_held(trace: &Trace, most: u64) -> Option<(EventId, u64)> {
    // How often each thread has taken each lock, also while it waits.
    let mut held: HashMap<ObjectId, BTreeMap<ThreadId, u64>> = HashMap::new();
    let mut given_up: HashMap<(ThreadId, ObjectId), u64> = HashMap::new();
    let mut locks_of: Vec<u64> = vec![0; trace.threads()];
    let (mut listed, mut changes) = (0_u64, 0_u64);
    for event in trace.operations() {
        let Some((lock, step)) = Step::of(trace.op(event)) else {
            continue;
        };
        let thread = trace.thread(event);
        let holders = held.entry(lock).or_default();
        match step {
            Step::Take { .. } | Step::TakeAgain => {
                let levels = given_up.remove(&(thread, lock)).unwrap_or(1);
                let before = holders.entry(thread).or_insert(0);
                locks_of[thread.index()] += u64::from(*before == 0);
                *before += levels;
            }
            Step::GiveBack | Step::GiveUp => {
                // One thread may give back what another one holds.
                let own = holders.contains_key(&thread).then_some(thread);
                let Some(holder) = own.or_else(|| holders.keys().next().copied()) else {
                    continue;
                };
                let levels = holders.get_mut(&holder).expect("a holder");
                if step == Step::GiveUp {
                    given_up.insert((thread, lock), std::mem::replace(levels, 1));
                }
                *levels -= 1;
                if *levels == 0 {
                    holders.remove(&holder);
                    locks_of[holder.index()] -= 1;
                }
            }
            Step::FindHeld { .. } => continue,
        }
        changes += 1;
        listed += locks_of[thread.index()];
        if listed > most + USUALLY_HELD * changes {
            return Some((event, locks_of[thread.index()]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{must_be_execution, too_many_held};
    use std::path::Path;
    use trace_format::{Event, ObjectId, Op, StackId, Tables, ThreadId, WaitOutcome};
    use witness::trace::Trace;

    fn trace(ops: &[(u32, Op)]) -> Trace {
        let events: Vec<Event> = ops
            .iter()
            .map(|&(thread, op)| Event {
                thread: ThreadId(thread),
                pc: 0,
                stack: StackId::EMPTY,
                op,
            })
            .collect();
        Trace::from_events(Tables::default(), &events)
    }

    #[test]
    fn a_thread_that_begins_before_it_is_created_is_refused() {
        let fork = (0, Op::Fork { child: ThreadId(1) });
        let begin = (1, Op::Begin);
        assert!(must_be_execution(Path::new("t"), &trace(&[fork, begin])).is_ok());
        let error = must_be_execution(Path::new("t"), &trace(&[begin, fork])).unwrap_err();
        assert!(error.to_string().contains("event 0 of thread 1"), "{error}");
    }

    #[test]
    fn locks_count_as_long_as_they_are_held() {
        let take = |lock| {
            (
                0,
                Op::Acquire {
                    lock: ObjectId(lock),
                    attempt: false,
                },
            )
        };
        let give_back = |thread, lock| (thread, Op::Release { lock: ObjectId(lock) });
        let condition = ObjectId(1000);
        let wait = |lock| {
            let lock = ObjectId(lock);
            let outcome = WaitOutcome::TimedOut;
            let [begin, end] = [
                Op::WaitBegin { condition, lock },
                Op::WaitEnd {
                    attempt: false,
                    condition,
                    lock,
                    outcome,
                },
            ];
            [(0, begin), (0, end)]
        };
        let found = |ops: &[(u32, Op)]| too_many_held(&trace(ops), 10).map(|(event, held)| (event.0, held));
        // Of 150 locks at once, 1 + 2 + … exceed 64 for each.
        let nested: Vec<_> = (0..150).map(take).collect();
        let (event, held) = found(&nested).expect("too many");
        assert_eq!(u64::from(event) + 1, held);
        assert!((128..=130).contains(&held), "{held}");
        let in_turn: Vec<_> = (0..150).flat_map(|lock| [take(lock), give_back(0, lock)]).collect();
        assert_eq!(found(&in_turn), None);
        let by_others: Vec<_> = (0..150).flat_map(|lock| [take(lock), give_back(1, lock)]).collect();
        assert_eq!(found(&by_others), None);
        // Twice taken, it is given back twice, also after a wait.
        let waiting = (0..150).flat_map(|lock| {
            let [begin, end] = wait(lock);
            [
                take(lock),
                take(lock),
                begin,
                end,
                give_back(0, lock),
                give_back(0, lock),
            ]
        });
        let waiting: Vec<_> = waiting.collect();
        assert_eq!(found(&waiting), None);
    }
}
