//! Bits by number, 64 to a word: an eighth of what as many bytes take.

/// Numbers that are in or not.
#[derive(Debug, Default)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    /// None of so many.
    pub(crate) fn none_of(count: usize) -> Bits {
        Bits(vec![0; count.div_ceil(u64::BITS as usize)])
    }

    /// Those of which that is so.
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
}

#[cfg(test)]
mod tests {
    use super::Bits;

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
}
