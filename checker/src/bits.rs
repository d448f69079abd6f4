//! Bits by number, 64 to a word: an eighth of what as many bytes take.

use std::ops::Range;

/// Numbers that are in or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    /// None of so many.
    pub(crate) fn none_of(count: usize) -> Bits {
        Bits(vec![0; count.div_ceil(u64::BITS as usize)])
    }

    /// Those of which that is so.
    #[cfg(test)]
    pub(crate) fn of(is_so: &[bool]) -> Bits {
        let words = is_so.chunks(u64::BITS as usize);
        let bits = |word: &[bool]| {
            (0..)
                .zip(word)
                .fold(0, |bits, (bit, &one)| bits | u64::from(one) << bit)
        };
        Bits(words.map(bits).collect())
    }

    pub(crate) fn set(&mut self, at: usize) {
        self.0[at / u64::BITS as usize] |= 1 << (at % u64::BITS as usize);
    }

    pub(crate) fn has(&self, at: usize) -> bool {
        self.0[at / u64::BITS as usize] >> (at % u64::BITS as usize) & 1 != 0
    }

    /// These are in, or none of them is.
    #[inline]
    pub(crate) fn put(&mut self, numbers: Range<usize>, are_in: bool) {
        let bits = u64::BITS as usize;
        let mut from = numbers.start;
        while from < numbers.end {
            let until = numbers.end.min((from / bits + 1) * bits);
            let some = u64::MAX >> (bits - (until - from)) << (from % bits);
            match are_in {
                true => self.0[from / bits] |= some,
                false => self.0[from / bits] &= !some,
            }
            from = until;
        }
    }

    /// Which are in of the 64 that this word is of.
    pub(crate) fn word(&self, number: usize) -> u64 {
        self.0[number]
    }

    /// Whether all of these are in, of which there are no more than a word has.
    #[inline]
    pub(crate) fn all_of(&self, numbers: Range<usize>) -> bool {
        let bits = u64::BITS as usize;
        let (word, first) = (numbers.start / bits, numbers.start % bits);
        let Some(missing) = bits.checked_sub(numbers.len()).filter(|&missing| missing < bits) else {
            return numbers.is_empty();
        };
        let mut some = self.0[word] >> first;
        if first > missing {
            some |= self.0[word + 1] << (bits - first);
        }
        !some << missing == 0
    }

    /// Whether any is in.
    pub(crate) fn any(&self) -> bool {
        self.0.iter().any(|&word| word != 0)
    }

    /// Whether any of these is in.
    pub(crate) fn any_of(&self, numbers: Range<usize>) -> bool {
        let bits = u64::BITS as usize;
        let mut from = numbers.start;
        while from < numbers.end {
            let until = numbers.end.min((from / bits + 1) * bits);
            let some = u64::MAX >> (bits - (until - from)) << (from % bits);
            if self.0[from / bits] & some != 0 {
                return true;
            }
            from = until;
        }
        false
    }
}

/// Numbers that are in or not, and a number of its own for each that is, from 0 on: for what is to be known of few
/// among many.
#[derive(Debug)]
pub(crate) struct Numbered<'b> {
    bits: &'b Bits,
    /// By word: how many are in before it.
    before: Vec<u32>,
    count: usize,
}

impl Numbered<'_> {
    pub(crate) fn of(bits: &Bits) -> Numbered<'_> {
        let mut count = 0;
        let before = bits.0.iter().map(|word| {
            let before = count;
            count += word.count_ones();
            before
        });
        let before = before.collect();
        Numbered {
            bits,
            before,
            count: count as usize,
        }
    }

    /// How many are in.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The number of one that is in; `None` of others.
    pub(crate) fn number(&self, at: usize) -> Option<usize> {
        let (word, bit) = (at / u64::BITS as usize, at % u64::BITS as usize);
        let bits = self.bits.0[word];
        let before = (bits & !(u64::MAX << bit)).count_ones();
        (bits >> bit & 1 != 0).then_some((self.before[word] + before) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::{Bits, Numbered};

    #[test]
    fn what_is_put_in_and_taken_out_is_known_together() {
        let (mut bits, mut all) = (Bits::none_of(300), [false; 300]);
        let mut number = 1_u64;
        let mut below = |bound: usize| {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (number >> 33) as usize % bound
        };
        for _ in 0..20_000 {
            let len = if below(10) == 0 { below(200) } else { below(9) };
            let first = below(301 - len);
            let are_in = below(3) > 0;
            bits.put(first..first + len, are_in);
            all[first..first + len].fill(are_in);
            let asked = below(65);
            let first = below(301 - asked);
            let expected = all[first..first + asked].iter().all(|&one| one);
            assert_eq!(bits.all_of(first..first + asked), expected);
        }
        assert_eq!(bits, Bits::of(&all));
        assert_eq!(bits.word(1), Bits::of(&all[64..128]).word(0));
    }

    #[test]
    fn has_what_is_so() {
        let is_so: Vec<bool> = (0_u32..300)
            .map(|at| at.wrapping_mul(2_654_435_761) >> 30 == 0)
            .collect();
        for count in [0, 1, 63, 64, 65, 300] {
            let is_so = &is_so[..count];
            let (all, mut one_by_one) = (Bits::of(is_so), Bits::none_of(count));
            (0..count).filter(|&at| is_so[at]).for_each(|at| one_by_one.set(at));
            assert!((0..count).all(|at| all.has(at) == is_so[at] && one_by_one.has(at) == is_so[at]));
        }
    }

    #[test]
    fn those_that_are_in_have_numbers() {
        let is_so: Vec<bool> = (0_u32..300)
            .map(|at| at.wrapping_mul(2_654_435_761) >> 30 == 0)
            .collect();
        for count in [0, 1, 64, 65, 300] {
            let bits = Bits::of(&is_so[..count]);
            let numbered = Numbered::of(&bits);
            let all: Vec<usize> = (0..count).filter(|&at| is_so[at]).collect();
            assert_eq!((numbered.count(), bits.any()), (all.len(), !all.is_empty()));
            let found = (0..count).map(|at| numbered.number(at));
            let expected = (0..count).map(|at| all.iter().position(|&one| one == at));
            assert!(found.eq(expected), "{count}");
        }
    }

    #[test]
    fn a_range_has_one_if_one_of_its_numbers_is_in() {
        let mut bits = Bits::none_of(200);
        [3, 64, 130].into_iter().for_each(|at| bits.set(at));
        for from in 0..=200 {
            for until in from..=200 {
                let any = (from..until).any(|at| bits.has(at));
                assert_eq!(bits.any_of(from..until), any, "{from}..{until}");
            }
        }
    }
}
