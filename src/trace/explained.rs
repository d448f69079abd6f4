//! What explains each event of a feasible sequence: why it could happen where it did.
//!
//! A read rests on the write that it took its value from, a wait's end on the notify that woke it, a
//! failed acquire on whoever held the lock, a semaphore's wait, also one that failed, on all that went on at the
//! semaphore before, finding a once cell initialized on the first end of an initialization, and so with a lock that is
//! handed over, a pinned access on all that must precede it. Parts of the sequence that are closed under this (and
//! under program order, must-happen-before and the closing of critical sections) are feasible too.

use super::{CellId, EventId, ObjectId, Op, SectionId, Sections, ThreadId, Trace, Wakes};
use crate::semantics::semaphores::Step;
use crate::semantics::{Need, onces};
use hashbrown::{HashMap, HashSet};

/// One event for so many of a trace's cells, and it is worth it to have a place for each of them.
const EVENTS_FOR_ALL: usize = 8;

/// The last write of each cell so far.
enum LastWrites {
    /// Of a few of a trace's cells.
    Few(HashMap<CellId, EventId>),
    /// Of all of them: to look for each in a table takes longer than all else there is to do.
    All(Vec<Option<EventId>>),
}

impl LastWrites {
    /// Of none yet, in a sequence of so many events.
    fn of(trace: &Trace, events: usize) -> LastWrites {
        match events < trace.cells().len() / EVENTS_FOR_ALL {
            true => LastWrites::Few(HashMap::new()),
            false => LastWrites::All(vec![None; trace.cells().len()]),
        }
    }

    fn get(&self, cell: CellId) -> Option<EventId> {
        match self {
            LastWrites::Few(written) => written.get(&cell).copied(),
            LastWrites::All(written) => written[cell.index()],
        }
    }

    fn insert(&mut self, cell: CellId, event: EventId) {
        match self {
            LastWrites::Few(written) => drop(written.insert(cell, event)),
            LastWrites::All(written) => written[cell.index()] = Some(event),
        }
    }
}

/// The earlier events that the enabling of each event of `order`, a feasible sequence, rests on there,
/// beyond program order and must-happen-before: pairs of an event and one that it rests on, but for those that are among
/// so many events of their thread as are `known` to precede it.
/// What takes no part in the [interplay](Trace::interplay) of threads rests on nothing, and may be left out.
#[must_use]
pub fn explanations(
    trace: &Trace,
    sections: &Sections,
    order: impl Iterator<Item = EventId> + Clone,
    known: impl Fn(EventId, ThreadId) -> u32,
) -> Vec<(EventId, EventId)> {
    let mut found: Vec<(EventId, EventId)> = Vec::new();
    let mut written = LastWrites::of(trace, order.clone().count());
    let mut held: HashMap<ObjectId, Vec<SectionId>> = HashMap::new();
    let mut semaphores: HashMap<ObjectId, HashMap<ThreadId, EventId>> = HashMap::new();
    let mut handed_over: HashMap<ObjectId, HashMap<ThreadId, EventId>> = HashMap::new();
    let mut initialized: HashMap<ObjectId, EventId> = HashMap::new();
    let wanted = |event: EventId, source: EventId| trace.place(source) >= known(event, trace.thread(source));
    let by = Wakes::of(trace, order.clone()).by.into_iter();
    found.extend(by.filter(|&(event, source)| wanted(event, source)));
    // Only the locks that somebody found held need watching.
    let mut watched: HashSet<ObjectId> = HashSet::new();
    for event in order.clone() {
        if let Some(Need::Holder { lock, .. }) = Need::of(trace.op(event)) {
            watched.insert(lock);
        }
    }
    let has_handed_over = sections.any_handed_over();
    for event in order {
        let thread = trace.thread(event);
        let mut rests_on = |source: EventId| {
            if trace.thread(source) != thread && wanted(event, source) {
                found.push((event, source));
            }
        };
        if has_handed_over && let Some(lock) = trace.op(event).lock().filter(|&lock| sections.is_handed_over(lock)) {
            let last = handed_over.entry(lock).or_default();
            last.values().copied().for_each(&mut rests_on);
            last.insert(thread, event);
        }
        if let Some((semaphore, step)) = Step::of(trace.op(event)) {
            let last = semaphores.entry(semaphore).or_default();
            if step.depends_on_count() {
                last.values().copied().for_each(&mut rests_on);
            }
            if step.adds() != 0 {
                last.insert(thread, event);
            }
        }
        match trace.op(event) {
            Op::Access if !trace.is_contested(event) => {}
            Op::Access => {
                let access = trace.access(event).expect("an access");
                for used in trace.uses(access) {
                    if access.kind.reads() {
                        written.get(used.cell).into_iter().for_each(&mut rests_on);
                    }
                    if access.kind.writes() {
                        written.insert(used.cell, event);
                    }
                }
                if trace.pin(event).is_some() {
                    let before = trace.pinned_behind(event, |other| known(event, other));
                    before.for_each(&mut rests_on);
                }
            }
            op => {
                if let Some(once) = onces::Step::initializes(op) {
                    initialized.entry(once).or_insert(event);
                }
            }
        }
        match Need::of(trace.op(event)) {
            Some(Need::Initialization(once)) => initialized.get(&once).copied().into_iter().for_each(&mut rests_on),
            Some(Need::Holder { lock, .. }) => {
                let holders = held.get(&lock).into_iter().flatten().map(|&id| sections.get(id));
                let other = holders
                    .filter(|section| section.thread != thread)
                    .find_map(|section| section.acquire);
                other.into_iter().for_each(&mut rests_on);
            }
            // Of these, the matching of notifies and waits and the semaphores' last events tell.
            Some(Need::Wake(_) | Need::Permit(_) | Need::Count(_)) | None => {}
        }
        if watched.is_empty() {
            continue;
        }
        if let Some(id) = sections.opened_by(event) {
            held.entry(sections.get(id).lock).or_default().push(id);
        }
        if let Some(id) = sections.closed_by(event) {
            held.entry(sections.get(id).lock)
                .or_default()
                .retain(|&other| other != id);
        }
    }
    found
}
