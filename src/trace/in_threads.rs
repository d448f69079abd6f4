//! Of each event its thread, and its place there: one beside the other, since who asks for the one asks for the other,
//! and not in the order of π.

use super::runs::{self, Runs};
use super::{EventId, ThreadId};
use std::ops::Range;
use std::sync::Arc;

/// A column of threads and places: by turns of threads. Copies share it: the relations between events need it as much as
/// the trace.
#[derive(Clone, Debug, Default)]
pub(crate) struct InThreads(Arc<Runs<Turn>>);

/// A thread, and how far, modulo 2³², its events' places are from their numbers, as long as no other thread has its turn.
type Turn = (ThreadId, u32);

/// The column while it is made.
#[derive(Default)]
pub(super) struct Builder {
    turns: Runs<Turn>,
    len: u32,
}

impl Builder {
    /// Goes on by one event.
    pub(super) fn push(&mut self, thread: ThreadId, place: u32) {
        self.turns.push((thread, place.wrapping_sub(self.len)));
        self.len += 1;
    }

    pub(super) fn finish(mut self) -> InThreads {
        self.turns.end();
        InThreads(Arc::new(self.turns))
    }
}

impl InThreads {
    /// The thread of an event.
    #[inline]
    pub(crate) fn thread(&self, event: EventId) -> ThreadId {
        self.of(event).0
    }

    /// The place of an event in its thread.
    #[inline]
    pub(crate) fn place(&self, event: EventId) -> u32 {
        self.of(event).1
    }

    /// The turns of the threads: stretches of the trace in which one thread alone has events.
    pub(crate) fn turns(&self) -> impl Iterator<Item = (ThreadId, Range<u32>)> + '_ {
        let turns = self.0.runs();
        turns.map(|((thread, _), events)| (thread, events.start as u32..events.end as u32))
    }

    /// For walks, mostly from one event to a later one in the same turn.
    pub(crate) fn walk(&self) -> Turns<'_> {
        Turns(self.0.cursor())
    }

    /// Both.
    #[inline]
    pub(crate) fn of(&self, event: EventId) -> (ThreadId, u32) {
        let (thread, before) = self.0.get(event.index());
        (thread, before.wrapping_add(event.0))
    }
}

/// Finds the turns of events.
#[derive(Clone, Debug)]
pub(crate) struct Turns<'t>(runs::Cursor<'t, Turn>);

impl Turns<'_> {
    /// The thread of an event, and since which event no other one has had any.
    #[inline]
    pub(crate) fn of(&mut self, event: EventId) -> (ThreadId, EventId) {
        let ((thread, _), since) = self.0.at(event.index());
        (thread, EventId(since as u32))
    }

    /// The thread of an event, and its place there.
    #[inline]
    pub(crate) fn place(&mut self, event: EventId) -> (ThreadId, u32) {
        let ((thread, before), _) = self.0.at(event.index());
        (thread, before.wrapping_add(event.0))
    }
}
