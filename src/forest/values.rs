//! Values of memory, interned.

use super::operation::{Datum, ValueId};
use hashbrown::HashMap;

/// Every value that was seen or written, once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values {
    data: Vec<Datum>,
    ids: HashMap<Datum, ValueId>,
}

impl Values {
    pub(crate) fn get(&self, id: ValueId) -> Datum {
        self.data[id.index()]
    }

    pub(crate) fn intern(&mut self, datum: Datum) -> ValueId {
        *self.ids.entry(datum).or_insert_with(|| {
            self.data.push(datum);
            ValueId(self.data.len() as u32 - 1)
        })
    }

    /// Bytes `from..from + size` of a value of `whole` bytes, as a value of their own.
    pub(crate) fn part(&mut self, of: ValueId, whole: u8, from: u8, size: u8) -> ValueId {
        if from == 0 && size == whole {
            return of;
        }
        match self.get(of) {
            Datum::Number(number) => {
                let low = number >> (8 * u32::from(from));
                let mask = u64::MAX >> (64 - 8 * u32::from(size));
                self.intern(Datum::Number(low & mask))
            }
            Datum::Address(_) => self.intern(Datum::Part { of, from, size }),
            Datum::Part { of, from: first, .. } => self.intern(Datum::Part {
                of,
                from: first + from,
                size,
            }),
        }
    }

    /// The value of consecutive pieces, each with its length in bytes; `None` if they are no value of ours together.
    pub(crate) fn join(&mut self, pieces: &[(ValueId, u8)]) -> Option<ValueId> {
        if let [(value, _)] = *pieces {
            return Some(value);
        }
        let total: u8 = pieces.iter().map(|&(_, size)| size).sum();
        let mut number = Some((0_u64, 0_u32));
        for &(value, size) in pieces {
            number = match (number, self.get(value)) {
                (Some((sum, shift)), Datum::Number(piece)) => Some((sum | piece << shift, shift + 8 * u32::from(size))),
                _ => None,
            };
        }
        if let Some((number, _)) = number {
            return Some(self.intern(Datum::Number(number)));
        }
        let Datum::Part { of, from, .. } = self.get(pieces[0].0) else {
            return None;
        };
        let mut next = from;
        for &(value, size) in pieces {
            match self.get(value) {
                Datum::Part { of: other, from, .. } if other == of && from == next => next += size,
                _ => return None,
            }
        }
        if from == 0 && total == 8 {
            return Some(of);
        }
        Some(self.intern(Datum::Part { of, from, size: total }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forest::operation::{NodeId, Place, Region};

    #[test]
    fn what_is_cut_fits_together_again() {
        let mut values = Values::default();
        let number = values.intern(Datum::Number(0x1122_3344_5566_7788));
        let place = Place {
            region: Region::Block(NodeId(3)),
            offset: 8,
        };
        let address = values.intern(Datum::Address(place));
        for whole in [number, address] {
            let (low, middle, high) = (
                values.part(whole, 8, 0, 2),
                values.part(whole, 8, 2, 1),
                values.part(whole, 8, 3, 5),
            );
            assert_eq!(values.join(&[(low, 2), (middle, 1), (high, 5)]), Some(whole));
            let two = values.join(&[(middle, 1), (high, 5)]).unwrap();
            assert_eq!(two, values.part(whole, 8, 2, 6));
            assert_eq!(values.part(two, 6, 1, 5), high);
        }
        let (low, high) = (values.part(address, 8, 0, 4), values.part(number, 8, 4, 4));
        assert_eq!(values.join(&[(low, 4), (high, 4)]), None);
        assert_eq!(values.join(&[(high, 4), (low, 4)]), None);
        let twice = values.join(&[(low, 4), (low, 4)]);
        assert_eq!(twice, None, "the same half twice is no address");
        assert_eq!(values.get(high), Datum::Number(0x1122_3344));
    }
}
