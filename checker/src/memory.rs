//! Memory: what each byte holds.

use crate::bits::Bits;
use crate::bytes::number as number_of;
use crate::recording::byte_of;
use hashbrown::HashMap;
use std::borrow::Cow;
use std::ops::Range;

/// The contents of all bytes.
#[derive(Clone, Debug)]
pub(crate) struct Memory<'a> {
    contents: Cow<'a, Contents>,
    /// The pieces of which something was changed, if `contents` belong to another state: by number, where each stands.
    changed: HashMap<u32, u32>,
    pieces: Vec<Piece>,
}

/// Bytes of a piece. Neighbors are often changed together: a free of a large block changes all of it.
const PIECE: usize = u64::BITS as usize;

/// A piece of memory: its bytes, and a bit for each that is known.
#[derive(Clone, Copy, Debug)]
struct Piece {
    values: [u8; PIECE],
    known: u64,
}

impl Piece {
    /// The piece of this number.
    fn of(contents: &Contents, number: usize) -> Piece {
        let bytes = number * PIECE..contents.values.len().min((number + 1) * PIECE);
        let mut piece = Piece {
            values: [0; PIECE],
            known: contents.known.word(number),
        };
        piece.values[..bytes.len()].copy_from_slice(&contents.values[bytes]);
        piece
    }

    fn get(&self, at: usize) -> Option<u8> {
        (self.known >> at & 1 != 0).then_some(self.values[at])
    }

    fn set(&mut self, at: usize, value: Option<u8>) {
        self.known = self.known & !(1 << at) | u64::from(value.is_some()) << at;
        self.values[at] = value.unwrap_or(0);
    }
}

/// By byte: its value, and whether that is known. The trace may not show it, and a free leaves none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    values: Vec<u8>,
    known: Bits,
}

impl Contents {
    /// So many bytes, of which nothing is known.
    pub(crate) fn unknown(count: usize) -> Contents {
        Contents {
            values: vec![0; count],
            known: Bits::none_of(count),
        }
    }

    pub(crate) fn get(&self, byte: usize) -> Option<u8> {
        self.known.has(byte).then_some(self.values[byte])
    }

    /// Whether these bytes, of which at most 8 are asked for at once, are known to hold a value.
    pub(crate) fn hold(&self, bytes: Range<usize>, value: u64) -> bool {
        // Slices are compared, and copied, as a whole: nearly all that a check does is done here.
        let value = &value.to_le_bytes()[..bytes.len()];
        self.values[bytes.clone()] == *value && self.known.all_of(bytes)
    }

    /// Stores a value; `None` leaves nothing that is known.
    pub(crate) fn store(&mut self, bytes: Range<usize>, value: Option<u64>) {
        self.known.put(bytes.clone(), value.is_some());
        if let Some(value) = value {
            let (there, value) = (&mut self.values[bytes], value.to_le_bytes());
            // Most accesses have one of two sizes, for which no function is called.
            if let Ok(whole) = <&mut [u8; 8]>::try_from(&mut *there) {
                *whole = value;
            } else if let Ok(half) = <&mut [u8; 4]>::try_from(&mut *there) {
                half.copy_from_slice(&value[..4]);
            } else {
                let (low, rest) = there.split_at_mut(there.len().min(value.len()));
                low.copy_from_slice(&value[..low.len()]);
                rest.fill(0);
            }
        }
    }
}

/// What each byte holds at first, if that is known, in little memory.
#[derive(Debug)]
pub(crate) struct Initial {
    values: Vec<u8>,
    known: Bits,
}

impl Initial {
    /// Of so many bytes, of which nothing is known yet.
    pub(crate) fn unknown(count: usize) -> Initial {
        Initial {
            values: vec![0; count],
            known: Bits::none_of(count),
        }
    }

    pub(crate) fn set(&mut self, byte: usize, value: u8) {
        self.values[byte] = value;
        self.known.set(byte);
    }

    /// Memory with these.
    pub(crate) fn contents(&self) -> Contents {
        Contents {
            values: self.values.clone(),
            known: self.known.clone(),
        }
    }
}

impl<'a> Memory<'a> {
    pub(crate) fn new(contents: Contents) -> Memory<'a> {
        Memory {
            contents: Cow::Owned(contents),
            changed: HashMap::new(),
            pieces: Vec::new(),
        }
    }

    /// The same contents, to be changed without a copy of them all.
    pub(crate) fn branch(&self) -> Memory<'_> {
        Memory {
            contents: Cow::Borrowed(&self.contents),
            changed: self.changed.clone(),
            pieces: self.pieces.clone(),
        }
    }

    fn get(&self, byte: usize) -> Option<u8> {
        match self.changed.get(&number_of(byte / PIECE)) {
            Some(&at) => self.pieces[at as usize].get(byte % PIECE),
            None => self.contents.get(byte),
        }
    }

    /// Whether memory holds a value, of at most 8 bytes.
    pub(crate) fn holds(&self, bytes: Range<usize>, value: u64) -> bool {
        if self.changed.is_empty() && bytes.len() <= 8 {
            return self.contents.hold(bytes, value);
        }
        self.differs(bytes, value).next().is_none()
    }

    /// The bytes in which memory holds something else than `value` does.
    pub(crate) fn differs(&self, bytes: Range<usize>, value: u64) -> impl Iterator<Item = usize> {
        let places = bytes.enumerate();
        let differing = places.filter(move |&(place, byte)| self.get(byte) != Some(byte_of(value, place)));
        differing.map(|(_, byte)| byte)
    }

    /// The little-endian number in these bytes; `None` if some byte of it is not known.
    pub(crate) fn value(&self, bytes: Range<usize>) -> Option<u64> {
        let mut bytes = bytes.rev();
        bytes.try_fold(0, |value, byte| Some(value << 8 | u64::from(self.get(byte)?)))
    }

    /// Stores a value; `None` leaves nothing that is known.
    pub(crate) fn store(&mut self, bytes: Range<usize>, value: Option<u64>) {
        match &mut self.contents {
            Cow::Owned(contents) => contents.store(bytes, value),
            Cow::Borrowed(contents) => {
                let mut bytes = bytes.enumerate().peekable();
                while let Some(&(_, first)) = bytes.peek() {
                    let number = first / PIECE;
                    let at = *self.changed.entry(number_of(number)).or_insert_with(|| {
                        self.pieces.push(Piece::of(contents, number));
                        number_of(self.pieces.len() - 1)
                    });
                    let piece = &mut self.pieces[at as usize];
                    while let Some((place, byte)) = bytes.next_if(|&(_, byte)| byte / PIECE == number) {
                        piece.set(byte % PIECE, value.map(|value| byte_of(value, place)));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Contents, Initial, Memory};

    #[test]
    fn a_branch_holds_what_memory_of_its_own_would() {
        const BYTES: usize = 300;
        let mut number = 1_u64;
        let mut below = |bound: usize| {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (number >> 33) as usize % bound
        };
        let mut whole = Memory::new(Contents::unknown(BYTES));
        for _ in 0..40 {
            let mut other = whole.clone();
            let mut branch = whole.branch();
            for _ in 0..60 {
                // Accesses of a few bytes, and now and then the free of a block.
                let len = if below(10) == 0 { below(200) } else { below(9) };
                let first = below(BYTES - len);
                let value = (len <= 8 && below(4) > 0).then(|| (below(1 << 30) as u64).wrapping_mul(0x0102_0408_1122));
                other.store(first..first + len, value);
                branch.store(first..first + len, value);
                assert!((0..BYTES).all(|byte| branch.get(byte) == other.get(byte)));
                let at = below(BYTES - 8);
                assert_eq!(branch.value(at..at + 8), other.value(at..at + 8));
                let value = other.value(at..at + 8).unwrap_or(0);
                assert_eq!(branch.holds(at..at + 8, value), other.holds(at..at + 8, value));
            }
            let again = branch.branch();
            assert!((0..BYTES).all(|byte| again.get(byte) == other.get(byte)));
            let (first, value) = (below(BYTES - 8), below(1 << 30) as u64);
            whole.store(first..first + 8, Some(value));
        }
    }

    #[test]
    fn what_is_not_known_at_first_is_not_known_in_memory() {
        let mut initial = Initial::unknown(130);
        [(0, 0), (63, 1), (64, 2), (129, 255)]
            .into_iter()
            .for_each(|(byte, value)| initial.set(byte, value));
        let contents = initial.contents();
        let known: Vec<_> = (0..130).filter_map(|byte| Some((byte, contents.get(byte)?))).collect();
        assert_eq!(known, [(0, 0), (63, 1), (64, 2), (129, 255)]);
    }
}
