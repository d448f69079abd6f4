//! States as few bytes, since a search holds millions of them.

use super::machine::{NONE, Phase, State};
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// Every state that a search has met, once, by number.
#[derive(Default)]
pub(crate) struct States {
    bytes: Vec<u8>,
    /// Where each state's bytes end.
    ends: Vec<usize>,
    table: HashTable<u32>,
    hasher: hashbrown::DefaultHashBuilder,
    scratch: Vec<u8>,
}

impl States {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes that the states take.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<usize>() + self.table.capacity() * 5
    }

    fn get(&self, number: u32) -> &[u8] {
        let number = number as usize;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.bytes[start..self.ends[number]]
    }

    /// The number of a state, and whether it is new. `start` is the first state of the search.
    pub(crate) fn intern(&mut self, state: &State, start: &State) -> (u32, bool) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        pack(state, start, &mut scratch);
        let hash = self.hasher.hash_one(&scratch);
        let found = self.table.find(hash, |&number| self.get(number) == scratch).copied();
        let result = if let Some(number) = found {
            (number, false)
        } else {
            let number = self.ends.len() as u32;
            self.bytes.extend_from_slice(&scratch);
            self.ends.push(self.bytes.len());
            let States {
                bytes,
                ends,
                table,
                hasher,
                ..
            } = self;
            table.insert_unique(hash, number, |&number| {
                let number = number as usize;
                let from = if number == 0 { 0 } else { ends[number - 1] };
                hasher.hash_one(&bytes[from..ends[number]])
            });
            (number, true)
        };
        self.scratch = scratch;
        result
    }

    /// A state by its number, into `state`.
    pub(crate) fn unpack(&self, number: u32, start: &State, state: &mut State) {
        state.clone_from(start);
        let mut words = Words(self.get(number));
        for (slot, at) in state.at.iter_mut().enumerate() {
            *at = words.next().wrapping_sub(1);
            if *at != NONE {
                state.phase[slot] = Phase::of_code(words.next());
            }
        }
        let mut cell = 0;
        loop {
            let gap = words.next();
            if gap == 0 {
                break;
            }
            cell += gap as usize;
            state.cells[cell - 1] = words.next();
        }
        for (owner, count) in state.owner.iter_mut().zip(&mut state.count) {
            let holder = words.next();
            if holder % 2 == 1 {
                *owner = (holder / 2, words.next());
            } else {
                *count = holder / 2;
            }
        }
        for _ in 0..words.next() {
            state.readers.push((words.next(), words.next(), words.next()));
        }
    }
}

/// The words of a state: threads, the cells that differ from the start, objects, readers.
fn pack(state: &State, start: &State, out: &mut Vec<u8>) {
    for (&at, phase) in state.at.iter().zip(&state.phase) {
        push(out, at.wrapping_add(1));
        if at != NONE {
            push(out, phase.code());
        }
    }
    let mut last = 0;
    for (cell, (now, then)) in state.cells.iter().zip(&start.cells).enumerate() {
        if now != then {
            push(out, (cell + 1 - last) as u32);
            push(out, *now);
            last = cell + 1;
        }
    }
    push(out, 0);
    // An object is a lock or has a count.
    for (&(owner, depth), &count) in state.owner.iter().zip(&state.count) {
        if owner == NONE {
            push(out, count * 2);
        } else {
            push(out, owner * 2 + 1);
            push(out, depth);
        }
    }
    push(out, state.readers.len() as u32);
    for &(lock, thread, depth) in &state.readers {
        push(out, lock);
        push(out, thread);
        push(out, depth);
    }
}

/// Seven bits a byte, the lowest first.
fn push(out: &mut Vec<u8>, mut word: u32) {
    while word >= 0x80 {
        out.push(word as u8 | 0x80);
        word >>= 7;
    }
    out.push(word as u8);
}

struct Words<'b>(&'b [u8]);

impl Words<'_> {
    fn next(&mut self) -> u32 {
        let (mut word, mut shift) = (0, 0);
        loop {
            let (&byte, rest) = self.0.split_first().expect("a state is packed whole");
            self.0 = rest;
            word |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return word;
            }
            shift += 7;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_comes_back_as_it_was() {
        let start = State {
            at: vec![0, NONE, NONE],
            phase: vec![Phase::Free; 3],
            cells: vec![0, 5, 300],
            owner: vec![(NONE, 0); 3],
            readers: Vec::new(),
            count: vec![0, 2, 0],
        };
        let state = State {
            at: vec![70_000, NONE, 0],
            phase: vec![Phase::Woken(2), Phase::Free, Phase::Asleep(1)],
            cells: vec![1 << 31, 5, 0],
            owner: vec![(NONE, 0), (NONE, 0), (2, 3)],
            readers: vec![(0, 2, 1), (0, 7, 200)],
            count: vec![0, 129, 0],
        };
        let mut states = States::default();
        assert_eq!(states.intern(&start, &start), (0, true));
        assert_eq!(states.intern(&state, &start), (1, true));
        assert_eq!(states.intern(&start, &start), (0, false));
        assert_eq!(states.intern(&state, &start), (1, false));
        let mut back = start.clone();
        states.unpack(1, &start, &mut back);
        assert_eq!(back, state);
        states.unpack(0, &start, &mut back);
        assert_eq!(back, start);
        assert_eq!(states.len(), 2);
    }
}
