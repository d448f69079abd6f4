//! Events that a program cannot have where a schedule has them, and a schedule that performs the same, and has them where
//! it can: those of one call, those that one thread's call notes for another, and who comes to a barrier last.
//!
//! A finalizer comes after all that other threads did. So the call that announces it (`__tsan_java_finalize`) has each
//! of them store to a variable of the recorder's own, where it stands, and loads that at once. In a trace the store is
//! an event of its thread like any other, which a schedule may perform long before the call; in the program there is
//! none until the call is made. What the thread does behind it can wait for the call in most schedules. Where it
//! cannot, the live run diverges.

use crate::schedule::{Schedule, slices_of};
use crate::semantics::futexes::{is_of_system, joins_waiters};
use crate::trace::{Access, AccessKind, EventId, ObjectId, Op, ThreadId, Trace};
use std::collections::{BTreeMap, HashSet, VecDeque};
use trace_format::{NOBODYS, descriptor};

/// Bits of the addresses of channels' variables: `recorders/native/src/c_library/channels/queue.rs`.
const CHANNELS: u64 = NOBODYS | 1 << 61;

/// Where the variables of what a process has once begin, and how many bytes they take at most:
/// `recorders/native/src/events/once.rs`.
const ONCE: (u64, u64) = (NOBODYS | 1 << 51, 1 << 16);

/// The thread that notes this event for the one that has it.
pub(super) fn noted_by(trace: &Trace, event: EventId) -> Option<ThreadId> {
    let store = trace
        .access(event)
        .filter(|access| access.kind == AccessKind::AtomicStore)?;
    // The trace may end between the two.
    let load = Some(load_of(event)).filter(|load| store.addr >= NOBODYS && load.index() < trace.len())?;
    let access = trace.access(load)?;
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

/// Schedules that perform `order` behind its events as recorded, but each call on a channel as a whole, what is
/// noted for a thread, and all that this does behind it, only where the call notes it, and the last arrival at a barrier
/// behind the others; the best first. None, if that is the same.
pub(super) fn with_calls(trace: &Trace, schedule: &Schedule, order: &[EventId]) -> Vec<Schedule> {
    let whole = with_whole_calls(trace, schedule, order);
    let orders = [whole.as_deref(), Some(order)].into_iter().flatten();
    let found = orders.map(|order| {
        let order = with_descriptors(trace, schedule, order).unwrap_or_else(|| order.to_vec());
        let order = with_arrivals(trace, &order).unwrap_or(order);
        where_noted(trace, &order).unwrap_or(order)
    });
    let others = found.filter(|found| found != order);
    others.map(|order| with_order(trace, schedule, &order)).collect()
}

/// The same schedule with another order behind its events as recorded.
fn with_order(trace: &Trace, schedule: &Schedule, order: &[EventId]) -> Schedule {
    let place: BTreeMap<EventId, usize> = (0..).zip(order).map(|(at, &event)| (event, at)).collect();
    let mut wakes = schedule.wakes.clone();
    // Those among the events as recorded stay in front.
    wakes.sort_by_key(|(notify, _)| place.get(notify).map_or(0, |at| at + 1));
    Schedule {
        slices: slices_of(trace, order),
        wakes,
        ..schedule.clone()
    }
}

/// Whether an event may be the first of those that a call makes at once: it orders itself by a channel, or by a
/// descriptor's number, gets something from outside, takes the system's lock of a futex, or is the comparison of a wait
/// for one.
fn begins(trace: &Trace, event: EventId) -> bool {
    let access = trace.access(event).filter(|access| access.kind.is_atomic());
    let orders = access.is_some_and(|access| access.addr & CHANNELS == CHANNELS || is_once(access));
    let gets = matches!(trace.op(event), Op::Input { .. });
    orders || gets || takes_lock_of_system(trace, event) || joins_waiters(trace, event).is_some()
}

/// Whether that takes the lock that the system holds while a thread begins to wait for a futex, or wakes who does.
fn takes_lock_of_system(trace: &Trace, event: EventId) -> bool {
    matches!(trace.op(event), Op::Acquire { lock, .. } if is_of_system(trace, lock))
}

/// Whether that gives it back.
fn gives_back_lock_of_system(trace: &Trace, event: EventId) -> bool {
    matches!(trace.op(event), Op::Release { lock } if is_of_system(trace, lock))
}

/// The next event of a call that holds such a lock at this one.
fn goes_on_with_lock(trace: &Trace, event: EventId) -> Option<EventId> {
    let next = trace.successor(event)?;
    let changes = |event: EventId, from: u64| {
        trace
            .access(event)
            .is_some_and(|access| access.kind == AccessKind::AtomicRmw && access.addr >= from)
    };
    // The word may be changed, too (`FUTEX_WAKE_OP`).
    let goes_on = takes_lock_of_system(trace, event)
        || gives_back_lock_of_system(trace, next)
        || changes(event, 0) && changes(next, NOBODYS);
    (goes_on && trace.pc(next) == trace.pc(event)).then_some(next)
}

/// Whether that is a variable of what a process has once, such as the folder that paths lead from.
fn is_once(access: Access) -> bool {
    access.addr.wrapping_sub(ONCE.0) < ONCE.1
}

/// The next event that the same call makes at once with this one, which is such a one: it may also give a descriptor, or
/// write what it got.
fn goes_on(trace: &Trace, event: EventId) -> Option<EventId> {
    if let Some(rest) = joins_waiters(trace, event).or_else(|| goes_on_with_lock(trace, event)) {
        return Some(rest);
    }
    if gives_back_lock_of_system(trace, event) {
        // What follows at the same place is the next call.
        return None;
    }
    let next = trace.successor(event)?;
    let writes = || {
        trace
            .access(next)
            .is_some_and(|access| access.kind == AccessKind::Write)
    };
    let is_of_it = trace.pc(next) == trace.pc(event) && (begins(trace, next) || opens(trace, next) || writes());
    is_of_it.then_some(next)
}

/// The same events, but who came to a barrier last in the recorded run does so here, unless nobody goes on from there: one
/// of those who come learns that it is the one (`PTHREAD_BARRIER_SERIAL_THREAD`). Between its arrival and the end of the
/// round it does nothing. `None` if that is so.
fn with_arrivals(trace: &Trace, order: &[EventId]) -> Option<Vec<EventId>> {
    let mut last: BTreeMap<(ObjectId, u32), EventId> = BTreeMap::new();
    let mut ends: HashSet<(ObjectId, u32)> = HashSet::new();
    for &event in order {
        match trace.op(event) {
            Op::BarrierEnter { barrier, round } => {
                let known = last.entry((barrier, round)).or_insert(event);
                *known = event.max(*known);
            }
            Op::BarrierExit { barrier, round, .. } => drop(ends.insert((barrier, round))),
            _ => {}
        }
    }
    last.retain(|of, _| ends.contains(of));
    let mut held: BTreeMap<(ObjectId, u32), EventId> = BTreeMap::new();
    let mut found: Vec<EventId> = Vec::with_capacity(order.len());
    for &event in order {
        match trace.op(event) {
            Op::BarrierEnter { barrier, round } if last.get(&(barrier, round)) == Some(&event) => {
                held.insert((barrier, round), event);
                continue;
            }
            Op::BarrierExit { barrier, round, .. } => found.extend(held.remove(&(barrier, round))),
            _ => {}
        }
        found.push(event);
    }
    (found != order).then_some(found)
}

/// Whether an event gives a descriptor.
fn opens(trace: &Trace, event: EventId) -> bool {
    match trace.op(event) {
        Op::Alloc { incarnation } => descriptor(trace.incarnation(incarnation).addr).is_some(),
        _ => false,
    }
}

/// The events of calls that wait for the rest of their calls, by thread.
struct Held<'t> {
    trace: &'t Trace,
    of: BTreeMap<ThreadId, Vec<EventId>>,
    /// Those that were performed before the schedule has them, since another thread sees what their call has done.
    early: HashSet<EventId>,
}

impl Held<'_> {
    /// Whether what a thread has left is nothing yet but looks for what is set for good.
    fn looks_only(&self, thread: ThreadId) -> bool {
        self.of[&thread].iter().all(|&event| {
            let access = self.trace.access(event);
            access.is_none_or(|access| access.kind == AccessKind::AtomicLoad)
        })
    }

    /// The threads whose calls have changed what this event sees.
    fn seen_by(&self, event: EventId) -> Vec<ThreadId> {
        let Some(seen) = self.trace.access(event) else {
            return Vec::new();
        };
        let changes = |&of: &EventId| {
            let access = self.trace.access(of);
            access.is_some_and(|access| access.addr == seen.addr && access.kind != AccessKind::AtomicLoad)
        };
        let own = self.trace.thread(event);
        let others = self.of.iter().filter(|&(&thread, _)| thread != own);
        let seen = others.filter(|(_, events)| events.iter().any(changes));
        seen.map(|(&thread, _)| thread).collect()
    }

    /// The threads whose calls have found what this event changes, and depend on it: the word of a futex, or something
    /// that the process has once.
    fn found_before(&self, event: EventId) -> Vec<ThreadId> {
        let Some(change) = self.trace.access(event) else {
            return Vec::new();
        };
        let changes = |found: Access| {
            change.kind.writes() && change.addr < found.addr + found.size && found.addr < change.addr + change.size
        };
        let depends = |&of: &EventId| {
            let found = self.trace.access(of).filter(|&found| changes(found));
            found.is_some_and(|found| is_once(found) || joins_waiters(self.trace, of).is_some())
        };
        let own = self.trace.thread(event);
        let others = self.of.iter().filter(|&(&thread, _)| thread != own);
        let depending = others.filter(|(_, events)| events.iter().any(depends));
        depending.map(|(&thread, _)| thread).collect()
    }

    /// Performs the whole call of a thread now.
    fn finish(&mut self, thread: ThreadId, found: &mut Vec<EventId>) {
        let events = self.of.remove(&thread).unwrap_or_default();
        let Some(&last) = events.last() else { return };
        found.extend(events);
        let rest = std::iter::successors(goes_on(self.trace, last), |&event| goes_on(self.trace, event));
        for event in rest {
            found.push(event);
            self.early.insert(event);
        }
    }
}

/// The same events, but each call on a channel as a whole: where the schedule has the last of its events, or, if another
/// thread sees before what it has done, there. Calls that have only looked by the end are left out, unless the schedule
/// ends there: nobody sees them.
fn with_whole_calls(trace: &Trace, schedule: &Schedule, order: &[EventId]) -> Option<Vec<EventId>> {
    let goes_on_elsewhere = |event: EventId, next: Option<EventId>| {
        begins(trace, event) && goes_on(trace, event).is_some_and(|rest| Some(rest) != next)
    };
    let next = order.iter().copied().skip(1).map(Some).chain([None]);
    if !order
        .iter()
        .zip(next)
        .any(|(&event, next)| goes_on_elsewhere(event, next))
    {
        return None;
    }
    let mut held = Held {
        trace,
        of: BTreeMap::new(),
        early: HashSet::new(),
    };
    let mut found: Vec<EventId> = Vec::with_capacity(order.len());
    for &event in order {
        if held.early.remove(&event) {
            continue;
        }
        for thread in held.seen_by(event).into_iter().chain(held.found_before(event)) {
            held.finish(thread, &mut found);
        }
        let thread = trace.thread(event);
        if held.of.contains_key(&thread) || begins(trace, event) {
            held.of.entry(thread).or_default().push(event);
            if goes_on(trace, event).is_none() {
                found.extend(held.of.remove(&thread).unwrap_or_default());
            }
        } else {
            found.push(event);
        }
    }
    let ends: Vec<ThreadId> = schedule.goal.pending().map(|event| trace.thread(event)).collect();
    let threads: Vec<ThreadId> = held.of.keys().copied().collect();
    for thread in threads {
        if ends.contains(&thread) || !held.looks_only(thread) {
            found.extend(held.of.remove(&thread).unwrap_or_default());
        }
    }
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
    let pc = trace.pc(event);
    let next = |&event: &EventId| trace.successor(event);
    let mut rest: Vec<EventId> = std::iter::successors(trace.successor(event), next)
        .take_while(|&event| trace.pc(event) == pc && !begins_call(event))
        .collect();
    let given = rest.iter().rposition(|&event| opens(trace, event));
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

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::{Event, MemRange, MemoryOrder, Op, StackId, Tables};

    /// A store of the recorder's own that stands for a call, and perhaps the load that follows it.
    fn trace(load: Option<u32>) -> Trace {
        let (mem, order) = (
            MemRange {
                addr: CHANNELS,
                size: 8,
            },
            MemoryOrder::SeqCst,
        );
        let event = |thread, op| Event {
            thread: ThreadId(thread),
            pc: 1,
            stack: StackId::EMPTY,
            op,
        };
        let store = event(0, Op::AtomicStore { mem, value: 1, order });
        let load = load.map(|thread| event(thread, Op::AtomicLoad { mem, value: 1, order }));
        let events: Vec<Event> = [Some(store), load].into_iter().flatten().collect();
        Trace::from_events(Tables::default(), &events)
    }

    #[test]
    fn a_call_is_noted_by_who_loads_behind_the_store_if_the_trace_goes_on() {
        let noted = |load| noted_by(&trace(load), EventId(0));
        assert_eq!(noted(Some(1)), Some(ThreadId(1)));
        assert_eq!(noted(Some(0)), None);
        assert_eq!(noted(None), None);
    }
}
