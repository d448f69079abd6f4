//! Executes an order that the solver proposes and finds the constraints that it violates.
//!
//! This execution is the encoder's own and trusted by nobody: it decides which clauses to write
//! next, and the checker judges the result.

use super::handed_over::HandedOver;
use crate::encode::Encoder;
use crate::semantics::semaphores::Step;
use crate::semantics::{Before, Need, locks, onces, threads};
use crate::trace::{AccessKind, CellId, EventId, ObjectId, SectionId, ThreadId, Trace, Wakes};
use hashbrown::{HashMap, HashSet};

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
    /// An object is used that a free or a destruction has ended which comes later in π.
    Ended { used: EventId, by: EventId },
    /// The read that is next sees what it is not to see; with the writes of a cell, in order.
    LastWrite { cell: CellId, writes: Vec<EventId> },
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
    /// A semaphore has another count, after these posts and waits, than the event needs.
    Miscounted {
        event: EventId,
        semaphore: ObjectId,
        posts: Vec<EventId>,
        waits: Vec<EventId>,
    },
    /// A wait, a semaphore's or once cell's wait or a failed acquire has nothing to explain it; with those that compete
    /// with it for what could, in order.
    Unmatched(EventId, Vec<EventId>),
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
    for (number, section) in encoder.sections().all().enumerate() {
        if section.acquire.is_none() {
            open.entry(section.lock.0).or_default().push(SectionId(number as u32));
        }
    }
    let mut permits: HashMap<u32, i64> = HashMap::new();
    let mut initialized: HashSet<ObjectId> = HashSet::new();
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
        if let Some((semaphore, step)) = Step::of(trace.op(event)) {
            let initial = i64::from(trace.initial_count(semaphore));
            let count = permits.entry(semaphore.0).or_insert(initial);
            if !step.is_enabled(*count) {
                found.push(miscounted(trace, order, event, semaphore, step));
            }
            *count += step.adds();
        }
        if let Some(access) = trace.access(event) {
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
                if access.kind.reads() && !cell.external() {
                    let sees = values
                        .get(&used.cell)
                        .copied()
                        .unwrap_or_else(|| trace.initial(used.cell));
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
            if access.kind == AccessKind::Use {
                let cells = trace.uses(access).filter_map(|used| memory.get(&used.cell));
                let ends =
                    |&&write: &&EventId| write > event && trace.access(write).is_some_and(|access| access.kind.ends());
                let mut by: Vec<EventId> = cells.flat_map(|writes| writes.iter().filter(ends)).copied().collect();
                by.sort_unstable();
                by.dedup();
                found.extend(by.into_iter().map(|by| Violation::Ended { used: event, by }));
            }
            // A read-modify-write of several cells writes what all of its reads decide.
            for used in trace.uses(access).filter(|_| access.kind.writes()) {
                memory.entry(used.cell).or_default().push(event);
                values.insert(used.cell, (access.kind != AccessKind::Free).then_some(used.written));
                freed.write(trace.thread(event), used.cell);
            }
        }
        if let Some(Before::End(child)) = Before::of(trace.op(event))
            && !ends(trace, child)
        {
            found.extend(freed.on_which_depends(child));
        }
        match locks::Step::of(trace.op(event)) {
            Some((lock, step)) if step.takes() => {
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
            Some((lock, step)) if step.gives_back() => {
                if let Some(id) = encoder.sections().closed_by(event) {
                    open.entry(lock.0).or_default().retain(|&other| other != id);
                }
            }
            Some((lock, locks::Step::FindHeld { shared })) => {
                let held = open
                    .get(&lock.0)
                    .into_iter()
                    .flatten()
                    .any(|&id| encoder.sections().get(id).denies(shared));
                if !held {
                    found.push(Violation::Unmatched(event, Vec::new()));
                }
            }
            _ => {}
        }
        initialized.extend(onces::Step::initializes(trace.op(event)));
        if let Some(Need::Initialization(once)) = Need::of(trace.op(event))
            && !initialized.contains(&once)
        {
            found.push(Violation::Unmatched(event, Vec::new()));
        }
    }
    if let Some(pending) = encoder.pending_read() {
        let content = |cell: CellId| match memory.get(&cell).and_then(|writes| writes.last()) {
            Some(&write) => trace.number_left(write, cell),
            None => trace.initial(cell),
        };
        let contents: Vec<Option<u64>> = pending.cells().map(content).collect();
        let wrong = !pending.may_see(&contents);
        for cell in pending.cells() {
            let strayed = freed.which_decided(cell);
            if wrong || !strayed.is_empty() {
                let writes = memory.get(&cell).cloned().unwrap_or_default();
                found.push(Violation::LastWrite { cell, writes });
            }
            found.extend(strayed.iter().cloned());
        }
    }
    let wakes = Wakes::of(trace, order.iter().copied());
    for &end in &wakes.unserved {
        // The waits on the same condition compete for the same notifies.
        let need = Need::of(trace.op(end));
        let mut rivals: Vec<EventId> = wakes.by.keys().copied().collect();
        rivals.retain(|&rival| Need::of(trace.op(rival)) == need);
        rivals.sort_unstable();
        found.push(Violation::Unmatched(end, rivals));
    }
    found
}

/// What is wrong with a wait, an attempt at a semaphore that failed, or a count of it that was seen, given all that
/// went on there before.
fn miscounted(trace: &Trace, order: &[EventId], event: EventId, semaphore: ObjectId, step: Step) -> Violation {
    let so_far = || order.iter().copied().take_while(|&other| other != event);
    let of = |wanted: Step| so_far().filter(move |&other| Step::of(trace.op(other)) == Some((semaphore, wanted)));
    let mut waits: Vec<EventId> = of(Step::Wait).collect();
    if step.only_count().is_some() {
        return Violation::Miscounted {
            event,
            semaphore,
            posts: of(Step::Post).collect(),
            waits,
        };
    }
    // Every wait so far competes for the same permits.
    waits.sort_unstable();
    Violation::Unmatched(event, waits)
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

    /// The reads that decided what a cell holds.
    fn which_decided(&self, cell: CellId) -> &[Violation] {
        self.by_cell.get(&cell).map_or(&[], Vec::as_slice)
    }

    fn on_which_depends(&self, thread: ThreadId) -> impl Iterator<Item = Violation> + '_ {
        self.by_thread[thread.index()].iter().cloned()
    }
}

/// Whether the end of a thread is an event, which then is what depends on its reads.
fn ends(trace: &Trace, thread: ThreadId) -> bool {
    let last = trace.program_order(thread).last();
    last.is_some_and(|last| threads::Step::of(trace.op(last)) == Some(threads::Step::End))
}

fn is_pinned(trace: &Trace, cell: CellId) -> bool {
    trace.cell(cell).pinned != 0
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
        let last = (done as usize).checked_sub(1).map(|last| order.at(last));
        thread == trace.thread(event)
            || next.is_none_or(|next| next >= pin.from) && last.is_none_or(|last| last <= pin.until)
    })
}
