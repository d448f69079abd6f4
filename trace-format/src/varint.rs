//! Variable-length integers: the only numbers inside an event block.
//!
//! Unsigned LEB128: 7 bits a byte, lowest first, the top bit says that another byte follows; at
//! most 10 bytes, and never longer than needed, so that each number has exactly one form. Signed
//! differences are folded to unsigned ones first (zigzag: 0, −1, 1, −2, … become 0, 1, 2, 3, …).

use crate::fault::EncodingFault;

/// Appends `number`.
pub(crate) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// The folded difference that leads from `base` to `number`; both wrap around at 2^64.
pub(crate) fn difference(base: u64, number: u64) -> u64 {
    let difference = number.wrapping_sub(base);
    (difference << 1) ^ (((difference as i64) >> 63) as u64)
}

/// The number that a folded difference leads to from `base`.
pub(crate) fn apply(base: u64, folded: u64) -> u64 {
    base.wrapping_add((folded >> 1) ^ (folded & 1).wrapping_neg())
}

/// Reads a payload from front to back.
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn byte(&mut self) -> Result<u8, EncodingFault> {
        let (&byte, rest) = self.rest.split_first().ok_or(EncodingFault::Truncated)?;
        self.rest = rest;
        Ok(byte)
    }

    pub(crate) fn varint(&mut self) -> Result<u64, EncodingFault> {
        let first = self.byte()?;
        // Most numbers take one byte.
        if first < 0x80 {
            return Ok(u64::from(first));
        }
        let mut number = u64::from(first & 0x7f);
        for shift in (7..64).step_by(7) {
            let byte = self.byte()?;
            // The tenth byte has room for one bit only; a last byte of 0 would be superfluous.
            if byte == 0 || (shift == 63 && byte > 1) {
                return Err(EncodingFault::BadVarint);
            }
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(EncodingFault::BadVarint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_comes_back() {
        for bits in 0..64 {
            for number in [1u64 << bits, (1u64 << bits) - 1, (1u64 << bits) + 1, u64::MAX >> bits] {
                let mut out = Vec::new();
                put(&mut out, number);
                let bits = 64 - (number | 1).leading_zeros();
                assert_eq!(out.len() as u32, bits.div_ceil(7), "{number:#x}");
                let mut cursor = Cursor::new(&out);
                assert_eq!(cursor.varint(), Ok(number));
                assert_eq!(cursor.remaining(), 0);
            }
        }
    }

    #[test]
    fn no_number_has_a_second_form() {
        for bad in [
            &[0x80, 0x00][..],
            &[0xff; 11],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02],
        ] {
            assert_eq!(Cursor::new(bad).varint(), Err(EncodingFault::BadVarint), "{bad:x?}");
        }
        assert_eq!(Cursor::new(&[0x80]).varint(), Err(EncodingFault::Truncated));
    }

    #[test]
    fn small_steps_either_way_are_small() {
        assert_eq!(
            [0, -1, 1, -2, 2].map(|step: i64| difference(100, 100u64.wrapping_add_signed(step))),
            [0, 1, 2, 3, 4]
        );
        for (base, number) in [
            (0, u64::MAX),
            (u64::MAX, 0),
            (1 << 63, 0),
            (0, 1 << 63),
            (5, 5),
            (7, 1 << 40),
        ] {
            assert_eq!(apply(base, difference(base, number)), number);
        }
    }
}
