//! Columns in which neighbors are mostly alike.

use std::ops::Range;

/// A value for each event, in the order of π: of each run of equal ones, one is kept, and where it is, in a byte for each
/// event.
#[derive(Clone, Debug)]
pub(crate) struct Runs<T> {
    values: Vec<T>,
    blocks: Vec<Block>,
    len: usize,
}

/// As many events as a byte can tell apart.
const BLOCK: usize = 1 << u8::BITS;

#[derive(Clone, Debug)]
struct Block {
    /// The place of the first event's value.
    first: u32,
    /// How far behind that each event's own is.
    behind: [u8; BLOCK],
}

impl<T> Default for Runs<T> {
    fn default() -> Runs<T> {
        Runs {
            values: Vec::new(),
            blocks: Vec::new(),
            len: 0,
        }
    }
}

impl<T: Copy + PartialEq> Runs<T> {
    /// Goes on by one event.
    #[inline]
    pub(crate) fn push(&mut self, value: T) {
        if self.values.last() != Some(&value) {
            self.values.push(value);
        }
        let (at, place) = (self.values.len() as u32 - 1, self.len % BLOCK);
        if place == 0 {
            let behind = [0; BLOCK];
            self.blocks.push(Block { first: at, behind });
        }
        if let Some(block) = self.blocks.last_mut() {
            block.behind[place] = (at - block.first) as u8;
        }
        self.len += 1;
    }

    /// Each run: its value, and its events.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (T, Range<usize>)> + '_ {
        let mut from = 0;
        std::iter::from_fn(move || {
            let number = |event: usize| {
                let block = &self.blocks[event / BLOCK];
                block.first + u32::from(block.behind[event % BLOCK])
            };
            let first = (from < self.len).then(|| number(from))?;
            let begin = from;
            while from < self.len {
                let block = &self.blocks[from / BLOCK];
                let until = (self.len - from / BLOCK * BLOCK).min(BLOCK);
                let place = from % BLOCK;
                let own = first.wrapping_sub(block.first) as u8;
                let same = if block.first > first {
                    0
                } else {
                    let rest = &block.behind[place..until];
                    rest.iter().position(|&behind| behind != own).unwrap_or(rest.len())
                };
                from += same;
                if place + same < until {
                    break;
                }
            }
            Some((self.values[first as usize], begin..from))
        })
    }

    /// The value of an event.
    #[inline]
    pub(crate) fn get(&self, event: usize) -> T {
        let block = &self.blocks[event / BLOCK];
        self.values[block.first as usize + usize::from(block.behind[event % BLOCK])]
    }
}

#[cfg(test)]
mod tests {
    use super::Runs;

    #[test]
    fn each_event_has_its_value() {
        let mut random = fastrand::Rng::with_seed(1);
        for stay in [0, 1, 50, 500] {
            let mut all: Vec<u8> = Vec::new();
            for _ in 0..2000 {
                let last = all.last().copied().filter(|_| random.u32(0..=stay) > 0);
                all.push(last.unwrap_or_else(|| random.u8(0..3)));
            }
            let mut runs = Runs::default();
            all.iter().for_each(|&value| runs.push(value));
            let found: Vec<u8> = (0..all.len()).map(|event| runs.get(event)).collect();
            assert_eq!(found, all);
            let mut again = Runs::default();
            for (value, events) in runs.runs() {
                assert_eq!(
                    events.end < all.len(),
                    all.get(events.end).is_some_and(|&next| next != value)
                );
                assert!(all[events.clone()].iter().all(|&other| other == value));
                events.for_each(|_| again.push(value));
            }
            let found: Vec<u8> = (0..all.len()).map(|event| again.get(event)).collect();
            assert_eq!((found, again.len), (all.clone(), all.len()));
            let changes = all.windows(2).filter(|pair| pair[0] != pair[1]).count();
            assert_eq!(runs.values.len(), changes + 1);
        }
    }
}
