//! From a feasible prefix to a schedule that a person can follow.
//!
//! Two steps. First the prefix is cut down to the events that the goal needs: those that must
//! happen before, the writes that reads take their values from, the releases that let others in,
//! the notifies that wake. Then the rest is put in an order with few context switches: a thread
//! runs for as long as it can; when it has to stop, the one that can run longest goes on. Both
//! keep, for each pair of events whose order matters in the given prefix, that order, so what they
//! give is feasible if the prefix was. The checker has the last word.

use crate::predict::Cut;
use crate::prune::MustHappenBefore;
use crate::schedule::{Goal, Schedule, beginning_of, slices_of};
use crate::semantics::memory::seen_after;
use crate::semantics::{self, InOrder};
use crate::trace::{
    CellId, EventId, EventSet, ObjectId, Op, SectionId, Sections, ThreadId, Trace, Wakes, explanations,
};
use columns::Excerpt;
use hashbrown::HashMap;
use std::collections::BTreeSet;

/// The schedule of a feasible prefix, in an order that works, that ends in `goal`.
#[must_use]
pub fn of_prefix(
    trace: &Trace,
    order: &MustHappenBefore,
    sections: &Sections,
    prefix: &[EventId],
    goal: Goal,
) -> Schedule {
    let needed = needed_events(trace, order, sections, prefix, &goal);
    let needed = run_long(trace, order, &needed);
    Schedule {
        trace: trace.id(),
        first_events: beginning_of(trace),
        goal,
        as_recorded: 0,
        slices: slices_of(trace, &needed),
        wakes: Wakes::of(trace, needed.iter().copied()).woken,
    }
}

/// The schedule of a cut that keeps the order of π: as recorded for as long as it leaves nothing out, and
/// in slices from there. Not shortened, so its cost is that of what comes after.
///
/// `in_trace`: whom the notifies wake in π.
#[must_use]
pub fn of_cut(trace: &Trace, cut: &Cut, in_trace: &Wakes, goal: Goal) -> Schedule {
    let as_recorded = cut.as_recorded(trace);
    let then = cut.events_from(trace, EventId(as_recorded));
    // A waiter that does not return in this prefix may give way to one that does.
    let woken = || Wakes::of(trace, cut.events_from(trace, EventId(0)).into_iter()).woken;
    let wakes = if in_trace.woken.is_empty() { Vec::new() } else { woken() };
    long(trace, as_recorded, &then, wakes, in_trace, goal)
}

/// The schedule of a feasible prefix in the order given: so many events as recorded, then these.
#[must_use]
pub fn of_order(trace: &Trace, as_recorded: u32, then: &[EventId], in_trace: &Wakes, goal: Goal) -> Schedule {
    let wakes = if in_trace.woken.is_empty() {
        Vec::new()
    } else {
        let recorded = trace.events().take(as_recorded as usize);
        Wakes::of(trace, recorded.chain(then.iter().copied())).woken
    };
    let more = then
        .iter()
        .zip(as_recorded..)
        .take_while(|&(event, place)| event.0 == place);
    let more = more.count();
    long(trace, as_recorded + more as u32, &then[more..], wakes, in_trace, goal)
}

fn long(
    trace: &Trace,
    as_recorded: u32,
    then: &[EventId],
    mut wakes: Vec<(EventId, ThreadId)>,
    in_trace: &Wakes,
    goal: Goal,
) -> Schedule {
    let differing = first_differing(trace, as_recorded, &wakes, in_trace);
    let is_known = |wake: &(EventId, ThreadId)| {
        let of_condition = condition(trace, wake.0).and_then(|condition| differing.get(&condition));
        let differs = of_condition.is_some_and(|&first| first <= wake.0);
        wake.0.0 < as_recorded && !differs
    };
    wakes.retain(|wake| !is_known(wake));
    Schedule {
        trace: trace.id(),
        first_events: beginning_of(trace),
        goal,
        as_recorded,
        slices: slices_of(trace, then),
        wakes,
    }
}

/// The condition that an event notifies.
fn condition(trace: &Trace, notify: EventId) -> Option<ObjectId> {
    match trace.op(notify) {
        Op::Notify { condition } | Op::NotifyAll { condition } => Some(condition),
        _ => None,
    }
}

/// Of each condition, the first notify before an event of π that wakes others than in π. From there on others wait, so
/// that what the next ones wake has to be said, even if it is the same.
fn first_differing(
    trace: &Trace,
    until: u32,
    wakes: &[(EventId, ThreadId)],
    in_trace: &Wakes,
) -> HashMap<ObjectId, EventId> {
    let [here, there] = [wakes, &in_trace.woken].map(|all| {
        let before = all.iter().take_while(|wake| wake.0.0 < until);
        before.copied().collect::<BTreeSet<_>>()
    });
    let mut first = HashMap::new();
    for &(notify, _) in here.symmetric_difference(&there) {
        if let Some(condition) = condition(trace, notify) {
            first.entry(condition).or_insert(notify);
        }
    }
    first
}

/// The schedule of all of a feasible prefix that ends in `goal`, with few context switches.
#[must_use]
pub fn of_whole_prefix(trace: &Trace, order: &MustHappenBefore, prefix: &[EventId], goal: Goal) -> Schedule {
    let prefix = run_long(trace, order, prefix);
    Schedule {
        trace: trace.id(),
        first_events: beginning_of(trace),
        goal,
        as_recorded: 0,
        slices: slices_of(trace, &prefix),
        wakes: Wakes::of(trace, prefix.iter().copied()).woken,
    }
}

/// The part of `prefix` that the goal needs, in the same order.
fn needed_events(
    trace: &Trace,
    order: &MustHappenBefore,
    sections: &Sections,
    prefix: &[EventId],
    goal: &Goal,
) -> Vec<EventId> {
    let mut sources = explanations(trace, sections, prefix.iter().copied(), |_, _| 0);
    sources.sort_unstable();
    let place: HashMap<EventId, usize> = prefix.iter().enumerate().map(|(at, &event)| (event, at)).collect();
    let mut counts = vec![0; trace.threads()];
    let mut seen = vec![0; trace.threads()];
    let include = |counts: &mut Vec<u32>, event: EventId| {
        order.raise(counts, event);
        let own = &mut counts[trace.thread(event).index()];
        *own = (*own).max(trace.place(event) + 1);
    };
    goal.performed().for_each(|event| include(&mut counts, event));
    goal.pending()
        .for_each(|event| order.raise_to_pending(trace, &mut counts, event));
    if let &(Goal::OtherValue { read, .. } | Goal::StalePointer { read, .. }) = goal {
        let seen = seen_after(trace, prefix.iter().copied(), read);
        let writers = seen.iter().filter_map(|seen| seen.writer);
        writers.for_each(|writer| include(&mut counts, writer));
    }
    if let &Goal::StalePointer { value, .. } = goal {
        let frees = trace.blocks_over(value).filter_map(|(_, free)| free);
        let done = frees.filter(|free| place.contains_key(free));
        done.for_each(|free| include(&mut counts, free));
    }
    // Sections entered so far, per lock, by their place in the prefix.
    let mut entered: HashMap<ObjectId, BTreeSet<(usize, u32)>> = HashMap::new();
    for (number, section) in (0..).zip(sections.from_start()) {
        entered.entry(section.lock).or_default().insert((0, number));
    }
    while let Some(thread) = (0..counts.len()).find(|&thread| seen[thread] < counts[thread]) {
        let event = trace.program_order(ThreadId(thread as u32)).at(seen[thread] as usize);
        seen[thread] += 1;
        include(&mut counts, event);
        let start = sources.partition_point(|&(explained, _)| explained < event);
        for &(_, source) in sources[start..]
            .iter()
            .take_while(|&&(explained, _)| explained == event)
        {
            include(&mut counts, source);
        }
        // Of two sections on a lock that exclude each other, the earlier one has to be closed.
        if let Some(id) = sections.opened_by(event) {
            let section = sections.get(id);
            let others = entered.entry(section.lock).or_default();
            others.insert((place[&event], id.0));
            let mut close = Vec::new();
            for &(_, other) in others.iter() {
                let other = sections.get(SectionId(other));
                if section.excludes(other) {
                    let first = if other.acquire.map(|at| place[&at]) < Some(place[&event]) {
                        other
                    } else {
                        section
                    };
                    close.extend(first.release);
                }
            }
            for release in close {
                include(&mut counts, release);
            }
        }
    }
    let inside = |event: &EventId| trace.place(*event) < counts[trace.thread(*event).index()];
    prefix.iter().copied().filter(inside).collect()
}

/// Reorders `prefix` so that threads run long, keeping the order of events that depend on each other.
fn run_long(trace: &Trace, order: &MustHappenBefore, prefix: &[EventId]) -> Vec<EventId> {
    let (mut after, mut blocked) = dependencies(trace, order, prefix);
    // Of each thread, a prefix has the first events.
    let mut counts = vec![0; trace.threads()];
    prefix
        .iter()
        .for_each(|&event| counts[trace.thread(event).index()] += 1);
    let order_of = |(thread, &count)| trace.program_order(thread).until(count);
    let queues: Vec<Excerpt<'_, EventId>> = (0..).map(ThreadId).zip(&counts).map(order_of).collect();
    let mut next: Vec<usize> = vec![0; queues.len()];
    let mut done = Vec::with_capacity(prefix.len());
    while done.len() < prefix.len() {
        // The thread that can run longest now; one that can finish altogether beats all others.
        let best = (0..queues.len())
            .filter_map(|thread| {
                let length = run_length(queues[thread].from(next[thread]), &after, &blocked);
                let finishes = next[thread] + length == queues[thread].len();
                (length > 0).then_some((finishes, length, std::cmp::Reverse(thread)))
            })
            .max();
        let Some((_, length, std::cmp::Reverse(thread))) = best else {
            debug_assert!(false, "dependencies of a sequence are acyclic");
            return prefix.to_vec();
        };
        for event in queues[thread].excerpt(next[thread]..next[thread] + length) {
            done.push(event);
            for later in after.remove(&event).unwrap_or_default() {
                *blocked.entry(later).or_default() -= 1;
            }
        }
        next[thread] += length;
    }
    done
}

/// How many of a thread's next events can run without anybody else.
fn run_length(
    queue: Excerpt<'_, EventId>,
    after: &HashMap<EventId, Vec<EventId>>,
    blocked: &HashMap<EventId, u32>,
) -> usize {
    let all = queue.len();
    let mut lifted: HashMap<EventId, u32> = HashMap::new();
    for (length, event) in queue.enumerate() {
        if blocked.get(&event).copied().unwrap_or(0) > lifted.get(&event).copied().unwrap_or(0) {
            return length;
        }
        for &later in after.get(&event).into_iter().flatten() {
            *lifted.entry(later).or_default() += 1;
        }
    }
    all
}

type Edges = (HashMap<EventId, Vec<EventId>>, HashMap<EventId, u32>);

/// What has to keep its order: successors of each event in other threads, and how many such edges
/// come into each.
fn dependencies(trace: &Trace, order: &MustHappenBefore, prefix: &[EventId]) -> Edges {
    let mut inside = EventSet::none_of(trace.len());
    prefix.iter().for_each(|&event| inside.insert(event));
    let mut edges = Dependencies {
        trace,
        after: HashMap::new(),
        blocked: HashMap::new(),
        looks: Looks::default(),
    };
    let mut cells: HashMap<CellId, Shared> = HashMap::new();
    let mut objects: HashMap<ObjectId, Shared> = HashMap::new();
    for &event in prefix {
        for from in order.incoming(event).filter(|&from| inside.has(from)) {
            edges.add(from, event);
        }
        match trace.op(event) {
            Op::Access => {
                let access = trace.access(event).expect("an access");
                // Of what is not contested, no two threads' accesses have to keep their order.
                let contested = trace.is_contested(event).then(|| trace.uses(access));
                let contested = contested.into_iter().flatten();
                for used in contested.filter(|used| trace.cell(used.cell).contested()) {
                    cells
                        .entry(used.cell)
                        .or_default()
                        .step(&mut edges, event, access.kind.writes());
                }
                for (last, first) in trace.pinned_between(event) {
                    for from in last.into_iter().filter(|&from| inside.has(from)) {
                        edges.add(from, event);
                    }
                    for to in first.into_iter().filter(|&to| inside.has(to)) {
                        edges.add(event, to);
                    }
                }
            }
            op => {
                for used in semantics::uses(op).into_iter().flatten() {
                    let looks = match used.in_order {
                        InOrder::WithAll => false,
                        InOrder::WithChanges => true,
                        InOrder::WithNone => continue,
                    };
                    objects.entry(used.object).or_default().step(&mut edges, event, !looks);
                }
            }
        }
    }
    (edges.after, edges.blocked)
}

struct Dependencies<'t> {
    trace: &'t Trace,
    after: HashMap<EventId, Vec<EventId>>,
    blocked: HashMap<EventId, u32>,
    looks: Looks,
}

impl Dependencies<'_> {
    fn add(&mut self, from: EventId, to: EventId) {
        if self.trace.thread(from) != self.trace.thread(to) {
            self.after.entry(from).or_default().push(to);
            *self.blocked.entry(to).or_default() += 1;
        }
    }
}

/// Steps on something shared: those that only look commute with each other. A long prefix steps on a million cells.
#[derive(Clone, Copy, Default)]
struct Shared {
    /// The number of the event that changed it last and one, or 0.
    changed: u32,
    /// Where the last of those is that have looked at it since, in the list of all, and one, or 0.
    looked: u32,
}

impl Shared {
    fn step(&mut self, edges: &mut Dependencies<'_>, event: EventId, changes: bool) {
        if let Some(changed) = self.changed.checked_sub(1) {
            edges.add(EventId(changed), event);
        }
        if changes {
            while let Some(looked) = edges.looks.pop(&mut self.looked) {
                edges.add(looked, event);
            }
            self.changed = event.0 + 1;
        } else {
            edges.looks.push(&mut self.looked, event);
        }
    }
}

/// Stacks of events that have looked at something, all in one list: each with where the next one of its stack is and
/// one, or 0. A stack is known by its top, numbered in the same way.
#[derive(Default)]
struct Looks {
    list: Vec<(EventId, u32)>,
    /// The stack of rows that are not in use.
    unused: u32,
}

impl Looks {
    fn push(&mut self, top: &mut u32, event: EventId) {
        let row = (event, *top);
        *top = match self.unused.checked_sub(1) {
            Some(unused) => {
                let next = std::mem::replace(&mut self.list[unused as usize], row).1;
                std::mem::replace(&mut self.unused, next)
            }
            None => {
                self.list.push(row);
                self.list.len() as u32
            }
        };
    }

    fn pop(&mut self, top: &mut u32) -> Option<EventId> {
        let (event, next) = &mut self.list[top.checked_sub(1)? as usize];
        let popped = std::mem::replace(top, *next);
        *next = std::mem::replace(&mut self.unused, popped);
        Some(*event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::{Event, MemRange, ObjectInfo, ObjectKind, Op as FileOp, StackId, Tables, WaitOutcome};

    #[test]
    fn who_is_woken_is_said_unless_that_part_is_as_recorded() {
        let (lock, condition) = (ObjectId(0), ObjectId(1));
        let write = |addr| FileOp::Write {
            mem: MemRange { addr, size: 4 },
            value: 1,
        };
        let wait_end = FileOp::WaitEnd {
            condition,
            lock,
            outcome: WaitOutcome::Notified,
            attempt: false,
        };
        let events = [
            (1, FileOp::Acquire { lock, attempt: false }),
            (1, FileOp::WaitBegin { condition, lock }),
            (2, write(0x20)),
            (0, FileOp::Notify { condition }),
            (1, wait_end),
            (1, write(0x10)),
            (0, write(0x10)),
        ];
        let object = |kind| ObjectInfo {
            kind,
            addr: 0,
            name: None,
            initial: 0,
        };
        let tables = Tables {
            objects: vec![object(ObjectKind::Mutex), object(ObjectKind::Condition)],
            ..Tables::default()
        };
        let event = |&(thread, op): &(u32, FileOp)| Event {
            thread: ThreadId(thread),
            pc: 1,
            stack: StackId::EMPTY,
            op,
        };
        let trace = Trace::from_events(tables, &events.iter().map(event).collect::<Vec<_>>());
        let in_trace = Wakes::of(&trace, trace.events());
        let goal = Goal::Race(EventId(5), EventId(6));
        let of = |as_recorded, then: &[u32]| {
            let then: Vec<EventId> = then.iter().copied().map(EventId).collect();
            let schedule = of_order(&trace, as_recorded, &then, &in_trace, goal.clone());
            (schedule.as_recorded, schedule.wakes)
        };
        let woken = vec![(EventId(3), ThreadId(1))];
        assert_eq!(of(2, &[3, 4]), (2, woken), "event 2 is left out");
        assert_eq!(of(2, &[2, 3, 4]), (5, Vec::new()));
        assert_eq!(of(5, &[]), (5, Vec::new()));
    }

    #[test]
    fn looks_are_kept_apart_and_each_is_popped_once() {
        let mut random = fastrand::Rng::with_seed(1);
        let (mut looks, mut tops) = (Looks::default(), [0_u32; 5]);
        let mut expected: [Vec<EventId>; 5] = Default::default();
        let mut most = 0;
        for number in 0..5000 {
            let of = random.usize(0..5);
            if random.u32(0..8) > 0 {
                looks.push(&mut tops[of], EventId(number));
                expected[of].push(EventId(number));
            } else {
                while let Some(event) = looks.pop(&mut tops[of]) {
                    assert_eq!(expected[of].pop(), Some(event));
                }
                assert!(expected[of].is_empty());
            }
            most = most.max(expected.iter().map(Vec::len).sum());
        }
        assert_eq!(looks.list.len(), most, "rows are used again");
    }

    #[test]
    fn whose_accesses_depend_on_others_runs_behind_these() {
        let mem = |addr| MemRange { addr, size: 4 };
        let write = |addr| FileOp::Write {
            mem: mem(addr),
            value: 1,
        };
        let read = |addr| FileOp::Read {
            mem: mem(addr),
            value: 1,
        };
        // By turns, without need; then what both read, one writes.
        let events = [
            (0, write(0x10)),
            (1, write(0x20)),
            (0, read(0x10)),
            (1, write(0x30)),
            (0, read(0x30)),
            (2, read(0x30)),
            (1, read(0x20)),
            (1, write(0x30)),
            (0, write(0x40)),
        ];
        let event = |&(thread, op): &(u32, FileOp)| Event {
            thread: ThreadId(thread),
            pc: 1,
            stack: StackId::EMPTY,
            op,
        };
        let trace = Trace::from_events(Tables::default(), &events.iter().map(event).collect::<Vec<_>>());
        let order = MustHappenBefore::of(&trace);
        let prefix: Vec<EventId> = trace.events().collect();
        let done: Vec<u32> = run_long(&trace, &order, &prefix).iter().map(|event| event.0).collect();
        assert_eq!(done, [1, 3, 6, 0, 2, 4, 8, 5, 7]);
    }
}
