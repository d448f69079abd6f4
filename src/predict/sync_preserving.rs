//! Sync-preserving prediction (Mathur, Pavlogiannis, Viswanathan, POPL 2021).
//!
//! Looks for a prefix that needs no reordering at all: some events of π are left out, the rest
//! stays in the order of π, and each read keeps the very write that it had. The smallest set of
//! events that can do this is a closure, found by growing a cut until nothing more is missing:
//!
//! - whatever must happen before an event in it, the write that a read in it took its value from,
//!   the notify that ended a wait in it, the section around a failed acquire in it;
//! - of the critical sections on a lock that are in it, all but the last have to be closed.
//!
//! If the cut can do without both accesses, its events in the order of π are a feasible prefix:
//! each read sees what it saw, locks are handed over as they were. Ours goes beyond the paper's
//! reads, writes and locks: condition variables keep the matching of π, semaphore operations pull
//! in all earlier ones on the same semaphore, a pinned access all that must precede it.
//!
//! Complete for sync-preserving races on reads, writes and mutexes; misses all that need two
//! critical sections, or a write and a read, to change their order.

use crate::prune::{Clocks, Edge, Ending, MustHappenBefore, Needs};
use crate::semantics::{Need, semaphores, waits};
use crate::trace::{CellId, EventId, ObjectId, SectionId, Sections, ThreadId, Trace, Writers, explanations};
use columns::{Column, Excerpt};
use hashbrown::HashMap;
use std::borrow::Cow;

/// How many events before the race are not taken as recorded at first, when a cut is to hold most of π.
const LEFT_OPEN: [u32; 4] = [0, 32, 512, 8192];

/// How many events of each thread are in a prefix that keeps the order of π.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    counts: Vec<u32>,
}

impl Cut {
    /// The number of events in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.counts.iter().map(|&count| count as usize).sum()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many events of π, from its start, are all in it.
    #[must_use]
    pub fn as_recorded(&self, trace: &Trace) -> u32 {
        let threads = (0..trace.threads() as u32).map(ThreadId);
        let missing =
            threads.filter_map(|thread| trace.program_order(thread).get(self.counts[thread.index()] as usize));
        missing.map(|event| event.0).min().unwrap_or(trace.len() as u32)
    }

    /// Its events from `from` on, in the order of π.
    #[must_use]
    pub fn events_from(&self, trace: &Trace, from: EventId) -> Vec<EventId> {
        let mut events = Vec::new();
        for (thread, &count) in self.counts.iter().enumerate() {
            let thread = ThreadId(thread as u32);
            let start = (trace.events_before(thread, from) as usize).min(count as usize);
            events.extend(trace.program_order(thread).excerpt(start..count as usize));
        }
        events.sort_unstable();
        events
    }

    /// The same, for somebody who looks at the first ones only: there may be millions of others.
    pub fn in_order_from<'c>(&'c self, trace: &'c Trace, from: EventId) -> impl Iterator<Item = EventId> + 'c {
        let threads = (0..).map(ThreadId).zip(&self.counts);
        let last = threads.filter_map(|(thread, &count)| {
            let last = (count as usize).checked_sub(1)?;
            Some(trace.program_order(thread).at(last))
        });
        let until = last.max().map_or(from.0, |last| last.0 + 1);
        let inside = |&event: &EventId| trace.place(event) < self.counts[trace.thread(event).index()];
        (from.0..until).map(EventId).filter(inside)
    }
}

/// An ending whose events happen in the order of π: in no other, these cuts perform them.
fn as_in_trace(ending: Ending<'_>) -> Option<Ending<'_>> {
    let in_trace = ending.in_order().all(|(first, second)| first < second);
    in_trace.then_some(ending)
}

/// The predictor, prepared for one trace.
pub struct SyncPreserving<'t> {
    trace: &'t Trace,
    /// Must-happen-before.
    must: &'t MustHappenBefore,
    sections: &'t Sections,
    /// What an event rests on in π: must-happen-before and the explanations that π gave.
    in_trace: Cow<'t, Clocks>,
    /// Per lock, those who ever hold it.
    holders: HashMap<ObjectId, Vec<Holder>>,
}

/// The sections of a thread on one lock.
struct Holder {
    thread: ThreadId,
    /// In program order.
    sections: Column<SectionId>,
    /// How many events the thread has done when it has entered each: none, if it was in it from the start.
    entered: Column,
}

impl<'t> SyncPreserving<'t> {
    /// Prepares the predictor.
    #[must_use]
    pub fn new(trace: &'t Trace, needs: &'t Needs<'t>, sections: &'t Sections) -> SyncPreserving<'t> {
        // What every prefix needs is as it was in π; where no value was written twice, that is all.
        let needed = needs.relation();
        let edges = explained(trace, sections, needs.writers(), |event, thread| {
            needed.count(event, thread)
        });
        let edges: Vec<Edge> = edges.into_iter().map(|(to, from)| Edge { to, from }).collect();
        let in_trace = match edges.is_empty() {
            true => Cow::Borrowed(needed.clocks()),
            false => Cow::Owned(
                needed
                    .clone()
                    .extended(trace, edges, [], &mut |_, _, _| {})
                    .into_clocks(),
            ),
        };
        let mut holders: HashMap<ObjectId, Vec<Holder>> = HashMap::new();
        let mut places: HashMap<(ObjectId, ThreadId), usize> = HashMap::new();
        for (number, section) in (0..).zip(sections.all()) {
            let holders = holders.entry(section.lock).or_default();
            let place = *places.entry((section.lock, section.thread)).or_insert_with(|| {
                holders.push(Holder {
                    thread: section.thread,
                    sections: Column::default(),
                    entered: Column::default(),
                });
                holders.len() - 1
            });
            let entered = section.acquire.map_or(0, |acquire| trace.place(acquire) + 1);
            holders[place].sections.push(SectionId(number));
            holders[place].entered.push(entered);
        }
        for holder in holders.values_mut().flatten() {
            holder.sections.end();
            holder.entered.end();
        }
        SyncPreserving {
            trace,
            must: needs.must(),
            sections,
            in_trace,
            holders,
        }
    }

    /// The smallest feasible cut with this ending, if the sync-preserving closure gives one.
    #[must_use]
    pub fn predict<'e>(&self, ending: impl Into<Ending<'e>>) -> Option<Cut> {
        let ending = as_in_trace(ending.into())?;
        self.close(self.before_all(ending), vec![0; self.trace.threads()], ending)
    }

    /// A feasible cut with this ending that holds as much as it can of what π has before what is next, so that all of
    /// it but the end is as recorded.
    #[must_use]
    pub fn predict_late<'e>(&self, ending: impl Into<Ending<'e>>) -> Option<Cut> {
        let ending = as_in_trace(ending.into())?;
        let first = ending.spared().min()?;
        let before_all = self.before_all(ending);
        let threads = (0..self.trace.threads() as u32).map(ThreadId);
        let mut recorded: Vec<u32> = threads.map(|thread| self.trace.events_before(thread, first)).collect();
        LEFT_OPEN.iter().find_map(|&left_open| {
            let until = EventId(first.0.checked_sub(left_open)?);
            for (thread, recorded) in (0..).map(ThreadId).zip(&mut recorded) {
                *recorded = before(&self.trace.program_order(thread), *recorded, until);
            }
            let cut = before_all.iter().zip(&recorded);
            let cut = cut.map(|(&count, &recorded)| count.max(recorded)).collect();
            // All that these rest on is among them.
            self.close(cut, recorded.clone(), ending)
        })
    }

    fn before_all(&self, ending: Ending<'_>) -> Vec<u32> {
        let mut cut = vec![0; self.trace.threads()];
        for &event in ending.performed {
            let own = &mut cut[self.trace.thread(event).index()];
            *own = (*own).max(self.trace.place(event) + 1);
        }
        for &event in ending.pending {
            self.must.raise_to_pending(self.trace, &mut cut, event);
        }
        cut
    }

    /// The smallest feasible cut around `cut`, if it can do without what the ending spares. What the first `closed`
    /// events of the threads rest on is in it.
    fn close(&self, mut cut: Vec<u32>, mut closed: Vec<u32>, ending: Ending<'_>) -> Option<Cut> {
        let is_spared = |cut: &[u32]| {
            ending
                .spared()
                .all(|event| cut[self.trace.thread(event).index()] <= self.trace.place(event))
        };
        let likely = ending
            .pending
            .first()
            .map_or(ThreadId(0), |&event| self.trace.thread(event));
        let last_in = |thread, count: u32| self.trace.program_order(thread).at(count as usize - 1);
        loop {
            self.in_trace.close(&mut cut, &mut closed, likely, last_in);
            if !is_spared(&cut) {
                return None;
            }
            if !self.close_sections(&mut cut)? {
                return Some(Cut { counts: cut });
            }
        }
    }

    /// Adds the release of each open section that a later one in the cut excludes. Returns whether
    /// anything was added; `None` if such a section is never closed.
    fn close_sections(&self, cut: &mut [u32]) -> Option<bool> {
        let mut grown = false;
        for thread in 0..cut.len() {
            let open = self.sections.open_after(ThreadId(thread as u32), cut[thread]);
            for id in open {
                let section = self.sections.get(id);
                if !self.followed(cut, id) {
                    continue;
                }
                let release = section.release?;
                let own = &mut cut[self.trace.thread(release).index()];
                if *own <= self.trace.place(release) {
                    *own = self.trace.place(release) + 1;
                    grown = true;
                }
            }
        }
        Some(grown)
    }

    /// Whether the cut holds a section that excludes this one and was entered later.
    fn followed(&self, cut: &[u32], id: SectionId) -> bool {
        let section = self.sections.get(id);
        let others = self.holders[&section.lock].iter();
        others.filter(|other| other.thread != section.thread).any(|other| {
            let until = cut[other.thread.index()];
            let inside = other.entered.all().partition_point(|entered| entered <= until);
            let entered = other.sections.excerpt(0..inside).rev();
            entered
                .take_while(|&later| later > id)
                .any(|later| section.excludes(self.sections.get(later)))
        })
    }
}

/// How many of some events, in order, are before one, given that it is not more than so many. Takes time by how many
/// fewer they are.
fn before(events: &Excerpt<'_, EventId>, most: u32, until: EventId) -> u32 {
    let (mut high, mut step) = (most as usize, 1);
    while high >= step && events.at(high - step) >= until {
        high -= step;
        step *= 2;
    }
    let low = (high + 1).saturating_sub(step);
    (low + events.excerpt(low..high).partition_point(|event| event < until)) as u32
}

/// As [`explanations`] of the whole trace: what its reads rest on is found in a walk of its own, which looks at nothing
/// else, since nearly all of a trace are accesses.
fn explained(
    trace: &Trace,
    sections: &Sections,
    writers: &Writers,
    known: impl Fn(EventId, ThreadId) -> u32,
) -> Vec<(EventId, EventId)> {
    // A pinned access rests on others, too.
    if trace.has_pins() {
        return explanations(trace, sections, trace.interplay(), known);
    }
    // In most traces operations rest on nothing beyond what must happen before them.
    let rests = |op| waits::Step::of(op).is_some() || semaphores::Step::of(op).is_some() || Need::of(op).is_some();
    let mut found = match sections.any_handed_over() || trace.has_operation(rests) {
        true => explanations(trace, sections, trace.operations(), &known),
        false => Vec::new(),
    };
    if have_one_writer(trace, writers) {
        return found;
    }
    let mut written: Vec<Option<EventId>> = vec![None; trace.cells().len()];
    for access in trace.contested() {
        let event = access.event;
        for used in trace.uses(access) {
            let last = &mut written[used.cell.index()];
            if access.kind.reads()
                && let Some(write) = *last
                && trace.thread(write) != trace.thread(event)
                && trace.place(write) >= known(event, trace.thread(write))
            {
                found.push((event, write));
            }
            if access.kind.writes() {
                *last = Some(event);
            }
        }
    }
    found
}

/// Whether each read has one writer that can explain it: what is needed before what has an edge from each of these, and
/// so says all that reads rest on.
fn have_one_writer(trace: &Trace, writers: &Writers) -> bool {
    let mut cells = (0..trace.cells().len() as u32).map(CellId);
    !trace.frees_reads()
        && cells.all(|id| {
            let (cell, writes) = (trace.cell(id), writers.writes(id));
            let by_none = |value| writers.writes_of(trace, id, value).is_empty();
            !(cell.contested() && cell.external())
                && writes.iter().all(|&write| writers.is_only(write))
                && (writes.is_empty() || trace.initial(id).is_none_or(by_none))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Generator, Shape};
    use trace_format::{Event, StackId, Tables};

    #[test]
    fn what_events_rest_on_is_what_a_walk_over_all_of_them_finds() {
        let (mut with_one_writer, mut found) = (0, 0);
        for (seed, values, waits, unprotected) in [
            (1, 3, 0.0, 0.3),
            (2, 16, 0.2, 0.3),
            (3, u64::MAX, 0.0, 0.3),
            (4, u64::MAX, 0.2, 1.0),
            (5, u64::MAX, 0.0, 1.0),
        ] {
            let generator = Generator::new(Shape {
                events: 2000,
                threads: 4,
                variables: 5,
                locks: 3,
                unprotected,
                waits,
                values,
                seed,
            });
            let tables = Tables {
                threads: generator.threads(),
                objects: generator.objects(),
                ..Tables::default()
            };
            let events: Vec<Event> = generator
                .map(|(thread, pc, op)| Event {
                    thread,
                    pc,
                    stack: StackId::EMPTY,
                    op,
                })
                .collect();
            let trace = Trace::from_events(tables, &events);
            let (must, sections) = (MustHappenBefore::of(&trace), Sections::of(&trace));
            let needs = Needs::of(&trace, &must, &sections);
            let known = |event, thread| needs.relation().count(event, thread);
            let mut all = explanations(&trace, &sections, trace.interplay(), known);
            let mut own = explained(&trace, &sections, needs.writers(), known);
            all.sort_unstable();
            own.sort_unstable();
            assert_eq!(own, all);
            found += all.len();
            with_one_writer += usize::from(have_one_writer(&trace, needs.writers()));
        }
        assert!(with_one_writer > 0 && found > 0, "{with_one_writer} {found}");
    }

    #[test]
    fn what_is_before_is_found_from_what_is_not_behind() {
        let events: Column<EventId> = (0..50).map(|event| EventId(event * 3)).collect();
        for until in 0..160 {
            let known = events.all().take_while(|event| event.0 < until).count();
            for most in known..=events.len() {
                assert_eq!(before(&events.all(), most as u32, EventId(until)) as usize, known);
            }
        }
    }
}
