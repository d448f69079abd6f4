//! What a race needs when reads are taken into account: the closure over unique writers.
//!
//! If only one write can have given a read its value, that write is in every prefix that holds the
//! read. Adding these edges to must-happen-before, over and over since each edge can rule out
//! further writes, gives a stronger relation: *needed before*. It speaks of events that are in the
//! prefix; an access that is merely next has seen nothing yet, and needs only what must happen
//! before it.
//!
//! From it follows the cone of a candidate: all events that every prefix which brings both
//! accesses next has to hold. A lock that is held at an access closes the sections of others on
//! it that are in the cone, and their releases have needs of their own. So have the [posts](super::forced_posts) that
//! the waits in the cone cannot do without. If the cone reaches one of the accesses, there is no such prefix (compare
//! the closure of Mathur, Pavlogiannis, Viswanathan, POPL 2021, which keeps the reads' writers of π instead of the only
//! possible ones).
//!
//! Reads that two writes can explain need neither here; what they need [whichever it is](super::needed_by_all) is found
//! at the end.

use super::forced_posts::Semaphores;
use super::{Clocks, Edge, Ending, LockContexts, MustHappenBefore, VariableLocks, Words, needed_by_all, words};
use crate::trace::{CellId, EventId, SectionId, Sections, ThreadId, Trace, Writers};
use columns::Excerpt;
use hashbrown::{HashMap, HashSet};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Writes that may come last before a read, above which no unique one is searched among them.
const MAX_POSSIBLE: usize = 64;

/// Fitting writes on either side of a read, in the order of π, that are looked at first.
const NEAR: usize = 8;

/// From this walk on, what the walk before has found of later events is kept.
const FEW_WALKS: usize = 3;

/// From then on, a walk has to be for at least one edge among so many events: one that is found backwards, from what
/// comes later, can lead to another one in the next walk, and so on, for hardly any reads.
const EVENTS_OF_AN_EDGE: usize = 100_000;

/// Walks for what is needed before reads of words.
const WALKS_FOR_WORDS: usize = 3;

/// The needed-before relation of a trace.
pub struct Needs<'t> {
    trace: &'t Trace,
    must: &'t MustHappenBefore,
    sections: &'t Sections,
    semaphores: Arc<Semaphores>,
    needed: Cow<'t, MustHappenBefore>,
    writers: Arc<Writers>,
    /// What threads hold besides locks of the trace: variables that were locks in this run.
    guarded: Option<LockContexts>,
}

impl<'t> Needs<'t> {
    /// Computes the relation.
    #[must_use]
    pub fn of(trace: &'t Trace, must: &'t MustHappenBefore, sections: &'t Sections) -> Needs<'t> {
        Needs::knowing(trace, must, sections, Writers::of(trace), None)
    }

    /// As [`of`](Self::of), for somebody who knows the [edges](Self::found) that make it up, since searching for them
    /// takes most of the time. They fit the trace.
    #[must_use]
    pub fn knowing(
        trace: &'t Trace,
        must: &'t MustHappenBefore,
        sections: &'t Sections,
        writers: Writers,
        found: Option<&[Edge]>,
    ) -> Needs<'t> {
        let (semaphores, writers) = (Arc::new(Semaphores::of(trace)), Arc::new(writers));
        Needs::with(trace, must, sections, (semaphores, writers), found)
    }

    /// The same on other grounds, of which somebody may know the edges as well.
    #[must_use]
    pub fn on<'m>(&self, must: &'m MustHappenBefore, found: Option<&[Edge]>) -> Needs<'m>
    where
        't: 'm,
    {
        let shared = (Arc::clone(&self.semaphores), Arc::clone(&self.writers));
        Needs::with(self.trace, must, self.sections, shared, found)
    }

    /// The edges that reads have added to must-happen-before; `None` if these alone would make another relation of it.
    #[must_use]
    pub fn found(&self) -> Option<Vec<Edge>> {
        let known: HashSet<&Edge> = self.must.edges().iter().collect();
        let new = self.needed.edges().iter().filter(|edge| !known.contains(edge));
        let found: Vec<Edge> = new.copied().collect();
        extended(self.trace, self.must, &found)
            .same_edges(&self.needed)
            .then_some(found)
    }

    fn with(
        trace: &'t Trace,
        must: &'t MustHappenBefore,
        sections: &'t Sections,
        (semaphores, writers): (Arc<Semaphores>, Arc<Writers>),
        found: Option<&[Edge]>,
    ) -> Needs<'t> {
        let needed = match (trace.frees_reads(), found) {
            // Where reads may be free, no writer is needed for sure.
            (true, _) => must.clone(),
            (false, Some(found)) => extended(trace, must, found),
            (false, None) => Search::new(trace, &writers, sections).closure(must).0,
        };
        let guarded = VariableLocks::guarded(trace, &writers, sections, must);
        let guarded = (!guarded.changes().is_empty()).then(|| LockContexts::with(trace, sections, guarded));
        Needs {
            trace,
            must,
            sections,
            semaphores,
            needed: Cow::Owned(needed),
            writers,
            guarded,
        }
    }

    /// What a race needs whatever reads see: must-happen-before, on weaker grounds perhaps, locks and semaphores alone;
    /// of these, only some posts and waits, perhaps.
    #[must_use]
    pub fn without_reads<'m>(&self, must: &'m MustHappenBefore, semaphores: Option<&Arc<Semaphores>>) -> Needs<'m>
    where
        't: 'm,
    {
        Needs {
            trace: self.trace,
            must,
            sections: self.sections,
            semaphores: Arc::clone(semaphores.unwrap_or(&self.semaphores)),
            needed: Cow::Borrowed(must),
            writers: Arc::default(),
            guarded: None,
        }
    }

    /// The relation itself: a is needed before b if every prefix that holds b holds a before it.
    #[must_use]
    #[inline]
    pub fn relation(&self) -> &MustHappenBefore {
        &self.needed
    }

    /// Must-happen-before, which it extends.
    #[must_use]
    pub fn must(&self) -> &'t MustHappenBefore {
        self.must
    }

    /// The writes that it was computed from.
    #[must_use]
    pub fn writers(&self) -> &Writers {
        &self.writers
    }

    /// How many events of `thread` are in every prefix that brings `event` next.
    #[must_use]
    #[inline]
    pub fn before_pending(&self, event: EventId, thread: ThreadId) -> u32 {
        let must = match self.must.clocks().before_at(event, thread) {
            // What precedes the event before it is among what that one needs.
            None if self.trace.is_access(event) => 0,
            _ => self.must.count_to_pending(self.trace, event, thread),
        };
        let needed = self.needed.clocks().before_last(event, thread);
        must.max(needed)
    }

    /// Raises each thread's count to that of its events that are in every prefix which brings `event` next.
    pub fn raise_to_pending(&self, counts: &mut [u32], event: EventId) {
        self.must.raise_to_pending(self.trace, counts, event);
        if let Some(last) = self.trace.predecessor(event) {
            self.needed.raise(counts, last);
        }
    }

    /// Where the threads of two events, at which they hold a variable that was a lock in this run, have taken it.
    #[must_use]
    pub fn both_hold(&self, a: EventId, b: EventId) -> Option<(EventId, EventId)> {
        self.guarded.as_ref()?.both_hold(self.trace, a, b)
    }

    /// Whether what an ending needs includes what is to be next in it, so that there is no such prefix.
    #[must_use]
    pub fn exclude<'e>(&self, ending: impl Into<Ending<'e>>) -> bool {
        let ending = ending.into();
        if ending
            .in_order()
            .any(|(first, second)| self.needed.before(second, first))
        {
            return true;
        }
        let Ending { performed, pending, .. } = ending;
        if let Some(guarded) = &self.guarded
            && (1..pending.len()).any(|at| {
                let at_once = |&other: &EventId| guarded.both_hold(self.trace, pending[at], other).is_some();
                pending[..at].iter().any(at_once)
            })
        {
            return true;
        }
        let mut cut = vec![0; self.trace.threads()];
        for &event in performed {
            let own = &mut cut[self.trace.thread(event).index()];
            *own = (*own).max(self.trace.place(event) + 1);
        }
        for &event in pending {
            self.must.raise_to_pending(self.trace, &mut cut, event);
        }
        let held: Vec<SectionId> = pending.iter().flat_map(|&event| self.open_at(event)).collect();
        let likely = pending.first().map_or(ThreadId(0), |&event| self.trace.thread(event));
        let last_in = |thread, count: u32| self.trace.program_order(thread).at(count as usize - 1);
        let mut closed = vec![0; cut.len()];
        loop {
            self.needed.clocks().close(&mut cut, &mut closed, likely, last_in);
            let reached = |event: EventId| cut[self.trace.thread(event).index()] > self.trace.place(event);
            if ending.spared().any(reached) {
                return true;
            }
            match self.close_others(&held, &mut cut) {
                None => return true,
                Some(true) => continue,
                Some(false) => {}
            }
            match self.semaphores.complete(&mut cut, |thread| self.end(ending, thread)) {
                None => return true,
                Some(true) => {}
                Some(false) => return false,
            }
        }
    }

    /// The first event of a thread that is in no prefix with this ending, as a place in the thread: one that the ending
    /// spares, or one that needs such a one.
    #[must_use]
    pub fn end(&self, ending: Ending<'_>, thread: ThreadId) -> u32 {
        let of = |event: EventId| match self.trace.thread(event) == thread {
            true => self.trace.place(event),
            false => self.needed.first_after(self.trace, event, thread),
        };
        let all = self.trace.program_order(thread).len() as u32;
        ending.spared().map(of).min().unwrap_or(all)
    }

    /// The sections that the thread of `event` is in when `event` is next.
    fn open_at(&self, event: EventId) -> Excerpt<'_, SectionId> {
        self.sections
            .open_after(self.trace.thread(event), self.trace.place(event))
    }

    /// Closes the sections open after the cut that exclude one that is open at the race. Returns whether the
    /// cut has grown; `None` if one of them is never closed.
    fn close_others(&self, held: &[SectionId], cut: &mut [u32]) -> Option<bool> {
        if held.is_empty() {
            return Some(false);
        }
        let mut grown = false;
        for (thread, end) in cut.iter_mut().enumerate() {
            let open = self.sections.open_after(ThreadId(thread as u32), *end);
            for other in open.map(|id| self.sections.get(id)) {
                if held.iter().any(|&id| self.sections.get(id).excludes(other)) {
                    let release = other.release?;
                    *end = (*end).max(self.trace.place(release) + 1);
                    grown = true;
                }
            }
        }
        Some(grown)
    }
}

/// Must-happen-before with edges that are known.
fn extended(trace: &Trace, must: &MustHappenBefore, found: &[Edge]) -> MustHappenBefore {
    must.clone().extended(trace, found.to_vec(), [], &mut |_, _, _| {})
}

/// The search for reads that one write alone can explain.
struct Search<'t> {
    trace: &'t Trace,
    writers: &'t Writers,
    sections: &'t Sections,
    /// By cell and thread, its writes in program order: of cells for which they were needed.
    by_thread: HashMap<CellId, BTreeMap<ThreadId, Vec<EventId>>>,
    /// Reads that several writes may explain, as far as is known.
    open: Vec<(EventId, CellId)>,
    /// Found in this round.
    edges: Vec<Edge>,
}

impl<'t> Search<'t> {
    fn new(trace: &'t Trace, writers: &'t Writers, sections: &'t Sections) -> Search<'t> {
        Search {
            trace,
            writers,
            sections,
            by_thread: HashMap::new(),
            open: Vec::new(),
            edges: Vec::new(),
        }
    }

    /// Must-happen-before with an edge from each unique writer, and how often the trace was walked over for it.
    fn closure(mut self, must: &MustHappenBefore) -> (MustHappenBefore, usize) {
        let (mut needed, mut walks) = (self.first_walk(must), 1);
        while self.round(&needed) {
            let edges = std::mem::take(&mut self.edges);
            if walks >= FEW_WALKS && edges.len() * EVENTS_OF_AN_EDGE < self.trace.len() {
                break;
            }
            walks += 1;
            // Most traces need two walks, and memory for two relations beside `must` would be the most that their
            // analysis ever holds.
            needed = match walks < FEW_WALKS {
                true => self.walk(needed, must, edges),
                false => self.walk(needed.clone(), &needed, edges),
            };
        }
        tracing::debug!(walks, open = self.open.len(), "unique writers");
        let words = Words::of(self.trace, self.writers, self.sections, &needed);
        for _ in 0..WALKS_FOR_WORDS {
            let edges = words::edges(self.trace, &words, &needed);
            tracing::debug!(edges = edges.len(), "words");
            // Each walk over the trace has to be for something.
            if edges.is_empty() || edges.len() * EVENTS_OF_AN_EDGE < self.trace.len() {
                break;
            }
            needed = needed.extended(self.trace, edges, [], &mut |_, _, _| {});
        }
        drop(words);
        if let Some(edges) = needed_by_all::edges(self.trace, self.writers, &needed, &self.open) {
            needed = needed.extended(self.trace, edges, [], &mut |_, _, _| {});
        }
        (needed, walks)
    }

    /// Looks at all reads that saw what another thread wrote, in one walk, so that most edges never come into being:
    /// where many reads see what one write left before, the first of them alone says something.
    fn first_walk(&mut self, must: &MustHappenBefore) -> MustHappenBefore {
        let trace = self.trace;
        let reads: RefCell<VecDeque<Seen>> = RefCell::default();
        const NOBODY: EventId = EventId(u32::MAX);
        let mut last = vec![NOBODY; trace.cells().len()];
        let asked = trace.contested().filter_map(|access| {
            let read = access.event;
            let mut is_asked = false;
            for number in access.cell_numbers() {
                let (cell, last) = (CellId(number as u32), &mut last[number]);
                // Only an edge of another thread, of which nothing is known yet, says something.
                let write = *last;
                if access.kind.reads()
                    && write != NOBODY
                    && must.clocks().is_news(write, read)
                    && !trace.cell(cell).external()
                {
                    let seen = trace.uses(access).find(|used| used.cell == cell);
                    let value = seen.map_or(0, |used| used.read);
                    reads.borrow_mut().push_back(Seen {
                        read,
                        cell,
                        value,
                        write,
                    });
                    is_asked = true;
                }
                if access.kind.writes() {
                    *last = read;
                }
            }
            is_asked.then_some(read)
        });
        let mut asked = asked.peekable();
        if asked.peek().is_none() {
            return must.clone();
        }
        must.clone()
            .extended(trace, Vec::new(), asked, &mut |clocks, event, found| {
                let known = Known {
                    clocks,
                    until: event,
                    later: must,
                };
                let next = || {
                    let mut reads = reads.borrow_mut();
                    let is_here = reads.front().is_some_and(|seen| seen.read == event);
                    is_here.then(|| reads.pop_front()).flatten()
                };
                for seen in std::iter::from_fn(next) {
                    let Seen { cell, value, write, .. } = seen;
                    if !clocks.is_news_to_last(write, event) {
                        continue;
                    }
                    // What it saw in π was left by this write.
                    let initial = trace.initial(cell) == Some(value);
                    found.extend(match self.writers.is_only(write) && !initial {
                        true => Some(write),
                        false => self.look(&known, event, cell, value),
                    });
                }
            })
    }

    /// Extends a relation by edges, and by those that follow from them for later reads: of two threads that hand
    /// something to and fro, each edge follows from the one before, and round by round the trace would be walked over
    /// as often as they do. What is known of events behind the one at hand is what `later` says.
    fn walk(&mut self, needed: MustHappenBefore, later: &MustHappenBefore, edges: Vec<Edge>) -> MustHappenBefore {
        let mut open = std::mem::take(&mut self.open);
        open.sort_unstable();
        let asked: Vec<EventId> = open.iter().map(|&(read, _)| read).collect();
        let mut open = open.into_iter().peekable();
        needed.extended(self.trace, edges, asked, &mut |clocks, event, found| {
            while let Some((read, cell)) = open.next_if(|&(read, _)| read == event) {
                let known = Known {
                    clocks,
                    until: event,
                    later,
                };
                found.extend(self.writer_of(&known, read, cell));
            }
        })
    }

    /// Looks at the open reads, of which there are fewer the more is known to be needed before what.
    /// Returns whether an edge was found.
    fn round(&mut self, needed: &MustHappenBefore) -> bool {
        for (read, cell) in std::mem::take(&mut self.open) {
            let edge = self.writer_of(&Known::all(needed), read, cell);
            self.edges.extend(edge.map(|from| Edge { to: read, from }));
        }
        !self.edges.is_empty()
    }

    /// As [`look`](Self::look), for a read that was open.
    fn writer_of(&mut self, needed: &Known<'_>, read: EventId, cell: CellId) -> Option<EventId> {
        let writes = self.writers.writes(cell);
        let last = writes[..writes.partition_point(|&write| write < read)].last();
        if !needed.clocks.is_news(*last?, read) {
            return None;
        }
        let value = self.trace.cell_use(read, cell).map_or(0, |used| used.read);
        self.look(needed, read, cell, value)
    }

    /// The only write that can explain a read, if that is of another thread; a read that several may explain stays
    /// open.
    fn look(&mut self, needed: &Known<'_>, read: EventId, cell: CellId, value: u64) -> Option<EventId> {
        let trace = self.trace;
        let fitting = self.writers.writes_of(trace, cell, value);
        if fitting.is_empty() {
            return None;
        }
        let initial = trace.initial(cell) == Some(value);
        let unique = if let ([only], false) = (fitting, initial) {
            Some(*only).filter(|&write| write != read)
        } else if two_are_concurrent(needed, read, fitting) {
            None
        } else {
            // Per thread, from the last write that is needed before the read to the first that needs it.
            let mut possible: Vec<EventId> = Vec::new();
            let mut last_before: Vec<EventId> = Vec::new();
            let by_thread = self.by_thread.entry(cell).or_insert_with(|| {
                let mut by_thread: BTreeMap<ThreadId, Vec<EventId>> = BTreeMap::new();
                for &write in self.writers.writes(cell) {
                    by_thread.entry(trace.thread(write)).or_default().push(write);
                }
                by_thread
            });
            for all in by_thread.values() {
                let before = all.partition_point(|&write| needed.before(write, read));
                let until = all.partition_point(|&write| !needed.before(read, write));
                let from = before.saturating_sub(1);
                if before > 0 {
                    last_before.push(all[from]);
                }
                if possible.len() + until.saturating_sub(from) > MAX_POSSIBLE {
                    self.open.push((read, cell));
                    return None;
                }
                possible.extend(&all[from..until.max(from)]);
            }
            let overshadowed = |write: EventId| last_before.iter().any(|&last| needed.before(write, last));
            let mut left = possible
                .iter()
                .copied()
                .filter(|&write| trace.value_left(write, cell) == Some(value) && write != read && !overshadowed(write));
            match (left.next(), left.next()) {
                _ if initial && last_before.is_empty() => None,
                (Some(write), None) => Some(write),
                _ => None,
            }
        };
        let Some(write) = unique else {
            self.open.push((read, cell));
            return None;
        };
        (trace.thread(write) != trace.thread(read) && write < read).then_some(write)
    }
}

/// A read of a cell, and the write that left there what it saw in π.
struct Seen {
    read: EventId,
    cell: CellId,
    value: u64,
    write: EventId,
}

/// Whether nothing orders the read and two of the fitting writes: no other write comes between either and the read
/// then, so that both may explain it. Asked of those next to the read alone: where thousands of threads write the same,
/// that is known at once.
fn two_are_concurrent(needed: &Known<'_>, read: EventId, fitting: &[EventId]) -> bool {
    let at = fitting.partition_point(|&write| write < read);
    let near = &fitting[at.saturating_sub(NEAR)..fitting.len().min(at + NEAR)];
    let concurrent = |&&write: &&EventId| write != read && !needed.before(write, read) && !needed.before(read, write);
    near.iter().filter(concurrent).nth(1).is_some()
}

/// What is known to be needed before what, at some point of a walk over the trace.
struct Known<'k> {
    /// Of all events up to this one.
    clocks: &'k Clocks,
    until: EventId,
    /// Of later ones.
    later: &'k MustHappenBefore,
}

impl<'k> Known<'k> {
    fn all(needed: &'k MustHappenBefore) -> Known<'k> {
        Known {
            clocks: needed.clocks(),
            until: EventId(u32::MAX),
            later: needed,
        }
    }

    fn before(&self, a: EventId, b: EventId) -> bool {
        match b <= self.until {
            true => self.clocks.before(a, b),
            false => self.later.before(a, b),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::{Event, MemRange, ObjectId, ObjectInfo, ObjectKind, Op, StackId, Tables};

    const LOCK: ObjectId = ObjectId(0);
    const SEMAPHORE: ObjectId = ObjectId(1);
    const SHARED: Op = Op::AcquireShared {
        lock: LOCK,
        attempt: false,
    };
    const ALONE: Op = Op::Acquire {
        lock: LOCK,
        attempt: false,
    };
    const RELEASE: Op = Op::Release { lock: LOCK };

    fn cell(number: u64) -> MemRange {
        MemRange {
            addr: 0x100 * number,
            size: 4,
        }
    }

    fn write(number: u64, value: u64) -> Op {
        let mem = cell(number);
        Op::Write { mem, value }
    }

    fn read(number: u64, value: u64) -> Op {
        let mem = cell(number);
        Op::Read { mem, value }
    }

    fn trace(events: &[(u32, Op)]) -> Trace {
        let object = |kind| ObjectInfo {
            kind,
            addr: 0,
            name: None,
            initial: 0,
        };
        let tables = Tables {
            objects: vec![object(ObjectKind::RwLock), object(ObjectKind::Semaphore)],
            ..Tables::default()
        };
        let event = |&(thread, op): &(u32, Op)| Event {
            thread: ThreadId(thread),
            pc: 1,
            stack: StackId::EMPTY,
            op,
        };
        Trace::from_events(tables, &events.iter().map(event).collect::<Vec<_>>())
    }

    /// Whether what the events of these numbers need excludes that both are next.
    fn exclude(events: &[(u32, Op)], a: u32, b: u32) -> bool {
        let trace = trace(events);
        let (must, sections) = (MustHappenBefore::of(&trace), Sections::of(&trace));
        Needs::of(&trace, &must, &sections).exclude(&[EventId(a), EventId(b)])
    }

    #[test]
    fn a_section_of_another_has_to_be_closed_unless_both_are_readers() {
        // Thread 1 is in its section, or has left it; the race in it is with an access in one of thread 0.
        let race = |first, second| {
            [
                (0, first),
                (0, write(1, 1)),
                (0, RELEASE),
                (1, second),
                (1, read(1, 1)),
                (1, RELEASE),
            ]
        };
        assert!(!exclude(&race(SHARED, SHARED), 1, 4));
        for (first, second) in [(ALONE, SHARED), (SHARED, ALONE), (ALONE, ALONE)] {
            assert!(exclude(&race(first, second), 1, 4));
        }
    }

    #[test]
    fn a_chain_of_handovers_is_found_in_a_few_walks() {
        // Thread 0 writes 0 and 1 in turn, and goes on when thread 1 has said that it saw the number. That the k-th
        // read sees the k-th write follows from where the read before it got its value: two writes before that one left
        // the same.
        const ROUNDS: u64 = 40;
        let events: Vec<(u32, Op)> = (0..ROUNDS)
            .flat_map(|k| {
                [
                    (0, write(1, k % 2)),
                    (1, read(1, k % 2)),
                    (1, write(2, k)),
                    (0, read(2, k)),
                ]
            })
            .collect();
        let trace = trace(&events);
        let (must, writers) = (MustHappenBefore::of(&trace), Writers::of(&trace));
        let sections = Sections::of(&trace);
        let (needed, walks) = Search::new(&trace, &writers, &sections).closure(&must);
        let event = |k: u64, at: u64| EventId((4 * k + at) as u32);
        assert!((0..ROUNDS).all(|k| needed.before(event(k, 0), event(k, 1))));
        assert!(
            (0..ROUNDS - 1)
                .all(|k| !must.before(event(k, 0), event(k, 1)) && needed.before(event(k, 1), event(k + 1, 0)))
        );
        assert!(walks <= FEW_WALKS + 1, "{walks}");
    }

    #[test]
    fn the_only_write_of_a_value_is_needed_unless_the_value_was_there_before() {
        // Thread 1 accesses x after it has read y, which thread 0 writes after its own access of x.
        let only = [(0, write(1, 1)), (0, write(2, 7)), (1, read(2, 7)), (1, read(1, 1))];
        assert!(exclude(&only, 0, 3));
        let twice = [
            (0, read(2, 7)),
            (0, write(1, 1)),
            (0, write(2, 7)),
            (1, read(2, 7)),
            (1, read(1, 1)),
        ];
        assert!(!exclude(&twice, 1, 4), "y was 7 from the start");
    }

    /// Thread 0 posts after its access of x, thread 1 these times, after it has read y or not. Thread 4 accesses x when
    /// it has seen that two other threads each had a permit.
    fn two_waits(posts: usize, after_y: bool) -> Vec<(u32, Op)> {
        let post = Op::SemPost { semaphore: SEMAPHORE };
        let wait = Op::SemWait {
            semaphore: SEMAPHORE,
            attempt: false,
        };
        let mut events = vec![(0, write(1, 1))];
        match after_y {
            true => events.extend([(0, write(9, 7)), (5, post), (1, read(9, 7))]),
            false => events.push((0, post)),
        }
        events.extend(std::iter::repeat_n((1, post), posts));
        for thread in [2, 3] {
            events.extend([(thread, wait), (thread, write(thread.into(), 1))]);
        }
        events.extend([2, 3].map(|thread| (4, read(thread, 1))));
        events.push((4, read(1, 1)));
        events
    }

    #[test]
    fn waits_of_several_threads_need_as_many_posts() {
        let last = |events: &[(u32, Op)]| events.len() as u32 - 1;
        let events = two_waits(1, false);
        assert!(
            exclude(&events, 0, last(&events)),
            "the two waits need the post after the first access"
        );
        let events = two_waits(2, false);
        assert!(!exclude(&events, 0, last(&events)), "two other posts suffice");
    }

    #[test]
    fn a_post_that_waits_cannot_do_without_has_needs_of_its_own() {
        let mut events = two_waits(1, true);
        let last = events.len() as u32 - 1;
        assert!(exclude(&events, 0, last));
        events.insert(1, (5, Op::SemPost { semaphore: SEMAPHORE }));
        assert!(!exclude(&events, 0, last + 1), "another post comes without it");
    }
}
