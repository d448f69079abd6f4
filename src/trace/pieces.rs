//! Ranges of addresses put one over the other, of which the last one counts.

use std::collections::BTreeMap;

/// What lies on top at each address.
#[derive(Debug)]
pub(super) struct Pieces<T> {
    /// Where each piece begins; where it ends, and what lies there.
    pieces: BTreeMap<u64, (u64, T)>,
}

impl<T> Default for Pieces<T> {
    fn default() -> Self {
        Pieces {
            pieces: BTreeMap::new(),
        }
    }
}

impl<T: Copy> Pieces<T> {
    /// Puts something over the addresses from `start` to before `end`; `covered` gets what lay there.
    pub(super) fn put(&mut self, start: u64, end: u64, top: T, mut covered: impl FnMut(T)) {
        if start >= end {
            return;
        }
        let before = self.pieces.range(..start).next_back();
        let reaches = before.filter(|&(_, &(until, _))| until > start).map(|(&from, _)| from);
        let mut below: Vec<u64> = reaches.into_iter().collect();
        below.extend(self.pieces.range(start..end).map(|(&from, _)| from));
        for from in below {
            let Some((until, older)) = self.pieces.remove(&from) else {
                continue;
            };
            covered(older);
            if from < start {
                self.pieces.insert(from, (start, older));
            }
            if until > end {
                self.pieces.insert(end, (until, older));
            }
        }
        self.pieces.insert(start, (end, top));
    }

    /// What lies at an address.
    pub(super) fn at(&self, addr: u64) -> Option<T> {
        let (_, &(until, top)) = self.pieces.range(..=addr).next_back()?;
        (addr < until).then_some(top)
    }
}

#[cfg(test)]
mod tests {
    use super::Pieces;

    #[test]
    fn agree_with_a_table_of_all_addresses() {
        let (mut pieces, mut table) = (Pieces::default(), [None; 64]);
        let mut random = 7_u64;
        for top in 0..1_000_u32 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (start, len) = ((random >> 32) % 52, (random >> 48) % 13);
            let range = start as usize..(start + len) as usize;
            let mut expected: Vec<u32> = table[range.clone()].iter().flatten().copied().collect();
            expected.dedup();
            let mut covered = Vec::new();
            pieces.put(start, start + len, top, |older| covered.push(older));
            assert_eq!(covered, expected, "from the lowest address to the highest");
            table[range].fill(Some(top));
            assert!((0..64).all(|at| pieces.at(at) == table[at as usize]));
        }
    }
}
