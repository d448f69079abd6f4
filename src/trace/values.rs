//! Values of 64 bits in columns.

use columns::Column;
use std::ops::Range;

/// Values of 64 bits, by their halves: the higher ones are mostly alike.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    low: Column,
    high: Column,
}

impl Values {
    pub(super) fn push(&mut self, value: u64) {
        self.low.push(value as u32);
        self.high.push((value >> u32::BITS) as u32);
    }

    pub(super) fn len(&self) -> usize {
        self.low.len()
    }

    pub(super) fn end(&mut self) {
        self.low.end();
        self.high.end();
    }

    #[inline]
    pub(super) fn at(&self, place: usize) -> u64 {
        u64::from(self.high.at(place)) << u32::BITS | u64::from(self.low.at(place))
    }

    /// The first of some places, whose values ascend, from which on they are not less than this; the end, if all are.
    pub(super) fn first_from(&self, places: Range<usize>, value: u64) -> usize {
        let (mut low, mut high) = (places.start, places.end);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.at(middle) < value {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }
}

impl FromIterator<u64> for Values {
    fn from_iter<I: IntoIterator<Item = u64>>(all: I) -> Values {
        let mut values = Values::default();
        all.into_iter().for_each(|value| values.push(value));
        values.end();
        values
    }
}
