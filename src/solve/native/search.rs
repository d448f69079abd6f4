//! Saturation and backtracking in one window.

use super::Native;
use super::state::{Clocks, Contradiction, State};
use crate::trace::{CellId, EventId, ObjectId, Section, SectionId, ThreadId};
use hashbrown::HashMap;
use std::collections::BTreeMap;

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

pub(super) struct Search<'s, 't> {
    native: &'s Native<'t>,
    /// The first event of the window.
    from: EventId,
    /// Everything before the window is in the prefix, as recorded.
    based: bool,
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
        based: bool,
        a: EventId,
        b: EventId,
        most: u32,
    ) -> Search<'s, 't> {
        Search {
            native,
            from,
            based,
            race: (a, b),
            left: most,
            most,
            chosen: BTreeMap::new(),
        }
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
        let Ok(clocks) = self.saturate(&mut state) else {
            return Some(None);
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

    fn include(&self, state: &mut State, event: EventId) {
        let count = &mut state.cut[self.native.trace.thread(event).index()];
        *count = (*count).max(self.native.trace.place(event) + 1);
    }

    fn inside(&self, state: &State, event: EventId) -> bool {
        let trace = self.native.trace;
        event >= self.from && trace.place(event) < state.cut[trace.thread(event).index()]
    }

    /// Whether an event can be in a prefix that brings both accesses next.
    fn possible(&self, event: EventId) -> bool {
        let trace = self.native.trace;
        let after =
            |access: EventId| trace.thread(access) == trace.thread(event) && trace.place(access) <= trace.place(event);
        !after(self.race.0) && !after(self.race.1)
    }

    /// Adds what follows from the cut and its edges, until nothing more does.
    fn saturate(&self, state: &mut State) -> Result<Clocks, Contradiction> {
        loop {
            self.close(state)?;
            let clocks = Clocks::of(self.native, self.from, state)?;
            let by_locks = self.locks(state, &clocks)?;
            let by_reads = self.reads(state, &clocks)?;
            if !by_locks && !by_reads {
                return Ok(clocks);
            }
        }
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

    /// The sections that the cut enters, by lock: those open where the window begins, and those opened in it.
    fn entered(&self, clocks: &Clocks) -> BTreeMap<ObjectId, Vec<SectionId>> {
        let sections = self.native.sections;
        let mut found: BTreeMap<ObjectId, Vec<SectionId>> = BTreeMap::new();
        for (thread, &first) in clocks.first.iter().enumerate() {
            for &id in sections.open_after(ThreadId(thread as u32), first) {
                found.entry(sections.get(id).lock).or_default().push(id);
            }
        }
        let locking = clocks
            .order
            .iter()
            .filter(|&&event| self.native.trace.op(event).lock().is_some());
        for id in locking.filter_map(|&event| sections.opened_by(event)) {
            found.entry(sections.get(id).lock).or_default().push(id);
        }
        found
    }

    fn locks(&self, state: &mut State, clocks: &Clocks) -> Result<bool, Contradiction> {
        let mut new = false;
        for ids in self.entered(clocks).into_values() {
            for (at, &one) in ids.iter().enumerate() {
                for &other in &ids[at + 1..] {
                    let (one, other) = (self.native.sections.get(one), self.native.sections.get(other));
                    if !one.excludes(other) {
                        continue;
                    }
                    let one_first = self.must_be_first(clocks, one, other);
                    let other_first = self.must_be_first(clocks, other, one);
                    match (one_first, other_first) {
                        (true, true) => return Err(Contradiction),
                        (true, false) => new |= self.put_first(state, one, other)?,
                        (false, true) => new |= self.put_first(state, other, one)?,
                        (false, false) => {}
                    }
                }
            }
        }
        Ok(new)
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

    fn put_first(&self, state: &mut State, first: &Section, then: &Section) -> Result<bool, Contradiction> {
        let Some(release) = first.release.filter(|&release| self.possible(release)) else {
            return Err(Contradiction);
        };
        let before = state.cut[self.native.trace.thread(release).index()];
        self.include(state, release);
        let grown = state.cut[self.native.trace.thread(release).index()] > before;
        match then.acquire.filter(|&acquire| acquire >= self.from) {
            // A release before the window comes first as it is.
            Some(acquire) => Ok((release >= self.from && state.order(release, acquire)) || grown),
            None if self.based && release >= self.from => Err(Contradiction),
            None => Ok(grown),
        }
    }

    fn sources(&self, clocks: &Clocks, read: EventId, cell: CellId, value: u64) -> Sources {
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
                let sources = self.sources(clocks, read, used.cell, used.read);
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
        inside.filter(|&write| self.inside(state, write)).collect()
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
            if let Some(access) = trace.access(event) {
                for used in trace.uses(access).filter(|used| !trace.cell(used.cell).external) {
                    let before = last.get(&used.cell).copied();
                    if access.kind.reads() && !self.sees(event, used.cell, used.read, before) {
                        let sources = self.sources(clocks, event, used.cell, used.read);
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
        None
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
