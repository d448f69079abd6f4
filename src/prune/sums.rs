//! What a thread's steps have added to a function of a [word's](super::words) value, after each of them: the least and
//! the greatest that it may be.
//!
//! Any such sum is an `i128`, and there are eleven functions of a word that 65,536 steps change. But most functions are
//! bits, and most steps add what is known. So all sums of a function are kept in as many bytes as the farthest one
//! takes, mostly one, and the greatest ones only where they are not the least.

use std::ops::Range;

/// The least and the greatest of some numbers.
pub(super) type Span = (i128, i128);

/// Two spans that belong together, as one that holds both.
pub(super) fn hull(a: Span, b: Span) -> Span {
    (a.0.min(b.0), a.1.max(b.1))
}

/// The sums, by how many steps have been done.
#[derive(Debug)]
pub(super) struct Sums {
    least: Numbers,
    /// `None` if each is the least.
    greatest: Option<Numbers>,
    /// The least and the greatest of all.
    all: Span,
}

impl Sums {
    /// These, of which there is one at least.
    pub(super) fn of(sums: impl Iterator<Item = Span> + Clone) -> Sums {
        let all = sums.clone().reduce(hull).unwrap_or_default();
        let is_known = sums.clone().all(|(least, greatest)| least == greatest);
        Sums {
            least: Numbers::within(all, sums.clone().map(|(least, _)| least)),
            greatest: (!is_known).then(|| Numbers::within(all, sums.map(|(_, greatest)| greatest))),
            all,
        }
    }

    /// That of so many steps.
    #[inline]
    pub(super) fn get(&self, steps: usize) -> Span {
        let least = self.least.get(steps);
        (
            least,
            self.greatest.as_ref().map_or(least, |greatest| greatest.get(steps)),
        )
    }

    /// The least and the greatest of those of some numbers of steps, of which there is one at least.
    pub(super) fn within(&self, steps: Range<usize>) -> Span {
        let greatest = self.greatest.as_ref().unwrap_or(&self.least);
        (self.least.least(steps.clone()), greatest.greatest(steps))
    }

    /// The least and the greatest of all.
    pub(super) fn all(&self) -> Span {
        self.all
    }
}

/// Numbers in as few bytes each as all of them take.
#[derive(Debug)]
enum Numbers {
    One(Box<[i8]>),
    Two(Box<[i16]>),
    Four(Box<[i32]>),
    Any(Box<[i128]>),
}

impl Numbers {
    /// Numbers that are all in a span.
    fn within((least, greatest): Span, numbers: impl Iterator<Item = i128>) -> Numbers {
        let fit = |low: i128, high: i128| low <= least && greatest <= high;
        if fit(i8::MIN.into(), i8::MAX.into()) {
            Numbers::One(numbers.map(|number| number as i8).collect())
        } else if fit(i16::MIN.into(), i16::MAX.into()) {
            Numbers::Two(numbers.map(|number| number as i16).collect())
        } else if fit(i32::MIN.into(), i32::MAX.into()) {
            Numbers::Four(numbers.map(|number| number as i32).collect())
        } else {
            Numbers::Any(numbers.collect())
        }
    }

    #[inline]
    fn get(&self, place: usize) -> i128 {
        match self {
            Numbers::One(numbers) => numbers[place].into(),
            Numbers::Two(numbers) => numbers[place].into(),
            Numbers::Four(numbers) => numbers[place].into(),
            Numbers::Any(numbers) => numbers[place],
        }
    }

    fn least(&self, places: Range<usize>) -> i128 {
        match self {
            Numbers::One(numbers) => least(&numbers[places]),
            Numbers::Two(numbers) => least(&numbers[places]),
            Numbers::Four(numbers) => least(&numbers[places]),
            Numbers::Any(numbers) => least(&numbers[places]),
        }
    }

    fn greatest(&self, places: Range<usize>) -> i128 {
        match self {
            Numbers::One(numbers) => greatest(&numbers[places]),
            Numbers::Two(numbers) => greatest(&numbers[places]),
            Numbers::Four(numbers) => greatest(&numbers[places]),
            Numbers::Any(numbers) => greatest(&numbers[places]),
        }
    }
}

fn least<T: Copy + Ord + Into<i128>>(numbers: &[T]) -> i128 {
    numbers.iter().copied().min().map_or(0, Into::into)
}

fn greatest<T: Copy + Ord + Into<i128>>(numbers: &[T]) -> i128 {
    numbers.iter().copied().max().map_or(0, Into::into)
}

#[cfg(test)]
mod tests {
    use super::{Numbers, Span, Sums, hull};

    /// As they are put in.
    fn assert_kept(spans: &[Span]) -> Sums {
        let sums = Sums::of(spans.iter().copied());
        for (steps, &span) in spans.iter().enumerate() {
            assert_eq!(sums.get(steps), span, "of {spans:?}");
            for until in steps + 1..=spans.len() {
                let some = spans[steps..until].iter().copied().reduce(hull);
                assert_eq!(Some(sums.within(steps..until)), some, "{steps}..{until} of {spans:?}");
            }
        }
        assert_eq!(Some(sums.all()), spans.iter().copied().reduce(hull));
        sums
    }

    #[test]
    fn each_sum_is_kept_however_far_it_is() {
        let powers = [0, 1, 7, 8, 15, 16, 31, 32, 64, 79].map(|bits| 1_i128 << bits);
        for power in powers {
            for number in [power - 1, power, -power, -power - 1] {
                assert_kept(&[(0, 0), (number, number)]);
                assert_kept(&[(0, 0), (number.min(0), number.max(0))]);
                assert_kept(&[(-number.abs(), number.abs()), (3, 4)]);
            }
        }
    }

    #[test]
    fn bits_that_are_set_and_cleared_take_a_byte() {
        let sums = assert_kept(&[(0, 0), (1, 1), (0, 0), (-1, -1)]);
        assert!(matches!(sums.least, Numbers::One(_)) && sums.greatest.is_none());
    }

    #[test]
    fn unknown_steps_take_more_only_for_the_greatest() {
        let sums = assert_kept(&[(0, 0), (-1, 1), (-2, 2)]);
        assert!(matches!(sums.least, Numbers::One(_)) && sums.greatest.is_some());
    }
}
