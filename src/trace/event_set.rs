//! Sets of events, in one bit each: walks that have to do with few events pass the others 64 at a time.

use super::EventId;

/// A set of a trace's events.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventSet {
    words: Vec<u64>,
}

impl EventSet {
    /// None of so many events.
    pub(crate) fn none_of(events: usize) -> EventSet {
        EventSet {
            words: vec![0; events.div_ceil(u64::BITS as usize)],
        }
    }

    /// Goes on by an event: the next one.
    #[inline]
    pub(crate) fn push(&mut self, event: EventId, is_in: bool) {
        if event.0.is_multiple_of(u64::BITS) {
            self.words.push(0);
        }
        if let Some(last) = self.words.last_mut() {
            *last |= u64::from(is_in) << (event.0 % u64::BITS);
        }
    }

    #[inline]
    pub(crate) fn insert(&mut self, event: EventId) {
        self.words[event.index() / u64::BITS as usize] |= 1 << (event.0 % u64::BITS);
    }

    #[inline]
    pub(crate) fn has(&self, event: EventId) -> bool {
        self.words[event.index() / u64::BITS as usize] >> (event.0 % u64::BITS) & 1 != 0
    }

    /// Its events, in the order of π.
    pub(crate) fn events(&self) -> impl Iterator<Item = EventId> + Clone + '_ {
        events_of(self.words.iter().copied())
    }

    /// The events that are in this set or in another one of the same trace, in the order of π.
    pub(crate) fn or<'a>(&'a self, other: &'a EventSet) -> impl Iterator<Item = EventId> + Clone + 'a {
        events_of(self.words.iter().zip(&other.words).map(|(one, other)| one | other))
    }
}

fn events_of(words: impl Iterator<Item = u64> + Clone) -> impl Iterator<Item = EventId> + Clone {
    Events {
        words,
        next: 0,
        left: 0,
    }
}

/// The events of some words, one after the other.
#[derive(Clone)]
struct Events<W> {
    words: W,
    /// The first event of the next word.
    next: u32,
    /// What is left of the last one.
    left: u64,
}

impl<W: Iterator<Item = u64>> Iterator for Events<W> {
    type Item = EventId;

    #[inline]
    fn next(&mut self) -> Option<EventId> {
        while self.left == 0 {
            self.left = self.words.next()?;
            self.next = self.next.wrapping_add(u64::BITS);
        }
        let bit = self.left.trailing_zeros();
        self.left &= self.left - 1;
        Some(EventId(self.next.wrapping_sub(u64::BITS) + bit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_what_a_list_has() {
        let mut random = fastrand::Rng::with_seed(1);
        let lists = [3, 200].map(|one_of| (0..1000).map(|_| random.u32(0..one_of) == 0).collect::<Vec<bool>>());
        let of = |is_in: &dyn Fn(usize) -> bool| -> Vec<EventId> {
            (0..1000)
                .filter(|&event| is_in(event))
                .map(|event| EventId(event as u32))
                .collect()
        };
        let sets = lists.each_ref().map(|list| {
            let (mut pushed, mut inserted) = (EventSet::default(), EventSet::none_of(list.len()));
            for (event, &is_in) in (0..).map(EventId).zip(list) {
                pushed.push(event, is_in);
                if is_in {
                    inserted.insert(event);
                }
            }
            assert!((0..1000).all(|event| pushed.has(EventId(event)) == list[event as usize]));
            assert_eq!(pushed.words, inserted.words);
            pushed
        });
        for (set, list) in sets.iter().zip(&lists) {
            assert_eq!(set.events().collect::<Vec<_>>(), of(&|event| list[event]));
        }
        let both: Vec<EventId> = sets[0].or(&sets[1]).collect();
        assert_eq!(both, of(&|event| lists[0][event] || lists[1][event]));
    }
}
