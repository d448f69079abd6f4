//! Orders of one recorded run in which a thread stands still at one point, while another one that came later there
//! comes first.
//!
//! For runs that are too long for a forest of their histories: one pass over the trace finds these orders, and nothing
//! is searched or kept for each operation. It is delay-bounded scheduling (Emmi, Qadeer, Rakamarić, POPL 2011) with one
//! delay, of those that change what is read: both threads take the same lock, or access the same memory atomically.
//! Whether an order is feasible is not asked. The program is forced along it as far as it goes, and goes on from there
//! under a policy: a wrong guess costs a run, never a wrong answer.
//!
//! Of all points of a thread that come before the other one, a few are tried: the first three, where counters have
//! their first values, and which leave the most to the policy, then the last one, and some between. Orders at places in
//! the code that were tried least come first.

use crate::session::Step;
use crate::trace::{AccessKind, CellId, EventId, ObjectId, Op, ThreadId, Trace, Wakes};
use hashbrown::HashMap;

/// Orders that are kept at most.
const MOST: usize = 50_000;

/// Of a section, so many operations are looked at to see where it is.
const LOOKED_AT: usize = 64;

/// Whether an access is an atomic one of the program's own; uses of blocks and ends of blocks are none.
fn changes_atomically(kind: AccessKind) -> bool {
    matches!(
        kind,
        AccessKind::AtomicLoad | AccessKind::AtomicStore | AccessKind::AtomicRmw
    )
}

/// One order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// Where a thread stands still: it has not done this.
    pub stop: EventId,
    /// What another thread does first, from its own point on.
    pub first: EventId,
    /// The end of that.
    pub until: EventId,
    /// How far from the ones that are tried first.
    rank: u32,
}

/// What two threads meet at.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Meeting {
    Lock(ObjectId),
    Cell(CellId),
}

/// The orders of a trace that have not been tried.
#[derive(Debug)]
pub struct Delays {
    trace: Trace,
    left: Vec<Delay>,
    tried: HashMap<(u64, u64), u32>,
    woken: HashMap<EventId, ThreadId>,
    /// By thread: what forked it.
    forks: HashMap<ThreadId, EventId>,
}

impl Delays {
    /// Of a trace.
    #[must_use]
    pub fn of(trace: Trace) -> Delays {
        let forks = trace.events().filter_map(|event| match trace.op(event) {
            Op::Fork { child } => Some((child, event)),
            _ => None,
        });
        let forks = forks.collect();
        let woken = Wakes::of(&trace, trace.events()).woken.into_iter().collect();
        let mut meetings: HashMap<Meeting, Vec<EventId>> = HashMap::new();
        let mut order = Vec::new();
        for event in trace.events() {
            let meeting = match trace.op(event) {
                Op::Acquire { lock } | Op::AcquireShared { lock } => Meeting::Lock(lock),
                Op::Access(_) => match trace.access(event).filter(|access| changes_atomically(access.kind)) {
                    Some(access) => match trace.uses(access).next() {
                        Some(used) => Meeting::Cell(used.cell),
                        None => continue,
                    },
                    None => continue,
                },
                _ => continue,
            };
            meetings
                .entry(meeting)
                .or_insert_with(|| {
                    order.push(meeting);
                    Vec::new()
                })
                .push(event);
        }
        let mut delays = Delays {
            trace,
            left: Vec::new(),
            tried: HashMap::new(),
            woken,
            forks,
        };
        for meeting in order {
            delays.add(&meetings[&meeting]);
        }
        delays
    }

    /// Adds what can be tried among those that meet somewhere.
    fn add(&mut self, all: &[EventId]) {
        let mut before: HashMap<ThreadId, Vec<EventId>> = HashMap::new();
        let mut arrivals: HashMap<ThreadId, u32> = HashMap::new();
        let mut last = None;
        for &event in all {
            let thread = self.trace.thread(event);
            if last.is_some_and(|last| last != thread) {
                let arrival = arrivals.entry(thread).or_default();
                *arrival += 1;
                // Threads that take turns all the time do the same each time.
                if *arrival <= 2 || arrival.is_power_of_two() {
                    let rank = *arrival - 1;
                    let mut others: Vec<_> = before.iter().filter(|(other, _)| **other != thread).collect();
                    others.sort_unstable_by_key(|(other, _)| **other);
                    for (_, points) in others {
                        self.stop_at_some(points, event, rank);
                    }
                }
            }
            before.entry(thread).or_default().push(event);
            last = Some(thread);
        }
    }

    fn stop_at_some(&mut self, points: &[EventId], first: EventId, rank: u32) {
        let last = points.len() - 1;
        let chosen = [
            0,
            2,
            1,
            last,
            last / 2,
            last / 4,
            last / 2 + last / 4,
            last.saturating_sub(1),
        ];
        for (number, &point) in (0..).zip(&chosen) {
            if point > last || chosen[..number as usize].contains(&point) || self.left.len() >= MOST {
                continue;
            }
            let stop = points[point];
            // Whoever is created by the thread that stands still does not come first.
            let created = self.forks.get(&self.trace.thread(first));
            if created.is_some_and(|&fork| fork > stop && self.trace.thread(fork) == self.trace.thread(stop)) {
                continue;
            }
            self.left.push(Delay {
                stop,
                first,
                until: self.end_of(first),
                rank: rank + number,
            });
        }
    }

    /// Where what begins here ends: a lock is given back.
    fn end_of(&self, first: EventId) -> EventId {
        let (Op::Acquire { lock } | Op::AcquireShared { lock }) = self.trace.op(first) else {
            return first;
        };
        let gives_back = |event: &&EventId| self.trace.op(**event) == Op::Release { lock };
        self.after(first).iter().find(gives_back).copied().unwrap_or(first)
    }

    fn after(&self, event: EventId) -> &[EventId] {
        &self.trace.program_order(self.trace.thread(event))[self.trace.place(event) as usize..]
    }

    /// The next one to try: where what comes first, or what waits, is at a place that `prefers`, before the others.
    pub fn next(&mut self, prefers: &dyn Fn(u64) -> bool) -> Option<Delay> {
        let places = |delay: &Delay| (self.trace.pc(delay.stop), self.trace.pc(delay.first));
        let is_at = |event: EventId| {
            let section = self.after(event).iter().take(LOOKED_AT);
            section.into_iter().any(|&event| prefers(self.trace.pc(event)))
        };
        let cost = |delay: &Delay| {
            let far = !is_at(delay.first) && !is_at(delay.stop);
            let tried = self.tried.get(&places(delay)).copied().unwrap_or(0);
            (far, tried, delay.rank, delay.stop)
        };
        let (best, _) = self.left.iter().enumerate().min_by_key(|(_, delay)| cost(delay))?;
        let delay = self.left.swap_remove(best);
        *self
            .tried
            .entry((self.trace.pc(delay.stop), self.trace.pc(delay.first)))
            .or_default() += 1;
        Some(delay)
    }

    /// What is forced: all that came before the thread stands still, then what the other one does up to its end, and
    /// what creates it.
    #[must_use]
    pub fn steps(&self, delay: Delay) -> Vec<Step> {
        let trace = &self.trace;
        // Each thread that is to go on, up to which event.
        let mut goes_on: HashMap<ThreadId, EventId> = HashMap::new();
        goes_on.insert(trace.thread(delay.until), delay.until);
        let mut thread = trace.thread(delay.until);
        while let Some(&fork) = self.forks.get(&thread).filter(|&&fork| fork >= delay.stop) {
            thread = trace.thread(fork);
            goes_on.entry(thread).or_insert(fork);
        }
        let behind = (delay.stop.0..=delay.until.0).map(EventId);
        let behind = behind.filter(|&event| goes_on.get(&trace.thread(event)).is_some_and(|&last| event <= last));
        let all = (0..delay.stop.0).map(EventId).chain(behind);
        all.map(|event| Step::of(trace, event, self.woken.get(&event).copied()))
            .collect()
    }
}
