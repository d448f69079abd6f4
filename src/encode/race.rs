//! ρ: the prefix ends in the goal.
//!
//! Of a race, both accesses are next in their threads: everything that must happen before either is in the prefix, the
//! accesses themselves are not (the prefix form of Said et al. 2011, equation 3). Plain accesses are always enabled, so
//! nothing else is asked; in particular the accesses need not see the values they saw in π.
//!
//! Over the whole trace, a race is equation 3 as printed: each access comes between the neighbors in
//! program order of the other.

use super::{Choice, Clause, Encoder, Form, Literal, Node, Wanted, before};
use crate::schedule::Goal;
use crate::trace::{EventId, ThreadId};

impl Encoder<'_> {
    /// The assumptions under which ψ is the question whether a feasible prefix ends in a goal: the first thing to ask
    /// of an encoder, since the prefix that is tried first is everything that π has before a race.
    pub fn ends_in(&mut self, goal: &Goal) -> Vec<Literal> {
        match goal {
            &Goal::Race(a, b) => {
                self.race_before = a.min(b);
                match self.form {
                    Form::WholeTrace => self.neighbors(a, b),
                    Form::Prefix => self.comes_next(&[], &[a, b], &[]),
                }
            }
            &Goal::UnorderedRace(a, b) => self.comes_next(&[a], &[b], &[]),
            &Goal::UseAfterFree { free, access } => {
                self.race_before = access;
                self.comes_next(&[free], &[access], &[])
            }
            Goal::Order { awaited, early } => {
                self.race_before = awaited.iter().copied().fold(*early, EventId::min);
                self.comes_next(&[], &[*early], awaited)
            }
            Goal::AtomicityViolation { second, .. } | Goal::TornPair { second, .. } => {
                self.race_before = goal.awaited().iter().copied().fold(*second, EventId::min);
                let (performed, pending): (Vec<EventId>, Vec<EventId>) =
                    (goal.performed().collect(), goal.pending().collect());
                self.comes_next(&performed, &pending, goal.awaited())
            }
            Goal::OtherValue { read, value } => self.sees(*read, Wanted::Value(*value)),
            &Goal::StalePointer { free, read, value } => {
                let mut literals = self.sees(read, Wanted::Just(value));
                literals.extend(self.comes_next(&[free], &[read], &[]));
                self.is_dead(value);
                literals
            }
            // Each thread holds what the next one waits for by program order.
            Goal::Deadlock(waiting) | Goal::PartialDeadlock(waiting) => {
                self.race_before = waiting.iter().copied().min().unwrap_or(self.race_before);
                self.comes_next(&[], waiting, &[])
            }
        }
    }

    /// That some events have been performed, in this order, and others are next in their threads, while those `awaited`
    /// have not been performed.
    pub(super) fn comes_next(
        &mut self,
        performed: &[EventId],
        pending: &[EventId],
        awaited: &[EventId],
    ) -> Vec<Literal> {
        let mut literals = Vec::new();
        for &event in awaited {
            self.use_event(event);
            literals.push(Literal::Before(Node::RACE, Node::of(event)));
        }
        let mut needed = vec![0; self.trace.threads()];
        for &event in performed {
            self.order.raise(&mut needed, event);
            let own = &mut needed[self.trace.thread(event).index()];
            *own = (*own).max(self.trace.place(event) + 1);
        }
        for pair in performed.windows(2) {
            self.use_event(pair[0]);
            self.use_event(pair[1]);
            literals.push(before(pair[0], pair[1]));
        }
        for &event in pending {
            self.use_event(event);
            literals.push(Literal::Before(Node::RACE, Node::of(event)));
            self.order.raise_to_pending(self.trace, &mut needed, event);
        }
        for (thread, &needed) in (0..).map(ThreadId).zip(&needed) {
            if let Some(last) = needed.checked_sub(1) {
                let last = self.trace.program_order(thread).at(last as usize);
                self.use_event(last);
                literals.push(Literal::Before(Node::of(last), Node::RACE));
            }
        }
        literals
    }

    /// The same, and a choice that stands for the question: it keeps the [chains](Encoder::break_chain) that were found
    /// in the answers.
    pub fn ends_unordered_in(&mut self, goal: &Goal) -> (Vec<Literal>, Choice) {
        let question = self.new_choice(false);
        let mut literals = vec![Literal::Chosen(question)];
        literals.extend(self.ends_in(goal));
        (literals, question)
    }

    /// In the answers to a question, one of the literals is true: what orders the two accesses breaks.
    pub fn break_chain(&mut self, question: Choice, literals: &[Literal]) {
        let mut kept = vec![Literal::NotChosen(question)];
        for &literal in literals {
            if let Literal::Before(first, second) = literal {
                if let (Some(first), Some(second)) = (first.event(), second.event())
                    && (first == second || self.order.before(second, first))
                {
                    continue;
                }
                let events = first.event().into_iter().chain(second.event());
                events.for_each(|event| self.use_event(event));
            }
            kept.push(literal);
        }
        self.clauses.push(Clause {
            literals: kept,
            fact: None,
        });
    }

    fn neighbors(&mut self, a: EventId, b: EventId) -> Vec<Literal> {
        let mut literals = Vec::new();
        for (one, other) in [(a, b), (b, a)] {
            let (predecessor, successor) = (self.trace.predecessor(one), self.trace.successor(one));
            // What is before the one is before the other: the creation of a thread without another event, too.
            let earlier = predecessor.into_iter().chain(self.order.incoming(one));
            literals.extend(earlier.map(|earlier| before(earlier, other)));
            literals.extend(successor.map(|successor| before(other, successor)));
        }
        for literal in &literals {
            if let Literal::Before(first, second) = literal {
                first
                    .event()
                    .into_iter()
                    .chain(second.event())
                    .for_each(|event| self.use_event(event));
            }
        }
        literals
    }
}
