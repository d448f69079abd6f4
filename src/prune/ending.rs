//! What a prefix has to have performed, and what is then to be next.

use crate::trace::EventId;

/// How a prefix is to end, as far as that is a matter of how far each thread has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending<'e> {
    /// These events have happened, in this order.
    pub performed: &'e [EventId],
    /// These are next in their threads.
    pub pending: &'e [EventId],
    /// These have not happened, whether they are next or not.
    pub awaited: &'e [EventId],
}

impl Ending<'_> {
    /// The pairs of events that have happened of which the first has to come first.
    pub fn in_order(&self) -> impl Iterator<Item = (EventId, EventId)> + '_ {
        self.performed.windows(2).map(|pair| (pair[0], pair[1]))
    }

    /// All events that it names.
    pub fn events(&self) -> impl Iterator<Item = EventId> + '_ {
        self.performed.iter().chain(self.pending).chain(self.awaited).copied()
    }

    /// All events that it excludes, with those behind them.
    pub fn spared(&self) -> impl Iterator<Item = EventId> + Clone + '_ {
        self.pending.iter().chain(self.awaited).copied()
    }
}

impl<'e> From<&'e [EventId]> for Ending<'e> {
    fn from(pending: &'e [EventId]) -> Ending<'e> {
        Ending {
            performed: &[],
            pending,
            awaited: &[],
        }
    }
}

impl<'e, const N: usize> From<&'e [EventId; N]> for Ending<'e> {
    fn from(pending: &'e [EventId; N]) -> Ending<'e> {
        Ending::from(&pending[..])
    }
}
