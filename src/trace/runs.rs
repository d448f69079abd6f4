//! Columns in which neighbors are mostly alike.

use std::ops::Range;

/// A value for each event, in the order of π: of each run of equal ones, one is kept, and of each event, in a bit, whether
/// it begins one.
#[derive(Clone, Debug)]
pub(crate) struct Runs<T> {
    values: Vec<T>,
    blocks: Vec<Block>,
    len: usize,
}

/// As many events as a word has bits.
const BLOCK: usize = u64::BITS as usize;

#[derive(Clone, Copy, Debug)]
struct Block {
    /// Which events begin a run: the lower half, and the upper one.
    begins: [u32; 2],
    /// How many runs begin before it, less one, modulo 2³².
    before: u32,
}

impl Block {
    #[inline]
    fn begins(self) -> u64 {
        u64::from(self.begins[1]) << u32::BITS | u64::from(self.begins[0])
    }
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
        let place = self.len % BLOCK;
        if place == 0 {
            self.blocks.push(Block {
                begins: [0; 2],
                before: (self.values.len() as u32).wrapping_sub(1),
            });
        }
        if self.values.last() != Some(&value) {
            self.values.push(value);
            if let Some(block) = self.blocks.last_mut() {
                block.begins[place / u32::BITS as usize] |= 1 << (place % u32::BITS as usize);
            }
        }
        self.len += 1;
    }

    /// No event follows.
    pub(crate) fn end(&mut self) {
        self.values.shrink_to_fit();
        self.blocks.shrink_to_fit();
    }

    /// Each run: its value, and its events.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (T, Range<usize>)> + '_ {
        let starts = self.blocks.iter().enumerate().flat_map(|(number, block)| {
            let first = block.begins();
            let left = std::iter::successors(Some(first), |left| Some(left & left.wrapping_sub(1)));
            let left = left.take_while(|&left| left != 0);
            left.map(move |left| number * BLOCK + left.trailing_zeros() as usize)
        });
        let mut starts = starts.chain([self.len]).peekable();
        self.values
            .iter()
            .map_while(move |&value| Some((value, starts.next()?..*starts.peek()?)))
    }

    /// For whoever goes from event to event, mostly to a later one in the same run.
    pub(crate) fn cursor(&self) -> Cursor<'_, T> {
        Cursor {
            runs: self,
            events: 0..0,
            value: None,
        }
    }

    /// The value of an event.
    #[inline]
    pub(crate) fn get(&self, event: usize) -> T {
        let block = self.blocks[event / BLOCK];
        let begun = (block.begins() << (BLOCK - 1 - event % BLOCK)).count_ones();
        self.values[block.before.wrapping_add(begun) as usize]
    }
}

/// Finds the runs of events.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'r, T> {
    runs: &'r Runs<T>,
    /// Those of the run that was found last, and their value.
    events: Range<usize>,
    value: Option<T>,
}

impl<T: Copy + PartialEq> Cursor<'_, T> {
    /// The value of an event, and the first event of its run.
    #[inline]
    pub(crate) fn at(&mut self, event: usize) -> (T, usize) {
        match self.value {
            Some(value) if self.events.contains(&event) => (value, self.events.start),
            _ => self.go_to(event),
        }
    }

    fn go_to(&mut self, event: usize) -> (T, usize) {
        let Runs { blocks, len, .. } = self.runs;
        let (number, place) = (event / BLOCK, event % BLOCK);
        // The last begin up to the event, and the first behind it.
        let (mut at, mut bits) = (
            number,
            blocks[number].begins() << (BLOCK - 1 - place) >> (BLOCK - 1 - place),
        );
        while bits == 0 {
            at -= 1;
            bits = blocks[at].begins();
        }
        let begin = at * BLOCK + BLOCK - 1 - bits.leading_zeros() as usize;
        (at, bits) = (number, blocks[number].begins() & (u64::MAX - 1) << place);
        while bits == 0 && at + 1 < blocks.len() {
            at += 1;
            bits = blocks[at].begins();
        }
        let end = match bits {
            0 => *len,
            bits => at * BLOCK + bits.trailing_zeros() as usize,
        };
        let value = self.runs.get(event);
        (self.events, self.value) = (begin..end, Some(value));
        (value, begin)
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
            let mut cursor = runs.cursor();
            for step in [1, 7, 300, 1999] {
                for event in (0..all.len()).map(|at| at * step % all.len()) {
                    let same = all[..=event].iter().rev().take_while(|&&value| value == all[event]);
                    assert_eq!(cursor.at(event), (all[event], event + 1 - same.count()));
                }
            }
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
