//! Where in the program events are: few places, of many events.

use columns::{Column, Cursor};
use hashbrown::HashMap;
use trace_format::{CodePosition, EventId, StackId};

/// Places that are found without a look at the table of all.
const NEAR: usize = 1 << 10;

/// A column of code positions with call stacks.
#[derive(Clone, Debug, Default)]
pub(super) struct CodePlaces {
    distinct: Vec<(CodePosition, StackId)>,
    numbers: HashMap<(CodePosition, StackId), u32>,
    /// By some bits of a place, the number of the last one that has them.
    near: Vec<u32>,
    of_event: Column,
}

impl CodePlaces {
    pub(super) fn push(&mut self, pc: CodePosition, stack: StackId) {
        if self.near.is_empty() {
            self.near = vec![0; NEAR];
        }
        let mixed = pc ^ u64::from(stack.0) << u32::BITS;
        let hash = mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - NEAR.ilog2());
        let near = &mut self.near[hash as usize];
        if self.distinct.get(*near as usize) != Some(&(pc, stack)) {
            *near = *self.numbers.entry((pc, stack)).or_insert_with(|| {
                self.distinct.push((pc, stack));
                self.distinct.len() as u32 - 1
            });
        }
        self.of_event.push(*near);
    }

    /// No event follows.
    pub(super) fn end(&mut self) {
        self.numbers = HashMap::new();
        self.near = Vec::new();
        self.of_event.end();
    }

    /// For walks over most events.
    pub(super) fn walk(&self) -> CodeWalk<'_> {
        CodeWalk {
            distinct: &self.distinct,
            numbers: self.of_event.cursor(),
        }
    }

    #[inline]
    pub(super) fn get(&self, event: usize) -> (CodePosition, StackId) {
        self.distinct[self.of_event.at(event) as usize]
    }
}

/// Finds the code positions of events, one after the other.
pub(crate) struct CodeWalk<'t> {
    distinct: &'t [(CodePosition, StackId)],
    numbers: Cursor<'t>,
}

impl CodeWalk<'_> {
    /// That of an event.
    #[inline]
    pub(crate) fn pc(&mut self, event: EventId) -> CodePosition {
        self.distinct[self.numbers.at(event.index()) as usize].0
    }
}
