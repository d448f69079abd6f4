//! A cut with edges: what a node of the search knows.

use super::Native;
use super::window::Window;
use crate::trace::{EventId, ThreadId};
use hashbrown::HashSet;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Edges that lead to one event, at most, for most of those to which any does.
const MOSTLY: usize = 4;

/// The contradiction that ends a branch of the search.
pub(super) struct Contradiction;

/// How many events of each thread are in the prefix, and what is known of their order.
#[derive(Clone)]
pub(super) struct State {
    pub(super) cut: Vec<u32>,
    /// How many events of each thread are known to bring nothing more that is needed.
    pub(super) closed: Vec<u32>,
    /// Edges beyond program order and what is needed before, each with where it leads to first, sorted: those that the
    /// last order knew.
    edges: Vec<(EventId, EventId)>,
    /// Those that it did not know, which come to the others all at once: there may be a hundred thousand.
    added: HashSet<(EventId, EventId)>,
}

impl State {
    pub(super) fn new(cut: Vec<u32>, closed: Vec<u32>) -> State {
        State {
            cut,
            closed,
            edges: Vec::new(),
            added: HashSet::new(),
        }
    }

    /// Adds an edge. Returns whether it is new.
    pub(super) fn order(&mut self, before: EventId, after: EventId) -> bool {
        self.edges.binary_search(&(after, before)).is_err() && self.added.insert((after, before))
    }

    /// Brings those that were added to the others; returns them, sorted.
    fn settle(&mut self) -> Vec<(EventId, EventId)> {
        let mut added: Vec<(EventId, EventId)> = self.added.drain().collect();
        added.sort_unstable();
        if !added.is_empty() {
            let mut all = Vec::with_capacity(self.edges.len() + added.len());
            let mut known = self.edges.iter().copied().peekable();
            for &edge in &added {
                all.extend(std::iter::from_fn(|| known.next_if(|known| *known < edge)));
                all.push(edge);
            }
            all.extend(known);
            self.edges = all;
        }
        added
    }

    /// The edges that lead to an event, given the place of the first of them, plus 1; 0 for none.
    fn sources(&self, event: EventId, first: u32) -> &[(EventId, EventId)] {
        let edges = match first {
            0 => &[],
            first => &self.edges[first as usize - 1..],
        };
        // Mostly, there are one or two.
        let few = edges.iter().take(MOSTLY).position(|&(to, _)| to != event);
        let until = match edges.len() <= MOSTLY {
            true => few.unwrap_or(edges.len()),
            false => few.unwrap_or_else(|| edges.partition_point(|&(to, _)| to == event)),
        };
        &edges[..until]
    }
}

/// How far the making of an order has come in a thread.
#[derive(Clone, Copy)]
struct Head {
    /// The number of its next event, and the place of that.
    number: u32,
    place: u32,
    /// How many are done.
    done: u32,
}

impl Default for Head {
    fn default() -> Head {
        Head {
            number: 0,
            place: u32::MAX,
            done: 0,
        }
    }
}

/// The events of a cut that an order [looks at](super::joints), from the start of the window on, and which of them
/// precede which.
///
/// An event that waits for no other thread's knows what the one before it in its thread did, so it shares that one's
/// row: time and memory go with the events and with the edges, not with events times threads.
pub(super) struct Clocks {
    threads: usize,
    /// Per thread, the place of its first event in the window, and how many of those that are looked at come before.
    pub(super) first: Vec<u32>,
    outside: Vec<u32>,
    /// Per thread, the place behind its last one.
    until: Vec<u32>,
    /// Per thread, where its events begin in `row`.
    start: Vec<u32>,
    /// Per event, its row.
    row: Vec<u32>,
    /// Per row, how many events of each other thread precede the events that share it. The first row is that of those
    /// that nothing precedes.
    counts: Vec<u32>,
    /// The events in an order that respects all edges, as near to π as they allow.
    pub(super) order: Vec<EventId>,
    /// The number of each in the window.
    numbers: Vec<u32>,
    /// The last of them in π.
    pub(super) last: EventId,
}

impl Clocks {
    /// `None` if that takes more than `most` events or counts. `earlier`: those of the same window for what the state
    /// was before, with which these begin as far as nothing that was added since changes anything.
    pub(super) fn of(
        window: &mut Window<'_, '_>,
        native: &Native<'_>,
        from: EventId,
        state: &mut State,
        earlier: Option<&Clocks>,
        most: usize,
    ) -> Result<Option<Clocks>, Contradiction> {
        #[cfg(test)]
        let afresh = earlier.map(|_| Clocks::make(window, native, from, &mut state.clone(), None, most));
        let made = Clocks::make(window, native, from, state, earlier, most);
        #[cfg(test)]
        if let Some(afresh) = afresh {
            super::tests::must_be_same(&made, &afresh);
        }
        made
    }

    fn make(
        window: &mut Window<'_, '_>,
        native: &Native<'_>,
        from: EventId,
        state: &mut State,
        earlier: Option<&Clocks>,
        most: usize,
    ) -> Result<Option<Clocks>, Contradiction> {
        let trace = native.trace;
        let threads = trace.threads();
        let ids = || (0..threads as u32).map(ThreadId);
        let first: Vec<u32> = ids()
            .map(|thread| trace.events_before(thread, from).min(state.cut[thread.index()]))
            .collect();
        let outside: Vec<u32> = ids()
            .map(|thread| window.looked.before(thread, first[thread.index()]))
            .collect();
        let mut start = vec![0; threads];
        // Per thread, how many of its events are to be done.
        let mut events = vec![0; threads];
        let mut total = 0;
        for thread in ids() {
            start[thread.index()] = total;
            let within = window.looked.before(thread, state.cut[thread.index()]) - outside[thread.index()];
            events[thread.index()] = within;
            total += within;
        }
        if total as usize > most {
            return Ok(None);
        }
        let mut clocks = Clocks {
            threads,
            start,
            row: vec![0; total as usize],
            counts: vec![0; threads],
            order: Vec::with_capacity(total as usize),
            numbers: Vec::with_capacity(total as usize),
            last: from,
            until: state.cut.clone(),
            first,
            outside,
        };
        let added = state.settle();
        window.begin(&state.edges);
        let state = &*state;
        let done = match earlier {
            Some(earlier) => clocks.begin_as(earlier, window, state, &added, &events),
            None => vec![(0, 0); threads],
        };
        if clocks.counts.len() > most.max(threads) {
            return Ok(None);
        }
        let mut heads = Vec::with_capacity(threads);
        for (thread, (done, behind)) in ids().zip(done) {
            let mut head = Head::default();
            if done < events[thread.index()] {
                let first = clocks.first[thread.index()];
                head.number = window.decode_behind(thread, done, first.max(behind));
                head.place = window.event(head.number).1;
            }
            heads.push(Head { done, ..head });
        }
        // Threads whose next event waits for another event, by that event's thread.
        let mut waiting: Vec<Vec<ThreadId>> = vec![Vec::new(); threads];
        let mut ready: BinaryHeap<Reverse<(EventId, ThreadId)>> = BinaryHeap::new();
        // Per thread, how many of the events that its next one waits for are known to be done: some wait for thousands.
        let mut found = vec![0; threads];
        let mut offer = |window: &Window<'_, '_>, thread: ThreadId, heads: &[Head], waiting: &mut [Vec<ThreadId>]| {
            let Head { number, done, .. } = heads[thread.index()];
            if done >= events[thread.index()] {
                return None;
            }
            let (event, _) = window.event(number);
            let inside =
                |source: EventId| source >= from && trace.place(source) < state.cut[trace.thread(source).index()];
            let missing = |source: EventId| {
                let head = heads[trace.thread(source).index()];
                trace.place(source) >= head.place && inside(source)
            };
            let (incoming, edges) = (window.incoming(number), state.sources(event, window.first_edge(number)));
            let found = &mut found[thread.index()];
            while *found < incoming.len() + edges.len() {
                let source = match incoming.get(*found) {
                    Some(&source) => source,
                    None => edges[*found - incoming.len()].1,
                };
                if missing(source) {
                    waiting[trace.thread(source).index()].push(thread);
                    return None;
                }
                *found += 1;
            }
            *found = 0;
            Some((event, thread))
        };
        for thread in ids() {
            ready.extend(offer(window, thread, &heads, &mut waiting).map(Reverse));
        }
        let mut turn = ready.pop();
        while let Some(Reverse((event, thread))) = turn {
            let head = &mut heads[thread.index()];
            let number = head.number;
            clocks.fill(window, state, thread, (event, number), head.done);
            if clocks.counts.len() > most.max(threads) {
                return Ok(None);
            }
            clocks.order.push(event);
            clocks.numbers.push(number);
            clocks.last = clocks.last.max(event);
            head.done += 1;
            if head.done < events[thread.index()] {
                head.number = window.decode_behind(thread, head.done, head.place + 1);
                head.place = window.event(head.number).1;
            } else {
                head.place = u32::MAX;
            }
            let next = offer(window, thread, &heads, &mut waiting);
            for waiter in std::mem::take(&mut waiting[thread.index()]) {
                ready.extend(offer(window, waiter, &heads, &mut waiting).map(Reverse));
            }
            // Mostly, the same thread goes on.
            turn = match (next, ready.peek()) {
                (Some(next), Some(&Reverse(other))) if other < next => {
                    ready.push(Reverse(next));
                    ready.pop()
                }
                (Some(next), _) => Some(Reverse(next)),
                (None, _) => ready.pop(),
            };
        }
        if clocks.order.len() == total as usize {
            Ok(Some(clocks))
        } else {
            Err(Contradiction)
        }
    }

    /// All that an order says.
    #[cfg(test)]
    pub(super) fn said(&self) -> (&[EventId], &[u32], &[u32], &[u32], EventId) {
        (&self.order, &self.numbers, &self.row, &self.counts, self.last)
    }

    /// Begins like an earlier order, up to the first event that what was added since may concern: an event that a new
    /// edge leads to, or one behind which the first further event of a thread could come. `events`: how many there are
    /// of each thread. Returns how many of each are done, and the place behind the last of them.
    fn begin_as(
        &mut self,
        earlier: &Clocks,
        window: &mut Window<'_, '_>,
        state: &State,
        added: &[(EventId, EventId)],
        events: &[u32],
    ) -> Vec<(u32, u32)> {
        let trace = window.trace();
        let mut done = vec![(0, 0); self.threads];
        let is_new = |source: EventId| {
            let thread = trace.thread(source).index();
            (earlier.until[thread]..self.until[thread]).contains(&trace.place(source))
        };
        let concerned = state.edges.iter().filter(|&&(_, source)| is_new(source)).chain(added);
        let concerned: HashSet<u32> = concerned.map(|&(to, _)| window.decode(to)).collect();
        // Per thread with further events, how many the earlier order had of it, and the first further one.
        let mut further = vec![(u32::MAX, EventId(u32::MAX)); self.threads];
        let mut next_further = EventId(u32::MAX);
        for (thread, further) in (0..).map(ThreadId).zip(&mut further) {
            let (before, after) = (earlier.until[thread.index()], self.until[thread.index()]);
            if before == after {
                continue;
            }
            let known = earlier.events(window, thread);
            if known < events[thread.index()] {
                let place = before.max(self.first[thread.index()]);
                let number = window.decode_behind(thread, known, place);
                *further = (known, window.event(number).0);
                if known == 0 {
                    next_further = next_further.min(further.1);
                }
            }
        }
        let mut rows = 0;
        for (event, number) in earlier.numbered() {
            if event > next_further || (window.first_edge(number) != 0 && concerned.contains(&number)) {
                break;
            }
            let thread = trace.thread(event).index();
            let (count, behind) = &mut done[thread];
            let row = earlier.row[(earlier.start[thread] + *count) as usize];
            self.row[(self.start[thread] + *count) as usize] = row;
            rows = rows.max(row);
            *count += 1;
            *behind = window.event(number).1 + 1;
            let (known, first) = further[thread];
            if *count == known {
                next_further = next_further.min(first);
            }
            self.order.push(event);
            self.numbers.push(number);
            self.last = self.last.max(event);
        }
        // Rows are made in the order of the events.
        self.counts = earlier.counts[..(rows as usize + 1) * self.threads].to_vec();
        done
    }

    /// How many events of a thread there are.
    fn events(&self, window: &Window<'_, '_>, thread: ThreadId) -> u32 {
        window.looked.before(thread, self.until[thread.index()]) - self.outside[thread.index()]
    }

    /// Fills in what precedes an event, with its number in the window, behind so many others of its thread.
    fn fill(
        &mut self,
        window: &Window<'_, '_>,
        state: &State,
        thread: ThreadId,
        (event, number): (EventId, u32),
        behind: u32,
    ) {
        let (trace, thread) = (window.trace(), thread.index());
        let here = (self.start[thread] + behind) as usize;
        let before = if behind > 0 { self.row[here - 1] } else { 0 };
        let mut mine = before;
        let edges = state.sources(event, window.first_edge(number)).iter();
        let edges = edges.map(|&(_, from)| from);
        for source in window.incoming(number).iter().copied().chain(edges) {
            let (other, count) = (trace.thread(source).index(), trace.place(source));
            if other == thread || count >= self.until[other] || count < self.first[other] {
                continue;
            }
            if mine == before {
                mine = (self.counts.len() / self.threads) as u32;
                let from = before as usize * self.threads;
                self.counts.extend_from_within(from..from + self.threads);
            }
            let theirs = self.row[self.at(window, ThreadId(other as u32), count)];
            let (mine, theirs) = (self.counts_of(mine), self.counts_of(theirs));
            for thread in 0..self.threads {
                self.counts[mine + thread] = self.counts[mine + thread].max(self.counts[theirs + thread]);
            }
            self.counts[mine + other] = self.counts[mine + other].max(count + 1);
        }
        self.row[here] = mine;
    }

    /// Where an event that is looked at has its row.
    fn at(&self, window: &Window<'_, '_>, thread: ThreadId, place: u32) -> usize {
        let behind = window.looked.before(thread, place) - self.outside[thread.index()];
        (self.start[thread.index()] + behind) as usize
    }

    fn counts_of(&self, row: u32) -> usize {
        row as usize * self.threads
    }

    /// That order with all other events of the cut.
    pub(super) fn complete(&self, window: &Window<'_, '_>) -> Vec<EventId> {
        window
            .looked
            .complete(window.trace(), &self.first, &self.until, &self.order)
    }

    /// The events in that order, each with its number in the window.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (EventId, u32)> + '_ {
        self.order.iter().copied().zip(self.numbers.iter().copied())
    }

    /// What it took to find them, in events and counts.
    pub(super) fn work(&self) -> usize {
        self.row.len() + self.counts.len()
    }

    /// Whether an event, one that is looked at, is among them.
    pub(super) fn has(&self, window: &Window<'_, '_>, event: EventId) -> bool {
        let (thread, place) = (window.trace().thread(event).index(), window.trace().place(event));
        (self.first[thread]..self.until[thread]).contains(&place)
    }

    /// Of events of one thread from the window's first on, in program order, those that are among them.
    pub(super) fn among<'e>(&self, window: &Window<'_, '_>, events: &'e [EventId]) -> &'e [EventId] {
        let until = |event: EventId| self.until[window.trace().thread(event).index()];
        &events[..events.partition_point(|&event| window.trace().place(event) < until(event))]
    }

    /// How many events of each other thread precede an event, if it is among them.
    pub(super) fn row(&self, window: &Window<'_, '_>, event: EventId) -> Option<&[u32]> {
        let (thread, place) = (window.trace().thread(event), window.trace().place(event));
        let inside = self.first[thread.index()]..self.until[thread.index()];
        inside.contains(&place).then(|| {
            let start = self.counts_of(self.row[self.at(window, thread, place)]);
            &self.counts[start..start + self.threads]
        })
    }

    /// Whether one event of the window precedes another, by the edges known. Of an event that was
    /// taken in after these clocks were computed nothing is known yet.
    pub(super) fn before(&self, window: &Window<'_, '_>, a: EventId, b: EventId) -> bool {
        let trace = window.trace();
        if !self.has(window, b) {
            return false;
        }
        let (thread, place) = (trace.thread(b), trace.place(b));
        let (other, count) = (trace.thread(a), trace.place(a));
        if other == thread {
            return count < place;
        }
        self.counts[self.counts_of(self.row[self.at(window, thread, place)]) + other.index()] > count
    }
}
