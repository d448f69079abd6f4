//! β where control flow is recorded: only reads that something depends on are constrained.
//!
//! Huang, Meredith, Roşu (PLDI 2014, section 4): a read has to see its value if a branch of its thread
//! follows in the prefix, or a write from which a read takes its value that has to see it. One Boolean
//! per read says that it is needed. Of two reads in a thread the earlier is needed if the later is, so the
//! Booleans of neighbors are enough, and the first branch after a read stands for all later ones.

use super::{Choice, Clause, Encoder, FactId, Form, Literal, Mutation, behind};
use crate::trace::EventId;

impl Encoder<'_> {
    /// Whether reads are free until something depends on them. Not in the paper's form, which has no
    /// branches.
    #[must_use]
    pub fn frees_reads(&self) -> bool {
        self.form == Form::Prefix && self.trace.frees_reads() && self.mutation != Some(Mutation::NoFreeReads)
    }

    /// "Something in the prefix depends on the read."
    pub(super) fn needed(&mut self, read: EventId) -> Choice {
        let (thread, place) = (self.trace.thread(read), self.trace.place(read));
        if let Some(&known) = self.needed[thread.index()].get(&place) {
            return known;
        }
        let choice = self.new_choice(false);
        let known = &mut self.needed[thread.index()];
        let earlier = known.range(..place).next_back().map(|(_, &choice)| choice);
        let later = known.range(place..).next().map(|(_, &choice)| choice);
        known.insert(place, choice);
        if let Some(earlier) = earlier {
            self.hard(vec![Literal::NotChosen(choice), Literal::Chosen(earlier)]);
        }
        if let Some(later) = later {
            self.hard(vec![Literal::NotChosen(later), Literal::Chosen(choice)]);
        }
        let mut after = self.trace.program_order(thread).from(place as usize);
        let branch = after.find(|&event| self.trace.op(event).depends_on_reads());
        // An end that is not recorded depends on it as well, and shows where somebody joins the thread.
        let dependent = match branch {
            Some(branch) => vec![branch],
            None => self.index.joins.get(&thread).cloned().unwrap_or_default(),
        };
        for event in dependent {
            if self.mutation != Some(Mutation::NoBranches) {
                self.use_event(event);
                self.hard(vec![Literal::Chosen(choice), behind(event)]);
            }
        }
        choice
    }

    /// If `writer` is chosen, what its thread has read decides what it wrote.
    pub(super) fn need_what_decides(&mut self, fact: Option<FactId>, choice: Choice, writer: EventId) {
        if !self.frees_reads() || self.mutation == Some(Mutation::NoDecisions) {
            return;
        }
        let thread = self.trace.thread(writer);
        let until = self.trace.place(writer) as usize + 1;
        let so_far = self.trace.program_order(thread).until(until);
        let reads = |event: EventId| self.trace.access(event).is_some_and(|access| access.kind.reads());
        let last = so_far.rev().find(|&event| reads(event));
        if let Some(last) = last {
            let needed = self.needed(last);
            self.add(fact, &[Literal::NotChosen(choice), Literal::Chosen(needed)]);
        }
    }

    /// A clause that belongs to no fact: it says what a Boolean means.
    fn hard(&mut self, literals: Vec<Literal>) {
        self.clauses.push(Clause { literals, fact: None });
    }
}
