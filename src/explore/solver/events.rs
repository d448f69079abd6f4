//! The forest as events of a formula: an operation after a history, and how it turned out.
//!
//! Each edge of a tree is an event, and so is each outcome that an operation may have and that no run has shown: those
//! are *open*, and nothing comes after them. What a thread does alone is no event ([`Tables`] passes it by). Edges that
//! lead back in loops that wait are none either: whatever is feasible is feasible without such rounds.
//!
//! An event is in a prefix if it comes before the end, [`Node::RACE`]. One is in it only if the event before it is; of
//! several after the same history, one at most.

use crate::encode::{Literal, Node};
use crate::explore::session::Opening;
use crate::explore::tables::{AccessKind, Act, Class, Held, Tables};
use crate::forest::{Action, Mode, NodeId, ObjectId, Outcome, Patience, Place, TreeId};
use crate::semantics::action::Ways;
use crate::semantics::locks::Step;
use crate::trace::EventId;
use hashbrown::{HashMap, HashSet};
use std::rc::Rc;

/// An event, or another place in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Event(pub u32);

impl Event {
    pub(super) fn node(self) -> Node {
        Node::of(EventId(self.0))
    }

    /// "It is not in the prefix."
    pub(super) fn absent(self) -> Literal {
        Literal::Before(Node::RACE, self.node())
    }

    /// "It is in the prefix."
    pub(super) fn present(self) -> Literal {
        Literal::Before(self.node(), Node::RACE)
    }

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum What {
    /// An outcome that a run has shown.
    Shown(Outcome),
    /// One that is open.
    Open(Wants),
    /// The place where a critical section ends, whichever of its releases that is.
    EndOfSection,
}

/// What is open after a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Wants {
    /// The read sees what no run has shown it to see.
    Read,
    Opening(Opening),
}

/// A lock that a thread holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hold {
    lock: ObjectId,
    /// The event that began the section; of a lock that was given back to wait, the one that began to wait.
    section: Event,
    depth: u32,
    shared: bool,
    waiting: bool,
}

/// How what a thread holds itself stands to what it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Own {
    /// It holds nothing of the lock.
    Nothing,
    /// It has the lock, and may take it again.
    Again,
    /// It holds the lock, and may not.
    InTheWay,
}

#[derive(Clone, Debug)]
pub(super) struct Row {
    pub node: NodeId,
    pub tree: TreeId,
    pub what: What,
    pub act: Act,
    pub parent: Option<Event>,
    depth: u32,
    jump: Option<Event>,
    pub cells: Vec<u32>,
    /// What a read saw in the cells.
    pub saw: Vec<Held>,
    /// What it leaves there.
    pub leaves: Vec<Held>,
    /// What the thread holds after it.
    holds: Rc<[Hold]>,
    /// Before it: whether the lock that it is about is the thread's own.
    pub own: Own,
    /// Whether a section of a lock begins with it.
    pub begins: Option<ObjectId>,
    /// The section that ends with it, and its lock.
    pub ends: Option<(ObjectId, Event)>,
}

impl Row {
    /// Whether a section that begins with it is a reader's.
    pub(super) fn is_readers(&self) -> bool {
        matches!(self.act, Act::On(Action::Acquire(_, Mode::Shared)))
    }
}

/// Events of one kind on one thing, in the order in which they became known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum List {
    Writers(u32),
    Sections(ObjectId),
    /// Where a section ends.
    Ends(Event),
    /// After what a thread has ended.
    Ended(TreeId),
    Posts(ObjectId),
    Takes(ObjectId),
    Notifies(ObjectId),
    Arrivals(ObjectId),
    OnceEnds(ObjectId),
    OnceFirsts(ObjectId),
    /// Waits on a condition begin.
    Begins(ObjectId),
    /// A wait that begins there ends.
    WaitEnds(Event),
    /// A wait that begins there ends since its time is over.
    TimesOut(Event),
}

/// How two events stand to each other by the trees alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Same,
    /// The first is in each prefix that the second is in, and before it.
    Before,
    After,
    /// No prefix has both.
    Excluded,
    Free,
}

/// How a thread comes to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lead {
    Start,
    After(Event),
    /// It does not, as far as events say.
    Nowhere,
}

/// What a node was when its events were made.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    lead: Lead,
    passed: bool,
    act: Act,
    cells: Vec<u32>,
    leaves: Vec<Held>,
}

/// The events do not fit the forest any more: memory is cut or shared otherwise. They have to be made anew.
#[derive(Debug)]
pub(super) struct Outdated;

#[derive(Default)]
pub(super) struct Events {
    rows: Vec<Row>,
    shown: HashMap<(NodeId, Outcome), Event>,
    open: HashMap<NodeId, Vec<(Wants, Event)>>,
    /// All events of a node that can be in a prefix.
    of_node: HashMap<NodeId, Vec<Event>>,
    leads: Vec<Lead>,
    seen: Vec<Option<Seen>>,
    ended: HashSet<NodeId>,
    lists: HashMap<List, Vec<Event>>,
    cells: HashMap<(Place, u8), u32>,
    /// The lasting numbers of the cells that the tables number.
    numbers: Vec<u32>,
    initial: Vec<Held>,
    /// All that is ever left in a cell.
    written: HashMap<u32, HashSet<Held>>,
    /// The last event that writes a cell, of those that an event comes after by the trees alone.
    own_writers: HashMap<(Event, u32), Option<Event>>,
    /// A thread gives back a lock that it does not hold.
    pub foreign: bool,
}

impl Events {
    pub(super) fn row(&self, event: Event) -> &Row {
        &self.rows[event.index()]
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn list(&self, list: List) -> &[Event] {
        self.lists.get(&list).map_or(&[], Vec::as_slice)
    }

    /// What a cell holds at first.
    pub(super) fn initial(&self, cell: u32) -> Held {
        self.initial[cell as usize]
    }

    /// The lasting number of a cell that the tables number.
    pub(super) fn number(&self, cell: u32) -> u32 {
        self.numbers[cell as usize]
    }

    pub(super) fn lead(&self, node: NodeId) -> Lead {
        self.leads[node.index()]
    }

    /// All that are open, in the order in which they became known.
    pub(super) fn open(&self) -> Vec<Event> {
        let mut open: Vec<Event> = self.open.values().flatten().map(|&(_, event)| event).collect();
        open.sort_unstable();
        open
    }

    /// The events of a node that a prefix may have.
    pub(super) fn of_node(&self, node: NodeId) -> &[Event] {
        self.of_node.get(&node).map_or(&[], Vec::as_slice)
    }

    /// What a thread holds before the operation of a node.
    fn holds_before(&self, lead: Lead) -> Rc<[Hold]> {
        match lead {
            Lead::After(event) => Rc::clone(&self.row(event).holds),
            Lead::Start | Lead::Nowhere => Rc::from([]),
        }
    }

    /// How a thread at a node stands to a lock that it wants.
    pub(super) fn own_at(&self, tables: &Tables<'_>, node: NodeId, lock: ObjectId, mode: Mode) -> Own {
        let lead = self.lead(node);
        let holds = match lead {
            Lead::After(event) if self.row(event).tree == tables.forest.node(node).tree => self.holds_before(lead),
            _ => Rc::from([]),
        };
        own(tables, &holds, lock, mode)
    }

    /// Whether a thread at a node holds a lock so that another one does not get it in this mode.
    pub(super) fn denies(&self, tables: &Tables<'_>, node: NodeId, lock: ObjectId, mode: Mode) -> bool {
        let lead = self.lead(node);
        let is_own = matches!(lead, Lead::After(event) if self.row(event).tree == tables.forest.node(node).tree);
        let denies = |hold: &Hold| hold.lock == lock && !hold.waiting && !(hold.shared && mode == Mode::Shared);
        is_own && self.holds_before(lead).iter().any(denies)
    }

    /// Takes in what the forest has gained, and says what holds of it by the trees alone.
    pub(super) fn grow(&mut self, tables: &Tables<'_>, clauses: &mut Vec<Vec<Literal>>) -> Result<(), Outdated> {
        let forest = tables.forest;
        let numbers = self.cells_of(tables)?;
        self.numbers.clone_from(&numbers);
        let count = forest.nodes().len();
        self.leads.clear();
        self.leads.resize(count, Lead::Nowhere);
        self.seen.resize(count, None);
        self.leads[forest.trees()[0].root.index()] = Lead::Start;
        let mut to_open = Vec::new();
        for index in 0..count {
            let node = NodeId(index as u32);
            let lead = self.leads[index];
            if lead == Lead::Nowhere {
                self.close(node, clauses);
                continue;
            }
            let class = tables.class(tables.class_of[index]);
            let passed = tables.is_passed(node);
            let now = Seen {
                lead,
                passed,
                act: if passed { Act::Unknown } else { class.act },
                cells: class.cells.iter().map(|&cell| numbers[cell as usize]).collect(),
                leaves: class.leaves.clone(),
            };
            let now = if passed {
                Seen {
                    cells: Vec::new(),
                    leaves: Vec::new(),
                    ..now
                }
            } else {
                now
            };
            if let Some(before) = &self.seen[index]
                && *before != now
            {
                let has_shown = self.of_node(node).iter();
                if before.passed
                    || has_shown
                        .clone()
                        .any(|&event| matches!(self.row(event).what, What::Shown(_)))
                {
                    return Err(Outdated);
                }
                self.close(node, clauses);
            }
            self.seen[index] = Some(now.clone());
            if passed {
                if let [edge] = forest.node(node).edges[..] {
                    self.leads[edge.to.index()] = lead;
                }
                continue;
            }
            if class.act == Act::Ended
                && let Lead::After(event) = lead
                && self.ended.insert(node)
            {
                self.push(List::Ended(forest.node(node).tree), event);
            }
            for edge in &forest.node(node).edges {
                let number = class.edges.iter().position(|other| other.outcome == edge.outcome);
                let only_stops = number.is_some_and(|number| tables.only_stops(class, number as u32));
                if edge.to <= node || only_stops {
                    continue;
                }
                let event = match self.shown.get(&(node, edge.outcome)) {
                    Some(&event) => event,
                    None => self.new_shown(tables, node, class, edge.outcome, &now.cells, clauses),
                };
                self.leads[edge.to.index()] = Lead::After(event);
                if let Act::Fork(tree) = class.act {
                    self.leads[forest.trees()[tree.index()].root.index()] = Lead::After(event);
                }
            }
            to_open.push((node, now.cells));
        }
        // What a read may see is known once all writes are.
        for (node, cells) in to_open {
            let class = tables.class(tables.class_of[node.index()]);
            self.open_at(tables, node, class, &cells, clauses);
        }
        Ok(())
    }

    /// The lasting numbers of the cells.
    fn cells_of(&mut self, tables: &Tables<'_>) -> Result<Vec<u32>, Outdated> {
        let mut numbers = Vec::new();
        for ((&place, &size), &initial) in tables.places.iter().zip(&tables.sizes).zip(&tables.initial) {
            let next = self.cells.len() as u32;
            let number = *self.cells.entry((place, size)).or_insert(next);
            if number == next {
                self.initial.push(initial);
            }
            if self.initial[number as usize] != initial {
                return Err(Outdated);
            }
            numbers.push(number);
        }
        Ok(numbers)
    }

    fn push(&mut self, list: List, event: Event) {
        self.lists.entry(list).or_default().push(event);
    }

    fn new_row(&mut self, row: Row, clauses: &mut Vec<Vec<Literal>>) -> Event {
        let event = Event(self.rows.len() as u32);
        if let Some(parent) = row.parent {
            clauses.push(vec![Literal::Before(parent.node(), event.node())]);
            if row.what != What::EndOfSection {
                clauses.push(vec![event.absent(), parent.present()]);
            }
        }
        if row.what != What::EndOfSection {
            let siblings = self.of_node.entry(row.node).or_default();
            clauses.extend(siblings.iter().map(|sibling| vec![event.absent(), sibling.absent()]));
            siblings.push(event);
        }
        self.rows.push(row);
        event
    }

    /// Where it stands among the events that come before it.
    fn below(&self, parent: Option<Event>) -> (u32, Option<Event>) {
        let Some(parent) = parent else {
            return (0, None);
        };
        // A jump is as long as the two before it together, if these are equally long (Myers, Inf. Proc. Letters 1983).
        let row = self.row(parent);
        let depth = |event: Option<Event>| event.map_or(0, |event| self.row(event).depth + 1);
        let at = row.depth + 1;
        let jump = row.jump;
        let further = jump.and_then(|jump| self.row(jump).jump);
        let equal = at - depth(jump) == depth(jump) - depth(further);
        (at, if equal && jump.is_some() { further } else { Some(parent) })
    }

    fn new_shown(
        &mut self,
        tables: &Tables<'_>,
        node: NodeId,
        class: &Class,
        outcome: Outcome,
        cells: &[u32],
        clauses: &mut Vec<Vec<Literal>>,
    ) -> Event {
        let tree = tables.forest.node(node).tree;
        let lead = self.leads[node.index()];
        let parent = match lead {
            Lead::After(event) => Some(event),
            Lead::Start | Lead::Nowhere => None,
        };
        let edge = class.edges.iter().find(|edge| edge.outcome == outcome);
        let edge = edge.expect("a class has the outcomes of its nodes");
        let leaves = if edge.leaves.is_empty() {
            &class.leaves
        } else {
            &edge.leaves
        };
        let holds = match parent {
            Some(parent) if self.row(parent).tree == tree => self.holds_before(lead),
            _ => Rc::from([]),
        };
        let (depth, jump) = self.below(parent);
        let mut row = Row {
            node,
            tree,
            what: What::Shown(outcome),
            act: class.act,
            parent,
            depth,
            jump,
            cells: cells.to_vec(),
            saw: edge.saw.clone(),
            leaves: leaves.clone(),
            holds: Rc::clone(&holds),
            own: Own::Nothing,
            begins: None,
            ends: None,
        };
        let event = Event(self.rows.len() as u32);
        self.hold(tables, &mut row, event, outcome, &holds);
        let lists = [
            row.begins.map(List::Sections),
            row.ends.map(|(_, section)| List::Ends(section)),
            match row.act {
                Act::On(action) => list_of(action, outcome, parent),
                _ => None,
            },
            match row.act {
                Act::On(Action::WaitEnd(..)) if outcome == Outcome::GaveUp => parent.map(List::TimesOut),
                _ => None,
            },
        ];
        for list in lists.into_iter().flatten() {
            self.push(list, event);
        }
        if !row.leaves.is_empty() {
            for (&cell, &value) in cells.iter().zip(&row.leaves) {
                self.push(List::Writers(cell), event);
                self.written.entry(cell).or_default().insert(value);
            }
        }
        self.new_row(row, clauses);
        self.shown.insert((node, outcome), event);
        event
    }

    /// What the thread holds after an event.
    fn hold(&mut self, tables: &Tables<'_>, row: &mut Row, event: Event, outcome: Outcome, before: &[Hold]) {
        let mut holds = before.to_vec();
        let at = |holds: &[Hold], lock: ObjectId, waiting: bool| {
            holds
                .iter()
                .position(|hold| hold.lock == lock && hold.waiting == waiting)
        };
        let Act::On(action) = row.act else {
            return;
        };
        let Some((lock, step)) = action.at_lock(outcome.turned()) else {
            return;
        };
        if let Step::Take { shared } | Step::FindHeld { shared } = step {
            row.own = own(tables, before, lock, Mode::of(shared));
        }
        match step {
            Step::FindHeld { .. } => return,
            Step::Take { shared } => match at(&holds, lock, false) {
                Some(at) => holds[at].depth += 1,
                None => {
                    row.begins = Some(lock);
                    holds.push(Hold {
                        lock,
                        section: event,
                        depth: 1,
                        shared,
                        waiting: false,
                    });
                }
            },
            Step::GiveBack => match at(&holds, lock, false) {
                Some(at) if holds[at].depth > 1 => holds[at].depth -= 1,
                Some(at) => {
                    row.ends = Some((lock, holds[at].section));
                    holds.remove(at);
                }
                None => self.foreign = true,
            },
            Step::GiveUp => match at(&holds, lock, false) {
                Some(at) if !holds[at].shared => {
                    row.ends = Some((lock, holds[at].section));
                    holds[at].section = event;
                    holds[at].waiting = true;
                }
                _ => self.foreign = true,
            },
            Step::TakeAgain => match at(&holds, lock, true) {
                Some(at) => {
                    row.begins = Some(lock);
                    holds[at].section = event;
                    holds[at].waiting = false;
                }
                None => self.foreign = true,
            },
        }
        row.holds = Rc::from(holds);
    }

    /// Events of a node that are open no more.
    fn close(&mut self, node: NodeId, clauses: &mut Vec<Vec<Literal>>) {
        for (_, event) in self.open.remove(&node).unwrap_or_default() {
            self.shut(node, event, clauses);
        }
    }

    fn shut(&mut self, node: NodeId, event: Event, clauses: &mut Vec<Vec<Literal>>) {
        clauses.push(vec![event.absent()]);
        if let Some(all) = self.of_node.get_mut(&node) {
            all.retain(|&other| other != event);
        }
    }

    /// Makes events of what is open at a node, and shuts those of what is open no more.
    fn open_at(
        &mut self,
        tables: &Tables<'_>,
        node: NodeId,
        class: &Class,
        cells: &[u32],
        clauses: &mut Vec<Vec<Literal>>,
    ) {
        let wants = self.wants(tables, node, class, cells);
        let known = self.open.remove(&node).unwrap_or_default();
        let mut open = Vec::new();
        for (wanted, event) in known {
            if wants.contains(&wanted) {
                open.push((wanted, event));
            } else {
                self.shut(node, event, clauses);
            }
        }
        for wanted in wants {
            if open.iter().any(|&(known, _)| known == wanted) {
                continue;
            }
            let parent = match self.leads[node.index()] {
                Lead::After(event) => Some(event),
                Lead::Start | Lead::Nowhere => None,
            };
            let (depth, jump) = self.below(parent);
            let own = match class.act {
                Act::On(Action::Acquire(lock, mode)) => self.own_at(tables, node, lock, mode),
                _ => Own::Nothing,
            };
            let row = Row {
                node,
                tree: tables.forest.node(node).tree,
                what: What::Open(wanted),
                act: class.act,
                parent,
                depth,
                jump,
                cells: cells.to_vec(),
                saw: Vec::new(),
                leaves: Vec::new(),
                holds: Rc::from([]),
                own,
                begins: None,
                ends: None,
            };
            let event = self.new_row(row, clauses);
            open.push((wanted, event));
        }
        if !open.is_empty() {
            self.open.insert(node, open);
        }
    }

    /// What may be open at a node, whatever the others do.
    fn wants(&self, tables: &Tables<'_>, node: NodeId, class: &Class, cells: &[u32]) -> Vec<Wants> {
        let shown = |outcome: Outcome| class.edges.iter().any(|edge| edge.outcome == outcome);
        let mut wants = Vec::new();
        let outcome = |outcome: Outcome, wants: &mut Vec<Wants>| {
            if !shown(outcome) {
                wants.push(Wants::Opening(Opening::Outcome(outcome)));
            }
        };
        let gives_up = |wants: &mut Vec<Wants>| match class.patience {
            Patience::Bounded => outcome(Outcome::GaveUp, wants),
            Patience::Unknown => wants.push(Wants::Opening(Opening::GivesUp)),
            Patience::Endless => {}
        };
        match class.act {
            Act::Unknown => wants.push(Wants::Opening(Opening::NextOperation)),
            Act::Ended | Act::Stops => {}
            Act::Local { sees: true } => {
                if class.edges.is_empty() {
                    wants.push(Wants::Opening(Opening::SomeOutcome));
                }
            }
            Act::Access(AccessKind::Read | AccessKind::AtomicRead) => {
                if self.may_see_else(class, cells) {
                    wants.push(Wants::Read);
                }
            }
            Act::Local { sees: false } | Act::Fence | Act::Access(_) | Act::Begin | Act::End | Act::Fork(_) => {
                outcome(Outcome::Done, &mut wants);
            }
            Act::On(Action::Acquire(lock, mode)) => {
                let own = self.own_at(tables, node, lock, mode);
                if own != Own::InTheWay {
                    outcome(Outcome::Done, &mut wants);
                }
                if own != Own::Again {
                    gives_up(&mut wants);
                }
            }
            Act::On(Action::WaitEnd(..)) | Act::Join(_) => {
                outcome(Outcome::Done, &mut wants);
                gives_up(&mut wants);
            }
            Act::On(Action::BarrierEnter(barrier)) => {
                outcome(Outcome::Done, &mut wants);
                if tables.parties(barrier).is_some() {
                    outcome(Outcome::Chosen, &mut wants);
                }
            }
            Act::On(Action::Once(_)) => {
                outcome(Outcome::Done, &mut wants);
                outcome(Outcome::Chosen, &mut wants);
            }
            // A forest that has it is not put to the solver.
            Act::Count(_) => {}
            Act::On(action) => {
                outcome(Outcome::Done, &mut wants);
                if action.ways() == Ways::Attempt {
                    gives_up(&mut wants);
                }
            }
        }
        wants
    }

    /// Whether some write, or what is there at first, would be an outcome that no run has shown.
    fn may_see_else(&self, class: &Class, cells: &[u32]) -> bool {
        let [cell] = cells[..] else {
            return true;
        };
        let shown = |value: Held| class.edges.iter().any(|edge| edge.saw[0] == value);
        let mut written = self.written.get(&cell).into_iter().flatten();
        !shown(self.initial(cell)) || written.any(|&value| !shown(value))
    }

    /// What a write leaves in a cell.
    pub(super) fn leaves_in(&self, write: Event, cell: u32) -> Held {
        let row = self.row(write);
        let at = row.cells.iter().position(|&other| other == cell);
        row.leaves[at.expect("it writes the cell")]
    }

    /// A place in the order where a section ends.
    pub(super) fn end_of_section(&mut self, section: Event, clauses: &mut Vec<Vec<Literal>>) -> Event {
        let row = Row {
            what: What::EndOfSection,
            parent: Some(section),
            begins: None,
            ends: None,
            ..self.row(section).clone()
        };
        self.new_row(row, clauses)
    }

    /// The event at a depth on the way to another.
    fn at_depth(&self, mut event: Event, depth: u32) -> Event {
        loop {
            let row = self.row(event);
            if row.depth <= depth {
                return event;
            }
            event = match row.jump {
                Some(jump) if self.row(jump).depth >= depth => jump,
                _ => row.parent.expect("what is deeper has something before it"),
            };
        }
    }

    pub(super) fn relation(&self, a: Event, b: Event) -> Relation {
        if a == b {
            return Relation::Same;
        }
        let (above, below) = (self.row(a).depth, self.row(b).depth);
        let (mut x, mut y) = (self.at_depth(a, above.min(below)), self.at_depth(b, above.min(below)));
        if x == y {
            return if above < below {
                Relation::Before
            } else {
                Relation::After
            };
        }
        // Where they part.
        loop {
            let (p, q) = (self.row(x), self.row(y));
            if p.parent == q.parent {
                return if p.node == q.node {
                    Relation::Excluded
                } else {
                    Relation::Free
                };
            }
            (x, y) = match (p.jump, q.jump) {
                (Some(i), Some(j)) if i != j => (i, j),
                _ => (
                    p.parent.expect("they have a common start"),
                    q.parent.expect("they have a common start"),
                ),
            };
        }
    }

    /// The last write of a cell among what comes before an event by the trees alone.
    pub(super) fn own_writer(&mut self, event: Event, cell: u32) -> Option<Event> {
        let mut way = Vec::new();
        let mut at = self.row(event).parent;
        let found = loop {
            let Some(here) = at else { break None };
            if let Some(&known) = self.own_writers.get(&(here, cell)) {
                break known;
            }
            let row = self.row(here);
            if !row.leaves.is_empty() && row.cells.contains(&cell) {
                break Some(here);
            }
            way.push(here);
            at = row.parent;
        };
        self.own_writers
            .extend(way.into_iter().map(|passed| ((passed, cell), found)));
        found
    }
}

/// What an action is looked for as by those that it lets go on, or keeps from that.
fn list_of(action: Action<ObjectId>, outcome: Outcome, parent: Option<Event>) -> Option<List> {
    if let Some((semaphore, step)) = action.at_semaphore(outcome.turned()) {
        return match step.adds() {
            1.. => Some(List::Posts(semaphore)),
            0 => None,
            ..0 => Some(List::Takes(semaphore)),
        };
    }
    match action {
        Action::Notify(condition) | Action::NotifyAll(condition) => Some(List::Notifies(condition)),
        Action::BarrierEnter(barrier) => Some(List::Arrivals(barrier)),
        Action::OnceEnd(once) => Some(List::OnceEnds(once)),
        Action::Once(once) if outcome == Outcome::Chosen => Some(List::OnceFirsts(once)),
        Action::WaitBegin(condition, _) => Some(List::Begins(condition)),
        Action::WaitEnd(..) => parent.map(List::WaitEnds),
        _ => None,
    }
}

fn own(tables: &Tables<'_>, holds: &[Hold], lock: ObjectId, mode: Mode) -> Own {
    let Some(hold) = holds.iter().find(|hold| hold.lock == lock && !hold.waiting) else {
        return Own::Nothing;
    };
    match (hold.shared, mode) {
        (true, Mode::Shared) => Own::Again,
        (false, Mode::Exclusive) if tables.is_recursive(lock) => Own::Again,
        _ => Own::InTheWay,
    }
}
