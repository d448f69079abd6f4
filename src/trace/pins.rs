//! Which accesses are pinned, and where.
//!
//! Every walk over a trace asks this of every access, and real programs have millions of them of which thousands are
//! pinned. So most are answered by one bit, in the order in which the walks go.

use super::{EventId, Marks};
use columns::Column;

/// The place that a pinned access keeps among the events of other threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pin {
    /// Every event before this one must have happened.
    pub from: EventId,
    /// No event after this one may have happened.
    pub until: EventId,
}

impl Pin {
    /// The place of an access of two cells, each of which has it here or there.
    fn meet(self, other: Pin) -> Pin {
        Pin {
            from: self.from.max(other.from),
            until: self.until.min(other.until),
        }
    }
}

/// The pins of a trace's events.
#[derive(Clone, Debug, Default)]
pub(super) struct Pins {
    pinned: Marks,
    /// Those of the marked events.
    from: Column<EventId>,
    until: Column<EventId>,
}

impl Pins {
    /// Those found, in the order of π. An event may have several.
    pub(super) fn of(found: impl Iterator<Item = (EventId, Pin)>) -> Pins {
        let mut all = Pins::default();
        let mut found = found.peekable();
        while let Some((event, mut pin)) = found.next() {
            while let Some((_, other)) = found.next_if(|&(other, _)| other == event) {
                pin = pin.meet(other);
            }
            all.pinned.skip_to(event.0);
            all.pinned.push(true);
            all.from.push(pin.from);
            all.until.push(pin.until);
        }
        all.from.end();
        all.until.end();
        all
    }

    /// The pinned events, in the order of π.
    pub(super) fn events(&self) -> impl Iterator<Item = EventId> + '_ {
        let next = |from: u32| self.pinned.next(from);
        std::iter::successors(next(0), move |&last| next(last + 1)).map(EventId)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.from.is_empty()
    }

    pub(super) fn get(&self, event: EventId) -> Option<Pin> {
        if self.is_empty() || !self.pinned.has(event.0) {
            return None;
        }
        let at = self.pinned.before(event.0) as usize;
        Some(Pin {
            from: self.from.at(at),
            until: self.until.at(at),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_of_several_cells_keeps_the_narrowest_place() {
        let pin = |from, until| Pin {
            from: EventId(from),
            until: EventId(until),
        };
        let found = vec![
            (EventId(5), pin(1, 9)),
            (EventId(70), pin(3, 90)),
            (EventId(70), pin(8, 99)),
            (EventId(70), pin(2, 80)),
        ];
        let pins = Pins::of(found.into_iter());
        let known: Vec<_> = (0..100)
            .filter_map(|event| Some((event, pins.get(EventId(event))?)))
            .collect();
        assert_eq!(known, [(5, pin(1, 9)), (70, pin(8, 80))]);
        assert!(!pins.is_empty());
    }

    #[test]
    fn a_trace_without_pins_has_none() {
        let pins = Pins::of(std::iter::empty());
        assert!(pins.is_empty());
        assert_eq!(pins.get(EventId(99)), None);
    }
}
