//! Events that can come about in several ways, put as they were in π: a wait that several notifies can end, a
//! semaphore's wait, a lock found held.
//!
//! That is how most prefixes are found. It misses some, and refutes nothing where it has relied on it; what follows
//! [whichever way](super::choices) they come about is looked at besides.

use super::Native;
use super::search::Search;
use super::state::{Clocks, Contradiction, State};
use crate::semantics::Need;
use crate::semantics::semaphores::Step;
use crate::trace::{EventId, ObjectId, Section, SectionId, Trace};

/// Sections on a lock that are looked at, from an attempt to take it backwards, for the one that was in the way.
const LOOKED_AT: usize = 64;

/// Of each thread, the last of these events, which are in the order of π, between two others.
fn last_of_each(trace: &Trace, all: &[EventId], from: EventId, until: EventId) -> Vec<EventId> {
    let before = &all[..all.partition_point(|&event| event < until)];
    one_of_each(trace, before.iter().rev().copied().take_while(|&event| event >= from))
}

/// Of each thread, the first of these events, which are in the order of π, between two others.
fn first_of_each(trace: &Trace, all: &[EventId], from: EventId, until: EventId) -> Vec<EventId> {
    let after = &all[all.partition_point(|&event| event < from)..];
    one_of_each(trace, after.iter().copied().take_while(|&event| event <= until))
}

/// The first event of each thread.
fn one_of_each(trace: &Trace, events: impl Iterator<Item = EventId>) -> Vec<EventId> {
    let mut found: Vec<EventId> = Vec::new();
    for event in events {
        if found.len() == trace.threads() {
            break;
        }
        if found.iter().all(|&other| trace.thread(other) != trace.thread(event)) {
            found.push(event);
        }
    }
    found
}

impl Native<'_> {
    /// The section that kept an attempt from its lock in π.
    pub(super) fn in_the_way(&self, attempt: EventId, lock: ObjectId, shared: bool) -> Option<Section> {
        let all = self.sections.on(lock);
        let opened = |id: SectionId| self.sections.get(id).acquire.is_none_or(|acquire| acquire < attempt);
        let until = all.partition_point(opened);
        let recent = all.until(until).rev().take(LOOKED_AT).map(|id| self.sections.get(id));
        let mut holding = recent.filter(|section| section.release.is_none_or(|release| release > attempt));
        holding.find(|section| section.denies(shared))
    }
}

impl Search<'_, '_> {
    /// Puts what can come about in several ways as it was in π.
    pub(super) fn conditions(&self, state: &mut State, clocks: &Clocks) -> Result<bool, Contradiction> {
        let (native, trace) = (self.native, self.native.trace);
        let mut new = false;
        for (event, _) in clocks
            .numbered()
            .filter(|&(_, number)| self.window.is_conditional(number))
        {
            match Need::of(trace.op(event)) {
                Some(Need::Wake(_)) => {
                    let notify = native.wakes.by.get(&event).copied();
                    // One that cannot have come leaves the wait to others.
                    if let Some(notify) = notify.filter(|&notify| notify >= self.from && self.possible(notify))
                        && self.may_wake(notify, event)
                    {
                        new |= self.put_as_in_trace(state, clocks, notify, event)?;
                        if let Some(begin) = trace.wait_begin(event).filter(|&begin| begin >= self.from) {
                            new |= self.put_as_in_trace(state, clocks, begin, notify)?;
                        }
                    }
                }
                Some(Need::Permit(semaphore)) => {
                    for &post in native.users.givers(semaphore).between(self.from, event) {
                        new |= self.put_as_in_trace(state, clocks, post, event)?;
                    }
                }
                Some(Need::Count(semaphore)) => {
                    let posts = native.users.givers(semaphore).all();
                    let waits = native.users.takers(semaphore).all();
                    // An attempt fails all the more with fewer posts before it and more waits.
                    let looks = matches!(Step::of(trace.op(event)), Some((_, Step::Value(_))));
                    let (earlier, later) = if looks {
                        (&[posts, waits][..], &[posts, waits][..])
                    } else {
                        (&[waits][..], &[posts][..])
                    };
                    for change in earlier
                        .iter()
                        .flat_map(|all| last_of_each(trace, all, self.from, event))
                    {
                        new |= self.put_as_in_trace(state, clocks, change, event)?;
                    }
                    for change in later
                        .iter()
                        .flat_map(|all| first_of_each(trace, all, event, clocks.last))
                    {
                        if self.inside(state, change) {
                            new |= self.put_as_in_trace(state, clocks, event, change)?;
                        }
                    }
                }
                Some(Need::Initialization(once)) => {
                    let first = native.users.givers(once).all().first().copied();
                    if let Some(end) = first.filter(|&end| self.from <= end && end < event) {
                        new |= self.put_as_in_trace(state, clocks, end, event)?;
                    }
                }
                Some(Need::Holder { lock, shared }) => {
                    let Some(section) = native.in_the_way(event, lock, shared) else {
                        continue;
                    };
                    if let Some(acquire) = section.acquire.filter(|&acquire| acquire >= self.from) {
                        new |= self.put_as_in_trace(state, clocks, acquire, event)?;
                    }
                    if let Some(release) = section.release.filter(|&release| self.inside(state, release)) {
                        new |= self.put_as_in_trace(state, clocks, event, release)?;
                    }
                }
                None => {}
            }
        }
        Ok(new)
    }

    fn put_as_in_trace(
        &self,
        state: &mut State,
        clocks: &Clocks,
        event: EventId,
        other: EventId,
    ) -> Result<bool, Contradiction> {
        self.relied.set(true);
        self.put(state, clocks, event, other)
    }

    /// Takes an event in, before another of the prefix.
    pub(super) fn put(
        &self,
        state: &mut State,
        clocks: &Clocks,
        event: EventId,
        other: EventId,
    ) -> Result<bool, Contradiction> {
        let trace = self.native.trace;
        if !self.possible(event) {
            return Err(Contradiction);
        }
        let thread = trace.thread(event);
        let before = state.cut[thread.index()];
        self.include(state, event);
        let grown = state.cut[thread.index()] > before;
        if thread == trace.thread(other) {
            return if event < other { Ok(grown) } else { Err(Contradiction) };
        }
        if event < self.from || other < self.from {
            // All that comes before the window comes before what is in it; or its order is not followed.
            return match self.based && other < self.from && event >= self.from {
                true => Err(Contradiction),
                false => Ok(grown),
            };
        }
        let known = clocks.has(&self.window, other) && clocks.before(&self.window, event, other);
        Ok((!known && state.order(event, other)) || grown)
    }
}
