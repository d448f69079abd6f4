//! A proposed order of events, performed by the forest's machine: either it is feasible, or something is violated.

use super::clauses::{At, Formulas};
use super::events::{Event, Lead, List, Row, Wants, What};
use crate::explore::machine::{Choice, Goes, NONE, Phase, State, Turn};
use crate::explore::session::{Opening, Prefix};
use crate::explore::states::Walk;
use crate::explore::tables::{AccessKind, Act, Held, Tables};
use crate::forest::{Action, Forest, Mode, NodeId, ObjectId, Outcome, TreeId};
use crate::semantics::locks::excludes;
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;

/// What a proposed order violates.
#[derive(Clone, Debug)]
pub(super) enum Violation {
    /// The last write of a cell is this one.
    Read {
        at: At,
        cell: u32,
        /// What has to be there; `None` if anything but what runs have shown.
        value: Option<Held>,
        last: Option<Event>,
    },
    /// An open read sees what a run has shown.
    SeesShown(Event),
    /// The lock is held by this section.
    Locked {
        event: Event,
        by: Event,
    },
    /// Nobody keeps an attempt at a lock from succeeding.
    NotLocked {
        at: At,
        lock: ObjectId,
        tree: TreeId,
        shared: bool,
    },
    NotEnded {
        event: Event,
        tree: TreeId,
    },
    /// The thread that is to be found running has ended, by this.
    HasEnded {
        event: Event,
        by: Event,
    },
    /// No notify wakes it. These ends of waits on the condition come up to then.
    NotWoken {
        ends: Vec<Event>,
        condition: ObjectId,
    },
    /// A notify has woken it.
    NotAsleep {
        event: Event,
        by: Event,
        woken: Vec<(Event, Event)>,
    },
    /// These have taken all permits.
    NoPermit {
        takes: Vec<Event>,
        semaphore: ObjectId,
    },
    /// There are permits.
    Permits {
        at: At,
        semaphore: ObjectId,
        posts: Vec<Event>,
        takes: Vec<Event>,
    },
    /// The round of a barrier is not where it has to be: so many have arrived.
    Arrivals {
        event: Event,
        barrier: ObjectId,
        before: Vec<Event>,
    },
    /// Its round is not complete.
    NotComplete {
        event: Event,
        barrier: ObjectId,
        before_entry: Vec<Event>,
        before: Vec<Event>,
    },
    NotInitialized {
        event: Event,
        once: ObjectId,
    },
    NotFirst {
        event: Event,
        first: Event,
    },
    /// At the end, a notify has woken the thread that is to wait at this node.
    WokenAtEnd {
        choice: crate::encode::Choice,
        node: NodeId,
        by: Event,
        woken: Vec<(Event, Event)>,
    },
    /// At the end, the round of a barrier is complete.
    CompleteAtEnd {
        choice: crate::encode::Choice,
        entry: Event,
        barrier: ObjectId,
        before_entry: Vec<Event>,
        before: Vec<Event>,
    },
    /// What is chosen needs that nothing of this has come.
    Never {
        choice: crate::encode::Choice,
        list: List,
    },
    /// Nobody has begun to initialize a cell.
    NotBegun {
        choice: crate::encode::Choice,
        once: ObjectId,
    },
}

/// What became of an order.
pub(super) enum Replayed {
    /// It is feasible up to an event that is open.
    Open(Event),
    /// It is feasible, and nothing in it is open.
    Whole,
    Violated(Vec<Violation>),
    /// It is no order of the forest's events. That would be an error of the formula.
    Broken,
}

pub(super) struct Replay<'t, 'f> {
    forest: &'f Forest,
    pub tables: &'t Tables<'f>,
    pub state: State,
    pub walk: Walk,
    pub prefix: Prefix,
    pub last: Vec<Option<Event>>,
    /// Sections that have begun and not ended.
    held: Vec<(ObjectId, Event)>,
    posts: HashMap<ObjectId, Vec<Event>>,
    takes: HashMap<ObjectId, Vec<Event>>,
    arrivals: HashMap<ObjectId, Vec<Event>>,
    before_entry: HashMap<u32, usize>,
    first: HashMap<ObjectId, Event>,
    /// Ends of threads.
    ended: HashMap<TreeId, Event>,
    woken_by: HashMap<u32, Event>,
    /// Beginnings of waits, and what ended them.
    woken: BTreeMap<Event, Event>,
    wait_ends: HashMap<ObjectId, Vec<Event>>,
    /// The beginning of the wait that each of these notifies ends.
    pub follows: HashMap<Event, Event>,
    /// Beginnings of waits that are not to be ended.
    pub sleeps: HashSet<Event>,
    violations: Vec<Violation>,
}

impl<'t, 'f> Replay<'t, 'f> {
    pub(super) fn new(tables: &'t Tables<'f>) -> Replay<'t, 'f> {
        let state = State::start(tables);
        Replay {
            forest: tables.forest,
            tables,
            walk: Walk::new(tables.forest),
            prefix: Prefix::start(),
            last: vec![None; state.cells.len()],
            state,
            held: Vec::new(),
            posts: HashMap::new(),
            takes: HashMap::new(),
            arrivals: HashMap::new(),
            before_entry: HashMap::new(),
            first: HashMap::new(),
            ended: HashMap::new(),
            woken_by: HashMap::new(),
            woken: BTreeMap::new(),
            wait_ends: HashMap::new(),
            follows: HashMap::new(),
            sleeps: HashSet::new(),
            violations: Vec::new(),
        }
    }

    /// Performs what is in the order, up to the first event that is open.
    pub(super) fn run(&mut self, formulas: &Formulas, order: &[Event]) -> Replayed {
        let events = &formulas.events;
        // Where each thread goes on, at each place of the order.
        let mut next: HashMap<Event, usize> = HashMap::new();
        let mut latest: HashMap<TreeId, Event> = HashMap::new();
        for (place, &event) in order.iter().enumerate() {
            if let Some(before) = latest.insert(events.row(event).tree, event) {
                next.insert(before, place);
            }
        }
        let mut stuck = vec![false; self.state.at.len()];
        let mut turns = Vec::new();
        for &event in order {
            let row = events.row(event);
            let slot = row.tree.index();
            if stuck[slot] || self.state.at[slot] == NONE {
                if matches!(row.what, What::Open(_)) {
                    break;
                }
                continue;
            }
            if self.tables.class_of[row.node.index()] != self.state.at[slot] {
                return Replayed::Broken;
            }
            turns.clear();
            self.state.turns(self.tables, row.tree.0, &mut turns);
            if let What::Open(wants) = row.what {
                let wanted = turns.iter().any(|turn| match (wants, turn.goes) {
                    (Wants::Read, Goes::OpenRead) => true,
                    (Wants::Opening(wanted), Goes::Open(opening)) => wanted == opening,
                    _ => false,
                });
                if wanted && self.violations.is_empty() {
                    return Replayed::Open(event);
                }
                if !wanted && !self.violate(formulas, event) {
                    return Replayed::Broken;
                }
                break;
            }
            let What::Shown(outcome) = row.what else {
                return Replayed::Broken;
            };
            let class = self.state.class(self.tables, row.tree.0);
            let leads =
                |turn: &&Turn| matches!(turn.goes, Goes::Along(edge) if class.edges[edge as usize].outcome == outcome);
            let mut fitting = turns.iter().filter(leads).copied();
            let turn = match row.act {
                Act::On(Action::Notify(_)) => {
                    let all: Vec<Turn> = fitting.collect();
                    self.whom(formulas, event, order, &next, &all)
                }
                _ => fitting.next(),
            };
            let turn = match turn {
                Some(turn) => turn,
                None => {
                    if !self.violate(formulas, event) {
                        return Replayed::Broken;
                    }
                    if !matches!(row.act, Act::Access(_)) {
                        stuck[slot] = true;
                        continue;
                    }
                    // As if it had seen what it has to see.
                    let edge = class.edges.iter().position(|edge| edge.outcome == outcome);
                    Turn {
                        thread: row.tree.0,
                        choice: Choice::None,
                        goes: Goes::Along(edge.expect("the class has this outcome") as u32),
                    }
                }
            };
            self.perform(formulas, event, row, turn);
            let times_out = |next: &Row| match next.what {
                What::Shown(outcome) => outcome == Outcome::GaveUp,
                What::Open(wants) => wants == Wants::Opening(Opening::Outcome(Outcome::GaveUp)),
                What::EndOfSection => false,
            };
            if matches!(row.act, Act::On(Action::WaitBegin(..)))
                && let Some(&place) = next.get(&event)
                && times_out(events.row(order[place]))
            {
                self.time_out(row.tree.0);
            }
        }
        if self.violations.is_empty() {
            Replayed::Whole
        } else {
            Replayed::Violated(std::mem::take(&mut self.violations))
        }
    }

    /// Whom a notify wakes: the one that it is to wake; else of those who are woken later the one who goes on first;
    /// else one who does not go on.
    fn whom(
        &self,
        formulas: &Formulas,
        notify: Event,
        order: &[Event],
        next: &HashMap<Event, usize>,
        turns: &[Turn],
    ) -> Option<Turn> {
        let events = &formulas.events;
        let urgency = |turn: &&Turn| {
            let Choice::Wakes(woken) = turn.choice else {
                return (0, 0);
            };
            let Lead::After(begun) = events.lead(self.walk.node_of(woken)) else {
                return (5, 0);
            };
            if self.follows.get(&notify) == Some(&begun) {
                return (0, 0);
            }
            if self.follows.values().any(|&other| other == begun) {
                return (5, 0);
            }
            match next.get(&begun).map(|&place| (place, events.row(order[place]).what)) {
                Some((place, What::Shown(Outcome::Done))) => (1, place),
                Some((place, What::Open(Wants::Opening(Opening::Outcome(Outcome::Done))))) => (1, place),
                None if !self.sleeps.contains(&begun) => (2, 0),
                None => (3, 0),
                Some((place, _)) => (4, place),
            }
        };
        turns.iter().min_by_key(urgency).copied()
    }

    /// Whether another thread's section denies a lock.
    pub(super) fn is_held(&self, formulas: &Formulas, lock: ObjectId, tree: TreeId, shared: bool) -> bool {
        self.held.iter().any(|&(held, by)| {
            let section = formulas.events.row(by);
            let reads = section.is_readers();
            held == lock && section.tree != tree && excludes(reads, shared)
        })
    }

    /// What has given and taken permits.
    pub(super) fn permits(&self, at: At, semaphore: ObjectId) -> Violation {
        Violation::Permits {
            at,
            semaphore,
            posts: self.posts.get(&semaphore).cloned().unwrap_or_default(),
            takes: self.takes.get(&semaphore).cloned().unwrap_or_default(),
        }
    }

    /// What has woken a thread.
    pub(super) fn woken(&self, thread: u32) -> Option<Event> {
        self.woken_by.get(&thread).copied()
    }

    /// Beginnings of waits, and what has ended them.
    pub(super) fn all_woken(&self) -> Vec<(Event, Event)> {
        self.woken.iter().map(|(&begin, &by)| (begin, by)).collect()
    }

    /// Who has arrived at a barrier before a thread, and in all.
    pub(super) fn complete(
        &self,
        formulas: &Formulas,
        choice: crate::encode::Choice,
        node: NodeId,
        barrier: ObjectId,
    ) -> Option<Violation> {
        let Lead::After(entry) = formulas.events.lead(node) else {
            return None;
        };
        let before = self.arrivals.get(&barrier).cloned().unwrap_or_default();
        let place = before.iter().position(|&event| event == entry)?;
        Some(Violation::CompleteAtEnd {
            choice,
            entry,
            barrier,
            before_entry: before[..place].to_vec(),
            before,
        })
    }

    /// A waiting thread's time is over.
    pub(super) fn time_out(&mut self, thread: u32) {
        let turn = Turn {
            thread,
            choice: Choice::TimesOut,
            goes: Goes::Stays,
        };
        self.walk
            .perform(self.forest, self.tables, &mut self.state, turn, &mut self.prefix);
    }

    fn wakes(&mut self, formulas: &Formulas, thread: u32, notify: Event) {
        self.woken_by.insert(thread, notify);
        if let Lead::After(begun) = formulas.events.lead(self.walk.node_of(thread)) {
            self.woken.insert(begun, notify);
        }
    }

    fn perform(&mut self, formulas: &Formulas, event: Event, row: &Row, turn: Turn) {
        let class = self.state.class(self.tables, row.tree.0);
        let cells = class.cells.clone();
        if let Choice::Wakes(woken) = turn.choice {
            self.wakes(formulas, woken, event);
        }
        if let Act::On(Action::NotifyAll(condition)) = row.act {
            let threads: Vec<u32> = self.state.threads().collect();
            for thread in threads {
                let on = matches!(self.state.class(self.tables, thread).act, Act::On(Action::WaitEnd(on, _)) if on == condition);
                if on && matches!(self.state.phase[thread as usize], Phase::Asleep(_)) {
                    self.wakes(formulas, thread, event);
                }
            }
        }
        self.walk
            .perform(self.forest, self.tables, &mut self.state, turn, &mut self.prefix);
        if !row.leaves.is_empty() {
            for cell in cells {
                self.last[cell as usize] = Some(event);
            }
        }
        if let Some((_, section)) = row.ends {
            self.held.retain(|&(_, held)| held != section);
        }
        if let Some(lock) = row.begins {
            self.held.push((lock, event));
        }
        let gave_up = row.what == What::Shown(Outcome::GaveUp);
        if let (Act::On(action), What::Shown(outcome)) = (row.act, row.what)
            && let Some((semaphore, step)) = action.at_semaphore(outcome.turned())
        {
            match step.adds() {
                1.. => self.posts.entry(semaphore).or_default().push(event),
                0 => {}
                ..0 => self.takes.entry(semaphore).or_default().push(event),
            }
        }
        match row.act {
            Act::End => drop(self.ended.insert(row.tree, event)),
            Act::On(Action::BarrierEnter(barrier)) => {
                let arrivals = self.arrivals.entry(barrier).or_default();
                self.before_entry.insert(row.tree.0, arrivals.len());
                arrivals.push(event);
            }
            Act::On(Action::Once(once)) if row.what == What::Shown(Outcome::Chosen) => {
                self.first.entry(once).or_insert(event);
            }
            Act::On(Action::OnceEnd(once)) => {
                self.first.entry(once).or_insert(event);
            }
            Act::On(Action::WaitEnd(condition, _)) if !gave_up => {
                self.wait_ends.entry(condition).or_default().push(event)
            }
            _ => {}
        }
    }

    /// What an open read sees: the last writes of its cells. Nothing for others.
    pub(super) fn sees(&self, formulas: &Formulas, event: Event) -> Vec<Violation> {
        let row = formulas.events.row(event);
        if row.what != What::Open(Wants::Read) {
            return Vec::new();
        }
        let class = self.state.class(self.tables, row.tree.0);
        let cells = class.cells.iter().zip(&row.cells);
        cells
            .map(|(&cell, &lasting)| Violation::Read {
                at: At::Event(event),
                cell: lasting,
                value: None,
                last: self.last[cell as usize],
            })
            .collect()
    }

    /// Notes why an event cannot be performed. Whether there is a reason.
    fn violate(&mut self, formulas: &Formulas, event: Event) -> bool {
        let before = self.violations.len();
        let row = formulas.events.row(event);
        let outcome = match row.what {
            What::Shown(outcome) | What::Open(Wants::Opening(Opening::Outcome(outcome))) => Some(outcome),
            _ => None,
        };
        let gave_up = outcome == Some(Outcome::GaveUp) || row.what == What::Open(Wants::Opening(Opening::GivesUp));
        match row.act {
            Act::Access(AccessKind::Read | AccessKind::AtomicRead) => {
                if matches!(row.what, What::Open(_)) {
                    let sees = self.sees(formulas, event);
                    self.violations.extend(sees);
                    self.violations.push(Violation::SeesShown(event));
                    return true;
                }
                let class = self.state.class(self.tables, row.tree.0);
                for (index, &cell) in class.cells.iter().enumerate() {
                    let value = row.saw.get(index).copied();
                    if value != Some(self.state.cells[cell as usize]) {
                        self.violations.push(Violation::Read {
                            at: At::Event(event),
                            cell: row.cells[index],
                            value,
                            last: self.last[cell as usize],
                        });
                    }
                }
            }
            Act::On(Action::Acquire(lock, mode)) if gave_up => self.violations.push(Violation::NotLocked {
                at: At::Event(event),
                lock,
                tree: row.tree,
                shared: mode == Mode::Shared,
            }),
            Act::On(Action::Acquire(lock, mode)) => self.locked(formulas, event, lock, mode == Mode::Shared),
            Act::Join(tree) if gave_up => {
                if let Some(&by) = self.ended.get(&tree) {
                    self.violations.push(Violation::HasEnded { event, by });
                }
            }
            Act::Join(tree) => self.violations.push(Violation::NotEnded { event, tree }),
            Act::On(Action::WaitEnd(condition, lock)) => match self.state.phase[row.tree.index()] {
                Phase::Woken(_) | Phase::TimedOut(_) if outcome.is_some() => self.locked(formulas, event, lock, false),
                Phase::Asleep(_) if !gave_up => {
                    let mut ends = self.wait_ends.get(&condition).cloned().unwrap_or_default();
                    ends.push(event);
                    self.violations.push(Violation::NotWoken { ends, condition });
                }
                Phase::Asleep(_) => self.locked(formulas, event, lock, false),
                _ => {
                    if let Some(&by) = self.woken_by.get(&row.tree.0) {
                        let woken = self.all_woken();
                        self.violations.push(Violation::NotAsleep { event, by, woken });
                    }
                }
            },
            Act::On(Action::Take(semaphore)) => {
                let takes = self.takes.get(&semaphore).cloned().unwrap_or_default();
                self.violations.push(if gave_up {
                    Violation::Permits {
                        at: At::Event(event),
                        semaphore,
                        posts: self.posts.get(&semaphore).cloned().unwrap_or_default(),
                        takes,
                    }
                } else {
                    let takes = takes.into_iter().chain([event]).collect();
                    Violation::NoPermit { takes, semaphore }
                });
            }
            Act::On(Action::BarrierEnter(barrier)) => {
                let before = self.arrivals.get(&barrier).cloned().unwrap_or_default();
                self.violations.push(Violation::Arrivals { event, barrier, before });
            }
            Act::On(Action::BarrierExit(barrier)) => {
                let before = self.arrivals.get(&barrier).cloned().unwrap_or_default();
                let entry = self.before_entry.get(&row.tree.0).copied().unwrap_or(0);
                self.violations.push(Violation::NotComplete {
                    event,
                    barrier,
                    before_entry: before[..entry].to_vec(),
                    before,
                });
            }
            Act::On(Action::Once(once)) if outcome == Some(Outcome::Chosen) => {
                if let Some(&first) = self.first.get(&once) {
                    self.violations.push(Violation::NotFirst { event, first });
                }
            }
            Act::On(Action::Once(once)) => self.violations.push(Violation::NotInitialized { event, once }),
            _ => {}
        }
        self.violations.len() > before
    }

    /// Notes which sections keep a lock from being taken.
    fn locked(&mut self, formulas: &Formulas, event: Event, lock: ObjectId, shared: bool) {
        let tree = formulas.events.row(event).tree;
        for &(held, by) in &self.held {
            let section = formulas.events.row(by);
            let reads = section.is_readers();
            if held == lock && section.tree != tree && excludes(reads, shared) {
                self.violations.push(Violation::Locked { event, by });
            }
        }
    }
}
