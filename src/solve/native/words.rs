//! What follows from the values of [atomic words](crate::prune::Words) that several threads change step by step.

use super::beginnings::Beginning;
use super::search::Search;
use super::state::{Clocks, Contradiction, State};
use crate::prune::{Done, Since, WordSteps};
use crate::trace::{CellId, EventId, ThreadId};
use hashbrown::HashMap;
use std::rc::Rc;

/// What threads may have done to a word when another one reads it, as far as its reads have been looked at.
type Readers = HashMap<(u32, ThreadId), Vec<Done>>;

impl Search<'_, '_> {
    /// Adds what follows from what is read of words.
    pub(super) fn words(&self, state: &mut State, clocks: &Clocks) -> Result<bool, Contradiction> {
        let mut readers = Readers::new();
        let mut new = false;
        for (read, number) in clocks.numbered() {
            for (_, seen) in self.window.reads(number) {
                if let Some(number) = seen.word {
                    let read = (read, seen.cell, seen.value);
                    new |= self.read_of_word(state, clocks, &mut readers, read, number)?;
                }
            }
        }
        Ok(new)
    }

    fn read_of_word(
        &self,
        state: &mut State,
        clocks: &Clocks,
        readers: &mut Readers,
        (read, cell, value): (EventId, CellId, u64),
        number: u32,
    ) -> Result<bool, Contradiction> {
        let (native, trace) = (self.native, self.native.trace);
        let word = native.words().get(number);
        if word.begin.is_some_and(|begin| !self.known(clocks, begin, read)) {
            return Ok(false);
        }
        let reader = trace.thread(read);
        let beginning = self.beginning(cell, number);
        let others = readers.entry((number, reader)).or_insert_with(|| {
            let others = (beginning.open.iter()).filter(|&&by| word.steps[by].thread != reader);
            others
                .map(|&by| Done {
                    by,
                    least: beginning.begun[by],
                    most: beginning.begun[by],
                })
                .collect()
        });
        let row = clocks.row(&self.window, read);
        let needed = native.needs.relation();
        let mut looks = others.len();
        for done in &mut *others {
            let steps = &word.steps[done.by];
            let known = row.map_or(0, |row| row[steps.thread.index()]);
            done.least = steps.before(known.max(needed.count(read, steps.thread)), done.least);
            done.most = done.most.max(done.least);
            // What comes behind an earlier read of the thread may come before this one, but not the other way round.
            while let Some(write) = steps.write(done.most)
                && self.possible(write)
                && !self.known(clocks, read, write)
            {
                done.most += 1;
                looks += 1;
            }
        }
        if others.iter().all(|done| done.least == done.most) {
            self.spend(looks);
            return Ok(false);
        }
        if !self.spend(looks + others.len() * native.words().parts(number)) {
            return Ok(false);
        }
        let since = beginning.value.map(|value| Since {
            value,
            begun: &beginning.begun,
        });
        let own = (0..word.steps.len()).find(|&by| word.steps[by].thread == reader);
        let own = own.map(|by| (by, word.steps[by].before(trace.place(read), 0)));
        let mut left = others.clone();
        word.narrow(value, own, &mut left, since.as_ref())
            .ok_or(Contradiction)?;
        let mut new = false;
        for (known, done) in others.iter_mut().zip(&left) {
            let steps = &word.steps[done.by];
            if done.least > known.least
                && let Some(write) = steps.write(done.least - 1)
            {
                known.least = done.least;
                new |= self.put(state, clocks, write, read)?;
            }
            if done.most < known.most
                && let Some(write) = steps.write(done.most)
                && self.inside(state, write)
            {
                new |= self.put(state, clocks, read, write)?;
            }
        }
        Ok(new)
    }

    /// Where the sums of a cell's word begin.
    fn beginning(&self, cell: CellId, number: u32) -> Rc<Beginning> {
        let find = || {
            let (native, trace) = (self.native, self.native.trace);
            let word = native.words().get(number);
            self.spend(word.steps.len());
            // Where all that comes before the window is in the prefix, the sums may begin there.
            let value = match word.begin {
                _ if !self.based || self.from == EventId(0) => None,
                Some(begin) if begin >= self.from => None,
                _ => native.base_value(cell, self.from),
            };
            let begun = |steps: &WordSteps| match self.based {
                true => steps.before(trace.events_before(steps.thread, self.from), 0),
                false => 0,
            };
            let begun: Vec<usize> = word.steps.iter().map(begun).collect();
            let is_open = |&by: &usize| {
                let next = word.steps[by].write(begun[by]);
                next.is_some_and(|write| self.possible(write)) || value.is_none() && begun[by] > 0
            };
            let open = (0..word.steps.len()).filter(is_open).collect();
            Rc::new(Beginning { value, begun, open })
        };
        Rc::clone(self.beginnings.borrow_mut().entry(number).or_insert_with(find))
    }
}
