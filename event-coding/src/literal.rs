//! Values of events of which no value is predicted: what of them is written, behind the events before.

use crate::shape::mask;
use crate::sites::value_mode;

/// What predicts a part of such a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// What memory holds, if it is an access.
    pub(crate) held: Option<u64>,
    /// The value that the thread read last, and the one before: not as an array, which would be copied as a whole, while
    /// the processor hands no narrower store on to a wider load.
    pub(crate) recent: u64,
    pub(crate) earlier: u64,
    /// Bytes of the value.
    pub(crate) width: u8,
}

impl Known {
    /// The mode for a site whose value cannot be predicted, going by the one that it has now.
    pub(crate) fn mode_for(self, value: u64) -> u8 {
        match self.held {
            Some(_) if value == self.recent || value == self.earlier => value_mode::LITERAL_CHOICE,
            Some(held) if self.width > 1 && self.high(value) == self.high(held) => value_mode::LITERAL_LOW,
            _ => value_mode::LITERAL,
        }
    }

    /// The number that says a value in a mode from [`value_mode::LITERAL`] on; it takes the lowest [`len`](Self::len)
    /// bytes. `None` if there is none.
    #[inline(always)]
    pub(crate) fn literal(self, mode: u8, value: u64) -> Option<u64> {
        match mode {
            value_mode::LITERAL_CHOICE => {
                // No branch on which one it is: nobody knows, the processor neither.
                let (recent, earlier) = (value == self.recent, value == self.earlier);
                (recent | earlier).then_some(u64::from(!recent))
            }
            value_mode::LITERAL_LOW => (self.high(value) == self.high(self.held.unwrap_or(0))).then_some(value),
            _ => Some(value),
        }
    }

    /// Bytes of such a number.
    #[inline(always)]
    pub(crate) fn len(self, mode: u8) -> usize {
        match mode {
            value_mode::LITERAL_CHOICE => 1,
            value_mode::LITERAL_LOW => usize::from(self.width) - 1,
            _ => self.width.into(),
        }
    }

    /// The value that a number says, of which only those bytes are there. `None` if it says none.
    #[inline(always)]
    pub(crate) fn value(self, mode: u8, number: u64) -> Option<u64> {
        match mode {
            value_mode::LITERAL_CHOICE => {
                let chosen = if number == 0 { self.recent } else { self.earlier };
                (number < 2).then_some(chosen & mask(self.width))
            }
            value_mode::LITERAL_LOW => Some(number | self.high(self.held.unwrap_or(0)) << self.low_bits()),
            _ => Some(number),
        }
    }

    #[inline(always)]
    fn low_bits(self) -> u32 {
        8 * (u32::from(self.width) - 1)
    }

    #[inline(always)]
    fn high(self, value: u64) -> u64 {
        value >> self.low_bits()
    }
}
