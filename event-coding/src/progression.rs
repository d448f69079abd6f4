//! Values that go on by equal steps, whole or floating-point numbers: how the next one is predicted from the last.
//!
//! The bits of floating-point numbers with one exponent and sign go on like those of whole numbers. Where the exponent
//! changes, their steps, which count units in the last place, would be wrong for ever; here the sum is formed as
//! numbers, and the step is *rescaled* to the units of the new exponent. All of it is done with whole numbers: the
//! encoder runs in the middle of a program that may have set another rounding mode, or traps, and whose flags it must
//! leave alone.

use crate::shape::mask;

/// What the bits of a number of so many bytes mean.
#[derive(Clone, Copy)]
struct Layout {
    /// Bits of the fraction, the lowest ones.
    fraction: u32,
    /// The highest exponent, which is no number's.
    endless: u64,
}

/// A number as a fraction with its hidden one, an exponent, and a sign.
#[derive(Clone, Copy)]
struct Parts {
    fraction: i64,
    exponent: u64,
    negative: bool,
}

impl Layout {
    /// `None` for sizes that no floating-point number has.
    const fn of(width: u8) -> Option<Layout> {
        match width {
            4 => Some(Layout {
                fraction: 23,
                endless: 0xff,
            }),
            8 => Some(Layout {
                fraction: 52,
                endless: 0x7ff,
            }),
            _ => None,
        }
    }

    /// The bits of the fraction that are stored: all but the highest one.
    const fn stored(self) -> u64 {
        (1 << self.fraction) - 1
    }

    /// `None` for what is no normal number, as are whole numbers that are not huge.
    fn parts(self, bits: u64) -> Option<Parts> {
        let exponent = bits >> self.fraction & self.endless;
        (exponent != 0 && exponent != self.endless).then_some(Parts {
            fraction: (bits & self.stored() | 1 << self.fraction) as i64,
            exponent,
            negative: bits >> self.fraction > self.endless,
        })
    }

    /// The sum of a number and so many units in its last place, cut off, if it is a normal number with another exponent.
    fn sum(self, value: u64, step: u64) -> Option<u64> {
        let Parts {
            fraction,
            exponent,
            negative,
        } = self.parts(value)?;
        let total = fraction.checked_add(step as i64)?;
        let magnitude = total.unsigned_abs();
        let down = i64::from(self.fraction) - i64::from(magnitude.checked_ilog2()?);
        let exponent = exponent as i64 - down;
        if !(1..self.endless as i64).contains(&exponent) {
            return None;
        }
        let fraction = if down >= 0 {
            magnitude << down
        } else {
            magnitude >> -down
        };
        let sign = u64::from(negative != (total < 0)) * (self.endless + 1);
        Some((sign | exponent as u64) << self.fraction | fraction & self.stored())
    }
}

/// Whether sign or exponent differ.
#[inline(always)]
pub(crate) fn differ(one: u64, other: u64, width: u8) -> bool {
    match Layout::of(width) {
        Some(layout) => (one ^ other) >> layout.fraction != 0,
        None => false,
    }
}

/// The value that follows `value`, of `width` bytes, by a step.
#[inline(always)]
pub(crate) fn next(value: u64, step: u64, width: u8) -> u64 {
    let next = value.wrapping_add(step) & mask(width);
    if differ(value, next, width) {
        next_beyond(value, step, width).unwrap_or(next)
    } else {
        next
    }
}

/// The same where the exponent changes.
#[cold]
fn next_beyond(value: u64, step: u64, width: u8) -> Option<u64> {
    Layout::of(width)?.sum(value, step)
}

/// The step that led from a value to the next one, in the units of the latter; to be added to the latter's bits.
pub(crate) fn between(value: u64, next: u64, width: u8) -> u64 {
    if differ(value, next, width) {
        step_beyond(value, next, width).unwrap_or(next.wrapping_sub(value))
    } else {
        next.wrapping_sub(value)
    }
}

#[cold]
fn step_beyond(value: u64, next: u64, width: u8) -> Option<u64> {
    let layout = Layout::of(width)?;
    let (from, to) = (layout.parts(value)?, layout.parts(next)?);
    // In units of `next`, and as far from zero on its side.
    let before = shifted(from.fraction, from.exponent as i64 - to.exponent as i64)?;
    let before = if from.negative == to.negative { before } else { -before };
    Some(to.fraction.checked_sub(before)? as u64)
}

/// The step, which was counted in units of a value, in those of the next one.
#[inline(always)]
pub(crate) fn rescaled(step: u64, value: u64, next: u64, width: u8) -> u64 {
    if differ(value, next, width) {
        step_of(step, value, next, width).unwrap_or(step)
    } else {
        step
    }
}

#[cold]
fn step_of(step: u64, value: u64, next: u64, width: u8) -> Option<u64> {
    let layout = Layout::of(width)?;
    let (from, to) = (layout.parts(value)?, layout.parts(next)?);
    let step = shifted(step as i64, from.exponent as i64 - to.exponent as i64)?;
    let step = if from.negative == to.negative {
        step
    } else {
        step.wrapping_neg()
    };
    Some(step as u64)
}

/// So many bits to the left, or, if negative, to the right, where the sign is kept. `None` if bits are lost on the left.
fn shifted(number: i64, by: i64) -> Option<i64> {
    if by < 0 {
        return Some(number >> by.unsigned_abs().min(63));
    }
    let by = u32::try_from(by).ok().filter(|&by| by < 63)?;
    let shifted = number << by;
    (shifted >> by == number).then_some(shifted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of these are not predicted, if a step is learnt as `State` does: from two misses in a row.
    fn misses(values: impl IntoIterator<Item = u64>, width: u8) -> usize {
        let (mut last, mut anchor, mut step, mut misses) = (0, 0, 0, 0);
        for (at, value) in values.into_iter().enumerate() {
            if next(last, step, width) == value {
                step = rescaled(step, last, value, width);
            } else {
                misses += 1;
                step = if last == anchor && at > 0 {
                    between(last, value, width)
                } else {
                    rescaled(step, last, value, width)
                };
                anchor = value;
            }
            last = value;
        }
        misses
    }

    #[test]
    fn whole_numbers_go_on_as_they_did() {
        for (from, step) in [
            (0, 1),
            (-3, 1),
            (5, -1),
            (1 << 40, 8),
            (-1 << 51, 12_345),
            (i64::MAX - 9, 1),
        ] {
            let values = (0..100).map(|at| i64::wrapping_add(from, step * at) as u64);
            assert!(misses(values, 8) <= 2, "{from} {step}");
        }
        let negative = (0..100_u32).map(|at| u64::from(at.wrapping_sub(50)));
        assert!(misses(negative, 4) <= 2);
        for width in [1, 2, 3, 5, 6, 7] {
            assert_eq!(next(mask(width), 1, width), 0);
            assert_eq!(rescaled(1, 0, mask(width), width), 1);
            assert_eq!(between(1, 9, width), 8);
        }
    }

    #[test]
    fn floating_point_numbers_go_on_beyond_their_exponent() {
        let doubles = |from: f64, step: f64| (0..1000).map(move |at| (from + step * f64::from(at)).to_bits());
        // From the second on; one that is rounded to zero, and its followers, are not predicted.
        assert_eq!(misses(doubles(1.25, 1.0), 8), 2);
        assert_eq!(misses(doubles(1000.25, -0.5), 8), 2);
        assert_eq!(misses(doubles(-300.75, 1.0), 8), 2);
        assert_eq!(misses(doubles(-1e200, -3e198), 8), misses(doubles(1e200, 3e198), 8));
        assert!(misses(doubles(-30.0, 1.0), 8) <= 5);
        let floats = (0..1000).map(|at| u64::from((at as f32 * 0.25 - 20.125).to_bits()));
        assert_eq!(misses(floats, 4), 2);
    }

    #[test]
    fn another_start_needs_no_new_step() {
        let rows = (0..10).flat_map(|row| (0..100).map(move |at| (f64::from(at) - f64::from(row) * 7.25).to_bits()));
        assert!(misses(rows, 8) <= 2 + 2 * 10);
    }

    #[test]
    fn any_bits_do() {
        let odd = [
            0,
            1,
            1 << 51,
            1 << 52,
            u64::MAX,
            1 << 63,
            i64::MAX as u64,
            0x7ff0 << 48,
            0xfff8 << 48,
            3 << 61,
        ];
        for width in 1..=8 {
            for value in odd.map(|bits| bits & mask(width)) {
                for step in odd {
                    assert_eq!(next(value, step, width) & !mask(width), 0);
                    for other in odd.map(|bits| bits & mask(width)) {
                        rescaled(step, value, other, width);
                        between(value, other, width);
                    }
                }
            }
        }
    }
}
