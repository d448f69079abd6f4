//! ρ of another value: the read is next, and what it would see is not what it saw in π.
//!
//! As β explains a read in the prefix, one Boolean for each cell and write (or the initial value) says which write the
//! read would see: that write is in the prefix, and every other write of the cell comes before it or is not in the
//! prefix. A value that is not to be seen, that of π first of all, is a clause: in some cell the read sees a write of
//! something else.
//!
//! A cell whose content π does not tell (before its first write, after its free) has some other content than any value.
//! Where control flow is recorded, a thread that has strayed writes what nobody knows: the write that is chosen needs
//! what decides it, and contents that π does not tell are not asked for.

use super::{Choice, Encoder, Form, Literal, Node, before};
use crate::trace::{CellId, EventId};
use hashbrown::HashSet;

/// What a read is to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted<'a> {
    /// This; `None`: something that π does not tell.
    Value(Option<u64>),
    /// This, whether the read saw it in π or not.
    Just(u64),
    /// Neither what it saw in π nor any of these.
    NoneOf(&'a [Option<u64>]),
}

/// A read that is next, and what it may see.
#[derive(Clone, Debug)]
pub struct PendingRead {
    /// The read.
    pub read: EventId,
    cells: Vec<Content>,
    /// What it is not to see, by cell; in one of them it has to see something else.
    excluded: Vec<Vec<u64>>,
    /// Whether it may see, and whether it must see, something that π does not tell.
    untold: (bool, bool),
    /// Per cell: whether only one value may be seen there.
    only: Option<Vec<u64>>,
}

/// A cell that the read touches.
#[derive(Clone, Debug)]
struct Content {
    cell: CellId,
    /// The writes (`None`: the initial value) that may be the last, what they leave, and the choice that says it is the
    /// one.
    options: Vec<(Option<EventId>, Option<u64>, Choice)>,
    /// Pairs (chosen write, other write) whose clause is written down.
    kept_apart: HashSet<(Option<EventId>, EventId)>,
}

impl PendingRead {
    /// Whether the cells, in their order, may hold this.
    #[must_use]
    pub fn may_see(&self, contents: &[Option<u64>]) -> bool {
        let told: Option<Vec<u64>> = contents.iter().copied().collect();
        match told {
            None => self.untold.0,
            Some(told) => {
                let (_, must_be_untold) = self.untold;
                let allowed = self.only.as_ref().is_none_or(|only| *only == told);
                allowed && !must_be_untold && !self.excluded.contains(&told)
            }
        }
    }

    /// The cells that it touches.
    pub fn cells(&self) -> impl Iterator<Item = CellId> + '_ {
        self.cells.iter().map(|content| content.cell)
    }

    /// The writes that it may see, with the choice that says that it sees this one.
    pub fn writes(&self) -> impl Iterator<Item = (EventId, Choice)> + '_ {
        let options = self.cells.iter().flat_map(|content| &content.options);
        options.filter_map(|&(writer, _, choice)| Some((writer?, choice)))
    }

    /// The choices for one cell.
    pub fn options(&self, cell: CellId) -> impl Iterator<Item = (Option<EventId>, Choice)> + '_ {
        let here = self.cells.iter().filter(move |content| content.cell == cell);
        let options = here.flat_map(|content| &content.options);
        options.map(|&(writer, _, choice)| (writer, choice))
    }
}

impl Encoder<'_> {
    /// The read that is to see another value, if the question is about one.
    #[must_use]
    pub fn pending_read(&self) -> Option<&PendingRead> {
        self.pending_read.as_ref()
    }

    /// The assumptions under which ψ is the question whether a feasible prefix brings a read next that would see
    /// something else than in π; the first thing to ask of an encoder. Over a whole trace, which performs the read, it
    /// has no answer.
    pub fn sees(&mut self, read: EventId, wanted: Wanted<'_>) -> Vec<Literal> {
        assert_eq!(self.form, Form::Prefix, "a whole trace performs its reads");
        self.race_before = read;
        let literals = self.comes_next(&[], &[read], &[]);
        let trace = self.trace;
        let Some(access) = trace.access(read) else {
            return literals;
        };
        let uses: Vec<_> = trace.numbers(access).collect();
        // The part of a number that one of the cells holds.
        let part = |value: u64, cell: CellId| {
            let cell = trace.cell(cell);
            (value >> (8 * (cell.addr - access.addr))) & (u64::MAX >> (64 - 8 * u32::from(cell.size)))
        };
        let parts = |value: u64| -> Vec<u64> { uses.iter().map(|used| part(value, used.cell)).collect() };
        let mut excluded = match wanted {
            Wanted::Just(_) => Vec::new(),
            _ => vec![uses.iter().map(|used| used.read).collect::<Vec<u64>>()],
        };
        let (mut only, mut untold) = (None, (!self.frees_reads(), false));
        match wanted {
            Wanted::Value(Some(value)) | Wanted::Just(value) => (only, untold.0) = (Some(parts(value)), false),
            Wanted::Value(None) => untold.1 = true,
            Wanted::NoneOf(values) => {
                excluded.extend(values.iter().flatten().map(|&value| parts(value)));
                untold.0 &= !values.contains(&None);
            }
        }
        let mut cells = Vec::with_capacity(uses.len());
        for (at, used) in uses.iter().enumerate() {
            let wanted = |value: Option<u64>| match value {
                None => untold.0,
                Some(value) => only.as_ref().is_none_or(|only: &Vec<u64>| only[at] == value),
            };
            let mut options = Vec::new();
            for (writer, value) in self.last_writers(read, used.cell) {
                if wanted(value) {
                    options.push((writer, value, self.new_choice(false)));
                }
            }
            self.add(
                None,
                &options
                    .iter()
                    .map(|&(.., choice)| Literal::Chosen(choice))
                    .collect::<Vec<_>>(),
            );
            for &(writer, _, choice) in &options {
                if let Some(writer) = writer {
                    self.use_event(writer);
                    self.add(
                        None,
                        &[
                            Literal::NotChosen(choice),
                            Literal::Before(Node::of(writer), Node::RACE),
                        ],
                    );
                    self.need_what_decides(None, choice, writer);
                }
            }
            cells.push(Content {
                cell: used.cell,
                options,
                kept_apart: HashSet::new(),
            });
        }
        let sees = |unlike: &dyn Fn(usize, Option<u64>) -> bool| -> Vec<Literal> {
            let options = cells.iter().enumerate().flat_map(|(at, content)| {
                let options = content.options.iter().filter(move |&&(_, value, _)| unlike(at, value));
                options.map(|&(.., choice)| Literal::Chosen(choice))
            });
            options.collect()
        };
        let mut clauses: Vec<Vec<Literal>> = excluded
            .iter()
            .map(|excluded| sees(&|at, value| value != Some(excluded[at])))
            .collect();
        if untold.1 {
            clauses.push(sees(&|_, value| value.is_none()));
        }
        // What does not read, and what unrecorded code changes, sees nothing that can be told; nor a byte more than it
        // has.
        let width = 8 * access.size.min(8) as u32;
        let too_large = matches!(wanted, Wanted::Value(Some(value)) | Wanted::Just(value) if value.checked_shr(width).unwrap_or(0) > 0);
        if too_large || !access.kind.reads() || uses.iter().any(|used| trace.cell(used.cell).external()) {
            clauses.push(Vec::new());
        }
        clauses.iter().for_each(|clause| self.add(None, clause));
        self.pending_read = Some(PendingRead {
            read,
            cells,
            excluded,
            untold,
            only,
        });
        literals
    }

    /// Writes down that no block over an address lives at the end of the prefix: where one was allocated, it was freed.
    pub(super) fn is_dead(&mut self, addr: u64) {
        let trace = self.trace;
        for (alloc, free) in trace.blocks_over(addr) {
            let ends = free.map(|free| Literal::Before(Node::of(free), Node::RACE));
            [Some(alloc), free]
                .into_iter()
                .flatten()
                .for_each(|event| self.use_event(event));
            let literals = [Literal::Before(Node::RACE, Node::of(alloc))].into_iter().chain(ends);
            self.add(None, &literals.collect::<Vec<_>>());
        }
    }

    /// Writes down that `other` does not come between the chosen `writer` and the end of the prefix. Returns whether
    /// that is new.
    pub fn keep_last(&mut self, cell: CellId, writer: Option<EventId>, other: EventId) -> bool {
        let Some(pending) = &mut self.pending_read else {
            return false;
        };
        let content = pending.cells.iter_mut().find(|content| content.cell == cell);
        let Some(content) = content.filter(|_| writer != Some(other) && other != pending.read) else {
            return false;
        };
        let option = content.options.iter().find(|&&(option, ..)| option == writer);
        let Some(&(.., choice)) = option.filter(|_| content.kept_apart.insert((writer, other))) else {
            return false;
        };
        let mut literals = vec![Literal::NotChosen(choice), Literal::Before(Node::RACE, Node::of(other))];
        literals.extend(writer.map(|writer| before(other, writer)));
        self.add(None, &literals);
        true
    }

    /// What can be the last write of a cell when a read is next (`None`: none), and what it leaves there.
    fn last_writers(&self, read: EventId, cell: CellId) -> Vec<(Option<EventId>, Option<u64>)> {
        let must = self.writers_before(read, cell);
        let overshadowed = |write: EventId| must.values().any(|&last| self.order.before(write, last));
        let initial = must.is_empty().then_some((None, self.trace.initial(cell)));
        let writers = self.writers(cell);
        let possible =
            writers.filter(|&write| write != read && !self.order.before(read, write) && !overshadowed(write));
        initial
            .into_iter()
            .chain(possible.map(|write| (Some(write), self.trace.number_left(write, cell))))
            .collect()
    }
}
