//! What threads show of themselves, of all runs.

use hashbrown::HashMap;
use serde::{Deserialize, Serialize};
use trace_format::ThreadId;

/// As many different ones are kept at most: each takes up to a kilobyte.
const MOST: usize = 100_000;

/// What a thread showed of itself before its next event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// Whose it is.
    pub thread: ThreadId,
    /// The number of events before.
    pub before: u64,
    /// Where the thread goes on, how much of its stack there is, its registers, the nearest words of its stack.
    pub words: Vec<u64>,
}

/// Each different one once, and in it each different word by a number.
#[derive(Clone, Debug, Default)]
pub(super) struct Pictures {
    all: Vec<Box<[u32]>>,
    numbers: HashMap<Box<[u32]>, u32>,
    words: HashMap<u64, u32>,
}

impl Pictures {
    /// The number of these words; `None` if there are too many already.
    pub(super) fn add(&mut self, words: &[u64]) -> Option<u32> {
        let numbered: Box<[u32]> = (words.iter())
            .map(|&word| {
                let next = self.words.len() as u32;
                *self.words.entry(word).or_insert(next)
            })
            .collect();
        if let Some(&known) = self.numbers.get(&numbered) {
            return Some(known);
        }
        if self.all.len() >= MOST {
            return None;
        }
        let number = self.all.len() as u32;
        self.all.push(numbered.clone());
        self.numbers.insert(numbered, number);
        Some(number)
    }

    pub(super) fn get(&self, number: u32) -> &[u32] {
        &self.all[number as usize]
    }
}
