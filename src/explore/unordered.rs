//! Races that only the order of atomics leaves open (`docs/SEMANTICS.md`, section 3, *unordered races*), in all that a
//! forest can do.
//!
//! Two accesses that are never next at the same time race nevertheless if nothing orders them: a weak atomic operation
//! leads from one to the other. What orders is a matter of which write each read sees, which release a lock is taken
//! after, and so on, so it is the same in all executions of a class ([`classes`](super::classes)). These are met here as
//! they are there, each with what its threads know of one another, and every access is compared with what others have
//! accessed before.
//!
//! Where a standard leaves open whether something synchronizes, a trace is taken to be ordered, so that nothing is shown
//! wrongly. Here nothing is to be missed: no order is taken from what C++20 does not name (a relaxed store behind a
//! release of its thread, fences among themselves, attempts that fail, who arrives at a barrier before), nor from what
//! passes through the outside or the beginning of a block. So what is found may be none: a run is made along it, and the
//! analysis of its trace decides. If nothing is found, there is none.
//!
//! A loop that waits is followed as often as the forest has it, and not round once more: a further round changes nothing
//! for others, so whatever comes after it can come without it, with less that orders.

use super::classes::Execution;
use super::goal::{Goal, Side};
use super::machine::{Choice, Goes, State, Turn};
use super::persistent::Persistent;
use super::session::Prefix;
use super::states::{Limits, Walk};
use super::tables::{AccessKind, Act, Class, Tables};
use crate::forest::{Action, Atomic, Forest, ObjectId, Outcome, Strength, Turned};
use crate::semantics::conflict::Part;
use crate::semantics::locks;
use hashbrown::{HashMap, HashSet};
use std::rc::Rc;

/// What was found.
#[derive(Clone, Debug, Default)]
pub(super) struct Unordered {
    /// Pairs that may be unordered races, each once, with a prefix that ends before the second of the two.
    pub goals: Vec<(Goal, Prefix)>,
    /// Whether all executions were met within the limits.
    pub whole: bool,
}

/// Searches a forest without open branches.
pub(super) fn unordered(forest: &Forest, limits: &Limits) -> Unordered {
    let tables = Tables::with_fences(forest);
    let mut persistent = Persistent::of(&tables, false);
    let mut met: HashSet<u128> = HashSet::new();
    let mut came: Vec<(usize, Turn)> = Vec::new();
    let mut found: HashMap<Goal, (usize, u32)> = HashMap::new();
    let mut goals = Vec::new();
    let start = Ordered::start(&tables);
    met.insert(start.execution.digest());
    let mut todo = vec![(NOWHERE, start)];
    let mut unordered = Unordered::default();
    while let Some((number, now)) = todo.pop() {
        if met.len() >= limits.states || limits.is_over() {
            return unordered;
        }
        let mut turns = Vec::new();
        for thread in now.execution.state.threads() {
            now.execution.state.turns(&tables, thread, &mut turns);
        }
        turns.retain(|turn| goes_on(&tables, &now.execution.state, *turn));
        persistent.keep(&tables, &now.execution.state, &mut turns);
        for turn in turns {
            for goal in now.races(&tables, turn.thread) {
                if found.insert(goal.clone(), (number, turn.thread)).is_none() {
                    goals.push(goal);
                }
            }
            let mut after = now.clone();
            after.perform(&tables, turn);
            if met.insert(after.execution.digest()) {
                todo.push((came.len(), after));
                came.push((number, turn));
            }
        }
    }
    unordered.whole = true;
    for goal in goals {
        let (number, thread) = found[&goal];
        unordered
            .goals
            .push((goal, prefix(forest, &tables, &came, number, thread)));
    }
    unordered
}

/// Before the first turn.
const NOWHERE: usize = usize::MAX;

/// Whether a turn is followed: not where no run has been, nor round a loop.
fn goes_on(tables: &Tables<'_>, state: &State, turn: Turn) -> bool {
    let id = state.at[turn.thread as usize];
    match turn.goes {
        // The classes of loops come first, in the order of their histories.
        Goes::Along(edge) => {
            let class = tables.class(id);
            !(class.in_loop && class.edges[edge as usize].to <= id)
        }
        Goes::Stays => true,
        Goes::Open(_) | Goes::OpenRead => false,
    }
}

/// The way to where a thread is about to make the second access.
fn prefix(forest: &Forest, tables: &Tables<'_>, came: &[(usize, Turn)], mut number: usize, thread: u32) -> Prefix {
    let mut way = Vec::new();
    while number != NOWHERE {
        let (from, turn) = came[number];
        way.push(turn);
        number = from;
    }
    let mut state = State::start(tables);
    let mut walk = Walk::new(forest);
    let mut prefix = Prefix::start();
    for turn in way.into_iter().rev() {
        walk.perform(forest, tables, &mut state, turn, &mut prefix);
    }
    walk.pass(forest, tables, thread as usize, &mut prefix);
    prefix
}

/// Of each thread, how many of its turns are known.
#[derive(Clone, Debug, Default)]
struct Clock(Rc<Vec<u32>>);

impl Clock {
    fn of(&self, thread: u32) -> u32 {
        self.0.get(thread as usize).copied().unwrap_or(0)
    }

    fn join(&mut self, other: &Clock) {
        if Rc::ptr_eq(&self.0, &other.0) || (0..other.0.len()).all(|thread| other.0[thread] <= self.of(thread as u32)) {
            return;
        }
        let mine = Rc::make_mut(&mut self.0);
        mine.resize(mine.len().max(other.0.len()), 0);
        for (mine, theirs) in mine.iter_mut().zip(&*other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    fn tick(&mut self, thread: u32) {
        let mine = Rc::make_mut(&mut self.0);
        mine.resize(mine.len().max(thread as usize + 1), 0);
        mine[thread as usize] += 1;
    }
}

/// An access that was made: by which turn of which thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Made {
    thread: u32,
    turn: u32,
    position: u64,
    part: Part,
}

/// What is known of a cell.
#[derive(Clone, Debug, Default)]
struct CellOrder {
    /// The last access of each kind at each place by each thread.
    made: Rc<Vec<Made>>,
    /// What its last writer knew, and whether it wrote atomically.
    written: Clock,
    atomically: bool,
    /// What is released to whoever reads it atomically.
    released: Clock,
}

/// What is left at an object.
#[derive(Clone, Debug, Default)]
struct ObjectOrder {
    givers: Clock,
    readers: Clock,
}

/// An execution, with what its threads know of one another.
#[derive(Clone)]
struct Ordered {
    execution: Execution,
    threads: Vec<Clock>,
    /// What an acquire fence of the thread would acquire.
    loaded: Vec<Clock>,
    /// What its last release fence released.
    fenced: Vec<Clock>,
    /// What it learns as it goes on from where it waits: of who woke it, or of those of its round of a barrier.
    woken: Vec<Clock>,
    cells: Vec<CellOrder>,
    objects: Vec<ObjectOrder>,
}

impl Ordered {
    fn start(tables: &Tables<'_>) -> Ordered {
        let execution = Execution::start(tables);
        let (threads, cells) = (execution.state.at.len(), execution.state.cells.len());
        let objects = execution.state.owner.len();
        Ordered {
            execution,
            threads: vec![Clock::default(); threads],
            loaded: vec![Clock::default(); threads],
            fenced: vec![Clock::default(); threads],
            woken: vec![Clock::default(); threads],
            cells: vec![CellOrder::default(); cells],
            objects: vec![ObjectOrder::default(); objects],
        }
    }

    /// What a thread's next access may race with that others have done.
    fn races(&self, tables: &Tables<'_>, thread: u32) -> Vec<Goal> {
        let state = &self.execution.state;
        let (class, Some(part)) = (state.class(tables, thread), state.part(tables, thread)) else {
            return Vec::new();
        };
        let known = &self.threads[thread as usize];
        let cells = class.cells.iter().flat_map(|&cell| &*self.cells[cell as usize].made);
        let unordered = cells
            .filter(|made| made.thread != thread && made.part.conflicts(part) && known.of(made.thread) < made.turn);
        let side = |position| Side { position };
        let mut races: Vec<Goal> = unordered
            .map(|made| Goal::unordered(side(made.position), side(class.position)))
            .collect();
        races.sort_unstable();
        races.dedup();
        races
    }

    fn perform(&mut self, tables: &Tables<'_>, turn: Turn) {
        if let Goes::Along(edge) = turn.goes {
            let state = &self.execution.state;
            let class = tables.class(state.at[turn.thread as usize]);
            let outcome = class.edges[edge as usize].outcome;
            let part = state.part(tables, turn.thread);
            self.threads[turn.thread as usize].tick(turn.thread);
            match (class.act, part) {
                (Act::Access(kind), Some(part)) => self.access(tables, turn.thread, class, kind, part),
                (Act::Fence, _) => self.fence(tables, turn.thread, class),
                (Act::Fork(tree), _) => self.threads[tree.index()] = self.threads[turn.thread as usize].clone(),
                (Act::Join(tree), _) if outcome != Outcome::GaveUp => {
                    let child = self.threads[tree.index()].clone();
                    self.threads[turn.thread as usize].join(&child);
                }
                (Act::On(action), _) => self.act(tables, turn, action, outcome.turned()),
                _ => {}
            }
        }
        self.execution.perform(tables, turn);
    }

    /// What memory passes on.
    fn access(&mut self, tables: &Tables<'_>, thread: u32, class: &Class, kind: AccessKind, part: Part) {
        let own = thread as usize;
        let reads = matches!(kind, AccessKind::Read | AccessKind::AtomicRead);
        let is_atomic = matches!(kind, AccessKind::AtomicRead | AccessKind::AtomicWrite);
        let what = match (reads, part.writes) {
            (true, true) => Atomic::ReadModifyWrite,
            (true, false) => Atomic::Load,
            (false, _) => Atomic::Store,
        };
        // What no run has performed in this way is not known to order anything.
        let weakest = Strength {
            acquires: false,
            releases: false,
        };
        let strength = tables.forest.strength(class.position, what).unwrap_or(weakest);
        let turn = self.threads[own].of(thread);
        if reads {
            for &cell in &class.cells {
                let cell = &self.cells[cell as usize];
                if !(is_atomic && cell.atomically) {
                    self.threads[own].join(&cell.written);
                }
                if is_atomic {
                    self.loaded[own].join(&cell.released);
                    if strength.acquires {
                        self.threads[own].join(&cell.released);
                    }
                }
            }
        }
        let mut released = self.fenced[own].clone();
        if strength.releases {
            released.join(&self.threads[own]);
        }
        for &cell in &class.cells {
            let cell = &mut self.cells[cell as usize];
            let made = Made {
                thread,
                turn,
                position: class.position,
                part,
            };
            let is_like = |known: &Made| Made { turn, ..*known } == made;
            let all = Rc::make_mut(&mut cell.made);
            match all.iter_mut().find(|known| is_like(known)) {
                Some(known) => *known = made,
                None => all.push(made),
            }
            if !part.writes {
                continue;
            }
            cell.written = self.threads[own].clone();
            cell.atomically = is_atomic;
            match (is_atomic, reads) {
                (true, true) => cell.released.join(&released),
                (true, false) => cell.released = released.clone(),
                (false, _) => cell.released = Clock::default(),
            }
        }
    }

    fn fence(&mut self, tables: &Tables<'_>, thread: u32, class: &Class) {
        let own = thread as usize;
        let Some(strength) = tables.forest.strength(class.position, Atomic::Fence) else {
            return;
        };
        if strength.acquires {
            let loaded = self.loaded[own].clone();
            self.threads[own].join(&loaded);
        }
        if strength.releases {
            self.fenced[own] = self.threads[own].clone();
        }
    }

    /// What an action that turned out so passes on.
    fn act(&mut self, tables: &Tables<'_>, turn: Turn, action: Action<ObjectId>, turned: Turned) {
        let (thread, own) = (turn.thread, turn.thread as usize);
        let state = &self.execution.state;
        if let Some((lock, step)) = action.at_lock(turned) {
            let by_reader = !state.holds(thread, lock);
            let there = &mut self.objects[lock.index()];
            let known = &mut self.threads[own];
            match step {
                locks::Step::Take { shared: true } => known.join(&there.givers),
                locks::Step::Take { shared: false } | locks::Step::TakeAgain => {
                    known.join(&there.givers);
                    known.join(&there.readers);
                }
                locks::Step::GiveBack if by_reader => there.readers.join(known),
                locks::Step::GiveBack | locks::Step::GiveUp => there.givers.join(known),
                locks::Step::FindHeld { .. } => {}
            }
        }
        match action {
            Action::WaitEnd(..) => {
                let woken = std::mem::take(&mut self.woken[own]);
                if turned == Turned::Done {
                    self.threads[own].join(&woken);
                }
            }
            Action::Notify(_) => {
                if let Choice::Wakes(other) = turn.choice {
                    self.woken[other as usize] = self.threads[own].clone();
                }
            }
            Action::NotifyAll(condition) => {
                let all: Vec<u32> = state.asleep(tables, condition).collect();
                for other in all {
                    self.woken[other as usize] = self.threads[own].clone();
                }
            }
            Action::BarrierEnter(barrier) => {
                let there = &mut self.objects[barrier.index()];
                there.givers.join(&self.threads[own]);
                if turned == Turned::Chosen {
                    let round = std::mem::take(&mut there.givers);
                    let all: Vec<u32> = state.arrived(tables, barrier).collect();
                    for other in all.into_iter().chain([thread]) {
                        self.woken[other as usize] = round.clone();
                    }
                }
            }
            Action::BarrierExit(_) => {
                let round = std::mem::take(&mut self.woken[own]);
                self.threads[own].join(&round);
            }
            Action::Post(object) | Action::OnceEnd(object) => {
                self.objects[object.index()].givers.join(&self.threads[own]);
            }
            Action::Take(object) | Action::Once(object) if turned == Turned::Done => {
                self.threads[own].join(&self.objects[object.index()].givers);
            }
            Action::Acquire(..) | Action::Release(_) | Action::WaitBegin(..) | Action::Take(_) | Action::Once(_) => {}
        }
    }
}
