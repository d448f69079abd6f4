//! α: program order, and all other order that holds in every feasible prefix.
//!
//! Only events that some clause mentions get an order variable, and only neighboring pairs are
//! constrained, transitivity being the theory's (Said et al. 2011, equation 1). When an event
//! enters, it is tied to the nearest events already there: in its own thread, and in each other
//! thread to the last one that must happen before it and the first one that it must happen before.
//! The order among the events present is then exactly must-happen-before restricted to them,
//! whatever the sequence in which they entered: of two ordered events, the one that entered later
//! was tied to a neighbor that lies between them, or to the other itself.

use super::{Clause, Encoder, Literal, Mutation, Node};
use crate::trace::{EventId, ThreadId};

impl Encoder<'_> {
    /// Gives an event an order variable.
    pub(super) fn use_event(&mut self, event: EventId) {
        let thread = self.trace.thread(event);
        if !self.used[thread.index()].insert(self.trace.place(event)) {
            return;
        }
        for other in (0..self.trace.threads() as u32).map(ThreadId) {
            if other != thread && self.mutation == Some(Mutation::NoOrderBetweenThreads) {
                continue;
            }
            let order = self.trace.program_order(other);
            let until = self.order.count(event, other);
            if let Some(&place) = self.used[other.index()].range(..until).next_back() {
                self.edge(order.at(place as usize), event);
            }
            let from = self.order.first_after(self.trace, event, other);
            if let Some(&place) = self.used[other.index()].range(from..).next() {
                self.edge(event, order.at(place as usize));
            }
        }
    }

    fn edge(&mut self, a: EventId, b: EventId) {
        let literals = vec![Literal::Before(Node::of(a), Node::of(b))];
        self.clauses.push(Clause { literals, fact: None });
    }
}
