//! Ranges of addresses, put one over the other: the last one counts.

use std::collections::BTreeMap;

/// What lies on top at each address.
#[derive(Debug)]
pub(crate) struct Overlay<T> {
    /// By first byte: the byte behind the last, and what lies there. No two overlap.
    pieces: BTreeMap<u64, (u64, T)>,
}

impl<T: Copy> Overlay<T> {
    pub(crate) fn new() -> Overlay<T> {
        Overlay {
            pieces: BTreeMap::new(),
        }
    }

    /// Puts something over `[start, end)`, and returns what it covers a part of.
    pub(crate) fn put(&mut self, start: u64, end: u64, top: T) -> Vec<T> {
        if start >= end {
            return Vec::new();
        }
        let below: Vec<u64> = self
            .pieces
            .range(..end)
            .rev()
            .take_while(|&(_, &(until, _))| until > start)
            .map(|(&from, _)| from)
            .collect();
        let mut covered = Vec::new();
        for from in below {
            let Some((until, what)) = self.pieces.remove(&from) else {
                continue;
            };
            covered.push(what);
            if from < start {
                self.pieces.insert(from, (start, what));
            }
            if until > end {
                self.pieces.insert(end, (until, what));
            }
        }
        self.pieces.insert(start, (end, top));
        covered
    }

    /// What lies on top at an address.
    pub(crate) fn get(&self, addr: u64) -> Option<T> {
        let (_, &(until, what)) = self.pieces.range(..=addr).next_back()?;
        (addr < until).then_some(what)
    }
}

#[cfg(test)]
mod tests {
    use super::Overlay;

    #[test]
    fn agrees_with_a_table_of_all_addresses() {
        let mut overlay = Overlay::new();
        let mut table = [None; 64];
        let mut number = 1_u64;
        for top in 0..500_u32 {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (start, len) = ((number >> 33) % 50, (number >> 50) % 12);
            let range = start as usize..(start + len) as usize;
            let mut covered: Vec<u32> = table[range.clone()].iter().flatten().copied().collect();
            covered.sort_unstable();
            covered.dedup();
            let mut said = overlay.put(start, start + len, top);
            said.sort_unstable();
            said.dedup();
            assert_eq!(said, covered);
            table[range].fill(Some(top));
            assert!((0..64).all(|at| overlay.get(at) == table[at as usize]));
        }
    }
}
