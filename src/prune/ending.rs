//! What a prefix has to have performed, and what is then to be next.

use crate::trace::EventId;

/// How a prefix is to end, as far as that is a matter of how far each thread has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending<'e> {
    /// These events have happened.
    pub performed: &'e [EventId],
    /// These are next in their threads.
    pub pending: &'e [EventId],
}

impl Ending<'_> {
    /// All events that it names.
    pub fn events(&self) -> impl Iterator<Item = EventId> + '_ {
        self.performed.iter().chain(self.pending).copied()
    }
}

impl<'e> From<&'e [EventId]> for Ending<'e> {
    fn from(pending: &'e [EventId]) -> Ending<'e> {
        Ending {
            performed: &[],
            pending,
        }
    }
}

impl<'e, const N: usize> From<&'e [EventId; N]> for Ending<'e> {
    fn from(pending: &'e [EventId; N]) -> Ending<'e> {
        Ending::from(&pending[..])
    }
}
