//! Saturation and backtracking in one window.

use super::Native;
use super::state::{Clocks, Contradiction, State};
use crate::trace::{CellId, EventId, ObjectId, Op, Section, SectionId, ThreadId};
use hashbrown::HashMap;
use std::cell::Cell;
use std::collections::BTreeMap;

/// Steps that one window may cost, of some nanoseconds each.
const MAX_WORK: u64 = 4_000_000;

/// The sections of one thread on one lock.
#[derive(Default)]
struct Entered {
    alone: Vec<SectionId>,
    shared: Vec<SectionId>,
}

/// What an order of the cut violates, as the ways out of it.
enum Violation {
    /// Edges of which one has to be added; `None`: the section's release cannot be in the prefix.
    Either(Vec<(EventId, EventId)>),
    /// A read of which the writer has to be chosen (`None`: what the window begins with).
    Writer(EventId, CellId, Vec<Option<EventId>>),
    /// An event whose needs this solver does not know.
    Unsupported,
}

/// From where a read can take its value.
struct Sources {
    /// Writes of the window, and `None` for what it begins with.
    writers: Vec<Option<EventId>>,
    /// In the relaxed view: it may also be something before the window, in an order that is not followed.
    outside: bool,
}

/// What counts of the events around the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// Nothing; and of those in it, only what every prefix must contain.
    Relaxed,
    /// All before it are in the prefix.
    Based {
        /// What can come about in several ways comes about as in π.
        as_in_trace: bool,
    },
}

pub(super) struct Search<'s, 't> {
    pub(super) native: &'s Native<'t>,
    /// The first event of the window.
    pub(super) from: EventId,
    /// Everything before the window is in the prefix, as recorded.
    based: bool,
    /// What can come about in several ways is to come about as in π.
    as_in_trace: bool,
    /// Whether that made a difference.
    pub(super) relied: Cell<bool>,
    /// Steps that may still be done.
    work: Cell<u64>,
    race: (EventId, EventId),
    /// Orders that may still be tried.
    left: u32,
    most: u32,
    /// Writers chosen on the way, per read and cell.
    chosen: BTreeMap<(EventId, CellId), Option<EventId>>,
}

impl<'s, 't> Search<'s, 't> {
    pub(super) fn new(
        native: &'s Native<'t>,
        from: EventId,
        view: View,
        a: EventId,
        b: EventId,
        most: u32,
    ) -> Search<'s, 't> {
        Search {
            native,
            from,
            based: view != View::Relaxed,
            as_in_trace: view == View::Based { as_in_trace: true },
            relied: Cell::new(false),
            work: Cell::new(MAX_WORK),
            race: (a, b),
            left: most,
            most,
            chosen: BTreeMap::new(),
        }
    }

    /// Whether it has put events as they were in π without having to.
    pub(super) fn relied(&self) -> bool {
        self.relied.get()
    }

    /// How many orders have been tried.
    pub(super) fn orders(&self) -> u32 {
        self.most - self.left
    }

    /// An order of the window's part of a prefix, or that there is none; `None` if it was not decided.
    #[allow(clippy::option_option, reason = "found, refuted, or not decided")]
    pub(super) fn run(&mut self) -> Option<Option<Vec<EventId>>> {
        let threads = (0..self.native.trace.threads() as u32).map(ThreadId);
        let cut = threads.map(|thread| {
            let (a, b) = self.race;
            let needs = self.native.needs;
            let needed = needs.before_pending(a, thread).max(needs.before_pending(b, thread));
            if self.based {
                needed.max(self.native.trace.events_before(thread, self.from))
            } else {
                needed
            }
        });
        self.solve(State::new(cut.collect()))
    }

    #[allow(clippy::option_option, reason = "found, refuted, or not decided")]
    fn solve(&mut self, mut state: State) -> Option<Option<Vec<EventId>>> {
        self.left = self.left.checked_sub(1)?;
        let clocks = match self.saturate(&mut state) {
            Ok(clocks) => clocks?,
            Err(Contradiction) => return Some(None),
        };
        let violation = self.violation(&state, &clocks);
        match violation {
            None => Some(Some(clocks.order)),
            Some(Violation::Unsupported) => None,
            Some(Violation::Either(edges)) => {
                for (before, after) in edges {
                    let mut next = state.clone();
                    self.include(&mut next, before);
                    next.order(before, after);
                    if let Some(order) = self.solve(next)? {
                        return Some(Some(order));
                    }
                }
                Some(None)
            }
            Some(Violation::Writer(read, cell, writers)) => {
                for writer in writers {
                    self.chosen.insert((read, cell), writer);
                    let found = self.solve(state.clone());
                    self.chosen.remove(&(read, cell));
                    if let Some(order) = found? {
                        return Some(Some(order));
                    }
                }
                Some(None)
            }
        }
    }

    pub(super) fn include(&self, state: &mut State, event: EventId) {
        let count = &mut state.cut[self.native.trace.thread(event).index()];
        *count = (*count).max(self.native.trace.place(event) + 1);
    }

    pub(super) fn inside(&self, state: &State, event: EventId) -> bool {
        let trace = self.native.trace;
        event >= self.from && trace.place(event) < state.cut[trace.thread(event).index()]
    }

    /// Whether an event can be in a prefix that brings both accesses next.
    pub(super) fn possible(&self, event: EventId) -> bool {
        let trace = self.native.trace;
        let after =
            |access: EventId| trace.thread(access) == trace.thread(event) && trace.place(access) <= trace.place(event);
        !after(self.race.0) && !after(self.race.1)
    }

    /// Adds what follows from the cut and its edges, until nothing more does.
    /// `None`: that is more work than one window may cost.
    fn saturate(&self, state: &mut State) -> Result<Option<Clocks>, Contradiction> {
        loop {
            self.close(state)?;
            let Some(clocks) = Clocks::of(self.native, self.from, state, self.work.get() as usize)? else {
                return Ok(None);
            };
            if !self.spend(clocks.work()) {
                return Ok(None);
            }
            let by_locks = self.locks(state, &clocks)?;
            let by_reads = self.reads(state, &clocks)?;
            let by_conditions = self.as_in_trace && self.conditions(state, &clocks)?;
            if !by_locks && !by_reads && !by_conditions {
                return Ok(Some(clocks));
            }
        }
    }

    /// Counts work; says whether some is left.
    fn spend(&self, work: usize) -> bool {
        self.work.set(self.work.get().saturating_sub(work as u64));
        self.work.get() > 0
    }

    /// Adds the events that those of the cut need.
    fn close(&self, state: &mut State) -> Result<(), Contradiction> {
        let trace = self.native.trace;
        let mut joined = vec![0; state.cut.len()];
        while let Some(thread) = (0..joined.len()).find(|&thread| joined[thread] < state.cut[thread]) {
            joined[thread] = state.cut[thread];
            let last = trace.program_order(ThreadId(thread as u32))[state.cut[thread] as usize - 1];
            for (other, count) in state.cut.iter_mut().enumerate().filter(|&(other, _)| other != thread) {
                *count = (*count).max(self.native.needs.relation().count(last, ThreadId(other as u32)));
            }
        }
        let (a, b) = self.race;
        let reached = |event: EventId| state.cut[trace.thread(event).index()] > trace.place(event);
        if reached(a) || reached(b) {
            return Err(Contradiction);
        }
        Ok(())
    }

    /// The sections that the cut enters, by lock and thread: those open where the window begins, and those opened in it.
    fn entered(&self, clocks: &Clocks) -> BTreeMap<ObjectId, BTreeMap<ThreadId, Entered>> {
        let sections = self.native.sections;
        let mut found: BTreeMap<ObjectId, BTreeMap<ThreadId, Entered>> = BTreeMap::new();
        let mut add = |id: SectionId| {
            let section = sections.get(id);
            let of_thread = found
                .entry(section.lock)
                .or_default()
                .entry(section.thread)
                .or_default();
            let list = if section.shared {
                &mut of_thread.shared
            } else {
                &mut of_thread.alone
            };
            list.push(id);
        };
        for (thread, &first) in clocks.first.iter().enumerate() {
            sections
                .open_after(ThreadId(thread as u32), first)
                .iter()
                .copied()
                .for_each(&mut add);
        }
        let locking = clocks
            .order
            .iter()
            .filter(|&&event| self.native.trace.op(event).lock().is_some());
        locking.filter_map(|&event| sections.opened_by(event)).for_each(add);
        found
    }

    fn locks(&self, state: &mut State, clocks: &Clocks) -> Result<bool, Contradiction> {
        let sections = self.native.sections;
        let mut new = false;
        for of_lock in self.entered(clocks).into_values() {
            for (thread, entered) in &of_lock {
                for &id in entered.alone.iter().chain(&entered.shared) {
                    let section = sections.get(id);
                    let section_ends = section.release.is_some_and(|release| self.possible(release));
                    for (_, theirs) in of_lock.iter().filter(|&(other, _)| other != thread) {
                        let lists = [Some(&theirs.alone), Some(&theirs.shared).filter(|_| !section.shared)];
                        for list in lists.into_iter().flatten() {
                            // What cannot come after it are the first ones of the thread; the last of these says it for all.
                            let outside =
                                |&other: &SectionId| section_ends && !self.based && self.entered_outside(other);
                            let known = list.partition_point(outside);
                            let first = list[known..].partition_point(|&other| {
                                self.spend(1);
                                self.must_be_first(clocks, sections.get(other), section)
                            });
                            if let Some(last) = first.checked_sub(1) {
                                new |= self.put_first(state, clocks, sections.get(list[known + last]), section)?;
                            }
                        }
                    }
                }
            }
        }
        Ok(new)
    }

    fn entered_outside(&self, id: SectionId) -> bool {
        self.native
            .sections
            .get(id)
            .acquire
            .is_none_or(|acquire| acquire < self.from)
    }

    /// Whether `one` cannot come after `other`.
    fn must_be_first(&self, clocks: &Clocks, one: &Section, other: &Section) -> bool {
        let Some(release) = other.release.filter(|&release| self.possible(release)) else {
            return true;
        };
        let Some(acquire) = one.acquire.filter(|&acquire| acquire >= self.from) else {
            // It was entered before the window: before everything in it, if that is how the prefix begins.
            return self.based;
        };
        let entered_before = |later: Option<EventId>| {
            later.is_some_and(|later| clocks.has(self.native, later) && clocks.before(self.native, acquire, later))
        };
        entered_before(other.acquire) || entered_before(Some(release))
    }

    fn put_first(
        &self,
        state: &mut State,
        clocks: &Clocks,
        first: &Section,
        then: &Section,
    ) -> Result<bool, Contradiction> {
        let Some(release) = first.release.filter(|&release| self.possible(release)) else {
            return Err(Contradiction);
        };
        let before = state.cut[self.native.trace.thread(release).index()];
        self.include(state, release);
        let grown = state.cut[self.native.trace.thread(release).index()] > before;
        match then.acquire.filter(|&acquire| acquire >= self.from) {
            // A release before the window comes first as it is.
            Some(acquire) => {
                let known = release < self.from || clocks.before(self.native, release, acquire);
                Ok((!known && state.order(release, acquire)) || grown)
            }
            None if self.based && release >= self.from => Err(Contradiction),
            None => Ok(grown),
        }
    }

    /// As many as `limit` of the writes that a read can take its value from.
    fn sources(&self, clocks: &Clocks, read: EventId, cell: CellId, value: u64, limit: usize) -> Sources {
        let native = self.native;
        let info = native.trace.cell(cell);
        let fitting = native.writers.writes_of(cell, value);
        let split = fitting.partition_point(|&write| write < self.from);
        if let Some(&chosen) = self.chosen.get(&(read, cell)) {
            let writers = vec![chosen];
            return Sources {
                writers,
                outside: false,
            };
        }
        let outside = !self.based && (info.initial == Some(value) || split > 0);
        let mut found: Vec<Option<EventId>> = Vec::new();
        if self.based && native.base_value(cell, self.from) == Some(value) {
            found.push(None);
        }
        let needed = native.needs.relation();
        for &write in &fitting[split..] {
            if found.len() >= limit {
                break;
            }
            self.spend(1);
            if write != read
                && self.possible(write)
                && !needed.before(read, write)
                && !(clocks.has(native, write) && clocks.before(native, read, write))
            {
                found.push(Some(write));
            }
        }
        Sources {
            writers: found,
            outside,
        }
    }

    fn reads(&self, state: &mut State, clocks: &Clocks) -> Result<bool, Contradiction> {
        let (native, trace) = (self.native, self.native.trace);
        let mut new = false;
        for &read in &clocks.order {
            let Some(access) = trace.access(read).filter(|access| access.kind.reads()) else {
                continue;
            };
            for used in trace.uses(access).filter(|used| !trace.cell(used.cell).external) {
                let sources = self.sources(clocks, read, used.cell, used.read, 2);
                if sources.outside {
                    continue;
                }
                let writer = match sources.writers[..] {
                    [] => return Err(Contradiction),
                    [writer] => writer,
                    _ => continue,
                };
                if let Some(writer) = writer {
                    let before = state.cut[trace.thread(writer).index()];
                    self.include(state, writer);
                    new |= state.cut[trace.thread(writer).index()] > before;
                    if trace.thread(writer) != trace.thread(read) {
                        let known = clocks.has(native, writer) && clocks.before(native, writer, read);
                        new |= !known && state.order(writer, read);
                    } else if writer > read {
                        return Err(Contradiction);
                    }
                }
                for other in self.writes_inside(state, clocks, used.cell) {
                    if other == read || Some(other) == writer || !clocks.has(native, other) {
                        continue;
                    }
                    let Some(writer) = writer else {
                        // It sees what the window begins with.
                        new |= self.edge(state, clocks, read, other)?;
                        continue;
                    };
                    if !clocks.has(native, writer) {
                        continue;
                    }
                    if clocks.before(native, other, read) {
                        new |= self.edge(state, clocks, other, writer)?;
                    } else if clocks.before(native, writer, other) {
                        new |= self.edge(state, clocks, read, other)?;
                    }
                }
            }
        }
        Ok(new)
    }

    /// Adds an edge that follows; says whether it tells anything new.
    fn edge(&self, state: &mut State, clocks: &Clocks, from: EventId, to: EventId) -> Result<bool, Contradiction> {
        if clocks.before(self.native, from, to) {
            return Ok(false);
        }
        if clocks.before(self.native, to, from) {
            return Err(Contradiction);
        }
        Ok(state.order(from, to))
    }

    /// The writes of a cell in the window that are in the cut.
    fn writes_inside(&self, state: &State, clocks: &Clocks, cell: CellId) -> Vec<EventId> {
        let writes = self.native.writers.writes(cell);
        let split = writes.partition_point(|&write| write < self.from);
        let inside = writes[split..].iter().copied();
        let inside = inside.take_while(|&write| write <= clocks.last);
        let found: Vec<EventId> = inside.filter(|&write| self.inside(state, write)).collect();
        self.spend(found.len());
        found
    }

    /// The first thing that the order does wrong.
    fn violation(&self, state: &State, clocks: &Clocks) -> Option<Violation> {
        let (native, trace) = (self.native, self.native.trace);
        let mut last: HashMap<CellId, EventId> = HashMap::new();
        let mut open: HashMap<ObjectId, Vec<SectionId>> = HashMap::new();
        for (thread, &first) in clocks.first.iter().enumerate() {
            for &id in native.sections.open_after(ThreadId(thread as u32), first) {
                open.entry(native.sections.get(id).lock).or_default().push(id);
            }
        }
        for &event in &clocks.order {
            if self.based && !native.knows(event) {
                return Some(Violation::Unsupported);
            }
            if self.based
                && let Op::AcquireFailed { lock, shared } = trace.op(event)
            {
                let mut holding = open.get(&lock).into_iter().flatten().map(|&id| native.sections.get(id));
                if !holding.any(|section| section.denies(shared)) {
                    return Some(Violation::Unsupported);
                }
            }
            if let Some(access) = trace.access(event) {
                for used in trace.uses(access).filter(|used| !trace.cell(used.cell).external) {
                    let before = last.get(&used.cell).copied();
                    if access.kind.reads() && !self.sees(event, used.cell, used.read, before) {
                        // Each costs an order: more of them are never all tried.
                        let sources = self.sources(clocks, event, used.cell, used.read, self.left as usize + 1);
                        match (&sources.writers[..], before) {
                            _ if sources.outside => {}
                            ([Some(writer)], Some(between)) => {
                                return Some(Violation::Either(vec![(event, between), (between, *writer)]));
                            }
                            _ => return Some(Violation::Writer(event, used.cell, sources.writers)),
                        }
                    }
                }
                for used in trace.uses(access).filter(|_| access.kind.writes()) {
                    last.insert(used.cell, event);
                }
            }
            if trace.op(event).lock().is_none() {
                continue;
            }
            if let Some(id) = native.sections.closed_by(event) {
                let lock = native.sections.get(id).lock;
                open.entry(lock).or_default().retain(|&other| other != id);
            }
            if let Some(id) = native.sections.opened_by(event) {
                let section = native.sections.get(id);
                let others = open.entry(section.lock).or_default();
                for &other in others.iter() {
                    let other = native.sections.get(other);
                    if section.excludes(other)
                        && let Some(ways) = self.ways(other, section)
                    {
                        return Some(Violation::Either(ways));
                    }
                }
                others.push(id);
            }
        }
        debug_assert!(state.cut.len() == trace.threads());
        let holds = !self.based || native.conditions_hold(clocks, self.from);
        (!holds).then_some(Violation::Unsupported)
    }

    /// The edges of which one keeps two sections apart. `None` if, in the relaxed view, an order that is not
    /// followed might.
    fn ways(&self, one: &Section, other: &Section) -> Option<Vec<(EventId, EventId)>> {
        let way = |first: &Section, then: &Section| {
            let release = first
                .release
                .filter(|&release| self.possible(release) && release >= self.from);
            Some((release?, then.acquire.filter(|&acquire| acquire >= self.from)?))
        };
        let starts_before = |section: &Section| section.acquire.is_none_or(|acquire| acquire < self.from);
        if !self.based && (starts_before(one) || starts_before(other)) {
            return None;
        }
        Some(way(one, other).into_iter().chain(way(other, one)).collect())
    }

    /// Whether a read sees its value if `last` is the last write of the cell in the window before it.
    fn sees(&self, read: EventId, cell: CellId, value: u64, last: Option<EventId>) -> bool {
        if let Some(&chosen) = self.chosen.get(&(read, cell)) {
            return chosen == last;
        }
        match last {
            Some(write) => self.native.trace.value_left(write, cell) == Some(value),
            None => !self.based || self.native.base_value(cell, self.from) == Some(value),
        }
    }
}
