//! A set of a trace's events, in a bit each.

use trace_format::EventId;

/// Some of a trace's events.
#[derive(Debug, Default)]
pub(crate) struct Marked {
    words: Vec<u64>,
}

impl Marked {
    /// None, with room for so many.
    pub(crate) fn with_room_for(events: usize) -> Marked {
        Marked {
            words: Vec::with_capacity(events.div_ceil(u64::BITS as usize)),
        }
    }

    /// Goes on by an event, the next one of the trace.
    pub(crate) fn push(&mut self, event: EventId, is_in: bool) {
        if event.0.is_multiple_of(u64::BITS) {
            self.words.push(0);
        }
        if let Some(last) = self.words.last_mut() {
            *last |= u64::from(is_in) << (event.0 % u64::BITS);
        }
    }

    /// All of them, in order.
    pub(crate) fn all(&self) -> impl Iterator<Item = EventId> + '_ {
        (0..).zip(&self.words).flat_map(|(number, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros();
                left &= left.wrapping_sub(1);
                (bit < u64::BITS).then_some(EventId(number * u64::BITS + bit))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Marked;
    use trace_format::EventId;

    #[test]
    fn has_what_was_marked() {
        let is_in = |event: u32| event.wrapping_mul(2_654_435_761) >> 28 < 5 || (128..192).contains(&event);
        for events in [0, 1, 63, 64, 65, 500] {
            let mut marked = Marked::with_room_for(events as usize);
            (0..events).for_each(|event| marked.push(EventId(event), is_in(event)));
            let expected: Vec<EventId> = (0..events).filter(|&event| is_in(event)).map(EventId).collect();
            assert_eq!(marked.all().collect::<Vec<_>>(), expected);
        }
    }
}
