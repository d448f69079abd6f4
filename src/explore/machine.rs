//! The table of `docs/SEMANTICS.md`, section 1, over the forest: what can happen in a state, and what is the state
//! then.
//!
//! A state is one node (class) in the tree of each thread that was forked, what shared cells hold, who holds which
//! locks, who waits where, and the counts of semaphores, barriers and once cells. An operation whose outcome is the
//! scheduler's choice has several turns: whom a notify wakes, whether a timed wait is over before a notify comes.
//!
//! A timed wait leaves the wait set at a moment between its two events, which is a turn of its own
//! ([`Choice::TimesOut`]); from then on no notify finds it. A wait that was notified does not time out any more.

use super::session::Opening;
use super::tables::{AccessKind, Act, Class, Held, Tables, UNKNOWN};
use crate::forest::{Action, ObjectId, Outcome, Patience, TreeId, Turned};
use crate::semantics::action::Ways;
use crate::semantics::conflict::Part;
use crate::semantics::locks::Mode;
use crate::semantics::onces::{self, Progress};
use crate::semantics::{barriers, locks, semaphores};

/// No thread, or no class: it was not forked.
pub(crate) const NONE: u32 = u32::MAX;

/// What a thread waits for inside of its pending operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    #[default]
    Free,
    /// In a wait set; with the depth at which it held the lock.
    Asleep(u32),
    Woken(u32),
    TimedOut(u32),
    /// Arrived at a barrier whose round is not complete.
    Arrived,
    /// Its round is complete.
    Complete,
}

impl Phase {
    pub(crate) fn code(self) -> u32 {
        match self {
            Phase::Free => 0,
            Phase::Arrived => 1,
            Phase::Complete => 2,
            Phase::Asleep(depth) => 3 * depth + 3,
            Phase::Woken(depth) => 3 * depth + 4,
            Phase::TimedOut(depth) => 3 * depth + 5,
        }
    }

    pub(crate) fn of_code(code: u32) -> Phase {
        match (code, code % 3) {
            (0, _) => Phase::Free,
            (1, _) => Phase::Arrived,
            (2, _) => Phase::Complete,
            (_, 0) => Phase::Asleep(code / 3 - 1),
            (_, 1) => Phase::Woken(code / 3 - 1),
            (_, _) => Phase::TimedOut(code / 3 - 1),
        }
    }
}

/// A state.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// The class that each thread is at; [`NONE`] if it was not forked.
    pub at: Vec<u32>,
    pub phase: Vec<Phase>,
    pub cells: Vec<Held>,
    /// Who holds each lock exclusively, and how deep.
    pub owner: Vec<(u32, u32)>,
    /// Lock, reader, depth; in order.
    pub readers: Vec<(u32, u32, u32)>,
    /// Permits of semaphores; how many have arrived at a barrier's open round; 0, 1, 2 for a once cell that was not
    /// begun, was begun, is done.
    pub count: Vec<u32>,
}

impl Clone for State {
    fn clone(&self) -> State {
        State {
            at: self.at.clone(),
            phase: self.phase.clone(),
            cells: self.cells.clone(),
            owner: self.owner.clone(),
            readers: self.readers.clone(),
            count: self.count.clone(),
        }
    }

    /// Searches copy a state for each step: into memory that is there.
    fn clone_from(&mut self, of: &State) {
        let State {
            at,
            phase,
            cells,
            owner,
            readers,
            count,
        } = of;
        self.at.clone_from(at);
        self.phase.clone_from(phase);
        self.cells.clone_from(cells);
        self.owner.clone_from(owner);
        self.readers.clone_from(readers);
        self.count.clone_from(count);
    }
}

/// What is the scheduler's choice in a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Nothing.
    #[default]
    None,
    /// A notify wakes this thread.
    Wakes(u32),
    /// A waiting thread's time is over; its operation goes on.
    TimesOut,
}

/// Something that a thread can do in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub thread: u32,
    pub choice: Choice,
    pub goes: Goes,
}

/// Where a turn leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goes {
    /// Along this edge of the class.
    Along(u32),
    /// The thread stays at its class.
    Stays,
    /// Where no run has been. What a read would see, of its cells, is asked of the state again.
    Open(Opening),
    /// Where no run has been: the read sees what the cells hold.
    OpenRead,
}

impl State {
    pub(crate) fn start(tables: &Tables<'_>) -> State {
        let forest = tables.forest;
        let (trees, objects) = (forest.trees().len(), forest.objects());
        let mut at = vec![NONE; trees];
        at[0] = tables.root(TreeId(0));
        State {
            at,
            phase: vec![Phase::Free; trees],
            cells: tables.initial.clone(),
            owner: vec![(NONE, 0); objects],
            readers: Vec::new(),
            count: (0..objects as u32)
                .map(|object| tables.initial_count(ObjectId(object)))
                .collect(),
        }
    }

    /// A state of nothing, to be filled.
    pub(crate) fn empty() -> State {
        State {
            at: Vec::new(),
            phase: Vec::new(),
            cells: Vec::new(),
            owner: Vec::new(),
            readers: Vec::new(),
            count: Vec::new(),
        }
    }

    /// The threads that were forked.
    pub(crate) fn threads(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.at.len() as u32).filter(|&thread| self.at[thread as usize] != NONE)
    }

    pub(crate) fn class<'t>(&self, tables: &'t Tables<'_>, thread: u32) -> &'t Class {
        tables.class(self.at[thread as usize])
    }

    /// Whether a thread can do this to a lock now.
    fn allows(&self, tables: &Tables<'_>, thread: u32, lock: ObjectId, step: locks::Step) -> bool {
        let (owner, _) = self.owner[lock.index()];
        step.is_enabled(locks::Found {
            alone: (owner != NONE).then_some(owner == thread),
            read: self.readers.iter().any(|&(read, ..)| read == lock.0),
            recursive: tables.is_recursive(lock),
        })
    }

    /// Of threads that cannot go on, those that wait for each other for ever (`docs/SEMANTICS.md`, section 3): each for a
    /// lock that one of them holds, or for the end of one of them, and each is waited for. Whoever else waits for these
    /// is not among them. `foreign` says that threads give back each other's locks: then no lock is held for ever.
    pub(crate) fn entangled(&self, tables: &Tables<'_>, waits: &[u32], foreign: bool) -> Vec<u32> {
        let keepers = |thread: u32| -> Vec<u32> {
            let (lock, shared) = match self.class(tables, thread).act {
                Act::On(Action::Acquire(lock, mode)) => (lock, mode == Mode::Shared),
                Act::On(Action::WaitEnd(_, lock)) => (lock, false),
                Act::Join(tree) => return vec![tree.0],
                _ => return Vec::new(),
            };
            if foreign {
                return Vec::new();
            }
            let readers = self.readers.iter().filter(|&&(read, ..)| read == lock.0 && !shared);
            let owner = Some(self.owner[lock.index()].0).filter(|&owner| owner != NONE);
            owner.into_iter().chain(readers.map(|&(_, reader, _)| reader)).collect()
        };
        let mut edges: Vec<(u32, Vec<u32>)> = waits.iter().map(|&thread| (thread, keepers(thread))).collect();
        loop {
            let before = edges.len();
            let waits = |edges: &[(u32, Vec<u32>)], by: u32| edges.iter().any(|&(thread, _)| thread == by);
            let kept = edges.clone();
            edges.retain(|(thread, keepers)| {
                keepers.iter().any(|&by| waits(&kept, by)) && kept.iter().any(|(_, by)| by.contains(thread))
            });
            if edges.len() == before {
                return edges.into_iter().map(|(thread, _)| thread).collect();
            }
        }
    }

    /// Whether a semaphore has a permit left.
    pub(crate) fn has_permit(&self, semaphore: ObjectId) -> bool {
        semaphores::Step::Wait.is_enabled(self.count[semaphore.index()].into())
    }

    /// How far the initialization of a once cell is.
    pub(crate) fn progress(&self, once: ObjectId) -> Progress {
        match self.count[once.index()] {
            0 => Progress::NotBegun,
            1 => Progress::Begun,
            _ => Progress::Done,
        }
    }

    /// Whether a thread holds a lock exclusively.
    pub(crate) fn holds(&self, thread: u32, lock: ObjectId) -> bool {
        self.owner[lock.index()].0 == thread
    }

    pub(crate) fn asleep<'s>(&'s self, tables: &'s Tables<'_>, condition: ObjectId) -> impl Iterator<Item = u32> + 's {
        self.threads().filter(move |&thread| {
            matches!(self.phase[thread as usize], Phase::Asleep(_))
                && matches!(self.class(tables, thread).act, Act::On(Action::WaitEnd(on, _)) if on == condition)
        })
    }

    /// Who has arrived at a barrier whose round is not complete.
    pub(crate) fn arrived<'s>(&'s self, tables: &'s Tables<'_>, barrier: ObjectId) -> impl Iterator<Item = u32> + 's {
        self.threads().filter(move |&thread| {
            self.phase[thread as usize] == Phase::Arrived
                && self.class(tables, thread).act == Act::On(Action::BarrierExit(barrier))
        })
    }

    /// What a thread can do now: nothing if it waits, or has ended. `turns` is added to.
    pub(crate) fn turns(&self, tables: &Tables<'_>, thread: u32, turns: &mut Vec<Turn>) {
        let class = self.class(tables, thread);
        let mut push = |choice, goes| turns.push(Turn { thread, choice, goes });
        // An outcome that is feasible: along its edge, or open.
        let along = |outcome: Outcome| match class.edges.iter().position(|edge| edge.outcome == outcome) {
            Some(edge) => Goes::Along(edge as u32),
            None => Goes::Open(Opening::Outcome(outcome)),
        };
        // An attempt that fails now; of a thread that has to wait it is asked whether it would.
        let gives_up = |push: &mut dyn FnMut(Choice, Goes)| match class.patience {
            Patience::Bounded => push(Choice::None, along(Outcome::GaveUp)),
            Patience::Unknown => push(Choice::None, Goes::Open(Opening::GivesUp)),
            Patience::Endless => {}
        };
        match class.act {
            Act::Unknown => push(Choice::None, Goes::Open(Opening::NextOperation)),
            Act::Ended | Act::Stops => {}
            Act::Local { sees: true } => {
                for edge in 0..class.edges.len() {
                    push(Choice::None, Goes::Along(edge as u32));
                }
                if class.edges.is_empty() {
                    push(Choice::None, Goes::Open(Opening::SomeOutcome));
                }
            }
            Act::Access(AccessKind::Read | AccessKind::AtomicRead)
                if class.edges.iter().any(|edge| edge.saw.is_empty()) =>
            {
                for edge in 0..class.edges.len() {
                    push(Choice::None, Goes::Along(edge as u32));
                }
            }
            Act::Access(AccessKind::Read | AccessKind::AtomicRead) => {
                let sees = |&(_, edge): &(usize, &super::tables::ClassEdge)| self.sees(class, &edge.saw);
                match class.edges.iter().enumerate().find(sees) {
                    Some((edge, _)) => push(Choice::None, Goes::Along(edge as u32)),
                    None => push(Choice::None, Goes::OpenRead),
                }
            }
            Act::Local { sees: false } | Act::Fence | Act::Access(_) | Act::Begin | Act::End | Act::Fork(_) => {
                push(Choice::None, along(Outcome::Done))
            }
            Act::Join(tree) => {
                let there = self.at[tree.index()];
                if there != NONE && tables.class(there).act == Act::Ended {
                    push(Choice::None, along(Outcome::Done));
                } else {
                    gives_up(&mut push);
                }
            }
            Act::Count(semaphore) => {
                let count = self.count[semaphore.index()];
                push(Choice::None, along(Outcome::Counted(count)));
            }
            Act::On(action) => match action {
                Action::WaitEnd(_, lock) => {
                    let returns = || self.allows(tables, thread, lock, locks::Step::TakeAgain);
                    match self.phase[thread as usize] {
                        Phase::Woken(_) if returns() => push(Choice::None, along(Outcome::Done)),
                        Phase::TimedOut(_) if returns() => push(Choice::None, along(Outcome::GaveUp)),
                        Phase::Asleep(_) => match class.patience {
                            Patience::Bounded => push(Choice::TimesOut, Goes::Stays),
                            Patience::Unknown if returns() => push(Choice::None, Goes::Open(Opening::GivesUp)),
                            _ => {}
                        },
                        _ => {}
                    }
                }
                Action::Notify(condition) => {
                    let goes = along(Outcome::Done);
                    let mut any = false;
                    for woken in self.asleep(tables, condition) {
                        push(Choice::Wakes(woken), goes);
                        any = true;
                    }
                    if !any {
                        push(Choice::None, goes);
                    }
                }
                Action::BarrierEnter(barrier) => {
                    let arrived = self.count[barrier.index()];
                    let last = (tables.parties(barrier)).is_some_and(|parties| barriers::completes(arrived, parties));
                    push(Choice::None, along(if last { Outcome::Chosen } else { Outcome::Done }));
                }
                Action::BarrierExit(_) => {
                    if self.phase[thread as usize] == Phase::Complete {
                        push(Choice::None, along(Outcome::Done));
                    }
                }
                Action::Once(once) => match self.progress(once).for_who_comes() {
                    Some(onces::Step::Begin) => push(Choice::None, along(Outcome::Chosen)),
                    Some(_) => push(Choice::None, along(Outcome::Done)),
                    None => {}
                },
                action if action.ways() == Ways::Attempt && !self.succeeds(tables, thread, action) => {
                    gives_up(&mut push);
                }
                _ => push(Choice::None, along(Outcome::Done)),
            },
        }
    }

    /// Whether an attempt at a lock or semaphore succeeds now.
    fn succeeds(&self, tables: &Tables<'_>, thread: u32, action: Action<ObjectId>) -> bool {
        let at_lock = action.at_lock(Turned::Done);
        let at_semaphore = action.at_semaphore(Turned::Done);
        at_lock.is_none_or(|(lock, step)| self.allows(tables, thread, lock, step))
            && at_semaphore.is_none_or(|(semaphore, step)| step.is_enabled(self.count[semaphore.index()].into()))
    }

    /// Whether a read sees this now.
    fn sees(&self, class: &Class, saw: &[Held]) -> bool {
        let now = class.cells.iter().map(|&cell| self.cells[cell as usize]);
        now.zip(saw).all(|(now, &saw)| now != UNKNOWN && now == saw)
    }

    /// What the cells of a read hold.
    pub(crate) fn would_see(&self, class: &Class) -> Vec<Held> {
        class.cells.iter().map(|&cell| self.cells[cell as usize]).collect()
    }

    /// Whether an atomic read that is pending would write, as far as is known.
    fn would_write(&self, class: &Class) -> bool {
        let edge = class.edges.iter().find(|edge| self.sees(class, &edge.saw));
        edge.is_some_and(|edge| !edge.leaves.is_empty())
    }

    /// Makes this the state after a turn that is not open.
    pub(crate) fn perform(&mut self, tables: &Tables<'_>, turn: Turn) {
        let thread = turn.thread;
        let slot = thread as usize;
        let class = self.class(tables, thread);
        if turn.choice == Choice::TimesOut {
            if let Phase::Asleep(depth) = self.phase[slot] {
                self.phase[slot] = Phase::TimedOut(depth);
            }
            return;
        }
        let Goes::Along(edge) = turn.goes else {
            unreachable!("a turn that is open leads to no state");
        };
        let edge = &class.edges[edge as usize];
        match class.act {
            Act::Access(AccessKind::Read | AccessKind::AtomicRead) => self.leave(class, &edge.leaves),
            Act::Access(_) => self.leave(class, &class.leaves),
            Act::Fork(tree) => self.at[tree.index()] = tables.root(tree),
            Act::On(action) => self.act(tables, turn, action, edge.outcome.turned()),
            Act::Count(_)
            | Act::Join(_)
            | Act::Local { .. }
            | Act::Fence
            | Act::Begin
            | Act::End
            | Act::Unknown
            | Act::Ended
            | Act::Stops => {}
        }
        self.at[slot] = edge.to;
    }

    /// The effect of an action that turned out so.
    fn act(&mut self, tables: &Tables<'_>, turn: Turn, action: Action<ObjectId>, turned: Turned) {
        let slot = turn.thread as usize;
        if let Some((lock, step)) = action.at_lock(turned) {
            self.act_on_lock(turn.thread, lock, step);
        }
        if let Some((semaphore, step)) = action.at_semaphore(turned) {
            let count = &mut self.count[semaphore.index()];
            *count = (i64::from(*count) + step.adds()) as u32;
        }
        match action {
            Action::Notify(_) => {
                if let Choice::Wakes(woken) = turn.choice {
                    self.wake(woken);
                }
            }
            Action::NotifyAll(condition) => {
                let all: Vec<u32> = self.asleep(tables, condition).collect();
                all.into_iter().for_each(|woken| self.wake(woken));
            }
            Action::BarrierEnter(barrier) if turned == Turned::Chosen => {
                self.count[barrier.index()] = 0;
                let arrived: Vec<u32> = self.arrived(tables, barrier).collect();
                for other in arrived {
                    self.phase[other as usize] = Phase::Complete;
                }
                self.phase[slot] = Phase::Complete;
            }
            Action::BarrierEnter(barrier) => {
                self.count[barrier.index()] += 1;
                self.phase[slot] = Phase::Arrived;
            }
            Action::BarrierExit(_) => self.phase[slot] = Phase::Free,
            Action::Once(once) if turned == Turned::Chosen => self.count[once.index()] = 1,
            Action::OnceEnd(once) => self.count[once.index()] = 2,
            _ => {}
        }
    }

    fn act_on_lock(&mut self, thread: u32, lock: ObjectId, step: locks::Step) {
        let slot = thread as usize;
        match step {
            locks::Step::Take { shared: false } => {
                let (_, depth) = self.owner[lock.index()];
                self.owner[lock.index()] = (thread, depth + 1);
            }
            locks::Step::Take { shared: true } => self.read_lock(lock.0, thread),
            locks::Step::GiveBack => self.release(lock, thread),
            locks::Step::GiveUp => {
                let (_, depth) = std::mem::replace(&mut self.owner[lock.index()], (NONE, 0));
                self.phase[slot] = Phase::Asleep(depth);
            }
            locks::Step::TakeAgain => {
                if let Phase::Woken(depth) | Phase::TimedOut(depth) = std::mem::take(&mut self.phase[slot]) {
                    self.owner[lock.index()] = (thread, depth);
                }
            }
            locks::Step::FindHeld { .. } => {}
        }
    }

    fn leave(&mut self, class: &Class, leaves: &[Held]) {
        for (&cell, &left) in class.cells.iter().zip(leaves) {
            self.cells[cell as usize] = left;
        }
    }

    fn wake(&mut self, thread: u32) {
        if let Phase::Asleep(depth) = self.phase[thread as usize] {
            self.phase[thread as usize] = Phase::Woken(depth);
        }
    }

    fn read_lock(&mut self, lock: u32, thread: u32) {
        match self
            .readers
            .binary_search_by_key(&(lock, thread), |&(lock, thread, _)| (lock, thread))
        {
            Ok(at) => self.readers[at].2 += 1,
            Err(at) => self.readers.insert(at, (lock, thread, 1)),
        }
    }

    /// Gives back a level of its own, or of whoever holds the lock.
    fn release(&mut self, lock: ObjectId, thread: u32) {
        let own = self
            .readers
            .iter()
            .position(|&(read, reader, _)| (read, reader) == (lock.0, thread));
        let (owner, depth) = self.owner[lock.index()];
        if owner == thread || (owner != NONE && own.is_none()) {
            self.owner[lock.index()] = if depth > 1 { (owner, depth - 1) } else { (NONE, 0) };
            return;
        }
        let any = self.readers.iter().position(|&(read, ..)| read == lock.0);
        if let Some(at) = own.or(any) {
            if self.readers[at].2 > 1 {
                self.readers[at].2 -= 1;
            } else {
                self.readers.remove(at);
            }
        }
    }

    /// Whether a thread that is about to give back a lock holds it.
    pub(crate) fn is_foreign(&self, tables: &Tables<'_>, thread: u32) -> bool {
        let reads = |lock: ObjectId| {
            self.readers
                .iter()
                .any(|&(read, reader, _)| (read, reader) == (lock.0, thread))
        };
        let Act::On(action) = self.class(tables, thread).act else {
            return false;
        };
        match action.at_lock(Turned::Done) {
            Some((lock, locks::Step::GiveBack)) => !self.holds(thread, lock) && !reads(lock),
            Some((lock, locks::Step::GiveUp)) => !self.holds(thread, lock),
            _ => false,
        }
    }

    /// Whether two threads' pending accesses race in this state.
    pub(crate) fn race(&self, tables: &Tables<'_>, a: u32, b: u32) -> bool {
        let (Some(p), Some(q)) = (self.part(tables, a), self.part(tables, b)) else {
            return false;
        };
        let (x, y) = (self.class(tables, a), self.class(tables, b));
        p.conflicts(q) && x.cells.iter().any(|cell| y.cells.contains(cell))
    }

    /// What matters of a thread's pending access for whether it conflicts with another, if it is about to make one.
    pub(crate) fn part(&self, tables: &Tables<'_>, thread: u32) -> Option<Part> {
        use AccessKind::{AtomicRead, AtomicWrite, Free, Read, Use, Write};
        let class = self.class(tables, thread);
        let Act::Access(kind) = class.act else {
            return None;
        };
        Some(Part {
            writes: match kind {
                Write | AtomicWrite | Free => true,
                AtomicRead => self.would_write(class),
                Read | Use => false,
            },
            atomic: matches!(kind, AtomicRead | AtomicWrite | Use),
            frees: kind == Free,
            // It is a write to an exploration: a run shows what an operation finds behind it.
            destroys: false,
            uses: kind == Use,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Phase;

    #[test]
    fn every_phase_has_a_code_of_its_own() {
        let depths = 0..4;
        let waits = depths.flat_map(|depth| [Phase::Asleep(depth), Phase::Woken(depth), Phase::TimedOut(depth)]);
        let all = [Phase::Free, Phase::Arrived, Phase::Complete].into_iter().chain(waits);
        for (code, phase) in all.enumerate() {
            assert_eq!((phase.code(), Phase::of_code(code as u32)), (code as u32, phase));
        }
    }
}
