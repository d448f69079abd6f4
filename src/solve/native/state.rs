//! A cut with edges: what a node of the search knows.

use super::Native;
use super::window::Window;
use crate::trace::{EventId, ThreadId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The contradiction that ends a branch of the search.
pub(super) struct Contradiction;

/// How many events of each thread are in the prefix, and what is known of their order.
#[derive(Clone)]
pub(super) struct State {
    pub(super) cut: Vec<u32>,
    /// Edges beyond program order and what is needed before, sorted by the event they lead to.
    edges: Vec<(EventId, EventId)>,
}

impl State {
    pub(super) fn new(cut: Vec<u32>) -> State {
        State { cut, edges: Vec::new() }
    }

    /// Adds an edge. Returns whether it is new.
    pub(super) fn order(&mut self, before: EventId, after: EventId) -> bool {
        match self.edges.binary_search(&(after, before)) {
            Ok(_) => false,
            Err(at) => {
                self.edges.insert(at, (after, before));
                true
            }
        }
    }

    /// The edges that lead to an event, given the place of the first of them, plus 1; 0 for none.
    fn sources(&self, event: EventId, first: u32) -> impl Iterator<Item = EventId> + '_ {
        let edges = match first {
            0 => &[],
            first => &self.edges[first as usize - 1..],
        };
        edges
            .iter()
            .take_while(move |&&(to, _)| to == event)
            .map(|&(_, from)| from)
    }
}

/// The events of a cut from the start of the window on, and which of them precede which.
///
/// An event that waits for no other thread's knows what the one before it in its thread did, so it shares that one's
/// row: time and memory go with the events and with the edges, not with events times threads.
pub(super) struct Clocks {
    threads: usize,
    /// Per thread, the place of its first event in the window.
    pub(super) first: Vec<u32>,
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
    /// The last of them in π.
    pub(super) last: EventId,
}

impl Clocks {
    /// `None` if that takes more than `most` events or counts.
    pub(super) fn of(
        window: &mut Window<'_, '_>,
        native: &Native<'_>,
        from: EventId,
        state: &State,
        most: usize,
    ) -> Result<Option<Clocks>, Contradiction> {
        let trace = native.trace;
        let threads = trace.threads();
        let ids = || (0..threads as u32).map(ThreadId);
        let first: Vec<u32> = ids()
            .map(|thread| trace.events_before(thread, from).min(state.cut[thread.index()]))
            .collect();
        let mut start = vec![0; threads];
        let mut total = 0;
        for thread in 0..threads {
            start[thread] = total;
            total += state.cut[thread] - first[thread];
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
            last: from,
            until: state.cut.clone(),
            first,
        };
        window.begin(&state.edges);
        let mut done = clocks.first.clone();
        // Threads whose next event waits for another event, by that event's thread.
        let mut waiting: Vec<Vec<ThreadId>> = vec![Vec::new(); threads];
        let mut ready: BinaryHeap<Reverse<EventId>> = BinaryHeap::new();
        let offer = |window: &mut Window<'_, '_>, thread: ThreadId, done: &[u32], waiting: &mut [Vec<ThreadId>]| {
            let place = done[thread.index()];
            if place >= state.cut[thread.index()] {
                return None;
            }
            let event = trace.program_order(thread)[place as usize];
            window.decode(event);
            let inside =
                |source: EventId| source >= from && trace.place(source) < state.cut[trace.thread(source).index()];
            let edges = state.sources(event, window.first_edge(event));
            let mut sources = window.incoming(event).iter().copied().chain(edges);
            let missing =
                sources.find(|&source| trace.place(source) >= done[trace.thread(source).index()] && inside(source));
            match missing {
                None => Some(event),
                Some(source) => {
                    waiting[trace.thread(source).index()].push(thread);
                    None
                }
            }
        };
        for thread in ids() {
            ready.extend(offer(window, thread, &done, &mut waiting).map(Reverse));
        }
        let mut turn = ready.pop();
        while let Some(Reverse(event)) = turn {
            let thread = trace.thread(event);
            clocks.fill(window, native, state, event);
            if clocks.counts.len() > most.max(threads) {
                return Ok(None);
            }
            clocks.order.push(event);
            clocks.last = clocks.last.max(event);
            done[thread.index()] += 1;
            let next = offer(window, thread, &done, &mut waiting);
            for waiter in std::mem::take(&mut waiting[thread.index()]) {
                ready.extend(offer(window, waiter, &done, &mut waiting).map(Reverse));
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

    fn fill(&mut self, window: &Window<'_, '_>, native: &Native<'_>, state: &State, event: EventId) {
        let trace = native.trace;
        let (thread, place) = (trace.thread(event).index(), trace.place(event));
        let here = self.at(thread, place);
        let before = if place > self.first[thread] {
            self.row[here - 1]
        } else {
            0
        };
        let mut mine = before;
        let edges = state.sources(event, window.first_edge(event));
        for source in window.incoming(event).iter().copied().chain(edges) {
            let (other, count) = (trace.thread(source).index(), trace.place(source));
            if other == thread || count >= self.until[other] || count < self.first[other] {
                continue;
            }
            if mine == before {
                mine = (self.counts.len() / self.threads) as u32;
                let from = before as usize * self.threads;
                self.counts.extend_from_within(from..from + self.threads);
            }
            let (mine, theirs) = (self.counts_of(mine), self.counts_of(self.row[self.at(other, count)]));
            for thread in 0..self.threads {
                self.counts[mine + thread] = self.counts[mine + thread].max(self.counts[theirs + thread]);
            }
            self.counts[mine + other] = self.counts[mine + other].max(count + 1);
        }
        self.row[here] = mine;
    }

    fn at(&self, thread: usize, place: u32) -> usize {
        (self.start[thread] + place - self.first[thread]) as usize
    }

    fn counts_of(&self, row: u32) -> usize {
        row as usize * self.threads
    }

    /// What it took to find them, in events and counts.
    pub(super) fn work(&self) -> usize {
        self.row.len() + self.counts.len()
    }

    /// Whether an event is among them.
    pub(super) fn has(&self, native: &Native<'_>, event: EventId) -> bool {
        let (thread, place) = (native.trace.thread(event).index(), native.trace.place(event));
        (self.first[thread]..self.until[thread]).contains(&place)
    }

    /// Of events of one thread from the window's first on, in program order, those that are among them.
    pub(super) fn among<'e>(&self, native: &Native<'_>, events: &'e [EventId]) -> &'e [EventId] {
        let until = |event: EventId| self.until[native.trace.thread(event).index()];
        &events[..events.partition_point(|&event| native.trace.place(event) < until(event))]
    }

    /// How many events of each other thread precede an event, if it is among them.
    pub(super) fn row(&self, native: &Native<'_>, event: EventId) -> Option<&[u32]> {
        let (thread, place) = (native.trace.thread(event).index(), native.trace.place(event));
        (self.first[thread]..self.until[thread]).contains(&place).then(|| {
            let start = self.counts_of(self.row[self.at(thread, place)]);
            &self.counts[start..start + self.threads]
        })
    }

    /// Whether one event of the window precedes another, by the edges known. Of an event that was
    /// taken in after these clocks were computed nothing is known yet.
    pub(super) fn before(&self, native: &Native<'_>, a: EventId, b: EventId) -> bool {
        let trace = native.trace;
        if !self.has(native, b) {
            return false;
        }
        let (thread, place) = (trace.thread(b).index(), trace.place(b));
        let (other, count) = (trace.thread(a).index(), trace.place(a));
        if other == thread {
            return count < place;
        }
        self.counts[self.counts_of(self.row[self.at(thread, place)]) + other] > count
    }
}
