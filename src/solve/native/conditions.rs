//! Events that can come about in several ways: a wait that several notifies can end, a semaphore's wait, a lock found
//! held.
//!
//! The search looks for prefixes in which they come about as in π, and whether that holds in the order found. So it
//! misses some prefixes, and refutes nothing where it has relied on that.

use super::Native;
use super::search::Search;
use super::state::{Clocks, Contradiction, State};
use crate::semantics::Need;
use crate::semantics::semaphores::Step;
use crate::semantics::waits;
use crate::trace::{EventId, ObjectId, Section, SectionId, ThreadId, Trace, Waiter, Wakes};
use hashbrown::HashMap;

/// Sections on a lock that are looked at, from an attempt to take it backwards, for the one that was in the way.
const LOOKED_AT: usize = 64;

/// Events of one kind by object, in the order of π.
#[derive(Default)]
pub(super) struct Semaphores {
    posts: HashMap<ObjectId, Vec<EventId>>,
    waits: HashMap<ObjectId, Vec<EventId>>,
    /// The first end of each once cell's initializations.
    first_ends: HashMap<ObjectId, EventId>,
}

impl Semaphores {
    pub(super) fn of(trace: &Trace) -> Semaphores {
        let mut found = Semaphores::default();
        for event in trace.events() {
            match Step::of(trace.op(event)) {
                Some((semaphore, Step::Post)) => found.posts.entry(semaphore).or_default().push(event),
                Some((semaphore, Step::Wait)) => found.waits.entry(semaphore).or_default().push(event),
                Some((_, Step::FailedWait | Step::Value(_))) | None => {}
            }
            if let Some(Need::Initialization(once)) = Need::served_by(trace.op(event)) {
                found.first_ends.entry(once).or_insert(event);
            }
        }
        found
    }

    pub(super) fn first_end(&self, once: ObjectId) -> Option<EventId> {
        self.first_ends.get(&once).copied()
    }

    /// The posts before an event, from another on.
    pub(super) fn posts(&self, semaphore: ObjectId, from: EventId, until: EventId) -> &[EventId] {
        let all = self.posts.get(&semaphore).map_or(&[][..], Vec::as_slice);
        let from = all.partition_point(|&post| post < from);
        let until = all.partition_point(|&post| post < until);
        &all[from..until.max(from)]
    }

    fn all(events: &HashMap<ObjectId, Vec<EventId>>, semaphore: ObjectId) -> &[EventId] {
        events.get(&semaphore).map_or(&[][..], Vec::as_slice)
    }

    /// What the recorded events before `from` leave.
    fn permits(&self, trace: &Trace, semaphore: ObjectId, from: EventId) -> i64 {
        let before = |events: &HashMap<ObjectId, Vec<EventId>>| {
            events
                .get(&semaphore)
                .map_or(0, |all| all.partition_point(|&event| event < from) as i64)
        };
        i64::from(trace.initial_count(semaphore)) + before(&self.posts) - before(&self.waits)
    }
}

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
    pub(super) fn in_the_way(&self, attempt: EventId, lock: ObjectId, shared: bool) -> Option<&Section> {
        let all = self.sections.on(lock);
        let opened = |id: SectionId| self.sections.get(id).acquire.is_none_or(|acquire| acquire < attempt);
        let until = all.partition_point(|&id| opened(id));
        let recent = all[..until]
            .iter()
            .rev()
            .take(LOOKED_AT)
            .map(|&id| self.sections.get(id));
        let mut holding = recent.filter(|section| section.release.is_none_or(|release| release > attempt));
        holding.find(|section| section.denies(shared))
    }

    /// Whether each wait of the order is ended, and each semaphore's wait served, after the recorded events before
    /// `from`.
    pub(super) fn conditions_hold(&self, clocks: &Clocks, from: EventId) -> bool {
        self.semaphores_hold(clocks, from) && self.onces_hold(clocks, from) && self.waits_hold(clocks, from)
    }

    fn semaphores_hold(&self, clocks: &Clocks, from: EventId) -> bool {
        let mut permits: HashMap<ObjectId, i64> = HashMap::new();
        clocks.order.iter().all(|&event| {
            let Some((semaphore, step)) = Step::of(self.trace.op(event)) else {
                return true;
            };
            let count = permits
                .entry(semaphore)
                .or_insert_with(|| self.semaphores.permits(self.trace, semaphore, from));
            let enabled = step.is_enabled(*count);
            *count += step.adds();
            enabled
        })
    }

    fn onces_hold(&self, clocks: &Clocks, from: EventId) -> bool {
        let mut ended: Vec<ObjectId> = Vec::new();
        clocks.order.iter().all(|&event| {
            let op = self.trace.op(event);
            if let Some(Need::Initialization(once)) = Need::served_by(op) {
                ended.push(once);
            }
            match Need::of(op) {
                Some(Need::Initialization(once)) => {
                    ended.contains(&once) || self.semaphores.first_end(once).is_some_and(|end| end < from)
                }
                _ => true,
            }
        })
    }

    fn waits_hold(&self, clocks: &Clocks, from: EventId) -> bool {
        let trace = self.trace;
        let is_condition = |&event: &EventId| waits::Step::of(trace.op(event)).is_some();
        if !clocks.order.iter().any(is_condition) {
            return true;
        }
        let mut waiting: Vec<Waiter> = Vec::new();
        let mut woken: HashMap<EventId, EventId> = HashMap::new();
        for (thread, &first) in clocks.first.iter().enumerate() {
            let thread = ThreadId(thread as u32);
            // One that began before the trace did.
            let next = trace.program_order(thread).get(first as usize).copied();
            if let (0, Some(end)) = (first, next)
                && let Some(Need::Wake(condition)) = Need::of(trace.op(end))
            {
                match self.wakes.by.get(&end) {
                    Some(&notify) if notify < from => drop(woken.insert(end, notify)),
                    Some(_) => waiting.push(Waiter {
                        condition,
                        thread,
                        end: Some(end),
                    }),
                    None => {}
                }
            }
            for (begin, end) in trace.waits_open_after(thread, first) {
                let Some((condition, _)) = waits::Step::of(trace.op(begin)) else {
                    continue;
                };
                let waiter = Waiter { condition, thread, end };
                match end.map(|end| (end, trace.op(end))) {
                    Some((_, op)) if op.times_out() => {}
                    Some((end, _)) => match self.wakes.by.get(&end) {
                        Some(&notify) if notify < from => drop(woken.insert(end, notify)),
                        _ => waiting.push(waiter),
                    },
                    // Whether somebody woke it already makes no difference to those who return: they go first.
                    None => waiting.push(waiter),
                }
            }
        }
        Wakes::after(trace, waiting, woken, clocks.order.iter().copied())
            .unserved
            .is_empty()
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
                    if let Some(notify) = notify.filter(|&notify| notify >= self.from) {
                        new |= self.put_before(state, clocks, notify, event)?;
                        if let Some(begin) = trace.wait_begin(event).filter(|&begin| begin >= self.from) {
                            new |= self.put_before(state, clocks, begin, notify)?;
                        }
                    }
                }
                Some(Need::Permit(semaphore)) => {
                    for &post in native.semaphores.posts(semaphore, self.from, event) {
                        new |= self.put_before(state, clocks, post, event)?;
                    }
                }
                Some(Need::Count(semaphore)) => {
                    let posts = Semaphores::all(&native.semaphores.posts, semaphore);
                    let waits = Semaphores::all(&native.semaphores.waits, semaphore);
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
                        new |= self.put_before(state, clocks, change, event)?;
                    }
                    for change in later
                        .iter()
                        .flat_map(|all| first_of_each(trace, all, event, clocks.last))
                    {
                        if self.inside(state, change) {
                            new |= self.put_before(state, clocks, event, change)?;
                        }
                    }
                }
                Some(Need::Initialization(once)) => {
                    let end = native
                        .semaphores
                        .first_end(once)
                        .filter(|&end| self.from <= end && end < event);
                    if let Some(end) =
                        end.filter(|&end| !clocks.has(&self.window, end) || !clocks.before(&self.window, end, event))
                    {
                        new |= self.put_before(state, clocks, end, event)?;
                    }
                }
                Some(Need::Holder { lock, shared }) => {
                    let Some(section) = native.in_the_way(event, lock, shared) else {
                        continue;
                    };
                    if let Some(acquire) = section.acquire.filter(|&acquire| acquire >= self.from) {
                        new |= self.put_before(state, clocks, acquire, event)?;
                    }
                    if let Some(release) = section.release.filter(|&release| self.inside(state, release)) {
                        new |= self.put_before(state, clocks, event, release)?;
                    }
                }
                None => {}
            }
        }
        Ok(new)
    }

    /// Takes an event in, before another of the window.
    fn put_before(
        &self,
        state: &mut State,
        clocks: &Clocks,
        event: EventId,
        other: EventId,
    ) -> Result<bool, Contradiction> {
        let trace = self.native.trace;
        self.relied.set(true);
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
        let known = clocks.has(&self.window, other) && clocks.before(&self.window, event, other);
        Ok((!known && state.order(event, other)) || grown)
    }
}
