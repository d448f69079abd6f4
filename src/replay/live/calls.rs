//! Events that a program cannot have where a schedule has them, and a schedule that performs the same, and has them where
//! it can: those of one call, and those that one thread's call notes for another.
//!
//! A finalizer comes after all that other threads did. So the call that announces it (`__tsan_java_finalize`) has each
//! of them store to a variable of the recorder's own, where it stands, and loads that at once. In a trace the store is
//! an event of its thread like any other, which a schedule may perform long before the call; in the program there is
//! none until the call is made. What the thread does behind it can wait for the call in most schedules. Where it
//! cannot, the live run diverges.

use crate::schedule::{Schedule, slices_of};
use crate::trace::{AccessKind, EventId, Op, ThreadId, Trace};
use std::collections::{BTreeMap, HashSet, VecDeque};
use trace_format::{NOBODYS, descriptor};

/// Bits of the addresses of channels' variables: `recorders/native/src/c_library/channels/queue.rs`.
const CHANNELS: u64 = NOBODYS | 1 << 61;

/// The thread that notes this event for the one that has it.
pub(super) fn noted_by(trace: &Trace, event: EventId) -> Option<ThreadId> {
    let store = trace
        .access(event)
        .filter(|access| access.kind == AccessKind::AtomicStore)?;
    let load = load_of(event);
    let access = trace
        .access(load)
        .filter(|_| store.addr >= NOBODYS && load.index() < trace.len())?;
    let is_of_call =
        access.kind == AccessKind::AtomicLoad && access.addr == store.addr && trace.pc(load) == trace.pc(event);
    let (own, caller) = (trace.thread(event), trace.thread(load));
    // Where one fiber goes on as another, it is the first that stores: both run on one thread of the kernel's.
    let threads = &trace.tables().threads;
    let on = |thread: ThreadId| threads.get(thread.index()).map_or(0, |info| info.os_id);
    let are_fibers = on(own) != 0 && on(own) == on(caller);
    (is_of_call && caller != own && !are_fibers).then_some(caller)
}

/// The load that the call makes right behind the store.
fn load_of(store: EventId) -> EventId {
    EventId(store.0 + 1)
}

/// A schedule that performs `order` behind its events as recorded, but each call on a channel as a whole, and what is
/// noted for a thread, and all that this does behind it, only where the call notes it. `None` if that is the same.
pub(super) fn with_calls(trace: &Trace, schedule: &Schedule, order: &[EventId]) -> Option<Schedule> {
    let whole = with_whole_calls(trace, schedule, order);
    let whole = with_descriptors(trace, schedule, whole.as_deref().unwrap_or(order)).or(whole);
    let noted = where_noted(trace, whole.as_deref().unwrap_or(order));
    let found = noted.or(whole).filter(|found| found != order)?;
    let place: BTreeMap<EventId, usize> = (0..).zip(&found).map(|(at, &event)| (event, at)).collect();
    let mut wakes = schedule.wakes.clone();
    // Those among the events as recorded stay in front.
    wakes.sort_by_key(|(notify, _)| place.get(notify).map_or(0, |at| at + 1));
    Some(Schedule {
        slices: slices_of(trace, &found),
        wakes,
        ..schedule.clone()
    })
}

/// Whether a call on a channel looks with this event for what is set for good, and does more on the recorder's variables.
/// The program makes such a call at once, with the first of its events: too early, if the schedule has others write or
/// read in between. Later, it finds the same.
fn looks_in_call(trace: &Trace, event: EventId) -> bool {
    let is_of_channel = |addr: u64| addr & CHANNELS == CHANNELS;
    let looks = trace.access(event).is_some_and(|access| {
        let is_set = || trace.numbers(access).all(|used| used.read == 1);
        access.kind == AccessKind::AtomicLoad && is_of_channel(access.addr) && is_set()
    });
    let goes_on = |next: EventId| {
        let access = trace.access(next).filter(|access| access.kind.is_atomic());
        access.is_some_and(|access| is_of_channel(access.addr)) && trace.pc(next) == trace.pc(event)
    };
    looks && trace.successor(event).is_some_and(goes_on)
}

/// The same events, but those with which a call looks first only where it does what comes next. Where nothing does, they
/// are left out, unless the schedule ends there: nobody sees them.
fn with_whole_calls(trace: &Trace, schedule: &Schedule, order: &[EventId]) -> Option<Vec<EventId>> {
    if !order.iter().any(|&event| looks_in_call(trace, event)) {
        return None;
    }
    let mut held: BTreeMap<ThreadId, Vec<EventId>> = BTreeMap::new();
    let mut found: Vec<EventId> = Vec::with_capacity(order.len());
    for &event in order {
        let looks = held.entry(trace.thread(event)).or_default();
        if looks_in_call(trace, event) {
            looks.push(event);
        } else {
            found.append(looks);
            found.push(event);
        }
    }
    let ends = schedule.goal.pending().map(|event| trace.thread(event));
    ends.for_each(|thread| found.extend(held.remove(&thread).unwrap_or_default()));
    Some(found)
}

/// The same events, and what a call that gives a descriptor still does, if the schedule ends within it: the program has
/// the number by then, so others do not get it.
fn with_descriptors(trace: &Trace, schedule: &Schedule, order: &[EventId]) -> Option<Vec<EventId>> {
    let is_pending = |thread: ThreadId| schedule.goal.pending().any(|event| trace.thread(event) == thread);
    let mut found = Vec::new();
    let mut ended: HashSet<ThreadId> = HashSet::new();
    // From behind, so that the first event that is seen of a thread is its last one. Of those as recorded, only the last
    // may be within a call.
    let before = schedule.as_recorded.checked_sub(1).map(EventId);
    for event in order.iter().rev().copied().chain(before) {
        let thread = trace.thread(event);
        if ended.insert(thread) && !is_pending(thread) {
            found.extend(rest_with_descriptors(trace, event).iter().rev());
        }
        if Some(event) != before {
            found.push(event);
        }
    }
    found.reverse();
    (found.len() > order.len()).then_some(found)
}

/// What follows an event in its call, up to the last descriptor that it gives.
fn rest_with_descriptors(trace: &Trace, event: EventId) -> Vec<EventId> {
    let begins_call = |event: EventId| trace.access(event).is_some_and(|access| access.kind == AccessKind::Use);
    let gives_descriptor = |event: EventId| match trace.op(event) {
        Op::Alloc { incarnation } => descriptor(trace.incarnation(incarnation).addr).is_some(),
        _ => false,
    };
    let pc = trace.pc(event);
    let next = |&event: &EventId| trace.successor(event);
    let mut rest: Vec<EventId> = std::iter::successors(trace.successor(event), next)
        .take_while(|&event| trace.pc(event) == pc && !begins_call(event))
        .collect();
    let given = rest.iter().rposition(|&event| gives_descriptor(event));
    rest.truncate(given.map_or(0, |last| last + 1));
    rest
}

/// The same events, but what is noted for a thread, and all that this does behind it, only where the call notes it.
/// `None` if nothing is noted.
fn where_noted(trace: &Trace, order: &[EventId]) -> Option<Vec<EventId>> {
    if !order.iter().any(|&event| noted_by(trace, event).is_some()) {
        return None;
    }
    let performed: HashSet<EventId> = order.iter().copied().collect();
    let is_noted = |event: EventId| noted_by(trace, event).is_some() && performed.contains(&load_of(event));
    let mut rest: VecDeque<EventId> = order.iter().copied().collect();
    let mut held: BTreeMap<ThreadId, VecDeque<EventId>> = BTreeMap::new();
    let mut found: Vec<EventId> = Vec::with_capacity(rest.len());
    while let Some(event) = rest.pop_front() {
        let thread = trace.thread(event);
        if let Some(own) = held.get_mut(&thread) {
            own.push_back(event);
            continue;
        }
        if is_noted(event) {
            held.insert(thread, VecDeque::from([event]));
            continue;
        }
        let loaded = |own: &VecDeque<EventId>| own.front().is_some_and(|&store| load_of(store) == event);
        if let Some(noted) = held.iter().find(|(_, own)| loaded(own)).map(|(&thread, _)| thread) {
            let mut own = held.remove(&noted).unwrap_or_default();
            found.extend(own.pop_front());
            own.into_iter().rev().for_each(|event| rest.push_front(event));
        }
        found.push(event);
    }
    found.extend(held.into_values().flatten());
    Some(found)
}
