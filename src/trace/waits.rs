//! Which end of a wait belongs to which beginning.
//!
//! A signal handler may run while its thread waits, and wait itself, so the waits of a thread nest
//! (`docs/SEMANTICS.md`, section 1): an end belongs to the last wait on its condition and lock that its thread has
//! begun and not ended, and what began after that never ends.

use super::{EventId, ObjectId, Op, ThreadId, Trace};
use crate::semantics::{locks, waits};
use hashbrown::HashMap;

/// A wait of a thread.
#[derive(Clone, Copy, Debug)]
struct Wait {
    begin: EventId,
    end: Option<EventId>,
    /// The number, in its thread, of the wait within which it began.
    outer: Option<u32>,
}

/// The waits of a trace that have a beginning there.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits {
    /// By thread, in the order in which they began.
    of_thread: HashMap<ThreadId, Vec<Wait>>,
    /// Both ways.
    other_end: HashMap<EventId, EventId>,
}

impl Waits {
    pub(super) fn of(trace: &Trace) -> Waits {
        let mut found = Waits::default();
        // By thread: those under way, by number.
        let mut open: HashMap<ThreadId, Vec<(u32, ObjectId, ObjectId)>> = HashMap::new();
        let steps = |op: Op| Some((waits::Step::of(op)?, locks::Step::of(op)?));
        for (event, ((condition, step), (lock, _))) in trace.operations_with(steps) {
            let thread = trace.thread(event);
            match step {
                waits::Step::Begin => {
                    let open = open.entry(thread).or_default();
                    let waits = found.of_thread.entry(thread).or_default();
                    waits.push(Wait {
                        begin: event,
                        end: None,
                        outer: open.last().map(|&(outer, ..)| outer),
                    });
                    open.push((waits.len() as u32 - 1, condition, lock));
                }
                waits::Step::End(_) => {
                    let (Some(open), Some(waits)) = (open.get_mut(&thread), found.of_thread.get_mut(&thread)) else {
                        continue;
                    };
                    if let Some(at) = open.iter().rposition(|&(_, on, with)| (on, with) == (condition, lock)) {
                        let wait = &mut waits[open[at].0 as usize];
                        wait.end = Some(event);
                        found.other_end.insert(wait.begin, event);
                        found.other_end.insert(event, wait.begin);
                        open.truncate(at);
                    }
                }
                waits::Step::Notify | waits::Step::NotifyAll => {}
            }
        }
        found
    }
}

impl Trace {
    /// The end of the wait that an event begins; `None` if it never ends in the trace.
    #[must_use]
    pub fn wait_end(&self, begin: EventId) -> Option<EventId> {
        self.waits.other_end.get(&begin).copied().filter(|&end| begin < end)
    }

    /// The beginning of the wait that an event ends; `None` if it began before the trace did.
    #[must_use]
    pub fn wait_begin(&self, end: EventId) -> Option<EventId> {
        self.waits.other_end.get(&end).copied().filter(|&begin| begin < end)
    }

    /// The waits that are under way after the first `done` events of a thread, innermost first: beginning, and end in
    /// the trace.
    pub fn waits_open_after(
        &self,
        thread: ThreadId,
        done: u32,
    ) -> impl Iterator<Item = (EventId, Option<EventId>)> + '_ {
        let waits = self.waits.of_thread.get(&thread).map_or(&[][..], Vec::as_slice);
        let begun = waits.partition_point(|wait| self.place(wait.begin) < done);
        // What is under way now was so when the last one began.
        let last = begun.checked_sub(1).map(|last| waits[last]);
        let chain = std::iter::successors(last, |wait| wait.outer.map(|outer| waits[outer as usize]));
        chain
            .filter(move |wait| wait.end.is_none_or(|end| self.place(end) >= done))
            .map(|wait| (wait.begin, wait.end))
    }
}
