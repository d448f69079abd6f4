//! Replays what the solver proposes and finds the constraints that it violates.
//!
//! The solver orders only the events it knows. From its order the smallest prefix is put together
//! that brings both accesses next, with everything else of that prefix fitted in as near to π as
//! the order allows; then it is executed. This execution is the encoder's own and trusted by
//! nobody: it decides which clauses to write next, and the checker judges the result.

use super::handed_over::HandedOver;
use super::z3_session::Model;
use crate::encode::{Encoder, FactId, Form, Literal, Node, Source};
use crate::prune::MustHappenBefore;
use crate::trace::{AccessKind, CellId, EventId, ObjectId, Op, SectionId, ThreadId, Trace, Wakes};
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A constraint that a proposed order violates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Violation {
    /// A read sees another value; with the writes of the cell so far, in order.
    Read {
        read: EventId,
        cell: CellId,
        value: u64,
        writes: Vec<EventId>,
    },
    /// A pinned access is not in its place among the events of another thread.
    Pinned { read: EventId, cell: CellId, value: u64 },
    /// Two sections overlap.
    Sections(SectionId, SectionId),
    /// A lock that is handed over is not free, or not held, after these events of it.
    HandedOver {
        lock: ObjectId,
        history: Vec<EventId>,
        event: EventId,
    },
    /// A wait, a semaphore's wait or a failed acquire has nothing to explain it; with those that compete with it for what
    /// could, in order.
    Unmatched(EventId, Vec<EventId>),
}

/// How many events of each thread are in a prefix.
struct Cut<'t> {
    trace: &'t Trace,
    order: &'t MustHappenBefore,
    counts: Vec<u32>,
    /// How many of them have been looked at.
    seen: Vec<u32>,
}

impl Cut<'_> {
    /// Includes what must happen before `event`.
    fn include_before(&mut self, event: EventId) {
        for thread in 0..self.counts.len() {
            let count = self.order.count(event, ThreadId(thread as u32));
            self.counts[thread] = self.counts[thread].max(count);
        }
    }

    fn include(&mut self, event: EventId) {
        let thread = self.trace.thread(event).index();
        if self.counts[thread] <= self.trace.place(event) {
            self.include_before(event);
            self.counts[thread] = self.trace.place(event) + 1;
        }
    }

    fn contains(&self, event: EventId) -> bool {
        self.trace.place(event) < self.counts[self.trace.thread(event).index()]
    }

    fn next_unseen(&mut self) -> Option<EventId> {
        let thread = (0..self.counts.len()).find(|&thread| self.seen[thread] < self.counts[thread])?;
        let event = self.trace.program_order(ThreadId(thread as u32))[self.seen[thread] as usize];
        self.seen[thread] += 1;
        Some(event)
    }
}

/// The smallest prefix that the model's explanations need to perform some events and to bring others next, in the
/// order nearest to π that keeps what the model satisfies the clauses and the question by.
///
/// Not in the model's own order: of events that no clause of this prefix mentions it says nothing, and each place that differs from π
/// without need violates something else. Only `active` facts are looked at: of the others, the model says nothing.
/// `None` if there is no such order: the model breaks clauses that it was given.
pub(super) fn linearize(
    encoder: &Encoder<'_>,
    model: &Model,
    question: &[Literal],
    performed: &[EventId],
    next: &[EventId],
    active: &dyn Fn(FactId) -> bool,
) -> Option<Vec<EventId>> {
    let (trace, order) = (encoder.trace(), encoder.order());
    let threads = trace.threads();
    let mut cut = Cut {
        trace,
        order,
        counts: vec![0; threads],
        seen: vec![0; threads],
    };
    if encoder.form() == Form::WholeTrace {
        let everything = |thread| trace.program_order(ThreadId(thread as u32)).len() as u32;
        cut.counts = (0..threads).map(everything).collect();
        return in_order(&cut, needed_edges(encoder, model, question, &cut, active));
    }
    cut.counts = in_order_before(encoder, model);
    performed.iter().for_each(|&event| cut.include(event));
    next.iter().for_each(|&event| cut.include_before(event));
    let pairs = encoder.section_pairs();
    loop {
        while let Some(event) = cut.next_unseen() {
            for needed in explanations(encoder, model, event, active) {
                cut.include(needed);
            }
            for needed in handed_over_before(encoder, model, event, active) {
                cut.include(needed);
            }
        }
        for &(first, second, _) in pairs.iter().filter(|&&(.., fact)| active(fact)) {
            let (first, second) = (encoder.sections().get(first), encoder.sections().get(second));
            let inside = |acquire: Option<EventId>| acquire.is_none_or(|acquire| cut.contains(acquire));
            if !inside(first.acquire) || !inside(second.acquire) {
                continue;
            }
            for (earlier, later) in [(first, second), (second, first)] {
                let (Some(release), Some(acquire)) = (earlier.release, later.acquire) else {
                    continue;
                };
                if model.knows(release) && model.knows(acquire) && model.before(release, acquire) {
                    cut.include(release);
                }
            }
        }
        if cut.seen == cut.counts {
            break;
        }
    }
    in_order(&cut, needed_edges(encoder, model, question, &cut, active))
}

/// How many events of each thread π has before the race point, but for those that the model wants behind it.
fn in_order_before(encoder: &Encoder<'_>, model: &Model) -> Vec<u32> {
    let (trace, order) = (encoder.trace(), encoder.order());
    let threads = || (0..trace.threads() as u32).map(ThreadId);
    let before = threads().map(|thread| trace.events_before(thread, encoder.race_before()));
    let mut counts: Vec<u32> = before.collect();
    let mut first: Vec<Option<EventId>> = vec![None; trace.threads()];
    for &event in model.behind() {
        first[trace.thread(event).index()].get_or_insert(event);
    }
    for behind in first.into_iter().flatten() {
        for (count, thread) in counts.iter_mut().zip(threads()) {
            *count = (*count).min(order.first_after(trace, behind, thread));
        }
        let own = &mut counts[trace.thread(behind).index()];
        *own = (*own).min(trace.place(behind));
    }
    counts
}

/// The order literals by which the model satisfies the question and those clauses that say something of this prefix.
fn needed_edges(
    encoder: &Encoder<'_>,
    model: &Model,
    question: &[Literal],
    cut: &Cut<'_>,
    active: &dyn Fn(FactId) -> bool,
) -> Vec<(EventId, EventId)> {
    let inside = |node: Node| node.event().is_some_and(|event| cut.contains(event));
    let void = |&literal: &Literal| match literal {
        Literal::Chosen(choice) => model.chosen(choice),
        Literal::NotChosen(choice) => !model.chosen(choice),
        Literal::Before(first, second) => first == Node::RACE && !inside(second),
    };
    let edge = |&literal: &Literal| match literal {
        Literal::Before(first, second) if inside(first) && inside(second) => {
            let (first, second) = (first.event()?, second.event()?);
            model.before(first, second).then_some((first, second))
        }
        _ => None,
    };
    let mut edges: Vec<(EventId, EventId)> = question.iter().filter_map(edge).collect();
    for clause in encoder.clauses() {
        let counts = match clause.fact {
            // Single literals without a fact are must-happen-before, which is kept anyway.
            None => clause.literals.len() > 1,
            Some(fact) => active(fact),
        };
        if counts && !clause.literals.iter().any(void) {
            edges.extend(clause.literals.iter().filter_map(edge));
        }
    }
    edges
}

/// The events of a lock that is handed over that the model puts before `event`, which is one of them.
fn handed_over_before(
    encoder: &Encoder<'_>,
    model: &Model,
    event: EventId,
    active: &dyn Fn(FactId) -> bool,
) -> Vec<EventId> {
    let lock = encoder.trace().op(event).lock();
    let known = lock.filter(|&lock| encoder.handed_over_fact(lock).is_some_and(active));
    let Some(lock) = known.filter(|_| model.knows(event)) else {
        return Vec::new();
    };
    let all = encoder.sections().handed_over(lock).iter().copied();
    all.filter(|&other| model.knows(other) && model.before(other, event))
        .collect()
}

/// The events that the model explains `event` by.
fn explanations(encoder: &Encoder<'_>, model: &Model, event: EventId, active: &dyn Fn(FactId) -> bool) -> Vec<EventId> {
    let trace = encoder.trace();
    let mut needed = Vec::new();
    for used in trace.cell_uses(event) {
        if let Some(known) = encoder
            .read_options(event, used.cell)
            .filter(|known| active(known.fact))
        {
            let chosen = known.options.iter().find(|&&(_, choice)| model.chosen(choice));
            needed.extend(chosen.and_then(|&(writer, _)| writer));
            if known.pinned {
                needed.extend(trace.pinned_between(event).filter_map(|(last, _)| last));
            }
        }
    }
    if let Some(matching) = encoder.matching(event).filter(|known| active(known.fact)) {
        let chosen = matching.options.iter().find(|&&(_, choice)| model.chosen(choice));
        needed.extend(chosen.and_then(|&(source, _)| match source {
            Source::Event(event) => Some(event),
            Source::Section(section) => encoder.sections().get(section).acquire,
            Source::Permit(..) => None,
        }));
    }
    needed
}

/// Orders a prefix: each event as early in π's order as program order, must-happen-before and the edges allow. `None` if these
/// go round in a circle.
fn in_order(cut: &Cut<'_>, edges: Vec<(EventId, EventId)>) -> Option<Vec<EventId>> {
    let (trace, order) = (cut.trace, cut.order);
    let mut start = Vec::with_capacity(cut.counts.len());
    let mut total = 0;
    for &count in &cut.counts {
        start.push(total);
        total += count as usize;
    }
    let number = |event: EventId| start[trace.thread(event).index()] + trace.place(event) as usize;
    let mut edges = edges;
    let mut blocked = vec![0_u32; total];
    for (thread, &count) in cut.counts.iter().enumerate() {
        let events = &trace.program_order(ThreadId(thread as u32))[..count as usize];
        for &event in events {
            edges.extend(order.incoming(event).map(|from| (from, event)));
        }
        for pair in events.windows(2) {
            blocked[number(pair[1])] += 1;
        }
    }
    edges.sort_unstable();
    edges.dedup();
    for &(_, to) in &edges {
        blocked[number(to)] += 1;
    }
    let firsts = (0..cut.counts.len()).filter(|&thread| cut.counts[thread] > 0);
    let firsts = firsts.map(|thread| trace.program_order(ThreadId(thread as u32))[0]);
    let mut ready: BinaryHeap<Reverse<EventId>> = firsts
        .filter(|&event| blocked[number(event)] == 0)
        .map(Reverse)
        .collect();
    let mut done = Vec::with_capacity(total);
    while let Some(Reverse(event)) = ready.pop() {
        done.push(event);
        let from = edges.partition_point(|&(from, _)| from < event);
        let after = edges[from..].iter().take_while(|&&(from, _)| from == event);
        let next = trace.successor(event).filter(|&next| cut.contains(next));
        for next in after.map(|&(_, to)| to).chain(next) {
            let count = &mut blocked[number(next)];
            *count -= 1;
            if *count == 0 {
                ready.push(Reverse(next));
            }
        }
    }
    (done.len() == total).then_some(done)
}

/// Executes an order and collects what it violates.
pub(super) fn violations(encoder: &Encoder<'_>, order: &[EventId]) -> Vec<Violation> {
    let trace = encoder.trace();
    let mut found = Vec::new();
    let mut memory: HashMap<CellId, Vec<EventId>> = HashMap::new();
    let mut values: HashMap<CellId, Option<u64>> = HashMap::new();
    let mut freed = FreedReads::new(encoder);
    let mut handed_over: HashMap<ObjectId, HandedOver> = HashMap::new();
    let mut open: HashMap<u32, Vec<SectionId>> = HashMap::new();
    for (number, section) in encoder.sections().all().iter().enumerate() {
        if section.acquire.is_none() {
            open.entry(section.lock.0).or_default().push(SectionId(number as u32));
        }
    }
    let mut permits: HashMap<u32, i64> = HashMap::new();
    let mut done = vec![0_u32; trace.threads()];
    for &event in order {
        done[trace.thread(event).index()] += 1;
        if let Some(lock) = trace
            .op(event)
            .lock()
            .filter(|&lock| encoder.sections().is_handed_over(lock))
        {
            let state = handed_over
                .entry(lock)
                .or_insert_with(|| HandedOver::new(trace, encoder.sections(), lock));
            found.extend(state.step(trace, event));
            continue;
        }
        if trace.op(event).depends_on_reads() {
            found.extend(freed.on_which_depends(trace.thread(event)));
        }
        match trace.op(event) {
            Op::Access(_) => {
                let access = trace.access(event).expect("an access");
                if !in_place(trace, &done, event)
                    && let Some(used) = trace.uses(access).find(|used| is_pinned(trace, used.cell))
                {
                    found.push(Violation::Pinned {
                        read: event,
                        cell: used.cell,
                        value: used.read,
                    });
                }
                for used in trace.uses(access) {
                    let cell = trace.cell(used.cell);
                    if access.kind.reads() && !cell.external {
                        let sees = values.get(&used.cell).copied().unwrap_or(cell.initial);
                        let other_value = (sees != Some(used.read)).then(|| Violation::Read {
                            read: event,
                            cell: used.cell,
                            value: used.read,
                            writes: memory.get(&used.cell).cloned().unwrap_or_default(),
                        });
                        if freed.any {
                            freed.read(trace, event, used.cell, used.read, other_value, &memory);
                        } else {
                            found.extend(other_value);
                        }
                    }
                }
                // A read-modify-write of several cells writes what all of its reads decide.
                for used in trace.uses(access).filter(|_| access.kind.writes()) {
                    memory.entry(used.cell).or_default().push(event);
                    values.insert(used.cell, (access.kind != AccessKind::Free).then_some(used.written));
                    freed.write(trace.thread(event), used.cell);
                }
            }
            Op::Acquire { lock } | Op::AcquireShared { lock } | Op::WaitEnd { lock, .. } => {
                if let Some(id) = encoder.sections().opened_by(event) {
                    let others = open.entry(lock.0).or_default();
                    let section = encoder.sections().get(id);
                    for &other in others
                        .iter()
                        .filter(|&&other| section.excludes(encoder.sections().get(other)))
                    {
                        found.push(Violation::Sections(other, id));
                    }
                    others.push(id);
                }
            }
            Op::Release { lock } | Op::WaitBegin { lock, .. } => {
                if let Some(id) = encoder.sections().closed_by(event) {
                    open.entry(lock.0).or_default().retain(|&other| other != id);
                }
            }
            Op::AcquireFailed { lock, shared } => {
                let held = open
                    .get(&lock.0)
                    .into_iter()
                    .flatten()
                    .any(|&id| encoder.sections().get(id).keeps_out(trace.thread(event), shared));
                if !held {
                    found.push(Violation::Unmatched(event, Vec::new()));
                }
            }
            Op::SemPost { semaphore } => *permits.entry(semaphore.0).or_default() += 1,
            Op::SemWait { semaphore } => {
                let initial = trace.tables().object(semaphore).map_or(0, |object| object.initial);
                let count = permits.entry(semaphore.0).or_default();
                *count -= 1;
                if *count + i64::from(initial) < 0 {
                    // Every wait so far competes for the same permits.
                    let so_far = order.iter().copied().take_while(|&other| other != event);
                    let mut waits: Vec<EventId> = so_far
                        .filter(|&other| trace.op(other) == Op::SemWait { semaphore })
                        .collect();
                    waits.sort_unstable();
                    found.push(Violation::Unmatched(event, waits));
                }
            }
            _ => {}
        }
    }
    let wakes = Wakes::of(trace, order.iter().copied());
    for &end in &wakes.unserved {
        // The waits on the same condition compete for the same notifies.
        let Op::WaitEnd { condition, .. } = trace.op(end) else {
            continue;
        };
        let rivals = wakes
            .by
            .keys()
            .copied()
            .filter(|&rival| matches!(trace.op(rival), Op::WaitEnd { condition: other, .. } if other == condition));
        let mut rivals: Vec<EventId> = rivals.collect();
        rivals.sort_unstable();
        found.push(Violation::Unmatched(end, rivals));
    }
    found
}

/// The reads that see another value than in π, in a trace that frees reads, and where that could go.
struct FreedReads {
    /// Whether reads are freed at all.
    any: bool,
    /// Per thread: reads that saw something else, or what such a read decided.
    by_thread: Vec<Vec<Violation>>,
    /// The same for what was last written to a cell.
    by_cell: HashMap<CellId, Vec<Violation>>,
}

impl FreedReads {
    fn new(encoder: &Encoder<'_>) -> FreedReads {
        FreedReads {
            any: encoder.frees_reads(),
            by_thread: vec![Vec::new(); encoder.trace().threads()],
            by_cell: HashMap::new(),
        }
    }

    fn read(
        &mut self,
        trace: &Trace,
        read: EventId,
        cell: CellId,
        value: u64,
        other_value: Option<Violation>,
        memory: &HashMap<CellId, Vec<EventId>>,
    ) {
        let here = &mut self.by_thread[trace.thread(read).index()];
        if let Some(decided_by) = self.by_cell.get(&cell) {
            // The value fits, but only by the write that those reads decide.
            here.push(other_value.unwrap_or_else(|| Violation::Read {
                read,
                cell,
                value,
                writes: memory.get(&cell).cloned().unwrap_or_default(),
            }));
            let new: Vec<Violation> = decided_by
                .iter()
                .filter(|known| !here.contains(known))
                .cloned()
                .collect();
            here.extend(new);
        } else {
            here.extend(other_value);
        }
    }

    fn write(&mut self, thread: ThreadId, cell: CellId) {
        if self.by_thread[thread.index()].is_empty() {
            self.by_cell.remove(&cell);
        } else {
            self.by_cell.insert(cell, self.by_thread[thread.index()].clone());
        }
    }

    fn on_which_depends(&self, thread: ThreadId) -> impl Iterator<Item = Violation> + '_ {
        self.by_thread[thread.index()].iter().cloned()
    }
}

fn is_pinned(trace: &Trace, cell: CellId) -> bool {
    let cell = trace.cell(cell);
    cell.external && !cell.private
}

/// Whether a pinned access, just executed, has its place among the events of other threads.
fn in_place(trace: &Trace, done: &[u32], event: EventId) -> bool {
    let Some(pin) = trace.pin(event) else {
        return true;
    };
    done.iter().enumerate().all(|(number, &done)| {
        let thread = ThreadId(number as u32);
        let order = trace.program_order(thread);
        let next = order.get(done as usize);
        let last = (done as usize).checked_sub(1).map(|last| order[last]);
        thread == trace.thread(event)
            || next.is_none_or(|&next| next >= pin.from) && last.is_none_or(|last| last <= pin.until)
    })
}
