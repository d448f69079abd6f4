//! The part of the trace that the questions are about, in the form that the analysis takes.
//!
//! Each place that a side of a question may mean is a *choice*, numbered over all questions. An event gets a label
//! for its instruction and the choices it belongs to, so that the analysis decides pairs, or cycles, of labels.

use super::frames::is_allocation;
use super::matching::{Choice, How, Place, Spot, Spots};
use super::{About, Question, Sought};
use crate::candidates::{AskedCycle, Scope};
use crate::symbols::{Symbols, same_function};
use crate::trace::{AccessKind, CellId, CodePosition, EventId, Trace};
use crate::warnings::Side;
use hashbrown::{HashMap, HashSet};

/// The number of a choice.
pub(super) type ChoiceId = u32;

/// A label, as the analysis' positions.
pub(super) type Label = CodePosition;

/// What the questions have come to.
pub(super) struct Asked {
    /// For each question, what it is about.
    pub(super) about: Vec<About>,
    /// For each question and side, the choices.
    pub(super) choices: Vec<Vec<Vec<ChoiceId>>>,
    /// For each choice, the place.
    pub(super) places: Vec<Place>,
    /// For each choice, its events.
    pub(super) events: Vec<Vec<EventId>>,
    /// For each choice, the labels of its events.
    pub(super) labels: Vec<HashSet<Label>>,
    /// For each question, whether a side is an allocation.
    pub(super) allocates: Vec<bool>,
    pub(super) scope: Scope,
}

impl Asked {
    /// `acquisitions`: the operations that take locks, or try to; the spots are those of accesses, and of these.
    pub(super) fn of(
        trace: &Trace,
        symbols: &Symbols<'_>,
        (spots, of_acquisitions): (&Spots<'_>, &Spots<'_>),
        acquisitions: &[EventId],
        questions: &[Question],
    ) -> Asked {
        let mut found: Vec<Choice> = Vec::new();
        let mut of_locks: Vec<bool> = Vec::new();
        let mut by_event: HashMap<EventId, Vec<ChoiceId>> = HashMap::new();
        let mut by_variable: HashMap<&str, Vec<ChoiceId>> = HashMap::new();
        let mut choices: Vec<Vec<Vec<ChoiceId>>> = Vec::with_capacity(questions.len());
        for question in questions {
            let mut sides = Vec::with_capacity(question.sides.len());
            for sought in &question.sides {
                let first = found.len() as ChoiceId;
                match sought {
                    Sought::Described(side) if question.about == About::Deadlock => {
                        found.extend(of_acquisitions.find(side))
                    }
                    Sought::Described(side) => {
                        found.extend(spots.find(side));
                        // What is no place may be a variable.
                        if found.len() == first as usize
                            && let Some(name) = bare_name(side)
                            && is_accessed(trace, symbols, name)
                        {
                            by_variable.entry(name).or_default().push(first);
                            found.push(of_variable(name));
                        }
                    }
                    Sought::Event(event) => {
                        by_event.entry(*event).or_default().push(first);
                        found.push(of_event(symbols, spots.trace(), *event));
                    }
                }
                of_locks.resize(found.len(), question.about == About::Deadlock);
                sides.push((first..found.len() as ChoiceId).collect());
            }
            choices.push(sides);
        }
        let mut events = events(
            trace,
            symbols,
            found.len(),
            &by_spot(&found, &of_locks, false),
            &by_event,
            &by_variable,
        );
        let by_spot = by_spot(&found, &of_locks, true);
        for &event in acquisitions {
            let spot = Spot::of(trace, event, AccessKind::Use);
            for &choice in by_spot.get(&spot).into_iter().flatten() {
                events[choice as usize].push(event);
            }
        }
        let mut asked = Asked {
            about: questions.iter().map(|question| question.about).collect(),
            events,
            labels: vec![HashSet::new(); found.len()],
            places: found.into_iter().map(|choice| choice.place).collect(),
            choices,
            allocates: questions
                .iter()
                .map(|question| question.sides.iter().any(allocates))
                .collect(),
            scope: Scope::default(),
        };
        for (number, question) in questions.iter().enumerate() {
            if let Some(variable) = &question.variable {
                asked.keep_variable(trace, symbols, number, variable);
            }
        }
        asked.find_partners(trace);
        let alone = |(about, sides): (&About, &Vec<Vec<ChoiceId>>)| *about == About::Deadlock && sides.len() == 1;
        // Any other acquisition may be part of a cycle of which one is given.
        let also = match asked.about.iter().zip(&asked.choices).any(alone) {
            true => acquisitions,
            false => &[],
        };
        asked.label(trace, also);
        asked
    }

    /// Questions whose choices are these events.
    pub(super) fn of_events(trace: &Trace, choices: Vec<Vec<Vec<ChoiceId>>>, events: Vec<Vec<EventId>>) -> Asked {
        let mut asked = Asked {
            about: vec![About::Race; choices.len()],
            labels: vec![HashSet::new(); events.len()],
            places: Vec::new(),
            allocates: Vec::new(),
            scope: Scope::default(),
            choices,
            events,
        };
        asked.label(trace, &[]);
        asked
    }

    /// Keeps the accesses to a variable, if that leaves some of each side.
    fn keep_variable(&mut self, trace: &Trace, symbols: &Symbols<'_>, question: usize, name: &str) {
        let is_it = |event: &EventId| {
            let access = trace.access(*event)?;
            let variable = symbols.variable(access.addr)?;
            Some(variable.name == name || same_function(&variable.name, name))
        };
        let sides = self.choices[question].clone();
        let kept = sides.iter().map(|side| {
            let kept = side.iter().map(|&choice| {
                let events = self.events[choice as usize].iter().copied();
                events.filter(|event| is_it(event) == Some(true)).collect::<Vec<_>>()
            });
            kept.collect::<Vec<_>>()
        });
        let kept: Vec<Vec<Vec<EventId>>> = kept.collect();
        let some_left = |side: usize| {
            let partner = sides[side]
                .iter()
                .all(|&choice| self.places[choice as usize].how == How::Partner);
            partner || kept[side].iter().any(|events| !events.is_empty())
        };
        if some_left(0) && some_left(1) {
            for (choice, events) in sides.into_iter().flatten().zip(kept.into_iter().flatten()) {
                self.events[choice as usize] = events;
            }
        }
    }

    /// Where only one side is known, the other is whatever shares memory with it.
    fn find_partners(&mut self, trace: &Trace) {
        let mut cells: HashMap<CellId, Vec<ChoiceId>> = HashMap::new();
        for sides in self.races() {
            for (side, other) in [(0, 1), (1, 0)] {
                for &partner in &sides[side] {
                    if self.places[partner as usize].how != How::Partner {
                        continue;
                    }
                    let known = sides[other].iter().flat_map(|&choice| &self.events[choice as usize]);
                    for used in known.flat_map(|&event| trace.cell_uses(event)) {
                        let partners = cells.entry(used.cell).or_default();
                        if partners.last() != Some(&partner) {
                            partners.push(partner);
                        }
                    }
                }
            }
        }
        if cells.is_empty() {
            return;
        }
        for access in trace.accesses() {
            for used in trace.uses(access) {
                for &partner in cells.get(&used.cell).into_iter().flatten() {
                    let events = &mut self.events[partner as usize];
                    if events.last() != Some(&access.event) {
                        events.push(access.event);
                    }
                }
            }
        }
    }

    /// Labels the events of the choices, and others.
    fn label(&mut self, trace: &Trace, others: &[EventId]) {
        let mut choices_of: HashMap<EventId, Vec<ChoiceId>> = others.iter().map(|&event| (event, Vec::new())).collect();
        for (choice, events) in (0..).zip(&self.events) {
            for &event in events {
                choices_of.entry(event).or_default().push(choice);
            }
        }
        let mut numbers: HashMap<(CodePosition, Vec<ChoiceId>), Label> = HashMap::new();
        let mut in_order: Vec<(EventId, Vec<ChoiceId>)> = choices_of.into_iter().collect();
        in_order.sort_unstable_by_key(|(event, _)| *event);
        for (event, choices) in in_order {
            let next = numbers.len() as Label;
            let label = *numbers.entry((trace.pc(event), choices.clone())).or_insert(next);
            for choice in choices {
                self.labels[choice as usize].insert(label);
            }
            self.scope.positions.insert(event, label);
        }
        let mut all_pairs = HashSet::new();
        for (a, b) in self.races().flat_map(|sides| pairs(sides)) {
            for &x in &self.labels[a as usize] {
                let others = self.labels[b as usize].iter();
                all_pairs.extend(others.map(|&y| (x.min(y), x.max(y))));
            }
        }
        self.scope.pairs = all_pairs;
        let questions = 0..self.choices.len();
        let deadlocks = questions.filter(|&question| self.about[question] == About::Deadlock);
        self.scope.cycles = deadlocks.map(|question| self.cycle(question)).collect();
    }

    /// The choices of the questions about races.
    fn races(&self) -> impl Iterator<Item = &Vec<Vec<ChoiceId>>> {
        let questions = self.about.iter().zip(&self.choices);
        questions
            .filter(|(about, _)| **about == About::Race)
            .map(|(_, sides)| sides)
    }

    /// The cycles that a question about a deadlock means.
    pub(super) fn cycle(&self, question: usize) -> AskedCycle {
        let labels = |side: &Vec<ChoiceId>| {
            let labels = side.iter().flat_map(|&choice| &self.labels[choice as usize]);
            labels.copied().collect()
        };
        AskedCycle(self.choices[question].iter().map(labels).collect())
    }
}

/// Each choice of the one side with each of the other.
pub(super) fn pairs(sides: &[Vec<ChoiceId>]) -> impl Iterator<Item = (ChoiceId, ChoiceId)> + '_ {
    sides[0].iter().flat_map(|&a| sides[1].iter().map(move |&b| (a, b)))
}

fn allocates(sought: &Sought) -> bool {
    match sought {
        Sought::Described(side) => is_allocation(side.frames()),
        Sought::Event(_) => false,
    }
}

/// The name, if a description is nothing but one.
fn bare_name(side: &Side) -> Option<&str> {
    match side.frames() {
        [frame] if frame.file.is_none() && frame.module.is_none() => frame.function.as_deref(),
        _ => None,
    }
}

fn is_accessed(trace: &Trace, symbols: &Symbols<'_>, name: &str) -> bool {
    let mut addresses = trace.accesses().map(|access| access.addr);
    addresses.any(|addr| symbols.variable(addr).is_some_and(|variable| variable.name == name))
}

fn of_variable(name: &str) -> Choice {
    Choice {
        place: Place {
            at: name.to_owned(),
            how: How::Variable,
            moved: false,
            other_kind: false,
        },
        spots: Vec::new(),
    }
}

fn of_event(symbols: &Symbols<'_>, trace: &Trace, event: EventId) -> Choice {
    Choice {
        place: Place {
            at: symbols.place(trace.pc(event)),
            how: How::Event,
            moved: false,
            other_kind: false,
        },
        spots: Vec::new(),
    }
}

/// The choices at each spot: those of operations that take locks, or the others. Spots of the two may be equal, and
/// mean other events.
fn by_spot(found: &[Choice], of_locks: &[bool], locks: bool) -> HashMap<Spot, Vec<ChoiceId>> {
    let mut by_spot: HashMap<Spot, Vec<ChoiceId>> = HashMap::new();
    let choices = (0..)
        .zip(found)
        .zip(of_locks)
        .filter(|(_, of_locks)| **of_locks == locks);
    for ((number, choice), _) in choices {
        for &spot in &choice.spots {
            by_spot.entry(spot).or_default().push(number);
        }
    }
    by_spot
}

/// The accesses of each choice, in the order of the trace.
fn events(
    trace: &Trace,
    symbols: &Symbols<'_>,
    choices: usize,
    by_spot: &HashMap<Spot, Vec<ChoiceId>>,
    by_event: &HashMap<EventId, Vec<ChoiceId>>,
    by_variable: &HashMap<&str, Vec<ChoiceId>>,
) -> Vec<Vec<EventId>> {
    let mut events = vec![Vec::new(); choices];
    for access in trace.accesses() {
        let spot = Spot::of(trace, access.event, access.kind);
        let (here, itself) = (by_spot.get(&spot), by_event.get(&access.event));
        let variable = Some(access.addr).filter(|_| !by_variable.is_empty());
        let variable = variable.and_then(|addr| symbols.variable(addr));
        let named = variable.and_then(|variable| by_variable.get(variable.name.as_str()));
        for &choice in here.into_iter().chain(itself).chain(named).flatten() {
            events[choice as usize].push(access.event);
        }
    }
    events
}
