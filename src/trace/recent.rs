//! The ranges that were met a moment ago: programs come back to the same memory, and to find out in which block it lies,
//! and whether it was met before, takes most of what a walk over their accesses does.

/// Ranges that are remembered.
const RECENT: usize = 1 << 16;

/// Ranges that are looked for without it: small traces have no need of a table.
const FEW: u32 = 4096;

/// Stretches of memory of which it is known when a block was last put there, and their length.
const STRETCHES: usize = 1 << 12;
const STRETCH: u32 = 12;

/// The numbers of ranges, as long as the same block lies there.
#[derive(Debug, Default)]
pub(super) struct Recent {
    /// None before there were enough for it to be worth it.
    rows: Vec<Row>,
    /// How many were to be remembered before that.
    early: u32,
    /// By stretch, and for all: how many blocks were put there so far. Stretches that are far apart share a count.
    put: Vec<u32>,
    put_all: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Row {
    addr: u64,
    /// 0 for none.
    size: u8,
    number: u32,
    /// The counts when it was remembered.
    put: u32,
    put_all: u32,
}

impl Recent {
    fn row(addr: u64, size: u8) -> usize {
        let mixed = (addr ^ u64::from(size) << 56).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> (u64::BITS - RECENT.ilog2())) as usize
    }

    fn stretch(addr: u64) -> usize {
        (addr >> STRETCH) as usize % STRETCHES
    }

    /// The number of a range, if it is known. In which block a range lies, its first byte says.
    #[inline]
    pub(super) fn get(&self, addr: u64, size: u8) -> Option<u32> {
        let row = self.rows.get(Self::row(addr, size))?;
        let is_it = (row.addr, row.size) == (addr, size)
            && (row.put, row.put_all) == (self.put[Self::stretch(addr)], self.put_all);
        (is_it && size > 0).then_some(row.number)
    }

    pub(super) fn set(&mut self, addr: u64, size: u8, number: u32) {
        if self.rows.is_empty() {
            self.early += 1;
            if self.early < FEW {
                return;
            }
            self.rows = vec![Row::default(); RECENT];
            self.put = vec![0; STRETCHES];
        }
        self.rows[Self::row(addr, size)] = Row {
            addr,
            size,
            number,
            put: self.put[Self::stretch(addr)],
            put_all: self.put_all,
        };
    }

    /// A block is put over `[start, end)`.
    pub(super) fn put(&mut self, start: u64, end: u64) {
        if self.rows.is_empty() {
            return;
        }
        let stretches = (start >> STRETCH)..=((end.max(start.saturating_add(1)) - 1) >> STRETCH);
        if stretches.end() - stretches.start() >= STRETCHES as u64 {
            self.put_all += 1;
            return;
        }
        for stretch in stretches {
            self.put[stretch as usize % STRETCHES] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_still_lies_in_the_same_block_is_known() {
        let (mut recent, mut all) = (Recent::default(), std::collections::HashMap::new());
        let mut number = 1_u64;
        let mut known = 0;
        for round in 0..20_000_u32 {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (addr, size) = ((number >> 40) % 40_000, ((number >> 60) % 8 + 1) as u8);
            if round % 50 == 0 {
                // Now and then one that covers more stretches than there are counts.
                let end = if round % 1000 == 0 {
                    1 << 40
                } else {
                    addr + (number >> 33) % 5000
                };
                recent.put(addr, end);
                all.retain(|&(at, _): &(u64, u8), _| at < addr || at >= end.max(addr + 1));
            }
            if let Some(found) = recent.get(addr, size) {
                assert_eq!(all.get(&(addr, size)), Some(&found));
                known += 1;
            } else {
                recent.set(addr, size, round);
                all.insert((addr, size), round);
            }
        }
        assert!(known > 0);
    }
}
