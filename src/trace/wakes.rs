//! Who wakes whom, in a given sequence of events.
//!
//! The sequence fixes when each wait begins, ends, and when notifies happen; whom a notify wakes is
//! then a matching. Serving the waiter whose end comes first (those that do not return within
//! the sequence last) finds a matching whenever there is one: exchanging a later-ending waiter for
//! an earlier-ending one never hurts. Waits that timed out take part in no matching.

use super::{EventId, ObjectId, ThreadId, Trace, WaitOutcome};
use crate::semantics::waits::Step;
use hashbrown::{HashMap, HashSet};

/// A matching of notifies and waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wakes {
    /// For each notify that finds somebody waiting: the thread it wakes, in sequence order.
    pub woken: Vec<(EventId, ThreadId)>,
    /// Which notify (or notify-all) woke each wait that returns notified within the sequence.
    pub by: HashMap<EventId, EventId>,
    /// The waits' ends that nobody woke: the sequence is not feasible.
    pub unserved: Vec<EventId>,
}

/// A thread that waits before a sequence begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// What it waits for.
    pub condition: ObjectId,
    /// Who waits.
    pub thread: ThreadId,
    /// The end of the wait; `None` if the trace does not have it.
    pub end: Option<EventId>,
}

struct Waiting {
    thread: ThreadId,
    end: Option<EventId>,
    /// Place of its end in the sequence; `usize::MAX` if it does not return within it.
    returns: usize,
}

impl Wakes {
    /// The matching for `order`, a sequence that respects program order.
    #[must_use]
    pub fn of(trace: &Trace, order: impl Iterator<Item = EventId> + Clone) -> Wakes {
        let from_start = trace.waiting_at_start().iter().map(|&(condition, end)| Waiter {
            condition,
            thread: trace.thread(end),
            end: Some(end),
        });
        Wakes::after(trace, from_start.collect(), HashMap::new(), order)
    }

    /// The matching for a part of a sequence, at whose beginning these wait, and the waits with those ends have been
    /// woken already.
    #[must_use]
    pub fn after(
        trace: &Trace,
        waiters: Vec<Waiter>,
        mut woken_by: HashMap<EventId, EventId>,
        order: impl Iterator<Item = EventId> + Clone,
    ) -> Wakes {
        let mut returns: HashMap<EventId, usize> = HashMap::new();
        for (place, event) in order.clone().enumerate() {
            if let Some((_, Step::End(_))) = Step::of(trace.op(event)) {
                returns.insert(event, place);
            }
        }
        let mut wakes = Wakes::default();
        let returns = |end: Option<EventId>| end.and_then(|end| returns.get(&end)).copied().unwrap_or(usize::MAX);
        let mut waiting: HashMap<ObjectId, Vec<Waiting>> = HashMap::new();
        for waiter in waiters {
            waiting.entry(waiter.condition).or_default().push(Waiting {
                thread: waiter.thread,
                end: waiter.end,
                returns: returns(waiter.end),
            });
        }
        for event in order {
            let thread = trace.thread(event);
            let Some((condition, step)) = Step::of(trace.op(event)) else {
                continue;
            };
            match step {
                Step::Begin => {
                    let end = trace.wait_end(event);
                    if !end.is_some_and(|end| trace.op(end).times_out()) {
                        let returns = returns(end);
                        waiting
                            .entry(condition)
                            .or_default()
                            .push(Waiting { thread, end, returns });
                    }
                }
                Step::Notify => {
                    let waiters = waiting.entry(condition).or_default();
                    let first = (0..waiters.len()).min_by_key(|&at| (waiters[at].returns, waiters[at].thread));
                    if let Some(at) = first {
                        let waiter = waiters.remove(at);
                        wakes.woken.push((event, waiter.thread));
                        woken_by.extend(waiter.end.map(|end| (end, event)));
                    }
                }
                Step::NotifyAll => {
                    for waiter in waiting.remove(&condition).unwrap_or_default() {
                        woken_by.extend(waiter.end.map(|end| (end, event)));
                    }
                }
                Step::End(WaitOutcome::Notified) => match woken_by.remove(&event) {
                    Some(notify) => {
                        wakes.by.insert(event, notify);
                    }
                    // Woken before the trace began.
                    None if trace.place(event) == 0 && !is_waiting_at_start(trace, event) => {}
                    None => wakes.unserved.push(event),
                },
                Step::End(WaitOutcome::TimedOut) => {}
            }
        }
        wakes
    }
}

impl Trace {
    /// Finds the waits that began before the trace did and that a notify of the trace may have ended.
    pub(super) fn find_waiting_at_start(&mut self) {
        let mut notified: HashSet<ObjectId> = HashSet::new();
        let mut found = Vec::new();
        for (event, (condition, step)) in self.operations_with(Step::of) {
            match step {
                Step::Notify | Step::NotifyAll => drop(notified.insert(condition)),
                Step::End(WaitOutcome::Notified) if self.place(event) == 0 && notified.contains(&condition) => {
                    found.push((condition, event));
                }
                Step::Begin | Step::End(_) => {}
            }
        }
        self.waiting_at_start = found;
    }
}

fn is_waiting_at_start(trace: &Trace, end: EventId) -> bool {
    trace.waiting_at_start().iter().any(|&(_, waiting)| waiting == end)
}
