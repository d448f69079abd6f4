//! What memory holds, as far as the events of the block have shown it: bytes that are found by their address, as in a
//! processor's cache, but without asking whose they are. Addresses that fall on the same bytes make each other's
//! predictions wrong, which costs an item; asking would cost something at each event.

/// Bytes of a line: what lies in one, lies together here.
pub const LINE: usize = 64;
/// Lines that are remembered; a power of two.
const LINES: usize = 4096;
/// Room behind the last line for an access that reaches over its end.
const BEYOND: usize = 8;

/// Remembered memory; zeros at first, as memory mostly is.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Memory {
    bytes: [u8; LINES * LINE + BEYOND],
}

/// Where an access lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot(usize);

impl Spot {
    /// That of an address. Stacks of threads and columns of matrices lie at multiples of powers of two from one
    /// another, so higher bits have a say.
    #[inline(always)]
    pub(crate) fn of(addr: u64) -> Spot {
        Spot((addr ^ (addr >> 9 & !(LINE as u64 - 1))) as usize % (LINES * LINE))
    }
}

impl Memory {
    /// Nothing is remembered; all of it is zeros.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            bytes: [0; LINES * LINE + BEYOND],
        }
    }

    pub(crate) fn forget(&mut self) {
        self.bytes.fill(0);
    }

    /// What is remembered there, `size` bytes.
    #[inline(always)]
    pub(crate) fn get(&self, spot: Spot, size: u8) -> u64 {
        let bytes = &self.bytes[spot.0 % (LINES * LINE)..];
        // Exactly as wide as what was stored: the processor hands no narrower store on to a wider load.
        macro_rules! load {
            ($type:ty) => {
                match bytes.first_chunk() {
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
                word[..size].copy_from_slice(&bytes[..size]);
                u64::from_le_bytes(word)
            }
        }
    }

    /// Remembers `size` bytes.
    #[inline(always)]
    pub(crate) fn set(&mut self, spot: Spot, size: u8, value: u64) {
        let bytes = &mut self.bytes[spot.0 % (LINES * LINE)..];
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

    /// The line that a spot is in.
    pub(crate) fn line(&self, spot: Spot) -> &[u8] {
        &self.bytes[spot.0 / LINE * LINE..][..LINE]
    }

    /// Remembers all of the line.
    pub(crate) fn set_line(&mut self, spot: Spot, bytes: &[u8; LINE]) {
        self.bytes[spot.0 / LINE * LINE..][..LINE].copy_from_slice(bytes);
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
        let old = memory.get(Spot::of(addr), size);
        memory.set(Spot::of(addr), size, value & mask(size));
        old
    }

    fn get(memory: &Memory, addr: u64, size: u8) -> u64 {
        memory.get(Spot::of(addr), size)
    }

    #[test]
    fn what_was_stored_is_remembered_byte_by_byte() {
        let mut memory = Memory::new();
        assert_eq!(get(&memory, 0x1000, 8), 0);
        assert_eq!(swap(&mut memory, 0x1000, 8, 0x8877_6655_4433_2211), 0);
        assert_eq!(get(&memory, 0x1002, 4), 0x6655_4433);
        assert_eq!(swap(&mut memory, 0x1003, 1, 0xaa), 0x44);
        assert_eq!(swap(&mut memory, 0x1001, 3, 0xbb_ccdd), 0xaa_3322);
        assert_eq!(swap(&mut memory, 0x1000, 8, 7), 0x8877_6655_bbcc_dd11);
        memory.forget();
        assert_eq!(get(&memory, 0x1000, 8), 0);
    }

    #[test]
    fn an_access_across_lines_has_its_place_as_well() {
        let mut memory = Memory::new();
        let last = (0..)
            .map(|line| line * LINE as u64 + 60)
            .find(|&addr| Spot::of(addr).0 == LINES * LINE - 4);
        for addr in [0x103c, last.unwrap(), u64::MAX - 3] {
            assert_eq!(swap(&mut memory, addr, 8, 0x8877_6655_4433_2211), 0);
            assert_eq!(get(&memory, addr, 8), 0x8877_6655_4433_2211);
        }
    }

    #[test]
    fn a_line_keeps_together_and_displaces_another() {
        let mut memory = Memory::new();
        let addr = 0x7ffc_1234_5640;
        memory.set_line(Spot::of(addr + 8), &core::array::from_fn(|at| at as u8));
        assert!((0..64).all(|at| get(&memory, addr + at, 1) == at));
        assert_eq!(memory.line(Spot::of(addr + 63))[63], 63);
        let other = (1..)
            .map(|n| n * LINE as u64)
            .find(|&other| Spot::of(other).0 == Spot::of(addr).0);
        swap(&mut memory, other.unwrap(), 8, 2);
        assert_eq!(get(&memory, addr, 8), 2);
    }
}
