//! The order that a model proposes.
//!
//! The solver orders only the events it knows. From its order the smallest prefix is put together
//! that brings both accesses next, with everything else of that prefix fitted in as near to π as
//! the order allows; then it is [executed](super::replay).

use super::z3_session::Model;
use crate::encode::{Encoder, FactId, Form, Literal, Node, PendingRead, Source};
use crate::prune::MustHappenBefore;
use crate::trace::{EventId, ThreadId, Trace};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How many events of each thread are in a prefix.
struct Cut<'t> {
    trace: &'t Trace,
    order: &'t MustHappenBefore,
    counts: Vec<u32>,
    /// How many of them have been looked at.
    seen: Vec<u32>,
}

impl Cut<'_> {
    /// Includes what is there whenever `event` is next.
    fn include_before(&mut self, event: EventId) {
        self.order.raise_to_pending(self.trace, &mut self.counts, event);
    }

    fn include(&mut self, event: EventId) {
        let thread = self.trace.thread(event).index();
        if self.counts[thread] <= self.trace.place(event) {
            self.order.raise(&mut self.counts, event);
            self.counts[thread] = self.trace.place(event) + 1;
        }
    }

    fn contains(&self, event: EventId) -> bool {
        self.trace.place(event) < self.counts[self.trace.thread(event).index()]
    }

    fn next_unseen(&mut self) -> Option<EventId> {
        let thread = (0..self.counts.len()).find(|&thread| self.seen[thread] < self.counts[thread])?;
        let event = self
            .trace
            .program_order(ThreadId(thread as u32))
            .at(self.seen[thread] as usize);
        self.seen[thread] += 1;
        Some(event)
    }
}

/// The smallest prefix that the model's explanations need to perform some events and to bring others next, in the
/// order nearest to π that keeps what the model satisfies the clauses and the question by.
///
/// Not in the model's own order: of events that no clause of this prefix mentions it says nothing, and each place that
/// differs from π without need violates something else. Only `active` facts are looked at: of the others, the model
/// says nothing. `None` if there is no such order: the model breaks clauses that it was given.
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
    close(&mut cut, encoder, model, (performed, next), active);
    if model.behind().iter().any(|&event| cut.contains(event)) {
        // Something that is there only because π has it there needs what the model wants behind the race.
        cut.counts = vec![0; threads];
        cut.seen = vec![0; threads];
        close(&mut cut, encoder, model, (performed, next), active);
    }
    in_order(&cut, needed_edges(encoder, model, question, &cut, active))
}

/// Adds to a prefix what the model's explanations need: of what it holds, and to perform some events and bring others
/// next.
fn close(
    cut: &mut Cut<'_>,
    encoder: &Encoder<'_>,
    model: &Model,
    (performed, next): (&[EventId], &[EventId]),
    active: &dyn Fn(FactId) -> bool,
) {
    performed.iter().for_each(|&event| cut.include(event));
    let seen = encoder.pending_read().into_iter().flat_map(PendingRead::writes);
    let seen = seen.filter(|&(write, choice)| model.chosen(choice) && model.has(write));
    seen.for_each(|(write, _)| cut.include(write));
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
            for needed in counted_before(encoder, model, event, active) {
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
            return;
        }
    }
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
    // Of an event that it puts behind the prefix, and that is in it all the same since nothing asks, it says nothing.
    let Some(lock) = known.filter(|_| model.has(event)) else {
        return Vec::new();
    };
    let all = encoder.sections().handed_over(lock).iter().copied();
    all.filter(|&other| model.knows(other) && model.before(other, event))
        .collect()
}

/// What the model puts before `event`, which needs a certain count of a semaphore, of all that brings it about there.
fn counted_before(
    encoder: &Encoder<'_>,
    model: &Model,
    event: EventId,
    active: &dyn Fn(FactId) -> bool,
) -> Vec<EventId> {
    if !encoder.count_fact(event).is_some_and(active) || !model.knows(event) {
        return Vec::new();
    }
    let before = |change: &EventId| model.knows(*change) && model.before(*change, event);
    encoder.changes_of_count(event).filter(before).collect()
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

/// Orders a prefix: each event as early in π's order as program order, must-happen-before and the edges allow. `None`
/// if these go round in a circle.
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
        let events = trace.program_order(ThreadId(thread as u32)).until(count as usize);
        for event in events.clone() {
            edges.extend(order.incoming(event).map(|from| (from, event)));
        }
        for event in events.skip(1) {
            blocked[number(event)] += 1;
        }
    }
    edges.sort_unstable();
    edges.dedup();
    for &(_, to) in &edges {
        blocked[number(to)] += 1;
    }
    let firsts = (0..cut.counts.len()).filter(|&thread| cut.counts[thread] > 0);
    let firsts = firsts.map(|thread| trace.program_order(ThreadId(thread as u32)).at(0));
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
