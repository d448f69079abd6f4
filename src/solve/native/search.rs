//! Saturation and backtracking in one window.

use super::Native;
use super::beginnings::Beginnings;
use super::state::{Clocks, Contradiction, State};
use super::window::{Life, Read, Used, Window};
use crate::prune::Ending;
use crate::semantics::Need;
use crate::trace::{CellId, EventId, ObjectId, Section, SectionId, ThreadId};
use hashbrown::HashMap;
use std::cell::Cell;
use std::collections::BTreeMap;

/// Sections of one thread on one lock, in program order, and the places where they begin.
#[derive(Default)]
struct Entered {
    sections: Vec<SectionId>,
    places: Vec<u32>,
    /// How many of them begin before the window.
    outside: usize,
}

/// The sections on one lock, by thread, apart from the readers'.
struct OnLock {
    thread: ThreadId,
    alone: Entered,
    shared: Entered,
}

/// What an order of the cut violates, as the ways out of it.
pub(super) enum Violation {
    /// Edges, of which those of one way have to be added.
    Either(Vec<Vec<(EventId, EventId)>>),
    /// The end of a wait that nobody wakes, and the notifies of which one has to.
    Wake(EventId, Vec<EventId>),
    /// A read of which the writer has to be chosen (`None`: what the window begins with).
    Writer(EventId, CellId, Vec<Option<EventId>>),
    /// An event whose needs this solver does not know.
    Unsupported,
}

/// Writes that are looked at for one read, at most, to find out which of them are hidden.
const MAX_SOURCES: usize = 256;

/// Writes that are looked at for one read, one after the other, before those of each thread are looked at together: there
/// may be thousands that come after the read.
const NEAR_SOURCES: usize = 16;

/// Which writes count as those that a read can take its value from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sources {
    /// All that do not come after it.
    Any,
    /// Those among them that no other write hides.
    Visible,
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
    pub(super) based: bool,
    /// What can come about in several ways is to come about as in π.
    as_in_trace: bool,
    /// Whether that made a difference.
    pub(super) relied: Cell<bool>,
    /// Steps that may still be done, and how many there were.
    work: Cell<u64>,
    most_work: u64,
    /// Whether there were not enough of them.
    is_spent: bool,
    /// What the prefix is to have performed, and what is to be next.
    pub(super) ending: Ending<'s>,
    /// Orders that may still be tried.
    left: u32,
    most: u32,
    /// Writers chosen on the way, per read and cell.
    chosen: BTreeMap<(EventId, CellId), Option<EventId>>,
    /// Notifies chosen on the way, per end of a wait.
    pub(super) served: BTreeMap<EventId, EventId>,
    ends: Ends,
    pub(super) window: Window<'s, 't>,
    /// Where the sums of the words that were read begin.
    pub(super) beginnings: Beginnings,
    /// The sections that a cut enters, each lock's together, for the cut asked about last.
    entered: (Vec<u32>, Vec<Vec<OnLock>>),
}

/// Of each thread, as far as was asked: how many of its events can be in such a prefix, and the place from which on none
/// can.
type Ends = Vec<Cell<(u32, u32)>>;

/// What searches with one ending, one after the other, need not find again.
pub(super) struct Kept<'s, 't> {
    ends: Ends,
    window: Window<'s, 't>,
}

impl<'s, 't> Search<'s, 't> {
    pub(super) fn new(
        native: &'s Native<'t>,
        from: EventId,
        view: View,
        ending: Ending<'s>,
        (most, most_work): (u32, u64),
        earlier: Option<Kept<'s, 't>>,
    ) -> Search<'s, 't> {
        let based = view != View::Relaxed;
        let (ends, window) = match earlier {
            Some(Kept { ends, window }) => (ends, window.seen(from, based)),
            None => (vec![Cell::new((0, u32::MAX)); native.trace.threads()], None),
        };
        Search {
            native,
            from,
            based,
            as_in_trace: view == View::Based { as_in_trace: true },
            relied: Cell::new(false),
            work: Cell::new(most_work),
            most_work,
            is_spent: false,
            ending,
            left: most,
            most,
            chosen: BTreeMap::new(),
            served: BTreeMap::new(),
            ends,
            window: window.unwrap_or_else(|| Window::new(native, from, based, ending)),
            beginnings: Beginnings::default(),
            entered: (Vec::new(), Vec::new()),
        }
    }

    /// What the next search with this ending begins with.
    pub(super) fn keep(self) -> Kept<'s, 't> {
        Kept {
            ends: self.ends,
            window: self.window,
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

    /// How many steps have been done.
    pub(super) fn work(&self) -> u64 {
        self.most_work - self.work.get()
    }

    /// Whether it was given up for want of steps.
    pub(super) fn is_spent(&self) -> bool {
        self.is_spent
    }

    /// An order of the window's part of a prefix, or that there is none; `None` if it was not decided.
    #[allow(clippy::option_option, reason = "found, refuted, or not decided")]
    pub(super) fn run(&mut self) -> Option<Option<Vec<EventId>>> {
        self.solve(self.start(), None)
    }

    /// Whether the prefix must contain an event of the window whose needs this solver does not know, so that it cannot
    /// find one in the based view.
    pub(super) fn is_hopeless(&self) -> bool {
        let mut state = self.start();
        self.close(&mut state).is_ok() && self.native.any_unknown(self.from, &state.cut)
    }

    fn start(&self) -> State {
        let mut cut = vec![0; self.native.trace.threads()];
        for &event in self.ending.performed {
            let own = &mut cut[self.native.trace.thread(event).index()];
            *own = (*own).max(self.native.trace.place(event) + 1);
        }
        for &event in self.ending.pending {
            self.native.needs.raise_to_pending(&mut cut, event);
        }
        let mut closed = vec![0; cut.len()];
        if self.based {
            // What an event needs comes before it in π, too.
            for ((thread, needed), closed) in (0..).map(ThreadId).zip(&mut cut).zip(&mut closed) {
                *closed = self.native.trace.events_before(thread, self.from);
                *needed = (*needed).max(*closed);
            }
        }
        let mut state = State::new(cut, closed);
        for (first, second) in self.ending.in_order() {
            state.order(first, second);
        }
        state
    }

    #[allow(clippy::option_option, reason = "found, refuted, or not decided")]
    fn solve(&mut self, mut state: State, earlier: Option<&Clocks>) -> Option<Option<Vec<EventId>>> {
        self.left = self.left.checked_sub(1)?;
        let (clocks, violation) = match self.order(&mut state, earlier) {
            Ok(found) => found?,
            Err(Contradiction) => return Some(None),
        };
        match violation {
            None => Some(Some(clocks.complete(&self.window))),
            Some(Violation::Unsupported) => None,
            Some(Violation::Either(ways)) => {
                for edges in ways {
                    let mut next = state.clone();
                    for (before, after) in edges {
                        self.include(&mut next, before);
                        next.order(before, after);
                    }
                    if let Some(order) = self.solve(next, Some(&clocks))? {
                        return Some(Some(order));
                    }
                }
                Some(None)
            }
            Some(Violation::Wake(end, notifies)) => {
                for notify in notifies {
                    let mut next = state.clone();
                    self.include(&mut next, notify);
                    next.order(notify, end);
                    let begin = self.native.trace.wait_begin(end);
                    if let Some(begin) = begin.filter(|&begin| begin >= self.from) {
                        next.order(begin, notify);
                    }
                    self.served.insert(end, notify);
                    let found = self.solve(next, Some(&clocks));
                    self.served.remove(&end);
                    if let Some(order) = found? {
                        return Some(Some(order));
                    }
                }
                Some(None)
            }
            Some(Violation::Writer(read, cell, writers)) => {
                for writer in writers {
                    self.chosen.insert((read, cell), writer);
                    let found = self.solve(state.clone(), Some(&clocks));
                    self.chosen.remove(&(read, cell));
                    if let Some(order) = found? {
                        return Some(Some(order));
                    }
                }
                Some(None)
            }
        }
    }

    /// What follows from the cut and its edges, and what an order of them violates all the same. To look at all writes
    /// that a read may see is worth it only then: mostly, the order violates nothing.
    #[allow(
        clippy::type_complexity,
        reason = "both, or that it takes too long, or that there is none"
    )]
    fn order(
        &mut self,
        state: &mut State,
        earlier: Option<&Clocks>,
    ) -> Result<Option<(Clocks, Option<Violation>)>, Contradiction> {
        let Some(mut clocks) = self.saturate(state, earlier)? else {
            return Ok(None);
        };
        loop {
            let violation = self.violation(state, &clocks);
            if matches!(violation, None | Some(Violation::Unsupported))
                || !self.reads(state, &clocks, Sources::Visible)?
            {
                return Ok(Some((clocks, violation)));
            }
            let Some(further) = self.saturate(state, Some(&clocks))? else {
                return Ok(None);
            };
            clocks = further;
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

    /// Whether an event can be in a prefix with this ending: it is none that the ending spares, and needs none.
    pub(super) fn possible(&self, event: EventId) -> bool {
        let Native { trace, needs, .. } = *self.native;
        let (thread, place) = (trace.thread(event), trace.place(event));
        let ends = &self.ends[thread.index()];
        let (can, cannot) = ends.get();
        if place < can || place >= cannot {
            return place < can;
        }
        let is_possible = self.ending.spared().all(|spared| match trace.thread(spared) == thread {
            true => place < trace.place(spared),
            false => !needs.relation().before(spared, event),
        });
        ends.set(if is_possible { (place + 1, cannot) } else { (can, place) });
        is_possible
    }

    /// Adds what follows from the cut and its edges, until nothing more does.
    /// `None`: that is more work than one window may cost.
    fn saturate(&mut self, state: &mut State, earlier: Option<&Clocks>) -> Result<Option<Clocks>, Contradiction> {
        let mut last = None;
        loop {
            self.close(state)?;
            let left = self.work.get() as usize;
            let earlier = last.as_ref().or(earlier);
            let clocks = Clocks::of(&mut self.window, self.native, self.from, state, earlier, left)?;
            let Some(clocks) = clocks.filter(|clocks| self.spend(clocks.work())) else {
                self.is_spent = true;
                return Ok(None);
            };
            if self.entered.0 != state.cut {
                self.entered = (state.cut.clone(), self.entered(&clocks));
            }
            // To look at each event costs about as much as to find its place, however little there is to see.
            self.spend(clocks.order.len());
            let by_pins = self.based && self.pins(state, &clocks)?;
            let by_locks = self.locks(state, &clocks)?;
            let by_reads = self.reads(state, &clocks, Sources::Any)?;
            let by_choices = self.choices(state, &clocks)?;
            let by_conditions = self.as_in_trace && self.conditions(state, &clocks)?;
            // Mostly, all else shows what there is to see.
            if !by_pins && !by_locks && !by_reads && !by_choices && !by_conditions && !self.words(state, &clocks)? {
                return Ok(Some(clocks));
            }
            last = Some(clocks);
        }
    }

    /// Counts work; says whether some is left.
    pub(super) fn spend(&self, work: usize) -> bool {
        self.work.set(self.work.get().saturating_sub(work as u64));
        self.work.get() > 0
    }

    /// Adds the events that those of the cut need.
    fn close(&self, state: &mut State) -> Result<(), Contradiction> {
        let trace = self.native.trace;
        let mut grown = true;
        while std::mem::take(&mut grown) {
            for thread in 0..state.cut.len() {
                if state.closed[thread] < state.cut[thread] {
                    let places = (state.closed[thread], state.cut[thread]);
                    self.raise_to_pins(&mut state.cut, ThreadId(thread as u32), places);
                    state.closed[thread] = places.1;
                    let last = trace.program_order(ThreadId(thread as u32)).at(places.1 as usize - 1);
                    self.native.needs.relation().raise(&mut state.cut, last);
                    grown = true;
                }
            }
        }
        let reached = |event: EventId| state.cut[trace.thread(event).index()] > trace.place(event);
        if self.ending.spared().any(reached) {
            return Err(Contradiction);
        }
        Ok(())
    }

    /// The sections that the cut enters, those of a lock together: those open where the window begins, and those opened
    /// in it.
    fn entered(&self, clocks: &Clocks) -> Vec<Vec<OnLock>> {
        let (trace, sections) = (self.native.trace, self.native.sections);
        let mut locks: HashMap<ObjectId, usize> = HashMap::new();
        let mut of_thread: HashMap<(ObjectId, ThreadId), usize> = HashMap::new();
        let mut found: Vec<Vec<OnLock>> = Vec::new();
        let mut add = |id: SectionId| {
            let section = sections.get(id);
            let lock = *locks.entry(section.lock).or_insert_with(|| {
                found.push(Vec::new());
                found.len() - 1
            });
            let on_lock = &mut found[lock];
            let at = *of_thread.entry((section.lock, section.thread)).or_insert_with(|| {
                on_lock.push(OnLock {
                    thread: section.thread,
                    alone: Entered::default(),
                    shared: Entered::default(),
                });
                on_lock.len() - 1
            });
            let theirs = &mut on_lock[at];
            let list = if section.shared {
                &mut theirs.shared
            } else {
                &mut theirs.alone
            };
            list.sections.push(id);
            list.places
                .push(section.acquire.map_or(0, |acquire| trace.place(acquire)));
            if section.acquire.is_none_or(|acquire| acquire < self.from) {
                list.outside = list.sections.len();
            }
        };
        for (thread, &first) in clocks.first.iter().enumerate() {
            sections.open_after(ThreadId(thread as u32), first).for_each(&mut add);
        }
        let doors = clocks.numbered().filter_map(|(_, number)| self.window.doors(number));
        doors.filter_map(|doors| doors.opened).for_each(add);
        found
    }

    fn locks(&self, state: &mut State, clocks: &Clocks) -> Result<bool, Contradiction> {
        let native = self.native;
        let mut new = false;
        for on_lock in &self.entered.1 {
            for mine in on_lock {
                for &id in mine.alone.sections.iter().chain(&mine.shared.sections) {
                    let section = native.sections.get(id);
                    let release = section.release.filter(|&release| self.possible(release));
                    let row = |event: Option<EventId>| event.and_then(|event| clocks.row(&self.window, event));
                    // A section that is entered before this one is, or is left, cannot come after it.
                    let rows = [
                        row(section.acquire.filter(|&acquire| acquire >= self.from)),
                        row(release),
                    ];
                    for theirs in on_lock.iter().filter(|theirs| theirs.thread != mine.thread) {
                        let counts = rows.into_iter().flatten().map(|row| row[theirs.thread.index()]);
                        let before = counts.max().unwrap_or(0);
                        let lists = [Some(&theirs.alone), Some(&theirs.shared).filter(|_| !section.shared)];
                        for list in lists.into_iter().flatten() {
                            // What cannot come after it are the first ones of the thread; the last of these says it for
                            // all. One that was entered before the window comes before everything in it, if that is how
                            // the prefix begins.
                            let known = if release.is_some() && !self.based {
                                list.outside
                            } else {
                                0
                            };
                            let outside = if self.based { list.outside - known } else { 0 };
                            let places = &list.places[known..];
                            let first = places.partition_point(|&place| {
                                self.spend(1);
                                release.is_none() || place < before
                            });
                            if let Some(last) = first.max(outside).checked_sub(1) {
                                let last = native.sections.get(list.sections[known + last]);
                                new |= self.put_first(state, clocks, last, section)?;
                            }
                        }
                    }
                }
            }
        }
        Ok(new)
    }

    fn put_first(
        &self,
        state: &mut State,
        clocks: &Clocks,
        first: Section,
        then: Section,
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
                let known = release < self.from || clocks.before(&self.window, release, acquire);
                Ok((!known && state.order(release, acquire)) || grown)
            }
            None if self.based && release >= self.from => Err(Contradiction),
            None => Ok(grown),
        }
    }

    /// As many as `limit` of the writes that a read can take its value from, and `None` for what the window begins
    /// with.
    fn sources(&self, clocks: &Clocks, read: (EventId, CellId), seen: &Read<'_>, limit: usize) -> Vec<Option<EventId>> {
        let mut found = Vec::new();
        self.each_source(clocks, read, seen, &mut |source| {
            found.push(source);
            found.len() < limit
        });
        found
    }

    /// Calls `each` with these, as long as it wants more.
    fn each_source(
        &self,
        clocks: &Clocks,
        (read, cell): (EventId, CellId),
        seen: &Read<'_>,
        each: &mut impl FnMut(Option<EventId>) -> bool,
    ) {
        let native = self.native;
        if !self.chosen.is_empty()
            && let Some(&chosen) = self.chosen.get(&(read, cell))
        {
            each(chosen);
            return;
        }
        if seen.base && !each(None) {
            return;
        }
        let needed = native.needs.relation();
        let comes_after = |write: EventId| write > read && needed.before(read, write);
        let (near, further) = seen.fitting.split_at(seen.fitting.len().min(NEAR_SOURCES));
        for &write in near {
            self.spend(1);
            if write != read
                && self.possible(write)
                && !comes_after(write)
                && !clocks.before(&self.window, read, write)
                && !each(Some(write))
            {
                return;
            }
        }
        let Some(&first) = further.first() else { return };
        // Of each thread, those up to some one of them.
        let by_thread = native.fitting_by_thread(cell, seen);
        let mut open: Vec<&[EventId]> = Vec::with_capacity(by_thread.len());
        for theirs in &*by_thread {
            self.spend(1);
            let theirs = &theirs[theirs.partition_point(|&write| write < first)..];
            let theirs = &theirs[..theirs.partition_point(|&write| self.possible(write) && !comes_after(write))];
            let known = clocks.among(&self.window, theirs);
            let after = known.partition_point(|&write| !clocks.before(&self.window, read, write));
            // What comes after one that comes after the read does so, too.
            let theirs = if after < known.len() { &known[..after] } else { theirs };
            if !theirs.is_empty() {
                open.push(theirs);
            }
        }
        while let Some(theirs) = open
            .iter_mut()
            .min_by_key(|theirs| theirs.first().map_or(EventId(u32::MAX), |&first| first))
            && let Some((&write, rest)) = theirs.split_first()
        {
            self.spend(1);
            *theirs = rest;
            if write != read && !each(Some(write)) {
                return;
            }
        }
    }

    /// Whether a read may see, in the relaxed view, what something before the window left: nothing that comes before the
    /// read hides all of that. What a thread does before the window comes before all that it does in it.
    fn sees_outside(&self, clocks: &Clocks, read: EventId, used: &Used, seen: &Read<'_>) -> bool {
        if !seen.outside {
            return false;
        }
        let trace = self.native.trace;
        let needed = self.native.needs.relation();
        let has_begun = |thread: ThreadId, by: EventId| {
            let row = clocks.row(&self.window, by);
            thread == trace.thread(by) || row.is_some_and(|row| row[thread.index()] > clocks.first[thread.index()])
        };
        // Of each thread, the last write that comes before the read.
        let mut before: Vec<EventId> = Vec::new();
        for theirs in &*self.window.writes_by_thread(used, clocks.last) {
            self.spend(1);
            let theirs = clocks.among(&self.window, theirs);
            let earlier = theirs.partition_point(|&other| clocks.before(&self.window, other, read));
            before.extend(theirs[..earlier].last());
        }
        let in_window = before.len();
        for &last in self.window.lasts(used) {
            self.spend(1);
            let thread = trace.thread(last);
            let is_known = before[..in_window].iter().any(|&other| trace.thread(other) == thread);
            if !is_known && (has_begun(thread, read) || needed.before(last, read)) {
                before.push(last);
            }
        }
        let hides = |other: EventId, write: EventId| {
            self.spend(1);
            match trace.thread(other) == trace.thread(write) {
                true => other > write,
                false => (other >= self.from && has_begun(trace.thread(write), other)) || needed.before(write, other),
            }
        };
        before.is_empty()
            || !self.window.all_fitting(read, used, seen, |write| {
                before.iter().any(|&other| hides(other, write))
            })
    }

    /// Of the writes that a read can take its value from, those that no other hides: one that comes after it, and before
    /// the read.
    fn visible(&self, clocks: &Clocks, read: (EventId, CellId), used: &Used, seen: &Read<'_>) -> Vec<Option<EventId>> {
        let mut found = self.sources(clocks, read, seen, MAX_SOURCES);
        if found.len() < 2 || found.len() == MAX_SOURCES {
            return found;
        }
        let (read, _) = read;
        for theirs in &*self.window.writes_by_thread(used, clocks.last) {
            let theirs = clocks.among(&self.window, theirs);
            let earlier = theirs.partition_point(|&other| clocks.before(&self.window, other, read));
            // What any of them hides, the last one does.
            if let Some(&last) = theirs[..earlier].last() {
                self.spend(found.len());
                found.retain(|source| source.is_some_and(|source| !self.precedes(clocks, source, last)));
            }
        }
        found
    }

    /// Whether a write, which may be none of the cut, is known to come before one of the cut.
    fn precedes(&self, clocks: &Clocks, write: EventId, other: EventId) -> bool {
        clocks.has(&self.window, write) && clocks.before(&self.window, write, other)
    }

    /// Puts a read before those writes that would hide all that it may see.
    fn before_hidden(
        &self,
        state: &mut State,
        clocks: &Clocks,
        (read, used): (EventId, &Used),
        sources: &[Option<EventId>],
    ) -> Result<bool, Contradiction> {
        let trace = self.native.trace;
        // Of each thread, the last one says it for all.
        let mut lasts: Vec<EventId> = Vec::new();
        for &source in sources.iter().flatten() {
            let same = |last: &&mut EventId| trace.thread(**last) == trace.thread(source);
            match lasts.iter_mut().find(same) {
                Some(last) => *last = source.max(*last),
                None => lasts.push(source),
            }
        }
        let mut new = false;
        for theirs in &*self.window.writes_by_thread(used, clocks.last) {
            let theirs = clocks.among(&self.window, theirs);
            let hides = |other: EventId| {
                self.spend(lasts.len());
                lasts.iter().all(|&source| self.precedes(clocks, source, other))
            };
            let first = theirs.partition_point(|&other| !hides(other));
            match theirs.get(first) {
                Some(&first) if trace.thread(first) != trace.thread(read) => {
                    new |= self.edge(state, clocks, read, first)?;
                }
                _ => {}
            }
        }
        Ok(new)
    }

    fn reads(&self, state: &mut State, clocks: &Clocks, which: Sources) -> Result<bool, Contradiction> {
        let trace = self.native.trace;
        let mut new = false;
        for (read, number) in clocks.numbered() {
            for (used, seen) in self.window.reads(number) {
                let is_free = || which == Sources::Any || self.sees_outside(clocks, read, used, seen);
                if seen.outside && !self.chosen.contains_key(&(read, seen.cell)) && is_free() {
                    continue;
                }
                let sources = match which {
                    Sources::Any => self.sources(clocks, (read, seen.cell), seen, 2),
                    Sources::Visible => self.visible(clocks, (read, seen.cell), used, seen),
                };
                let writer = match sources[..] {
                    [] => return Err(Contradiction),
                    [writer] => writer,
                    _ if which == Sources::Visible && sources.len() < MAX_SOURCES => {
                        new |= self.before_hidden(state, clocks, (read, used), &sources)?;
                        continue;
                    }
                    _ => continue,
                };
                if let Some(writer) = writer {
                    let before = state.cut[trace.thread(writer).index()];
                    self.include(state, writer);
                    new |= state.cut[trace.thread(writer).index()] > before;
                    if trace.thread(writer) != trace.thread(read) {
                        let known = clocks.has(&self.window, writer) && clocks.before(&self.window, writer, read);
                        new |= !known && state.order(writer, read);
                    } else if writer > read {
                        return Err(Contradiction);
                    }
                }
                if writer.is_some_and(|writer| !clocks.has(&self.window, writer)) {
                    continue;
                }
                for theirs in &*self.window.writes_by_thread(used, clocks.last) {
                    self.spend(1);
                    let theirs = clocks.among(&self.window, theirs);
                    // Of those of one thread, the first ones come before the read: the last of these says it for all.
                    let earlier = theirs.partition_point(|&other| clocks.before(&self.window, other, read));
                    match (theirs[..earlier].last(), writer) {
                        // It sees what the window begins with.
                        (Some(_), None) => return Err(Contradiction),
                        (Some(&last), Some(writer)) if last != writer => {
                            new |= self.edge(state, clocks, last, writer)?;
                        }
                        _ => {}
                    }
                    // The last ones come after its writer: the first of these says it for all.
                    let others = &theirs[earlier..];
                    let later = writer.map_or(0, |writer| {
                        others.partition_point(|&other| !clocks.before(&self.window, writer, other))
                    });
                    match others.get(later) {
                        Some(&first) if trace.thread(first) != trace.thread(read) => {
                            new |= self.edge(state, clocks, read, first)?;
                        }
                        _ => {}
                    }
                }
            }
        }
        Ok(new)
    }

    /// Adds an edge that follows; says whether it tells anything new.
    pub(super) fn edge(
        &self,
        state: &mut State,
        clocks: &Clocks,
        from: EventId,
        to: EventId,
    ) -> Result<bool, Contradiction> {
        if clocks.before(&self.window, from, to) {
            return Ok(false);
        }
        if clocks.before(&self.window, to, from) {
            return Err(Contradiction);
        }
        Ok(state.order(from, to))
    }

    /// The first thing that the order does wrong.
    fn violation(&self, state: &State, clocks: &Clocks) -> Option<Violation> {
        let (native, trace) = (self.native, self.native.trace);
        // By the cell's number: the last write, and what it leaves.
        let mut last: Vec<Option<(EventId, Option<u64>)>> = vec![None; self.window.cells()];
        // By the cell's number: of what has ended an object there, what comes last in π.
        let mut ended: Vec<Option<EventId>> = vec![None; self.window.cells()];
        let mut open: HashMap<ObjectId, Vec<SectionId>> = HashMap::new();
        for (thread, &first) in clocks.first.iter().enumerate() {
            for id in native.sections.open_after(ThreadId(thread as u32), first) {
                open.entry(native.sections.get(id).lock).or_default().push(id);
            }
        }
        for (event, number) in clocks.numbered() {
            if self.based && !self.window.knows(number) {
                return Some(Violation::Unsupported);
            }
            if self.based
                && self.window.is_conditional(number)
                && let Some(Need::Holder { lock, shared }) = Need::of(trace.op(event))
            {
                let mut holding = open.get(&lock).into_iter().flatten().map(|&id| native.sections.get(id));
                if !holding.any(|section| section.denies(shared)) {
                    let ways = self.ways_to_fail(clocks, event, lock, shared);
                    return Some(ways.map_or(Violation::Unsupported, Violation::Either));
                }
            }
            for (used, seen) in self.window.reads(number) {
                let before = last[used.number as usize];
                if self.sees(event, seen.cell, seen, before) {
                    continue;
                }
                let is_chosen = seen.outside && self.chosen.contains_key(&(event, seen.cell));
                if !is_chosen && self.sees_outside(clocks, event, used, seen) {
                    continue;
                }
                // Each costs an order: more of them are never all tried.
                let writers = self.sources(clocks, (event, seen.cell), seen, self.left as usize + 1);
                return Some(match (&writers[..], before) {
                    ([Some(writer)], Some((between, _))) => {
                        Violation::Either(vec![vec![(event, between)], vec![(between, *writer)]])
                    }
                    _ => Violation::Writer(event, seen.cell, writers),
                });
            }
            for used in self.window.uses(number) {
                let ended = &mut ended[used.number as usize];
                match used.object {
                    Some(Life::Ended) => *ended = (*ended).max(Some(event)),
                    Some(Life::Used) if let Some(by) = ended.filter(|&by| by > event) => {
                        return Some(Violation::Either(vec![vec![(event, by)]]));
                    }
                    _ => {}
                }
                if used.writes {
                    last[used.number as usize] = Some((event, used.left()));
                }
            }
            let Some(doors) = self.window.doors(number) else {
                continue;
            };
            if let Some(id) = doors.closed {
                let lock = native.sections.get(id).lock;
                open.entry(lock).or_default().retain(|&other| other != id);
            }
            if let Some(id) = doors.opened {
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
        self.unmet(clocks)
    }

    /// The edges of which one keeps two sections apart. `None` if, in the relaxed view, an order that is not
    /// followed might.
    fn ways(&self, one: Section, other: Section) -> Option<Vec<Vec<(EventId, EventId)>>> {
        let way = |first: Section, then: Section| {
            let release = first
                .release
                .filter(|&release| self.possible(release) && release >= self.from);
            Some(vec![(release?, then.acquire.filter(|&acquire| acquire >= self.from)?)])
        };
        let starts_before = |section: Section| section.acquire.is_none_or(|acquire| acquire < self.from);
        if !self.based && (starts_before(one) || starts_before(other)) {
            return None;
        }
        Some(way(one, other).into_iter().chain(way(other, one)).collect())
    }

    /// Whether a read sees its value if `last` is the last write of the cell in the window before it, with what that
    /// leaves.
    fn sees(&self, read: EventId, cell: CellId, seen: &Read<'_>, last: Option<(EventId, Option<u64>)>) -> bool {
        if !self.chosen.is_empty()
            && let Some(&chosen) = self.chosen.get(&(read, cell))
        {
            return chosen == last.map(|(write, _)| write);
        }
        match last {
            Some((_, left)) => left == Some(seen.value),
            None => seen.base,
        }
    }
}
