//! Ways on along which nothing is open.
//!
//! Most simulations differ from others at their beginning only: soon they are in a state that another one was in, and go
//! on by the same rule. What they meet from there on follows from the two, so if that one met nothing open, this one
//! will not either, and ends there. What is found is the same, in the same order: a simulation that meets something
//! open is never cut short, since what speaks for that depends on how it was come to.

use super::{Others, Search, Simulation, TURNS_BETWEEN_LOOKS};
use crate::explore::machine::State;
use crate::explore::packed::States;
use crate::explore::tables::Tables;
use hashbrown::HashMap;

/// By which rule a simulation goes on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Way {
    /// A thread stands still, and another one comes first.
    Stop { thread: u32, first: u32 },
    /// The same, once that one can go no further.
    Rest { thread: u32 },
    /// All go on, in rounds.
    On(Others),
}

/// From which states, by which rule, nothing open was met, and in how many turns.
pub(super) struct Barren {
    start: State,
    states: States,
    turns: HashMap<(u32, Way), usize>,
}

/// A way that a simulation goes.
pub(super) struct Entered {
    /// Its state and rule; `None` if nothing is remembered.
    from: Option<(u32, Way)>,
    left: usize,
    notes: usize,
}

impl Barren {
    pub(super) fn of(tables: &Tables<'_>) -> Barren {
        Barren {
            start: State::start(tables),
            states: States::default(),
            turns: HashMap::new(),
        }
    }
}

impl Search<'_, '_> {
    /// Begins a way, unless nothing is open along it. Then its turns count as simulated, so that the bound of turns is
    /// where it would be without.
    pub(super) fn enter(&mut self, now: &Simulation<'_>, way: Way) -> Option<Entered> {
        let from = self.barren.as_mut().map(|barren| {
            let (state, _) = barren.states.intern(&now.state, &barren.start);
            (state, way)
        });
        let barren = self.barren.as_ref().zip(from);
        let known = barren.and_then(|(barren, from)| barren.turns.get(&from).copied());
        if let Some(turns) = known.filter(|&turns| turns < self.left) {
            self.spend_all(turns);
            return None;
        }
        Some(Entered {
            from,
            left: self.left,
            notes: self.notes,
        })
    }

    /// Ends a way.
    pub(super) fn leave(&mut self, entered: Entered) {
        let turns = entered.left - self.left;
        if let (Some(barren), Some(from)) = (&mut self.barren, entered.from)
            && self.notes == entered.notes
            && self.left > 0
        {
            barren.turns.insert(from, turns);
        }
    }

    /// So many turns count as simulated.
    pub(super) fn spend_all(&mut self, turns: usize) {
        let looks = |left: usize| left / TURNS_BETWEEN_LOOKS;
        let before = looks(self.left);
        self.left -= turns;
        if looks(self.left) < before && self.limits.is_over() {
            self.left = 0;
        }
    }
}
