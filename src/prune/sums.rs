//! What a thread's steps have added to the functions of a [word's](super::words) value, after each of them: the least and
//! the greatest that it may be.
//!
//! Any such sum is an `i128`, and there are eleven functions of a word that 65,536 steps change. But most functions are
//! bits, and most steps add what is known. So all sums of a function are kept in as many bytes as the farthest one
//! takes, mostly one, and the greatest ones only where they are not the least. A program may have hundreds of thousands
//! of words, each of a few steps: a slot of a queue, a count of references. Where a byte suffices everywhere, the sums of
//! all functions are kept together.

use std::ops::Range;

/// The least and the greatest of some numbers.
pub(super) type Span = (i128, i128);

/// Two spans that belong together, as one that holds both.
pub(super) fn hull(a: Span, b: Span) -> Span {
    (a.0.min(b.0), a.1.max(b.1))
}

/// The sums of each function, by how many steps have been done.
#[derive(Debug)]
pub(super) enum Sums {
    /// All are known, and fit: so many each, function by function. If these are more than [a few](FEW), the least and
    /// the greatest of them come first.
    Bytes { each: u32, sums: Box<[i8]> },
    /// By function.
    Others(Box<[Sum]>),
}

/// So few sums that it takes nothing to look at all.
const FEW: usize = 64;

impl Sums {
    /// These, of which there is one at least for each function, and as many for all.
    pub(super) fn of<S: Iterator<Item = Span> + Clone>(functions: impl Iterator<Item = S> + Clone) -> Sums {
        let each = functions.clone().next().map_or(1, Iterator::count);
        let bytes = functions.clone().flat_map(|sums| {
            let all = sums.clone().reduce(hull).unwrap_or_default();
            let first = [all.0, all.1].into_iter().take(kept(each)).map(Some);
            let known = sums.map(|(least, greatest)| (least == greatest).then_some(least));
            first.chain(known).map(|sum| i8::try_from(sum?).ok())
        });
        match bytes.collect() {
            Some(sums) => Sums::Bytes {
                each: each as u32,
                sums,
            },
            None => Sums::Others(functions.map(Sum::of).collect()),
        }
    }

    /// That of a function, of so many steps.
    #[inline]
    pub(super) fn get(&self, function: usize, steps: usize) -> Span {
        match self {
            Sums::Bytes { each, sums } => {
                let sum = bytes(*each, sums, function).1[steps].into();
                (sum, sum)
            }
            Sums::Others(sums) => sums[function].get(steps),
        }
    }

    /// The least and the greatest of those of a function for some numbers of steps, of which there is one at least.
    pub(super) fn within(&self, function: usize, steps: Range<usize>) -> Span {
        match self {
            Sums::Bytes { each, sums } => {
                let sums = &bytes(*each, sums, function).1[steps];
                (least(sums), greatest(sums))
            }
            Sums::Others(sums) => sums[function].within(steps),
        }
    }

    /// The least and the greatest of all of a function.
    pub(super) fn all(&self, function: usize) -> Span {
        match self {
            Sums::Bytes { each, sums } => match bytes(*each, sums, function) {
                (&[least, greatest], _) => (least.into(), greatest.into()),
                (_, all) => (least(all), greatest(all)),
            },
            Sums::Others(sums) => sums[function].all,
        }
    }
}

/// How many numbers are kept beside so many sums.
#[inline]
fn kept(sums: usize) -> usize {
    if sums > FEW { 2 } else { 0 }
}

/// Of a function, the least and the greatest of all, if they are kept, and all.
#[inline]
fn bytes(each: u32, sums: &[i8], function: usize) -> (&[i8], &[i8]) {
    let kept = kept(each as usize);
    let length = kept + each as usize;
    sums[function * length..][..length].split_at(kept)
}

/// The sums of one function.
#[derive(Debug)]
pub(super) struct Sum {
    least: Numbers,
    /// `None` if each is the least.
    greatest: Option<Numbers>,
    /// The least and the greatest of all.
    all: Span,
}

impl Sum {
    fn of(sums: impl Iterator<Item = Span> + Clone) -> Sum {
        let all = sums.clone().reduce(hull).unwrap_or_default();
        let is_known = sums.clone().all(|(least, greatest)| least == greatest);
        Sum {
            least: Numbers::within(all, sums.clone().map(|(least, _)| least)),
            greatest: (!is_known).then(|| Numbers::within(all, sums.map(|(_, greatest)| greatest))),
            all,
        }
    }

    #[inline]
    fn get(&self, steps: usize) -> Span {
        let least = self.least.get(steps);
        (
            least,
            self.greatest.as_ref().map_or(least, |greatest| greatest.get(steps)),
        )
    }

    fn within(&self, steps: Range<usize>) -> Span {
        let greatest = self.greatest.as_ref().unwrap_or(&self.least);
        (self.least.least(steps.clone()), greatest.greatest(steps))
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
    use super::{FEW, Numbers, Span, Sum, Sums, hull};
    use std::iter;

    /// As they are put in, as the second of three functions.
    fn assert_kept(spans: &[Span]) -> Sums {
        let others = iter::repeat_n((3, 3), spans.len()).collect::<Vec<Span>>();
        let functions = [&others, spans, &others];
        let sums = Sums::of(functions.iter().map(|spans| spans.iter().copied()));
        for (function, spans) in functions.into_iter().enumerate() {
            for (steps, &span) in spans.iter().enumerate() {
                assert_eq!(sums.get(function, steps), span, "of {spans:?}");
                for until in steps + 1..=spans.len() {
                    let some = spans[steps..until].iter().copied().reduce(hull);
                    let within = sums.within(function, steps..until);
                    assert_eq!(Some(within), some, "{steps}..{until} of {spans:?}");
                }
            }
            assert_eq!(Some(sums.all(function)), spans.iter().copied().reduce(hull));
        }
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
        assert!(matches!(&sums, Sums::Bytes { sums, .. } if sums.len() == 12));
    }

    #[test]
    fn of_many_sums_it_is_known_how_far_they_go() {
        let spans: Vec<Span> = (0..=FEW as i128).map(|sum| (sum - 9, sum - 9)).collect();
        let sums = assert_kept(&spans);
        assert!(matches!(&sums, Sums::Bytes { sums, .. } if sums.len() == 3 * (FEW + 3)));
    }

    #[test]
    fn unknown_steps_take_more_only_for_the_greatest() {
        let sums = assert_kept(&[(0, 0), (-1, 1), (-2, 2)]);
        let kept = |sum: &Sum| (matches!(sum.least, Numbers::One(_)), sum.greatest.is_some());
        assert!(
            matches!(&sums, Sums::Others(sums) if kept(&sums[0]) == (true, false) && kept(&sums[1]) == (true, true))
        );
    }
}
