//! What memory holds, as far as the events of the block have shown it: the lines of memory that were accessed last, direct
//! mapped like a processor's cache. A line that comes in is taken for zeros, as memory mostly is at first.

/// Bytes of a line.
pub const LINE: usize = 64;
/// Lines that are remembered; a power of two.
const LINES: usize = 4096;

/// A line's bytes. The alignment lets it lie in one line of the processor's cache.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([u8; LINE]);

/// Remembered memory.
#[derive(Clone, Debug)]
pub struct Memory {
    /// Address / 64 of the line in each entry, and 1, so that all zeros is nothing.
    tags: [u64; LINES],
    lines: [Line; LINES],
}

/// Where an access lies in an entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    entry: usize,
    offset: usize,
}

impl Memory {
    /// Nothing is remembered; all of it is zeros.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            tags: [0; LINES],
            lines: [Line([0; LINE]); LINES],
        }
    }

    pub(crate) fn forget(&mut self) {
        self.tags.fill(0);
    }

    /// The entry of a line. Stacks of threads and columns of matrices lie at multiples of powers of two from one another.
    #[inline(always)]
    fn entry(line: u64) -> usize {
        (line ^ (line >> 9)) as usize % LINES
    }

    /// Where an access lies, if its line is remembered. `None`, too, for one that lies in two lines.
    #[inline(always)]
    pub(crate) fn find(&self, addr: u64, size: u8) -> Option<Spot> {
        let (line, offset) = (addr / LINE as u64, addr as usize % LINE);
        let entry = Self::entry(line);
        let fits = size == 1 || offset + usize::from(size) <= LINE;
        (self.tags[entry] == line + 1 && fits).then_some(Spot { entry, offset })
    }

    /// As [`find`](Self::find), but the line is remembered from now on. `None` for an access that lies in two lines.
    #[inline(always)]
    pub(crate) fn claim(&mut self, addr: u64, size: u8) -> Option<Spot> {
        let (line, offset) = (addr / LINE as u64, addr as usize % LINE);
        if offset + usize::from(size) > LINE {
            return None;
        }
        let entry = Self::entry(line);
        if self.tags[entry] != line + 1 {
            self.tags[entry] = line + 1;
            self.lines[entry].0.fill(0);
        }
        Some(Spot { entry, offset })
    }

    /// What is remembered there, `size` bytes.
    #[inline(always)]
    pub(crate) fn get(&self, spot: Spot, size: u8) -> u64 {
        let bytes = &self.lines[spot.entry % LINES].0;
        // Exactly as wide as what was stored: the processor hands no narrower store on to a wider load.
        macro_rules! load {
            ($type:ty) => {
                match bytes[spot.offset % LINE..].first_chunk() {
                    Some(&bytes) => <$type>::from_le_bytes(bytes).into(),
                    None => 0,
                }
            };
        }
        match size {
            1 => load!(u8),
            2 => load!(u16),
            4 => load!(u32),
            8 => load!(u64),
            _ => {
                let mut word = [0; 8];
                let size = usize::from(size).min(8);
                word[..size].copy_from_slice(&bytes[spot.offset..spot.offset + size]);
                u64::from_le_bytes(word)
            }
        }
    }

    /// Remembers `size` bytes.
    #[inline(always)]
    pub(crate) fn set(&mut self, spot: Spot, size: u8, value: u64) {
        let bytes = &mut self.lines[spot.entry % LINES].0[spot.offset % LINE..];
        let value = value.to_le_bytes();
        macro_rules! store {
            ($size:literal) => {
                if let (Some(to), Some(from)) = (bytes.first_chunk_mut::<$size>(), value.first_chunk::<$size>()) {
                    *to = *from;
                }
            };
        }
        match size {
            1 => store!(1),
            2 => store!(2),
            4 => store!(4),
            8 => store!(8),
            _ => bytes[..usize::from(size)].copy_from_slice(&value[..usize::from(size)]),
        }
    }

    /// All of the line.
    pub(crate) fn line(&self, spot: Spot) -> &[u8; LINE] {
        &self.lines[spot.entry].0
    }

    /// Remembers all of the line.
    pub(crate) fn set_line(&mut self, spot: Spot, bytes: &[u8; LINE]) {
        self.lines[spot.entry].0 = *bytes;
    }
}

/// What a line has at the address of an access that lies in it, of `size` bytes.
pub(crate) fn line_value(line: &[u8; LINE], addr: u64, size: u8) -> u64 {
    let from = &line[addr as usize % LINE..];
    let mut word = [0; 8];
    let size = usize::from(size).min(from.len()).min(8);
    word[..size].copy_from_slice(&from[..size]);
    u64::from_le_bytes(word)
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::mask;

    fn swap(memory: &mut Memory, addr: u64, size: u8, value: u64) -> u64 {
        let spot = memory.claim(addr, size).unwrap();
        let old = memory.get(spot, size);
        memory.set(spot, size, value & mask(size));
        old
    }

    fn get(memory: &Memory, addr: u64, size: u8) -> Option<u64> {
        memory.find(addr, size).map(|spot| memory.get(spot, size))
    }

    #[test]
    fn what_was_stored_is_remembered_byte_by_byte() {
        let mut memory = Memory::new();
        assert_eq!(get(&memory, 0x1000, 8), None);
        assert_eq!(swap(&mut memory, 0x1000, 8, 0x8877_6655_4433_2211), 0);
        assert_eq!(get(&memory, 0x1002, 4), Some(0x6655_4433));
        assert_eq!(swap(&mut memory, 0x1003, 1, 0xaa), 0x44);
        assert_eq!(swap(&mut memory, 0x1001, 3, 0xbb_ccdd), 0xaa_3322);
        assert_eq!(swap(&mut memory, 0x1000, 8, 7), 0x8877_6655_bbcc_dd11);
        assert_eq!(get(&memory, 0x1006, 4), Some(0), "half of it was never seen");
        memory.forget();
        assert_eq!(get(&memory, 0x1000, 8), None);
        assert_eq!(swap(&mut memory, 0x1008, 8, 1), 0, "and no byte is left");
    }

    #[test]
    fn an_access_across_lines_is_never_remembered() {
        let mut memory = Memory::new();
        swap(&mut memory, 0x103c, 4, 1);
        swap(&mut memory, 0x1040, 4, 2);
        assert!(memory.claim(0x103e, 4).is_none() && memory.find(0x103e, 4).is_none());
        assert_eq!(get(&memory, 0x103f, 1), Some(0));
        assert!(memory.claim(u64::MAX, 8).is_none());
        swap(&mut memory, u64::MAX - 7, 8, 5);
        assert_eq!(get(&memory, u64::MAX - 7, 8), Some(5));
    }

    #[test]
    fn a_line_displaces_another() {
        let mut memory = Memory::new();
        swap(&mut memory, 0, 8, 1);
        let other = (1..)
            .map(|n| n * LINE as u64)
            .find(|addr| Memory::entry(addr / LINE as u64) == 0);
        assert_eq!(swap(&mut memory, other.unwrap(), 8, 2), 0);
        assert_eq!(get(&memory, 0, 8), None);
    }
}
