//! A trace as the steps of a plan, in few bytes: a run has millions of steps, but no more different ones, their values
//! aside, than places in the code for each thread.

use hashbrown::HashMap;
use recorder_ring::plan::Words;

/// Different steps that were met lately: a power of two.
const RECENT: usize = 1 << 12;

/// Steps, one after the other.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// The first words of steps, each once.
    heads: Vec<u64>,
    /// Which of them each step has, and whether it has a value, in the lowest bit.
    rows: Vec<u32>,
    /// Values but 0, one after the other.
    values: Vec<u64>,
    known: HashMap<u64, u32>,
    /// Some of `known`, where one look finds them.
    recent: Vec<(u64, u32)>,
}

impl Kept {
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn push(&mut self, [head, value]: Words) {
        if self.recent.is_empty() {
            self.recent = vec![(u64::MAX, 0); RECENT];
        }
        // A head's position, and its thread.
        let slot = &mut self.recent[((head >> 8) ^ (head >> 16)) as usize % RECENT];
        if slot.0 != head {
            let next = self.heads.len() as u32;
            let row = *self.known.entry(head).or_insert(next);
            if row == next {
                self.heads.push(head);
            }
            *slot = (head, row);
        }
        self.rows.push(slot.1 << 1 | u32::from(value != 0));
        if value != 0 {
            self.values.push(value);
        }
    }

    /// All of them, in their order.
    pub(super) fn steps(&self) -> impl Iterator<Item = Words> + '_ {
        let mut values = self.values.iter();
        self.rows.iter().map(move |row| {
            let value = if row & 1 == 0 { 0 } else { *values.next().unwrap_or(&0) };
            [self.heads[(row >> 1) as usize], value]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_come_back_as_they_were_kept() {
        let mut random = fastrand::Rng::with_seed(7);
        // Far more heads than are known lately, of which many share a slot.
        let steps: Vec<Words> = (0..200_000)
            .map(|_| {
                [
                    random.u64(..30_000) << random.u32(..20),
                    random.u64(..3) * random.u64(..),
                ]
            })
            .collect();
        let mut kept = Kept::default();
        steps.iter().for_each(|&step| kept.push(step));
        assert_eq!(kept.len(), steps.len());
        assert!(kept.steps().eq(steps.iter().copied()));
    }
}
