//! The clauses of a forest's formula, and how they grow with the forest.
//!
//! A clause of which the forest may bring more literals ("one of the writes of this value comes last") ends in a
//! literal of its own: *something that is not written down yet*. Each question assumes that there is no such thing;
//! when there is, another clause says what it is, and ends in such a literal again. So nothing has ever to be taken
//! back, and the solver keeps what it has learnt.

use super::events::{Event, Events, List, Relation};
use crate::encode::{Choice, Clause, Formula, Literal, Node};
use crate::explore::tables::Held;
use crate::forest::TreeId;
use crate::semantics::locks::excludes;
use hashbrown::{HashMap, HashSet};

/// When something has to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum At {
    /// When an event comes, if it is in the prefix.
    Event(Event),
    /// At the end of the prefix, if this is chosen.
    End(Choice),
}

impl At {
    pub(super) fn node(self) -> Node {
        match self {
            At::Event(event) => event.node(),
            At::End(_) => Node::RACE,
        }
    }

    /// The literal that makes void what has to hold.
    pub(super) fn void(self) -> Literal {
        match self {
            At::Event(event) => event.absent(),
            At::End(choice) => Literal::NotChosen(choice),
        }
    }
}

/// What a literal of a clause says of an event of the clause's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Role {
    /// It is the last write of the cell; of this value, if one is given.
    LastWrite { at: At, cell: u32, value: Option<Held> },
    /// It is in the prefix; the place where the section ends comes after it.
    EndsSection { end: Event },
    /// Its section is around this, and denies it.
    Around { at: At, tree: TreeId, shared: bool },
    /// It comes before.
    Before { at: At },
    /// It gives the permit.
    Permit { at: At },
    /// It wakes the one that waits from `begin` on.
    Wakes { at: At, begin: Event },
    /// It begins a wait that this notify ends, instead of another.
    WokenInstead { notify: Event, not: Event },
}

/// A permit of a semaphore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Permit {
    /// One of those that were there from the start.
    Initial(u32),
    Post(Event),
}

/// A clause that may get more literals.
struct Open {
    list: List,
    says: Role,
    /// How many events of the list are in it, or cannot be.
    done: usize,
    tail: Choice,
}

/// What holds of each event of a list.
#[derive(Clone, Copy, Debug)]
pub(super) enum Each {
    /// If this is chosen, it does not come before.
    NotBefore { choice: Choice, at: At },
    /// If this is chosen, it is not in the prefix.
    Absent { choice: Choice },
}

struct All {
    list: List,
    says: Each,
    done: usize,
}

/// How the value of a cell at some moment may be explained.
#[derive(Clone, Debug, Default)]
pub(super) struct Explained {
    /// Each possible last write (`None`: what was there at first), and the choice that says so.
    pub options: Vec<(Option<Event>, Choice)>,
    /// Pairs (last write, other write) whose clause is written down.
    kept_apart: HashSet<(Option<Event>, Event)>,
}

/// Everything that is written down.
#[derive(Default)]
pub(super) struct Formulas {
    pub events: Events,
    clauses: Vec<Clause>,
    choices: u32,
    open: Vec<Open>,
    all: Vec<All>,
    pub explained: HashMap<(At, u32), Explained>,
    /// "The cell holds this then", for reads that are open.
    holds: HashMap<(At, u32, Held), Choice>,
    ends: HashMap<Event, Event>,
    pub around: HashMap<At, Vec<(Event, Choice)>>,
    pub permits: HashMap<At, Vec<(Permit, Choice)>>,
    pub wakes: HashMap<Event, Vec<(Event, Choice)>>,
    pairs: HashSet<(u8, At, At)>,
    once: HashSet<(Choice, Choice)>,
    /// Who else a notify wakes: the beginning of the wait, and the choice that says so.
    pub others: HashMap<(Event, Event), Choice>,
    /// Beginnings of waits that last to the end, if that is chosen.
    pub asleep: Vec<(Choice, Event)>,
    /// What is to come never, if that is chosen.
    pub never: HashSet<(Choice, List)>,
    /// Of each read that is open, with how many outcomes that it is not.
    pub excluded: HashMap<Event, usize>,
}

impl Formula for Formulas {
    fn rank(&self, node: Node) -> u64 {
        u64::from(node.number())
    }

    fn is_default(&self, _: Choice) -> bool {
        false
    }

    fn clauses(&self) -> &[Clause] {
        &self.clauses
    }
}

impl Formulas {
    pub(super) fn add(&mut self, literals: Vec<Literal>) {
        self.clauses.push(Clause { literals, fact: None });
    }

    pub(super) fn add_all(&mut self, clauses: Vec<Vec<Literal>>) {
        clauses.into_iter().for_each(|clause| self.add(clause));
    }

    pub(super) fn choice(&mut self) -> Choice {
        self.choices += 1;
        Choice(self.choices - 1)
    }

    /// What every question assumes: nothing but what is written down.
    pub(super) fn assumptions(&self) -> impl Iterator<Item = Literal> + '_ {
        self.open.iter().map(|open| Literal::NotChosen(open.tail))
    }

    /// Whether this was not yet marked as written down between these two.
    pub(super) fn is_new(&mut self, kind: u8, a: At, b: At) -> bool {
        self.pairs.insert((kind, a, b))
    }

    /// One of these, or of the events of a list.
    pub(super) fn some_of(&mut self, mut literals: Vec<Literal>, list: List, skip: usize, says: Role) {
        let tail = self.choice();
        let done = self.events.list(list).len();
        self.options(list, skip, says, &mut literals);
        literals.push(Literal::Chosen(tail));
        self.add(literals);
        self.open.push(Open { list, says, done, tail });
    }

    pub(super) fn each_of(&mut self, list: List, says: Each) {
        let mut all = All { list, says, done: 0 };
        self.extend_all(&mut all);
        self.all.push(all);
    }

    /// Takes in what the lists have gained.
    pub(super) fn extend(&mut self) {
        let mut open = std::mem::take(&mut self.open);
        for open in &mut open {
            let count = self.events.list(open.list).len();
            if open.done == count {
                continue;
            }
            let mut literals = vec![Literal::NotChosen(open.tail)];
            self.options(open.list, open.done, open.says, &mut literals);
            open.done = count;
            if literals.len() > 1 {
                open.tail = self.choice();
                literals.push(Literal::Chosen(open.tail));
                self.add(literals);
            }
        }
        open.append(&mut self.open);
        self.open = open;
        let mut all = std::mem::take(&mut self.all);
        all.iter_mut().for_each(|all| self.extend_all(all));
        all.append(&mut self.all);
        self.all = all;
    }

    fn extend_all(&mut self, all: &mut All) {
        for index in all.done..self.events.list(all.list).len() {
            let event = self.events.list(all.list)[index];
            match all.says {
                Each::NotBefore { choice, at } => {
                    let literals = vec![Literal::NotChosen(choice)];
                    self.not_before(literals, event, at);
                }
                Each::Absent { choice } => self.add(vec![Literal::NotChosen(choice), event.absent()]),
            }
        }
        all.done = self.events.list(all.list).len();
    }

    fn options(&mut self, list: List, from: usize, says: Role, literals: &mut Vec<Literal>) {
        for index in from..self.events.list(list).len() {
            let event = self.events.list(list)[index];
            literals.extend(self.option(event, says));
        }
    }

    /// What it would be that this event is the one; `None` if it cannot.
    fn option(&mut self, event: Event, says: Role) -> Option<Literal> {
        match says {
            Role::LastWrite { at, cell, value } => self.last_write(event, at, cell, value),
            Role::EndsSection { end } => {
                self.add(vec![event.absent(), Literal::Before(event.node(), end.node())]);
                Some(event.present())
            }
            Role::Around { at, tree, shared } => {
                let row = self.events.row(event);
                let reads = row.is_readers();
                if row.tree == tree || !excludes(reads, shared) || self.cannot_precede(event, at) {
                    return None;
                }
                let choice = self.choice();
                self.before(vec![Literal::NotChosen(choice)], event, at);
                self.each_of(List::Ends(event), Each::NotBefore { choice, at });
                self.around.entry(at).or_default().push((event, choice));
                Some(Literal::Chosen(choice))
            }
            Role::Before { at } => {
                if self.cannot_precede(event, at) {
                    return None;
                }
                Some(Literal::Before(event.node(), at.node()))
            }
            Role::Permit { at } => {
                if self.cannot_precede(event, at) {
                    return None;
                }
                let choice = self.choice();
                self.before(vec![Literal::NotChosen(choice)], event, at);
                self.permits.entry(at).or_default().push((Permit::Post(event), choice));
                Some(Literal::Chosen(choice))
            }
            Role::Wakes { at, begin } => {
                let At::Event(end) = at else { return None };
                if self.cannot_precede(event, at) || self.cannot_precede(begin, At::Event(event)) {
                    return None;
                }
                let choice = self.choice();
                self.before(vec![Literal::NotChosen(choice)], event, at);
                self.before(vec![Literal::NotChosen(choice)], begin, At::Event(event));
                self.wakes.entry(end).or_default().push((event, choice));
                Some(Literal::Chosen(choice))
            }
            Role::WokenInstead { notify, not } => {
                let at = At::Event(notify);
                if event == not || self.cannot_precede(event, at) {
                    return None;
                }
                if let Some(&known) = self.others.get(&(notify, event)) {
                    return Some(Literal::Chosen(known));
                }
                let choice = self.choice();
                self.others.insert((notify, event), choice);
                self.before(vec![Literal::NotChosen(choice)], event, at);
                self.each_of(List::WaitEnds(event), Each::NotBefore { choice, at });
                self.each_of(List::TimesOut(event), Each::Absent { choice });
                Some(Literal::Chosen(choice))
            }
        }
    }

    /// Whether the trees alone keep an event from coming before.
    pub(super) fn cannot_precede(&self, event: Event, at: At) -> bool {
        let At::Event(other) = at else { return false };
        matches!(
            self.events.relation(event, other),
            Relation::Same | Relation::After | Relation::Excluded
        )
    }

    /// These, or it comes before.
    pub(super) fn before(&mut self, mut literals: Vec<Literal>, event: Event, at: At) {
        if let At::Event(other) = at {
            match self.events.relation(event, other) {
                // Whoever chooses this has the other event in the prefix.
                Relation::Before => return,
                Relation::Same | Relation::After | Relation::Excluded => {}
                Relation::Free => literals.push(Literal::Before(event.node(), at.node())),
            }
        } else {
            literals.push(Literal::Before(event.node(), at.node()));
        }
        self.add(literals);
    }

    /// These, or it does not come before.
    pub(super) fn not_before(&mut self, mut literals: Vec<Literal>, event: Event, at: At) {
        if let At::Event(other) = at {
            match self.events.relation(event, other) {
                Relation::Same | Relation::After | Relation::Excluded => return,
                Relation::Before => {}
                Relation::Free => literals.push(Literal::Before(at.node(), event.node())),
            }
        } else {
            literals.push(Literal::Before(at.node(), event.node()));
        }
        self.add(literals);
    }

    /// The place where a section ends, if it does.
    pub(super) fn end_of(&mut self, section: Event) -> Event {
        if let Some(&end) = self.ends.get(&section) {
            return end;
        }
        let mut clauses = Vec::new();
        let end = self.events.end_of_section(section, &mut clauses);
        self.add_all(clauses);
        self.ends.insert(section, end);
        self.some_of(vec![end.absent()], List::Ends(section), 0, Role::EndsSection { end });
        end
    }

    fn last_write(&mut self, write: Event, at: At, cell: u32, value: Option<Held>) -> Option<Literal> {
        let left = self.events.leaves_in(write, cell);
        if value.is_some_and(|value| value != left) || self.cannot_precede(write, at) {
            return None;
        }
        let own = match at {
            At::Event(event) => self.events.own_writer(event, cell),
            At::End(_) => None,
        };
        if let Some(own) = own
            && own != write
            && self.cannot_precede(own, At::Event(write))
        {
            return None;
        }
        let choice = self.choice();
        self.before(vec![Literal::NotChosen(choice)], write, at);
        if let Some(own) = own.filter(|&own| own != write) {
            self.before(vec![Literal::NotChosen(choice)], own, At::Event(write));
        }
        if value.is_none() {
            let holds = self.holds(at, cell, left);
            self.add(vec![Literal::NotChosen(choice), Literal::Chosen(holds)]);
        }
        let known = self.explained.entry((at, cell)).or_default();
        known.options.push((Some(write), choice));
        Some(Literal::Chosen(choice))
    }

    /// "The cell holds this then."
    pub(super) fn holds(&mut self, at: At, cell: u32, value: Held) -> Choice {
        if let Some(&choice) = self.holds.get(&(at, cell, value)) {
            return choice;
        }
        let choice = self.choice();
        self.holds.insert((at, cell, value), choice);
        choice
    }

    /// Writes down which writes may be the last of a cell then. Whether that is new.
    pub(super) fn explain(&mut self, at: At, cell: u32, value: Option<Held>) -> bool {
        if self.explained.contains_key(&(at, cell)) {
            return false;
        }
        self.explained.insert((at, cell), Explained::default());
        let mut literals = vec![at.void()];
        let own = match at {
            At::Event(event) => self.events.own_writer(event, cell),
            At::End(_) => None,
        };
        let initial = self.events.initial(cell);
        if own.is_none() && value.is_none_or(|value| value == initial) {
            let choice = self.choice();
            literals.push(Literal::Chosen(choice));
            if value.is_none() {
                let holds = self.holds(at, cell, initial);
                self.add(vec![Literal::NotChosen(choice), Literal::Chosen(holds)]);
            }
            let known = self.explained.entry((at, cell)).or_default();
            known.options.push((None, choice));
        }
        self.some_of(literals, List::Writers(cell), 0, Role::LastWrite { at, cell, value });
        true
    }

    /// Writes down that a write does not come between the chosen one and then. Whether that is new.
    pub(super) fn keep_apart(&mut self, at: At, cell: u32, write: Option<Event>, choice: Choice, other: Event) -> bool {
        let Some(known) = self.explained.get_mut(&(at, cell)) else {
            return false;
        };
        if write == Some(other) || !known.kept_apart.insert((write, other)) {
            return false;
        }
        let mut literals = vec![Literal::NotChosen(choice)];
        if let Some(write) = write {
            match self.events.relation(other, write) {
                Relation::Before | Relation::Excluded => return false,
                Relation::Free => literals.push(Literal::Before(other.node(), write.node())),
                Relation::Same | Relation::After => {}
            }
        }
        self.not_before(literals, other, at);
        true
    }

    /// Writes down that not both of two choices are made. Whether that is new.
    pub(super) fn not_both(&mut self, a: Choice, b: Choice) -> bool {
        let new = a != b && self.once.insert((a.min(b), a.max(b)));
        if new {
            self.add(vec![Literal::NotChosen(a), Literal::NotChosen(b)]);
        }
        new
    }
}
