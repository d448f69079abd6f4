//! Vector clocks: a relation between the events of threads, closed under program order.
//!
//! Thousands of threads that have little to do with each other would have clocks of thousands of entries, nearly all of
//! them alike. So a clock is a list of *chunks* of a few dozen entries, and clocks share the chunks that are equal
//! because one came of the other.

use super::Edge;
use crate::trace::{EventId, InThreads, Marks, ThreadId, Trace};
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// Entries of a chunk; with fewer threads, there is one chunk for all.
const WIDTH: usize = 64;

/// The chunk of a clock that has a thread's entry, and where. With fewer threads than a chunk has at most, it is the first
/// one, so that nothing is divided by how many these are.
#[inline]
fn in_chunk(thread: usize) -> (usize, usize) {
    (thread / WIDTH, thread % WIDTH)
}

/// The chunk of a clock that knows nothing of these threads.
const NOTHING: u32 = 0;

/// How many events of each thread precede each event.
///
/// Clocks change only where an edge comes in from another thread, so one row serves the whole stretch up to
/// the next such event.
#[derive(Clone, Debug)]
pub struct Clocks {
    stretches: Vec<Stretches>,
    chunks: Chunks,
    in_threads: InThreads,
}

/// The stretches of one thread.
#[derive(Clone, Debug, Default)]
struct Stretches {
    /// The events that begin one.
    begin: Marks,
    /// Clocks, as numbers of chunks: first those of the events before any mark, then of each stretch. The
    /// entry of the own thread is not kept up.
    rows: Vec<u32>,
}

/// The chunks of all clocks. Most are only a little further than the one that they came of, or than one before that: of
/// those there is only how far, in a byte an entry.
#[derive(Clone, Debug)]
struct Chunks {
    /// Entries of a chunk, and chunks of a clock.
    width: usize,
    of_clock: usize,
    /// The entries that some chunks began with.
    bases: Vec<u32>,
    /// By chunk: on which of these it rests, and how far its entries are beyond.
    base: Vec<u32>,
    beyond: Vec<u8>,
    /// Those that belong to the clock that is being made, and to no other: chunks from this one on, each with a base of its
    /// own, from that one on.
    fresh: u32,
    fresh_bases: u32,
    /// What each of these came of.
    came_of: Vec<u32>,
}

impl Clocks {
    /// Those of no event yet.
    pub(super) fn new(trace: &Trace) -> Clocks {
        let threads = trace.threads();
        let width = threads.clamp(1, WIDTH);
        let chunks = Chunks {
            width,
            of_clock: threads.div_ceil(width),
            bases: vec![0; width],
            base: vec![0],
            beyond: vec![0; width],
            fresh: 1,
            fresh_bases: 1,
            came_of: Vec::new(),
        };
        let none = Stretches {
            begin: Marks::default(),
            rows: vec![NOTHING; chunks.of_clock],
        };
        Clocks {
            stretches: vec![none; threads],
            chunks,
            in_threads: trace.in_threads(),
        }
    }

    /// Goes on to a later event of π, given its thread and place, and the edges that lead to it; none leads to those between.
    /// All that precedes `alike`, an event before which nothing of its own thread comes after the other one named, precedes
    /// it, too.
    pub(super) fn push<'e>(
        &mut self,
        (own, place): (ThreadId, u32),
        edges: impl Iterator<Item = &'e Edge>,
        alike: Option<(EventId, EventId)>,
    ) {
        let own = own.index();
        let mut edges = edges.peekable();
        if edges.peek().is_none() && alike.is_none() {
            // So it is of most events: the clock of the one before is theirs.
            let begin = &mut self.stretches[own].begin;
            begin.skip_to(place);
            begin.push(false);
            return;
        }
        let mut mine = std::mem::take(&mut self.stretches[own]);
        let chunks = &mut self.chunks;
        // A row of its own, once an edge brings something new.
        let before = mine.rows.len() - chunks.of_clock;
        let mut start = before;
        if let Some((alike, last)) = alike.filter(|(alike, _)| self.in_threads.thread(*alike).index() != own) {
            let (thread, place) = self.in_threads.of(alike);
            let thread = thread.index();
            mine.rows.extend_from_within(start..);
            start += chunks.of_clock;
            let row = &mut mine.rows[start..];
            chunks.join(row, self.stretches[thread].row(place, chunks.of_clock));
            chunks.raise(row, thread, self.in_threads.place(last) + 1);
        }
        for edge in edges {
            let (from_thread, from_place) = self.in_threads.of(edge.from);
            let from_thread = from_thread.index();
            if from_thread == own || chunks.entry(&mine.rows[start..], from_thread) > from_place {
                // Known already, and with it all that precedes it.
                continue;
            }
            if start == before {
                mine.rows.extend_from_within(start..);
                start += chunks.of_clock;
            }
            let row = &mut mine.rows[start..];
            chunks.join(row, self.stretches[from_thread].row(from_place, chunks.of_clock));
            chunks.raise(row, from_thread, from_place + 1);
        }
        chunks.settle();
        mine.begin.skip_to(place);
        mine.begin.push(start != before);
        self.stretches[own] = mine;
    }

    /// Whether `from`, an event of another thread, precedes the event that was pushed last for `thread`.
    pub(super) fn knows(&self, thread: ThreadId, from: EventId) -> bool {
        let (other, place) = self.in_threads.of(from);
        self.known(thread, other) > place
    }

    /// Whether `from` is an event of another thread than `to`, and does not precede the event that was pushed last for
    /// the thread of `to`.
    pub(super) fn is_news_to_last(&self, from: EventId, to: EventId) -> bool {
        let (thread, (other, place)) = (self.in_threads.thread(to), self.in_threads.of(from));
        other != thread && self.known(thread, other) <= place
    }

    /// How many events of another thread precede the event that was pushed last for `thread`.
    pub(super) fn known(&self, thread: ThreadId, other: ThreadId) -> u32 {
        let rows = &self.stretches[thread.index()].rows;
        self.chunks
            .entry(&rows[rows.len() - self.chunks.of_clock..], other.index())
    }

    /// Adds an edge from `from` to `event`, the event that was pushed last.
    pub(super) fn add(&mut self, event: EventId, from: EventId) {
        let own = self.in_threads.thread(event).index();
        let (thread, place) = self.in_threads.of(from);
        let thread = thread.index();
        let mut mine = std::mem::take(&mut self.stretches[own]);
        let chunks = &mut self.chunks;
        let mut start = mine.rows.len() - chunks.of_clock;
        if thread != own && chunks.entry(&mine.rows[start..], thread) <= place {
            if mine.begin.mark_last() {
                mine.rows.extend_from_within(start..);
                start += chunks.of_clock;
            }
            let row = &mut mine.rows[start..];
            chunks.join(row, self.stretches[thread].row(place, chunks.of_clock));
            chunks.raise(row, thread, place + 1);
            chunks.settle();
        }
        self.stretches[own] = mine;
    }

    /// How many events of `thread` precede `event`. In the event's own thread: its place.
    #[must_use]
    #[inline]
    pub fn count(&self, event: EventId, thread: ThreadId) -> u32 {
        let (own, place) = self.in_threads.of(event);
        if own == thread {
            return place;
        }
        let row = self.stretches[own.index()].row(place, self.chunks.of_clock);
        self.chunks.entry(row, thread.index())
    }

    /// How many events of `thread` precede `event`, if that is more than precede the event before it in its thread.
    #[inline]
    pub(super) fn before_at(&self, event: EventId, thread: ThreadId) -> Option<u32> {
        let (own, place) = self.in_threads.of(event);
        let begins = || self.stretches[own.index()].begin.has(place);
        (own == thread || place == 0 || begins()).then(|| self.count(event, thread))
    }

    /// How many events of `thread` precede the event before `event` in its thread, or are in that one's own thread; 0 if
    /// there is none.
    #[inline]
    pub(super) fn before_last(&self, event: EventId, thread: ThreadId) -> u32 {
        let (own, place) = self.in_threads.of(event);
        let Some(place) = place.checked_sub(1) else { return 0 };
        if own == thread {
            return place;
        }
        let row = self.stretches[own.index()].row(place, self.chunks.of_clock);
        self.chunks.entry(row, thread.index())
    }

    /// Raises each count to that of the threads' events that precede `event`, its own thread's included.
    pub fn raise(&self, counts: &mut [u32], event: EventId) {
        let (own, place) = self.in_threads.of(event);
        let own = own.index();
        let (mine, width) = (counts[own], self.chunks.width);
        for (counts, &chunk) in counts.chunks_mut(width).zip(self.row(event)) {
            if chunk != NOTHING {
                raise_to(counts, self.chunks.get(chunk));
            }
        }
        counts[own] = mine.max(place);
    }

    /// Adds to a cut, of so many events of each thread, all that precede them. The first `closed` events of a thread
    /// have none that is not in the cut already. Begins with the thread of `likely`: what precedes a late event
    /// includes what precedes others.
    pub fn close(
        &self,
        cut: &mut [u32],
        closed: &mut [u32],
        likely: ThreadId,
        last_in: impl Fn(ThreadId, u32) -> EventId,
    ) {
        let (mut thread, mut since_last) = (likely.index(), 0);
        while since_last < cut.len() {
            if closed[thread] < cut[thread] {
                let last = last_in(ThreadId(thread as u32), cut[thread]);
                let own = cut[thread];
                let width = self.chunks.width;
                let all = cut.chunks_mut(width).zip(closed.chunks_mut(width));
                for ((cut, closed), &chunk) in all.zip(self.row(last)).filter(|(_, chunk)| **chunk != NOTHING) {
                    let entries = self.chunks.get(chunk);
                    raise_to(cut, entries.clone());
                    // The relation is transitive.
                    raise_to(closed, entries);
                }
                // The entry of the own thread is not kept up.
                (cut[thread], closed[thread]) = (own, own);
                since_last = 0;
            }
            since_last += 1;
            thread = (thread + 1) % cut.len();
        }
    }

    #[inline]
    fn row(&self, event: EventId) -> &[u32] {
        let (thread, place) = self.in_threads.of(event);
        self.stretches[thread.index()].row(place, self.chunks.of_clock)
    }

    /// The thread of an event, and its place there.
    #[must_use]
    #[inline]
    pub fn place(&self, event: EventId) -> (ThreadId, u32) {
        self.in_threads.of(event)
    }

    /// Up to 64 places in threads, to be asked which of them precede an event, faster than of one after the other.
    #[must_use]
    pub fn places(&self, places: &[(ThreadId, u32)]) -> Places<'_> {
        let mut by_chunk: BTreeMap<usize, Vec<(usize, u32, u64)>> = BTreeMap::new();
        for (bit, &(thread, place)) in (0..u64::BITS).zip(places) {
            let (chunk, at) = in_chunk(thread.index());
            by_chunk.entry(chunk).or_default().push((at, place, 1 << bit));
        }
        let by_chunk = by_chunk.into_iter().map(|(chunk, places)| OfChunk {
            chunk,
            places,
            last: (NOTHING, 0),
        });
        Places {
            clocks: self,
            by_chunk: by_chunk.collect(),
            known: HashMap::new(),
        }
    }

    /// Whether `a` is an event of another thread than `b` and does not precede it.
    #[must_use]
    #[inline]
    pub fn is_news(&self, a: EventId, b: EventId) -> bool {
        let ((thread, place), (own, here)) = (self.in_threads.of(a), self.in_threads.of(b));
        let row = || self.stretches[own.index()].row(here, self.chunks.of_clock);
        thread != own && self.chunks.entry(row(), thread.index()) <= place
    }

    /// Whether `a` precedes `b`. False for an event and itself.
    #[must_use]
    #[inline]
    pub fn before(&self, a: EventId, b: EventId) -> bool {
        let ((thread, place), (own, here)) = (self.in_threads.of(a), self.in_threads.of(b));
        if thread == own {
            place < here
        } else {
            let row = self.stretches[own.index()].row(here, self.chunks.of_clock);
            self.chunks.entry(row, thread.index()) > place
        }
    }
}

fn raise_to(counts: &mut [u32], entries: impl Iterator<Item = u32>) {
    for (count, entry) in counts.iter_mut().zip(entries) {
        *count = (*count).max(entry);
    }
}

/// Places in threads, by bit.
#[derive(Clone, Debug)]
pub struct Places<'c> {
    clocks: &'c Clocks,
    by_chunk: Vec<OfChunk>,
    /// By the number of a chunk.
    known: HashMap<u32, u64>,
}

/// Those in the threads of one chunk: thread, place and bit.
#[derive(Clone, Debug)]
struct OfChunk {
    chunk: usize,
    places: Vec<(usize, u32, u64)>,
    /// What was asked last, and the answer.
    last: (u32, u64),
}

impl Places<'_> {
    /// Those that precede an event of a thread that has none of them.
    #[must_use]
    pub fn before(&mut self, event: EventId) -> u64 {
        let clocks = self.clocks;
        let row = clocks.row(event);
        let mut found = 0;
        for of_chunk in &mut self.by_chunk {
            let chunk = row[of_chunk.chunk];
            if chunk != of_chunk.last.0 {
                let before = || {
                    let is_before = |&&(at, place, _): &&(usize, u32, u64)| clocks.chunks.at(chunk, at) > place;
                    let before = of_chunk.places.iter().filter(is_before);
                    before.fold(0, |bits, &(.., bit)| bits | bit)
                };
                of_chunk.last = (chunk, *self.known.entry(chunk).or_insert_with(before));
            }
            found |= of_chunk.last.1;
        }
        found
    }
}

impl Chunks {
    /// The entries of a chunk.
    #[inline]
    fn get(&self, chunk: u32) -> impl Iterator<Item = u32> + Clone + '_ {
        let base = self.base[chunk as usize] as usize * self.width;
        let base = self.bases[base..][..self.width].iter();
        let beyond = self.beyond[chunk as usize * self.width..][..self.width].iter();
        base.zip(beyond).map(|(base, &beyond)| base + u32::from(beyond))
    }

    /// One of them.
    #[inline]
    fn at(&self, chunk: u32, place: usize) -> u32 {
        let base = self.base[chunk as usize] as usize * self.width;
        self.bases[base + place] + u32::from(self.beyond[chunk as usize * self.width + place])
    }

    #[inline]
    fn entry(&self, row: &[u32], thread: usize) -> u32 {
        let (chunk, at) = in_chunk(thread);
        self.at(row[chunk], at)
    }

    /// The chunk of a clock that is being made, to be changed.
    fn own(&mut self, chunk: &mut u32) -> &mut [u32] {
        if *chunk < self.fresh {
            let came_of = std::mem::replace(chunk, self.base.len() as u32);
            self.came_of.push(came_of);
            let (base, own) = (self.base[came_of as usize] as usize * self.width, self.bases.len());
            self.base.push((own / self.width) as u32);
            self.bases.extend_from_within(base..base + self.width);
            let beyond = &self.beyond[came_of as usize * self.width..][..self.width];
            for (entry, &beyond) in self.bases[own..].iter_mut().zip(beyond) {
                *entry += u32::from(beyond);
            }
            self.beyond.resize(self.beyond.len() + self.width, 0);
        }
        let base = self.base[*chunk as usize] as usize * self.width;
        &mut self.bases[base..][..self.width]
    }

    /// The clock that was being made is done: brings its own chunks to what they came of, where they are near to that.
    fn settle(&mut self) {
        let mut bases = self.fresh_bases;
        for (chunk, &came_of) in (self.fresh..).zip(&self.came_of) {
            let own = self.base[chunk as usize] as usize * self.width;
            let base = self.base[came_of as usize];
            let (before, after) = self.bases.split_at_mut(own);
            let entries = &mut after[..self.width];
            let base_entries = &before[base as usize * self.width..][..self.width];
            let beyond = entries.iter().zip(base_entries).map(|(entry, base)| entry - base);
            if beyond.fold(0, u32::max) <= u32::from(u8::MAX) {
                let beyond = &mut self.beyond[chunk as usize * self.width..][..self.width];
                for (beyond, (entry, base)) in beyond.iter_mut().zip(entries.iter().zip(base_entries)) {
                    *beyond = (entry - base) as u8;
                }
                self.base[chunk as usize] = base;
            } else {
                self.bases
                    .copy_within(own..own + self.width, bases as usize * self.width);
                self.base[chunk as usize] = bases;
                bases += 1;
            }
        }
        self.came_of.clear();
        self.bases.truncate(bases as usize * self.width);
        self.fresh_bases = bases;
        self.fresh = self.base.len() as u32;
    }

    /// Adds to a clock that is being made what another one has.
    fn join(&mut self, row: &mut [u32], theirs: &[u32]) {
        for (mine, &theirs) in row.iter_mut().zip(theirs) {
            if *mine == theirs || theirs == NOTHING {
                continue;
            }
            let pairs = || self.get(*mine).zip(self.get(theirs));
            if pairs().all(|(mine, theirs)| mine >= theirs) {
                continue;
            }
            if pairs().all(|(mine, theirs)| mine <= theirs) {
                *mine = theirs;
                continue;
            }
            self.own(mine);
            let own = self.base[*mine as usize] as usize * self.width;
            for at in 0..self.width {
                self.bases[own + at] = self.bases[own + at].max(self.at(theirs, at));
            }
        }
    }

    /// Raises an entry of a clock that is being made.
    fn raise(&mut self, row: &mut [u32], thread: usize, count: u32) {
        if self.entry(row, thread) < count {
            let (chunk, at) = in_chunk(thread);
            self.own(&mut row[chunk])[at] = count;
        }
    }
}

impl Stretches {
    #[inline]
    fn row(&self, place: u32, of_clock: usize) -> &[u32] {
        let number = self.begin.before(place + 1) as usize;
        &self.rows[number * of_clock..][..of_clock]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::{Event, Op, StackId, Tables};

    /// Threads go on by turns, some of them for a long time; some events are behind earlier ones of other threads.
    fn random(random: &mut fastrand::Rng, threads: u32, turns: usize) -> (Trace, Vec<Vec<Edge>>) {
        let mut events: Vec<Event> = Vec::new();
        let mut edges: Vec<Vec<Edge>> = Vec::new();
        for _ in 0..turns {
            let thread = ThreadId(random.u32(0..threads));
            let turn = if random.u32(0..16) == 0 { 600 } else { 4 };
            for _ in 0..random.usize(1..turn) {
                let to = EventId(events.len() as u32);
                let mut of_event = Vec::new();
                if random.u32(0..turn as u32) < 2 && to.0 > 0 {
                    // Mostly near, but for some that tell of long ago.
                    let back = if random.u32(0..8) == 0 { to.0 } else { to.0.min(200) };
                    let from = EventId(to.0 - random.u32(1..=back));
                    if events[from.index()].thread != thread {
                        of_event.push(Edge { from, to });
                    }
                }
                edges.push(of_event);
                events.push(Event {
                    thread,
                    pc: 1,
                    stack: StackId::EMPTY,
                    op: Op::Branch,
                });
            }
        }
        (Trace::from_events(Tables::default(), &events), edges)
    }

    #[test]
    fn clocks_count_what_precedes_however_far_apart_they_are() {
        let mut rng = fastrand::Rng::with_seed(1);
        let (mut near, mut far) = (0, 0);
        for threads in [2, 3, 10, 70, 200] {
            let (trace, edges) = random(&mut rng, threads, 400);
            let mut clocks = Clocks::new(&trace);
            let mut known: Vec<Vec<u32>> = Vec::new();
            for event in trace.events() {
                clocks.push(trace.in_threads().of(event), edges[event.index()].iter(), None);
                let own = trace.thread(event);
                let mut counts = trace
                    .predecessor(event)
                    .map_or_else(|| vec![0; trace.threads()], |before| known[before.index()].clone());
                counts[own.index()] = trace.place(event);
                for edge in &edges[event.index()] {
                    raise_to(&mut counts, known[edge.from.index()].iter().copied());
                    let from = &mut counts[trace.thread(edge.from).index()];
                    *from = (*from).max(trace.place(edge.from) + 1);
                    counts[own.index()] = trace.place(event);
                }
                known.push(counts);
            }
            for (event, counts) in trace.events().zip(&known) {
                for (thread, &count) in (0..).map(ThreadId).zip(counts) {
                    assert_eq!(clocks.count(event, thread), count, "{event:?} {thread:?} of {threads}");
                }
            }
            let bases = clocks.chunks.bases.len() / clocks.chunks.width;
            far += bases;
            near += clocks.chunks.base.len() - bases;
        }
        assert!(near > 500 && far > 100, "{near} {far}");
    }
}
