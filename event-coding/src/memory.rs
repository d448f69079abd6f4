//! What memory holds, as far as the events of the block have shown it: the bytes of the lines of
//! memory that were accessed last, direct mapped like a processor's cache.

use crate::shape::mask;

/// Bytes of a line.
const LINE: u64 = 64;
/// Lines that are remembered; a power of two.
const LINES: usize = 4096;

#[derive(Clone, Copy, Debug)]
struct Head {
    /// Address / 64.
    line: u64,
    /// A bit for each byte that is known.
    known: u64,
}

/// Remembered memory.
#[derive(Clone, Debug)]
pub struct Memory {
    heads: [Head; LINES],
    /// The lines one after another. A word more, so that 8 bytes can be taken at the last byte.
    bytes: [u8; LINES * LINE as usize + 8],
}

impl Memory {
    /// Nothing is known; all of it is zeros.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            heads: [Head { line: 0, known: 0 }; LINES],
            bytes: [0; LINES * LINE as usize + 8],
        }
    }

    pub(crate) fn forget(&mut self) {
        self.heads.fill(Head { line: 0, known: 0 });
    }

    /// The entry of a line. Stacks of threads lie at multiples of powers of two from one another.
    #[inline(always)]
    fn entry(line: u64) -> usize {
        (line ^ (line >> 14)) as usize % LINES
    }

    #[inline(always)]
    fn word(&mut self, at: usize) -> &mut [u8; 8] {
        // Always there, by the array's length; said in a way that costs a comparison at most.
        match self.bytes.get_mut(at..at + 8).map(TryInto::try_into) {
            Some(Ok(word)) => word,
            _ => unreachable!("a line's offset is in the array"),
        }
    }

    /// The `size` bytes at `addr`, if all are known.
    #[inline(always)]
    pub(crate) fn get(&mut self, addr: u64, size: u8) -> Option<u64> {
        let (line, offset) = (addr / LINE, addr % LINE);
        let entry = Self::entry(line);
        let covered = ((1_u64 << size) - 1) << offset;
        let head = self.heads[entry];
        if offset + u64::from(size) > LINE || head.line != line || head.known & covered != covered {
            return None;
        }
        Some(u64::from_le_bytes(*self.word(entry * LINE as usize + offset as usize)) & mask(size))
    }

    /// Notes that memory holds `value`, which has no bits beyond `size` bytes. What was known before.
    #[inline(always)]
    pub(crate) fn swap(&mut self, addr: u64, size: u8, value: u64) -> Option<u64> {
        let (line, offset) = (addr / LINE, addr % LINE);
        if offset + u64::from(size) > LINE {
            return None;
        }
        let entry = Self::entry(line);
        let covered = ((1_u64 << size) - 1) << offset;
        let head = &mut self.heads[entry];
        let known = head.line == line && head.known & covered == covered;
        if !known {
            if head.line != line {
                *head = Head { line, known: 0 };
            }
            head.known |= covered;
        }
        let word = self.word(entry * LINE as usize + offset as usize);
        let old = u64::from_le_bytes(*word);
        if (old ^ value) & mask(size) != 0 {
            *word = (old & !mask(size) | value).to_le_bytes();
        }
        known.then_some(old & mask(size))
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_stored_is_known_byte_by_byte() {
        let mut memory = Memory::new();
        assert_eq!(memory.swap(0x1000, 8, 0x8877_6655_4433_2211), None);
        assert_eq!(memory.get(0x1002, 4), Some(0x6655_4433));
        assert_eq!(memory.swap(0x1003, 1, 0xaa), Some(0x44));
        assert_eq!(memory.swap(0x1000, 8, 7), Some(0x8877_6655_aa33_2211));
        assert_eq!(memory.get(0x1006, 4), None, "half of it was never seen");
        memory.forget();
        assert_eq!(memory.get(0x1000, 8), None);
    }

    #[test]
    fn an_access_across_lines_is_never_known() {
        let mut memory = Memory::new();
        memory.swap(0x103c, 4, 1);
        memory.swap(0x1040, 4, 2);
        assert_eq!(memory.swap(0x103e, 4, 3), None);
        assert_eq!(memory.get(0x103e, 4), None);
        assert_eq!(memory.get(0x103f, 1), Some(0));
        assert_eq!(memory.swap(u64::MAX - 8, 8, 5), None);
        assert_eq!(memory.get(u64::MAX - 8, 8), Some(5));
    }

    #[test]
    fn a_line_displaces_another() {
        let mut memory = Memory::new();
        memory.swap(0, 8, 1);
        let other = (1..).map(|n| n * LINE).find(|addr| Memory::entry(addr / LINE) == 0);
        memory.swap(other.unwrap(), 8, 2);
        assert_eq!(memory.get(0, 8), None);
    }
}
