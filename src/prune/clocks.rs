//! Vector clocks: a relation between the events of threads, closed under program order.

use super::Edge;
use crate::trace::{EventId, Marks, ThreadId, Trace};
use std::sync::Arc;

/// How many events of each thread precede each event.
///
/// Clocks change only where an edge comes in from another thread, so one row serves the whole stretch up to
/// the next such event.
#[derive(Clone, Debug)]
pub struct Clocks {
    stretches: Vec<Stretches>,
    thread: Arc<Vec<ThreadId>>,
    place: Arc<Vec<u32>>,
}

/// The stretches of one thread.
#[derive(Clone, Debug, Default)]
struct Stretches {
    /// The events that begin one.
    begin: Marks,
    /// Clocks, an entry for each thread: first those of the events before any mark, then of each stretch. The
    /// entry of the own thread is not kept up.
    rows: Vec<u32>,
}

impl Clocks {
    /// Those of no event yet.
    pub(super) fn new(trace: &Trace) -> Clocks {
        let threads = trace.threads();
        let none = Stretches {
            begin: Marks::default(),
            rows: vec![0; threads],
        };
        Clocks {
            stretches: vec![none; threads],
            thread: trace.thread_column(),
            place: trace.place_column(),
        }
    }

    /// Goes on by the next event of π, given the edges that lead to it.
    pub(super) fn push<'e>(&mut self, event: EventId, edges: impl Iterator<Item = &'e Edge>) {
        let threads = self.stretches.len();
        let own = self.thread[event.index()].index();
        let mut mine = std::mem::take(&mut self.stretches[own]);
        // A row of its own, once an edge brings something new.
        let mut begins = false;
        let mut start = mine.rows.len() - threads;
        for edge in edges {
            let (from_thread, from_place) = (self.thread[edge.from.index()].index(), self.place[edge.from.index()]);
            if from_thread == own || mine.rows[start + from_thread] > from_place {
                // Known already, and with it all that precedes it.
                continue;
            }
            if !begins {
                mine.rows.extend_from_within(start..);
                start += threads;
                begins = true;
            }
            let row = &mut mine.rows[start..];
            let theirs = self.stretches[from_thread].row(from_place, threads);
            for (mine, &theirs) in row.iter_mut().zip(theirs) {
                *mine = (*mine).max(theirs);
            }
            row[from_thread] = row[from_thread].max(from_place + 1);
        }
        mine.begin.push(begins);
        self.stretches[own] = mine;
    }

    /// How many events of `thread` precede `event`. In the event's own thread: its place.
    #[must_use]
    pub fn count(&self, event: EventId, thread: ThreadId) -> u32 {
        let (own, place) = (self.thread[event.index()], self.place[event.index()]);
        if own == thread {
            return place;
        }
        self.stretches[own.index()].row(place, self.stretches.len())[thread.index()]
    }

    /// Whether `a` precedes `b`. False for an event and itself.
    #[must_use]
    pub fn before(&self, a: EventId, b: EventId) -> bool {
        let thread = self.thread[a.index()];
        if thread == self.thread[b.index()] {
            a < b
        } else {
            self.count(b, thread) > self.place[a.index()]
        }
    }
}

impl Stretches {
    fn row(&self, place: u32, threads: usize) -> &[u32] {
        let number = self.begin.before(place + 1) as usize;
        &self.rows[number * threads..][..threads]
    }
}
