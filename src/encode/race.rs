//! ρ: both accesses are next in their threads.
//!
//! Everything that must happen before either access is in the prefix, the accesses themselves are
//! not (the prefix form of Said et al. 2011, equation 3). Plain accesses are always enabled, so
//! nothing else is asked; in particular the accesses need not see the values they saw in π.
//!
//! Over the whole trace it is equation 3 as printed: each access comes between the neighbours in
//! program order of the other.

use super::{Choice, Clause, Encoder, Form, Literal, Node, before};
use crate::trace::{EventId, ThreadId};

impl Encoder<'_> {
    /// The assumptions under which ψ is the question whether `a` and `b` race: the first thing to ask of an encoder, since
    /// the prefix that is tried first is everything that π has before both.
    pub fn race(&mut self, a: EventId, b: EventId) -> Vec<Literal> {
        self.race_before = a.min(b);
        if self.form == Form::WholeTrace {
            return self.neighbours(a, b);
        }
        let mut literals = Vec::new();
        for event in [a, b] {
            self.use_event(event);
            literals.push(Literal::Before(Node::RACE, Node::of(event)));
        }
        for thread in (0..self.trace.threads() as u32).map(ThreadId) {
            let needed = self.order.count(a, thread).max(self.order.count(b, thread));
            if let Some(last) = needed.checked_sub(1) {
                let last = self.trace.program_order(thread)[last as usize];
                self.use_event(last);
                literals.push(Literal::Before(Node::of(last), Node::RACE));
            }
        }
        literals
    }

    /// The assumptions under which ψ is the question whether a feasible prefix performs `a` and brings `b` next,
    /// and the choice that stands for the question: it keeps the [chains](Encoder::break_chain) that were found in the answers.
    pub fn performed(&mut self, a: EventId, b: EventId) -> (Vec<Literal>, Choice) {
        let question = self.new_choice(false);
        self.use_event(b);
        let mut literals = vec![Literal::Chosen(question), Literal::Before(Node::RACE, Node::of(b))];
        for thread in (0..self.trace.threads() as u32).map(ThreadId) {
            let mut needed = self.order.count(a, thread).max(self.order.count(b, thread));
            if thread == self.trace.thread(a) {
                needed = needed.max(self.trace.place(a) + 1);
            }
            if let Some(last) = needed.checked_sub(1) {
                let last = self.trace.program_order(thread)[last as usize];
                self.use_event(last);
                literals.push(Literal::Before(Node::of(last), Node::RACE));
            }
        }
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

    fn neighbours(&mut self, a: EventId, b: EventId) -> Vec<Literal> {
        let mut literals = Vec::new();
        for (one, other) in [(a, b), (b, a)] {
            let (predecessor, successor) = (self.trace.predecessor(one), self.trace.successor(one));
            literals.extend(predecessor.map(|predecessor| before(predecessor, other)));
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
