//! Of each event its thread, and its place there: one beside the other, since who asks for the one asks for the other,
//! and not in the order of π.

use super::{EventId, ThreadId};
use std::sync::Arc;

/// A column of threads and places. Copies share it: the relations between events need it as much as the trace.
#[derive(Clone, Debug, Default)]
pub(crate) struct InThreads(Arc<Vec<(ThreadId, u32)>>);

impl InThreads {
    pub(super) fn with_capacity(events: usize) -> InThreads {
        InThreads(Arc::new(Vec::with_capacity(events)))
    }

    pub(super) fn push(&mut self, thread: ThreadId, place: u32) {
        Arc::make_mut(&mut self.0).push((thread, place));
    }

    /// The thread of an event.
    #[inline]
    pub(crate) fn thread(&self, event: EventId) -> ThreadId {
        self.0[event.index()].0
    }

    /// The place of an event in its thread.
    #[inline]
    pub(crate) fn place(&self, event: EventId) -> u32 {
        self.0[event.index()].1
    }

    /// Both.
    #[inline]
    pub(crate) fn of(&self, event: EventId) -> (ThreadId, u32) {
        self.0[event.index()]
    }

    /// The threads of all events, in the order of π.
    pub(super) fn threads(&self) -> impl Iterator<Item = ThreadId> + '_ {
        self.0.iter().map(|&(thread, _)| thread)
    }
}
