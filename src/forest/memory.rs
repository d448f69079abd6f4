//! What the bytes of one run hold, in names that hold across runs.

use super::operation::{Operation, Place, Region, Span, TreeId, ValueId};
use super::values::Values;
use super::{Datum, Forest, Reservation, of_trace};
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeSet;

/// What a byte holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Byte {
    /// This.
    Plain(u8),
    /// This byte of a value that is no number.
    Part(ValueId, u8),
}

/// The memory of a run while it is added to the forest.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    written: HashMap<Place, Byte>,
    /// What bytes hold in this run in place of what earlier runs wrote there after the same history.
    otherwise: HashMap<Place, Byte>,
    /// By whom.
    freed: HashMap<Region, u32>,
}

fn place(span: Span, index: u8) -> Place {
    Place {
        offset: span.at.offset.wrapping_add(u64::from(index)),
        ..span.at
    }
}

pub(super) fn byte(values: &Values, value: ValueId, index: u8) -> Byte {
    match values.get(value) {
        Datum::Number(number) => Byte::Plain((number >> (8 * u32::from(index))) as u8),
        Datum::Address(_) => Byte::Part(value, index),
        Datum::Part { of, from, .. } => Byte::Part(of, from + index),
    }
}

/// Bytes as one value.
pub(super) fn joined(values: &mut Values, bytes: &[Byte]) -> Option<ValueId> {
    let piece = |byte: &Byte| match *byte {
        Byte::Plain(byte) => Datum::Number(u64::from(byte)),
        Byte::Part(of, from) => Datum::Part { of, from, size: 1 },
    };
    let pieces: Vec<(ValueId, u8)> = bytes.iter().map(|byte| (values.intern(piece(byte)), 1)).collect();
    values.join(&pieces)
}

impl Memory {
    pub(crate) fn write(&mut self, values: &Values, span: Span, value: ValueId) {
        self.write_for(values, span, value, value);
    }

    /// A write of `value`, in place of which this run wrote `wrote`.
    pub(crate) fn write_for(&mut self, values: &Values, span: Span, value: ValueId, wrote: ValueId) {
        for index in 0..span.size {
            let (at, meant, held) = (
                place(span, index),
                byte(values, value, index),
                byte(values, wrote, index),
            );
            self.written.insert(at, meant);
            if meant == held {
                self.otherwise.remove(&at);
            } else {
                self.otherwise.insert(at, held);
            }
        }
    }

    /// Which bytes of what a read sees were left there by what was there before: nobody has written them or, on a stack,
    /// where calls come and go, they are not what was written last.
    pub(crate) fn left_there(&self, values: &Values, span: Span, seen: ValueId, on_stack: bool) -> Vec<u8> {
        let is_left = |&index: &u8| match self.written.get(&place(span, index)) {
            None => true,
            Some(&written) => on_stack && written != byte(values, seen, index),
        };
        (0..span.size).filter(is_left).collect()
    }

    /// What a read would have seen in earlier runs, if it sees here what was written in place of that.
    pub(crate) fn as_in_earlier_runs(&self, values: &mut Values, span: Span, seen: ValueId) -> ValueId {
        let places = (0..span.size).map(|index| (index, place(span, index)));
        if self.otherwise.is_empty() || !places.clone().any(|(_, at)| self.otherwise.contains_key(&at)) {
            return seen;
        }
        let mut meant = Vec::new();
        for (index, at) in places {
            let Some(&written) = self.written.get(&at) else {
                return seen;
            };
            if *self.otherwise.get(&at).unwrap_or(&written) != byte(values, seen, index) {
                return seen;
            }
            meant.push(written);
        }
        joined(values, &meant).unwrap_or(seen)
    }

    pub(crate) fn free(&mut self, region: Region, thread: u32) {
        self.freed.insert(region, thread);
    }

    /// Whether another thread than this one has freed it.
    pub(crate) fn is_freed_by_another(&self, region: Region, thread: u32) -> bool {
        self.freed.get(&region).is_some_and(|&by| by != thread)
    }
}

impl Forest {
    /// A run saw this value: memory that no event of the run wrote held it from the start. Whether some of it lies on a
    /// thread's stack, and is not what was written there.
    pub(super) fn saw(&mut self, memory: &Memory, span: Span, value: ValueId, position: u64) -> bool {
        if memory.freed.contains_key(&span.at.region) {
            self.reservations.insert(Reservation::UndefinedRead { position });
            return false;
        }
        let mut is_own = false;
        for index in 0..span.size {
            let (at, seen) = (place(span, index), byte(&self.values, value, index));
            let stain = match memory.written.get(&at) {
                Some(&written) if written == seen => continue,
                Some(_) => Reservation::External { position },
                None if *self.initial.entry(at).or_insert(seen) != seen => Reservation::InitialValue { position },
                None => continue,
            };
            if self.is_own(at.region) {
                self.stains.insert((at, stain));
                is_own = true;
            } else {
                self.reservations.insert(stain);
            }
        }
        is_own
    }

    /// Whether a block is a thread's stack.
    pub(crate) fn is_stack(&self, region: Region) -> bool {
        match region {
            Region::Static => false,
            Region::Known(_, ordinal) => of_trace::is_stack(ordinal),
            // The first thread's is allocated right after its start.
            Region::Block(alloc) => {
                let node = self.node(alloc);
                node.tree == Forest::MAIN && node.depth == 1
            }
        }
    }

    /// Whether it is a thread's stack, or lies beside one.
    fn is_own(&self, region: Region) -> bool {
        matches!(region, Region::Known(..)) || self.is_stack(region)
    }

    /// Reservations about memory that unrecorded code changed, such as a thread's `errno`.
    ///
    /// On a thread's own stack, and beside it, where no other thread accesses it and what was seen followed from the
    /// history each time, what the code leaves there follows from the thread's history like everything else that it
    /// does. That is no reason for a reservation.
    pub(crate) fn stained(&self) -> BTreeSet<Reservation> {
        let stained: BTreeSet<Place> = self.stains.iter().map(|&(at, _)| at).collect();
        let mut trees: HashMap<Place, TreeId> = HashMap::new();
        let mut open: HashSet<Place> = HashSet::new();
        for node in self.nodes() {
            let Some(span) = node.operation().and_then(Operation::span) else {
                continue;
            };
            if !self.is_own(span.at.region) {
                continue;
            }
            for at in (0..span.size).map(|index| place(span, index)) {
                let is_stained = stained.contains(&at);
                let others = is_stained && *trees.entry(at).or_insert(node.tree) != node.tree;
                if others || is_stained && node.edges.len() > 1 {
                    open.insert(at);
                }
            }
        }
        let stains = self.stains.iter().filter(|(at, _)| open.contains(at));
        stains.map(|(_, stain)| stain.clone()).collect()
    }

    /// What bytes held at first, as one value; `None` if no run has shown all of them.
    pub(crate) fn initial(&self, values: &mut Values, at: Place, size: u8) -> Option<ValueId> {
        let span = Span { at, size };
        let mut pieces = Vec::new();
        for index in 0..size {
            pieces.push(*self.initial.get(&place(span, index))?);
        }
        joined(values, &pieces)
    }

    /// A copy of the values, for whoever cuts them further.
    pub(crate) fn values(&self) -> Values {
        self.values.clone()
    }

    /// Takes back such a copy, which knows more values.
    pub(crate) fn adopt_values(&mut self, values: Values) {
        self.values = values;
    }
}
