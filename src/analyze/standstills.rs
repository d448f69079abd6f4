//! Standstills: orders of the trace after which nobody can go on, and some wait otherwise than for locks and threads.
//! And partial deadlocks: such after which some wait, and those that are left do not end that in the trace.
//!
//! What a wait at a semaphore, condition or barrier needs, any thread might do, so it is one of these only where nobody
//! is left (`docs/SEMANTICS.md`, section 3). Such a state is the end of a run, not one that a few events lead to: the
//! search makes runs of the trace's own events. All threads go on in the order of π, as far as they can, but for one to
//! three that stand still before an operation until nobody else can go on, and then go on themselves. It is
//! delay-bounded scheduling (Emmi, Qadeer, Rakamarić, POPL 2011) on the recorded events instead of the program.
//!
//! Where a run ends though somebody is left, because what follows in π does not follow there, or because somebody has
//! nothing more to do in π, some of the others may be a partial deadlock.
//!
//! It finds, and never excludes: what it does not find may be there. The machine that it runs is the checker's, which
//! then judges the schedule as all others.

use super::decider::Decider;
use super::reject;
use crate::check::State;
use crate::schedule::{Goal, Schedule, beginning_of, slices_of};
use crate::semantics::blocking::ends_by_anybody;
use crate::trace::{CodePosition, EventId, Op, ThreadId, Trace};
use crate::verdict::{Deadlock, DeadlockKind, Rejected, Verdict};
use hashbrown::{HashMap, HashSet};
use std::collections::{BTreeMap, BTreeSet};

/// Events that are executed in all of a trace's runs together, beside the trace itself.
const MAX_STEPS: u64 = 1_000_000;

/// Events of a trace up to which two and three threads stand still in one run.
const SHORT: [usize; 2] = [20_000, 1_000];

/// A run that stands still, or of which a part does.
struct Found {
    as_recorded: u32,
    then: Vec<EventId>,
    wakes: Vec<(EventId, ThreadId)>,
    waiting: Vec<EventId>,
}

/// The standstills and partial deadlocks that are found, with what the checker rejected.
pub(super) fn find(known: &Decider<'_>) -> (Vec<Deadlock>, Vec<Rejected>) {
    let trace = known.trace;
    let waits_so = |event: EventId| ends_by_anybody(trace.op(event)) && !trace.is_attempt(event);
    // In a cut trace, somebody may come who is not in it.
    if trace.cut().is_some() || !trace.operations().any(waits_so) {
        return (Vec::new(), Vec::new());
    }
    let mut search = Search {
        known,
        points: Points::of(trace),
        left: MAX_STEPS,
        met: HashSet::new(),
        found: BTreeMap::new(),
    };
    let most = 1 + SHORT.iter().filter(|&&events| trace.len() <= events).count();
    for delays in 1..=most {
        search.met.clear();
        search.all(delays);
    }
    let found = search.found;
    let is_least = |key: &(DeadlockKind, Vec<CodePosition>)| {
        let (kind, positions) = key;
        // A standstill claims more.
        let counts = |other: DeadlockKind| other == *kind || other == DeadlockKind::Standstill;
        let is_within = |other: &(DeadlockKind, Vec<CodePosition>)| {
            other != key && counts(other.0) && other.1.iter().all(|position| positions.contains(position))
        };
        !found.keys().any(is_within)
    };
    let (mut deadlocks, mut rejected) = (Vec::new(), Vec::new());
    for (key, run) in &found {
        let goal = match key.0 {
            DeadlockKind::Partial => Goal::partial_deadlock(run.waiting.clone()),
            DeadlockKind::Standstill | DeadlockKind::Cycle => Goal::deadlock(run.waiting.clone()),
        };
        let schedule = Schedule {
            trace: trace.id(),
            first_events: beginning_of(trace),
            goal,
            as_recorded: run.as_recorded,
            slices: slices_of(trace, &run.then),
            wakes: run.wakes.clone(),
        };
        match known.checker().check(&schedule) {
            Ok(_) if is_least(key) => deadlocks.push(Deadlock {
                positions: run.waiting.iter().map(|&event| trace.pc(event)).collect(),
                example: run.waiting.clone(),
                verdict: Verdict::Witnessed(schedule),
                tried: 1,
                kind: key.0,
            }),
            Ok(_) => {}
            Err(rejection) => rejected.push(reject(schedule, &rejection)),
        }
    }
    deadlocks.sort_by(|a, b| a.example.cmp(&b.example));
    (deadlocks, rejected)
}

/// Where threads stand still.
struct Points {
    events: HashSet<EventId>,
}

impl Points {
    /// Of each thread and position, the first operations and some later ones.
    fn of(trace: &Trace) -> Points {
        let mut seen: HashMap<(ThreadId, CodePosition), u32> = HashMap::new();
        let events = trace.operations().filter(|&event| {
            let is_one = matches!(
                trace.op(event),
                Op::Acquire { .. }
                    | Op::AcquireShared { .. }
                    | Op::SemPost { .. }
                    | Op::SemWait { .. }
                    | Op::WaitBegin { .. }
                    | Op::WaitEnd { .. }
                    | Op::Notify { .. }
                    | Op::NotifyAll { .. }
                    | Op::BarrierEnter { .. }
                    | Op::OnceBegin { .. }
                    | Op::OnceWait { .. }
                    | Op::Begin
            );
            is_one && {
                let seen = seen.entry((trace.thread(event), trace.pc(event))).or_default();
                *seen += 1;
                *seen <= 3 || seen.is_power_of_two()
            }
        });
        Points {
            events: events.collect(),
        }
    }
}

struct Search<'k, 't> {
    known: &'k Decider<'t>,
    points: Points,
    left: u64,
    /// States, as far as threads have come in them, with those that stand still.
    met: HashSet<(Vec<usize>, Vec<ThreadId>)>,
    /// By the positions of the waits that are no locks and joins.
    found: BTreeMap<(DeadlockKind, Vec<CodePosition>), Found>,
}

/// A run on its way.
#[derive(Clone)]
struct Run {
    as_recorded: u32,
    then: Vec<EventId>,
    wakes: Vec<(EventId, ThreadId)>,
    /// Those that stand still, in the order in which they will go on.
    held: Vec<ThreadId>,
    /// How many more may.
    delays: usize,
}

impl Search<'_, '_> {
    /// All runs in which so many threads stand still.
    fn all(&mut self, delays: usize) {
        let trace = self.known.trace;
        let mut state = self.known.checker().start();
        for event in trace.events() {
            if self.left == 0 || self.known.options.out_of_time() {
                return;
            }
            if self.points.events.contains(&event) {
                let run = Run {
                    as_recorded: event.0,
                    then: Vec::new(),
                    wakes: Vec::new(),
                    held: vec![trace.thread(event)],
                    delays: delays - 1,
                };
                self.go_on(state.branch(), run);
            }
            if state.step_as_recorded(event, None).is_err() {
                return;
            }
        }
    }

    /// Goes on until nobody can.
    fn go_on(&mut self, mut state: State<'_>, mut run: Run) {
        let trace = self.known.trace;
        let threads: Vec<ThreadId> = (0..trace.threads() as u32).map(ThreadId).collect();
        let done = threads.iter().map(|&thread| state.done(thread)).collect();
        if !self.met.insert((done, run.held.clone())) {
            return;
        }
        // A run of many threads takes long to begin.
        self.left = self.left.saturating_sub(threads.len() as u64);
        let others = threads.iter().filter(|thread| !run.held.contains(thread));
        let mut next: BTreeSet<EventId> = others.filter_map(|&thread| state.next(thread)).collect();
        loop {
            let mut done = None;
            for &event in &next {
                if self.left == 0 {
                    return;
                }
                self.left -= 1;
                if run.delays > 0 && self.points.events.contains(&event) && state.pending(event).is_ok() {
                    let mut other = run.clone();
                    other.held.push(trace.thread(event));
                    other.delays -= 1;
                    self.go_on(state.branch(), other);
                }
                if let Ok(step) = state.step_as_recorded(event, None) {
                    run.then.push(event);
                    if let Op::Notify { .. } = trace.op(event) {
                        run.wakes.extend(step.woken.iter().map(|&woken| (event, woken)));
                    }
                    done = Some(event);
                    break;
                }
            }
            let goes_on = match done {
                Some(event) => {
                    next.remove(&event);
                    trace.thread(event)
                }
                None if run.held.is_empty() => break,
                None => run.held.remove(0),
            };
            next.extend(state.next(goes_on));
        }
        let (kind, all) = match state.standstill() {
            Some(waiting) => (DeadlockKind::Standstill, vec![waiting]),
            None => (DeadlockKind::Partial, state.partial_deadlocks()),
        };
        for waiting in all {
            // A cycle among them is a deadlock by itself, and found as one.
            if !state.has_cycle(&waiting) {
                self.keep(run.clone(), kind, waiting);
            }
        }
    }

    fn keep(&mut self, run: Run, kind: DeadlockKind, waiting: Vec<EventId>) {
        let trace = self.known.trace;
        let others = waiting.iter().filter(|&&event| ends_by_anybody(trace.op(event)));
        let mut key: Vec<CodePosition> = others.map(|&event| trace.pc(event)).collect();
        key.sort_unstable();
        key.dedup();
        let key = (kind, key);
        let Run {
            as_recorded,
            then,
            wakes,
            ..
        } = run;
        let length = |found: &Found| (found.waiting.len(), found.then.len());
        let new = Found {
            as_recorded,
            then,
            wakes,
            waiting,
        };
        match self.found.get(&key) {
            Some(old) if length(old) <= length(&new) => {}
            _ => drop(self.found.insert(key, new)),
        }
    }
}
