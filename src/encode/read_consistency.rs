//! β: each read in the prefix sees the value it saw in π.
//!
//! A read r of value v from a cell in the prefix takes it from one write w of v (or the initial
//! value): w comes before r, and every other write w' of the cell comes before w or after r (Said
//! et al. 2011, equation 2). One Boolean per read and write says which w it is.
//!
//! Not all writes at once: the nearest in π first, and a Boolean for *some other*, which takes in more of them when a
//! model chooses it.
//!
//! Writes that cannot be it are left out: those that must come after r, and those that another
//! write must come between. A read-modify-write is a read and a write at one point; it does not
//! interfere with itself.
//!
//! Accesses of external cells are pinned: they keep the events of other threads before and after
//! them that they had in π.

use super::{Choice, Encoder, FactId, Literal, Mutation, before, behind};
use crate::trace::{CellId, EventId, ThreadId};
use crate::verdict::Fact;
use hashbrown::HashSet;
use std::collections::BTreeMap;

/// As many writes may explain a read at first; then twice as many, and so on.
const NEAREST: usize = 1;

/// How a read's value may be explained.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The fact that the read must see its value.
    pub fact: FactId,
    /// Each possible writer (`None`: the initial value) and the choice that says it is the one.
    pub options: Vec<(Option<EventId>, Choice)>,
    /// Those that are not among them yet, the next ones last, and the choice that says it is one of these.
    others: Option<(Vec<EventId>, Choice)>,
    /// It is not explained by a writer: it keeps its place.
    pub pinned: bool,
    /// Pairs (chosen writer, other writer) whose clause is written down.
    kept_apart: HashSet<(Option<EventId>, EventId)>,
}

impl Encoder<'_> {
    /// The options of a read whose choice is written down already.
    #[must_use]
    pub fn read_options(&self, read: EventId, cell: CellId) -> Option<&ReadOptions> {
        self.reads.get(&(read, cell))
    }

    /// Writes down that `read` must see `value` in `cell`: which writes it can take it from, and
    /// that the chosen one comes before. Nothing yet keeps others from coming between.
    pub fn constrain_read(&mut self, read: EventId, cell: CellId, value: u64) {
        if self.reads.contains_key(&(read, cell)) {
            return;
        }
        if self.trace.cell(cell).external() {
            self.pin(read, cell);
            return;
        }
        let mut writers = self.possible_writers(read, cell, value);
        if self.mutation == Some(Mutation::ForgottenWriter) {
            writers.pop();
        }
        let initial = self.initial_is_possible(read, cell, value);
        let fact = self.new_fact(Fact::Read {
            read,
            cell,
            writers: writers.clone(),
            initial,
        });
        let in_trace = self.last_writer_in_trace(read, cell);
        let mut options = Vec::with_capacity(writers.len() + usize::from(initial));
        if initial {
            options.push((None, self.new_choice(in_trace.is_none())));
        }
        // Away from the read on both sides, the one of π first of all.
        writers.sort_by_key(|&writer| std::cmp::Reverse((in_trace != Some(writer), writer.0.abs_diff(read.0))));
        let none = if self.frees_reads() {
            Literal::NotChosen(self.needed(read))
        } else {
            behind(read)
        };
        let known = ReadOptions {
            fact,
            options,
            others: None,
            pinned: false,
            kept_apart: HashSet::new(),
        };
        self.reads.insert((read, cell), known);
        self.add_writers(read, cell, none, writers, NEAREST);
    }

    /// Writes down more of the writes that a read can take its value from. Returns whether there are more.
    pub fn more_writers(&mut self, read: EventId, cell: CellId) -> bool {
        let Some(known) = self.reads.get_mut(&(read, cell)) else {
            return false;
        };
        let so_far = known.options.len();
        let Some((writers, others)) = known.others.take() else {
            return false;
        };
        self.add_writers(read, cell, Literal::NotChosen(others), writers, so_far);
        true
    }

    /// Unless `none` is true, the read takes its value from one of the first `count` writers, or from some other.
    fn add_writers(&mut self, read: EventId, cell: CellId, none: Literal, mut writers: Vec<EventId>, count: usize) {
        let (fact, earlier) = match self.reads.get(&(read, cell)) {
            Some(known) => (known.fact, known.options.clone()),
            None => return,
        };
        let in_trace = self.last_writer_in_trace(read, cell);
        let mut options: Vec<(Option<EventId>, Choice)> = Vec::new();
        for writer in writers.split_off(writers.len().saturating_sub(count)).into_iter().rev() {
            options.push((Some(writer), self.new_choice(in_trace == Some(writer))));
        }
        let others = (!writers.is_empty()).then(|| (writers, self.new_choice(false)));
        let mut some = vec![none];
        // The initial value, which is there from the start.
        some.extend(
            earlier
                .iter()
                .filter(|(writer, _)| writer.is_none())
                .map(|&(_, choice)| Literal::Chosen(choice)),
        );
        some.extend(options.iter().map(|&(_, choice)| Literal::Chosen(choice)));
        some.extend(others.as_ref().map(|&(_, choice)| Literal::Chosen(choice)));
        if self.mutation != Some(Mutation::NoReadsFrom) {
            self.clause(fact, &some);
        }
        for &(writer, choice) in &options {
            if let Some(writer) = writer {
                self.clause(fact, &[Literal::NotChosen(choice), before(writer, read)]);
                self.need_what_decides(Some(fact), choice, writer);
            }
        }
        if let Some(known) = self.reads.get_mut(&(read, cell)) {
            known.options.extend(options);
            known.others = others;
        }
    }

    /// Writes down that `other` does not come between the chosen `writer` and `read`. Returns
    /// whether that is new.
    pub fn keep_apart(&mut self, read: EventId, cell: CellId, writer: Option<EventId>, other: EventId) -> bool {
        let Some(known) = self.reads.get_mut(&(read, cell)) else {
            return false;
        };
        if self.mutation == Some(Mutation::NoInterference)
            || Some(other) == writer
            || other == read
            || !known.kept_apart.insert((writer, other))
        {
            return false;
        }
        let Some(&(_, choice)) = known.options.iter().find(|&&(option, _)| option == writer) else {
            return false;
        };
        let fact = known.fact;
        let mut literals = vec![Literal::NotChosen(choice), before(read, other)];
        literals.extend(writer.map(|writer| before(other, writer)));
        self.clause(fact, &literals);
        true
    }

    /// Writes down that a use comes before what ends the object that it uses, if both are in the prefix. Returns whether
    /// that is new.
    pub fn keep_use_before(&mut self, used: EventId, end: EventId) -> bool {
        let new = self.uses_before.insert((used, end));
        if new {
            self.add(None, &[behind(used), behind(end), before(used, end)]);
        }
        new
    }

    /// All writes of a cell, in the order of π.
    pub fn writers(&self, cell: CellId) -> impl Iterator<Item = EventId> + '_ {
        self.index.writers[cell.index()].iter().map(|&(write, _)| write)
    }

    fn last_writer_in_trace(&self, read: EventId, cell: CellId) -> Option<EventId> {
        let writers = &self.index.writers[cell.index()];
        let until = writers.partition_point(|&(write, _)| write < read);
        until.checked_sub(1).map(|at| writers[at].0)
    }

    /// The last write of each thread that must come before the read.
    pub(super) fn writers_before(&self, read: EventId, cell: CellId) -> BTreeMap<ThreadId, EventId> {
        let must = self.index.writers[cell.index()]
            .iter()
            .filter(|&&(write, _)| self.order.before(write, read));
        must.map(|&(write, _)| (self.trace.thread(write), write)).collect()
    }

    fn possible_writers(&self, read: EventId, cell: CellId, value: u64) -> Vec<EventId> {
        let before = self.writers_before(read, cell);
        let overshadowed = |write: EventId| before.values().any(|&last| self.order.before(write, last));
        self.index.writers[cell.index()]
            .iter()
            .filter(|&&(_, written)| written == Some(value))
            .map(|&(write, _)| write)
            .filter(|&write| write != read && !self.order.before(read, write) && !overshadowed(write))
            .collect()
    }

    fn initial_is_possible(&self, read: EventId, cell: CellId, value: u64) -> bool {
        self.trace.initial(cell) == Some(value) && self.writers_before(read, cell).is_empty()
    }

    /// Writes down the place of a pinned access, which may be a write.
    fn pin(&mut self, read: EventId, cell: CellId) {
        let fact = self.new_fact(Fact::Pinned { read, cell });
        let others: Vec<_> = self.trace.pinned_between(read).collect();
        if self.mutation != Some(Mutation::NoPins) {
            for (last, first) in others {
                if let Some(last) = last {
                    self.clause(fact, &[behind(read), before(last, read)]);
                }
                if let Some(first) = first {
                    self.clause(fact, &[behind(read), before(read, first)]);
                }
            }
        }
        let options = ReadOptions {
            fact,
            options: Vec::new(),
            others: None,
            pinned: self.mutation != Some(Mutation::NoPins),
            kept_apart: HashSet::new(),
        };
        self.reads.insert((read, cell), options);
    }
}
