//! Memory: what each byte holds.

use crate::recording::byte_of;
use hashbrown::HashMap;
use std::borrow::Cow;
use std::ops::Range;

/// The contents of all bytes.
#[derive(Clone, Debug)]
pub(crate) struct Memory<'a> {
    contents: Cow<'a, Contents>,
    /// What differs from `contents`, if these belong to another state.
    changed: HashMap<usize, Option<u8>>,
}

/// By byte: its value, and whether that is known. The trace may not show it, and a free leaves none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    values: Vec<u8>,
    known: Vec<bool>,
}

impl Contents {
    /// So many bytes, of which nothing is known.
    pub(crate) fn unknown(count: usize) -> Contents {
        Contents {
            values: vec![0; count],
            known: vec![false; count],
        }
    }

    pub(crate) fn set(&mut self, byte: usize, value: u8) {
        (self.values[byte], self.known[byte]) = (value, true);
    }

    pub(crate) fn get(&self, byte: usize) -> Option<u8> {
        self.known[byte].then_some(self.values[byte])
    }

    /// Whether these bytes, of which at most 8 are asked for at once, are known to hold a value.
    pub(crate) fn hold(&self, bytes: Range<usize>, value: u64) -> bool {
        // Slices are compared, and copied, as a whole: nearly all that a check does is done here.
        let value = &value.to_le_bytes()[..bytes.len()];
        self.values[bytes.clone()] == *value && self.known[bytes] == [true; 8][..value.len()]
    }

    /// Stores a value; `None` leaves nothing that is known.
    pub(crate) fn store(&mut self, bytes: Range<usize>, value: Option<u64>) {
        self.known[bytes.clone()].fill(value.is_some());
        if let Some(value) = value {
            let value = value.to_le_bytes();
            let (low, rest) = self.values[bytes.clone()].split_at_mut(bytes.len().min(value.len()));
            low.copy_from_slice(&value[..low.len()]);
            rest.fill(0);
        }
    }
}

impl<'a> Memory<'a> {
    pub(crate) fn new(initial: &Contents) -> Memory<'a> {
        Memory {
            contents: Cow::Owned(initial.clone()),
            changed: HashMap::new(),
        }
    }

    /// The same contents, to be changed without a copy of them all.
    pub(crate) fn branch(&self) -> Memory<'_> {
        Memory {
            contents: Cow::Borrowed(&self.contents),
            changed: self.changed.clone(),
        }
    }

    fn get(&self, byte: usize) -> Option<u8> {
        let changed = self.changed.get(&byte).copied();
        changed.unwrap_or_else(|| self.contents.get(byte))
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
            Cow::Borrowed(_) => {
                let contents = |(place, byte)| (byte, value.map(|value| byte_of(value, place)));
                self.changed.extend(bytes.enumerate().map(contents));
            }
        }
    }
}
