//! Numbers of 1 to 8 bytes, little-endian; the length stands elsewhere.

/// How many bytes hold `number`, at least 1.
#[inline]
pub(crate) fn unsigned_len(number: u64) -> usize {
    8 - (number | 1).leading_zeros() as usize / 8
}

/// How many bytes hold `number` if the last one's top bit is its sign, at least 1.
#[inline]
pub(crate) fn signed_len(number: u64) -> usize {
    let folded = number ^ ((number as i64) >> 63) as u64;
    unsigned_len(folded << 1)
}

/// The lowest `len` bytes of `number`, 1 to 8, with the top bit of the last one as sign.
#[inline]
pub(crate) fn extend(number: u64, len: usize) -> u64 {
    let shift = 64 - 8 * len as u32;
    (((number << shift) as i64) >> shift) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_fits_its_length_and_no_shorter_one() {
        for shift in 0..64 {
            for number in [1_u64 << shift, (1 << shift) - 1, !(1 << shift), !((1 << shift) - 1)] {
                let len = signed_len(number);
                assert_eq!(extend(number, len), number, "{number:#x}");
                assert!(len == 1 || extend(number, len - 1) != number, "{number:#x}");
                let len = unsigned_len(number);
                assert_eq!(number & (u64::MAX >> (64 - 8 * len)), number);
                assert!(len == 1 || number >> (8 * (len - 1)) != 0, "{number:#x}");
            }
        }
    }
}
