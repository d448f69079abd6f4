//! Events that one thread notes for another, and a schedule that has them where the program can.
//!
//! A finalizer comes after all that other threads did. So the call that announces it (`__tsan_java_finalize`) has each
//! of them store to a variable of the recorder's own, where it stands, and loads that at once. In a trace the store is
//! an event of its thread like any other, which a schedule may perform long before the call; in the program there is
//! none until the call is made. What the thread does behind it can wait for the call in most schedules. Where it
//! cannot, the live run diverges.

use crate::schedule::{Schedule, slices_of};
use crate::trace::{AccessKind, EventId, ThreadId, Trace};
use std::collections::{BTreeMap, HashSet, VecDeque};
use trace_format::NOBODYS;

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

/// A schedule that performs `order` behind its events as recorded, but what is noted for a thread, and all that this
/// does behind it, only where the call notes it. `None` if that is the same.
pub(super) fn with_calls(trace: &Trace, schedule: &Schedule, order: &[EventId]) -> Option<Schedule> {
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
    if found == order {
        return None;
    }
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
