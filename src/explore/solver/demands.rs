//! What is written down where a proposed order violates something. Each clause holds in every feasible prefix.

use super::clauses::{At, Formulas, Permit, Role};
use super::events::{Event, List, Relation, What};
use super::replay::Violation;
use crate::encode::{Choice, Literal};
use crate::explore::tables::{Act, Held, Tables};
use crate::forest::Action;
use hashbrown::HashMap;

/// The kinds of pairs that are written down once.
const SECTIONS: u8 = 0;
const AROUND: u8 = 1;
const ENDED: u8 = 2;
const FIRST: u8 = 3;
const INITIALIZED: u8 = 4;
const ASLEEP: u8 = 5;

impl Formulas {
    /// Writes down what was violated by a model that made these choices. Whether anything is new.
    pub(super) fn demand(
        &mut self,
        tables: &Tables<'_>,
        chosen: &dyn Fn(Choice) -> bool,
        violation: &Violation,
    ) -> bool {
        match *violation {
            Violation::Read { at, cell, value, last } => self.demand_read(chosen, at, cell, value, last),
            Violation::SeesShown(event) => self.exclude_shown(tables, event),
            Violation::Locked { event, by } => self.demand_free(event, by),
            Violation::NotLocked { at, lock, tree, shared } => {
                let new = self.is_new(AROUND, at, at);
                if new {
                    self.some_of(
                        vec![at.void()],
                        List::Sections(lock),
                        0,
                        Role::Around { at, tree, shared },
                    );
                }
                new
            }
            Violation::NotEnded { event, tree } => {
                let at = At::Event(event);
                let new = self.is_new(ENDED, at, at);
                if new {
                    self.some_of(vec![at.void()], List::Ended(tree), 0, Role::Before { at });
                }
                new
            }
            Violation::HasEnded { event, by } => {
                let at = At::Event(event);
                let new = self.is_new(ENDED, at, At::Event(by));
                if new {
                    self.not_before(vec![at.void()], by, at);
                }
                new
            }
            Violation::NotWoken { ref ends, condition } => {
                let mut new = false;
                for &end in ends {
                    if self.wakes.contains_key(&end) {
                        continue;
                    }
                    self.wakes.insert(end, Vec::new());
                    let begin = self.events.row(end).parent;
                    let begin = begin.expect("a wait begins before it ends");
                    let at = At::Event(end);
                    self.some_of(vec![at.void()], List::Notifies(condition), 0, Role::Wakes { at, begin });
                    new = true;
                }
                new || self.served_once(chosen, ends)
            }
            Violation::NotAsleep { event, by, ref woken } => {
                let begin = self.events.row(event).parent.expect("a wait has begun");
                let at = At::Event(event);
                self.demand_other(at, at, begin, by) || self.demand_others(chosen, woken)
            }
            Violation::WokenAtEnd {
                choice,
                node,
                by,
                ref woken,
            } => {
                let super::events::Lead::After(begin) = self.events.lead(node) else {
                    return false;
                };
                let at = At::End(choice);
                self.demand_other(at, at, begin, by) || self.demand_others(chosen, woken)
            }
            Violation::CompleteAtEnd {
                choice,
                entry,
                barrier,
                ref before_entry,
                ref before,
            } => {
                let (end, entry) = (At::End(choice), At::Event(entry));
                self.unless_others(end.void(), end, before, entry, before_entry, List::Arrivals(barrier));
                true
            }
            Violation::Never { .. } | Violation::NotBegun { .. } => self.demand_at_end(violation),
            Violation::NoPermit { ref takes, semaphore } => {
                let mut new = false;
                for &take in takes {
                    let at = At::Event(take);
                    if self.permits.contains_key(&at) {
                        continue;
                    }
                    let mut literals = vec![at.void()];
                    let mut known = Vec::new();
                    for number in 0..tables.initial_count(semaphore) {
                        let choice = self.choice();
                        known.push((Permit::Initial(number), choice));
                        literals.push(Literal::Chosen(choice));
                    }
                    self.permits.insert(at, known);
                    self.some_of(literals, List::Posts(semaphore), 0, Role::Permit { at });
                    new = true;
                }
                new || self.permitted_once(chosen, takes)
            }
            Violation::Permits {
                at,
                semaphore,
                ref posts,
                ref takes,
            } => {
                // As many posts as suffice for one permit more than was taken.
                let needed = (takes.len() + 1).saturating_sub(tables.initial_count(semaphore) as usize);
                self.unless_others(
                    at.void(),
                    at,
                    &posts[..needed.min(posts.len())],
                    at,
                    takes,
                    List::Takes(semaphore),
                );
                true
            }
            Violation::Arrivals {
                event,
                barrier,
                ref before,
            } => {
                let at = At::Event(event);
                self.unless_others(at.void(), at, before, at, before, List::Arrivals(barrier));
                true
            }
            Violation::NotComplete {
                event,
                barrier,
                ref before_entry,
                ref before,
            } => {
                let entry = self.events.row(event).parent.expect("it has arrived");
                let at = At::Event(event);
                self.unless_others(
                    at.void(),
                    At::Event(entry),
                    before_entry,
                    at,
                    before,
                    List::Arrivals(barrier),
                );
                true
            }
            Violation::NotInitialized { event, once } => {
                let at = At::Event(event);
                let new = self.is_new(INITIALIZED, at, at);
                if new {
                    self.some_of(vec![at.void()], List::OnceEnds(once), 0, Role::Before { at });
                }
                new
            }
            Violation::NotFirst { event, first } => {
                let at = At::Event(event);
                let new = self.is_new(FIRST, at, At::Event(first));
                if new {
                    self.not_before(vec![at.void()], first, at);
                }
                new
            }
        }
    }

    /// Unless one of some events does not come before one moment, or another of a list comes before a second, which is
    /// not before the first, that is void.
    fn unless_others(&mut self, void: Literal, first: At, those: &[Event], second: At, but: &[Event], list: List) {
        let mut literals = vec![void];
        for &event in those {
            if let (At::Event(other), literal) = (first, Literal::Before(first.node(), event.node())) {
                match self.events.relation(event, other) {
                    Relation::Before => {}
                    _ => literals.push(literal),
                }
            } else {
                literals.push(Literal::Before(first.node(), event.node()));
            }
        }
        let others: Vec<Event> = self.events.list(list).to_vec();
        for other in others {
            if !but.contains(&other) && !self.cannot_precede(other, second) {
                literals.push(Literal::Before(other.node(), second.node()));
            }
        }
        let done = self.events.list(list).len();
        self.some_of(literals, list, done, Role::Before { at: second });
    }

    fn demand_read(
        &mut self,
        chosen: &dyn Fn(Choice) -> bool,
        at: At,
        cell: u32,
        value: Option<Held>,
        last: Option<Event>,
    ) -> bool {
        if self.explain(at, cell, value) {
            return true;
        }
        let Some(other) = last else { return false };
        let options = self.explained[&(at, cell)].options.clone();
        let mut new = false;
        for (write, choice) in options {
            if chosen(choice) {
                new |= self.keep_apart(at, cell, write, choice, other);
            }
        }
        new
    }

    /// Writes down that an open read sees nothing that a run has shown.
    pub(super) fn exclude_shown(&mut self, tables: &Tables<'_>, event: Event) -> bool {
        let row = self.events.row(event).clone();
        let class = tables.class(tables.class_of[row.node.index()]);
        let done = self.excluded.get(&event).copied();
        let edges = &tables.forest.node(row.node).edges;
        if done == Some(edges.len()) {
            return false;
        }
        for edge in &edges[done.unwrap_or(0)..] {
            let saw = class.edges.iter().find(|other| other.outcome == edge.outcome);
            let saw = saw.expect("a class has the outcomes of its nodes").saw.clone();
            self.exclude_values(event, &row.cells, &saw, None);
        }
        self.excluded.insert(event, edges.len());
        true
    }

    /// Writes down that an open read does not see this, if `guard` is chosen.
    pub(super) fn exclude_values(&mut self, event: Event, cells: &[u32], saw: &[Held], guard: Option<Choice>) {
        let at = At::Event(event);
        let mut literals: Vec<Literal> = guard.map(Literal::NotChosen).into_iter().chain([at.void()]).collect();
        for (&cell, &value) in cells.iter().zip(saw) {
            let choice = self.holds(at, cell, value);
            literals.push(Literal::NotChosen(choice));
        }
        self.add(literals);
    }

    /// Of an event that needs a lock, and a section that denies it.
    fn demand_free(&mut self, event: Event, by: Event) -> bool {
        let (a, b) = (At::Event(event.min(by)), At::Event(event.max(by)));
        if !self.is_new(SECTIONS, a, b) {
            return false;
        }
        let end = self.end_of(by);
        let mut literals = vec![event.absent(), by.absent(), Literal::Before(end.node(), event.node())];
        let row = self.events.row(event);
        if row.begins.is_some() && matches!(row.what, What::Shown(_)) {
            let end = self.end_of(event);
            literals.push(Literal::Before(end.node(), by.node()));
        } else {
            literals.push(Literal::Before(event.node(), by.node()));
        }
        self.add(literals);
        true
    }

    /// Of a wait that lasts at some moment, unless `void` makes that void, and a notify that ended it before: it comes
    /// at another time, or ends another wait. Whether that is new.
    fn demand_other(&mut self, void: At, at: At, begin: Event, by: Event) -> bool {
        if !self.is_new(ASLEEP, void, At::Event(by)) {
            return false;
        }
        let mut literals = vec![void.void()];
        if !self.cannot_precede(by, At::Event(begin)) {
            literals.push(Literal::Before(by.node(), begin.node()));
        }
        if let At::Event(event) = at {
            match self.events.relation(by, event) {
                Relation::Before => {}
                Relation::Free => literals.push(Literal::Before(event.node(), by.node())),
                Relation::Same | Relation::After | Relation::Excluded => return true,
            }
        } else {
            literals.push(by.absent());
        }
        match self.events.row(by).act {
            Act::On(Action::Notify(condition)) => {
                let says = Role::WokenInstead { notify: by, not: begin };
                self.some_of(literals, List::Begins(condition), 0, says);
            }
            _ => self.add(literals),
        }
        true
    }

    /// Of waits that notifies are to end, by choice, and that others have ended. Whether anything is new.
    fn demand_others(&mut self, chosen: &dyn Fn(Choice) -> bool, woken: &[(Event, Event)]) -> bool {
        let others = self.others.iter();
        let mut others: Vec<(Event, Event, Choice)> = others
            .map(|(&(notify, begin), &choice)| (begin, notify, choice))
            .filter(|&(.., choice)| chosen(choice))
            .collect();
        others.sort_unstable();
        let mut new = false;
        for (index, &(begin, notify, choice)) in others.iter().enumerate() {
            for &(other_begin, other_notify, other) in &others[index + 1..] {
                if begin == other_begin || notify == other_notify {
                    new |= self.not_both(choice, other);
                }
            }
            let ends: Vec<Event> = self.events.list(List::WaitEnds(begin)).to_vec();
            for end in ends {
                let wakes: Vec<(Event, Choice)> = self.wakes.get(&end).cloned().unwrap_or_default();
                for (other, wakes) in wakes {
                    if other != notify && chosen(wakes) {
                        new |= self.not_both(choice, wakes);
                    }
                }
            }
            let by = woken.iter().find(|&&(woken, by)| woken == begin && by != notify);
            if let Some(&(_, by)) = by {
                new |= self.demand_other(At::End(choice), At::Event(notify), begin, by);
            }
        }
        new
    }

    /// Writes down that a notify that wakes one does not wake two.
    fn served_once(&mut self, chosen: &dyn Fn(Choice) -> bool, ends: &[Event]) -> bool {
        let mut by: HashMap<Event, Vec<Choice>> = HashMap::new();
        for end in ends {
            for &(notify, choice) in self.wakes.get(end).into_iter().flatten() {
                let one = matches!(self.events.row(notify).act, Act::On(Action::Notify(_)));
                if one && chosen(choice) {
                    by.entry(notify).or_default().push(choice);
                }
            }
        }
        self.not_two(by.into_values())
    }

    fn permitted_once(&mut self, chosen: &dyn Fn(Choice) -> bool, takes: &[Event]) -> bool {
        let mut by: HashMap<Permit, Vec<Choice>> = HashMap::new();
        for &take in takes {
            for &(permit, choice) in self.permits.get(&At::Event(take)).into_iter().flatten() {
                if chosen(choice) {
                    by.entry(permit).or_default().push(choice);
                }
            }
        }
        self.not_two(by.into_values())
    }

    fn not_two(&mut self, groups: impl Iterator<Item = Vec<Choice>>) -> bool {
        let mut pairs: Vec<(Choice, Choice)> = Vec::new();
        for group in groups {
            for (index, &a) in group.iter().enumerate() {
                pairs.extend(group[index + 1..].iter().map(|&b| (a.min(b), a.max(b))));
            }
        }
        pairs.sort_unstable();
        let mut new = false;
        for (a, b) in pairs {
            new |= self.not_both(a, b);
        }
        new
    }
}
