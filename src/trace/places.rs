//! Where in the program events are: few places, of many events.

use columns::Column;
use hashbrown::HashMap;
use trace_format::{CodePosition, StackId};

/// A column of code positions with call stacks.
#[derive(Clone, Debug, Default)]
pub(super) struct CodePlaces {
    distinct: Vec<(CodePosition, StackId)>,
    numbers: HashMap<(CodePosition, StackId), u32>,
    of_event: Column,
}

impl CodePlaces {
    pub(super) fn push(&mut self, pc: CodePosition, stack: StackId) {
        let number = *self.numbers.entry((pc, stack)).or_insert_with(|| {
            self.distinct.push((pc, stack));
            self.distinct.len() as u32 - 1
        });
        self.of_event.push(number);
    }

    /// No event follows.
    pub(super) fn end(&mut self) {
        self.numbers = HashMap::new();
        self.of_event.end();
    }

    #[inline]
    pub(super) fn get(&self, event: usize) -> (CodePosition, StackId) {
        self.distinct[self.of_event.at(event) as usize]
    }
}
